//! The lateness of deliveries: how long after its due time each packet was delivered. The simulated
//! path computes the due time. The time of the delivery is read from the wall clock.

use netspurt::units::Duration;
use serde::Serialize;

/// Quantiles of the lateness of deliveries. The quantile for a share, such as 99 of 100, is the
/// smallest lateness *L* for which at least this share of the deliveries is late by *L* or less.
/// The median is the quantile for one half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// The number of deliveries.
    pub count: u64,
    /// The median.
    pub p50: Duration,
    /// The lateness that 99 of 100 deliveries do not exceed.
    pub p99: Duration,
    /// The lateness that 999 of 1000 deliveries do not exceed.
    pub p999: Duration,
    /// The maximum.
    pub max: Duration,
}

/// The quantiles of [`Lateness`] in nanoseconds, for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct QuantilesNs {
    /// The median.
    pub p50_ns: u64,
    /// The value that 99 of 100 deliveries do not exceed.
    pub p99_ns: u64,
    /// The value that 999 of 1000 deliveries do not exceed.
    pub p999_ns: u64,
    /// The maximum.
    pub max_ns: u64,
}

impl Lateness {
    /// Computes the quantiles. The list `late` has the lateness of each delivery.
    ///
    /// ```
    /// use netspurt::units::Duration;
    /// use netspurt_live::lateness::Lateness;
    /// let late = (1..=1000).map(Duration::from_micros).collect();
    /// let lateness = Lateness::of(late);
    /// assert_eq!(lateness.p50, Duration::from_micros(500));
    /// assert_eq!(lateness.p99, Duration::from_micros(990));
    /// ```
    pub fn of(mut late: Vec<Duration>) -> Self {
        late.sort_unstable();
        let per_mille = |share: usize| {
            let rank = (late.len() * share).div_ceil(1000).max(1);
            late.get(rank - 1).copied().unwrap_or_default()
        };
        Self {
            count: late.len() as u64,
            p50: per_mille(500),
            p99: per_mille(990),
            p999: per_mille(999),
            max: per_mille(1000),
        }
    }

    /// The quantiles in nanoseconds.
    pub fn quantiles_ns(&self) -> QuantilesNs {
        QuantilesNs {
            p50_ns: self.p50.as_nanos(),
            p99_ns: self.p99.as_nanos(),
            p999_ns: self.p999.as_nanos(),
            max_ns: self.max.as_nanos(),
        }
    }

    /// True if no delivery was later than `budget`.
    pub fn is_within(&self, budget: Duration) -> bool {
        self.max <= budget
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_deliveries_all_quantiles_are_zero() {
        assert_eq!(Lateness::of(Vec::new()), Lateness::default());
    }

    #[test]
    fn one_late_delivery_exceeds_the_budget_even_if_the_quantiles_do_not() {
        let mut late = vec![Duration::from_micros(10); 9999];
        late.push(Duration::from_millis(6));
        let lateness = Lateness::of(late);
        assert_eq!(
            (lateness.p999, lateness.max),
            (Duration::from_micros(10), Duration::from_millis(6))
        );
        assert!(!lateness.is_within(Duration::from_millis(5)));
    }
}
