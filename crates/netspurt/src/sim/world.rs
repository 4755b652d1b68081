//! The world, which is a running network: hosts, links and routes, and the loop that moves frames
//! between them. The [`Transit`] stores the frames that are on their way. A parcel is the index of
//! a frame in the transit, with the frame's size and destination.

use crate::event::{Events, Wanted, Way, What};
use crate::ids::{EndId, FlowId};
use crate::link::{Link, LinkConfig, Parcel, Transit};
use crate::stage::{Appointment, Frame, Host};
use crate::units::{Duration, Time};

use super::ends::{Ends, FlowEnd};
use super::population::{FlowEnds, Population};
use super::routes::Onwards;
use super::{EventQueue, Graph, Routes};

/// The parts from which a world is made.
#[derive(Debug)]
pub struct WorldConfig<E, P = ()> {
    /// The nodes and the links between them.
    pub graph: Graph,
    /// The routes of frames.
    pub routes: Routes,
    /// The links, in the order of their numbers in `graph`.
    pub links: Vec<LinkConfig>,
    /// Flows that exist from the start of the run to its end.
    pub flows: Vec<(FlowId, FlowEnds<E>)>,
    /// For the flows that start later: the pairs of nodes at which these flows have their ends.
    pub pairs: Vec<[u32; 2]>,
    /// The nodes that report the frames that they see.
    pub observed: Vec<u32>,
    /// The events that links and hosts report.
    pub wanted: Wanted,
    /// The code that starts flows while the world runs, watches their frames, and takes back the
    /// hosts of flows that are over.
    pub population: P,
}

/// Whether the world advanced as far as was requested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// The world reached the requested instant.
    Reached,
    /// The world did not reach the requested instant, because one call does a limited amount of
    /// work. The caller drains the events, does other work, and calls again.
    Full,
}

/// One call that advances a world stops after this number of wake-ups, which takes about ten
/// milliseconds. The driver therefore soon regains control, even if time does not advance.
const SLICE: u64 = 1 << 15;

/// If both ends of a flow of the population wait for longer than this time, their state is packed
/// into few octets. Packing and unpacking both ends of a connection takes about as long as 65
/// packet-hops (a packet-hop is one packet carried over one link). So the state is not packed in
/// short pauses.
const LONG: Duration = Duration::from_secs(10);

/// A running network.
///
/// The earliest wake-up is always served first. Of several wake-ups at one instant, the wake-up
/// that was scheduled first is served first. An arrival is scheduled when its transmission starts,
/// and a timer when it is armed. A host may answer at the instant at which a frame reaches it. The
/// loop never waits and never asks the time. A driver on a wall clock calls
/// [`advance_to`](Self::advance_to) with its own instants, and frames still move in logical time.
///
/// A flow of the world's [`Population`] starts before anything else that is due at the same
/// instant. The flow is removed when it is over.
#[derive(Debug)]
pub struct World<F, E, P = ()> {
    now: Time,
    served: u64,
    queue: EventQueue,
    routed_links: Vec<RoutedLink>,
    /// The source of each link's frames.
    feeders: Vec<Feeder>,
    ends: Ends<E>,
    routes: Routes,
    /// For each node, whether it reports the frames that it sees.
    observed: Vec<bool>,
    transit: Transit<F>,
    /// A frame that arrives at this instant or before may be processed ahead of time: before
    /// [`now`](Self::now) reaches the instant of its arrival.
    horizon: Time,
    population: P,
}

/// A link and its destination.
#[derive(Debug)]
struct RoutedLink {
    link: Link,
    /// The instant of the link's valid entry in the event queue. The queue may also have stale
    /// entries of the link, which an entry for an earlier instant has replaced.
    entered: Time,
    to: Destination,
    /// Whether all frames of some other link come from this link.
    leads_on: bool,
    /// The instant of the last arrival ahead of time, and when the first arrival at this instant
    /// was scheduled.
    early_arrival: (Time, Time),
}

/// The node at the end of a link.
#[derive(Clone, Copy, Debug)]
struct Destination {
    node: u32,
    /// Whether the node reports the frames that it sees.
    observed: bool,
    /// How the node forwards frames.
    onwards: Onwards,
}

