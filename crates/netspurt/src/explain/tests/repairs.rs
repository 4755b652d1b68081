//! Tests of the causes of retransmissions: RACK and go-back-N after a timeout, and tail loss
//! probes. A talk (`Talk`) is a made-up capture of one connection. Its times are in milliseconds,
//! and its octets count from 0.

use super::causes::{Talk, first_of_ten_lost};
use crate::ids::Side;
use crate::segment::{Cause, Flags, Segment, SynOptions};
use crate::units::{Duration, Time};

/// RFC 8985 §6.2 and Linux's `tcp_fastretrans_alert`: a SACK block reports octets that were sent
/// after the first retransmission of a segment. So this retransmission was lost, and a recovery
/// begins.
#[test]
fn rack_repairs_a_retransmission_that_is_lost_after_a_timeout() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 10);
    // The timeout sends the first segment again. The ACK of this segment triggers the
    // retransmissions of the next two segments. The first of these two retransmissions is lost.
    talk.data(501.0, 0).ack(601.0, 1000);
    talk.data(601.1, 1000).data(601.2, 2000);
    talk.sack(701.2, 1000, &[(2000, 3000)]).data(701.3, 1000);
    let [timeout, lost, other, again] = talk.causes()[..] else { panic!("not four causes") };
    assert_eq!((timeout, lost), (Some(Cause::Rto), Some(Cause::GoBackN)));
    assert_eq!((other, again), (Some(Cause::GoBackN), Some(Cause::Rack)));
    // An ACK covers the second segment, and no SACK block reports a loss. Then the next
    // retransmission belongs to go-back-N.
    let mut silent = Talk::opened(true, false);
    silent.flight(101.0, 0, 10).data(501.0, 0).ack(601.0, 1000);
    silent.data(601.1, 1000).ack(701.1, 2000).data(701.2, 2000);
    assert_eq!(silent.causes()[2], Some(Cause::GoBackN));
}

/// The capture misses a partial ACK, which acknowledges the octets below 2000. This ACK triggered
/// the last retransmission.
#[test]
fn a_repair_one_round_trip_later_may_answer_a_missed_ack() {
    let mut talk = first_of_ten_lost(false);
    talk.ack(304.2, 1000).data(304.3, 1000).data(404.4, 2000);
    assert_eq!(talk.causes(), [Some(Cause::Fast); 3]);
}

/// The timeout sends the first of ten segments again. When this segment is acknowledged, the sender
/// sends two new segments (F-RTO). The capture misses the retransmission that begins at octet 2000.
/// The ACK of its octets does not show that the original arrived.
#[test]
fn a_missed_retransmission_does_not_make_a_timeout_spurious() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 10).data(501.0, 0).ack(601.0, 1000);
    talk.data(601.1, 10_000).data(601.1, 11_000);
    talk.sack(701.2, 1000, &[(10_000, 12_000)]).data(701.3, 1000);
    talk.sack(801.4, 2000, &[(10_000, 12_000)]).data(801.5, 3000).data(801.5, 4000);
    talk.sack(901.6, 3000, &[(10_000, 12_000)]).data(901.7, 5000).data(901.7, 6000);
    let back = Some(Cause::GoBackN);
    assert_eq!(talk.causes(), [Some(Cause::Rto), back, back, back, back, back]);
}

/// The capture misses the SYN. The ACK after the timeout covers originals, so the timeout was
/// spurious, and the next retransmission is a repair by SACK (RFC 5682 §3).
#[test]
fn a_syn_ack_alone_shows_that_sack_is_used() {
    let mut talk = Talk::midway();
    let flags = Flags::SYN.with(Flags::ACK);
    let mut syn_ack = Segment { ack: talk.wire(0), flags, ..Segment::default() };
    syn_ack.set_syn_options(SynOptions { sack: true, ..SynOptions::default() });
    talk.packet(Side::To, 100.0, syn_ack);
    talk.flight(101.0, 0, 10).data(501.0, 0).ack(601.0, 5000);
    talk.data(601.1, 10_000).sack(701.2, 5000, &[(10_000, 11_000)]).data(701.3, 5000);
    assert_eq!(talk.causes(), [Some(Cause::Rto), Some(Cause::SackRecovery)]);
}

/// An end that has received octets out of order reports them with SACK blocks. These blocks leave
/// less room for payload in the segments that this end sends, and also in a tail loss probe. So a
/// probe may lack up to 40 octets of the last segment.
#[test]
fn a_probe_with_more_options_lacks_the_last_octets() {
    for (len, cause) in [(988, Cause::Tlp), (900, Cause::Rto)] {
        let mut talk = Talk::opened(true, false);
        talk.flight(101.0, 0, 3).ack(201.0, 1000);
        talk.octets(441.0, 2000, len).ack(541.0, 3000);
        assert_eq!(talk.causes(), [Some(cause)], "{len}");
    }
}

/// The first of two segments is lost. The sender sends new octets just before its timeout. Their
/// SACK block comes before the answer to the retransmission.
#[test]
fn the_answer_to_a_timeout_covers_the_octets_that_were_sent_again() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 2).sack(201.0, 0, &[(1000, 2000)]);
    talk.data(960.0, 2000).data(1000.0, 0);
    talk.sack(1060.0, 0, &[(1000, 3000)]).ack(1100.0, 3000);
    let direction = talk.direction();
    let answered: Vec<_> = direction.floors.waits().iter().map(|wait| wait.answered).collect();
    assert_eq!(answered, [Some(Time::ZERO + Duration::from_millis(1100))]);
}

