//! The network of a scenario, for live runs that connect real hosts to it. A population is many
//! connections of one kind, which start at different instants.

use crate::app::{Program, Task};
use crate::event::Wanted;
use crate::ids::{FlowId, Side};
use crate::link::LinkConfig;
use crate::record::{Capturing, Names};
use crate::rto::EstimatorConfig;
use crate::shim::ShimConfig;
use crate::sim::{Graph, Routes};
use crate::units::{Duration, Time};

use super::Plan;
use super::flows::{programs, tcp_end};
use super::kernel_config::KernelTcp;
use super::traffic::{PlannedEnd, PlannedFlow, Traffic};

/// One end of a flow of a live run.
#[derive(Debug)]
pub enum NetworkEnd {
    /// A program of the simulator.
    Model(Program),
    /// A socket of the kernel.
    Kernel(KernelEnd),
    /// One of the two ends for the packets between two hosts that use the kernel's TCP. These are
    /// the packets of one connection, or the packets that belong to no connection. The hosts run
    /// programs, or the connections of a population.
    Programs(ProgramsEnd),
}

/// One of the two ends for the packets between two hosts that use the kernel's TCP. The hosts run
/// programs, or the connections of a population. The first pair of ends is for packets that belong
/// to no connection. Each other pair is for one connection.
#[derive(Clone, Copy, Debug)]
pub struct ProgramsEnd {
    /// The configuration of the host's TCP.
    pub tcp: KernelTcp,
    /// The shim, a retransmission timer between the host's TCP and the path. The value is `None` if
    /// the host has no shim.
    pub shim: Option<ShimConfig>,
}

/// A socket of the kernel, and its task.
#[derive(Clone, Debug)]
pub struct KernelEnd {
    /// The configuration of the socket's TCP.
    pub tcp: KernelTcp,
    /// The shim, a retransmission timer between the host's TCP and the path. The value is `None` if
    /// the host has no shim.
    pub shim: Option<ShimConfig>,
    /// What the applications at both ends do.
    pub task: Task,
    /// Whether the socket waits for the other end to connect.
    pub listens: bool,
}

/// A scenario's network and what is recorded, for callers that put their own endpoints at its ends.
#[derive(Debug)]
pub struct Network {
    /// The names of nodes, links and flows.
    pub names: Names,
    /// The nodes, and the links between them.
    pub graph: Graph,
    /// The links that frames take to each node.
    pub routes: Routes,
    /// The configurations of the links.
    pub links: Vec<LinkConfig>,
    /// The ends of the flows, two for each flow, each with the number of its node.
    pub ends: Vec<(NetworkEnd, u32)>,
    /// The tasks of the connections of a population that uses the kernel's TCP, in the order of
    /// their starts. The value is `None` without such a population. The ends of these connections
    /// are [`NetworkEnd::Programs`].
    pub kernel_tasks: Option<Vec<Task>>,
    /// Whether each connection of a population has a row in the table `connections`.
    pub connections: bool,
    /// How long hosts wait for the missing fragments of a datagram.
    pub reassembly: Duration,
    /// The numbers of the nodes whose packets are recorded.
    pub spied: Vec<u32>,
    /// The tables that are recorded.
    pub wanted: Wanted,
    /// The captures that are written.
    pub captured: Capturing,
    /// The maximum number of rows that all recorded tables may have together. The value is `None`
    /// for no limit.
    pub most_rows: Option<u64>,
    /// Algorithms of the retransmission timer (estimators) that get each round-trip sample, but do
    /// not influence the run.
    pub shadows: Vec<EstimatorConfig>,
    /// When the run ends.
    pub stop: Time,
}

impl Network {
    /// The network of this plan, whose run ends at the instant `stop`.
    pub fn new(mut plan: Plan, stop: Time) -> Self {
        Self {
            names: plan.take_names(),
            captured: plan.captured,
            graph: plan.graph,
            routes: plan.routes,
            links: plan.links.into_iter().map(|link| link.config).collect(),
            ends: (0..).zip(&plan.flows).flat_map(|(i, flow)| live_ends(FlowId(i), flow)).collect(),
            kernel_tasks: plan.kernel_tasks,
            connections: plan.connections,
            reassembly: plan.reassembly,
            spied: plan.spied,
            wanted: plan.wanted,
            most_rows: plan.most_rows,
            shadows: plan.shadows,
            stop,
        }
    }
}

/// Both ends of flow `id` of a live run, each with the number of its node.
fn live_ends(id: FlowId, flow: &PlannedFlow) -> [(NetworkEnd, u32); 2] {
    let nodes = [flow.from, flow.to];
    let (ends, shims, task) = match &*flow.traffic {
        Traffic::Real { ends, shims, task } => (ends, shims, task.starting(flow.start)),
        Traffic::Programs { tcp, shims } => {
            let end = |shim| NetworkEnd::Programs(ProgramsEnd { tcp: *tcp, shim });
            return [(end(shims[0]), nodes[0]), (end(shims[1]), nodes[1])];
        }
        _ => {
            let [from, to] = programs(id, flow).map(NetworkEnd::Model);
            return [(from, nodes[0]), (to, nodes[1])];
        }
    };
    let end = |side: Side| match &ends[side.index()] {
        PlannedEnd::Model(tcp) => NetworkEnd::Model(tcp_end(id.end(side), tcp, task.clone())),
        PlannedEnd::Kernel(tcp) => NetworkEnd::Kernel(KernelEnd {
            tcp: *tcp,
            shim: shims[side.index()],
            task: task.clone(),
            listens: side == Side::To,
        }),
    };
    [(end(Side::From), nodes[0]), (end(Side::To), nodes[1])]
}
