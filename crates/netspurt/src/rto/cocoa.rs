//! The timer of CoCoA, the congestion control of CoAP. It has two estimators. One takes samples of
//! exchanges (a request and its answer) without retransmissions. The other takes samples of
//! exchanges with retransmissions. Each sample that is taken also moves the overall estimate, from
//! which the timer is computed.

use crate::event::RtoState;
use crate::rng::Stream;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::arith::{Ratio, Smooth};
use super::keys::{Constant, Contradiction, Keys, by_name, checked, ordered, part};
use super::mean::MeanDeviation;
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Cocoa`]. The defaults come from draft-ietf-core-cocoa-03.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CocoaConfig {
    /// The gain of both means (RFC 6298 §2.3).
    pub alpha: Ratio,
    /// The gain of both variations (RFC 6298 §2.3).
    pub beta: Ratio,
    /// K of the strong estimator, which takes samples without retransmissions: the number of
    /// variations that are added to the mean.
    pub k_strong: u32,
    /// K of the weak estimator, which takes samples with retransmissions: the number of variations
    /// that are added to the mean.
    pub k_weak: u32,
    /// The weight of the strong estimator in the overall estimate.
    pub strong: Ratio,
    /// The weight of the weak estimator in the overall estimate.
    pub weak: Ratio,
    /// The timer before any sample.
    pub initial: Duration,
    /// The maximum RTO.
    pub max: Duration,
    /// Whether the overall estimate ages. If no sample renews the estimate for a time, a short
    /// estimate becomes longer, and a long estimate becomes shorter.
    pub ageing: bool,
    /// The seed of the dither, a random part that lengthens each timer by up to a half. The value
    /// is `None` for no dither.
    pub dither: Option<u64>,
}

impl Default for CocoaConfig {
    fn default() -> Self {
        Self {
            alpha: Ratio::new(1, 8),
            beta: Ratio::new(1, 4),
            k_strong: 4,
            k_weak: 1,
            strong: Ratio::new(1, 2),
            weak: Ratio::new(1, 4),
            initial: Duration::from_secs(2),
            max: Duration::from_secs(32),
            ageing: true,
            dither: None,
        }
    }
}

impl Keys for CocoaConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => alpha, beta, k_strong, k_weak, strong, weak, initial, max, ageing, dither)
    }

    fn bounds(&self) -> [Option<&'static str>; 3] {
        [Some("initial"), None, Some("max")]
    }

    fn check(&self) -> Result<(), Contradiction> {
        part("alpha", self.alpha)?;
        part("beta", self.beta)?;
        part("strong", self.strong)?;
        part("weak", self.weak)?;
        ordered(("initial", self.initial), ("max", self.max))
    }
}

/// The timer of CoCoA, congestion control for CoAP (draft-ietf-core-cocoa-03 §4).
///
/// Two estimators as in RFC 6298 run side by side. Each keeps a mean and a variation, and its timer
/// is the mean plus K variations. The strong estimator has K = 4 and takes unambiguous samples
/// without retransmissions. The weak estimator has K = 1 and takes all other samples with at most
/// two retransmissions. Samples with more than two retransmissions are ignored. In the draft, the
/// round trip of a weak sample counts from the first transmission. In netspurt, the caller decides
/// from which transmission the round trip counts. The overall estimate is 2 s before any sample.
/// After each sample that is taken, it moves towards the timer of the estimator that took the
/// sample. It moves half of the way for the strong estimator, and a quarter of the way for the weak
/// estimator. Before any timeout, the timer is the overall estimate.
///
/// A timeout multiplies the timer by a factor: by 3 if the overall estimate is below 1 s, by 1.5 if
/// the estimate is above 3 s, and otherwise by 2. The timer is at most 32 s. If no sample renews an
/// overall estimate below 1 s for 16 times its value, it is doubled. If no sample renews an overall
/// estimate above 3 s for 4 times its value, it becomes 1 s plus half of its value. This ageing is
/// computed when a segment is sent. The dither is drawn from a random stream of its own, at the
/// start and at each sample that is taken. It stays the same during a backoff.
///
/// Every sample that is taken ends the backoff. A spurious timeout also ends the backoff.
///
/// ```
/// use netspurt::rto::{Cocoa, CocoaConfig, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Cocoa::new(CocoaConfig::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(400), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis((2000 + 3 * 400) / 2));
/// ```
#[derive(Clone, Debug)]
pub struct Cocoa {
    config: CocoaConfig,
    strong: Option<MeanDeviation>,
    weak: Option<MeanDeviation>,
    /// The values of the estimator that took the last sample.
    last: Option<MeanDeviation>,
    /// The overall estimate. Each sample that is taken moves it towards the timer of one estimator.
    overall: Smooth,
    /// When the overall estimate was last renewed by a sample, or aged.
    renewed: Time,
    /// The timer without the dither: the overall estimate times the factors of the timeouts.
    timer: Duration,
    /// The product of the factors of the timeouts, in halves.
    halves: u32,
    dither: Option<Stream>,
    /// The dither as a share of half the timer, in units of 2^-32.
    share: u64,
}

