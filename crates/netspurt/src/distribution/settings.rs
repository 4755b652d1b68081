//! The settings in the text of a distribution: keys with quantities, numbers and rates. In
//! `uniform:from=1 kB,to=20 kB`, the settings are `from` and `to`.

use core::ops::RangeInclusive;

use crate::units::{ByteCount, Duration};

use super::error::DistributionError;
use super::family::DistributionUnit;

/// A key, and a function that makes a result from the quantity of this key.
type Maker<'a, T> = (&'a str, fn(f64) -> T);

/// The settings that follow a name: `key=value,...`.
pub(super) struct Settings<'a> {
    pub(super) name: &'a str,
    pub(super) unit: DistributionUnit,
    /// A correct text, for error messages.
    pub(super) example: String,
    given: Vec<(&'a str, &'a str)>,
}

impl<'a> Settings<'a> {
    /// Reads the settings in `text`. Only the keys `known` are allowed.
    ///
    /// # Errors
    /// When a key is unknown or given twice, or when a part is not `key=value`.
    pub(super) fn read(
        (name, text): (&'a str, Option<&'a str>),
        unit: DistributionUnit,
        known: &[&str],
        example: String,
    ) -> Result<Self, DistributionError> {
        let mut given: Vec<(&str, &str)> = Vec::new();
        for setting in text.iter().flat_map(|text| text.split(',')) {
            let Some((key, value)) = setting.split_once('=') else {
                let message = format!("`{}` is not a setting", setting.trim());
                return Err(DistributionError::new(
                    [name, setting.trim(), ""],
                    message,
                    as_in(&example),
                ));
            };
            let (key, value) = (key.trim(), value.trim());
            if !known.contains(&key) {
                let message = format!("no key `{key}`");
                return Err(if known.is_empty() {
                    DistributionError::new([name, key, value], message, format!("write `{name}`"))
                } else {
                    DistributionError::unknown([name, key, value], message, known)
                });
            }
            if given.iter().any(|(other, _)| *other == key) {
                let message = format!("`{key}` is given twice");
                return Err(DistributionError::new([name, key, value], message, "leave one out"));
            }
            given.push((key, value));
        }
        Ok(Self { name, unit, example, given })
    }

    fn value(&self, key: &str) -> Option<&'a str> {
        self.given.iter().find(|(known, _)| *known == key).map(|(_, value)| *value)
    }

    fn needed(&self, key: &str) -> Result<&'a str, DistributionError> {
        self.value(key)
            .ok_or_else(|| self.refuse(key, format!("`{key}` is missing"), as_in(&self.example)))
    }

    /// Makes the error about the value of `key`.
    pub(super) fn refuse(
        &self,
        key: &str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> DistributionError {
        let value = self.value(key).unwrap_or_default();
        DistributionError::new([self.name, key, value], message, fix)
    }

    fn cannot_be(&self, key: &str, fix: String) -> DistributionError {
        let value = self.value(key).unwrap_or_default();
        self.refuse(key, format!("`{key}` cannot be `{value}`"), fix)
    }

    /// Reads a required quantity in the distribution's unit.
    pub(super) fn quantity(&self, key: &str) -> Result<f64, DistributionError> {
        let read = quantity(self.needed(key)?, self.unit);
        read.map_err(|fix| self.cannot_be(key, fix))
    }

    /// Reads a required quantity above zero.
    pub(super) fn positive(&self, key: &str) -> Result<f64, DistributionError> {
        let read = self.quantity(key)?;
        if read > 0.0 { Ok(read) } else { Err(self.cannot_be(key, "write more than zero".into())) }
    }

    /// Reads a quantity above zero, if its key is given.
    pub(super) fn maybe_positive(&self, key: &str) -> Result<Option<f64>, DistributionError> {
        self.value(key).map(|_| self.positive(key)).transpose()
    }

    /// Reads a quantity above zero from one of two keys, and passes it to the function that belongs
    /// to that key. If both keys or neither key is given, the result is an error.
    pub(super) fn either<T>(
        &self,
        [(a, of_a), (b, of_b)]: [Maker<'_, T>; 2],
    ) -> Result<T, DistributionError> {
        match [self.maybe_positive(a)?, self.maybe_positive(b)?] {
            [Some(value), None] => Ok(of_a(value)),
            [None, Some(value)] => Ok(of_b(value)),
            [None, None] => Err(self.refuse(
                a,
                format!("neither `{a}` nor `{b}` is given"),
                as_in(&self.example),
            )),
            [Some(_), Some(_)] => {
                Err(self.refuse(b, format!("`{a}` and `{b}` are both given"), "leave one out"))
            }
        }
    }

    /// Reads a required number without a unit, within bounds.
    pub(super) fn number(
        &self,
        key: &str,
        bounds: RangeInclusive<f64>,
    ) -> Result<f64, DistributionError> {
        let number = decimal(self.needed(key)?).filter(|number| bounds.contains(number));
        number.ok_or_else(|| {
            let fix = format!("write a number from {} to {}", bounds.start(), bounds.end());
            self.cannot_be(key, fix)
        })
    }

    /// Reads the required rate, in 1/s, within bounds.
    pub(super) fn rate(&self, bounds: RangeInclusive<f64>) -> Result<f64, DistributionError> {
        let number = self.needed("rate")?.strip_suffix("/s").and_then(|text| decimal(text.trim()));
        number.filter(|number| bounds.contains(number)).ok_or_else(|| {
            let fix = format!("write a rate from `{}/s` to `{}/s`", bounds.start(), bounds.end());
            self.cannot_be("rate", fix)
        })
    }
}

/// Makes the fix for an error message. The fix says to write the text as in `example`.
pub(super) fn as_in(example: &str) -> String {
    format!("write it as in `{example}`")
}

/// Reads a quantity of `unit`. Returns it in the base unit: octets, nanoseconds or a count.
///
/// # Errors
/// When the text is not such a quantity, or when the quantity is out of range. The error says what
/// to write instead.
#[expect(clippy::cast_precision_loss, reason = "larger values are refused")]
pub(super) fn quantity(text: &str, unit: DistributionUnit) -> Result<f64, String> {
    let read = match unit {
        DistributionUnit::Octets => text.parse().map(|ByteCount(octets)| octets as f64),
        DistributionUnit::Span | DistributionUnit::Gap => {
            text.parse().map(|span: Duration| span.as_nanos() as f64)
        }
        DistributionUnit::Count => {
            return decimal(text)
                .filter(|count| (1.0..=MOST_COUNT).contains(count))
                .ok_or_else(|| format!("write a number from 1 to {MOST_COUNT}"));
        }
    };
    let read = read.map_err(|e| e.to_string())?;
    if read <= DistributionUnit::MOST {
        return Ok(read);
    }
    Err(format!("write at most `{}`", written(DistributionUnit::MOST, unit)))
}

const MOST_COUNT: f64 = 1e9;

/// Writes a quantity that is given in its base unit, in a form that [`quantity`] reads.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the value is whole and limited"
)]
pub(super) fn written(value: f64, unit: DistributionUnit) -> String {
    match unit {
        DistributionUnit::Octets => ByteCount(value as u64).to_string(),
        DistributionUnit::Span | DistributionUnit::Gap => {
            Duration::from_nanos(value as u64).to_string()
        }
        DistributionUnit::Count => value.to_string(),
    }
}

/// Reads a decimal number: digits, and at most one point between digits.
fn decimal(text: &str) -> Option<f64> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let plain = match text.split_once('.') {
        None => digits(text),
        Some((whole, fraction)) => digits(whole) && digits(fraction),
    };
    if plain { text.parse().ok() } else { None }
}
