//! Loss recovery, which detects losses, repairs them, and sets cwnd during the repair. Rules such
//! as `needs_news` are switches; the file `rules.rs` explains them.

use crate::congestion::{AckInfo, Congestion, Window};
use crate::packed::packed;
use crate::segment::Cause;
use crate::units::Duration;

use super::config::{Recovery, RfcConfig, Undo};
use super::cwnd::{CongestionEvent, CwndControl};
use super::detect::{LossContext, LossDetector};
use super::news::News;
use super::prr::PrrAck;
use super::repair::{Phase, Repair, by_partial_acks};
use super::send_window::SendWindow;
use super::undo::{FrtoInputs, Prior, SpuriousWatch};
use super::usage::raise_ssthresh;

/// Loss recovery of a connection: loss detection, the phase of repair, the detection of spurious
/// repairs, and the congestion window that these three change.
#[derive(Debug)]
pub(super) struct LossRecovery {
    pub(super) loss: LossDetector,
    pub(super) repair: Repair,
    pub(super) spurious: SpuriousWatch,
    pub(super) cwnd: CwndControl,
}

packed!(LossRecovery { loss, repair, spurious, cwnd });

/// When RACK looks for losses next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum NextLook {
    /// The time of the next look does not change, because RACK has not looked now.
    #[default]
    Unchanged,
    /// RACK looks again with the next ACK.
    OnAck,
    /// RACK looks again after this time.
    After(Duration),
}

/// What loss recovery did after an ACK, or after a timer fired. Other parts of the connection react
/// to this.
#[derive(Debug, Default)]
pub(super) struct Reaction {
    pub(super) next_look: NextLook,
    /// Whether a repair began.
    pub(super) began: bool,
    /// If a cut (a reduction of ssthresh because of congestion) was undone: the state before this
    /// cut.
    pub(super) undone: Option<Prior>,
}

impl LossRecovery {
    pub(super) fn new(config: &RfcConfig) -> Self {
        Self {
            loss: LossDetector::default(),
            repair: Repair::default(),
            spurious: SpuriousWatch::default(),
            cwnd: CwndControl::new(config),
        }
    }

    /// The estimate of octets in the network.
    #[inline]
    pub(super) fn pipe(&self, window: &SendWindow, config: &RfcConfig) -> u64 {
        self.loss.pipe(window, config)
    }

    /// True if the phase is Open, F-RTO is off, the scoreboard is quiet (`Scoreboard::is_quiet`),
    /// and no report of a duplicate waits for RACK. In addition, no octet at or above `una` (the
    /// oldest octet that is not acknowledged) was ever retransmitted.
    #[inline]
    pub(super) fn is_calm(&self, una: u64) -> bool {
        self.repair.phase == Phase::Open
            && self.spurious.is_quiet(una)
            && self.loss.scoreboard.is_quiet()
            && !self.loss.rack.report_waits
    }

    /// Whether new data may leave immediately, because no retransmission can be due.
    #[inline]
    pub(super) fn has_nothing_to_repair(&self) -> bool {
        self.repair.phase == Phase::Open
            && self.spurious.is_frto_off()
            && self.loss.dup_bytes == 0
            && self.loss.scoreboard.is_orderly()
    }

    /// Reacts to what an ACK reports for the first time (`news`).
    pub(super) fn react(&mut self, news: &News, scene: &LossContext<'_>) -> Reaction {
        self.repair.settled = false;
        let calm = self.repair.phase == Phase::Open && news.is_plain();
        self.loss.count_duplicates(news, scene, self.repair.phase);
        let mut reaction = Reaction::default();
        self.repair.pauses = self.was_late(news, scene);
        if self.repair.pauses {
            return reaction;
        }
        if self.proves_spurious(news, scene) {
            reaction.undone = self.undo(news, scene);
        }
        if self.is_complete(scene) {
            self.leave(scene);
        }
        match self.repair.phase {
            Phase::Loss if !self.loss.uses_sack => {}
            Phase::Loss => {
                let copies = self.loss.scoreboard.retransmitted();
                reaction.next_look = self.look(news, scene);
                if self.lost_copies(copies, scene) {
                    self.begin_recovery(news, scene);
                    reaction.began = true;
                }
            }
            Phase::Recovery => {
                reaction.next_look = self.look(news, scene);
                self.in_recovery(news, scene);
            }
            Phase::Open | Phase::Disorder | Phase::Cwr => {
                reaction.next_look = self.look(news, scene);
                reaction.began = self.begin_if_lost(news, calm, scene);
            }
        }
        reaction
    }

