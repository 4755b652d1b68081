//! Tests with random segments, as in a hostile capture. Nothing panics, and the tables agree with
//! each other. It does not matter how many segments are processed together.

use proptest::prelude::*;

use crate::explain::{Disorder, Explainer, Explanation};
use crate::segment::{Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};
use crate::wire::{Packet, PcapngWriter, encode};

use super::{read_all, read_one_by_one, table};

/// Makes a packet from random octets. Returns the wait before the packet in nanoseconds, the index
/// of the side that sends the packet, and the segment. The last octet is not used here, because
/// [`capture`] uses it as the IP identification. There are few different sequence numbers, and they
/// are near the end of the sequence space. So there are holes, repairs, duplicates and wraps.
fn packet(octets: [u8; 12]) -> (u64, usize, Segment) {
    let [wait, who, flags, seq, ack, len, window, left, right, val, ecr, _] = octets;
    let number = |octet: u8| (u32::MAX - 40_000).wrapping_add(u32::from(octet) * 500);
    let mut segment = Segment {
        seq: number(seq),
        ack: number(ack),
        len: u16::from(len) * 50 * u16::from(flags & 2 == 0),
        window: u16::from(window) << 4,
        flags: Flags(flags),
        ..Segment::default()
    };
    if who & 4 != 0 {
        segment.set_timestamps(Timestamps { val: val.into(), ecr: ecr.into() });
    }
    if segment.flags.has(Flags::SYN) {
        let window_scale = (who & 8 != 0).then_some(window);
        segment.set_syn_options(SynOptions { mss: Some(1460), window_scale, sack: who & 16 != 0 });
    } else if who & 32 != 0 {
        let mut blocks = SackBlocks::default();
        blocks.add(SackBlock { left: number(left), right: number(right) });
        segment.set_sack(&blocks);
    }
    segment.size_bytes = 60 + segment.len;
    ((1 << (wait % 40)) - 1, usize::from(who & 1), segment)
}

/// Makes a capture of packets that come at least `pace_ns` apart, unless the clock steps back.
fn capture(packets: &[[u8; 12]], pace_ns: u64) -> Vec<u8> {
    let ends = ["10.0.0.1:4000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
    let mut file = PcapngWriter::new(Vec::new(), "here", "netspurt").unwrap();
    let (mut unix_ns, mut bytes) = (1_000_000_000_000, Vec::new());
    for octets in packets {
        let (wait, side, segment) = packet(*octets);
        // Before a few packets, the clock steps back.
        unix_ns = if octets[0] > 250 { unix_ns - 1_000_000 } else { unix_ns + pace_ns + wait };
        let (source, destination) = match side {
            0 => (ends[0], ends[1]),
            _ => (ends[1], ends[0]),
        };
        let ip_id = octets[11].into();
        encode(&Packet { source, destination, ip_id, segment, payload: None }, &mut bytes);
        file.packet(unix_ns, &bytes, None).unwrap();
    }
    file.finish().unwrap()
}

proptest! {
    #[test]
    fn segments_with_arbitrary_numbers_are_explained_without_a_panic(
        packets in prop::collection::vec(any::<[u8; 12]>(), 0..120)
    ) {
        let transcribing = Explainer::default().with_transcript(None);
        let found = read_all(&capture(&packets, 0), transcribing);
        prop_assert_eq!(found.passed.tcp, packets.len() as u64);
        prop_assert_eq!(table(&found, "spent").rows(), found.connections.len());
        let again: usize = found.connections.iter().flat_map(|one| one.directions).flatten()
            .map(|direction| direction.retransmissions.len()).sum();
        prop_assert_eq!(table(&found, "retransmissions").rows(), again);
        let transcript = found.transcript.as_ref().unwrap();
        let tables = transcript.tables(&found.connections, found.start);
        let segments = tables.iter().find(|table| table.name == "segments").unwrap();
        prop_assert_eq!(segments.rows(), packets.len());
    }

    /// The packets are too far apart to be out of order, unless the clock steps back.
    #[test]
    fn arbitrary_segments_are_explained_in_the_same_way_if_they_are_processed_one_by_one(
        mut packets in prop::collection::vec(any::<[u8; 12]>(), 0..400), close: bool
    ) {
        // A connection keeps its segments and takes several at once, but only if they are at most
        // half a second apart. If `close` is true, nearly all waits are shorter than that, and the
        // clock does not step back.
        packets.iter_mut().filter(|_| close).for_each(|one| one[0] %= 31);
        // Nearly all packets have no flags but ACK and PSH.
        packets.iter_mut().filter(|one| one[11] > 3).for_each(|one| one[2] = 0x10 | one[2] & 8);
        const APART_NS: u64 = Disorder::LIMIT.as_nanos();
        let capture = capture(&packets, APART_NS);
        let one_by_one = read_one_by_one(&capture);
        let together = read_all(&capture, Explainer::default());
        let orderly = |found: &Explanation| found.notes.disorder == Disorder::default();
        prop_assume!(orderly(&one_by_one) && orderly(&together));
        let text = |found: Explanation| format!("{:?}", (found.passed, found.notes, found.connections));
        prop_assert_eq!(text(together), text(one_by_one));
    }
}
