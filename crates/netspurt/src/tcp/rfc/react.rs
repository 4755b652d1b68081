//! Reactions to a loss or a suspected loss: the beginning and end of recovery, and the window in
//! it.

use crate::congestion::Congestion;
use crate::segment::Cause;
use crate::units::Time;

use super::super::config::Recovery;
use super::super::transmit::Context;
use super::ack::Before;
use super::config::Undo;
use super::cwnd::Met;
use super::detect::Scene;
use super::news::{AckSegment, News};
use super::prr::PrrAck;
use super::repair::{Phase, by_partial_acks};
use super::sender::RfcSender;
use super::tail_probe::TailProbe;
use super::undo::{FrtoCircumstances, Prior};

impl RfcSender {
    /// Reacts to an ACK's news.
    pub(super) fn react(&mut self, news: &News, cx: &mut Context<'_>) {
        self.repair.settled = false;
        self.loss.count_duplicates(news, &self.window, self.repair.phase);
        if self.proves_spurious(news) {
            self.undo(news, cx);
        }
        if self.repair.is_complete(self.window.una) {
            self.leave(cx.now);
        }
        match self.repair.phase {
            Phase::Loss => {
                if self.loss.uses_sack {
                    self.detect(cx.now);
                }
            }
            Phase::Recovery => self.in_recovery(news, cx.now),
            Phase::Open | Phase::Disorder | Phase::Cwr => self.look_for_loss(news, cx.now),
        }
    }

    /// Whether the ACK proves the last retransmissions spurious.
    fn proves_spurious(&mut self, news: &News) -> bool {
        let with = FrtoCircumstances {
            is_over: self.window.una >= self.repair.point,
            uses_sack: self.loss.uses_sack,
            at_once: self.config.frto_at_once,
            has_new_data: self.window.has_new_data(),
        };
        let answered = news.acked > 0 && self.spurious.is_proved_by_stamp(news.echo);
        let by_stamp = answered && self.config.eifel;
        let by_frto = self.spurious.is_proved_by_frto(news, &with);
        let by_reports = self.config.dsack_undo && self.spurious.is_proved_by_reports();
        by_stamp || by_frto || by_reports
    }

    /// Outside a repair: is there a loss now?
    fn look_for_loss(&mut self, news: &News, now: Time) {
        self.detect(now);
        if self.loss.scoreboard.lost() > 0 {
            self.begin_recovery(news, now);
        } else {
            self.repair.note_disorder(self.loss.sees_disorder());
        }
    }

    fn in_recovery(&mut self, news: &News, now: Time) {
        self.detect(now);
        if news.acked == 0 {
            return;
        }
        if self.config.recovery == Recovery::Reno {
            // RFC 5681 §3.2 step 6: the first ACK of new octets ends it.
            return self.leave(now);
        }
        if self.loss.on_partial_ack() {
            self.repair.on_partial_ack();
        }
    }

    /// A loss was found by acknowledgments (RFC 5681 §3.2, RFC 6675 §5).
    fn begin_recovery(&mut self, news: &News, now: Time) {
        self.count.fast_retransmits += 1;
        // What a probe made up for is part of this loss (RFC 8985 §7.4.2).
        self.tail_probe = TailProbe::default();
        self.meter.stop_timing();
        if self.repair.phase == Phase::Cwr {
            // The window is cut already.
            self.note_prior(false);
        } else {
            self.cut(Congestion::Loss, now);
        }
        if self.config.recovery == Recovery::Tahoe {
            self.repair.begin_loss(self.window.nxt, Cause::Fast);
            self.loss.dup_bytes = 0;
            self.loss.scoreboard.lose_all(Cause::GoBackN);
            self.cwnd.window.cwnd = self.window.smss;
            return;
        }
        self.repair.begin_recovery(self.window.nxt);
        // RFC 9937 §6.1: RecoverFS leaves out what was reported before this ACK.
        let reported = self.loss.scoreboard.sacked() - news.sacked;
        self.begin_reduction(self.window.flight() + news.acked - reported);
    }