    /// True if the ACK suggests that the receiver discarded octets that it had reported (RFC 2018
    /// §8), and if the rule `reneging_hurries` is on. The sender then shortens its timer. It
    /// detects no losses by this ACK, and retransmits no lost segment.
    pub(super) fn suspects_reneging(&mut self, news: &News, config: &RfcConfig) -> bool {
        let reported = self.loss.scoreboard.front().is_some_and(|head| head.sacked);
        let suspects = reported && news.acked > 0 && config.timer_rules.reneging_hurries;
        if suspects {
            (self.repair.settled, self.repair.pauses) = (false, true);
        }
        suspects
    }

    /// Whether all octets that were outstanding at the beginning of the phase are acknowledged. If
    /// the rules ask for it, one more octet must also be acknowledged.
    fn is_complete(&self, scene: &LossContext<'_>) -> bool {
        let rules = &scene.config.cwnd_rules;
        let beyond = match self.repair.phase {
            Phase::Cwr => rules.mark_cut_ends_beyond,
            _ => rules.repair_ends_beyond && !self.loss.uses_sack,
        };
        self.repair.is_complete(scene.window.una, beyond)
    }

    /// True if duplicate ACKs do not count, because of the rule `repair_ends_beyond`. There are two
    /// cases. In the first case, a repair continues although all octets that were outstanding at
    /// its beginning are acknowledged. In the second case, no new data was sent since a timeout
    /// (`tcp_fastretrans_alert`, `tcp_process_loss`).
    pub(super) fn ignores_duplicates(&self, window: &SendWindow, config: &RfcConfig) -> bool {
        let point = self.repair.point;
        let lasts = config.cwnd_rules.repair_ends_beyond && !self.loss.uses_sack;
        lasts
            && match self.repair.phase {
                Phase::Recovery => window.una >= point,
                Phase::Loss => window.una >= point || window.nxt <= point,
                _ => false,
            }
    }

    /// Whether a repair continues although all octets that were outstanding at its beginning are
    /// acknowledged.
    fn reopens_beyond(&self, scene: &LossContext<'_>) -> bool {
        let repairs = self.repair.phase == Phase::Recovery && !self.loss.uses_sack;
        let lasts = scene.config.cwnd_rules.repair_ends_beyond && repairs;
        lasts && scene.window.una == self.repair.point
    }

    /// Marks, after an ACK, the segments that count as lost by the loss detection of the
    /// connection. With the rule `needs_news`, RACK marks segments only after it has got a round
    /// trip, or after a cut was undone.
    fn look(&mut self, news: &News, scene: &LossContext<'_>) -> NextLook {
        let has_news = core::mem::take(&mut self.loss.rack.has_news);
        let by_time = self.loss.uses_sack && scene.config.recovery == Recovery::Rack;
        if has_news || !by_time || !scene.config.rack_rules.needs_news {
            self.detect(scene)
        } else if news.acked > 0 {
            NextLook::OnAck
        } else {
            NextLook::Unchanged
        }
    }

    /// Whether RACK has just marked a retransmission as lost, and the rule `lost_copies_cut` is on.
    /// Before RACK looked, the number of octets with an outstanding retransmission was `copies`.
    fn lost_copies(&self, copies: u64, scene: &LossContext<'_>) -> bool {
        let again = self.loss.scoreboard.retransmitted() < copies;
        again && scene.config.cwnd_rules.lost_copies_cut
    }

    /// Marks the segments that count as lost by the loss detection of the connection.
    fn detect(&mut self, scene: &LossContext<'_>) -> NextLook {
        self.loss.detect(&self.repair, scene).map_or(NextLook::OnAck, NextLook::After)
    }

    /// Checks whether a partial ACK answers an original. If so, and if the rule
    /// `teaches_reordering` is on, records that the path reorders. With the rule
    /// `waits_for_copies`, returns whether the ACK must not undo a cut yet, because retransmissions
    /// are outstanding.
    fn was_late(&mut self, news: &News, scene: &LossContext<'_>) -> bool {
        let rules = scene.config.spurious_rules;
        let partial = self.repair.phase == Phase::Recovery && scene.window.una < self.repair.point;
        let echoes = scene.config.eifel && self.spurious.shows_delay(news.echo);
        let late = partial && news.acked > 0 && echoes;
        if late && rules.teaches_reordering {
            self.loss.note_late_original(scene.window.una - news.acked, scene);
        }
        late && rules.waits_for_copies && self.loss.scoreboard.retransmitted() > 0
    }

