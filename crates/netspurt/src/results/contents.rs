//! Lists the contents of a run's folder, with counts and names. The folder's manifest (`run.json`)
//! and reports contain this list.

use std::net::{IpAddr, SocketAddr};

use indexmap::IndexMap;
use serde::Serialize;

use crate::record::{flow_addresses, node_address};

use super::files::capture_files;
use super::run::Results;

/// The contents of a run folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RunContents {
    /// When the run ended, in nanoseconds since its start.
    pub stop_ns: u64,
    /// The digest of all tables.
    pub digest: String,
    /// The digest of the table `flows` alone.
    pub flows_digest: String,
    /// The number of rows of each table, by the table's name.
    pub tables: IndexMap<String, usize>,
    /// The file of each capture, by the node's name.
    pub captures: IndexMap<String, String>,
    /// The IPv4 address of each node in captures, by the node's name.
    pub nodes: IndexMap<String, IpAddr>,
    /// The addresses and ports of each TCP flow in captures, by the flow's name. Populations, which
    /// are many connections of one kind, are left out. Flows of programs that the user runs are
    /// left out too, because programs choose their own ports.
    pub flows: IndexMap<String, FlowSockets>,
}

/// The addresses and ports of a flow's two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct FlowSockets {
    /// The address and port of the end that opens the flow.
    pub from: SocketAddr,
    /// The address and port of the other end.
    pub to: SocketAddr,
}

impl Results {
    /// Returns the contents of the run.
    pub fn contents(&self) -> RunContents {
        let names = self.names();
        let rows = self.tables().iter().map(|table| (table.name.to_string(), table.rows()));
        let nodes = (0..).zip(names.nodes.iter()).map(|(n, name)| (name.clone(), node_address(n)));
        let sockets: Vec<[SocketAddr; 2]> = flow_addresses(names).collect();
        let flows = self.addressed_flows().map(|flow| {
            let [from, to] = sockets[flow];
            (names.flow_names[flow].clone(), FlowSockets { from, to })
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
