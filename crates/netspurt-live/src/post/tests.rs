//! Tests of the packets that are prepared for delivery. A packet may leave unchanged. It may be
//! segmented or marked, and its segments may be joined under one header again. The device may
//! refuse a packet.

use std::os::unix::net::UnixDatagram;

use netspurt::ids::{EndId, TransmissionId};
use netspurt::segment::{Flags, Part};
use netspurt::wire::{Checks, Packet, decode, encode};

use super::*;
use crate::offload::complete;
use crate::sandbox::{Wire, Wiring};
use crate::sys::Batch;

/// The number of octets of payload in a segment of a large packet.
const SIZE: u16 = 1000;

/// Returns the segment of end 0 with the given number.
fn segment(number: u64) -> Segment {
    let id = TransmissionId::of_packet(EndId::at(0), number);
    Segment { id, dest: EndId::at(1), size_bytes: 40 + SIZE, ..Segment::default() }
}

/// Makes a packet with `len` octets of payload. The value of each octet depends on its position.
fn packet(len: u16) -> Vec<u8> {
    let flags = Flags::ACK.with(Flags::PSH);
    let segment = Segment { seq: 1, len, flags, ecn: Ecn::ECT0, ..Segment::default() };
    let [source, destination] = ["10.0.0.1:1000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
    let payload: Vec<u8> = (0..len).map(|place| (place % 251) as u8).collect();
    let mut octets = Vec::new();
    let packet = Packet { source, destination, ip_id: 9, segment, payload: Some(&payload) };
    encode(&packet, &mut octets);
    octets
}

/// A port, its far end, and a store of the packets that the port received.
struct Bench {
    port: PacketPort,
    far: UnixDatagram,
    hold: Hold,
    post: Post,
    /// The number of the next segment that the port receives.
    next: u64,
}

impl Bench {
    fn new(offload: bool) -> Self {
        let wiring = Wiring { wire: Wire::Tun, offload };
        let (port, far) = PacketPort::paired(wiring, 1500, "");
        Self { port, far, hold: Hold::default(), post: Post::default(), next: 0 }
    }

    /// Receives a packet of `len` octets of payload. Returns its segments.
    fn take(&mut self, len: u16) -> Vec<Segment> {
        let cut = len > SIZE && self.port.prefix_bytes() > 0;
        let shape = if cut {
            Shape { segment_bytes: SIZE, partial: true, foreign: false }
        } else {
            Shape::WHOLE
        };
        let (packet, mut prefix) = (packet(len), [0; PREFIX_BYTES_MAX]);
        let start = self.port.write_prefix(shape, &packet[..40], &mut prefix);
        self.far.send(&[&prefix[..start], &packet].concat()).unwrap();
        let mut batch = Batch::new(1 << 16);
        assert!(!self.port.receive(&mut batch).unwrap());
        let (found, start) = self.port.shape(batch.packet(0).bytes);
        assert_eq!(found, shape);
        let count = if cut { usize::from(len.div_ceil(SIZE)) } else { 1 };
        let first = self.next;
        self.next += count as u64;
        self.hold.take(&mut batch, 0, start, shape, (segment(first).id, count));
        (first..self.next).map(segment).collect()
    }

    /// Packs and sends `segments` until all have left. Returns the number of calls of
    /// `send`.
    fn deliver(&mut self, segments: &[Segment]) -> usize {
        let (mut gone, mut calls) = (0, 0);
        while gone < segments.len() {
            let remaining = segments[gone..].iter().copied();
            self.post.pack(&self.port, &self.hold, remaining, &mut |segment, out| {
                out.clear();
                out.extend(written(segment));
            });
            let (sent, refused) = self.post.send(&self.port, &self.hold);
            assert_eq!(refused, 0);
            gone += sent;
            calls += 1;
        }
        calls
    }

    /// The packets that arrived at the far end, with complete checksums, each with its shape.
    fn arrived(&self) -> Vec<(Shape, Vec<u8>)> {
        let mut room = vec![0; 1 << 16];
        let mut all = Vec::new();
        while let Ok(length) = self.far.recv(&mut room) {
            let (shape, start) = self.port.shape(&room[..length]);
            let mut packet = room[start..length].to_vec();
            if shape.partial {
                complete(&mut packet);
            }
            all.push((shape, packet));
        }
        all
    }
}

/// The octets that are written for a segment that was changed on the path. They begin with `E`,
/// which is the first octet of an IPv4 header.
fn written(segment: &Segment) -> Vec<u8> {
    format!("E made of packet {}", segment.id.packet()).into_bytes()
}

/// The number of octets of payload and the congestion bits of each packet at the far end.
fn payloads(bench: &Bench) -> Vec<(usize, Ecn)> {
    let arrived = bench.arrived();
    let read = |(_, packet): &(Shape, Vec<u8>)| {
        let decoded = decode(packet, Checks::Whole).expect("a packet with correct checksums");
        (decoded.payload.len(), decoded.segment.ecn)
    };
    arrived.iter().map(read).collect()
}

#[test]
fn a_packet_with_one_segment_leaves_as_it_was_received() {
    for offload in [false, true] {
        let mut bench = Bench::new(offload);
        let segments = [bench.take(10), bench.take(900)].concat();
        assert_eq!(bench.deliver(&segments), 1, "in one call");
        let expected = [(Shape::WHOLE, packet(10)), (Shape::WHOLE, packet(900))];
        assert_eq!(bench.arrived(), expected);
    }
}

#[test]
fn consecutive_segments_of_a_large_packet_leave_under_one_header() {
    let mut bench = Bench::new(true);
    let segments = bench.take(4200);
    bench.deliver(&segments);
    let joined = Shape { segment_bytes: SIZE, partial: true, foreign: false };
    assert_eq!(bench.arrived(), [(joined, packet(4200))], "all segments are joined again");
    for (what, order, lengths) in [
        ("one was dropped", &[0, 1, 3, 4][..], &[2000, 1200][..]),
        ("the first was dropped", &[1, 2, 3, 4], &[3200]),
        ("the last was dropped", &[0, 1, 2, 3], &[4000]),
        ("one was overtaken", &[1, 0, 2], &[1000, 1000, 1000]),
        ("one was duplicated", &[0, 0, 1], &[1000, 2000]),
        ("the last alone", &[4], &[200]),
    ] {
        let order: Vec<Segment> = order.iter().map(|place| segments[*place]).collect();
        bench.deliver(&order);
        let found: Vec<usize> = payloads(&bench).iter().map(|(len, _)| *len).collect();
        assert_eq!(found, lengths, "{what}");
    }
}

#[test]
fn segments_of_two_packets_are_never_joined() {
    let mut bench = Bench::new(true);
    let segments = [bench.take(2000), bench.take(2000)].concat();
    bench.deliver(&segments);
    assert_eq!(bench.arrived().len(), 2);
    let mixed = [0, 3].map(|place| segments[place]);
    bench.deliver(&mixed);
    let seqs: Vec<u32> = bench
        .arrived()
        .iter()
        .map(|(_, packet)| decode(packet, Checks::Whole).unwrap().segment.seq)
        .collect();
    assert_eq!(seqs, [1, 1001]);
}

#[test]
fn marked_and_unmarked_segments_are_not_joined() {
    let mut bench = Bench::new(true);
    let mut segments = bench.take(5000);
    segments.iter_mut().for_each(|segment| segment.ecn = Ecn::ECT0);
    for marked in [1, 2] {
        segments[marked].ecn = Ecn::CE;
    }
    bench.deliver(&segments);
    assert_eq!(payloads(&bench), [(1000, Ecn::ECT0), (2000, Ecn::CE), (2000, Ecn::ECT0)]);
}

#[test]
fn a_packet_that_was_changed_or_made_on_the_path_is_encoded() {
    for offload in [false, true] {
        let mut bench = Bench::new(offload);
        let whole = bench.take(900)[0];
        let marked = Segment { ecn: Ecn::CE, ..whole };
        let part = Segment { part: Part::new(0, true), ..whole };
        let own = segment(77);
        assert!(is_unchanged(&whole) && !is_unchanged(&marked) && !is_unchanged(&part));
        bench.deliver(&[marked, whole, part, own]);
        let expected = [written(&marked), packet(900), written(&part), written(&own)];
        assert_eq!(bench.arrived(), expected.map(|octets| (Shape::WHOLE, octets)));
    }
}

#[test]
fn a_fragment_is_encoded_again_and_not_joined() {
    let mut bench = Bench::new(true);
    let mut segments = bench.take(3000);
    segments[1].part = Part::new(0, true);
    bench.deliver(&segments);
    let lengths: Vec<usize> = bench.arrived().iter().map(|(_, packet)| packet.len()).collect();
    assert_eq!(lengths, [1040, written(&segments[1]).len(), 1040]);
}

#[test]
fn one_call_of_pack_prepares_at_most_one_batch() {
    let mut bench = Bench::new(false);
    // A pair of datagram sockets has room for less than a batch. Therefore, this test packs the
    // segments but does not send them.
    let segments: Vec<Segment> = (0..BATCH as u64 + 3).map(segment).collect();
    bench.post.pack(&bench.port, &bench.hold, segments.iter().copied(), &mut |segment, out| {
        out.clear();
        out.extend(written(segment));
    });
    assert_eq!(bench.post.prepared.len(), BATCH);
    assert_eq!(bench.post.prepared.iter().map(|packet| packet.count).sum::<usize>(), BATCH);
}

#[test]
fn a_packet_that_the_device_refuses_is_lost_with_all_its_segments() {
    let mut bench = Bench::new(true);
    let segments = [bench.take(3000), bench.take(10)].concat();
    let Bench { port, far, hold, mut post, .. } = bench;
    drop(far);
    let never = &mut |_: &Segment, _: &mut Vec<u8>| panic!("the links changed no segment");
    post.pack(&port, &hold, segments.iter().copied(), never);
    assert_eq!(post.send(&port, &hold), (3, 3), "a refusal counts all segments of one packet");
    post.pack(&port, &hold, segments[3..].iter().copied(), never);
    assert_eq!(post.send(&port, &hold), (1, 1));
}
