//! Gains and smoothed spans, in integers.

use crate::units::Duration;

/// A ratio of two integers: a gain, a weight, a factor.
///
/// ```
/// use netspurt::rto::Ratio;
/// use netspurt::units::Duration;
/// let beta = Ratio::new(3, 2);
/// assert_eq!(beta.of(Duration::from_millis(100)), Duration::from_millis(150));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    num: u64,
    den: u64,
}

impl Ratio {
    /// `num / den`.
    ///
    /// # Panics
    /// When `den` is zero.
    pub const fn new(num: u64, den: u64) -> Self {
        assert!(den > 0, "a ratio to nothing");
        Self { num, den }
    }

    /// This much of `span`, rounded down to a nanosecond.
    pub fn of(self, span: Duration) -> Duration {
        let ns = u128::from(span.as_nanos()) * u128::from(self.num) / u128::from(self.den);
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// Whether it lies between 0 and 1, as gains and weights do.
    pub(super) const fn is_part(self) -> bool {
        self.num <= self.den
    }

    /// What it leaves of 1: the gain of a weight.
    pub(super) const fn rest(self) -> Self {
        Self { num: self.den.saturating_sub(self.num), den: self.den }
    }

    /// The `parts`th part of it.
    pub(super) const fn split(self, parts: u64) -> Self {
        Self { num: self.num, den: self.den.saturating_mul(parts) }
    }
}

/// A smoothed span, with ten bits below the nanosecond, so that small gains lose nothing that
/// matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Smooth(u64);

const FRACTION: u32 = 10;
/// Longer spans, of 104 days, count as this.
const LONGEST: u64 = 1 << 53;

impl Smooth {
    pub(super) fn of(span: Duration) -> Self {
        Self(span.as_nanos().min(LONGEST) << FRACTION)
    }

    /// Rounded down to a nanosecond.
    pub(super) fn span(self) -> Duration {
        Duration::from_nanos(self.0 >> FRACTION)
    }

    pub(super) fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// `n` times this.
    pub(super) fn times(self, n: u32) -> Duration {
        let ns = (u128::from(self.0) * u128::from(n)) >> FRACTION;
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    pub(super) fn distance(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// `self + gain · (target - self)`, for a gain up to 1; the step is rounded towards zero.
    pub(super) fn toward(self, target: Self, gain: Ratio) -> Self {
        let step = u128::from(self.0.abs_diff(target.0)) * u128::from(gain.num);
        // The quotient of a part is no larger than the distance, so it fits.
        let step = u64::try_from(step / u128::from(gain.den)).unwrap_or(u64::MAX);
        if target >= self { Self(self.0 + step) } else { Self(self.0 - step) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_weight_and_its_gain_make_one() {
        let weight = Ratio::new(15, 16);
        assert_eq!(weight.rest(), Ratio::new(1, 16));
        assert_eq!(weight.rest().split(3), Ratio::new(1, 48));
        assert!(weight.is_part() && Ratio::new(1, 1).is_part() && !Ratio::new(2, 1).is_part());
        let ms = Duration::from_millis;
        assert_eq!(
            Smooth::of(ms(100)).toward(Smooth::of(ms(180)), Ratio::new(1, 8)).span(),
            ms(110)
        );
        assert_eq!(
            Smooth::of(ms(180)).toward(Smooth::of(ms(100)), Ratio::new(1, 8)).span(),
            ms(170)
        );
    }

    proptest! {
        #[test]
        fn a_step_lies_between_where_it_starts_and_where_it_goes(
            from in any::<u64>(), to in any::<u64>(), num in 0..100u64, more in 0..10_000u64,
        ) {
            let ns = |n| Smooth::of(Duration::from_nanos(n));
            let (from, to) = (ns(from), ns(to));
            let there = from.toward(to, Ratio::new(num, (num + more).max(1)));
            prop_assert!(there >= from.min(to) && there <= from.max(to));
            prop_assert_eq!(from.toward(to, Ratio::new(1, 1)), to);
        }
    }
}
