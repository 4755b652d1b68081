//! Tests of the round trips that are read from captures.

use std::io::Read;
use std::net::Ipv4Addr;

use flate2::Compression;
use flate2::read::GzEncoder;
use netspurt::delays::{Delays, Probe};
use netspurt::segment::{Flags, SackBlock, SackBlocks, Segment};
use netspurt::wire::{EchoPacket, Packet, PcapngWriter, cut, encode, encode_echo};

use crate::recordings::{Reading, read};

use super::{counts, in_gre};

/// Makes a pcapng file of packets. Each packet has its time in milliseconds and its bytes.
fn pcapng(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut file = PcapngWriter::new(Vec::new(), "a", "netspurt").unwrap();
    for (ms, bytes) in packets {
        file.packet(1_700_000_000_000_000_000 + ms * 1_000_000, bytes, None).unwrap();
    }
    file.finish().unwrap()
}

/// Makes a pcap file of packets, with stamps in microseconds and a link header before each packet.
fn pcap(packets: &[(u64, Vec<u8>)], link: u32, header: &[u8]) -> Vec<u8> {
    let words = [0xa1b2_c3d4_u32, 4 << 16 | 2, 0, 0, 65_535, link];
    let mut file: Vec<u8> = Vec::new();
    file.extend(words[0].to_le_bytes());
    file.extend([2, 0, 4, 0]);
    file.extend(words[2..].iter().flat_map(|word| word.to_le_bytes()));
    for (ms, bytes) in packets {
        let length = u32::try_from(header.len() + bytes.len()).unwrap();
        let stamp = [
            1_700_000_000 + u32::try_from(ms / 1000).unwrap(),
            u32::try_from(ms % 1000 * 1000).unwrap(),
        ];
        file.extend(
            [stamp[0], stamp[1], length, length].iter().flat_map(|word| word.to_le_bytes()),
        );
        file.extend_from_slice(header);
        file.extend_from_slice(bytes);
    }
    file
}

/// Makes a TCP packet from one of the hosts 10.0.0.1 and 10.0.0.2 to the other. The argument `from`
/// is the last number of the sender's address.
fn tcp(from: u8, seq: u32, len: u16, ack: u32) -> Vec<u8> {
    packet(from, Segment { seq, ack, len, flags: Flags::ACK, ..Segment::default() })
}

/// Makes the TCP packet of `segment`. The argument `from` is the last number of the sender's
/// address.
fn packet(from: u8, segment: Segment) -> Vec<u8> {
    let (source, destination) = (
        (Ipv4Addr::new(10, 0, 0, from), 80).into(),
        (Ipv4Addr::new(10, 0, 0, 3 - from), 80).into(),
    );
    let mut out = Vec::new();
    encode(&Packet { source, destination, ip_id: 0, segment, payload: None }, &mut out);
    out
}

/// Makes an ICMP echo request from 10.0.0.1 to 10.0.0.2, or the reply to it.
fn echo(reply: bool, sequence: u16) -> Vec<u8> {
    let (a, b) = (Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2));
    let (source, destination) = if reply { (b, a) } else { (a, b) };
    let mut out = Vec::new();
    encode_echo(
        &EchoPacket { source, destination, ip_id: 1, reply, identifier: 7, sequence, len: 56 },
        &mut out,
    );
    out
}

/// Reads the recordings of a capture.
fn all(bytes: &[u8]) -> Reading {
    read("x", bytes).unwrap()
}

/// Returns the instant at which each sample's segment left, and the sample's round trip, both in
/// milliseconds. The segment of the first sample left at 0.
fn times_and_delays_ms(delays: &Delays) -> Vec<(u64, u64)> {
    let ms = |nanos: u64| nanos / 1_000_000;
    let of = |probe: &Probe| (ms(probe.sent.as_nanos()), ms(probe.rtt.unwrap().as_nanos()));
    delays.probes.iter().map(of).collect()
}

