//! A scenario in motion, and what comes of it.

use crate::app::EchoProbes;
use crate::event::Wanted;
use crate::ids::EndId;
use crate::record::{
    CaptureError, EchoProbeSum, FlowSum, Names, Recorder, SeenTables, Table, digest,
    echo_probes_table, flows_table, links_table, requests_table, retransmissions_table,
    shadows_table, write_capture,
};
use crate::rto::EstimatorConfig;
use crate::sim::Advance;
use crate::units::{Duration, Time};

use super::net::{Ends, Net};
use super::plan::Plan;

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
    world: Net,
    recorder: Recorder,
    stop: Time,
    capture: bool,
    spied: Vec<u32>,
    wanted: Wanted,
    shadows: Vec<EstimatorConfig>,
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
        let names = plan.names();
        Self {
            recorder: Recorder::new(names),
            stop: Time::ZERO + stop,
            capture: plan.capture && plan.wanted.seen,
            spied: plan.spied.clone(),
            wanted: plan.wanted,
            shadows: plan.shadows.clone(),
            world: Net::new(plan),
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

    /// How many wake-ups were served: a measure of work that no machine changes.
    pub fn served(&self) -> u64 {
        self.world.served()
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
        self.advance_within(until, u64::MAX)
    }

    /// The same, but serves `most` wake-ups at most.
    pub fn advance_within(&mut self, until: Time, most: u64) -> bool {
        let advance = self.world.advance_within(until.min(self.stop), most);
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
        let judge = self.world.judge();
        let ends = self.world.ends();
        let sum = |end: EndId| {
            let results = ends[end.flow().index()].tcp()?;
            let both = [end, end.peer()].map(|end| results[end.side().index()]);
            let (verdict, waited) = (judge.retransmissions(end), judge.waited(end));
            Some((end, FlowSum { verdict, waited, ..FlowSum::of(both) }))
        };
        let sums: Vec<(EndId, FlowSum)> = names.senders().filter_map(sum).collect();
        let echo_probes: Vec<EchoProbeSum> = (0..)
            .zip(&ends)
            .filter_map(|(flow, ends)| match ends {
                Ends::EchoProbes(prober) => Some(sum_echo_probes(flow, prober)),
                _ => None,
            })
            .flatten()
            .collect();
        let mut spurious = judge.spurious().to_vec();
        spurious.sort_unstable();
        let counts = self.world.counts();
        let mut tables = vec![
            flows_table(&names, &sums),
            retransmissions_table(&names, &sums),
            links_table(&names, &counts),
        ];
        if names.flows.iter().any(|flow| flow.echo_probes) {
            tables.push(echo_probes_table(&names, &echo_probes));
        }
        if names.flows.iter().any(|flow| flow.answers) {
            let asked = (0..).zip(&ends).map(|(flow, ends)| (flow, ends.exchanges().to_vec()));
            tables.push(requests_table(&names, &asked.collect::<Vec<_>>()));
        }
        tables.extend(self.recorder.finish_wanted(&spurious, self.wanted));
        if !self.shadows.is_empty() {
            tables.push(shadows_table(&tables, &self.shadows));
        }
        let captured = if self.capture { self.spied } else { Vec::new() };
        Results { tables, names, captured, stop: self.stop }
    }
}

/// The echo probes of the flow numbered `flow`, the one in flight included.
fn sum_echo_probes(flow: u32, prober: &EchoProbes) -> Vec<EchoProbeSum> {
    let waits = prober.in_flight().map(|(sent, size_bytes)| EchoProbeSum {
        sent,
        size_bytes,
        ..EchoProbeSum::default()
    });
    let over = prober.done().iter().map(|echo_probe| EchoProbeSum {
        sent: echo_probe.sent,
        size_bytes: echo_probe.size_bytes,
        rtt: echo_probe.rtt,
        lost: echo_probe.rtt.is_none(),
        late: echo_probe.late,
        duplicates: echo_probe.duplicates,
        ..EchoProbeSum::default()
    });
    (1..).zip(over.chain(waits)).map(|(number, sum)| EchoProbeSum { flow, number, ..sum }).collect()
}

impl Results {
    /// Those of a run that was not simulated.
    pub fn new(tables: Vec<Table>, names: Names, stop: Time) -> Self {
        Self { tables, names, captured: Vec::new(), stop }
    }

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
