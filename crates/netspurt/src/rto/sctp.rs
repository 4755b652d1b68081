//! The retransmission timer of SCTP. Each path of an SCTP association has its own timer, which
//! follows the rules of RFC 6298.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::arith::{Ratio, Smooth};
use super::backoff::Backoff;
use super::keys::{Constant, Contradiction, Keys, by_name, checked, ordered, part};
use super::mean::MeanDeviation;
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Sctp`]. The defaults come from RFC 9260 §16. In RFC 4960 §15, `initial` is
/// 3 s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SctpConfig {
    /// The gain of the mean: RTO.Alpha.
    pub alpha: Ratio,
    /// The gain of the variation: RTO.Beta.
    pub beta: Ratio,
    /// G: the variation that replaces a variation of zero.
    pub granularity: Duration,
    /// The timer before any sample: RTO.Initial.
    pub initial: Duration,
    /// The minimum RTO: RTO.Min.
    pub min: Duration,
    /// The maximum RTO: RTO.Max.
    pub max: Duration,
}

impl Default for SctpConfig {
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

impl Keys for SctpConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => alpha, beta, granularity, initial, min, max)
    }

    fn check(&self) -> Result<(), Contradiction> {
        part("alpha", self.alpha)?;
        part("beta", self.beta)?;
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The timer of SCTP (RFC 9260 §6.3.1): SRTT + 4 RTTVAR, with the mean and the variation of RFC
/// 6298. A variation of zero is replaced by G.
///
/// Timeouts double the timer (§6.3.3). The backoff ends with an unambiguous sample (Karn and
/// Partridge 1987), or when a timeout proves spurious. The RFC has no rule for handshakes. It also
/// has no rule for several samples in a flight, because §6.3.1 allows only one sample in a round
/// trip.
///
/// ```
/// use netspurt::rto::{RtoEstimator, Sctp, SctpConfig};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Sctp::new(SctpConfig::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(600), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(1800));
/// ```
#[derive(Clone, Debug)]
pub struct Sctp {
    config: SctpConfig,
    estimate: Option<MeanDeviation>,
    backoff: Backoff,
}

impl Sctp {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When a gain is above 1 or the bounds contradict each other.
    pub fn new(config: SctpConfig) -> Self {
        Self { config: checked(config), estimate: None, backoff: Backoff::default() }
    }
}

impl RtoEstimator for Sctp {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let rtt = Smooth::of(sample.rtt);
        let SctpConfig { alpha, beta, granularity, .. } = self.config;
        let mut estimate =
            self.estimate.map_or(MeanDeviation::first(rtt), |e| e.with(rtt, alpha, beta));
        if estimate.rttvar.span().is_zero() {
            estimate.rttvar = Smooth::of(granularity);
        }
        self.estimate = Some(estimate);
        self.backoff.end();
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if kind != TimeoutKind::Probe {
            self.backoff.double();
        }
    }

    fn rto(&self) -> Duration {
        let SctpConfig { initial, min, max, .. } = self.config;
        let timer = self.estimate.map_or(initial, |e| e.srtt.span() + e.rttvar.times(4));
        self.backoff.on(timer.clamp(min, max), max)
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.estimate.map(|e| e.srtt.span()),
            rttvar: self.estimate.map(|e| e.rttvar.span()),
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

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A timer after these samples, in milliseconds.
    fn after(config: SctpConfig, samples: &[u64]) -> Sctp {
        let mut timer = Sctp::new(config);
        for rtt in samples {
            timer.on_sample(&RttSample { rtt: ms(*rtt), ..RttSample::default() });
        }
        timer
    }

    /// The values are computed by hand from RFC 9260 §6.3.1, in milliseconds. The first sample,
    /// 800, gives a mean of 800, a variation of 400 and a timer of 2400. The second sample, 1600,
    /// gives a variation of 0.75 · 400 + 0.25 · 800 = 500, a mean of 700 + 200 = 900 and a timer of
    /// 2900. The third sample, 400, gives a variation of 375 + 125 = 500, a mean of 787.5 + 50 =
    /// 837.5 and a timer of 2837.5.
    #[test]
    fn the_mean_and_the_variation_follow_the_rfc() {
        let rto = |samples: &[u64]| after(SctpConfig::default(), samples).rto();
        assert_eq!(rto(&[]), ms(1000));
        assert_eq!(rto(&[800]), ms(2400));
        assert_eq!(rto(&[800, 1600]), ms(2900));
        assert_eq!(rto(&[800, 1600, 400]), Duration::from_micros(2_837_500));
        assert_eq!(rto(&[10]), ms(1000));
    }

    #[test]
    fn a_variation_of_zero_counts_as_the_granularity() {
        let config =
            SctpConfig { min: Duration::ZERO, granularity: ms(10), ..SctpConfig::default() };
        assert_eq!(after(config, &[0]).rto(), ms(40));
    }

    #[test]
    fn a_spurious_timeout_ends_a_backoff_and_an_ambiguous_sample_does_not() {
        let mut timer = after(SctpConfig::default(), &[800]);
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        timer.on_sample(&RttSample { ambiguous: true, ..RttSample::default() });
        assert_eq!(timer.rto(), ms(4800));
        (0..9).for_each(|_| timer.on_timeout(Time::ZERO, TimeoutKind::Rto));
        assert_eq!(timer.rto(), ms(60_000));
        timer.on_spurious(None);
        assert_eq!(timer.rto(), ms(2400));
    }
}
