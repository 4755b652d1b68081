//! What falls due by itself: the retransmission timer and the timers beside it.

use crate::congestion::Congestion;
use crate::rto::TimeoutKind;
use crate::segment::{Cause, Segment};
use crate::units::{Duration, Time};

use super::super::timer::Oldest;
use super::super::transmit::Context;
use super::ack::News;
use super::config::{Restart, RfcConfig, SfrConfig, SfrResponse};
use super::repair::Phase;
use super::{Deadlines, Failure, Probe, State, Tcb};

/// The longest a closed window goes without a probe (RFC 9293 §3.8.6.1 sets no limit; BSD's).
const PERSIST_MAX: Duration = Duration::from_secs(60);
/// The longest a short segment waits for company (RFC 9293 §3.8.6.2.1).
const OVERRIDE: Duration = Duration::from_millis(200);
/// A probe's wait before there is a round trip (RFC 8985 §7.2).
const PTO_INITIAL: Duration = Duration::from_secs(1);

impl Tcb {
    /// Does what is due at `now`, one thing at a time.
    pub(in crate::tcp) fn on_deadline(&mut self, cx: &mut Context<'_>) {
        let now = cx.now;
        self.tell_time(now);
        let Deadlines { tlp, reorder, sfr, persist, pace, linger } = self.deadlines;
        if self.rx.deadline <= now {
            self.rx.patience.on_wait_over(self.timer.rto());
            self.send_ack(cx);
        } else if pace <= now {
            self.deadlines.pace = Time::NEVER;
            self.output(cx);
        } else if reorder <= now {
            self.on_reorder_timer(cx);
        } else if tlp <= now {
            self.on_probe_timer(cx);
        } else if sfr <= now {
            self.on_sfr_timer(cx);
        } else if persist <= now {
            self.on_persist_timer(cx);
        } else if linger <= now {
            self.state = State::Closed;
            self.stop_everything();
        } else if self.timer.deadline() <= now {
            self.on_timeout(cx);
        }
        if self.state.may_send() {
            self.look_at_hold(now);
        }
        self.report(cx);
    }

    /// The retransmission timer fired.
    fn on_timeout(&mut self, cx: &mut Context<'_>) {
        self.timer.stop();
        if self.board.is_empty() {
            return;
        }
        self.retries += 1;
        self.count.timeouts += 1;
        let opening = self.una == 0;
        let most = if opening { self.config.syn_retries } else { self.config.retries };
        if self.retries > most {
            return self.fail(Failure::TimedOut);
        }
        let kind = match self.state {
            State::SynSent => TimeoutKind::Syn,
            State::SynReceived => TimeoutKind::SynAck,
            _ => TimeoutKind::Rto,
        };
        self.timer.back_off(kind, cx);
        if opening {
            return self.resend_syn(cx);
        }
        self.probe = Probe::default();
        self.deadlines.tlp = Time::NEVER;
        self.deadlines.reorder = Time::NEVER;
        self.begin_loss(cx);
        self.paced_until = cx.now;
        self.output(cx);
        self.arm_timer(cx.now);
    }

    /// Arms the retransmission timer afresh (RFC 6298 §5.1, 5.6).
    pub(super) fn arm_timer(&mut self, now: Time) {
        self.arm_timer_from(now, now);
    }

    pub(super) fn arm_timer_from(&mut self, from: Time, now: Time) {
        let sent = self.board.front().map_or(now, |oldest| oldest.at);
        let oldest = Oldest { sent, flight_segs: self.board.len() as u64 };
        self.timer.restart(now, from, oldest, self.config.timer_clock);
    }

    /// RFC 8985 §7.2: a probe is due some round trips after the last sending or ACK, and when
    /// the retransmission timer would fire at the latest.
    pub(super) fn arm_tlp(&mut self, now: Time) {
        self.deadlines.tlp = Time::NEVER;
        let calm = matches!(self.repair.phase, Phase::Open | Phase::Cwr);
        let quiet = calm && is_idle(self.deadlines.reorder);
        let able = self.config.tlp && self.uses_sack() && quiet && self.board.sacked() == 0;
        if !able || self.board.is_empty() || self.probe.end_seq.is_some() || self.una == 0 {
            return;
        }
        let wait = match self.srtt {
            Some(srtt) => {
                let lone = self.board.len() <= 1;
                let RfcConfig { max_ack_delay, timer_slack, tlp_wait_percent, .. } = *self.config;
                let slack = if lone { max_ack_delay } else { timer_slack };
                srtt * u64::from(tlp_wait_percent) / 100 + slack
            }
            None => PTO_INITIAL,
        };
        let due = self.config.timer_clock.expiry(now, wait);
        self.deadlines.tlp = due.min(self.timer.deadline());
    }

    /// The probe goes out: new data where there is some, else the last segment (§7.3).
    fn on_probe_timer(&mut self, cx: &mut Context<'_>) {
        self.deadlines.tlp = Time::NEVER;
        if self.board.is_empty() {
            return;
        }
        let data = self.end.saturating_sub(self.nxt).min(self.smss);
        let fresh = data > 0 && data <= self.room();
        if fresh {
            self.send_fresh(data, cx);
        } else {
            let last = self.board.len() - 1;
            self.resend(last, Cause::Tlp, cx);
        }
        self.probe = Probe { end_seq: Some(self.nxt), is_resend: !fresh };
        self.count.probes += 1;
        self.deadlines.tlp = Time::NEVER;
        self.arm_timer(cx.now);
    }

