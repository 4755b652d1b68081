//! Tests of outages in both directions, outages before the capture point, and pauses of the
//! application that look like outages. A talk (`Talk`) is a made-up capture of one connection. Its
//! times are in milliseconds, and its octets count from 0.

use crate::ids::Side;
use crate::segment::{Cause, Flags, SackBlock, SackBlocks, Segment, Timestamps};

use super::super::{CauseRule, Verdict, VerdictEvidence, WaitingFor};
use super::causes::{Talk, at_receiver};

/// Four segments are sent, and the first arrives. An outage destroys the other three segments, the
/// ACK of the first segment, and all retransmissions except the last. `timeouts` has the times of
/// the retransmissions. A second ACK answers the last retransmission. It has a D-SACK block that
/// reports this retransmission, and it echoes the timestamp of this retransmission. A receiver
/// echoes the newest timestamp of a segment that begins at or below its last ACK (RFC 7323 §4.3).
fn after_outage(timeouts: &[f64]) -> Talk {
    let mut talk = Talk::opened(true, true);
    talk.flight(101.0, 0, 4);
    timeouts.iter().for_each(|at| {
        talk.data(*at, 0);
    });
    let last = timeouts[timeouts.len() - 1];
    let (flags, ack) = (Flags::ACK, talk.wire(1000));
    let mut answer = Segment { seq: 1, ack, window: 5000, flags, ..Segment::default() };
    answer.set_timestamps(Timestamps { val: 9000, ecr: 1000 + last as u32 });
    let mut blocks = SackBlocks::default();
    blocks.add(SackBlock { left: talk.wire(0), right: talk.wire(1000) });
    answer.set_sack(&blocks);
    talk.packet(Side::To, last + 100.0, answer);
    talk
}

/// RFC 3708 §3: D-SACK blocks undo a timeout only if they report all retransmissions. If only one
/// of three retransmissions is reported, the sender does not undo its timeout, although it sends
/// new octets (RFC 5682 §2.1 step 2b). Its next retransmissions are go-back-N.
#[test]
fn one_d_sack_block_undoes_one_timeout_but_not_three_in_a_row() {
    let reported = (Some(Cause::SackRecovery), CauseRule::Reported);
    let back = (Some(Cause::GoBackN), CauseRule::AfterTimeout);
    for (timeouts, next) in [(&[401.0][..], reported), (&[401.0, 1001.0, 2201.0], back)] {
        let mut talk = after_outage(timeouts);
        let last = timeouts[timeouts.len() - 1];
        talk.flight(last + 100.1, 4000, 2).sack(last + 200.2, 1000, &[(4000, 5000)]);
        talk.data(last + 200.3, 1000);
        let found = talk.found();
        let told = found.last().unwrap();
        assert_eq!((told.cause.get(), told.rule), next, "{timeouts:?}");
    }
}

/// A D-SACK block reports the last retransmission. The capture does not show whether the original
/// or an earlier retransmission arrived before it.
#[test]
fn earlier_timeouts_get_no_verdict_if_a_report_covers_only_the_last_timeout() {
    let told: Vec<_> = after_outage(&[401.0, 1001.0, 2201.0])
        .found()
        .iter()
        .map(|one| (one.verdict, one.evidence))
        .collect();
    let unclear = (Verdict::Unknown, VerdictEvidence::None);
    assert_eq!(told, [unclear, unclear, (Verdict::Spurious, VerdictEvidence::DSack)]);
}

