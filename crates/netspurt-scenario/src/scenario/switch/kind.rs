//! The kinds of values that switches have: how the values are read, written, bounded and described.
//! A switch is a named setting of TCP.

use core::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, Unexpected, Visitor};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use netspurt::congestion::{CongestionConfig, FOREIGN_CONGESTION};
use netspurt::foreign::ForeignError;
use netspurt::rto::{EstimatorConfig, FOREIGN_TIMERS};
use netspurt::units::pattern;
use netspurt::units::{ByteCount, Duration, SegmentCount, UnitError};

use super::super::reword::with_fix;
use super::value::SwitchValue;

/// One of the words that a switch takes.
#[derive(Clone, Copy, Debug)]
pub struct Word {
    /// The word.
    pub word: &'static str,
    /// Its meaning.
    pub doc: &'static str,
}

/// One of the keys of a switch's table.
#[derive(Debug)]
pub struct SwitchPart {
    /// The key.
    pub key: &'static str,
    /// Its meaning, in one line.
    pub doc: &'static str,
    /// The values that it takes.
    pub kind: SwitchKind,
    /// Whether the table must have this key.
    pub needed: bool,
}

/// What a number counts. The unit decides how the number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SwitchUnit {
    /// A plain number.
    Whole,
    /// Segments.
    Segments,
    /// Bytes.
    Bytes,
    /// Nanoseconds, written as a time.
    Time,
    /// Hundredths, written as a number with a fraction.
    Hundredths,
    /// Halves, written as a number with a fraction.
    Halves,
}

/// The values that a switch takes.
#[derive(Clone, Copy, Debug)]
pub enum SwitchKind {
    /// `true` or `false`.
    Flag,
    /// A number within bounds.
    Number {
        /// The unit.
        unit: SwitchUnit,
        /// The minimum.
        min: u64,
        /// The maximum.
        max: u64,
    },
    /// One of several words.
    Word(fn() -> Vec<Word>),
    /// One of several words, or a congestion control algorithm that is written in another language.
    Algorithm(fn() -> Vec<Word>),
    /// A timer as text, as in `linux:rto_min=50ms`.
    Timer,
    /// One of several words, or a table.
    WordOr(fn() -> Vec<Word>, &'static [SwitchPart]),
}

impl SwitchUnit {
    /// Reads a text with a number and this unit. Returns `None` for a unit that is written as a
    /// plain number.
    fn parse(self, text: &str) -> Option<Result<u64, UnitError>> {
        match self {
            Self::Segments => Some(text.parse().map(|SegmentCount(n)| n)),
            Self::Bytes => Some(text.parse().map(|ByteCount(n)| n)),
            Self::Time => Some(text.parse().map(Duration::as_nanos)),
            Self::Whole | Self::Hundredths | Self::Halves => None,
        }
    }

    /// The number of steps of this unit from 0 to 1: 100 for hundredths, 2 for halves.
    const fn steps(self) -> u32 {
        match self {
            Self::Hundredths => 100,
            Self::Halves => 2,
            _ => 1,
        }
    }

    /// Converts a number of this unit to a plain number.
    #[expect(clippy::cast_precision_loss, reason = "bounds lie far below 2^53")]
    fn fraction(self, number: u64) -> f64 {
        number as f64 / f64::from(self.steps())
    }

    /// The number in its text form.
    pub fn show(self, number: u64) -> String {
        match self {
            Self::Whole => number.to_string(),
            Self::Segments => SegmentCount(number).to_string(),
            Self::Bytes => ByteCount(number).to_string(),
            Self::Time => Duration::from_nanos(number).to_string(),
            Self::Hundredths | Self::Halves => self.fraction(number).to_string(),
        }
    }

