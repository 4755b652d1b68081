//! Verdicts at the sender: duplicate SACKs, echoed time stamps, and the time of acknowledgments.

use crate::ids::Side;
use crate::segment::{Flags, Segment, Timestamps};

use super::super::{Verdict, VerdictEvidence};
use super::causes::{Talk, first_of_ten_lost};

/// The verdict on the last retransmission of a talk, and the evidence for it.
pub(super) fn verdict(talk: &Talk) -> (Verdict, VerdictEvidence) {
    let last = *talk.found().last().unwrap();
    (last.verdict, last.evidence)
}

/// RFC 2883 §4.
#[test]
fn a_duplicate_that_the_receiver_reports_was_spurious() {
    let mut talk = first_of_ten_lost(true);
    talk.sack(305.0, 10_000, &[(0, 1000)]);
    assert_eq!(verdict(&talk), (Verdict::Spurious, VerdictEvidence::DSack));
    let mut talk = first_of_ten_lost(true);
    talk.ack(305.0, 10_000);
    assert_eq!(verdict(&talk), (Verdict::Needed, VerdictEvidence::NoDSack));
}

/// RFC 3522 §3.2.
#[test]
fn an_echo_tells_which_copy_arrived() {
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

#[test]
fn an_ack_sooner_than_any_round_trip_answers_the_original() {
    let mut talk = Talk::opened(false, false);
    talk.flight(101.0, 0, 4).data(401.0, 0).ack(430.0, 1000);
    assert_eq!(verdict(&talk), (Verdict::Spurious, VerdictEvidence::Timing));
}
