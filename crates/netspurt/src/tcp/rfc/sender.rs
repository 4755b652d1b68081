//! The sending half of a connection: its parts, and the code that opens and stops them.
//!
//! Each part owns its state. Code that concerns several parts is here and in four other files: the
//! effects of an acknowledgment ([`ack`](super::ack)), of a loss ([`react`](super::react)), the
//! choice of what is sent next ([`output`](super::output)), and the work at deadlines
//! ([`due`](super::due)).

use std::sync::Arc;

use crate::rto::TimeoutKind;
use crate::units::Time;

use super::super::timer::{Oldest, RetransmitTimer};
use super::super::transmit::{Context, SendCount};
use super::account::{SendTimes, TimeAccount};
use super::config::{Restart, RfcConfig};
use super::cwnd::CwndControl;
use super::deadlines::Deadlines;
use super::delayed_ack::Moment;
use super::detect::{LossDetector, Scene};
use super::meter::RttMeter;
use super::news::AckSegment;
use super::pacer::Pacer;
use super::persist::Persist;
use super::rate::Delivery;
use super::repair::Repair;
use super::scoreboard::Sent;
use super::send_window::SendWindow;
use super::tail_probe::TailProbe;
use super::undo::SpuriousWatch;

/// The sending half of a connection.
#[derive(Debug)]
pub(super) struct RfcSender {
    /// Connections of one kind share it: a run of many has it in the nearest cache.
    pub(super) config: Arc<RfcConfig>,
    pub(super) window: SendWindow,
    pub(super) cwnd: CwndControl,
    pub(super) loss: LossDetector,
    pub(super) repair: Repair,
    pub(super) spurious: SpuriousWatch,
    pub(super) meter: RttMeter,
    pub(super) timer: RetransmitTimer,
    /// Timeouts in a row.
    pub(super) retries: u32,
    pub(super) deadlines: Deadlines,
    pub(super) tail_probe: TailProbe,
    pub(super) persist: Persist,
    /// Super Fast Retransmit has sent the head, and waits for new octets to be sent.
    pub(super) sfr_rests: bool,
    pub(super) pacer: Pacer,
    pub(super) delivery: Delivery,
    pub(super) account: TimeAccount,
    /// Whether an ACK moved `una` since tail loss probes were last armed.
    pub(super) moved: bool,
    pub(super) last_sent: Time,
    pub(super) count: SendCount,
}

/// What became of the retransmission timer's firing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timeout {
    /// Nothing is outstanding.
    Idle,
    /// It fired too often in a row.
    GiveUp,
    /// The SYN is to leave again.
    Opening,
    /// A repair began.
    Repair,
}

impl RfcSender {
    pub(super) fn new(config: &Arc<RfcConfig>) -> Self {
        let cwnd = CwndControl::new(config);
        Self {
            config: Arc::clone(config),
            window: SendWindow::new(config),
            loss: LossDetector::default(),
            repair: Repair::default(),
            spurious: SpuriousWatch::default(),
            meter: RttMeter::default(),
            timer: RetransmitTimer::new(config.rto.build(), config.clock),
            retries: 0,
            deadlines: Deadlines::NONE,
            tail_probe: TailProbe::default(),
            persist: Persist::default(),
            sfr_rests: true,
            pacer: Pacer::new(config.pacing || cwnd.is_owned()),
            delivery: Delivery::new(cwnd.algorithm.wants_rate()),
            account: TimeAccount::default(),
            moved: false,
            last_sent: Time::ZERO,
            count: SendCount::default(),
            cwnd,
        }
    }

    /// The peer's SYN came: octets of a full segment, its first window, and whether both ends
    /// agreed on SACK.
    pub(super) fn on_syn(&mut self, smss: u64, window: u64, has_sack: bool) {
        self.window.on_syn(smss, window);
        self.loss.uses_sack = has_sack && self.config.recovery.needs_sack();
    }

    /// Our SYN leaves.
    pub(super) fn send_syn(&mut self, now: Time) {
        if self.loss.scoreboard.is_empty() {
            let snapshot = self.delivery.snapshot(now, false);
            self.loss.scoreboard.push(Sent::first(0, 1, now), snapshot);
            self.window.nxt = 1;
        }
        self.arm_timer(now);
    }

    /// Our SYN leaves again.
    pub(super) fn retransmit_syn(&mut self, now: Time) {
        if !self.loss.scoreboard.is_empty() {
            self.loss.scoreboard.retransmit(0, now, None);
        }
        self.count.retransmissions += 1;
    }

