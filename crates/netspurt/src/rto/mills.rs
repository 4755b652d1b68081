//! The retransmission timer that Mills proposes in RFC 889. It rises quickly and falls slowly.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::arith::{Ratio, Smooth};
use super::backoff::Backoff;
use super::by_length::LengthFit;
use super::keys::{Constant, Contradiction, Keys, by_name, checked, ordered, part};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Mills`]. The defaults are the values that RFC 889 §3.3 chooses: 15/16, 3/4
/// and 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MillsConfig {
    /// F1: the weight of the estimate if a sample is below the estimate.
    pub falling: Ratio,
    /// F2: the weight of the estimate if a sample is not below the estimate.
    pub rising: Ratio,
    /// G: the factor between the estimate and the timer.
    pub g: Ratio,
    /// The first estimate. If it is `None`, the first sample becomes the first estimate. The RFC
    /// gives no value.
    pub initial: Option<Duration>,
    /// The timer before any sample if `initial` is `None`: 3 s, as in RFC 1122 §4.2.3.1.
    pub unsampled: Duration,
    /// The minimum RTO. The value is `None` for no minimum.
    pub min: Option<Duration>,
    /// The maximum RTO. The value is `None` for no maximum.
    pub max: Option<Duration>,
    /// Whether ambiguous samples are ignored and timeouts double the timer. These rules of Karn and
    /// Partridge 1987 are later than RFC 889.
    pub karn: bool,
    /// Whether the timer depends on the length of the packet. RFC 889 §2.2 suggests this but does
    /// not try it. The algorithm learns how the delay of a packet depends on its length. Each
    /// sample is converted to the mean length, and the timer is converted to the length of the
    /// packet that is sent.
    pub by_length: bool,
}

impl Default for MillsConfig {
    fn default() -> Self {
        Self {
            falling: Ratio::new(15, 16),
            rising: Ratio::new(3, 4),
            g: Ratio::new(2, 1),
            initial: None,
            unsampled: Duration::from_secs(3),
            min: None,
            max: None,
            karn: false,
            by_length: false,
        }
    }
}

impl Keys for MillsConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => falling, rising, g, initial, unsampled, min, max, karn, by_length)
    }

    fn bounds(&self) -> [Option<&'static str>; 3] {
        [Some("unsampled"), Some("min"), Some("max")]
    }

    fn check(&self) -> Result<(), Contradiction> {
        part("falling", self.falling)?;
        part("rising", self.rising)?;
        ordered(("min", self.least()), ("max", self.most()))
    }
}

impl MillsConfig {
    /// The constants with which RFC 889 §3.3 compares its proposal: the weight is 7/8 for samples
    /// above and below the estimate.
    pub fn single_gain() -> Self {
        Self { falling: Ratio::new(7, 8), rising: Ratio::new(7, 8), ..Self::default() }
    }

    fn least(&self) -> Duration {
        self.min.unwrap_or_default()
    }

    fn most(&self) -> Duration {
        self.max.unwrap_or(Duration::from_nanos(u64::MAX))
    }
}

/// The timer of RFC 889 §3.3. The estimate is E = F E + (1 - F) R, where R is the sample. F is F1
/// (`falling`) if R < E, and otherwise F2 (`rising`). The timer is G E, where G is the factor `g`.
///
/// The RFC has neither bounds nor a backoff, and every sample counts. With `karn`, the timer
/// ignores ambiguous samples and has a backoff. The backoff ends when an unambiguous sample
/// arrives, or when a timeout proves spurious. With `by_length`, a straight line that gives the
/// delay as a function of the length is fitted to the samples by least squares. The weight of older
/// samples fades. In this fit, a delay above the timer counts as the timer's value, because a
/// single outlier would otherwise tilt the line.
///
/// ```
/// use netspurt::rto::{Mills, MillsConfig, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let initial = Some(Duration::from_millis(1000));
/// let mut timer = Mills::new(MillsConfig { initial, ..MillsConfig::default() });
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(2000), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(2500));
/// ```
#[derive(Clone, Debug)]
pub struct Mills {
    config: MillsConfig,
    estimate: Option<Smooth>,
    backoff: Backoff,
    line: LengthFit,
    /// The octets of the segment that was sent last.
    leaving: u32,
}

impl Mills {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When a weight is above 1 or the bounds contradict each other.
    pub fn new(config: MillsConfig) -> Self {
        let config = checked(config);
        let estimate = config.initial.map(Smooth::of);
        Self {
            config,
            estimate,
            backoff: Backoff::default(),
            line: LengthFit::default(),
            leaving: 0,
        }
    }

    /// The timer of a segment of `octets` octets, before the bounds and the backoff.
    fn timer(&self, octets: u32) -> Duration {
        let unsampled = self.config.unsampled;
        let timer = self.estimate.map_or(unsampled, |e| self.config.g.of(e.span()));
        self.line.to(octets, timer)
    }

    /// Returns the round trip of a sample. With `by_length`, the line first learns from the sample.
    /// Then the round trip is converted to the round trip of a segment of mean length.
    fn at_mean_length(&mut self, sample: &RttSample) -> Duration {
        if !self.config.by_length {
            return sample.rtt;
        }
        self.line.learn(sample.wire_bytes, sample.rtt.min(self.timer(sample.wire_bytes)));
        self.line.from(sample.wire_bytes, sample.rtt)
    }
}

