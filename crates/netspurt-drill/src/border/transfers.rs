//! Calls that read and write. Only the length of written data counts. All octets that a call reads
//! are zeros.

use std::ffi::{c_int, c_void};

use libc::{iovec, msghdr, socklen_t};
use netspurt_scenario::script::{Call, Fd, MessageFlags};

use super::control::put_control;
use super::fds::own_fd;
use super::guard::{BorderResult, Errno, answer, make, refuse, value};
use super::memory;
use crate::machine::DrillMachine;
use crate::numbers;

/// A call that writes `bytes` octets. `bad_buffer` is the name of the call if its buffer is null,
/// and `None` otherwise.
fn writes(fd: Fd, bytes: usize, flags: MessageFlags, bad_buffer: Option<&'static str>) -> Call {
    match bad_buffer {
        Some(name) => Call::BadBuffer { fd: own_fd(fd), name },
        None => Call::Write { fd: own_fd(fd), bytes: limited(bytes), flags },
    }
}

/// A call that reads up to `bytes` octets. `bad_buffer` is the name of the call if its buffer is
/// null, and `None` otherwise.
fn reads(fd: Fd, bytes: usize, flags: MessageFlags, bad_buffer: Option<&'static str>) -> Call {
    match bad_buffer {
        Some(name) => Call::BadBuffer { fd: own_fd(fd), name },
        None => Call::Read { fd: own_fd(fd), bytes: limited(bytes), flags },
    }
}

/// Limits `bytes` to the number of octets that Linux transfers in one call (`MAX_RW_COUNT`).
fn limited(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(0x7fff_f000).min(0x7fff_f000)
}

/// The lengths of the pieces of a message. Their sum is limited to what one call transfers.
fn pieces_taken(pieces: &[usize]) -> Vec<u32> {
    let mut left = limited(usize::MAX);
    let one = |piece: &usize| {
        let taken = limited(*piece).min(left);
        left -= taken;
        taken
    };
    pieces.iter().map(one).collect()
}

fn flags_of(machine: &DrillMachine, flags: c_int) -> BorderResult<MessageFlags> {
    numbers::message_flags(flags).map_err(|what| refuse(machine, what))
}

/// Reads into one buffer. All octets that are read are zeros.
fn read_into(
    name: &'static str,
    fd: c_int,
    (place, room): (*mut c_void, usize),
    flags: c_int,
) -> isize {
    let result = answer(|machine| {
        let flags = flags_of(machine, flags)?;
        let taken = value(machine, &reads(fd, room, flags, place.is_null().then_some(name)))?;
        let zeros = vec![0; usize::try_from(taken).unwrap_or(0)];
        // SAFETY: packetdrill's buffer has `room` octets, and no more octets were read.
        unsafe { memory::write(place, room, &zeros) }?;
        Ok(taken)
    });
    isize::try_from(result).unwrap_or(isize::MAX)
}

pub(super) unsafe extern "C" fn read(
    _: *mut c_void,
    fd: c_int,
    place: *mut c_void,
    room: usize,
) -> isize {
    read_into("read", fd, (place, room), 0)
}

pub(super) unsafe extern "C" fn recv(
    _: *mut c_void,
    fd: c_int,
    place: *mut c_void,
    room: usize,
    flags: c_int,
) -> isize {
    read_into("recv", fd, (place, room), flags)
}

pub(super) unsafe extern "C" fn recvfrom(
    _: *mut c_void,
    fd: c_int,
    place: *mut c_void,
    room: usize,
    flags: c_int,
    _: *mut c_void,
    _: *mut socklen_t,
) -> isize {
    read_into("recvfrom", fd, (place, room), flags)
}

pub(super) unsafe extern "C" fn readv(
    _: *mut c_void,
    fd: c_int,
    pieces: *const iovec,
    count: c_int,
) -> isize {
    vector("readv", (pieces, count), |bytes, bad_buffer| {
        reads(fd, bytes, MessageFlags::default(), bad_buffer)
    })
}

pub(super) unsafe extern "C" fn writev(
    _: *mut c_void,
    fd: c_int,
    pieces: *const iovec,
    count: c_int,
) -> isize {
    vector("writev", (pieces, count), |bytes, bad_buffer| {
        writes(fd, bytes, MessageFlags::default(), bad_buffer)
    })
}

