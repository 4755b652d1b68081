//! The sending half of a connection: its parts, the code that opens it, and what it reports about
//! its state.
//!
//! Each part owns its state. Code that concerns several parts is here and in three other files: the
//! effects of an acknowledgment ([`ack`](super::ack)), the choice of the next segment
//! ([`output`](super::output)) and the work of timers ([`due`](super::due)).

use std::sync::Arc;

use crate::event::CwndState;
use crate::packed::packed;
use crate::units::Time;

use super::super::context::Context;
use super::super::transmit::SendCount;
use super::account::{SendTimes, TimeAccount};
use super::config::RfcConfig;
use super::delayed_ack::ArrivalState;
use super::detect::LossContext;
use super::gso::GsoPacket;
use super::meter::RttMeter;
use super::news::AckSegment;
use super::pacer::Pacer;
use super::persist::Persist;
use super::rate::Delivery;
use super::readings::ClockReadings;
use super::recovery::LossRecovery;
use super::send_timers::SendTimers;
use super::send_window::SendWindow;
use super::sent_segment::SentSegment;
use super::stamps::stamp;
use super::super_fast::SuperFast;
use super::tail_probe::TailProbe;

/// The sending half of a connection.
#[derive(Debug)]
pub(in crate::tcp) struct RfcSender {
    /// Connections of one kind share the configuration, so that it stays in the processor's nearest
    /// cache in a run of many connections.
    pub(super) config: Arc<RfcConfig>,
    pub(in crate::tcp) window: SendWindow,
    pub(super) recovery: LossRecovery,
    pub(super) meter: RttMeter,
    pub(super) timers: SendTimers,
    pub(super) tail_probe: TailProbe,
    pub(super) super_fast: SuperFast,
    pub(super) persist: Persist,
    pub(super) pacer: Pacer,
    pub(super) delivery: Delivery,
    pub(super) account: TimeAccount,
    /// Whether an ACK acknowledged new octets since the timer of tail loss probes was last armed.
    pub(super) moved: bool,
    pub(super) last_sent: Time,
    /// When our SYN was sent first.
    pub(super) opened_at: Time,
    /// The octet up to which new data may be sent in the present burst. The value is `None` if
    /// there is no limit. A *packet for offload* has several segments, which the host gives to the
    /// network card at once. Data after this octet waits, for one of two reasons. Either cwnd and
    /// the peer's window do not have room yet for a whole packet for offload, or the sender may
    /// send only one such packet now.
    pub(super) packet_edge: Option<u64>,
    /// The packet for offload that is being sent, with new data.
    pub(super) new_packet: GsoPacket,
    /// The packet for offload that is being sent, with retransmissions.
    pub(super) copied_packet: GsoPacket,
    pub(super) readings: ClockReadings,
    pub(in crate::tcp) count: SendCount,
}

packed!(RfcSender { window, recovery, meter, timers, tail_probe, super_fast, persist, pacer, delivery, account, moved, last_sent, opened_at, packet_edge, new_packet, copied_packet, readings, count } keeps { config });

impl RfcSender {
    pub(super) fn new(config: &Arc<RfcConfig>) -> Self {
        let recovery = LossRecovery::new(config);
        let cwnd = &recovery.cwnd;
        Self {
            config: Arc::clone(config),
            window: SendWindow::new(config),
            meter: RttMeter::default(),
            timers: SendTimers::new(config),
            tail_probe: TailProbe::default(),
            super_fast: SuperFast::new(config),
            persist: Persist::default(),
            pacer: Pacer::new(config.pacing || cwnd.is_owned()),
            delivery: Delivery::new(cwnd.algorithm.wants_rate()),
            account: TimeAccount::default(),
            moved: false,
            last_sent: Time::ZERO,
            opened_at: Time::ZERO,
            packet_edge: None,
            new_packet: GsoPacket::default(),
            copied_packet: GsoPacket::default(),
            readings: ClockReadings::default(),
            count: SendCount::default(),
            recovery,
        }
    }

    /// Notes the contents of the peer's SYN: the octets of a full segment, the peer's first window,
    /// and whether both ends agreed on SACK.
    pub(super) fn on_syn(&mut self, smss: u64, window: u64, has_sack: bool) {
        self.window.on_syn(smss, window);
        self.recovery.loss.uses_sack = has_sack && self.config.recovery.needs_sack();
    }

    /// Records that our SYN is sent.
    pub(super) fn send_syn(&mut self, now: Time) {
        let scoreboard = &mut self.recovery.loss.scoreboard;
        if scoreboard.is_empty() {
            let snapshot = self.delivery.snapshot(now, false);
            scoreboard.push(SentSegment::first(0, 1, now), true, snapshot);
            self.window.nxt = 1;
            self.opened_at = now;
        }
        self.timers.arm(scoreboard, now);
    }

