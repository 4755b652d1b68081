//! Reads a scenario file as plain data, and plans a run from the data.
//!
//! Nothing is ignored: an unknown key, a missing unit, or a meaningless combination is an error
//! that names its place and its fix.

mod axis;
mod combination;
mod document;
mod echo_probes_plan;
mod echo_probes_spec;
mod ends;
mod error;
mod expand;
mod flow_plan;
mod flow_spec;
mod followed;
mod form;
mod grid;
mod kernel;
mod link_changes;
mod link_place;
mod link_plan;
mod link_spec;
mod live_switch;
mod names;
mod number;
mod origins;
mod parse;
mod pins;
mod plan;
mod population_plan;
mod population_spec;
mod profile;
mod programs;
mod programs_plan;
mod quantity;
mod queue_plan;
mod queue_spec;
mod random_axis;
mod reach;
mod removal;
mod reword;
mod slots_plan;
mod slots_spec;
mod spec;
mod sweep;
mod sweep_spec;
mod switch;
mod switch_page;
mod switches;
mod tree;
mod unknown_name;
mod varied;
mod whole;

use schemars::schema_for;

pub use axis::{Axis, Label, Point, RESERVED_COLUMNS, RESULT_COLUMNS};
pub use combination::Combination;
pub use ends::FollowedEnd;
pub use error::ScenarioError;
pub use live_switch::LiveSwitch;
pub use random_axis::RandomAxis;
use spec::Spec;
pub use sweep::{Budget, Sweep};
pub use switch::congestion_called;
pub use switch_page::{profiles_table, switches_table};
pub use switches::{SwitchError, tcp_config};
pub use whole::Scenario;

/// The text of a commented scenario to start from.
pub const STARTING_POINT: &str = include_str!("starting_point.toml");

/// The JSON Schema of scenario files.
pub fn schema() -> serde_json::Value {
    schema_for!(Spec).to_value()
}

/// Converts a TOML text to JSON. Reads the text by the same grammar as scenarios (TOML 1.1).
///
/// ```
/// use netspurt_scenario::scenario::toml_as_json;
/// assert_eq!(toml_as_json("a = {\n b = 1,\n}").unwrap(), r#"{"a":{"b":1}}"#);
/// ```
///
/// # Errors
///
/// When the text is not TOML. The error then names the line. Also when a value is a date, a time,
/// or a number that is not finite, because JSON has no such values.
pub fn toml_as_json(text: &str) -> Result<String, String> {
    let wrong = |error: toml::de::Error| {
        let before = error.span().and_then(|place| text.get(..place.start)).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        let what = error.message().lines().collect::<Vec<_>>().join(", ");
        format!("{what} (at line {line})")
    };
    let values: toml::Table = toml::from_str(text).map_err(wrong)?;
    if let Some(value) = values.values().find_map(without_json) {
        return Err(format!("`{value}` is neither a text nor a finite number, list or table"));
    }
    serde_json::to_string(&values).map_err(|error| error.to_string())
}

/// A value in `value` that JSON does not have.
fn without_json(value: &toml::Value) -> Option<&toml::Value> {
    match value {
        toml::Value::Datetime(_) => Some(value),
        toml::Value::Float(number) => (!number.is_finite()).then_some(value),
        toml::Value::Array(values) => values.iter().find_map(without_json),
        toml::Value::Table(values) => values.values().find_map(without_json),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