    /// Whether the ACK proves the last retransmissions spurious.
    fn proves_spurious(&mut self, news: &News, scene: &LossContext<'_>) -> bool {
        let LossContext { window, config, .. } = scene;
        let with = FrtoInputs {
            is_over: window.una >= self.repair.point,
            uses_sack: self.loss.uses_sack,
            at_once: config.frto_at_once,
            has_new_data: window.has_new_data(),
        };
        let answered = news.acked > 0
            && if config.spurious_rules.waits_for_copies {
                self.repair.phase.is_repairing() && self.spurious.shows_delay(news.echo)
            } else {
                self.spurious.is_proved_by_stamp(news.echo)
            };
        let by_stamp = answered && config.eifel;
        let by_frto = self.spurious.is_proved_by_frto(news, &with);
        let early = config.spurious_rules.reports_need_copies;
        let by_reports = config.dsack_undo && self.spurious.is_proved_by_reports(early);
        by_stamp || by_frto || by_reports
    }

    /// Begins a repair if an ACK outside of a repair has shown that a segment is lost. Returns
    /// whether a repair began. If none began, sets the phase to Disorder or to Open, unless the
    /// phase is Cwr. With the rule `doubts_copies`, outstanding retransmissions also lead to
    /// Disorder, except if the ACK is `calm`. A calm ACK arrived in the phase Open, acknowledges
    /// new octets, and reports neither new arrivals nor a duplicate by SACK.
    fn begin_if_lost(&mut self, news: &News, calm: bool, scene: &LossContext<'_>) -> bool {
        let begins = self.loss.scoreboard.lost() > 0;
        if begins {
            self.begin_recovery(news, scene);
        } else {
            let doubts = !calm && scene.config.spurious_rules.doubts_copies;
            let copies = doubts && self.loss.scoreboard.has_copies();
            self.repair.note_disorder(copies || self.loss.sees_disorder());
        }
        begins
    }

    fn in_recovery(&mut self, news: &News, scene: &LossContext<'_>) {
        if news.acked == 0 || scene.window.una >= self.repair.point {
            return;
        }
        if scene.config.recovery == Recovery::Reno {
            // RFC 5681 §3.2 step 6: the first ACK of new octets ends recovery.
            return self.leave(scene);
        }
        if self.loss.on_partial_ack() {
            // Proportional rate reduction says when the next lost segment is retransmitted (RFC
            // 9937 §6.2).
            self.repair.on_partial_ack(!scene.config.prr);
        }
    }

    /// Begins a repair, because acknowledgments showed a loss (RFC 5681 §3.2, RFC 6675 §5).
    fn begin_recovery(&mut self, news: &News, scene: &LossContext<'_>) {
        let (window, config) = (scene.window, scene.config);
        let goes_on = self.repair.phase == Phase::Cwr && config.cwnd_rules.mark_cut_goes_on;
        if goes_on {
            self.keep_cut(window);
        } else if self.repair.phase == Phase::Cwr {
            // ssthresh was already cut for a congestion mark, and is not cut again for this loss.
            self.note_prior(false, scene);
        } else {
            self.cut(Congestion::Loss, scene);
        }
        if config.recovery == Recovery::Tahoe {
            self.repair.begin_loss(window.nxt, Cause::Fast);
            self.loss.dup_bytes = 0;
            self.loss.scoreboard.mark_all_lost(Cause::GoBackN);
            self.cwnd.window.cwnd = window.smss;
            return;
        }
        if goes_on {
            return self.repair.go_on_with_recovery(window.nxt);
        }
        self.repair.begin_recovery(window.nxt);
        // RFC 9937 §6.1: RecoverFS does not include what was reported before this ACK. The
        // subtraction saturates, because a wrong ACK may report octets that it also acknowledges.
        let reported = self.loss.scoreboard.sacked().saturating_sub(news.sacked);
        self.begin_reduction(window.flight() + news.acked - reported, config);
    }

