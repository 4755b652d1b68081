//! Decodes IPv4 and IPv6 packets as TCP segments. The bytes may be hostile.

use std::net::{IpAddr, SocketAddr};

use crate::segment::{Ecn, Segment};

use super::extensions::{
    Extension, Extensions, FRAGMENT, HOP_BY_HOP, ROUTING, jumbo_payload, last_stop,
};
use super::head::{IpHead, TcpHead};
use super::options::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, read_options};
use super::{LONGEST, TCP};

/// Which parts of a packet must be correct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checks {
    /// The checksums of TCP and of an IPv4 header must be correct, and all octets must be present.
    Whole,
    /// For captured packets: the headers must be complete and well-formed. Checksums are not
    /// checked, because the network card may have filled them in later. The payload may be cut
    /// short.
    Captured,
}

/// Why a packet cannot be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The packet ends too early.
    #[error("the packet ends too early")]
    Truncated,
    /// The version of IP is neither 4 nor 6.
    #[error("version {0} of IP is neither 4 nor 6")]
    Version(u8),
    /// A header is shorter than the minimum, or longer than the packet.
    #[error("a header is shorter than its minimum, or longer than the packet")]
    HeaderLength,
    /// The packet's length leaves no room for its headers, or is too large. An example is a
    /// jumbogram, whose length field is zero (RFC 2675 §2). [`decode`] takes packets of at most
    /// 65535 octets, so it does not read the true length of a jumbogram.
    #[error("the packet's length leaves no room for its headers, or is too large")]
    Length,
    /// The checksum of an IPv4 header is wrong.
    #[error("the checksum of the IP header is wrong")]
    IpChecksum,
    /// The checksum of TCP is wrong.
    #[error("the checksum of TCP is wrong")]
    TcpChecksum,
    /// The packet is a fragment.
    #[error("the packet is a fragment")]
    Fragment,
    /// The packet has the protocol with this number, which is not TCP.
    #[error("protocol {0} is not TCP")]
    NotTcp(u8),
    /// An IPv6 routing header has segments left, but is of an unknown kind or has no address. The
    /// last destination, which the checksum uses (RFC 8200 §8.1), therefore cannot be found.
    #[error("an IPv6 routing header with segments left is of an unknown kind or has no address")]
    Routed,
}

/// A packet that cannot be decoded as a TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, at octet {offset}")]
pub struct DecodeError {
    /// The offset of the fault, in octets from the start of the IP header.
    pub offset: usize,
    /// The fault.
    pub what: Fault,
}

/// A decoded packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decoded<'a> {
    /// The source of the packet.
    pub source: SocketAddr,
    /// The destination of the packet.
    pub destination: SocketAddr,
    /// The identification. It is 0 for IPv6.
    pub ip_id: u16,
    /// The segment, without the fields that are not on the wire: id, cause and destination end. The
    /// size of the segment is the size of the IP packet.
    pub segment: Segment,
    /// The urgent pointer, which is valid if [`Flags::URG`](crate::segment::Flags::URG) is set.
    pub urgent: u16,
    /// The four bits between the header's length and the flags. They are zero in RFC 9293. The
    /// lowest bit is AE (RFC 9768).
    pub reserved: u8,
    /// The offset of the first malformed option, in octets from the start of the IP header.
    pub malformed_option: Option<usize>,
    /// The payload, or the captured part of it.
    pub payload: &'a [u8],
}

/// The fields of an IP header.
pub(super) struct Ip {
    pub(super) addresses: [IpAddr; 2],
    pub(super) id: u16,
    pub(super) ecn: Ecn,
    pub(super) hop_limit: u8,
    pub(super) flow_label: u32,
    /// The range of the TCP segment.
    pub(super) tcp: (usize, usize),
}

