//! The state machine of a sender's loss recovery, driven by its captured packets. The *head* is the
//! first octet that is neither acknowledged nor reported by SACK blocks.

mod rules;

use crate::segment::{Cause, CauseCode};
use crate::units::Time;

use super::super::rule::CauseRule;
use super::flow_label::LabelHint;
use super::scene::SenderScene;
use super::traits::Traits;

/// The phase of a sender's loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPhase {
    /// The sender repairs nothing.
    #[default]
    Open,
    /// The sender repairs losses that acknowledgments reported (RFC 6675 §5, RFC 6582 §3.2).
    Recovery,
    /// The sender sends everything outstanding again, in most cases after a timeout (RFC 6298 §5.4,
    /// RFC 5681 §3.1).
    Loss,
}

/// A cause, and the rule that gave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inferred {
    /// The cause.
    pub cause: Cause,
    /// The rule.
    pub rule: CauseRule,
}

/// A tail loss probe whose outcome is open: the sender does not know yet whether the probe repaired
/// a loss (RFC 8985 §7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenProbe {
    /// The octet after the highest octet that had been sent when the probe left (`TLP.end_seq`).
    end: u64,
    /// Whether an acknowledgment of exactly `end` leaves the outcome open (`TLP.is_retrans`). After
    /// a D-SACK block, such an acknowledgment decides the outcome.
    again: bool,
}

/// The state of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    /// The phase.
    pub phase: LossPhase,
    /// The octet after the highest octet that had been sent when the phase began, or at the last
    /// timeout of the phase.
    pub point: u64,
    /// When the phase began, or when its last timeout was captured.
    pub since: Time,
    /// The number of the first retransmission in the phase, or since its last timeout.
    pub first: usize,
    /// The number of the first retransmission of a loss phase. But if a probe with an open outcome
    /// came before the phase, this is the number of that probe.
    pub begun: usize,
    /// In a loss phase: the number of retransmissions from `begun` on that no D-SACK block has
    /// reported.
    unreported: u32,
    /// In a loss phase: whether the sender repaired nothing when the phase began. If so, the
    /// arrival of octets that were sent only once shows that the timeout was spurious (RFC 5682 §3;
    /// Linux has the same condition).
    pub from_open: bool,
    /// In a loss phase: whether acknowledgments show that originals were still arriving.
    pub undone: bool,
    /// In a loss phase: whether new octets were sent. F-RTO sends new octets first (RFC 5682 §2.1
    /// step 2b).
    pub went_on: bool,
    /// In a loss phase: whether an ACK of new octets shows that the timeout was spurious (RFC 5682
    /// §2.1 step 3b). If so, two conditions hold. Before this ACK, the sender sent no old octets
    /// again except the segment that the timeout sent. The ACK covers octets above `again_to`, or
    /// new octets were sent before this ACK.
    accepted: bool,
    /// In a loss phase: the octet after the segment that the timeout sent. [`u64::MAX`] if this
    /// segment began above the head. Also [`u64::MAX`] if duplicate ACKs came before the timeout,
    /// because then this segment may fill a hole.
    again_to: u64,
    /// In a loss phase: whether old octets were sent again after the segment that the timeout sent.
    went_back: bool,
    /// The octet after the highest octet that is acknowledged.
    una: u64,
    /// In a loss phase: whether a flow label showed the timeout.
    pub by_label: bool,
    /// In a loss phase: whether the phase began with a fast retransmit, and the sender sent
    /// everything again in order after earlier fast retransmits.
    by_habit: bool,
    /// The number of retransmissions of the phase that carried octets reported by SACK blocks. If
    /// retransmissions follow each other in a burst, only the first of them counts.
    repeated: u32,
    /// In a loss phase: whether the phase was a recovery at first, and no timeout can have begun
    /// this recovery. The sender then sent octets again that SACK blocks had reported, so it sends
    /// everything again.
    pub without_timeout: bool,
    /// In a recovery: whether a timeout may have begun this recovery.
    pub maybe_after_timeout: bool,
    /// In a recovery: whether there was no indication of a loss when it began, although the sender
    /// uses SACK.
    pub unindicated: bool,
    /// The number of the last retransmission before which the sender skipped octets that SACK
    /// blocks had reported.
    pub skipped_at: usize,
    /// The cause of the last retransmission.
    last: CauseCode,
    /// The last probe, until its outcome is known. A sender sends no other probe before the outcome
    /// is known (RFC 8985 §7.3).
    pub probed: Option<OpenProbe>,
    /// What the sender was seen to do.
    pub traits: Traits,
}