/// The first ACK covers two segments and gives a sample of the older segment, as with timestamps
/// (RFC 7323 §4.3). The third segment was sent twice and gives no sample (RFC 6298 §3).
#[test]
fn an_ack_gives_a_sample_of_the_oldest_segment_if_it_covers_no_retransmission() {
    let packets = [
        (0, tcp(1, 0, 100, 0)),
        (5, tcp(1, 100, 100, 0)),
        (25, tcp(2, 0, 0, 200)),
        (30, tcp(1, 200, 100, 0)),
        (90, tcp(1, 200, 100, 0)),
        (100, tcp(2, 0, 0, 300)),
        (110, tcp(1, 300, 100, 0)),
        (140, tcp(2, 0, 0, 400)),
    ];
    let delays = &all(&pcapng(&packets)).recordings[0];
    assert_eq!(times_and_delays_ms(delays), [(0, 25), (110, 30)]);
    assert!(delays.notes[0].contains("the oldest segment"));
    assert_eq!(
        delays.notes[1],
        "retransmitted segments: 1; acknowledgments that give no sample because they cover such a \
         segment (Karn): 1"
    );
    assert_eq!(delays.name, "x: 10.0.0.1:80 to 10.0.0.2:80");
}

#[test]
fn a_note_says_that_the_clock_of_the_capture_was_set_back() {
    let trip = |ms: u64, seq: u32| [(ms, tcp(1, seq, 100, 1)), (ms + 20, tcp(2, 1, 0, seq + 100))];
    let noted = |starts: [u64; 3]| {
        let packets = starts.into_iter().zip([1, 101, 201]).flat_map(|(ms, seq)| trip(ms, seq));
        let reading = all(&pcapng(&packets.collect::<Vec<_>>()));
        reading.recordings[0].notes.iter().any(|note| {
            note.contains("the times of the capture go back;") && note.contains("so far: 1;")
        })
    };
    assert!(noted([9000, 9100, 5000]));
    assert!(!noted([5000, 5100, 5200]));
    // The ACK of an earlier segment may come after the ACK of a later segment.
    let late = [(0, tcp(1, 1, 100, 1)), (10, tcp(1, 101, 100, 1)), (30, tcp(2, 1, 0, 201))];
    assert!(!all(&pcapng(&late)).recordings[0].notes.iter().any(|note| note.contains("go back")));
}

/// The compressed file is cut off in its middle.
#[test]
fn packets_before_the_cut_in_a_compressed_capture_are_read() {
    let packets: Vec<_> = (0..200_u32)
        .flat_map(|n| {
            let at = 40 * u64::from(n);
            [(at, tcp(1, 100 * n, 100, 0)), (at + 20, tcp(2, 0, 0, 100 * (n + 1)))]
        })
        .collect();
    let mut packed = Vec::new();
    GzEncoder::new(&pcapng(&packets)[..], Compression::fast()).read_to_end(&mut packed).unwrap();
    assert_eq!(all(&packed).recordings[0].sent(), 200);
    let reading = all(&packed[..packed.len() / 2]);
    assert!((50..150).contains(&reading.recordings[0].sent()));
    let fault = &reading.malformed.last().unwrap().why;
    assert!(fault.starts_with("compressed file: "), "{fault}");
    assert!(read("x", &packed[..100]).is_err(), "no packet is left");
}

/// The capture of a mirrored port has each packet twice. The handshake shows this, because no
/// sender repeats a SYN after 2 ms. Without the handshake, a packet counts as a copy only if it
/// follows at once. The retransmission after 60 ms is no copy.
#[test]
fn copies_of_packets_are_not_used_and_do_not_count_as_retransmissions() {
    for (opened, late) in [(true, 2), (true, 0), (false, 0)] {
        let syn = Segment { flags: Flags::SYN, seq: u32::MAX, ..Segment::default() };
        let mut once = vec![(0, packet(1, syn))];
        once.push((1, packet(2, Segment { flags: Flags::SYN.with(Flags::ACK), ..syn })));
        once.push((2, tcp(1, 0, 0, 0)));
        for n in 0..10 {
            once.push((10 + 40 * u64::from(n), tcp(1, 100 * n, 100, 0)));
            once.push((30 + 40 * u64::from(n), tcp(2, 0, 0, 100 * (n + 1))));
        }
        once.extend([(500, tcp(1, 1000, 100, 0)), (560, tcp(1, 1000, 100, 0))]);
        once.push((580, tcp(2, 0, 0, 1100)));
        once.drain(..if opened { 0 } else { 3 });
        let mut twice: Vec<_> =
            once.iter().flat_map(|(at, bytes)| [(*at, bytes), (at + late, bytes)]).collect();
        twice.sort_by_key(|(at, _)| *at);
        let twice: Vec<_> = twice.into_iter().map(|(at, bytes)| (at, bytes.clone())).collect();
        let [alone, both] =
            [once, twice].map(|packets| all(&pcapng(&packets)).recordings.remove(0));
        assert_eq!(times_and_delays_ms(&both), times_and_delays_ms(&alone), "{opened} {late}");
        assert!(both.notes[1].ends_with("copies are not used"), "{:?}", both.notes);
        assert_eq!(both.notes[2], alone.notes[1], "the retransmission");
    }
}

