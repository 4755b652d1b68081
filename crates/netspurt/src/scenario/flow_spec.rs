//! The flows of a scenario file, and the TCP that carries them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteCount, Duration, SegmentCount};

use super::number::{Number, Whole};
use super::quantity::{Amount, WordOr, above_zero};

/// A flow, or `count` of them: one transfer in one direction.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// The node that sends. `{i}` stands for the flow's number, from 0, in a group.
    pub from: String,
    /// The node that receives; `{i}` as in `from`.
    pub to: String,
    /// A named set of TCP switches.
    #[serde(default)]
    pub profile: Profile,
    /// Switches that differ from the profile's.
    #[serde(default)]
    pub tcp: TcpSpec,
    /// How much the application sends.
    #[serde(default = "unlimited")]
    pub send: SendSpec,
    /// When it starts.
    #[serde(default)]
    pub start: Duration,
    /// How many such flows; those of a group are called after it, `name.0`, `name.1`, …
    #[serde(default = "one")]
    pub count: Number,
    /// How long after one flow of the group the next one starts.
    #[serde(default)]
    pub every: Duration,
}

fn unlimited() -> SendSpec {
    Amount::Unlimited
}

fn one() -> Number {
    Whole(1)
}

/// A named set of TCP switches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Profile {
    /// The one-way senders of ns-2.35: packets, no handshake, a timer that counts ticks.
    #[default]
    #[serde(rename = "ns-2")]
    Ns2,
}

/// Switches of a TCP connection; what is left out comes from the profile.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TcpSpec {
    /// How losses are found and repaired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<RecoveryWord>,
    /// Segments sent at the start of the connection; later slow starts begin with one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<SegmentCount>,
    /// The receiver's window.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_window: Option<SegmentCount>,
    /// A full packet on the wire: 40 bytes of IP and TCP headers, and the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_size: Option<ByteCount>,
    /// One new segment on each of the first two duplicate ACKs (RFC 3042).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,
    /// No second fast retransmit for losses of one window (ns-2's bugFix_).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bugfix: Option<bool>,
    /// When the receiver acknowledges.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub acks: Option<WordOr<AckWord, DelayedAckTable>>,
    /// How the sender reads time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<WordOr<ClockWord, ClockTable>>,
    /// The retransmission timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rto: Option<RtoTable>,
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryWord {
    /// Fast retransmit, then slow start from one segment.
    Tahoe,
    /// Fast recovery until the next new ACK.
    Reno,
    /// Fast recovery through partial ACKs.
    Newreno,
    /// A scoreboard and a pipe estimate (ns-2's sack1).
    Sack,
    /// Forward acknowledgment.
    Fack,
}

/// Acknowledging without delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum AckWord {
    /// Each segment at once.
    #[serde(rename = "every segment")]
    EverySegment,
}

/// Acknowledging with delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DelayedAckTable {
    /// How long the acknowledgment of one segment waits for a second.
    pub delayed: Duration,
}

/// Time without granularity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockWord {
    /// To the nanosecond.
    Exact,
}

/// Time in ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClockTable {
    /// The clock's granularity.
    #[schemars(schema_with = "above_zero")]
    pub tick: Duration,
    /// How long before the start of the run the clock last ticked; by default 0.555880716 of
    /// a tick, which is what ns-2 draws for its first sender with seed 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Duration>,
}

/// The constants of the retransmission timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RtoTable {
    /// Before the first sample.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial: Option<Duration>,
    /// The floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<Duration>,
    /// The ceiling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<Duration>,
}

/// How much an application sends.
pub type SendSpec = Amount<SegmentCount>;
