//! The world (the running network) of a simulated scenario, with its links and flows.

use crate::app::{Endpoint, Program};
use crate::event::Events;
use crate::ids::TransmissionId;
use crate::ip::Reassembling;
use crate::link::{Link, LinkCount};
use crate::record::{Names, PopulationSums};
use crate::segment::Segment;
use crate::sim::{Advance, World, WorldConfig};
use crate::stage::Host;
use crate::units::Time;

use super::Plan;
use super::flows::{FlowSums, HostType, ScenarioFlows};
use super::traffic::PlannedFlow;

/// A world with only TCP transfers, or a world with hosts of any kind. Hosts of any kind also
/// reassemble fragments. Most scenarios need only the first kind of world. This kind is faster,
/// because two checks are not needed: the kind of each host, and whether a packet is a fragment.
#[derive(Debug)]
pub(super) enum Net {
    Tcp(World<Segment, Endpoint, ScenarioFlows>),
    Any(World<Segment, Reassembling<Segment, Program>, ScenarioFlows>),
}

/// The results of a run.
#[derive(Debug)]
pub(super) struct NetResult {
    pub(super) sums: FlowSums,
    /// The spurious transmissions, in ascending order.
    pub(super) spurious: Vec<TransmissionId>,
    /// The counts of all directions of all links, by the direction's number in the world.
    pub(super) links: Vec<LinkCount>,
}

impl Net {
    /// The world of `plan`, at time zero.
    pub(super) fn new(plan: Plan, names: &Names) -> Self {
        let transfers = plan.flows.iter().all(PlannedFlow::is_transfer)
            && plan.populations.iter().all(|population| population.is_of_transfers());
        if !plan.fragments && transfers {
            return Self::Tcp(world(plan, names));
        }
        Self::Any(world(plan, names))
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

    /// The number of rows that are kept for connections that ended.
    pub(super) fn connection_rows(&self) -> u64 {
        match self {
            Self::Tcp(world) => world.population().connection_rows(),
            Self::Any(world) => world.population().connection_rows(),
        }
    }

    /// Ends the run and returns its results.
    pub(super) fn finish(self) -> NetResult {
        match self {
            Self::Tcp(world) => ended(world),
            Self::Any(world) => ended(world),
        }
    }
}

/// The world of `plan`, with hosts of one type.
fn world<E: HostType + Host<Segment>>(
    plan: Plan,
    names: &Names,
) -> World<Segment, E, ScenarioFlows> {
    let connections = PopulationSums::new(names.clone(), plan.connections);
    let mut population =
        ScenarioFlows::new(plan.flows, &plan.populations, connections, plan.reassembly);
    World::new(WorldConfig {
        graph: plan.graph,
        routes: plan.routes,
        links: plan.links.into_iter().map(|link| link.config).collect(),
        flows: population.permanent(),
        pairs: population.pairs(),
        observed: plan.spied,
        wanted: plan.wanted,
        population,
    })
}

/// Ends the run of `world` and returns its results.
fn ended<E: HostType + Host<Segment>>(world: World<Segment, E, ScenarioFlows>) -> NetResult {
    let links = world.links().map(Link::count).collect();
    let (flows, open) = world.into_population();
    let spurious = flows.spurious();
    NetResult { sums: flows.finish(open), spurious, links }
}