    /// A text that says which numbers are allowed: the numbers from `min` to `max`.
    pub fn show_range(self, min: u64, max: u64) -> String {
        let (from, step) = (self.show(min), self.fraction(1));
        match self {
            Self::Time if max == u64::MAX && min == 0 => "a time".to_owned(),
            _ if max == u64::MAX => format!("at least `{from}`"),
            Self::Whole => format!("from {from} to {}", self.show(max)),
            Self::Hundredths | Self::Halves => {
                format!("from {from} to {} in steps of {step}", self.show(max))
            }
            _ => format!("from `{from}` to `{}`", self.show(max)),
        }
    }

    /// Checks that the number is within the bounds. The error is the mistake and its fix.
    pub fn within(self, number: u64, [min, max]: [u64; 2]) -> Result<(), [String; 2]> {
        if (min..=max).contains(&number) {
            return Ok(());
        }
        let message = format!("`{}` is out of range", self.show(number));
        Err([message, self.fix(min, max)])
    }

    /// The fix for a number that is not from `min` to `max`, or not a whole number of steps.
    fn fix(self, min: u64, max: u64) -> String {
        let value = if max == u64::MAX { "" } else { "a value " };
        format!("write {value}{}", self.show_range(min, max))
    }
}

impl SwitchKind {
    /// A plain count.
    pub const fn whole(min: u32, max: u32) -> Self {
        Self::Number { unit: SwitchUnit::Whole, min: min as u64, max: max as u64 }
    }

    /// A number of segments, at most [`pattern::SEGMENTS_MAX`].
    pub const fn segments(min: u64) -> Self {
        Self::Number { unit: SwitchUnit::Segments, min, max: pattern::SEGMENTS_MAX }
    }

    /// A number of bytes.
    pub const fn bytes(min: u64, max: u64) -> Self {
        Self::Number { unit: SwitchUnit::Bytes, min, max }
    }

    /// Any time.
    pub const TIME: Self = Self::Number { unit: SwitchUnit::Time, min: 0, max: u64::MAX };

    /// A time above zero.
    pub const TIME_ABOVE_ZERO: Self =
        Self::Number { unit: SwitchUnit::Time, min: 1, max: u64::MAX };

    /// Returns the words of the kind. The list is empty for a kind without words.
    pub fn words(&self) -> Vec<Word> {
        match self {
            Self::Word(words) | Self::Algorithm(words) | Self::WordOr(words, _) => words(),
            _ => Vec::new(),
        }
    }

    /// Returns the keys of the kind's table. The list is empty for a kind without a table.
    pub fn parts(&self) -> &'static [SwitchPart] {
        match self {
            Self::WordOr(_, parts) => parts,
            _ => &[],
        }
    }

    fn word(&self, text: &str) -> Option<&'static str> {
        self.words().iter().map(|known| known.word).find(|word| *word == text)
    }

    /// If `text` names an algorithm that is written in another language, returns this algorithm's
    /// text. `None` if the kind allows no such algorithm, or if `text` names none.
    fn foreign<E: de::Error>(&self, text: &str) -> Option<Result<&'static str, E>> {
        let Self::Algorithm(_) = self else { return None };
        let found = CongestionConfig::foreign(text)?;
        let to_error = |error: ForeignError| E::custom(with_fix(&error.message, &error.fix));
        Some(found.map(|algorithm| algorithm.name()).map_err(to_error))
    }

    /// Returns the JSON Schema of the values.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        match self {
            Self::Flag => json_schema!({ "type": "boolean" }),
            Self::Number { unit: SwitchUnit::Segments, min: 0, .. } => {
                json_schema!({ "type": "string", "pattern": pattern::SEGMENTS_OR_NONE })
            }
            Self::Number { unit: SwitchUnit::Segments, .. } => SegmentCount::json_schema(generator),
            Self::Number { unit: SwitchUnit::Bytes, .. } => ByteCount::json_schema(generator),
            Self::Number { unit: SwitchUnit::Time, min: 0, .. } => Duration::json_schema(generator),
            Self::Number { unit: SwitchUnit::Time, .. } => {
                super::super::quantity::above_zero(generator)
            }
            Self::Number { unit: SwitchUnit::Whole, min, max } => {
                json_schema!({ "type": "integer", "minimum": min, "maximum": max })
            }
            Self::Number { unit, min, max } => json_schema!({
                "type": "number",
                "minimum": unit.fraction(*min),
                "maximum": unit.fraction(*max),
            }),
            Self::Timer => timer_schema(),
            Self::Word(words) => words_schema(&words()),
            Self::Algorithm(words) => json_schema!({
                "anyOf": [words_schema(&words()), foreign_schema(&FOREIGN_CONGESTION.offered())]
            }),
            Self::WordOr(words, parts) => json_schema!({
                "anyOf": [words_schema(&words()), table_schema(parts, generator)]
            }),
        }
    }
}