    /// The window begins to fall to the threshold, from `flight` octets outstanding.
    fn begin_reduction(&mut self, flight: u64) {
        self.repair.begin_reduction(self.cwnd.cut_base(flight, &self.config.cwnd_rules));
        if !self.config.prr {
            self.cwnd.fall_to_threshold();
        }
    }

    /// Cuts the threshold for congestion met at `now`.
    pub(super) fn cut(&mut self, kind: Congestion, now: Time) {
        self.cut_with(kind, self.loss.flight_to_cut(&self.window), now);
    }

    /// The same with `flight` octets outstanding.
    fn cut_with(&mut self, kind: Congestion, flight: u64, now: Time) {
        self.note_prior(kind == Congestion::Timeout);
        let met = Met { now, kind, flight, smss: self.window.smss };
        self.cwnd.cut(&met, &self.config.cwnd_rules);
    }

    /// Keeps what undoing a cut will need.
    fn note_prior(&mut self, was_timeout: bool) {
        let (flight, una) = (self.window.flight(), self.window.una);
        self.spurious.on_cut(Prior::new(self.cwnd.window, flight, una, was_timeout));
    }

    /// A repair is over: no retransmission is owed, and duplicates count anew.
    fn end_repair(&mut self, next: Phase) -> Phase {
        self.spurious.stop_frto();
        self.loss.forget_duplicates();
        self.repair.leave(next)
    }

    /// The phase ends: everything it was about has arrived.
    fn leave(&mut self, now: Time) {
        let phase = self.end_repair(Phase::Open);
        let smss = self.window.smss;
        // RFC 6582 §3.2 step 3, the way without a burst.
        let bursts = by_partial_acks(self.config.recovery, self.loss.uses_sack) && !self.config.prr;
        let most = bursts.then(|| self.window.flight().max(smss) + smss);
        self.cwnd.leave(phase, most);
        // This ACK has set the window; the next one may open it.
        let grows = self.config.cwnd_rules.last_repair_ack_grows;
        self.repair.settled = phase != Phase::Loss && !grows;
        if phase.is_repairing() {
            self.loss.rack.on_recovery_end();
            self.cwnd.algorithm.on_recovery_end(now, &mut self.cwnd.window);
        }
    }

    /// Takes the cut back (RFC 4015 §3), and the opinion that anything is lost.
    fn undo(&mut self, news: &News, cx: &mut Context<'_>) {
        let Some(prior) = self.spurious.take_prior() else { return };
        if self.repair.phase.is_repairing() {
            self.loss.scoreboard.lose_nothing();
            let disorder = self.loss.scoreboard.sacked() > 0;
            self.end_repair(if disorder { Phase::Disorder } else { Phase::Open });
        }
        let resumed = self.pipe() + news.acked.min(self.initial_window());
        let how = self.config.undo;
        self.cwnd.take_back(&prior.window, prior.pipe, resumed, how);
        // RFC 4015 §3.2 has counted what this ACK covers.
        self.repair.settled = how == Undo::Rfc4015;
        self.cwnd.algorithm.on_undo(cx.now, &mut self.cwnd.window);
        if prior.was_timeout {
            self.timer.spurious(cx);
            self.restart_timer(cx.now);
        }
        self.count.undone += 1;
    }

    /// The peer echoes a mark: one cut for each window (RFC 3168 §6.1.2).
    pub(super) fn on_mark_echo(&mut self, now: Time) {
        if self.repair.phase.is_at_ease() {
            self.cut(Congestion::Mark, now);
            self.repair.begin_cwr(self.window.nxt);
            self.begin_reduction(self.window.flight());
        }
    }

    /// What an ACK says of a tail loss probe: one that made up for a loss calls for a cut, of half
    /// of what was out when the ACK came.
    pub(super) fn judge_probe(&mut self, ack: &AckSegment<'_>, news: &News, now: Time) {
        let made_up = self.tail_probe.made_up_for_a_loss(ack, news);
        if made_up && self.repair.phase.is_at_ease() {
            self.cut_with(Congestion::Loss, self.window.flight() + news.acked, now);
            self.cwnd.fall_to_threshold();
        }
    }

