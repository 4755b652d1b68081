//! Tests of the pairing of segments in two captures of one path.

use netspurt::segment::{Flags, Segment};
use netspurt::wire::{CaptureReader, Packet, PcapngWriter, encode};

use crate::recordings::pair;

use super::in_gre;

/// Makes a capture. Each packet is a time in nanoseconds, a sequence number, the octets of payload
/// and an IP identification.
fn capture(packets: &[(u64, u32, u16, u16)]) -> Vec<u8> {
    let mut file = PcapngWriter::new(Vec::new(), "x", "test").unwrap();
    for (at, seq, len, ip_id) in packets {
        let segment = Segment { seq: *seq, len: *len, flags: Flags::ACK, ..Segment::default() };
        let (source, destination) =
            ("10.0.0.1:10000".parse().unwrap(), "10.0.0.2:5001".parse().unwrap());
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: *ip_id, segment, payload: None }, &mut bytes);
        file.packet(*at, &bytes, None).unwrap();
    }
    file.finish().unwrap()
}

#[test]
fn segments_are_paired_by_sequence_number_and_ip_identification() {
    let first = capture(&[(10, 1, 100, 1), (20, 101, 100, 2), (30, 1, 100, 3), (40, 1, 0, 4)]);
    // The first segment is lost on the path.
    let second = capture(&[(25, 101, 100, 2), (35, 1, 100, 3), (50, 900, 1, 9)]);
    let pairs = pair(("a", &first[..]), ("b", &second[..])).unwrap();
    let times: Vec<_> = pairs.iter().map(|p| (p.seq, p.first_ns, p.second_ns)).collect();
    assert_eq!(
        times,
        [
            (1, Some(10), None),
            (101, Some(20), Some(25)),
            (1, Some(30), Some(35)),
            (900, None, Some(50)),
        ]
    );
}

/// The second point is the end of a tunnel. Its capture has each packet in GRE and then bare.
#[test]
fn segments_in_tunnels_are_paired_once_with_the_same_segments_elsewhere() {
    let first = capture(&[(10, 1, 100, 1), (20, 101, 100, 2)]);
    let (mut reader, mut second) =
        (CaptureReader::new(&first[..]).unwrap(), PcapngWriter::new(Vec::new(), "x", "").unwrap());
    while let Some(packet) = reader.next_packet().unwrap() {
        let at = packet.unix_ns as u64 + 5;
        second.packet(at, &in_gre(packet.bytes), None).unwrap();
        second.packet(at + 1, packet.bytes, None).unwrap();
    }
    let pairs = pair(("a", &first[..]), ("b", &second.finish().unwrap()[..])).unwrap();
    let times: Vec<_> = pairs.iter().map(|p| (p.first_ns, p.second_ns)).collect();
    assert_eq!(times, [(Some(10), Some(15)), (Some(20), Some(25))]);
}

#[test]
fn a_file_that_is_not_a_capture_is_an_error() {
    let (bad, good) = (&b"no capture"[..], &capture(&[])[..]);
    for (pairs, name) in
        [(pair(("a", bad), ("b", good)), "a: "), (pair(("a", good), ("b", bad)), "b: ")]
    {
        let error = pairs.unwrap_err().to_string();
        assert!(error.starts_with(name), "the error must name the faulty capture: {error}");
    }
}
