//! Tests of verdicts on retransmissions (needed or spurious) in captures beside the sender. The
//! evidence is D-SACK blocks, echoed timestamps, and the time of acknowledgments. A talk (`Talk`)
//! is a made-up capture of one connection. Its times are in milliseconds, and its octets count from
//! 0.

use crate::ids::Side;
use crate::segment::{Cause, Flags, Segment, Timestamps};

use super::super::{Verdict, VerdictEvidence};
use super::causes::{Talk, first_of_ten_lost};

/// The verdict on the last retransmission of a talk, and the evidence for it.
pub(super) fn verdict(talk: &Talk) -> (Verdict, VerdictEvidence) {
    let last = *talk.found().last().unwrap();
    (last.verdict, last.evidence)
}

/// RFC 2883 §4 defines such reports (D-SACK blocks).
#[test]
fn a_duplicate_that_the_receiver_reports_was_spurious() {
    let mut talk = first_of_ten_lost(true);
    talk.ack(304.9, 10_000).sack(305.0, 10_000, &[(0, 1000)]);
    assert_eq!(verdict(&talk), (Verdict::Spurious, VerdictEvidence::DSack));
    let mut talk = first_of_ten_lost(true);
    talk.ack(305.0, 10_000);
    assert_eq!(verdict(&talk), (Verdict::Needed, VerdictEvidence::NoDSack));
}

/// RFC 5681 §4.2: while octets are missing, a receiver answers each segment at once. Before the
/// D-SACK block, no acknowledgment covered the segment, so no other transmission of the segment had
/// arrived. FreeBSD 13 sends D-SACK blocks about segments that fill a hole.
#[test]
fn a_d_sack_block_may_report_a_segment_that_filled_a_hole() {
    let mut talk = first_of_ten_lost(true);
    talk.sack(305.0, 4000, &[(0, 1000)]);
    assert_eq!(verdict(&talk), (Verdict::Needed, VerdictEvidence::NoDSack));
    let mut talk = first_of_ten_lost(true);
    talk.sack(304.9, 4000, &[]).sack(305.0, 4000, &[(0, 1000)]);
    assert_eq!(verdict(&talk), (Verdict::Spurious, VerdictEvidence::DSack));
}

/// RFC 2883 §4: a block names the octets that arrived twice. The other octets of a retransmission
/// may have been missing. The path may divide a retransmission, and then several blocks report it.
#[test]
fn d_sack_blocks_about_a_part_of_a_retransmission_do_not_show_that_it_was_spurious() {
    let told = |blocks: &[(u32, u32)]| {
        let mut talk = Talk::opened(true, false);
        for n in 0..4 {
            talk.octets(101.0, 300 * n, 300);
        }
        talk.octets(401.0, 0, 1200);
        for block in blocks {
            talk.sack(505.0, 1200, &[*block]);
        }
        verdict(&talk)
    };
    let needed = (Verdict::Needed, VerdictEvidence::NoDSack);
    let spurious = (Verdict::Spurious, VerdictEvidence::DSack);
    assert_eq!(told(&[(0, 300)]), needed);
    assert_eq!(told(&[(0, 300), (0, 300)]), needed);
    assert_eq!(told(&[(0, 300), (600, 1200)]), needed);
    assert_eq!(told(&[(0, 300), (300, 1200)]), spurious);
    assert_eq!(told(&[(600, 1200), (0, 600)]), spurious);
    // A SYN or a FIN takes one octet, which some receivers do not report.
    assert_eq!(told(&[(0, 1199)]), spurious);
}

/// RFC 2883 §5, RFC 3708 §3: a D-SACK block about octets that were sent once shows that the network
/// duplicates packets. Then it may also have duplicated a needed retransmission. A block of one
/// octet shows no copy, because it may report a keep-alive.
#[test]
fn duplication_by_the_network_makes_d_sack_verdicts_uncertain() {
    let told = |once: (u32, u32), more: u32| {
        let mut talk = first_of_ten_lost(true);
        talk.ack(304.9, 10_000).sack(305.0, 10_000, &[(0, 1000)]).sack(306.0, 10_000, &[once]);
        for n in 0..more {
            let at = 400.0 + 200.0 * f64::from(n);
            talk.data(at, 10_000 + 1000 * n).ack(at + 100.0, 11_000 + 1000 * n);
        }
        let found = talk.found()[0];
        assert_eq!(found.evidence, VerdictEvidence::DSack);
        (found.verdict, (found.verdict_confidence * 100.0).round())
    };
    assert_eq!(told((9999, 10_000), 0), (Verdict::Spurious, 99.0));
    assert_eq!(told((3000, 4000), 0), (Verdict::Unknown, 0.0));
    // The network copied one of 110 segments. So the expected number of copies of the one
    // retransmission is 0.01. With a margin of two standard deviations, it is 0.2.
    assert_eq!(told((3000, 4000), 100), (Verdict::Spurious, 79.0));
}

