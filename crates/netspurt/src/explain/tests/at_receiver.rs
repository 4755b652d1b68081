//! Tests of the causes of retransmissions, and the verdicts (needed or spurious), in captures at
//! the receiver. Such a capture may not show a timeout or an original. A talk (`Talk`) is a made-up
//! capture of one connection. Its times are in milliseconds, and its octets count from 0.

use crate::ids::Side;
use crate::segment::{Cause, Flags, Segment, Timestamps};

use super::super::{EndedDirection, ExplainedRetransmission, Verdict, VerdictEvidence};
use super::causes::{Talk, at_receiver};

#[test]
fn at_the_receiver_go_back_n_may_repeat_segments_that_had_arrived() {
    let mut talk = at_receiver();
    talk.flight(1000.0, 0, 10).ack(1000.01, 10_000);
    for n in 0..3 {
        talk.data(2000.0 + 1.2 * f64::from(n), n * 1000);
    }
    let found = talk.direction().retransmissions;
    let causes: Vec<_> = found.iter().map(|one| one.cause.get()).collect();
    assert_eq!(causes, [Some(Cause::Rto), Some(Cause::GoBackN), Some(Cause::GoBackN)]);
}

/// The receiver delays each ACK by 100 ms, and the sender's timer waits equally long. So the timer
/// sends each segment again, although the segment has arrived. The sender gets the ACK 5 ms after
/// this retransmission was captured, and sends the next new segment. It never goes back.
#[test]
fn a_timer_may_send_each_new_segment_again_without_go_back_n() {
    let mut talk = at_receiver();
    for n in 0..8 {
        let (at, left) = (1000.0 + 110.0 * f64::from(n), n * 1000);
        talk.data(at, left).ack(at + 100.0, left + 1000).data(at + 100.0, left);
        talk.ack(at + 100.01, left + 1000);
    }
    let found = talk.direction().retransmissions;
    let causes: Vec<_> = found.iter().map(|one| one.cause.get()).collect();
    assert_eq!((causes.len(), causes[0]), (8, Some(Cause::Rto)));
    assert!(causes.iter().all(|cause| *cause != Some(Cause::GoBackN)), "{causes:?}");
}

/// After a spike of the delay, all segments of a flight come, and then all of them come again. The
/// receiver answers each with a D-SACK block. The next segments had left the sender before it could
/// get these answers, and no octets were missing. So no acknowledgment triggered a repair, and the
/// causes are unknown.
#[test]
fn answers_to_duplicates_are_no_reason_for_the_next_duplicates() {
    let mut talk = at_receiver();
    for round in 0..6_u32 {
        let at = 1000.0 + 100.0 * f64::from(round);
        for n in 0..10 {
            let (at, left) = (at + 1.2 * f64::from(n), (10 * round + n) * 1000);
            talk.data(at, left).ack(at + 0.01, left + 1000);
        }
    }
    for n in 0..12_u32 {
        let (at, left) = (1513.0 + 1.2 * f64::from(n), 48_000 + n * 1000);
        talk.data(at, left).sack(at + 0.01, 60_000, &[(left, left + 1000)]);
    }
    let found = talk.direction().retransmissions;
    assert_eq!(found.len(), 12);
    assert!(found.iter().all(|one| one.cause.get().is_none()), "{found:?}");
    assert!(found.iter().all(|one| one.verdict == Verdict::Spurious));
}

/// Ten segments come. After a silence, `woken` more segments come. After a round trip of 100 ms,
/// two segments come, but not the octets before them. After another round trip, the missing octets
/// come. Returns the causes of the segments that carry the missing octets.
fn repair_after_silence(woken: u32) -> Vec<Option<Cause>> {
    let mut talk = at_receiver();
    talk.flight(1000.0, 0, 10).ack(1000.01, 10_000).flight(2000.0, 10_000, woken);
    let next = 10_000 + woken * 1000;
    talk.ack(2000.01, next).data(2100.0, next + 2000).sack(
        2100.01,
        next,
        &[(next + 2000, next + 3000)],
    );
    talk.data(2100.1, next + 3000).sack(2100.11, next, &[(next + 2000, next + 4000)]);
    talk.flight(2200.1, next, 2);
    talk.direction().retransmissions.iter().map(|one| one.cause.get()).collect()
}