/// An estimate below this span is short: it backs off faster, and becomes longer with age.
const LOW: Duration = Duration::from_secs(1);
/// An estimate above this span is long: it backs off more slowly, and becomes shorter with age.
const HIGH: Duration = Duration::from_secs(3);
/// Samples of segments with more retransmissions than this are ignored.
const RETRANSMISSIONS_MAX: u8 = 2;

impl Cocoa {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When a gain or a weight is above 1, or `max` is below `initial`.
    pub fn new(config: CocoaConfig) -> Self {
        let config = checked(config);
        let mut timer = Self {
            config,
            strong: None,
            weak: None,
            last: None,
            overall: Smooth::of(config.initial),
            renewed: Time::ZERO,
            timer: config.initial,
            halves: 2,
            dither: config.dither.map(|seed| Stream::named(seed, "rto/cocoa")),
            share: 0,
        };
        timer.start();
        timer
    }

    /// Begins the timer of a new exchange: without backoff, and with a new dither.
    fn start(&mut self) {
        self.timer = self.overall.span().min(self.config.max);
        self.halves = 2;
        self.share = self.dither.as_mut().map_or(0, |dither| dither.bits() >> 32);
    }

    /// The factor of a timeout, in halves.
    fn factor(&self) -> u32 {
        match self.overall.span() {
            estimate if estimate < LOW => 6,
            estimate if estimate > HIGH => 3,
            _ => 4,
        }
    }

    /// Moves the overall estimate by the share `weight` towards the timer of the values `estimate`
    /// with K = `k`. Then begins a new timer.
    fn mix(&mut self, estimate: MeanDeviation, k: u32, weight: Ratio) {
        let target = Smooth::of(estimate.srtt.span() + estimate.rttvar.times(k));
        self.overall = self.overall.toward(target, weight);
        self.last = Some(estimate);
        self.start();
    }
}

impl RtoEstimator for Cocoa {
    fn on_sample(&mut self, sample: &RttSample) {
        let rtt = Smooth::of(sample.rtt);
        let CocoaConfig { alpha, beta, k_strong, k_weak, strong, weak, .. } = self.config;
        let with = |estimate: Option<MeanDeviation>| {
            estimate.map_or(MeanDeviation::first(rtt), |e| e.with(rtt, alpha, beta))
        };
        if sample.retransmissions == 0 && !sample.ambiguous {
            let estimate = with(self.strong);
            self.strong = Some(estimate);
            self.mix(estimate, k_strong, strong);
        } else if sample.retransmissions <= RETRANSMISSIONS_MAX {
            let estimate = with(self.weak);
            self.weak = Some(estimate);
            self.mix(estimate, k_weak, weak);
        } else {
            return;
        }
        self.renewed = sample.at;
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if kind == TimeoutKind::Probe {
            return;
        }
        let factor = self.factor();
        self.timer = (self.timer * u64::from(factor) / 2).max(self.timer).min(self.config.max);
        self.halves = self.halves.saturating_mul(factor) / 2;
    }

