//! Receives datagrams with the kernel's timestamps. The kernel stamps a datagram when it arrives.
//! The socket's error queue reports when a datagram left.

use std::io;
use std::mem;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;

use super::{checked, set_option};

/// The number of octets for a datagram's control messages: timestamps, hop limit, an error and its
/// sender.
const CONTROL_BYTES: usize = 512;

/// One datagram, or what the error queue reports on a datagram that was sent.
#[derive(Clone, Copy, Debug)]
pub struct StampedDatagram<'a> {
    /// The datagram's octets. If the error queue reports that the datagram failed, these are only
    /// its first octets. If the error queue reports that the datagram was sent, there are no
    /// octets.
    pub bytes: &'a [u8],
    /// When the datagram or the ICMP error arrived, or when the datagram was sent: the kernel's
    /// timestamp, in nanoseconds since 1970.
    pub unix_ns: Option<u64>,
    /// The hop limit that was left when the datagram arrived.
    pub hops_left: Option<u8>,
    /// The report of the error queue; `None` for a datagram that was received.
    pub trouble: Option<Trouble>,
}

/// The report of the error queue on a datagram that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// No error: the datagram with this number was handed to the device. Datagrams of a socket are
    /// numbered from 0.
    Sent(u32),
    /// A router or host on the path reported an error (ICMP, ICMPv6).
    Returned {
        /// The address that sent the ICMP error.
        by: Option<IpAddr>,
        /// The type of the ICMP error.
        kind: u8,
        /// The code of the ICMP error.
        code: u8,
    },
    /// This machine could not send the datagram. The value is the number of the error.
    Local(i32),
}

/// Makes the kernel add software timestamps to every datagram that a socket sends or receives, and
/// number the sent datagrams from 0.
///
/// # Errors
/// When the kernel refuses.
pub fn stamp_datagrams(fd: BorrowedFd<'_>) -> io::Result<()> {
    let flags = libc::SOF_TIMESTAMPING_TX_SOFTWARE
        | libc::SOF_TIMESTAMPING_RX_SOFTWARE
        | libc::SOF_TIMESTAMPING_SOFTWARE
        | libc::SOF_TIMESTAMPING_OPT_ID
        | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    // Switching the option off and on restarts the numbers.
    for value in [0, flags.cast_signed()] {
        set_option(fd, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, value)?;
    }
    Ok(())
}

/// The memory for a datagram's control messages, aligned as `cmsghdr` must be.
#[repr(C, align(8))]
struct StampControl([u8; CONTROL_BYTES]);

/// Receives one waiting datagram, or, if `errors` is true, one entry of the error queue. `None` if
/// nothing waits.
///
/// # Errors
/// When the kernel refuses, or reports an error of the socket.
pub fn receive_stamped<'a>(
    fd: impl AsFd,
    room: &'a mut [u8],
    errors: bool,
) -> io::Result<Option<StampedDatagram<'a>>> {
    let mut control = StampControl([0; CONTROL_BYTES]);
    let mut place = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
    // SAFETY: zeros are a valid `msghdr`.
    let mut header: libc::msghdr = unsafe { mem::zeroed() };
    header.msg_iov = &raw mut place;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = CONTROL_BYTES as _;
    let flags = libc::MSG_DONTWAIT | if errors { libc::MSG_ERRQUEUE } else { 0 };
    // SAFETY: every pointer in `header` leads to memory of the stated size, lent for the call.
    let length = unsafe { libc::recvmsg(fd.as_fd().as_raw_fd(), &raw mut header, flags) };
    let Ok(length) = usize::try_from(length) else {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    };
    let (unix_ns, hops_left, trouble) = control_of(&header);
    let bytes = &room[..length.min(room.len())];
    Ok(Some(StampedDatagram { bytes, unix_ns, hops_left, trouble }))
}

/// `struct sock_extended_err`, which describes an entry of the error queue.
#[repr(C)]
#[derive(Clone, Copy)]
struct Extended {
    errno: u32,
    origin: u8,
    kind: u8,
    code: u8,
    pad: u8,
    info: u32,
    data: u32,
}

type ErrorReport = (Option<u64>, Option<u8>, Option<Trouble>);

