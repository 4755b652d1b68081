//! A scenario's network for those who put real hosts at its ends.

use crate::app::{Program, Task};
use crate::event::Wanted;
use crate::ids::{FlowId, Side};
use crate::link::LinkConfig;
use crate::record::{Capturing, Names};
use crate::rto::EstimatorConfig;
use crate::shim::ShimConfig;
use crate::sim::{Graph, Routes};
use crate::units::{Duration, Time};

use super::kernel_config::KernelTcp;
use super::plan::Plan;
use super::population::{programs, tcp_end};
use super::traffic::{PlannedEnd, PlannedFlow, Traffic};

/// What lives at one end of a flow of a live run.
#[derive(Debug)]
pub enum NetworkEnd {
    /// The simulator's.
    Model(Program),
    /// A socket of the kernel's.
    Kernel(KernelEnd),
    /// A connection of programs', or what they send beside connections.
    Programs(ProgramsEnd),
}

/// One end of what programs at two hosts of the kernel's send each other: the first pair of such
/// ends is for whatever is no connection of its own, each other pair for one connection.
#[derive(Clone, Copy, Debug)]
pub struct ProgramsEnd {
    /// What is asked of the host's TCP.
    pub tcp: KernelTcp,
    /// The timer at the host's edge.
    pub shim: Option<ShimConfig>,
}

/// A socket of the kernel's, and what it is for.
#[derive(Clone, Debug)]
pub struct KernelEnd {
    /// What is asked of its TCP.
    pub tcp: KernelTcp,
    /// The timer at its host's edge.
    pub shim: Option<ShimConfig>,
    /// What the applications at both ends do.
    pub task: Task,
    /// Whether it is the end that waits for the other one.
    pub listens: bool,
}

/// A scenario's network and what is to be recorded, for whoever puts endpoints of their own at
/// its ends.
#[derive(Debug)]
pub struct Network {
    /// What everything is called.
    pub names: Names,
    /// Which links lead where.
    pub graph: Graph,
    /// Which links frames take.
    pub routes: Routes,
    /// The links.
    pub links: Vec<LinkConfig>,
    /// The ends of the flows, two a flow, and the nodes they live at.
    pub ends: Vec<(NetworkEnd, u32)>,
    /// What the connections of a population of the kernel's do, in the order of their starts; its
    /// hosts are those of programs.
    pub visits: Option<Vec<Task>>,
    /// Whether each of these has a row of its own in the tables.
    pub connections: bool,
    /// How long hosts wait for the rest of a datagram.
    pub reassembly: Duration,
    /// Nodes under observation.
    pub spied: Vec<u32>,
    /// What is recorded.
    pub wanted: Wanted,
    /// Its captures.
    pub captured: Capturing,
    /// The most rows that all recorded tables may have together.
    pub most_rows: Option<u64>,
    /// Timers beside those of the senders.
    pub shadows: Vec<EstimatorConfig>,
    /// When the run ends.
    pub stop: Time,
}

impl Network {
    /// The network of `plan`, whose run ends at `stop`.
    pub(super) fn new(mut plan: Plan, stop: Time) -> Self {
        Self {
            captured: plan.captured(),
            names: plan.take_names(),
            graph: plan.graph,
            routes: plan.routes,
            links: plan.links.into_iter().map(|link| link.config).collect(),
            ends: (0..).zip(&plan.flows).flat_map(|(i, flow)| live_ends(FlowId(i), flow)).collect(),
            visits: plan.visits,
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

/// Both ends of the flow `id` of a live run, and their nodes.
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
