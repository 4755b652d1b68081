//! The means of distributions.

use super::family::{Distribution, Family, Middle};
use super::{packmime, pareto};

impl Distribution {
    /// The mean, in octets, nanoseconds or counts; `None` where there is none.
    ///
    /// It is that of the distribution, before draws are rounded to whole octets or nanoseconds. PackMime's
    /// means are integrals of its fitted curves, piece by piece; of the server's delay, by
    /// Simpson's rule.
    ///
    /// ```
    /// use netspurt::distribution::{Distribution, DistributionUnit};
    /// let octets = |text| Distribution::parse(text, DistributionUnit::Octets).unwrap();
    /// assert_eq!(octets("pareto:shape=2,least=1 kB").mean(), Some(2000.0));
    /// assert_eq!(octets("pareto:shape=1,least=1 kB").mean(), None);
    /// ```
    pub fn mean(&self) -> Option<f64> {
        match &self.family {
            Family::Fixed(value) => Some(*value),
            Family::Uniform { from, to } => Some((from + to) / 2.0),
            Family::Exponential { mean }
            | Family::Weibull { mean, .. }
            | Family::Geometric { mean }
            | Family::Lognormal { middle: Middle::Mean(mean), .. } => Some(*mean),
            Family::Lognormal { middle: Middle::Median(median), sigma } => {
                Some(median * libm::exp(sigma * sigma / 2.0))
            }
            Family::Pareto { start, shape, most } => pareto::mean(*start, *shape, *most),
            Family::Poisson { rate } | Family::PackmimeArrivals { rate } => Some(1e9 / rate),
            Family::PackmimeRequests { .. } => Some(packmime::mean_request()),
            Family::PackmimeReplies { rate } => Some(packmime::mean_reply(*rate)),
            Family::PackmimeServers => Some(packmime::mean_server_delay()),
            Family::Empirical(values) => Some(average(values)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "fewer than 2^53 values")]
fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
