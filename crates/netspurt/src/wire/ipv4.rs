//! TCP segments as IPv4 packets.

use std::net::SocketAddrV4;

use etherparse::{IpNumber, Ipv4Header, TcpHeader, TcpOptionElement};

use crate::segment::{Flags, SackBlock};

/// What stands in an IPv4 packet with a TCP segment whose payload is zeros.
#[derive(Clone, Debug)]
pub struct Packet<'a> {
    /// Who sends it.
    pub source: SocketAddrV4,
    /// Who gets it.
    pub destination: SocketAddrV4,
    /// IP identification.
    pub ip_id: u16,
    /// Sequence number.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Control bits.
    pub flags: Flags,
    /// Advertised window, unscaled.
    pub window: u16,
    /// SACK blocks, four at most.
    pub sack: &'a [SackBlock],
    /// Octets of payload.
    pub payload_bytes: u16,
}

/// Hops a packet may make.
const TIME_TO_LIVE: u8 = 64;

/// Writes `packet` with valid lengths and checksums into `out`, which is emptied first.
///
/// A SACK option is padded in front with two no-operations, as every stack sends it
/// (RFC 2018 §3 with RFC 9293 §3.1).
///
/// ```
/// use netspurt::segment::Flags;
/// use netspurt::wire::{Packet, encode};
/// let packet = Packet {
///     source: "10.0.0.1:5001".parse().unwrap(),
///     destination: "10.0.0.2:80".parse().unwrap(),
///     ip_id: 1,
///     seq: 1,
///     ack: 1,
///     flags: Flags::ACK,
///     window: 65_535,
///     sack: &[],
///     payload_bytes: 960,
/// };
/// let mut bytes = Vec::new();
/// encode(&packet, &mut bytes);
/// assert_eq!(bytes.len(), 1000);
/// ```
///
/// # Panics
/// When there are more than four SACK blocks, or the whole is longer than 65535 octets.
pub fn encode(packet: &Packet<'_>, out: &mut Vec<u8>) {
    let mut tcp =
        TcpHeader::new(packet.source.port(), packet.destination.port(), packet.seq, packet.window);
    tcp.ack = packet.flags.has(Flags::ACK);
    tcp.psh = packet.flags.has(Flags::PSH);
    tcp.acknowledgment_number = packet.ack;
    if let Some(option) = sack_option(packet.sack) {
        let options = [TcpOptionElement::Noop, TcpOptionElement::Noop, option];
        tcp.set_options(&options).expect("four blocks fit");
    }
    let length = tcp.header_len_u16() + packet.payload_bytes;
    let mut ip = Ipv4Header::new(
        length,
        TIME_TO_LIVE,
        IpNumber::TCP,
        packet.source.ip().octets(),
        packet.destination.ip().octets(),
    )
    .expect("a packet's length fits 16 bits");
    ip.identification = packet.ip_id;
    ip.header_checksum = ip.calc_header_checksum();
    out.clear();
    let payload_at = ip.header_len() + tcp.header_len();
    out.resize(payload_at + usize::from(packet.payload_bytes), 0);
    let checksum = tcp.calc_checksum_ipv4(&ip, &out[payload_at..]);
    tcp.checksum = checksum.expect("a packet's length fits 16 bits");
    out[..ip.header_len()].copy_from_slice(&ip.to_bytes());
    out[ip.header_len()..payload_at].copy_from_slice(&tcp.to_bytes());
}

fn sack_option(blocks: &[SackBlock]) -> Option<TcpOptionElement> {
    let (first, rest) = blocks.split_first()?;
    let edges = |block: &SackBlock| (block.left, block.right);
    let rest = [rest.first(), rest.get(1), rest.get(2)].map(|block| block.map(edges));
    assert!(blocks.len() <= 4, "no option area holds more than four SACK blocks");
    Some(TcpOptionElement::SelectiveAcknowledgement(edges(first), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{SlicedPacket, TransportSlice};

    #[test]
    fn what_was_written_is_read_back_with_its_sums_right() {
        let blocks = [SackBlock { left: 1921, right: 2881 }, SackBlock { left: 3841, right: 4801 }];
        let packet = Packet {
            source: "10.0.0.3:80".parse().unwrap(),
            destination: "10.0.0.0:5001".parse().unwrap(),
            ip_id: 7,
            seq: 1,
            ack: 961,
            flags: Flags::ACK,
            window: 9,
            sack: &blocks,
            payload_bytes: 10,
        };
        let mut bytes = vec![1, 2, 3];
        encode(&packet, &mut bytes);
        assert_eq!(bytes.len(), 20 + 20 + 4 + 16 + 10);
        let read = SlicedPacket::from_ip(&bytes).unwrap();
        let Some(TransportSlice::Tcp(tcp)) = &read.transport else { panic!("no TCP") };
        assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number()), (1, 961));
        let option = tcp.options_iterator().find_map(|option| match option.unwrap() {
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => Some((first, rest[0])),
            _ => None,
        });
        assert_eq!(option, Some(((1921, 2881), Some((3841, 4801)))));
        let ip = Ipv4Header::from_slice(&bytes).unwrap().0;
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        let sum = tcp.to_header().calc_checksum_ipv4(&ip, tcp.payload()).unwrap();
        assert_eq!(tcp.checksum(), sum);
    }
}