/// A lone segment (no other one comes with it) after a silence may be the retransmission after a
/// timeout. Then this timeout may have begun the later repair. The capture does not show whether
/// the timeout began the repair.
#[test]
fn a_repair_soon_after_a_lone_segment_has_an_unknown_cause() {
    assert_eq!(repair_after_silence(1), [None, None]);
    assert_eq!(repair_after_silence(2), [Some(Cause::SackRecovery), Some(Cause::SackRecovery)]);
}

/// Ten segments come. A round trip later, nine segments come, but not the segment before them.
/// Another round trip later, the retransmission of the missing segment is due. It comes `behind`
/// milliseconds later, so new segments that were sent after it may overtake it. The original of the
/// missing segment comes at `original` milliseconds. `None` if the original never comes.
fn one_comes_late(behind: f64, original: Option<f64>) -> EndedDirection {
    let mut talk = at_receiver();
    talk.flight(1000.0, 0, 10).ack(1000.01, 10_000);
    if let Some(at) = original {
        talk.data(at, 10_000);
    }
    for n in 1..10_u32 {
        let at = 1100.0 + 0.2 * f64::from(n);
        talk.data(at, 10_000 + 1000 * n);
        talk.sack(at + 0.01, 10_000, &[(11_000, 11_000 + 1000 * n)]);
    }
    talk.data(1202.0 + behind, 10_000);
    talk.flight(1202.1, 20_000, 3).sack(1202.11, 10_000, &[(11_000, 23_000)]);
    talk.ack(1202.01 + behind, 23_000);
    talk.sort();
    talk.direction()
}

#[test]
fn a_retransmission_that_other_packets_overtook_is_no_late_original() {
    let direction = one_comes_late(3.0, None);
    assert_eq!(direction.habits.unwrap().late.packets, 0);
    let found = direction.retransmissions;
    assert_eq!(found.len(), 1);
    assert!(found[0].original_missing && !found[0].original_late);
    assert_eq!(found[0].verdict, Verdict::Needed);
}

#[test]
fn a_retransmission_that_overtook_its_original_is_spurious() {
    let direction = one_comes_late(0.0, Some(1204.0));
    let habits = direction.habits.unwrap();
    assert_eq!((habits.late.packets, habits.copies), (1, 0), "the network made no copy");
    let found = direction.retransmissions;
    assert_eq!(found.len(), 1);
    assert!(found[0].original_missing && found[0].original_late);
    assert_eq!(found[0].verdict, Verdict::Spurious);
    assert_eq!(found[0].srtt.as_nanos() / 1_000_000, 100);
}

/// The last packet of the sender repeats the octets from 5000 on. In this capture, the IP
/// identifications ascend, so they show the order of sending: four packets were sent after this
/// packet. But eight segments have higher octets. If this packet were the original, all eight would
/// have been sent after it. The packet is no copy of the original either, because a copy would have
/// the same identification.
#[test]
fn an_overtaken_retransmission_of_acknowledged_octets_is_no_copy() {
    let mut talk = at_receiver();
    talk.flight(1000.0, 0, 10).ack(1000.01, 10_000).data(1210.0, 5000);
    talk.flight(1202.1, 10_000, 4).ack(1202.11, 14_000);
    talk.sort();
    let direction = talk.direction();
    assert_eq!(direction.habits.unwrap().copies, 0);
    assert_eq!(direction.retransmissions.len(), 1);
    assert_eq!(direction.retransmissions[0].verdict, Verdict::Spurious);
}

