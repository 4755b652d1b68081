//! The flows of a scenario file, and their TCP.

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
    /// The node that sends. In a group `{i}` stands for the flow's number, from 0.
    pub from: String,
    /// The node that receives; `{i}` as in `from`.
    pub to: String,
    /// Whose TCP it uses, the simulator's or the kernel's (in a live run): one for both ends, or
    /// `[from, to]`.
    #[serde(default = "model")]
    pub endpoint: BothWays<EndpointWord>,
    /// The version of IP.
    #[serde(default)]
    pub family: Family,
    /// A named set of TCP switches.
    #[serde(default)]
    pub profile: Profile,
    /// Switches that differ from the profile's.
    #[serde(default)]
    pub tcp: TcpSpec,
    /// The application.
    #[serde(default = "bulk", skip_serializing_if = "is_bulk")]
    pub app: WordOr<AppWord, RequestsTable>,
    /// How much the application sends; with requests, the length of each.
    #[serde(default = "unlimited")]
    pub send: SendSpec,
    /// A timer at the host's edge that retransmits for the kernel's TCP, as text
    /// (`"linux:rto_min=50ms"`, `"sfr:factor=3"`) or `"off"`: one for both ends, or `[from, to]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<BothWays<String>>,
    /// When it starts.
    #[serde(default)]
    pub start: Duration,
    /// A random time, up to this, that is added to the start of each flow of the group.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spread: Duration,
    /// How long after the connection is open the application waits before it writes.
    #[serde(default)]
    pub pause: Duration,
    /// The number of such flows; those of a group are called `name.0`, `name.1`, …
    #[serde(default = "one")]
    pub count: Number,
    /// The time from one flow of the group to the next.
    #[serde(default)]
    pub every: Duration,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(span: &Duration) -> bool {
    span.is_zero()
}

/// The TCP at an end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EndpointWord {
    /// The simulator's.
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
    /// Octets of its header in addition to version 4's.
    pub(super) const fn more_bytes(self) -> u16 {
        match self {
            Self::Ipv4 => 0,
            Self::Ipv6 => IPV6_HEADER_BYTES - IPV4_HEADER_BYTES,
        }
    }
}

/// The applications at the two ends of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AppWord {
    /// One transfer, forward.
    #[default]
    Bulk,
    /// Programs that `netspurt live exec` runs; all their packets cross.
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
    /// The length of each reply.
    pub reply: ByteCount,
    /// The number of requests.
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