/// The explainer watches a limited number of retransmissions. So a D-SACK block may be about a
/// retransmission that is no longer watched. Such a block is no sign that the network duplicates
/// packets.
#[test]
fn d_sack_blocks_show_no_copies_by_the_network_if_there_are_very_many_retransmissions() {
    const MANY: u32 = 1100;
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, MANY).data(401.0, 0);
    for n in 1..MANY {
        talk.ack(410.0 + 0.01 * f64::from(n), 1000 * n).data(410.0 + 0.01 * f64::from(n), 1000 * n);
    }
    talk.ack(430.0, 1000 * MANY);
    for n in 0..MANY {
        talk.sack(501.0 + 0.01 * f64::from(n), 1000 * MANY, &[(1000 * n, 1000 * (n + 1))]);
    }
    let found = talk.found();
    let last = found.last().unwrap();
    assert_eq!((last.verdict, last.evidence), (Verdict::Spurious, VerdictEvidence::DSack));
    assert!(last.verdict_confidence > 0.95, "{}", last.verdict_confidence);
}

/// RFC 3522 §3.2 uses echoed timestamps in this way.
#[test]
fn an_echoed_timestamp_shows_which_transmission_was_acknowledged() {
    for (ecr, told) in [(1101, Verdict::Spurious), (1401, Verdict::Needed)] {
        let mut talk = Talk::opened(false, true);
        talk.flight(101.0, 0, 4).data(401.0, 0);
        let (ack, flags) = (talk.wire(1000), Flags::ACK);
        let mut segment = Segment { seq: 1, ack, flags, ..Segment::default() };
        segment.set_timestamps(Timestamps { val: 9000, ecr });
        talk.packet(Side::To, 520.0, segment);
        assert_eq!(verdict(&talk), (told, VerdictEvidence::Echo));
    }
}

/// The round trip is shorter than a tick of the timestamp clock, so the repair has the timestamp of
/// the original. An echo of this timestamp does not show which of the two arrived.
#[test]
fn an_echo_shows_nothing_if_the_original_has_the_same_timestamp() {
    for (again, shown) in [(401.4, VerdictEvidence::None), (402.4, VerdictEvidence::Echo)] {
        let mut talk = Talk::midway();
        talk.stamps = true;
        talk.handshake(false, 0.2, 0.0);
        talk.flight(401.0, 0, 4).ack(401.2, 0).ack(401.21, 0).ack(401.22, 0).data(again, 0);
        let (ack, flags) = (talk.wire(4000), Flags::ACK);
        let mut segment = Segment { seq: 1, ack, flags, ..Segment::default() };
        segment.set_timestamps(Timestamps { val: 9000, ecr: 1000 + again as u32 });
        talk.packet(Side::To, again + 0.21, segment);
        assert_eq!(verdict(&talk), (Verdict::Needed, shown), "{again}");
    }
}

/// A packet of the receiver with data and an acknowledgment was lost before the capture. So the
/// captured acknowledgment may answer a duplicate. Without SACK, nothing would show this.
#[test]
fn an_ack_after_a_lost_packet_of_the_receiver_shows_no_verdict_without_sack() {
    for (seq, told) in [(1, Verdict::Needed), (501, Verdict::Unknown)] {
        let mut talk = Talk::opened(false, true);
        talk.flight(101.0, 0, 4).data(401.0, 0);
        let (ack, flags) = (talk.wire(1000), Flags::ACK);
        let mut segment = Segment { seq, ack, flags, ..Segment::default() };
        segment.set_timestamps(Timestamps { val: 9000, ecr: 1401 });
        talk.packet(Side::To, 520.0, segment);
        assert_eq!(verdict(&talk).0, told);
    }
}

