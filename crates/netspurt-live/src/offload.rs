//! The work that the kernel leaves to a device: the device completes a packet's checksum, and cuts
//! the packet into segments.
//!
//! With segmentation offload, TCP passes many segments under one header. Links treat each segment
//! separately. Segments of one packet that leave directly after each other are joined under one
//! header again.

use std::ops::Range;

use netspurt::segment::{Ecn, Flags};
use netspurt::wire::{IpHead, TCP, TcpHead, set_ecn, sum};

/// The number of octets of a `virtio_net_hdr`, the header that says what work on a packet is left
/// to the device. Its fields are flags, kind of segmentation, length of the headers, and size of a
/// segment. Two offsets follow: the offset of the first octet that the checksum covers, and the
/// offset of the checksum from this octet.
pub const VIRTIO_BYTES: usize = 10;

/// The maximum number of octets that a device needs before the IP header of a packet: a
/// `virtio_net_hdr` and an Ethernet header.
pub const PREFIX_BYTES_MAX: usize = 24;

/// The maximum length of the IP and TCP headers of a packet that netspurt can cut and join: an IPv6
/// header and the longest TCP header, in octets.
pub const HEADERS_BYTES_MAX: usize = 40 + 60;

/// The work on a packet that the kernel left to the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shape {
    /// The number of octets of payload in each segment. 0 if the packet is not to be cut.
    pub segment_bytes: u16,
    /// Whether the checksum covers only the pseudo header so far.
    pub partial: bool,
    /// Whether the packet is to be cut by the rules of a protocol other than TCP.
    pub foreign: bool,
}

impl Shape {
    /// A complete packet, without work for the device.
    pub const WHOLE: Shape = Shape { segment_bytes: 0, partial: false, foreign: false };

    /// Reads the `virtio_net_hdr` at the start of `received`. Returns [`WHOLE`](Self::WHOLE) if
    /// `received` is shorter than a `virtio_net_hdr`.
    pub fn read(received: &[u8]) -> Self {
        const NEEDS_CHECKSUM: u8 = 1;
        const TCP: [u8; 2] = [1, 4];
        const ECN: u8 = 0x80;
        let Some(&[flags, kind, _, _, low, high, ..]) = received.first_chunk::<VIRTIO_BYTES>()
        else {
            return Self::WHOLE;
        };
        let (cut, tcp) = (kind != 0, TCP.contains(&(kind & !ECN)));
        Self {
            segment_bytes: if cut && tcp { u16::from_ne_bytes([low, high]) } else { 0 },
            partial: flags & NEEDS_CHECKSUM != 0,
            foreign: cut && !tcp,
        }
    }

    /// Makes the `virtio_net_hdr` of a packet of this shape with the IP and TCP headers `headers`.
    /// The link-layer header before `headers` has `ahead` octets. The offsets in the
    /// `virtio_net_hdr` begin at the link-layer header.
    pub fn virtio(self, headers: &[u8], ahead: usize) -> [u8; VIRTIO_BYTES] {
        let mut out = [0; VIRTIO_BYTES];
        let Some(Summed { at, field, .. }) = summed(headers) else { return out };
        let half = |value: usize| u16::try_from(value).unwrap_or(0).to_ne_bytes();
        if self.partial {
            out[0] = 1;
            out[6..8].copy_from_slice(&half(ahead + at));
            out[8..10].copy_from_slice(&half(field));
        }
        if self.segment_bytes > 0 {
            out[1] = if headers[0] >> 4 == 6 { 4 } else { 1 };
            out[2..4].copy_from_slice(&half(ahead + headers.len()));
            out[4..6].copy_from_slice(&self.segment_bytes.to_ne_bytes());
        }
        out
    }
}

/// The part of a packet whose checksum a device may have to complete.
struct Summed {
    /// The protocol's number.
    protocol: u8,
    /// The offset in the packet at which the part begins.
    at: usize,
    /// The offset of the checksum from the beginning of the part.
    field: usize,
}

/// Finds the TCP or UDP part that directly follows the IP header. `None` if neither TCP nor UDP
/// follows the IP header, or if the header of TCP or UDP is cut short.
fn summed(packet: &[u8]) -> Option<Summed> {
    const UDP: u8 = 17;
    if let Some((at, _)) = TcpHead::behind_ip(packet) {
        return Some(Summed { protocol: TCP, at, field: TcpHead::CHECKSUM_AT });
    }
    let (protocol, at) = IpHead::of(packet)?.payload();
    let whole = at >= 20 && packet.len() >= at + 8 && protocol == UDP;
    whole.then_some(Summed { protocol: UDP, at, field: 6 })
}