/// The retransmission of a lost segment comes as late as if a timer had fired. Duplicate ACKs pass
/// the capture every 2 ms. If the retransmission echoes the timestamp of the third duplicate ACK,
/// this ACK triggered it, and a queue before the capture delayed it. If the retransmission echoes
/// the timestamp of the last duplicate ACK, a timer fired.
#[test]
fn the_timestamp_that_a_retransmission_echoes_shows_its_trigger() {
    for (echoed, cause) in [(3, Cause::SackRecovery), (9, Cause::Rto)] {
        let mut talk = Talk::midway();
        talk.stamps = true;
        talk.handshake(true, 0.01, 20.0);
        talk.flight(1000.0, 0, 2).ack(1000.01, 2000).data(1070.0, 2000).ack(1070.01, 3000);
        for n in 1..10_u32 {
            let at = 1100.0 + 2.0 * f64::from(n);
            talk.data(at, 3000 + 1000 * n);
            talk.sack(at + 0.01, 3000, &[(4000, 4000 + 1000 * n)]);
        }
        let stamps = Timestamps { val: 2000, ecr: 2100 + 2 * echoed };
        let (seq, flags) = (talk.wire(3000), Flags::ACK.with(Flags::PSH));
        let mut repair = Segment { seq, len: 1000, ack: 1, flags, ..Segment::default() };
        repair.set_timestamps(stamps);
        talk.packet(Side::From, 1172.0, repair);
        let found = talk.found();
        assert_eq!((found.len(), found[0].cause.get()), (1, Some(cause)), "{echoed}");
    }
}

/// In 4.4BSD, a retransmission may begin or end at other octets than the original. Here the
/// original has 500 octets and has arrived. A retransmission of only these octets was spurious. The
/// next 500 octets have not arrived, so a retransmission that also has these octets was needed.
#[test]
fn at_the_receiver_a_retransmission_with_new_octets_was_needed() {
    for (len, verdict) in [(500, Verdict::Spurious), (1000, Verdict::Needed)] {
        let mut talk = at_receiver();
        talk.flight(1000.0, 0, 3).ack(1000.01, 3000).octets(1100.0, 3000, 500).ack(1100.01, 3500);
        talk.octets(1500.0, 3000, len).ack(1500.01, 3000 + u32::from(len));
        assert_eq!(talk.direction().retransmissions[0].verdict, verdict, "{len}");
    }
}

/// The verdict on the first retransmission of a talk, and the evidence for it.
fn first_verdict(talk: &Talk) -> (Verdict, VerdictEvidence) {
    let found = talk.found()[0];
    (found.verdict, found.evidence)
}

/// The capture at the listener's host has two SYNs. If the SYN-ACK comes immediately after the
/// second SYN, the host had dropped the first one, for example because the listener's queue was
/// full. If the SYN-ACK comes later, the host had taken the first SYN and answers late.
#[test]
fn a_host_that_answers_only_the_second_syn_dropped_the_first() {
    let (dropped, late) = (VerdictEvidence::Dropped, VerdictEvidence::AtReceiver);
    for (answered, verdict) in
        [(1000.01, (Verdict::Needed, dropped)), (1300.0, (Verdict::Spurious, late))]
    {
        let mut talk = Talk::midway();
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        let flags = Flags::SYN.with(Flags::ACK);
        [0.0, 1000.0].into_iter().for_each(|at| talk.packet(Side::From, at, syn));
        talk.packet(Side::To, answered, Segment { ack: 1, flags, ..Segment::default() });
        talk.octets(answered + 100.0, 0, 0);
        talk.flight(answered + 101.0, 0, 2).ack(answered + 101.01, 2000);
        assert_eq!(first_verdict(&talk), verdict, "{answered}");
    }
}

/// A host may refuse data that comes with a SYN (RFC 7413 §4.2.2).
#[test]
fn a_retransmission_was_needed_if_the_host_refused_the_original_data() {
    for (acked, verdict) in [(1, None), (501, Some(Verdict::Spurious))] {
        let mut talk = Talk::midway();
        let syn = Segment { len: 500, flags: Flags::SYN, ..Segment::default() };
        talk.packet(Side::From, 0.0, syn);
        let flags = Flags::SYN.with(Flags::ACK);
        talk.packet(Side::To, 0.01, Segment { ack: acked, flags, ..Segment::default() });
        talk.octets(100.0, 0, 500).ack(100.01, 500);
        talk.flight(101.0, 500, 2).ack(101.01, 2500);
        assert_eq!(first_verdict(&talk).0, verdict.unwrap_or(Verdict::Needed));
    }
}

