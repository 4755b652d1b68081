//! Tests of the conversion of real packets into segments. The tests check sequence numbers, causes,
//! shapes and unusual headers. `Labels` gives each segment its id and, if it is a retransmission,
//! its cause.

use netspurt::ids::{EndId, FlowId};
use netspurt::segment::{
    Cause, Ecn, Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps,
};
use netspurt_live::content;
use netspurt_live::kernel::TcpInfo;
use netspurt_live::labels::Labels;
use netspurt_live::offload::Shape;

use super::common::{packet, packet_between};

const HERE: EndId = EndId::at(0);
const THERE: EndId = EndId::at(1);

/// Labels of a connection whose two SYNs had these sequence numbers.
fn opened(mine: u32, theirs: u32) -> Labels {
    let mut labels = Labels::new();
    let syn = Segment { seq: mine, flags: Flags::SYN, ..Segment::default() };
    labels.read(HERE, &packet(syn), || None).unwrap();
    let flags = Flags::SYN.with(Flags::ACK);
    let answer = Segment { seq: theirs, ack: mine.wrapping_add(1), flags, ..Segment::default() };
    labels.read(THERE, &back(answer), || None).unwrap();
    labels
}

/// Makes a packet from the second end to the first end.
fn back(segment: Segment) -> Vec<u8> {
    packet_between("10.0.0.2:5001", "10.0.0.1:10000", segment)
}

/// SACK blocks with these left and right edges.
fn sack(blocks: &[(u32, u32)]) -> SackBlocks {
    let mut all = SackBlocks::default();
    blocks.iter().for_each(|(left, right)| all.add(SackBlock { left: *left, right: *right }));
    all
}

#[test]
fn sequence_numbers_and_sack_blocks_are_relative_to_the_initial_numbers() {
    for (mine, theirs) in [(0, 0), (1, u32::MAX), (u32::MAX - 499, 77), (1 << 31, (1 << 31) - 1)] {
        let mut labels = opened(mine, theirs);
        let first = |number: u32| mine.wrapping_add(number);
        let data = Segment {
            seq: first(1),
            ack: theirs.wrapping_add(1),
            len: 1000,
            flags: Flags::ACK,
            ..Segment::default()
        };
        let read = labels.read(HERE, &packet(data), || None).unwrap();
        assert_eq!((read.seq, read.ack, read.len, read.dest), (1, 1, 1000, THERE));
        let mut answer = Segment {
            seq: theirs.wrapping_add(1),
            ack: first(1001),
            flags: Flags::ACK,
            ..Segment::default()
        };
        answer.set_sack(&sack(&[(first(2001), first(3001)), (first(4001), first(5001))]));
        let read = labels.read(THERE, &back(answer), || None).unwrap();
        assert_eq!(
            (read.seq, read.ack),
            (1, 1001),
            "the SYNs have the numbers {mine} and {theirs}"
        );
        let blocks: Vec<_> = read.sack().iter().map(|block| (block.left, block.right)).collect();
        assert_eq!(blocks, [(2001, 3001), (4001, 5001)]);
        // On the wire, an ACK and its SACK blocks count from the initial sequence number of the
        // host that receives the ACK.
        let wire = labels.on_the_wire(read);
        assert_eq!(wire.ack, first(1001));
        assert_eq!((wire.sack()[0].left, wire.sack()[1].right), (first(2001), first(5001)));
    }
}

#[test]
fn ids_count_the_packets_of_each_end() {
    let mut labels = opened(5, 6);
    for number in 1..4_u64 {
        let data = Segment { seq: 6, ack: 7, flags: Flags::ACK, ..Segment::default() };
        let read = labels.read(HERE, &packet(data), || None).unwrap();
        assert_eq!((read.id.sender(), read.id.packet()), (HERE, number));
        let read = labels.read(THERE, &back(data), || None).unwrap();
        assert_eq!((read.id.sender(), read.id.packet()), (THERE, number));
    }
}

#[test]
fn sequence_numbers_count_from_the_first_packet_if_no_syn_was_seen() {
    let mut labels = Labels::new();
    let reset = Segment { seq: 900, flags: Flags::RST, ..Segment::default() };
    assert_eq!(labels.read(HERE, &packet(reset), || None).unwrap().seq, 1);
    let next = Segment { seq: 905, flags: Flags::ACK, ..Segment::default() };
    assert_eq!(labels.read(HERE, &packet(next), || None).unwrap().seq, 6);
}

