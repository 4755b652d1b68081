//! What a loss, or the suspicion of one, does: the phases of recovery and the window in them.

use crate::congestion::{Congestion, Window};
use crate::segment::Cause;
use crate::units::Time;

use super::super::config::Recovery;
use super::super::transmit::Context;
use super::Tcb;
use super::ack::News;
use super::prr::{Prr, PrrAck};

/// Where the sender stands with losses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// All is well.
    #[default]
    Open,
    /// Something arrived out of order.
    Disorder,
    /// The window is being cut for a mark, without a loss (RFC 3168 §6.1.2).
    Cwr,
    /// A loss found by acknowledgments is being repaired.
    Recovery,
    /// Everything outstanding counts as lost: after a timeout, or Tahoe's fast retransmit.
    Loss,
}

impl Phase {
    /// Whether something is being repaired.
    pub(super) fn is_repairing(self) -> bool {
        matches!(self, Phase::Recovery | Phase::Loss)
    }
}

/// F-RTO's watch over the first ACKs after a timeout (RFC 5682 §2.1, §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Frto {
    /// Not watching.
    #[default]
    Off,
    /// The head was sent again; its ACK is awaited (step 2).
    Resent,
    /// It moved the window, and new data went out; the second ACK decides (step 3).
    SentNew,
}

/// The state of repair.
#[derive(Debug, Default)]
pub(super) struct Repair {
    pub(super) phase: Phase,
    /// The end of what was outstanding when this phase began (`RecoveryPoint`).
    point: u64,
    /// The same for the last repair, kept after it: duplicates of older data start no other
    /// (RFC 6582 §3.2, `recover`).
    pub(super) recover: u64,
    /// Duplicate ACKs in a row.
    pub(super) dupacks: u32,
    /// Octets that duplicate ACKs stand for, without SACK.
    pub(super) dup_bytes: u64,
    /// New octets sent on the first two of them (RFC 3042), which no cut counts.
    pub(super) limited: u64,
    prr: Prr,
    /// Whether one resend is due whatever the window says.
    pub(super) forced: bool,
    /// Why the next resend after a timeout goes out.
    pub(super) head_cause: Option<Cause>,
    /// A partial ACK has moved the timer already (RFC 6582 §3.2 step 3).
    partial_seen: bool,
    /// RFC 6675's one rescue for each recovery was sent.
    pub(super) rescued: bool,
    pub(super) frto: Frto,
    /// The ACK at hand has set the window, by ending a repair or by undoing one.
    pub(super) settled: bool,
    pub(super) prior: Option<Prior>,
    /// Every resend of the last repair was reported as a duplicate (RFC 3708 §3).
    pub(super) all_reported: bool,
    /// The octet after the highest that ever went out again.
    pub(super) resent_end: u64,
    /// A duplicate of what went out once was reported: the path makes some, and their reports
    /// prove nothing.
    pub(super) path_duplicates: bool,
}

/// What undoing the last cut needs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prior {
    pub(super) window: Window,
    /// RFC 4015's `pipe_prev`.
    pub(super) pipe: u64,
    pub(super) was_timeout: bool,
    /// `una` when the repair began, and the octet after the highest sent again: only duplicates
    /// of what lies in between count.
    pub(super) una: u64,
    pub(super) end: u64,
    /// The stamp of the first resend (RFC 3522 §3.2, `RetransmitTS`).
    pub(super) first_stamp: Option<u32>,
    /// Resends not yet reported as duplicates.
    pub(super) unreported: u32,
    /// Whether anything was sent again at all.
    pub(super) resent: bool,
}

impl Repair {
    /// An ACK of new octets came while all was well: no duplicate came since.
    pub(super) fn on_plain_ack(&mut self) {
        (self.dupacks, self.dup_bytes, self.limited) = (0, 0, 0);
        self.settled = false;
    }

    /// What a phase was about is over: no resend is owed, and duplicates count anew.
    pub(super) fn clear(&mut self) {
        self.frto = Frto::Off;
        self.forced = false;
        self.head_cause = None;
        self.dupacks = 0;
        self.dup_bytes = 0;
    }
}

impl Tcb {
    /// Whether arrivals above the cumulative ACK are known one by one.
    pub(super) fn uses_sack(&self) -> bool {
        self.agreed.sack && self.config.recovery.needs_sack()
    }

