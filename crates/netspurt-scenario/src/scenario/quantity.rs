//! Reads and writes two kinds of values of scenario files: amounts, and values with alternative
//! forms (a word or a table, one value or two).

use core::fmt::{self, Display};
use core::marker::PhantomData;
use core::str::FromStr;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{
    BoolDeserializer, F64Deserializer, I64Deserializer, MapAccessDeserializer, StrDeserializer,
};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use netspurt::units::{ByteCount, Duration, Quantity, UnitError};

/// The schema of a time above zero.
pub(super) fn above_zero(_: &mut SchemaGenerator) -> Schema {
    let mut schema = Duration::schema();
    schema.insert("allOf".to_owned(), serde_json::json!([{"pattern": "[1-9]"}]));
    schema
}

/// A count, a number of bytes, or no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Amount<C> {
    /// A count.
    Count(C),
    /// A number of bytes.
    Bytes(ByteCount),
    /// No limit.
    Unlimited,
}

impl<C: Quantity> FromStr for Amount<C> {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        if text.trim_matches(' ') == "unlimited" {
            return Ok(Self::Unlimited);
        }
        let count = match text.parse() {
            Ok(count) => return Ok(Self::Count(count)),
            Err(slip) => slip,
        };
        // If the text looks like a size in bytes, the result is the error of reading a size. If it
        // looks like a count, the result is the error of reading a count. Otherwise the fix has all
        // three forms.
        text.parse().map(Self::Bytes).map_err(|bytes: UnitError| match (&bytes, &count) {
            (UnitError::WrongUnit { hint, .. }, _) if is_specific(hint) => bytes,
            (UnitError::OutOfRange { .. }, _) => bytes,
            (_, UnitError::WrongUnit { hint, .. }) if is_specific(hint) => count,
            (_, UnitError::OutOfRange { .. } | UnitError::MissingUnit { .. }) => count,
            _ => {
                let hint = format!("`{}`, a size such as `1000 B`, or `unlimited`", C::EXAMPLE);
                UnitError::WrongUnit { text: text.to_owned(), what: "an amount", hint }
            }
        })
    }
}

/// Whether the hint of an error fits the text: it corrects the unit, or asks for a whole number.
fn is_specific(hint: &str) -> bool {
    hint.starts_with('`') || hint.starts_with("a whole number")
}

impl<C: Display> Display for Amount<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Bytes(bytes) => bytes.fmt(f),
            Self::Unlimited => f.write_str("unlimited"),
        }
    }
}

impl<C: Quantity> Quantity for Amount<C> {
    const NAME: &'static str = C::AMOUNT;
    const WHAT: &'static str = "an amount";
    const PATTERN: &'static str = C::AMOUNT_PATTERN;
    const EXAMPLE: &'static str = C::EXAMPLE;
}

impl<'de, C: Quantity> Deserialize<'de> for Amount<C> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::read(deserializer)
    }
}

impl<C: Quantity> Serialize for Amount<C> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<C: Quantity> JsonSchema for Amount<C> {
    fn schema_name() -> Cow<'static, str> {
        C::AMOUNT.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        Self::schema()
    }
}

/// One value for both directions of a link, or `[forward, reverse]`. In a flow: one value for both
/// ends, or `[from, to]`.
#[derive(Clone, Debug, PartialEq)]
pub enum BothWays<T> {
    /// The same value in both directions, or at both ends.
    Same(T),
    /// The forward value and the reverse value, or the values for `from` and `to`.
    Each(T, T),
}

impl<T> BothWays<T> {
    /// The forward value and the reverse value, or the values for `from` and `to`.
    pub fn each(&self) -> [&T; 2] {
        match self {
            BothWays::Same(both) => [both, both],
            BothWays::Each(forward, reverse) => [forward, reverse],
        }
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for BothWays<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(BothWaysVisitor(PhantomData))
    }
}

