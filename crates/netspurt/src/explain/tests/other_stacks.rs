//! Tests of the causes of retransmissions, and the verdicts (needed or spurious), for senders and
//! receivers of different TCPs, such as Linux, FreeBSD and ns-3.
//!
//! A talk (`Talk`) is a made-up capture of one connection. Its times are in milliseconds, and its
//! octets count from 0. The *head* is the first outstanding segment of a sender. A sender *goes
//! back* if it uses go-back-N. Octets are *reported* if SACK blocks cover them. An ACK *jumps* if
//! it covers more octets than any ACK that the receiver sends while nothing is missing.

use crate::ids::Side;
use crate::segment::{Cause, Flags, Segment, Timestamps};

use super::super::{CauseRule, ExplainedRetransmission, Explainer, Verdict, VerdictEvidence};
use super::at_receiver::found_over_ipv6;
use super::causes::{Talk, at_receiver, first_of_ten_lost};
use super::read_all;
use super::verdicts::verdict;

const BACK: Option<Cause> = Some(Cause::GoBackN);

/// RFC 6675 §4: a sender that uses SACK does not retransmit reported octets.
#[test]
fn only_a_sender_that_goes_back_retransmits_octets_that_sack_blocks_reported() {
    let mut talk = first_of_ten_lost(true);
    talk.data(204.2, 1000).data(204.3, 2000).data(204.4, 5000);
    assert_eq!(talk.causes(), [Some(Cause::SackRecovery), BACK, BACK, BACK]);
    let found = talk.found();
    assert_eq!(found[1].rule, CauseRule::ReportedBefore);
    for one in &found[1..3] {
        assert_eq!((one.verdict, one.evidence), (Verdict::Spurious, VerdictEvidence::Reported));
    }
    assert_ne!(found[3].evidence, VerdictEvidence::Reported, "no SACK block had reported it");
}

/// A piece of Linux's send buffer may hold several segments. While the buffer is full, Linux does
/// not split a piece. So it retransmits reported octets together with the missing octets before
/// them. But a piece holds at most half of the largest window. The window is 5000 octets here.
#[test]
fn linux_may_send_a_reported_segment_together_with_missing_octets_without_go_back_n() {
    let mut talk = first_of_ten_lost(true);
    talk.data(204.12, 1000);
    assert_eq!(talk.causes(), [Some(Cause::SackRecovery); 2]);
    assert_eq!(talk.found()[1].verdict, Verdict::Spurious);
    talk.data(204.14, 2000);
    assert_eq!(talk.causes(), [Some(Cause::SackRecovery), BACK, BACK]);
}

/// Ten segments, and three ACKs that report the second of them.
fn second_reported_thrice(stamps: bool) -> Talk {
    let mut talk = Talk::opened(true, stamps);
    talk.flight(101.0, 0, 10);
    for at in [201.1, 202.1, 203.1] {
        talk.sack(at, 0, &[(1000, 2000)]);
    }
    talk
}

/// smoltcp 0.13 sends all outstanding octets again when three duplicate ACKs have come. Most of
/// these octets lie above the reported octets. This burst is longer than a piece of Linux's send
/// buffer.
#[test]
fn a_long_burst_with_reported_octets_shows_go_back_n() {
    let mut talk = second_reported_thrice(false);
    for n in 0..6 {
        talk.data(204.1 + f64::from(n) / 100.0, 1000 * n);
    }
    let repair = Some(Cause::SackRecovery);
    assert_eq!(talk.causes(), [repair, BACK, BACK, BACK, BACK, BACK]);
}

/// A hole is a range of octets that no SACK block has reported, below reported octets. FreeBSD
/// stores at most 128 holes. If there are more holes, FreeBSD cannot store all reports. Then it
/// sends octets again although SACK blocks reported them.
#[test]
fn if_a_sender_cannot_store_all_holes_it_may_retransmit_reported_octets_without_go_back_n() {
    let causes = |holes: u32| {
        let mut talk = Talk::opened(true, false);
        talk.flight(101.0, 0, 2 * holes);
        for n in 0..holes {
            let left = 1000 + 2000 * n;
            talk.sack(202.0 + f64::from(n) / 1e3, 0, &[(left, left + 1000)]);
        }
        talk.data(202.5, 0).data(202.6, 1000).data(202.7, 3000).data(202.8, 5000);
        talk.causes()
    };
    let repair = Some(Cause::SackRecovery);
    assert_eq!(causes(120), [repair, BACK, BACK, BACK]);
    assert_eq!(causes(140), [repair; 4]);
}