    /// Reacts to an ACK's news.
    pub(super) fn react(&mut self, news: &News, cx: &mut Context<'_>) {
        self.repair.settled = false;
        self.count_duplicates(news);
        self.watch_for_spurious(news, cx);
        // Disorder has no point to reach: it lasts as long as duplicates do.
        let aims = self.repair.phase.is_repairing() || self.repair.phase == Phase::Cwr;
        if aims && self.una >= self.repair.point {
            self.leave(cx);
        }
        match self.repair.phase {
            Phase::Loss => {
                if self.uses_sack() {
                    self.detect(cx);
                }
            }
            Phase::Recovery => self.in_recovery(news, cx),
            Phase::Open | Phase::Disorder | Phase::Cwr => self.look_for_loss(news, cx),
        }
    }

    /// Counts duplicates; without SACK each stands for a segment that arrived, and an ACK of new
    /// octets says which did (RFC 6582 §3.2).
    fn count_duplicates(&mut self, news: &News) {
        let sack = self.uses_sack();
        if news.duplicate {
            self.repair.dupacks += 1;
            if !sack {
                let most = self.flight().saturating_sub(self.board.lost());
                self.repair.dup_bytes = (self.repair.dup_bytes + self.smss).min(most);
            }
        } else if news.acked > 0 {
            let arrived = news.acked.saturating_sub(self.smss);
            let still = self.repair.dup_bytes.saturating_sub(arrived);
            let repairing = self.repair.phase == Phase::Recovery;
            self.repair.dup_bytes = if repairing { still.min(self.flight()) } else { 0 };
            if !(repairing || sack && self.board.sacked() > 0) {
                self.repair.dupacks = 0;
            }
            self.repair.limited = 0;
        }
    }

    /// Outside a repair: is there a loss now?
    fn look_for_loss(&mut self, news: &News, cx: &mut Context<'_>) {
        self.detect(cx);
        if self.board.lost() > 0 {
            self.begin_recovery(news, cx);
        } else if self.repair.phase != Phase::Cwr {
            let disorder = self.repair.dupacks > 0 || self.board.sacked() > 0;
            self.repair.phase = if disorder { Phase::Disorder } else { Phase::Open };
        }
    }

    fn in_recovery(&mut self, news: &News, cx: &mut Context<'_>) {
        self.detect(cx);
        if news.acked == 0 {
            return;
        }
        if self.config.recovery == Recovery::Reno {
            // RFC 5681 §3.2 step 6: the first ACK of new octets ends it.
            return self.leave(cx);
        }
        if !self.uses_sack() && !self.board.is_empty() {
            // A partial ACK: the next hole starts where it points (RFC 6582 §3.2 step 3).
            self.board.lose(0, Cause::Fast);
            self.repair.forced = true;
            self.repair.partial_seen = true;
        }
    }

    /// A loss was found by acknowledgments (RFC 5681 §3.2, RFC 6675 §5).
    fn begin_recovery(&mut self, news: &News, cx: &mut Context<'_>) {
        let was_cut = self.repair.phase == Phase::Cwr;
        self.count.fast_retransmits += 1;
        // What a probe made up for is part of this loss (RFC 8985 §7.4.2).
        self.probe = super::Probe::default();
        if was_cut {
            self.note_prior(false);
        } else {
            self.cut(Congestion::Loss, cx.now);
        }
        self.timed = None;
        self.repair.point = self.nxt;
        self.repair.recover = self.nxt;
        self.repair.forced = true;
        self.repair.partial_seen = false;
        self.repair.rescued = false;
        if self.config.recovery == Recovery::Tahoe {
            self.repair.phase = Phase::Loss;
            self.repair.dup_bytes = 0;
            self.board.lose_all(Cause::GoBackN);
            self.repair.head_cause = Some(Cause::Fast);
            self.window.cwnd = self.smss;
            return;
        }
        self.repair.phase = Phase::Recovery;
        // RFC 9937 §6.1: RecoverFS leaves out what was reported before this ACK.
        let reported = self.board.sacked() - news.sacked;
        let flight = self.flight() + news.acked - reported;
        // Linux takes the window in its place.
        self.repair.prr.begin(if self.config.linux_rules { self.window.cwnd } else { flight });
        if !self.config.prr {
            self.fall_to_threshold();
        }
    }

