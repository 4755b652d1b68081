//! What is in a run folder, in numbers and names: manifests and reports tell it.

use std::net::{IpAddr, SocketAddr};

use indexmap::IndexMap;
use serde::Serialize;

use crate::record::{flow_addresses, node_address};

use super::files::capture_files;
use super::run::Results;

/// What there is of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunContents {
    /// When it ended, in nanoseconds.
    pub stop_ns: u64,
    /// The fingerprint of all tables.
    pub digest: String,
    /// That of the flows' results alone.
    pub flows_digest: String,
    /// Rows, by table.
    pub tables: IndexMap<String, usize>,
    /// Files of captures, by node.
    pub captures: IndexMap<String, String>,
    /// Addresses in captures, by node.
    pub nodes: IndexMap<String, IpAddr>,
    /// Addresses and ports in captures, by flow of TCP; programs choose their own.
    pub flows: IndexMap<String, FlowSockets>,
}

/// The addresses and ports of a flow's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlowSockets {
    /// Those of the end that opens it.
    pub from: SocketAddr,
    /// Those of the other.
    pub to: SocketAddr,
}

impl Results {
    /// What there is of the run.
    pub fn contents(&self) -> RunContents {
        let names = self.names();
        let rows = self.tables().iter().map(|table| (table.name.to_string(), table.rows()));
        let nodes = (0..).zip(names.nodes.iter()).map(|(n, name)| (name.clone(), node_address(n)));
        let sockets: Vec<[SocketAddr; 2]> = flow_addresses(names).collect();
        let flows = self.addressed_flows().map(|(flow, named)| {
            let [from, to] = sockets[flow];
            (named.name.clone(), FlowSockets { from, to })
        });
        RunContents {
            stop_ns: self.stop().as_nanos(),
            digest: self.digest(),
            flows_digest: self.flows_digest(),
            tables: rows.collect(),
            captures: self.captures(),
            nodes: nodes.collect(),
            flows: flows.collect(),
        }
    }

    /// The file of each node's capture, by the node's name, in the order of
    /// [`captured`](Self::captured).
    pub fn captures(&self) -> IndexMap<String, String> {
        let names = &self.names().nodes;
        capture_files(self.captured().iter().map(|node| names[*node as usize].as_str()))
    }
}
