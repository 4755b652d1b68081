//! The world that a scenario is played in.

use crate::app::{Client, Echo, EchoProbes, Endpoint, Exchange, FlowResult, Program, Server, Task};
use crate::event::{Events, Wanted};
use crate::ids::{EndId, FlowId, Side};
use crate::ip::Reassembling;
use crate::link::{Link, LinkConfig, LinkCount};
use crate::record::{Judge, Names};
use crate::rto::EstimatorConfig;
use crate::segment::Segment;
use crate::shim::ShimConfig;
use crate::sim::{Advance, Graph, Routes, World, WorldConfig};
use crate::tcp::{Connection, TcpConfig};
use crate::units::{Duration, Time};

use super::kernel_config::KernelTcp;
use super::plan::Plan;
use super::traffic::{PlannedEnd, PlannedFlow, Traffic};

/// A world of TCP alone, the usual one, or one of any programs, each behind reassembly. They are
/// two kinds, so that the usual one neither asks what a host is nor looks for fragments.
#[derive(Debug)]
pub(super) enum Net {
    Tcp(World<Segment, Endpoint, Judge>),
    Any(World<Segment, Reassembling<Segment, Program>, Judge>),
}

/// What lives at the two ends of a flow.
#[derive(Clone, Copy)]
pub(super) enum Ends<'a> {
    Tcp(&'a Endpoint, &'a Endpoint),
    Requests(&'a Client, &'a Server),
    EchoProbes(&'a EchoProbes),
}

impl Net {
    /// The world of `plan`, at the start of time.
    pub(super) fn new(plan: Plan) -> Self {
        let witness = Judge::new(2 * plan.flows.len());
        let config = WorldConfig {
            graph: plan.graph,
            routes: plan.routes,
            links: plan.links.into_iter().map(|link| link.config).collect(),
            endpoints: (0..).zip(plan.flows).flat_map(|(i, flow)| ends(FlowId(i), flow)).collect(),
            observed: plan.spied,
            wanted: plan.wanted,
            witness,
        };
        let tcp = |(program, _): &(Program, u32)| matches!(program, Program::Tcp(_));
        if plan.fragments || !config.endpoints.iter().all(tcp) {
            let host = |program| Reassembling::new(program, plan.reassembly);
            return Self::Any(World::new(with(config, |program| Some(host(program)))));
        }
        Self::Tcp(World::new(with(config, |program| match program {
            Program::Tcp(end) => Some(end),
            _ => None,
        })))
    }

    pub(super) fn now(&self) -> Time {
        match self {
            Self::Tcp(world) => world.now(),
            Self::Any(world) => world.now(),
        }
    }

    pub(super) fn next_wakeup(&self) -> Option<Time> {
        match self {
            Self::Tcp(world) => world.next_wakeup(),
            Self::Any(world) => world.next_wakeup(),
        }
    }

    pub(super) fn advance_within(&mut self, until: Time, most: u64) -> Advance {
        match self {
            Self::Tcp(world) => world.advance_within(until, most),
            Self::Any(world) => world.advance_within(until, most),
        }
    }

    pub(super) fn served(&self) -> u64 {
        match self {
            Self::Tcp(world) => world.served(),
            Self::Any(world) => world.served(),
        }
    }

    pub(super) fn settle(&mut self) {
        match self {
            Self::Tcp(world) => world.settle(),
            Self::Any(world) => world.settle(),
        }
    }

    pub(super) fn events(&mut self) -> &mut Events<Segment> {
        match self {
            Self::Tcp(world) => world.events(),
            Self::Any(world) => world.events(),
        }
    }

    /// What each direction of each link did.
    pub(super) fn counts(&self) -> Vec<LinkCount> {
        match self {
            Self::Tcp(world) => world.links().map(Link::count).collect(),
            Self::Any(world) => world.links().map(Link::count).collect(),
        }
    }

    /// Who watched.
    pub(super) fn judge(&self) -> &Judge {
        match self {
            Self::Tcp(world) => world.witness(),
            Self::Any(world) => world.witness(),
        }
    }

    /// The two ends of each flow.
    pub(super) fn ends(&self) -> Vec<Ends<'_>> {
        match self {
            Self::Tcp(world) => pairs(world.hosts()).map(|[a, b]| Ends::Tcp(a, b)).collect(),
            Self::Any(world) => {
                let programs = pairs(world.hosts()).map(|pair| pair.map(Reassembling::inner));
                programs
                    .filter_map(|pair| match pair {
                        [Program::Tcp(source), Program::Tcp(sink)] => Some(Ends::Tcp(source, sink)),
                        [Program::Client(client), Program::Server(server)] => {
                            Some(Ends::Requests(client, server))
                        }
                        [Program::EchoProbes(prober), _] => Some(Ends::EchoProbes(prober)),
                        _ => None,
                    })
                    .collect()
            }
        }
    }
}

/// The hosts at the ends of flows, two by two.
fn pairs<T>(mut hosts: impl Iterator<Item = T>) -> impl Iterator<Item = [T; 2]> {
    std::iter::from_fn(move || Some([hosts.next()?, hosts.next()?]))
}