#[test]
fn syn_options_and_timestamps_and_ecn_bits_are_kept() {
    let mut labels = Labels::new();
    let mut syn = Segment { seq: 9, flags: Flags::SYN, window: 4000, ..Segment::default() };
    syn.set_syn_options(SynOptions { mss: Some(1400), window_scale: Some(7), sack: true });
    let read = labels.read(HERE, &packet(syn), || None).unwrap();
    let options = read.syn_options();
    assert_eq!((options.mss, options.window_scale, options.sack), (Some(1400), Some(7), true));
    assert_eq!(read.window, 4000);
    let mut data = Segment { seq: 10, flags: Flags::ACK, ecn: Ecn::ECT0, ..Segment::default() };
    data.set_timestamps(Timestamps { val: 5, ecr: 6 });
    let read = labels.read(HERE, &packet(data), || None).unwrap();
    assert_eq!(read.timestamps(), Some(Timestamps { val: 5, ecr: 6 }));
    assert_eq!((read.ecn, read.size_bytes), (Ecn::ECT0, 52));
}

#[test]
fn ipv6_packets_are_read_as_segments() {
    let mut labels = Labels::new();
    let syn = Segment { seq: 9, flags: Flags::SYN, ..Segment::default() };
    let bytes = packet_between("[2001:db8::1]:10000", "[2001:db8::2]:5001", syn);
    let read = labels.read(HERE, &bytes, || None).unwrap();
    assert_eq!((read.seq, usize::from(read.size_bytes)), (0, bytes.len()));
    assert_eq!(labels.strange, 0);
}

#[test]
fn packets_that_are_not_valid_segments_are_counted_and_get_no_id() {
    let whole = packet(Segment { seq: 1, len: 100, flags: Flags::ACK, ..Segment::default() });
    let changed = |at: usize, octet: u8| {
        let mut bytes = whole.clone();
        bytes[at] = octet;
        bytes
    };
    for (what, bytes) in [
        ("nothing", Vec::new()),
        ("an unknown IP version", changed(0, 0x55)),
        ("an IP header of 16 octets", changed(0, 0x44)),
        ("a header longer than the packet", changed(0, 0x4f)),
        ("a fragment", changed(6, 0x20)),
        ("a later fragment", changed(7, 10)),
        ("another protocol", changed(9, 17)),
        ("a wrong checksum of the IP header", changed(8, 3)),
        ("a wrong checksum of TCP", changed(30, 1)),
        ("a TCP header of 16 octets", changed(32, 0x40)),
        ("a TCP header longer than the packet", {
            let mut bytes = packet(Segment { flags: Flags::ACK, ..Segment::default() });
            bytes[32] = 0xf0;
            bytes
        }),
        ("a packet cut short", whole[..139].to_vec()),
        ("only the headers", whole[..40].to_vec()),
    ] {
        let mut labels = Labels::new();
        assert_eq!(labels.read(HERE, &bytes, || None), None, "{what}");
        assert_eq!(labels.strange, 1, "{what}");
        let next = labels.read(HERE, &whole, || None).unwrap();
        assert_eq!(next.id.packet(), 0, "{what}: ids count segments");
    }
}

/// A packet with this payload.
fn carrying(seq: u32, payload: &[u8]) -> Vec<u8> {
    let len = u16::try_from(payload.len()).unwrap();
    let segment = Segment { seq, len, flags: Flags::ACK, ..Segment::default() };
    let [source, destination] =
        ["10.0.0.1:10000", "10.0.0.2:5001"].map(|socket| socket.parse().unwrap());
    let packet =
        netspurt::wire::Packet { source, destination, ip_id: 1, segment, payload: Some(payload) };
    let mut bytes = Vec::new();
    netspurt::wire::encode(&packet, &mut bytes);
    bytes
}

#[test]
fn packets_with_octets_that_the_application_did_not_write_count_as_damaged() {
    let mut labels = opened(8, 8);
    labels.read(HERE, &carrying(9, content::octets(0, 500)), || None).unwrap();
    labels.read(HERE, &carrying(509, content::octets(500, 500)), || None).unwrap();
    assert_eq!(labels.damaged, 0);
    let read = labels.read(HERE, &carrying(1009, content::octets(999, 500)), || None);
    assert!(read.is_some(), "a packet with wrong content is still delivered");
    assert_eq!((labels.damaged, labels.strange), (1, 0));
}

