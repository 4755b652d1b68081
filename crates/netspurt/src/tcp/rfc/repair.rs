//! The phases of loss recovery, and the state of the repair of a loss.

use crate::packed::{PackedValue, packed, packed_variants};
use crate::segment::Cause;

use super::config::Recovery;
use super::prr::{Prr, PrrAck};

/// The sender's phase of loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No loss is suspected.
    #[default]
    Open,
    /// A loss is suspected but not found, usually because segments arrived out of order.
    Disorder,
    /// cwnd is being reduced because of a congestion mark, without a loss (RFC 3168 §6.1.2).
    Cwr,
    /// A loss found by acknowledgments is being repaired.
    Recovery,
    /// Outstanding octets count as lost after a timeout or after Tahoe's fast retransmit. Usually
    /// all outstanding octets count as lost. With RACK, only the first outstanding segment and the
    /// segments that were sent long enough ago count as lost.
    Loss,
}

impl PackedValue for Cause {
    fn put(&self, into: &mut Vec<u8>) {
        (*self as u64).put(into);
    }

    fn get(from: &mut &[u8]) -> Self {
        Cause::ALL[usize::get(from)]
    }
}

packed_variants!(Phase { Open, Disorder, Cwr, Recovery, Loss });

impl Phase {
    /// Whether a repair is in progress.
    pub(super) fn is_repairing(self) -> bool {
        matches!(self, Phase::Recovery | Phase::Loss)
    }

    /// Whether cwnd is reduced step by step in this phase, if proportional rate reduction is on.
    pub(super) fn is_reducing(self) -> bool {
        matches!(self, Phase::Recovery | Phase::Cwr)
    }

    /// True if neither a repair nor a reduction of cwnd is in progress.
    pub(super) fn is_at_ease(self) -> bool {
        matches!(self, Phase::Open | Phase::Disorder)
    }
}

/// The state of repair.
#[derive(Debug, Default)]
pub(super) struct Repair {
    pub(super) phase: Phase,
    /// The end of the octets that were outstanding when this phase began (`RecoveryPoint`). If a
    /// recovery continues a cut for a mark (a reduction of cwnd because of a congestion mark), this
    /// is the end of the octets that were outstanding when the cut began.
    pub(super) point: u64,
    /// The end of the octets that were outstanding when the last repair began. The value is kept
    /// after the end of that repair. Without SACK, duplicate ACKs below this octet start no new
    /// repair (RFC 6582 §3.2, `recover`), except in Reno.
    pub(super) recover: u64,
    prr: Prr,
    /// Whether one retransmission is due even if cwnd has no room.
    pub(super) forced: bool,
    /// The cause of the first retransmission after a timeout or in Tahoe's fast retransmit, until
    /// this retransmission is sent.
    head_cause: Option<Cause>,
    /// Whether a partial ACK has already restarted the timer (RFC 6582 §3.2 step 3).
    partial_seen: bool,
    /// Whether the rescue retransmission of RFC 6675 was sent. Each recovery has at most one.
    pub(super) rescued: bool,
    /// Whether the present ACK has already set cwnd, because it ended or undid a repair.
    pub(super) settled: bool,
    /// True if the sender retransmits no lost segment on the present ACK. The ACK showed one of two
    /// things: a segment was late and not lost, or the receiver may have discarded octets that it
    /// had reported.
    pub(super) pauses: bool,
}

packed!(Repair {
    phase,
    point,
    recover,
    prr,
    forced,
    head_cause,
    partial_seen,
    rescued,
    settled,
    pauses
});

impl Repair {
    /// Notes that the connection is open. From the first octet of data on, duplicate ACKs can start
    /// a repair.
    pub(super) fn open(&mut self) {
        self.recover = 1;
    }

    /// Enters Recovery, because acknowledgments showed a loss. Octets up to `nxt` are outstanding.
    pub(super) fn begin_recovery(&mut self, nxt: u64) {
        (self.phase, self.point, self.recover) = (Phase::Recovery, nxt, nxt);
        self.forced = true;
        self.partial_seen = false;
        self.rescued = false;
    }

    /// Enters Loss after a timeout or after Tahoe's fast retransmit. Octets up to `nxt` are
    /// outstanding. The first outstanding segment is retransmitted with this `cause`.
    pub(super) fn begin_loss(&mut self, nxt: u64, cause: Cause) {
        (self.phase, self.point, self.recover) = (Phase::Loss, nxt, nxt);
        self.forced = true;
        self.head_cause = Some(cause);
    }

    /// Enters Cwr, because cwnd is cut for a mark. Octets up to `nxt` are outstanding.
    pub(super) fn begin_cwr(&mut self, nxt: u64) {
        (self.phase, self.point) = (Phase::Cwr, nxt);
    }

    /// Begins proportional rate reduction. `base` is RFC 9937's `RecoverFS`, in octets.
    pub(super) fn begin_reduction(&mut self, base: u64) {
        self.prr.begin(base);
    }

    /// Enters Recovery, because a loss was found while cwnd is cut for a mark. Octets up to `nxt`
    /// are outstanding. The cut continues, and ends where it would have ended without the loss.
    pub(super) fn go_on_with_recovery(&mut self, nxt: u64) {
        let point = self.point;
        self.begin_recovery(nxt);
        (self.point, self.forced) = (point, self.prr.owes_first());
    }

    /// The cwnd that proportional rate reduction allows after an ACK.
    pub(super) fn reduce(&mut self, ack: &PrrAck) -> u64 {
        self.prr.on_ack(ack)
    }