#[test]
fn a_sender_goes_back_if_it_skips_reported_segments_and_later_repeats_two_reported_segments() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 10).sack(202.0, 0, &[(1000, 2000)]).sack(203.0, 0, &[(1000, 3000)]);
    talk.sack(204.0, 0, &[(7000, 10_000), (1000, 6000)]).data(204.1, 0).data(204.3, 6000);
    talk.data(204.5, 7000);
    let repair = Some(Cause::SackRecovery);
    assert_eq!(talk.causes(), [repair; 3]);
    talk.data(204.7, 8000);
    assert_eq!(talk.causes(), [repair, repair, BACK, BACK]);
}

#[test]
fn after_a_sender_repeats_a_reported_segment_its_later_repairs_count_as_go_back_n() {
    // SACK blocks report the fourth segment, and not the three segments before it.
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 10);
    for n in 1..=3 {
        talk.sack(201.0 + f64::from(n), 0, &[(3000, 3000 + n * 1000)]);
    }
    talk.data(204.1, 0).data(204.2, 1000).data(204.3, 2000);
    let repair = Some(Cause::SackRecovery);
    assert_eq!(talk.causes(), [repair; 3]);
    talk.data(204.4, 3000);
    assert_eq!(talk.causes(), [repair, BACK, BACK, BACK]);
}

/// RFC 2018 §8: a receiver may discard octets that it reported. Then it acknowledges only the
/// octets before the discarded octets.
#[test]
fn octets_that_the_receiver_discarded_do_not_count_as_reported() {
    let mut talk = first_of_ten_lost(true);
    talk.ack(304.2, 1000).ack(305.2, 1000).data(600.0, 1000);
    assert_ne!(verdict(&talk).1, VerdictEvidence::Reported);
}

/// RFC 5681 §4.2: the receiver acknowledges at once when a hole is filled. With SACK, each
/// retransmission may have filled a hole, and the acknowledgment of the first retransmission may be
/// lost.
#[test]
fn a_late_jump_shows_a_spurious_retransmission_only_without_sack() {
    for (sack, told) in [(true, Verdict::Needed), (false, Verdict::Spurious)] {
        let mut talk = first_of_ten_lost(sack);
        talk.data(204.2, 5000).ack(306.0, 10_000);
        assert_eq!(verdict(&talk).0, told, "{sack}");
    }
}

/// Linux acknowledges at most 16 segments one by one (`TCP_MAX_QUICKACKS`).
#[test]
fn an_ack_of_two_segments_jumps_after_more_than_16_single_acks() {
    for (acks, told) in [(16, Verdict::Needed), (17, Verdict::Spurious)] {
        let mut talk = Talk::opened(false, false);
        talk.flight(101.0, 0, acks);
        for n in 1..=acks {
            talk.ack(201.0 + 0.1 * f64::from(n), n * 1000);
        }
        let next = acks * 1000;
        talk.flight(203.0, next, 3).data(603.0, next).data(603.1, next + 1000);
        talk.ack(703.1, next + 2000);
        let verdicts: Vec<_> = talk.found().iter().map(|one| one.verdict).collect();
        assert_eq!(verdicts, [Verdict::Needed, told], "{acks}");
    }
}

#[test]
fn an_ack_jumps_only_if_each_ack_before_the_loss_covered_less() {
    let mut talk = Talk::opened(false, false);
    talk.flight(101.0, 0, 8).ack(201.0, 8000).flight(202.0, 8000, 6);
    talk.data(602.0, 8000).data(602.1, 9000).data(602.2, 13_000).ack(703.0, 14_000);
    assert_eq!(verdict(&talk), (Verdict::Needed, VerdictEvidence::None));
}