/// Reads the control messages of a datagram.
fn control_of(header: &libc::msghdr) -> ErrorReport {
    let (mut stamp, mut hops, mut trouble) = (None, None, None);
    // SAFETY: the kernel wrote `msg_controllen` octets of messages at `msg_control`. The macros
    // stay within these octets. Each message is read as the type that its level and kind determine.
    // A message that is too short for its type is not read. All reads are unaligned.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(header);
        while !at.is_null() {
            let data = libc::CMSG_DATA(at);
            let length = (*at).cmsg_len as usize - libc::CMSG_LEN(0) as usize;
            match ((*at).cmsg_level, (*at).cmsg_type) {
                // The message has three timestamps. The first is the software timestamp.
                (libc::SOL_SOCKET, libc::SO_TIMESTAMPING)
                    if length >= mem::size_of::<libc::timespec>() =>
                {
                    stamp = nanoseconds(ptr::read_unaligned(data.cast()));
                }
                (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT)
                    if length >= mem::size_of::<i32>() =>
                {
                    hops = u8::try_from(ptr::read_unaligned(data.cast::<i32>())).ok();
                }
                (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
                    if length >= mem::size_of::<Extended>() =>
                {
                    let error: Extended = ptr::read_unaligned(data.cast());
                    let rest = std::slice::from_raw_parts(data, length);
                    trouble = Some(error.meant(&rest[mem::size_of::<Extended>()..]));
                }
                _ => {}
            }
            at = libc::CMSG_NXTHDR(header, at);
        }
    }
    (stamp, hops, trouble)
}

impl Extended {
    /// Returns the meaning of the entry. `offender` is the socket address that follows the entry in
    /// memory.
    fn meant(self, offender: &[u8]) -> Trouble {
        match self.origin {
            libc::SO_EE_ORIGIN_TIMESTAMPING => Trouble::Sent(self.data),
            libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6 => {
                Trouble::Returned { by: address(offender), kind: self.kind, code: self.code }
            }
            _ => Trouble::Local(self.errno.cast_signed()),
        }
    }
}

/// The address in a `sockaddr`.
fn address(octets: &[u8]) -> Option<IpAddr> {
    let family = i32::from(u16::from_ne_bytes(*octets.first_chunk()?));
    match family {
        libc::AF_INET => Some(Ipv4Addr::from(*octets.get(4..)?.first_chunk::<4>()?).into()),
        libc::AF_INET6 => Some(Ipv6Addr::from(*octets.get(8..)?.first_chunk::<16>()?).into()),
        _ => None,
    }
}

/// Converts a time into nanoseconds. `None` if the time is zero, because zero means that the kernel
/// has no timestamp.
fn nanoseconds(time: libc::timespec) -> Option<u64> {
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanos = seconds.checked_mul(1_000_000_000)? + u64::try_from(time.tv_nsec).ok()?;
    (nanos > 0).then_some(nanos)
}

/// Sets an option of IPv4, or of IPv6 if `six` is true. `name` has the option's number in IPv4 and
/// in IPv6.
///
/// # Errors
/// When the kernel refuses.
pub fn set_ip_option(fd: impl AsFd, six: bool, name: (i32, i32), value: i32) -> io::Result<()> {
    let (level, name) = if six { (libc::IPPROTO_IPV6, name.1) } else { (libc::IPPROTO_IP, name.0) };
    set_option(fd.as_fd(), level, name, value)
}

/// Lets a raw socket receive only one kind of ICMPv6 messages.
///
/// # Errors
/// When the kernel refuses.
pub fn only_icmp6(fd: impl AsFd, kind: u8) -> io::Result<()> {
    const ICMP6_FILTER: i32 = 1;
    // The filter has one bit for each kind. A set bit blocks the kind.
    let mut filter = [u32::MAX; 8];
    filter[usize::from(kind >> 5)] &= !(1 << (kind & 31));
    let length = mem::size_of_val(&filter) as libc::socklen_t;
    let place = (&raw const filter).cast();
    let fd = fd.as_fd().as_raw_fd();
    // SAFETY: `filter` outlives the call, and `length` is its size.
    checked(unsafe { libc::setsockopt(fd, libc::IPPROTO_ICMPV6, ICMP6_FILTER, place, length) })
}
