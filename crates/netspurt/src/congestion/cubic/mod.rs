//! CUBIC, the congestion control algorithm of RFC 9438, computed in octets.
//!
//! cwnd follows a curve over the time since congestion avoidance began. The curve becomes flat near
//! `W_max`, and becomes steep again above `W_max`. `W_max` is the cwnd at which the last congestion
//! occurred; fast convergence may lower it. If Reno would be faster, cwnd follows Reno. After a
//! congestion mark, RFC 9438 §4.6 keeps cwnd at one segment or more. This bound is left out,
//! because here the sender, and not the algorithm, reduces cwnd.

mod curve;
#[cfg(test)]
mod tests;
mod whole;

use crate::packed::{packed, packed_value};
use crate::units::{Duration, Time};

use super::slow_start::{SlowStart, SlowStartExit};
use super::window::share;
use super::{AckInfo, Congestion, CongestionControl, Window};

use curve::Curve;
pub(super) use whole::WholeCubic;

/// The constants of CUBIC. The defaults come from RFC 9438 §4.6 and §5. Denominators are above
/// zero.
///
/// ```
/// use netspurt::congestion::{CongestionConfig, CubicConfig, SlowStartExit};
/// let slow_start_exit = SlowStartExit::HyStart(Default::default());
/// let linux = CubicConfig { slow_start_exit, ..CubicConfig::default() };
/// assert_eq!(CongestionConfig::Cubic(linux).name(), "cubic");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicConfig {
    /// *C*: the steepness of the curve, in segments per cubic second, as a fraction.
    pub c: (u32, u32),
    /// beta_cubic: after congestion, ssthresh is this share of the flight size; with
    /// `whole_segments`, it is this share of cwnd. A fraction below 1.
    pub beta: (u32, u32),
    /// Whether a flow leaves bandwidth to other flows if congestion occurs below its last `W_max`
    /// (§4.7).
    pub fast_convergence: bool,
    /// The maximum number of segments by which one ACK increases cwnd in slow start (RFC 3465
    /// §2.2). HyStart++ has a limit of its own.
    pub abc_limit_segs: u32,
    /// The algorithm that may end slow start before a loss (§4.10).
    pub slow_start_exit: SlowStartExit,
    /// While the plateau of the curve (the cwnd at which the curve is flat) is unknown, cwnd grows
    /// by at least one segment for this number of acknowledged segments. The plateau is unknown
    /// before any congestion and after a timeout. The number is 20 in Linux. `None`, as in RFC
    /// 9438, sets no such minimum of the growth.
    pub initial_segs_per_increase_max: Option<u32>,
    /// The curve does not count the time in which a flow is idle. If this field is true, the idle
    /// time begins with the last transmission, as in Linux (`CA_EVENT_TX_START`). Otherwise, the
    /// idle time begins with the last ACK (RFC 9438 §5.8).
    pub idle_from_sending: bool,
    /// Whether the computation uses whole segments and jiffies (the ticks of Linux's clock), as in
    /// Linux ([`WholeCubic`]).
    pub whole_segments: bool,
    /// The time from the beginning of a jiffy to the start of the run ([`WholeCubic`]). A
    /// connection takes it from the host's clock.
    pub jiffy_phase: Duration,
}

impl Default for CubicConfig {
    fn default() -> Self {
        Self {
            c: (2, 5),
            beta: (7, 10),
            fast_convergence: true,
            abc_limit_segs: 2,
            slow_start_exit: SlowStartExit::default(),
            initial_segs_per_increase_max: None,
            idle_from_sending: false,
            whole_segments: false,
            jiffy_phase: Duration::ZERO,
        }
    }
}

/// A stage of congestion avoidance (RFC 9438 §4.1.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AvoidanceStage {
    /// *t*: the time since the stage began, without the time in which cwnd could not grow (§5.8).
    elapsed: Duration,
    /// The instant up to which `elapsed` was counted.
    counted_until: Time,
    /// *K*: the time after which the curve reaches its plateau.
    k: Duration,
    /// The plateau, where the curve is flat, in octets: `W_max`, or cwnd at the start of the stage
    /// if that is larger.
    plateau: u64,
    /// True if the plateau was unknown when the stage began: before any congestion, and after a
    /// timeout.
    first: bool,
    /// `W_est`: the cwnd that Reno would have, in octets.
    reno: u64,
    /// The remainder of the last division for `reno`.
    reno_remainder: u128,
    /// The remainder of the last division for cwnd.
    remainder: u128,
}

packed_value!(AvoidanceStage {
    elapsed,
    counted_until,
    k,
    plateau,
    first,
    reno,
    reno_remainder,
    remainder
});

