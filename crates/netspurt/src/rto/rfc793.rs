//! The retransmission timer of RFC 793: a smoothed round trip times a constant factor.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::arith::{Ratio, Smooth};
use super::backoff::Backoff;
use super::keys::{Constant, Contradiction, Keys, by_name, checked, ordered, part};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Rfc793`]. The defaults of α and β are the upper ends of the ranges in RFC 793
/// p. 41: 0.9 and 2. The default bounds are the examples of the RFC: a second and a minute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rfc793Config {
    /// α: the weight of the smoothed value against a new sample, 0.8 to 0.9 in the RFC.
    pub alpha: Ratio,
    /// β: the factor between SRTT and the timer, 1.3 to 2.0 in the RFC.
    pub beta: Ratio,
    /// The minimum RTO.
    pub lbound: Duration,
    /// The maximum RTO.
    pub ubound: Duration,
    /// The timer before any sample: 3 s (RFC 1122 §4.2.3.1). RFC 793 gives no value.
    pub initial: Duration,
    /// Whether the rules of RFC 1122 §4.2.3.1 apply: ambiguous samples are ignored, and timeouts
    /// double the timer.
    pub karn: bool,
}

impl Default for Rfc793Config {
    fn default() -> Self {
        Self {
            alpha: Ratio::new(9, 10),
            beta: Ratio::new(2, 1),
            lbound: Duration::from_secs(1),
            ubound: Duration::from_secs(60),
            initial: Duration::from_secs(3),
            karn: false,
        }
    }
}

impl Keys for Rfc793Config {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => alpha, beta, lbound, ubound, initial, karn)
    }

    fn bounds(&self) -> [Option<&'static str>; 3] {
        [Some("initial"), Some("lbound"), Some("ubound")]
    }

    fn check(&self) -> Result<(), Contradiction> {
        part("alpha", self.alpha)?;
        ordered(("lbound", self.lbound), ("ubound", self.ubound))
    }
}

/// The timer of RFC 793 p. 41: SRTT = α SRTT + (1 - α) RTT, and RTO = β SRTT within its bounds.
///
/// The first sample is the first SRTT. RFC 793 (1981) has neither a backoff nor the rule of Karn,
/// by which ambiguous samples are ignored. So every sample counts, even if its segment was
/// retransmitted, and a timeout does not change the timer. `karn` adds both rules. An unambiguous
/// sample or a spurious timeout then ends the backoff.
///
/// ```
/// use netspurt::rto::{Rfc793, Rfc793Config, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Rfc793::new(Rfc793Config::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(800), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(1600));
/// ```
#[derive(Clone, Debug)]
pub struct Rfc793 {
    config: Rfc793Config,
    srtt: Option<Smooth>,
    backoff: Backoff,
}

impl Rfc793 {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When alpha is above 1 or the bounds contradict each other.
    pub fn new(config: Rfc793Config) -> Self {
        Self { config: checked(config), srtt: None, backoff: Backoff::default() }
    }
}

impl RtoEstimator for Rfc793 {
    fn on_sample(&mut self, sample: &RttSample) {
        if self.config.karn && sample.ambiguous {
            return;
        }
        let rtt = Smooth::of(sample.rtt);
        self.srtt = Some(self.srtt.map_or(rtt, |s| s.toward(rtt, self.config.alpha.rest())));
        self.backoff.end();
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if self.config.karn && kind != TimeoutKind::Probe {
            self.backoff.double();
        }
    }

    fn rto(&self) -> Duration {
        let Rfc793Config { beta, lbound, ubound, initial, .. } = self.config;
        let timer = self.srtt.map_or(initial, |srtt| beta.of(srtt.span()));
        self.backoff.on(timer.clamp(lbound, ubound), ubound)
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.srtt.map(Smooth::span),
            rttvar: None,
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

    fn sample(rtt: Duration) -> RttSample {
        RttSample { rtt, ..RttSample::default() }
    }

    /// RFC 793 p. 41: the new smoothed value is alpha times the old value, plus 1 - alpha times the
    /// sample. The timer is beta times the smoothed value, within the bounds. The values are
    /// computed by hand, in milliseconds. Alpha is 0.8, and beta is 1.5. A sample of 1000 gives a
    /// smoothed value of 1000. A sample of 2000 then gives 0.8 · 1000 + 0.2 · 2000 = 1200. A sample
    /// of 200 then gives 0.8 · 1200 + 0.2 · 200 = 1000.
    #[test]
    fn the_timer_is_a_multiple_of_the_weighted_mean() {
        let config = Rfc793Config {
            alpha: Ratio::new(4, 5),
            beta: Ratio::new(3, 2),
            ..Rfc793Config::default()
        };
        let mut timer = Rfc793::new(config);
        assert_eq!(timer.rto(), ms(3000));
        for (rtt, rto) in [(1000, 1500), (2000, 1800), (200, 1500)] {
            timer.on_sample(&sample(ms(rtt)));
            assert_eq!(timer.rto(), ms(rto));
        }
        let mut short = Rfc793::new(config);
        short.on_sample(&sample(ms(100)));
        assert_eq!(short.rto(), ms(1000));
        let mut long = Rfc793::new(config);
        long.on_sample(&sample(ms(50_000)));
        assert_eq!(long.rto(), ms(60_000));
    }

    #[test]
    fn without_karns_rules_every_sample_counts_and_timeouts_do_not_change_the_timer() {
        let mut timer = Rfc793::new(Rfc793Config::default());
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        assert_eq!(timer.rto(), ms(3000));
        timer.on_sample(&RttSample { ambiguous: true, ..sample(ms(2000)) });
        assert_eq!(timer.rto(), ms(4000));
    }

    #[test]
    fn with_karns_rules_timeouts_double_the_timer_and_ambiguous_samples_are_ignored() {
        let mut timer = Rfc793::new(Rfc793Config { karn: true, ..Rfc793Config::default() });
        timer.on_sample(&sample(ms(1000)));
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        assert_eq!(timer.rto(), ms(2000));
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_sample(&RttSample { ambiguous: true, ..sample(ms(9000)) });
        assert_eq!(timer.rto(), ms(4000));
        timer.on_sample(&sample(ms(1000)));
        assert_eq!(timer.rto(), ms(2000));
    }
}