#[test]
fn the_contents_of_programs_packets_are_not_checked() {
    let mut labels = Labels::new().foreign_from(Some(FlowId(1)));
    let noise = [7; 300];
    let program = FlowId(1).end(netspurt::ids::Side::From);
    labels.read(program, &carrying(1, &noise), || None).unwrap();
    assert_eq!(labels.damaged, 0);
    labels.read(HERE, &carrying(1, &noise), || None).unwrap();
    assert_eq!(labels.damaged, 1, "flows before the first flow of programs are checked");
}

#[test]
fn packets_of_other_protocols_become_segments_with_their_size_and_mark() {
    let mut labels = Labels::new();
    let mut ping = packet(Segment { len: 44, ..Segment::default() });
    ping[9] = 1;
    ping[1] = 3;
    let read = labels.other(HERE, &ping).unwrap();
    assert!(read.is_other());
    assert_eq!((read.size_bytes, read.ecn, read.dest), (84, Ecn::CE, THERE));
    assert_eq!(labels.other(HERE, &ping).unwrap().id.packet(), 1);
    for (what, bytes) in [
        ("cut short", ping[..83].to_vec()),
        ("IPv6", packet_between("[::1]:1", "[::2]:2", Segment::default())),
        ("nothing", Vec::new()),
    ] {
        let strange = labels.strange;
        assert!(labels.other(HERE, &bytes).is_none(), "{what}");
        assert_eq!(labels.strange, strange + 1, "{what}");
    }
}

#[test]
fn the_kernel_is_asked_only_about_retransmissions() {
    let mut labels = opened(0, 0);
    let data =
        |seq: u32| packet(Segment { seq, len: 100, flags: Flags::ACK, ..Segment::default() });
    let mut asked = 0;
    let mut read = |labels: &mut Labels, seq: u32| {
        let ask = || {
            asked += 1;
            Some(TcpInfo { state: TcpInfo::RECOVERY, sack: true, ..TcpInfo::default() })
        };
        labels.read(HERE, &data(seq), ask).unwrap().cause.get()
    };
    assert_eq!(read(&mut labels, 1), None);
    assert_eq!(read(&mut labels, 101), None);
    assert_eq!(read(&mut labels, 1), Some(Cause::SackRecovery));
    assert_eq!(read(&mut labels, 201), None);
    assert_eq!(asked, 1);
}

#[test]
fn after_a_timeout_the_first_cause_is_rto_and_the_later_causes_are_go_back_n() {
    let mut labels = opened(0, 0);
    let data =
        |seq: u32| packet(Segment { seq, len: 100, flags: Flags::ACK, ..Segment::default() });
    for seq in [1, 101, 201] {
        labels.read(HERE, &data(seq), || None).unwrap();
    }
    let mut cause_of = |seq: u32, timeouts: u32| {
        let loss = TcpInfo { state: TcpInfo::LOSS, timeouts, ..TcpInfo::default() };
        labels.read(HERE, &data(seq), || Some(loss)).unwrap().cause.get().unwrap()
    };
    assert_eq!(cause_of(1, 1), Cause::Rto);
    assert_eq!(cause_of(101, 1), Cause::GoBackN);
    assert_eq!(cause_of(1, 2), Cause::Rto);
    assert_eq!(cause_of(201, 2), Cause::GoBackN);
}

#[test]
fn a_timeout_is_assumed_if_the_kernel_does_not_answer() {
    let mut labels = opened(0, 0);
    let data = packet(Segment { seq: 1, len: 100, flags: Flags::ACK, ..Segment::default() });
    assert_eq!(labels.read(HERE, &data, || None).unwrap().cause.get(), None);
    assert_eq!(labels.read(HERE, &data, || None).unwrap().cause.get(), Some(Cause::Rto));
}

/// A packet with the first `len` octets of a transfer.
fn large(len: u16, flags: Flags) -> Vec<u8> {
    let segment = Segment { seq: 1, len, flags, ..Segment::default() };
    let [source, destination] =
        ["10.0.0.1:10000", "10.0.0.2:5001"].map(|socket| socket.parse().unwrap());
    let payload = Some(content::octets(0, len.into()));
    let mut bytes = Vec::new();
    netspurt::wire::encode(
        &netspurt::wire::Packet { source, destination, ip_id: 1, segment, payload },
        &mut bytes,
    );
    bytes
}

