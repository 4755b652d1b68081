//! The sweep of a scenario file as plain data. A sweep runs the scenario many times, and varies
//! parts of it. Each varied part is an axis.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Value;

use netspurt::units::Duration;

use super::number::{BoundedInteger, Ordinal};
use super::quantity::above_zero;

/// The number of runs of each combination.
pub type Seeds = BoundedInteger<1, 1_000_000>;

/// The number of values of a range.
pub type Steps = BoundedInteger<2, 100_000>;

/// Runs the scenario many times with different values and different random draws.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SweepSpec {
    /// The number of runs of each combination of values. Each run has its own random draws.
    #[serde(default = "once")]
    pub seeds: Seeds,
    /// Whether the n-th run of every combination has the same seed, and so the same random draws.
    #[serde(default = "yes")]
    pub paired: bool,
    /// The number of events of the simulation after which a case is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Ordinal>,
    /// The wall-clock time after which a case is stopped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "above_zero")]
    pub time: Option<Duration>,
    /// The axes, by name. Every combination of their values, with each seed, is a case. An axis
    /// with `draw` adds no combinations: each run draws one of its values. The last axis varies
    /// fastest.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub over: IndexMap<String, AxisSpec>,
}

fn once() -> Seeds {
    BoundedInteger(1)
}

fn yes() -> bool {
    true
}

/// One axis: `path` with a list of `values` or with a range, or named `sets`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AxisSpec {
    /// The dotted path of the key that the axis varies, as in `links.modem.rate`, or several paths
    /// whose keys all get the same value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Paths>,
    /// The values, one after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Vec<serde_json::Value>>")]
    pub values: Option<Vec<Value>>,
    /// The first value of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub from: Option<Value>,
    /// The last value of a range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub to: Option<Value>,
    /// The number of values of a range, including both ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<Steps>,
    /// Whether neighbouring values of a range have equal differences or equal ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spacing: Option<Spacing>,
    /// Whether each run draws a value from the list, the range or the sets. Otherwise each value
    /// gives cases of its own.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub draw: bool,
    /// Named sets of values. Each set gives values to paths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<IndexMap<String, IndexMap<String, serde_json::Value>>>")]
    pub sets: Option<IndexMap<String, IndexMap<String, Value>>>,
}

/// One dotted path, or several.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(untagged, expecting = "a path in quotes, or a list of such paths")]
pub enum Paths {
    /// One path.
    One(String),
    /// Several paths, which get the same value.
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

/// The spacing of the values of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spacing {
    /// Equal differences between neighbouring values.
    #[default]
    Even,
    /// Equal ratios of neighbouring values.
    Log,
}