/// The host drops data for which it has no memory. If the receiver repeats its acknowledgment
/// before the retransmission comes, this shows that the host dropped the original. If the receiver
/// sends nothing between the original and the retransmission, the capture does not show this.
#[test]
fn a_retransmission_was_needed_if_the_host_dropped_the_original() {
    let (dropped, seen) = (VerdictEvidence::Dropped, VerdictEvidence::AtReceiver);
    for (told, verdict) in
        [(Some(1020.0), (Verdict::Needed, dropped)), (None, (Verdict::Spurious, seen))]
    {
        let mut talk = at_receiver();
        talk.flight(1000.0, 0, 2).ack(1000.01, 2000).data(1010.0, 2000);
        told.into_iter().for_each(|at| {
            talk.ack(at, 2000);
        });
        talk.data(1300.0, 2000).ack(1300.01, 3000);
        assert_eq!(first_verdict(&talk), verdict);
    }
}

/// The host dropped several transmissions of a segment. A later packet of the receiver shows this.
#[test]
fn a_later_packet_shows_that_the_host_dropped_earlier_transmissions() {
    let mut talk = at_receiver();
    talk.flight(1000.0, 0, 2).ack(1000.01, 2000).data(1010.0, 2000).data(1300.0, 2000);
    talk.data(1900.0, 2000).ack(2000.0, 2000).data(3100.0, 2000).ack(3100.01, 3000);
    let verdicts: Vec<_> = talk.found().iter().map(|one| one.verdict).collect();
    assert_eq!(verdicts, [Verdict::Needed; 3]);
}

/// The retransmissions of a talk whose packets are IPv6 packets, without identifications. Without
/// timestamps, nothing in these packets shows in which order they were sent.
pub(super) fn found_over_ipv6(talk: &mut Talk) -> Vec<ExplainedRetransmission> {
    talk.over_ipv6();
    talk.direction().retransmissions
}

#[test]
fn octets_that_come_again_within_a_round_trip_are_a_copy() {
    let mut talk = at_receiver();
    talk.flight(1000.0, 0, 2).ack(1000.01, 2000).data(1003.0, 0);
    assert_eq!(found_over_ipv6(&mut talk), []);
    talk.data(1300.0, 1000);
    assert_eq!(found_over_ipv6(&mut talk).len(), 1, "a timer may have sent it");
}

#[test]
fn a_path_that_reorders_may_deliver_an_original_late() {
    let mut talk = at_receiver();
    talk.data(1000.0, 0).data(1001.0, 2000).sack(1001.01, 1000, &[(2000, 3000)]);
    talk.data(1102.0, 1000).ack(1102.01, 3000);
    let found = found_over_ipv6(&mut talk);
    assert!(found.len() == 1 && found[0].original_missing);
    // The octets come twice within a round trip, so one of the two packets is the original. So the
    // path reorders packets.
    talk.data(1200.0, 1000);
    assert_eq!(found_over_ipv6(&mut talk), []);
    assert_eq!(talk.direction().habits.unwrap().late_or_again, 1);
}

/// RFC 9293 §3.10.7.4: if octets arrive twice, a host answers at once. The host stays silent here,
/// so the transmissions were lost behind the capture, or the host dropped them. Only the last one
/// of each talk was answered.
#[test]
fn a_silent_receiver_took_none_of_the_earlier_transmissions() {
    let mut talk = at_receiver();
    talk.flight(1000.0, 0, 1).ack(1000.01, 1000).data(2000.0, 1000);
    for at in [2200.0, 2600.0, 3400.0] {
        talk.data(at, 1000);
    }
    talk.ack(3400.01, 2000);
    let verdicts = |talk: &Talk| talk.found().iter().map(|one| one.verdict).collect::<Vec<_>>();
    assert_eq!(verdicts(&talk), [Verdict::Needed; 3]);
    let mut talk = at_receiver();
    talk.flight(1000.0, 0, 1).ack(1000.01, 1000).data(2000.0, 1000).ack(2000.01, 2000);
    talk.data(2200.0, 1000).ack(2200.01, 2000);
    assert_eq!(verdicts(&talk), [Verdict::Spurious]);
}

