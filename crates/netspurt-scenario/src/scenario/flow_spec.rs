//! The flows of a scenario file, and their TCP. A switch is a named setting of TCP.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use netspurt::units::{ByteCount, Duration, SegmentCount};
use netspurt::wire::{IPV4_HEADER_BYTES, IPV6_HEADER_BYTES};

use super::number::{BoundedInteger, Number};
use super::profile::Profile;
use super::quantity::{Amount, BothWays, WordOr};
use super::switch::TcpSpec;

/// A flow, or a group of `count` flows. By default, a flow is one transfer in one direction; `app`
/// can change this.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// The node that opens the flow and sends the data or the requests. In a group, `{i}` stands
    /// for the flow's number, from 0.
    pub from: String,
    /// The node at the other end. In a group, `{i}` stands for the flow's number, from 0.
    pub to: String,
    /// The TCP at the ends: `model` for the simulator's TCP, or `kernel` for the kernel's TCP (only
    /// in a live run). One word for both ends, or `[from, to]`.
    #[serde(default = "model")]
    pub endpoint: BothWays<EndpointWord>,
    /// The version of IP.
    #[serde(default)]
    pub family: Family,
    /// A named set of TCP switches.
    #[serde(default)]
    pub profile: Profile,
    /// The switches whose values differ from the profile's values.
    #[serde(default)]
    pub tcp: TcpSpec,
    /// The application.
    #[serde(default = "bulk", skip_serializing_if = "is_bulk")]
    pub app: WordOr<AppWord, RequestsTable>,
    /// The amount that the application sends, in octets or segments, or `unlimited`. With requests,
    /// this is the length of each request.
    #[serde(default = "unlimited")]
    pub send: SendSpec,
    /// A retransmission timer between the kernel's TCP and the path. The value is a text that names
    /// the timer, such as `"linux:rto_min=50ms"` or `"sfr:factor=3"`, or `"off"`. One text for both
    /// ends, or `[from, to]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<BothWays<String>>,
    /// When the flow starts.
    #[serde(default)]
    pub start: Duration,
    /// The upper bound of a random time that is added to the start of each flow of the group.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub spread: Duration,
    /// How long the application waits, after the connection is established, before it writes.
    #[serde(default)]
    pub pause: Duration,
    /// The number of flows. The flows of a group are called `name.0`, `name.1`, …
    #[serde(default = "one")]
    pub count: Number,
    /// The time from the start of one flow of the group to the start of the next flow.
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
    /// The simulator's TCP.
    Model,
    /// The TCP of the running kernel; only in live runs.
    Kernel,
}

/// A version of IP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// Version 4, with headers of 20 octets.
    #[default]
    Ipv4,
    /// Version 6, with headers of 40 octets.
    Ipv6,
}

impl Family {
    /// The octets by which a header of this version is longer than a header of version 4.
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
    /// One transfer, in the forward direction.
    #[default]
    Bulk,
    /// Programs that `netspurt live exec` runs at two hosts. All packets between the hosts cross
    /// the links.
    Programs,
}

impl FlowSpec {
    /// Whether the ends of the flow are programs.
    pub(super) fn is_of_programs(&self) -> bool {
        self.app == WordOr::Word(AppWord::Programs)
    }
}

/// Requests one after the other over one connection, each with its reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RequestsTable {
    /// The length of each reply.
    pub reply: ByteCount,
    /// The number of requests.
    #[serde(default = "one")]
    pub requests: Number,
    /// The time from a reply until the next request is written.
    #[serde(default)]
    pub think: Duration,
    /// The time from a request until its reply is written.
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
    BoundedInteger(1)
}

/// The amount that an application sends.
pub type SendSpec = Amount<SegmentCount>;