/// The source of a link's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    /// No source is known so far.
    Nothing,
    /// A single link, by number.
    Link(u32),
    /// Hosts, several links, or a link whose frames must not enter the next link ahead of time.
    Any,
}

impl<F: Frame, E: Host<F>, P: Population<F, E>> World<F, E, P> {
    /// Makes the world of `config`, at the start of time.
    ///
    /// # Panics
    /// When the links do not match the graph.
    pub fn new(config: WorldConfig<E, P>) -> Self {
        let leads_to = |link: u32| config.graph.end(link);
        let mut pairs = config.pairs;
        pairs.extend(config.flows.iter().map(|(_, [from, to])| [from.1, to.1]));
        let nodes = (pairs.as_flattened().iter().copied())
            .chain(config.observed.iter().copied())
            .chain((0..).zip(&config.links).map(|(link, _)| leads_to(link)));
        let mut observed = vec![false; nodes.max().map_or(0, |n| n as usize + 1)];
        for node in config.observed.iter().filter(|_| config.wanted.seen) {
            observed[*node as usize] = true;
        }
        let routed = |(number, link): (u32, LinkConfig)| {
            let node = leads_to(number);
            RoutedLink {
                link: Link::new(number, link),
                entered: Time::NEVER,
                to: Destination {
                    node,
                    observed: observed[node as usize],
                    onwards: config.routes.onwards(node),
                },
                leads_on: false,
                early_arrival: (Time::NEVER, Time::NEVER),
            }
        };
        let routed_links: Vec<RoutedLink> = (0..).zip(config.links).map(routed).collect();
        let mut world = Self {
            now: Time::ZERO,
            served: 0,
            queue: EventQueue::new(),
            feeders: vec![Feeder::Nothing; routed_links.len()],
            routed_links,
            ends: Ends::new(),
            routes: config.routes,
            observed,
            transit: Transit::new(config.wanted),
            horizon: Time::ZERO,
            population: config.population,
        };
        world.find_feeders(&config.graph, pairs);
        for (flow, ends) in config.flows {
            world.admit(flow, ends);
        }
        world
    }

    /// Adds a flow that starts now and stays to the end of the run. The flow does not come from the
    /// population.
    pub fn admit(&mut self, flow: FlowId, ends: FlowEnds<E>) {
        let exit = |at, to| self.routes.next(at, to);
        for place in self.ends.admit((flow, false), ends, exit) {
            let next = self.ends[place].host().next_wakeup();
            self.enter_end(place, next, (self.now, self.now));
        }
    }

    /// Starts the next flow of the population at the instant `at`, before anything else that is due
    /// then.
    #[cold]
    #[inline(never)]
    fn start_flow(&mut self, at: Time) {
        let (flow, ends) = self.population.start();
        let exit = |at, to| self.routes.next(at, to);
        let [place, _] = self.ends.admit((flow, true), ends, exit);
        self.now = at;
        self.served += 1;
        let by = (at, Time::ZERO);
        self.emit(Appointment { at, since: Time::ZERO, by }, place);
    }

    /// Retires the flow of the end with the index `place` if the flow came from the population and
    /// is over. A flow is over if none of its frames is in flight and neither end has a next
    /// wake-up. If the flow is not over, but none of its frames is in flight and both ends wait for
    /// a long time, the state of the ends is packed.
    #[inline(always)]
    fn retire_if_over(&mut self, place: usize) {
        let FlowEnd { flow, is_removed_when_over, .. } = self.ends[place];
        if is_removed_when_over && self.transit.in_flight(flow) == 0 {
            self.retire_or_rest(flow);
        }
    }

    #[cold]
    fn retire_or_rest(&mut self, flow: FlowId) {
        if let Some(hosts) = self.ends.retire_if_idle(flow, |host| host.next_wakeup().is_none()) {
            return self.population.retire(flow, hosts);
        }
        let soon = self.now + LONG;
        if self.ends.of(flow).all(|host| host.next_wakeup().is_none_or(|next| next > soon)) {
            self.ends.of_mut(flow, Host::rest);
        }
    }

