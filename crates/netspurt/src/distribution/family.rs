//! A distribution: its family (such as lognormal or Pareto) with parameters, and the kind of its
//! values. Some families belong to PackMime, a model of web traffic.

use std::sync::Arc;

use super::error::DistributionError;

/// The kind of the values of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DistributionUnit {
    /// Sizes, drawn in octets.
    Octets,
    /// Times, drawn in nanoseconds.
    Span,
    /// Whole numbers from 1.
    Count,
    /// Times from one arrival to the next, drawn in nanoseconds.
    Gap,
}

impl DistributionUnit {
    /// No quantity in the description of a distribution may be above this value; draws can be above
    /// it. A double holds every whole number up to this value exactly.
    pub(super) const MOST: f64 = 9e15;

    /// The least value that a constant, uniform or empirical distribution can have.
    pub(super) const fn least(self) -> f64 {
        match self {
            Self::Octets | Self::Count => 1.0,
            Self::Span | Self::Gap => 0.0,
        }
    }

    /// The word for values of this kind.
    pub(super) const fn what(self) -> &'static str {
        match self {
            Self::Octets => "sizes",
            Self::Span => "times",
            Self::Count => "counts",
            Self::Gap => "arrivals",
        }
    }
}

/// A distribution of sizes, times, counts or arrivals.
///
/// ```
/// use netspurt::distribution::{Distribution, DistributionUnit, Sampler};
/// use netspurt::rng::Stream;
/// let sizes = Distribution::parse("uniform:from=1 kB,to=20 kB", DistributionUnit::Octets).unwrap();
/// assert_eq!(sizes.mean(), Some(10_500.0));
/// assert_eq!(sizes.to_string(), "uniform:from=1000B,to=20kB");
/// let mut sampler = Sampler::new(&sizes, Stream::named(1, "sizes"));
/// assert!((1000..=20_000).contains(&sampler.octets()));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    pub(super) unit: DistributionUnit,
    pub(super) family: DistributionFamily,
}

impl Distribution {
    /// The kind of the values.
    pub const fn unit(&self) -> DistributionUnit {
        self.unit
    }

    /// Makes the distribution of `values`, which are octets, nanoseconds or counts. All of them are
    /// equally probable in each draw.
    ///
    /// ```
    /// use netspurt::distribution::{Distribution, DistributionUnit};
    /// let sizes = Distribution::empirical(vec![100.0, 300.0], DistributionUnit::Octets).unwrap();
    /// assert_eq!(sizes.mean(), Some(200.0));
    /// ```
    ///
    /// # Errors
    /// When there are no values, when a size or count is below 1, when a time is below zero, when a
    /// value is above 9e15 or not a number, or when all gaps are zero.
    pub fn empirical(
        values: impl Into<Arc<[f64]>>,
        unit: DistributionUnit,
    ) -> Result<Self, DistributionError> {
        let (values, least) = (values.into(), unit.least());
        let refuse = |value: &str, message: &str, fix: String| {
            Err(DistributionError::new(["empirical", "values", value], message, fix))
        };
        if values.is_empty() {
            return refuse("", "there are no values", "give at least one value".into());
        }
        let within = least..=DistributionUnit::MOST;
        if let Some(value) = values.iter().find(|value| !within.contains(*value)) {
            let message = format!("`{value}` is not among the {} that can be drawn", unit.what());
            let fix = format!("give values from {least} to {}", DistributionUnit::MOST);
            return refuse(&value.to_string(), &message, fix);
        }
        if unit == DistributionUnit::Gap && values.iter().all(|value| *value == 0.0) {
            let message = "all gaps are zero, so arrivals would never end";
            return refuse("0", message, "give a gap above zero".into());
        }
        Ok(Self { unit, family: DistributionFamily::Empirical(values) })
    }
}

/// A family with its parameters. Quantities are octets, nanoseconds or counts. Rates are arrivals
/// per second.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum DistributionFamily {
    Fixed(f64),
    /// Whole numbers from the number `from` to the number `to`, both included.
    Uniform {
        from: f64,
        to: f64,
    },
    Exponential {
        mean: f64,
    },
    Lognormal {
        middle: Middle,
        sigma: f64,
    },
    Pareto {
        start: Start,
        shape: f64,
        most: Option<f64>,
    },
    Weibull {
        mean: f64,
        shape: f64,
    },
    /// The values are 1, 2, ...
    Geometric {
        mean: f64,
    },
    Poisson {
        rate: f64,
    },
    /// PackMime's arrivals of connections.
    PackmimeArrivals {
        rate: f64,
    },
    /// PackMime's sizes of requests, if new connections arrive at this rate.
    PackmimeRequests {
        rate: f64,
    },
    /// PackMime's sizes of replies, if new connections arrive at this rate.
    PackmimeReplies {
        rate: f64,
    },
    /// PackMime's delays of servers.
    PackmimeServers,
    Empirical(Arc<[f64]>),
}

/// The value by which a lognormal distribution is described, besides sigma: the median or the mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Middle {
    Median(f64),
    Mean(f64),
}

/// The value by which a Pareto distribution is described: the least value, or the mean of all
/// draws.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Start {
    Least(f64),
    Mean(f64),
}
