//! The sender's state machine, which follows its captured packets.

use crate::segment::{Cause, CauseCode};
use crate::units::{Duration, Time};

use super::super::rule::CauseRule;
use super::flow_label::LabelHint;
use super::scene::SenderScene;

/// The phase of a sender's loss recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LossPhase {
    /// Nothing is repaired.
    #[default]
    Open,
    /// Holes that acknowledgments reported are repaired (RFC 6675 §5, RFC 6582 §3.2).
    Recovery,
    /// A timeout marked everything outstanding as lost (RFC 6298 §5.4, RFC 5681 §3.1).
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

/// What a sender was seen to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// The number of retransmissions that can only be tail loss probes.
    pub probes: u32,
    /// The number of timeouts before which a sender with tail loss probes would have sent a probe.
    pub timeouts_without_probe: u32,
    /// The number of fast retransmits after which everything was sent again in order.
    pub in_order: u32,
    /// The number of new segments on a first or second duplicate ACK (RFC 3042), and the number of
    /// third duplicate ACKs.
    pub limited: (u32, u32),
    /// The number of retransmissions that can only be timeouts.
    pub timeouts: u32,
    /// The shortest wait before a retransmission that can only be a timeout, counted from the
    /// restart of its timer.
    pub shortest_timeout: Option<Duration>,
}

impl Traits {
    /// Whether this sender retransmits its only outstanding segment by a probe or by a timeout.
    /// `None` if it showed neither elsewhere.
    pub fn lone(&self) -> Option<Cause> {
        match (self.probes, self.timeouts_without_probe) {
            (0, 0) => None,
            (probes, timeouts) if probes >= timeouts => Some(Cause::Tlp),
            _ => Some(Cause::Rto),
        }
    }
}

/// A tail loss probe of which it is not yet known whether it repaired a loss (RFC 8985 §7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenProbe {
    /// The octet after the last one sent when the probe was sent (`TLP.end_seq`).
    end: u64,
    /// Whether it was a retransmission (`TLP.is_retrans`).
    again: bool,
}

/// The state of the machine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Machine {
    /// The phase.
    pub phase: LossPhase,
    /// The octet after the last one that was sent when the phase began.
    pub point: u64,
    /// When the phase or its last timeout began.
    pub since: Time,
    /// The number of the first retransmission in the phase.
    pub first: usize,
    /// In a loss phase: nothing was being repaired when the phase began. Then arrivals of octets
    /// that were sent once show that the timeout came too early (RFC 5682 §3; Linux has the same
    /// condition).
    pub from_open: bool,
    /// In a loss phase: acknowledgments show that originals were still arriving.
    pub undone: bool,
    /// In a loss phase: new octets were sent, as F-RTO does first (RFC 5682 §2.1 step 2b).
    pub went_on: bool,
    /// In a loss phase: a flow label showed the timeout.
    pub by_label: bool,
    /// In a loss phase: it began with a fast retransmit, and earlier ones of this sender were
    /// followed by everything in order.
    by_habit: bool,
    /// The number of segments in the phase whose octets SACK blocks had reported.
    repeated: u32,
    /// In a loss phase: it began with a fast retransmit, after which everything was sent again.
    pub without_timeout: bool,
    /// In a recovery: the recovery began soon after a possible timeout.
    pub maybe_after_timeout: bool,
    /// The number of the last retransmission before which the sender left out octets that SACK
    /// blocks had reported.
    pub skipped_at: usize,
    /// The cause of the last retransmission.
    last: CauseCode,
    /// The last probe, until its outcome is known. No other probe is sent before that (RFC 8985
    /// §7.3).
    pub probed: Option<OpenProbe>,
    /// What the sender was seen to do.
    pub traits: Traits,
}

impl Machine {
    /// Notes that octets up to `una` are acknowledged.
    pub fn acknowledged(&mut self, una: u64) {
        if una >= self.point {
            (self.phase, self.undone) = (LossPhase::Open, false);
        }
        // The acknowledgment of a retransmission does not tell which copy arrived, so only a later
        // acknowledgment decides (RFC 8985 §7.4.2).
        if self.probed.is_some_and(|probe| una > probe.end || una == probe.end && !probe.again) {
            self.probed = None;
        }
    }

    /// Notes that a D-SACK block reported octets. If a probe repeated them, the probe was spurious
    /// (RFC 8985 §7.4.2).
    pub fn reported_twice(&mut self) {
        if let Some(probe) = &mut self.probed {
            probe.again = false;
        }
    }

