//! A simulation of a scenario that can be advanced step by step.

use std::mem::take;

use crate::event::Wanted;
use crate::record::{Capturing, Recorder};
use crate::results::{EndedRun, Results};
use crate::rto::EstimatorConfig;
use crate::sim::Advance;
use crate::units::{Duration, Time};

use super::Plan;
use super::net::{Net, NetResult};

/// A simulation of a scenario that can be advanced step by step.
#[derive(Debug)]
pub struct Simulation {
    world: Net,
    recorder: Recorder,
    stop: Time,
    captured: Capturing,
    wanted: Wanted,
    most_rows: Option<u64>,
    shadows: Vec<EstimatorConfig>,
}

/// The message for a run that, at the instant `now`, has recorded more rows than the maximum
/// `most`.
pub fn too_many_rows(most: u64, now: Time) -> String {
    format!(
        "record.rows: more than {most} rows were recorded up to {now}; raise the bound, record \
         fewer tables (`record.tables`), or spy on fewer nodes (`record.spy`)"
    )
}

impl Simulation {
    /// A run of `plan` at its beginning. The run ends after the time `stop`.
    ///
    /// # Panics
    /// When an end of a flow uses the kernel's TCP.
    pub fn new(mut plan: Plan, stop: Duration) -> Self {
        let names = plan.take_names();
        Self {
            recorder: Recorder::new(names.clone()),
            stop: Time::ZERO + stop,
            captured: take(&mut plan.captured),
            wanted: plan.wanted,
            most_rows: plan.most_rows,
            shadows: take(&mut plan.shadows),
            world: Net::new(plan, &names),
        }
    }

    /// When the run ends.
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// The instant up to which the run has advanced.
    pub fn now(&self) -> Time {
        self.world.now()
    }

    /// The number of wake-ups served. It measures the work independently of the machine.
    pub fn served(&self) -> u64 {
        self.world.served()
    }

    /// The earliest instant at which something may happen. The result is `None` if nothing will
    /// happen.
    pub fn next_wakeup(&self) -> Option<Time> {
        self.world.next_wakeup()
    }

    /// The message for a run that has recorded more rows than `record.rows` allows. The result is
    /// `None` for any other run. A run with too many rows stops early in
    /// [`advance_to`](Self::advance_to) and the other methods that advance it.
    pub fn overfull(&self) -> Option<String> {
        let rows = self.recorder.rows() + self.world.connection_rows();
        let most = self.most_rows.filter(|most| rows > *most)?;
        Some(too_many_rows(most, self.now()))
    }

    /// Runs up to the instant `until`, or to the end of the run if the end comes first. Stops
    /// earlier if the run is [`overfull`](Self::overfull).
    pub fn advance_to(&mut self, until: Time) {
        while !self.advance_towards(until) {}
    }

    /// Advances towards the instant `until`. Stops after some milliseconds of work (a limited
    /// number of wake-ups, or a full buffer of events). Returns true if the run reached this
    /// instant or its end, or if the run is [`overfull`](Self::overfull).
    pub fn advance_towards(&mut self, until: Time) -> bool {
        self.advance_within(until, u64::MAX)
    }

    /// Runs as [`advance_towards`](Self::advance_towards) does, but serves no more wake-ups than
    /// the limit `most`.
    pub fn advance_within(&mut self, until: Time, most: u64) -> bool {
        let advance = self.world.advance_within(until.min(self.stop), most);
        self.drain();
        advance == Advance::Reached || self.overfull().is_some()
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
        let NetResult { sums, spurious, links } = self.world.finish();
        let ended = EndedRun {
            recorder: self.recorder,
            wanted: self.wanted,
            spurious,
            sums: sums.flows,
            links,
            echo_probes: sums.echo_probes,
            requests: sums.exchanges,
            populations: Some(sums.connections),
            programs: None,
            shadows: self.shadows,
            more: Vec::new(),
            captured: self.captured,
            real_hosts: false,
            stop: self.stop,
        };
        ended.finish()
    }
}