impl Machine {
    /// Notes that the octets below `una` are acknowledged.
    pub fn acknowledged(&mut self, una: u64) {
        let news = una > self.una && !self.went_back;
        self.accepted |= news && (self.went_on || una > self.again_to);
        self.una = una;
        if una >= self.point {
            (self.phase, self.undone) = (LossPhase::Open, false);
        }
        // The acknowledgment of a retransmission does not show which transmission arrived. So a
        // later acknowledgment decides (RFC 8985 §7.4.2).
        if self.probed.is_some_and(|probe| una > probe.end || una == probe.end && !probe.again) {
            self.probed = None;
        }
    }

    /// Notes that a D-SACK block reported octets. They may be the octets of a probe. Such a probe
    /// was spurious (RFC 8985 §7.4.2).
    pub fn reported_twice(&mut self) {
        if let Some(probe) = &mut self.probed {
            probe.again = false;
        }
    }

    /// Notes that a D-SACK block reported retransmission `number`. A sender takes D-SACK blocks as
    /// a sign that its timeout was spurious only if they report all its retransmissions (RFC 3708
    /// §3). After several timeouts in a row, a single block is not enough.
    pub fn reported_again(&mut self, number: usize) {
        if self.phase == LossPhase::Loss && number >= self.begun {
            self.unreported = self.unreported.saturating_sub(1);
            self.undone |= self.unreported == 0;
        }
    }

    /// Notes that an original that was sent at the instant `sent` has arrived.
    pub fn original_arrived(&mut self, sent: Time) {
        self.undone |= self.phase == LossPhase::Loss && self.from_open && sent <= self.since;
    }

    /// Notes that new octets were sent. A sender that detects a spurious timeout continues with new
    /// octets (RFC 5682 §3, RFC 4015 §3). Other senders repeat the old octets first.
    pub fn went_on(&mut self) {
        self.went_on = true;
        if self.by_habit && self.phase == LossPhase::Loss {
            // This sender sends new octets because duplicate ACKs inflate its cwnd (RFC 5681 §3.2
            // step 4). So it does not send everything again (go-back-N).
            (self.phase, self.by_habit, self.traits.in_order) = (LossPhase::Recovery, false, 0);
        }
        if self.undone {
            (self.phase, self.undone) = (LossPhase::Open, false);
        }
    }

    /// Counts a retransmission of a lone segment (the only outstanding one) with a known `cause`.
    pub fn lone_is_known(&mut self, cause: Cause) {
        match cause {
            Cause::Rto => self.traits.timeouts_without_probe += 1,
            _ => self.traits.probes += 1,
        }
    }

    /// Notes that a timeout sent retransmission `number` in the current repair, and that the sender
    /// went back from it on.
    pub fn restarted(&mut self, number: usize) {
        let by_habit = u32::from(!self.maybe_after_timeout);
        (self.first, self.traits.in_order) =
            (number, self.traits.in_order.saturating_sub(by_habit));
    }

    /// Notes that acknowledgments, and not a timeout, caused the retransmission that began this loss
    /// phase. `traits` are the sender's traits before it.
    pub fn was_reported(&mut self, traits: Traits) {
        (self.phase, self.traits) = (LossPhase::Recovery, traits);
        (self.undone, self.maybe_after_timeout) = (false, false);
    }

