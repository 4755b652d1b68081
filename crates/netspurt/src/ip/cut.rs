//! Cuts IP datagrams into fragments.

use crate::segment::{IPV4_HEADER_BYTES, Part};
use crate::stage::Frame;

/// The number of octets of payload in each fragment except the last, on a link with an MTU of
/// `mtu_bytes`. The number is a multiple of eight.
pub const fn fragment_payload(mtu_bytes: u32) -> u32 {
    mtu_bytes.saturating_sub(IPV4_HEADER_BYTES as u32) / Part::UNIT_BYTES * Part::UNIT_BYTES
}

/// The number of fragments before the last fragment, for a datagram with `payload` octets of
/// payload. Each fragment before the last has as many whole units of eight octets as fit. The
/// payload of the last fragment need not be a multiple of eight octets.
///
/// A datagram that fits is not fragmented, as in the procedure of RFC 791 §3.2 and in Linux. The
/// result is then zero.
///
/// # Panics
/// When the MTU has no room for a header and eight octets.
pub const fn full_fragments(payload: u32, mtu_bytes: u32) -> u32 {
    let fits = mtu_bytes.saturating_sub(IPV4_HEADER_BYTES as u32);
    payload.saturating_sub(fits).div_ceil(fragment_payload(mtu_bytes))
}

/// The packets in which `frame` crosses a link with an MTU of `mtu_bytes` octets: the frame itself,
/// or its fragments in order. Each fragment before the last fragment has as many units of eight
/// octets as fit after a header. The last fragment has the rest (RFC 791 §3.2).
///
/// ```
/// use netspurt::ip::fragments;
/// use netspurt::segment::Segment;
/// let datagram = Segment { size_bytes: 472, ..Segment::default() };
/// let sizes: Vec<u16> = fragments(datagram, 280).map(|part| part.size_bytes).collect();
/// assert_eq!(sizes, [276, 216]);
/// ```
///
/// # Panics
/// When `frame` does not fit, and the MTU has no room for a header and eight octets.
pub fn fragments<F: Frame>(frame: F, mtu_bytes: u32) -> impl Iterator<Item = F> {
    let fits = frame.size_bytes() <= mtu_bytes;
    let payload = frame.size_bytes().saturating_sub(u32::from(IPV4_HEADER_BYTES));
    let room = fragment_payload(mtu_bytes);
    assert!(fits || room > 0, "an MTU of {mtu_bytes} octets has no room for a fragment");
    let full = if fits { 0 } else { full_fragments(payload, mtu_bytes) };
    (0..=full).map(move |place| {
        let start = place * room;
        let end = if place == full { payload } else { start + room };
        if fits { frame } else { frame.fragment(start..end) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Segment;

    fn datagram(size_bytes: u16) -> Segment {
        Segment { size_bytes, ..Segment::default() }
    }

    /// The size and the offset of each packet, and whether more fragments follow.
    fn cuts(frames: impl Iterator<Item = Segment>) -> Vec<(u16, u32, bool)> {
        frames.map(|f| (f.size_bytes, f.part.offset_bytes(), f.part.more_follow())).collect()
    }

    #[test]
    fn the_example_of_rfc_791_gives_the_printed_fragments() {
        // Appendix A, example 2: a datagram with 452 octets of data crosses a link with an MTU of
        // 280. The first fragment has 256 octets, and more follow. The second fragment has 196
        // octets, and its offset is 32 units of eight octets.
        let cut = cuts(fragments(datagram(472), 280));
        assert_eq!(cut, [(276, 0, true), (216, 256, false)]);
    }

    #[test]
    fn all_fragments_except_the_last_carry_whole_units_of_eight_octets() {
        // The datagram has 532 octets after the header. A fragment has room for 230 octets, but for
        // only 28 whole units, which are 224 octets.
        let cut = cuts(fragments(datagram(552), 250));
        assert_eq!(cut, [(244, 0, true), (244, 224, true), (104, 448, false)]);
        assert_eq!(cuts(fragments(datagram(576), 576)), [(576, 0, false)], "the datagram fits");
        assert_eq!(cuts(fragments(datagram(577), 576)), [(572, 0, true), (25, 552, false)]);
        // The last fragment may be longer than the other fragments. Its 230 octets are not a
        // multiple of eight, but they fit.
        assert_eq!(cuts(fragments(datagram(474), 250)), [(244, 0, true), (250, 224, false)]);
        assert_eq!(cuts(fragments(datagram(475), 250)).len(), 3);
        // The smallest MTU of IPv4, 68 octets (RFC 791 §3.2), leaves room for 48 octets in each
        // fragment.
        assert_eq!(cuts(fragments(datagram(120), 68)).len(), 3);
    }

    #[test]
    fn a_fragment_of_a_fragment_keeps_its_place_in_the_datagram() {
        let twice = fragments(datagram(1500), 1000).flat_map(|part| fragments(part, 576));
        let expected = [(572, 0, true), (444, 552, true), (524, 976, false)];
        assert_eq!(cuts(twice), expected);
    }
}