struct BothWaysVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for BothWaysVisitor<T> {
    type Value = BothWays<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one value for both directions, or [forward, reverse]")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let two = "one value, or two: [forward, reverse] for a link, [from, to] for a flow";
        let wrong = |n| de::Error::invalid_length(n, &two);
        let forward = seq.next_element()?.ok_or_else(|| wrong(0))?;
        let reverse = seq.next_element()?.ok_or_else(|| wrong(1))?;
        match seq.next_element::<T>()? {
            None => Ok(BothWays::Each(forward, reverse)),
            Some(_) => Err(wrong(3)),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(BothWays::Same)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        T::deserialize(StrDeserializer::new(text)).map(BothWays::Same)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        T::deserialize(I64Deserializer::new(number)).map(BothWays::Same)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        T::deserialize(BoolDeserializer::new(value)).map(BothWays::Same)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        T::deserialize(F64Deserializer::new(number)).map(BothWays::Same)
    }
}

impl<T: Serialize> Serialize for BothWays<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            BothWays::Same(both) => both.serialize(serializer),
            BothWays::Each(forward, reverse) => (forward, reverse).serialize(serializer),
        }
    }
}

impl<T: JsonSchema> JsonSchema for BothWays<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("BothWays_{}", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let one = generator.subschema_for::<T>();
        json_schema!({
            "anyOf": [one, {"type": "array", "items": one, "minItems": 2, "maxItems": 2}]
        })
    }
}

/// A value written as a word (or a quantity), or as a table.
#[derive(Clone, Debug, PartialEq)]
pub enum WordOr<W, T> {
    /// The word.
    Word(W),
    /// The table.
    Table(T),
}

impl<W, T> WordOr<W, T> {
    /// Returns the table. `None` for a word.
    pub fn table(&self) -> Option<&T> {
        match self {
            Self::Word(_) => None,
            Self::Table(table) => Some(table),
        }
    }
}

impl<'de, W: Deserialize<'de>, T: Deserialize<'de>> Deserialize<'de> for WordOr<W, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WordOrVisitor(PhantomData))
    }
}

struct WordOrVisitor<W, T>(PhantomData<(W, T)>);

impl<'de, W: Deserialize<'de>, T: Deserialize<'de>> Visitor<'de> for WordOrVisitor<W, T> {
    type Value = WordOr<W, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a table")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(WordOr::Table)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        W::deserialize(StrDeserializer::new(text)).map(WordOr::Word)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self::Value, E> {
        W::deserialize(I64Deserializer::new(number)).map(WordOr::Word)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Self::Value, E> {
        W::deserialize(BoolDeserializer::new(value)).map(WordOr::Word)
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<Self::Value, E> {
        W::deserialize(F64Deserializer::new(number)).map(WordOr::Word)
    }
}

impl<W: Serialize, T: Serialize> Serialize for WordOr<W, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            WordOr::Word(word) => word.serialize(serializer),
            WordOr::Table(table) => table.serialize(serializer),
        }
    }
}

impl<W: JsonSchema, T: JsonSchema> JsonSchema for WordOr<W, T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}_or_{}", W::schema_name(), T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (word, table) = (generator.subschema_for::<W>(), generator.subschema_for::<T>());
        json_schema!({ "anyOf": [word, table] })
    }
}

/// A list of values, or a table that describes such a list.
#[derive(Clone, Debug, PartialEq)]
pub enum ListOr<V, T> {
    /// The list.
    List(Vec<V>),
    /// The table.
    Table(T),
}

impl<'de, V: Deserialize<'de>, T: Deserialize<'de>> Deserialize<'de> for ListOr<V, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ListOrVisitor(PhantomData))
    }
}

struct ListOrVisitor<V, T>(PhantomData<(V, T)>);

impl<'de, V: Deserialize<'de>, T: Deserialize<'de>> Visitor<'de> for ListOrVisitor<V, T> {
    type Value = ListOr<V, T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list or a table")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element()? {
            values.push(value);
        }
        Ok(ListOr::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(ListOr::Table)
    }
}

impl<V: Serialize, T: Serialize> Serialize for ListOr<V, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ListOr::List(values) => values.serialize(serializer),
            ListOr::Table(table) => table.serialize(serializer),
        }
    }
}

impl<V: JsonSchema, T: JsonSchema> JsonSchema for ListOr<V, T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("List_of_{}_or_{}", V::schema_name(), T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (value, table) = (generator.subschema_for::<V>(), generator.subschema_for::<T>());
        json_schema!({
            "anyOf": [{"type": "array", "items": value, "minItems": 1}, table]
        })
    }
}
