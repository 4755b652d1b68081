//! Cuts the bytes of an IPv4 packet into fragments. Also writes the ECN codepoint of a packet.

use core::ops::Range;

use crate::segment::{Ecn, Part};

use super::decode::set_ipv4_checksum;
use super::head::V4;

/// Empties the buffer `out`, and writes a fragment of the whole IPv4 packet `packet` into this
/// buffer. The packet must have no options. The fragment carries the range `payload` of the octets
/// after the packet's header (RFC 791 §3.2). Octets beyond the packet's end are left out.
///
/// ```
/// use netspurt::segment::Segment;
/// use netspurt::wire::{Packet, cut, encode};
/// let packet = Packet {
///     source: "10.0.0.1:5001".parse().unwrap(),
///     destination: "10.0.0.2:80".parse().unwrap(),
///     ip_id: 1,
///     segment: Segment { len: 432, ..Segment::default() },
///     payload: None,
/// };
/// let (mut whole, mut second) = (Vec::new(), Vec::new());
/// encode(&packet, &mut whole);
/// cut(&whole, 256..452, &mut second);
/// assert_eq!((whole.len(), second.len(), &second[6..8]), (472, 216, &[0, 32][..]));
/// ```
///
/// # Panics
/// When the header of `packet` is not complete, when the range begins after the end of `packet`, or
/// when the range does not begin at a multiple of eight octets.
pub fn cut(packet: &[u8], payload: Range<usize>, out: &mut Vec<u8>) {
    let (header, body) = packet.split_at(V4);
    let end = payload.end.min(body.len());
    let offset = u32::try_from(payload.start).expect("a packet has 65535 octets at most");
    let part = Part::new(offset, end < body.len());
    out.clear();
    out.extend_from_slice(header);
    out.extend_from_slice(&body[payload.start..end]);
    let length = u16::try_from(out.len()).expect("a fragment is no longer than its packet");
    out[2..4].copy_from_slice(&length.to_be_bytes());
    out[6..8].copy_from_slice(&part.bits().to_be_bytes());
    set_ipv4_checksum(&mut out[..V4]);
}

/// Writes `ecn` into the IPv4 or IPv6 packet `packet`, as a queue on the packet's path does (RFC
/// 3168 §5).
///
/// ```
/// use netspurt::segment::{Ecn, Segment};
/// use netspurt::wire::{Checks, Packet, decode, encode, set_ecn};
/// let packet = Packet {
///     source: "10.0.0.1:5001".parse().unwrap(),
///     destination: "10.0.0.2:80".parse().unwrap(),
///     ip_id: 1,
///     segment: Segment::default(),
///     payload: None,
/// };
/// let mut bytes = Vec::new();
/// encode(&packet, &mut bytes);
/// set_ecn(&mut bytes, Ecn::CE);
/// assert_eq!(decode(&bytes, Checks::Whole).unwrap().segment.ecn, Ecn::CE);
/// ```
///
/// # Panics
/// When the header is not complete.
pub fn set_ecn(packet: &mut [u8], ecn: Ecn) {
    if packet[0] >> 4 == 6 {
        // The eight bits of the traffic class are spread over two octets. ECN is the lower two bits
        // of the traffic class.
        packet[1] = packet[1] & !0x30 | ecn.bits() << 4;
        return;
    }
    packet[1] = packet[1] & !3 | ecn.bits();
    let header = usize::from(packet[0] & 0xf) * 4;
    set_ipv4_checksum(&mut packet[..header]);
}
