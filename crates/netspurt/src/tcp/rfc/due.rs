//! The work of the sending half at its deadlines: tail loss probes, window probes, and Super Fast
//! Retransmit.

use crate::congestion::Congestion;
use crate::rto::SfrConfig;
use crate::segment::Cause;
use crate::units::Time;

use super::config::{Restart, SfrResponse};
use super::deadlines::is_idle;
use super::output::NextSegment;
use super::repair::Phase;
use super::sender::RfcSender;
use super::tail_probe::TailProbe;

/// What a closed window, or a short segment, has waited for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Persisted {
    /// What the window takes leaves, however little.
    Send(NextSegment),
    /// The closed window is probed.
    Probe,
    /// Too many probes had no answer.
    GiveUp,
}

impl RfcSender {
    /// RFC 8985 §7.2: a probe is due some round trips after the last sending or ACK, and when
    /// the retransmission timer would fire at the latest.
    pub(super) fn arm_tail_probe(&mut self, now: Time) {
        self.deadlines.tlp = Time::NEVER;
        let scoreboard = &self.loss.scoreboard;
        let calm = matches!(self.repair.phase, Phase::Open | Phase::Cwr);
        let quiet = calm && is_idle(self.deadlines.reorder);
        let able = self.config.tlp && self.loss.uses_sack && quiet && scoreboard.sacked() == 0;
        if !able || scoreboard.is_empty() || self.tail_probe.is_out() || self.window.una == 0 {
            return;
        }
        let wait = TailProbe::wait(self.meter.srtt, scoreboard.len() <= 1, &self.config);
        let due = self.config.timer_clock.expiry(now, wait);
        self.deadlines.tlp = due.min(self.timer.deadline());
    }

    /// The probe leaves: new data where there is some, else the last segment (RFC 8985 §7.3).
    pub(super) fn send_tail_probe(&mut self, now: Time) -> Option<NextSegment> {
        self.deadlines.tlp = Time::NEVER;
        let last = self.loss.scoreboard.len().checked_sub(1)?;
        let data = self.window.unsent_data().min(self.window.smss);
        let fresh = data > 0 && data <= self.window.room();
        let departure =
            if fresh { self.send_fresh(data, now) } else { self.retransmit(last, Cause::Tlp, now) };
        self.tail_probe = TailProbe::sent(self.window.nxt, !fresh);
        self.count.probes += 1;
        self.deadlines.tlp = Time::NEVER;
        self.arm_timer(now);
        Some(departure)
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
        let over = sfr.is_over(self.window.acknowledged());
        if self.loss.scoreboard.is_empty() || self.sfr_rests || over {
            return;
        }
        // Step 1: a multiple of the handshake's round trip.
        if let Some(rtt) = self.meter.handshake_rtt {
            self.deadlines.sfr = self.config.timer_clock.expiry(now, sfr.wait(rtt));
        }
    }

    /// Step 4: the first segment not acknowledged leaves again, and the timer rests until a
    /// new one is sent.
    pub(super) fn send_sfr(&mut self, now: Time) -> Option<NextSegment> {
        self.deadlines.sfr = Time::NEVER;
        if self.config.sfr.is_none() || self.loss.scoreboard.is_empty() {
            return None;
        }
        self.sfr_rests = true;
        match self.config.sfr_response {
            SfrResponse::None => {}
            SfrResponse::Halve => {
                self.cut(Congestion::Loss, now);
                self.cwnd.window.cwnd = self.cwnd.window.ssthresh;
            }
            SfrResponse::Reset => {
                self.cut(Congestion::Timeout, now);
                self.cwnd.window.cwnd = self.window.smss;
            }
        }
        let departure = self.retransmit(0, Cause::Sfr, now);
        if self.config.restart == Restart::PerSegment {
            self.restart_timer(now);
        }
        Some(departure)
    }

    /// With nothing outstanding and something held back by the peer's window, a probe will be
    /// due (RFC 9293 §3.8.6.1).
    pub(super) fn arm_persist(&mut self, now: Time) {
        let held = self.loss.scoreboard.is_empty() && self.window.unsent() > 0;
        let peer = self.window.peer();
        if peer > 0 {
            self.persist.reset();
        }
        if !held || !is_idle(self.deadlines.pace) {
            self.deadlines.persist = Time::NEVER;
        } else if is_idle(self.deadlines.persist) {
            let wait = self.persist.wait(peer, self.timer.rto());
            self.deadlines.persist = self.config.timer_clock.expiry(now, wait);
        }
    }

    /// Sends what the window takes however little, or probes a closed one.
    pub(super) fn persist(&mut self, now: Time) -> Persisted {
        self.deadlines.persist = Time::NEVER;
        let room = self.window.peer().min(self.window.unsent_data());
        if room > 0 {
            return Persisted::Send(self.send_fresh(room.min(self.window.smss), now));
        }
        if !self.persist.probe(self.config.retries) {
            return Persisted::GiveUp;
        }
        self.arm_persist(now);
        Persisted::Probe
    }
}
