//! The mean, the deviation and the extremes of measured spans of time.

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
    /// The shortest and the longest span, and the sum of all spans, in nanoseconds.
    min: u64,
    max: u64,
    sum: u64,
    /// The sum of the squares of the spans in milliseconds. Its rounding errors matter only if the
    /// standard deviation is about a millionth of the mean, or less.
    squares: f64,
}

packed_value!(Spread { count, min, max, sum, squares });

impl Spread {
    /// Adds a measurement.
    #[inline]
    pub fn add(&mut self, span: Duration) {
        let ns = span.as_nanos();
        self.min = if self.count == 0 { ns } else { self.min.min(ns) };
        self.max = self.max.max(ns);
        self.count += 1;
        self.sum = self.sum.saturating_add(ns);
        let ms = ns as f64 / 1e6;
        self.squares += ms * ms;
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
        let count = self.count as f64;
        let mean_ms = self.mean_ns()? / 1e6;
        let squares = (self.squares - count * mean_ms * mean_ms).max(0.0);
        (self.count > 1).then(|| (squares / (count - 1.0)).sqrt() * 1e6)
    }
}
