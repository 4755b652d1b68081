//! The retransmission timer of the simulator ns-3: RFC 6298 in whole nanoseconds.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::arith::Ratio;
use super::backoff::Backoff;
use super::keys::{Constant, Contradiction, Keys, by_name, checked, ordered, part};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Ns3`], by default the attributes of `RttMeanDeviation` and `TcpSocketBase`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ns3Config {
    /// The gain of the mean: `Alpha`.
    pub alpha: Ratio,
    /// The gain of the variation: `Beta`.
    pub beta: Ratio,
    /// The minimum distance of the timer from the mean: `ClockGranularity`.
    pub granularity: Duration,
    /// The mean before any sample: `InitialEstimation`.
    pub initial: Duration,
    /// The minimum RTO: `MinRto`.
    pub min: Duration,
    /// The maximum RTO, which is a constant of 60 s in ns-3.
    pub max: Duration,
}

impl Default for Ns3Config {
    fn default() -> Self {
        Self {
            alpha: Ratio::new(1, 8),
            beta: Ratio::new(1, 4),
            granularity: Duration::from_millis(1),
            initial: Duration::from_secs(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
        }
    }
}

impl Keys for Ns3Config {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => alpha, beta, granularity, initial, min, max)
    }

    fn check(&self) -> Result<(), Contradiction> {
        part("alpha", self.alpha)?;
        part("beta", self.beta)?;
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The timer of ns-3 (`rtt-estimator.cc`): the timer of RFC 6298, with the mean and the variation
/// in whole nanoseconds. Each result is rounded down. An increase may therefore be too small, and a
/// decrease too large, by less than a nanosecond.
///
/// The mean S and the variation V are both updated with the old mean. The timer is S + max(G, 4V),
/// but at least `MinRto` and at most 60 s. G is `ClockGranularity`. Each timeout doubles the timer.
/// The backoff ends with an unambiguous sample, or when a timeout proves spurious.
///
/// departs: ns-3 - the maximum also limits timers that are not doubled; the timer of a SYN, which
/// has an attribute of its own in ns-3, is not modelled.
///
/// ```
/// use netspurt::rto::{Ns3, Ns3Config, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Ns3::new(Ns3Config::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(600), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(1800));
/// ```
#[derive(Clone, Debug)]
pub struct Ns3 {
    config: Ns3Config,
    /// The mean and the variation, in nanoseconds. The value is `None` before the first sample.
    estimate: Option<(u64, u64)>,
    backoff: Backoff,
}

/// The value after a step with `gain` from the value `from` towards the value `to`, rounded down.
fn step(from: u64, to: u64, gain: Ratio) -> u64 {
    if to >= from {
        from + gain.part(to - from)
    } else {
        // The remaining distance is rounded down, so the step is rounded up.
        to + gain.rest().part(from - to)
    }
}

impl Ns3 {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When a gain is above 1 or the bounds contradict each other.
    pub fn new(config: Ns3Config) -> Self {
        Self { config: checked(config), estimate: None, backoff: Backoff::default() }
    }
}

impl RtoEstimator for Ns3 {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let rtt = sample.rtt.as_nanos();
        let Ns3Config { alpha, beta, .. } = self.config;
        self.estimate = Some(match self.estimate {
            None => (rtt, rtt / 2),
            Some((mean, variation)) => {
                (step(mean, rtt, alpha), step(variation, rtt.abs_diff(mean), beta))
            }
        });
        self.backoff.end();
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if kind != TimeoutKind::Probe {
            self.backoff.double();
        }
    }

    fn rto(&self) -> Duration {
        let Ns3Config { granularity, initial, min, max, .. } = self.config;
        let (mean, variation) = self.estimate.unwrap_or((initial.as_nanos(), 0));
        let margin = (Duration::from_nanos(variation) * 4).max(granularity);
        self.backoff.on((Duration::from_nanos(mean) + margin).max(min), max)
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.estimate.map(|(mean, _)| Duration::from_nanos(mean)),
            rttvar: self.estimate.map(|(_, variation)| Duration::from_nanos(variation)),
            backoff: self.backoff.factor(),
            rto: self.rto(),
            fired: false,
        }
    }

    fn end_backoff(&mut self) {
        self.backoff.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A timer after these samples, in nanoseconds.
    fn after(config: Ns3Config, samples_ns: &[u64]) -> Ns3 {
        let mut timer = Ns3::new(config);
        for rtt in samples_ns {
            let rtt = Duration::from_nanos(*rtt);
            timer.on_sample(&RttSample { rtt, ..RttSample::default() });
        }
        timer
    }

    /// The mean and the variation are computed by hand as in ns-3's `IntegerUpdate`, in
    /// nanoseconds, for samples of 1000, 1100 and 903. The error is the sample minus the mean. The
    /// first sample gives 1000 and 500. The second sample has an error of 100, which gives (8000 +
    /// 100) / 8 = 1012 and (2000 + 100 - 500) / 4 = 400. The third sample has an error of 903 -
    /// 1012 = -109, which gives (8096 - 109) / 8 = 998 and (1600 + 109 - 400) / 4 = 327. Quotients
    /// are rounded down.
    #[test]
    fn the_integers_agree_with_ns3() {
        let at = |samples: &[u64]| after(Ns3Config::default(), samples).estimate.unwrap();
        assert_eq!(at(&[1000]), (1000, 500));
        assert_eq!(at(&[1000, 1100]), (1012, 400));
        assert_eq!(at(&[1000, 1100, 903]), (998, 327));
    }

    #[test]
    fn the_timer_is_the_mean_plus_four_variations_and_doubles_at_each_timeout() {
        let ms = Duration::from_millis;
        assert_eq!(after(Ns3Config::default(), &[]).rto(), ms(1001));
        assert_eq!(after(Ns3Config::default(), &[100_000_000]).rto(), ms(1000));
        let config = Ns3Config { min: Duration::ZERO, ..Ns3Config::default() };
        let mut timer = after(config, &[100_000_000]);
        assert_eq!(timer.rto(), ms(300));
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        timer.on_sample(&RttSample { ambiguous: true, ..RttSample::default() });
        assert_eq!(timer.rto(), ms(600));
        (0..20).for_each(|_| timer.on_timeout(Time::ZERO, TimeoutKind::Rto));
        assert_eq!(timer.rto(), ms(60_000));
        timer.on_spurious(None);
        assert_eq!(timer.rto(), ms(300));
    }
}
