//! The emulated path of a live run: a simulated network in which a `Gate` takes the place of each
//! real host. A real host has the kernel's TCP. An application of netspurt, or programs that the
//! user runs at both ends, use this TCP.
//!
//! The path has a time of its own, the *logical time*. The path takes packets with the logical time
//! of their entry, and returns them with the logical time of their departure. The path reads no
//! clock. Therefore the same arrivals give the same departures and drops, both in a live run and in
//! its replay.

mod gate;

use crate::app::Program;
use crate::event::{Event, Wanted};
use crate::ids::{EndId, FlowId};
use crate::ip::Reassembling;
use crate::link::LinkCount;
use crate::plan::{Network, NetworkEnd, ProgramsEnd};
use crate::record::Judge;
use crate::segment::Segment;
use crate::shim::Retransmission;
use crate::sim::{Advance, World, WorldConfig};
use crate::units::Time;

pub use gate::{Departure, Gate, LiveHost};

/// The first pair of ends that belong to programs, with their nodes. Every connection of programs
/// gets such a pair of ends.
fn programs(ends: &[(NetworkEnd, u32)]) -> Option<[(ProgramsEnd, u32); 2]> {
    let of_programs = |(end, node): &(NetworkEnd, u32)| match end {
        NetworkEnd::Programs(end) => Some((*end, *node)),
        _ => None,
    };
    let mut ends = ends.iter().filter_map(of_programs);
    Some([ends.next()?, ends.next()?])
}

/// An emulated path and the packets on it.
#[derive(Debug)]
pub struct Path {
    world: World<Segment, LiveHost, Judge>,
    /// The gates at which packets may leave the path. These are the ends on the kernel's TCP and,
    /// for each flow of programs in which a packet was sent, both ends of the flow.
    gates: Vec<EndId>,
    /// For each end, whether it is in `gates`.
    listed: Vec<bool>,
    /// The first pair of ends of programs or of a population, with their nodes. A population is
    /// many connections of one kind. Each added connection is made from this pair. `None` if there
    /// are neither programs nor a population.
    programs: Option<[(ProgramsEnd, u32); 2]>,
}

impl Path {
    /// Creates a path with the links, routes and ends of `network`.
    pub fn new(network: Network) -> Self {
        let mut gates = Vec::new();
        let mut listed = vec![false; network.ends.len()];
        let mut hosts = Vec::with_capacity(network.ends.len());
        let programs = programs(&network.ends);
        for (number, (end, node)) in (0..).zip(network.ends) {
            let host = match end {
                NetworkEnd::Kernel(end) => {
                    gates.push(EndId::at(number));
                    listed[number as usize] = true;
                    LiveHost::Gate(Gate::new(end.shim.as_ref()))
                }
                NetworkEnd::Programs(end) => LiveHost::Gate(Gate::new(end.shim.as_ref())),
                NetworkEnd::Model(program) => {
                    LiveHost::Model(Box::new(Reassembling::new(program, network.reassembly)))
                }
            };
            hosts.push((host, node));
        }
        let mut judge = Judge::default();
        let mut hosts = hosts.into_iter();
        let pairs = std::iter::from_fn(|| Some([hosts.next()?, hosts.next()?]));
        let flows: Vec<_> = (0..).map(FlowId).zip(pairs).collect();
        flows.iter().for_each(|(flow, _)| judge.watch(*flow));
        let world = World::new(WorldConfig {
            graph: network.graph,
            routes: network.routes,
            links: network.links,
            flows,
            pairs: Vec::new(),
            observed: network.spied,
            // The path must always report drops. Otherwise the octets of dropped packets would
            // never be released.
            wanted: Wanted { drops: true, ..network.wanted },
            population: judge,
        });
        Self { world, gates, listed, programs }
    }