/// RFC 6298 §3: a segment that was sent twice gives no sample of the round trip, so the estimate
/// becomes old.
#[test]
fn the_timer_sent_the_head_again_after_a_long_silence() {
    let mut talk = Talk::opened(false, false);
    talk.data(101.0, 0).ack(2101.0, 1000).flight(2102.0, 1000, 4);
    talk.data(5102.0, 1000).ack(5202.0, 2000).data(5202.1, 2000).data(5902.1, 2000);
    let rto = Some(Cause::Rto);
    assert_eq!(talk.causes(), [rto, BACK, rto]);
}

#[test]
fn segments_are_no_copies_if_they_end_at_other_octets_than_the_originals() {
    let mut talk = Talk::opened(false, false);
    talk.octets(101.0, 0, 500).flight(101.0, 500, 4);
    talk.ack(201.0, 0).ack(201.1, 0).ack(201.2, 0);
    talk.data(201.3, 0).data(201.308, 1000).data(201.316, 2000);
    assert_eq!(found_over_ipv6(&mut talk).len(), 3);
}

#[test]
fn segments_long_after_a_repair_are_no_late_originals() {
    let mut talk = at_receiver();
    talk.data(1000.0, 0).data(1001.0, 2000).sack(1001.01, 1000, &[(2000, 3000)]);
    talk.data(1102.0, 1000).ack(1102.01, 3000);
    // A timer sends the segment twice more.
    talk.data(1400.0, 1000).data(2000.0, 1000);
    assert_eq!(found_over_ipv6(&mut talk).len(), 3);
}

#[test]
fn beside_the_receiver_a_segment_that_contains_missing_octets_was_needed() {
    let mut talk = at_receiver();
    talk.data(1000.0, 0).data(1001.0, 2000).sack(1001.01, 1000, &[(2000, 3000)]);
    talk.octets(1102.0, 1000, 2000);
    assert_eq!(verdict(&talk), (Verdict::Needed, VerdictEvidence::AtReceiver));
}

#[test]
fn a_second_retransmission_was_spurious_if_it_came_after_the_gap_was_filled() {
    let mut talk = at_receiver();
    talk.data(1000.0, 0).data(1001.0, 2000).data(1002.0, 4000);
    talk.sack(1002.01, 1000, &[(4000, 5000), (2000, 3000)]);
    talk.data(1102.0, 3000).sack(1102.01, 1000, &[(2000, 5000)]).data(1502.0, 3000);
    assert_eq!(verdict(&talk).0, Verdict::Spurious);
}

/// A receiver need not send D-SACK blocks (RFC 2883).
#[test]
fn a_missing_d_sack_is_no_evidence_if_the_receiver_never_reported_a_duplicate() {
    let mut talk = first_of_ten_lost(true);
    talk.data(204.2, 1000).data(204.3, 2000).data(204.4, 3000).ack(306.0, 10_000);
    let found = talk.found()[0];
    assert_eq!((found.verdict, found.evidence), (Verdict::Needed, VerdictEvidence::None));
}

/// gVisor acknowledges a FIN before it stores the FIN's timestamp. So it echoes the timestamp of
/// the octets before the FIN.
#[test]
fn an_echoed_timestamp_of_earlier_octets_does_not_show_that_a_fin_arrived() {
    for (val, told) in [(1101, Verdict::Needed), (1105, Verdict::Spurious)] {
        let mut talk = Talk::opened(false, true);
        talk.data(101.0, 0).ack(201.0, 1000);
        let (flags, seq) = (Flags::FIN.with(Flags::ACK), talk.wire(1000));
        for (at, val) in [(202.0, val), (602.0, 1602)] {
            let mut fin = Segment { seq, ack: 1, flags, ..Segment::default() };
            fin.set_timestamps(Timestamps { val, ecr: 0 });
            talk.packet(Side::From, at, fin);
        }
        let ack = talk.wire(1001);
        let mut last = Segment { seq: 1, ack, flags: Flags::ACK, ..Segment::default() };
        last.set_timestamps(Timestamps { val: 9000, ecr: val });
        talk.packet(Side::To, 703.0, last);
        assert_eq!(verdict(&talk).0, told, "{val}");
    }
}