    /// Notes that the sender retransmits the head for each further duplicate ACK, and so did before.
    /// `cause` is the cause of its repairs.
    pub fn answers_each_duplicate(&mut self, cause: Cause) {
        (self.phase, self.maybe_after_timeout) = (LossPhase::Recovery, false);
        self.last = Some(cause).into();
        self.traits.each_duplicate = true;
    }

    /// Begins a loss phase after a timeout at the instant `at`. The timeout was recognised only
    /// later. It sent retransmission `number`, which is still outstanding and ends at `highest`.
    pub fn was_lost(&mut self, number: usize, highest: u64, at: Time) {
        (self.phase, self.point, self.since) = (LossPhase::Loss, highest, at);
        (self.begun, self.unreported) = (number, 1);
        self.probed = None;
    }

    /// Like [`was_lost`](Self::was_lost), but the segment that the timeout sent looked like new
    /// data. The next retransmission gets the number `next`.
    pub fn had_timed_out(&mut self, next: usize, highest: u64, at: Time) {
        self.was_lost(next, highest, at);
        (self.first, self.repeated, self.accepted, self.undone) = (next, 0, false, false);
        (self.without_timeout, self.by_habit, self.by_label) = (false, false, false);
    }

    /// Infers why the sender sent retransmission `number` in the circumstances `scene`.
    pub fn infer(&mut self, scene: &SenderScene, number: usize) -> Inferred {
        if scene.place.skips_reported {
            self.skipped_at = number;
        }
        let reported =
            scene.place.reported && !scene.place.in_burst || scene.place.burst_repeats_reported;
        self.repeated += u32::from(reported);
        let inferred = match scene.label {
            LabelHint::Changed => Inferred { cause: Cause::Rto, rule: CauseRule::FlowLabel },
            // One retransmission of reported octets shows nothing if the path may have lost the
            // report, or if the sender has skipped reported octets before and so uses the reports.
            // A second one shows that the sender does not use the reports.
            _ if reported
                && (self.repeated > 1 || !scene.place.is_afar() && self.skipped_at == 0) =>
            {
                self.again_reported()
            }
            hint => {
                let inferred = self.by_phase(scene);
                self.labelled(inferred, scene, hint)
            }
        };
        self.follow(inferred, scene, number);
        self.unreported += u32::from(self.phase == LossPhase::Loss);
        self.last = Some(inferred.cause).into();
        inferred
    }

    /// Infers the cause of a segment whose octets SACK blocks had reported. A sender that uses the
    /// blocks skips reported octets (RFC 6675 §4). So this sender sends everything again in order.
    /// Either it forgot the blocks after a timeout (RFC 2018 §8), or it ignores them.
    fn again_reported(&mut self) -> Inferred {
        let rule = match self.phase {
            LossPhase::Loss => CauseRule::AfterTimeout,
            _ => CauseRule::ReportedBefore,
        };
        if self.phase == LossPhase::Recovery {
            (self.phase, self.without_timeout) = (LossPhase::Loss, !self.maybe_after_timeout);
        }
        (self.undone, self.from_open) = (false, false);
        Inferred { cause: Cause::GoBackN, rule }
    }

    fn by_phase(&mut self, scene: &SenderScene) -> Inferred {
        // Octets above the point were new after the timeout, so they do not belong to its
        // go-back-N.
        if scene.place.soon_after_previous
            && scene.left < self.point
            && matches!(self.last.get(), Some(Cause::Rto | Cause::GoBackN))
        {
            return Inferred { cause: Cause::GoBackN, rule: CauseRule::AfterTimeout };
        }
        if self.repeats_head(scene) && scene.is_third_in_row() {
            return self.another_fast_retransmit(scene);
        }
        match self.phase {
            LossPhase::Open if self.goes_on_in_order(scene) => self.goes_back_in_order(),
            LossPhase::Open => self.in_open(scene),
            LossPhase::Recovery => self.in_recovery(scene),
            LossPhase::Loss if self.was_undone_by_blocks(scene) => {
                Inferred { cause: Cause::Rack, rule: CauseRule::Guess }
            }
            LossPhase::Loss => self.in_loss(scene),
        }
    }

