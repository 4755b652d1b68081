//! Tests of unusual captures, for example with packets of only one direction, with copies of each
//! packet, or with a receiver that closes its window. A talk (`Talk`) is a made-up capture of one
//! connection. Its times are in milliseconds, and its octets count from 0.

use crate::explain::{Ending, Explainer, Vantage, VerdictEvidence, WaitingFor};
use crate::ids::Side;
use crate::record::Data;
use crate::segment::{Cause, Flags, SackBlock, SackBlocks, Segment, Timestamps};
use crate::wire::{CaptureReader, CapturedPacket, LinkType};

use super::super::Verdict;
use super::causes::{Talk, first_of_ten_lost};
use super::{data, file_of};

impl Talk {
    /// Returns a capture that holds each packet of this talk and its copies. Each number in the
    /// list `later` is the delay of a copy in milliseconds.
    fn with_copies(&self, later: &[f64]) -> Talk {
        let mut more = Talk::midway();
        for number in 0..self.len() {
            more.repeat(self, number, 0.0);
            later.iter().for_each(|after| more.repeat(self, number, *after));
        }
        more.sort();
        more
    }

    /// Returns a capture of this talk without the packets of the receiver.
    fn of_sender(&self) -> Talk {
        let mut alone = Talk::midway();
        for number in (0..self.len()).filter(|number| self.side(*number) == Side::From) {
            alone.repeat(self, number, 0.0);
        }
        alone
    }
}

/// A transfer with a fast retransmit, a partial ACK and, later, a timeout.
fn repaired() -> Talk {
    let mut talk = first_of_ten_lost(false);
    talk.ack(304.2, 4000).data(304.3, 4000).ack(404.4, 10_000).flight(404.5, 10_000, 3);
    talk.data(1004.5, 10_000).ack(1104.6, 13_000).flight(1104.7, 13_000, 2).ack(1204.8, 15_000);
    talk
}

/// In IPv4 packets, the identification shows which packets are copies. IPv6 packets have no
/// identification. The test has three cases: the copies were captured at another interface, at two
/// other interfaces, or at another point of the path. A note on the capture says that there are
/// copies.
#[test]
fn copies_of_each_packet_do_not_change_the_causes() {
    let cases: [&[f64]; 3] = [&[0.02], &[0.02, 0.05], &[0.3]];
    for (later, v6) in cases.into_iter().flat_map(|later| [(later, false), (later, true)]) {
        let mut once = repaired();
        let mut copied = once.with_copies(later);
        for talk in [&mut once, &mut copied].into_iter().filter(|_| v6) {
            talk.over_ipv6();
        }
        assert_eq!(once.causes(), [Some(Cause::Fast), Some(Cause::Fast), Some(Cause::Rto)]);
        assert_eq!(copied.causes(), once.causes(), "{later:?}, IPv6: {v6}");
        let noted = copied.explained().notes.lines();
        assert!(noted[0].starts_with("the capture has packets from several points"), "{noted:?}");
        assert_eq!(once.explained().notes.lines(), [""; 0]);
        let habits = [&once, &copied].map(|talk| talk.direction().habits.unwrap());
        assert_eq!(habits[0].vantage.0, habits[1].vantage.0);
        let (segments, times) = (once.direction().statistics.data.packets, later.len() as u64);
        assert_eq!(habits[1].copies, times * (segments + 1), "the SYN has copies, too");
        let packets = copied.direction().statistics.data.packets;
        assert_eq!(packets, (times + 1) * segments, "copies count as packets");
    }
}

#[test]
fn duplicate_acks_without_identifications_are_not_copies_of_each_other() {
    let mut talk = Talk::midway();
    talk.handshake(false, 0.2, 0.0);
    // The network duplicated one segment.
    talk.data(10.0, 0).copy(0.05).ack(10.3, 1000).flight(11.0, 1000, 10);
    for n in 0..4 {
        talk.ack(11.21 + f64::from(n) * 0.01, 1000);
    }
    talk.data(11.25, 1000).ack(11.5, 11_000);
    talk.over_ipv6();
    assert_eq!(talk.causes(), [Some(Cause::Fast)]);
}

