//! Plain numbers with bounds. The parser checks the bounds, and the schema has them.

use core::fmt;
use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

/// The largest whole number that a scenario can have.
pub(super) const MOST: u64 = i64::MAX as u64;

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BoundedInteger<const MIN: u64, const MAX: u64>(pub u64);

/// The seed of random draws.
pub type Seed = BoundedInteger<0, MOST>;

/// A number of hosts, of flows in a group, or of requests.
pub type Number = BoundedInteger<1, 100_000>;

/// A position counted from 1.
pub type Ordinal = BoundedInteger<1, MOST>;

impl<const MIN: u64, const MAX: u64> BoundedInteger<MIN, MAX> {
    /// The number as a `u32`, for a type whose bound is below 2^32.
    pub(super) fn small(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

/// A probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probability(pub f64);

/// A share of a link's rate, above 0 and at most 100. It is above 1 if more arrives than the link
/// carries.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct LoadShare(pub f64);

impl TryFrom<f64> for LoadShare {
    type Error = String;

    fn try_from(share: f64) -> Result<Self, String> {
        if share > 0.0 && share <= 100.0 {
            return Ok(Self(share));
        }
        Err(format!(
            "{share} is not a load: write a share of the link's rate above 0 and at most 100, as in `0.5`"
        ))
    }
}

impl From<LoadShare> for f64 {
    fn from(LoadShare(share): LoadShare) -> f64 {
        share
    }
}

impl<const MIN: u64, const MAX: u64> Visitor<'_> for BoundedInteger<MIN, MAX> {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if MAX == MOST {
            write!(f, "a whole number from {MIN} to 2^63 - 1")
        } else {
            write!(f, "a whole number from {MIN} to {MAX}")
        }
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<Self, E> {
        let bounds: &dyn de::Expected = &self;
        u64::try_from(number)
            .ok()
            .filter(|number| (MIN..=MAX).contains(number))
            .map(Self)
            .ok_or_else(|| E::custom(format!("`{number}` is out of range: write {bounds}")))
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for BoundedInteger<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self(MIN))
    }
}

impl<const MIN: u64, const MAX: u64> Serialize for BoundedInteger<MIN, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<const MIN: u64, const MAX: u64> JsonSchema for BoundedInteger<MIN, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("BoundedInteger_{MIN}_{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": MIN, "maximum": MAX})
    }
}

impl Visitor<'_> for Probability {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number from 0 to 1")
    }

    fn visit_f64<E: de::Error>(self, p: f64) -> Result<Self, E> {
        if (0.0..=1.0).contains(&p) {
            return Ok(Self(p));
        }
        Err(E::custom(format!("{p} is not a probability: write a number from 0 to 1")))
    }

    fn visit_i64<E: de::Error>(self, p: i64) -> Result<Self, E> {
        match p {
            0 => Ok(Self(0.0)),
            1 => Ok(Self(1.0)),
            _ => Err(E::custom(format!("{p} is not a probability: write a number from 0 to 1"))),
        }
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Self(0.0))
    }
}

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0)
    }
}

impl JsonSchema for Probability {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "number", "minimum": 0, "maximum": 1})
    }
}
