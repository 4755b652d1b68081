//! Endpoints, links and routes, and the loop that moves frames between them.

use crate::event::{Events, Wanted, Way, What};
use crate::link::{Link, LinkConfig};
use crate::stage::{Frame, Host};
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
const SLICE: u32 = 1 << 15;

/// A network in motion.
///
/// The earliest wake-up is always served first and, at one instant, the one that was settled
/// first: an arrival when its transmission started, a timer when it was armed. An endpoint answers within the instant in which a frame reaches it. The loop never
/// waits and never asks the time: a driver on a wall clock calls [`advance_to`](Self::advance_to)
/// with its own instants, and frames move in logical time all the same.
#[derive(Debug)]
pub struct World<F, E, W = ()> {
    now: Time,
    served: u64,
    queue: EventQueue,
    /// Per stage, links first: the instant it is entered for in the queue, which holds stale
    /// entries besides.
    entered: Vec<Time>,
    /// Per endpoint: its next wake-up, and since when that is settled.
    appointed: Vec<(Time, Time)>,
    links: Vec<Link<F>>,
    link_ends: Vec<u32>,
    endpoints: Vec<E>,
    homes: Vec<u32>,
    routes: Routes,
    observed: Vec<bool>,
    events: Events<F>,
    witness: W,
}