fn timer_schema() -> Schema {
    let names = EstimatorConfig::NAMES.iter().chain(EstimatorConfig::ALIASES).copied();
    let names: Vec<&str> = names.collect();
    let own = json_schema!({
        "type": "string",
        "pattern": format!("^ *({}) *(:.+)?$", names.join("|")),
        "examples": ["rfc6298", "linux:rto_min=50ms"],
    });
    json_schema!({ "anyOf": [own, foreign_schema(&FOREIGN_TIMERS.offered())] })
}

/// Makes the JSON Schema for a text that names an algorithm from outside netspurt. The text is one
/// of the words `offered`, or a file or module with a name in it. Constants may follow.
fn foreign_schema(offered: &[String]) -> Schema {
    let place = "[^:=]+:[A-Za-z_][A-Za-z0-9_]* *(:.+)?";
    let pattern = match offered {
        [] => format!("^ *{place}$"),
        _ => format!("^ *({place}|({}) *(:.+)?)$", offered.join("|")),
    };
    json_schema!({
        "type": "string",
        "pattern": pattern,
        "examples": ["mine.py:Mine", "package.module:Mine:k=3"],
    })
}

fn words_schema(words: &[Word]) -> Schema {
    let one = |word: &Word| json_schema!({ "const": word.word, "description": word.doc });
    json_schema!({ "type": "string", "oneOf": words.iter().map(one).collect::<Vec<_>>() })
}

fn table_schema(parts: &[SwitchPart], generator: &mut SchemaGenerator) -> Schema {
    let mut properties = serde_json::Map::new();
    for part in parts {
        let mut schema = part.kind.schema(generator);
        schema.insert("description".to_owned(), part.doc.into());
        properties.insert(part.key.to_owned(), schema.to_value());
    }
    let needed: Vec<&str> = parts.iter().filter(|part| part.needed).map(|part| part.key).collect();
    json_schema!({
        "type": "object",
        "properties": properties,
        "required": needed,
        "additionalProperties": false,
    })
}

impl fmt::Display for SwitchKind {
    /// A description of the values for users.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |words: &[Word]| {
            let quoted: Vec<String> = words.iter().map(|w| format!("\"{}\"", w.word)).collect();
            quoted.join(", ")
        };
        match self {
            Self::Flag => f.write_str("`true` or `false`"),
            Self::Number { unit: SwitchUnit::Segments, .. } => {
                write!(f, "a number of segments in quotes, as in \"4 segments\"")
            }
            Self::Number { unit: SwitchUnit::Bytes, .. } => {
                f.write_str("a size in bytes in quotes, as in \"1000 B\"")
            }
            Self::Number { unit: SwitchUnit::Time, .. } => {
                f.write_str("a time in quotes, as in \"25 ms\"")
            }
            Self::Number { unit: SwitchUnit::Whole, min, max } => {
                write!(f, "a whole number {}", SwitchUnit::Whole.show_range(*min, *max))
            }
            Self::Number { unit, min, max } => {
                write!(f, "a number {}", unit.show_range(*min, *max))
            }
            Self::Timer => f.write_str("a timer in quotes, as in \"linux:rto_min=50ms\""),
            Self::Word(words) | Self::Algorithm(words) => {
                write!(f, "{}, in quotes", listed(&words()))
            }
            Self::WordOr(words, parts) => {
                let keys: Vec<String> =
                    parts.iter().map(|part| format!("`{}`", part.key)).collect();
                write!(f, "{}, or a table with {}", listed(&words()), keys.join(", "))
            }
        }
    }
}

