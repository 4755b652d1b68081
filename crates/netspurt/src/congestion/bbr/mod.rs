//! BBR, version 1, a congestion control algorithm (draft-cardwell-iccrg-bbr-congestion-control-00,
//! cited by section).
//!
//! The algorithm measures the delivery rate and the minimum round trip of the path. It paces at
//! this rate. cwnd is usually about twice the product of this rate and this round trip. Losses do
//! not change the model. If the draft and Linux 6 (`net/ipv4/tcp_bbr.c`) differ, the code follows
//! Linux, and a comment states the difference. Four things are left out: Linux's allowance for ACK
//! aggregation, Linux's detection of policers, any reaction to congestion marks, and Linux's rule
//! for delayed ACKs. By this last rule, the sample of a delayed ACK does not renew an expired
//! minimum of the round trip.

mod config;
mod max_filter;
mod model;
#[cfg(test)]
mod tests;

use crate::packed::{packed, packed_variants};
use crate::units::{BitRate, Duration, Time};

use super::window::share;
use super::{AckInfo, Congestion, CongestionControl, Window};

pub use config::BbrConfig;

use config::{PHASES, UNIT};
use model::Model;

/// The states of the draft's §3.4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// BBR doubles the sending rate in each round until the path is full.
    Startup,
    /// BBR empties the queue that STARTUP filled.
    Drain,
    /// BBR cycles the pacing gain around one.
    ProbeBw,
    /// BBR nearly empties the path to measure the round trip without a queue.
    ProbeRtt,
}

packed_variants!(Mode { Startup, Drain, ProbeBw, ProbeRtt });

/// The kind of loss recovery that the sender is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Repairing {
    Nothing,
    Losses,
    Timeout,
}

packed_variants!(Repairing { Nothing, Losses, Timeout });

/// The conditions under which PROBE_RTT ends.
#[derive(Clone, Copy, Debug)]
struct ProbeRtt {
    /// The earliest time at which PROBE_RTT may end. The value is `None` until the pipe (the octets
    /// in the network) has fallen to the minimum cwnd.
    done: Option<Time>,
    /// Whether a round has passed since the pipe fell to the minimum cwnd.
    round_done: bool,
}

packed!(ProbeRtt { done, round_done });

/// BBR: paces at the delivery rate, with a cwnd of about two bandwidth-delay products.
///
/// ```
/// use netspurt::congestion::{AckInfo, Bbr, BbrConfig, CongestionControl, Window};
/// use netspurt::units::Duration;
/// let mut bbr = Bbr::new(BbrConfig::default());
/// assert!(bbr.owns_window());
/// let mut window = Window { cwnd: 10_000, ssthresh: Window::NO_THRESHOLD };
/// let srtt = Some(Duration::from_millis(80));
/// bbr.on_ack(&AckInfo { smss: 1000, srtt, rtt: srtt, ..AckInfo::default() }, &mut window);
/// // The pacing rate is 2.885 times cwnd in a round trip, less one percent.
/// assert_eq!(bbr.pacing_rate().unwrap().bits_per_second(), Some(2_856_150));
/// ```
#[derive(Debug)]
pub struct Bbr {
    config: BbrConfig,
    mode: Mode,
    model: Model,
    /// cwnd when the first ACK arrived, in octets. The value is 0 before that ACK.
    initial_cwnd: u64,
    /// The bandwidth of the last round in which the bandwidth counted as grown, in bits per second.
    /// Later bandwidths are compared with this bandwidth. The field is 0 at first, and after a
    /// timeout or an undo.
    full_bandwidth: u64,
    rounds_without_growth: u32,
    filled_pipe: bool,
    /// The phase of PROBE_BW, from 0 to 7.
    phase: usize,
    /// When this phase began.
    phase_start: Time,
    probe_rtt: ProbeRtt,
    repair: Repairing,
    /// True in the first round of a recovery, in which the sender sends as many octets as have left
    /// the network.
    conserving: bool,
    /// The cwnd that is restored after recovery or PROBE_RTT, in octets.
    prior_cwnd: u64,
    /// Whether sending started again after an idle time, and no data was delivered after this
    /// start.
    idle_restart: bool,
    /// The pacing rate in bits per second. The value is 0 before the first round trip.
    pacing_rate: u64,
}