impl RtoEstimator for Mills {
    fn on_sample(&mut self, sample: &RttSample) {
        if self.config.karn && sample.ambiguous {
            return;
        }
        let rtt = Smooth::of(self.at_mean_length(sample));
        let estimate = self.estimate.unwrap_or(rtt);
        let weight = if rtt < estimate { self.config.falling } else { self.config.rising };
        self.estimate = Some(estimate.toward(rtt, weight.rest()));
        self.backoff.end();
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if self.config.karn && kind != TimeoutKind::Probe {
            self.backoff.double();
        }
    }

    fn rto(&self) -> Duration {
        let (min, max) = (self.config.least(), self.config.most());
        self.backoff.on(self.timer(self.leaving).clamp(min, max), max)
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.estimate.map(Smooth::span),
            rttvar: None,
            backoff: self.backoff.factor(),
            rto: self.rto(),
            fired: false,
        }
    }

    fn on_send(&mut self, _now: Time, wire_bytes: u32) {
        self.leaving = wire_bytes;
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

    /// A timer whose first estimate is 1 s.
    fn started(config: MillsConfig) -> Mills {
        Mills::new(MillsConfig { initial: Some(ms(1000)), ..config })
    }

    /// RFC 889 §3.3: the estimate rises with weight 3/4 and falls with 15/16, and the timer is
    /// twice the estimate. The estimates are computed by hand, in milliseconds. The first estimate
    /// is 1000. A sample of 2000 gives an estimate of 750 + 500 = 1250, and a sample of 250 then
    /// gives 1171.875 + 15.625 = 1187.5. A sample equal to the estimate is not below it, so the
    /// weight of a rise applies, but the estimate does not change.
    #[test]
    fn the_estimate_rises_by_a_quarter_and_falls_by_a_sixteenth() {
        let mut timer = started(MillsConfig::default());
        assert_eq!(timer.rto(), ms(2000));
        for (rtt, rto) in [(2000, 2500), (250, 2375)] {
            timer.on_sample(&sample(ms(rtt)));
            assert_eq!(timer.rto(), ms(rto));
        }
        timer.on_sample(&sample(Duration::from_micros(1_187_500)));
        assert_eq!(timer.rto(), ms(2375));
    }

    /// The estimates are computed by hand, in milliseconds. The first estimate is 1000. A sample of
    /// 2000 gives an estimate of 875 + 250 = 1125, and a sample of 250 then gives 984.375 + 31.25 =
    /// 1015.625. The timer is twice the estimate.
    #[test]
    fn with_a_single_gain_the_estimate_rises_and_falls_by_an_eighth() {
        let mut timer = started(MillsConfig::single_gain());
        timer.on_sample(&sample(ms(2000)));
        assert_eq!(timer.rto(), ms(2250));
        timer.on_sample(&sample(ms(250)));
        assert_eq!(timer.rto(), Duration::from_micros(2_031_250));
    }

    /// RFC 889 §3.3 gives the speed of each weight. After a step down, the distance to the new
    /// value has shrunk to 1/e after 15.5 samples. After a step up, this takes 3.5 samples.
    #[test]
    fn the_time_constants_agree_with_the_rfc() {
        // Returns how much of a distance of 1 s is left, in microseconds.
        let left = |from: u64, to: u64, samples: u32| {
            let initial = Some(ms(from));
            let mut timer = Mills::new(MillsConfig { initial, ..MillsConfig::default() });
            (0..samples).for_each(|_| timer.on_sample(&sample(ms(to))));
            timer.state().srtt.unwrap().as_nanos().abs_diff(ms(to).as_nanos()) / 1000
        };
        let one_in_e = 367_879;
        assert!(left(1000, 0, 15) > one_in_e && left(1000, 0, 16) < one_in_e);
        assert!(left(0, 1000, 3) > one_in_e && left(0, 1000, 4) < one_in_e);
    }

    #[test]
    fn the_timer_has_bounds_and_a_backoff_only_if_they_are_set() {
        let mut bare = Mills::new(MillsConfig::default());
        assert_eq!(bare.rto(), ms(3000));
        bare.on_sample(&sample(ms(400)));
        assert_eq!(bare.rto(), ms(800), "the first sample is the first estimate");
        bare.on_timeout(Time::ZERO, TimeoutKind::Rto);
        assert_eq!(bare.rto(), ms(800));

        let (min, max) = (Some(ms(1000)), Some(ms(1800)));
        let mut bound = Mills::new(MillsConfig { min, max, karn: true, ..MillsConfig::default() });
        bound.on_sample(&sample(ms(400)));
        assert_eq!(bound.rto(), ms(1000));
        bound.on_timeout(Time::ZERO, TimeoutKind::Rto);
        assert_eq!(bound.rto(), ms(1800));
        bound.on_sample(&RttSample { ambiguous: true, ..sample(ms(700)) });
        assert_eq!((bound.rto(), bound.state().srtt), (ms(1800), Some(ms(400))));
        bound.on_sample(&sample(ms(400)));
        assert_eq!(bound.rto(), ms(1000));
    }
}