impl<'de> DeserializeSeed<'de> for &SwitchKind {
    type Value = SwitchValue;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<SwitchValue, D::Error> {
        deserializer.deserialize_any(KindVisitor(self))
    }
}

struct KindVisitor<'a>(&'a SwitchKind);

impl KindVisitor<'_> {
    /// Reads a number that may have a fraction.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the bounds are checked"
    )]
    fn fraction<E: de::Error>(&self, unit: SwitchUnit, number: f64) -> Result<SwitchValue, E> {
        let SwitchKind::Number { min, max, .. } = *self.0 else {
            unreachable!("the switch takes a number")
        };
        let steps = number * f64::from(unit.steps());
        let steps_rounded = steps.round();
        let fits = (unit.fraction(min)..=unit.fraction(max)).contains(&number);
        let fault = if !fits {
            Some("is out of range")
        } else if (steps - steps_rounded).abs() > 1e-9 * steps_rounded.max(1.0) {
            Some("is between two steps")
        } else {
            None
        };
        if let Some(fault) = fault {
            let message = format!("{number:?} {fault}");
            return Err(E::custom(with_fix(&message, &unit.fix(min, max))));
        }
        Ok(SwitchValue::Number(steps_rounded as u64))
    }

    /// Reads a text with a number of `unit`.
    fn quantity<E: de::Error>(&self, unit: SwitchUnit, text: &str) -> Result<SwitchValue, E> {
        let SwitchKind::Number { min, max, .. } = *self.0 else {
            unreachable!("the switch takes a number")
        };
        let Some(read) = unit.parse(text) else {
            return Err(E::invalid_type(Unexpected::Str(text), self));
        };
        let number = read.map_err(E::custom)?;
        unit.within(number, [min, max])
            .map_err(|[message, fix]| E::custom(with_fix(&message, &fix)))?;
        Ok(SwitchValue::Number(number))
    }
}

