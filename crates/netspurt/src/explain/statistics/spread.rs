//! The mean, the standard deviation, the minimum and the maximum of measured spans of time.

use crate::packed::packed_value;
use crate::units::Duration;

/// Measured spans: their number, minimum, maximum, mean and standard deviation.
///
/// ```
/// use netspurt::explain::Spread;
/// use netspurt::units::Duration;
/// let mut spread = Spread::default();
/// for ms in [10, 20, 60] {
///     spread.add(Duration::from_millis(ms));
/// }
/// assert_eq!(spread.mean_ns(), Some(30e6));
/// assert_eq!(spread.deviation_ns().map(|ns| ns.round()), Some(26_457_513.0));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    count: u64,
    /// The shortest span, in nanoseconds.
    min: u64,
    /// The longest span, in nanoseconds.
    max: u64,
    /// The sum of all spans, in nanoseconds.
    sum: u64,
    /// The sum of the squared deviations from the mean, in square nanoseconds.
    squares: f64,
}

packed_value!(Spread { count, min, max, sum, squares });

impl Spread {
    /// Adds a measurement.
    #[inline]
    pub fn add(&mut self, span: Duration) {
        let ns = span.as_nanos();
        if self.count == 0 {
            self.min = ns;
        } else {
            self.min = self.min.min(ns);
            // The method is Welford 1962, equation I, because a sum of squares would lose small
            // deviations.
            let count = self.count.cast_signed() as f64;
            let deviation = ns.cast_signed() as f64 - self.sum.cast_signed() as f64 / count;
            self.squares += deviation * deviation * (count / (count + 1.0));
        }
        self.max = self.max.max(ns);
        self.count += 1;
        self.sum = self.sum.saturating_add(ns);
    }

    /// The number of measurements.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// The shortest span, in nanoseconds.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.min)
    }

    /// The longest span, in nanoseconds.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count > 0).then_some(self.max)
    }

    /// The mean span, in nanoseconds.
    pub fn mean_ns(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The standard deviation of the sample (with *n* - 1), in nanoseconds. `None` for fewer than
    /// two measurements.
    pub fn deviation_ns(&self) -> Option<f64> {
        (self.count > 1).then(|| (self.squares / (self.count - 1) as f64).sqrt())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The spans alternate between 10 s and 10 s + 2 ns, so each span deviates from the mean by 1
    /// ns.
    #[test]
    fn small_deviations_from_a_long_mean_are_exact() {
        let mut spread = Spread::default();
        for n in 0..1000 {
            spread.add(Duration::from_nanos(10_000_000_000 + n % 2 * 2));
        }
        let deviation = (1000.0_f64 / 999.0).sqrt();
        assert!((spread.deviation_ns().unwrap() - deviation).abs() < 1e-3);
    }
}
