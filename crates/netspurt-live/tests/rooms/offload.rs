//! Tests of packets that hold many segments: how the kernel describes them, and how they are cut
//! and joined again.

use netspurt::segment::{Ecn, Flags, SackBlock, SackBlocks, Segment, Timestamps};
use netspurt::wire::{Checks, IpHead, Packet, decode, encode};
use netspurt_live::offload::{SegmentRun, Shape, VIRTIO_BYTES, complete, header_bytes};

/// A packet of IPv4 or IPv6. The values of its octets depend on their position.
fn large(six: bool, segment: Segment) -> Vec<u8> {
    let ends = if six {
        ["[2001:db8::1]:5001", "[2001:db8::2]:80"]
    } else {
        ["10.0.0.1:5001", "10.0.0.2:80"]
    };
    let [source, destination] = ends.map(|end| end.parse().unwrap());
    let content: Vec<u8> = (0..segment.len).map(|place| (place % 251) as u8).collect();
    let packet = Packet { source, destination, ip_id: 40, segment, payload: Some(&content) };
    let mut bytes = Vec::new();
    encode(&packet, &mut bytes);
    bytes
}

/// A segment with `len` octets of payload.
fn segment(len: u16, flags: Flags) -> Segment {
    Segment { seq: 5000, ack: 7, len, flags, ..Segment::default() }
}

/// Makes a separate packet with `count` segments of `packet`, beginning with segment `first`. Each
/// segment carries at most `size` octets. If `marked` is true, a queue has marked the new packet.
fn part(packet: &[u8], size: u16, first: usize, count: usize, marked: bool) -> Vec<u8> {
    let headers = header_bytes(packet).unwrap();
    let run = SegmentRun { packet, headers, segment_bytes: size, first, count };
    let mut out = Vec::new();
    run.write_headers(marked, &mut out);
    assert_eq!(out.len(), headers);
    out.extend_from_slice(&packet[run.payload()]);
    complete(&mut out);
    out
}

#[test]
fn the_virtio_header_gives_the_shape_of_a_packet() {
    let header = |flags: u8, kind: u8, size: u16| {
        let mut header = [0; VIRTIO_BYTES];
        (header[0], header[1]) = (flags, kind);
        header[4..6].copy_from_slice(&size.to_ne_bytes());
        header
    };
    for (what, header, shape) in [
        ("no work for the device", header(0, 0, 0), Shape::WHOLE),
        ("an incomplete checksum", header(1, 0, 0), Shape { partial: true, ..Shape::WHOLE }),
        (
            "to be cut, TCP over IPv4",
            header(1, 1, 1448),
            Shape { segment_bytes: 1448, partial: true, foreign: false },
        ),
        (
            "to be cut, TCP over IPv6",
            header(1, 4, 1428),
            Shape { segment_bytes: 1428, partial: true, foreign: false },
        ),
        (
            "with congestion bits",
            header(1, 0x81, 1448),
            Shape { segment_bytes: 1448, partial: true, foreign: false },
        ),
        (
            "UDP to be cut",
            header(1, 5, 1200),
            Shape { segment_bytes: 0, partial: true, foreign: true },
        ),
        ("a segment size without segmentation", header(0, 0, 1448), Shape::WHOLE),
        ("a checksum that was checked", header(2, 0, 0), Shape::WHOLE),
    ] {
        assert_eq!(Shape::read(&header), shape, "{what}");
    }
    assert_eq!(Shape::read(&[1; VIRTIO_BYTES - 1]), Shape::WHOLE, "the header is too short");
}

