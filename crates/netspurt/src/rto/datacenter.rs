//! A timer for data centres: RFC 6298 in microseconds. A random part of up to half of the timer can
//! be added.

use crate::event::RtoState;
use crate::rng::Stream;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::arith::Ratio;
use super::keys::{Constant, Contradiction, Keys, by_name, checked, ordered, part};
use super::{Rfc6298, Rfc6298Config, RtoEstimator, TimeoutKind};

/// The constants of [`Datacenter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatacenterConfig {
    /// The gain of the mean (RFC 6298 §2.3).
    pub alpha: Ratio,
    /// The gain of the variation (RFC 6298 §2.3).
    pub beta: Ratio,
    /// K: how many variations are added to the mean (RFC 6298 §2.3).
    pub k: u32,
    /// G: the minimum distance between the mean and the timer (RFC 6298 §2.3).
    pub granularity: Duration,
    /// The minimum RTO.
    pub min: Duration,
    /// The maximum RTO.
    pub max: Duration,
    /// The timer before any sample.
    pub initial: Duration,
    /// The seed of the random part, which lengthens each timer by up to a half. The value is `None`
    /// for no random part.
    pub dither: Option<u64>,
}

impl Default for DatacenterConfig {
    fn default() -> Self {
        let Rfc6298Config { alpha, beta, k, max, initial, .. } = Rfc6298Config::default();
        let (granularity, min) = (Duration::from_micros(1), Duration::from_micros(200));
        Self { alpha, beta, k, granularity, min, max, initial, dither: None }
    }
}

impl Keys for DatacenterConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => alpha, beta, k, granularity, min, max, initial, dither)
    }

    fn check(&self) -> Result<(), Contradiction> {
        part("alpha", self.alpha)?;
        part("beta", self.beta)?;
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The timer of V. Vasudevan et al., "Safe and effective fine-grained TCP retransmissions for
/// datacenter communication", SIGCOMM '09: RFC 6298 with timers in microseconds.
///
/// The minimum is 200 µs instead of the 1 s of RFC 6298. With a seed in `dither`, each timer is
/// longer by a random part of up to a half: (RTO + rand(0.5) RTO) · 2^backoff. Senders that lost
/// segments at the same time then retransmit at different times. A new random part is drawn at each
/// unambiguous sample, at each timeout except `TimeoutKind::Probe`, after the handshake, and when a
/// timeout proves spurious.
///
/// The end of a backoff and the response to a spurious timeout are the same as in [`Rfc6298`].
///
/// ```
/// use netspurt::rto::{Datacenter, DatacenterConfig, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Datacenter::new(DatacenterConfig::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_micros(100), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_micros(300));
/// ```
#[derive(Clone, Debug)]
pub struct Datacenter {
    max: Duration,
    timer: Rfc6298,
    dither: Option<Stream>,
    /// The random part divided by half of the timer: from 0 to below 1, in units of 2^-32.
    share: u64,
}

impl Datacenter {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When a gain is above 1 or the bounds contradict each other.
    pub fn new(config: DatacenterConfig) -> Self {
        let config = checked(config);
        let DatacenterConfig { alpha, beta, k, granularity, min, max, initial, dither } = config;
        let timer = Rfc6298::new(Rfc6298Config {
            alpha,
            beta,
            k,
            granularity,
            min,
            max,
            initial,
            ..Rfc6298Config::default()
        });
        let dither = dither.map(|seed| Stream::named(seed, "rto/datacenter"));
        let mut drawn = Self { max, timer, dither, share: 0 };
        drawn.draw();
        drawn
    }

    /// Draws a new random part.
    fn draw(&mut self) {
        self.share = self.dither.as_mut().map_or(0, |dither| dither.bits() >> 32);
    }
}

impl RtoEstimator for Datacenter {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        self.timer.on_sample(sample);
        self.draw();
    }

    fn on_timeout(&mut self, now: Time, kind: TimeoutKind) {
        if kind == TimeoutKind::Probe {
            return;
        }
        self.timer.on_timeout(now, kind);
        self.draw();
    }

    fn rto(&self) -> Duration {
        let rto = self.timer.rto();
        let dither = (u128::from(rto.as_nanos()) * u128::from(self.share)) >> 33;
        (rto + Duration::from_nanos(u64::try_from(dither).unwrap_or(u64::MAX))).min(self.max)
    }

    fn state(&self) -> RtoState {
        RtoState { rto: self.rto(), ..self.timer.state() }
    }

    fn on_handshake(&mut self, sample: &RttSample) {
        self.timer.on_handshake(sample);
        self.draw();
    }

    fn on_spurious(&mut self, sample: Option<&RttSample>) {
        self.timer.on_spurious(sample);
        self.draw();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    /// A timer after these samples, in microseconds.
    fn after(config: DatacenterConfig, samples: &[u64]) -> Datacenter {
        let mut timer = Datacenter::new(config);
        for rtt in samples {
            timer.on_sample(&RttSample { rtt: us(*rtt), ..RttSample::default() });
        }
        timer
    }

    /// The timers are computed by hand from RFC 6298 §2.3, in microseconds. Samples of 100, 180 and
    /// 60 give timers of 100 + 4 · 50, 110 + 4 · 57.5 and 103.75 + 4 · 55.625. The minimum is 200.
    #[test]
    fn the_timer_follows_rfc_6298_in_microseconds_with_a_minimum_of_200() {
        let rto = |samples: &[u64]| after(DatacenterConfig::default(), samples).rto();
        assert_eq!(rto(&[100]), us(300));
        assert_eq!(rto(&[100, 180]), us(340));
        assert_eq!(rto(&[100, 180, 60]), Duration::from_nanos(326_250));
        assert_eq!(rto(&[20]), us(200));
    }

    #[test]
    fn a_dither_lengthens_the_timer_by_at_most_half_and_depends_on_its_seed() {
        let timers = |dither| -> Vec<Duration> {
            let mut timer = after(DatacenterConfig { dither, ..Default::default() }, &[100]);
            let mut next = || {
                timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
                timer.rto()
            };
            (0..12).map(|_| next()).collect()
        };
        let (plain, dithered) = (timers(None), timers(Some(1)));
        assert_eq!(plain[..3], [us(600), us(1200), us(2400)]);
        assert_eq!(dithered, timers(Some(1)));
        assert_ne!(dithered, timers(Some(2)));
        assert!(plain.iter().zip(&dithered).all(|(p, d)| p <= d && *d <= *p * 3 / 2));
        assert!(dithered.windows(2).all(|pair| pair[0] <= pair[1]));
    }

    #[test]
    fn the_backoff_ends_as_in_rfc_6298() {
        let mut timer = after(DatacenterConfig::default(), &[100]);
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        timer.on_sample(&RttSample { ambiguous: true, ..RttSample::default() });
        assert_eq!(timer.rto(), us(600));
        timer.on_spurious(None);
        assert_eq!(timer.rto(), us(600), "the backoff stays until a sample arrives");
        timer.on_sample(&RttSample { rtt: us(100), ..RttSample::default() });
        assert_eq!(timer.rto(), us(102 + 4 * 50));
    }
}
