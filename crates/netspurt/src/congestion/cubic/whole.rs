//! CUBIC, a congestion control algorithm, in whole segments and jiffies (the ticks of Linux's
//! clock), as Linux computes it (`net/ipv4/tcp_cubic.c`; Ha, Rhee and Xu 2008, "CUBIC: A New
//! TCP-Friendly High-Speed TCP Variant").
//!
//! In congestion avoidance cwnd follows a curve over time. The curve is flat at its plateau. Each
//! value of the curve is a whole number of segments, because the distance to the plateau is rounded
//! down. So below the plateau this curve is up to one segment higher than the curve of CUBIC in
//! octets. Above the plateau, this curve is up to one segment lower. In RFC 9438 §4.4, an ACK opens
//! cwnd by (target - cwnd) / cwnd segments. Here cwnd opens by one segment after `count`
//! acknowledged segments. A cut is a reduction of cwnd because of congestion. The undo of a cut
//! does not restore the plateau from before the cut. A timeout clears the plateau.

use crate::packed::{packed, packed_value};
use crate::units::{Duration, Time};

use super::super::slow_start::SlowStart;
use super::super::{AckInfo, Congestion, CongestionControl, Window};
use super::CubicConfig;
use super::curve::cube_root;

/// The length of a jiffy: there are 250 in a second.
const JIFFY: Duration = Duration::from_millis(4);
/// Time on the curve is counted in units of 1/1024 of a second.
const UNITS: u64 = 1024;
/// While cwnd does not change, `count` is computed again only after more than this number of
/// jiffies (`HZ / 32`).
const COUNT_JIFFIES: u64 = 7;
/// For this number of jiffies after the start of a stage, round trips are ignored. A round trip may
/// have been measured while a loss was repaired, and is then too long.
const REPAIR_JIFFIES: u64 = 250;
/// The minimum of `count`: cwnd opens by at most one segment for this number of acknowledged
/// segments.
const COUNT_MIN: u64 = 2;
/// While the curve is not above cwnd, the curve's `count` is this number times cwnd in segments.
const COUNT_BELOW: u64 = 100;

/// A stage of congestion avoidance, in segments and jiffies.
#[derive(Clone, Copy, Debug)]
struct WholeStage {
    /// When the stage began, in jiffies.
    began: u64,
    /// When the curve reaches its plateau, in 1024ths of a second after the jiffy `began`.
    k: u64,
    plateau: u64,
    /// The cwnd that Reno would have, in segments.
    reno: u64,
    /// The number of segments that were acknowledged since `reno` last grew.
    acked: u64,
}

packed_value!(WholeStage { began, k, plateau, reno, acked });

/// CUBIC's state for a path, in segments and jiffies.
#[derive(Clone, Copy, Debug, Default)]
struct WholeState {
    /// The plateau of the next stage. The value is 0 if the plateau is unknown.
    w_max: u64,
    stage: Option<WholeStage>,
    /// cwnd opens by one segment for this number of acknowledged segments.
    count: u64,
    /// The jiffy at which `count` was computed, and the cwnd in segments for which it was computed.
    computed: Option<(u64, u64)>,
    /// The segments acknowledged since cwnd last opened.
    credit: u64,
    min_rtt: Option<Duration>,
    /// When the last ACK arrived, in jiffies.
    last_ack_jiffies: u64,
}

packed_value!(WholeState { w_max, stage, count, computed, credit, min_rtt, last_ack_jiffies });

/// CUBIC in whole segments.
#[derive(Debug)]
pub(in crate::congestion) struct WholeCubic {
    config: CubicConfig,
    slow_start: SlowStart,
    state: WholeState,
}

packed!(WholeCubic { slow_start, state } keeps { config });