/// RFC 5681 §3.2 step 4: duplicate ACKs inflate the cwnd of a sender that does not go back.
#[test]
fn a_sender_that_adds_new_octets_to_a_repair_does_not_go_back() {
    let mut talk = first_of_ten_lost(false);
    talk.ack(304.2, 1000).data(304.3, 1000).data(304.3, 2000).ack(404.4, 10_000);
    assert_eq!(talk.direction().habits.unwrap().traits.in_order, 1);
    talk.flight(404.5, 10_000, 10).ack(504.6, 10_000).ack(504.7, 10_000).ack(504.8, 10_000);
    talk.data(504.9, 10_000).data(505.0, 20_000).ack(605.0, 14_000).data(605.1, 14_000);
    assert_eq!(talk.causes().last(), Some(&Some(Cause::Fast)));
    assert_eq!(talk.direction().habits.unwrap().traits.in_order, 0);
}

/// Returns whether RACK would have detected the last loss before the timeout.
fn known_lost(talk: &Talk) -> bool {
    talk.direction().floors.waits().last().unwrap().sacked
}

/// RFC 8985 §6.2: RACK needs a segment that was sent later and has arrived. RFC 2018 §8: a receiver
/// may discard octets that it reported, and the sender sends them again only after a timeout.
#[test]
fn rack_detects_a_loss_only_if_later_octets_arrived() {
    let mut waits = Talk::opened(true, false);
    waits.flight(101.0, 0, 10).sack(201.1, 0, &[(1000, 2000)]).data(501.0, 0).ack(601.1, 10_000);
    assert!(known_lost(&waits));
    let mut lost_again = first_of_ten_lost(true);
    lost_again.data(804.1, 0).ack(904.2, 10_000);
    assert!(!known_lost(&lost_again), "nothing was sent after the repair");
    let mut discards = first_of_ten_lost(true);
    discards.ack(304.2, 1000).data(904.3, 1000).ack(1004.4, 2000);
    assert!(!known_lost(&discards));
}

/// ns-3 retransmits the head after a partial ACK although its recovery has ended, and begins a new
/// fast retransmit when the third duplicate ACK comes.
#[test]
fn a_partial_ack_and_three_duplicate_acks_trigger_another_fast_retransmit() {
    let fast = Some(Cause::Fast);
    for (acks, last) in [(3, fast), (2, Some(Cause::Rto))] {
        let mut talk = first_of_ten_lost(false);
        talk.ack(304.2, 4000).data(304.21, 4000);
        for n in 1..=acks {
            talk.ack(304.3 + 0.1 * f64::from(n), 4000);
        }
        talk.data(304.61, 4000);
        assert_eq!(talk.causes(), [fast, fast, last], "{acks}");
    }
}

/// RFC 6298 §5.2: the timer stops if nothing is outstanding. But the timer of ns-3 does not stop.
/// If an acknowledgment triggers a retransmission, the retransmission comes within 1 ms.
#[test]
fn a_segment_may_be_sent_again_by_a_timer_that_started_before_the_segment_was_sent() {
    for (at, cause) in [(460.0, Cause::Rto), (203.0, Cause::Rto), (201.9, Cause::Fast)] {
        let mut talk = Talk::opened(false, false);
        talk.data(101.0, 0).ack(201.0, 1000).data(at - 3.0, 1000).data(at, 1000);
        assert_eq!(talk.causes(), [Some(cause)], "{at}");
    }
}

/// RFC 8985 §6.2: RACK marks a segment lost if a segment that was sent later has arrived. Their
/// times of sending must differ by more than the reordering window, which is at most a round trip.
#[test]
fn the_timer_sent_the_head_again_if_octets_that_were_sent_much_later_had_arrived() {
    for (last, cause) in [(380.0, Cause::Rto), (340.0, Cause::Rack)] {
        let mut talk = first_of_ten_lost(true);
        // The repair is lost. New segments arrive and are reported.
        talk.data(205.0, 10_000).sack(305.0, 0, &[(1000, 11_000)]);
        talk.data(last, 11_000).sack(last + 100.0, 0, &[(1000, 12_000)]).data(last + 110.0, 0);
        assert_eq!(talk.causes(), [Some(Cause::SackRecovery), Some(cause)], "{last}");
    }
}