#[test]
fn a_capture_without_the_receivers_packets_shows_no_causes() {
    assert_eq!(repaired().of_sender().causes(), [None, None, None]);
}

/// RFC 6298 §5.5: if a peer never answers, only timers send retransmissions, and their waits
/// double.
#[test]
fn waits_that_double_show_timeouts_if_the_peer_never_answers() {
    let mut talk = Talk::midway();
    talk.data(0.0, 0).data(300.0, 0).data(900.0, 0).data(2100.0, 0);
    assert_eq!(talk.causes()[1..], [Some(Cause::Rto), Some(Cause::Rto)]);
}

/// RFC 5682 §2.1: when the retransmission after a timeout is acknowledged, the sender sends two new
/// segments. If a duplicate ACK comes next, the originals were lost, and the sender goes back. If
/// another ACK of new octets comes next, the timeout was spurious. After that, a duplicate ACK may
/// have reported another loss in SACK blocks. The capture does not show such blocks, because
/// options were not captured.
#[test]
fn after_a_spurious_timeout_one_duplicate_ack_may_report_a_loss() {
    for (accepted, cause) in [(false, Cause::GoBackN), (true, Cause::Fast)] {
        let mut talk = Talk::midway();
        talk.data(0.0, 0).ack(100.0, 1000).flight(101.0, 1000, 6).data(501.0, 1000);
        talk.ack(601.0, 2000).flight(601.1, 7000, 2);
        let next = if accepted { 3000 } else { 2000 };
        if accepted {
            talk.ack(602.0, next);
        }
        talk.ack(701.0, next).data(701.1, next);
        assert_eq!(talk.causes(), [Some(Cause::Rto), Some(cause)]);
    }
}

/// RFC 9293 §3.10.7.4: the receiver answers a segment with a duplicate ACK if the octets of the
/// segment had already arrived.
#[test]
fn an_early_duplicate_ack_answers_a_spurious_retransmission() {
    let mut talk = first_of_ten_lost(false);
    talk.data(204.2, 1000).ack(304.2, 10_000).flight(304.3, 10_000, 2).ack(304.35, 10_000);
    talk.ack(404.5, 12_000);
    let told: Vec<_> = talk.found().iter().map(|one| (one.verdict, one.evidence)).collect();
    assert_eq!(told[0].0, Verdict::Needed);
    assert_eq!(told[1], (Verdict::Spurious, VerdictEvidence::DuplicateAck));
}

/// RFC 9293 §3.8.6.1: a sender waits while the receiver's window is closed. In this test, the
/// application paused for 1 ms before its first data.
#[test]
fn a_closed_window_is_no_pause_of_the_application() {
    let ack =
        |window| Segment { seq: 1, ack: 1001, window, flags: Flags::ACK, ..Segment::default() };
    for (window, waited, ms) in
        [(0, WaitingFor::ReceiveWindow, 2000), (5000, WaitingFor::Application, 2001)]
    {
        let mut talk = Talk::opened(true, false);
        talk.data(101.0, 0);
        talk.packet(Side::To, 201.0, ack(window));
        talk.packet(Side::To, 2201.0, ack(5000));
        talk.data(2201.1, 1000).ack(2301.1, 2000);
        let spent = talk.explained().connections.at(0).spent;
        assert_eq!(spent.of(waited).as_nanos() / 1_000_000, ms, "{window}");
    }
}