    /// Our SYN is acknowledged: the connection stands.
    pub(super) fn open(&mut self, ack: &AckSegment<'_>, window: Option<u64>, cx: &mut Context<'_>) {
        let syn = self.loss.scoreboard.front().copied();
        let (rack, min_rtt) = (&mut self.loss.rack, self.meter.min_rtt);
        self.loss.scoreboard.ack(1, |syn, _| rack.arrived(syn, cx.now, min_rtt, false));
        self.window.open((ack.seq, ack.ack), window);
        self.retries = 0;
        self.timer.stop();
        if let Some(syn) = syn {
            let ends = (&self.window, &*self.config);
            self.meter.measure_handshake((syn.at, syn.times), ack.echo, ends, &mut self.timer, cx);
        }
        // RFC 5681 §3.1: after a lost SYN the initial window is one segment; Linux forgives one.
        let forgiven = self.config.syn_retransmissions_forgiven;
        let retransmitted = syn.is_none_or(|syn| u32::from(syn.times) > 1 + forgiven);
        let initial = if retransmitted { self.window.smss } else { self.initial_window() };
        self.cwnd.open(initial, self.meter.handshake_rtt, cx.now);
        self.repair.open();
        self.meter.open();
        self.last_sent = cx.now;
    }

    /// The initial window in octets.
    pub(super) fn initial_window(&self) -> u64 {
        self.config.initial_window(self.window.smss) * self.window.smss
    }

    /// The estimate of octets in the network.
    #[inline]
    pub(super) fn pipe(&self) -> u64 {
        self.loss.pipe(&self.window, &self.config)
    }

    /// Marks what the connection's rule calls lost, and sets RACK's timer.
    pub(super) fn detect(&mut self, now: Time) {
        let Self { window, meter, repair, config, loss, .. } = self;
        let wait = loss.detect(&Scene { now, window, meter, repair, config });
        let due = |wait| config.timer_clock.expiry(now, wait + config.timer_slack);
        self.deadlines.reorder = wait.map_or(Time::NEVER, due);
        if wait.is_some() {
            // RFC 8985 §8: one of the two timers at a time.
            self.deadlines.tlp = Time::NEVER;
        }
    }

    /// What the receiving half asks as a segment arrives.
    #[inline]
    pub(super) fn moment(&self, now: Time) -> Moment {
        Moment { now, srtt: self.meter.srtt, rto: self.timer.rto() }
    }

    /// The earliest instant at which something falls due.
    #[inline]
    pub(super) fn next_deadline(&self) -> Time {
        self.timer.deadline().min(self.deadlines.first())
    }

    /// Nothing falls due any more.
    pub(super) fn stop(&mut self) {
        self.timer.stop();
        self.deadlines = Deadlines::NONE;
    }

    /// What its time went into, up to the last step.
    pub(super) fn times(&self) -> SendTimes {
        self.account.times()
    }

    /// Accounts for the time since the last step, in which nothing changed, of a connection that
    /// `lives`. With all data acknowledged none counts: only a FIN may be left.
    #[inline]
    pub(super) fn account_for(&mut self, now: Time, lives: bool) {
        let busy = self.window.una < self.window.end && lives;
        self.account.advance(now, busy, self.repair.phase.is_repairing());
    }

    /// Arms the retransmission timer afresh (RFC 6298 §5.1, 5.6).
    pub(super) fn arm_timer(&mut self, now: Time) {
        self.arm_timer_from(now, now);
    }

    fn arm_timer_from(&mut self, from: Time, now: Time) {
        let scoreboard = &self.loss.scoreboard;
        let sent = scoreboard.front().map_or(now, |oldest| oldest.at);
        let oldest = Oldest { sent, flight_segs: scoreboard.len() as u64 };
        self.timer.restart(now, from, oldest, self.config.timer_clock);
    }

    /// The timer after an ACK of new data (RFC 6298 §5.2, 5.3).
    pub(super) fn restart_timer(&mut self, now: Time) {
        let scoreboard = &self.loss.scoreboard;
        let Some(oldest) = scoreboard.front().map(|oldest| oldest.at) else {
            return self.timer.stop();
        };
        let few = scoreboard.len() < 4 && self.window.unsent() == 0;
        let from_oldest = match self.config.restart {
            Restart::OnAck => false,
            Restart::PerSegment => true,
            Restart::Rfc7765 => few,
        };
        self.arm_timer_from(if from_oldest { oldest } else { now }, now);
    }

    /// The retransmission timer fired; `kind` says what for, where it was not for data.
    pub(super) fn on_timeout(&mut self, kind: TimeoutKind, cx: &mut Context<'_>) -> Timeout {
        self.timer.stop();
        if self.loss.scoreboard.is_empty() {
            return Timeout::Idle;
        }
        self.retries += 1;
        self.count.timeouts += 1;
        let opening = self.window.una == 0;
        let most = if opening { self.config.syn_retries } else { self.config.retries };
        if self.retries > most {
            return Timeout::GiveUp;
        }
        self.timer.back_off(kind, cx);
        if opening {
            return Timeout::Opening;
        }
        self.tail_probe = TailProbe::default();
        self.deadlines.tlp = Time::NEVER;
        self.deadlines.reorder = Time::NEVER;
        self.begin_loss(cx.now);
        self.pacer.release(cx.now);
        Timeout::Repair
    }
}