/// The number of octets of a packet's IP and TCP headers. `None` if they are not complete, if they
/// are longer than [`HEADERS_BYTES_MAX`], or if TCP does not follow the IP header.
pub fn header_bytes(packet: &[u8]) -> Option<usize> {
    let (at, head) = TcpHead::behind_ip(packet)?;
    let own = head.own_bytes();
    let whole = own >= TcpHead::BYTES && at + own <= packet.len().min(HEADERS_BYTES_MAX);
    whole.then_some(at + own)
}

/// Consecutive segments of a packet that is to be cut.
#[derive(Clone, Copy, Debug)]
pub struct SegmentRun<'a> {
    /// The packet.
    pub packet: &'a [u8],
    /// The number of octets of the packet's headers.
    pub headers: usize,
    /// The number of octets of payload in each segment; the last segment may have fewer.
    pub segment_bytes: u16,
    /// The number of the first segment in the packet, from 0.
    pub first: usize,
    /// The number of segments.
    pub count: usize,
}

impl<'a> SegmentRun<'a> {
    /// The range of the packet's octets that are the payload of these segments.
    pub fn payload(&self) -> Range<usize> {
        let size = usize::from(self.segment_bytes);
        let end = self.headers + (self.first + self.count) * size;
        self.headers + self.first * size..end.min(self.packet.len())
    }