    /// Begins to reduce cwnd to ssthresh: in steps with proportional rate reduction, otherwise at
    /// once. `flight` is RFC 9937's `RecoverFS` in octets. With the rule `cut_from_cwnd`, cwnd
    /// takes the place of `flight`.
    fn begin_reduction(&mut self, flight: u64, config: &RfcConfig) {
        self.repair.begin_reduction(self.cwnd.cut_base(flight, &config.cwnd_rules));
        if !config.prr {
            self.cwnd.fall_to_threshold();
        }
    }

    /// Reduces ssthresh because of congestion.
    pub(super) fn cut(&mut self, kind: Congestion, scene: &LossContext<'_>) {
        self.cut_with(kind, self.loss.flight_to_cut(scene.window), scene);
    }

    /// Reduces ssthresh because of congestion, with `flight` octets outstanding.
    fn cut_with(&mut self, kind: Congestion, flight: u64, scene: &LossContext<'_>) {
        self.note_prior(kind == Congestion::Timeout, scene);
        let met = CongestionEvent { now: scene.now, kind, flight, smss: scene.window.smss };
        self.cwnd.cut(&met, &scene.config.cwnd_rules);
    }

    /// Keeps the state that is needed to undo a cut.
    fn note_prior(&mut self, was_timeout: bool, scene: &LossContext<'_>) {
        let (flight, una) = (scene.window.flight(), scene.window.una);
        let mut window = self.cwnd.window;
        if scene.config.undo == Undo::Prior && !self.repair.phase.is_reducing() {
            // `tcp_current_ssthresh`: the undo restores at least three quarters of cwnd as
            // ssthresh.
            raise_ssthresh(&mut window, scene.window.smss);
        }
        let has_copies = self.loss.scoreboard.has_copies();
        self.spurious.on_cut(Prior::new(window, flight, una, was_timeout), has_copies);
        self.spurious.await_reports(self.loss.scoreboard.copies() + scene.uncounted_copies);
    }

    /// Makes the last cut permanent: [`Undo::Prior`] then restores neither cwnd nor ssthresh, even
    /// if the cut proves spurious.
    fn keep_cut(&mut self, window: &SendWindow) {
        let nothing = Window { cwnd: 0, ssthresh: 0 };
        let has_copies = self.loss.scoreboard.has_copies();
        self.spurious.on_cut(Prior::new(nothing, window.flight(), window.una, false), has_copies);
    }

    /// Ends a repair: no further retransmission is due, and the count of duplicate ACKs restarts at
    /// zero.
    fn end_repair(&mut self, next: Phase) -> Phase {
        self.spurious.stop_frto();
        self.loss.forget_duplicates();
        self.repair.leave(next)
    }

    /// Ends the phase, because all octets that were outstanding at its beginning are acknowledged.
    /// With Reno, the first ACK of new octets also ends recovery.
    fn leave(&mut self, scene: &LossContext<'_>) {
        let (window, config) = (scene.window, scene.config);
        let phase = self.end_repair(Phase::Open);
        let smss = window.smss;
        // RFC 6582 §3.2 step 3, the alternative without a burst.
        let bursts = by_partial_acks(config.recovery, self.loss.uses_sack) && !config.prr;
        let burst_limit = bursts.then(|| window.flight().max(smss) + smss);
        // If a cut of this recovery was undone, the undo has already set cwnd.
        if phase != Phase::Recovery || self.spurious.has_prior() {
            self.cwnd.leave(phase, burst_limit);
        }
        // If this ACK has set cwnd, only the next ACK may increase it, unless the rule
        // `last_repair_ack_grows` is on.
        let grows = config.cwnd_rules.last_repair_ack_grows;
        self.repair.settled = phase != Phase::Loss && !grows;
        if phase.is_repairing() {
            self.loss.rack.on_recovery_end();
            self.cwnd.algorithm.on_recovery_end(scene.now, &mut self.cwnd.window);
        }
    }