/// The cube root as Linux approximates it (`cubic_root`): one step of Newton's method, with
/// 341/1024 in place of 1/3. The start value follows from the leading bits. The error of the root
/// is up to 0.3 %.
///
/// Linux reads the start value from a table that was refined by hand. Here the start value is a
/// linear function of the cube root of the leading bits, and this function is fitted to the table.
/// Of the gaps of 1 to 59 segments between cwnd and the plateau, 47 give the same root as in Linux.
fn rough_cube_root(x: u64) -> u64 {
    let bits = u64::BITS - x.leading_zeros();
    if bits < 7 {
        return cube_root(x.into());
    }
    let thirds = ((bits * 84) >> 8) - 1;
    let leading = u128::from(x >> (3 * thirds)) << 18;
    let thousandths = cube_root(leading * 1_000_000_000);
    let start = (1022 * thousandths / 1000 + 3500) / 1000;
    let root = (start << thirds) >> 6;
    ((2 * root + x / (root * (root - 1))) * 341) >> 10
}

impl WholeCubic {
    /// Makes the algorithm for the start of a connection.
    pub(in crate::congestion) fn new(config: CubicConfig) -> Self {
        let slow_start = SlowStart::new(config.abc_limit_segs, config.slow_start_exit);
        Self { config, slow_start, state: WholeState::default() }
    }

    /// Returns the host's count of jiffies at the instant `at`.
    fn jiffies(&self, at: Time) -> u64 {
        (at - Time::ZERO + self.config.jiffy_phase).whole_units(JIFFY)
    }

    /// The share of cwnd that a cut leaves, in 1024ths, rounded.
    fn beta(&self) -> u64 {
        let (num, den) = self.config.beta;
        (UNITS * u64::from(num) + u64::from(den) / 2) / u64::from(den.max(1))
    }

    /// The curve's steepness in 1024ths of a segment per cubic second, rounded.
    fn steepness(&self) -> u64 {
        let (num, den) = self.config.c;
        ((UNITS * u64::from(num) + u64::from(den) / 2) / u64::from(den.max(1))).max(1)
    }