/// A capture beside the receiver. The round trip is 100 ms. The sender sends a flight of two
/// segments in each of ten round trips. Then the path loses `lost` packets. `after` has the
/// segments that come after that: for each segment, its time in milliseconds and its first octet.
/// The receiver acknowledges each segment at once, up to the first missing octet.
fn after_losses(lost: u16, after: &[(f64, u32)]) -> Talk {
    let mut talk = at_receiver();
    for round in 0..10 {
        let at = 100.1 + 100.0 * f64::from(round);
        talk.flight(at, 2000 * round, 2).ack(at + 0.01, 2000 * (round + 1));
    }
    talk.id += lost;
    let mut arrived: Vec<_> = (0..20).map(|n| 1000 * n).collect();
    for (at, first) in after {
        talk.data(*at, *first);
        arrived.push(*first);
        let next = (0..).map(|n| 1000 * n).find(|next| !arrived.contains(next)).unwrap();
        talk.ack(at + 0.01, next);
    }
    talk
}

/// The milliseconds that the connection waited for a timer, and for the applications.
fn waited(talk: &Talk) -> [u64; 2] {
    let spent = talk.explained().connections.at(0).spent;
    let ms = |what| (spent.of(what).as_nanos() + 500_000) / 1_000_000;
    [WaitingFor::Timeout, WaitingFor::Application].map(ms)
}

/// After a silence, one segment comes, and its IP identification shows that packets before it were
/// lost. When this segment is acknowledged, the sender sends new octets, as F-RTO does (RFC 5682
/// §2.1 step 2b). Then the sender sends the lost octets again.
#[test]
fn a_lone_segment_after_lost_packets_shows_a_timeout() {
    let hole = [(2000.0, 20_000), (2100.0, 23_000), (2200.0, 21_000), (2200.1, 22_000)];
    let talk = after_losses(9, &hole);
    assert_eq!(waited(&talk), [900, 0]);
    assert_eq!(talk.causes(), [Some(Cause::GoBackN); 2]);
    let in_order = [(2000.0, 20_000), (2100.0, 21_000)];
    assert_eq!(
        waited(&after_losses(9, &in_order)),
        [900, 0],
        "the repair begins at once, without new octets"
    );
}

/// In each case of this test, the application may have paused.
#[test]
fn a_silence_without_signs_of_a_timeout_is_a_pause_of_the_application() {
    let waited = |lost, after: &[_]| waited(&after_losses(lost, after));
    let hole = [(2000.0, 20_000), (2100.0, 23_000)];
    assert_eq!(
        waited(0, &hole),
        [0, 900],
        "no identification is missing, so nothing was lost in the silence"
    );
    assert_eq!(waited(3, &hole), [0, 900], "too few identifications are missing");
    let two = [(2000.0, 20_000), (2000.1, 21_000), (2100.0, 24_000)];
    assert_eq!(waited(9, &two), [0, 900], "the segment is not alone");
    assert_eq!(
        waited(9, &[(2000.0, 20_000), (2130.0, 23_000)]),
        [0, 900 + 30],
        "the next segment is too late"
    );
    assert_eq!(
        waited(9, &[(1180.0, 20_000), (1280.0, 23_000)]),
        [0, 80],
        "the silence is too short"
    );
    assert_eq!(
        waited(9, &[(2000.0, 22_000), (2100.0, 25_000)]),
        [0, 900],
        "a hole before the segment"
    );
}

/// Each keep-alive of the sender has an identification. The keep-alives were captured, so nothing
/// was lost.
#[test]
fn captured_packets_without_data_do_not_count_as_lost() {
    let mut talk = after_losses(0, &[]);
    for n in 0..9 {
        let (seq, flags) = (talk.wire(19_999), Flags::ACK);
        let keep_alive = Segment { seq, ack: 1, flags, ..Segment::default() };
        talk.packet(Side::From, 1400.0 + 50.0 * f64::from(n), keep_alive);
    }
    talk.data(2000.0, 20_000).ack(2000.01, 21_000).data(2100.0, 23_000);
    assert_eq!(waited(&talk)[0], 0);
}

/// The application paused after its first flight. It sent the next flight after the pause, and most
/// of this flight was lost before the capture. The capture does not show when the pause ended, so
/// the whole silence counts as a pause.
#[test]
fn a_pause_after_a_single_flight_is_a_pause_of_the_application() {
    let mut talk = at_receiver();
    talk.flight(200.0, 0, 4).ack(200.01, 4000);
    talk.id += 9;
    talk.data(2100.0, 4000).ack(2100.01, 5000).data(2200.0, 7000);
    assert_eq!(waited(&talk)[0], 0);
}

