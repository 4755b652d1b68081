//! Encodes ICMP echo requests and replies as IPv4 packets, and decodes them from IPv4 and IPv6
//! packets. Also decodes the ICMP reports of routers that a packet was too big.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::ids::Side;
use crate::segment::Segment;

use super::decode::checksum;
use super::encode::ipv4_head;
use super::head::{IpHead, V4};
use super::{LONGEST, TCP};

/// An echo request or reply (RFC 792).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoPacket {
    /// The source of the packet.
    pub source: Ipv4Addr,
    /// The destination of the packet.
    pub destination: Ipv4Addr,
    /// The identification of the IPv4 packet.
    pub ip_id: u16,
    /// Whether the packet is a reply.
    pub reply: bool,
    /// The identifier. A reply has the identifier and the sequence number of its request.
    pub identifier: u16,
    /// The sequence number.
    pub sequence: u16,
    /// The number of octets of payload. All of them are zeros.
    pub len: u16,
}

impl EchoPacket {
    /// The packet for `echo`, a segment of the simulation. The prober sends echo requests, and the
    /// echo host replies. The identifier is the number of the flow. The packet is a reply if the
    /// flow's second end sent it.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "each field has 16 bits, so the numbers wrap around"
    )]
    pub fn of(echo: &Segment, [prober, echo_host]: [Ipv4Addr; 2]) -> Self {
        let reply = echo.source().side() == Side::To;
        let (source, destination) = if reply { (echo_host, prober) } else { (prober, echo_host) };
        Self {
            source,
            destination,
            ip_id: echo.id.bits() as u16,
            reply,
            identifier: echo.flow().0 as u16,
            sequence: echo.seq as u16,
            len: echo.len,
        }
    }
}

const ICMP: u8 = 1;
const ICMPV6: u8 = 58;
const HEAD: usize = 8;

/// An echo request or reply in a captured packet of IPv4 (RFC 792) or IPv6 (RFC 4443).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapturedEcho {
    /// The source of the packet.
    pub source: IpAddr,
    /// The destination of the packet.
    pub destination: IpAddr,
    /// Whether the packet is a reply.
    pub reply: bool,
    /// The identifier.
    pub identifier: u16,
    /// The sequence number.
    pub sequence: u16,
    /// The size of the IP packet in octets, including headers. Of a fragmented message, only the
    /// first fragment counts.
    pub wire_bytes: u32,
}

/// Reads the echo request or reply in `ip`, which is a packet or the first fragment of an IPv4
/// packet. `None` if no echo message follows the IP header directly.
///
/// ```
/// use std::net::Ipv4Addr;
/// use netspurt::wire::{EchoPacket, decode_echo, encode_echo};
/// let (source, destination) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
/// let packet = EchoPacket {
///     source, destination, ip_id: 1, reply: true, identifier: 3, sequence: 4, len: 12,
/// };
/// let mut bytes = Vec::new();
/// encode_echo(&packet, &mut bytes);
/// let echo = decode_echo(&bytes).unwrap();
/// assert_eq!((echo.source, echo.reply, echo.wire_bytes), (source.into(), true, 40));
/// ```
pub fn decode_echo(ip: &[u8]) -> Option<CapturedEcho> {
    let head = IpHead::of(ip)?;
    let (protocol, at) = head.payload();
    let icmp = ip.get(at..)?.first_chunk::<HEAD>()?;
    let reply = match (protocol, head, icmp[0]) {
        (ICMP, IpHead::V4(_), 8) | (ICMPV6, IpHead::V6(_), 128) => false,
        (ICMP, IpHead::V4(_), 0) | (ICMPV6, IpHead::V6(_), 129) => true,
        _ => return None,
    };
    if head.part().offset_bytes() > 0 {
        return None;
    }
    let half = |at: usize| u16::from_be_bytes([icmp[at], icmp[at + 1]]);
    let [source, destination] = head.addresses();
    Some(CapturedEcho {
        source,
        destination,
        reply,
        identifier: half(4),
        sequence: half(6),
        wire_bytes: u32::try_from(head.total_bytes()).ok()?,
    })
}

/// A report that a packet of TCP was too big for the path. The router that dropped the packet sends
/// this report to the packet's source (RFC 1191 §4, RFC 4443 §3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketTooBig {
    /// The source and the destination of the packet that was too big.
    pub ends: [SocketAddr; 2],
    /// The sequence number of the packet that was too big.
    pub seq: u32,
    /// The largest packet that the next link carries, in octets. It is 0 if the router does not
    /// report this size.
    pub mtu: u32,
}

/// Reads the report in `ip` that a packet of TCP was too big. `None` if `ip` has no such report, or
/// if the report quotes less than the first eight octets of the TCP header (RFC 792).
pub fn decode_too_big(ip: &[u8]) -> Option<PacketTooBig> {
    let head = IpHead::of(ip)?;
    let (protocol, at) = head.payload();
    let (icmp, quoted) = ip.get(at..)?.split_first_chunk::<HEAD>()?;
    let mtu = match (protocol, head, icmp[0], icmp[1]) {
        (ICMP, IpHead::V4(_), 3, 4) => u16::from_be_bytes([icmp[6], icmp[7]]).into(),
        (ICMPV6, IpHead::V6(_), 2, _) => u32::from_be_bytes([icmp[4], icmp[5], icmp[6], icmp[7]]),
        _ => return None,
    };
    let dropped = IpHead::of(quoted)?;
    let (TCP, at) = dropped.payload() else { return None };
    let tcp = quoted.get(at..)?.first_chunk::<8>()?;
    let [source, destination] = dropped.addresses();
    let port = |at: usize| u16::from_be_bytes([tcp[at], tcp[at + 1]]);
    Some(PacketTooBig {
        ends: [(source, port(0)).into(), (destination, port(2)).into()],
        seq: u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]),
        mtu,
    })
}

/// Writes `packet` with valid lengths and checksums into the buffer `out`, which is emptied first.
///
/// ```
/// use std::net::Ipv4Addr;
/// use netspurt::wire::{EchoPacket, encode_echo};
/// let packet = EchoPacket {
///     source: Ipv4Addr::new(10, 0, 0, 1), destination: Ipv4Addr::new(10, 0, 0, 2),
///     ip_id: 1, reply: false, identifier: 3, sequence: 4, len: 12,
/// };
/// let mut bytes = Vec::new();
/// encode_echo(&packet, &mut bytes);
/// assert_eq!((bytes.len(), bytes[20]), (40, 8));
/// ```
///
/// # Panics
/// When the packet exceeds 65535 octets.
pub fn encode_echo(packet: &EchoPacket, out: &mut Vec<u8>) {
    let whole = V4 + HEAD + usize::from(packet.len);
    assert!(whole <= LONGEST, "a packet's length fits 16 bits");
    let addresses = [packet.source, packet.destination];
    let mut head = [0; HEAD];
    head[0] = if packet.reply { 0 } else { 8 };
    head[4..6].copy_from_slice(&packet.identifier.to_be_bytes());
    head[6..].copy_from_slice(&packet.sequence.to_be_bytes());
    // A payload of zeros adds nothing to the sum.
    let sum = checksum(0, &head);
    head[2..4].copy_from_slice(&sum.to_be_bytes());
    out.clear();
    out.extend_from_slice(&ipv4_head(ICMP, addresses, packet.ip_id, 0, whole));
    out.extend_from_slice(&head);
    out.resize(whole, 0);
}
