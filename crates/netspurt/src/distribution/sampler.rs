//! Draws values from distributions. Some of them belong to PackMime, a model of web traffic.

use std::sync::Arc;

use crate::rng::Stream;
use crate::units::Duration;

use super::family::{Distribution, DistributionFamily, Middle};
use super::normal::normal;
use super::packmime::{
    PackmimeArrivals, PackmimeReplies, PackmimeRequests, Weibull, exponential, server_delay,
};
use super::pareto;

/// Draws from a distribution, one value after the other.
///
/// PackMime's arrivals and sizes depend on earlier arrivals and sizes, so the sampler holds state
/// for them. The state takes 80 kB for PackMime's requests and 16 kB for its arrivals, and making
/// it takes some milliseconds. No draw allocates memory.
///
/// ```
/// use netspurt::distribution::{Distribution, DistributionUnit, Sampler};
/// use netspurt::rng::Stream;
/// use netspurt::units::Duration;
/// let gaps = Distribution::parse("every:20 ms", DistributionUnit::Gap).unwrap();
/// let mut sampler = Sampler::new(&gaps, Stream::named(1, "gaps"));
/// assert_eq!(sampler.span(), Duration::from_millis(20));
/// ```
#[derive(Clone, Debug)]
pub struct Sampler {
    state: SamplerState,
    stream: Stream,
}

/// The values that a draw needs: the computed constants of the distribution, and its state.
#[derive(Clone, Debug)]
enum SamplerState {
    Fixed(f64),
    /// A draw is a whole number. The field `from` is the least possible number, and `values` is the
    /// count of possible numbers.
    Uniform {
        from: f64,
        values: f64,
    },
    Exponential {
        mean: f64,
    },
    Lognormal {
        log_median: f64,
        sigma: f64,
    },
    /// The field `kept` is 1 without truncation. With truncation, it is the probability that a
    /// value of the whole distribution is at most the greatest value that truncation allows. The
    /// field `power` is -1 / shape.
    Pareto {
        least: f64,
        power: f64,
        kept: f64,
    },
    Weibull(Weibull),
    /// The field `failure` is ln(1 - 1 / mean). A count is greater than 1 with the probability 1 -
    /// 1 / mean, and each further step has the same probability.
    Geometric {
        failure: f64,
    },
    Arrivals(PackmimeArrivals),
    Requests(PackmimeRequests),
    Replies(PackmimeReplies),
    Servers,
    Empirical(Arc<[f64]>),
}

impl Sampler {
    /// Makes a sampler of `distribution` that draws from `stream`.
    pub fn new(distribution: &Distribution, mut stream: Stream) -> Self {
        let state = SamplerState::new(&distribution.family, &mut stream);
        Self { state, stream }
    }

    /// Draws the next value: octets, nanoseconds or a count, not rounded.
    pub fn draw(&mut self) -> f64 {
        self.state.draw(&mut self.stream)
    }

    /// Draws the next value as a size in whole octets, at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the drawn value is limited"
    )]
    pub fn octets(&mut self) -> u64 {
        self.draw().round().max(1.0) as u64
    }

    /// Draws the next value as a time.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the drawn value is limited"
    )]
    pub fn span(&mut self) -> Duration {
        Duration::from_nanos(self.draw().round() as u64)
    }

    /// Draws the next value as a count, at least 1.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the drawn value is limited"
    )]
    pub fn count(&mut self) -> u32 {
        self.draw().round().max(1.0) as u32
    }
}

impl SamplerState {
    fn new(family: &DistributionFamily, stream: &mut Stream) -> Self {
        match family {
            DistributionFamily::Fixed(value) => Self::Fixed(*value),
            DistributionFamily::Uniform { from, to } => {
                Self::Uniform { from: *from, values: to - from + 1.0 }
            }
            DistributionFamily::Exponential { mean } => Self::Exponential { mean: *mean },
            DistributionFamily::Poisson { rate } => Self::Exponential { mean: 1e9 / rate },
            DistributionFamily::Lognormal { middle, sigma } => {
                let log_median = match middle {
                    Middle::Median(median) => libm::log(*median),
                    Middle::Mean(mean) => libm::log(*mean) - sigma * sigma / 2.0,
                };
                Self::Lognormal { log_median, sigma: *sigma }
            }
            DistributionFamily::Pareto { start, shape, most } => {
                let least = pareto::least(*start, *shape, *most)
                    .expect("the parser accepts a mean only if the distribution has one");
                let kept = most.map_or(1.0, |most| 1.0 - libm::pow(least / most, *shape));
                Self::Pareto { least, power: -1.0 / shape, kept }
            }
            DistributionFamily::Weibull { mean, shape } => {
                Self::Weibull(Weibull::of_mean(*mean, *shape))
            }
            DistributionFamily::Geometric { mean } => {
                Self::Geometric { failure: libm::log1p(-1.0 / mean) }
            }
            DistributionFamily::PackmimeArrivals { rate } => {
                Self::Arrivals(PackmimeArrivals::new(*rate, stream))
            }
            DistributionFamily::PackmimeRequests { rate } => {
                Self::Requests(PackmimeRequests::new(*rate, stream))
            }
            DistributionFamily::PackmimeReplies { rate } => {
                Self::Replies(PackmimeReplies::new(*rate))
            }
            DistributionFamily::PackmimeServers => Self::Servers,
            DistributionFamily::Empirical(values) => Self::Empirical(values.clone()),
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 values")]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "an index")]
    fn draw(&mut self, stream: &mut Stream) -> f64 {
        match self {
            Self::Fixed(value) => *value,
            Self::Uniform { from, values } => *from + (*values * stream.uniform()).floor(),
            Self::Exponential { mean } => *mean * exponential(stream),
            Self::Lognormal { log_median, sigma } => {
                libm::exp(*log_median + *sigma * normal(stream))
            }
            Self::Pareto { least, power, kept } => {
                *least * libm::pow(1.0 - *kept * stream.uniform(), *power)
            }
            Self::Weibull(weibull) => weibull.draw(stream),
            Self::Geometric { failure } => 1.0 + (exponential(stream) / -*failure).floor(),
            Self::Arrivals(arrivals) => arrivals.draw(stream),
            Self::Requests(requests) => requests.draw(stream),
            Self::Replies(replies) => replies.draw(stream),
            Self::Servers => server_delay(stream),
            Self::Empirical(values) => {
                values[((values.len() as f64 * stream.uniform()) as usize).min(values.len() - 1)]
            }
        }
    }
}
