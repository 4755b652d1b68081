//! The populations of a scenario file: connections that come and go.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::units::Duration;

use super::flow_spec::{EndpointWord, Family, FlowSpec};
use super::number::{LoadShare, Ordinal, Whole};
use super::profile::Profile;
use super::quantity::{Amount, BothWays, WordOr};
use super::switch::TcpSpec;

/// Connections that arrive one after the other, are used, and go.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PopulationSpec {
    /// The node that opens the connections.
    pub from: String,
    /// The node that accepts them.
    pub to: String,
    /// Whose TCP both their ends use: the simulator's, or the kernel's (in a live run).
    #[serde(default = "model")]
    pub endpoint: EndpointWord,
    /// The version of IP.
    #[serde(default)]
    pub family: Family,
    /// A named set of TCP switches.
    #[serde(default)]
    pub profile: Profile,
    /// Switches that differ from the profile's.
    #[serde(default)]
    pub tcp: TcpSpec,
    /// A timer at the hosts' edges that retransmits for the kernel's TCP, as in flows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shim: Option<BothWays<String>>,
    /// The process by which they arrive: `"poisson:rate=50/s"`, `"every:20 ms"`,
    /// `"packmime:rate=18/s"`. With `load` the rate is left out.
    pub arrivals: String,
    /// The rate of arrivals, as the share of a link that their payload and headers take on average.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<LoadSpec>,
    /// When the first may arrive.
    #[serde(default)]
    pub start: Duration,
    /// When the last may arrive; the end of the run if it is left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Duration>,
    /// The greatest number of connections.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<Ordinal>,
    /// Octets that the opener sends: in each request, or in all where nothing is replied. A length
    /// as in `"200 B"`, or a distribution as in `"lognormal:median=900 B,sigma=1.6"`. Of PackMime's
    /// sizes the rate may be left out: it is that of the arrivals.
    pub send: String,
    /// Octets of each reply, in the same form; without it the opener sends and nothing is replied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply: Option<String>,
    /// How long after a request its reply is written: a time or a distribution.
    #[serde(default = "no_time")]
    pub serve: String,
    /// The number of requests of a connection: a number or a distribution.
    #[serde(default = "once")]
    pub requests: String,
    /// How long after a reply the next request is written: a time or a distribution.
    #[serde(default = "no_time")]
    pub think: String,
}

/// A share of a link.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadSpec {
    /// The share of the link's rate, on average.
    #[schemars(with = "f64", range(min = 0, max = 100))]
    pub share: LoadShare,
    /// The name of the link; the direction with more of the connections' octets counts.
    pub link: String,
}

impl PopulationSpec {
    /// One of the connections as a flow without end.
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
            count: Whole(1),
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