    /// Finds the links that get all their frames from a single other link, their feeder. A frame
    /// that leaves the feeder may enter the next link ahead of time. Events must be reported in the
    /// order of time. Therefore a link that begins at an observed node gets no feeder, and if links
    /// report events, no link gets a feeder.
    fn find_feeders(&mut self, graph: &Graph, mut pairs: Vec<[u32; 2]>) {
        let &Wanted { drops, queue, .. } = self.transit.events.wanted();
        pairs.sort_unstable();
        pairs.dedup();
        for [a, b] in pairs.into_iter().flat_map(|[a, b]| [[a, b], [b, a]]) {
            let mut feeder = Feeder::Any;
            for link in self.routes.path(graph, a, b).unwrap_or_default() {
                let observed = self.routed_links[link as usize].to.observed;
                let known = &mut self.feeders[link as usize];
                let is_only_feeder = *known == Feeder::Nothing || *known == feeder;
                *known = if is_only_feeder { feeder } else { Feeder::Any };
                feeder = if drops || queue || observed { Feeder::Any } else { Feeder::Link(link) };
            }
        }
        for feeder in &self.feeders {
            if let Feeder::Link(link) = feeder {
                self.routed_links[*link as usize].leads_on = true;
            }
        }
    }

    /// The instant that the world has reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// The number of wake-ups served since the start of time. It does not depend on which events
    /// are reported, or on the number of calls that advanced the world.
    pub fn served(&self) -> u64 {
        self.served
    }

    /// The earliest instant at which something may be due, if nothing from outside changes the
    /// world before that instant. A stale entry of the event queue can make this instant too early.
    pub fn next_wakeup(&self) -> Option<Time> {
        let start = Some(self.population.next_start()).filter(|start| *start < Time::NEVER);
        self.queue.first().into_iter().chain(start).min()
    }

    /// The host at an end. The result is `None` if its flow has not started or was removed.
    pub fn host(&self, end: EndId) -> Option<&E> {
        self.ends.find(end)
    }

    /// The population, which starts flows and watches them.
    pub fn population(&self) -> &P {
        &self.population
    }

    /// The population, which the caller may change.
    pub fn population_mut(&mut self) -> &mut P {
        &mut self.population
    }

    /// Ends the run: returns the population, and the hosts of the flows that were not removed, in
    /// no particular order.
    pub fn into_population(self) -> (P, impl Iterator<Item = (FlowId, [E; 2])>) {
        (self.population, self.ends.into_hosts())
    }

    /// The links.
    pub fn links(&self) -> impl ExactSizeIterator<Item = &Link> {
        self.routed_links.iter().map(|routed| &routed.link)
    }

    /// The events since the last drain.
    pub fn events(&mut self) -> &mut Events<F> {
        &mut self.transit.events
    }

    /// Serves the wake-ups due up to and including the instant `until`.
    pub fn advance_to(&mut self, until: Time) -> Advance {
        self.advance_within(until, u64::MAX)
    }

    /// Does the same as [`advance_to`](Self::advance_to), but stops earlier if `served_max`
    /// wake-ups were served in this call.
    pub fn advance_within(&mut self, until: Time, served_max: u64) -> Advance {
        let limit = self.served.saturating_add(served_max.min(SLICE));
        self.horizon = until;
        while self.served < limit {
            let start = self.population.next_start();
            let before = start.as_nanos().checked_sub(1).map(|at| Time::from_nanos(at).min(until));
            if before.is_some_and(|before| self.serve_by(before, limit) == Advance::Full) {
                break;
            }
            if start > until {
                self.now = self.now.max(until);
                return Advance::Reached;
            }
            self.start_flow(start);
        }
        Advance::Full
    }

    /// Serves the wake-ups due by the instant `until`. Stops early when `limit` wake-ups were
    /// served since the start of time, or when the buffer of events is full.
    fn serve_by(&mut self, until: Time, limit: u64) -> Advance {
        while self.served < limit {
            let Some((when, stage)) = self.queue.pop_by(until) else { return Advance::Reached };
            self.served += 1;
            self.serve(when, stage as usize);
            if self.transit.events.is_full() {
                break;
            }
        }
        Advance::Full
    }

