//! The Peak-Hopper, a retransmission timer. When the round trip rises to a peak, the timer rises
//! immediately. After the peak, it falls slowly.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::arith::{Ratio, Smooth};
use super::backoff::Backoff;
use super::keys::{
    Constant, Contradiction, Keys, by_name, checked, count_above_zero, ordered, part,
};
use super::mean::samples_in_flight;
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`PeakHopper`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeakHopperConfig {
    /// F: after a peak, the timer falls by about 1/F in each round trip.
    pub f: u32,
    /// B_max: the maximum boost. The boost B lengthens the timer after a rise of the round trip.
    pub b_max: Ratio,
    /// The host's tick. The timer is at least two ticks longer than each of the last two samples.
    pub tick: Duration,
    /// The timer before any sample.
    pub initial: Duration,
    /// The minimum RTO.
    pub min: Duration,
    /// The maximum RTO.
    pub max: Duration,
}

impl Default for PeakHopperConfig {
    fn default() -> Self {
        Self {
            f: 24,
            b_max: Ratio::new(1, 1),
            tick: Duration::from_millis(1),
            initial: Duration::from_secs(3),
            min: Duration::ZERO,
            max: Duration::from_secs(60),
        }
    }
}

impl Keys for PeakHopperConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => f, b_max, tick, initial, min, max)
    }

    fn check(&self) -> Result<(), Contradiction> {
        count_above_zero("f", self.f)?;
        part("b_max", self.b_max)?;
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The timer of H. Ekström and R. Ludwig, "The Peak-Hopper", INFOCOM 2004.
///
/// With S samples in a round trip, the timer and the boost fade by the factor D = 1 - 1/(F S) at
/// each sample. The relative rise of a sample R over the previous sample R' is δ = (R - R')/R'. The
/// new boost B is the greater of min(2δ, B_max) and D times the old boost. The new timer is the
/// greater of D times the old timer and (1 + B) max(R, R'), but at least max(R, R') + 2 ticks.
/// After the first sample R, the timer is 1.75 R.
///
/// Timeouts double the timer. The backoff ends with an unambiguous sample, or when a timeout proves
/// spurious. This timer has no mean. The field `srtt` of its state is max(R, R').
///
/// The rules follow Californium's `PeakhopperRto`. The paper itself was not available.
///
/// departs: Californium - δ is computed against the previous sample, even if this is the first
/// sample, and B grows only if δ is positive.
///
/// ```
/// use netspurt::rto::{PeakHopper, PeakHopperConfig, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = PeakHopper::new(PeakHopperConfig::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(100), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(175));
/// ```
#[derive(Clone, Debug)]
pub struct PeakHopper {
    config: PeakHopperConfig,
    peak: Option<Peak>,
    backoff: Backoff,
}

/// The values after the last sample.
#[derive(Clone, Copy, Debug)]
struct Peak {
    /// The last sample.
    last: Duration,
    /// The greater of the last two samples.
    higher: Duration,
    /// The timer before the two ticks, the minimum and the maximum are applied.
    timer: Smooth,
    /// B, in units of 2^-20.
    boost: u64,
}

/// A boost of 1, in units of 2^-20.
const ONE: u64 = 1 << 20;

/// Returns twice the relative rise from the value `from` to the value `to`, but at most the limit
/// `most`, in units of 2^-20.
fn twice_the_rise(from: u64, to: u64, most: Ratio) -> u64 {
    let (rise, most_of) = (to.saturating_sub(from).saturating_mul(2), most.part(from));
    if rise >= most_of {
        return if rise == 0 { 0 } else { most.part(ONE) };
    }
    // The rise is below the value `from`. If the product overflows, this value is large enough to
    // be divided first.
    rise.checked_mul(ONE).map_or_else(|| rise / (from / ONE), |scaled| scaled / from)
}

impl Peak {
    fn first(rtt: Duration) -> Self {
        let timer = Smooth::of(Ratio::new(7, 4).of(rtt));
        Self { last: rtt, higher: rtt, timer, boost: 0 }
    }

    fn take(self, rtt: Duration, fade: u64, b_max: Ratio) -> Self {
        let faded = self.boost - self.boost.div_ceil(fade);
        let boost = twice_the_rise(self.last.as_nanos(), rtt.as_nanos(), b_max).max(faded);
        let higher = self.last.max(rtt);
        let lift = (u128::from(higher.as_nanos()) * u128::from(boost)) >> ONE.ilog2();
        let lift = Duration::from_nanos(u64::try_from(lift).unwrap_or(u64::MAX));
        let boosted = Smooth::of(higher + lift);
        let timer = self.timer.toward(Smooth::of(Duration::ZERO), Ratio::new(1, fade)).max(boosted);
        Self { last: rtt, higher, timer, boost }
    }
}

impl PeakHopper {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When F is zero, B_max is above 1, or the bounds contradict each other.
    pub fn new(config: PeakHopperConfig) -> Self {
        Self { config: checked(config), peak: None, backoff: Backoff::default() }
    }

    /// The timer before its backoff.
    fn base(&self) -> Duration {
        let PeakHopperConfig { tick, initial, min, max, .. } = self.config;
        let timer = self.peak.map_or(initial, |peak| peak.timer.span().max(peak.higher + tick * 2));
        timer.clamp(min, max)
    }
}

impl RtoEstimator for PeakHopper {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let PeakHopperConfig { f, b_max, .. } = self.config;
        let fade = u64::from(f).saturating_mul(samples_in_flight(sample)).min(1 << 40);
        let rtt = Smooth::of(sample.rtt).span();
        self.peak = Some(match self.peak {
            None => Peak::first(rtt),
            Some(peak) => peak.take(rtt, fade, b_max),
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
            srtt: self.peak.map(|peak| peak.higher),
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
    use crate::sample::SampleSource;

    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A timer after these samples, in milliseconds.
    fn after(samples: &[u64]) -> PeakHopper {
        let mut timer = PeakHopper::new(PeakHopperConfig::default());
        for rtt in samples {
            timer.on_sample(&RttSample { rtt: ms(*rtt), ..RttSample::default() });
        }
        timer
    }

    /// The timer after `samples` in milliseconds, rounded to microseconds. Boosts are rounded down
    /// to multiples of 2^-20, so the timer may be some hundred nanoseconds shorter than the exact
    /// value.
    fn micros(samples: &[u64]) -> u64 {
        (after(samples).rto().as_nanos() + 500) / 1000
    }

    /// The timers are computed by hand, in milliseconds, with F = 24 and samples of 100, 120, 60
    /// and 60. The first timer is 1.75 · 100. The second sample has δ = 0.2 and B = 0.4, and 1.4 ·
    /// 120 = 168 is above 175 · 23/24 = 167.708. The third sample has B = 0.4 · 23/24 = 0.38333,
    /// and 1.38333 · 120 = 166 is above 168 · 23/24 = 161. The fourth sample has B = 0.36736, and
    /// 1.36736 · 60 = 82.04 is below 166 · 23/24 = 159.083.
    #[test]
    fn the_timer_rises_to_peaks_immediately_and_fades_slowly() {
        assert_eq!(micros(&[100]), 175_000);
        assert_eq!(micros(&[100, 120]), 168_000);
        assert_eq!(micros(&[100, 120, 60]), 166_000);
        assert_eq!(micros(&[100, 120, 60, 60]), 159_083);
    }

    #[test]
    fn a_boost_is_no_greater_than_b_max() {
        assert_eq!(micros(&[100, 151]), 302_000);
        assert_eq!(micros(&[100, 900]), 1_800_000);
        assert_eq!(micros(&[0, 900]), 1_800_000);
    }

    /// Ten outstanding segments give five samples in a round trip, so the timer is 175 · 119/120
    /// ms.
    #[test]
    fn the_timer_fades_less_at_each_sample_if_a_round_trip_has_many_samples() {
        let mut timer = after(&[100]);
        timer.on_sample(&RttSample {
            rtt: ms(80),
            source: SampleSource::Echo,
            smss_bytes: 1000,
            flight_bytes: 10_000,
            ..RttSample::default()
        });
        assert_eq!((timer.rto().as_nanos() + 500) / 1000, 173_542);
    }

    #[test]
    fn the_timer_is_at_least_two_ticks_above_each_of_the_last_two_samples() {
        assert_eq!(after(&[100; 400]).rto(), ms(102));
        let last = after(&[[100; 400].as_slice(), &[50]].concat());
        assert_eq!(last.rto(), ms(102));
        assert_eq!(after(&[]).rto(), ms(3000));
    }

    #[test]
    fn a_spurious_timeout_ends_a_backoff_and_an_ambiguous_sample_does_not() {
        let mut timer = after(&[100]);
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        timer.on_sample(&RttSample { ambiguous: true, ..RttSample::default() });
        assert_eq!(timer.rto(), ms(350));
        timer.on_spurious(None);
        assert_eq!(timer.rto(), ms(175));
    }
}
