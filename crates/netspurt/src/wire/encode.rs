//! Encodes TCP segments as IPv4 and IPv6 packets.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use etherparse::{IpEcn, IpNumber, Ipv4Header, Ipv6Header, TcpHeader};

use crate::segment::{Flags, Segment};

use super::options::Layout;
use super::{HOP_LIMIT, LONGEST, TCP};

/// A segment with the other fields of its IP packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    /// The source of the packet. For IPv6 only the address and the port are used.
    pub source: SocketAddr,
    /// The destination of the packet, of the same address family as the source.
    pub destination: SocketAddr,
    /// Identification of an IPv4 packet; IPv6 has none.
    pub ip_id: u16,
    /// The segment. Its id, cause, endpoint and size are not on the wire.
    pub segment: Segment,
    /// The payload, with the length that the segment has. `None` stands for zeros.
    pub payload: Option<&'a [u8]>,
}

/// Writes `packet` with valid lengths and checksums into `out`, which is emptied first.
///
/// Options are laid out as in Linux, padded with no-operations to whole words. The packet has those
/// options that its segment has: in a SYN, the options of SYNs and time stamps; in any other
/// segment, time stamps and SACK blocks. The urgent pointer, IPv6's flow label and the DSCP are
/// zero.
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
    let mut tcp = tcp_header(packet);
    let len = usize::from(packet.segment.len);
    let room = match packet.source.ip() {
        IpAddr::V4(_) => Ipv4Header::MIN_LEN,
        IpAddr::V6(_) => Ipv6Header::LEN,
    };
    let payload_at = room + tcp.header_len();
    assert!(payload_at + len <= LONGEST, "a packet's length fits 16 bits");
    out.clear();
    out.resize(payload_at + len, 0);
    if let Some(payload) = packet.payload {
        out[payload_at..].copy_from_slice(payload);
    }
    let length = tcp.header_len_u16() + packet.segment.len;
    match (packet.source.ip(), packet.destination.ip()) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            let ip = ipv4_header(packet, length, source, destination);
            let sum = tcp.calc_checksum_ipv4(&ip, &out[payload_at..]);
            tcp.checksum = sum.expect("the length was checked");
            out[..room].copy_from_slice(&ip.to_bytes());
        }
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            let ip = ipv6_header(packet, length, source, destination);
            let sum = tcp.calc_checksum_ipv6(&ip, &out[payload_at..]);
            tcp.checksum = sum.expect("the length was checked");
            out[..room].copy_from_slice(&ip.to_bytes());
        }
        _ => panic!("both addresses of a packet are of one family"),
    }
    out[room..payload_at].copy_from_slice(&tcp.to_bytes());
}

fn tcp_header(packet: &Packet<'_>) -> TcpHeader {
    let segment = &packet.segment;
    let [source, destination] = [packet.source, packet.destination].map(|end| end.port());
    let has = |flag| segment.flags.has(flag);
    TcpHeader {
        acknowledgment_number: segment.ack,
        fin: has(Flags::FIN),
        syn: has(Flags::SYN),
        rst: has(Flags::RST),
        psh: has(Flags::PSH),
        ack: has(Flags::ACK),
        urg: has(Flags::URG),
        ece: has(Flags::ECE),
        cwr: has(Flags::CWR),
        options: Layout::of(segment).as_slice().try_into().expect("whole words that fit"),
        ..TcpHeader::new(source, destination, segment.seq, segment.window)
    }
}

fn ipv4_header(packet: &Packet<'_>, length: u16, from: Ipv4Addr, to: Ipv4Addr) -> Ipv4Header {
    let header = Ipv4Header::new(length, HOP_LIMIT, IpNumber(TCP), from.octets(), to.octets());
    let mut ip = header.expect("the length was checked");
    ip.identification = packet.ip_id;
    ip.ecn = IpEcn::try_new(packet.segment.ecn.bits()).expect("two bits");
    ip.header_checksum = ip.calc_header_checksum();
    ip
}

fn ipv6_header(packet: &Packet<'_>, length: u16, from: Ipv6Addr, to: Ipv6Addr) -> Ipv6Header {
    Ipv6Header {
        traffic_class: packet.segment.ecn.bits(),
        flow_label: etherparse::Ipv6FlowLabel::ZERO,
        payload_length: length,
        next_header: IpNumber(TCP),
        hop_limit: HOP_LIMIT,
        source: from.octets(),
        destination: to.octets(),
    }
}
