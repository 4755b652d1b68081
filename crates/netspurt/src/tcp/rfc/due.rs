//! Carries out what is due when a timer of the sending half fires. There are five timers: for
//! retransmissions, for RACK, for tail loss probes, for probes of a closed window, and for Super
//! Fast Retransmit.

use crate::congestion::Congestion;
use crate::rto::TimeoutKind;
use crate::segment::Cause;
use crate::units::Time;

use super::super::context::Context;
use super::config::SfrResponse;
use super::news::News;
use super::output::NextSegment;
use super::repair::Phase;
use super::sender::RfcSender;
use super::tail_probe::TailProbe;

/// The result of a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timeout {
    /// Nothing is outstanding.
    Idle,
    /// The timer fired too many times in succession, or the time limit of a SYN has passed.
    GiveUp,
    /// The SYN must be retransmitted.
    Opening,
    /// A repair began.
    Repair,
}

/// The result when the timer of window probes fires.
#[derive(Clone, Copy, Debug)]
pub(super) enum Persisted {
    /// The octets for which the peer's window has room are sent, even if they are few.
    Send(NextSegment),
    /// The closed window of the peer is probed.
    Probe,
    /// The host's own queue still drops everything.
    Refused,
    /// Too many probes had no answer.
    GiveUp,
}

impl RfcSender {
    /// Processes a firing of the retransmission timer. The argument `kind` says whether the timer
    /// was armed for a SYN, for a SYN-ACK or for other octets.
    pub(super) fn on_timeout(&mut self, kind: TimeoutKind, cx: &mut Context<'_>) -> Timeout {
        self.timers.retransmission.stop();
        if self.recovery.loss.scoreboard.is_empty() {
            return Timeout::Idle;
        }
        self.count.timeouts += 1;
        let opening = self.window.una == 0;
        let retries_max = if opening { self.config.syn_retries } else { self.config.retries };
        let limit =
            (kind == TimeoutKind::Syn).then(|| self.config.rto.syn_limit(retries_max)).flatten();
        let (retries_max, last) = limit
            .map_or((retries_max, Time::NEVER), |(retries_max, longest)| {
                (retries_max, self.opened_at + longest)
            });
        if !self.timers.count_timeout(retries_max) || cx.now >= last {
            // The timer does not back off, because nothing is sent again.
            self.timers.retransmission.report(true, cx);
            return Timeout::GiveUp;
        }
        self.timers.retransmission.back_off(kind, cx);
        if opening {
            return Timeout::Opening;
        }
        self.tail_probe = TailProbe::default();
        self.timers.begin_repair();
        let repeatedly = self.timers.retries() > 1;
        self.recover(cx.now, |recovery, scene| recovery.on_timeout(repeatedly, scene));
        self.meter.stop_timing();
        self.pacer.release(cx.now);
        Timeout::Repair
    }

    /// Carries out the work of RACK's timer: RACK looks again at segments that were not late enough
    /// at its last look.
    pub(super) fn on_reorder_timer(&mut self, now: Time) {
        self.timers.stop_reordering();
        let (news, before) = (News::default(), self.before());
        let reaction = self.recover(now, |recovery, scene| recovery.on_reorder_timer(scene));
        self.timers.follow_rack(&self.recovery.loss.scoreboard, now);
        self.follow(&reaction, now);
        if self.recovery.cwnd.is_owned() {
            self.steer(&news, &before, now);
        } else {
            self.recover(now, |recovery, scene| recovery.reduce_by_timer(reaction.began, scene));
        }
    }

