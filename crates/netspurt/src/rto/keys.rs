//! The keys of a retransmission timer algorithm: its constants by name, the texts of their values,
//! and the checks that the values do not contradict each other. In `linux:rto_min=50ms`, the key is
//! `rto_min`.

use core::fmt;

use crate::place::did_you_mean;
use crate::units::{ByteCount, Duration};

use super::arith::Ratio;
use super::mean::Deviations;

/// A reference to a constant of an algorithm. The constant can be read from text and written as
/// text. The variant decides the form of the text.
pub(super) enum Constant<'a> {
    Span(&'a mut Duration),
    MaybeSpan(&'a mut Option<Duration>),
    Ratio(&'a mut Ratio),
    Count(&'a mut u32),
    /// A number of halves: 5 is written as `2.5`.
    Halves(&'a mut u32),
    MaybeBytes(&'a mut Option<u64>),
    MaybeSeed(&'a mut Option<u64>),
    Switch(&'a mut bool),
    Deviations(&'a mut Deviations),
}

/// Divides `name:settings` at the colon. Without a colon, the settings are `None`.
pub(super) fn name_and_settings(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        None => (text.trim(), None),
        Some((name, settings)) => (name.trim(), Some(settings)),
    }
}

/// Sets constants of the algorithm `name` from `settings`, as in `key=value,...`, and returns the
/// keys that were given.
///
/// # Errors
/// When a key is unknown or given twice, a setting has no `=`, a value is malformed, or there are
/// no settings after the colon.
pub(super) fn read_settings(
    keys: &mut dyn Keys,
    name: &str,
    settings: Option<&str>,
) -> Result<Vec<&'static str>, EstimatorError> {
    if settings.is_some_and(|settings| settings.trim().is_empty()) {
        let message = format!("there are no settings after `{name}:`");
        return Err(EstimatorError::new(name, "", "", message, format!("write `{name}`")));
    }
    let mut given = Vec::new();
    for setting in settings.iter().flat_map(|settings| settings.split(',')) {
        let key = read_setting(keys, name, setting)?;
        if given.contains(&key) {
            let (message, fix) = (format!("`{key}` is given twice"), "leave one out".into());
            return Err(EstimatorError::new(name, key, "", message, fix));
        }
        given.push(key);
    }
    Ok(given)
}

/// Sets one constant from `key=value`, and returns the key.
fn read_setting(
    keys: &mut dyn Keys,
    name: &str,
    setting: &str,
) -> Result<&'static str, EstimatorError> {
    let Some((key, value)) = setting.split_once('=') else {
        let message = format!("`{}` is not a setting", setting.trim());
        let fix = format!("write `{name}`, or `{name}:key=value,...`");
        return Err(EstimatorError::new(name, setting.trim(), "", message, fix));
    };
    let (key, value) = (key.trim(), value.trim());
    let mut constants = keys.keys();
    let known: Vec<&str> = constants.iter().map(|(known, _)| *known).collect();
    let Some((key, constant)) = constants.iter_mut().find(|(known, _)| *known == key) else {
        let message = format!("no key `{key}`");
        return Err(EstimatorError::unknown(name, key, value, message, &known));
    };
    constant.read(value).map_err(|fix| {
        let message = format!("`{key}` cannot be `{value}`");
        EstimatorError::new(name, key, value, message, fix)
    })?;
    Ok(key)
}

/// Gives access to the constants of an algorithm by their names.
pub(super) trait Keys {
    /// Every constant with its key, which is its name in texts.
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)>;

    /// The names of the constants for the first, the minimum and the maximum RTO. A name is `None`
    /// if the algorithm has no such constant. In QUIC and ns-3, the first constant is a round trip.
    /// The first RTO is computed from this round trip.
    fn bounds(&self) -> [Option<&'static str>; 3] {
        [Some("initial"), Some("min"), Some("max")]
    }

    /// Checks that each constant is in its range, and that constants do not contradict each other.
    ///
    /// # Errors
    /// When a constant is out of its range, or constants contradict each other. The error names the
    /// key with the wrong value, and says which values are correct.
    fn check(&self) -> Result<(), Contradiction>;
}

/// Lists every field of a configuration as a constant with the field's name. If a field is missing
/// from the list, the code does not compile.
macro_rules! by_name {
    ($config:expr => $($name:ident),+) => {{
        let Self { $($name),+ } = $config;
        vec![$((stringify!($name), $crate::rto::keys::Constant::from($name))),+]
    }};
}

pub(super) use by_name;

/// The error for a constant that is out of its range or contradicts another constant: its key, the
/// mistake, and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Contradiction {
    pub(super) key: &'static str,
    pub(super) message: String,
    pub(super) fix: String,
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}: {}", self.key, self.message, self.fix)
    }
}

/// Checks the constants and returns them. The `new` of every algorithm calls this function, except
/// the `new` of [`Quic`](super::Quic), which accepts all values.
///
/// # Panics
/// When a constant is out of its range, or constants contradict each other.
pub(super) fn checked<C: Keys>(config: C) -> C {
    if let Err(contradiction) = config.check() {
        panic!("{contradiction}");
    }
    config
}

/// Checks that a gain or a weight is from 0 to 1.
pub(super) fn part(key: &'static str, ratio: Ratio) -> Result<(), Contradiction> {
    if ratio.is_part() {
        return Ok(());
    }
    let message = format!("{ratio} is above 1");
    Err(Contradiction { key, message, fix: "write a ratio from 0 to 1".into() })
}

/// Checks that a time is above zero.
pub(super) fn above_zero(key: &'static str, span: Duration) -> Result<(), Contradiction> {
    if !span.is_zero() {
        return Ok(());
    }
    let message = "the time is zero".into();
    Err(Contradiction { key, message, fix: "write a time above zero".into() })
}

/// Checks that a number is above zero.
pub(super) fn count_above_zero(key: &'static str, number: u32) -> Result<(), Contradiction> {
    if number > 0 {
        return Ok(());
    }
    Err(Contradiction {
        key,
        message: "the value is zero".into(),
        fix: "write a number of at least 1".into(),
    })
}

/// Checks that the lower bound is not above the upper bound.
pub(super) fn ordered(
    (key, least): (&'static str, Duration),
    (upper, most): (&'static str, Duration),
) -> Result<(), Contradiction> {
    if least <= most {
        return Ok(());
    }
    let message = format!("{least} is above `{upper}`, {most}");
    Err(Contradiction { key, message, fix: format!("write at most {most}, or raise `{upper}`") })
}

impl Constant<'_> {
    /// Reads the constant from text.
    ///
    /// # Errors
    /// When the text is malformed. The error says which form is valid.
    pub(super) fn read(&mut self, text: &str) -> Result<(), String> {
        match self {
            Self::Span(span) => **span = text.parse().map_err(|e| format!("{e}"))?,
            Self::MaybeSpan(span) if text == "none" => **span = None,
            Self::MaybeSpan(span) => {
                let read = text.parse().map_err(|e| format!("{e}, or `none`"))?;
                **span = Some(read);
            }
            Self::Ratio(ratio) => **ratio = text.parse().map_err(|e| format!("{e}"))?,
            Self::Count(count) => {
                **count = plain(text, u64::from(u32::MAX))
                    .and_then(|n| u32::try_from(n).ok())
                    .ok_or("write a whole number from 0 to 4294967295")?;
            }
            Self::Halves(halves) => {
                **halves =
                    in_halves(text).ok_or("write a number in steps of a half, as in `2.5`")?;
            }
            Self::MaybeBytes(bytes) if text == "none" => **bytes = None,
            Self::MaybeBytes(bytes) => {
                let read: ByteCount = text.parse().map_err(|e| format!("{e}, or `none`"))?;
                **bytes = Some(read.0);
            }
            Self::MaybeSeed(seed) if text == "none" => **seed = None,
            Self::MaybeSeed(seed) => {
                let most = i64::MAX as u64;
                let read = plain(text, most).ok_or("write a whole number below 2^63, or `none`")?;
                **seed = Some(read);
            }
            Self::Switch(switch) => {
                **switch = match text {
                    "true" => true,
                    "false" => false,
                    _ => return Err("write `true` or `false`".into()),
                }
            }
            Self::Deviations(deviations) => {
                **deviations = match text {
                    "2" => Deviations::Two,
                    "4" => Deviations::Four,
                    _ => return Err("write `2` (Jacobson 1988) or `4` (later BSD)".into()),
                }
            }
        }
        Ok(())
    }

    /// Writes the constant as a text from which [`read`](Self::read) reads the same value.
    pub(super) fn write(&self) -> String {
        let none = || "none".to_owned();
        match self {
            Self::Span(span) => unspaced(**span),
            Self::MaybeSpan(span) => span.map_or_else(none, unspaced),
            Self::Ratio(ratio) => ratio.to_string(),
            Self::Count(count) => count.to_string(),
            Self::Halves(halves) => (f64::from(**halves) / 2.0).to_string(),
            Self::MaybeBytes(bytes) => {
                bytes.map_or_else(none, |bytes| ByteCount(bytes).to_string().replace(' ', ""))
            }
            Self::MaybeSeed(seed) => seed.map_or_else(none, |seed| seed.to_string()),
            Self::Switch(switch) => switch.to_string(),
            Self::Deviations(Deviations::Two) => "2".to_owned(),
            Self::Deviations(Deviations::Four) => "4".to_owned(),
        }
    }

    /// The span. The result is `None` if the constant is not a span, or is an optional span without
    /// a value.
    pub(super) fn span(&self) -> Option<Duration> {
        match self {
            Self::Span(span) => Some(**span),
            Self::MaybeSpan(span) => **span,
            _ => None,
        }
    }

    /// Sets the constant to the span `to`, if the constant is a span.
    pub(super) fn set_span(&mut self, to: Duration) {
        match self {
            Self::Span(span) => **span = to,
            Self::MaybeSpan(span) => **span = Some(to),
            _ => {}
        }
    }
}

/// Reads a number in steps of a half, and returns the count of halves.
fn in_halves(text: &str) -> Option<u32> {
    let (whole, half) = text.split_once('.').unwrap_or((text, "0"));
    let half = match half.trim_end_matches('0') {
        "" => 0,
        "5" => 1,
        _ => return None,
    };
    let whole = plain(whole, u64::from(u32::MAX / 2))?;
    u32::try_from(2 * whole + half).ok()
}

/// Reads a whole number that is at most the limit `most`, written in digits alone.
fn plain(text: &str, most: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|n| digits && *n <= most)
}

/// Says which variant of [`Constant`] refers to a field of each type.
macro_rules! variant_of {
    ($($type:ty => $variant:ident),+) => {$(
        impl<'a> From<&'a mut $type> for Constant<'a> {
            fn from(constant: &'a mut $type) -> Self {
                Self::$variant(constant)
            }
        }
    )+};
}

