//! The keys of an algorithm: its constants by name, their text forms, and which of them contradict
//! each other.

use core::fmt;

use crate::place::did_you_mean;
use crate::units::{ByteCount, Duration};

use super::arith::Ratio;
use super::mean::Deviations;

/// A constant of an algorithm, to be read or written. Its type says how people write it.
pub(super) enum Constant<'a> {
    Span(&'a mut Duration),
    MaybeSpan(&'a mut Option<Duration>),
    Ratio(&'a mut Ratio),
    Count(&'a mut u32),
    /// A number in halves.
    Halves(&'a mut u32),
    MaybeBytes(&'a mut Option<u64>),
    MaybeSeed(&'a mut Option<u64>),
    Switch(&'a mut bool),
    Deviations(&'a mut Deviations),
}

/// A text's name, and the settings behind it if there are any.
pub(super) fn name_and_settings(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        None => (text.trim(), None),
        Some((name, settings)) => (name.trim(), Some(settings)),
    }
}

/// Reads `settings`, as in `key=value,...`, over the constants of the algorithm called `name`, and
/// returns the keys that were given.
///
/// # Errors
/// An unknown key or one given twice, a malformed value, or no settings at all.
pub(super) fn read_settings(
    keys: &mut dyn Keys,
    name: &str,
    settings: Option<&str>,
) -> Result<Vec<&'static str>, EstimatorError> {
    if settings.is_some_and(|settings| settings.trim().is_empty()) {
        let message = format!("nothing stands after `{name}:`");
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

/// Reads `key=value` over what stands, and returns the key.
fn read_setting(
    keys: &mut dyn Keys,
    name: &str,
    setting: &str,
) -> Result<&'static str, EstimatorError> {
    let Some((key, value)) = setting.split_once('=') else {
        let message = format!("`{}` is no setting", setting.trim());
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

/// What the constants of an algorithm offer to those who name them.
pub(super) trait Keys {
    /// Every constant under the name of its field.
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)>;

    /// The names of those that are the first timer, the least and the greatest.
    fn bounds(&self) -> [Option<&'static str>; 3] {
        [Some("initial"), Some("min"), Some("max")]
    }

    /// Whether the constants make sense together.
    ///
    /// # Errors
    /// The key to blame, and what would be right.
    fn check(&self) -> Result<(), Contradiction>;
}

/// Constants that cannot stand together: the key to blame, what is wrong, what would be right.
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

/// The constants, or a panic where they contradict each other: what every algorithm's `new` begins
/// with.
pub(super) fn checked<C: Keys>(config: C) -> C {
    if let Err(contradiction) = config.check() {
        panic!("{contradiction}");
    }
    config
}

/// A gain or a weight lies between 0 and 1.
pub(super) fn part(key: &'static str, ratio: Ratio) -> Result<(), Contradiction> {
    if ratio.is_part() {
        return Ok(());
    }
    let message = format!("{ratio} is above 1");
    Err(Contradiction { key, message, fix: "write a ratio from 0 to 1".into() })
}

/// A unit is not nothing.
pub(super) fn above_zero(key: &'static str, span: Duration) -> Result<(), Contradiction> {
    if !span.is_zero() {
        return Ok(());
    }
    let message = "a unit of nothing".into();
    Err(Contradiction { key, message, fix: "write a time above zero".into() })
}

/// A number is not nothing.
pub(super) fn some(key: &'static str, number: u32) -> Result<(), Contradiction> {
    if number > 0 {
        return Ok(());
    }
    Err(Contradiction { key, message: "none at all".into(), fix: "write a number from 1".into() })
}

/// Bounds are not crossed.
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
    /// What to write instead.
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
                    _ => return Err("write `2`, as in 1988, or `4`".into()),
                }
            }
        }
        Ok(())
    }

    /// Writes the constant so that it reads as it is.
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

    /// The span, of a key that is a bound.
    pub(super) fn span(&self) -> Option<Duration> {
        match self {
            Self::Span(span) => Some(**span),
            Self::MaybeSpan(span) => **span,
            _ => None,
        }
    }

    /// Sets the span of a key that is a bound.
    pub(super) fn set_span(&mut self, to: Duration) {
        match self {
            Self::Span(span) => **span = to,
            Self::MaybeSpan(span) => **span = Some(to),
            _ => {}
        }
    }
}

/// A number in steps of a half, as a count of halves.
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

/// A whole number in digits.
fn plain(text: &str, most: u64) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse().ok().filter(|n| digits && *n <= most)
}

macro_rules! slot_of {
    ($($type:ty => $variant:ident),+) => {$(
        impl<'a> From<&'a mut $type> for Constant<'a> {
            fn from(constant: &'a mut $type) -> Self {
                Self::$variant(constant)
            }
        }
    )+};
}

slot_of!(
    Duration => Span, Option<Duration> => MaybeSpan, Ratio => Ratio, u32 => Count,
    Option<u64> => MaybeSeed, bool => Switch, Deviations => Deviations
);

/// What is wrong with the text of a timer, and what to write.
///
/// ```
/// use netspurt::rto::EstimatorConfig;
/// let slip = EstimatorConfig::parse("mills:fallng=15/16").unwrap_err();
/// assert_eq!((slip.algorithm.as_str(), slip.key.as_str()), ("mills", "fallng"));
/// assert_eq!(slip.to_string(), "mills: no key `fallng`: did you mean `falling`?");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EstimatorError {
    /// The algorithm as it was named.
    pub algorithm: String,
    /// The key to blame; empty where it is the name of the algorithm.
    pub key: String,
    /// Its value as it was written, or as it stands; empty where there is none.
    pub value: String,
    /// What is wrong.
    pub message: String,
    /// What to write: the nearest known name, or a value that would do.
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

    /// Of a name that is none of `known`.
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

/// A span as one word, which a shell leaves whole.
fn unspaced(span: Duration) -> String {
    span.to_string().replace(' ', "")
}
