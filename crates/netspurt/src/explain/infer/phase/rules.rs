//! The rules that infer the cause of a retransmission in each phase.

use crate::segment::Cause;
use crate::units::Duration;

use super::super::super::rule::CauseRule;
use super::super::scene::SenderScene;
use super::super::syn_style::ProbesBySyn;
use super::{Inferred, LossPhase, Machine};

impl Machine {
    /// Infers the cause of a retransmission while the sender repairs nothing.
    pub(super) fn in_open(&mut self, scene: &SenderScene) -> Inferred {
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
    pub(super) fn in_recovery(&mut self, scene: &SenderScene) -> Inferred {
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
        // No acknowledgment can show within a round trip that a retransmission was lost.
        let untold = scene.sack.is_some() || !lately || scene.age() < scene.rtt_min;
        if scene.is_head() && again && !scene.overtaken && untold {
            // Some senders do not restart their timer for each partial ACK (RFC 6582 §3.2 step 3).
            return Inferred { cause: Cause::Rto, rule: CauseRule::HeadAgain };
        }
        // Far from the sender, the acknowledgment of the previous retransmission may have passed
        // the capture, but it had not reached the sender. So this retransmission was not the head.
        let above_head = !scene.is_head() || scene.place.same_trigger;
        if scene.sack == Some(false) && above_head && scene.place.follows {
            return self.goes_back_in_order();
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

    /// Begins go-back-N in a recovery without SACK, because this segment follows the one before it.
    /// A partial ACK triggers a retransmission of the head alone (RFC 6582 §3.2). `in_order` counts
    /// this sender's go-back-N only if no timeout can have begun this recovery.
    pub(super) fn goes_back_in_order(&mut self) -> Inferred {
        self.traits.in_order += u32::from(!self.maybe_after_timeout);
        self.phase = LossPhase::Loss;
        Inferred { cause: Cause::GoBackN, rule: CauseRule::InOrder }
    }

    /// Infers the cause of a retransmission while the sender sends everything outstanding again.
    pub(super) fn in_loss(&mut self, scene: &SenderScene) -> Inferred {
        let again = self.is_again(scene);
        let overtaken = scene.overtaken && scene.is_clocked();
        if scene.is_head() && self.timer_expired(scene) && again && !overtaken {
            return Inferred { cause: Cause::Rto, rule: CauseRule::Backoff };
        }
        if scene.is_head() && !again && scene.lag.min(scene.waited) >= scene.shortest_rto() {
            return Inferred { cause: Cause::Rto, rule: CauseRule::Silence };
        }
        if scene.is_head() && scene.is_silent() {
            // After a timeout, acknowledgments trigger further segments. No acknowledgment can have
            // triggered this segment, so the timer fired. The estimate of the round trip may be old
            // here, because retransmitted segments give no samples (RFC 6298 §3).
            let rule = if again { CauseRule::Backoff } else { CauseRule::Silence };
            return Inferred { cause: Cause::Rto, rule };
        }
        // If options are cut off, a loss may be reported by SACK blocks that the capture does not show.
        let may_be_reported = scene.sack.is_none() && self.accepted;
        let tail = scene.is_tail() && !scene.is_head() && !scene.hole;
        let undone = self.undone && scene.sack == Some(true) || may_be_reported;
        if undone && self.from_open && tail && !scene.is_clocked() {
            // The sender undid the timeout, and had no new octets to send.
            self.phase = LossPhase::Open;
            return self.in_open(scene);
        }
        if self.undone && self.from_open && scene.is_reported() && scene.is_clocked() {
            return Inferred { cause: scene.repair_cause(true), rule: CauseRule::Reported };
        }
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