    /// Updates the minimum round trip. Round trips soon after the start of a stage are ignored.
    fn measure(&mut self, now: u64, rtt: Duration) {
        let early = self.state.stage.is_some_and(|stage| now - stage.began < REPAIR_JIFFIES);
        if !early {
            let min_rtt = self.state.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt));
            self.state.min_rtt = Some(min_rtt);
        }
    }

    /// Begins a stage with `acked` segments acknowledged and a cwnd of `cwnd` segments.
    fn begin(&self, now: u64, cwnd: u64, acked: u64) -> WholeStage {
        let gap = self.state.w_max.saturating_sub(cwnd);
        let cube = (u128::from(gap) << 40) / u128::from(self.steepness());
        let k = u64::try_from(cube).map_or_else(|_| cube_root(cube), rough_cube_root);
        WholeStage { began: now, k, plateau: cwnd + gap, reno: cwnd, acked }
    }

    /// Returns the `count` of the curve: the number of acknowledged segments for which cwnd opens
    /// by one segment.
    fn count_by_curve(&self, stage: &WholeStage, now: u64, cwnd: u64) -> u64 {
        let rtt = self.state.min_rtt.unwrap_or_default().as_nanos().div_ceil(JIFFY.as_nanos());
        let t = (now - stage.began + rtt) * JIFFY.as_nanos() * UNITS / 1_000_000_000;
        let off = u128::from(t.abs_diff(stage.k));
        let segs = (u128::from(self.steepness()) * off * off * off) >> 40;
        let segs = u64::try_from(segs).unwrap_or(u64::MAX);
        let target = if t < stage.k {
            stage.plateau.saturating_sub(segs)
        } else {
            stage.plateau.saturating_add(segs)
        };
        let count = if target > cwnd { cwnd / (target - cwnd) } else { COUNT_BELOW * cwnd };
        match self.config.initial_segs_per_increase_max {
            Some(most) if self.state.w_max == 0 => count.min(most.into()),
            _ => count,
        }
    }

    /// Returns the `count` after an ACK of `acked` segments. Two counts are computed: the count of
    /// the curve, and the count with which cwnd reaches the cwnd of Reno within a round. The result
    /// is the smaller count, but at least `COUNT_MIN`. While cwnd does not change, the last result
    /// is used for `COUNT_JIFFIES` jiffies.
    fn count(&mut self, now: u64, cwnd: u64, acked: u64) -> u64 {
        let began = self.state.stage.is_none();
        let fresh =
            self.state.computed.is_some_and(|(at, of)| of == cwnd && now - at <= COUNT_JIFFIES);
        if fresh && began {
            // A cut has ended the stage, and an undo has restored cwnd. The next stage begins
            // later.
            return self.state.count;
        }
        let mut stage = self.state.stage.unwrap_or_else(|| self.begin(now, cwnd, 0));
        stage.acked += acked;
        if fresh {
            self.state.stage = Some(stage);
            return self.state.count;
        }
        if began || self.state.computed.is_none_or(|(at, _)| at != now) {
            self.state.computed = Some((now, cwnd));
            self.state.count = self.count_by_curve(&stage, now, cwnd);
        }
        let beta = self.beta().min(UNITS - 1);
        let step = (cwnd * (8 * (UNITS + beta) / 3 / (UNITS - beta)) / 8).max(1);
        while stage.acked > step {
            stage.acked -= step;
            stage.reno += 1;
        }
        if stage.reno > cwnd {
            self.state.count = self.state.count.min(cwnd / (stage.reno - cwnd));
        }
        self.state.stage = Some(stage);
        self.state.count = self.state.count.max(COUNT_MIN);
        self.state.count
    }

    /// Opens cwnd for `acked` acknowledged segments: by one segment for each `count` acknowledged
    /// segments (`tcp_cong_avoid_ai`).
    fn grow(&mut self, count: u64, acked: u64, smss: u64, window: &mut Window) {
        if self.state.credit >= count {
            // Credit that was collected while `count` was larger opens cwnd by only one segment.
            self.state.credit = 0;
            window.cwnd += smss;
        }
        self.state.credit += acked;
        window.cwnd += self.state.credit / count * smss;
        self.state.credit %= count;
    }
}

impl CongestionControl for WholeCubic {
    fn on_ack(&mut self, ack: &AckInfo, window: &mut Window) {
        let now = self.jiffies(ack.now);
        if let Some(rtt) = ack.rtt {
            self.measure(now, rtt);
        }
        let smss = ack.smss.max(1);
        let mut acked = ack.acked_bytes / smss;
        self.state.last_ack_jiffies = now;
        if window.in_slow_start() {
            let before = window.cwnd;
            self.slow_start.on_ack(ack, window);
            acked = acked.saturating_sub((window.cwnd - before) / smss);
        }
        if ack.window_limited && acked > 0 {
            let count = self.count(now, window.cwnd / smss, acked);
            self.grow(count, acked, smss, window);
        }
    }

    /// Even the round trips of ACKs in recovery count (`cubictcp_acked`). In recovery, there is no
    /// stage: congestion has ended the last stage, and the next stage begins after recovery.
    /// Without a stage, `measure` uses every round trip.
    fn on_round_trip(&mut self, now: Time, rtt: Duration) {
        let now = self.jiffies(now);
        self.measure(now, rtt);
    }

    fn on_congestion(
        &mut self,
        _now: Time,
        _kind: Congestion,
        _flight: u64,
        smss: u64,
        window: &Window,
    ) -> u64 {
        let cwnd = window.cwnd / smss.max(1);
        let below = self.config.fast_convergence && cwnd < self.state.w_max;
        self.state.w_max = if below { cwnd * (UNITS + self.beta()) / (2 * UNITS) } else { cwnd };
        (self.state.stage, self.state.credit) = (None, 0);
        (cwnd * self.beta() / UNITS).max(2) * smss
    }

    fn on_timeout(&mut self, now: Time, nxt: u64) {
        self.state = WholeState::default();
        self.slow_start.on_timeout(now, nxt);
    }