/// RFC 5681 §4.2: a receiver that lacks octets answers each segment at once. The ACKs after the
/// third segment do not report it, so the receiver did not take it.
#[test]
fn a_receiver_did_not_take_octets_that_its_later_sack_blocks_do_not_report() {
    for (first_block, verdict) in [(3000, Verdict::Needed), (2000, Verdict::Spurious)] {
        let mut talk = at_receiver();
        talk.flight(1000.0, 0, 1).ack(1000.01, 1000).flight(1100.0, 2000, 4);
        talk.sack(1100.5, 1000, &[(first_block, 5000)]).sack(1110.0, 1000, &[(first_block, 6000)]);
        talk.data(1200.0, 2000);
        assert_eq!(talk.found()[0].verdict, verdict, "{first_block}");
    }
}

/// The path loses the segments from octet 10,000 and octet 12,000 on. The other segments up to octet
/// 19,000 come every 3 ms from 1000 ms on.
fn two_lost_before_the_receiver() -> Talk {
    let mut talk = at_receiver();
    for n in (0..19_u32).filter(|n| ![10, 12].contains(n)) {
        let (at, next) = (1000.0 + 3.0 * f64::from(n), (n + 1) * 1000);
        talk.data(at, next - 1000);
        match n {
            0..10 => talk.ack(at + 0.01, next),
            _ => talk.sack(at + 0.01, 10_000, &[(11_000, next)]),
        };
    }
    talk
}

/// Other flows fill a queue between the sender and the capture. So the round trip is longer than in
/// the handshake, and retransmissions come an RTO after the report of their holes, as far as the
/// capture shows. But the sender's segments come without a pause, so no timer sent these.
#[test]
fn segments_without_a_pause_show_that_no_timer_sent_a_reported_segment() {
    let mut talk = two_lost_before_the_receiver();
    talk.flight(1330.0, 19_000, 2).sack(1330.01, 10_000, &[(13_000, 21_000)]);
    talk.data(1330.5, 10_000).sack(1330.51, 12_000, &[(13_000, 21_000)]);
    // The recovery goes on in the same way.
    talk.flight(1577.0, 21_000, 2).sack(1577.01, 12_000, &[(13_000, 23_000)]).data(1577.5, 12_000);
    let causes = talk.causes();
    let repairs = [Cause::Fast, Cause::SackRecovery, Cause::Rack].map(Some);
    assert!(causes.iter().all(|cause| repairs.contains(cause)), "{causes:?}");
    let mut paused = two_lost_before_the_receiver();
    assert_eq!(paused.data(1600.0, 10_000).causes(), [Some(Cause::Rto)]);
}

/// A queue before the capture makes a pause before the retransmission. New octets come just after
/// it, so no timer sent it. After a timeout, new octets come a round trip later at the earliest.
#[test]
fn new_octets_just_after_a_retransmission_show_that_no_timer_sent_it() {
    let cause = |next: f64| {
        let mut talk = two_lost_before_the_receiver();
        talk.data(1600.0, 10_000).ack(1600.01, 12_000);
        talk.data(next, 19_000).ack(next + 0.01, 12_000);
        talk.causes()[0]
    };
    assert_eq!(cause(1601.2), Some(Cause::SackRecovery));
    assert_eq!(cause(1701.2), Some(Cause::Rto));
}

/// The retransmission comes 43 ms later than the answer to the last SACK block should, and the
/// shortest round trip is 100 ms.
#[test]
fn a_queue_may_delay_a_repair_by_less_than_half_a_round_trip() {
    let mut talk = two_lost_before_the_receiver();
    talk.data(1132.0, 19_000).sack(1132.01, 10_000, &[(13_000, 20_000)]);
    assert_eq!(talk.data(1275.0, 10_000).causes(), [Some(Cause::Rack)]);
}

