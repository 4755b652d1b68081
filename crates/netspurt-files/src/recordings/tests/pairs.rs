//! Tests of the pairing of segments in two captures of one path.

use std::net::SocketAddr;

use netspurt::segment::{Flags, Segment};
use netspurt::wire::{CaptureReader, Packet, PcapngWriter, encode};

use crate::recordings::pair;

use super::in_gre;

/// Makes a capture. Each packet is a time in nanoseconds, a sequence number, the number of octets
/// of payload and an IP identification.
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
    let pairs = pair(("a", &first[..]), ("b", &second[..])).unwrap().pairs;
    let times: Vec<_> = pairs.iter().map(|p| (p.seq, p.seen_ns[0], p.seen_ns[1])).collect();
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

/// RFC 6864 §4: an identification tells transmissions apart. The capture with the name `sent` was
/// taken beside a sender with segmentation offload. Each packet of 3,000 octets in this capture
/// becomes three segments. The second segment of the first packet is lost, and is retransmitted in
/// a packet of its own. The last packet retransmits the octets of the second packet, but none of
/// its segments arrives. In the capture with the name `came`, two segments are joined in one
/// packet.
#[test]
fn a_packet_is_divided_into_the_segments_of_the_other_capture() {
    for first_at_sender in [true, false] {
        for wrap in [0, u32::MAX - 2500] {
            let seq = |octet: u32| octet.wrapping_add(wrap);
            let sent = capture(&[
                (10, seq(1), 3000, 7),
                (20, seq(3001), 3000, 65_535),
                (30, seq(1001), 1000, 2),
                (40, seq(3001), 3000, 3),
            ]);
            let came = capture(&[
                (15, seq(1), 1000, 7),
                (16, seq(2001), 1000, 9),
                (25, seq(3001), 1000, 65_535),
                (26, seq(4001), 2000, 0),
                (35, seq(1001), 1000, 2),
            ]);
            let (a, b) = if first_at_sender { (&sent, &came) } else { (&came, &sent) };
            let mut pairs = pair(("a", &a[..]), ("b", &b[..])).unwrap().pairs;
            if !first_at_sender {
                pairs.iter_mut().for_each(|pair| pair.seen_ns.reverse());
            }
            pairs.sort_by_key(|pair| pair.seen_ns);
            let told: Vec<_> =
                pairs.iter().map(|p| (p.seq.wrapping_sub(wrap), p.segments, p.seen_ns)).collect();
            assert_eq!(
                told,
                [
                    (1001, 1, [Some(10), None]),
                    (1, 1, [Some(10), Some(15)]),
                    (2001, 1, [Some(10), Some(16)]),
                    (3001, 1, [Some(20), Some(25)]),
                    (4001, 1, [Some(20), Some(26)]),
                    (1001, 1, [Some(30), Some(35)]),
                    (3001, 2, [Some(40), None]),
                ]
            );
        }
    }
}

/// The second capture was taken at the end of a tunnel. It has each packet twice: first in GRE, and
/// then without GRE.
#[test]
fn a_segment_in_a_tunnel_is_paired_once_with_the_same_segment_outside_of_it() {
    let first = capture(&[(10, 1, 100, 1), (20, 101, 100, 2)]);
    let (mut reader, mut second) =
        (CaptureReader::new(&first[..]).unwrap(), PcapngWriter::new(Vec::new(), "x", "").unwrap());
    while let Some(packet) = reader.next_packet().unwrap() {
        let at = packet.unix_ns as u64 + 5;
        second.packet(at, &in_gre(packet.bytes), None).unwrap();
        second.packet(at + 1, packet.bytes, None).unwrap();
    }
    let pairs = pair(("a", &first[..]), ("b", &second.finish().unwrap()[..])).unwrap().pairs;
    let times: Vec<_> = pairs.iter().map(|p| p.seen_ns).collect();
    assert_eq!(times, [[Some(10), Some(15)], [Some(20), Some(25)]]);
}

/// The second capture was taken on all interfaces of a bridge. So it has each packet three times.
#[test]
fn the_first_of_several_copies_of_a_segment_is_paired() {
    let packets = [(10, 1, 100, 1), (2_000_000, 101, 100, 2), (4_000_000, 1, 100, 3)];
    let copied: Vec<_> = packets
        .iter()
        .flat_map(|(at, seq, len, id)| [5, 9, 20].map(|later| (at + later, *seq, *len, *id)))
        .collect();
    let (first, second) = (capture(&packets), capture(&copied));
    let pairs = pair(("a", &first[..]), ("b", &second[..])).unwrap().pairs;
    let seen: Vec<_> = pairs.iter().map(|pair| (pair.seen_ns, pair.copies)).collect();
    let expected = packets.map(|(at, ..)| {
        let at = at as i64;
        ([Some(at), Some(at + 5)], [0, 2])
    });
    assert_eq!(seen, expected);
}

/// RFC 3022 §2.2: a translator changes addresses and ports, and not sequence numbers. Two clients
/// chose the same initial sequence number, so their connections are not paired.
#[test]
fn syns_pair_the_connections_on_both_sides_of_a_translator() {
    let inside = ["192.168.0.7:4000", "192.168.0.8:4000", "192.168.0.9:4000"];
    let outside = ["203.0.113.1:61000", "203.0.113.1:61001", "203.0.113.1:61002"];
    let server: SocketAddr = "198.51.100.2:80".parse().unwrap();
    let captured = |clients: [&str; 3], at: u64| {
        let mut file = PcapngWriter::new(Vec::new(), "x", "test").unwrap();
        for (client, first) in clients.into_iter().zip([7, 1 << 20, 1 << 20]) {
            let client = client.parse().unwrap();
            let flags = Flags::SYN.with(Flags::ACK);
            for (source, destination, segment) in [
                (client, server, Segment { seq: first, flags: Flags::SYN, ..Segment::default() }),
                (server, client, Segment { seq: first + 9, flags, ..Segment::default() }),
                (server, client, Segment { seq: first + 10, len: 9, ..Segment::default() }),
            ] {
                let mut bytes = Vec::new();
                let packet = Packet { source, destination, ip_id: 1, segment, payload: None };
                encode(&packet, &mut bytes);
                file.packet(at, &bytes, None).unwrap();
            }
        }
        file.finish().unwrap()
    };
    let (first, second) = (captured(inside, 10), captured(outside, 20));
    let found = pair(("a", &first[..]), ("b", &second[..])).unwrap();
    let [here, there] = [inside[0], outside[0]].map(|client| client.parse().unwrap());
    let both = [[[here, server], [there, server]], [[server, here], [server, there]]];
    assert_eq!(found.translated, both);
    let seen: Vec<_> = found.pairs.iter().map(|pair| pair.seen_ns).collect();
    assert_eq!(seen[..3], [[Some(10), Some(20)]; 3]);
    assert_eq!(seen[3..9], [[Some(10), None]; 6]);
    assert_eq!(seen[9..], [[None, Some(20)]; 6]);
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
