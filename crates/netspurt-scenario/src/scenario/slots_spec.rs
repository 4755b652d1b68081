//! Paths over satellites in low orbits. Time is divided into slots. In each slot, the terminal on
//! the ground uses one satellite, and this satellite determines the delay.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use netspurt::units::Duration;

use super::number::Probability;
use super::quantity::above_zero;

/// The schema of two shares above zero.
fn two_shares(_: &mut SchemaGenerator) -> Schema {
    let share = serde_json::json!({"type": "number", "exclusiveMinimum": 0, "maximum": 1});
    json_schema!({"type": "array", "items": share, "minItems": 2, "maxItems": 2})
}

/// A delay that is drawn again in each slot, effects at the boundaries between slots, and outages.
/// All delays are one-way. They are the same in both directions, except for the jitter, which is
/// drawn separately for each direction. The draws use the run's seed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotsTable {
    /// The length of a slot.
    #[serde(default = "period")]
    #[schemars(schema_with = "above_zero")]
    pub period: Duration,
    /// The instant of one boundary between two slots. All other boundaries lie a whole number of
    /// periods before or after this boundary.
    #[serde(default = "phase")]
    pub phase: Duration,
    /// The bounds of the delay at the start of a slot. The delay is added to the link's `delay`.
    #[serde(default = "base")]
    pub base: [Duration; 2],
    /// The maximum by which the delay rises or falls in one second of a slot.
    #[serde(default)]
    pub drift: Duration,
    /// Random changes of the delay from step to step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterTable>,
    /// An additional delay after each boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spike: Option<SpikeTable>,
    /// A gap after some boundaries. Packets that arrive at the link in a gap are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<GapTable>,
    /// The bounds of the share of the link's `rate` that is available in a slot. The logarithm of
    /// the share is uniformly distributed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "two_shares")]
    pub share: Option<[f64; 2]>,
    /// Times without a satellite in sight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<OutagesTable>,
}

fn period() -> Duration {
    Duration::from_secs(15)
}

fn phase() -> Duration {
    Duration::from_secs(12)
}

fn base() -> [Duration; 2] {
    [Duration::from_millis(15), Duration::from_millis(40)]
}

/// Random changes of the delay: an autoregressive process of first order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterTable {
    /// The mean absolute difference between the delays of two packets. The key `probes` is the time
    /// between the two packets.
    pub difference: Duration,
    /// The time between the two packets whose delays `difference` compares.
    #[serde(default = "twenty")]
    #[schemars(schema_with = "above_zero")]
    pub probes: Duration,
    /// The time in which the correlation of the process falls to 1/e.
    #[serde(default = "twenty")]
    #[schemars(schema_with = "above_zero")]
    pub memory: Duration,
    /// The time between two steps of the process.
    #[serde(default = "one")]
    #[schemars(schema_with = "above_zero")]
    pub step: Duration,
}

fn twenty() -> Duration {
    Duration::from_millis(20)
}

fn one() -> Duration {
    Duration::from_millis(1)
}

/// An additional delay after each boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpikeTable {
    /// The bounds of the additional delay.
    pub height: [Duration; 2],
    /// The bounds of the time that the additional delay lasts. The additional delay ends at the
    /// latest with the slot.
    pub lasts: [Duration; 2],
}

/// A gap after some boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GapTable {
    /// The probability of a gap after a boundary.
    pub probability: Probability,
    /// The time in which nothing is transmitted. Packets that are already propagating
    /// still arrive.
    pub dead: Duration,
}

/// Times without a satellite in sight, at random instants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutagesTable {
    /// The mean time from the end of an outage to the start of the next outage.
    #[schemars(schema_with = "above_zero")]
    pub every: Duration,
    /// The length of an outage. Packets that arrive at the link and packets that are propagating
    /// are dropped.
    pub dead: Duration,
}