    /// Notes that an original that was sent at `sent` has arrived.
    pub fn original_arrived(&mut self, sent: Time) {
        self.undone |= self.phase == LossPhase::Loss && self.from_open && sent <= self.since;
    }

    /// Notes that new octets were sent. A sender that finds its timeout spurious continues with new
    /// octets (RFC 5682 §3, RFC 4015 §3); otherwise it repeats the old ones first.
    pub fn went_on(&mut self) {
        self.went_on = true;
        if self.by_habit && self.phase == LossPhase::Loss {
            // It inflates its window by duplicate ACKs (RFC 6582 §3.2 step 3), so it does not go back.
            (self.phase, self.by_habit, self.traits.in_order) = (LossPhase::Recovery, false, 0);
        }
        if self.undone {
            (self.phase, self.undone) = (LossPhase::Open, false);
        }
    }

    /// Counts a retransmission of the only outstanding segment whose cause became clear later.
    pub fn lone_is_known(&mut self, cause: Cause) {
        match cause {
            Cause::Rto => self.traits.timeouts_without_probe += 1,
            _ => self.traits.probes += 1,
        }
    }

    /// Begins a loss phase after a timeout at `at` that was recognised later. The segment, which
    /// ends at `highest`, is still outstanding.
    pub fn was_lost(&mut self, highest: u64, at: Time) {
        (self.phase, self.point, self.since) = (LossPhase::Loss, highest, at);
        self.probed = None;
    }

    /// Infers why the sender in `scene` sent retransmission `number`.
    pub fn infer(&mut self, scene: &SenderScene, number: usize) -> Inferred {
        if scene.place.skips {
            self.skipped_at = number;
        }
        self.repeated += u32::from(scene.place.reported);
        let inferred = match scene.label {
            LabelHint::Changed => Inferred { cause: Cause::Rto, rule: CauseRule::FlowLabel },
            // One report may be lost on its way to the sender.
            _ if scene.place.reported && (self.repeated > 1 || !scene.place.afar) => {
                self.again_reported()
            }
            hint => {
                let inferred = self.by_phase(scene);
                self.labelled(inferred, scene, hint)
            }
        };
        self.follow(inferred, scene, number);
        self.last = Some(inferred.cause).into();
        inferred
    }