/// The path loses the ACK of the handshake and the first flight, so the segment that the timeout
/// sends is the first packet after the SYN. The silence before it looks like a round trip until the
/// next segment shows how long a round trip takes. So the timeout may have begun the repair.
#[test]
fn the_first_segment_after_the_handshake_may_come_from_a_timeout() {
    let cause = |first: f64| {
        let mut talk = Talk::midway();
        talk.stamps = true;
        talk.handshake(true, 0.01, 100.0);
        talk.lose().echoing(first, 0, 0.01).ack(first + 0.01, 1000);
        talk.echoing(first + 100.0, 5000, first + 0.01);
        talk.sack(first + 100.01, 1000, &[(5000, 6000)]);
        talk.echoing(first + 200.0, 1000, first + 100.01);
        talk.causes()[0]
    };
    assert_eq!(cause(340.0), None, "a timeout may have sent the first segment");
    assert!(cause(100.0).is_some(), "no timer fires after one round trip");
}

/// The capture begins in the middle of a connection without timestamps, so it does not show how long
/// packets take to the sender and back. The sender paused for 150 ms before it sent the segment
/// again: this may be a round trip or a timeout. A pause of 2 s shows a timeout.
#[test]
fn a_pause_may_be_a_round_trip_if_the_time_to_the_sender_is_not_known() {
    let cause = |pause: f64, midway: bool| {
        let mut talk = if midway { Talk::midway() } else { at_receiver() };
        talk.data(1000.0, 0).ack(1000.01, 1000).data(1001.0, 1000).ack(1001.01, 2000);
        talk.data(1002.0, 3000).sack(1002.01, 2000, &[(3000, 4000)]);
        talk.data(1002.0 + pause, 2000).ack(1002.02 + pause, 4000);
        talk.causes()[0]
    };
    assert_eq!(cause(150.0, true), None);
    assert_eq!(cause(2000.0, true), Some(Cause::Rto));
    assert_eq!(cause(400.0, false), Some(Cause::Rto), "a round trip takes 100 ms");
}

/// SACK blocks report every second segment. The sender sends everything again, so it does not use
/// the blocks. When an old segment comes, the capture already has an acknowledgment of it, but the
/// sender had the block long before that.
#[test]
fn go_back_n_repeats_segments_that_were_reported_long_before_their_acknowledgment() {
    let mut talk = at_receiver();
    for n in [1, 3, 5, 7] {
        let (at, left) = (1000.0 + f64::from(n), n * 1000);
        talk.data(at, left).sack(at + 0.01, 0, &[(left, left + 1000)]);
    }
    talk.data(1105.0, 0).ack(1105.01, 2000);
    for n in 1..8_u32 {
        let at = 1205.0 + 100.0 * f64::from(n / 2) + f64::from(n % 2) / 10.0;
        talk.data(at, n * 1000).ack(at + 0.01, (n / 2 + 1) * 2000);
    }
    let found = talk.direction().retransmissions;
    assert_eq!(found.len(), 8);
    assert!(found[3..].iter().all(|one| one.cause.get() == Some(Cause::GoBackN)), "{found:?}");
}

/// Every second segment of a flight is lost. A sender without SACK repairs one of them in each round
/// trip (RFC 6582 §3.2). Then its timer fires: the octets 5000 to 6000 come again 64 ms later,
/// although a round trip takes 100 ms. From there on, the sender goes back.
#[test]
fn a_timeout_in_a_recovery_does_not_make_the_whole_recovery_go_back_n() {
    let mut talk = Talk::midway();
    talk.stamps = true;
    talk.handshake(false, 0.01, 100.0);
    talk.echoing(1000.0, 0, 0.01).ack(1000.01, 1000);
    for n in (2..20_u32).step_by(2) {
        let at = 1000.0 + f64::from(n);
        talk.echoing(at, n * 1000, 900.0).ack(at + 0.01, 1000);
    }
    let mut at = 1120.0;
    for n in (1..6_u32).step_by(2) {
        talk.echoing(at, n * 1000, at - 100.0).ack(at + 0.01, (n + 2) * 1000);
        at += 100.0;
    }
    talk.echoing(at - 36.0, 5000, at - 200.0).ack(at - 35.99, 7000);
    talk.echoing(at, 7000, at - 100.0).ack(at + 0.01, 9000).echoing(at + 1.0, 8000, at - 100.0);
    for n in 9..13 {
        let at = at + 100.0 + f64::from(n);
        talk.echoing(at, n * 1000, at - 100.0).ack(at + 0.01, n.div_ceil(2) * 2000 + 1000);
    }
    let [fast, rto, back] = [Cause::Fast, Cause::Rto, Cause::GoBackN].map(Some);
    let expected = [fast, fast, fast, rto, back, back, back, back, back, back];
    assert_eq!(talk.causes(), expected);
}

