//! Tests of the causes of retransmissions in small made-up captures. Other test files use the
//! helpers of this file, mainly [`Talk`].

use crate::ids::Side;
use crate::record::Data;
use crate::segment::{Cause, Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};
use crate::units::Duration;
use crate::wire::{Packet, PcapngWriter, encode};

use super::super::hosts::settle;
use super::super::{
    CauseRule, EndedConnections, EndedDirection, ExplainedRetransmission, Explainer, Explanation,
    Vantage, Verdict, VerdictEvidence,
};
use super::{read_all, table};

/// The payload size of a full segment, in octets.
const FULL: u16 = 1000;

/// A made-up capture of one transfer (a *talk*), packet by packet. Times are in milliseconds.
/// Octets are counted from the first octet of data, which is octet 0.
pub(super) struct Talk {
    /// For each packet: the side that sends it, its time, its IP identification, and its segment.
    packets: Vec<(Side, f64, u16, Segment)>,
    /// The sender's initial sequence number.
    isn: u32,
    /// Whether the packets have timestamps.
    pub(super) stamps: bool,
    /// The sender's last IP identification.
    pub(super) id: u16,
    /// The flow labels of IPv6 packets. Without labels, the packets are IPv4 packets.
    pub(super) labels: Option<Vec<u32>>,
}

impl Talk {
    /// The handshake of a connection, captured at the sender, with a round trip of 100 ms.
    pub(super) fn opened(sack: bool, stamps: bool) -> Self {
        let mut talk = Self { packets: Vec::new(), isn: 0, stamps, id: 100, labels: None };
        talk.handshake(sack, 100.0, 0.0);
        talk
    }

    /// A capture without packets. If no handshake is added, the capture begins in the middle of a
    /// connection.
    pub(super) fn midway() -> Self {
        Self { packets: Vec::new(), isn: 0, stamps: false, id: 100, labels: None }
    }

    /// Adds a handshake. The round trip has two parts, in milliseconds: `far` from the capture to
    /// the receiver and back, and `near` from the capture to the sender and back.
    pub(super) fn handshake(&mut self, sack: bool, far: f64, near: f64) {
        let options = SynOptions { sack, ..SynOptions::default() };
        let mut syn = Segment { seq: self.isn, flags: Flags::SYN, ..Segment::default() };
        syn.set_syn_options(options);
        self.packet(Side::From, 0.0, syn);
        let (ack, flags) = (self.isn.wrapping_add(1), Flags::SYN.with(Flags::ACK));
        let mut answer = Segment { ack, flags, ..Segment::default() };
        answer.set_syn_options(options);
        self.packet(Side::To, far, answer);
        let last = Segment { seq: ack, ack: 1, flags: Flags::ACK, ..Segment::default() };
        self.packet(Side::From, far + near, last);
    }

    /// Adds a packet that `side` sends at the instant `at`. If the talk has timestamps, the packet
    /// gets one.
    pub(super) fn packet(&mut self, side: Side, at: f64, mut segment: Segment) {
        if self.stamps && segment.timestamps().is_none() {
            segment.set_timestamps(Timestamps { val: 1000 + at as u32, ecr: 0 });
        }
        self.id += u16::from(side == Side::From);
        let id = if side == Side::From { self.id } else { 0 };
        self.packets.push((side, at, id, segment));
    }

    /// The sequence number on the wire of octet `octet`. Octet 0 is the first octet of data.
    pub(super) fn wire(&self, octet: u32) -> u32 {
        self.isn.wrapping_add(1).wrapping_add(octet)
    }

    /// Adds a full segment from octet `first` on.
    pub(super) fn data(&mut self, at: f64, first: u32) -> &mut Self {
        self.octets(at, first, FULL)
    }

    /// Adds a segment of `len` octets from octet `first` on.
    pub(super) fn octets(&mut self, at: f64, first: u32, len: u16) -> &mut Self {
        let seq = self.wire(first);
        let flags = Flags::ACK.with(Flags::PSH);
        self.packet(Side::From, at, Segment { seq, len, ack: 1, flags, ..Segment::default() });
        self
    }

    /// Adds a full segment from octet `first` on. It echoes the timestamp of a packet that was
    /// captured at the instant `echoed`.
    pub(super) fn echoing(&mut self, at: f64, first: u32, echoed: f64) -> &mut Self {
        let (seq, flags) = (self.wire(first), Flags::ACK);
        let mut segment = Segment { seq, len: FULL, ack: 1, flags, ..Segment::default() };
        segment.set_timestamps(Timestamps { val: 1000 + at as u32, ecr: 1000 + echoed as u32 });
        self.packet(Side::From, at, segment);
        self
    }

