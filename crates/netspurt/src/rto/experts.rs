//! The timer `experts` ("fixed-share experts"). Each expert is a fixed guess of the round trip with
//! a weight. The weight falls with the errors of the guess. The mean round trip is the weighted
//! mean of the guesses.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::arith::{Ratio, Smooth};
use super::backoff::Backoff;
use super::keys::{
    Constant, Contradiction, Keys, above_zero, by_name, checked, count_above_zero, ordered, part,
};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Experts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExpertsConfig {
    /// N: the number of guesses.
    pub experts: u32,
    /// η: how fast the weight of a guess falls with the error of the guess (its "loss").
    pub eta: Ratio,
    /// α: the part of all weights that is shared evenly after each sample.
    pub alpha: Ratio,
    /// RTT_min: no guess is below this span.
    pub rtt_min: Duration,
    /// RTT_max: the largest guess is this far above `rtt_min`.
    pub rtt_max: Duration,
    /// The unit of the guesses and samples from which losses are computed.
    pub unit: Duration,
    /// The gain of the variation (RFC 6298 §2.3).
    pub beta: Ratio,
    /// K: how many variations are added to the mean (RFC 6298 §2.3).
    pub k: u32,
    /// G: the minimum distance between the mean and the timer (RFC 6298 §2.3).
    pub granularity: Duration,
    /// The minimum RTO (RFC 6298 §2.4).
    pub min: Duration,
    /// The maximum RTO (RFC 6298 §2.5).
    pub max: Duration,
    /// The timer before any sample (RFC 6298 §2.1).
    pub initial: Duration,
}

