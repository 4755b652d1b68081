//! Computes the means of distributions. Some of them belong to PackMime, a model of web traffic.

use super::family::{Distribution, DistributionFamily, Middle};
use super::{packmime, pareto};

impl Distribution {
    /// Returns the mean in octets, nanoseconds or counts. If the mean is not finite, returns
    /// `None`.
    ///
    /// This mean does not take into account that draws are rounded to whole octets or nanoseconds.
    /// PackMime itself cuts off fractions of octets, so the mean of PackMime's sizes is the exact
    /// integral of its fitted curves, minus half an octet. The mean of the delays of PackMime's
    /// servers is computed by Simpson's rule.
    ///
    /// ```
    /// use netspurt::distribution::{Distribution, DistributionUnit};
    /// let octets = |text| Distribution::parse(text, DistributionUnit::Octets).unwrap();
    /// assert_eq!(octets("pareto:shape=2,least=1 kB").mean(), Some(2000.0));
    /// assert_eq!(octets("pareto:shape=1,least=1 kB").mean(), None);
    /// ```
    pub fn mean(&self) -> Option<f64> {
        match &self.family {
            DistributionFamily::Fixed(value) => Some(*value),
            DistributionFamily::Uniform { from, to } => Some((from + to) / 2.0),
            DistributionFamily::Exponential { mean }
            | DistributionFamily::Weibull { mean, .. }
            | DistributionFamily::Geometric { mean }
            | DistributionFamily::Lognormal { middle: Middle::Mean(mean), .. } => Some(*mean),
            DistributionFamily::Lognormal { middle: Middle::Median(median), sigma } => {
                Some(median * libm::exp(sigma * sigma / 2.0))
            }
            DistributionFamily::Pareto { start, shape, most } => {
                pareto::mean(*start, *shape, *most)
            }
            DistributionFamily::Poisson { rate }
            | DistributionFamily::PackmimeArrivals { rate } => Some(1e9 / rate),
            DistributionFamily::PackmimeRequests { .. } => Some(packmime::mean_request()),
            DistributionFamily::PackmimeReplies { rate } => Some(packmime::mean_reply(*rate)),
            DistributionFamily::PackmimeServers => Some(packmime::mean_server_delay()),
            DistributionFamily::Empirical(values) => Some(average(values)),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "there are fewer than 2^53 values")]
fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