    /// Records that our SYN is retransmitted.
    pub(super) fn retransmit_syn(&mut self, now: Time) {
        let scoreboard = &mut self.recovery.loss.scoreboard;
        if !scoreboard.is_empty() {
            scoreboard.retransmit(0, (now, true), true, None);
        }
        self.count.retransmissions += 1;
    }

    /// Opens the sending half, because `ack` acknowledges our SYN. `window` is the peer's window in
    /// this segment, or `None` if the segment is a SYN.
    pub(super) fn open(&mut self, ack: &AckSegment<'_>, window: Option<u64>, cx: &mut Context<'_>) {
        let LossRecovery { loss, repair, cwnd, .. } = &mut self.recovery;
        let syn = loss.scoreboard.front().copied();
        let (rack, min_rtt) = (&mut loss.rack, self.meter.min_rtt);
        loss.scoreboard.ack(1, |syn, _| rack.arrived(syn, cx.now, min_rtt, false));
        self.count.delivered_segments += 1;
        self.window.open((ack.seq, ack.ack), window);
        self.timers.forget_retries();
        self.timers.retransmission.stop();
        if let Some(syn) = syn {
            let (ends, timer) = ((&self.window, &*self.config), &mut self.timers.retransmission);
            self.meter.measure_handshake((syn.at, syn.times), ack.echo, ends, timer, cx);
        }
        // RFC 5681 §3.1: after a lost SYN the initial window is one segment. In Linux, the loss of
        // one SYN has no effect.
        let forgiven = self.config.syn_retransmissions_forgiven;
        let spurious =
            self.config.syn_rules.echo_forgives && ack.echo == Some(stamp(self.opened_at));
        let retransmitted = syn.is_none_or(|syn| u32::from(syn.times) > 1 + forgiven) && !spurious;
        let smss = self.window.smss;
        let initial = if retransmitted { smss } else { cwnd.initial(smss) };
        cwnd.open(initial, self.meter.handshake_rtt, cx.now);
        repair.open();
        self.meter.open();
        self.last_sent = cx.now;
    }

    /// The estimate of octets in the network.
    #[inline]
    pub(super) fn pipe(&self) -> u64 {
        self.recovery.pipe(&self.window, &self.config)
    }

    /// Calls the function `act` with the recovery state, and with the parts of the sender that
    /// recovery reads.
    #[inline]
    pub(super) fn recover<R>(
        &mut self,
        now: Time,
        act: impl FnOnce(&mut LossRecovery, &LossContext<'_>) -> R,
    ) -> R {
        let Self { window, meter, config, recovery, tail_probe, .. } = self;
        let uncounted_copies =
            u64::from(tail_probe.is_copy() && config.send_rules.probes_are_uncounted);
        act(recovery, &LossContext { now, window, meter, config, uncounted_copies })
    }

    /// What the receiving half needs to know when a segment arrives.
    #[inline]
    pub(super) fn arrival_state(&self, now: Time) -> ArrivalState {
        ArrivalState { now, srtt: self.meter.srtt, rto: self.timers.retransmission.rto() }
    }

    /// The congestion state, for reports.
    pub(super) fn cwnd_state(&self) -> CwndState {
        let LossRecovery { loss, repair, cwnd, .. } = &self.recovery;
        CwndState {
            cwnd_bytes: cwnd.window.cwnd,
            ssthresh_bytes: cwnd.window.ssthresh,
            flight_bytes: self.window.flight(),
            dupacks: loss.dupacks,
            in_recovery: repair.phase.is_repairing(),
        }
    }

    /// How the sender spent its time, up to the last call of
    /// [`account_for`](Self::account_for).
    pub(in crate::tcp) fn times(&self) -> SendTimes {
        self.account.times()
    }

    /// Adds the time since the last call to the account. The state of the sender must not have
    /// changed in this time. The time counts only if the flag `lives` is true and some data is not
    /// acknowledged. A FIN that is not acknowledged does not count as data.
    #[inline]
    pub(super) fn account_for(&mut self, now: Time, lives: bool) {
        let busy = self.window.una < self.window.end && lives;
        self.account.advance(now, busy, self.recovery.repair.phase.is_repairing());
    }

    /// Restarts the retransmission timer after an ACK of new data.
    pub(super) fn restart_timer(&mut self, now: Time) {
        let all_sent = self.window.unsent() == 0;
        self.timers.restart(&self.recovery.loss.scoreboard, all_sent, now);
    }
}
