//! The Eifel retransmission timer. Its gains depend on the number of samples in a flight (the
//! segments that are outstanding at one time). A falling round trip does not raise the variation.

use crate::event::RtoState;
use crate::sample::{RttSample, SampleSource};
use crate::units::{Duration, Time};

use super::arith::{Ratio, Smooth};
use super::backoff::Backoff;
use super::keys::{Constant, Contradiction, Keys, by_name, checked, ordered};
use super::mean::{MeanDeviation, samples_in_flight};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Eifel`]. The publications about this timer give no bounds. The first RTO and
/// the maximum come from RFC 2988. By default, there is no minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EifelConfig {
    /// The host's tick. The timer is at least two ticks longer than the last sample.
    pub tick: Duration,
    /// The timer before any sample.
    pub initial: Duration,
    /// The minimum RTO.
    pub min: Duration,
    /// The maximum RTO.
    pub max: Duration,
}

impl Default for EifelConfig {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(1),
            initial: Duration::from_secs(3),
            min: Duration::ZERO,
            max: Duration::from_secs(60),
        }
    }
}

impl Keys for EifelConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => tick, initial, min, max)
    }

    fn check(&self) -> Result<(), Contradiction> {
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The timer of R. Ludwig and K. Sklower, "The Eifel retransmission timer", CCR 30(3), 2000.
///
/// With n samples in a flight, the gain g is 1/n. It is 1/3 if n is below three or unknown. The
/// distance of a sample R from the mean is Δ = R - SRTT. SRTT moves by g Δ. If Δ is negative,
/// RTTVAR does not change. Otherwise RTTVAR moves by g (Δ - RTTVAR) if Δ is above RTTVAR, and by g²
/// (Δ - RTTVAR) if Δ is not above RTTVAR. The timer is max(SRTT + RTTVAR / g, R + 2 ticks). It runs
/// from the instant at which the oldest outstanding segment was last sent.
///
/// The first sample R makes SRTT = R and RTTVAR = R/2, as in BSD. Timeouts double the timer. The
/// backoff ends with an unambiguous sample, or when a timeout proves spurious.
///
/// The paper itself was not available. The rules come from two programs that other people
/// published, and from RFC 7765 §1.
///
/// ```
/// use netspurt::rto::{Eifel, EifelConfig, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Eifel::new(EifelConfig::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(90), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(90 + 3 * 45));
/// ```
#[derive(Clone, Debug)]
pub struct Eifel {
    config: EifelConfig,
    estimate: Option<MeanDeviation>,
    /// n: the number of samples in a flight. The gain is 1/n.
    flight: u32,
    /// R: the last sample.
    last: Duration,
    backoff: Backoff,
}

/// The smallest n. It limits the gain to a third.
const FLIGHT_SEGS_MIN: u64 = 3;
/// The largest n.
const FLIGHT_SEGS_MAX: u64 = 1 << 16;

impl Eifel {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When the bounds contradict each other.
    pub fn new(config: EifelConfig) -> Self {
        let config = checked(config);
        let backoff = Backoff::default();
        Self { config, estimate: None, flight: 3, last: Duration::ZERO, backoff }
    }

    /// The number of samples in a flight, at least 3. If each segment is timed, this is the number
    /// of outstanding segments, rounded up to an even number.
    fn flight(sample: &RttSample) -> u64 {
        let per_segment = sample.source == SampleSource::EachSegment;
        let samples = samples_in_flight(sample) * if per_segment { 2 } else { 1 };
        samples.clamp(FLIGHT_SEGS_MIN, FLIGHT_SEGS_MAX)
    }

    /// The timer before its backoff.
    fn base(&self) -> Duration {
        let EifelConfig { tick, initial, min, max, .. } = self.config;
        let timer = self.estimate.map_or(initial, |e| {
            (e.srtt.span() + e.rttvar.times(self.flight)).max(self.last + tick * 2)
        });
        timer.clamp(min, max)
    }
}

