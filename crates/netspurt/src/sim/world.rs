//! Endpoints, links and routes, and the loop that moves frames between them.

use crate::event::{Events, Wanted, Way, What};
use crate::ids::EndId;
use crate::link::{Link, LinkConfig, Parcel, Transit};
use crate::stage::{Appointment, Frame, Host};
use crate::units::Time;

use super::{EventQueue, Graph, Routes};

/// What a world is made of.
#[derive(Debug)]
pub struct WorldConfig<E, W = ()> {
    /// Which links lead where.
    pub graph: Graph,
    /// Which links frames take.
    pub routes: Routes,
    /// The links, in the order of their numbers in `graph`.
    pub links: Vec<LinkConfig>,
    /// The endpoints and the nodes they live at.
    pub endpoints: Vec<(E, u32)>,
    /// Which nodes report the frames they see.
    pub observed: Vec<u32>,
    /// What the stages report.
    pub wanted: Wanted,
    /// Who watches the endpoints.
    pub witness: W,
}

/// Someone who sees what leaves endpoints and what reaches them, at all of them.
pub trait Witness<F> {
    /// `frame` left its source at `at`.
    fn left(&mut self, at: Time, frame: &F);
    /// `frame` reached its destination at `at`; one in fragments when it is put together.
    fn reached(&mut self, at: Time, frame: &F);
}

/// Nobody.
impl<F> Witness<F> for () {
    fn left(&mut self, _at: Time, _frame: &F) {}
    fn reached(&mut self, _at: Time, _frame: &F) {}
}

/// How far the world got.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advance {
    /// To the instant asked for.
    Reached,
    /// Enough for one call: drain the events, see to other things, and call again.
    Full,
}

/// Wake-ups served in one call at most, so that whoever drives the world is never away for
/// long, even where time stands still: some ten milliseconds.
const SLICE: u64 = 1 << 15;

/// A network in motion.
///
/// The earliest wake-up is alroads served first and, at one instant, the one that was settled first:
/// an arrival when its transmission started, a timer when it was armed. An endpoint answers within
/// the instant in which a frame reaches it. The loop never waits and never asks the time: a driver
/// on a wall clock calls [`advance_to`](Self::advance_to) with its own instants, and frames move in
/// logical time all the same.
#[derive(Debug)]
pub struct World<F, E, W = ()> {
    now: Time,
    served: u64,
    queue: EventQueue,
    roads: Vec<Road>,
    ends: Vec<End<E>>,
    routes: Routes,
    /// By node: whether it reports the frames it sees.
    observed: Vec<bool>,
    transit: Transit<F>,
    /// Nothing may be done ahead of time that happens after this.
    horizon: Time,
    witness: W,
}

/// A link and where it leads.
#[derive(Debug)]
struct Road {
    link: Link,
    /// The instant it is entered for in the queue, which holds stale entries besides.
    entered: Time,
    node: u32,
    /// Whether that node reports the frames it sees.
    observed: bool,
    /// What puts frames on it.
    feeder: Feeder,
    /// Whether there is a link that nothing but this one puts frames on.
    leads_on: bool,
    /// When a frame last arrived ahead of time, and since when the first to arrive then was to.
    passed: (Time, Time),
}

/// What puts frames on a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feeder {
    /// Nothing so far.
    Nothing,
    /// One link alone, by number.
    Link(u32),
    /// Hosts, or several links.
    Any,
}

/// A host and where it lives.
#[derive(Debug)]
struct End<E> {
    host: E,
    home: u32,
    /// As of a link.
    entered: Time,
    /// Its next wake-up, and since when that is settled.
    appointed: (Time, Time),
}

