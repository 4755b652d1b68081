//! `setsockopt` and `getsockopt`, as packetdrill calls them.

use std::ffi::{c_int, c_void};

use libc::socklen_t;
use netspurt_scenario::script::{Call, OptionValue, SocketOption};

use super::fds::own_fd;
use super::guard::{BorderResult, Errno, answer_int, make, refuse, value};
use super::memory;
use crate::info::{memory as memory_octets, tcp_info};
use crate::machine::DrillMachine;
use crate::numbers;

/// The number of octets for the name of a congestion control algorithm (`TCP_CA_NAME_MAX`).
const NAME_BYTES: usize = 16;

/// The number of the socket option `SO_MEMINFO`. `libc` does not define it.
const SO_MEMINFO: c_int = 55;

pub(super) unsafe extern "C" fn setsockopt(
    _: *mut c_void,
    fd: c_int,
    level: c_int,
    number: c_int,
    place: *const c_void,
    length: socklen_t,
) -> c_int {
    answer_int(|machine| {
        let option = numbers::option(level, number).map_err(|what| refuse(machine, what))?;
        // SAFETY: the value is `length` octets long.
        let octets = unsafe { memory::octets(place, length as usize) }?;
        let value_given = option_value(option, octets).ok_or(Errno(libc::EINVAL))?;
        value(machine, &Call::SetOption { fd: own_fd(fd), option, value: value_given })
    })
}

/// Makes the value of an option from its octets. Returns `None` if there are too few octets, or if
/// the time of `SO_LINGER` is negative.
fn option_value(option: SocketOption, octets: &[u8]) -> Option<OptionValue> {
    let number =
        |at: usize| octets.get(at..)?.first_chunk::<4>().map(|four| i32::from_ne_bytes(*four));
    match option {
        SocketOption::Congestion => {
            let name = octets.split(|octet| *octet == 0).next().unwrap_or_default();
            Some(OptionValue::Text(String::from_utf8_lossy(name).into_owned()))
        }
        SocketOption::Linger => {
            let seconds = u32::try_from(number(4)?).ok()?;
            Some(OptionValue::Linger { on: number(0)? != 0, seconds })
        }
        SocketOption::NotSentLowWater => {
            Some(OptionValue::Number(number(0)?.cast_unsigned().into()))
        }
        // The value of an IP option may be a single octet.
        _ if option.level() == "SOL_IP" && octets.len() < 4 => {
            Some(OptionValue::Number((*octets.first()?).into()))
        }
        _ => Some(OptionValue::Number(number(0)?.into())),
    }
}

/// Returns the number that a call returned, as the bits of an `int`. Returns 0 if the call returned
/// no number.
#[expect(
    clippy::cast_possible_truncation,
    reason = "an unsigned option fills all bits of an `int`"
)]
pub(super) fn number_of(out: Option<&OptionValue>) -> c_int {
    match out {
        Some(OptionValue::Number(number)) => *number as c_int,
        _ => 0,
    }
}

pub(super) unsafe extern "C" fn getsockopt(
    _: *mut c_void,
    fd: c_int,
    level: c_int,
    number: c_int,
    place: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    answer_int(|machine| {
        let octets = option_octets(machine, (fd, level, number))?;
        // SAFETY: `length` says how many octets can be written to `place`.
        unsafe {
            let room = memory::get(length)?;
            let written = memory::write(place, room as usize, &octets)?;
            memory::put(length, written as socklen_t)?;
        }
        Ok(0)
    })
}

/// The octets of an option's value.
fn option_octets(
    machine: &DrillMachine,
    (fd, level, number): (c_int, c_int, c_int),
) -> BorderResult<Vec<u8>> {
    match (level, number) {
        (libc::IPPROTO_TCP, libc::TCP_INFO) => return Ok(tcp_info(&machine.info()).to_vec()),
        // Our congestion control algorithms report no values of their own.
        (libc::IPPROTO_TCP, libc::TCP_CC_INFO) => return Ok(Vec::new()),
        (libc::SOL_SOCKET, SO_MEMINFO) => return Ok(memory_octets(&machine.info()).to_vec()),
        _ => {}
    }
    let option = numbers::option(level, number).map_err(|what| refuse(machine, what))?;
    let outcome = make(machine, &Call::GetOption { fd: own_fd(fd), option })?;
    if let Some(OptionValue::Text(text)) = &outcome.out {
        let mut octets = text.clone().into_bytes();
        octets.resize(NAME_BYTES, 0);
        return Ok(octets);
    }
    Ok(number_of(outcome.out.as_ref()).to_ne_bytes().to_vec())
}
