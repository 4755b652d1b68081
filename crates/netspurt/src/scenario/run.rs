//! A scenario in motion, and what comes of it.

use crate::app::Endpoint;
use crate::event::Wanted;
use crate::record::{
    CaptureError, FlowName, FlowSum, Judge, LinkName, Names, Recorder, SeenTables, Table, digest,
    flows_table, links_table, resends_table, write_capture,
};
use crate::segment::Segment;
use crate::sim::{Advance, World, WorldConfig};
use crate::tcp::Connection;
use crate::units::{Duration, Time};

use super::plan::{Plan, PlannedFlow};

/// A run of a scenario.
///
/// ```
/// use netspurt::scenario::{STARTING_POINT, Scenario};
/// use netspurt::units::{Duration, Time};
/// let mut run = Scenario::parse("mine.toml", STARTING_POINT).unwrap().simulate();
/// run.advance_to(Time::ZERO + Duration::from_secs(2));
/// run.advance_to(run.stop());
/// let results = run.finish();
/// assert_eq!(results.table("flows").unwrap().rows(), 1);
/// ```
#[derive(Debug)]
pub struct Simulation {
    world: World<Segment, Endpoint, Judge>,
    recorder: Recorder,
    stop: Time,
    capture: bool,
    spied: Vec<u32>,
    wanted: Wanted,
}

/// The tables of a run that has ended.
#[derive(Clone, Debug)]
pub struct Results {
    tables: Vec<Table>,
    names: Names,
    captured: Vec<u32>,
    stop: Time,
}

impl Simulation {
    pub(super) fn new(plan: Plan, stop: Duration) -> Self {
        let flow_names = plan.flows.iter().map(|flow| FlowName {
            name: flow.name.clone(),
            from: flow.from,
            to: flow.to,
            smss: flow.tcp.smss(),
        });
        let flows = flow_names.collect();
        let link_names = (0..).zip(&plan.links).map(|(i, link)| {
            let (from, to) = plan.graph.ends(i);
            LinkName { name: link.name.clone(), way: link.way, from, to }
        });
        let links = link_names.collect();
        let names = Names { nodes: plan.nodes, links, flows };
        let world = World::new(WorldConfig {
            graph: plan.graph,
            routes: plan.routes,
            links: plan.links.into_iter().map(|link| link.config).collect(),
            endpoints: (0..).zip(&plan.flows).flat_map(|(i, flow)| ends(i, flow)).collect(),
            observed: plan.spied.clone(),
            wanted: plan.wanted,
            witness: Judge::new(2 * plan.flows.len()),
        });
        Self {
            world,
            recorder: Recorder::new(names),
            stop: Time::ZERO + stop,
            capture: plan.capture && plan.wanted.seen,
            spied: plan.spied,
            wanted: plan.wanted,
        }
    }

    /// When the run ends.
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// How far it has got.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// The earliest instant at which anything will happen.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.world.next_wakeup()
    }

    /// Runs on to `until`, or to the end if that comes first.
    pub fn advance_to(&mut self, until: Time) {
        while !self.advance_towards(until) {}
    }

    /// Runs on towards `until` for some milliseconds; whether it got there, or to the end.
    pub fn advance_towards(&mut self, until: Time) -> bool {
        let advance = self.world.advance_to(until.min(self.stop));
        self.drain();
        advance == Advance::Reached
    }

    fn drain(&mut self) {
        for event in self.world.events().drain() {
            self.recorder.take(&event);
        }
    }

    /// Ends the run here: its tables.
    pub fn finish(mut self) -> Results {
        self.world.settle();
        self.drain();
        let names = self.recorder.names().clone();
        let judge = self.world.witness();
        let ends = (0..).step_by(2).zip(self.world.endpoints().chunks_exact(2));
        let sums: Vec<FlowSum> = ends
            .map(|(source, ends)| FlowSum {
                verdict: judge.resends(source),
                waited: judge.waited(source),
                ..sum(&ends[0], &ends[1])
            })
            .collect();
        let mut needless = judge.needless().to_vec();
        needless.sort_unstable();
        let counts: Vec<_> = self.world.links().iter().map(crate::link::Link::count).collect();
        let mut tables = vec![
            flows_table(&names, &sums),
            resends_table(&names, &sums),
            links_table(&names, &counts),
        ];
        tables.extend(self.recorder.finish(&needless).into_iter().filter(|table| {
            match table.name.as_ref() {
                "segments" | "sack_blocks" | "syns" => self.wanted.seen,
                "cwnd" => self.wanted.cwnd,
                "rto" => self.wanted.rto,
                "rtt" => self.wanted.rtt,
                "queue" => self.wanted.queue,
                _ => self.wanted.drops,
            }
        }));
        let captured = if self.capture { self.spied } else { Vec::new() };
        Results { tables, names, captured, stop: self.stop }
    }
}

/// Both ends of the flow numbered `i`, and their nodes.
fn ends(i: u32, flow: &PlannedFlow) -> [(Endpoint, u32); 2] {
    let connection = |endpoint| Connection::new(endpoint, &flow.tcp);
    [
        (Endpoint::new(connection(2 * i), Some(flow.task)), flow.from),
        (Endpoint::new(connection(2 * i + 1), None), flow.to),
    ]
}

fn sum(source: &Endpoint, sink: &Endpoint) -> FlowSum {
    let (source, sink) = (source.result(), sink.result());
    FlowSum {
        start: source.start,
        finished: source.finished,
        sent: source.sent.data_segments,
        resends: source.sent.resends,
        timeouts: source.sent.timeouts,
        fast_retransmits: source.sent.fast_retransmits,
        acked_bytes: source.acked_bytes,
        received: sink.received.segments,
        duplicates: sink.received.duplicates,
        delivered_bytes: sink.received.delivered_bytes,
        undone: source.sent.undone,
        times: source.times,
        ..FlowSum::default()
    }
}

impl Results {
    /// The tables: `flows` and `links` first, then those recorded.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table called `name`, if it was recorded.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// When the run ended.
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// The names behind the numbers.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The nodes whose segments are to be written as captures.
    pub fn captured(&self) -> &[u32] {
        &self.captured
    }

    /// Writes what the node numbered `node` saw as a pcapng file.
    ///
    /// # Errors
    /// When `out` fails, or segments were not recorded.
    pub fn write_capture<W: std::io::Write>(&self, node: u32, out: W) -> Result<W, CaptureError> {
        let table = |name| self.table(name).ok_or(CaptureError::NotRecorded);
        let seen = SeenTables {
            segments: table("segments")?,
            sack_blocks: table("sack_blocks")?,
            syns: table("syns")?,
        };
        write_capture(seen, &self.names, node, out)
    }

    /// The fingerprint of every table.
    pub fn digest(&self) -> String {
        digest(&self.tables)
    }

    /// The fingerprint of the flows' results, which does not depend on what was recorded.
    pub fn flows_digest(&self) -> String {
        digest(self.table("flows"))
    }
}
