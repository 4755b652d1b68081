//! A scenario file as plain data.
//!
//! These types define the parser, the form of resolved scenarios (with every default written out),
//! and the JSON Schema. The comments on their fields are the descriptions in the schema.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use netspurt::app::Program;
use netspurt::ip::Reassembling;
use netspurt::segment::Segment;
use netspurt::units::{ByteCount, Duration};

use super::echo_probes_spec::EchoProbesSpec;
use super::flow_spec::FlowSpec;
use super::link_spec::LinkSpec;
use super::number::{BoundedInteger, Number, Seed};
use super::population_spec::PopulationSpec;
use super::quantity::above_zero;
use super::sweep_spec::SweepSpec;

/// A network, the flows over it, and what to record.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "netspurt scenario")]
pub struct Spec {
    /// One line that says what the run shows.
    #[serde(default)]
    pub title: String,
    /// When the run ends.
    #[schemars(schema_with = "above_zero")]
    pub stop: Duration,
    /// The seed of every random draw.
    #[serde(default = "one")]
    pub seed: Seed,
    /// The links, by name. Nodes are not declared: they are the names in `between`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub links: IndexMap<String, LinkSpec>,
    /// A short form for a chain of nodes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathSpec>,
    /// A short form for pairs of hosts on the two sides of one link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dumbbell: Option<DumbbellSpec>,
    /// The routes that the scenario sets. All other routes cross the fewest links.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<RouteSpec>,
    /// The flows, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub flows: IndexMap<String, FlowSpec>,
    /// The populations, by name: connections that arrive and end during the run.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub populations: IndexMap<String, PopulationSpec>,
    /// The series of requests to echo hosts, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub echo_probes: IndexMap<String, EchoProbesSpec>,
    /// How hosts reassemble fragments.
    #[serde(default)]
    pub reassembly: ReassemblySpec,
    /// What is recorded.
    #[serde(default)]
    pub record: RecordSpec,
    /// The values that vary from case to case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sweep: Option<SweepSpec>,
}

fn one() -> Seed {
    BoundedInteger(1)
}

/// A chain of nodes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PathSpec {
    /// The nodes in order.
    pub nodes: Vec<String>,
    /// The links between the nodes in order, without `between`. The link between nodes `a` and `b`
    /// is called `a-b`.
    pub links: Vec<LinkSpec>,
}

/// Hosts `west0`, `west1`, … are linked to the node `west`, and hosts `east0`, `east1`, … to the
/// node `east`. One link joins `west` and `east`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DumbbellSpec {
    /// The number of hosts on each side.
    pub pairs: Number,
    /// The link of each host, without `between`. It has the name of its host. Forward is eastwards:
    /// away from a host in the west, and towards a host in the east.
    pub access: LinkSpec,
    /// The link between `west` and `east`, without `between`. It is called `bottleneck`; forward is
    /// from west to east.
    pub bottleneck: LinkSpec,
}

/// A route from one node to another.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RouteSpec {
    /// The node at which the route starts.
    pub from: String,
    /// The node at which the route ends.
    pub to: String,
    /// All nodes between `from` and `to`, in order. A link must join each node to the next node.
    #[serde(default)]
    pub via: Vec<String>,
}

/// How hosts reassemble fragments.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReassemblySpec {
    /// How long a host waits for the other fragments of a datagram after the arrival of the first
    /// fragment.
    #[serde(default = "a_minute")]
    #[schemars(schema_with = "above_zero")]
    pub timer: Duration,
}

fn a_minute() -> Duration {
    Reassembling::<Segment, Program>::TIMER
}

impl Default for ReassemblySpec {
    fn default() -> Self {
        Self { timer: a_minute() }
    }
}

/// What a run records. The totals of each flow and of each link are always recorded.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordSpec {
    /// The nodes at which segments are recorded and captured. By default, these are the nodes that
    /// open flows or send echo probes, the nodes that answer requests, and both nodes of each
    /// population.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spy: Option<Vec<String>>,
    /// The tables that are recorded.
    #[serde(default = "TableName::all")]
    pub tables: Vec<TableName>,
    /// Whether a pcapng file is written for each spied node. By default, such a file is written if
    /// `tables` has `segments`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capture: Option<bool>,
    /// The octets that captures keep of each packet.
    #[serde(default = "headers")]
    pub snap: ByteCount,
    /// The maximum number of rows of all recorded tables together. It bounds the run's memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Estimators that get each sample of `rtt` but do not influence the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadows: Vec<String>,
}

/// Enough octets for the largest headers of IPv6 and TCP, and for some octets of payload.
fn headers() -> ByteCount {
    ByteCount(128)
}

impl Default for RecordSpec {
    fn default() -> Self {
        Self {
            spy: None,
            tables: TableName::all(),
            capture: None,
            snap: headers(),
            rows: None,
            shadows: Vec::new(),
        }
    }
}

/// The optional tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TableName {
    /// Segments at the spied nodes, and their SACK blocks.
    Segments,
    /// Congestion windows.
    Cwnd,
    /// Retransmission timers.
    Rto,
    /// Round-trip samples.
    Rtt,
    /// Queue lengths.
    Queue,
    /// Drops and losses.
    Drops,
    /// A row for each connection of a population.
    Connections,
}

impl TableName {
    /// The tables that are recorded by default: all except `connections`.
    fn all() -> Vec<Self> {
        use TableName::{Cwnd, Drops, Queue, Rto, Rtt, Segments};
        vec![Segments, Cwnd, Rto, Rtt, Queue, Drops]
    }
}