    /// Adds `count` full segments from octet `first` on, all at the same instant.
    pub(super) fn flight(&mut self, at: f64, first: u32, count: u32) -> &mut Self {
        for n in 0..count {
            self.data(at, first + n * u32::from(FULL));
        }
        self
    }

    /// Adds an acknowledgment of all octets before octet `next`.
    pub(super) fn ack(&mut self, at: f64, next: u32) -> &mut Self {
        self.sack(at, next, &[])
    }

    /// Adds an acknowledgment like [`ack`](Self::ack), with SACK blocks.
    pub(super) fn sack(&mut self, at: f64, next: u32, blocks: &[(u32, u32)]) -> &mut Self {
        let (ack, window) = (self.wire(next), 5000);
        let mut segment = Segment { seq: 1, ack, window, flags: Flags::ACK, ..Segment::default() };
        let mut told = SackBlocks::default();
        for (left, right) in blocks {
            told.add(SackBlock { left: self.wire(*left), right: self.wire(*right) });
        }
        segment.set_sack(&told);
        self.packet(Side::To, at, segment);
        self
    }

    /// Adds the last packet a second time, as a copy that comes `after` milliseconds later.
    pub(super) fn copy(&mut self, after: f64) -> &mut Self {
        let (side, at, id, segment) = *self.packets.last().unwrap();
        self.packets.push((side, at + after, id, segment));
        self
    }

    /// Removes the last packet, as if the path had lost it before the capture.
    pub(super) fn lose(&mut self) -> &mut Self {
        self.packets.pop();
        self
    }

    /// The number of packets.
    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// The side that sent packet `number`.
    pub(super) fn side(&self, number: usize) -> Side {
        self.packets[number].0
    }

    /// Adds packet `number` of the talk `other`. It is unchanged, but comes `after` milliseconds
    /// later.
    pub(super) fn repeat(&mut self, other: &Self, number: usize, after: f64) {
        let (side, at, id, segment) = other.packets[number];
        self.packets.push((side, at + after, id, segment));
    }

    /// Brings the packets into the order of time.
    pub(super) fn sort(&mut self) {
        self.packets.sort_by(|one, other| one.1.total_cmp(&other.1));
    }

    /// Makes all packets IPv6 packets without a flow label.
    pub(super) fn over_ipv6(&mut self) {
        self.labels = Some(vec![0; self.packets.len()]);
    }

    /// The explanation of the capture.
    pub(super) fn explained(&self) -> Explanation {
        self.explained_by(Explainer::default())
    }

    pub(super) fn explained_by(&self, explainer: Explainer) -> Explanation {
        read_all(&self.capture(), explainer)
    }

    /// The capture as a file.
    pub(super) fn capture(&self) -> Vec<u8> {
        let hosts = match self.labels {
            None => ["10.0.0.1:4000", "10.0.0.2:80"],
            Some(_) => ["[2001:db8::1]:4000", "[2001:db8::2]:80"],
        };
        let ends = hosts.map(|end| end.parse().unwrap());
        let mut file = PcapngWriter::new(Vec::new(), "here", "netspurt").unwrap();
        for (number, (side, at, ip_id, segment)) in self.packets.iter().enumerate() {
            let [source, destination] = if *side == Side::From { ends } else { [ends[1], ends[0]] };
            let mut bytes = Vec::new();
            let packet =
                Packet { source, destination, ip_id: *ip_id, segment: *segment, payload: None };
            encode(&packet, &mut bytes);
            if let Some(labels) = &self.labels {
                bytes[1..4].copy_from_slice(&labels[number].to_be_bytes()[1..]);
            }
            file.packet((at * 1e6) as u64, &bytes, None).unwrap();
        }
        file.finish().unwrap()
    }

    /// The explained direction in which data goes.
    pub(super) fn direction(&self) -> EndedDirection {
        self.explained().connections.at(0).direction(Side::From).unwrap().clone()
    }

    /// The retransmissions that the explainer found.
    pub(super) fn found(&self) -> Vec<ExplainedRetransmission> {
        self.direction().retransmissions
    }

    /// The causes of these retransmissions. `None` if a cause is unknown.
    pub(super) fn causes(&self) -> Vec<Option<Cause>> {
        self.found().iter().map(|one| one.cause.get()).collect()
    }
}

