//! Tests of retransmissions that a sender sends although the capture has the acknowledgment of
//! their octets. This acknowledgment had not reached the sender. A talk (`Talk`) is a made-up
//! capture of one connection. Its times are in milliseconds, and its octets count from 0.

use crate::ids::Side;
use crate::segment::{Cause, Flags, Segment};
use crate::units::Duration;

use super::super::CauseRule;
use super::causes::{Talk, at_receiver};

/// A capture in the middle of the path. The round trip from the capture to the receiver and the
/// round trip from the capture to the sender take 10 ms each. Six segments were sent and
/// acknowledged, and `count` more segments come at 140 ms, from octet 6000 on.
fn in_the_middle(sack: bool, count: u32) -> Talk {
    let mut talk = Talk::midway();
    talk.handshake(sack, 10.0, 10.0);
    talk.flight(100.0, 0, 2).ack(110.0, 2000).flight(120.0, 2000, 4).ack(130.0, 6000);
    talk.flight(140.0, 6000, count);
    talk
}

/// The cause of the last retransmission of a talk, its rule, and the time in milliseconds since its
/// octets were last sent.
fn last(talk: &Talk) -> (Option<Cause>, CauseRule, f64) {
    let last = *talk.found().last().unwrap();
    (last.cause.get(), last.rule, last.gap.as_nanos() as f64 / 1e6)
}

/// The delayed ACK of the last two segments passes the capture 8 ms before the probe. The sender's
/// reaction to this ACK would pass 10 ms after the ACK. So the probe is no reaction to the ACK.
#[test]
fn a_probe_is_recognised_after_the_ack_of_its_octets_passed() {
    let mut talk = in_the_middle(true, 2);
    talk.ack(190.0, 8000).data(198.0, 7000);
    assert_eq!(last(&talk), (Some(Cause::Tlp), CauseRule::Tail, 58.0));
}

/// Three duplicate ACKs come, and then the ACK of all octets, because the first segment was only
/// late. The third duplicate ACK triggers the fast retransmit.
#[test]
fn duplicate_acks_trigger_a_fast_retransmit_before_the_ack_of_all_octets_arrives() {
    let mut talk = in_the_middle(false, 4);
    (1..=3).for_each(|n| {
        talk.ack(150.0 + 0.1 * f64::from(n), 6000);
    });
    talk.ack(151.0, 10_000).data(160.4, 6000);
    let (cause, rule, _) = last(&talk);
    assert_eq!((cause, rule), (Some(Cause::Fast), CauseRule::Reported));
}

/// Several ACKs had not reached the sender. So the capture does not show what the sender knew.
/// Without duplicate ACKs, nothing shows that acknowledgments triggered the retransmission.
#[test]
fn the_cause_is_unknown_if_several_acks_did_not_reach_the_sender_and_none_reports_a_loss() {
    for (duplicates, rule) in [(0, CauseRule::None), (3, CauseRule::Guess)] {
        let mut talk = in_the_middle(false, 6);
        (0..duplicates).for_each(|n| {
            talk.ack(150.0 + 0.1 * f64::from(n), 6000);
        });
        talk.ack(151.0, 8000).ack(152.0, 10_000).ack(153.0, 12_000).data(161.0, 6000);
        let (cause, found, _) = last(&talk);
        assert_eq!((cause.is_some(), found), (duplicates > 0, rule), "{duplicates}");
    }
}

/// The clock of the capture was set back by 2 s between the last two ACKs. Times from before the
/// change cannot be compared with times from after it.
#[test]
fn a_timeout_answers_no_ack_after_the_clock_was_set_back() {
    let mut talk = Talk::midway();
    talk.handshake(true, 100.0, 0.0);
    talk.data(4000.0, 0).ack(4100.0, 1000).data(4200.0, 1000);
    talk.ack(2300.0, 2000).data(2700.0, 1000).data(3500.0, 1000);
    let causes = talk.causes();
    assert_eq!(causes[1], Some(Cause::Rto), "{causes:?}");
}

/// Beside the receiver, all octets are acknowledged at once. For the first retransmission, the time
/// counts from the original. For the second retransmission, the time counts from the first
/// retransmission.
#[test]
fn the_explainer_knows_the_time_since_an_acknowledged_fin_was_last_sent() {
    let mut talk = at_receiver();
    talk.data(1000.0, 0).ack(1000.01, 1000);
    let (flags, seq) = (Flags::FIN.with(Flags::ACK), talk.wire(1000));
    let fin = Segment { seq, ack: 1, flags, ..Segment::default() };
    for at in [1100.0, 1350.0, 1850.0] {
        talk.packet(Side::From, at, fin);
        talk.ack(at + 0.01, 1001);
    }
    let gaps: Vec<_> = talk.found().iter().map(|one| one.gap).collect();
    assert_eq!(gaps, [250, 500].map(Duration::from_millis));
}