impl Default for ExpertsConfig {
    fn default() -> Self {
        Self {
            experts: 100,
            eta: Ratio::new(2, 1),
            alpha: Ratio::new(8, 100),
            rtt_min: Duration::ZERO,
            rtt_max: Duration::from_millis(400),
            unit: Duration::from_secs(1),
            beta: Ratio::new(1, 4),
            k: 4,
            granularity: Duration::from_millis(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            initial: Duration::from_secs(1),
        }
    }
}

/// The maximum number of experts. It limits the time for a sample, which updates all weights.
const EXPERTS_MAX: u32 = 10_000;

impl Keys for ExpertsConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self =>
            experts, eta, alpha, rtt_min, rtt_max, unit, beta, k, granularity, min, max, initial)
    }

    fn check(&self) -> Result<(), Contradiction> {
        count_above_zero("experts", self.experts)?;
        if self.experts > EXPERTS_MAX {
            let message = format!("{} is too many", self.experts);
            let fix = format!("write a number up to {EXPERTS_MAX}");
            return Err(Contradiction { key: "experts", message, fix });
        }
        part("alpha", self.alpha)?;
        if self.alpha.value() == 0.0 {
            let message = "the ratio is zero, so all weights may vanish".into();
            return Err(Contradiction {
                key: "alpha",
                message,
                fix: "write a ratio above 0".into(),
            });
        }
        part("beta", self.beta)?;
        above_zero("unit", self.unit)?;
        above_zero("rtt_max", self.rtt_max)?;
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The estimator of B. Nunes et al., "A machine learning framework for TCP round-trip time
/// estimation", EURASIP JWCN 2014:47, combined with the variation and the timer of RFC 6298.
///
/// Each of N experts has a fixed guess x_i = RTT_min + RTT_max 2^((i - N)/4). Each sample y gives
/// each guess x a loss. Here, as in machine learning, a loss is a measure of error, and not a lost
/// packet. The loss is (x - y)² if x is at least y, and 2 y if x is below y. The weight of the
/// guess is multiplied by e^(-η loss), and then a part α of all weights is shared evenly. The mean
/// S is the weighted mean of the guesses. The variation V moves by a quarter towards the distance
/// of the sample from the previous mean. The timer is S + max(G, 4V).
///
/// The constants come from the published program for ns-3: losses are computed in seconds, and
/// guesses go up to 400 ms. The text of the paper was not available. A path with longer round trips
/// needs a larger `rtt_max`.
///
/// departs: the published ns-3 program - the mean is computed after the experts have learned from
/// the sample.
///
/// Weights are floating-point numbers, with exponentials from `libm`, so every machine gets the
/// same bits.
///
/// ```
/// use netspurt::rto::{Experts, ExpertsConfig, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Experts::new(ExpertsConfig { min: Duration::ZERO, ..ExpertsConfig::default() });
/// for _ in 0..100 {
///     timer.on_sample(&RttSample { rtt: Duration::from_millis(150), ..RttSample::default() });
/// }
/// let srtt = timer.state().srtt.unwrap();
/// assert!(srtt > Duration::from_millis(150) && srtt < Duration::from_millis(350));
/// ```
#[derive(Clone, Debug)]
pub struct Experts {
    config: ExpertsConfig,
    /// The guesses, in units of `config.unit`, in ascending order.
    guesses: Vec<f64>,
    /// The weights of the guesses. Their sum is one.
    weights: Vec<f64>,
    /// The weighted mean, in units of `config.unit`. The value is `None` before the first sample.
    mean: Option<f64>,
    rttvar: Smooth,
    backoff: Backoff,
}

impl Experts {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When `experts` is zero or above 10 000, `alpha` is zero or above 1, `beta` is above 1,
    /// `unit` or `rtt_max` is zero, or the bounds contradict each other.
    pub fn new(config: ExpertsConfig) -> Self {
        let config = checked(config);
        let n = f64::from(config.experts);
        let units = |span: Duration| span.as_secs_f64() / config.unit.as_secs_f64();
        let (least, most) = (units(config.rtt_min), units(config.rtt_max));
        let guess = |i: u32| least + most * libm::exp2((f64::from(i) - n) / 4.0);
        Self {
            config,
            guesses: (1..=config.experts).map(guess).collect(),
            weights: vec![1.0 / n; config.experts as usize],
            mean: None,
            rttvar: Smooth::of(Duration::ZERO),
            backoff: Backoff::default(),
        }
    }

    /// Updates the weight of every expert for the sample `y`. Returns the new mean. The sample and
    /// the mean are in units of `config.unit`.
    fn learn(&mut self, y: f64) -> f64 {
        let (eta, alpha) = (self.config.eta.value(), self.config.alpha.value());
        let below = self.guesses.partition_point(|guess| *guess < y);
        let loss = |guess: f64| (guess - y) * (guess - y);
        // The weights are divided by their sum, so a common factor does not matter. The common
        // factor is chosen so that the weight with the smallest loss is multiplied by 1. Then the
        // weights cannot all become zero if α is above 0.
        let too_short = if below > 0 { 2.0 * y } else { f64::INFINITY };
        let least = self.guesses.get(below).map_or(too_short, |near| loss(*near).min(too_short));
        let (short, long) = self.weights.split_at_mut(below);
        let factor = libm::exp(-eta * (2.0 * y - least));
        let mut sum = 0.0;
        for weight in short {
            *weight *= factor;
            sum += *weight;
        }
        for (weight, guess) in long.iter_mut().zip(&self.guesses[below..]) {
            *weight *= libm::exp(-eta * (loss(*guess) - least));
            sum += *weight;
        }
        let (keep, pool) = ((1.0 - alpha) / sum, alpha / f64::from(self.config.experts));
        let mut mean = 0.0;
        for (weight, guess) in self.weights.iter_mut().zip(&self.guesses) {
            *weight = *weight * keep + pool;
            mean += *weight * guess;
        }
        mean
    }

    /// The span of this number of units of `config.unit`.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "casts saturate")]
    #[expect(clippy::cast_precision_loss, reason = "times below 104 days are converted exactly")]
    fn span(&self, units: f64) -> Duration {
        Duration::from_nanos((units * self.config.unit.as_nanos() as f64) as u64)
    }
}

impl RtoEstimator for Experts {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let rtt = Smooth::of(sample.rtt);
        self.rttvar = match self.mean {
            None => rtt.half(),
            Some(mean) => {
                let distance = Smooth::of(self.span(mean)).distance(rtt);
                self.rttvar.toward(distance, self.config.beta)
            }
        };
        let y = rtt.span().as_secs_f64() / self.config.unit.as_secs_f64();
        self.mean = Some(self.learn(y));
        self.backoff.end();
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if kind != TimeoutKind::Probe {
            self.backoff.double();
        }
    }

    fn rto(&self) -> Duration {
        let ExpertsConfig { k, granularity, min, max, initial, .. } = self.config;
        let timer = self.mean.map_or(initial, |mean| {
            (self.span(mean) + self.rttvar.times(k).max(granularity)).max(min)
        });
        self.backoff.on(timer.min(max), max)
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.mean.map(|mean| self.span(mean)),
            rttvar: self.mean.map(|_| self.rttvar.span()),
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

    /// Without a share for all experts, the weights of 100 experts may vanish after two samples.
    #[test]
    fn an_alpha_of_zero_is_refused() {
        let config = ExpertsConfig { alpha: Ratio::new(0, 1), ..ExpertsConfig::default() };
        assert_eq!(config.check().unwrap_err().key, "alpha");
        assert!(ExpertsConfig { alpha: Ratio::new(1, 1000), ..config }.check().is_ok());
    }

    /// Makes two experts with guesses of 400 · 2^(-1/4) = 336.35857 and 400 ms.
    fn two() -> Experts {
        let config = ExpertsConfig { experts: 2, min: Duration::ZERO, ..ExpertsConfig::default() };
        Experts::new(config)
    }

    /// Gives the timer a sample. Returns the mean and the variation, in microseconds.
    fn sample(timer: &mut Experts, rtt_ms: u64) -> (u64, u64) {
        timer.on_sample(&RttSample { rtt: ms(rtt_ms), ..RttSample::default() });
        let state = timer.state();
        let us = |span: Duration| (span.as_nanos() + 500) / 1000;
        (us(state.srtt.unwrap()), us(state.rttvar.unwrap()))
    }

    /// The values are computed by hand for two experts and samples of 400, 100 and 380 ms, with η =
    /// 2 and α = 0.08. The sample of 400 ms causes losses of 0.8 (the guess is below it) and 0. The
    /// weights become 0.5 · e^-1.6 = 0.100948 and 0.5. Divided by their sum they are 0.167981 and
    /// 0.832019, and after sharing 0.08 they are 0.194543 and 0.805457. The mean is 387.6190 ms.
    /// The sample of 100 ms causes losses of 0.236359² = 0.055865 and 0.09. The weights become
    /// 0.194543 · e^-0.111731 = 0.173977 and 0.805457 · e^-0.18 = 0.672774. Divided by their sum
    /// they are 0.205464 and 0.794536, and after sharing they are 0.229027 and 0.770973. The mean
    /// is 385.4244 and RTTVAR is 0.75 · 200 + 0.25 · 287.6190 = 221.9047. The sample of 380 ms
    /// causes losses of 0.76 and 0.0004. The weights become 0.229027 · e^-1.52 = 0.050091 and
    /// 0.770973 · e^-0.0008 = 0.770356. Divided by their sum they are 0.061053 and 0.938947, and
    /// after sharing they are 0.096169 and 0.903831. The mean is 393.8797 and RTTVAR is 0.75 ·
    /// 221.9047 + 0.25 · 5.4244 = 167.7847.
    #[test]
    fn weights_fall_with_the_loss_and_a_part_of_all_weights_is_shared() {
        let mut timer = two();
        let near = |(srtt, rttvar): (u64, u64), expected: (u64, u64)| {
            assert!(srtt.abs_diff(expected.0) <= 1, "{srtt} µs");
            assert!(rttvar.abs_diff(expected.1) <= 1, "{rttvar} µs");
        };
        near(sample(&mut timer, 400), (387_619, 200_000));
        near(sample(&mut timer, 100), (385_425, 221_905));
        near(sample(&mut timer, 380), (393_880, 167_785));
        assert!((timer.weights.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }

    /// The mean has the same bits on every machine, because the exponentials do not come from the
    /// machine's own library.
    #[test]
    fn the_mean_has_the_same_bits_everywhere() {
        let mut timer = Experts::new(ExpertsConfig::default());
        for i in 0..1000 {
            sample(&mut timer, 20 + i * 7919 % 380);
        }
        assert_eq!(timer.mean.map(f64::to_bits), Some(4_600_036_635_358_554_461));
    }

    #[test]
    fn extreme_samples_leave_every_weight_above_zero() {
        let mut timer = Experts::new(ExpertsConfig::default());
        for rtt in [0, 18_000_000, 0, 1, 400, 18_000_000, 399] {
            sample(&mut timer, rtt);
            let sum: f64 = timer.weights.iter().sum();
            assert!((sum - 1.0).abs() < 1e-9 && timer.weights.iter().all(|w| *w > 0.0), "{rtt}");
        }
    }

    #[test]
    fn a_spurious_timeout_ends_a_backoff_and_an_ambiguous_sample_does_not() {
        let mut timer = two();
        assert_eq!(timer.rto(), ms(1000));
        sample(&mut timer, 400);
        let first = timer.rto();
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        timer.on_sample(&RttSample { ambiguous: true, ..RttSample::default() });
        assert_eq!(timer.rto(), first * 2);
        timer.on_spurious(None);
        assert_eq!(timer.rto(), first);
    }
}