    /// Undoes the cut (RFC 4015 §3), and usually ends the repair. No segment then counts as lost
    /// any more, except at the end of a recovery with [`Undo::Prior`]. Returns the state before the
    /// cut.
    fn undo(&mut self, news: &News, scene: &LossContext<'_>) -> Option<Prior> {
        let prior = self.spurious.take_prior()?;
        self.loss.rack.has_news = true;
        if self.reopens_beyond(scene) {
            // The repair ends only with an ACK of later data (`tcp_is_non_sack_preventing_reopen`).
            self.loss.forget_duplicates();
        } else if self.repair.phase.is_repairing() {
            // At the end of a recovery Linux restores cwnd, but not the segments that still count
            // as lost, so a new recovery follows (`tcp_try_undo_recovery`).
            let keeps_lost = self.repair.phase == Phase::Recovery && self.is_complete(scene);
            if !keeps_lost || scene.config.undo != Undo::Prior {
                self.loss.scoreboard.clear_lost(scene.config.rack_rules.spares_unsent);
            }
            let disorder = self.loss.scoreboard.sacked() > 0;
            self.end_repair(if disorder { Phase::Disorder } else { Phase::Open });
        }
        let burst = news.acked.min(self.cwnd.initial(scene.window.smss));
        let resumed = self.pipe(scene.window, scene.config) + burst;
        let how = scene.config.undo;
        self.cwnd.undo_cut(&prior.window, prior.pipe, resumed, how);
        // By RFC 4015 §3.2, the new cwnd already counts the octets that this ACK covers.
        self.repair.settled = how == Undo::Rfc4015;
        self.cwnd.algorithm.on_undo(scene.now, &mut self.cwnd.window);
        Some(prior)
    }

    /// Cuts cwnd because the peer echoes a mark, but only once for each window of data (RFC 3168
    /// §6.1.2).
    pub(super) fn on_mark_echo(&mut self, scene: &LossContext<'_>) {
        if self.repair.phase.is_at_ease() {
            self.cut(Congestion::Mark, scene);
            self.keep_cut(scene.window);
            self.repair.begin_cwr(scene.window.nxt);
            self.begin_reduction(scene.window.flight(), scene.config);
        }
    }

    /// Cuts ssthresh and cwnd because a tail loss probe repaired a loss. `flight` octets were
    /// outstanding when the ACK came.
    pub(super) fn on_loss_repaired_by_probe(&mut self, flight: u64, scene: &LossContext<'_>) {
        if self.repair.phase.is_at_ease() {
            self.cut_with(Congestion::Loss, flight, scene);
            self.cwnd.fall_to_threshold();
        }
    }

    /// Begins a repair because the retransmission timer fired (RFC 5681 §3.1, RFC 6298 §5.4 to
    /// 5.6). The flag `repeatedly` says whether there was an earlier timeout and no progress after
    /// it.
    pub(super) fn on_timeout(&mut self, repeatedly: bool, scene: &LossContext<'_>) {
        let (window, config) = (scene.window, scene.config);
        let rules = config.cwnd_rules;
        // RFC 3168 §6.1.2: the peer learns of each reduction of cwnd, even if ssthresh does not
        // change.
        self.cwnd.owes_cwr = true;
        let is_repeated_loss = self.repair.phase == Phase::Loss && repeatedly;
        let is_cut = rules.timeout_keeps_cut && self.repair.is_cutting(window.una);
        let cuts = !is_repeated_loss && !is_cut;
        if cuts {
            // RFC 5681 §3.1: ssthresh falls once for each loss, and not at each retransmission of
            // the lost segment.
            self.cut(Congestion::Timeout, scene);
        }
        // Linux starts F-RTO if the timeout is repeated or if no repair was in progress
        // (`tcp_enter_loss`). Without the switch `frto_at_once`, F-RTO starts only at a first
        // timeout, and only if all octets that were outstanding when the last repair began are
        // acknowledged.
        let watches = if config.frto_at_once {
            repeatedly || !self.repair.phase.is_repairing()
        } else {
            !is_repeated_loss && window.una >= self.repair.recover
        };
        self.cwnd.algorithm.on_timeout(scene.now, window.nxt);
        if matches!(self.repair.phase, Phase::Open | Phase::Disorder) {
            self.loss.doubt_reordering(scene);
        }
        self.repair.pauses = false;
        self.spurious.on_timeout(config.frto && watches);
        self.repair.begin_loss(window.nxt, Cause::Rto);
        self.loss.on_timeout(scene);
        if cuts {
            // Retransmissions that count as lost now are not outstanding any more.
            self.spurious.await_reports(self.loss.scoreboard.copies());
        }
        // With the rule `timeout_adds_to_pipe`, cwnd has room for one segment in addition to the
        // data that may still be on its way. Otherwise cwnd is one segment.
        let beside = if rules.timeout_adds_to_pipe { self.pipe(window, config) } else { 0 };
        self.cwnd.window.cwnd = beside + window.smss;
    }