    fn on_undo(&mut self, _now: Time, _window: &mut Window) {}

    fn on_idle_restart(&mut self, now: Time, idle: Duration) {
        let (now, idle) = (self.jiffies(now), idle.whole_units(JIFFY));
        let Some(stage) = &mut self.state.stage else { return };
        let idle =
            if self.config.idle_from_sending { idle } else { now - self.state.last_ack_jiffies };
        stage.began = (stage.began + idle).min(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::{NO_ABC_LIMIT, SlowStartExit};

    const SMSS: u64 = 1000;

    /// CUBIC with the constants of Linux, but without an algorithm that ends slow start before a
    /// loss.
    fn cubic() -> WholeCubic {
        let slow_start_exit = SlowStartExit::None;
        let (initial_segs_per_increase_max, abc_limit_segs) = (Some(20), NO_ABC_LIMIT);
        let config = CubicConfig::default();
        WholeCubic::new(CubicConfig {
            slow_start_exit,
            initial_segs_per_increase_max,
            abc_limit_segs,
            ..config
        })
    }

    /// An ACK of `segs` full segments that arrives at `ms` milliseconds, with a round trip of 100
    /// ms.
    fn ack(ms: u64, segs: u64) -> AckInfo {
        AckInfo {
            now: Time::ZERO + Duration::from_millis(ms),
            smss: SMSS,
            acked_bytes: segs * SMSS,
            rtt: Some(Duration::from_millis(100)),
            window_limited: true,
            ..AckInfo::default()
        }
    }

    /// A cut from 10 segments leaves 7, and the plateau is 3 segments above, so K is (3 /
    /// 0.4)^(1/3) = 1.957 s. One round trip after the start, the curve is 0.4 · 1.857³ = 2.56
    /// segments below the plateau. This distance counts as 2 whole segments. The target is
    /// therefore 8, and 7 acknowledged segments open cwnd by one segment. Linux 6.18 does the same.
    #[test]
    fn the_distance_to_the_plateau_is_rounded_down_to_whole_segments() {
        let mut cubic = cubic();
        let mut window = Window { cwnd: 10 * SMSS, ssthresh: Window::NO_THRESHOLD };
        let cut = cubic.on_congestion(Time::ZERO, Congestion::Loss, window.cwnd, SMSS, &window);
        assert_eq!(cut, 7 * SMSS);
        window = Window { cwnd: cut, ssthresh: cut };
        cubic.on_round_trip(Time::ZERO, Duration::from_millis(100));
        cubic.on_ack(&ack(300, 7), &mut window);
        assert_eq!(window.cwnd, 8 * SMSS);
    }

    /// A round trip from before a stage counts: here the round trip of 100 ms with which the stage
    /// begins. A round trip in the first second of a stage is ignored: here the round trip of 90
    /// ms.
    #[test]
    fn the_first_second_of_a_stage_does_not_lower_the_minimum_round_trip() {
        let mut cubic = cubic();
        let mut window = Window { cwnd: 10 * SMSS, ssthresh: Window::NO_THRESHOLD };
        window.ssthresh = cubic.on_congestion(Time::ZERO, Congestion::Loss, 1, SMSS, &window);
        window.cwnd = window.ssthresh;
        cubic.on_round_trip(Time::ZERO, Duration::from_millis(124));
        cubic.on_ack(&ack(300, 1), &mut window);
        cubic.on_round_trip(Time::ZERO + Duration::from_millis(400), Duration::from_millis(90));
        assert_eq!(cubic.state.min_rtt, Some(Duration::from_millis(100)));
    }

    /// A jiffy may begin between two ACKs or not, depending on the phase of the clock. 30 ms are 7
    /// or 8 jiffies, and `count` is computed again after 8.
    #[test]
    fn the_phase_of_the_jiffies_decides_when_the_count_is_computed_again() {
        let computed_after = |phase_ms| {
            let mut cubic = cubic();
            cubic.config.jiffy_phase = Duration::from_millis(phase_ms);
            let mut window = Window { cwnd: 100 * SMSS, ssthresh: SMSS };
            cubic.on_ack(&ack(1000, 1), &mut window);
            cubic.on_ack(&ack(1030, 1), &mut window);
            cubic.state.computed.map(|(at, _)| at * 4)
        };
        assert_eq!((computed_after(0), computed_after(2)), (Some(1000), Some(1032)));
    }

    /// Measured on Linux 6.18: cwnd was cut from 24 to 16 segments. 41 jiffies after the start of
    /// the stage, cwnd was 17, and became 18 when 8 segments were acknowledged. In 1024ths of a
    /// second, the exact root for the gap of 8 is 2778. With this root, the curve would be a
    /// segment lower at that time, and 17 acknowledged segments would be needed.
    #[test]
    fn the_curve_uses_the_inexact_cube_root_of_the_kernel() {
        let mut cubic = cubic();
        let full = Window { cwnd: 24 * SMSS, ssthresh: Window::NO_THRESHOLD };
        let cut = cubic.on_congestion(Time::ZERO, Congestion::Loss, full.cwnd, SMSS, &full);
        let mut window = Window { cwnd: cut, ssthresh: cut };
        cubic.on_round_trip(Time::ZERO, Duration::from_millis(82));
        cubic.on_ack(&ack(0, 1), &mut window);
        window.cwnd = 17 * SMSS;
        cubic.on_ack(&ack(164, 8), &mut window);
        assert_eq!(window.cwnd, 18 * SMSS);
        assert_eq!(cube_root((8 << 40) / 410), 2778);
    }

    /// `bictcp_update`: for an unchanged cwnd the last count is used for seven jiffies. This holds
    /// even if meanwhile a cut has ended the stage and an undo has restored cwnd.
    #[test]
    fn after_an_undo_the_last_count_is_used_until_it_is_old() {
        let grown = |ms| {
            let mut cubic = cubic();
            let mut window = Window { cwnd: 10 * SMSS, ssthresh: 10 * SMSS };
            cubic.on_ack(&ack(0, 1), &mut window);
            cubic.on_congestion(Time::ZERO, Congestion::Loss, window.cwnd, SMSS, &window);
            cubic.state.count = 2;
            cubic.on_ack(&ack(ms, 2), &mut window);
            (window.cwnd / SMSS, cubic.state.stage.is_some())
        };
        assert_eq!((grown(28), grown(32)), ((11, false), (10, true)));
    }

    #[test]
    fn the_rough_root_is_near_the_exact_root() {
        for gap in 1..2000_u64 {
            let (exact, rough) = (cube_root(u128::from(gap << 40) / 410), gap << 40);
            assert!(exact.abs_diff(rough_cube_root(rough / 410)) <= exact / 300 + 1, "gap {gap}");
        }
    }

    /// Measured on Linux 6.18 after a timeout: two segments are acknowledged every 100 ms. The
    /// first segment opens cwnd from 6 to 7 in slow start. After that, cwnd becomes 8 when 15 more
    /// segments are acknowledged.
    #[test]
    fn a_timeout_clears_the_plateau_and_then_the_window_grows_as_with_reno() {
        let mut cubic = cubic();
        let full = Window { cwnd: 10 * SMSS, ssthresh: Window::NO_THRESHOLD };
        let cut = cubic.on_congestion(Time::ZERO, Congestion::Timeout, full.cwnd, SMSS, &full);
        cubic.on_timeout(Time::ZERO, 1);
        let mut window = Window { cwnd: 6 * SMSS, ssthresh: cut };
        let mut opened = Vec::new();
        for n in 0..9 {
            cubic.on_ack(&ack(1000 + n * 100, 2), &mut window);
            opened.push(window.cwnd / SMSS);
        }
        assert_eq!(opened, [7, 7, 7, 7, 7, 7, 7, 8, 8]);
    }
}