/// Two SACK blocks report octets above a lost segment. A round trip takes 10 ms, so no reordering
/// timer waits for 30 ms. But FreeBSD's retransmission timer may fire 30 ms after a transmission.
#[test]
fn if_a_timer_fires_long_after_two_reports_it_is_the_retransmission_timer() {
    let cause = |ms: f64| {
        let mut talk = Talk::midway();
        talk.handshake(true, 10.0, 0.0);
        talk.flight(101.0, 0, 2).ack(111.0, 2000).flight(111.0, 2000, 3);
        talk.sack(121.0, 2000, &[(3000, 4000)]).sack(121.1, 2000, &[(3000, 5000)]);
        talk.data(121.1 + ms, 2000);
        talk.found()[0].cause.get()
    };
    assert_eq!(cause(3.0), Some(Cause::SackRecovery));
    assert_eq!(cause(32.0), Some(Cause::Rto));
}

/// 4.4BSD goes back after a timeout, and begins a fast retransmit if three duplicate ACKs come for
/// an octet that it has not sent again yet. Then it continues to go back.
#[test]
fn three_duplicate_acks_trigger_a_fast_retransmit_while_a_sender_goes_back() {
    let mut talk = Talk::opened(false, false);
    talk.flight(101.0, 0, 8).data(1101.0, 0).ack(1201.0, 1000);
    for n in 1..=3 {
        talk.ack(1201.0 + 0.1 * f64::from(n), 1000);
    }
    talk.data(1201.31, 1000).data(1201.32, 2000).ack(1301.4, 4000).data(1301.41, 4000);
    assert_eq!(talk.causes(), [Some(Cause::Rto), Some(Cause::Fast), BACK, BACK]);
}

/// A lone segment (the only one outstanding) is sent, and then again after each of the times in
/// `waits`, in milliseconds. A round trip takes 100 ms. Returns the cause of the first
/// retransmission.
fn lone_again(waits: &[f64]) -> Option<Cause> {
    let mut talk = Talk::opened(true, false);
    talk.data(101.0, 0).ack(201.0, 1000).data(301.0, 1000);
    waits.iter().fold(301.0, |at, wait| {
        talk.data(at + wait, 1000);
        at + wait
    });
    talk.causes()[0]
}

/// RFC 8985 §7.2: a probe waits for two round trips.
#[test]
fn the_cause_is_a_timeout_if_a_lone_segment_is_sent_again_too_soon_for_a_probe() {
    let cause = |ms| lone_again(&[ms]);
    assert_eq!([160.0, 250.0].map(cause), [Some(Cause::Rto), Some(Cause::Tlp)]);
}

/// FreeBSD's timers add 200 ms after doubling. If a wait of 330 ms has this fixed part, the next
/// wait is 460 ms.
#[test]
fn a_timer_may_double_its_wait_except_for_a_fixed_part() {
    assert_eq!(lone_again(&[330.0, 460.0]), Some(Cause::Rto));
    assert_eq!(lone_again(&[330.0, 660.0]), Some(Cause::Rto));
    assert_eq!(lone_again(&[330.0, 350.0]), Some(Cause::Tlp));
}

/// Returns the capture of `talk`, with other options in the SYNs: the window scale, then SACK
/// permitted. `talk` must use SACK and timestamps.
fn with_scale_first(talk: &Talk) -> Vec<u8> {
    let mut capture = talk.capture();
    let (both, scale_first) = ([4, 2, 8, 10], [3, 3, 0, 4, 2, 1, 1, 1, 1, 1, 1, 1]);
    let syns = (0..capture.len()).filter(|at| capture[*at..].starts_with(&both));
    let syns: Vec<usize> = syns.collect();
    assert_eq!(syns.len(), 2);
    for at in syns {
        capture[at..at + scale_first.len()].copy_from_slice(&scale_first);
    }
    capture
}

