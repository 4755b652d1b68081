//! Reads the fields of the headers of IP and TCP in a packet.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::segment::{Ecn, Flags, Part};

use super::TCP;
use super::options::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, TCP_HEADER_BYTES};

/// The number of octets of an IPv4 header without options.
pub(super) const V4: usize = IPV4_HEADER_BYTES as usize;
/// The number of octets of an IPv6 header without extension headers.
pub(super) const V6: usize = IPV6_HEADER_BYTES as usize;

/// The IPv4 or IPv6 header at the start of a packet.
#[derive(Clone, Copy, Debug)]
pub enum IpHead<'a> {
    /// The IPv4 header without its options.
    V4(&'a [u8; V4]),
    /// The fixed IPv6 header, without extension headers.
    V6(&'a [u8; V6]),
}

impl<'a> IpHead<'a> {
    /// The header at the start of `packet`. `None` if its version is neither 4 nor 6, or if its
    /// fixed part is not complete.
    ///
    /// ```
    /// use netspurt::wire::IpHead;
    /// let mut packet = [0; 60];
    /// (packet[0], packet[3], packet[9]) = (0x46, 60, 6);
    /// let head = IpHead::of(&packet).unwrap();
    /// assert_eq!((head.total_bytes(), head.payload()), (60, (6, 24)));
    /// ```
    #[inline]
    pub fn of(packet: &'a [u8]) -> Option<Self> {
        match packet.first()? >> 4 {
            4 => packet.first_chunk().map(Self::V4),
            6 => packet.first_chunk().map(Self::V6),
            _ => None,
        }
    }

    /// The source and the destination of the packet.
    #[inline]
    pub fn addresses(self) -> [IpAddr; 2] {
        match self {
            Self::V4(head) => {
                let address = |at| Ipv4Addr::from(word(head, at)).into();
                [address(12), address(16)]
            }
            Self::V6(head) => {
                let address = |at: usize| {
                    let octets =
                        head[at..].first_chunk::<16>().expect("the header has both addresses");
                    Ipv6Addr::from(*octets).into()
                };
                [address(8), address(24)]
            }
        }
    }

    /// The source and the destination of the packet as numbers of 32 or 128 bits.
    #[inline]
    pub fn numbers(self) -> [u128; 2] {
        match self {
            Self::V4(head) => [word(head, 12).into(), word(head, 16).into()],
            Self::V6(head) => {
                let number = |at: usize| {
                    u128::from_be_bytes(
                        *head[at..].first_chunk().expect("the header has both addresses"),
                    )
                };
                [number(8), number(24)]
            }
        }
    }

    /// The protocol after the header and its options, and the offset at which this protocol begins.
    /// For IPv4, the offset is the header's length field times four, so it may be below 20 in a
    /// malformed packet. For IPv6, the protocol may be an extension header.
    #[inline]
    pub fn payload(self) -> (u8, usize) {
        match self {
            Self::V4(head) => (head[9], usize::from(head[0] & 0xf) * 4),
            Self::V6(head) => (head[6], V6),
        }
    }

    /// The number of octets of the whole packet, including headers, by the header's length field.
    #[inline]
    pub fn total_bytes(self) -> usize {
        match self {
            Self::V4(head) => half(head, 2).into(),
            Self::V6(head) => V6 + usize::from(half(head, 4)),
        }
    }

    /// The identification. It is 0 for IPv6, which has none.
    #[inline]
    pub fn id(self) -> u16 {
        match self {
            Self::V4(head) => half(head, 4),
            Self::V6(_) => 0,
        }
    }

    /// The ECN codepoint. In IPv6, the bits of the traffic class are spread over two octets.
    #[inline]
    pub fn ecn(self) -> Ecn {
        match self {
            Self::V4(head) => Ecn::from_bits(head[1]),
            Self::V6(head) => Ecn::from_bits(head[1] >> 4),
        }
    }

    /// The time to live of IPv4, or the hop limit of IPv6.
    #[inline]
    pub fn hop_limit(self) -> u8 {
        match self {
            Self::V4(head) => head[8],
            Self::V6(head) => head[7],
        }
    }

    /// The flow label of IPv6 (RFC 8200 §3). It is 0 for IPv4.
    #[inline]
    pub fn flow_label(self) -> u32 {
        match self {
            Self::V4(_) => 0,
            Self::V6(head) => word(head, 0) & 0xf_ffff,
        }
    }

    /// The packet's part of its datagram. For IPv6, this is always the whole datagram, because IPv6
    /// describes fragments in an extension header.
    #[inline]
    pub fn part(self) -> Part {
        match self {
            Self::V4(head) => Part::from_bits(half(head, 6)),
            Self::V6(_) => Part::WHOLE,
        }
    }
}

/// The fixed part of a TCP header (RFC 9293 §3.1).
///
/// ```
/// use netspurt::segment::{Flags, Segment};
/// use netspurt::wire::{Packet, TcpHead, encode};
/// let segment = Segment { seq: 7, flags: Flags::SYN, ..Segment::default() };
/// let ends = ["10.0.0.1:4000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
/// let mut bytes = Vec::new();
/// encode(
///     &Packet { source: ends[0], destination: ends[1], ip_id: 1, segment, payload: None },
///     &mut bytes,
/// );
/// let (at, head) = TcpHead::behind_ip(&bytes).unwrap();
/// assert_eq!((at, head.ports(), head.seq(), head.flags()), (20, [4000, 80], 7, Flags::SYN));
/// ```
#[derive(Clone, Copy, Debug)]
pub struct TcpHead<'a>(&'a [u8; TCP_HEADER_BYTES as usize]);

