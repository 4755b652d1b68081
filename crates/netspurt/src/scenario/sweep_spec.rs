//! What a scenario says of a sweep, as plain data.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

use crate::units::Duration;

use super::number::{Ordinal, Whole};
use super::quantity::above_zero;

/// How many times each combination may be run.
pub type Seeds = Whole<1, 1_000_000>;

/// How many values a range may have.
pub type Steps = Whole<2, 100_000>;

/// The scenario again and again, with other values and other random draws.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// How many times each combination of values is run, each time with other random draws.
    #[serde(default = "once")]
    pub seeds: Seeds,
    /// Whether the n-th run of every combination has the same seed, and so meets the same
    /// arrivals and losses.
    #[serde(default = "yes")]
    pub paired: bool,
    /// How many wake-ups a case may take before it is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Ordinal>,
    /// How long a case may take on the clock on the wall before it is cut.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "above_zero")]
    pub time: Option<Duration>,
    /// What is varied, by name: every combination is a case, the last name varying fastest.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub over: IndexMap<String, AxisSpec>,
}

fn once() -> Seeds {
    Whole(1)
}

fn yes() -> bool {
    true
}

/// One thing that is varied: `path` with a list of `values` or with a range, or named `sets`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisSpec {
    /// What is set, as in `links.modem.rate`; or several such, set alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Paths>,
    /// The values, one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<serde_json::Value>>")]
    pub values: Option<Vec<Value>>,
    /// A range's first value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub from: Option<Value>,
    /// A range's last value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub to: Option<Value>,
    /// How many values a range has, both ends included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Steps>,
    /// Whether a range's values lie at even distances or in even ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
    /// Sets of values by name, each of paths and what is set there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<IndexMap<String, IndexMap<String, serde_json::Value>>>")]
    pub sets: Option<IndexMap<String, IndexMap<String, Value>>>,
}

/// One dotted path or several.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "a path in quotes, or a list of such")]
pub enum Paths {
    /// One.
    One(String),
    /// Several, which are set alike.
    All(Vec<String>),
}

impl Paths {
    /// The paths.
    pub(super) fn each(&self) -> &[String] {
        match self {
            Paths::One(path) => core::slice::from_ref(path),
            Paths::All(paths) => paths,
        }
    }
}

/// How the values of a range follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// At even distances.
    #[default]
    Even,
    /// In even ratios.
    Log,
}
