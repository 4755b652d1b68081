//! Completes the causes of retransmissions, and the verdicts (needed or spurious), when their
//! connection has ended.

use crate::segment::Cause;
use crate::units::{Duration, Time};

use super::super::retransmission::{ExplainedRetransmission, Verdict, VerdictEvidence};
use super::super::rule::CauseRule;
use super::path::Vantage;
use super::traits::Traits;

/// The facts about a direction that affect the causes and verdicts of all its retransmissions.
#[derive(Clone, Copy, Debug)]
pub struct InferenceReport {
    /// Where the capture was taken.
    pub vantage: Vantage,
    /// The behaviour of the sender.
    pub traits: Traits,
    /// Whether SACK is used.
    pub sack: bool,
    /// Whether the receiver was seen to send D-SACK blocks, which report duplicates.
    pub reports_duplicates: bool,
    /// Whether several retransmissions were spurious, and the receiver reported none of them by a
    /// D-SACK block.
    pub hides_duplicates: bool,
    /// The probability that a D-SACK block about a retransmission shows that the retransmission was
    /// spurious. It is 1 unless the network was seen to duplicate packets.
    pub spurious_share: f32,
    /// Whether the path was seen to reorder packets.
    pub reorders: bool,
    /// The shortest round trip between the capture and the receiver in the whole connection.
    pub far: Option<Duration>,
    /// The number of round trips between the capture and the receiver that were measured.
    pub far_samples: u32,
    /// Whether the sender was seen to change its flow label when a retransmission timer fired.
    pub relabels: bool,
    /// If no acknowledgment was captured, the time when new octets were sent last. Otherwise
    /// `None`.
    pub unanswered_until: Option<Time>,
}

impl InferenceReport {
    /// Causes with less confidence than `LEAST` are reported as unknown.
    const LEAST: f32 = 0.5;
    /// Verdicts with less confidence than `LEAST_VERDICT` are reported as unknown. There are only
    /// two verdicts, so a confidence of 0.5 would be a guess.
    const LEAST_VERDICT: f32 = 0.6;
    /// The confidence of evidence that is certain.
    const CERTAIN: f32 = 0.99;
    /// The confidence of a verdict from a capture at the receiver, which shows what arrived there.
    const AT_RECEIVER: f32 = 0.985;
    /// If at least this many round trips were measured, the shortest of them counts as a lower
    /// bound for all round trips. If round trips vary at random, the next one is shorter than `n`
    /// others with a probability of 1 / (`n` + 1). So with fewer round trips, an acknowledgment
    /// counts as too early to answer a retransmission only if it comes in less than a quarter of
    /// the shortest round trip.
    const FAR_SAMPLES: u32 = 8;

    /// Completes the cause and the verdict of the retransmission `one`.
    pub fn finish(&self, one: &mut ExplainedRetransmission) {
        self.finish_cause(one);
        self.finish_verdict(one);
    }

    fn finish_cause(&self, one: &mut ExplainedRetransmission) {
        if self.relabels {
            one.tell_by_label();
        }
        if let Some(cause) = self.traits.lone()
            && (one.rule == CauseRule::LoneByTime
                || one.rule == CauseRule::LoneBySyn && cause == Cause::Tlp)
        {
            (one.cause, one.rule) = (Some(cause).into(), CauseRule::LoneByHabit);
        }
        let at_receiver = match self.vantage {
            Vantage::Sender | Vantage::Middle => false,
            Vantage::Receiver => true,
            // If the capture had been taken beside the sender, it would have the original.
            Vantage::Unknown => one.original_missing,
        };
        one.cause_confidence = one.rule.confidence(at_receiver);
        if self.is_hidden(one) {
            one.cause_confidence = 0.0;
        }
        if one.cause_confidence < Self::LEAST {
            one.cause = None.into();
            one.cause_confidence = 0.0;
        }
    }

    /// Whether the capture cannot show the cause. This is true in four cases:
    /// * The capture has no acknowledgments, but the sender must have got some, because it sent new
    ///   octets later. A SYN has a known cause even in this case.
    /// * The capture was taken at the receiver, and a timeout may have begun the series of
    ///   retransmissions to which the retransmission `one` belongs.
    /// * The capture was taken at the receiver, the connection does not use SACK, and a fast
    ///   recovery sent octets that had arrived.
    /// * A timeout seems to have begun the repair, but the pause before it may have been a round
    ///   trip, because the capture does not show how long a round trip takes.
    fn is_hidden(&self, one: &ExplainedRetransmission) -> bool {
        let went_on = self.unanswered_until.is_some_and(|until| one.at < until);
        if went_on && one.rule != CauseRule::Syn {
            return true;
        }
        let blind = !self.sack && !one.original_missing && one.rule == CauseRule::InRecovery;
        let by_pause = matches!(
            one.rule,
            CauseRule::Silence
                | CauseRule::HeadAgain
                | CauseRule::Backoff
                | CauseRule::AfterTimeout
                | CauseRule::InOrder
        );
        self.vantage == Vantage::Receiver && (one.maybe_after_timeout || blind)
            || one.pause_unclear && by_pause
    }

