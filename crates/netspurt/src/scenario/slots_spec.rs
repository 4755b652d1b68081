//! Paths over low satellites: the terminal gets a satellite, and with it a delay, for each slot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Duration;

use super::number::Probability;
use super::quantity::above_zero;

/// A delay that is drawn anew in each slot, and what comes with the change from slot to slot. All
/// delays are those of one direction; the draws are made with the run's seed.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlotsTable {
    /// The length of a slot.
    #[serde(default = "period")]
    #[schemars(schema_with = "above_zero")]
    pub period: Duration,
    /// The instant of a boundary between two slots. The others are whole periods away from it.
    #[serde(default = "phase")]
    pub phase: Duration,
    /// The delay at the start of a slot: a time between these two, in addition to the link's
    /// `delay`.
    #[serde(default = "base")]
    pub base: [Duration; 2],
    /// The most by which the delay rises or falls in a second of a slot.
    #[serde(default)]
    pub drift: Duration,
    /// Delays that differ from packet to packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterTable>,
    /// An additional delay behind each boundary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spike: Option<SpikeTable>,
    /// A gap behind some boundaries, in which all packets are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<GapTable>,
    /// The share of the link's `rate` in a slot: between these two, with even ratios.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<[Probability; 2]>,
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

/// An autoregressive process of first order, which is added to the delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JitterTable {
    /// The mean absolute difference between the delays of two successive probes.
    pub difference: Duration,
    /// The time between these probes.
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

/// An additional delay behind each boundary.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SpikeTable {
    /// How large it is: a time between these two.
    pub height: [Duration; 2],
    /// How long it lasts: a time between these two.
    pub lasts: [Duration; 2],
}

/// A gap behind some boundaries.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GapTable {
    /// The probability that a boundary has one.
    pub probability: Probability,
    /// How long nothing is transmitted. Packets on their way pass.
    pub dead: Duration,
}

/// Times without a satellite in sight, at random instants (a Poisson process).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutagesTable {
    /// The mean time from the end of one to the next.
    #[schemars(schema_with = "above_zero")]
    pub every: Duration,
    /// How long each lasts. Packets on their way are dropped.
    pub dead: Duration,
}