impl<F: Frame, E: Host<F>, W: Witness<F>> World<F, E, W> {
    /// The world of `config`, at the start of time.
    ///
    /// # Panics
    /// When links and graph do not match, or there are more than 2³² stages.
    pub fn new(config: WorldConfig<E, W>) -> Self {
        let leads_to = |link: u32| config.graph.end(link);
        let nodes = (config.endpoints.iter().map(|(_, node)| *node))
            .chain(config.observed.iter().copied())
            .chain((0..).zip(&config.links).map(|(link, _)| leads_to(link)));
        let mut observed = vec![false; nodes.max().map_or(0, |n| n as usize + 1)];
        for node in config.observed.iter().filter(|_| config.wanted.seen) {
            observed[*node as usize] = true;
        }
        let road = |(number, link): (u32, LinkConfig)| {
            let node = leads_to(number);
            Road {
                link: Link::new(number, link),
                entered: Time::NEVER,
                node,
                observed: observed[node as usize],
                feeder: Feeder::Nothing,
                leads_on: false,
                passed: (Time::NEVER, Time::NEVER),
            }
        };
        let roads: Vec<Road> = (0..).zip(config.links).map(road).collect();
        let end = |(host, home)| {
            let appointed = (Time::NEVER, Time::ZERO);
            End { host, home, entered: Time::NEVER, appointed }
        };
        let ends: Vec<End<E>> = config.endpoints.into_iter().map(end).collect();
        let stages = u32::try_from(roads.len() + ends.len()).expect("fewer than 2^32 stages");
        let mut world = Self {
            now: Time::ZERO,
            served: 0,
            queue: EventQueue::new(),
            roads,
            ends,
            routes: config.routes,
            observed,
            transit: Transit::new(config.wanted),
            horizon: Time::ZERO,
            witness: config.witness,
        };
        world.find_feeders(&config.graph);
        let start = (Time::ZERO, Time::ZERO);
        (0..stages as usize - world.roads.len()).for_each(|end| world.enter_end(end, start));
        world
    }

    /// Finds out which links get all their frames from one other link, so that what leaves that
    /// one may enter them ahead of time. What links report is reported in time, so that there
    /// are none where links report anything.
    fn find_feeders(&mut self, graph: &Graph) {
        let &Wanted { drops, queue, .. } = self.transit.events.wanted();
        let homes: Vec<u32> = self.ends.iter().map(|end| end.home).collect();
        let mut pairs: Vec<[u32; 2]> = homes.as_chunks().0.to_vec();
        pairs.sort_unstable();
        pairs.dedup();
        for [a, b] in pairs.into_iter().flat_map(|[a, b]| [[a, b], [b, a]]) {
            let mut feeder = Feeder::Any;
            for link in self.routes.path(graph, a, b).unwrap_or_default() {
                let road = &mut self.roads[link as usize];
                let alone = road.feeder == Feeder::Nothing || road.feeder == feeder;
                road.feeder = if alone { feeder } else { Feeder::Any };
                feeder =
                    if drops || queue || road.observed { Feeder::Any } else { Feeder::Link(link) };
            }
        }
        for index in 0..self.roads.len() {
            if let Feeder::Link(link) = self.roads[index].feeder {
                self.roads[link as usize].leads_on = true;
            }
        }
    }

    /// The instant the world has reached.
    pub fn now(&self) -> Time {
        self.now
    }

    /// How many wake-ups were served since the start of time; the same however often the world
    /// is stopped on its way, and whatever it reports.
    pub fn served(&self) -> u64 {
        self.served
    }

