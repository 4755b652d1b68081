//! The populations of a scenario file: connections that arrive and end during the run. A switch is
//! a named setting of TCP. PackMime is a model of web traffic.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use netspurt::units::Duration;

use super::flow_spec::{EndpointWord, Family, FlowSpec};
use super::number::{BoundedInteger, LoadShare, Ordinal};
use super::profile::Profile;
use super::quantity::{Amount, BothWays, WordOr};
use super::switch::TcpSpec;

/// Connections that arrive one after the other, exchange data, and close.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PopulationSpec {
    /// The node that opens the connections.
    pub from: String,
    /// The node that accepts the connections.
    pub to: String,
    /// The TCP at both ends: the simulator's (`model`), or the kernel's (`kernel`, in a live run).
    #[serde(default = "model")]
    pub endpoint: EndpointWord,
    /// The version of IP.
    #[serde(default)]
    pub family: Family,
    /// A named set of TCP switches.
    #[serde(default)]
    pub profile: Profile,
    /// The switches whose values differ from the profile's values.
    #[serde(default)]
    pub tcp: TcpSpec,
    /// A retransmission timer between the kernel's TCP and the path. It is written like the `shim`
    /// of a flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<BothWays<String>>,
    /// The process by which connections arrive: `"poisson:rate=50/s"`, `"every:20 ms"`,
    /// `"packmime:rate=18/s"`. With `load`, the rate is left out.
    pub arrivals: String,
    /// A load that determines the rate of arrivals. It is the mean share of a link's rate that the
    /// connections use for payload and headers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadSpec>,
    /// The earliest arrival of a connection.
    #[serde(default)]
    pub start: Duration,
    /// The end of the arrivals: at this instant and later, no connection arrives. The default is
    /// the end of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
    /// The maximum number of connections in the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<Ordinal>,
    /// The octets that the opener sends: in each request or, without `reply`, in the whole
    /// connection. The value is a length, as in `"200 B"`, or a distribution, as in
    /// `"lognormal:median=900 B,sigma=1.6"`. A PackMime size without a `rate` has the `rate` of the
    /// arrivals.
    pub send: String,
    /// The octets of each reply, written as for `send`. Without this key, the opener sends data and
    /// gets no reply.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// The time from a request until its reply is written: a time or a distribution.
    #[serde(default = "no_time")]
    pub serve: String,
    /// The number of requests of each connection: a number or a distribution.
    #[serde(default = "once")]
    pub requests: String,
    /// The time from a reply until the next request is written: a time or a distribution.
    #[serde(default = "no_time")]
    pub think: String,
}

/// A load of a link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// The share of the link's rate, on average; 1 is the whole rate.
    #[schemars(with = "f64", range(max = 100), extend("exclusiveMinimum" = 0))]
    pub share: LoadShare,
    /// The name of the link. Only one of its directions counts: the direction in which the
    /// connections send more octets.
    pub link: String,
}

impl PopulationSpec {
    /// A flow with the settings of one of the connections. Its transfer is unlimited.
    pub(super) fn as_flow(&self) -> FlowSpec {
        FlowSpec {
            from: self.from.clone(),
            to: self.to.clone(),
            endpoint: BothWays::Same(self.endpoint),
            family: self.family,
            profile: self.profile,
            tcp: self.tcp.clone(),
            app: WordOr::Word(super::flow_spec::AppWord::Bulk),
            send: Amount::Unlimited,
            shim: self.shim.clone(),
            start: self.start,
            spread: Duration::ZERO,
            pause: Duration::ZERO,
            count: BoundedInteger(1),
            every: Duration::ZERO,
        }
    }

    /// Fills in the values of the profile that the file does not set.
    pub(super) fn fill_in(&mut self) {
        let mut flow = self.as_flow();
        flow.fill_in();
        self.tcp = flow.tcp;
    }
}

fn model() -> EndpointWord {
    EndpointWord::Model
}

fn no_time() -> String {
    "0 s".to_owned()
}

fn once() -> String {
    "1".to_owned()
}