    /// Whether D-SACK blocks reported all retransmissions of the loss phase, so that RACK sent this
    /// segment. Linux then undoes the timeout, and forgets which octets were lost
    /// (`tcp_try_undo_loss`). RACK finds these octets again.
    fn was_undone_by_blocks(&self, scene: &SenderScene) -> bool {
        let linux = scene.sack == Some(true) && scene.probing.may_be_linux();
        let told = linux && self.undone && self.unreported == 0;
        told && !self.is_again(scene) && scene.is_clocked() && !scene.is_reported()
    }

    /// Whether the retransmission is the head, and the sender already retransmitted it in the
    /// current repair.
    fn repeats_head(&self, scene: &SenderScene) -> bool {
        self.phase != LossPhase::Open && scene.is_head() && self.is_again(scene)
    }

    /// Whether the sender already retransmitted the segment in the current phase.
    fn is_again(&self, scene: &SenderScene) -> bool {
        scene.sent_again && scene.last_sent.is_some_and(|last| last >= self.since)
    }

    /// Notes that the sender began another fast retransmit of the head. In a recovery, another
    /// recovery begins.
    fn another_fast_retransmit(&mut self, scene: &SenderScene) -> Inferred {
        if self.phase == LossPhase::Recovery {
            self.phase = LossPhase::Open;
        }
        Inferred { cause: scene.repair_cause(true), rule: CauseRule::Reported }
    }

    /// Returns the cause that the flow label shows. If the label shows no cause, returns
    /// `inferred`.
    fn labelled(&self, inferred: Inferred, scene: &SenderScene, hint: LabelHint) -> Inferred {
        let lone = matches!(inferred.rule, CauseRule::LoneByTime | CauseRule::LoneByHabit);
        let cause = match (inferred.cause, hint, self.phase) {
            (Cause::GoBackN, _, LossPhase::Loss) if self.by_label => Cause::GoBackN,
            (_, LabelHint::KeptByHabit, _) if lone => Cause::Tlp,
            (Cause::Rto, LabelHint::KeptByHabit, LossPhase::Loss) => Cause::GoBackN,
            (Cause::Rto, LabelHint::KeptByHabit, _) if self.goes_on_unheard(scene) => {
                Cause::GoBackN
            }
            (Cause::Rto, LabelHint::KeptByHabit, LossPhase::Open) if scene.is_tail() => Cause::Tlp,
            (Cause::Rto, LabelHint::KeptByHabit, _) => scene.repair_cause(scene.is_clocked()),
            _ => return inferred,
        };
        Inferred { cause, rule: CauseRule::FlowLabel }
    }

    /// Whether the sender goes back on although the capture has acknowledgments of all octets. They
    /// ended the phase for the capture, but had not reached the sender.
    fn goes_on_unheard(&self, scene: &SenderScene) -> bool {
        let goes_back = matches!(self.last.get(), Some(Cause::Rto | Cause::GoBackN));
        scene.place.acknowledged && scene.left < self.point && goes_back
    }

    /// Whether a sender without SACK goes back in order although the capture has acknowledgments of
    /// all octets. They ended the recovery for the capture, but had not reached the sender.
    fn goes_on_in_order(&self, scene: &SenderScene) -> bool {
        let again = scene.place.acknowledged && scene.left < self.point;
        let follows = scene.place.follows && scene.place.same_trigger;
        again && follows && scene.sack == Some(false) && self.last.get() == Some(Cause::Fast)
    }

    /// Whether a retransmission with this `cause` and `rule` belongs to a repair that a timeout may
    /// have begun.
    pub fn may_follow_timeout(&self, cause: Cause, rule: CauseRule) -> bool {
        let repair = matches!(cause, Cause::Fast | Cause::SackRecovery | Cause::Rack);
        repair && self.maybe_after_timeout && rule != CauseRule::FlowLabel
    }