/// The capture is in the middle. The sender's round trip was 20 ms first, and then 300 ms, because
/// the receiver became slow. The timer of the sender is shorter than the new round trip. It sends
/// the only outstanding segment again after 200 ms. No acknowledgment came for a whole round trip
/// of the capture, so none can have triggered this segment.
#[test]
fn a_timer_sent_a_lone_segment_if_no_ack_triggered_it() {
    let mut talk = Talk::midway();
    talk.handshake(false, 10.0, 10.0);
    let mut at = 100.0;
    for n in 0..12 {
        talk.data(at, n * 1000).ack(at + 290.0, (n + 1) * 1000);
        at += 300.0;
    }
    talk.data(at, 12_000).data(at + 200.0, 12_000);
    let (cause, rule, _) = last(&talk);
    assert_eq!((cause, rule), (Some(Cause::Rto), CauseRule::Guess));
}

/// The path between the sender and the capture takes 100 ms in both directions together. SACK
/// blocks report more and more octets above the hole. The sender repairs two holes, and repeats
/// octets above them. SACK blocks report these octets, but they pass the capture only some 50 ms
/// before the repetitions. So these blocks had not reached the sender, and the sender does not send
/// everything again.
#[test]
fn blocks_that_had_not_reached_the_sender_show_no_go_back_n() {
    let mut talk = Talk::midway();
    talk.handshake(true, 10.0, 100.0);
    talk.flight(200.0, 0, 10);
    let told = [(1000, 2000), (3000, 4000)];
    talk.sack(300.0, 0, &told[..1]).sack(301.0, 0, &[told[1], told[0]]);
    talk.sack(302.0, 0, &[(3000, 5000), told[0]]);
    talk.sack(350.0, 0, &[(3000, 8000), told[0]]).sack(351.0, 0, &[(3000, 10_000), told[0]]);
    talk.data(402.5, 0).data(403.0, 2000).data(403.5, 5000).data(404.0, 6000).data(404.5, 7000);
    let causes = talk.causes();
    assert!(causes.iter().all(|cause| *cause != Some(Cause::GoBackN)), "{causes:?}");
}

/// The shortest round trip takes 20 ms, but later samples took 300 ms, so the estimate of the RTO
/// is 300 ms or more. In a recovery the head was sent again and lost again, and later segments were
/// reported. Then nothing came for 70 ms, so a timer sent the head once more.
#[test]
fn after_a_silence_of_several_round_trips_a_timer_sends_the_head_again() {
    let mut talk = Talk::midway();
    talk.handshake(true, 20.0, 0.0);
    talk.data(100.0, 0).ack(400.0, 1000).data(400.0, 1000).ack(700.0, 2000);
    talk.flight(1000.0, 2000, 5);
    for n in 1..=3 {
        talk.sack(1020.0 + f64::from(n), 2000, &[(3000, 3000 + n * 1000)]);
    }
    talk.data(1023.0, 2000).data(1200.0, 7000).sack(1230.0, 2000, &[(3000, 8000)]);
    talk.data(1300.0, 2000);
    let (cause, rule, _) = last(&talk);
    assert_eq!((cause, rule), (Some(Cause::Rto), CauseRule::Silence));
}

/// Later segments overtook the first segment. So Tahoe sent it again although it was not lost, and
/// began slow start: each ACK triggers two segments. The ACKs pass the capture 20 ms before these segments. At
/// last, the capture has no ACK that could have triggered a segment: the segment begins above the
/// octets that are acknowledged. So the sender sends everything again in order.
#[test]
fn a_repair_of_octets_above_the_newest_ack_shows_go_back_n() {
    let mut talk = Talk::midway();
    talk.handshake(false, 20.0, 20.0);
    let mut packets = Vec::new();
    for n in 0..60_u32 {
        packets.push((100.0 + 0.5 * f64::from(n), Some(n * 1000), 0));
        packets.push((120.0 + f64::from(n), None, if n < 4 { 0 } else { (n + 1) * 1000 }));
    }
    packets.push((142.1, Some(0), 0));
    for n in 5..60_u32 {
        packets.push((144.1 + 0.5 * f64::from(n - 5), Some(n * 1000), 0));
    }
    packets.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (at, left, next) in packets {
        match left {
            Some(left) => talk.data(at, left),
            None => talk.ack(at, next),
        };
    }
    let causes = talk.causes();
    assert_eq!(causes[0], Some(Cause::Fast));
    assert_eq!(causes.len(), 56);
    assert!(causes[1..].iter().all(|one| *one == Some(Cause::GoBackN)), "{causes:?}");
}