#[test]
fn without_acknowledgments_only_waits_that_double_show_a_timeout() {
    let mut talk = Talk::midway();
    talk.flight(0.0, 0, 10).data(80.0, 2000);
    for (at, first) in [(200.0, 10), (600.0, 11)] {
        talk.data(at, 1000 * first);
    }
    // The same octets are sent again after 0.4, 0.8, 1.6 and 3.2 s.
    for at in [1000.0, 1800.0, 3400.0, 6600.0] {
        talk.data(at, 11_000);
    }
    // The sender sends new data, so acknowledgments came.
    talk.data(7000.0, 12_000);
    let causes = |talk: &Talk| -> Vec<_> {
        let direction = talk.direction();
        direction.retransmissions.iter().map(|one| (one.cause.get(), one.verdict)).collect()
    };
    let (unknown, timeout) = ((None, Verdict::Unknown), (Some(Cause::Rto), Verdict::Unknown));
    assert_eq!(causes(&talk), [unknown, timeout, timeout, timeout, timeout]);
    assert!(talk.direction().floors.waits().is_empty());
    // If an acknowledgment is captured, the first retransmission also has a known cause or verdict.
    talk.ack(7100.0, 13_000);
    assert_ne!(causes(&talk)[0], unknown);
}

/// RFC 9293 §3.10.7.4: each SYN is answered. The first SYN was late, so both SYNs came together.
/// Each side has one retransmission: the second SYN, and the second SYN-ACK.
#[test]
fn a_syn_ack_that_answers_a_repeated_syn_at_once_is_no_copy() {
    let mut talk = Talk::midway();
    let syn_ack = Flags::SYN.with(Flags::ACK);
    for (side, at, flags, val) in [
        (Side::From, 1000.0, Flags::SYN, 1),
        (Side::To, 1000.01, syn_ack, 7),
        (Side::From, 1000.03, Flags::SYN, 1001),
        (Side::To, 1000.04, syn_ack, 7),
    ] {
        let ack = u32::from(side == Side::To);
        let mut segment = Segment { flags, ack, ..Segment::default() };
        segment.set_timestamps(Timestamps { val, ecr: 0 });
        talk.packet(side, at, segment);
    }
    talk.ack(1100.0, 0);
    let explained = talk.explained();
    for side in Side::BOTH {
        let connection = explained.connections.at(0);
        let found = &connection.direction(side).unwrap().retransmissions;
        let causes: Vec<_> = found.iter().map(|one| one.cause.get()).collect();
        assert_eq!(causes, [Some(Cause::Syn)], "{side:?}");
    }
    assert_eq!(explained.notes.lines(), [""; 0]);
}

/// The server's application needs 40 ms for each reply, and the path needs 1 ms. The capture was
/// taken at the server, but its times look as if it was taken at the client. In a Linux cooked
/// capture (`tcpdump -i any`), the link headers show which packets the capturing host sent.
#[test]
fn cooked_link_headers_show_that_a_capture_was_taken_at_the_server() {
    let (request, reply) = (100_u64, 1000_u64);
    let mut segments = Vec::new();
    for turn in 0..5_u64 {
        let (at, seq, ack) = (100 * turn, 1 + turn * request, 1 + turn * reply);
        let segment = |seq: u64, len: u64, ack: u64| Segment {
            ack: ack as u32,
            ..data(seq as u32, len as u16)
        };
        segments.push((0, at, segment(seq, request, ack)));
        segments.push((1, at + 40, segment(ack, reply, seq + request)));
        segments.push((0, at + 41, segment(seq + request, 0, ack + reply)));
    }
    // The last reply is sent again.
    segments.push((1, 800, Segment { ack: 501, ..data(4001, 1000) }));
    let bytes = file_of(&segments);
    let vantage = |cooked: bool| {
        let (mut reader, mut explainer) =
            (CaptureReader::new(&bytes[..]).unwrap(), Explainer::default());
        for (side, ..) in &segments {
            let packet = reader.next_packet().unwrap().unwrap();
            let packet_type = if *side == 0 { 0 } else { 4 };
            let mut bytes = vec![0, packet_type, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0];
            bytes.extend_from_slice(packet.ip().unwrap());
            let original_bytes = bytes.len() as u32;
            let with_header =
                CapturedPacket { bytes: &bytes, link: LinkType(113), original_bytes, ..packet };
            explainer.take(if cooked { &with_header } else { &packet });
        }
        let found = explainer.finish();
        let [from, to] = &found.connections.at(0).directions;
        [from, to].map(|direction| {
            direction.as_ref().and_then(|one| Some(one.habits.as_ref()?.vantage.0))
        })
    };
    assert_eq!(vantage(false), [None, Some(Vantage::Receiver)]);
    assert_eq!(vantage(true), [None, Some(Vantage::Sender)]);
}