    /// Whether the retransmission `one` may be an original that was overtaken. This is possible if
    /// the path reorders packets, the capture was taken at the receiver, and no field of the packet
    /// shows the order of sending.
    pub fn may_be_late(&self, one: &ExplainedRetransmission) -> bool {
        let marked = matches!(one.rule, CauseRule::Syn | CauseRule::FlowLabel);
        let first_sighting = one.original_missing && one.unordered && !marked;
        first_sighting && self.reorders && self.vantage == Vantage::Receiver
    }

    fn finish_verdict(&self, one: &mut ExplainedRetransmission) {
        // The acknowledgment seemed too early to answer the retransmission. But perhaps only longer
        // round trips had been seen by then, for example because of a full queue. The shortest
        // round trip of the whole connection may be short enough for an answer to the
        // retransmission.
        if one.evidence == VerdictEvidence::Timing
            && let Some(far) = self.far
        {
            if one.answered_in >= far {
                (one.verdict, one.evidence) = (Verdict::Needed, VerdictEvidence::None);
            } else if self.far_samples < Self::FAR_SAMPLES && one.answered_in >= far / 4 {
                (one.verdict, one.evidence) = (Verdict::Unknown, VerdictEvidence::None);
            }
        }
        let by_block = one.evidence == VerdictEvidence::DSack;
        let told = one.evidence.is_certain()
            && !(by_block && self.spurious_share * Self::CERTAIN < Self::AT_RECEIVER);
        if self.vantage == Vantage::Receiver && !told {
            (one.verdict, one.evidence) = match one.original_late {
                false if one.original_missing => (Verdict::Needed, VerdictEvidence::AtReceiver),
                false if one.discarded => (Verdict::Needed, VerdictEvidence::Dropped),
                _ => (Verdict::Spurious, VerdictEvidence::AtReceiver),
            };
        }
        if one.verdict == Verdict::Needed
            && one.evidence == VerdictEvidence::None
            && self.sack
            && !self.hides_duplicates
            && one.rule != CauseRule::Syn
            && !one.bare_fin
        {
            one.evidence = VerdictEvidence::NoDSack;
        }
        one.verdict_confidence = self.verdict_confidence_of(one);
        if one.verdict_confidence < Self::LEAST_VERDICT {
            (one.verdict, one.verdict_confidence) = (Verdict::Unknown, 0.0);
        }
    }

    /// The probability that a verdict is right. The values were fitted to captures whose verdicts
    /// are known (`docs/captures.md`).
    fn verdict_confidence_of(&self, one: &ExplainedRetransmission) -> f32 {
        match (one.verdict, one.evidence) {
            (Verdict::Unknown, _) => 0.0,
            // If the network duplicates many packets, the block may report a copy that the network
            // made of a needed retransmission (RFC 2883 §5). So D-SACK blocks decide little then
            // (RFC 3708 §3).
            (_, VerdictEvidence::DSack) => Self::CERTAIN * self.spurious_share,
            (_, evidence) if evidence.is_certain() => Self::CERTAIN,
            (Verdict::Spurious, VerdictEvidence::Echo) => Self::CERTAIN,
            (_, VerdictEvidence::Echo) => 0.985,
            (_, VerdictEvidence::AtReceiver | VerdictEvidence::Dropped) => Self::AT_RECEIVER,
            (_, VerdictEvidence::Timing) => 0.97,
            (_, VerdictEvidence::NoDSack) => match one.cause.get() {
                Some(Cause::Rto) => 0.7,
                Some(Cause::Tlp) => 0.86,
                _ if self.reports_duplicates => 0.99,
                _ => 0.98,
            },
            (_, VerdictEvidence::Jump) => 0.98,
            (_, VerdictEvidence::DuplicateAck) => match one.cause.get() {
                Some(Cause::GoBackN) => 0.98,
                _ => 0.86,
            },
            // This receiver reports no duplicates, so the verdict *needed* is less certain. After a
            // timeout, it is not known whether data or ACKs were lost.
            (_, _) if self.hides_duplicates => match one.cause.get() {
                Some(Cause::Fast | Cause::SackRecovery | Cause::Rack) => 0.87,
                _ => 0.5,
            },
            // Nothing shows that the retransmission was spurious, so the cause decides. If a timer
            // fired, ACKs may have been lost instead of data. For a SYN, one is as likely as the
            // other.
            (_, _) => match one.cause.get() {
                Some(Cause::Fast | Cause::SackRecovery | Cause::Rack) => 0.98,
                Some(Cause::GoBackN) => 0.92,
                Some(Cause::Rto) => 0.73,
                Some(Cause::Tlp) => 0.64,
                Some(Cause::Syn) => 0.52,
                _ => 0.83,
            },
        }
    }
}