    /// Infers the cause of a segment whose octets SACK blocks had reported. A sender that uses the
    /// blocks leaves such octets out (RFC 6675 §4). So this one sends everything again in order:
    /// after a timeout it forgot the blocks (RFC 2018 §8), or it never looks at them.
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
        if scene.place.trails && matches!(self.last.get(), Some(Cause::Rto | Cause::GoBackN)) {
            return Inferred { cause: Cause::GoBackN, rule: CauseRule::AfterTimeout };
        }
        match self.phase {
            LossPhase::Open => self.in_open(scene),
            LossPhase::Recovery => self.in_recovery(scene),
            LossPhase::Loss => self.in_loss(scene),
        }
    }

    /// Returns the cause `inferred`, or another one if the flow label contradicts it.
    fn labelled(&self, inferred: Inferred, scene: &SenderScene, hint: LabelHint) -> Inferred {
        let lone = matches!(inferred.rule, CauseRule::LoneByTime | CauseRule::LoneByHabit);
        let cause = match (inferred.cause, hint, self.phase) {
            (Cause::GoBackN, _, LossPhase::Loss) if self.by_label => Cause::GoBackN,
            (_, LabelHint::Kept | LabelHint::KeptByHabit, _) if lone => Cause::Tlp,
            (Cause::Rto, LabelHint::KeptByHabit, LossPhase::Loss) => Cause::GoBackN,
            (Cause::Rto, LabelHint::KeptByHabit, LossPhase::Open) if scene.is_tail() => Cause::Tlp,
            (Cause::Rto, LabelHint::KeptByHabit, _) => {
                Self::repair_cause(scene, scene.is_clocked())
            }
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

    /// Begins the phase that a retransmission leads to, if any.
    fn follow(&mut self, inferred: Inferred, scene: &SenderScene, number: usize) {
        let next = match inferred.cause {
            Cause::Rto => LossPhase::Loss,
            Cause::GoBackN if self.phase == LossPhase::Open => LossPhase::Loss,
            Cause::Fast | Cause::SackRecovery | Cause::Rack => {
                if self.phase == LossPhase::Recovery {
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
        self.from_open =
            self.phase == LossPhase::Open || self.phase == LossPhase::Loss && self.from_open;
        (self.phase, self.point, self.since) = (next, scene.highest.max(scene.right), scene.at);
        (self.first, self.undone, self.went_on) = (number, false, false);
        (self.without_timeout, self.by_habit, self.repeated) = (false, false, 0);
        self.by_label = inferred.rule == CauseRule::FlowLabel;
        // A repair ends the episode of a probe (RFC 8985 §7.4).
        self.probed = None;
        if self.traits.in_order > 0 && inferred.cause == Cause::Fast {
            (self.phase, self.by_habit) = (LossPhase::Loss, true);
        }
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

    /// Infers the cause of a retransmission while nothing is being repaired.
    fn in_open(&mut self, scene: &SenderScene) -> Inferred {
        let expired = self.timer_expired(scene);
        if scene.is_reported() {
            if !expired || scene.is_clocked() && !Self::is_overdue(scene) {
                let soon = scene.is_clocked();
                let rule = if soon { CauseRule::Reported } else { CauseRule::Reordering };
                return Inferred { cause: Self::repair_cause(scene, soon), rule };
            }
            return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
        }
        if scene.sack != Some(false) && scene.is_tail() && !scene.hole {
            if !scene.is_head() {
                self.traits.probes += u32::from(scene.sack == Some(true));
                return Inferred { cause: Cause::Tlp, rule: CauseRule::Tail };
            }
            if self.probed.is_none() && !scene.is_clocked() {
                return self.lone(scene);
            }
        }
        let unseen = scene.sack.is_none() && scene.dup_acks > 0 && scene.is_clocked();
        if !unseen && (expired || scene.waited >= scene.rtt && !scene.is_clocked()) {
            return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
        }
        let age = scene.last_sent.map_or(Duration::ZERO, |sent| scene.at.saturating_since(sent));
        if scene.dup_acks == 0 && age >= (scene.rtt * 3).max(scene.shortest_rto()) {
            // Old octets follow an acknowledgment of new ones, so the capture missed the timeout.
            return Inferred { cause: Cause::GoBackN, rule: CauseRule::Guess };
        }
        // A first or second duplicate may be enough where few segments are outstanding (RFC 5827).
        Inferred { cause: Self::repair_cause(scene, scene.is_clocked()), rule: CauseRule::Guess }
    }

    /// The time, in round trips, within which a repair may still follow a timeout. The first
    /// segment takes one round trip, and the segments that test whether the timeout was spurious
    /// take another (RFC 5682 §2.1).
    const AFTER_LONE: u64 = 4;

    /// The floor of most timers is this or more (Linux: `TCP_RTO_MIN`, 200 ms, on the variation).
    const USUAL_FLOOR: Duration = Duration::from_millis(190);

    /// Whether the timer sent the head without SACK. The third duplicate ACK triggers a fast
    /// retransmit at once, so a head that is sent during later duplicates comes from the timer.
    fn is_overdue(scene: &SenderScene) -> bool {
        let usual = scene.rtt + Self::USUAL_FLOOR;
        scene.sack == Some(false) && scene.dup_acks > 5 && scene.waited >= usual
    }

    /// Whether the retransmission timer has expired, judged by this sender's shortest known timeout
    /// or by the shortest possible one.
    fn timer_expired(&self, scene: &SenderScene) -> bool {
        let seen = self.traits.shortest_timeout.unwrap_or(Duration::ZERO);
        scene.is_head() && scene.may_be_expired() && scene.waited >= seen.min(scene.rtt * 3) * 3 / 4
    }

    /// The likeliest cause of a repair that duplicate ACKs or SACK blocks trigger.
    fn repair_cause(scene: &SenderScene, clocked: bool) -> Cause {
        match scene.sack {
            Some(false) | None if !scene.hole => Cause::Fast,
            _ if clocked => Cause::SackRecovery,
            _ => Cause::Rack,
        }
    }

    /// Infers whether a probe or a timeout sent the only outstanding segment again. A sender with
    /// probes sends a probe first: after two round trips and the time of a delayed ACK, but no
    /// later than its timeout (RFC 8985 §7.2).
    fn lone(&self, scene: &SenderScene) -> Inferred {
        if let Some(cause) = self.traits.lone() {
            return Inferred { cause, rule: CauseRule::LoneByHabit };
        }
        let probe = scene.rtt * 2 + Duration::from_millis(240);
        let cause = if scene.quiet <= probe + probe / 4 { Cause::Tlp } else { Cause::Rto };
        Inferred { cause, rule: CauseRule::LoneByTime }
    }

    /// Infers the cause of a retransmission while reported holes are being repaired.
    fn in_recovery(&mut self, scene: &SenderScene) -> Inferred {
        let again = scene.sent_again && scene.last_sent.is_some_and(|last| last >= self.since);
        let soon = scene.is_clocked();
        if scene.is_head() && self.timer_expired(scene) {
            let silent = !soon && !scene.is_within_reordering();
            if silent {
                return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
            }
            if again && !(scene.overtaken && scene.sack != Some(false)) {
                return Inferred { cause: Cause::Rto, rule: CauseRule::HeadAgain };
            }
        }
        let proven_long_ago = scene.proven_for.is_some_and(|long| long > scene.rtt * 2);
        if scene.is_head() && again && proven_long_ago && scene.since_una >= scene.shortest_rto() {
            // A sender with RACK would have repaired it when that acknowledgment came (RFC 8985
            // §6.2).
            return Inferred { cause: Cause::Rto, rule: CauseRule::HeadAgain };
        }
        let lately = scene.since_una < scene.shortest_rto();
        if scene.is_head() && again && !scene.overtaken && (scene.sack.is_some() || !lately) {
            // Not every sender restarts its timer for each partial ACK (RFC 6582 §3.2 step 3).
            return Inferred { cause: Cause::Rto, rule: CauseRule::HeadAgain };
        }
        if scene.sack == Some(false) && !scene.is_head() && scene.place.follows {
            // A partial ACK triggers a retransmission of the head alone (RFC 6582 §3.2).
            // Only a recovery that no timeout began shows what follows a fast retransmit.
            self.traits.in_order += u32::from(!self.maybe_after_timeout);
            self.phase = LossPhase::Loss;
            return Inferred { cause: Cause::GoBackN, rule: CauseRule::InOrder };
        }
        let cause = Self::repair_cause(scene, soon && !again);
        let rule = if again { CauseRule::LostAgain } else { CauseRule::InRecovery };
        Inferred { cause, rule }
    }

    /// Infers the cause of a retransmission while everything outstanding is being sent again.
    fn in_loss(&mut self, scene: &SenderScene) -> Inferred {
        let again = scene.sent_again && scene.last_sent.is_some_and(|last| last >= self.since);
        if scene.is_head() && self.timer_expired(scene) {
            if again && !(scene.overtaken && scene.is_clocked()) {
                return Inferred { cause: Cause::Rto, rule: CauseRule::Backoff };
            }
            if !again && scene.lag >= scene.shortest_rto() {
                return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
            }
        }
        if scene.is_head() && scene.is_silent() {
            // What follows a timeout leaves when acknowledgments come. The estimate of the round
            // trip may be old here: nothing that was sent once is acknowledged (RFC 6298 §3).
            let rule = if again { CauseRule::Backoff } else { CauseRule::Silence };
            return Inferred { cause: Cause::Rto, rule };
        }
        let tail = scene.sack == Some(true) && scene.is_tail() && !scene.is_head() && !scene.hole;
        if self.undone && self.from_open && tail && !scene.is_clocked() {
            // The sender undid the timeout and had no new octets to send.
            self.phase = LossPhase::Open;
            return self.in_open(scene);
        }
        if self.undone && self.from_open && scene.is_reported() && scene.is_clocked() {
            return Inferred { cause: Self::repair_cause(scene, true), rule: CauseRule::Reported };
        }
        let enough = if scene.sack.is_none() { 1 } else { 3 };
        let first = scene.is_head() || scene.sack.is_none();
        let first = first && !scene.place.acknowledged;
        if self.went_on && !again && first && scene.dup_acks >= enough && scene.is_clocked() {
            return Inferred { cause: Self::repair_cause(scene, true), rule: CauseRule::Reported };
        }
        if self.without_timeout && scene.is_head() && scene.place.returns && scene.is_reported_now()
        {
            // Such a sender counts duplicates anew; none keeps it from another fast retransmit.
            return Inferred { cause: Self::repair_cause(scene, true), rule: CauseRule::Reported };
        }
        Inferred { cause: Cause::GoBackN, rule: CauseRule::AfterTimeout }
    }
}