/// A capture beside the sender, with a round trip of 100 ms. Ten segments were sent, and the first
/// was lost. Three duplicate ACKs came, and the first segment was sent again.
pub(super) fn first_of_ten_lost(sack: bool) -> Talk {
    let mut talk = Talk::opened(sack, false);
    talk.flight(101.0, 0, 10);
    for n in 1..=3 {
        let block = [(1000, 1000 + n * 1000)];
        let blocks: &[(u32, u32)] = if sack { &block } else { &[] };
        talk.sack(201.0 + f64::from(n), 0, blocks);
    }
    talk.data(204.1, 0);
    talk
}

/// RFC 5681 §3.2 defines this fast retransmit.
#[test]
fn the_third_duplicate_ack_triggers_a_fast_retransmit() {
    let talk = first_of_ten_lost(false);
    assert_eq!(talk.causes(), [Some(Cause::Fast)]);
    let found = talk.found()[0];
    assert!(!found.original_missing && found.gap.as_nanos() == 103_100_000);
}

/// RFC 6582 §3.2: a partial ACK triggers the retransmission of the next hole.
#[test]
fn a_retransmission_after_a_partial_ack_has_the_cause_fast() {
    let mut talk = first_of_ten_lost(false);
    talk.ack(304.2, 4000).data(304.3, 4000);
    assert_eq!(talk.causes(), [Some(Cause::Fast); 2]);
}

/// RFC 6675 §4 and §5 define this recovery.
#[test]
fn sack_recovery_retransmits_holes_below_sacked_octets() {
    let mut talk = first_of_ten_lost(true);
    talk.sack(204.5, 0, &[(1000, 4000), (5000, 8000)]).data(204.6, 4000);
    assert_eq!(talk.causes(), [Some(Cause::SackRecovery); 2]);
}

/// RFC 8985 §6.2: RACK's timer fires a fraction of a round trip after the last SACK.
#[test]
fn rack_retransmits_a_quarter_of_a_round_trip_after_the_last_sack() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 3).sack(201.2, 0, &[(1000, 3000)]).data(226.3, 0);
    assert_eq!(talk.causes(), [Some(Cause::Rack)]);
}

/// RFC 6298 §5.4, RFC 5681 §3.1: after a timeout, all outstanding octets are sent again in order.
#[test]
fn after_a_silence_go_back_n_follows_the_timeout() {
    let mut talk = Talk::opened(false, false);
    talk.flight(101.0, 0, 4).data(401.0, 0).data(1001.0, 0);
    talk.ack(1101.1, 1000).data(1101.2, 1000).data(1101.2, 2000);
    let (rto, back) = (Some(Cause::Rto), Some(Cause::GoBackN));
    assert_eq!(talk.causes(), [rto, rto, back, back]);
}

/// RFC 8985 §7.3: the last segment is sent again after two round trips.
#[test]
fn a_repeated_last_segment_is_a_probe_only_with_sack() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 4).data(303.0, 3000);
    assert_eq!(talk.causes(), [Some(Cause::Tlp)]);
    let mut talk = Talk::opened(false, false);
    talk.flight(101.0, 0, 4).data(303.0, 3000);
    assert_ne!(talk.causes(), [Some(Cause::Tlp)]);
}

/// The table `waits` of a talk: the timers, and the waits in milliseconds.
fn waits(talk: &Talk) -> Vec<(String, i64)> {
    let table = table(&talk.explained(), "waits");
    let data = |name| &table.columns.iter().find(|column| column.name == name).unwrap().data;
    let (Data::Tag { codes, texts }, Data::I64(waited)) = (data("timer"), data("waited_ns")) else {
        panic!("the columns have other types");
    };
    let timers = codes.iter().map(|code| texts[usize::from(*code)].to_string());
    timers.zip(waited.iter().map(|ns| ns / 1_000_000)).collect()
}

#[test]
fn the_table_of_waits_lists_silences_that_ended_with_a_probe_a_timeout_or_a_syn() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 4).data(303.0, 3000);
    assert_eq!(waits(&talk), [("probe".to_string(), 202)]);
    // The second wait shows that the first wait ended with a probe.
    let mut talk = Talk::opened(true, false);
    talk.data(101.0, 0).data(381.0, 0).data(665.0, 0);
    let [probe, timeout] = ["probe", "retransmission"].map(str::to_string);
    assert_eq!(waits(&talk), [(probe, 280), (timeout, 284)]);
    let mut talk = Talk::midway();
    for at in [0.0, 1000.0] {
        talk.packet(Side::From, at, Segment { flags: Flags::SYN, ..Segment::default() });
    }
    assert_eq!(waits(&talk), [("syn".to_string(), 1000)]);
}