    /// The instant that the path has reached.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// The earliest instant at which something may happen on the path if no new packet enters.
    /// `None` if nothing will happen.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.world.next_wakeup()
    }

    /// Advances the path to the instant `until`, and reports its events to the function `watch`.
    pub fn advance(&mut self, until: Time, watch: &mut dyn FnMut(&Event<Segment>)) {
        let mut reached = false;
        while !reached {
            reached = self.world.advance_to(until) == Advance::Reached;
            self.world.events().drain().for_each(|event| watch(&event));
        }
    }

    /// Lets a packet enter at the instant `at`, after the path has advanced to that instant. The
    /// instant must not be before [`now`](Self::now).
    ///
    /// # Panics
    /// When the end that sent the packet is not a gate.
    pub fn enter(&mut self, at: Time, segment: Segment, watch: &mut dyn FnMut(&Event<Segment>)) {
        self.enter_together(at, segment.source(), &mut [segment].into_iter(), watch);
    }

    /// Adds the connection `flow` of programs, which begins now.
    ///
    /// # Panics
    /// When the path has no programs.
    fn admit(&mut self, flow: FlowId) {
        let ends = self.programs.as_ref().expect("only a path with programs gets connections");
        let gate = |(end, node): &(ProgramsEnd, u32)| {
            (LiveHost::Gate(Gate::new(end.shim.as_ref())), *node)
        };
        let ends = [gate(&ends[0]), gate(&ends[1])];
        self.world.population_mut().watch(flow);
        self.world.admit(flow, ends);
        let places = EndId::places(flow.index() + 1);
        self.listed.resize(self.listed.len().max(places), false);
    }

    /// Lets packets of the end `from` enter at the instant `at`, in their order.
    ///
    /// # Panics
    /// When the end `from` is not a gate.
    pub fn enter_together(
        &mut self,
        at: Time,
        from: EndId,
        segments: &mut dyn Iterator<Item = Segment>,
        watch: &mut dyn FnMut(&Event<Segment>),
    ) {
        self.advance(at, watch);
        if self.world.host(from).is_none() {
            self.admit(from.flow());
        }
        for end in [from, from.peer()] {
            let gate = matches!(self.world.host(end), Some(LiveHost::Gate(_)));
            if gate && !std::mem::replace(&mut self.listed[end.index()], true) {
                self.gates.push(end);
            }
        }
        self.world.at_end(from, |host| match host {
            LiveHost::Gate(gate) => segments.for_each(|segment| gate.enter(at, segment)),
            LiveHost::Model(_) => panic!("packets enter only at gates"),
        });
        self.advance(at, watch);
    }

    /// Returns the packets that have left since the last call, in the order of logical time.
    pub fn departures(&mut self) -> Vec<Departure> {
        let mut all = Vec::new();
        self.depart(&mut all);
        all
    }

    /// Replaces the contents of the list `all` by the packets that have left since the last call.
    pub fn depart(&mut self, all: &mut Vec<Departure>) {
        all.clear();
        for gate in &self.gates {
            let left = match self.world.host(*gate) {
                Some(LiveHost::Gate(gate)) => !gate.is_empty(),
                _ => false,
            };
            if left {
                self.world.at_end(*gate, |host| match host {
                    LiveHost::Gate(gate) => all.extend(gate.take()),
                    LiveHost::Model(_) => {}
                });
            }
        }
        if !all.is_sorted_by_key(|departure| departure.due) {
            all.sort_by_key(|departure| departure.due);
        }
    }

    /// Reports to the function `watch` the departures from queues up to now. The caller must call
    /// this method at the end of a run.
    pub fn settle(&mut self, watch: &mut dyn FnMut(&Event<Segment>)) {
        self.world.settle();
        self.world.events().drain().for_each(|event| watch(&event));
    }

    /// The counts of each direction of each link.
    pub fn counts(&self) -> Vec<LinkCount> {
        self.world.links().map(crate::link::Link::count).collect()
    }

    /// The judge, which has a verdict for each retransmission: whether it was needed.
    pub fn judge(&self) -> &Judge {
        self.world.population()
    }

    /// The retransmissions of the shims, each with the end of its shim, in the order of the ends.
    pub fn retransmissions(&self) -> Vec<(EndId, Retransmission)> {
        let ends = (0..).map(EndId::at).take(self.listed.len());
        let of = |end: EndId| self.shim_retransmissions(end).iter().map(move |sent| (end, *sent));
        ends.flat_map(of).collect()
    }

    /// The retransmissions of the shim of one end. Empty if the end has no shim.
    pub fn shim_retransmissions(&self, end: EndId) -> &[Retransmission] {
        match self.world.host(end) {
            Some(LiveHost::Gate(gate)) => gate.retransmissions(),
            _ => &[],
        }
    }

    /// The program at an end in the simulator. `None` if the end is a gate, or if there is no such
    /// end.
    pub fn program(&self, end: EndId) -> Option<&Program> {
        match self.world.host(end)? {
            LiveHost::Gate(_) => None,
            LiveHost::Model(host) => Some(host.inner()),
        }
    }
}