/// Sends `count` segments, one per round trip of 100 ms, before octet 0 of a last segment, which is
/// sent again after 300 ms. `after` is the time from the retransmission to its acknowledgment.
fn answered_soon(count: u32, after: f64) -> Talk {
    let mut talk = Talk::opened(false, false);
    for n in 0..count {
        let at = 200.0 + 200.0 * f64::from(n);
        talk.data(at, 1000 * n).ack(at + 100.0, 1000 * (n + 1));
    }
    let at = 200.0 + 200.0 * f64::from(count);
    talk.data(at, 1000 * count).data(at + 300.0, 1000 * count);
    talk.ack(at + 300.0 + after, 1000 * (count + 1));
    talk
}

#[test]
fn an_ack_that_comes_sooner_than_any_round_trip_answers_the_original() {
    let mut talk = answered_soon(7, 29.0);
    assert_eq!(verdict(&talk), (Verdict::Spurious, VerdictEvidence::Timing));
    // Later, a round trip takes 25 ms. So the acknowledgment after 29 ms was not too soon for the
    // retransmission. The earlier round trips were longer, for example because of a queue.
    talk.data(2500.0, 8000).ack(2525.0, 9000);
    assert_eq!(verdict(&talk), (Verdict::Needed, VerdictEvidence::None));
}

/// The clock of the capture was set back by 2 s between the retransmission and its acknowledgment.
/// So the time between them is not known, and the acknowledgment may answer the retransmission.
#[test]
fn an_ack_after_the_clock_was_set_back_does_not_come_too_soon() {
    let talk = answered_soon(7, 100.0 - 2000.0);
    assert_eq!(verdict(&talk), (Verdict::Needed, VerdictEvidence::None));
}

/// The shortest of a few round trips may be much longer than the path.
#[test]
fn few_round_trips_do_not_show_which_ack_comes_too_soon() {
    assert_eq!(verdict(&answered_soon(6, 29.0)), (Verdict::Unknown, VerdictEvidence::None));
    assert_eq!(verdict(&answered_soon(6, 24.0)), (Verdict::Spurious, VerdictEvidence::Timing));
}

/// RFC 5681 §4.2: a receiver that misses octets answers each segment at once. Every second segment
/// of twelve was lost. For each lost segment, go-back-N also sends the next segment, which had
/// arrived.
#[test]
fn repeated_acks_answer_the_retransmissions_in_order_without_sack() {
    let mut talk = Talk::opened(false, false);
    talk.flight(101.0, 0, 12);
    talk.data(1101.0, 0).ack(1201.0, 2000).data(1201.1, 2000).data(1201.2, 3000);
    talk.ack(1301.1, 4000).ack(1301.2, 4000).data(1301.3, 4000).data(1301.4, 5000);
    talk.ack(1401.3, 6000).ack(1401.4, 6000);
    let told: Vec<_> = talk.found().iter().map(|one| one.verdict).collect();
    let (needed, spurious) = (Verdict::Needed, Verdict::Spurious);
    assert_eq!(told, [needed, needed, spurious, needed, spurious]);
}

/// The answer to a retransmission comes long after it and covers many octets. The retransmission
/// may have filled a hole, or it may have been spurious.
#[test]
fn a_late_ack_of_many_octets_gives_no_verdict_without_sack() {
    let mut talk = first_of_ten_lost(false);
    talk.data(204.2, 5000).ack(904.0, 10_000);
    assert_eq!(verdict(&talk), (Verdict::Unknown, VerdictEvidence::None));
}