/// A timeout doubles the next wait (RFC 6298 §5.5). A probe does not (RFC 8985 §7.3).
#[test]
fn the_second_wait_shows_whether_a_probe_or_a_timeout_ended_the_first_wait() {
    for (second, cause) in [(960.0, Cause::Rto), (665.0, Cause::Tlp)] {
        let mut talk = Talk::opened(true, false);
        talk.data(101.0, 0).data(381.0, 0).data(second, 0);
        assert_eq!(talk.causes(), [Some(cause), Some(Cause::Rto)], "{second}");
    }
}

/// The timer restarts when octets are acknowledged (RFC 6298 §5.3), so the first wait begins then.
/// Here the first wait is 260 ms, although the segment was sent 370 ms before its retransmission. A
/// timeout doubles 260 ms.
#[test]
fn the_first_of_two_waits_begins_when_the_timer_was_restarted() {
    let two = |second: f64| {
        let mut talk = Talk::opened(true, false);
        talk.flight(101.0, 0, 2).ack(211.0, 1000).data(471.0, 1000).data(second, 1000);
        talk.causes()
    };
    assert_eq!(two(991.0), [Some(Cause::Rto), Some(Cause::Rto)]);
    assert_eq!(
        two(1069.0),
        [Some(Cause::Tlp), Some(Cause::Rto)],
        "the second wait is 2.3 times 260 ms"
    );
}

/// RFC 8985 §7.2: a probe is sent after two round trips and the time of a delayed ACK. After the
/// probe, the sender waits for its RTO, which may be much more than twice this time. After a
/// timeout, the second wait is about twice the first one.
#[test]
fn a_much_longer_second_wait_shows_that_a_probe_ended_the_first_wait() {
    let mut talk = Talk::opened(true, false);
    talk.data(101.0, 0).data(541.0, 0).data(1541.0, 0);
    assert_eq!(talk.causes(), [Some(Cause::Tlp), Some(Cause::Rto)]);
}

/// RFC 8985 §7.4.2: the acknowledgment of a probe does not show which transmission arrived. So the
/// sender sends no other probe until later octets are acknowledged.
#[test]
fn a_sender_sends_no_probe_while_the_outcome_of_its_last_probe_is_open() {
    let mut talk = Talk::opened(true, false);
    talk.data(101.0, 0).data(401.0, 0).ack(501.0, 1000);
    talk.data(502.0, 1000).data(802.0, 1000).ack(902.0, 2000);
    let (tlp, rto) = (Some(Cause::Tlp), Some(Cause::Rto));
    assert_eq!(talk.causes(), [tlp, rto]);
    // After the timeout, the sender may send another probe.
    talk.data(903.0, 2000).data(1203.0, 2000);
    assert_eq!(talk.causes(), [tlp, rto, tlp]);
}

/// A flight of ten segments is sent, and then a lone segment (the only one outstanding) twice.
/// After the acknowledgment of the lone segment, the sender sends `sent` new segments.
fn lone_after_ten(sent: u32) -> Talk {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 10).ack(201.0, 10_000);
    talk.data(202.0, 10_000).data(502.0, 10_000).ack(602.0, 11_000);
    talk.flight(602.1, 11_000, sent).ack(702.1, 12_000);
    talk.data(702.2, 11_000 + sent * 1000);
    talk
}

/// RFC 5681 §3.1: after a timeout, cwnd is one segment. When this segment is acknowledged, the
/// sender sends two segments.
#[test]
fn the_cwnd_after_a_lone_segment_shows_whether_a_probe_or_a_timeout_sent_it() {
    assert_eq!(lone_after_ten(2).causes(), [Some(Cause::Rto)]);
    assert_eq!(lone_after_ten(6).causes(), [Some(Cause::Tlp)]);
    // Three segments show nothing, because one acknowledgment may add two segments to a cwnd of one
    // segment (RFC 3465 §2.2).
    assert_eq!(lone_after_ten(3).found()[0].rule, CauseRule::LoneByTime);
}

