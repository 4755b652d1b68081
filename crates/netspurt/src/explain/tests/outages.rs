//! Outages in both directions: the receiver got the first segment, but its ACK was lost.

use crate::ids::Side;
use crate::segment::{Cause, Flags, SackBlock, SackBlocks, Segment, Timestamps};

use super::super::{CauseRule, Verdict, VerdictEvidence};
use super::causes::Talk;

/// Four segments, of which the first arrives. An outage destroys the other three, the ACK, and all
/// retransmissions except the last. `timeouts` has the times of the retransmissions. The last one
/// is reported by a D-SACK block. The ACK echoes the time stamp of this last retransmission: a
/// receiver echoes the newest time stamp of a segment that begins at or below its last ACK (RFC
/// 7323 §4.3).
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

/// RFC 3708 §3: D-SACK blocks undo a timeout only if they report all retransmissions. Here one of
/// three is reported. So the sender stays in the phase *loss* although it sends new octets (RFC
/// 5682 §2.1 step 2b), and the repairs are go-back-N.
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

/// The capture does not show whether the original or an earlier retransmission arrived before the
/// reported one.
#[test]
fn if_only_the_last_of_several_timeouts_is_reported_the_others_have_no_verdict() {
    let told: Vec<_> = after_outage(&[401.0, 1001.0, 2201.0])
        .found()
        .iter()
        .map(|one| (one.verdict, one.evidence))
        .collect();
    let unclear = (Verdict::Unknown, VerdictEvidence::None);
    assert_eq!(told, [unclear, unclear, (Verdict::Spurious, VerdictEvidence::DSack)]);
}
