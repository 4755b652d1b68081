//! The flows of a scenario file, and the TCP that carries them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::{ByteCount, Duration, SegmentCount};
use crate::wire::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES};

use super::number::{Number, Whole};
use super::profile::Profile;
use super::quantity::{Amount, BothWays, WordOr};
use super::switch::TcpSpec;

/// A flow, or `count` of them: one transfer in one direction.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// The node that sends. `{i}` stands for the flow's number, from 0, in a group.
    pub from: String,
    /// The node that receives; `{i}` as in `from`.
    pub to: String,
    /// Whose TCP it is, the simulator's or the kernel's of a live run: at both ends, or `[from,
    /// to]`.
    #[serde(default = "model")]
    pub endpoint: BothWays<EndpointWord>,
    /// The version of IP that carries it.
    #[serde(default)]
    pub family: Family,
    /// A named set of TCP switches.
    #[serde(default)]
    pub profile: Profile,
    /// Switches that differ from the profile's.
    #[serde(default)]
    pub tcp: TcpSpec,
    /// What the application is.
    #[serde(default = "bulk", skip_serializing_if = "is_bulk")]
    pub app: WordOr<AppWord, RequestsTable>,
    /// How much the application sends; of requests, each of them.
    #[serde(default = "unlimited")]
    pub send: SendSpec,
    /// A timer at the host's edge that retransmits for the kernel's TCP, as text
    /// (`"linux:rto_min=50ms"`, `"sfr:factor=3"`) or `"off"`: at both ends, or `[from, to]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<BothWays<String>>,
    /// When it starts.
    #[serde(default)]
    pub start: Duration,
    /// How long after the connection is open the application waits before it writes.
    #[serde(default)]
    pub pause: Duration,
    /// How many such flows; those of a group are called after it, `name.0`, `name.1`, …
    #[serde(default = "one")]
    pub count: Number,
    /// How long after one flow of the group the next one starts.
    #[serde(default)]
    pub every: Duration,
}

/// Whose TCP is at an end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndpointWord {
    /// The one of this laboratory.
    Model,
    /// The running kernel's; only in live runs.
    Kernel,
}

/// A version of IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Version 4, with headers of 20 octets.
    #[default]
    Ipv4,
    /// Version 6, with headers of 40.
    Ipv6,
}

impl Family {
    /// Octets of its header beyond version 4's.
    pub(super) const fn more_bytes(self) -> u16 {
        match self {
            Self::Ipv4 => 0,
            Self::Ipv6 => IPV6_HEADER_BYTES - IPV4_HEADER_BYTES,
        }
    }
}

/// What is at the two ends of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppWord {
    /// One transfer, there.
    #[default]
    Bulk,
    /// Programs that `netspurt live exec` runs; whatever they send crosses.
    Programs,
}

impl FlowSpec {
    /// Whether programs are at its ends.
    pub(super) fn is_of_programs(&self) -> bool {
        self.app == WordOr::Word(AppWord::Programs)
    }
}

/// Requests, one after the other over one connection, and their replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestsTable {
    /// How long each reply is.
    pub reply: ByteCount,
    /// How many requests there are.
    #[serde(default = "one")]
    pub requests: Number,
    /// How long after a reply the next request is written.
    #[serde(default)]
    pub think: Duration,
    /// How long after a request its reply is written.
    #[serde(default)]
    pub serve: Duration,
}

fn bulk() -> WordOr<AppWord, RequestsTable> {
    WordOr::Word(AppWord::Bulk)
}

fn is_bulk(app: &WordOr<AppWord, RequestsTable>) -> bool {
    *app == bulk()
}

fn model() -> BothWays<EndpointWord> {
    BothWays::Same(EndpointWord::Model)
}

fn unlimited() -> SendSpec {
    Amount::Unlimited
}

fn one() -> Number {
    Whole(1)
}

/// How much an application sends.
pub type SendSpec = Amount<SegmentCount>;