/// Some octets from octet 1000 on are lost. After a fast retransmit, Tahoe begins slow start: the ACK
/// of the first segment triggers the next two. The ACK of the second segment passed the capture
/// before the third segment came, but it needs 100 ms to the sender and back. The result is the same
/// if this ACK covers all octets (`lost` is 2).
#[test]
fn an_ack_on_its_way_to_the_sender_triggers_nothing() {
    let causes = |lost: u32, third: f64| {
        let mut talk = Talk::midway();
        talk.handshake(false, 0.01, 100.0);
        talk.data(1000.0, 0).ack(1000.01, 1000);
        for n in 1 + lost..8 {
            let at = 1000.0 + f64::from(n);
            talk.data(at, n * 1000).ack(at + 0.01, 1000);
        }
        talk.data(1107.0, 1000).ack(1107.01, 2000);
        talk.data(1207.1, 2000).ack(1207.11, if lost == 2 { 8000 } else { 3000 });
        talk.data(third, 3000).ack(third + 0.01, 8000);
        talk.causes()
    };
    let [fast, back] = [Cause::Fast, Cause::GoBackN].map(Some);
    assert_eq!(causes(3, 1208.1), [fast, back, back]);
    assert_eq!(causes(2, 1208.1), [fast, back, back]);
    assert_eq!(causes(3, 1307.2), [fast, fast, fast], "the ACK had reached the sender");
}

/// Octet 0 is late, so the sender without SACK repairs it although it was not lost. The originals
/// come in order afterwards, and each of their ACKs triggers another repair (RFC 6582 §3.2). Two of
/// these repairs come at nearly the same time, as their ACKs did. They show no go-back-N.
#[test]
fn partial_acks_at_nearly_the_same_time_show_no_go_back_n() {
    let causes = |partial: bool| {
        let mut talk = Talk::midway();
        talk.handshake(false, 0.01, 100.0);
        for n in 1..5 {
            let at = 1000.0 + f64::from(n);
            talk.data(at, n * 1000).ack(at + 0.01, 0);
        }
        talk.data(1005.0, 0).ack(1005.01, 5000);
        if partial {
            talk.data(1005.5, 5000).ack(1005.51, 6000).data(1006.0, 6000).ack(1006.01, 7000);
        } else {
            talk.data(1005.5, 6000).ack(1005.51, 5000).data(1006.0, 5000).ack(1006.01, 7000);
        }
        talk.data(1103.1, 0).ack(1103.11, 7000).data(1106.2, 5000).ack(1106.21, 7000);
        talk.data(1106.8, 6000).ack(1106.81, 7000);
        talk.causes()
    };
    assert_eq!(causes(true).last(), Some(&None));
    assert_eq!(causes(false).last(), Some(&Some(Cause::GoBackN)), "no ACK triggers it");
}

/// The path loses the ACK of the handshake and the whole first flight. So no acknowledgment of data
/// can have triggered the first segments that come.
#[test]
fn slow_start_after_a_lost_first_flight_is_go_back_n() {
    let mut talk = Talk::midway();
    talk.handshake(false, 0.01, 100.0);
    talk.lose().id += 10;
    talk.data(325.0, 0).ack(325.01, 1000).data(382.0, 10_000).ack(382.01, 1000);
    talk.data(385.0, 11_000).ack(385.01, 1000);
    for (at, next) in [(427.0, 1), (430.0, 2), (475.0, 3), (478.0, 4)] {
        talk.data(at, next * 1000).ack(at + 0.01, (next + 1) * 1000);
    }
    let back = Some(Cause::GoBackN);
    assert_eq!(talk.causes(), [None, back, back, back]);
}