impl<F: Frame, E: Host<F>, W: Witness<F>> World<F, E, W> {
    /// The world of `config`, at the start of time.
    ///
    /// # Panics
    /// When links and graph do not match, or there are more than 2³² stages.
    pub fn new(config: WorldConfig<E, W>) -> Self {
        let nodes = config.endpoints.iter().map(|(_, node)| *node).chain(config.observed.clone());
        let mut observed = vec![false; nodes.max().map_or(0, |n| n as usize + 1)];
        for node in config.observed {
            observed[node as usize] = true;
        }
        let link_ends: Vec<u32> =
            (0..).zip(&config.links).map(|(i, _)| config.graph.end(i)).collect();
        let top = link_ends.iter().max().map_or(0, |n| *n as usize + 1);
        observed.resize(observed.len().max(top), false);
        let links: Vec<Link<F>> =
            (0..).zip(config.links).map(|(i, link)| Link::new(i, link)).collect();
        let (endpoints, homes): (Vec<E>, Vec<u32>) = config.endpoints.into_iter().unzip();
        let stages = u32::try_from(links.len() + endpoints.len()).expect("fewer than 2^32 stages");
        let mut world = Self {
            now: Time::ZERO,
            served: 0,
            queue: EventQueue::new(),
            entered: vec![Time::NEVER; stages as usize],
            appointed: vec![(Time::NEVER, Time::ZERO); endpoints.len()],
            links,
            link_ends,
            endpoints,
            homes,
            routes: config.routes,
            observed,
            events: Events::new(config.wanted),
            witness: config.witness,
        };
        (0..stages).for_each(|stage| world.enter(stage));
        world
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

    /// The endpoints.
    pub fn endpoints(&self) -> &[E] {
        &self.endpoints
    }

    /// Who watched.
    pub fn witness(&self) -> &W {
        &self.witness
    }

    /// The links.
    pub fn links(&self) -> &[Link<F>] {
        &self.links
    }

    /// What happened since the last drain.
    pub fn events(&mut self) -> &mut Events<F> {
        &mut self.events
    }

    /// Serves what is due by `until`, that instant included.
    pub fn advance_to(&mut self, until: Time) -> Advance {
        self.advance_within(until, u64::MAX)
    }

    /// The same, but serves `most` wake-ups at most.
    pub fn advance_within(&mut self, until: Time, most: u64) -> Advance {
        let most = u32::try_from(most).unwrap_or(SLICE).min(SLICE);
        for served in 0..most {
            let Some((at, stage)) = self.queue.pop_by(until) else {
                self.served += u64::from(served);
                self.now = self.now.max(until);
                return Advance::Reached;
            };
            if self.entered[stage as usize] != at {
                continue;
            }
            self.entered[stage as usize] = Time::NEVER;
            self.now = at;
            self.serve(at, stage);
            self.enter(stage);
            if self.events.is_full() {
                self.served += u64::from(served) + 1;
                return Advance::Full;
            }
        }
        self.served += u64::from(most);
        Advance::Full
    }

    /// Lets `act` do something to an endpoint at this instant, from outside of the world, and
    /// looks afterwards at what the endpoint will do next.
    ///
    /// # Panics
    /// When there is no such endpoint.
    pub fn at_endpoint<T>(&mut self, endpoint: u32, act: impl FnOnce(&mut E) -> T) -> T {
        let done = act(&mut self.endpoints[endpoint as usize]);
        self.enter(u32::try_from(self.links.len()).expect("checked when built") + endpoint);
        done
    }

    /// Reports what the queues did up to now; for the end of a run.
    pub fn settle(&mut self) {
        for link in &mut self.links {
            link.settle(self.now, &mut self.events);
        }
    }

    /// Lets a stage act on what is due at `at`, and hands on what comes out.
    #[inline]
    fn serve(&mut self, at: Time, stage: u32) {
        let index = stage as usize;
        if index < self.links.len() {
            while let Some(arrived) = self.links[index].take(at, &mut self.events) {
                let when = (arrived.at, arrived.since);
                self.arrive(when, self.link_ends[index], arrived.frame);
            }
        } else {
            let endpoint = index - self.links.len();
            self.emit(at, self.appointed[endpoint].1, endpoint);
        }
    }

    /// Hands on the frames an endpoint has ready because of something settled `since` then.
    #[inline]
    fn emit(&mut self, at: Time, since: Time, endpoint: usize) {
        let home = self.homes[endpoint];
        while let Some((at, _, frame)) = self.endpoints[endpoint].pop(at, &mut self.events) {
            self.witness.left(at, &frame);
            self.observe(at, home, Way::Out, frame);
            self.forward((at, since), home, frame);
        }
    }

    /// A frame reaches a node, then and settled since then: its endpoint takes it in, or it
    /// goes on.
    #[inline]
    fn arrive(&mut self, (at, since): (Time, Time), node: u32, frame: F) {
        let endpoint = frame.dest() as usize;
        if self.homes[endpoint] != node {
            self.observe(at, node, Way::Through, frame);
            return self.forward((at, since), node, frame);
        }
        self.observe(at, node, Way::In, frame);
        if let Some(whole) = self.endpoints[endpoint].gather(at, frame, &mut self.events) {
            self.witness.reached(at, &whole);
            self.endpoints[endpoint].push(at, 0, whole, &mut self.events);
        }
        self.emit(at, since, endpoint);
        self.enter(u32::try_from(self.links.len() + endpoint).expect("checked when built"));
    }

    /// Sends a frame out of a node towards its endpoint.
    #[inline]
    fn forward(&mut self, when: (Time, Time), node: u32, frame: F) {
        let home = self.homes[frame.dest() as usize];
        let link = self.routes.next(node, home).expect("routes are checked before a run");
        self.links[link as usize].offer(when, frame, &mut self.events);
        self.enter(link);
    }

    #[inline]
    fn observe(&mut self, at: Time, node: u32, way: Way, frame: F) {
        if self.observed[node as usize] && self.events.wanted().seen {
            self.events.report(at, What::Seen { node, way, frame });
        }
    }

    /// Sees to it that a stage's next wake-up stands in the queue.
    #[inline]
    fn enter(&mut self, stage: u32) {
        let index = stage as usize;
        let wakeup = match self.links.get(index) {
            Some(link) => link.appointment(),
            None => self.appointment(index - self.links.len()),
        };
        if let Some((at, since)) = wakeup
            && at < self.entered[index]
        {
            self.entered[index] = at;
            self.queue.push(at, since, stage);
        }
    }

    /// An endpoint's next wake-up, and since when that is settled.
    #[inline]
    fn appointment(&mut self, endpoint: usize) -> Option<(Time, Time)> {
        let at = self.endpoints[endpoint].next_wakeup()?;
        let appointed = &mut self.appointed[endpoint];
        if appointed.0 != at {
            *appointed = (at, self.now);
        }
        Some(*appointed)
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
            self.held = Some(Segment { dest: self.to, ..frame });
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
        let ball = Segment { dest: 1, size_bytes: 40, ..Segment::default() };
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