/// Decodes the IPv4 or IPv6 packet at the start of `bytes`. Octets after its end are ignored.
///
/// All SACK blocks are kept, because a header has room for at most four (RFC 2018 §3). Malformed
/// options do not make a packet invalid. Reading ends at the first option whose length is below two
/// or exceeds the header. Earlier options are kept, and
/// [`malformed_option`](Decoded::malformed_option) has the offset of the malformed option.
///
/// ```
/// use netspurt::wire::{Checks, Fault, decode};
/// let error = decode(&[0x60, 0, 0], Checks::Whole).unwrap_err();
/// assert_eq!((error.offset, error.what), (3, Fault::Truncated));
/// ```
///
/// # Errors
/// When the bytes do not begin with a TCP segment over IP, or fail the `checks`. The offset points
/// to the wrong field, or to the end if octets are missing.
pub fn decode(bytes: &[u8], checks: Checks) -> Result<Decoded<'_>, DecodeError> {
    let ip = match version(bytes)? {
        4 => ipv4(bytes, checks, None)?,
        6 => ipv6(bytes, None)?,
        version => return Err(fault(0, Fault::Version(version))),
    };
    let (at, end) = ip.tcp;
    let there = &bytes[..end.min(bytes.len())];
    if checks == Checks::Whole && there.len() < end {
        return Err(fault(bytes.len(), Fault::Truncated));
    }
    let head = there.get(at..).and_then(TcpHead::of);
    let head = head.ok_or(fault(bytes.len(), Fault::Truncated))?;
    let payload_at = at + head.own_bytes();
    if payload_at < at + TcpHead::BYTES || payload_at > end {
        return Err(fault(at + 12, Fault::HeaderLength));
    }
    let options = there.get(at + TcpHead::BYTES..payload_at);
    let options = options.ok_or(fault(bytes.len(), Fault::Truncated))?;
    if checks == Checks::Whole && checksum(pseudo(ip.addresses, end - at), &there[at..]) != 0 {
        return Err(fault(at + TcpHead::CHECKSUM_AT, Fault::TcpChecksum));
    }
    let mut segment = segment(head, &ip, end - payload_at);
    let malformed = read_options(options, &mut segment);
    let [source, destination] = head.ports();
    Ok(Decoded {
        source: SocketAddr::new(ip.addresses[0], source),
        destination: SocketAddr::new(ip.addresses[1], destination),
        ip_id: ip.id,
        segment,
        urgent: head.urgent(),
        reserved: head.reserved(),
        malformed_option: malformed.map(|option| at + TcpHead::BYTES + option),
        payload: &there[payload_at..],
    })
}

/// The IP version of a packet.
#[inline]
fn version(bytes: &[u8]) -> Result<u8, DecodeError> {
    let [first] = array(bytes, 0)?;
    Ok(first >> 4)
}

/// Reads the IP header of a captured packet, and finds the TCP segment after it. The packet had
/// `original_bytes` octets on the link. The length in the header is zero in a jumbogram, and may be
/// zero in a packet that the network card divides later. If it is zero, the length in the
/// jumbogram's option counts. If there is no such option, the length on the link counts.
#[inline]
pub(super) fn locate_tcp(bytes: &[u8], original_bytes: usize) -> Result<Ip, DecodeError> {
    match version(bytes)? {
        4 => ipv4(bytes, Checks::Captured, Some(original_bytes)),
        6 => ipv6(bytes, Some(original_bytes)),
        version => Err(fault(0, Fault::Version(version))),
    }
}

/// The segment that a TCP header describes, without the header's options.
#[expect(clippy::cast_possible_truncation, reason = "a packet is 65535 octets at most")]
fn segment(head: TcpHead<'_>, ip: &Ip, len: usize) -> Segment {
    Segment {
        seq: head.seq(),
        ack: head.ack(),
        len: len as u16,
        size_bytes: ip.tcp.1 as u16,
        window: head.window(),
        flags: head.flags(),
        ecn: ip.ecn,
        ..Segment::default()
    }
}

/// Reads an IPv4 header, and finds the TCP segment after it. If the length field of the header is
/// zero, the length on the link counts. If `on_link_bytes` is `None`, a length of zero is an error.
#[inline]
fn ipv4(bytes: &[u8], checks: Checks, on_link_bytes: Option<usize>) -> Result<Ip, DecodeError> {
    let head = IpHead::of(bytes).ok_or(fault(bytes.len(), Fault::Truncated))?;
    let (protocol, at) = head.payload();
    if at < usize::from(IPV4_HEADER_BYTES) {
        return Err(fault(0, Fault::HeaderLength));
    }
    let header = bytes.get(..at).ok_or(fault(bytes.len(), Fault::Truncated))?;
    if checks == Checks::Whole && checksum(0, header) != 0 {
        return Err(fault(10, Fault::IpChecksum));
    }
    if !head.part().is_whole() {
        return Err(fault(6, Fault::Fragment));
    }
    if protocol != TCP {
        return Err(fault(9, Fault::NotTcp(protocol)));
    }
    let end = match (head.total_bytes(), on_link_bytes) {
        (0, Some(original)) => original,
        (end, _) => end,
    };
    if end < at + TcpHead::BYTES {
        return Err(fault(2, Fault::Length));
    }
    Ok(Ip::of(head, at, end))
}

/// Reads the headers of an IPv6 packet, and finds the TCP segment after them. If the length field
/// of the header is zero, the length in the jumbogram's option counts. If there is no such option,
/// the length on the link counts. If `on_link_bytes` is `None`, a length of zero is an error.
#[inline]
fn ipv6(bytes: &[u8], on_link_bytes: Option<usize>) -> Result<Ip, DecodeError> {
    let head = IpHead::of(bytes).ok_or(fault(bytes.len(), Fault::Truncated))?;
    let mut ip = Ip::of(head, IPV6_HEADER_BYTES.into(), head.total_bytes());
    let next = head.payload().0;
    if next != TCP {
        pass_extensions(bytes, next, &mut ip)?;
    }
    let (at, end) = &mut ip.tcp;
    match on_link_bytes {
        Some(original) if *end == usize::from(IPV6_HEADER_BYTES) => {
            *end = jumbogram(bytes, next).unwrap_or(original);
            if *end > original {
                return Err(fault(4, Fault::Length));
            }
        }
        None if *end > LONGEST => return Err(fault(4, Fault::Length)),
        _ => {}
    }
    match *end < *at + TcpHead::BYTES {
        true => Err(fault(4, Fault::Length)),
        false => Ok(ip),
    }
}

