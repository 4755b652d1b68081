//! The calls by which a script waits (`poll`, `epoll` and `usleep`), and the call that reads the
//! clock (`gettimeofday`).

use std::ffi::{c_int, c_void};
use std::slice;

use libc::{epoll_event, pollfd, timeval};
use netspurt::units::Duration;
use netspurt_scenario::script::{Call, Fd, OptionValue, Readiness, Wait};

use super::fds::{FIRST, own_fd};
use super::guard::{Errno, answer_int, make, value};
use super::memory;
use crate::numbers;

fn wait_of(millis: c_int) -> Wait {
    u32::try_from(millis).map_or(Wait::Forever, Wait::Millis)
}

/// Returns the sockets that a call reported as ready.
fn ready(out: Option<OptionValue>) -> Vec<(Fd, Readiness)> {
    match out {
        Some(OptionValue::Ready(found)) => found,
        _ => Vec::new(),
    }
}

pub(super) unsafe extern "C" fn poll(
    _: *mut c_void,
    entries: *mut pollfd,
    count: u64,
    millis: c_int,
) -> c_int {
    answer_int(|machine| {
        let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL))?;
        if entries.is_null() {
            return Err(Errno(libc::EFAULT));
        }
        // SAFETY: there are `count` entries, and nobody else uses them until the call returns.
        let entries = unsafe { slice::from_raw_parts_mut(entries, count) };
        let asked = entries
            .iter()
            .map(|entry| (own_fd(entry.fd), Readiness(u32::from(entry.events.cast_unsigned()))));
        let outcome =
            make(machine, &Call::Poll { entries: asked.collect(), wait: wait_of(millis) })?;
        let found = ready(outcome.out);
        for entry in entries {
            let bits = found.iter().find(|(fd, _)| *fd == own_fd(entry.fd));
            // `poll` uses only the lower 16 of the 32 bits.
            entry.revents = bits.map_or(0, |(_, bits)| (bits.0 & 0xffff) as u16).cast_signed();
        }
        Ok(outcome.value)
    })
}

pub(super) unsafe extern "C" fn epoll_create(_: *mut c_void, _: c_int) -> c_int {
    answer_int(
        |machine| Ok(value(machine, &Call::EpollCreate { number: None })? + i64::from(FIRST)),
    )
}

pub(super) unsafe extern "C" fn epoll_ctl(
    _: *mut c_void,
    epoll: c_int,
    operation: c_int,
    socket: c_int,
    event: *const epoll_event,
) -> c_int {
    answer_int(|machine| {
        let operation = numbers::epoll_operation(operation).ok_or(Errno(libc::EINVAL))?;
        // SAFETY: packetdrill always gives an event.
        let event = unsafe { memory::get(event) }?;
        let (fd, socket) = (own_fd(epoll), own_fd(socket));
        let events = Readiness(event.events);
        let result = value(machine, &Call::EpollControl { fd, operation, socket, events })?;
        machine.with(|world| world.mark(fd, socket, operation, event.u64));
        Ok(result)
    })
}

pub(super) unsafe extern "C" fn epoll_wait(
    _: *mut c_void,
    epoll: c_int,
    places: *mut epoll_event,
    most: c_int,
    millis: c_int,
) -> c_int {
    answer_int(|machine| {
        let most = u32::try_from(most).map_err(|_| Errno(libc::EINVAL))?;
        let fd = own_fd(epoll);
        let outcome = make(machine, &Call::EpollWait { fd, most, wait: wait_of(millis) })?;
        for (at, (socket, bits)) in ready(outcome.out).into_iter().enumerate() {
            let u64 = machine.with(|world| world.marked(fd, socket));
            // SAFETY: `most` is the number of entries for which there is room, and the host does
            // not report more sockets than `most`.
            unsafe { memory::put(places.add(at), epoll_event { events: bits.0, u64 }) }?;
        }
        Ok(outcome.value)
    })
}

pub(super) unsafe extern "C" fn usleep(_: *mut c_void, micros: u32) -> c_int {
    answer_int(|machine| {
        machine.sleep(Duration::from_micros(micros.into()));
        Ok(0)
    })
}

pub(super) unsafe extern "C" fn gettimeofday(
    _: *mut c_void,
    place: *mut timeval,
    _: *mut c_void,
) -> c_int {
    answer_int(|machine| {
        let micros = machine.read_us();
        let time = timeval { tv_sec: micros / 1_000_000, tv_usec: micros % 1_000_000 };
        // SAFETY: packetdrill's pointer `place` leads to memory for a `timeval`.
        unsafe { memory::put(place, time) }?;
        Ok(0)
    })
}
