//! Captures explained.

mod causes;

use crate::segment::{Flags, Segment};
use crate::wire::{CaptureReader, Packet, PcapngWriter, encode};

use super::{Explainer, Explanation, retransmissions_table};

/// A capture of these segments: from the side with this index, milliseconds, segment.
fn explained(segments: &[(usize, u64, Segment)]) -> Explanation {
    let ends = ["10.0.0.1:4000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
    let mut file = PcapngWriter::new(Vec::new(), "here", "netspurt").unwrap();
    for (side, ms, segment) in segments {
        let [source, destination] = if *side == 0 { ends } else { [ends[1], ends[0]] };
        let mut bytes = Vec::new();
        let packet = Packet { source, destination, ip_id: 1, segment: *segment, payload: None };
        encode(&packet, &mut bytes);
        file.packet(ms * 1_000_000, &bytes, None).unwrap();
    }
    let bytes = file.finish().unwrap();
    let mut reader = CaptureReader::new(&bytes[..]).unwrap();
    let mut explainer = Explainer::default();
    while let Some(packet) = reader.next_packet().unwrap() {
        explainer.take(&packet);
    }
    explainer.finish()
}

fn data(seq: u32, len: u16) -> Segment {
    Segment { seq, len, size_bytes: len + 40, ack: 1, flags: Flags::ACK, ..Segment::default() }
}

#[test]
fn a_segment_with_octets_seen_before_is_a_retransmission() {
    let found = explained(&[(0, 0, data(1, 100)), (0, 5, data(101, 100)), (0, 300, data(1, 100))]);
    assert_eq!((found.passed.tcp, found.connections.len()), (3, 1));
    assert_eq!(retransmissions_table(&found).rows(), 1);
}