/// RFC 9293 §3.8.6.1: some senders probe a closed window with one octet of new data. The receiver
/// discards the octet, so the sender sends it again when the window opens.
#[test]
fn a_discarded_probe_octet_that_is_sent_again_is_no_retransmission() {
    let mut talk = Talk::opened(false, false);
    let window =
        |window| Segment { seq: 1, ack: 1001, window, flags: Flags::ACK, ..Segment::default() };
    talk.data(101.0, 0);
    talk.packet(Side::To, 201.0, window(0));
    for at in [501.0, 1101.0, 2301.0] {
        talk.octets(at, 1000, 1);
        talk.packet(Side::To, at + 100.0, window(0));
    }
    talk.packet(Side::To, 4501.0, window(5000));
    talk.flight(4501.1, 1000, 3).ack(4601.1, 4000);
    let direction = talk.direction();
    assert_eq!(direction.retransmissions, []);
    let data = direction.statistics.data;
    assert_eq!((data.retransmissions, data.unique_bytes), (0, 4000));
    // If the octet of a window probe is lost, the segment that carries it again is a
    // retransmission.
    let mut lost = Talk::opened(false, false);
    lost.data(101.0, 0).ack(201.0, 1000).octets(301.0, 1000, 1).flight(901.0, 1000, 2);
    assert_eq!(lost.causes().len(), 1);
}

/// No sender sends data with the sequence number of its FIN, but a damaged or forged capture may
/// have such segments. Here a segment of 1000 octets begins with the sequence number of the FIN, so
/// its first octet counts as repeated. If a window probe with this octet comes between the FIN and
/// the segment, the octet counts as new. The reason is that a receiver with a closed window
/// discards the octet of a probe.
#[test]
fn a_fin_to_a_closed_window_is_no_window_probe_with_data() {
    for (probes, unique_bytes) in [(0, 999), (1, 1000)] {
        let mut talk = Talk::opened(false, false);
        let closed = Segment { seq: 1, ack: 1, window: 0, flags: Flags::ACK, ..Segment::default() };
        talk.packet(Side::To, 101.0, closed);
        let flags = Flags::FIN.with(Flags::ACK);
        talk.packet(Side::From, 102.0, Segment { seq: 1, ack: 1, flags, ..Segment::default() });
        for _ in 0..probes {
            talk.octets(103.0, 0, 1);
        }
        talk.octets(104.0, 0, 1000);
        assert_eq!(talk.direction().statistics.data.unique_bytes, unique_bytes);
    }
}

/// Linux joins small segments when its retransmission timer fires. A tail loss probe repeats only
/// the last segment (RFC 8985 §7.3).
#[test]
fn a_timeout_sent_a_retransmission_that_joins_several_small_segments() {
    let mut talk = Talk::opened(true, false);
    for n in 0..4 {
        talk.octets(101.0, n * 100, 100);
    }
    talk.octets(350.0, 0, 400).ack(450.0, 400);
    assert_eq!(talk.causes(), [Some(Cause::Rto)]);
    let mut alone = Talk::opened(true, false);
    alone.octets(101.0, 0, 400).octets(350.0, 0, 400).ack(450.0, 400);
    assert_eq!(alone.causes(), [Some(Cause::Tlp)]);
}

/// Stacks made from 4.4BSD fill the segment that the timeout sends. A tail loss probe has either
/// new octets or old ones (RFC 8985 §7.3), so a segment with both is no probe.
#[test]
fn a_timeout_sent_a_retransmission_that_also_has_new_octets() {
    let mut talk = Talk::opened(true, false);
    talk.octets(101.0, 0, 300).octets(350.0, 0, 1000).ack(450.0, 1000);
    assert_eq!(talk.causes(), [Some(Cause::Rto)]);
}