    /// Appends one IP header and one TCP header for all these segments to the buffer `out`. If
    /// `marked` is true, a queue has marked the segments, and the IP header gets the mark CE (RFC
    /// 3168). The checksum of TCP covers only the pseudo header.
    ///
    /// # Panics
    /// When the headers of the packet are not complete.
    pub fn write_headers(&self, marked: bool, out: &mut Vec<u8>) {
        let start = out.len();
        let payload = self.payload();
        out.extend_from_slice(&self.packet[..self.headers]);
        let own = &mut out[start..];
        let ip = IpHead::of(own).expect("cut packets have whole headers");
        let (six, at) = (matches!(ip, IpHead::V6(_)), ip.payload().1);
        let half = |value: usize| u16::try_from(value).unwrap_or(u16::MAX).to_be_bytes();
        let size = self.headers + payload.len();
        #[expect(clippy::cast_possible_truncation, reason = "the sum wraps at 2^16")]
        let id = ip.id().wrapping_add(self.first as u16);
        let ecn = if marked { Ecn::CE } else { ip.ecn() };
        if six {
            own[4..6].copy_from_slice(&half(size - 40));
        } else {
            own[2..4].copy_from_slice(&half(size));
            own[4..6].copy_from_slice(&id.to_be_bytes());
        }
        // This call computes the checksum of the IP header again.
        set_ecn(own, ecn);
        let tcp = &mut own[at..];
        let mut flags = TcpHead::of(tcp).expect("cut packets have whole headers").flags();
        if payload.end < self.packet.len() {
            flags = flags.without(Flags::FIN.with(Flags::PSH));
        }
        if self.first > 0 {
            flags = flags.without(Flags::CWR);
        }
        let ahead = u32::try_from(payload.start - self.headers).unwrap_or(0);
        TcpHead::move_on(tcp, ahead, flags);
        let sum = folded(pseudo(own, TCP, size - at));
        let checksum_at = at + TcpHead::CHECKSUM_AT;
        own[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The sum of the pseudo header of `packet`. `length` is the number of octets of the TCP or UDP
/// header and the payload.
fn pseudo(packet: &[u8], protocol: u8, length: usize) -> u64 {
    let addresses = if packet[0] >> 4 == 6 { 8..40 } else { 12..20 };
    sum(&packet[addresses]) + u64::from(protocol) + length as u64
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    u16::try_from(sum).unwrap_or(0)
}

/// Completes the checksum of TCP or UDP, so that it covers header and payload.
pub fn complete(packet: &mut [u8]) {
    let Some(Summed { protocol, at, field }) = summed(packet) else { return };
    let place = at + field..at + field + 2;
    packet[place.clone()].fill(0);
    let sum = !folded(pseudo(packet, protocol, packet.len() - at) + sum(&packet[at..]));
    // In UDP, zero means that there is no checksum, so a sum of zero is sent as all ones (RFC 768).
    let sum = if sum == 0 && protocol != TCP { u16::MAX } else { sum };
    packet[place].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use netspurt::segment::Segment;
    use netspurt::wire::{Checks, Packet, decode, encode};
    use proptest::prelude::*;

    /// Makes a packet of IPv4 or IPv6 with `len` octets of payload.
    fn large(six: bool, len: u16, flags: u8) -> Vec<u8> {
        let seq = u32::MAX - 1000;
        let segment = Segment { seq, ack: 7, len, flags: Flags(flags), ..Segment::default() };
        let ends = if six {
            ["[2001:db8::1]:5001", "[2001:db8::2]:80"]
        } else {
            ["10.0.0.1:5001", "10.0.0.2:80"]
        };
        let [source, destination] = ends.map(|end| end.parse().unwrap());
        let content: Vec<u8> = (0..len).map(|n| (n % 251) as u8).collect();
        let payload = Some(&content[..]);
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: 65_535, segment, payload }, &mut bytes);
        bytes
    }

    /// Makes a packet of the segments `run`, with a complete checksum.
    fn made(run: &SegmentRun<'_>) -> Vec<u8> {
        let mut out = Vec::new();
        run.write_headers(false, &mut out);
        out.extend_from_slice(&run.packet[run.payload()]);
        complete(&mut out);
        out
    }

    proptest! {
        #[test]
        fn the_segments_of_a_large_packet_carry_all_its_octets(
            six: bool, len in 1_u16..20_000, segment_bytes in 1_u16..9000, flags: u8
        ) {
            let packet = large(six, len, flags);
            let headers = header_bytes(&packet).unwrap();
            let count = usize::from(len.div_ceil(segment_bytes));
            let whole = decode(&packet, Checks::Whole).unwrap();
            let mut carried = Vec::new();
            for first in 0..count {
                let run = SegmentRun { packet: &packet, headers, segment_bytes, first, count: 1 };
                let own = made(&run);
                let read = decode(&own, Checks::Whole).unwrap();
                let seq = whole.segment.seq.wrapping_add(carried.len() as u32);
                prop_assert_eq!((read.segment.seq, read.segment.ack), (seq, 7));
                let last = first + 1 == count;
                prop_assert_eq!(read.segment.flags.has(Flags::FIN), last && flags & 1 != 0);
                carried.extend_from_slice(read.payload);
            }
            prop_assert_eq!(&carried[..], whole.payload);
            let all = SegmentRun { packet: &packet, headers, segment_bytes, first: 0, count };
            prop_assert_eq!(made(&all), packet);
        }

        #[test]
        fn no_packet_causes_a_panic(bytes: Vec<u8>) {
            let _ = (header_bytes(&bytes), Shape::read(&bytes));
            complete(&mut bytes.clone());
        }
    }

    #[test]
    fn the_checksum_of_a_udp_datagram_is_completed() {
        let mut packet = large(false, 100, 0);
        packet[9] = 17;
        let shape = Shape { partial: true, ..Shape::WHOLE };
        let virtio = shape.virtio(&packet, 0);
        assert_eq!(virtio[6..], [20_u16.to_ne_bytes(), 6_u16.to_ne_bytes()].concat());
        complete(&mut packet);
        assert_eq!(folded(pseudo(&packet, 17, 120) + sum(&packet[20..])), 0xffff);
    }

    #[test]
    fn the_virtio_header_of_a_shape_is_read_back_as_this_shape() {
        let packet = large(false, 3000, Flags::ACK.0);
        let shape = Shape { segment_bytes: 1448, partial: true, foreign: false };
        let virtio = shape.virtio(&packet[..40], 0);
        assert_eq!(Shape::read(&virtio), shape);
        assert_eq!(virtio[6..], [20_u16.to_ne_bytes(), 16_u16.to_ne_bytes()].concat());
        let behind = shape.virtio(&packet[..40], 14);
        assert_eq!(
            (&behind[2..4], &behind[6..8]),
            (&54_u16.to_ne_bytes()[..], &34_u16.to_ne_bytes()[..]),
            "with packet sockets, the offsets count the Ethernet header"
        );
        let udp = [0, 5, 0, 0, 0xa8, 5, 0, 0, 0, 0];
        assert!(Shape::read(&udp).foreign);
    }
}