    /// Arms the timer of tail loss probes. RFC 8985 §7.2: a probe is due some round trips after the
    /// last transmission or ACK, but at the latest when the retransmission timer would fire.
    ///
    /// The argument `sent` says whether data was just sent. If so, and if the switch
    /// `head_bounds_probes` is on, there is one more limit: one RTO after the last transmission of
    /// the head (the first outstanding segment). If this limit has not passed yet, the probe is due
    /// no later than the limit.
    pub(super) fn arm_tail_probe(&mut self, sent: bool, now: Time) {
        self.timers.stop_tail_probe();
        let loss = &self.recovery.loss;
        let calm = matches!(self.recovery.repair.phase, Phase::Open | Phase::Cwr);
        let quiet = calm && (!self.timers.awaits_reordering() || sent && self.timers.yields());
        // Outside of the phase Cwr, SACK reports lead to the phase Disorder, in which no probe is
        // armed. In Cwr, Linux arms the timer of the probe even after SACK reports
        // (`tcp_schedule_loss_probe`).
        let unreported = loss.scoreboard.sacked() == 0 || self.timers.yields();
        let able = self.config.tlp && loss.uses_sack && quiet && unreported;
        let Some(head) = loss.scoreboard.front() else { return };
        let waits = self.tail_probe.is_out() && !self.config.timer_rules.counts_from_head;
        if !able || waits || self.window.una == 0 {
            return;
        }
        if self.timers.awaits_reordering() {
            // The probe's timer replaces RACK's timer (`tcp_schedule_loss_probe`).
            self.timers.restart(&loss.scoreboard, false, now);
        }
        let from_head = sent && self.config.timer_rules.head_bounds_probes;
        let bound = head.at + self.timers.retransmission.rto();
        let bound = Some(bound).filter(|bound| from_head && *bound > now);
        let is_lone = loss.scoreboard.len() <= 1;
        let wait = TailProbe::wait(self.meter.srtt, is_lone, &self.config);
        let wait = bound.map_or(wait, |bound| wait.min(bound - now));
        self.timers.arm_tail_probe(wait, now);
    }

    /// Sends the probe: new data if there is some and the peer's window has room, otherwise the
    /// last segment (RFC 8985 §7.3). While no ACK has shown the result of an earlier probe, this
    /// function only sets the retransmission timer.
    pub(super) fn send_tail_probe(&mut self, now: Time) -> Option<NextSegment> {
        self.timers.stop_tail_probe();
        if self.persist.is_refused {
            return None;
        }
        if self.tail_probe.is_out() {
            self.timers.follow_tail_probe(&self.recovery.loss.scoreboard, now);
            return None;
        }
        let last = self.recovery.loss.scoreboard.len().checked_sub(1)?;
        if self.window.grows_packets() {
            // A probe is a single segment, even if cwnd allows several.
            self.window.grow_packet(self.window.smss);
        }
        let data = self.window.next_data();
        let lone_fin = self.config.send_rules.fin_is_probe && self.window.unsent() > 0;
        let fresh =
            if data > 0 { data <= self.window.room() } else { lone_fin && self.window.room() > 0 };
        let scoreboard = &self.recovery.loss.scoreboard;
        if !fresh && !self.window.takes_copy(scoreboard.get(last).seq, &self.config) {
            self.timers.follow_tail_probe(scoreboard, now);
            return None;
        }
        let departure =
            if fresh { self.send_fresh(data, now) } else { self.retransmit(last, Cause::Tlp, now) };
        self.tail_probe = TailProbe::sent(self.window.nxt, !fresh);
        self.count.probes += 1;
        self.timers.stop_tail_probe();
        self.timers.arm(&self.recovery.loss.scoreboard, now);
        Some(departure)
    }

    /// Carries out step 2 of Super Fast Retransmit (Tarr and Ghita 2005, §5). Its timer starts when
    /// a segment is sent, unless it runs already.
    #[inline]
    pub(super) fn arm_super_fast(&mut self, now: Time) {
        if self.super_fast.is_on() && !self.timers.awaits_super_fast() {
            self.run_super_fast(false, now);
        }
    }

    /// Carries out step 3 of Super Fast Retransmit. An ACK of new octets restarts its timer, or
    /// stops it if nothing is outstanding.
    #[inline]
    pub(super) fn restart_super_fast(&mut self, now: Time) {
        if self.super_fast.is_on() {
            self.run_super_fast(true, now);
        }
    }