#[test]
fn a_large_packet_is_segmented_as_devices_segment_it() {
    let all = Flags::ACK.with(Flags::PSH).with(Flags::FIN).with(Flags::CWR);
    for (len, size, lengths) in [
        (3000, 1448, &[1448, 1448, 104][..]),
        (2896, 1448, &[1448, 1448]),
        (1448, 1448, &[1448]),
        (1449, 1448, &[1448, 1]),
        (5, 1448, &[5]),
        (5, 1, &[1; 5]),
    ] {
        let mut labels = opened(0, 0);
        let mut out = Vec::new();
        let shape = Shape { segment_bytes: size, partial: true, foreign: false };
        labels.read_all(HERE, (&large(len, all), shape), || None, &mut out);
        let found: Vec<u16> = out.iter().map(|segment| segment.len).collect();
        assert_eq!(found, lengths, "{len} octets in segments of {size}");
        let mut seq = 1;
        for (place, segment) in out.iter().enumerate() {
            let last = place + 1 == out.len();
            assert_eq!((segment.seq, segment.size_bytes), (seq, 40 + segment.len));
            assert_eq!(segment.id.packet(), 1 + place as u64, "the SYN has number 0");
            assert_eq!(segment.flags.has(Flags::FIN), last);
            assert_eq!(segment.flags.has(Flags::PSH), last);
            assert_eq!(segment.flags.has(Flags::CWR), place == 0);
            assert!(segment.flags.has(Flags::ACK));
            seq += u32::from(segment.len);
        }
        assert_eq!((labels.strange, labels.damaged), (0, 0));
    }
}

#[test]
fn each_segment_of_a_large_packet_gets_its_own_cause() {
    let mut labels = opened(0, 0);
    let mut out = Vec::new();
    let shape = Shape { segment_bytes: 1000, partial: true, foreign: false };
    labels.read_all(HERE, (&large(2000, Flags::ACK), shape), || None, &mut out);
    let recovery = TcpInfo { state: TcpInfo::RECOVERY, ..TcpInfo::default() };
    labels.read_all(HERE, (&large(4000, Flags::ACK), shape), || Some(recovery), &mut out);
    let causes: Vec<_> = out.iter().map(|segment| segment.cause.get()).collect();
    let fast = Some(Cause::Fast);
    assert_eq!(causes, [None, None, fast, fast, None, None]);
}

#[test]
fn a_packet_counts_as_strange_if_a_device_must_cut_it_for_another_protocol_than_tcp() {
    let mut labels = opened(0, 0);
    let mut out = Vec::new();
    let shape = Shape { segment_bytes: 0, partial: true, foreign: true };
    labels.read_all(HERE, (&large(2000, Flags::ACK), shape), || None, &mut out);
    assert_eq!((out.len(), labels.strange), (0, 1));
}

#[test]
fn a_missing_checksum_is_accepted_only_if_the_device_will_compute_it() {
    let mut bytes = large(100, Flags::ACK);
    bytes[36] ^= 1;
    let mut labels = opened(0, 0);
    assert!(labels.read(HERE, &bytes, || None).is_none(), "no device will correct this checksum");
    let mut out = Vec::new();
    let partial = Shape { partial: true, ..Shape::WHOLE };
    labels.read_all(HERE, (&bytes, partial), || None, &mut out);
    assert_eq!(out.len(), 1);
}

/// A keep-alive carries no octet or one octet. Its sequence number is one less than the number of
/// the next octet (RFC 9293 §3.8.4).
#[test]
fn a_keep_alive_without_octets_is_not_a_retransmission() {
    let mut labels = opened(70, 80);
    labels.read(HERE, &carrying(71, content::octets(0, 500)), || None).unwrap();
    let before = Segment { seq: 570, ack: 81, flags: Flags::ACK, ..Segment::default() };
    let never = || panic!("the kernel is asked about a keep-alive");
    let read = labels.read(HERE, &packet(before), never).unwrap();
    assert_eq!((read.seq, read.len, read.cause.get()), (500, 0, None));
    let probing = || Some(TcpInfo::default());
    let read = labels.read(HERE, &carrying(570, content::octets(499, 1)), probing).unwrap();
    assert_eq!((read.seq, read.cause.get()), (500, Some(Cause::Tlp)), "this octet was sent before");
    assert_eq!(labels.damaged, 0);
}