/// Makes a call for the octets of all pieces. For `readv`, the pieces stay unchanged, because
/// packetdrill has already filled them with zeros.
fn vector(
    name: &'static str,
    (pieces, count): (*const iovec, c_int),
    call: impl FnOnce(usize, Option<&'static str>) -> Call,
) -> isize {
    let result = answer(|machine| {
        let count = usize::try_from(count).map_err(|_| Errno(libc::EINVAL))?;
        // SAFETY: there are `count` pieces.
        let (pieces, bad_buffer) = unsafe { memory::pieces(pieces, count) }?;
        value(machine, &call(memory::sum(&pieces), bad_buffer.then_some(name)))
    });
    isize::try_from(result).unwrap_or(isize::MAX)
}

pub(super) unsafe extern "C" fn recvmsg(
    _: *mut c_void,
    fd: c_int,
    message: *mut msghdr,
    flags: c_int,
) -> isize {
    let result = answer(|machine| {
        let flags = flags_of(machine, flags)?;
        // SAFETY: packetdrill's message is a `msghdr`, which states how many pieces it has.
        let (mut head, (pieces, bad_buffer)) = unsafe {
            let head = memory::get(message)?;
            (head, memory::pieces(head.msg_iov, head.msg_iovlen)?)
        };
        let call = match bad_buffer {
            true => Call::BadBuffer { fd: own_fd(fd), name: "recvmsg" },
            false => {
                let bytes = limited(memory::sum(&pieces));
                Call::ReadMessage { fd: own_fd(fd), bytes, flags }
            }
        };
        let outcome = make(machine, &call)?;
        let written = put_control(machine, &head, outcome.out.as_ref())?;
        head.msg_flags = written.flags;
        head.msg_namelen = 0;
        head.msg_controllen = written.control_bytes;
        // SAFETY: `message` points to the `msghdr` that was read above.
        unsafe { memory::put(message, head) }?;
        Ok(outcome.value)
    });
    isize::try_from(result).unwrap_or(isize::MAX)
}

/// Writes from one buffer.
fn write_from(
    name: &'static str,
    fd: c_int,
    (place, bytes): (*const c_void, usize),
    flags: c_int,
) -> isize {
    let result = answer(|machine| {
        let flags = flags_of(machine, flags)?;
        value(machine, &writes(fd, bytes, flags, place.is_null().then_some(name)))
    });
    isize::try_from(result).unwrap_or(isize::MAX)
}

pub(super) unsafe extern "C" fn write(
    _: *mut c_void,
    fd: c_int,
    place: *const c_void,
    bytes: usize,
) -> isize {
    write_from("write", fd, (place, bytes), 0)
}

pub(super) unsafe extern "C" fn send(
    _: *mut c_void,
    fd: c_int,
    place: *const c_void,
    bytes: usize,
    flags: c_int,
) -> isize {
    write_from("send", fd, (place, bytes), flags)
}

/// Writes, as C's `sendto` does. The address is ignored, because it has no effect on a connection.
pub(super) unsafe extern "C" fn sendto(
    _: *mut c_void,
    fd: c_int,
    place: *const c_void,
    bytes: usize,
    flags: c_int,
    _: *const c_void,
    _: socklen_t,
) -> isize {
    write_from("sendto", fd, (place, bytes), flags)
}

pub(super) unsafe extern "C" fn sendmsg(
    _: *mut c_void,
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> isize {
    let result = answer(|machine| {
        let flags = flags_of(machine, flags)?;
        // SAFETY: packetdrill's message is a `msghdr`, which states how many pieces it has.
        let (pieces, bad_buffer) = unsafe {
            let head = memory::get(message)?;
            memory::pieces(head.msg_iov, head.msg_iovlen)?
        };
        let fd = own_fd(fd);
        let call = match bad_buffer {
            true => Call::BadBuffer { fd, name: "sendmsg" },
            false => Call::WriteMessage { fd, pieces: pieces_taken(&pieces), flags },
        };
        value(machine, &call)
    });
    isize::try_from(result).unwrap_or(isize::MAX)
}