impl<'de> Visitor<'de> for KindVisitor<'_> {
    type Value = SwitchValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.0, f)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<SwitchValue, E> {
        match self.0 {
            SwitchKind::Flag => Ok(SwitchValue::Flag(value)),
            _ => Err(E::invalid_type(Unexpected::Bool(value), &self)),
        }
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<SwitchValue, E> {
        match *self.0 {
            SwitchKind::Number { unit: SwitchUnit::Whole, min, max } => {
                let fits = u64::try_from(number).ok().filter(|n| (min..=max).contains(n));
                let fix = SwitchUnit::Whole.fix(min, max);
                let error = || E::custom(with_fix(&format!("`{number}` is out of range"), &fix));
                fits.map(SwitchValue::Number).ok_or_else(error)
            }
            #[expect(clippy::cast_precision_loss, reason = "large numbers are out of range")]
            SwitchKind::Number {
                unit: unit @ (SwitchUnit::Hundredths | SwitchUnit::Halves),
                ..
            } => self.fraction(unit, number as f64),
            // A number without quotes gets the same error as a text without a unit.
            SwitchKind::Number { unit, .. } => self.quantity(unit, &number.to_string()),
            SwitchKind::Word(_) | SwitchKind::Algorithm(_) | SwitchKind::Timer => Err(E::custom(
                with_fix(&format!("wrong type: `{number}` is not a word"), &self.0.to_string()),
            )),
            _ => Err(E::invalid_type(Unexpected::Signed(number), &self)),
        }
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<SwitchValue, E> {
        match *self.0 {
            SwitchKind::Number {
                unit: unit @ (SwitchUnit::Hundredths | SwitchUnit::Halves),
                ..
            } => self.fraction(unit, number),
            SwitchKind::Number {
                unit: unit @ (SwitchUnit::Segments | SwitchUnit::Bytes | SwitchUnit::Time),
                ..
            } => self.quantity(unit, &number.to_string()),
            _ => Err(E::invalid_type(Unexpected::Float(number), &self)),
        }
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<SwitchValue, E> {
        match self.0 {
            SwitchKind::Flag => Err(E::invalid_type(Unexpected::Str(text), &self)),
            SwitchKind::Number { unit, .. } => self.quantity(*unit, text),
            SwitchKind::Timer => match EstimatorConfig::parse(text) {
                Ok(_) => Ok(SwitchValue::Text(text.trim().to_owned())),
                Err(slip) => Err(E::custom(with_fix(&slip.message, &slip.fix))),
            },
            SwitchKind::Word(_) | SwitchKind::Algorithm(_) | SwitchKind::WordOr(..) => {
                let known = || {
                    let words = self.0.words();
                    let quoted: Vec<String> =
                        words.iter().map(|known| format!("`{}`", known.word)).collect();
                    quoted.join(", ")
                };
                let unknown =
                    || E::custom(format!("unknown variant `{text}`, expected one of {}", known()));
                let word = self.0.word(text).map(Ok).or_else(|| self.0.foreign(text));
                let word = word.unwrap_or_else(|| Err(unknown()))?;
                Ok(SwitchValue::Word(word))
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SwitchValue, A::Error> {
        let SwitchKind::WordOr(_, parts) = *self.0 else {
            return Err(de::Error::invalid_type(Unexpected::Map, &self));
        };
        let keys: Vec<&'static str> = parts.iter().map(|part| part.key).collect();
        let mut given = Vec::new();
        while let Some(at) = map.next_key_seed(KnownKey(&keys))? {
            given.push((parts[at].key, map.next_value_seed(&parts[at].kind)?));
        }
        for part in parts.iter().filter(|part| part.needed) {
            if !given.iter().any(|(key, _)| *key == part.key) {
                return Err(de::Error::missing_field(part.key));
            }
        }
        given.sort_by_key(|(key, _)| keys.iter().position(|known| known == key));
        Ok(SwitchValue::Table(given))
    }
}

/// Reads a key, and returns its index among the known keys. Any other key is an error.
pub(super) struct KnownKey<'a>(pub(super) &'a [&'static str]);

impl<'de> DeserializeSeed<'de> for KnownKey<'_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<usize, D::Error> {
        deserializer.deserialize_identifier(self)
    }
}

impl Visitor<'_> for KnownKey<'_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<usize, E> {
        self.0.iter().position(|known| *known == key).ok_or_else(|| {
            let known: Vec<String> = self.0.iter().map(|known| format!("`{known}`")).collect();
            E::custom(format!("unknown field `{key}`, expected one of {}", known.join(", ")))
        })
    }
}

/// Writes a value in the form that its kind has in scenarios.
pub struct Written<'a>(pub &'a SwitchKind, pub &'a SwitchValue);

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0, self.1) {
            (_, SwitchValue::Flag(on)) => serializer.serialize_bool(*on),
            (_, SwitchValue::Word(word)) => serializer.serialize_str(word),
            (_, SwitchValue::Text(text)) => serializer.serialize_str(text),
            (SwitchKind::Number { unit, .. }, SwitchValue::Number(number)) => match unit {
                SwitchUnit::Whole => serializer.serialize_u64(*number),
                SwitchUnit::Hundredths | SwitchUnit::Halves => {
                    serializer.serialize_f64(unit.fraction(*number))
                }
                _ => serializer.serialize_str(&unit.show(*number)),
            },
            (kind, SwitchValue::Table(given)) => {
                let mut map = serializer.serialize_map(Some(given.len()))?;
                for (key, value) in given {
                    let part = kind.parts().iter().find(|part| part.key == *key);
                    map.serialize_entry(key, &Written(&part.expect("a known key").kind, value))?;
                }
                map.end()
            }
            (_, SwitchValue::Number(_)) => unreachable!("a value has the kind of its switch"),
        }
    }
}