/// RFC 9293 §3.10.7.4: after a spurious timeout, the receiver answers each retransmission with a
/// duplicate ACK. The next new segment was not lost, so no missing octets caused these duplicate
/// ACKs. The ACKs come late, because the path has a queue. If one of these ACKs is missing, or if
/// the new segment was retransmitted, the capture does not show that the three retransmissions were
/// spurious.
#[test]
fn all_retransmissions_were_spurious_if_as_many_duplicate_acks_answer_them() {
    for (duplicates, again, spurious) in [(3, false, true), (2, false, false), (3, true, false)] {
        let mut talk = Talk::opened(false, false);
        talk.flight(101.0, 0, 3).data(401.0, 0).ack(501.0, 1000);
        talk.data(501.1, 1000)
            .data(501.2, 2000)
            .ack(601.0, 2000)
            .ack(602.0, 3000)
            .data(602.1, 3000);
        for n in 0..duplicates {
            talk.ack(710.0 + f64::from(n), 3000);
        }
        if again {
            talk.data(720.0, 3000);
        }
        talk.ack(901.0, 4000);
        let told: Vec<_> = talk.found().iter().map(|one| (one.verdict, one.evidence)).collect();
        let verdict = match spurious {
            true => (Verdict::Spurious, VerdictEvidence::DuplicateAck),
            false => (Verdict::Needed, VerdictEvidence::None),
        };
        assert_eq!(told[..3], [verdict; 3], "{duplicates} {again}");
    }
}

/// A receiver without SACK acknowledges all octets. After `after` milliseconds, it sends the same
/// acknowledgment with a larger window. Returns the verdict on the last retransmission.
fn same_ack_with_a_larger_window(after: f64) -> Verdict {
    let mut talk = first_of_ten_lost(false);
    let segment =
        Segment { seq: 1, ack: talk.wire(10_000), flags: Flags::ACK, ..Segment::default() };
    talk.packet(Side::To, 305.0, Segment { window: 4000, ..segment });
    talk.packet(Side::To, 305.0 + after, Segment { window: 5000, ..segment });
    verdict(&talk).0
}

/// When a hole has been filled, FreeBSD's application reads the octets above it, and FreeBSD sends
/// a window update.
#[test]
fn a_window_update_just_after_an_ack_answers_no_segment() {
    assert_eq!(same_ack_with_a_larger_window(0.1), Verdict::Needed);
    assert_eq!(same_ack_with_a_larger_window(3.0), Verdict::Spurious);
}

/// In TIME-WAIT, Linux answers a FIN that was sent again, but adds no D-SACK block.
#[test]
fn a_missing_d_sack_block_shows_nothing_about_a_fin_without_data() {
    for (len, evidence) in [(0, VerdictEvidence::None), (100, VerdictEvidence::NoDSack)] {
        let mut talk = Talk::opened(true, false);
        talk.data(101.0, 0).ack(201.0, 1000);
        let (flags, seq) = (Flags::FIN.with(Flags::ACK), talk.wire(1000));
        let fin = Segment { seq, len, ack: 1, flags, ..Segment::default() };
        [301.0, 701.0].into_iter().for_each(|at| talk.packet(Side::From, at, fin));
        talk.ack(801.0, 1001 + u32::from(len));
        assert_eq!(verdict(&talk), (Verdict::Needed, evidence), "{len}");
    }
}

/// A receiver delays an ACK by some 200 ms at most. If the first ACK comes later, an earlier ACK was
/// lost, and it may have been the answer to the original.
#[test]
fn an_answer_that_comes_too_late_shows_no_verdict() {
    for (answer, expected) in [(701.0, Verdict::Needed), (2300.0, Verdict::Unknown)] {
        let mut talk = Talk::opened(false, false);
        talk.data(101.0, 0).ack(201.0, 1000).data(301.0, 1000).data(601.0, 1000);
        talk.ack(answer, 2000);
        assert_eq!(talk.found()[0].verdict, expected, "{answer}");
    }
}

/// The path may have lost the SYN or its answer. A capture at the sender does not show which.
#[test]
fn it_is_unknown_whether_a_syn_was_needed_again() {
    let mut talk = Talk::midway();
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    talk.packet(Side::From, 0.0, syn);
    talk.packet(Side::From, 1000.0, syn);
    let (ack, flags) = (talk.wire(0), Flags::SYN.with(Flags::ACK));
    talk.packet(Side::To, 1100.0, Segment { ack, flags, ..Segment::default() });
    talk.octets(1100.1, 0, 1000).ack(1200.1, 1000);
    let found = talk.found();
    assert_eq!((found.len(), found[0].cause.get()), (1, Some(Cause::Syn)));
    assert_eq!((found[0].verdict, found[0].verdict_confidence), (Verdict::Unknown, 0.0));
}