/// The first segment is lost and retransmitted. The SACK block shows when the second segment
/// arrived.
#[test]
fn a_sack_block_gives_a_sample_of_the_segment_that_it_reports() {
    let mut duplicate = Segment { ack: 0, flags: Flags::ACK, ..Segment::default() };
    let mut blocks = SackBlocks::default();
    blocks.add(SackBlock { left: 100, right: 200 });
    duplicate.set_sack(&blocks);
    let packets = [
        (0, tcp(1, 0, 100, 0)),
        (5, tcp(1, 100, 100, 0)),
        (25, packet(2, duplicate)),
        (40, tcp(1, 0, 100, 0)),
        (70, tcp(2, 0, 0, 200)),
    ];
    assert_eq!(times_and_delays_ms(&all(&pcapng(&packets)).recordings[0]), [(0, 20)]);
}

#[test]
fn a_new_syn_begins_another_connection() {
    let syn = |seq| packet(1, Segment { seq, flags: Flags::SYN, ..Segment::default() });
    let both = Flags::SYN.with(Flags::ACK);
    let accept = |seq, ack| packet(2, Segment { seq, ack, flags: both, ..Segment::default() });
    let packets = [
        (0, syn(7)),
        (20, accept(900, 8)),
        (21, tcp(1, 8, 10, 901)),
        (22, tcp(1, 8, 10, 901)),
        (300, syn(7000)),
        (330, accept(50, 7001)),
        (335, tcp(1, 7001, 0, 51)),
    ];
    let recordings = all(&pcapng(&packets)).recordings;
    let names: Vec<_> = recordings.iter().map(|one| one.name.as_str()).collect();
    let [forward, reverse] = ["x: 10.0.0.1:80 to 10.0.0.2:80", "x: 10.0.0.2:80 to 10.0.0.1:80"];
    let numbered = |name: &str, number: u32| format!("{name} ({number})");
    assert_eq!(
        names,
        [numbered(forward, 1), numbered(reverse, 1), numbered(forward, 2), numbered(reverse, 2)]
    );
    let all: Vec<_> = recordings.iter().map(times_and_delays_ms).collect();
    assert_eq!(all, [[(0, 20)], [(0, 1)], [(0, 30)], [(0, 5)]]);
}

#[test]
fn echoes_are_read_from_captures_of_several_link_types() {
    let packets = [
        (0, echo(false, 65_534)),
        (20, echo(true, 65_534)),
        (1000, echo(false, 65_535)),
        (2000, echo(false, 0)),
        (2030, echo(true, 0)),
        (2031, echo(true, 0)),
        (3500, echo(true, 65_535)),
        (4000, echo(false, 2)),
    ];
    let tagged = [&[0; 12][..], &[0x81, 0, 0, 5, 8, 0]].concat();
    let cooked = [&[0; 14][..], &[8, 0]].concat();
    let cooked2 = [&[8, 0][..], &[0; 18]].concat();
    let files = [
        pcapng(&packets),
        pcap(&packets, 1, &tagged),
        pcap(&packets, 0, &[2, 0, 0, 0]),
        pcap(&packets, 101, &[]),
        pcap(&packets, 113, &cooked),
        pcap(&packets, 276, &cooked2),
    ];
    for file in files {
        let reading = all(&file);
        let delays = &reading.recordings[0];
        assert_eq!(counts(delays), [5, 3, 2, 0, 1]);
        assert_eq!(delays.probes[1].rtt.unwrap().as_nanos(), 2_500_000_000);
        assert_eq!((delays.probes[0].wire_bytes, delays.format.as_str()), (84, "capture (ICMP)"));
        // Here the file is cut off within a packet. The packets before this packet count, and the
        // cut is reported.
        let cut = all(&file[..file.len() - 9]);
        assert_eq!(cut.recordings[0].sent(), 3);
        assert_eq!(cut.malformed.len(), 1);
    }
}

