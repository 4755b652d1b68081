//! The retransmission timer of FreeBSD. It is the timer of 4.4BSD with finer scales, finer ticks
//! and a slop. The slop is a span that is added to the timer.

use crate::clock::Clock;
use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::keys::{Constant, Contradiction, Keys, above_zero, by_name, checked, ordered};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`FreeBsd`]. The defaults come from FreeBSD 14 with a thousand ticks a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FreeBsdConfig {
    /// The kernel's tick: `1 / hz`.
    pub tick: Duration,
    /// The minimum of srtt + 4 rttvar, before the slop: the sysctl `rexmit_min`, by default `hz /
    /// 33`.
    pub min: Duration,
    /// The span that is added to every timer except `initial`: the sysctl `rexmit_slop`, by default
    /// `hz / 5`.
    pub slop: Duration,
    /// The timer before any sample: the sysctl `rexmit_initial`.
    pub initial: Duration,
    /// The maximum RTO: `TCPTV_REXMTMAX`.
    pub max: Duration,
}

impl Default for FreeBsdConfig {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(1),
            min: Duration::from_millis(30),
            slop: Duration::from_millis(200),
            initial: Duration::from_secs(1),
            max: Duration::from_secs(64),
        }
    }
}

impl Keys for FreeBsdConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => tick, min, slop, initial, max)
    }

    fn check(&self) -> Result<(), Contradiction> {
        above_zero("tick", self.tick)?;
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The retransmission timer of FreeBSD (`tcp_xmit_timer` of `tcp_input.c`, `tcp_timer_rexmt` of
/// `tcp_timer.c`), in whole ticks.
///
/// srtt is the smoothed mean of the round trips, in 32nds of a tick. rttvar is their smoothed mean
/// deviation, in 16ths of a tick. The gains come from 4.4BSD. Round trips are counted as FreeBSD
/// counts them with timestamps: one tick is added to the first sample, and no tick to later
/// samples. The timer is max(min, srtt + 4 rttvar) times the backoff 1, 2, 4 ... 512, plus 200 ms
/// of slop. After a round trip of R ticks, the timer is at least R + 3 ticks. After a timeout of
/// the handshake, the timer is the initial timer times the backoff, plus the slop. After more than
/// three timeouts, the next sample counts as the first: it sets the mean and the deviation anew.
///
/// The backoff ends with an unambiguous sample (Karn and Partridge 1987), or when a timeout proves
/// spurious.
///
/// ```
/// use netspurt::rto::{FreeBsd, FreeBsdConfig, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = FreeBsd::new(FreeBsdConfig::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(99), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(3 * 100 + 200));
/// ```
#[derive(Clone, Debug)]
pub struct FreeBsd {
    config: FreeBsdConfig,
    /// The mean in 32nds of a tick. The value is 0 before any sample.
    srtt: u64,
    /// The deviation in 16ths of a tick.
    rttvar: u64,
    /// `t_rxtshift`: timeouts in a row.
    shift: u32,
    /// `t_rxtcur`: the timer in ticks.
    current: u64,
}

/// `TCP_MAXRXTSHIFT`: the count of timeouts stops at this number. FreeBSD's sender retransmits a
/// segment this many times, and gives up at the next timeout.
const MAX_SHIFT: u32 = 12;
/// The backoff factor doubles this many times, from 1 to 512. Then it stays 512.
const MAX_DOUBLINGS: u32 = 9;
/// `TCP_RTT_INVALIDATE`: after more timeouts than this number, the next sample counts as the first.
const RTT_INVALIDATE: u32 = MAX_SHIFT / 4;

impl FreeBsd {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When the tick is zero or the bounds contradict each other.
    pub fn new(config: FreeBsdConfig) -> Self {
        let config = checked(config);
        let initial = config.initial.whole_units(config.tick);
        let current = initial.min(config.max.whole_units(config.tick));
        // FreeBSD's `tcp_newtcpcb` chooses the deviation so that srtt + 4 rttvar is the initial
        // timer.
        Self { config, srtt: 0, rttvar: initial.saturating_mul(4), shift: 0, current }
    }

    fn ticks(&self, span: Duration) -> u64 {
        span.whole_units(self.config.tick)
    }

    fn factor(&self) -> u32 {
        1 << self.shift.min(MAX_DOUBLINGS)
    }

    /// `TCP_REXMTVAL`: max(min, srtt + 4 rttvar), in ticks.
    fn rexmtval(&self) -> u64 {
        (((self.srtt >> 3) + self.rttvar) >> 2).max(self.ticks(self.config.min))
    }

    /// `TCPT_RANGESET`: adds the slop, and limits the timer to the range from the value `least` to
    /// the maximum.
    fn within(&self, ticks: u64, least: u64) -> u64 {
        let slop = self.ticks(self.config.slop);
        ticks.saturating_add(slop).max(least).min(self.ticks(self.config.max))
    }
}

impl RtoEstimator for FreeBsd {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let rtt = self.ticks(sample.rtt).min(u64::MAX >> 8);
        let counted = rtt + 1;
        if self.srtt == 0 || self.shift > RTT_INVALIDATE {
            (self.srtt, self.rttvar) = (counted << 5, counted << 3);
        } else {
            let (now, mean) = (rtt << 2, self.srtt >> 3);
            self.srtt = (self.srtt + now - mean).max(1);
            self.rttvar = (self.rttvar + now.abs_diff(mean) - (self.rttvar >> 2)).max(1);
        }
        self.shift = 0;
        self.current = self.within(self.rexmtval(), self.ticks(self.config.min).max(counted + 2));
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        let base = match kind {
            TimeoutKind::Probe => return,
            TimeoutKind::Rto => self.rexmtval(),
            TimeoutKind::Syn | TimeoutKind::SynAck => self.ticks(self.config.initial),
        };
        self.shift = (self.shift + 1).min(MAX_SHIFT);
        let ticks = base.saturating_mul(u64::from(self.factor()));
        self.current = self.within(ticks, self.ticks(self.config.min)).max(self.current);
    }

    fn reading(&self, clock: Clock, sent: Time, now: Time) -> Duration {
        clock.elapsed(sent, now)
    }

    fn rto(&self) -> Duration {
        self.config.tick * self.current
    }

    fn state(&self) -> RtoState {
        let (tick, sampled) = (self.config.tick, self.srtt > 0);
        RtoState {
            srtt: sampled.then(|| tick * self.srtt / 32),
            rttvar: sampled.then(|| tick * self.rttvar / 16),
            backoff: self.factor(),
            rto: self.rto(),
            fired: false,
        }
    }

    fn end_backoff(&mut self) {
        if self.shift > 0 {
            self.shift = 0;
            self.current = self.within(self.rexmtval(), self.ticks(self.config.min));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rtt_ms: u64) -> RttSample {
        RttSample { rtt: Duration::from_millis(rtt_ms), ..RttSample::default() }
    }

    /// A timer after these samples, in milliseconds. A tick is one millisecond.
    fn after(samples: &[u64]) -> FreeBsd {
        let mut timer = FreeBsd::new(FreeBsdConfig::default());
        samples.iter().for_each(|rtt| timer.on_sample(&sample(*rtt)));
        timer
    }

    /// The mean in 32nds of a tick, the deviation in 16ths, and the timer in ticks.
    fn integers(timer: &FreeBsd) -> (u64, u64, u64) {
        (timer.srtt, timer.rttvar, timer.current)
    }

    /// Lets the timer fire, and returns the next timer in ticks.
    fn time_out(timer: &mut FreeBsd, kind: TimeoutKind) -> u64 {
        timer.on_timeout(Time::ZERO, kind);
        timer.current
    }

    /// The expected values were computed by hand from the rules of FreeBSD's `tcp_xmit_timer`, for
    /// samples of 99, 180 and 60 ticks. The first sample counts as 100 and gives srtt 3200, rttvar
    /// 800 and a timer of (400 + 800) / 4 + 200 = 500 ticks. `delta` is the sample minus the mean,
    /// in quarters of a tick. At the second sample, delta is 720 - 400 = 320. So srtt is 3520,
    /// rttvar is 800 + 320 - 200 = 920, and the timer is (440 + 920) / 4 + 200 = 540 ticks. At the
    /// third sample, delta is 240 - 440 = -200. So srtt is 3320, rttvar is 920 + 200 - 230 = 890,
    /// and the timer is (415 + 890) / 4 + 200 = 526 ticks.
    #[test]
    fn the_integers_agree_with_freebsd() {
        assert_eq!(integers(&after(&[])), (0, 4000, 1000));
        assert_eq!(integers(&after(&[99])), (3200, 800, 500));
        assert_eq!(integers(&after(&[99, 180])), (3520, 920, 540));
        assert_eq!(integers(&after(&[99, 180, 60])), (3320, 890, 526));
    }

    /// The minimum before the slop is 30 ms, so no timer is below 230 ms.
    #[test]
    fn the_timer_of_a_quick_path_is_the_minimum_plus_the_slop() {
        assert_eq!(after(&[0; 300]).current, 230);
        assert_eq!(after(&[1; 300]).current, 230);
    }

    /// The timers are computed by hand, in ticks. After a sample of 99, srtt + 4 rttvar is 300. The
    /// slop of 200 is added once to each doubled timer, which gives timers of 800, 1400, 2600 and
    /// so on.
    #[test]
    fn the_slop_is_added_after_the_backoff_factor_is_applied() {
        let mut timer = after(&[99]);
        let ticks: Vec<u64> = (0..4).map(|_| time_out(&mut timer, TimeoutKind::Rto)).collect();
        assert_eq!(ticks, [800, 1400, 2600, 5000]);
        assert_eq!(time_out(&mut timer, TimeoutKind::Probe), 5000);
        timer.on_sample(&RttSample { ambiguous: true, ..sample(5) });
        assert_eq!(timer.current, 5000);
        for _ in 0..20 {
            time_out(&mut timer, TimeoutKind::Rto);
        }
        assert_eq!((timer.current, timer.state().backoff), (64_000, 512));
    }

    /// At the start, rttvar is such that srtt + 4 rttvar is the initial timer, here 1 s
    /// (`tcp_newtcpcb`).
    #[test]
    fn a_timeout_before_any_sample_doubles_the_initial_timer() {
        let mut timer = after(&[]);
        assert_eq!(time_out(&mut timer, TimeoutKind::Rto), 2 * 1000 + 200);
        timer.end_backoff();
        assert_eq!(timer.current, 1000 + 200);
    }

    #[test]
    fn timeouts_of_the_handshake_double_the_initial_timer_before_the_slop_is_added() {
        let mut timer = after(&[]);
        let ticks: Vec<u64> = (0..3).map(|_| time_out(&mut timer, TimeoutKind::Syn)).collect();
        assert_eq!(ticks, [2200, 4200, 8200]);
    }

    #[test]
    fn after_more_than_three_timeouts_the_next_sample_counts_as_the_first() {
        for (timeouts, srtt) in [(3, 3520), (4, 181 << 5)] {
            let mut timer = after(&[99]);
            for _ in 0..timeouts {
                time_out(&mut timer, TimeoutKind::Rto);
            }
            timer.on_sample(&sample(180));
            assert_eq!(timer.srtt, srtt);
        }
    }

    #[test]
    fn a_spurious_timeout_ends_the_backoff() {
        let mut timer = after(&[99]);
        time_out(&mut timer, TimeoutKind::Rto);
        timer.on_spurious(None);
        assert_eq!((timer.current, timer.state().backoff), (500, 1));
    }
}