variant_of!(
    Duration => Span, Option<Duration> => MaybeSpan, Ratio => Ratio, u32 => Count,
    Option<u64> => MaybeSeed, bool => Switch, Deviations => Deviations
);

/// A mistake in the text of a timer, and the fix.
///
/// ```
/// use netspurt::rto::EstimatorConfig;
/// let error = EstimatorConfig::parse("mills:fallng=15/16").unwrap_err();
/// assert_eq!((error.algorithm.as_str(), error.key.as_str()), ("mills", "fallng"));
/// assert_eq!(error.to_string(), "mills: no key `fallng`: did you mean `falling`?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstimatorError {
    /// The name of the algorithm as it was written. If a constant is out of its range or
    /// contradicts another constant, this is the algorithm's own name, even if an alias was
    /// written.
    pub algorithm: String,
    /// The key that is wrong. The key is empty if the name of the algorithm is wrong or no settings
    /// follow the colon.
    pub key: String,
    /// The value of the key: the written text, or the value of a constant that is out of its range
    /// or contradicts another constant. Empty if the error is not about one value.
    pub value: String,
    /// The mistake.
    pub message: String,
    /// The fix, for example the most similar known name or a valid value.
    pub fix: String,
}

impl EstimatorError {
    pub(super) fn new(
        algorithm: &str,
        key: &str,
        value: &str,
        message: String,
        fix: String,
    ) -> Self {
        let (algorithm, key, value) = (algorithm.to_owned(), key.to_owned(), value.to_owned());
        Self { algorithm, key, value, message, fix }
    }

    /// The error for a name that is not one of `known`.
    pub(super) fn unknown(
        algorithm: &str,
        key: &str,
        value: &str,
        message: String,
        known: &[&str],
    ) -> Self {
        let word = if key.is_empty() { algorithm } else { key };
        let fix = did_you_mean(word, known.iter().copied());
        let all = || format!("write one of {}", known.join(", "));
        Self::new(algorithm, key, value, message, fix.unwrap_or_else(all))
    }
}

impl fmt::Display for EstimatorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.algorithm)?;
        }
        write!(f, "{}: {}", self.message, self.fix)
    }
}

impl core::error::Error for EstimatorError {}

/// Writes a span without spaces, so that a shell reads the span as one word.
fn unspaced(span: Duration) -> String {
    span.to_string().replace(' ', "")
}