    #[cold]
    fn run_super_fast(&mut self, after_ack: bool, now: Time) {
        let nothing_out = self.recovery.loss.scoreboard.is_empty();
        let (acknowledged, rtt) = (self.window.acknowledged(), self.meter.handshake_rtt);
        let wait = if after_ack {
            let is_repairing = self.recovery.repair.phase.is_repairing();
            self.super_fast.wait_after_ack(self.window.una, is_repairing, acknowledged, rtt)
        } else {
            self.super_fast.wait(acknowledged, rtt)
        };
        self.timers.arm_super_fast(wait.filter(|_| !nothing_out), now);
    }

    /// Carries out step 4 of Super Fast Retransmit. The first unacknowledged segment is
    /// retransmitted, and the timer stops until a new segment is sent. With the switch `sfr.next`,
    /// an ACK of new octets may start the timer earlier. If the host's own queue refuses segments,
    /// nothing is sent, and the timer starts again.
    pub(super) fn send_super_fast(&mut self, now: Time) -> Option<NextSegment> {
        self.timers.arm_super_fast(None, now);
        if !self.super_fast.is_on() || self.recovery.loss.scoreboard.is_empty() {
            return None;
        }
        if self.persist.is_refused {
            self.run_super_fast(false, now);
            return None;
        }
        let response = self.super_fast.fire(self.window.una, self.window.nxt);
        self.recover(now, |recovery, scene| match response {
            SfrResponse::None => {}
            SfrResponse::Halve => {
                recovery.cut(Congestion::Loss, scene);
                recovery.cwnd.window.cwnd = recovery.cwnd.window.ssthresh;
            }
            SfrResponse::Reset => {
                recovery.cut(Congestion::Timeout, scene);
                recovery.cwnd.algorithm.on_timeout(now, scene.window.nxt);
                recovery.cwnd.window.cwnd = scene.window.smss;
            }
        });
        let departure = self.retransmit(0, Cause::Sfr, now);
        self.timers.restart_for_head(&self.recovery.loss.scoreboard, now);
        Some(departure)
    }

    /// Arms the timer of window probes if nothing is outstanding and unsent data is held back.
    /// There are three reasons: the peer's window has no room (RFC 9293 §3.8.6.1), the next segment
    /// would be short, or the host's own queue refuses segments.
    pub(super) fn arm_persist(&mut self, now: Time) {
        let held = self.recovery.loss.scoreboard.is_empty() && self.window.unsent() > 0;
        let peer = self.window.peer();
        let lasts = self.config.send_rules.acks_restart_probes;
        if peer >= if lasts { self.window.next_data().max(1) } else { 1 } {
            self.persist.reset();
        }
        if !held || self.timers.awaits_pacer() {
            self.timers.stop_persist();
        } else if !self.timers.awaits_persist() {
            let for_rto = self.config.send_rules.held_for_an_rto;
            let wait = self.persist.wait(peer, self.timers.retransmission.rto(), for_rto);
            self.timers.arm_persist(wait, now);
        }
    }

    /// Processes an ACK that arrives while nothing is outstanding. With the switch
    /// `acks_restart_probes`, the wait for the next window probe starts again if the window of this
    /// ACK holds data back.
    pub(super) fn restart_persist(&mut self) {
        if self.config.send_rules.acks_restart_probes {
            self.timers.stop_persist();
        }
    }

    /// Sends the octets for which the peer's window has room, even if they are few, or probes a
    /// closed window.
    pub(super) fn persist(&mut self, now: Time) -> Persisted {
        self.timers.stop_persist();
        if self.persist.is_refused {
            self.persist.refused += 1;
            self.arm_persist(now);
            return Persisted::Refused;
        }
        let room = self.window.peer().min(self.window.next_data());
        if room > 0 {
            self.persist.reset();
            let mut departure = self.send_fresh(room, now);
            if self.config.send_rules.pushes_packets {
                // Linux sets PSH in this segment (`tcp_write_wakeup`).
                departure.push = true;
                self.recovery.loss.scoreboard.push_last();
            }
            return Persisted::Send(departure);
        }
        if !self.persist.probe(self.config.retries) {
            return Persisted::GiveUp;
        }
        self.arm_persist(now);
        Persisted::Probe
    }
}