/// CUBIC's state for a path. An undo restores the whole state from before the last congestion,
/// unless cwnd has already grown beyond its value at that time (§4.9).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CubicState {
    /// `W_max` in octets: the plateau of the next curve. `None` before the first congestion (§4.10)
    /// and after a timeout (§4.8), until the next stage begins.
    w_max: Option<u64>,
    /// `cwnd_prior`, in octets: cwnd when congestion last set ssthresh, or when the first stage
    /// began without earlier congestion.
    cwnd_prior: Option<u64>,
    /// The stage of congestion avoidance. The value is `None` outside congestion avoidance.
    stage: Option<AvoidanceStage>,
}

packed_value!(CubicState { w_max, cwnd_prior, stage });

impl CubicConfig {
    /// Returns alpha_cubic as a fraction (§4.3). `reno` is the cwnd that Reno would have. Until
    /// `reno` reaches `cwnd_prior`, the value follows from beta_cubic; with the default beta it is
    /// 9/17. After that it is 1, as in Reno.
    fn alpha(&self, cwnd_prior: Option<u64>, reno: u64) -> (u128, u128) {
        let (num, den) = (u128::from(self.beta.0), u128::from(self.beta.1));
        let recovered = cwnd_prior.is_none_or(|prior| reno >= prior);
        if recovered { (den + num, den + num) } else { (3 * (den - num), den + num) }
    }
}

/// CUBIC: the growth of cwnd depends on the time since the last congestion, and not on the round
/// trip.
///
/// ```
/// use netspurt::congestion::{AckInfo, Congestion, CongestionControl, Cubic, CubicConfig, Window};
/// use netspurt::units::Time;
/// let mut cubic = Cubic::new(CubicConfig::default());
/// let window = Window { cwnd: 100_000, ssthresh: Window::NO_THRESHOLD };
/// let ssthresh = cubic.on_congestion(Time::ZERO, Congestion::Loss, 100_000, 1000, &window);
/// assert_eq!(ssthresh, 70_000);
/// ```
#[derive(Debug)]
pub struct Cubic {
    config: CubicConfig,
    slow_start: SlowStart,
    state: CubicState,
    /// The state and cwnd before the last congestion.
    before: Option<(CubicState, Window)>,
}

packed!(Cubic { slow_start, state, before } keeps { config });

impl Cubic {
    /// Makes the algorithm for the start of a connection.
    pub fn new(config: CubicConfig) -> Self {
        let slow_start = SlowStart::new(config.abc_limit_segs, config.slow_start_exit);
        Self { config, slow_start, state: CubicState::default(), before: None }
    }

    /// Begins a stage of congestion avoidance at the instant `now`, with `cwnd` octets (§4.2).
    fn begin(&mut self, now: Time, curve: Curve, cwnd: u64) -> AvoidanceStage {
        let first = self.state.w_max.is_none();
        // §4.8, §4.10: without a `W_max`, the current cwnd is `W_max`.
        let w_max = *self.state.w_max.get_or_insert(cwnd);
        self.state.cwnd_prior.get_or_insert(cwnd);
        AvoidanceStage {
            elapsed: Duration::ZERO,
            counted_until: now,
            k: curve.climb(w_max.saturating_sub(cwnd)),
            plateau: w_max.max(cwnd),
            first,
            reno: cwnd,
            reno_remainder: 0,
            remainder: 0,
        }
    }

    fn avoid_congestion(&mut self, ack: &AckInfo, window: &mut Window) {
        let curve = Curve { c: self.config.c, smss: ack.smss };
        if self.state.stage.is_none() {
            self.state.stage = Some(self.begin(ack.now, curve, window.cwnd));
        }
        // The stage is changed in place, because copying it with each ACK would be slow.
        let CubicState { stage: Some(stage), cwnd_prior, .. } = &mut self.state else { return };
        stage.elapse_until(ack.now);
        stage.grow_reno(ack, window.cwnd, self.config.alpha(*cwnd_prior, stage.reno));
        let climb = self.config.initial_segs_per_increase_max.filter(|_| stage.first);
        if climb.is_none() && stage.window_at(curve, stage.elapsed) < stage.reno {
            // departs: RFC 9438 §4.3 - cwnd is not lowered to W_est; it may already be above W_est,
            // because the curve gives cwnd for one round trip later.
            window.cwnd = window.cwnd.max(stage.reno);
        } else {
            let ahead = stage.elapsed + ack.srtt.unwrap_or_default();
            let target_min = climb.map_or(0, |segs| {
                let cwnd = window.cwnd;
                stage.reno.max(cwnd + cwnd / u64::from(segs.max(1)))
            });
            let target = stage.window_at(curve, ahead).max(target_min);
            stage.grow(ack, target, window);
        }
    }
}

