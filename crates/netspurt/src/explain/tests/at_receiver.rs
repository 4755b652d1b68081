//! Causes at the receiver, where a timeout may have come before.

use crate::segment::Cause;

use super::causes::at_receiver;

#[test]
fn what_follows_a_timeout_at_the_receiver_goes_back_although_all_of_it_had_arrived() {
    let mut talk = at_receiver();
    talk.flight(1000.0, 0, 10).ack(1000.01, 10_000);
    for n in 0..3 {
        talk.data(2000.0 + 1.2 * f64::from(n), n * 1000);
    }
    let found = talk.way().retransmissions;
    let causes: Vec<_> = found.iter().map(|one| one.cause.get()).collect();
    assert_eq!(causes, [Some(Cause::Rto), Some(Cause::GoBackN), Some(Cause::GoBackN)]);
}

/// Ten segments, a silence, `woken` segments, a round trip later two of which the octets before are
/// missing, and another one later what is missing. Returns its causes.
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
    talk.way().retransmissions.iter().map(|one| one.cause.get()).collect()
}

#[test]
fn at_the_receiver_a_repair_soon_after_a_lone_segment_may_follow_a_timeout() {
    assert_eq!(repair_after_silence(1), [None, None]);
    assert_eq!(repair_after_silence(2), [Some(Cause::SackRecovery), Some(Cause::SackRecovery)]);
}
