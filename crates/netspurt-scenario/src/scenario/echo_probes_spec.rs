//! The echo probes of a scenario file: requests to an echo host.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use netspurt::units::{ByteCount, Duration};

use super::number::BoundedInteger;
use super::quantity::{ListOr, above_zero};

/// The number of requests in a series of echo probes. It is bounded because the outcomes are kept
/// in memory.
pub type Requests = BoundedInteger<1, 1_000_000>;

/// Requests to an echo host, one after the other. A request leaves after the previous request was
/// answered or counts as lost.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EchoProbesSpec {
    /// The node that sends requests.
    pub from: String,
    /// The node that answers.
    pub to: String,
    /// The lengths of the packets, including IP and ICMP headers (28 B). The lengths of a list are
    /// used in turn. For a range, `rule` sets the order of the lengths.
    pub lengths: ListOr<ByteCount, LengthRange>,
    /// The number of requests.
    pub count: Requests,
    /// When the first request leaves.
    #[serde(default)]
    pub start: Duration,
    /// The give-up time: a request that has no answer after this time counts as lost.
    #[serde(default = "half_a_minute")]
    #[schemars(schema_with = "above_zero")]
    pub timeout: Duration,
    /// The time from an answer, or from a loss, until the next request leaves.
    #[serde(default)]
    pub gap: Duration,
    /// The time that the answering node takes for an answer.
    #[serde(default)]
    pub processing: Duration,
}

fn half_a_minute() -> Duration {
    netspurt::app::EchoProbePlan::TIMEOUT
}

/// Lengths within a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LengthRange {
    /// The shortest length.
    pub from: ByteCount,
    /// The limit of the lengths. It is the longest length if a whole number of steps leads to it.
    pub to: ByteCount,
    /// The difference between two successive lengths.
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
    /// The lengths in ascending order, and then again from the shortest.
    #[default]
    InTurn,
    /// Each length is drawn at random; all are equally likely.
    Random,
}
