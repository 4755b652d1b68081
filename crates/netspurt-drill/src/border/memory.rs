//! Reads and writes the memory to which packetdrill's pointers lead. Most functions here call such
//! a pointer `place`.
//!
//! Each unsafe function takes pointers from packetdrill, and states what the caller must guarantee.
//! A null pointer is allowed: the functions check for it.

use std::ffi::{c_int, c_void};
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::ptr;
use std::slice;

use super::guard::{BorderResult, Errno};

/// The octets at `place`.
///
/// # Safety
/// If `place` is not null, `length` octets there can be read for as long as the result is used.
pub(super) unsafe fn octets<'a>(place: *const c_void, length: usize) -> BorderResult<&'a [u8]> {
    if place.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: the caller meets the conditions of `# Safety`.
    Ok(unsafe { slice::from_raw_parts(place.cast(), length) })
}

/// Writes at most `room` octets to `place`. Returns the number of written octets.
///
/// # Safety
/// If `place` is not null, `room` octets there can be written.
pub(super) unsafe fn write(place: *mut c_void, room: usize, octets: &[u8]) -> BorderResult<usize> {
    if place.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    let length = octets.len().min(room);
    // SAFETY: both places have at least `length` octets. They do not overlap, because the caller's
    // memory is not ours.
    unsafe { ptr::copy_nonoverlapping(octets.as_ptr(), place.cast(), length) };
    Ok(length)
}

/// Writes a value to `place`.
///
/// # Safety
/// If `place` is not null, a value of type `T` can be written there.
pub(super) unsafe fn put<T: Copy>(place: *mut T, value: T) -> BorderResult<()> {
    if place.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: the caller meets the conditions of `# Safety`. `place` may be unaligned, because it
    // may lie within a packed structure.
    unsafe { place.write_unaligned(value) };
    Ok(())
}

/// Reads a value at `place`.
///
/// # Safety
/// If `place` is not null, a value of type `T` can be read there. Every pattern of bits is a valid
/// value of `T`.
pub(super) unsafe fn get<T: Copy>(place: *const T) -> BorderResult<T> {
    if place.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: the caller meets the conditions of `# Safety`.
    Ok(unsafe { place.read_unaligned() })
}

/// Returns the length of each piece of a message in octets, and whether a piece that is not empty
/// has a null pointer.
///
/// # Safety
/// If `pieces` is not null, `count` pieces can be read there.
pub(super) unsafe fn pieces(
    pieces: *const libc::iovec,
    count: usize,
) -> BorderResult<(Vec<usize>, bool)> {
    if count == 0 {
        return Ok((Vec::new(), false));
    }
    if pieces.is_null() {
        return Err(Errno(libc::EFAULT));
    }
    // SAFETY: the caller meets the conditions of `# Safety`.
    let pieces = unsafe { slice::from_raw_parts(pieces, count) };
    let lengths = pieces.iter().map(|piece| piece.iov_len).collect();
    Ok((lengths, pieces.iter().any(|piece| piece.iov_base.is_null() && piece.iov_len > 0)))
}

/// The sum of the lengths of pieces.
pub(super) fn sum(pieces: &[usize]) -> usize {
    pieces.iter().fold(0, |sum, piece| sum.saturating_add(*piece))
}

/// The number of octets of the address family, which is at the start of an address.
const FAMILY_BYTES: usize = mem::size_of::<libc::sa_family_t>();

/// Reads the address at `place`. Returns `None` if its family is neither IPv4 nor IPv6.
///
/// # Safety
/// If `place` is not null, `length` octets there can be read.
pub(super) unsafe fn address(
    place: *const c_void,
    length: libc::socklen_t,
) -> BorderResult<Option<SocketAddr>> {
    // SAFETY: the caller meets the conditions of `# Safety`.
    let octets = unsafe { octets(place, length as usize) }?;
    let short = || Errno(libc::EINVAL);
    let family = octets.first_chunk::<FAMILY_BYTES>().ok_or_else(short)?;
    let port = |octets: &[u8]| u16::from_be_bytes([octets[2], octets[3]]);
    match c_int::from(libc::sa_family_t::from_ne_bytes(*family)) {
        libc::AF_INET => {
            let octets = octets.first_chunk::<8>().ok_or_else(short)?;
            let ip = Ipv4Addr::new(octets[4], octets[5], octets[6], octets[7]);
            Ok(Some(SocketAddr::new(ip.into(), port(octets))))
        }
        libc::AF_INET6 => {
            let octets = octets.first_chunk::<24>().ok_or_else(short)?;
            let ip: [u8; 16] = octets[8..].try_into().expect("sixteen octets");
            Ok(Some(SocketAddr::new(Ipv6Addr::from(ip).into(), port(octets))))
        }
        _ => Ok(None),
    }
}

/// Encodes an address as C's `sockaddr_in` or `sockaddr_in6`.
pub(super) fn address_octets(address: SocketAddr) -> Vec<u8> {
    let port = address.port().to_be_bytes();
    let family = |family: c_int| (family as libc::sa_family_t).to_ne_bytes();
    match address.ip() {
        IpAddr::V4(ip) => [&family(libc::AF_INET)[..], &port, &ip.octets(), &[0; 8]].concat(),
        IpAddr::V6(ip) => {
            [&family(libc::AF_INET6)[..], &port, &[0; 4], &ip.octets(), &[0; 4]].concat()
        }
    }
}

/// Writes an address to `place`, and its length to `length`. Writes nothing if one of these
/// pointers is null.
///
/// # Safety
/// If both pointers are not null, `length` says how many octets can be written to `place`.
pub(super) unsafe fn put_address(
    place: *mut c_void,
    length: *mut libc::socklen_t,
    address: SocketAddr,
) -> BorderResult<()> {
    if place.is_null() || length.is_null() {
        return Ok(());
    }
    let octets = address_octets(address);
    // SAFETY: the caller meets the conditions of `# Safety`.
    unsafe {
        let room = get(length)?;
        write(place, room as usize, &octets)?;
        put(length, octets.len() as libc::socklen_t)
    }
}