/// RFC 9293 §3.5: both SYNs cross, and each side answers the other's SYN with a SYN-ACK.
#[test]
fn the_syn_acks_of_a_simultaneous_open_are_no_retransmissions() {
    let mut talk = Talk::midway();
    let both = Flags::SYN.with(Flags::ACK);
    let syn = |seq, ack, flags| Segment { seq, ack, flags, ..Segment::default() };
    talk.packet(Side::From, 0.0, syn(0, 0, Flags::SYN));
    talk.packet(Side::To, 10.0, syn(0, 0, Flags::SYN));
    talk.packet(Side::From, 10.1, syn(0, 1, both));
    talk.packet(Side::To, 20.0, syn(0, 1, both));
    talk.data(20.1, 0).ack(60.0, 1000);
    let explained = talk.explained();
    assert_eq!(explained.connections.len(), 1);
    let found =
        [Side::From, Side::To].map(|side| explained.connections.at(0).direction(side).cloned());
    assert!(found.iter().flatten().all(|direction| direction.retransmissions.is_empty()));
}

/// If the ACKs were not captured, a repair that ACKs triggered looks like a timeout.
#[test]
fn one_captured_direction_does_not_show_the_cause() {
    let mut talk = Talk::midway();
    talk.flight(0.0, 0, 5).data(150.0, 2000);
    assert_eq!(talk.causes(), [None]);
    // Nothing is acknowledged, so netspurt keeps only the latest segments. It no longer has the
    // original, but the original does not count as missing.
    let mut long = Talk::midway();
    long.flight(0.0, 0, 2000).data(150.0, 100_000);
    let found = long.found();
    assert_eq!((found.len(), found[0].original_missing), (1, false));
}

/// The capture begins in the middle of the connection. After a timeout, the sender sends the first
/// outstanding segment again, although it and all other octets below 10,000 were on their way. The
/// acknowledgment of these octets has a D-SACK block, which is the first SACK block of the capture.
/// The sender sends new octets, and then retransmits the two lost segments.
#[test]
fn a_first_block_about_a_spurious_timeout_shows_that_sack_is_used() {
    let mut talk = Talk::midway();
    talk.flight(0.0, 0, 4).ack(100.0, 2000).ack(100.1, 4000);
    talk.flight(100.2, 4000, 8).data(450.0, 4000);
    talk.sack(550.0, 10_000, &[(4000, 5000)]).flight(550.1, 12_000, 4);
    talk.sack(650.2, 10_000, &[(12_000, 13_000)]).sack(650.3, 10_000, &[(12_000, 14_000)]);
    talk.data(650.4, 10_000).data(650.5, 11_000);
    let causes = [Cause::Rto, Cause::SackRecovery, Cause::SackRecovery];
    assert_eq!(talk.causes(), causes.map(Some));
}