impl Ip {
    #[inline]
    fn of(head: IpHead<'_>, at: usize, end: usize) -> Self {
        Self {
            addresses: head.addresses(),
            id: head.id(),
            ecn: head.ecn(),
            hop_limit: head.hop_limit(),
            flow_label: head.flow_label(),
            tcp: (at, end),
        }
    }
}

/// Skips the extension headers of an IPv6 packet, and sets the offset of TCP and the last
/// destination. `next` is the kind of the first extension header.
fn pass_extensions(bytes: &[u8], next: u8, ip: &mut Ip) -> Result<(), DecodeError> {
    let mut extensions = Extensions::of(bytes, next);
    for Extension { kind, at, octets, .. } in extensions.by_ref() {
        if kind == ROUTING && octets[3] != 0 {
            let stop = last_stop(octets).ok_or(fault(at + 3, Fault::Routed))?;
            ip.addresses[1] = stop.into();
        }
        // A fragment that is first and last is a whole packet (RFC 6946 §4).
        if kind == FRAGMENT && u16::from_be_bytes([octets[2], octets[3]]) & 0xfff9 != 0 {
            return Err(fault(at + 2, Fault::Fragment));
        }
    }
    if extensions.is_cut() {
        return Err(fault(bytes.len(), Fault::Truncated));
    }
    if extensions.next != TCP {
        return Err(fault(extensions.named_at, Fault::NotTcp(extensions.next)));
    }
    ip.tcp.0 = extensions.at;
    Ok(())
}

/// The length of a jumbogram with all its headers. The hop-by-hop options of the jumbogram give the
/// length without the fixed header (RFC 2675 §2).
fn jumbogram(bytes: &[u8], next: u8) -> Option<usize> {
    let first = Extensions::of(bytes, next).next().filter(|first| first.kind == HOP_BY_HOP)?;
    let length = jumbo_payload(first.octets)?;
    usize::try_from(length).ok()?.checked_add(IPV6_HEADER_BYTES.into())
}

/// The sum of the pseudo header (RFC 9293 §3.1, RFC 8200 §8.1) of a segment of TCP with `tcp_bytes`
/// octets, including its header.
pub(super) fn pseudo(addresses: [IpAddr; 2], tcp_bytes: usize) -> u64 {
    let [source, destination] = addresses.map(|address| match address {
        IpAddr::V4(address) => sum(&address.octets()),
        IpAddr::V6(address) => sum(&address.octets()),
    });
    source + destination + u64::from(TCP) + tcp_bytes as u64
}

/// Writes the checksum of an IPv4 header into the header (RFC 791 §3.1).
pub(super) fn set_ipv4_checksum(head: &mut [u8]) {
    head[10..12].fill(0);
    let sum = checksum(0, head);
    head[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The sum of the 16-bit words of `bytes`, folded into one word by end-around carry (RFC 1071 §1).
/// If the number of octets is odd, a zero follows the last octet.
///
/// ```
/// assert_eq!(netspurt::wire::sum(&[0xff, 0xff, 0, 2, 1]), 0x0102);
/// ```
pub fn sum(bytes: &[u8]) -> u64 {
    // The byte order does not matter until the end (RFC 1071 §2, B). The number of words that are
    // added at once does not matter either.
    let (words, rest) = bytes.as_chunks::<4>();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let many: u64 = words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum();
    let mut sum = many + u64::from(u32::from_ne_bytes(last));
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    let word = u16::try_from(sum).unwrap_or(0);
    u16::from_be_bytes(word.to_ne_bytes()).into()
}

/// The checksum of octets: `before` is the sum of the first octets, and `bytes` are the other
/// octets. The result is zero if these octets contain the correct checksum.
pub(super) fn checksum(before: u64, bytes: &[u8]) -> u16 {
    let mut sum = before + sum(bytes);
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !u16::try_from(sum).unwrap_or(0)
}

pub(super) const fn fault(offset: usize, what: Fault) -> DecodeError {
    DecodeError { offset, what }
}

/// The `N` octets from the offset `at` on.
fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], DecodeError> {
    let octets = bytes.get(at..).and_then(<[u8]>::first_chunk);
    octets.copied().ok_or(fault(bytes.len(), Fault::Truncated))
}