impl<'a> Ends<'a> {
    /// What came of the two ends of a TCP flow.
    pub(super) fn tcp(self) -> Option<[FlowResult; 2]> {
        match self {
            Self::Tcp(source, sink) => Some([source.result(), sink.result()]),
            Self::Requests(client, server) => Some([client.result(), server.result()]),
            Self::EchoProbes(_) => None,
        }
    }

    /// What was asked over it.
    pub(super) fn exchanges(self) -> &'a [Exchange] {
        match self {
            Self::Requests(client, _) => client.exchanges(),
            _ => &[],
        }
    }
}

/// The same world with other endpoints: those that `of` makes.
fn with<E, W>(
    config: WorldConfig<Program, W>,
    of: impl Fn(Program) -> Option<E>,
) -> WorldConfig<E, W> {
    let endpoints = config.endpoints.into_iter();
    WorldConfig {
        graph: config.graph,
        routes: config.routes,
        links: config.links,
        endpoints: endpoints.filter_map(|(program, at)| Some((of(program)?, at))).collect(),
        observed: config.observed,
        wanted: config.wanted,
        witness: config.witness,
    }
}

/// Both ends of the flow `id`, and their nodes.
///
/// # Panics
/// When an end is the kernel's.
fn ends(id: FlowId, flow: PlannedFlow) -> [(Program, u32); 2] {
    let [source, sink] = match flow.traffic {
        Traffic::Tcp { tcp, task } => tcp_ends(id, &tcp, task),
        Traffic::Real { .. } | Traffic::Programs { .. } => {
            panic!("a flow of the kernel's is no simulation")
        }
        Traffic::EchoProbes { plan, processing } => [
            Program::EchoProbes(EchoProbes::new(id.end(Side::From), plan)),
            Program::Echo(Echo::new(id.end(Side::To), processing)),
        ],
    };
    [(source, flow.from), (sink, flow.to)]
}

fn tcp_ends(id: FlowId, tcp: &TcpConfig, task: Task) -> [Program; 2] {
    Side::BOTH.map(|side| tcp_end(id.end(side), tcp, task))
}

/// The program at `end` of a flow whose two ends do `task`.
fn tcp_end(end: EndId, tcp: &TcpConfig, task: Task) -> Program {
    let connection = Connection::new(end, tcp);
    match (task, end.side()) {
        (Task::Bulk(bulk), side) => {
            Program::Tcp(Endpoint::new(connection, (side == Side::From).then_some(bulk)))
        }
        (Task::Requests(plan), Side::From) => Program::Client(Client::new(connection, plan)),
        (Task::Requests(plan), Side::To) => Program::Server(Server::new(connection, plan)),
    }
}

/// Both ends of the flow `id` of a live run, and their nodes.
fn live_ends(id: FlowId, flow: PlannedFlow) -> [(NetworkEnd, u32); 2] {
    let nodes = [flow.from, flow.to];
    let (ends, shims, task) = match flow.traffic {
        Traffic::Real { ends, shims, task } => (ends, shims, task),
        Traffic::Programs { tcp, shims } => {
            let end = |side: usize| NetworkEnd::Programs(ProgramsEnd { tcp, shim: shims[side] });
            return [(end(0), nodes[0]), (end(1), nodes[1])];
        }
        _ => return ends(id, flow).map(|(program, at)| (NetworkEnd::Model(program), at)),
    };
    let end = |side: Side| match &ends[side.index()] {
        PlannedEnd::Model(tcp) => NetworkEnd::Model(tcp_end(id.end(side), tcp, task)),
        PlannedEnd::Kernel(tcp) => NetworkEnd::Kernel(KernelEnd {
            tcp: *tcp,
            shim: shims[side.index()],
            task,
            listens: side == Side::To,
        }),
    };
    [(end(Side::From), nodes[0]), (end(Side::To), nodes[1])]
}

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
#[derive(Clone, Copy, Debug)]
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
    /// How long hosts wait for the rest of a datagram.
    pub reassembly: Duration,
    /// Nodes under observation.
    pub spied: Vec<u32>,
    /// What is recorded.
    pub wanted: Wanted,
    /// Whether captures are written.
    pub capture: bool,
    /// Timers beside those of the senders.
    pub shadows: Vec<EstimatorConfig>,
    /// When the run ends.
    pub stop: Time,
}

impl Network {
    /// The network of `plan`, whose run ends at `stop`.
    pub(super) fn new(plan: Plan, stop: Time) -> Self {
        Self {
            names: plan.names(),
            graph: plan.graph,
            routes: plan.routes,
            links: plan.links.into_iter().map(|link| link.config).collect(),
            ends: (0..).zip(plan.flows).flat_map(|(i, flow)| live_ends(FlowId(i), flow)).collect(),
            reassembly: plan.reassembly,
            spied: plan.spied,
            wanted: plan.wanted,
            capture: plan.capture && plan.wanted.seen,
            shadows: plan.shadows,
            stop,
        }
    }
}
