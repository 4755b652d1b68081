//! Gives packetdrill's packets to our host, and gives packetdrill the packets that our host sends.

use std::ffi::{c_int, c_void};

use super::guard::{Errno, answer_int};
use super::memory;

pub(super) unsafe extern "C" fn packet_in(
    _: *mut c_void,
    place: *const c_void,
    length: usize,
) -> c_int {
    answer_int(|machine| {
        // SAFETY: the packet is `length` octets long.
        let packet = unsafe { memory::octets(place, length) }?;
        if machine.inject(packet) { Ok(0) } else { Err(Errno(libc::EOPNOTSUPP)) }
    })
}

/// Writes the next packet that our host sends.
///
/// If this function failed, packetdrill would call it again without end. So if no packet will come,
/// this function returns an empty packet. packetdrill counts this packet as malformed, and the
/// script fails.
pub(super) unsafe extern "C" fn packet_out(
    _: *mut c_void,
    place: *mut c_void,
    length: *mut usize,
    micros: *mut i64,
) -> c_int {
    let result = answer_int(|machine| {
        let (at, packet) = machine.receive().unwrap_or_else(|| {
            eprintln!("netspurt: the host sends nothing more");
            (machine.read_us(), Vec::new())
        });
        // SAFETY: `length` says how many octets can be written to `place`.
        unsafe {
            let room = memory::get(length)?;
            memory::put(length, memory::write(place, room, &packet)?)?;
            memory::put(micros, at)?;
        }
        Ok(0)
    });
    if result < 0 {
        // SAFETY: a length can be written to `length`. After an error, this empty packet makes
        // packetdrill stop calling.
        let _ = unsafe { memory::put(length, 0) };
    }
    0
}