impl AvoidanceStage {
    /// Counts the time until the instant `now` as time in which cwnd could grow.
    fn elapse_until(&mut self, now: Time) {
        self.elapsed = self.elapsed + now.saturating_since(self.counted_until);
        self.counted_until = now;
    }

    /// `W_cubic(t)`, in octets (§4.2, figure 1).
    fn window_at(&self, curve: Curve, t: Duration) -> u64 {
        if t < self.k {
            self.plateau.saturating_sub(curve.offset(self.k - t))
        } else {
            self.plateau.saturating_add(curve.offset(t - self.k)).min(Window::NO_THRESHOLD)
        }
    }

    /// Updates `W_est` for an ACK (§4.3, figure 4). As in RFC 3465, the acknowledged octets count,
    /// and not the number of ACKs.
    fn grow_reno(&mut self, ack: &AckInfo, cwnd: u64, alpha: (u128, u128)) {
        let divisor = alpha.1 * u128::from(cwnd.max(1));
        let acked = u128::from(ack.acked_bytes.min(cwnd));
        let dividend = acked * u128::from(ack.smss) * alpha.0 + self.reno_remainder;
        let (increase, remainder) = divide(dividend, divisor);
        self.reno = self.reno.saturating_add(u64::try_from(increase).unwrap_or(u64::MAX));
        self.reno_remainder = remainder;
    }

    /// Increases cwnd towards the value `target`. An ACK of as many octets as cwnd would bring cwnd
    /// to this value (§4.4, §4.5). The value is limited to one and a half times cwnd (§4.2).
    ///
    /// departs: RFC 9438 §4.4 - the step is proportional to the acknowledged octets and not to the
    /// number of ACKs, so that delayed ACKs do not slow the growth of cwnd down.
    fn grow(&mut self, ack: &AckInfo, target: u64, window: &mut Window) {
        let cwnd = window.cwnd.max(1);
        let target = target.clamp(cwnd, cwnd.saturating_add(cwnd / 2));
        let acked = u128::from(ack.acked_bytes.min(cwnd));
        let dividend = u128::from(target - cwnd) * acked + self.remainder;
        let (increase, remainder) = divide(dividend, u128::from(cwnd));
        window.cwnd += u64::try_from(increase).unwrap_or(0);
        self.remainder = remainder;
    }
}

/// Returns the quotient and the remainder. Small numbers are divided in 64 bits, because this is
/// faster.
fn divide(a: u128, b: u128) -> (u128, u128) {
    match (u64::try_from(a), u64::try_from(b)) {
        (Ok(a), Ok(b)) => (u128::from(a / b), u128::from(a % b)),
        _ => (a / b, a % b),
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &AckInfo, window: &mut Window) {
        // departs: RFC 9438 §4.10 - congestion avoidance begins at cwnd = ssthresh, which RFC 5681
        // §3.1 allows; otherwise one ACK of slow start would follow each cut.
        if window.in_slow_start() {
            self.state.stage = None;
            self.slow_start.on_ack(ack, window);
        } else if ack.window_limited {
            self.avoid_congestion(ack, window);
        } else if let Some(stage) = &mut self.state.stage {
            // §5.8: t does not contain the time in which the application did not fill cwnd.
            stage.counted_until = ack.now;
        }
    }

    fn on_congestion(
        &mut self,
        _now: Time,
        kind: Congestion,
        flight: u64,
        smss: u64,
        window: &Window,
    ) -> u64 {
        self.before = Some((self.state, *window));
        let (num, den) = self.config.beta;
        let cwnd = window.cwnd;
        let below_last_w_max = self.state.w_max.is_some_and(|w_max| cwnd < w_max);
        let w_max = match kind {
            Congestion::Timeout => None,
            _ if self.config.fast_convergence && below_last_w_max => {
                Some(share(cwnd, (num + den, 2 * den)))
            }
            _ => Some(cwnd),
        };
        self.state = CubicState { w_max, cwnd_prior: Some(cwnd), stage: None };
        share(flight, self.config.beta).max(2 * smss)
    }

    fn on_timeout(&mut self, now: Time, nxt: u64) {
        self.slow_start.on_timeout(now, nxt);
    }

    fn on_undo(&mut self, _now: Time, window: &mut Window) {
        // §4.9: if cwnd has already grown beyond its value before the congestion, the new state is
        // kept.
        if let Some((state, before)) = self.before.take()
            && window.cwnd <= before.cwnd
        {
            self.state = state;
        }
    }

    fn on_idle_restart(&mut self, now: Time, idle: Duration) {
        let Some(stage) = &mut self.state.stage else { return };
        if self.config.idle_from_sending {
            let last = Time::ZERO + ((now - Time::ZERO) - idle);
            stage.elapsed = stage.elapsed - stage.counted_until.saturating_since(last);
        }
        stage.counted_until = now;
    }
}
