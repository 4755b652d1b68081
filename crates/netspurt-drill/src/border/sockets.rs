//! The calls that make, bind, connect and close sockets, and `fcntl`, `ioctl`, `pipe` and `splice`.

use std::ffi::{c_int, c_long, c_void};

use libc::socklen_t;
use netspurt_scenario::script::{Call, status};

use super::fds::{FIRST, own_fd};
use super::guard::{BorderResult, Errno, answer, answer_int, make, refuse, value};
use super::memory;
use crate::machine::DrillMachine;
use crate::numbers;

/// Makes a call that opens a socket. Returns packetdrill's number for the new socket.
fn numbered(machine: &DrillMachine, call: &Call) -> BorderResult {
    Ok(value(machine, call)? + i64::from(FIRST))
}

pub(super) unsafe extern "C" fn socket(
    _: *mut c_void,
    domain: c_int,
    kind: c_int,
    protocol: c_int,
) -> c_int {
    answer_int(|machine| {
        let options = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let is_tcp = kind & !options == libc::SOCK_STREAM
            && matches!(protocol, 0 | libc::IPPROTO_TCP)
            && matches!(domain, libc::AF_INET | libc::AF_INET6);
        if !is_tcp {
            return Err(refuse(machine, "a socket that is not a TCP socket".to_owned()));
        }
        machine.with(|world| world.ends().set_mapped(domain == libc::AF_INET6));
        let nonblocking = kind & libc::SOCK_NONBLOCK != 0;
        numbered(machine, &Call::Socket { nonblocking, number: None })
    })
}

pub(super) unsafe extern "C" fn bind(
    _: *mut c_void,
    fd: c_int,
    address: *const c_void,
    length: socklen_t,
) -> c_int {
    answer_int(|machine| {
        // SAFETY: packetdrill's address is `length` octets long.
        let own = unsafe { memory::address(address, length) }?.ok_or(Errno(libc::EAFNOSUPPORT))?;
        let bound = machine.with(|world| world.ends().bind(own));
        bound.map_err(|what| refuse(machine, what))?;
        value(machine, &Call::Bind { fd: own_fd(fd) })
    })
}

pub(super) unsafe extern "C" fn listen(_: *mut c_void, fd: c_int, backlog: c_int) -> c_int {
    answer_int(|machine| {
        let backlog = u32::try_from(backlog).unwrap_or(0);
        value(machine, &Call::Listen { fd: own_fd(fd), backlog })
    })
}

pub(super) unsafe extern "C" fn accept(
    _: *mut c_void,
    fd: c_int,
    address: *mut c_void,
    length: *mut socklen_t,
) -> c_int {
    answer_int(|machine| {
        let number = numbered(machine, &Call::Accept { fd: own_fd(fd), number: None })?;
        if let Some(peer) = machine.with(|world| world.ends().peer()) {
            // SAFETY: packetdrill says in `length` how many octets can be written to `address`.
            unsafe { memory::put_address(address, length, peer) }?;
        }
        Ok(number)
    })
}

pub(super) unsafe extern "C" fn connect(
    _: *mut c_void,
    fd: c_int,
    address: *const c_void,
    length: socklen_t,
) -> c_int {
    answer_int(|machine| {
        // SAFETY: packetdrill's address is `length` octets long.
        let peer = unsafe { memory::address(address, length) }?;
        let Some(peer) = peer else {
            return Err(refuse(
                machine,
                "connecting to an address that is neither IPv4 nor IPv6".to_owned(),
            ));
        };
        let known = machine.with(|world| world.ends().connect(peer));
        known.map_err(|what| refuse(machine, what))?;
        value(machine, &Call::Connect { fd: own_fd(fd) })
    })
}

pub(super) unsafe extern "C" fn close(_: *mut c_void, fd: c_int) -> c_int {
    answer_int(|machine| value(machine, &Call::Close { fd: own_fd(fd) }))
}

pub(super) unsafe extern "C" fn shutdown(_: *mut c_void, fd: c_int, how: c_int) -> c_int {
    answer_int(|machine| {
        let how = numbers::shutdown(how).ok_or(Errno(libc::EINVAL))?;
        value(machine, &Call::Shutdown { fd: own_fd(fd), how })
    })
}

/// Returns or sets the status flags of a socket, as C's `fcntl` does. Some commands of C's function
/// have a third argument, an `int`. If the command has this argument, the lower 32 bits of `bits`
/// hold it. Otherwise `bits` is undefined. packetdrill calls this function as one with a variable
/// number of arguments. On 64-bit processors, Linux programs pass integers and pointers to such a
/// function in the same way as to a function with a fixed number of arguments.
pub(super) unsafe extern "C" fn fcntl(
    _: *mut c_void,
    fd: c_int,
    command: c_int,
    bits: c_long,
) -> c_int {
    answer_int(|machine| match command {
        libc::F_GETFL => value(machine, &Call::GetStatus { fd: own_fd(fd) }),
        libc::F_SETFL => {
            let nonblocking = bits & status::O_NONBLOCK != 0;
            value(machine, &Call::SetStatus { fd: own_fd(fd), nonblocking })
        }
        _ => Err(refuse(machine, format!("command {command} of `fcntl`"))),
    })
}

/// Answers a request about a socket, as C's `ioctl` does. `place`, the third argument of C's
/// function, is a pointer to the memory for the result of the request. `place` is passed in the
/// same way as the third argument of [`fcntl`].
pub(super) unsafe extern "C" fn ioctl(
    _: *mut c_void,
    fd: c_int,
    number: u64,
    place: *mut c_int,
) -> c_int {
    answer_int(|machine| {
        let request = numbers::request(number)
            .ok_or_else(|| refuse(machine, format!("request {number:#x} of `ioctl`")))?;
        let outcome = make(machine, &Call::Ioctl { fd: own_fd(fd), request })?;
        let number = super::options::number_of(outcome.out.as_ref());
        // SAFETY: each of the three known requests writes an `int`.
        unsafe { memory::put(place, number) }?;
        Ok(outcome.value)
    })
}

pub(super) unsafe extern "C" fn pipe(_: *mut c_void, _: *mut c_int) -> c_int {
    answer_int(|machine| Err(refuse(machine, "pipes".to_owned())))
}

pub(super) unsafe extern "C" fn splice(
    _: *mut c_void,
    _: c_int,
    _: *mut i64,
    _: c_int,
    _: *mut i64,
    _: usize,
    _: u32,
) -> c_int {
    answer_int(|machine| Err(refuse(machine, "splicing".to_owned())))
}

/// Closes one of our sockets. Errors are ignored.
pub(super) fn close_ours(fd: c_int) -> c_int {
    answer(|machine| value(machine, &Call::Close { fd: own_fd(fd) }));
    0
}