/// A new segment that is sent after a silence may be a probe (RFC 8985 §7.3). So the timeout after
/// it is no sign that this sender sends no probes.
#[test]
fn a_timeout_after_a_new_segment_does_not_exclude_probes() {
    for (probed, acked, count) in [(false, false, 1), (true, false, 0), (true, true, 0)] {
        let mut talk = Talk::opened(true, false);
        talk.flight(101.0, 0, 4);
        if probed {
            talk.data(305.0, 4000);
        }
        if acked {
            talk.ack(306.0, 1000);
        }
        talk.data(705.0, if acked { 1000 } else { 0 });
        assert_eq!(talk.causes(), [Some(Cause::Rto)]);
        let traits = talk.direction().habits.unwrap().traits;
        assert_eq!(traits.timeouts_without_probe, count, "{probed} {acked}");
    }
}

/// Whether a sender has tail loss probes is a setting of its host.
#[test]
fn other_connections_of_a_host_show_whether_a_probe_or_a_timeout_came() {
    for (second, cause) in [(960.0, Cause::Rto), (665.0, Cause::Tlp)] {
        let mut clear = Talk::opened(true, false);
        clear.data(101.0, 0).data(381.0, 0).data(second, 0);
        let mut unclear = Talk::opened(true, false);
        unclear.data(101.0, 0).data(381.0, 0).ack(481.0, 1000);
        let talks = [&unclear, &clear];
        let mut connections = EndedConnections::default();
        talks.iter().for_each(|talk| connections.add(&talk.explained().connections));
        settle(connections.packed());
        let first = connections.at(0);
        let found = first.direction(Side::From).unwrap().retransmissions[0];
        assert_eq!((found.cause.get(), found.rule), (Some(cause), CauseRule::LoneByHost));
        assert_eq!(unclear.found()[0].rule, CauseRule::LoneByTime);
    }
}

/// If a sender with SACK retransmits the first outstanding segment (the head) a second time after a
/// silence, its timer fired.
#[test]
fn a_second_retransmission_of_the_head_after_a_silence_is_a_timeout() {
    let mut talk = first_of_ten_lost(true);
    talk.sack(250.0, 0, &[(1000, 9000)]).sack(290.0, 0, &[(1000, 10_000)]).data(600.0, 0);
    assert_eq!(talk.causes(), [Some(Cause::SackRecovery), Some(Cause::Rto)]);
}

/// After a fast retransmit, Tahoe begins slow start at the hole.
#[test]
fn retransmissions_in_order_are_go_back_n_if_no_ack_comes_between_them() {
    let mut talk = first_of_ten_lost(false);
    talk.ack(304.2, 1000).data(304.3, 1000).data(304.3, 2000);
    let back = Some(Cause::GoBackN);
    assert_eq!(talk.causes(), [Some(Cause::Fast), back, back]);
}

#[test]
fn a_retransmitted_syn_has_the_cause_syn() {
    let mut talk = Talk::midway();
    for at in [0.0, 1000.0] {
        talk.packet(Side::From, at, Segment { flags: Flags::SYN, ..Segment::default() });
    }
    assert_eq!(talk.causes(), [Some(Cause::Syn)]);
}

/// RFC 9293 §3.8.4 and §3.8.6.1 define keep-alives and window probes.
#[test]
fn keep_alives_and_window_probes_are_no_retransmissions() {
    let mut talk = Talk::opened(false, false);
    talk.data(101.0, 0).ack(201.1, 1000);
    let (seq, ack, flags) = (talk.wire(999), 1, Flags::ACK);
    talk.packet(Side::From, 9000.0, Segment { seq, len: 1, ack, flags, ..Segment::default() });
    let closed = Segment { seq: 1, ack: talk.wire(1000), flags, ..Segment::default() };
    talk.packet(Side::To, 9100.0, closed);
    talk.octets(9300.0, 1000, 1);
    talk.packet(Side::To, 9400.0, closed);
    talk.octets(9900.0, 1000, 1);
    assert_eq!(talk.causes(), []);
}

#[test]
fn a_packet_captured_twice_is_no_retransmission() {
    let mut talk = Talk::opened(false, false);
    talk.flight(101.0, 0, 3).copy(0.004);
    assert_eq!(talk.causes(), []);
    assert_eq!(talk.direction().habits.unwrap().copies, 1);
}

/// RFC 6864 §4 does not require identifications to ascend. They show the order of sending only in a
/// capture in which they ascend.
#[test]
fn an_overtaken_packet_is_no_retransmission() {
    let mut talk = Talk::opened(false, false);
    talk.flight(101.0, 0, 6);
    // The third segment comes last.
    let mut late = talk.packets.remove(5);
    late.1 = 300.0;
    talk.packets.push(late);
    assert_eq!(talk.causes(), []);
    assert_eq!(talk.direction().habits.unwrap().late.by_max, 3);
}