/// The capture begins after the octets from 4000 to 10,000 were sent. After each of two timeouts,
/// the sender sends the first outstanding segment again. The acknowledgment that follows has a
/// D-SACK block for the second retransmission only. But it echoes a timestamp that is older than
/// both retransmissions (RFC 3522 §3.2). So the first timeout was spurious, and the next
/// retransmission is no go-back-N.
#[test]
fn an_echo_shows_that_the_first_of_two_timeouts_was_spurious() {
    let mut talk = Talk::midway();
    let sent = |talk: &mut Talk, at: f64, octet: u32, from: Side, ecr: u32, block: Option<u32>| {
        let mut segment = Segment { flags: Flags::ACK, window: 5000, ..Segment::default() };
        if from == Side::From {
            (segment.seq, segment.len, segment.ack) = (talk.wire(octet), 1000, 1);
        } else {
            (segment.seq, segment.ack) = (1, talk.wire(octet));
        }
        segment.set_timestamps(Timestamps { val: at as u32, ecr });
        let mut blocks = SackBlocks::default();
        block.iter().for_each(|left| {
            blocks.add(SackBlock { left: talk.wire(*left), right: talk.wire(*left + 1000) });
        });
        segment.set_sack(&blocks);
        talk.packet(from, at, segment);
    };
    sent(&mut talk, 8999.0, 10_000, Side::From, 8990, None);
    sent(&mut talk, 9001.0, 4000, Side::To, 8901, None);
    sent(&mut talk, 9001.1, 11_000, Side::From, 9001, None);
    sent(&mut talk, 9300.0, 4000, Side::From, 9001, None);
    sent(&mut talk, 9900.0, 4000, Side::From, 9001, None);
    sent(&mut talk, 10_000.0, 8000, Side::To, 8950, Some(4000));
    for octet in [12_000, 13_000, 14_000] {
        sent(&mut talk, 10_000.1, octet, Side::From, 10_000, None);
    }
    sent(&mut talk, 10_100.1, 8000, Side::To, 8950, Some(12_000));
    sent(&mut talk, 10_100.2, 8000, Side::From, 10_100, None);
    sent(&mut talk, 10_200.2, 9000, Side::To, 10_100, Some(12_000));
    assert_eq!(talk.causes(), [Cause::Rto, Cause::Rto, Cause::SackRecovery].map(Some));
}

/// The capture begins when two ACKs report a loss, so no round trip is known. If the lost segment
/// is sent again soon, RACK's timer sent it (RFC 8985 §6.2).
#[test]
fn an_early_repair_without_a_known_round_trip_is_no_timeout() {
    for (after, cause) in [(15.0, Cause::Rack), (300.0, Cause::Rto)] {
        let (mut talk, at) = (Talk::midway(), 9000.0);
        talk.data(at - 1.0, 7000);
        talk.sack(at - 0.5, 4000, &[(5000, 6000)]).sack(at, 4000, &[(5000, 7000)]);
        talk.data(at + after, 4000).ack(at + after + 31.0, 8000);
        assert_eq!(talk.causes(), [Some(cause)], "{after}");
    }
}

/// The capture lacks the SYN-ACK, so no round trip is known, and the SYN seems to be outstanding.
#[test]
fn a_late_repair_without_a_known_round_trip_is_a_timeout() {
    let mut talk = Talk::opened(false, false);
    talk.flight(101.0, 0, 4).data(318.0, 0).ack(418.0, 4000);
    let mut lacks = Talk::midway();
    for number in (0..talk.len()).filter(|number| *number != 1) {
        lacks.repeat(&talk, number, 0.0);
    }
    assert_eq!(lacks.causes(), [Some(Cause::Rto)]);
}

/// The snap length cut all options, so SACK blocks in the duplicate ACK are not seen. The round
/// trip is 100 ms, and RACK's timer is a quarter of it, 25 ms (RFC 8985 §6.2).
#[test]
fn a_reordering_timer_explains_a_repair_if_sack_blocks_may_be_hidden() {
    for (at, cause) in [(336.0, Cause::Fast), (460.0, Cause::Rto)] {
        let mut talk = Talk::midway();
        talk.flight(0.0, 0, 4).ack(100.0, 2000).ack(100.1, 4000).flight(100.2, 4000, 4);
        talk.ack(200.3, 5000).ack(310.4, 5000);
        talk.data(at, 5000).ack(at + 100.0, 8000);
        assert_eq!(talk.causes(), [Some(cause)], "{at}");
    }
}

