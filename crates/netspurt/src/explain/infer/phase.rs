//! The state machine of a sender's loss recovery, driven by its captured packets. The *head* is the
//! first octet that is neither acknowledged nor reported by SACK blocks.

use crate::segment::{Cause, CauseCode};
use crate::units::{Duration, Time};

use super::super::rule::CauseRule;
use super::flow_label::LabelHint;
use super::scene::SenderScene;
use super::syn_style::ProbesBySyn;
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
            (Cause::Rto, LabelHint::KeptByHabit, LossPhase::Open) if scene.is_tail() => Cause::Tlp,
            (Cause::Rto, LabelHint::KeptByHabit, _) => scene.repair_cause(scene.is_clocked()),
            _ => return inferred,
        };
        Inferred { cause, rule: CauseRule::FlowLabel }
    }

    /// Whether a retransmission with this `cause` and `rule` belongs to a repair that a timeout may
    /// have begun.
    pub fn may_follow_timeout(&self, cause: Cause, rule: CauseRule) -> bool {
        let repair = matches!(cause, Cause::Fast | Cause::SackRecovery | Cause::Rack);
        repair && self.maybe_after_timeout && rule != CauseRule::FlowLabel
    }

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

    /// Infers the cause of a retransmission while the sender repairs nothing.
    fn in_open(&mut self, scene: &SenderScene) -> Inferred {
        let expired = self.timer_expired(scene);
        if scene.is_reported() {
            if scene.is_head() && !scene.place.is_afar() && !scene.is_within_longest_reordering() {
                return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
            }
            let by_reordering = scene.sack == Some(true) && scene.is_at_reordering_timer();
            let soon = scene.is_clocked();
            let clocked = soon && !scene.is_overdue() || scene.may_be_delayed();
            if !expired || by_reordering || clocked {
                let rule = if soon { CauseRule::Reported } else { CauseRule::Reordering };
                return Inferred { cause: scene.repair_cause(soon), rule };
            }
            return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
        }
        if scene.sack != Some(false) && scene.is_tail() && !scene.hole && !scene.place.joins {
            if !scene.is_head() && scene.probing != ProbesBySyn::Never {
                self.traits.probes += u32::from(scene.sack == Some(true));
                return Inferred { cause: Cause::Tlp, rule: CauseRule::Tail };
            }
            if scene.is_head() && self.probed.is_none() && !scene.is_clocked() {
                return self.lone(scene);
            }
        }
        let beside_sender = !scene.place.is_afar() && scene.sack.is_some();
        let untold = beside_sender && !scene.has_loss_indication() && scene.is_unprompted()
            || scene.acks.known && scene.is_unreported();
        if scene.expired_untold(expired) {
            return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
        }
        let age = scene.last_sent.map_or(Duration::ZERO, |sent| scene.at.saturating_since(sent));
        if scene.duplicates.count == 0 && age >= (scene.rtt * 3).max(scene.shortest_rto()) {
            // Soon after an acknowledgment of new octets, the sender repeats octets that it sent
            // long ago. So the capture missed the timeout.
            return Inferred { cause: Cause::GoBackN, rule: CauseRule::Guess };
        }
        if scene.duplicates.count == 0 && !scene.hole && scene.since_una >= scene.shortest_rto() {
            // Nothing reported a loss, so a timer sent this segment, although this timer seems to
            // have run for too short a time. Some senders do not stop their timer while nothing is
            // outstanding.
            return Inferred { cause: Cause::Rto, rule: CauseRule::Guess };
        }
        if untold && scene.is_head() {
            // No acknowledgment can have triggered this segment, so a short timer sent it.
            return Inferred { cause: Cause::Rto, rule: CauseRule::Guess };
        }
        // One or two duplicate ACKs may be enough if few segments are outstanding (RFC 5827).
        let rule = if scene.acks.untold { CauseRule::None } else { CauseRule::Guess };
        Inferred { cause: scene.repair_cause(scene.is_clocked()), rule }
    }

    /// The maximum time from a timeout to a repair that the timeout may have begun, in round trips.
    /// The segment that the timeout sent takes one round trip. The segments that test whether the
    /// timeout was spurious take another round trip (RFC 5682 §2.1). `AFTER_LONE` is twice the sum
    /// of these two times, as a margin.
    const AFTER_LONE: u64 = 4;

    /// Whether the retransmission timer has expired and sent the head. If so, the time since its
    /// restart is at least the shortest possible RTO. It is also at least three quarters of the
    /// shorter of two times: the sender's shortest known timeout, and three round trips.
    fn timer_expired(&self, scene: &SenderScene) -> bool {
        let seen = self.traits.shortest_timeout.unwrap_or(Duration::ZERO);
        scene.is_head() && scene.may_be_expired() && scene.waited >= seen.min(scene.rtt * 3) * 3 / 4
    }

    /// Infers whether a probe or a timeout sent the only outstanding segment again. A sender with
    /// probes sends a probe first. It waits for two round trips and the time of a delayed ACK, but
    /// no longer than its RTO (RFC 8985 §7.2).
    fn lone(&mut self, scene: &SenderScene) -> Inferred {
        if scene.probing != ProbesBySyn::Usual && self.traits.probes == 0 {
            if scene.probing == ProbesBySyn::Never {
                self.lone_is_known(Cause::Rto);
            }
            return Inferred { cause: Cause::Rto, rule: CauseRule::LoneBySyn };
        }
        // A probe waits for at least two round trips, or for the RTO if the RTO is shorter.
        let usual = scene.rtt_min + SenderScene::USUAL_FLOOR;
        if scene.quiet < (scene.rtt_min * 2).min(usual) * 7 / 8 {
            return Inferred { cause: Cause::Rto, rule: CauseRule::LoneByTime };
        }
        if let Some(cause) = self.traits.lone() {
            return Inferred { cause, rule: CauseRule::LoneByHabit };
        }
        let probe = scene.rtt * 2 + Duration::from_millis(240);
        let in_time = scene.quiet <= probe + probe / 4;
        let cause = if in_time { Cause::Tlp } else { Cause::Rto };
        Inferred { cause, rule: CauseRule::LoneByTime }
    }

    /// Infers the cause of a retransmission while the sender repairs reported losses.
    fn in_recovery(&mut self, scene: &SenderScene) -> Inferred {
        let again = self.is_again(scene);
        let soon = scene.is_clocked();
        if scene.is_head() && self.timer_expired(scene) {
            let silent = !soon && !scene.is_within_reordering() && !scene.may_be_delayed();
            if silent {
                return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
            }
            if again && !(scene.overtaken && scene.sack != Some(false)) {
                return Inferred { cause: Cause::Rto, rule: CauseRule::HeadAgain };
            }
        }
        let silent = scene.is_silent() && scene.lag >= scene.rtt_min * 3 && !scene.place.is_afar();
        if scene.is_head() && again && silent && scene.since_una >= SenderScene::USUAL_FLOOR {
            // The estimate of the round trip may be too long, for example because the capture
            // missed a retransmission and so took its acknowledgment as an answer to the original.
            return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
        }
        let proven_long_ago = scene.proven_for.is_some_and(|long| long > scene.rtt * 3 / 2);
        if scene.is_head() && again && proven_long_ago && scene.since_una >= scene.shortest_rto() {
            // With RACK, the sender would have repaired the head soon after the arrival of the
            // newest octets was reported (RFC 8985 §6.2).
            return Inferred { cause: Cause::Rto, rule: CauseRule::HeadAgain };
        }
        let lately = scene.since_una < scene.shortest_rto();
        if scene.is_head() && again && lately && scene.is_third_duplicate() {
            return self.another_fast_retransmit(scene);
        }
        if scene.is_head() && again && !scene.overtaken && (scene.sack.is_some() || !lately) {
            // Some senders do not restart their timer for each partial ACK (RFC 6582 §3.2 step 3).
            return Inferred { cause: Cause::Rto, rule: CauseRule::HeadAgain };
        }
        if scene.sack == Some(false) && !scene.is_head() && scene.place.follows {
            // A partial ACK triggers a retransmission of the head alone (RFC 6582 §3.2). `in_order`
            // counts this sender's go-back-N only if no timeout can have begun this recovery.
            self.traits.in_order += u32::from(!self.maybe_after_timeout);
            self.phase = LossPhase::Loss;
            return Inferred { cause: Cause::GoBackN, rule: CauseRule::InOrder };
        }
        if self.unindicated && scene.lacks_loss_indication() && scene.place.follows {
            // With SACK, a sender repairs only octets below reported octets (RFC 6675 §4). This
            // sender knows of no reported octets, so it goes back after a timeout.
            self.phase = LossPhase::Loss;
            return Inferred { cause: Cause::GoBackN, rule: CauseRule::InOrder };
        }
        let cause = scene.repair_cause(soon && !again);
        let rule = if again { CauseRule::LostAgain } else { CauseRule::InRecovery };
        Inferred { cause, rule }
    }

    /// Infers the cause of a retransmission while the sender sends everything outstanding again.
    fn in_loss(&mut self, scene: &SenderScene) -> Inferred {
        let again = self.is_again(scene);
        let overtaken = scene.overtaken && scene.is_clocked();
        if scene.is_head() && self.timer_expired(scene) && again && !overtaken {
            return Inferred { cause: Cause::Rto, rule: CauseRule::Backoff };
        }
        let waited = scene.lag.min(scene.waited) >= scene.shortest_rto();
        if scene.is_head() && !again && waited {
            return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
        }
        if scene.is_head() && scene.is_silent() {
            // After a timeout, acknowledgments trigger further segments. No acknowledgment can have
            // triggered this segment, so the timer fired. The estimate of the round trip may be old
            // here, because retransmitted segments give no samples (RFC 6298 §3).
            let rule = if again { CauseRule::Backoff } else { CauseRule::Silence };
            return Inferred { cause: Cause::Rto, rule };
        }
        let tail = scene.sack == Some(true) && scene.is_tail() && !scene.is_head() && !scene.hole;
        if self.undone && self.from_open && tail && !scene.is_clocked() {
            // The sender undid the timeout, and had no new octets to send.
            self.phase = LossPhase::Open;
            return self.in_open(scene);
        }
        if self.undone && self.from_open && scene.is_reported() && scene.is_clocked() {
            return Inferred { cause: scene.repair_cause(true), rule: CauseRule::Reported };
        }
        // If options are cut off, SACK blocks may have reported a loss although few ACKs came.
        let may_be_reported = scene.sack.is_none() && self.accepted;
        let enough = if may_be_reported { 1 } else { 3 };
        let first = (scene.is_head() || may_be_reported) && !scene.place.acknowledged;
        if self.went_on && !again && first && scene.duplicates.count >= enough && scene.is_clocked()
        {
            return Inferred { cause: scene.repair_cause(true), rule: CauseRule::Reported };
        }
        let first = scene.sack == Some(false) && !scene.place.is_afar();
        let another = if again { !scene.overtaken } else { first };
        if another && scene.is_head() && scene.is_reported_now() {
            // Go-back-N sends the head only once, and before three duplicate ACKs come. Some
            // senders begin a fast retransmit soon after a timeout.
            return Inferred { cause: scene.repair_cause(true), rule: CauseRule::Reported };
        }
        if self.without_timeout
            && scene.is_head()
            && scene.place.begins_below_previous
            && scene.is_reported_now()
        {
            // If go-back-N began without a timeout, the sender begins a new count of duplicate
            // ACKs. So another fast retransmit may follow.
            return Inferred { cause: scene.repair_cause(true), rule: CauseRule::Reported };
        }
        if again && overtaken && scene.hole && scene.sack == Some(true) {
            // A SACK block reports octets that were sent after the last retransmission of this
            // segment, so this last retransmission was lost. RACK finds this (RFC 8985 §6.2), and
            // Linux begins a recovery then (`tcp_fastretrans_alert`).
            return Inferred { cause: Cause::Rack, rule: CauseRule::LostAgain };
        }
        let age = scene.age();
        let unheard = !scene.place.is_afar() && scene.lag >= age;
        if again && scene.is_head() && unheard && age > scene.rtt {
            // Go-back-N sends the head once, and no acknowledgment with news came since then.
            return Inferred { cause: Cause::Rto, rule: CauseRule::Backoff };
        }
        if again && scene.is_head() && scene.sack == Some(true) && age < scene.rtt {
            // Go-back-N sends the head once. The sender sends the head again only if a timer fires,
            // or if an acknowledgment shows that the head was lost again.
            return Inferred { cause: Cause::Rack, rule: CauseRule::Guess };
        }
        self.went_back = true;
        Inferred { cause: Cause::GoBackN, rule: CauseRule::AfterTimeout }
    }
}