#[test]
fn octets_are_counted_past_the_wrap_of_sequence_numbers() {
    let isn = 12_345_u32;
    let mut labels = opened(isn, 1);
    let at = |octet: u64| {
        let seq = isn.wrapping_add(1).wrapping_add((octet % (1 << 32)) as u32);
        carrying(seq, content::octets(octet, 500))
    };
    for step in 0..10_u64 {
        let octet = step << 30;
        let read = labels.read(HERE, &at(octet), || None).unwrap();
        assert_eq!((u64::from(read.seq), read.cause.get()), ((octet + 1) % (1 << 32), None));
    }
    assert_eq!(labels.damaged, 0, "content depends on all 64 bits of an octet's number");
    let retransmission = labels.read(HERE, &at(8 << 30), || None).unwrap();
    assert_eq!(retransmission.cause.get(), Some(Cause::Rto));
    // Two wraps earlier, the same sequence number belonged to other octets.
    let old = carrying(isn.wrapping_add(1), content::octets(0, 500));
    labels.read(HERE, &old, || None).unwrap();
    assert_eq!(labels.damaged, 1);
}

#[test]
fn the_kernel_is_not_asked_for_the_cause_of_a_repeated_syn_or_syn_ack() {
    let mut labels = opened(900, u32::MAX);
    let never = || panic!("the kernel is asked about a SYN");
    let syn = Segment { seq: 900, flags: Flags::SYN, ..Segment::default() };
    let flags = Flags::SYN.with(Flags::ACK);
    let answer = Segment { seq: u32::MAX, ack: 901, flags, ..Segment::default() };
    for number in 1..4 {
        let read = labels.read(HERE, &packet(syn), never).unwrap();
        assert_eq!((read.seq, read.cause.get()), (0, Some(Cause::Syn)));
        assert_eq!(read.id.packet(), number, "a retransmission has an id of its own");
        let read = labels.read(THERE, &back(answer), never).unwrap();
        assert_eq!((read.seq, read.ack, read.cause.get()), (0, 1, Some(Cause::Syn)));
    }
}

#[test]
fn a_repeated_fin_has_the_cause_that_the_kernel_reports() {
    let mut labels = opened(0, 0);
    let fin = Segment { seq: 1, flags: Flags::FIN.with(Flags::ACK), ..Segment::default() };
    assert_eq!(labels.read(HERE, &packet(fin), || None).unwrap().cause.get(), None);
    let loss = TcpInfo { state: TcpInfo::LOSS, timeouts: 1, ..TcpInfo::default() };
    let retransmission = labels.read(HERE, &packet(fin), || Some(loss)).unwrap();
    assert_eq!((retransmission.cause.get(), retransmission.id.packet()), (Some(Cause::Rto), 2));
}

#[test]
fn a_reset_has_relative_numbers_and_is_not_a_retransmission() {
    let mut labels = opened(500, 600);
    labels.read(HERE, &carrying(501, content::octets(0, 100)), || None).unwrap();
    let never = || panic!("the kernel is asked about a reset");
    let flags = Flags::RST.with(Flags::ACK);
    let reset = Segment { seq: 601, ack: 601, flags, ..Segment::default() };
    let read = labels.read(THERE, &back(reset), never).unwrap();
    assert_eq!((read.seq, read.ack, read.cause.get()), (1, 101, None));
    assert_eq!(labels.on_the_wire(read).ack, 601);
    // Without the flag ACK, the acknowledgment number has no meaning, and is not changed.
    let bare = Segment { seq: 501, ack: 7, flags: Flags::RST, ..Segment::default() };
    let read = labels.read(HERE, &packet(bare), never).unwrap();
    assert_eq!((read.seq, read.ack), (1, labels.on_the_wire(read).ack));
}

#[test]
fn until_the_peers_first_packet_is_read_acknowledgment_numbers_are_not_changed() {
    let mut labels = Labels::new();
    let early = Segment { seq: 10, ack: 5000, flags: Flags::ACK, ..Segment::default() };
    assert_eq!(labels.read(THERE, &back(early), || None).unwrap().ack, 5000);
    let syn = Segment { seq: 4999, flags: Flags::SYN, ..Segment::default() };
    labels.read(HERE, &packet(syn), || None).unwrap();
    assert_eq!(labels.read(THERE, &back(early), || None).unwrap().ack, 1);
}

#[test]
fn packets_of_all_protocols_are_numbered_in_one_sequence_per_end() {
    let mut labels = opened(0, 0);
    let mut datagram = packet(Segment { len: 8, ..Segment::default() });
    datagram[9] = 17;
    let data = packet(Segment { seq: 1, flags: Flags::ACK, ..Segment::default() });
    for number in [1, 3, 5] {
        assert_eq!(labels.read(HERE, &data, || None).unwrap().id.packet(), number);
        assert_eq!(labels.other(HERE, &datagram).unwrap().id.packet(), number + 1);
    }
    assert_eq!(labels.other(THERE, &datagram).unwrap().id.packet(), 1);
}