    /// Lets the function `act` change a host from outside of the world, at the present instant.
    /// Then updates the host's next wake-up.
    ///
    /// # Panics
    /// When there is no such end.
    pub fn at_end<T>(&mut self, end: EndId, act: impl FnOnce(&mut E) -> T) -> T {
        let place = self.ends.place(end);
        let host = self.ends[place].host_mut();
        let done = act(host);
        let next = host.next_wakeup();
        self.enter_end(place, next, (self.now, self.now));
        done
    }

    /// Reports the departures from queues up to now. The driver calls this method at the end of a
    /// run.
    pub fn settle(&mut self) {
        for routed in &mut self.routed_links {
            routed.link.settle(self.now, &mut self.transit);
        }
    }

    /// Lets a link or a host do what is due, and forwards its frames. `stage` is the number of the
    /// link or, for a host, the number of links plus the place of its end.
    #[inline(always)]
    fn serve(&mut self, when: Appointment, stage: usize) {
        let by = (when.at, when.since);
        let Some(routed) = self.routed_links.get_mut(stage) else {
            return self.serve_end(by, stage - self.routed_links.len());
        };
        if routed.entered == when.at {
            routed.entered = Time::NEVER;
            self.now = when.at;
            if routed.link.is_plain() {
                self.serve_link(by, stage);
            } else {
                self.serve_managed_link(by, stage);
            }
        }
    }

    /// Delivers or forwards the frames that arrived at the end of a plain link. Such a link has a
    /// drop-tail queue, keeps the order, and has no effects and no handovers. The pair `by` says
    /// when the wake-up was due and when it was scheduled.
    ///
    /// Most links are plain. Their arrivals do not pass through a function that other links use,
    /// because each arrival would then be written to memory and read again.
    #[inline(always)]
    fn serve_link(&mut self, by: (Time, Time), index: usize) {
        loop {
            let routed = &mut self.routed_links[index];
            let Some(arrival) = routed.link.take_plain(by.0) else {
                let next = routed.link.first_plain();
                return routed.enter(index, next, by, &mut self.queue);
            };
            let to = routed.to;
            self.arrive(Appointment { by, ..arrival.when }, arrival.parcel, to);
        }
    }

    /// Does the same as [`serve_link`](Self::serve_link) for a link that is not plain.
    #[inline(never)]
    fn serve_managed_link(&mut self, by: (Time, Time), index: usize) {
        loop {
            let routed = &mut self.routed_links[index];
            let Some(arrival) = routed.link.take(by.0, &mut self.transit) else { break };
            let to = routed.to;
            self.arrive(Appointment { by, ..arrival.when }, arrival.parcel, to);
            if self.routed_links[index].link.next_at() > by.0 {
                break;
            }
        }
        self.enter_managed_link(index, by);
    }

    #[inline(never)]
    fn serve_end(&mut self, by: (Time, Time), place: usize) {
        if !self.ends.take_entry(place) {
            return;
        }
        let end = &mut self.ends[place];
        if end.entered == by.0 {
            end.entered = Time::NEVER;
            self.now = by.0;
            let when = Appointment { at: by.0, since: end.appointed.1, by };
            self.emit(when, place);
            self.retire_if_over(place);
        }
    }

    /// Delivers a frame that reaches a node, or forwards it.
    #[inline(always)]
    fn arrive(&mut self, when: Appointment, parcel: Parcel, to: Destination) {
        let at = when.at;
        let Destination { node, observed, onwards } = to;
        let is_home = parcel.home() == node;
        if observed {
            let way = if is_home { Way::In } else { Way::Through };
            let frame = *self.transit.frame(parcel);
            self.transit.events.report(at, What::Seen { node, way, frame });
        }
        if !is_home {
            let link = next_link(&self.routes, onwards, parcel);
            return self.forward(when, link, parcel);
        }
        let place = self.ends.place(parcel.dest());
        let frame = self.transit.leave(parcel);
        let host = self.ends[place].host_mut();
        if let Some(datagram) = host.gather(at, frame, &mut self.transit.events) {
            self.population.reached(at, &datagram);
            host.act_before(at, when.since, &mut self.transit.events);
            host.push(at, 0, datagram, &mut self.transit.events);
        }
        self.emit(when, place);
        self.retire_if_over(place);
    }

