//! The echo probes of a scenario file: requests to an echo host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteCount, Duration};

use super::number::Whole;
use super::quantity::{ListOr, above_zero};

/// How many requests echo probes have: what became of each lies in memory.
pub type Requests = Whole<1, 1_000_000>;

/// Requests to an echo host, one after the other: the next leaves when the last was answered or
/// given up.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EchoProbesSpec {
    /// The node that asks.
    pub from: String,
    /// The node that answers.
    pub to: String,
    /// How long the packets are, IP and ICMP headers (28 B) included: a list, taken in turn, or
    /// a range with a rule.
    pub lengths: ListOr<ByteCount, LengthRange>,
    /// How many requests.
    pub count: Requests,
    /// When the first leaves.
    #[serde(default)]
    pub start: Duration,
    /// How long an answer is waited for; then, and not before, the echo probe is lost.
    #[serde(default = "half_a_minute")]
    #[schemars(schema_with = "above_zero")]
    pub timeout: Duration,
    /// How long after an answer, or a loss, the next request leaves.
    #[serde(default)]
    pub gap: Duration,
    /// How long the node that answers takes for it.
    #[serde(default)]
    pub processing: Duration,
}

fn half_a_minute() -> Duration {
    crate::app::EchoProbePlan::TIMEOUT
}

/// Lengths within a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LengthRange {
    /// The shortest.
    pub from: ByteCount,
    /// The longest.
    pub to: ByteCount,
    /// From one length to the next.
    #[serde(default = "an_octet")]
    pub step: ByteCount,
    /// Which comes when.
    #[serde(default)]
    pub rule: LengthRule,
}

fn an_octet() -> ByteCount {
    ByteCount(1)
}

/// Which length of a range comes when.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LengthRule {
    /// One after the other, and from the shortest again.
    #[default]
    InTurn,
    /// Each at random, all equally likely.
    Random,
}