    /// The retransmission timer fired (RFC 5681 §3.1, RFC 6298 §5.4 to 5.6).
    pub(super) fn begin_loss(&mut self, now: Time) {
        let rules = self.config.cwnd_rules;
        let again = self.repair.phase == Phase::Loss && self.retries > 1;
        let is_cut = rules.timeout_keeps_cut && self.repair.is_cutting(self.window.una);
        if !again && !is_cut {
            // RFC 5681 §3.1: the threshold falls once for each loss, not at each retransmission of
            // it.
            self.cut(Congestion::Timeout, now);
        }
        let is_new = self.window.una >= self.repair.recover;
        self.spurious.on_timeout(self.config.frto && !again && is_new);
        self.repair.begin_loss(self.window.nxt, Cause::Rto);
        self.meter.stop_timing();
        let Self { window, meter, repair, config, loss, .. } = self;
        loss.on_timeout(&Scene { now, window, meter, repair, config });
        // What may be on its way does not keep the head from leaving.
        let beside = if rules.timeout_adds_to_pipe { self.pipe() } else { 0 };
        self.cwnd.window.cwnd = beside + self.window.smss;
    }

    /// Lets the congestion algorithm, or recovery in its stead, set the window.
    pub(super) fn steer(&mut self, news: &News, before: &Before, now: Time) {
        let mut info = self.ack_info(news, before, now);
        if self.cwnd.is_owned() {
            return self.cwnd.algorithm.on_ack(&info, &mut self.cwnd.window);
        }
        if news.acked > 0 && news.stood_for > 0 {
            // DeliveredData of RFC 6937: what duplicates stood for has been counted, but one
            // segment came.
            let left = info.delivered_bytes.saturating_sub(news.stood_for);
            info.delivered_bytes = left.max(self.window.smss.min(info.delivered_bytes));
        }
        let reducing = self.repair.phase.is_reducing();
        if reducing && self.config.prr {
            if !self.loss.uses_sack && news.duplicate {
                info.delivered_bytes += self.window.smss;
            }
            // RFC 9937 §6.2: an ACK that delivered nothing moves nothing.
            if info.delivered_bytes > 0 {
                self.reduce(info.delivered_bytes, news.acked > 0 && info.lost_bytes == 0);
            }
        } else if !reducing && news.acked > 0 && !self.repair.settled {
            if self.config.cwnd_rules.growth_by_delivery {
                // What was reported before has been counted.
                info.acked_bytes = info.delivered_bytes;
            }
            self.cwnd.algorithm.on_ack(&info, &mut self.cwnd.window);
        }
    }

    /// Proportional rate reduction after `delivered` octets.
    fn reduce(&mut self, delivered: u64, safe: bool) {
        self.cwnd.window.cwnd = self.repair.reduce(&PrrAck {
            delivered,
            pipe: self.pipe(),
            ssthresh: self.cwnd.window.ssthresh,
            smss: self.window.smss,
            safe,
            whole: self.config.cwnd_rules.whole_segments,
        });
    }

    /// RACK's timer fired: what was not late enough may be by now.
    ///
    /// For proportional rate reduction the timer counts as an ACK that delivered nothing, so that
    /// what it finds lost leaves by and by, or as
    /// [`rack_timer_delivers`](super::RfcConfig::rack_timer_delivers) has it.
    pub(super) fn on_reorder_timer(&mut self, now: Time) {
        self.deadlines.reorder = Time::NEVER;
        let news = News::default();
        let before = Before { pipe: self.pipe(), lost: self.loss.scoreboard.lost() };
        self.detect(now);
        let begins = self.loss.scoreboard.lost() > 0 && !self.repair.phase.is_repairing();
        if begins {
            self.begin_recovery(&news, now);
        }
        if self.cwnd.is_owned() {
            self.steer(&news, &before, now);
        } else if self.repair.phase == Phase::Recovery && self.config.prr {
            let delivers = self.config.rack_timer_delivers;
            if begins || !delivers {
                self.reduce(if delivers { self.window.smss } else { 0 }, false);
            }
        }
    }
}