    /// Notes that a segment was sent. For cwnd, the segment counts as `octets`. The flag `reduces`
    /// says whether proportional rate reduction is on. If it is on, only the first segment of a
    /// recovery may be sent without room in cwnd (RFC 9937 §6.2). This segment may be a
    /// retransmission or new data.
    #[inline]
    pub(super) fn on_departed(&mut self, octets: u64, reduces: bool) {
        self.prr.sent(octets);
        self.forced &= !(reduces && self.phase == Phase::Recovery);
    }

    /// Sets the phase outside a repair: Disorder if the flag `disorder` is true, otherwise Open.
    /// The phase Cwr does not change.
    pub(super) fn note_disorder(&mut self, disorder: bool) {
        if self.phase != Phase::Cwr {
            self.phase = if disorder { Phase::Disorder } else { Phase::Open };
        }
    }

    /// Whether all octets that were outstanding at the beginning of this phase are acknowledged. If
    /// `beyond` is true, one more octet must also be acknowledged. False in Open and in Disorder,
    /// which do not end at a certain octet. Disorder lasts while duplicate ACKs arrive.
    pub(super) fn is_complete(&self, una: u64, beyond: bool) -> bool {
        match self.phase {
            Phase::Open | Phase::Disorder => false,
            Phase::Cwr | Phase::Recovery | Phase::Loss => una >= self.point + u64::from(beyond),
        }
    }

    /// Ends the phase, begins the phase `next`, and returns the phase that ended. No retransmission
    /// is due any more.
    pub(super) fn leave(&mut self, next: Phase) -> Phase {
        self.forced = false;
        self.head_cause = None;
        core::mem::replace(&mut self.phase, next)
    }

    /// Notes a partial ACK, which shows the next hole (a range of octets that has not arrived). If
    /// `at_once` is true, the segment at this hole is retransmitted even if cwnd has no room (RFC
    /// 6582 §3.2 step 3).
    pub(super) fn on_partial_ack(&mut self, at_once: bool) {
        self.forced |= at_once;
        self.partial_seen = true;
    }

    /// True if an ACK of new octets must not restart the timer. If holes are found by partial ACKs,
    /// only the first partial ACK of a recovery restarts the timer (RFC 6582 §3.2 step 3).
    pub(super) fn keeps_timer(&self, una: u64, by_partial_acks: bool) -> bool {
        let Repair { phase, partial_seen, point, .. } = *self;
        phase == Phase::Recovery && by_partial_acks && partial_seen && una < point
    }

    /// Whether an earlier cut of cwnd is still in progress at a timeout. `una` is the oldest octet
    /// that is not acknowledged.
    pub(super) fn is_cutting(&self, una: u64) -> bool {
        una < self.point && self.phase.is_reducing()
    }

    /// Returns the cause of a retransmission. The first retransmission after
    /// [`begin_loss`](Self::begin_loss) has the cause that was passed to that method. Any later
    /// retransmission has the `cause` with which its segment was marked as lost, or go-back-N if
    /// the segment was not marked.
    pub(super) fn take_cause(&mut self, cause: Option<Cause>) -> Cause {
        self.head_cause.take().or(cause).unwrap_or(Cause::GoBackN)
    }
}

/// Whether holes are found by partial ACKs.
pub(super) fn by_partial_acks(recovery: Recovery, uses_sack: bool) -> bool {
    !uses_sack && recovery != Recovery::Reno
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 6582 §3.2 step 3: the first partial ACK restarts the retransmission timer.
    #[test]
    fn only_the_first_partial_ack_of_a_recovery_restarts_the_timer() {
        let mut repair = Repair::default();
        repair.begin_recovery(9000);
        assert!(!repair.keeps_timer(3000, true));
        repair.on_partial_ack(true);
        assert!(repair.keeps_timer(3000, true) && !repair.keeps_timer(3000, false));
        assert!(!repair.keeps_timer(9000, true), "a full ACK restarts the timer");
    }

    #[test]
    fn a_cut_is_complete_when_all_data_that_was_outstanding_is_acknowledged() {
        let mut repair = Repair::default();
        let complete_at = |repair: &Repair, una| repair.is_complete(una, false);
        assert!(!complete_at(&repair, 1));
        repair.begin_cwr(5000);
        assert!(repair.is_cutting(4999) && !complete_at(&repair, 4999));
        assert!(complete_at(&repair, 5000) && !repair.is_complete(5000, true));
        assert!(repair.is_complete(5001, true));
        assert_eq!((repair.leave(Phase::Open), repair.phase), (Phase::Cwr, Phase::Open));
        repair.note_disorder(true);
        assert!(!complete_at(&repair, 9000), "Disorder lasts while duplicate ACKs arrive");
    }

    /// RFC 9937 §6.2: a fast retransmit is forced only while `prr_out` is zero.
    #[test]
    fn new_data_takes_the_place_of_the_retransmission_that_a_recovery_forces() {
        for (reduces, forced) in [(true, false), (false, true)] {
            let mut repair = Repair::default();
            repair.begin_recovery(9000);
            repair.on_departed(1000, reduces);
            assert_eq!(repair.forced, forced, "{reduces}");
        }
    }

    #[test]
    fn after_a_timeout_only_the_first_retransmission_has_the_cause_rto() {
        let mut repair = Repair::default();
        repair.begin_loss(9000, Cause::Rto);
        assert_eq!(repair.take_cause(Some(Cause::GoBackN)), Cause::Rto);
        assert_eq!(repair.take_cause(Some(Cause::Rack)), Cause::Rack);
        assert_eq!(repair.take_cause(None), Cause::GoBackN);
    }
}
