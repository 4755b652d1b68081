//! What a capture shows about a sender, so far and after its connection has ended. A direction has
//! *trouble* if something unusual was seen, such as octets that were missing or sent again.

use crate::segment::Cause;
use crate::units::{Duration, Time};

use super::super::infer::{Habits, InferenceReport, Traits};
use super::super::retransmission::{ExplainedRetransmission, Verdict, VerdictEvidence};
use super::Sender;
use super::last_acked::LastAcked;

impl Sender {
    /// Returns the sender of a connection that was packed to save memory, and then had another
    /// packet. `earlier` is what the sender did before the connection was packed.
    pub fn resumed(last_acked: LastAcked, earlier: Option<Box<Habits>>) -> Self {
        Self { sent_at: last_acked.sent_at(), last_acked, earlier, ..Self::default() }
    }

    /// The observed behaviour of sender, receiver and path, including the behaviour before the
    /// connection was packed. `None` if there was no trouble.
    pub fn habits(&self) -> Option<Box<Habits>> {
        let Some(trouble) = &self.trouble else { return self.earlier.clone() };
        let own = Habits {
            vantage: self.path.vantage(),
            near: self.path.near_known(),
            far: self.path.far(),
            timer_grid: None,
            stamps: self.order.stamp_ticks(),
            acks: self.acks,
            traits: Traits { relabels: self.labels.change_at_timeouts(), ..trouble.machine.traits },
            late: trouble.late,
            late_in_acks: trouble.late_in_acks,
            late_or_again: self.report().map_or(0, |report| {
                trouble.found.iter().filter(|one| report.may_be_late(one)).count() as u64
            }),
            copies: trouble.copies,
            uncaptured_bytes: trouble.uncaptured_bytes,
            reports_duplicates: trouble.reports_duplicates,
        };
        Some(Box::new(self.earlier.as_ref().map_or(own, |earlier| earlier.and_later(&own))))
    }

    /// The number of copies of segments that the network or the capture made.
    #[inline]
    pub fn copies(&self) -> u64 {
        self.trouble.as_ref().map_or(0, |trouble| trouble.copies)
    }

    /// Counts a copy: a segment that is in the capture a second time.
    pub fn copied(&mut self) {
        self.trouble.get_or_insert_default().copies += 1;
    }

    /// The latest retransmission. Later packets may change its cause and its verdict (needed or
    /// spurious).
    pub fn latest(&self) -> Option<&ExplainedRetransmission> {
        self.trouble.as_ref()?.found.last()
    }

    /// The facts about the direction that affect the causes and verdicts of all its
    /// retransmissions. `None` if there was no trouble.
    fn report(&self) -> Option<InferenceReport> {
        let trouble = self.trouble.as_ref()?;
        Some(InferenceReport {
            vantage: self.path.vantage().0,
            traits: trouble.machine.traits,
            sack: self.sack.known() == Some(true),
            reports_duplicates: trouble.reports_duplicates,
            hides_duplicates: trouble.hides_duplicates(),
            spurious_share: trouble.spurious_share(self.acks.covered),
            far: self.path.far(),
            far_samples: self.path.far_samples(),
            relabels: self.labels.change_at_timeouts(),
            unanswered_until: (self.heard.answered_at == Time::ZERO).then_some(self.fresh_at),
            reorders: trouble.late.packets > 0,
        })
    }

    /// Returns all retransmissions in order, without segments that may be late originals. The
    /// connection or the capture must have ended.
    pub fn finish(self) -> Vec<ExplainedRetransmission> {
        let Some(report) = self.report() else { return Vec::new() };
        let mut found = self.trouble.map(|trouble| trouble.found).unwrap_or_default();
        found.retain(|one| !report.may_be_late(one));
        note_late_answers(&mut found);
        found.iter_mut().for_each(|one| report.finish(one));
        found
    }
}

/// Notes that a verdict is not known if the first answer to a retransmission was probably lost.
///
/// A receiver answers at once if it lacks octets or gets octets twice. Otherwise it delays an ACK
/// by some 200 ms at most. If the first ACK of a retransmission came more than this time after the
/// last transmission of its octets, an earlier ACK was probably lost. Any D-SACK block in this
/// earlier ACK was lost with it. Then neither the late ACK nor the absence of D-SACK blocks shows
/// that the octets were missing.
fn note_late_answers(found: &mut [ExplainedRetransmission]) {
    /// The maximum time by which receivers delay an ACK, and a margin.
    const DELAYED: Duration = Duration::from_millis(250);
    for place in 0..found.len() {
        let one = found[place];
        let timed = matches!(one.cause.get(), Some(Cause::Rto | Cause::Tlp));
        let told = one.verdict == Verdict::Needed && one.evidence == VerdictEvidence::None;
        if !timed || !told || one.srtt.is_zero() {
            continue;
        }
        let mut later = found[place..].iter().take(Sender::LATEST);
        let last = later.rfind(|other| (other.left..other.right).contains(&one.left));
        let late = last.is_some_and(|last| last.answered_in > one.srtt * 3 / 2 + DELAYED);
        if late {
            found[place].verdict = Verdict::Unknown;
        }
    }
}