/// The retransmissions in a capture of one connection.
fn found_in(capture: &[u8]) -> Vec<ExplainedRetransmission> {
    let explanation = read_all(capture, Explainer::default());
    explanation.connections.at(0).direction(Side::From).unwrap().retransmissions.to_vec()
}

/// The causes of the retransmissions in a capture of one connection.
fn causes_in(capture: &[u8]) -> Vec<Option<Cause>> {
    found_in(capture).iter().map(|one| one.cause.get()).collect()
}

/// Only Linux repeats pieces of its send buffer. Linux writes the window scale last in its SYN.
#[test]
fn a_short_burst_with_reported_octets_shows_go_back_n_unless_the_syn_may_be_linuxs() {
    let mut talk = second_reported_thrice(true);
    talk.data(204.1, 0).data(204.12, 1000);
    let repair = Some(Cause::SackRecovery);
    assert_eq!(talk.causes(), [repair, repair]);
    assert_eq!(causes_in(&with_scale_first(&talk)), [repair, BACK]);
}

/// In 4.4BSD, a segment with data ends a row of duplicate ACKs. The third ACK of the next row
/// triggers another fast retransmit. RFC 5681 §2: a segment with data is no duplicate ACK.
#[test]
fn the_third_duplicate_ack_of_a_new_row_triggers_another_fast_retransmit() {
    for (acks, last) in [(3, Cause::SackRecovery), (2, Cause::Rto)] {
        let mut talk = Talk::opened(true, false);
        talk.flight(101.0, 0, 10);
        for n in 1..=3 {
            talk.sack(201.0 + f64::from(n), 0, &[(1000, 1000 + n * 1000)]);
        }
        talk.data(204.01, 0);
        let ack = talk.wire(0);
        let data = Segment { seq: 1, len: 500, ack, window: 5000, ..Segment::default() };
        talk.packet(Side::To, 205.0, Segment { flags: Flags::ACK, ..data });
        for n in 1..=acks {
            talk.sack(205.0 + f64::from(n), 0, &[(1000, 4000 + n * 1000)]);
        }
        talk.data(205.01 + f64::from(acks), 0);
        assert_eq!(talk.causes(), [Some(Cause::SackRecovery), Some(last)], "{acks}");
    }
}

/// RFC 6675 §4: with SACK, a sender repairs octets below octets that SACK blocks reported. No SACK
/// block came here, so a short timer sent the head just after an ACK of other octets.
#[test]
fn repetitions_in_order_without_a_report_follow_a_timeout_if_sack_is_used() {
    let mut talk = Talk::opened(true, true);
    let repair = Some(Cause::SackRecovery);
    talk.flight(101.0, 0, 6).ack(201.0, 1000).data(201.5, 1000);
    assert_eq!(causes_in(&with_scale_first(&talk)), [repair]);
    talk.data(201.51, 2000).data(201.52, 3000);
    assert_eq!(causes_in(&with_scale_first(&talk)), [Some(Cause::Rto), BACK, BACK]);
    assert_eq!(talk.causes(), [repair; 3], "a partial ACK triggers such repairs of Linux");
}

/// RFC 5681 §2: an ACK that changes the window is no duplicate ACK. So it reports no loss.
#[test]
fn a_window_update_triggers_no_repair() {
    for (window, cause) in [(6000, Cause::Rto), (5000, Cause::Fast)] {
        let mut talk = Talk::opened(false, false);
        talk.flight(101.0, 0, 6).ack(201.0, 1000);
        let ack = talk.wire(1000);
        let update = Segment { seq: 1, ack, window, flags: Flags::ACK, ..Segment::default() };
        talk.packet(Side::To, 203.0, update);
        talk.data(213.0, 1000);
        assert_eq!(talk.causes(), [Some(cause)], "{window}");
    }
}