/// The round trip from the capture to the receiver takes 1 ms. The round trip from the capture to
/// the sender takes `near` ms. A segment comes each millisecond. Each segment waited in a queue
/// before the capture, so it echoes the timestamp of the acknowledgment that came `queued` ms
/// before the segment. The 41st segment is lost before the capture. Its retransmission comes at the
/// millisecond `at`. The segments that were sent between the 90th segment and this retransmission
/// are also lost before the capture. Returns the causes of the retransmissions.
fn lost_before_the_capture(near: f64, queued: u32, at: u32) -> Vec<Option<Cause>> {
    let mut talk = Talk::midway();
    talk.handshake(true, 1.0, near);
    let stamped = |at: u32, ecr: u32| Timestamps { val: 5000 + at, ecr };
    let flags = Flags::ACK;
    for n in (0..90_u32).filter(|n| *n != 40) {
        let sent_at = 100 + n;
        let mut segment =
            Segment { seq: talk.wire(n * 1000), len: 1000, ack: 1, flags, ..Segment::default() };
        segment.set_timestamps(stamped(sent_at - queued, 9000 + sent_at - queued));
        talk.packet(Side::From, f64::from(sent_at), segment);
        let mut answer = Segment {
            seq: 1,
            ack: talk.wire(1000 * if n < 40 { n + 1 } else { 40 }),
            flags,
            ..Segment::default()
        };
        answer.set_timestamps(Timestamps { val: 9000 + sent_at + 1, ecr: 5000 + sent_at - queued });
        if n > 40 {
            let mut blocks = SackBlocks::default();
            let (left, right) = (talk.wire(41_000), talk.wire(1000 * (n + 1)));
            blocks.add(SackBlock { left, right });
            answer.set_sack(&blocks);
        }
        talk.packet(Side::To, f64::from(sent_at) + 1.0, answer);
    }
    let mut again =
        Segment { seq: talk.wire(40_000), len: 1000, ack: 1, flags, ..Segment::default() };
    again.set_timestamps(stamped(at - queued, 9000 + at - queued));
    talk.packet(Side::From, f64::from(at), again);
    talk.direction().retransmissions.iter().map(|one| one.cause.get()).collect()
}

#[test]
fn if_a_queue_before_the_capture_explains_a_silence_there_was_no_timeout() {
    let between_the_ends = |queued| lost_before_the_capture(1.0, queued, 208);
    assert_eq!(between_the_ends(30), [Some(Cause::SackRecovery)]);
    assert_eq!(between_the_ends(1), [Some(Cause::Rto)], "no queue before the capture");
    let at_the_receiver = |queued| lost_before_the_capture(20.0, queued, 254);
    assert_eq!(at_the_receiver(60), [Some(Cause::SackRecovery)]);
    assert_eq!(at_the_receiver(20), [Some(Cause::Rto)], "no queue before the capture");
}

/// Linux undoes a timeout if D-SACK blocks report all its retransmissions (`tcp_try_undo_loss`, RFC
/// 3708 §3). It forgets then which octets were lost, and RACK finds them again.
#[test]
fn linux_does_not_go_back_if_all_its_retransmissions_were_duplicates() {
    let mut talk = Talk::opened(true, false);
    talk.data(101.0, 0).ack(201.0, 1000).flight(201.1, 1000, 6).data(801.0, 1000);
    talk.sack(901.0, 2000, &[(1000, 2000)]).flight(901.1, 2000, 2);
    let causes = talk.causes();
    assert_eq!(causes[..2], [Some(Cause::Rto), Some(Cause::Rack)]);
    assert!(matches!(causes[2], Some(Cause::Rack | Cause::SackRecovery)), "{causes:?}");
}
