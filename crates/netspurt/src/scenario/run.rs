//! A run of a scenario, and its results.

use crate::event::Wanted;
use crate::record::{
    CaptureError, Names, Recorder, SeenTables, Table, digest, echo_probes_table, flows_table,
    links_table, requests_table, retransmissions_table, shadows_table, write_capture,
};
use crate::rto::EstimatorConfig;
use crate::sim::Advance;
use crate::units::{Duration, Time};

use super::net::{Net, NetResult};
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
    pub(super) fn new(mut plan: Plan, stop: Duration) -> Self {
        let names = plan.take_names();
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

    /// How far it has advanced.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// The number of wake-ups served: a measure of work that does not depend on the machine.
    pub fn served(&self) -> u64 {
        self.world.served()
    }

    /// The earliest instant of an event.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.world.next_wakeup()
    }

    /// Runs until `until`, or to the end if that comes first.
    pub fn advance_to(&mut self, until: Time) {
        while !self.advance_towards(until) {}
    }

    /// Runs towards `until` for some milliseconds; returns whether it reached that instant or the
    /// end.
    pub fn advance_towards(&mut self, until: Time) -> bool {
        self.advance_within(until, u64::MAX)
    }

    /// The same, but serves at most `most` wake-ups.
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

    /// Ends the run now and returns its tables.
    pub fn finish(mut self) -> Results {
        self.world.settle();
        self.drain();
        let names = self.recorder.names().clone();
        let NetResult { sums, spurious, links } = self.world.finish();
        let mut tables = vec![
            flows_table(&names, &sums.flows),
            retransmissions_table(&names, &sums.flows),
            links_table(&names, &links),
        ];
        if names.flows.iter().any(|flow| flow.echo_probes) {
            tables.push(echo_probes_table(&names, &sums.echo_probes));
        }
        if names.flows.iter().any(|flow| flow.answers) {
            tables.push(requests_table(&names, &sums.exchanges));
        }
        tables.extend(self.recorder.finish_wanted(&spurious, self.wanted));
        if !self.shadows.is_empty() {
            tables.push(shadows_table(&tables, &self.shadows));
        }
        let captured = if self.capture { self.spied } else { Vec::new() };
        Results { tables, names, captured, stop: self.stop }
    }
}

impl Results {
    /// The tables of a run that was not simulated.
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

    /// The nodes whose segments are written as captures.
    pub fn captured(&self) -> &[u32] {
        &self.captured
    }

    /// Writes the packets that the node numbered `node` saw as a pcapng file.
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