    /// Lets a host do what is due, passes on its frames, and enters its next wake-up in the queue.
    #[inline(always)]
    fn emit(&mut self, when: Appointment, place: usize) {
        loop {
            let end = &mut self.ends[place];
            let (node, to, exit) = (end.home, end.peer_home, end.exit);
            let sent = end.host_mut().pop(when.at, &mut self.transit.events);
            let next = end.host().next_wakeup();
            let Some((at, _, frame)) = sent else { return self.enter_end(place, next, when.by) };
            self.population.departed(at, &frame);
            if self.observed[node as usize] {
                self.transit.events.report(at, What::Seen { node, way: Way::Out, frame });
            }
            let parcel = self.transit.enter(frame, to);
            self.forward(Appointment { at, ..when }, exit.expect(CHECKED), parcel);
            if next.is_none_or(|next| next > when.at) {
                return self.enter_end(place, next, when.by);
            }
        }
    }

    /// Sends a frame over the link `number`, and over the links after it as long as the frame may
    /// be processed ahead of time. The frame's passage over these links is computed immediately.
    #[inline(always)]
    fn forward(&mut self, mut when: Appointment, mut number: u32, parcel: Parcel) {
        loop {
            let routed = &mut self.routed_links[number as usize];
            let Some(arrival) = routed.link.take_in(when, parcel, &mut self.transit) else {
                return self.enter_managed_link(number as usize, when.by);
            };
            let Appointment { at, since, .. } = arrival.when;
            if routed.leads_on && routed.to.node != parcel.home() && at <= self.horizon {
                let next = next_link(&self.routes, routed.to.onwards, parcel);
                if routed.link.is_clear() && self.feeders[next as usize] == Feeder::Link(number) {
                    // The frame arrives ahead of time. All arrivals at one instant count as one
                    // wake-up.
                    if routed.early_arrival.0 != at {
                        routed.early_arrival = (at, since);
                        self.served += 1;
                    }
                    when = Appointment { at, since, by: routed.early_arrival };
                    number = next;
                    continue;
                }
            }
            routed.link.keep(arrival);
            if at < routed.entered {
                routed.entered = at;
                self.queue.push(arrival.when, number);
            }
            return;
        }
    }

    /// Ensures that a link's next appointment has an entry in the event queue.
    #[inline(never)]
    fn enter_managed_link(&mut self, index: usize, by: (Time, Time)) {
        let routed = &mut self.routed_links[index];
        let next = routed.link.appointment();
        routed.enter(index, next, by, &mut self.queue);
    }

    /// Ensures that a host's next wake-up has an entry in the event queue.
    #[inline(always)]
    fn enter_end(&mut self, place: usize, next: Option<Time>, by: (Time, Time)) {
        let Some(at) = next else { return };
        let end = &mut self.ends[place];
        if end.appointed.0 != at {
            end.appointed = (at, self.now);
        }
        if at < end.entered {
            end.enter(at);
            let since = end.appointed.1;
            self.queue
                .push(Appointment { at, since, by }, (self.routed_links.len() + place) as u32);
        }
    }
}

impl RoutedLink {
    /// Ensures that the link's next appointment has an entry in the event queue. The pair `by`
    /// stands for the event that caused this entry (see [`Appointment::by`]).
    #[inline(always)]
    fn enter(
        &mut self,
        index: usize,
        next: Option<Appointment>,
        by: (Time, Time),
        queue: &mut EventQueue,
    ) {
        if let Some(mut next) = next
            && next.at < self.entered
        {
            self.entered = next.at;
            next.by = next.by.max(by);
            queue.push(next, index as u32);
        }
    }
}

/// The message of the panic if a route is missing.
const CHECKED: &str = "routes are checked before a run";

/// The link by which a frame leaves a node that forwards as `onwards` says.
#[inline(always)]
fn next_link(routes: &Routes, onwards: Onwards, parcel: Parcel) -> u32 {
    routes.choose(onwards, parcel.home()).expect(CHECKED)
}
