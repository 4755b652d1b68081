//! The error for a text or for values from which no distribution can be made.

use core::fmt;

use crate::place::did_you_mean;

/// A mistake in the text or the values of a distribution, and the fix.
///
/// ```
/// use netspurt::distribution::{Distribution, DistributionUnit};
/// let error = Distribution::parse("uniform:fom=1 kB", DistributionUnit::Octets).unwrap_err();
/// assert_eq!((error.name.as_str(), error.key.as_str()), ("uniform", "fom"));
/// assert_eq!(error.to_string(), "uniform: no key `fom`: did you mean `from`?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistributionError {
    /// The name of the distribution as written. For a plain quantity, this is the whole text. For
    /// an empirical distribution, it is `empirical`.
    pub name: String,
    /// The key with the mistake. The quantity after `every:` counts as the key `gap`, and an
    /// empirical distribution has the key `values`. The key is empty if the mistake is in the name
    /// or in a plain quantity.
    pub key: String,
    /// The value of the key as written. If the text gives no value, this is empty.
    pub value: String,
    /// The mistake.
    pub message: String,
    /// The fix: what to write or to change.
    pub fix: String,
}

impl DistributionError {
    pub(super) fn new(
        [name, key, value]: [&str; 3],
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        let [name, key, value] = [name, key, value].map(str::to_owned);
        Self { name, key, value, message: message.into(), fix: fix.into() }
    }

    /// Makes the error for a name or a key that is not one of `known`.
    pub(super) fn unknown(at: [&str; 3], message: String, known: &[&str]) -> Self {
        let [name, key, _] = at;
        let word = if key.is_empty() { name } else { key };
        let fix = did_you_mean(word, known.iter().copied());
        let all = || format!("write one of {}", known.join(", "));
        Self::new(at, message, fix.unwrap_or_else(all))
    }
}

impl fmt::Display for DistributionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.name)?;
        }
        write!(f, "{}: {}", self.message, self.fix)
    }
}

impl core::error::Error for DistributionError {}
