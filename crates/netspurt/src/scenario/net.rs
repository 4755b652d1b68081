//! The world that a scenario is played in.

use crate::app::{Echo, Endpoint, FlowResult, Program, Volleys};
use crate::event::Events;
use crate::ip::Reassembling;
use crate::link::Link;
use crate::record::Judge;
use crate::segment::Segment;
use crate::sim::{Advance, World, WorldConfig};
use crate::tcp::Connection;
use crate::units::Time;

use super::plan::{Plan, PlannedFlow, Traffic};

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
    Volleys(&'a Volleys),
}

impl Net {
    /// The world of `plan`, at the start of time.
    pub(super) fn new(plan: Plan) -> Self {
        let witness = Judge::new(2 * plan.flows.len());
        let config = WorldConfig {
            graph: plan.graph,
            routes: plan.routes,
            links: plan.links.into_iter().map(|link| link.config).collect(),
            endpoints: (0..).zip(plan.flows).flat_map(|(i, flow)| ends(i, flow)).collect(),
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

    pub(super) fn links(&self) -> &[Link<Segment>] {
        match self {
            Self::Tcp(world) => world.links(),
            Self::Any(world) => world.links(),
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
            Self::Tcp(world) => {
                let pairs = world.endpoints().chunks_exact(2);
                pairs.map(|pair| Ends::Tcp(&pair[0], &pair[1])).collect()
            }
            Self::Any(world) => {
                let pairs = world.endpoints().chunks_exact(2);
                let programs = pairs.map(|pair| (pair[0].inner(), pair[1].inner()));
                programs
                    .filter_map(|pair| match pair {
                        (Program::Tcp(source), Program::Tcp(sink)) => Some(Ends::Tcp(source, sink)),
                        (Program::Volleys(prober), _) => Some(Ends::Volleys(prober)),
                        _ => None,
                    })
                    .collect()
            }
        }
    }
}

impl Ends<'_> {
    /// What came of the two ends of a TCP flow.
    pub(super) fn tcp(self) -> Option<[FlowResult; 2]> {
        match self {
            Self::Tcp(source, sink) => Some([source.result(), sink.result()]),
            Self::Volleys(_) => None,
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

/// Both ends of the flow numbered `i`, and their nodes.
fn ends(i: u32, flow: PlannedFlow) -> [(Program, u32); 2] {
    let [source, sink] = match flow.traffic {
        Traffic::Tcp { tcp, task } => {
            let connection = |endpoint| Connection::new(endpoint, &tcp);
            [
                Program::Tcp(Endpoint::new(connection(2 * i), Some(task))),
                Program::Tcp(Endpoint::new(connection(2 * i + 1), None)),
            ]
        }
        Traffic::Volleys { plan, processing } => [
            Program::Volleys(Volleys::new(2 * i, plan)),
            Program::Echo(Echo::new(2 * i + 1, processing)),
        ],
    };
    [(source, flow.from), (sink, flow.to)]
}