packed!(Bbr { mode, model, initial_cwnd, full_bandwidth, rounds_without_growth, filled_pipe, phase, phase_start, probe_rtt, repair, conserving, prior_cwnd, idle_restart, pacing_rate } keeps { config });

impl Bbr {
    /// Makes the algorithm for the start of a connection.
    pub fn new(config: BbrConfig) -> Self {
        Self {
            config,
            mode: Mode::Startup,
            model: Model::new(&config),
            initial_cwnd: 0,
            full_bandwidth: 0,
            rounds_without_growth: 0,
            filled_pipe: false,
            phase: 0,
            phase_start: Time::ZERO,
            probe_rtt: ProbeRtt { done: None, round_done: false },
            repair: Repairing::Nothing,
            conserving: false,
            prior_cwnd: 0,
            idle_restart: false,
            pacing_rate: 0,
        }
    }

    fn pacing_gain(&self) -> (u32, u32) {
        let (num, den) = self.config.high_gain;
        match self.mode {
            Mode::Startup => (num, den),
            Mode::Drain => (den, num),
            Mode::ProbeBw => self.config.cycle[self.phase],
            Mode::ProbeRtt => UNIT,
        }
    }

    fn cwnd_gain(&self) -> (u32, u32) {
        match self.mode {
            Mode::Startup | Mode::Drain => self.config.high_gain,
            Mode::ProbeBw => self.config.cwnd_gain,
            Mode::ProbeRtt => UNIT,
        }
    }

    fn min_cwnd(&self, smss: u64) -> u64 {
        u64::from(self.config.min_cwnd_segs) * smss
    }

    /// The octets that should be in the network for `gain` bandwidth-delay products (§4.2.3.2).
    /// Three bursts are added, because hosts send and acknowledge segments in bursts.
    fn inflight(&self, gain: (u32, u32), smss: u64) -> u64 {
        let Some(bdp) = self.model.bdp(gain) else { return self.initial_cwnd };
        // As in Linux, phase 0 adds two segments, so that probing has an effect on short paths.
        let probing = self.mode == Mode::ProbeBw && self.phase == 0;
        bdp + 3 * self.send_quantum(smss) + if probing { 2 * smss } else { 0 }
    }

    /// The octets sent in one burst (§4.2.2).
    fn send_quantum(&self, smss: u64) -> u64 {
        match self.pacing_rate {
            ..1_200_000 => smss,
            1_200_000..24_000_000 => 2 * smss,
            rate => (rate / 8_000).min(64_000),
        }
    }

    /// Advances the gain cycle if the current phase is over (§4.3.4.3).
    fn update_phase(&mut self, ack: &AckInfo) {
        if self.mode == Mode::ProbeBw && self.is_phase_over(ack) {
            self.enter_phase(self.phase + 1, ack.now);
        }
    }

    fn is_phase_over(&self, ack: &AckInfo) -> bool {
        let min_rtt = self.model.min_rtt.unwrap_or_default();
        let lasted = ack.now.saturating_since(self.phase_start) > min_rtt;
        let gain = self.pacing_gain();
        let inflight = |gain| self.inflight(gain, ack.smss);
        if gain.0 > gain.1 {
            lasted && (ack.lost_bytes > 0 || ack.pipe_before >= inflight(gain))
        } else if gain.0 < gain.1 {
            lasted || ack.pipe_before <= inflight(UNIT)
        } else {
            lasted
        }
    }

    fn enter_phase(&mut self, phase: usize, now: Time) {
        self.mode = Mode::ProbeBw;
        self.phase = phase % PHASES;
        self.phase_start = now;
    }

    /// Checks once in a round whether the bandwidth still grows (§4.3.2.2).
    fn check_full_pipe(&mut self) {
        if self.filled_pipe || !self.model.round_start || self.model.app_limited {
            return;
        }
        let bandwidth = self.model.bandwidth();
        if bandwidth >= share(self.full_bandwidth, self.config.full_pipe_growth) {
            self.full_bandwidth = bandwidth;
            self.rounds_without_growth = 0;
            return;
        }
        self.rounds_without_growth += 1;
        self.filled_pipe = self.rounds_without_growth >= self.config.full_pipe_rounds;
    }

