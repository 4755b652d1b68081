//! The retransmission timer of smoltcp, a TCP/IP stack for small devices: RFC 6298 in whole
//! milliseconds.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::keys::{Constant, Contradiction, Keys, by_name, checked, count_above_zero, ordered};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Smoltcp`]. The defaults come from smoltcp 0.13. In version 0.12, `min` is
/// 10 ms and `max` is 10 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmoltcpConfig {
    /// The minimum distance of the timer from the mean: `RTTE_MIN_MARGIN`.
    pub margin: Duration,
    /// The timer before any sample: `RTTE_INITIAL_RTO`.
    pub initial: Duration,
    /// The minimum RTO: `RTTE_MIN_RTO`.
    pub min: Duration,
    /// The maximum RTO: `RTTE_MAX_RTO`.
    pub max: Duration,
    /// The number of timeouts in a row after which the next sample counts as the first.
    pub forget_after: u32,
}

impl Default for SmoltcpConfig {
    fn default() -> Self {
        Self {
            margin: Duration::from_millis(5),
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            forget_after: 3,
        }
    }
}

impl Keys for SmoltcpConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => margin, initial, min, max, forget_after)
    }

    fn check(&self) -> Result<(), Contradiction> {
        count_above_zero("forget_after", self.forget_after)?;
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The timer of smoltcp (`RttEstimator` of `socket/tcp.rs`), in whole milliseconds.
///
/// The mean and the variation are computed as in RFC 6298. Samples and the first variation are
/// rounded down to milliseconds, but later means and variations are rounded up. A timeout doubles
/// the last timer and does not compute it from the estimate again. After `forget_after` timeouts in
/// a row, by default three, the next sample counts as the first: it sets the mean and the variation
/// anew. After an unambiguous sample, the timer is computed from the estimate again. In netspurt,
/// this also happens after a spurious timeout. The original smoltcp does not detect spurious
/// timeouts.
///
/// ```
/// use netspurt::rto::{RtoEstimator, Smoltcp, SmoltcpConfig};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Smoltcp::new(SmoltcpConfig::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(601), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(601 + 4 * 300));
/// ```
#[derive(Clone, Debug)]
pub struct Smoltcp {
    config: SmoltcpConfig,
    /// The mean and the variation in milliseconds, after the last sample.
    estimate: Option<(u64, u64)>,
    /// Whether the next sample counts as the first.
    forgotten: bool,
    /// The number of timeouts since the RTO was last computed from the estimate, or since the mean
    /// was last forgotten.
    timeouts: u32,
    rto: Duration,
    doublings: u32,
}

const MS: Duration = Duration::from_millis(1);

impl Smoltcp {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When `forget_after` is zero or the bounds contradict each other.
    pub fn new(config: SmoltcpConfig) -> Self {
        let config = checked(config);
        let rto = config.initial.min(config.max);
        Self { config, estimate: None, forgotten: true, timeouts: 0, rto, doublings: 0 }
    }

    /// Computes the RTO from the estimate, without backoff.
    fn compute_rto(&mut self) {
        let SmoltcpConfig { margin, initial, min, max, .. } = self.config;
        self.rto = self.estimate.map_or(initial.min(max), |(mean, variation)| {
            (MS * mean + (MS * variation * 4).max(margin)).clamp(min, max)
        });
        (self.timeouts, self.doublings) = (0, 0);
    }
}

impl RtoEstimator for Smoltcp {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let rtt = sample.rtt.whole_units(MS);
        self.estimate = Some(match self.estimate {
            Some((mean, variation)) if !self.forgotten => {
                let distance = mean.abs_diff(rtt);
                ((mean * 7 + rtt).div_ceil(8), (variation * 3 + distance).div_ceil(4))
            }
            _ => (rtt, rtt / 2),
        });
        self.forgotten = false;
        self.compute_rto();
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if kind == TimeoutKind::Probe {
            return;
        }
        self.rto = (self.rto * 2).min(self.config.max);
        self.doublings = (self.doublings + 1).min(u32::BITS - 1);
        self.timeouts += 1;
        if self.timeouts >= self.config.forget_after {
            (self.timeouts, self.forgotten) = (0, true);
        }
    }

    fn rto(&self) -> Duration {
        self.rto
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.estimate.map(|(mean, _)| MS * mean),
            rttvar: self.estimate.map(|(_, variation)| MS * variation),
            backoff: 1 << self.doublings,
            rto: self.rto,
            fired: false,
        }
    }

    fn end_backoff(&mut self) {
        if self.doublings > 0 {
            self.compute_rto();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A timer after these samples, in milliseconds.
    fn after(config: SmoltcpConfig, samples: &[u64]) -> Smoltcp {
        let mut timer = Smoltcp::new(config);
        for rtt in samples {
            timer.on_sample(&RttSample { rtt: MS * *rtt, ..RttSample::default() });
        }
        timer
    }

    /// The values are computed by hand, in milliseconds. A sample of 101 gives a mean of 101 and a
    /// variation of 50. A sample of 180 gives a mean of (707 + 180) / 8 = 110.9, rounded up to 111,
    /// and a variation of (150 + 79) / 4 = 57.25, rounded up to 58. A sample of 60 gives a mean of
    /// (777 + 60) / 8 = 104.6, rounded up to 105, and a variation of (174 + 51) / 4 = 56.25,
    /// rounded up to 57.
    #[test]
    fn later_means_and_variations_are_rounded_up() {
        let at = |samples: &[u64]| after(SmoltcpConfig::default(), samples).estimate.unwrap();
        assert_eq!(at(&[101]), (101, 50));
        assert_eq!(at(&[101, 180]), (111, 58));
        assert_eq!(at(&[101, 180, 60]), (105, 57));
    }

    #[test]
    fn the_timer_is_the_mean_plus_four_variations_or_the_margin_and_stays_within_its_bounds() {
        let old = SmoltcpConfig { min: MS * 10, max: MS * 10_000, ..SmoltcpConfig::default() };
        assert_eq!(after(old, &[101, 180, 60]).rto(), MS * (105 + 4 * 57));
        assert_eq!(after(old, &[0; 30]).rto(), MS * 10);
        let without_min = SmoltcpConfig { min: Duration::ZERO, margin: MS * 7, ..old };
        assert_eq!(after(without_min, &[0; 30]).rto(), MS * 7);
        assert_eq!(after(old, &[9000]).rto(), MS * 10_000);
        assert_eq!(after(SmoltcpConfig::default(), &[]).rto(), MS * 1000);
        assert_eq!(after(SmoltcpConfig::default(), &[100]).rto(), MS * 1000);
    }

    #[test]
    fn after_three_timeouts_the_next_sample_counts_as_the_first() {
        for (timeouts, mean) in [(2, 675), (3, 1200), (4, 1200)] {
            let mut timer = after(SmoltcpConfig::default(), &[600]);
            for doubled in 1..=timeouts {
                timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
                assert_eq!(timer.rto(), MS * 1800 * (1 << doubled));
            }
            timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
            timer.on_sample(&RttSample { rtt: MS * 1200, ..RttSample::default() });
            assert_eq!(timer.estimate.unwrap().0, mean);
        }
    }

    #[test]
    fn after_a_spurious_timeout_the_timer_is_computed_again() {
        let mut timer = after(SmoltcpConfig::default(), &[600]);
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_sample(&RttSample { ambiguous: true, ..RttSample::default() });
        assert_eq!(timer.rto(), MS * 3600);
        timer.on_spurious(None);
        assert_eq!((timer.rto(), timer.state().backoff), (MS * 1800, 1));
    }
}
