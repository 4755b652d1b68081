//! Tests of worlds (running simulated networks) with small hosts: many wake-ups at one instant, and
//! flows that start and end during a run.

use crate::event::{Events, Wanted};
use crate::ids::{EndId, FlowId, Side};
use crate::link::{Delay, Framing, LinkConfig, Order, Queue, QueueLimit};
use crate::segment::Segment;
use crate::stage::{Host, Port, Stage};
use crate::units::{BitRate, Duration, Time};

use super::{Advance, FlowEnds, Graph, Population, Routes, World, WorldConfig};

/// A host that sends each frame back immediately, at most `remaining` times.
#[derive(Debug)]
struct Echo {
    to: EndId,
    held: Option<Segment>,
    remaining: u32,
    /// The instants at which the host has a wake-up without an effect.
    idle_wakeups: Vec<Time>,
}

impl Echo {
    /// A host without a frame to send. It sends frames back to the end `to`.
    fn to(to: EndId, remaining: u32) -> Self {
        Self { to, held: None, remaining, idle_wakeups: Vec::new() }
    }

    /// The same host, which first sends the frame `held`.
    fn with(self, held: Segment) -> Self {
        Self { held: Some(held), ..self }
    }
}

impl Host<Segment> for Echo {}

impl Stage<Segment> for Echo {
    fn push(&mut self, _: Time, _: Port, frame: Segment, _: &mut Events<Segment>) {
        if self.remaining > 0 {
            self.remaining -= 1;
            self.held = Some(Segment { dest: self.to, ..frame });
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        self.held.map(|_| Time::ZERO).or(self.idle_wakeups.first().copied())
    }

    fn pop(&mut self, now: Time, _: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        self.idle_wakeups.retain(|at| *at > now);
        self.held.take().map(|frame| (now, 0, frame))
    }
}

/// A world of two nodes, with a link in each direction. Each link has the delay `delay`.
fn world<P: Population<Segment, Echo>>(
    delay: Duration,
    flows: Vec<(FlowId, FlowEnds<Echo>)>,
    population: P,
) -> World<Segment, Echo, P> {
    let mut graph = Graph::new(2);
    graph.add_link(0, 1);
    graph.add_link(1, 0);
    let link = LinkConfig {
        rate: BitRate::UNLIMITED.into(),
        framing: Framing::NONE,
        delay: Delay::constant(delay),
        order: Order::Fifo,
        mtu: None,
        queue: Queue::DropTail(QueueLimit::Unlimited),
        effects: None,
        handovers: Vec::new(),
    };
    World::new(WorldConfig {
        routes: Routes::shortest(&graph),
        graph,
        links: vec![link.clone(), link],
        flows,
        pairs: vec![[0, 1]],
        observed: Vec::new(),
        wanted: Wanted::default(),
        population,
    })
}

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// The ends of a flow with one frame, which crosses the path `crossings` times.
fn ends(flow: FlowId, crossings: u32) -> FlowEnds<Echo> {
    let [from, to] = Side::BOTH.map(|side| flow.end(side));
    let frame = Segment { dest: to, size_bytes: 40, ..Segment::default() };
    let back = crossings / 2;
    [(Echo::to(to, (crossings - 1) / 2).with(frame), 0), (Echo::to(from, back), 1)]
}

#[test]
fn an_advance_stops_early_if_the_wake_ups_at_one_instant_never_end() {
    let flow = (FlowId(0), ends(FlowId(0), u32::MAX));
    let mut world = world(Duration::ZERO, vec![flow], ());
    assert_eq!(world.advance_to(at(1000)), Advance::Full);
    assert_eq!(world.advance_to(at(1000)), Advance::Full);
    assert_eq!(world.now(), Time::ZERO);
}

/// A [`Population`], from which the world gets its flows. It records the calls of its methods. The
/// field `waiting` has the flows that have not started, each with the instant of its start. The
/// list begins with the flow that starts last.
#[derive(Debug, Default)]
struct RecordedPopulation {
    waiting: Vec<(Time, FlowId, FlowEnds<Echo>)>,
    departed: Vec<(Time, FlowId)>,
    reached: Vec<(Time, FlowId)>,
    retired: Vec<FlowId>,
}

impl RecordedPopulation {
    fn new(mut waiting: Vec<(Time, FlowId, FlowEnds<Echo>)>) -> Self {
        waiting.reverse();
        Self { waiting, ..Self::default() }
    }
}

impl Population<Segment, Echo> for RecordedPopulation {
    fn next_start(&self) -> Time {
        self.waiting.last().map_or(Time::NEVER, |(start, ..)| *start)
    }