impl<'a> TcpHead<'a> {
    /// The number of octets of the shortest header.
    pub const BYTES: usize = TCP_HEADER_BYTES as usize;
    /// The offset of the checksum.
    pub const CHECKSUM_AT: usize = 16;
    /// The offset of the octet after the advertised window.
    pub const WINDOW_END: usize = 16;

    /// The header at the start of `octets`. `None` if it is incomplete.
    #[inline]
    pub fn of(octets: &'a [u8]) -> Option<Self> {
        octets.first_chunk().map(Self)
    }

    /// The header at the start of `octets`, with zeros in place of octets that are missing. `None`
    /// if its flags are missing.
    pub(super) fn filled(octets: &[u8]) -> Option<[u8; TCP_HEADER_BYTES as usize]> {
        const FLAGS_AT: usize = 13;
        let octets = octets.get(..octets.len().min(Self::BYTES)).filter(|o| o.len() > FLAGS_AT)?;
        let mut whole = [0; Self::BYTES];
        whole[..octets.len()].copy_from_slice(octets);
        Some(whole)
    }

    /// The offset of TCP in `packet`, and the TCP header. `None` if TCP does not directly follow
    /// the IP header, or if the TCP header is cut short. This method does not check whether the
    /// packet is a fragment.
    #[inline]
    pub fn behind_ip(packet: &'a [u8]) -> Option<(usize, Self)> {
        let ip = IpHead::of(packet)?;
        let (protocol, at) = ip.payload();
        if protocol != TCP || at < V4 {
            return None;
        }
        Some((at, Self::of(packet.get(at..)?)?))
    }

    /// The sender's port and the receiver's port.
    #[inline]
    pub fn ports(self) -> [u16; 2] {
        [half(self.0, 0), half(self.0, 2)]
    }

    /// Returns both ports in one number, the sender's in its upper half.
    #[inline]
    pub fn port_pair(self) -> u32 {
        word(self.0, 0)
    }

    /// The sequence number.
    #[inline]
    pub fn seq(self) -> u32 {
        word(self.0, 4)
    }

    /// The acknowledgment number.
    #[inline]
    pub fn ack(self) -> u32 {
        word(self.0, 8)
    }

    /// The number of octets of the header with its options, from its length field.
    #[inline]
    pub fn own_bytes(self) -> usize {
        usize::from(self.0[12] >> 4) * 4
    }

    /// The four bits between the header's length and the flags.
    #[inline]
    pub fn reserved(self) -> u8 {
        self.0[12] & 0xf
    }

    /// The control bits.
    #[inline]
    pub fn flags(self) -> Flags {
        Flags(self.0[13])
    }

    /// The advertised window, before scaling.
    #[inline]
    pub fn window(self) -> u16 {
        half(self.0, 14)
    }

    /// The urgent pointer.
    #[inline]
    pub fn urgent(self) -> u16 {
        half(self.0, 18)
    }

    /// The source port and the sequence number in the first eight octets of a header. An ICMP error
    /// quotes at least these octets (RFC 792). Each value is `None` if it is missing.
    pub fn quoted(octets: &[u8]) -> (Option<u16>, Option<u32>) {
        let port = octets.first_chunk::<2>().map(|two| half(two, 0));
        (port, octets.first_chunk::<8>().map(|eight| word(eight, 4)))
    }

    /// Turns the header at the start of `tcp` into the header of a segment that begins `ahead`
    /// octets later and has these `flags`. The caller sets the checksum.
    ///
    /// # Panics
    /// When the header is not complete.
    pub fn move_on(tcp: &mut [u8], ahead: u32, flags: Flags) {
        let seq = TcpHead::of(tcp).expect("a whole header").seq();
        tcp[4..8].copy_from_slice(&seq.wrapping_add(ahead).to_be_bytes());
        tcp[13] = flags.0;
    }
}

fn half<const N: usize>(octets: &[u8; N], at: usize) -> u16 {
    u16::from_be_bytes([octets[at], octets[at + 1]])
}

fn word<const N: usize>(octets: &[u8; N], at: usize) -> u32 {
    u32::from(half(octets, at)) << 16 | u32::from(half(octets, at + 2))
}