    fn rto(&self) -> Duration {
        let dither = Ratio::new(self.share, 1 << 33).of(self.timer);
        (self.timer + dither).min(self.config.max)
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.last.map(|e| e.srtt.span()),
            rttvar: self.last.map(|e| e.rttvar.span()),
            backoff: (self.halves / 2).max(1),
            rto: self.rto(),
            fired: false,
        }
    }

    fn on_send(&mut self, now: Time, _wire_bytes: u32) {
        if !self.config.ageing {
            return;
        }
        loop {
            let estimate = self.overall.span();
            let (idle, aged) = if estimate < LOW && !estimate.is_zero() {
                (estimate * 16, estimate * 2)
            } else if estimate > HIGH {
                (estimate * 4, LOW + estimate / 2)
            } else {
                return;
            };
            if now.saturating_since(self.renewed) < idle {
                return;
            }
            self.renewed += idle;
            self.overall = Smooth::of(aged);
            if self.halves == 2 {
                self.timer = aged.min(self.config.max);
            }
        }
    }

    fn end_backoff(&mut self) {
        self.timer = self.overall.span().min(self.config.max);
        self.halves = 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn sample(rtt_ms: u64, retransmissions: u8) -> RttSample {
        let rtt = ms(rtt_ms);
        RttSample { rtt, retransmissions, ambiguous: retransmissions > 0, ..RttSample::default() }
    }

    /// A timer after these samples. Each sample is a round trip in milliseconds and a number of
    /// retransmissions.
    fn after(config: CocoaConfig, samples: &[(u64, u8)]) -> Cocoa {
        let mut timer = Cocoa::new(config);
        samples
            .iter()
            .for_each(|(rtt, retransmissions)| timer.on_sample(&sample(*rtt, *retransmissions)));
        timer
    }

    /// The RTO after these samples, with the default constants.
    fn rto(samples: &[(u64, u8)]) -> Duration {
        after(CocoaConfig::default(), samples).rto()
    }

    /// The values are computed by hand, in milliseconds. The first timer is 2000. A strong sample
    /// of 400 gives 400 + 4 · 200 = 1200 and (2000 + 1200) / 2 = 1600. A weak sample of 2000 gives
    /// 2000 + 1000 = 3000 and 0.75 · 1600 + 0.25 · 3000 = 1950. Another strong sample of 400
    /// reduces the variation from 200 to 150. This gives 400 + 4 · 150 = 1000 and (1950 + 1000) / 2
    /// = 1475. A sample after three retransmissions is ignored.
    #[test]
    fn the_timer_moves_towards_the_estimator_that_took_the_sample() {
        assert_eq!(rto(&[]), ms(2000));
        assert_eq!(rto(&[(400, 0)]), ms(1600));
        assert_eq!(rto(&[(400, 0), (2000, 1)]), ms(1950));
        assert_eq!(rto(&[(400, 0), (2000, 2), (400, 0)]), ms(1475));
        assert_eq!(rto(&[(400, 0), (2000, 3)]), ms(1600));
    }

    /// The factor is 3 for an estimate below one second, 2 up to three seconds, and 1.5 above. The
    /// timer is at most 32 s.
    #[test]
    fn a_short_estimate_backs_off_faster_than_a_long_one() {
        let gaps = |samples: &[(u64, u8)]| {
            let mut timer = after(CocoaConfig::default(), samples);
            let mut gap = || {
                timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
                timer.rto()
            };
            [gap(), gap(), gap()]
        };
        assert_eq!(gaps(&[]), [4000, 8000, 16_000].map(ms));
        // A sample of 6 s gives 6 + 4 · 3 = 18 s. The mean of 18 s and 2 s is 10 s.
        assert_eq!(gaps(&[(6000, 0)]), [15_000, 22_500, 32_000].map(ms));
        // All values are in milliseconds. The first of two samples of 100 gives 300, and the mean
        // of 300 and 2000 is 1150. The second sample gives 100 + 4 · 37.5 = 250, and the mean of
        // 250 and 1150 is 700.
        let short = [(100, 0), (100, 0)];
        assert_eq!(rto(&short), ms(700));
        assert_eq!(gaps(&short), [2100, 6300, 18_900].map(ms));
    }

    #[test]
    fn a_sample_that_is_taken_or_a_spurious_timeout_ends_the_backoff() {
        let mut timer = after(CocoaConfig::default(), &[(400, 0)]);
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        timer.on_sample(&sample(1, 3));
        assert_eq!((timer.rto(), timer.state().backoff), (ms(3200), 2));
        timer.on_spurious(None);
        assert_eq!(timer.rto(), ms(1600));
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_sample(&sample(2000, 1));
        assert_eq!((timer.rto(), timer.state().backoff), (ms(1950), 1));
    }

    /// The values are computed by hand. If no sample renews an overall estimate of 700 ms for 16 ·
    /// 0.7 = 11.2 s, it becomes 1.4 s and then stays. An estimate of 10 s becomes 6 s after 40 s, 4
    /// s after 24 s more, and 3 s after another 16 s.
    #[test]
    fn an_estimate_that_is_not_renewed_ages() {
        let at = |samples: &[(u64, u8)], seconds_tenths: u64| {
            let mut timer = after(CocoaConfig::default(), samples);
            timer.on_send(Time::ZERO + ms(100 * seconds_tenths), 100);
            timer.rto()
        };
        let short = [(100, 0), (100, 0)];
        assert_eq!([111, 112, 9999].map(|t| at(&short, t)), [700, 1400, 1400].map(ms));
        let long = [399, 400, 640, 799, 800, 9999].map(|t| at(&[(6000, 0)], t));
        assert_eq!(long, [10_000, 6000, 4000, 4000, 3000, 3000].map(ms));
        let ageless = CocoaConfig { ageing: false, ..CocoaConfig::default() };
        let mut timer = after(ageless, &[(6000, 0)]);
        timer.on_send(Time::ZERO + ms(1_000_000), 100);
        assert_eq!(timer.rto(), ms(10_000));
    }

    #[test]
    fn a_dither_lengthens_the_timer_by_at_most_half_and_depends_on_its_seed() {
        let config = CocoaConfig { dither: Some(7), ..CocoaConfig::default() };
        let timers = |config| -> Vec<Duration> {
            let mut timer = Cocoa::new(config);
            let mut next = || {
                timer.on_sample(&sample(1000, 0));
                timer.rto()
            };
            (0..50).map(|_| next()).collect()
        };
        let (plain, dithered) = (timers(CocoaConfig::default()), timers(config));
        assert_eq!(dithered, timers(config));
        assert!(plain.iter().zip(&dithered).all(|(p, d)| p <= d && *d <= *p * 3 / 2));
        assert!(plain.iter().zip(&dithered).any(|(p, d)| *d > *p * 5 / 4));
    }
}