    /// Cuts the threshold for congestion met at `now`. The peer is told with the next new octets,
    /// whatever the reason (RFC 3168 §6.1.2).
    pub(super) fn cut(&mut self, kind: Congestion, now: Time) {
        let flight = self.flight() - self.repair.limited.min(self.flight());
        self.cut_with(kind, flight, now);
    }

    /// The same with `flight` octets outstanding.
    pub(super) fn cut_with(&mut self, kind: Congestion, flight: u64, now: Time) {
        self.owe_cwr = self.agreed.ecn;
        self.note_prior(kind == Congestion::Timeout);
        let whole = self.config.linux_rules;
        let flight = if whole { self.window.cwnd } else { flight };
        let ssthresh = self.congestion.on_congestion(now, kind, flight, self.smss, &self.window);
        let ssthresh = if whole { ssthresh - ssthresh % self.smss } else { ssthresh };
        self.window.ssthresh = ssthresh.max(2 * self.smss);
    }

    /// The window falls to the threshold at once, unless the law has the last word on it.
    pub(super) fn fall_to_threshold(&mut self) {
        if !self.congestion.owns_window() {
            self.window.cwnd = self.window.ssthresh;
        }
    }

    fn note_prior(&mut self, was_timeout: bool) {
        self.repair.prior = Some(Prior {
            window: self.window,
            pipe: self.flight().max(self.window.ssthresh),
            was_timeout,
            una: self.una,
            end: self.una,
            first_stamp: None,
            unreported: 0,
            resent: false,
        });
    }

    /// The phase ends: everything it was about has arrived.
    pub(super) fn leave(&mut self, cx: &mut Context<'_>) {
        let phase = core::mem::take(&mut self.repair.phase);
        self.repair.clear();
        if !self.congestion.owns_window() {
            match phase {
                // RFC 6582 §3.2 step 3, the way without a burst.
                Phase::Recovery if self.is_newreno() && !self.config.prr => {
                    let room = self.flight().max(self.smss) + self.smss;
                    self.window.cwnd = self.window.ssthresh.min(room);
                }
                // RFC 5681 §3.2 step 6, RFC 6675 §5, RFC 9937 §6.2.
                Phase::Recovery => self.window.cwnd = self.window.ssthresh,
                Phase::Cwr => self.window.cwnd = self.window.cwnd.min(self.window.ssthresh),
                _ => {}
            }
        }
        // This ACK has set the window; the next one may open it, in Linux this one.
        self.repair.settled = phase != Phase::Loss && !self.config.linux_rules;
        if phase.is_repairing() {
            self.rack.on_recovery_end();
            self.congestion.on_recovery_end(cx.now, &mut self.window);
        }
    }

    /// The peer echoes a mark: one cut for each window (RFC 3168 §6.1.2).
    pub(super) fn on_mark_echo(&mut self, cx: &mut Context<'_>) {
        if matches!(self.repair.phase, Phase::Open | Phase::Disorder) {
            self.cut(Congestion::Mark, cx.now);
            self.repair.phase = Phase::Cwr;
            self.repair.point = self.nxt;
            let flight = self.flight();
            self.repair.prr.begin(if self.config.linux_rules { self.window.cwnd } else { flight });
            if !self.config.prr {
                self.fall_to_threshold();
            }
        }
    }

    /// The retransmission timer fired (RFC 5681 §3.1, RFC 6298 §5.4 to 5.6).
    pub(super) fn begin_loss(&mut self, cx: &mut Context<'_>) {
        let again = self.repair.phase == Phase::Loss && self.retries > 1;
        // departs: RFC 5681 §3.1 - in Linux one cut is enough for what was out when it came.
        let is_cut = self.config.linux_rules
            && self.una < self.repair.point
            && matches!(self.repair.phase, Phase::Recovery | Phase::Cwr);
        if !again && !is_cut {
            // RFC 5681 §3.1: the threshold falls once for each loss, not at each resend of it.
            self.cut(Congestion::Timeout, cx.now);
        }
        self.window.cwnd = self.smss;
        let watched = self.config.frto && !again && self.una >= self.repair.recover;
        self.repair.frto = if watched { Frto::Resent } else { Frto::Off };
        self.repair.phase = Phase::Loss;
        self.repair.point = self.nxt;
        self.repair.recover = self.nxt;
        self.repair.dupacks = 0;
        self.repair.dup_bytes = 0;
        self.repair.limited = 0;
        self.timed = None;
        if self.board.front().is_some_and(|head| head.sacked) {
            // RFC 2018 §8: the receiver may have thrown it away.
            self.board.forget_sacks();
        }
        if self.uses_sack() && self.config.recovery == Recovery::Rack {
            self.lose_on_timeout(cx.now);
        } else {
            self.board.lose_all(Cause::GoBackN);
        }
        if self.config.linux_rules {
            // What may be on its way does not keep the head from leaving.
            self.window.cwnd = self.pipe() + self.smss;
        }
        self.repair.head_cause = Some(Cause::Rto);
        self.repair.forced = true;
    }

