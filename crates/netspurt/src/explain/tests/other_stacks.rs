//! Causes and verdicts where a sender or a receiver does otherwise than Linux.

use crate::segment::Cause;

use super::super::{CauseRule, Verdict, VerdictEvidence};
use super::causes::{Talk, first_of_ten_lost, verdict};

const BACK: Option<Cause> = Some(Cause::GoBackN);

/// RFC 6675 §4: a sender that uses SACK leaves out what was reported.
#[test]
fn what_was_reported_before_is_sent_again_only_by_a_sender_that_goes_back() {
    let mut talk = first_of_ten_lost(true);
    talk.data(204.2, 1000).data(204.3, 2000).data(204.4, 5000);
    assert_eq!(talk.causes(), [Some(Cause::SackRecovery), BACK, BACK, BACK]);
    let found = talk.found();
    assert_eq!(found[1].rule, CauseRule::ReportedBefore);
    for one in &found[1..3] {
        assert_eq!((one.verdict, one.evidence), (Verdict::Spurious, VerdictEvidence::Reported));
    }
    assert_ne!(found[3].evidence, VerdictEvidence::Reported, "nothing had reported it");
}

#[test]
fn holes_sent_again_before_what_was_reported_belong_to_the_same_way_back() {
    // The second and the third segment are not reported, the fourth is.
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

/// RFC 2018 §8: a receiver may discard what it reported, and then acknowledges only what is before.
#[test]
fn what_the_receiver_discarded_counts_as_not_reported() {
    let mut talk = first_of_ten_lost(true);
    talk.ack(304.2, 1000).ack(305.2, 1000).data(600.0, 1000);
    assert_ne!(verdict(&talk).1, VerdictEvidence::Reported);
}