/// The snap length cut all options. An outage lost two originals, the ACKs of others, and the first
/// timeout's copy. The ACK of the second copy also acknowledges an original that had arrived, so
/// this timeout was spurious, and the sender undoes it (RFC 5682 §2.1). It does not go back: its
/// next retransmission is a probe of the tail. The ACK of the probe triggers repairs.
#[test]
fn after_a_spurious_timeout_the_sender_probes_the_tail_and_does_not_go_back() {
    let mut talk = Talk::midway();
    talk.flight(0.0, 0, 4).ack(100.0, 2000).ack(100.1, 4000).flight(100.2, 4000, 6);
    talk.data(500.0, 4000).data(900.0, 4000).ack(1000.0, 8000);
    talk.data(1210.0, 9000).ack(1310.0, 8000).data(1310.0, 8000).ack(1410.0, 10_000);
    let expected = [Cause::Rto, Cause::Rto, Cause::Tlp, Cause::Fast].map(Some);
    assert_eq!(talk.causes(), expected);
}

/// RFC 9293 §3.10.7.4: a receiver drops a segment outside of its window. If a host gets an
/// acknowledgment of octets that it never sent, it only sends an acknowledgment.
#[test]
fn a_stray_packet_far_outside_of_the_window_changes_nothing() {
    let plain = repaired();
    let expected = plain.direction();
    for far in [70_000, 1 << 20, 1 << 30] {
        for (at, by_sender) in [(250.0, true), (250.0, false), (404.45, true), (1050.0, false)] {
            let mut talk = Talk::midway();
            (0..plain.len()).for_each(|number| talk.repeat(&plain, number, 0.0));
            if by_sender {
                talk.data(at, far);
            } else {
                talk.ack(at, far);
            }
            talk.sort();
            let found = talk.direction();
            assert_eq!(found.retransmissions, expected.retransmissions, "{far} {at} {by_sender}");
            let found = talk.explained_by(Explainer::default().with_transcript(None));
            let tables = found.transcript.as_ref().unwrap().tables(&found.connections, found.start);
            let segments = tables.iter().find(|table| table.name == "segments").unwrap();
            let numbers = ["seq", "ack"].map(|column| match segments.column(column).unwrap() {
                Data::I64(numbers) => numbers.iter().max().unwrap(),
                _ => panic!("the column has another type"),
            });
            assert!(numbers.iter().all(|number| **number < 20_000), "{numbers:?} {far}");
        }
    }
}

/// An attacker forges resets to end a connection of other hosts (RFC 5961 §1.2). The attacker
/// guesses the sequence numbers, so the receiver ignores the resets, and the connection goes on.
#[test]
fn resets_without_effect_acknowledge_nothing_and_end_nothing() {
    let plain = repaired();
    let expected = plain.direction();
    for (side, at) in [(Side::From, 250.0), (Side::To, 250.0), (Side::To, 1050.0)] {
        let mut talk = Talk::midway();
        (0..plain.len()).for_each(|number| talk.repeat(&plain, number, 0.0));
        for guess in 0..5 {
            let number = (1 << 30) + 1000 * guess;
            let (seq, ack, flags) = (number, number, Flags::RST.with(Flags::ACK));
            let forged = Segment { seq, ack, flags, ..Segment::default() };
            talk.packet(side, at + 0.01 * f64::from(guess), forged);
        }
        talk.sort();
        let explained = talk.explained();
        assert_eq!(explained.connections.len(), 1);
        let connection = explained.connections.at(0);
        let found = connection.direction(Side::From).unwrap();
        assert_eq!(found.retransmissions, expected.retransmissions, "{side:?} {at}");
        assert_eq!(connection.ending(), Ending::Open);
        assert_eq!(connection.direction(side).unwrap().statistics.packets.resets, 5);
    }
}

/// The capture lacks all packets of a period of more than a second. The octets after this gap lie
/// far outside of the window.
#[test]
fn octets_after_a_long_gap_in_the_capture_are_not_stray() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 4).ack(201.0, 4000);
    talk.flight(1300.0, 500_000, 10);
    for n in 1..=3 {
        talk.sack(1400.0 + f64::from(n), 502_000, &[(503_000, 503_000 + n * 1000)]);
    }
    talk.data(1403.1, 502_000).ack(1503.0, 510_000);
    assert_eq!(talk.causes(), [Some(Cause::SackRecovery)]);
}