    fn start(&mut self) -> (FlowId, FlowEnds<Echo>) {
        let (_, flow, ends) = self.waiting.pop().unwrap();
        (flow, ends)
    }

    fn departed(&mut self, at: Time, frame: &Segment) {
        self.departed.push((at, frame.dest.flow()));
    }

    fn reached(&mut self, at: Time, frame: &Segment) {
        self.reached.push((at, frame.dest.flow()));
    }

    fn retire(&mut self, flow: FlowId, ends: [Echo; 2]) {
        assert!(ends.iter().all(|end| end.held.is_none()));
        self.retired.push(flow);
    }
}

#[test]
fn a_flow_without_frames_and_wake_ups_is_retired() {
    let (one, two) = (FlowId(0), FlowId(1));
    let population =
        RecordedPopulation::new(vec![(at(0), one, ends(one, 3)), (at(5), two, ends(two, 1))]);
    let mut world = world(Duration::from_millis(10), Vec::new(), population);
    assert_eq!(world.next_wakeup(), Some(at(0)));
    world.advance_to(at(15));
    assert_eq!(world.population().retired, [two]);
    assert!(world.host(two.end(Side::From)).is_none(), "the flow is removed");
    assert!(world.host(one.end(Side::From)).is_some());
    world.advance_to(at(29));
    assert_eq!(world.population().retired, [two]);
    world.advance_to(at(30));
    assert_eq!(world.population().retired, [two, one]);
    assert_eq!(world.next_wakeup(), None);
    assert_eq!(world.population().departed.len(), 4);
    assert_eq!(world.population().reached.last(), Some(&(at(30), one)));
}

/// The frame of the first flow arrives at 10 ms, but the flow has a wake-up at 40 ms. The second
/// flow lasts from 20 to 30 ms, so it is retired first. The third flow starts later.
#[test]
fn a_flow_is_retired_only_after_its_last_wake_up() {
    let flow = |number: u32, crossings: u32| {
        let flow = FlowId(number);
        (flow, ends(flow, crossings))
    };
    let (one, mut first) = flow(0, 1);
    first[0].0.idle_wakeups = vec![at(40)];
    let (two, second) = flow(1, 1);
    let (three, third) = flow(2, 1);
    let population = RecordedPopulation::new(vec![
        (at(0), one, first),
        (at(20), two, second),
        (at(45), three, third),
    ]);
    let mut world = world(Duration::from_millis(10), Vec::new(), population);
    world.advance_to(at(35));
    assert_eq!(world.population().retired, [two], "the first flow still has a wake-up");
    world.advance_to(at(100));
    assert_eq!(world.population().retired, [two, one, three]);
    let departed: Vec<_> = world.population().departed.clone();
    assert_eq!(departed, [(at(0), one), (at(20), two), (at(45), three)]);
}

#[test]
fn a_flow_starts_before_the_other_events_of_its_instant() {
    let (one, two) = (FlowId(0), FlowId(1));
    let population =
        RecordedPopulation::new(vec![(at(0), one, ends(one, 2)), (at(10), two, ends(two, 1))]);
    let mut world = world(Duration::from_millis(10), Vec::new(), population);
    world.advance_to(at(10));
    // The frame of the first flow also arrives at 10 ms, and the host there sends it back.
    assert_eq!(world.population().departed, [(at(0), one), (at(10), two), (at(10), one)]);
}

/// A world may be stopped between events and then continued. It has the same events and the same
/// counts as a world that is not stopped.
#[test]
fn flows_start_and_end_at_the_same_times_in_one_step_or_in_many() {
    let population = || {
        let flows = (0..50_u32).map(|n| {
            let flow = FlowId(n);
            (at(u64::from(n) * 3), flow, ends(flow, n % 7 + 1))
        });
        RecordedPopulation::new(flows.collect())
    };
    let mut once = world(Duration::from_millis(10), Vec::new(), population());
    once.advance_to(at(400));
    let mut often = world(Duration::from_millis(10), Vec::new(), population());
    for ms in 0..=400 {
        while often.advance_within(at(ms), 2) == Advance::Full {}
    }
    assert_eq!(once.served(), often.served());
    let [a, b] = [&once, &often].map(World::population);
    assert_eq!((&a.departed, &a.reached, &a.retired), (&b.departed, &b.reached, &b.retired));
    assert_eq!(a.retired.len(), 50);
    assert_eq!(once.into_population().1.count(), 0);
}