impl RtoEstimator for Eifel {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let rtt = Smooth::of(sample.rtt);
        let flight = Self::flight(sample);
        self.flight = u32::try_from(flight).unwrap_or(u32::MAX);
        self.last = rtt.span();
        self.estimate = Some(match self.estimate {
            None => MeanDeviation::first(rtt),
            Some(MeanDeviation { srtt, rttvar }) => {
                let (gain, error) = (Ratio::new(1, flight), srtt.distance(rtt));
                let slow = Ratio::new(1, flight * flight);
                let rttvar = match rtt >= srtt {
                    true if error >= rttvar => rttvar.toward(error, gain),
                    true => rttvar.toward(error, slow),
                    false => rttvar,
                };
                MeanDeviation { srtt: srtt.toward(rtt, gain), rttvar }
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
        self.backoff.on(self.base(), self.config.max)
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

    fn deadline(&self, now: Time, oldest_sent: Time, _flight_segs: u64) -> Time {
        (oldest_sent + self.rto()).max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A timer after these samples, in milliseconds.
    fn after(samples: &[u64]) -> Eifel {
        let mut timer = Eifel::new(EifelConfig::default());
        for rtt in samples {
            timer.on_sample(&RttSample { rtt: ms(*rtt), ..RttSample::default() });
        }
        timer
    }

    /// SRTT, RTTVAR and the timer, in microseconds.
    fn micros(timer: &Eifel) -> (u64, u64, u64) {
        let us = |span: Duration| (span.as_nanos() + 500) / 1000;
        let state = timer.state();
        (us(state.srtt.unwrap()), us(state.rttvar.unwrap()), us(state.rto))
    }

    /// The values are computed by hand, in milliseconds, with a gain of 1/3 and samples of 90, 180,
    /// 60 and 130. After the first sample, SRTT is 90, RTTVAR is 45 and the timer is 90 + 135. At
    /// the second sample, Δ = 90 is above 45, so RTTVAR is 45 + 45/3 = 60, SRTT is 90 + 30 = 120
    /// and the timer is 120 +
    /// 180. At the third sample, Δ is -60, so RTTVAR stays 60, SRTT is 120 - 20 = 100 and the timer
    /// is 100 + 180. At the fourth sample, Δ = 30 is below 60, so RTTVAR is 60 - 30/9 = 56.667,
    /// SRTT is 100 + 10 = 110 and the timer is 110 + 170.
    #[test]
    fn a_fall_moves_only_the_mean_and_a_rise_moves_the_mean_and_the_variation() {
        assert_eq!(micros(&after(&[90])), (90_000, 45_000, 225_000));
        assert_eq!(micros(&after(&[90, 180])), (120_000, 60_000, 300_000));
        assert_eq!(micros(&after(&[90, 180, 60])), (100_000, 60_000, 280_000));
        assert_eq!(micros(&after(&[90, 180, 60, 130])), (110_000, 56_667, 280_000));
    }

    /// The values are computed by hand, in milliseconds, for samples of 90 and 180. If ten segments
    /// are outstanding and each is timed, the gain g is 1/10, RTTVAR is 45 + 45/10 = 49.5, SRTT is
    /// 90 + 9 = 99 and the timer is 99 + 495. If only every second segment is echoed, g is 1/5,
    /// RTTVAR is 45 + 9 = 54, SRTT is 90 + 18 = 108 and the timer is 108 + 270.
    #[test]
    fn the_gain_is_one_divided_by_the_samples_of_a_flight() {
        for (source, expected) in [
            (SampleSource::EachSegment, (99_000, 49_500, 594_000)),
            (SampleSource::Echo, (108_000, 54_000, 378_000)),
            (SampleSource::TimedSegment, (120_000, 60_000, 300_000)),
        ] {
            let mut timer = after(&[90]);
            let (smss_bytes, flight_bytes) = (1000, 10_000);
            let rtt = ms(180);
            timer.on_sample(&RttSample {
                rtt,
                source,
                smss_bytes,
                flight_bytes,
                ..RttSample::default()
            });
            assert_eq!(micros(&timer), expected);
        }
    }

    #[test]
    fn the_timer_is_at_least_two_ticks_above_the_last_sample() {
        assert_eq!(after(&[100; 400]).rto(), ms(102));
        assert_eq!(after(&[]).rto(), ms(3000));
    }

    #[test]
    fn the_timer_counts_from_the_oldest_segment() {
        let timer = after(&[90]);
        let at = |n| Time::ZERO + ms(n);
        assert_eq!(timer.deadline(at(100), at(40), 5), at(265));
        assert_eq!(timer.deadline(at(900), at(40), 5), at(900));
    }

    #[test]
    fn a_spurious_timeout_ends_a_backoff_and_an_ambiguous_sample_does_not() {
        let mut timer = after(&[90]);
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        timer.on_sample(&RttSample { ambiguous: true, ..RttSample::default() });
        assert_eq!(timer.rto(), ms(450));
        timer.on_spurious(None);
        assert_eq!(timer.rto(), ms(225));
    }
}