    /// Lets the congestion law, or recovery in its stead, set the window.
    pub(super) fn steer(&mut self, news: &News, pipe_before: u64, lost: u64, cx: &mut Context<'_>) {
        let mut info = self.ack_info(news, pipe_before, lost, cx.now);
        let phase = self.repair.phase;
        if self.congestion.owns_window() {
            return self.congestion.on_ack(&info, &mut self.window);
        }
        if news.acked > 0 && news.stood_for > 0 {
            // DeliveredData of RFC 6937: what duplicates stood for has been counted, but one segment
            // came.
            let left = info.delivered_bytes.saturating_sub(news.stood_for);
            info.delivered_bytes = left.max(self.smss.min(info.delivered_bytes));
        }
        let reducing = matches!(phase, Phase::Recovery | Phase::Cwr);
        if reducing && self.config.prr {
            if !self.uses_sack() && news.duplicate {
                info.delivered_bytes += self.smss;
            }
            // RFC 9937 §6.2: an ACK that delivered nothing moves nothing.
            if info.delivered_bytes > 0 {
                self.reduce(info.delivered_bytes, news.acked > 0 && lost == 0);
            }
        } else if !reducing && news.acked > 0 && !self.repair.settled {
            if self.config.linux_rules {
                // What was reported before has been counted.
                info.acked_bytes = info.delivered_bytes;
            }
            self.congestion.on_ack(&info, &mut self.window);
        }
    }

    /// Whether an ACK of new octets leaves the timer as it is: RFC 6582 §3.2 step 3 moves it
    /// for the first partial ACK of a recovery only.
    pub(super) fn keeps_timer(&self) -> bool {
        let Repair { phase, partial_seen, point, .. } = self.repair;
        phase == Phase::Recovery && self.is_newreno() && partial_seen && self.una < point
    }

    /// Whether holes are found by partial ACKs.
    fn is_newreno(&self) -> bool {
        !self.uses_sack() && self.config.recovery != Recovery::Reno
    }

    /// Proportional rate reduction after `delivered` octets.
    fn reduce(&mut self, delivered: u64, safe: bool) {
        self.window.cwnd = self.repair.prr.on_ack(&PrrAck {
            delivered,
            pipe: self.pipe(),
            ssthresh: self.window.ssthresh,
            smss: self.smss,
            safe,
            whole: self.config.linux_rules,
        });
    }

    /// RACK's timer fired: what was not late enough may be by now.
    ///
    /// RFC 9937 speaks of ACKs only. Here the timer counts as one that delivered nothing, so that
    /// what it finds lost leaves by and by; in Linux the one that begins a repair counts for a
    /// segment, and a later one leaves the window alone (`tcp_rack_reo_timeout`).
    pub(super) fn look_again(&mut self, cx: &mut Context<'_>) {
        let (news, pipe, lost) = (News::default(), self.pipe(), self.board.lost());
        self.detect(cx);
        let begins = self.board.lost() > 0 && !self.repair.phase.is_repairing();
        if begins {
            self.begin_recovery(&news, cx);
        }
        if self.congestion.owns_window() {
            self.steer(&news, pipe, self.board.lost().saturating_sub(lost), cx);
        } else if self.repair.phase == Phase::Recovery && self.config.prr {
            let linux = self.config.linux_rules;
            if begins || !linux {
                self.reduce(if linux { self.smss } else { 0 }, false);
            }
        }
    }

    /// `octets` went out.
    pub(super) fn count_sent(&mut self, octets: u64) {
        self.repair.prr.sent(octets);
    }

    /// The end of what this phase is about.
    pub(super) fn repair_point(&self) -> u64 {
        self.repair.point
    }
}