    /// Goes from STARTUP to DRAIN if the path is full, and from DRAIN to PROBE_BW if the queue is
    /// empty (§4.3.3).
    fn check_drain(&mut self, ack: &AckInfo) {
        if self.mode == Mode::Startup && self.filled_pipe {
            self.mode = Mode::Drain;
        }
        if self.mode == Mode::Drain && ack.pipe <= self.inflight(UNIT, ack.smss) {
            self.enter_phase(usize::from(self.config.first_phase), ack.now);
        }
    }

    /// Enters PROBE_RTT if the minimum round trip has expired, except after an idle time. Leaves
    /// PROBE_RTT when the conditions of [`ProbeRtt`] are met (§4.3.5).
    ///
    /// departs: draft-cardwell-iccrg-bbr-congestion-control §4.1.2.3 - as in Linux, a round trip
    /// that equals the minimum does not renew it; otherwise the minimum would never expire on an
    /// ideal path.
    fn check_probe_rtt(&mut self, ack: &AckInfo, window: &mut Window) {
        let expired = self.model.update_min_rtt(ack, self.config.min_rtt_window);
        if expired && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.save_cwnd(window.cwnd);
            self.mode = Mode::ProbeRtt;
            self.probe_rtt = ProbeRtt { done: None, round_done: false };
            self.model.hold();
        }
        if self.mode != Mode::ProbeRtt {
            return;
        }
        self.model.keep_holding(ack.pipe);
        let Some(done) = self.probe_rtt.done else {
            if ack.pipe <= self.min_cwnd(ack.smss) {
                self.probe_rtt.done = Some(ack.now + self.config.probe_rtt_time);
                self.model.start_round();
            }
            return;
        };
        self.probe_rtt.round_done |= self.model.round_start;
        if self.probe_rtt.round_done && ack.now > done {
            self.model.min_rtt_stamp = ack.now;
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            if self.filled_pipe {
                self.enter_phase(usize::from(self.config.first_phase), ack.now);
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    /// The pacing rate for a bandwidth: `gain` times the bandwidth, less the pacing margin of the
    /// configuration.
    fn pacing_rate_for(&self, bandwidth: u64, gain: (u32, u32)) -> u64 {
        let margin = (100 - self.config.pacing_margin_percent.min(99), 100);
        share(share(bandwidth, gain), margin)
    }

    /// Sets the pacing rate from the model (§4.2.1). Before the path is full, the rate only rises.
    /// Before the first round trip, there is no pacing, even if an ACK shows a delivery rate. The
    /// reason is that a rate measured with a single octet could delay the next segment for a long
    /// time.
    fn set_pacing_rate(&mut self, gain: (u32, u32), bandwidth: u64) {
        let rate = self.pacing_rate_for(bandwidth, gain);
        if self.pacing_rate > 0 && (self.filled_pipe || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// Begins pacing with the first round trip: `high_gain` times cwnd in each round trip, less the
    /// margin (§4.2.1).
    fn begin_pacing(&mut self, rtt: Option<Duration>, cwnd: u64) {
        let rtt = rtt.map_or(0, Duration::as_nanos);
        if self.pacing_rate == 0 && rtt > 0 {
            let rate = u128::from(cwnd) * 8_000_000_000 / u128::from(rtt);
            let rate = u64::try_from(rate).unwrap_or(u64::MAX);
            self.pacing_rate = self.pacing_rate_for(rate, self.config.high_gain);
        }
    }

    /// Remembers cwnd, to restore it later (§4.2.3.3). If a repair or PROBE_RTT has already reduced
    /// cwnd, the larger of the remembered cwnd and the present cwnd is kept.
    fn save_cwnd(&mut self, cwnd: u64) {
        let good = self.repair == Repairing::Nothing && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if good { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// Sets cwnd in loss recovery, and restores it at the end (§4.2.3.4).
    fn follow_repair(&mut self, ack: &AckInfo, window: &mut Window) {
        if self.model.round_start {
            self.conserving = false;
        }
        let repair = match (ack.after_timeout, ack.in_recovery) {
            (true, _) => Repairing::Timeout,
            (false, true) => Repairing::Losses,
            (false, false) => Repairing::Nothing,
        };
        window.cwnd = window.cwnd.saturating_sub(ack.lost_bytes).max(ack.smss);
        let conserved = ack.pipe.saturating_add(ack.delivered_bytes.max(ack.smss));
        if repair == Repairing::Losses && self.repair != Repairing::Losses {
            self.conserving = true;
            self.model.start_round();
            window.cwnd = conserved;
        } else if repair == Repairing::Nothing {
            self.end_repair(window);
        }
        self.repair = repair;
        if self.conserving {
            window.cwnd = window.cwnd.max(conserved);
        }
    }

    fn end_repair(&mut self, window: &mut Window) {
        if self.repair != Repairing::Nothing {
            window.cwnd = window.cwnd.max(self.prior_cwnd);
            self.conserving = false;
            self.repair = Repairing::Nothing;
        }
    }

    /// Moves cwnd towards its target by the delivered octets (§4.2.3).
    fn set_cwnd(&mut self, ack: &AckInfo, window: &mut Window) {
        self.follow_repair(ack, window);
        if !self.conserving && ack.delivered_bytes > 0 {
            let target = self.inflight(self.cwnd_gain(), ack.smss);
            let more = window.cwnd.saturating_add(ack.delivered_bytes).min(Window::NO_THRESHOLD);
            if self.filled_pipe {
                window.cwnd = more.min(target);
            } else if window.cwnd < target || self.model.delivered < self.initial_cwnd {
                window.cwnd = more;
            }
            window.cwnd = window.cwnd.max(self.min_cwnd(ack.smss));
        }
        if self.mode == Mode::ProbeRtt {
            window.cwnd = window.cwnd.min(self.min_cwnd(ack.smss));
        }
    }
}

impl CongestionControl for Bbr {
    fn on_ack(&mut self, ack: &AckInfo, window: &mut Window) {
        if self.initial_cwnd == 0 {
            self.initial_cwnd = window.cwnd;
        }
        self.model.update_bandwidth(ack);
        self.update_phase(ack);
        self.check_full_pipe();
        self.check_drain(ack);
        self.check_probe_rtt(ack, window);
        self.begin_pacing(ack.srtt.or(ack.rtt), window.cwnd);
        self.set_pacing_rate(self.pacing_gain(), self.model.bandwidth());
        self.set_cwnd(ack, window);
        if ack.delivered_bytes > 0 {
            self.idle_restart = false;
        }
    }

    /// Remembers cwnd, except at a congestion mark. ssthresh and the model do not change. A timeout
    /// also restarts the check for a full path.
    fn on_congestion(
        &mut self,
        _now: Time,
        kind: Congestion,
        _flight: u64,
        _smss: u64,
        window: &Window,
    ) -> u64 {
        if kind != Congestion::Mark {
            self.save_cwnd(window.cwnd);
        }
        if kind == Congestion::Timeout {
            self.repair = Repairing::Timeout;
            self.conserving = false;
            self.full_bandwidth = 0;
        }
        window.ssthresh
    }

    /// Forgets how far the bandwidth grew, as in Linux. A spurious repair slowed the growth, so the
    /// slow growth does not show that the path is full.
    fn on_undo(&mut self, _now: Time, _window: &mut Window) {
        self.full_bandwidth = 0;
        self.rounds_without_growth = 0;
    }

    fn on_recovery_end(&mut self, _now: Time, window: &mut Window) {
        // In PROBE_RTT cwnd stays low. BBR restores `prior_cwnd` at the end of PROBE_RTT.
        if self.mode != Mode::ProbeRtt {
            self.end_repair(window);
        }
    }

    /// After an idle time in PROBE_BW, paces at the estimated bandwidth, because there is no queue
    /// to drain (§4.3.4.4).
    fn on_idle_restart(&mut self, _now: Time, _idle: Duration) {
        self.idle_restart = true;
        if self.mode == Mode::ProbeBw {
            self.set_pacing_rate(UNIT, self.model.bandwidth());
        }
    }

    fn on_open(&mut self, rtt: Option<Duration>, window: &Window) {
        self.begin_pacing(rtt, window.cwnd);
    }

    fn owns_window(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        BitRate::new(self.pacing_rate)
    }

    fn wants_rate(&self) -> bool {
        true
    }
}
