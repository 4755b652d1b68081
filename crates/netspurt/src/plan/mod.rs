//! The plan of a run, and the simulation of a plan. A plan describes the network, the flows, and
//! what is recorded, as numbers and configurations.
//!
//! This module reads no text. The code that makes a [`Plan`] from a scenario also checks the plan.

mod flows;
mod kernel_config;
mod net;
mod network;
mod population;
mod run;
mod traffic;

use std::sync::Arc;

use crate::app::Task;
use crate::event::Wanted;
use crate::ids::Direction;
use crate::link::LinkConfig;
use crate::record::{Capturing, FlowProperties, LinkName, Names};
use crate::rto::EstimatorConfig;
use crate::sim::{Graph, Routes};
use crate::units::Duration;

pub use kernel_config::{KernelProfile, KernelTcp};
pub use network::{KernelEnd, Network, NetworkEnd, ProgramsEnd};
pub use population::{ArrivingConnections, ConnectionDistributions, PlannedPopulation};
pub use run::{Simulation, too_many_rows};
pub use traffic::{PlannedEnd, PlannedFlow, Traffic};

/// One direction of a link.
#[derive(Debug)]
pub struct PlannedLink {
    /// The name of the link.
    pub name: String,
    /// The direction of the link that this value describes.
    pub direction: Direction,
    /// The configuration of this direction.
    pub config: LinkConfig,
}

/// The network and the flows of a run, and what is recorded.
#[derive(Debug)]
pub struct Plan {
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// The nodes, and the links between them.
    pub graph: Graph,
    /// The links that frames take to each node.
    pub routes: Routes,
    /// The directions of the links, in the order of the graph.
    pub links: Vec<PlannedLink>,
    /// The flows.
    pub flows: Vec<PlannedFlow>,
    /// The populations: connections that arrive and end during the run.
    pub populations: Vec<Arc<PlannedPopulation>>,
    /// The tasks of the connections of a population that uses the kernel's TCP, in the order of
    /// their starts. The value is `None` without such a population.
    pub kernel_tasks: Option<Vec<Task>>,
    /// Whether links may fragment packets.
    pub fragments: bool,
    /// How long hosts wait for the missing fragments of a datagram.
    pub reassembly: Duration,
    /// The numbers of the nodes whose packets are recorded.
    pub spied: Vec<u32>,
    /// The tables that are recorded.
    pub wanted: Wanted,
    /// Whether each connection of a population has a row in the tables.
    pub connections: bool,
    /// The captures that are written.
    pub captured: Capturing,
    /// The maximum number of rows that all recorded tables may have together. The value is `None`
    /// for no limit.
    pub most_rows: Option<u64>,
    /// Algorithms of the retransmission timer (estimators) that get each round-trip sample, but do
    /// not influence the run.
    pub shadows: Vec<EstimatorConfig>,
}

impl Plan {
    /// Takes the names of all nodes, links and flows out of the plan.
    fn take_names(&mut self) -> Names {
        let flows = self.flows.iter_mut().map(|flow| {
            let properties = FlowProperties {
                from: flow.from,
                to: flow.to,
                smss: flow.traffic.smss(),
                echo_probes: matches!(*flow.traffic, Traffic::EchoProbes { .. }),
                answers: flow.traffic.answers(),
                messages: flow.traffic.messages(),
                ipv6: flow.ipv6,
                population: matches!(*flow.traffic, Traffic::Programs { .. }),
            };
            (std::mem::take(&mut flow.name), properties)
        });
        let simulated = self.populations.iter().filter(|population| !population.is_real());
        let populations = simulated.map(|population| {
            let properties = FlowProperties {
                from: population.from,
                to: population.to,
                smss: population.end.smss(),
                echo_probes: false,
                answers: !population.is_of_transfers(),
                messages: [None; 2],
                ipv6: population.ipv6,
                population: true,
            };
            (population.name.clone(), properties)
        });
        let links = (0..).zip(&mut self.links).map(|(i, link)| {
            let (from, to) = self.graph.ends(i);
            LinkName { name: std::mem::take(&mut link.name), direction: link.direction, from, to }
        });
        Names::new(std::mem::take(&mut self.nodes), links.collect(), flows.chain(populations))
    }
}