    /// Looks for losses because RACK's timer fired. Segments that were not late enough at RACK's
    /// last look may be late now.
    pub(super) fn on_reorder_timer(&mut self, scene: &LossContext<'_>) -> Reaction {
        self.repair.pauses = false;
        let copies = self.loss.scoreboard.retransmitted();
        let next_look = self.detect(scene);
        let began = match self.repair.phase {
            Phase::Recovery => false,
            Phase::Loss => self.lost_copies(copies, scene),
            Phase::Open | Phase::Disorder | Phase::Cwr => self.loss.scoreboard.lost() > 0,
        };
        if began {
            self.begin_recovery(&News::default(), scene);
        }
        Reaction { next_look, began, undone: None }
    }

    /// Applies proportional rate reduction when RACK's timer has fired. The firing counts as an ACK
    /// that delivered nothing. Without this reduction, all segments that RACK has just marked as
    /// lost would be sent at once. With
    /// [`rack_timer_delivers`](super::RfcConfig::rack_timer_delivers), a firing that began the
    /// repair (`began`) counts as the delivery of one segment, and other firings do not change
    /// cwnd.
    pub(super) fn reduce_by_timer(&mut self, began: bool, scene: &LossContext<'_>) {
        if self.repair.phase == Phase::Recovery && scene.config.prr {
            let delivers = scene.config.rack_timer_delivers;
            if began || !delivers {
                self.reduce(if delivers { scene.window.smss } else { 0 }, false, scene);
            }
        }
    }

    /// Sets cwnd after an ACK. An algorithm that owns cwnd, such as BBR, sets cwnd after every ACK.
    /// Otherwise proportional rate reduction sets cwnd in the phases Recovery and Cwr, and the
    /// algorithm sets cwnd when cwnd may grow.
    pub(super) fn steer(&mut self, news: &News, mut info: AckInfo, scene: &LossContext<'_>) {
        if self.cwnd.is_owned() {
            return self.cwnd.take_ack(&info);
        }
        let smss = scene.window.smss;
        if news.acked > 0 && news.dup_bytes > 0 {
            // DeliveredData of RFC 6937: duplicate ACKs may have indicated the arrival of some of
            // these octets. Such octets were counted then, so they are subtracted. The rest is at
            // least one segment, or all delivered octets if these are fewer.
            let delivered_rest = info.delivered_bytes.saturating_sub(news.dup_bytes);
            info.delivered_bytes = delivered_rest.max(smss.min(info.delivered_bytes));
        }
        let reducing = self.repair.phase.is_reducing();
        let grows = !reducing && self.earns_by(news, scene.config) && !self.repair.settled;
        if let Some(rtt) = info.rtt.filter(|_| !grows) {
            self.cwnd.algorithm.on_round_trip(info.now, rtt);
        }
        if reducing && scene.config.prr {
            if !self.loss.uses_sack && news.duplicate {
                info.delivered_bytes += smss;
            }
            // RFC 9937 §6.2: an ACK that delivered no octets does not change cwnd.
            if info.delivered_bytes > 0 {
                let safe = news.acked > 0 && info.lost_bytes == 0;
                self.reduce(info.delivered_bytes, safe, scene);
            }
        } else if grows {
            if scene.config.cwnd_rules.growth_by_delivery {
                // Octets that were reported before have already been counted.
                info.acked_bytes = info.delivered_bytes;
            }
            self.cwnd.take_ack(&info);
        }
    }

    /// True if an ACK may increase cwnd. An ACK of new octets may do so. An ACK that only reports
    /// an arrival may increase cwnd under two conditions: the rules allow it, and a segment was
    /// once overtaken by more than `dup_thresh` other segments.
    fn earns_by(&self, news: &News, config: &RfcConfig) -> bool {
        let by_report = config.cwnd_rules.reordered_reports_grow && news.sacked > 0;
        news.acked > 0 || by_report && self.loss.rack.is_reordered_beyond(config.dup_thresh)
    }

    /// Applies proportional rate reduction after `delivered` octets were delivered. The flag `safe`
    /// says whether the ACK acknowledged new octets and showed no further loss (`SafeACK`).
    fn reduce(&mut self, delivered: u64, safe: bool, scene: &LossContext<'_>) {
        self.cwnd.window.cwnd = self.repair.reduce(&PrrAck {
            delivered,
            pipe: self.pipe(scene.window, scene.config),
            ssthresh: self.cwnd.window.ssthresh,
            smss: scene.window.smss,
            safe,
            whole: scene.config.cwnd_rules.whole_segments,
        });
    }
}