/// The path lost the original before the capture, so only the retransmission that the timer sent is
/// captured.
#[test]
fn the_answer_to_a_timeout_is_found_even_if_the_original_was_not_captured() {
    let mut talk = Talk::opened(true, false);
    talk.flight(101.0, 0, 2).ack(201.0, 2000);
    talk.data(201.1, 3000).sack(301.1, 2000, &[(3000, 4000)]);
    talk.data(600.0, 2000).ack(700.0, 4000);
    let direction = talk.direction();
    let answered: Vec<_> = direction.floors.waits().iter().map(|wait| wait.answered).collect();
    assert_eq!(answered, [Some(Time::ZERO + Duration::from_millis(700))]);
}

/// Linux sets a reordering timer at least two ticks late (`TCP_TIMEOUT_MIN`), and the timer fires up
/// to a tick later. With 250 ticks a second, these are 8 to 12 ms. The round trip is 0.4 ms.
#[test]
fn a_reordering_timer_of_linux_fires_up_to_three_ticks_late() {
    for (late, cause) in [(8.1, Cause::Rack), (12.1, Cause::Rack), (17.0, Cause::Rto)] {
        let mut talk = Talk::midway();
        talk.handshake(true, 0.4, 0.01);
        talk.flight(101.0, 0, 4).sack(101.4, 0, &[(3000, 4000)]).data(101.4 + late, 0);
        assert_eq!(talk.causes(), [Some(cause)], "{late}");
    }
}

/// Each partial ACK triggers a retransmission of the head (RFC 6582 §3.2). The capture misses one of
/// these ACKs. If it misses no other packet, the sender seems to send two segments after one ACK.
#[test]
fn one_missed_ack_is_no_go_back_n_if_the_capture_misses_other_packets_too() {
    for (misses, cause) in [(true, Cause::Fast), (false, Cause::GoBackN)] {
        let mut talk = Talk::opened(false, false);
        talk.data(101.0, 0).ack(201.0, 1000);
        if !misses {
            talk.data(201.1, 1000);
        }
        talk.data(201.2, 2000).ack(301.0, 3000).flight(301.1, 3000, 10);
        for n in 0..3 {
            talk.ack(401.0 + f64::from(n), 3000);
        }
        talk.data(403.1, 3000).ack(503.0, 4000).data(503.1, 4000);
        talk.ack(504.0, 5000).data(504.1, 5000).data(505.1, 6000).ack(506.0, 7000);
        talk.data(506.1, 7000);
        let causes = talk.causes();
        assert_eq!((causes.len(), causes[0]), (5, Some(Cause::Fast)));
        assert_eq!(causes[3..], [Some(cause); 2], "{misses}");
    }
}

/// RFC 6582 §3.2: the originals of a flight come late, and each acknowledgment of one triggers a
/// retransmission of the next segment. The capture misses the acknowledgment before the sixth
/// retransmission. Go-back-N would have sent two segments for the first acknowledgment.
#[test]
fn one_missed_ack_does_not_make_a_long_recovery_go_back_n() {
    let mut talk = first_of_ten_lost(false);
    for n in 1..8_u32 {
        let at = 300.0 + 1.2 * f64::from(n);
        talk.ack(at, n * 1000);
        if n == 5 {
            talk.lose();
        }
        talk.data(at + 0.05, n * 1000);
    }
    assert_eq!(talk.causes(), [Some(Cause::Fast); 8]);
}

/// RFC 6582 §3.2 step 3: some senders do not restart their timer for each partial ACK. So the timer
/// may send the head again just after a partial ACK. No acknowledgment can trigger this within a
/// round trip of 100 ms. It does not matter that the capture does not show whether SACK is used.
#[test]
fn the_head_that_comes_again_within_a_round_trip_is_a_timeout() {
    let cause = |again: f64| {
        let mut talk = Talk::midway();
        talk.flight(1000.0, 0, 6).ack(1100.0, 1000).ack(1101.0, 1000).data(1101.1, 1000);
        talk.ack(1201.1, 2000).data(1201.2, 2000).data(again, 2000);
        talk.causes()[2]
    };
    assert_eq!(cause(1230.0), Some(Cause::Rto));
    assert_eq!(cause(1310.0), Some(Cause::Fast));
}

/// picoTCP sends the head again at each duplicate ACK after the third. A timer cannot send it twice
/// within a round trip (RFC 6298 §5.5), so duplicate ACKs trigger all of these retransmissions.
#[test]
fn a_sender_may_repeat_the_head_for_each_further_duplicate_ack() {
    let mut talk = first_of_ten_lost(false);
    for n in 0..5 {
        let at = 205.0 + f64::from(n);
        talk.ack(at, 0).data(at + 0.1, 0);
    }
    talk.ack(304.2, 10_000).flight(304.3, 10_000, 10).ack(404.4, 10_000);
    talk.ack(404.5, 10_000).ack(404.6, 10_000).data(404.7, 10_000);
    talk.ack(404.8, 10_000).data(404.9, 10_000);
    assert_eq!(talk.causes(), [Some(Cause::Fast); 8]);
}

/// For a partial ACK, CycloneTCP sends the first segments of its queue again that together are no
/// longer than the MSS. This is no go-back-N.
#[test]
fn a_partial_ack_may_trigger_several_short_segments() {
    let mut talk = Talk::opened(false, false);
    talk.flight(101.0, 0, 2).octets(101.0, 2000, 400).octets(101.0, 2400, 600);
    talk.flight(101.0, 3000, 6);
    for n in 1..=3 {
        talk.ack(201.0 + f64::from(n), 0);
    }
    talk.data(204.1, 0).ack(304.2, 2000).octets(304.3, 2000, 400).octets(304.3, 2400, 600);
    assert_eq!(talk.causes(), [Some(Cause::Fast); 3]);
    talk.data(304.4, 3000);
    assert_eq!(talk.causes()[1..], [Some(Cause::GoBackN); 3]);
}
