//! Reads and writes quantities with serde, and makes their parts of the schema of scenarios.

use core::fmt::{self, Display};
use core::marker::PhantomData;
use core::str::FromStr;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserialize, Deserializer, Visitor};
use serde::{Serialize, Serializer};

use super::pattern;
use super::{BitRate, ByteCount, Duration, PacketCount, SegmentCount, UnitError};

/// A quantity that is written as a text with a unit.
pub trait Quantity: FromStr<Err = UnitError> + Display + Sized {
    /// The name of the quantity in the schema.
    const NAME: &'static str;
    /// The name, in the schema, of a value that may be given in three ways: as this quantity, as a
    /// number of bytes, or as `unlimited`.
    const AMOUNT: &'static str = "Amount";
    /// The pattern of the values that [`AMOUNT`](Self::AMOUNT) names. If the quantity has no such
    /// values, the pattern is empty.
    const AMOUNT_PATTERN: &'static str = "";
    /// The kind of quantity, with its article, as in "a time".
    const WHAT: &'static str;
    /// The regular expression of the quantity's texts.
    const PATTERN: &'static str;
    /// An example of the quantity's texts.
    const EXAMPLE: &'static str;

    /// Reads the quantity from a deserializer.
    ///
    /// # Errors
    /// When the value is not a text, or not the text of such a quantity.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(QuantityVisitor(PhantomData))
    }

    /// Returns the schema of the quantity.
    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "description": Self::WHAT,
            "pattern": Self::PATTERN,
            "examples": [Self::EXAMPLE],
        })
    }
}

struct QuantityVisitor<T>(PhantomData<T>);

impl<T: Quantity> Visitor<'_> for QuantityVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in quotes, as in \"{}\"", T::WHAT, T::EXAMPLE)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    // A bare number gets the error that its text would get, usually that the unit is missing.
    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

macro_rules! quantity {
    ($type:ty, $name:literal, $what:literal, $pattern:expr, $amount:expr, $example:literal) => {
        impl Quantity for $type {
            const NAME: &'static str = $name;
            const AMOUNT: &'static str = concat!($name, "OrBytes");
            const AMOUNT_PATTERN: &'static str = $amount;
            const WHAT: &'static str = $what;
            const PATTERN: &'static str = $pattern;
            const EXAMPLE: &'static str = $example;
        }
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::read(deserializer)
            }
        }
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                Self::NAME.into()
            }
            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                Self::schema()
            }
        }
    };
}

quantity!(Duration, "Time", "a time", pattern::TIME, "", "25 ms");
quantity!(BitRate, "BitRate", "a bit rate", pattern::RATE, "", "1.544 Mbit/s");
quantity!(ByteCount, "ByteCount", "a size in bytes", pattern::BYTES, "", "1000 B");
quantity!(
    PacketCount,
    "PacketCount",
    "a number of packets",
    pattern::PACKETS,
    pattern::PACKETS_OR_BYTES,
    "3 packets"
);
quantity!(
    SegmentCount,
    "SegmentCount",
    "a number of segments",
    pattern::SEGMENTS,
    pattern::SEGMENTS_OR_BYTES,
    "4 segments"
);