/// Stacks that write the window scale before other options of a SYN send no probes. An example is
/// the stack of ns-3.
#[test]
fn a_timeout_sends_a_lone_segment_again_if_the_syn_shows_a_stack_without_probes() {
    let mut talk = Talk::opened(true, true);
    talk.data(101.0, 0).ack(201.0, 1000).data(301.0, 1000).data(631.0, 1000).data(981.0, 1000);
    let first = |capture: &[u8]| {
        let found = found_in(capture)[0];
        (found.cause.get(), found.rule)
    };
    assert_eq!(first(&talk.capture()), (Some(Cause::Tlp), CauseRule::LoneByBackoff));
    let capture = with_scale_first(&talk);
    assert_eq!(first(&capture), (Some(Cause::Rto), CauseRule::LoneBySyn));
}

/// RFC 6298 §5.3: an acknowledgment of new octets restarts the timer. Here the first timeout came
/// late, and the second came less than three round trips after the timer was restarted.
#[test]
fn a_timeout_sent_the_head_if_no_ack_triggered_it() {
    let cause = |ms: f64| {
        let mut talk = Talk::opened(false, false);
        talk.flight(101.0, 0, 6).data(701.0, 0).ack(801.0, 1000).data(801.1, 1000);
        talk.ack(901.0, 2000).data(901.0 + ms, 2000);
        talk.causes()[2]
    };
    assert_eq!([0.1, 215.0].map(cause), [BACK, Some(Cause::Rto)]);
}

/// gVisor's sender counts only ACKs with SACK blocks as reports of a loss (RFC 6675 §4). ACKs
/// without blocks answer copies that the network made.
#[test]
fn duplicate_acks_without_blocks_report_no_loss_to_a_sender_with_sack() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 5).ack(201.0, 4000);
    for n in 1..=3 {
        talk.ack(201.0 + f64::from(n), 4000);
    }
    talk.data(450.0, 4000);
    assert_eq!(talk.causes(), [Some(Cause::Tlp)]);
}

/// RFC 8985 §6.2: the timer waits for a quarter of the shortest round trip, here 25 ms, after the
/// SACK block that started it. The retransmission timer could have fired at this instant, too.
#[test]
fn a_repair_at_the_instant_of_the_reordering_timer_is_no_timeout() {
    for (at, cause) in [(525.3, Cause::Rack), (545.0, Cause::Rto)] {
        let mut talk = Talk::opened(true, false);
        talk.flight(101.0, 0, 10).sack(400.0, 0, &[(1000, 2000)]).sack(500.0, 0, &[(1000, 3000)]);
        talk.data(at, 0);
        assert_eq!(talk.causes(), [Some(cause)], "{at}");
    }
}

/// After a timeout, the sender sends the head at 900 ms, and then again. Go-back-N would send the
/// head only once. If the head is sent again less than a round trip later, no timer sent it.
#[test]
fn go_back_n_sends_the_head_only_once() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 10).data(900.0, 0).data(930.0, 0);
    assert_eq!(talk.causes(), [Some(Cause::Rto), Some(Cause::Rack)]);
    // The head is sent again after more than a round trip, but too soon for most timers.
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 10).data(900.0, 0).data(1050.0, 0);
    assert_eq!(talk.causes(), [Some(Cause::Rto), Some(Cause::Rto)]);
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 10).data(900.0, 0).ack(1000.0, 1000).data(1000.1, 1000);
    assert_eq!(talk.causes(), [Some(Cause::Rto), BACK]);
}

/// FreeBSD sets FIN in each packet that it sends after its FIN. If a timer sends the FIN again,
/// this packet acknowledges nothing new.
#[test]
fn an_acknowledgment_that_carries_the_fin_again_is_no_retransmission() {
    let found = |ack: u32| {
        let mut talk = Talk::opened(true, false);
        talk.data(101.0, 0).ack(201.0, 1000);
        let flags = Flags::FIN.with(Flags::ACK);
        let fin = Segment { seq: talk.wire(1000), ack: 1, flags, ..Segment::default() };
        talk.packet(Side::From, 301.0, fin);
        let ack_flags = Flags::ACK.with(Flags::PSH);
        let data = Segment { seq: 1, len: 500, ack: talk.wire(1000), flags: ack_flags, ..fin };
        talk.packet(Side::To, 350.0, data);
        talk.packet(Side::From, 601.0, Segment { ack, ..fin });
        talk.found().len()
    };
    assert_eq!((found(1), found(501)), (1, 0));
}
