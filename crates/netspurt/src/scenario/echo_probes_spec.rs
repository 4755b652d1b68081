//! The echo probes of a scenario file: requests to an echo host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteCount, Duration};

use super::number::Whole;
use super::quantity::{ListOr, above_zero};

/// The most requests of a series of echo probes; their outcomes are kept in memory.
pub type Requests = Whole<1, 1_000_000>;

/// Requests to an echo host, one after the other: the next leaves when the last was answered or
/// given up.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EchoProbesSpec {
    /// The node that sends requests.
    pub from: String,
    /// The node that answers.
    pub to: String,
    /// The lengths of the packets, including IP and ICMP headers (28 B): a list, used in turn, or a
    /// range with a rule.
    pub lengths: ListOr<ByteCount, LengthRange>,
    /// The number of requests.
    pub count: Requests,
    /// When the first request leaves.
    #[serde(default)]
    pub start: Duration,
    /// The give-up time: an echo probe without an answer by then is lost.
    #[serde(default = "half_a_minute")]
    #[schemars(schema_with = "above_zero")]
    pub timeout: Duration,
    /// How long after an answer, or a loss, the next request leaves.
    #[serde(default)]
    pub gap: Duration,
    /// How long the answering node takes for an answer.
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
    /// The order of the lengths.
    #[serde(default)]
    pub rule: LengthRule,
}

fn an_octet() -> ByteCount {
    ByteCount(1)
}

/// The order of the lengths of a range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LengthRule {
    /// One after the other, and again from the shortest.
    #[default]
    InTurn,
    /// Each drawn at random, all equally likely.
    Random,
}
