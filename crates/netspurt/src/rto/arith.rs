//! Integer arithmetic of the timer algorithms: ratios (gains, weights, factors) and smoothed times.

use core::fmt;
use core::str::FromStr;

use crate::packed::PackedValue;
use crate::units::Duration;

/// A ratio of two integers in its lowest terms, for example a gain, a weight or a factor.
///
/// ```
/// use netspurt::rto::Ratio;
/// use netspurt::units::Duration;
/// let beta = Ratio::new(3, 2);
/// assert_eq!(beta.of(Duration::from_millis(100)), Duration::from_millis(150));
/// assert_eq!("0.875".parse(), Ok(Ratio::new(7, 8)));
/// assert_eq!("14/16".parse::<Ratio>().unwrap().to_string(), "7/8");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    num: u64,
    den: u64,
}

/// The error of a text that is not a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("write a ratio of two numbers below 1000000000, as in `7/8` or `0.875`")]
pub struct RatioError;

/// The numerator of a ratio that is read from text is below this number. The denominator is at most
/// this number. Products of numbers up to this limit do not overflow.
const MOST: u64 = 1_000_000_000;

impl FromStr for Ratio {
    type Err = RatioError;

    fn from_str(text: &str) -> Result<Self, RatioError> {
        let number = |digits: &str| {
            let plain =
                (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| digits.parse().ok()).flatten().ok_or(RatioError)
        };
        let (num, den) = if let Some((num, den)) = text.split_once('/') {
            (number(num.trim())?, number(den.trim())?)
        } else if let Some((whole, decimals)) = text.split_once('.') {
            let den = 10_u64.pow(u32::try_from(decimals.len()).unwrap_or(u32::MAX).min(9));
            (number(whole)? * den + number(decimals)?, den)
        } else {
            (number(text)?, 1)
        };
        let ratio = (den > 0).then(|| Self::new(num, den)).ok_or(RatioError)?;
        if ratio.num < MOST { Ok(ratio) } else { Err(RatioError) }
    }
}

/// A ratio is written as a decimal if its denominator divides this number and is not a power of
/// two.
const DECIMALS: u64 = 1_000_000_000;

impl fmt::Display for Ratio {
    /// Writes a whole number without a denominator. Writes a ratio as a fraction if its denominator
    /// is a power of two. Writes any other ratio as a decimal if nine decimals are enough for its
    /// exact value, and otherwise as a fraction.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { num, den } = *self;
        match den {
            1 => write!(f, "{num}"),
            _ if !den.is_power_of_two() && DECIMALS.is_multiple_of(den) => {
                let decimals = format!("{:09}", num % den * (DECIMALS / den));
                write!(f, "{}.{}", num / den, decimals.trim_end_matches('0'))
            }
            _ => write!(f, "{num}/{den}"),
        }
    }
}

impl Ratio {
    /// The ratio `num / den`, in its lowest terms.
    ///
    /// # Panics
    /// When `den` is zero.
    pub const fn new(num: u64, den: u64) -> Self {
        assert!(den > 0, "the denominator of a ratio is zero");
        let (mut common, mut rest) = (den, num);
        while rest > 0 {
            (common, rest) = (rest, common % rest);
        }
        Self { num: num / common, den: den / common }
    }

    /// The ratio as a floating-point number.
    #[expect(clippy::cast_precision_loss, reason = "small terms are converted exactly")]
    pub(super) fn value(self) -> f64 {
        self.num as f64 / self.den as f64
    }

    /// The ratio times `span`, rounded down to a nanosecond.
    pub fn of(self, span: Duration) -> Duration {
        Duration::from_nanos(self.part(span.as_nanos()))
    }

    /// The ratio times `amount`, rounded down and limited to the greatest `u64`. Most products fit
    /// into 64 bits, so a division of 128-bit integers is rarely needed. Most gains have a power of
    /// two as denominator. For such gains, a shift replaces the division.
    pub(super) fn part(self, amount: u64) -> u64 {
        match amount.checked_mul(self.num) {
            Some(product) if self.den.is_power_of_two() => product >> self.den.trailing_zeros(),
            Some(product) => product / self.den,
            None => {
                let quotient = u128::from(amount) * u128::from(self.num) / u128::from(self.den);
                u64::try_from(quotient).unwrap_or(u64::MAX)
            }
        }
    }

    /// Whether the ratio is at most 1, as a gain or a weight must be.
    pub(super) const fn is_part(self) -> bool {
        self.num <= self.den
    }

