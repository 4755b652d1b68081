//! The retransmission timer of 4.4BSD: Jacobson's algorithm in ticks of half a second. It keeps a
//! smoothed mean of the round trips (srtt) and their smoothed mean deviation (rttvar), as integers.

use crate::clock::Clock;
use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::keys::{Constant, Contradiction, Keys, above_zero, by_name, checked, ordered};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Bsd44`], with the meanings that they have in 4.4BSD's `tcp_timer.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bsd44Config {
    /// The tick of BSD's slow timers: `1 / PR_SLOWHZ`.
    pub tick: Duration,
    /// The round-trip time that is assumed before the first sample: `TCPTV_SRTTDFLT`. The first
    /// timer is twice this time.
    pub default_rtt: Duration,
    /// The minimum RTO: `TCPTV_MIN`.
    pub min: Duration,
    /// The maximum RTO: `TCPTV_REXMTMAX`.
    pub max: Duration,
}

impl Default for Bsd44Config {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(500),
            default_rtt: Duration::from_secs(3),
            min: Duration::from_secs(1),
            max: Duration::from_secs(64),
        }
    }
}

impl Keys for Bsd44Config {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => tick, default_rtt, min, max)
    }

    fn bounds(&self) -> [Option<&'static str>; 3] {
        [None, Some("min"), Some("max")]
    }

    fn check(&self) -> Result<(), Contradiction> {
        above_zero("tick", self.tick)?;
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The retransmission timer of 4.4BSD (Net/3), in whole ticks. The timer is the mean plus four
/// deviations.
///
/// 4.4BSD counts the ticks of a round trip from 1. The first sample is therefore one tick too long.
/// From later samples, 4.4BSD subtracts this tick. The first sample sets the deviation to half of
/// the sample. Before the first sample the mean is zero, the deviation is the default round trip,
/// and the first timer is twice the default round trip. At a timeout before the first sample, the
/// next timer is computed from the deviation alone: four times the deviation, times the factor of
/// the backoff. A SYN is therefore retransmitted after 2 · 3 s = 6 s, and then after 4 · 3 s · 2 =
/// 24 s (Stevens 1994, TCP/IP Illustrated 1, §18.3).
///
/// At each timeout, the factor of the backoff becomes the next factor in the table 1 2 4 ... 64.
/// After the end of the table, it stays 64. The count of timeouts stops at 12. From the fourth
/// timeout on, a quarter of the mean is added to the deviation, and the mean is set to zero. This
/// does not change the timer, which is the mean plus four deviations. But the next sample counts as
/// the first: it sets the mean and the deviation anew. A sample ends the backoff only if it is
/// unambiguous (Karn and Partridge 1987). A timeout that proves spurious also ends the backoff.
/// 4.4BSD does not detect spurious timeouts, but later BSDs do.
///
/// ```
/// use netspurt::rto::{Bsd44, Bsd44Config, RtoEstimator, TimeoutKind};
/// use netspurt::units::{Duration, Time};
/// let mut timer = Bsd44::new(Bsd44Config::default());
/// let mut gaps = vec![timer.rto()];
/// for _ in 0..3 {
///     timer.on_timeout(Time::ZERO, TimeoutKind::Syn);
///     gaps.push(timer.rto());
/// }
/// assert_eq!(gaps, [6, 24, 48, 64].map(Duration::from_secs));
/// ```
#[derive(Clone, Debug)]
pub struct Bsd44 {
    config: Bsd44Config,
    /// The mean in eighths of a tick. The value is 0 if the next sample counts as the first.
    srtt: u64,
    /// The deviation in quarters of a tick.
    rttvar: u64,
    sampled: bool,
    /// `t_rxtshift`: timeouts in a row.
    shift: u32,
    /// `t_rxtcur`: the timer in ticks.
    current: u64,
}

/// `TCP_MAXRXTSHIFT`: the count of timeouts stops at this number. 4.4BSD's sender retransmits a
/// segment this many times, and gives up at the next timeout.
const MAX_SHIFT: u32 = 12;
/// The backoff factor doubles this many times, from 1 to 64. Then it stays 64.
const MAX_DOUBLINGS: u32 = 6;

impl Bsd44 {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When the tick is zero or the bounds contradict each other.
    pub fn new(config: Bsd44Config) -> Self {
        let config = checked(config);
        let default_ticks = config.default_rtt.whole_units(config.tick);
        let mut timer = Self {
            config,
            srtt: 0,
            rttvar: default_ticks << 2,
            sampled: false,
            shift: 0,
            current: 0,
        };
        timer.current = timer.within_bounds(default_ticks << 1);
        timer
    }

    fn within_bounds(&self, ticks: u64) -> u64 {
        let Bsd44Config { tick, min, max, .. } = self.config;
        ticks.clamp(min.whole_units(tick), max.whole_units(tick))
    }

    fn factor(&self) -> u32 {
        1 << self.shift.min(MAX_DOUBLINGS)
    }

    fn rearm(&mut self) {
        let ticks = (self.srtt >> 3) + self.rttvar;
        self.current = self.within_bounds(ticks.saturating_mul(u64::from(self.factor())));
    }
}

impl RtoEstimator for Bsd44 {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let ticks = sample.rtt.whole_units(self.config.tick);
        if self.srtt == 0 {
            let counter = ticks + 1;
            (self.srtt, self.rttvar) = (counter << 3, counter << 1);
        } else {
            let mean = self.srtt >> 3;
            self.srtt = (self.srtt + ticks - mean).max(1);
            self.rttvar = (self.rttvar + ticks.abs_diff(mean) - (self.rttvar >> 2)).max(1);
        }
        self.sampled = true;
        self.shift = 0;
        self.rearm();
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if kind == TimeoutKind::Probe {
            return;
        }
        self.shift = (self.shift + 1).min(MAX_SHIFT);
        self.rearm();
        if self.shift > MAX_SHIFT / 4 {
            self.rttvar += self.srtt >> 3;
            self.srtt = 0;
        }
    }

    fn reading(&self, clock: Clock, sent: Time, now: Time) -> Duration {
        clock.elapsed(sent, now)
    }

    fn rto(&self) -> Duration {
        self.config.tick * self.current
    }

    fn state(&self) -> RtoState {
        let tick = self.config.tick;
        RtoState {
            srtt: self.sampled.then(|| tick * self.srtt / 8),
            rttvar: self.sampled.then(|| tick * self.rttvar / 4),
            backoff: self.factor(),
            rto: self.rto(),
            fired: false,
        }
    }

    fn end_backoff(&mut self) {
        if self.shift > 0 {
            self.shift = 0;
            self.rearm();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A timer after these samples, in ticks.
    fn after(samples: &[u64]) -> Bsd44 {
        let mut timer = Bsd44::new(Bsd44Config::default());
        for ticks in samples {
            let rtt = Duration::from_millis(500) * *ticks;
            timer.on_sample(&RttSample { rtt, ..RttSample::default() });
        }
        timer
    }

    /// The mean in eighths of a tick, the deviation in quarters, and the timer in ticks.
    fn integers(timer: &Bsd44) -> (u64, u64, u64) {
        (timer.srtt, timer.rttvar, timer.current)
    }

    /// The expected values after samples of 2, 2 and 6 ticks were computed by hand from the rules
    /// of 4.4BSD's `tcp_xmit_timer`: the mean in eighths of a tick, the deviation in quarters of a
    /// tick, and the timer in ticks. The timer is the mean in ticks plus the deviation in quarters.
    /// After the first sample, which counts as 3 ticks, the mean is 24, the deviation is 6 and the
    /// timer is 3 + 6 = 9 ticks. The second sample differs from the mean by 2 - 3 = -1. So the mean
    /// is 23, the deviation is 6 + |-1| - 6 / 4 = 6, and the timer is 2 + 6 = 8 ticks. The third
    /// sample differs from the mean by 6 - 2 = 4. So the mean is 27, the deviation is 6 + 4 - 6 / 4
    /// = 9, and the timer is 3 + 9 = 12 ticks. Divisions are rounded down.
    #[test]
    fn the_integers_agree_with_4_4_bsd() {
        assert_eq!(integers(&after(&[])), (0, 24, 12));
        assert_eq!(integers(&after(&[2])), (24, 6, 9));
        assert_eq!(integers(&after(&[2, 2])), (23, 6, 8));
        assert_eq!(integers(&after(&[2, 2, 6])), (27, 9, 12));
    }

    /// If all samples are zero, the first sample gives srtt 8 and rttvar 2, and later samples give
    /// srtt 7 and rttvar 3. The timer of a path with round trips below one tick is therefore 3
    /// ticks, and the minimum of two ticks has no effect.
    #[test]
    fn round_trips_below_one_tick_give_a_timer_of_three_ticks() {
        let timer = after(&[0; 40]);
        assert_eq!(integers(&timer), (7, 3, 3));
        let min = Duration::from_secs(2);
        let mut floored = Bsd44::new(Bsd44Config { min, ..Bsd44Config::default() });
        floored.on_sample(&RttSample::default());
        assert_eq!(floored.rto(), min);
    }

    /// The factors are 1, 2, 4, 8, 16, 32, 64 and then always 64. The timer is at most 128 ticks.
    #[test]
    fn the_factors_come_from_a_table_that_ends_at_64() {
        let mut timer = after(&[0, 0, 0, 0]);
        // The first sample gives srtt 8 and rttvar 2. The next three samples differ from the mean
        // by -1, 0 and 0, which gives srtt 7, 7, 7 and rttvar 3, 3, 3.
        assert_eq!(integers(&timer), (7, 3, 3));
        let mut ticks = Vec::new();
        let mut factors = Vec::new();
        for _ in 0..14 {
            timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
            ticks.push(timer.current);
            factors.push(timer.state().backoff);
        }
        assert_eq!(factors[..7], [2, 4, 8, 16, 32, 64, 64]);
        assert_eq!(ticks[..7], [6, 12, 24, 48, 96, 128, 128]);
        assert_eq!((ticks[13], timer.shift), (128, 12));
    }

    /// If the count of timeouts is above a quarter of its maximum of 12, a quarter of the mean is
    /// added to the deviation, and the mean is set to zero. The timer does not change.
    #[test]
    fn after_four_timeouts_the_next_sample_counts_as_the_first() {
        let mut timer = after(&[2]);
        for ticks in [18, 36, 72] {
            timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
            assert_eq!(integers(&timer), (24, 6, ticks));
        }
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        assert_eq!(integers(&timer), (0, 9, 128));
        let rtt = Duration::from_millis(1000);
        timer.on_sample(&RttSample { ambiguous: true, rtt, ..RttSample::default() });
        assert_eq!(integers(&timer), (0, 9, 128));
        timer.on_sample(&RttSample { rtt, ..RttSample::default() });
        assert_eq!((integers(&timer), timer.shift), ((24, 6, 9), 0));
    }

    #[test]
    fn a_spurious_timeout_ends_the_backoff() {
        let mut timer = after(&[2]);
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        assert_eq!(integers(&timer), (24, 6, 18));
        timer.on_spurious(None);
        assert_eq!(integers(&timer), (24, 6, 9));
    }
}
