//! Outages: those in both directions, in which the ACK of a received segment was lost, and those
//! before the capture point.

use crate::ids::Side;
use crate::segment::{Cause, Flags, SackBlock, SackBlocks, Segment, Timestamps};

use super::super::{CauseRule, EndedConnection, Verdict, VerdictEvidence, WaitingFor};
use super::causes::Talk;
use super::{data, explained};

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

/// A sender that sends a segment in each round trip of 20 ms, captured beside the receiver. Then the
/// path loses all data before the capture. `after` has the segments that come after that: for each
/// one the milliseconds since the last segment before the loss, and its first octet. The receiver
/// acknowledges each segment at once.
struct LostBefore<'a> {
    after: &'a [(u64, u32)],
}

impl LostBefore<'_> {
    fn explained(&self) -> EndedConnection {
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        let syn_ack = Segment { flags: Flags::SYN.with(Flags::ACK), ack: 1, ..Segment::default() };
        let ack =
            |ack| Segment { flags: Flags::ACK, seq: 1, ack, window: 50_000, ..Segment::default() };
        let mut packets = vec![(1, 0, syn), (0, 20, syn_ack), (1, 20, ack(1))];
        let before = (0..10).map(|n| (40 + 20 * n, 1000 * n as u32));
        let after = self.after.iter().map(|(at, first)| (220 + at, *first));
        let mut arrived = Vec::new();
        for (at, first) in before.chain(after) {
            packets.push((0, at, data(1 + first, 1000)));
            arrived.push(first);
            let next = (0..).map(|n| 1000 * n).find(|next| !arrived.contains(next)).unwrap();
            packets.push((1, at, ack(1 + next)));
        }
        explained(&packets).connections.at(0)
    }

    /// The milliseconds that the connection waited for a timer, and for the applications.
    fn waited(&self) -> [u64; 2] {
        let spent = self.explained().spent;
        let ms = |what| spent.of(what).as_nanos() / 1_000_000;
        [ms(WaitingFor::Timeout), ms(WaitingFor::Application)]
    }

    /// The causes of the sender's retransmissions that the capture shows.
    fn causes(&self) -> Vec<Option<Cause>> {
        let connection = self.explained();
        let direction = connection.directions[Side::To.index()].as_ref().unwrap();
        direction.retransmissions.iter().map(|again| again.cause.get()).collect()
    }
}

/// After the silence one segment comes. Its acknowledgment makes the sender send new octets, as
/// F-RTO does (RFC 5682 §2.1 step 2b). So the octets between were sent before the silence, and a
/// timeout ended it. The sender then sends the lost octets again.
#[test]
fn a_lone_segment_and_then_a_hole_show_a_timeout_whose_losses_the_capture_missed() {
    let outage =
        LostBefore { after: &[(1000, 10_000), (1020, 13_000), (1040, 11_000), (1060, 12_000)] };
    assert_eq!(outage.waited(), [980, 0]);
    assert_eq!(outage.causes(), [Some(Cause::GoBackN); 2]);
}

/// In each of these cases the application may have paused.
#[test]
fn a_silence_without_these_signs_is_a_pause_of_the_application() {
    let waited = |after| LostBefore { after }.waited();
    assert_eq!(waited(&[(1000, 10_000), (1020, 11_000)]), [0, 980], "no hole");
    assert_eq!(waited(&[(1000, 10_000), (1000, 11_000), (1020, 14_000)]), [0, 980], "not alone");
    assert_eq!(waited(&[(1000, 10_000), (1200, 13_000)]), [0, 980 + 180], "the hole comes late");
    assert_eq!(waited(&[(210, 10_000), (230, 13_000)]), [0, 190], "too short for a timer");
    assert_eq!(waited(&[(1000, 12_000), (1020, 15_000)]), [0, 980], "a hole before the segment");
}