    /// What an ACK says of a probe under way (§7.4.2): a resend that made up for a loss calls for
    /// a cut, one that proved needless does not. The ACK of the probe alone does not tell: that
    /// may be the original's, and the report of a duplicate follows.
    pub(super) fn judge_probe(&mut self, ack: &Segment, news: &News, cx: &mut Context<'_>) {
        let Some(end) = self.probe.end_seq else { return };
        let acked = self.octet(ack.ack);
        if acked < end {
            return;
        }
        let reported = news.dsack.is_some_and(|(_, right)| right == end);
        let plain = news.acked == 0 && ack.seq_len() == 0 && ack.sack().is_empty();
        let needless = reported || plain;
        if self.probe.is_resend && !needless && acked == end {
            return;
        }
        let made_up = self.probe.is_resend && !needless;
        self.probe = Probe::default();
        if made_up && matches!(self.repair.phase, Phase::Open | Phase::Disorder) {
            // Half of what was out when the ACK came.
            self.cut_with(Congestion::Loss, self.flight() + news.acked, cx.now);
            self.fall_to_threshold();
        }
    }

    /// RACK looks again at what was not late enough.
    fn on_reorder_timer(&mut self, cx: &mut Context<'_>) {
        self.deadlines.reorder = Time::NEVER;
        self.look_again(cx);
        self.output(cx);
    }

    /// Super Fast Retransmit, step 2: the timer starts when a segment is sent, unless it runs.
    #[inline]
    pub(super) fn arm_sfr(&mut self, now: Time) {
        if is_idle(self.deadlines.sfr) {
            self.restart_sfr(now);
        }
    }

    /// Step 3: an ACK of new octets restarts the timer, or ends it with nothing outstanding.
    #[inline]
    pub(super) fn restart_sfr(&mut self, now: Time) {
        if let Some(sfr) = self.config.sfr {
            self.run_sfr(sfr, now);
        }
    }

    fn run_sfr(&mut self, sfr: SfrConfig, now: Time) {
        self.deadlines.sfr = Time::NEVER;
        let done = sfr.cutout_bytes.is_some_and(|most| self.acknowledged() >= most);
        if self.board.is_empty() || self.sfr_rests || done {
            return;
        }
        // Step 1: a multiple of the handshake's round trip.
        if let Some(rtt) = self.handshake_rtt {
            let wait = rtt * u64::from(sfr.factor_halves) / 2;
            self.deadlines.sfr = self.config.timer_clock.expiry(now, wait);
        }
    }

    /// Step 4: the first segment not acknowledged goes out again, and the timer rests until a
    /// new one is sent.
    fn on_sfr_timer(&mut self, cx: &mut Context<'_>) {
        self.deadlines.sfr = Time::NEVER;
        let Some(sfr) = self.config.sfr else { return };
        if self.board.is_empty() {
            return;
        }
        self.sfr_rests = true;
        match sfr.response {
            SfrResponse::None => {}
            SfrResponse::Halve => {
                self.cut(Congestion::Loss, cx.now);
                self.window.cwnd = self.window.ssthresh;
            }
            SfrResponse::Reset => {
                self.cut(Congestion::Timeout, cx.now);
                self.window.cwnd = self.smss;
            }
        }
        self.resend(0, Cause::Sfr, cx);
        if self.config.restart == Restart::PerSegment {
            self.restart_timer(cx.now);
        }
    }

    /// With nothing outstanding and something held back by the peer's window, a probe will be
    /// due (RFC 9293 §3.8.6.1).
    pub(super) fn arm_persist(&mut self, now: Time) {
        let held = self.board.is_empty() && self.unsent() > 0 && self.state.may_send();
        let waits = held && is_idle(self.deadlines.pace);
        if self.peer_window > 0 {
            self.persist_backoff = 0;
        }
        if !waits {
            self.deadlines.persist = Time::NEVER;
            return;
        }
        if is_idle(self.deadlines.persist) {
            let open = self.peer_window > 0;
            let wait = if open { OVERRIDE } else { self.persist_wait() };
            self.deadlines.persist = self.config.timer_clock.expiry(now, wait);
        }
    }

    fn persist_wait(&self) -> Duration {
        let doubled = self.timer.rto() * (1 << self.persist_backoff.min(16));
        doubled.min(PERSIST_MAX)
    }

    /// Sends what the window takes however little, or an octet into a closed one.
    fn on_persist_timer(&mut self, cx: &mut Context<'_>) {
        self.deadlines.persist = Time::NEVER;
        let room = self.peer_window.min(self.end - self.nxt.min(self.end));
        if room > 0 {
            self.send_fresh(room.min(self.smss), cx);
            return;
        }
        if self.probes_unanswered >= self.config.retries.max(1) {
            return self.fail(Failure::TimedOut);
        }
        self.probes_unanswered += 1;
        self.persist_backoff += 1;
        self.send_window_probe(cx);
        self.arm_persist(cx.now);
    }
}

pub(super) fn is_idle(at: Time) -> bool {
    at == Time::NEVER
}