#[test]
fn a_capture_that_begins_midway_shows_retransmissions_of_octets_that_it_missed() {
    let mut talk = Talk::midway();
    talk.sack(0.0, 0, &[(1000, 3000)]).sack(1.0, 0, &[(1000, 4000)]).data(1.1, 0);
    // The sender of the first packet captured counts as the initiator.
    let connection = talk.explained().connections.at(0);
    let found = &connection.direction(Side::To).unwrap().retransmissions;
    assert_eq!(found.len(), 1);
    assert!(found[0].original_missing);
}

#[test]
fn a_fast_retransmit_is_found_where_sequence_numbers_wrap() {
    let mut talk = Talk { isn: u32::MAX - 2500, ..Talk::midway() };
    talk.handshake(false, 100.0, 0.0);
    talk.flight(101.0, 0, 6).ack(201.0, 1000);
    talk.ack(202.0, 1000).ack(203.0, 1000).ack(204.0, 1000);
    talk.data(204.1, 1000);
    assert_eq!(talk.causes(), [Some(Cause::Fast)]);
    assert_eq!(talk.found()[0].right - talk.found()[0].left, 1000);
}

/// With segmentation offload, one captured packet holds several segments. The repair sends only one
/// of them.
#[test]
fn sack_recovery_retransmits_one_segment_of_an_offloaded_packet() {
    let mut talk = Talk::opened(true, false);
    talk.octets(101.0, 0, 8000);
    for n in 2..=4 {
        talk.sack(201.0 + f64::from(n), 1000, &[(2000, 1000 + n * 1000)]);
    }
    talk.data(205.1, 1000);
    assert_eq!(talk.causes(), [Some(Cause::SackRecovery)]);
    assert!(!talk.found()[0].original_missing);
}

/// Three of sixteen segments of one packet are lost. The retransmission of the first of the three
/// is also lost. The other two retransmissions arrive and show RACK this loss.
#[test]
fn rack_repairs_a_lost_retransmission_of_an_offloaded_packet() {
    let mut talk = Talk::opened(true, false);
    talk.octets(101.0, 0, 16_000);
    talk.sack(201.1, 1000, &[(2000, 3000)]);
    talk.sack(201.2, 1000, &[(4000, 9000), (2000, 3000)]);
    talk.sack(201.3, 1000, &[(10_000, 16_000), (4000, 9000), (2000, 3000)]);
    talk.data(201.5, 1000).data(201.6, 3000).data(201.7, 9000);
    talk.sack(301.6, 1000, &[(2000, 9000), (10_000, 16_000)]);
    talk.sack(301.7, 1000, &[(2000, 16_000)]);
    talk.data(301.8, 1000);
    let repair = Some(Cause::SackRecovery);
    assert_eq!(talk.causes(), [repair, repair, repair, Some(Cause::Rack)]);
    assert!(talk.found().iter().all(|one| one.gap >= Duration::from_millis(100)));
}

/// A capture at the receiver shows only what arrived. If an original was lost before the capture,
/// the capture shows its octets for the first time in the retransmission.
#[test]
fn at_the_receiver_a_retransmission_without_its_original_was_needed() {
    let mut talk = Talk::midway();
    talk.handshake(true, 0.1, 100.0);
    talk.data(101.0, 0).data(101.1, 2000).sack(101.2, 1000, &[(2000, 3000)]);
    talk.data(202.0, 1000).ack(202.1, 3000);
    let direction = talk.direction();
    let found = direction.retransmissions[0];
    assert_eq!(direction.habits.unwrap().vantage.0, Vantage::Receiver);
    assert!(found.original_missing);
    assert_eq!((found.verdict, found.evidence), (Verdict::Needed, VerdictEvidence::AtReceiver));
}

#[test]
fn octets_are_counted_if_they_are_acknowledged_but_were_not_captured() {
    let mut talk = Talk::opened(false, false);
    talk.data(101.0, 0).ack(201.0, 1000).data(201.1, 2000).ack(301.1, 3000);
    assert_eq!(talk.causes(), []);
    assert_eq!(talk.direction().habits.unwrap().uncaptured_bytes, 1000);
}

/// A connection captured at the receiver, with a round trip of 100 ms.
pub(super) fn at_receiver() -> Talk {
    let mut talk = Talk::midway();
    talk.handshake(true, 0.01, 100.0);
    talk
}