    /// The maximum time from a timeout to a repair that the timeout may have begun, in round trips.
    /// The segment that the timeout sent takes one round trip. The segments that test whether the
    /// timeout was spurious take another round trip (RFC 5682 §2.1). `AFTER_LONE` is twice the sum
    /// of these two times, as a margin.
    const AFTER_LONE: u64 = 4;

    /// Begins the phase to which a retransmission leads, if there is such a phase.
    fn follow(&mut self, inferred: Inferred, scene: &SenderScene, number: usize) {
        let next = match inferred.cause {
            Cause::Rto => LossPhase::Loss,
            Cause::GoBackN if self.phase == LossPhase::Open => LossPhase::Loss,
            Cause::Fast | Cause::SackRecovery | Cause::Rack => {
                if self.phase == LossPhase::Recovery || self.goes_back_on(scene) {
                    return;
                }
                let timed = !self.without_timeout && !self.by_habit;
                self.maybe_after_timeout = self.phase == LossPhase::Loss && timed
                    || scene.since_lone.is_some_and(|since| since <= scene.rtt * Self::AFTER_LONE);
                LossPhase::Recovery
            }
            Cause::Tlp => {
                self.probed = Some(OpenProbe { end: scene.highest, again: true });
                return;
            }
            _ => return,
        };
        if inferred.cause == Cause::Rto {
            self.learn_timeout(inferred, scene);
        }
        if self.phase != LossPhase::Loss {
            let probes = u32::from(self.probed.is_some());
            (self.begun, self.unreported) = (number.saturating_sub(probes as usize), probes);
        }
        self.from_open =
            self.phase == LossPhase::Open || self.phase == LossPhase::Loss && self.from_open;
        (self.phase, self.point, self.since) = (next, scene.highest.max(scene.right), scene.at);
        (self.first, self.undone, self.went_on) = (number, false, false);
        self.unindicated = scene.lacks_loss_indication() && inferred.rule == CauseRule::Guess;
        (self.accepted, self.went_back) = (false, false);
        self.again_to =
            if scene.is_head() && scene.duplicates.count == 0 { scene.right } else { u64::MAX };
        (self.without_timeout, self.by_habit, self.repeated) = (false, false, 0);
        self.by_label = inferred.rule == CauseRule::FlowLabel;
        // A repair ends the wait for the outcome of a probe (RFC 8985 §7.4).
        self.probed = None;
        if self.traits.in_order > 0 && inferred.cause == Cause::Fast {
            (self.phase, self.by_habit) = (LossPhase::Loss, true);
        }
    }

    /// Whether a sender without SACK continues its go-back-N after a fast retransmit. The answer is
    /// no if something shows one of three things: the timeout was spurious, the sender stopped its
    /// go-back-N, or no timeout began this phase.
    fn goes_back_on(&self, scene: &SenderScene) -> bool {
        let stopped = self.went_on || self.undone || self.without_timeout || self.by_habit;
        self.phase == LossPhase::Loss && scene.sack == Some(false) && !stopped
    }

    fn learn_timeout(&mut self, inferred: Inferred, scene: &SenderScene) {
        let surely = matches!(inferred.rule, CauseRule::Silence | CauseRule::FlowLabel);
        if surely && self.phase != LossPhase::Loss {
            let least = self.traits.shortest_timeout.map_or(scene.waited, |l| l.min(scene.waited));
            self.traits.shortest_timeout = Some(least);
            self.traits.timeouts += 1;
        }
        let probe_was_due = self.phase == LossPhase::Open
            && self.probed.is_none()
            && !scene.may_be_probed
            && scene.sack == Some(true)
            && !scene.hole
            && !scene.is_clocked();
        let lone = scene.is_tail() && inferred.rule != CauseRule::FlowLabel;
        if surely && probe_was_due && !lone {
            self.traits.timeouts_without_probe += 1;
        }
    }
}