/// The second fragment arrives before the first. The segment is complete when both fragments have
/// arrived. The ACK of the segment comes 25 ms later.
#[test]
fn the_round_trip_of_a_fragmented_segment_begins_with_its_last_fragment() {
    let whole = tcp(1, 0, 1000, 0);
    let part = |octets| {
        let mut part = Vec::new();
        cut(&whole, octets, &mut part);
        part
    };
    let packets = [(0, part(512..1020)), (7, part(0..512)), (32, tcp(2, 0, 0, 1000))];
    let reading = all(&pcapng(&packets));
    assert_eq!(times_and_delays_ms(&reading.recordings[0]), [(0, 25)]);
    assert_eq!(reading.recordings[0].probes[0].wire_bytes, 1040);
}

/// The capture with the name `twice` was taken at a host at the end of a tunnel. It has each packet
/// twice: bare, and inside the tunnel. The bare form of a packet that the host sends comes first.
/// The bare form of a packet that the host receives comes second.
#[test]
fn packets_in_tunnels_give_the_same_round_trips_as_bare_packets() {
    let bare = [
        (0, tcp(1, 1, 100, 1)),
        (30, tcp(2, 1, 0, 101)),
        (40, echo(false, 1)),
        (60, echo(true, 1)),
        (100, tcp(1, 101, 100, 1)),
        (150, tcp(2, 1, 0, 201)),
    ];
    let inside = bare.clone().map(|(at, bytes)| (at, in_gre(&bytes)));
    let mut twice: Vec<_> = bare.iter().zip(&inside).flat_map(|(a, b)| [a, b]).cloned().collect();
    twice.chunks_mut(2).skip(1).step_by(2).for_each(|received| received.reverse());
    let read = |packets: &[(u64, Vec<u8>)]| {
        let found = all(&pcapng(packets)).recordings;
        found.iter().map(|one| (times_and_delays_ms(one), one.notes.clone())).collect::<Vec<_>>()
    };
    let expected = read(&bare);
    assert_eq!(expected.len(), 2, "echoes and a connection");
    assert_eq!(read(&inside), expected);
    assert_eq!(read(&twice), expected);
}

/// A simple packet block of pcapng has only a length before the packet, and no time.
#[test]
fn packets_without_a_time_give_no_samples_and_are_reported() {
    let mut file = pcapng(&[(0, echo(false, 1)), (20, echo(true, 1))]);
    for packet in [tcp(1, 0, 100, 0), tcp(2, 0, 0, 100)] {
        let length = u32::try_from(packet.len()).unwrap();
        let block = (16 + length).next_multiple_of(4).to_le_bytes();
        let padding = vec![0; packet.len().next_multiple_of(4) - packet.len()];
        file.extend([&3_u32.to_le_bytes(), &block, &length.to_le_bytes(), &packet[..]].concat());
        file.extend([&padding[..], &block].concat());
    }
    let reading = all(&file);
    assert_eq!(reading.recordings.len(), 1);
    assert_eq!(reading.malformed[0].why, "packets without a time, which are not used: 2");
}

#[test]
fn a_capture_without_a_round_trip_is_an_error() {
    let error = read("x", &pcapng(&[(0, tcp(1, 0, 100, 0))])).unwrap_err();
    assert!(error.message.contains("in this capture (packets: 1; without IP"), "{error}");
    assert!(error.to_string().ends_with("capture both directions"), "{error}");
    let mut encrypted = tcp(1, 0, 100, 0);
    encrypted[9] = 50;
    let error = read("x", &pcapng(&[(0, encrypted)])).unwrap_err().to_string();
    assert!(error.ends_with("outside of tunnels that encrypt them"), "{error}");
    let ethernet_of_arp = [&[0; 12][..], &[8, 6]].concat();
    let error = read("x", &pcap(&[(0, vec![0; 28])], 1, &ethernet_of_arp)).unwrap_err().to_string();
    assert!(error.contains("(packets: 1; without IP or of an unknown link type: 1;"), "{error}");
    assert!(error.contains("capture packets of TCP or ICMP echoes"), "{error}");
}

/// Each request has 100 octets, and each reply has 1000 octets.
#[test]
fn the_direction_with_more_data_is_the_first_of_its_connection() {
    let packets = [
        (0, tcp(1, 1, 100, 1)),
        (20, tcp(2, 1, 1000, 101)),
        (40, tcp(1, 101, 0, 1001)),
        (60, tcp(1, 101, 100, 1001)),
        (80, tcp(2, 1001, 1000, 201)),
        (100, tcp(1, 201, 0, 2001)),
    ];
    let reading = all(&pcapng(&packets));
    let names: Vec<&str> = reading.recordings.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["x: 10.0.0.2:80 to 10.0.0.1:80", "x: 10.0.0.1:80 to 10.0.0.2:80"]);
}
