//! Encodes TCP segments as IPv4 and IPv6 packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::segment::Segment;

use super::decode::{checksum, pseudo, set_ipv4_checksum};
use super::head::{TcpHead, V4, V6};
use super::options::Layout;
use super::{HOP_LIMIT, LONGEST, TCP};

/// A segment with the other fields of its IP packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The source of the packet. For IPv6, only the address and the port are used.
    pub source: SocketAddr,
    /// The destination of the packet, of the same address family as the source.
    pub destination: SocketAddr,
    /// The identification of an IPv4 packet. IPv6 has none.
    pub ip_id: u16,
    /// The segment. Its id, cause, destination end and size are not on the wire.
    pub segment: Segment,
    /// The payload, with the length that the segment has. `None` stands for zeros.
    pub payload: Option<&'a [u8]>,
}

/// Writes `packet` with valid lengths and checksums into the buffer `out`, which is emptied first.
///
/// Options are laid out as in Linux, padded with no-operations to whole words. The packet has those
/// options that its segment has. A SYN may have timestamps and the options of SYNs. Any other
/// segment may have timestamps and SACK blocks. The urgent pointer, IPv6's flow label and the DSCP
/// are zero.
///
/// ```
/// use netspurt::segment::{Flags, Segment};
/// use netspurt::wire::{Packet, encode};
/// let packet = Packet {
///     source: "10.0.0.1:5001".parse().unwrap(),
///     destination: "10.0.0.2:80".parse().unwrap(),
///     ip_id: 1,
///     segment: Segment { seq: 1, ack: 1, len: 960, flags: Flags::ACK, ..Segment::default() },
///     payload: None,
/// };
/// let mut bytes = Vec::new();
/// encode(&packet, &mut bytes);
/// assert_eq!(bytes.len(), 1000);
/// ```
///
/// # Panics
/// When one address is IPv4 and the other IPv6, when the payload does not have the segment's
/// length, or when the packet exceeds 65535 octets.
pub fn encode(packet: &Packet<'_>, out: &mut Vec<u8>) {
    let options = Layout::of(&packet.segment);
    let options = options.as_slice();
    let tcp_at = match packet.source.ip() {
        IpAddr::V4(_) => V4,
        IpAddr::V6(_) => V6,
    };
    let options_at = tcp_at + TcpHead::BYTES;
    let payload_at = options_at + options.len();
    let end = payload_at + usize::from(packet.segment.len);
    assert!(end <= LONGEST, "a packet's length fits 16 bits");
    out.clear();
    out.resize(end, 0);
    if let Some(payload) = packet.payload {
        out[payload_at..].copy_from_slice(payload);
    }
    out[tcp_at..options_at].copy_from_slice(&tcp_head(packet, options.len()));
    out[options_at..payload_at].copy_from_slice(options);
    match (packet.source.ip(), packet.destination.ip()) {
        (IpAddr::V4(from), IpAddr::V4(to)) => {
            let ecn = packet.segment.ecn.bits();
            out[..V4].copy_from_slice(&ipv4_head(TCP, [from, to], packet.ip_id, ecn, end));
        }
        (IpAddr::V6(from), IpAddr::V6(to)) => {
            out[..V6].copy_from_slice(&ipv6_head(packet, [from, to], end - V6));
        }
        _ => panic!("both addresses of a packet are of one family"),
    }
    let addresses = [packet.source, packet.destination].map(|end| end.ip());
    let sum = checksum(pseudo(addresses, end - tcp_at), &out[tcp_at..]);
    out[tcp_at + TcpHead::CHECKSUM_AT..][..2].copy_from_slice(&sum.to_be_bytes());
}

/// The header of TCP without its options (RFC 9293 §3.1). The checksum is zero.
fn tcp_head(packet: &Packet<'_>, options: usize) -> [u8; TcpHead::BYTES] {
    let segment = &packet.segment;
    let mut head = [0; TcpHead::BYTES];
    head[..2].copy_from_slice(&packet.source.port().to_be_bytes());
    head[2..4].copy_from_slice(&packet.destination.port().to_be_bytes());
    head[4..8].copy_from_slice(&segment.seq.to_be_bytes());
    head[8..12].copy_from_slice(&segment.ack.to_be_bytes());
    // The length in words stands in the upper half of the octet.
    head[12] = u8::try_from((TcpHead::BYTES + options) / 4).expect("fifteen words at most") << 4;
    head[13] = segment.flags.0;
    head[14..16].copy_from_slice(&segment.window.to_be_bytes());
    head
}

/// An IPv4 header without options (RFC 791 §3.1), with its checksum. Routers must not fragment the
/// packet, which has `length` octets.
pub(super) fn ipv4_head(
    protocol: u8,
    [from, to]: [Ipv4Addr; 2],
    id: u16,
    ecn: u8,
    length: usize,
) -> [u8; V4] {
    const DO_NOT_FRAGMENT: u8 = 0x40;
    let mut head = [0; V4];
    // The version, and the length of the header in words.
    head[0] = 0x45;
    head[1] = ecn;
    head[2..4].copy_from_slice(&sixteen_bits(length));
    head[4..6].copy_from_slice(&id.to_be_bytes());
    head[6] = DO_NOT_FRAGMENT;
    head[8] = HOP_LIMIT;
    head[9] = protocol;
    head[12..16].copy_from_slice(&from.octets());
    head[16..].copy_from_slice(&to.octets());
    set_ipv4_checksum(&mut head);
    head
}

/// The IPv6 header of a TCP segment (RFC 8200 §3). The TCP header and the payload have `length`
/// octets.
fn ipv6_head(packet: &Packet<'_>, [from, to]: [Ipv6Addr; 2], length: usize) -> [u8; V6] {
    let mut head = [0; V6];
    head[0] = 0x60;
    // The octet begins with the lower half of the traffic class. The last two bits of this half are
    // the ECN field.
    head[1] = packet.segment.ecn.bits() << 4;
    head[4..6].copy_from_slice(&sixteen_bits(length));
    head[6] = TCP;
    head[7] = HOP_LIMIT;
    head[8..24].copy_from_slice(&from.octets());
    head[24..].copy_from_slice(&to.octets());
    head
}

fn sixteen_bits(length: usize) -> [u8; 2] {
    u16::try_from(length).expect("the length was checked").to_be_bytes()
}