    /// The earliest instant at which anything will happen by itself.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.queue.first()
    }

    /// The hosts at the ends of flows, by the place of the end.
    pub fn hosts(&self) -> impl ExactSizeIterator<Item = &E> {
        self.ends.iter().map(|end| &end.host)
    }

    /// The host at an end.
    ///
    /// # Panics
    /// When there is no such end.
    pub fn host(&self, end: EndId) -> &E {
        &self.ends[end.index()].host
    }

    /// Who watched.
    pub fn witness(&self) -> &W {
        &self.witness
    }

    /// The links.
    pub fn links(&self) -> impl ExactSizeIterator<Item = &Link> {
        self.roads.iter().map(|road| &road.link)
    }

    /// What happened since the last drain.
    pub fn events(&mut self) -> &mut Events<F> {
        &mut self.transit.events
    }

    /// Serves what is due by `until`, that instant included.
    pub fn advance_to(&mut self, until: Time) -> Advance {
        self.advance_within(until, u64::MAX)
    }

    /// The same, but serves `most` wake-ups at most.
    pub fn advance_within(&mut self, until: Time, most: u64) -> Advance {
        let limit = self.served.saturating_add(most.min(SLICE));
        self.horizon = until;
        while self.served < limit {
            let Some((when, stage)) = self.queue.pop_by(until) else {
                self.now = self.now.max(until);
                return Advance::Reached;
            };
            self.served += 1;
            self.serve(when, stage as usize);
            if self.transit.events.is_full() {
                return Advance::Full;
            }
        }
        Advance::Full
    }

    /// Lets `act` do something to a host at this instant, from outside of the world, and looks
    /// afterwards at what the host will do next.
    ///
    /// # Panics
    /// When there is no such end.
    pub fn at_end<T>(&mut self, end: EndId, act: impl FnOnce(&mut E) -> T) -> T {
        let done = act(&mut self.ends[end.index()].host);
        self.enter_end(end.index(), (self.now, self.now));
        done
    }

    /// Reports what the queues did up to now; for the end of a run.
    pub fn settle(&mut self) {
        for road in &mut self.roads {
            road.link.settle(self.now, &mut self.transit);
        }
    }

    /// Lets a stage act on what is due, and hands on what comes out.
    #[inline]
    fn serve(&mut self, when: Appointment, stage: usize) {
        let by = (when.at, when.since);
        match self.roads.get_mut(stage) {
            Some(road) if road.entered == when.at => {
                road.entered = Time::NEVER;
                self.now = when.at;
                self.serve_road(by, stage);
            }
            Some(_) => {}
            None => self.serve_end(by, stage - self.roads.len()),
        }
    }

    /// Hands on what has arrived at the end of a link, which is served as due and settled then.
    #[inline]
    fn serve_road(&mut self, by: (Time, Time), index: usize) {
        loop {
            let road = &mut self.roads[index];
            let Some(arrival) = road.link.take(by.0, &mut self.transit) else { break };
            let (node, observed) = (road.node, road.observed);
            let when = Appointment { by, ..arrival.when };
            self.arrive(when, arrival.parcel, node, observed);
        }
        self.enter_road(index, by);
    }

    fn serve_end(&mut self, by: (Time, Time), index: usize) {
        let end = &mut self.ends[index];
        if end.entered == by.0 {
            end.entered = Time::NEVER;
            self.now = by.0;
            let when = Appointment { at: by.0, since: end.appointed.1, by };
            self.emit(when, index);
            self.enter_end(index, by);
        }
    }

    /// A frame reaches a node: its end takes it in, or it goes on.
    #[inline]
    fn arrive(&mut self, when: Appointment, parcel: Parcel, node: u32, observed: bool) {
        let at = when.at;
        let here = parcel.home == node;
        if observed {
            let way = if here { Way::In } else { Way::Through };
            let frame = *self.transit.frame(parcel);
            self.transit.events.report(at, What::Seen { node, way, frame });
        }
        if !here {
            return self.forward(when, node, parcel);
        }
        let index = parcel.dest.index();
        let frame = self.transit.leave(parcel);
        let host = &mut self.ends[index].host;
        if let Some(whole) = host.gather(at, frame, &mut self.transit.events) {
            self.witness.reached(at, &whole);
            host.push(at, 0, whole, &mut self.transit.events);
        }
        self.emit(when, index);
        self.enter_end(index, when.by);
    }

    /// Hands on the frames a host has ready.
    #[inline]
    fn emit(&mut self, when: Appointment, index: usize) {
        loop {
            let End { host, home, .. } = &mut self.ends[index];
            let Some((at, _, frame)) = host.pop(when.at, &mut self.transit.events) else { break };
            let node = *home;
            self.witness.left(at, &frame);
            if self.observed[node as usize] {
                self.transit.events.report(at, What::Seen { node, way: Way::Out, frame });
            }
            let to = self.ends[frame.dest().index()].home;
            let parcel = self.transit.enter(frame, to);
            self.forward(Appointment { at, ..when }, node, parcel);
        }
    }

    /// Sends a frame out of a node towards its end: to the next place where it may meet others,
    /// since all links up to there know at once what becomes of it.
    #[inline(always)]
    fn forward(&mut self, mut when: Appointment, node: u32, parcel: Parcel) {
        let mut number = self.next_link(node, parcel);
        loop {
            let road = &mut self.roads[number as usize];
            let Some(arrival) = road.link.take_in(when, parcel, &mut self.transit) else {
                return self.enter_road(number as usize, when.by);
            };
            let Appointment { at, since, .. } = arrival.when;
            if road.leads_on && road.node != parcel.home && at <= self.horizon {
                let (clear, node) = (road.link.is_clear(), road.node);
                let next = self.next_link(node, parcel);
                if clear && self.roads[next as usize].feeder == Feeder::Link(number) {
                    when = self.pass(number, at, since);
                    number = next;
                    continue;
                }
            }
            let road = &mut self.roads[number as usize];
            road.link.keep(arrival);
            if at < road.entered {
                road.entered = at;
                self.queue.push(arrival.when, number);
            }
            return;
        }
    }

    /// A frame has arrived at the end of a link ahead of time: when it enters the next.
    #[inline(always)]
    fn pass(&mut self, number: u32, at: Time, since: Time) -> Appointment {
        let road = &mut self.roads[number as usize];
        if road.passed.0 != at {
            road.passed = (at, since);
            self.served += 1;
        }
        Appointment { at, since, by: road.passed }
    }

    /// The link that a frame leaves a node by.
    #[inline(always)]
    fn next_link(&self, node: u32, parcel: Parcel) -> u32 {
        self.routes.next(node, parcel.home).expect("routes are checked before a run")
    }

    /// Sees to it that a link's next arrival stands in the queue, `by` something that was due and
    /// settled then.
    #[inline]
    fn enter_road(&mut self, index: usize, by: (Time, Time)) {
        let road = &mut self.roads[index];
        if let Some(mut next) = road.link.appointment()
            && next.at < road.entered
        {
            road.entered = next.at;
            next.by = next.by.max(by);
            self.queue.push(next, index as u32);
        }
    }

    /// Sees to it that a host's next wake-up stands in the queue, as for links.
    #[inline]
    fn enter_end(&mut self, index: usize, by: (Time, Time)) {
        let end = &mut self.ends[index];
        let Some(at) = end.host.next_wakeup() else { return };
        if end.appointed.0 != at {
            end.appointed = (at, self.now);
        }
        if at < end.entered {
            end.entered = at;
            let since = end.appointed.1;
            self.queue.push(Appointment { at, since, by }, (self.roads.len() + index) as u32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Delay, Framing, Order, Queue, QueueLimit};
    use crate::segment::Segment;
    use crate::stage::{Port, Stage};
    use crate::units::{BitRate, Duration};

    /// Sends on at once whatever comes.
    struct Echo {
        to: u32,
        held: Option<Segment>,
    }

    impl Host<Segment> for Echo {}

    impl Stage<Segment> for Echo {
        fn push(&mut self, _: Time, _: Port, frame: Segment, _: &mut Events<Segment>) {
            self.held = Some(Segment { dest: EndId::at(self.to), ..frame });
        }

        fn next_wakeup(&self) -> Option<Time> {
            self.held.map(|_| Time::ZERO)
        }

        fn pop(&mut self, now: Time, _: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
            self.held.take().map(|frame| (now, 0, frame))
        }
    }

    #[test]
    fn a_world_in_which_time_stands_still_comes_back_to_its_driver() {
        let mut graph = Graph::new(2);
        let links = [graph.add_link(0, 1), graph.add_link(1, 0)];
        let instant = LinkConfig {
            rate: BitRate::UNLIMITED,
            framing: Framing::NONE,
            delay: Delay::constant(Duration::ZERO),
            order: Order::Fifo,
            mtu: None,
            queue: Queue::DropTail(QueueLimit::Unlimited),
            effects: None,
        };
        let ball = Segment { dest: EndId::at(1), size_bytes: 40, ..Segment::default() };
        let mut world = World::new(WorldConfig {
            routes: Routes::shortest(&graph),
            graph,
            links: links.map(|_| instant.clone()).into(),
            endpoints: vec![(Echo { to: 1, held: Some(ball) }, 0), (Echo { to: 0, held: None }, 1)],
            observed: Vec::new(),
            wanted: Wanted::default(),
            witness: (),
        });
        let second = Time::ZERO + Duration::from_secs(1);
        assert_eq!(world.advance_to(second), Advance::Full);
        assert_eq!(world.advance_to(second), Advance::Full);
        assert_eq!(world.now(), Time::ZERO);
    }
}