    /// One minus the ratio, but at least 0. If the ratio is the weight of an old estimate, the
    /// result is the gain, which is the weight of the new sample.
    pub(super) const fn rest(self) -> Self {
        Self { num: self.den.saturating_sub(self.num), den: self.den }
    }

    /// The ratio divided by the number `parts`. The result need not be in its lowest terms.
    pub(super) const fn split(self, parts: u64) -> Self {
        Self { num: self.num, den: self.den.saturating_mul(parts) }
    }
}

/// A smoothed span, in 1024ths of a nanosecond. With this precision, rounding does not matter even
/// if the gain is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Smooth(u64);

impl PackedValue for Smooth {
    fn put(&self, into: &mut Vec<u8>) {
        self.0.put(into);
    }

    fn get(from: &mut &[u8]) -> Self {
        Self(u64::get(from))
    }
}

/// The number of bits below the nanosecond.
const FRACTION: u32 = 10;
/// The longest span, in nanoseconds: 104 days. Longer spans count as this span.
const LONGEST: u64 = 1 << 53;

impl Smooth {
    #[inline]
    pub(super) fn of(span: Duration) -> Self {
        Self(span.as_nanos().min(LONGEST) << FRACTION)
    }

    /// The span, rounded down to a nanosecond.
    pub(super) fn span(self) -> Duration {
        Duration::from_nanos(self.0 >> FRACTION)
    }

    pub(super) fn half(self) -> Self {
        Self(self.0 / 2)
    }

    /// The span times `n`.
    pub(super) fn times(self, n: u32) -> Duration {
        let ns = (u128::from(self.0) * u128::from(n)) >> FRACTION;
        Duration::from_nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    pub(super) fn distance(self, other: Self) -> Self {
        Self(self.0.abs_diff(other.0))
    }

    /// `self + gain · (target - self)`, for a gain of at most 1. The step is rounded towards zero.
    #[inline]
    pub(super) fn toward(self, target: Self, gain: Ratio) -> Self {
        let step = gain.part(self.0.abs_diff(target.0));
        if target >= self { Self(self.0 + step) } else { Self(self.0 - step) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_ratio_has_one_written_form_and_a_malformed_ratio_is_an_error() {
        for (text, written) in [
            ("7/8", "7/8"),
            ("0.875", "7/8"),
            ("0.9", "0.9"),
            ("2", "2"),
            ("2.0", "2"),
            ("0.08", "0.08"),
            ("1 / 3", "1/3"),
            ("0", "0"),
            ("1.025", "1.025"),
        ] {
            assert_eq!(text.parse::<Ratio>().unwrap().to_string(), written);
        }
        for wrong in
            ["", "1/0", "-1", "1/", ".5", "1.", "1e3", "1/2/3", "9999999999", "0.1234567890"]
        {
            assert_eq!(wrong.parse::<Ratio>(), Err(RatioError), "{wrong}");
        }
    }

    #[test]
    fn a_step_moves_by_the_gain_which_is_one_minus_the_weight() {
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
        fn the_text_of_a_ratio_reads_as_the_same_ratio(num in 0..MOST, den in 1..MOST) {
            let ratio = Ratio::new(num, den);
            prop_assert_eq!(ratio.to_string().parse(), Ok(ratio));
        }

        #[test]
        fn no_text_makes_the_parser_of_ratios_panic(text in "[0-9./ -]{0,24}|.{0,8}") {
            let _ = text.parse::<Ratio>();
        }

        #[test]
        fn a_part_is_the_quotient_rounded_down(amount in any::<u64>(), num in 0..MOST, den in 1..MOST) {
            let exact = u128::from(amount) * u128::from(num) / u128::from(den);
            let part = Ratio::new(num, den).part(amount);
            prop_assert_eq!(part, u64::try_from(exact).unwrap_or(u64::MAX));
        }

        #[test]
        fn a_step_ends_between_its_start_and_its_target(
            from in any::<u64>(), to in any::<u64>(), num in 0..100u64, more in 0..10_000u64,
        ) {
            let ns = |n| Smooth::of(Duration::from_nanos(n));
            let (from, to) = (ns(from), ns(to));
            let end = from.toward(to, Ratio::new(num, (num + more).max(1)));
            prop_assert!(end >= from.min(to) && end <= from.max(to));
            prop_assert_eq!(from.toward(to, Ratio::new(1, 1)), to);
        }
    }
}