#[test]
fn the_length_of_the_headers_includes_their_options() {
    let plain = segment(10, Flags::ACK);
    let mut stamped = plain;
    stamped.set_timestamps(Timestamps { val: 1, ecr: 2 });
    let mut with_blocks = stamped;
    let mut blocks = SackBlocks::default();
    blocks.add(SackBlock { left: 1, right: 2 });
    with_blocks.set_sack(&blocks);
    for (what, segment, tcp) in
        [("plain", plain, 20), ("stamped", stamped, 32), ("with a block", with_blocks, 44)]
    {
        assert_eq!(header_bytes(&large(false, segment)), Some(20 + tcp), "{what}");
        assert_eq!(header_bytes(&large(true, segment)), Some(40 + tcp), "{what} over IPv6");
    }
    let whole = large(false, plain);
    for (what, bytes) in [
        ("nothing", &[][..]),
        ("only an IP header", &whole[..20]),
        ("half a TCP header", &whole[..39]),
    ] {
        assert_eq!(header_bytes(bytes), None, "{what}");
    }
    let mut udp = whole.clone();
    udp[9] = 17;
    assert_eq!(header_bytes(&udp), None, "only TCP packets are cut");
    let mut long = whole;
    long[32] = 0xf0;
    assert_eq!(header_bytes(&long), None, "the options would reach beyond the packet");
}

#[test]
fn consecutive_segments_make_a_packet_with_their_octets() {
    for six in [false, true] {
        let whole = large(six, segment(4200, Flags::ACK.with(Flags::PSH).with(Flags::CWR)));
        let all = decode(&whole, Checks::Whole).unwrap();
        for (first, count) in [(0, 1), (1, 1), (4, 1), (0, 5), (1, 3), (2, 3), (3, 2)] {
            let own = part(&whole, 1000, first, count, false);
            let read = decode(&own, Checks::Whole).expect("a packet with correct checksums");
            let from = first * 1000;
            let until = (from + count * 1000).min(4200);
            assert_eq!(
                read.payload,
                &all.payload[from..until],
                "{count} segments from segment {first} on"
            );
            assert_eq!(read.segment.seq, 5000 + from as u32);
            assert_eq!(read.segment.ack, 7);
            assert_eq!(read.segment.flags.has(Flags::PSH), until == 4200);
            assert_eq!(read.segment.flags.has(Flags::CWR), first == 0);
            assert_eq!(usize::from(read.segment.size_bytes), own.len());
            if !six {
                let id = IpHead::of(&own).unwrap().id();
                assert_eq!(id, 40 + first as u16, "identifications count segments");
            }
        }
    }
}

#[test]
fn joined_segments_equal_the_original_packet() {
    for six in [false, true] {
        for len in [1, 999, 1000, 1001, 3000, 5555] {
            let whole = large(six, segment(len, Flags::ACK.with(Flags::FIN)));
            let count = usize::from(len.div_ceil(1000));
            assert_eq!(part(&whole, 1000, 0, count, false), whole, "{len} octets");
        }
    }
}

#[test]
fn only_the_segments_that_a_queue_marked_have_its_mark() {
    for six in [false, true] {
        let capable = Segment { ecn: Ecn::ECT0, ..segment(3000, Flags::ACK) };
        let whole = large(six, capable);
        for (marked, ecn) in [(false, Ecn::ECT0), (true, Ecn::CE)] {
            let own = part(&whole, 1000, 1, 1, marked);
            assert_eq!(decode(&own, Checks::Whole).unwrap().segment.ecn, ecn);
        }
    }
}

#[test]
fn a_completed_checksum_does_not_depend_on_its_earlier_value() {
    for six in [false, true] {
        let whole = large(six, segment(333, Flags::ACK));
        let at = header_bytes(&whole).unwrap() - 4;
        for left_there in [0_u16, 1, 0xffff] {
            let mut bytes = whole.clone();
            bytes[at..at + 2].copy_from_slice(&left_there.to_be_bytes());
            complete(&mut bytes);
            assert_eq!(bytes, whole, "IPv6: {six}");
        }
    }
    let mut ping = large(false, segment(8, Flags::ACK));
    ping[9] = 1;
    let before = ping.clone();
    complete(&mut ping);
    assert_eq!(ping, before, "ICMP packets stay unchanged");
}
