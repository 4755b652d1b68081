//! The results of a live run. A run may have *programs* at its ends, such as curl, or a
//! *population*: many connections of one kind.

use std::io;

use netspurt::app::{Exchange, FlowResult, Program, Task};
use netspurt::event::Wanted;
use netspurt::ids::{EndId, FlowId, Side};
use netspurt::path::Path;
use netspurt::plan::{Network, too_many_rows};
use netspurt::record::{
    Capturing, EchoProbeSum, FlowSum, Names, PopulationSums, Retransmissions, SenderVerdict, Table,
};
use netspurt::results::{EndedRun, Results, echo_probe_sums};
use netspurt::rto::EstimatorConfig;
use netspurt::segment::Cause;
use netspurt::shim::Retransmission;
use netspurt::units::{Duration, Time};
use netspurt_scenario::scenario::Scenario;

use super::error::LiveError;
use super::ledger::Ledger;
use super::population::EndedPopulation;
use super::report::{
    EndReport, FlowFailure, LatenessReport, LiveReport, PacketCounts, ProgramsReport, Replayed,
};
use super::tables::{log_tables, shims_table};
use super::watcher::{Capture, Watcher};
use crate::drive::{Log, PacketArrival, simultaneous};
use crate::exec::{Counts, Ended, Programs, connections_table};
use crate::kernel::FlowNotes;
use crate::lateness::Lateness;
use crate::sandbox::Wiring;

/// A live run that has ended.
#[derive(Debug)]
pub struct LiveRun {
    /// The tables of the run.
    pub results: Results,
    /// The report on the run.
    pub report: LiveReport,
}

/// The data that a live run has collected when it ends.
pub(super) struct Outcome {
    pub(super) path: Path,
    pub(super) log: Log,
    pub(super) notes: Vec<FlowNotes>,
    pub(super) ends: Vec<EndReport>,
    pub(super) names: Names,
    pub(super) wanted: Wanted,
    /// The estimators that run as shadows beside the kernel's estimator.
    pub(super) shadows: Vec<EstimatorConfig>,
    /// Which nodes have captures, and how many octets of each packet the captures keep.
    pub(super) captured: Capturing,
    /// Whether the driver had real-time priority.
    pub(super) real_time: bool,
    /// The programs, and how the program at the first end ended.
    pub(super) programs: Option<(Programs, Ended)>,
    /// The tasks of a population's connections, and whether each connection has a row in the table
    /// `connections`.
    pub(super) kernel_tasks: Option<(Vec<Task>, bool)>,
    pub(super) wiring: Wiring,
}

/// Replays `arrivals` on the path of `network` in virtual time, up to `stop` or the last arrival,
/// whichever is later. Returns the table `drops`.
pub fn replay(network: Network, arrivals: &[PacketArrival], stop: Time) -> Vec<Table> {
    let (names, wanted) = (network.names.clone(), network.wanted);
    let mut recorder = netspurt::record::Recorder::new(names);
    let mut path = Path::new(network);
    for together in simultaneous(arrivals) {
        let PacketArrival { at, segment, .. } = together[0];
        let mut segments = together.iter().map(|arrival| arrival.segment);
        path.enter_together(at, segment.source(), &mut segments, &mut |event| recorder.take(event));
        path.departures();
    }
    path.advance(stop.max(path.now()), &mut |event| recorder.take(event));
    path.settle(&mut |event| recorder.take(event));
    let wanted = Wanted { drops: true, ..wanted };
    recorder.finish_wanted(&[], wanted).filter(|table| table.name == "drops").collect()
}

impl Outcome {
    /// Makes the tables and the report.
    pub(super) fn finish(
        self,
        scenario: &Scenario,
        mut watcher: Watcher,
        budget: Duration,
    ) -> Result<LiveRun, LiveError> {
        if let Some(most) = watcher.overfull() {
            return Err(LiveError::Overfull(too_many_rows(most, self.path.now())));
        }
        self.record_entries(&mut watcher);
        let sums = self.sums(&watcher);
        let more = log_tables(&self.names, &self.log)
            .into_iter()
            .chain(shims_table(&self.names, &self.path.retransmissions()))
            .chain(self.connections(&watcher, &sums));
        let more = more.collect();
        let populations = self.populations(&watcher);
        let programs = self.programs_report(&watcher);
        let first_of_programs = watcher.programs.as_ref().map(|programs| programs.first);
        let Watcher { recorder, captures, failure, .. } = watcher;
        if let Some(error) = failure {
            return Err(error.into());
        }
        finish_captures(captures)?;
        let mut spurious = self.path.judge().spurious().to_vec();
        spurious.sort_unstable();
        let ended = EndedRun {
            recorder,
            // The comparison with the replay needs the drops, even if the scenario does not record
            // them.
            wanted: Wanted { drops: true, ..self.wanted },
            spurious,
            sums,
            links: self.path.counts(),
            echo_probes: self.echo_probes(),
            requests: self.requests(),
            populations,
            programs: first_of_programs,
            shadows: self.shadows.clone(),
            more,
            captured: self.captured.clone(),
            real_hosts: true,
            stop: self.path.now(),
        };
        let results = ended.finish();
        let again = replay(scenario.network(), &self.log.arrivals, results.stop());
        let replayed = Replayed::of(results.table("drops"), again.first());
        let results = if self.wanted.drops { results } else { results.without("drops") };
        let report = self.report(&results, programs, replayed, budget);
        Ok(LiveRun { results, report })
    }

    /// The number of flows that come before the flows of programs or of a population. If no flow
    /// belongs to programs or a population, this is the number of all flows.
    fn own_flows(&self, watcher: &Watcher) -> usize {
        watcher.programs.as_ref().map_or(self.names.flows.len(), |programs| programs.first.index())
    }

    /// The flows that are connections of programs or of a population.
    fn flows_of_programs(watcher: &Watcher) -> impl Iterator<Item = FlowId> {
        let programs = watcher.programs.as_ref();
        let connections =
            programs.map(|programs| (programs.first.0 + 1, programs.connections.count()));
        let (first, count) = connections.unwrap_or_default();
        (first..).map(FlowId).take(count)
    }

    /// The sums (such as counts of segments and octets) of each sender that has a row in the
    /// tables: TCP's senders, and both ends of programs' connections.
    fn sums(&self, watcher: &Watcher) -> Vec<(EndId, FlowSum)> {
        let of_programs = Self::flows_of_programs(watcher).filter(|_| self.kernel_tasks.is_none());
        let of_programs = of_programs.flat_map(|flow| Side::BOTH.map(|side| flow.end(side)));
        let ends = self.names.senders().chain(of_programs);
        ends.map(|end| (end, self.sum(watcher, end))).collect()
    }

    /// The sums of one sender.
    fn sum(&self, watcher: &Watcher, end: EndId) -> FlowSum {
        let result = |end| self.path.program(end).and_then(Program::result);
        let ledger = watcher.ledgers.get(end.index()).and_then(Option::as_ref);
        let SenderVerdict { retransmissions: verdict, waited } = self.path.judge().verdict(end);
        let seen = ledger.map_or_else(FlowSum::default, Ledger::sum);
        let seen = with_shim(seen, self.path.shim_retransmissions(end));
        let sum = match (result(end), result(end.peer())) {
            (Some(a), Some(b)) => FlowSum::of([a, b]),
            _ if end.flow().index() >= self.own_flows(watcher) => seen,
            (a, b) => self.joined(end, seen, [a, b]),
        };
        FlowSum { verdict, waited, ..sum }
    }

    /// The sums of the connections of a population. `None` if the run has no population.
    fn populations(&self, watcher: &Watcher) -> Option<PopulationSums> {
        let (tasks, each) = self.kernel_tasks.as_ref()?;
        let programs = watcher.programs.as_ref()?;
        let population = EndedPopulation {
            names: &self.names,
            population: programs.first,
            tasks,
            connections: &programs.connections,
            notes: &self.notes,
        };
        let mut sums = PopulationSums::new(self.names.clone(), *each);
        for (one, exchanges) in population.sums(|end| self.sum(watcher, end)) {
            sums.add(&one, exchanges);
        }
        Some(sums)
    }

    /// For each flow, the flow's number and its exchanges (requests with their replies). A flow
    /// that sends no requests has no exchanges.
    fn requests(&self) -> Vec<(u32, Vec<Exchange>)> {
        let of = |flow: u32| {
            let asking = FlowId(flow).end(Side::From);
            match self.path.program(asking) {
                Some(Program::Client(client)) => client.exchanges().to_vec(),
                _ => self.notes_of(asking).map_or_else(Vec::new, |notes| notes.exchanges.clone()),
            }
        };
        (0..).zip(self.names.flows.iter()).map(|(flow, _)| (flow, of(flow))).collect()
    }

    /// The sums of echo probes, which the simulator sends even in a live run.
    fn echo_probes(&self) -> Vec<EchoProbeSum> {
        let of = |(flow, _)| match self.path.program(FlowId(flow).end(Side::From)) {
            Some(Program::EchoProbes(prober)) => echo_probe_sums(flow, prober),
            _ => Vec::new(),
        };
        (0..).zip(self.names.flows.iter()).flat_map(of).collect()
    }

    fn notes_of(&self, end: EndId) -> Option<&FlowNotes> {
        self.notes.iter().find(|notes| notes.end == end)
    }

    /// Tells the observer of the programs' connections when each segment entered the path.
    fn record_entries(&self, watcher: &mut Watcher) {
        let Some(programs) = &mut watcher.programs else { return };
        for PacketArrival { at, segment, .. } in &self.log.arrivals {
            if let Some(place) = programs.place_of(segment.flow()) {
                programs.connections.entered(place, segment.source().side(), *at, segment);
            }
        }
    }

    /// The table `connections` of programs. `None` if the run has no programs, or if it has a
    /// population, because the rows of a population come from its sums.
    fn connections(&self, watcher: &Watcher, sums: &[(EndId, FlowSum)]) -> Option<Table> {
        let programs = watcher.programs.as_ref().filter(|_| self.kernel_tasks.is_none())?;
        let sum = |end: EndId| {
            let own = sums.iter().find(|(sender, _)| *sender == end);
            own.map_or_else(FlowSum::default, |(_, sum)| *sum)
        };
        let of = |flow: FlowId| {
            let [from, to] = Side::BOTH.map(|side| sum(flow.end(side)));
            let arrived = [to.delivered_bytes, from.delivered_bytes];
            [arrived, [shims(from.verdict), shims(to.verdict)]]
        };
        let counts: Vec<Counts> = Self::flows_of_programs(watcher).map(of).collect();
        let name = self.names.name(programs.first);
        Some(connections_table(&name, &programs.connections, &counts))
    }

    /// Completes the sums that were computed from a flow's packets. The notes of the applications
    /// say when they wrote and finished, and how much they read. If the simulator runs the end
    /// `source`, the argument `from` has the results of this end, which replace the sums of
    /// sending. If the simulator runs the peer of `source`, the argument `to` has the results of
    /// the peer, which replace the sums of receiving.
    fn joined(&self, source: EndId, seen: FlowSum, [from, to]: [Option<FlowResult>; 2]) -> FlowSum {
        let notes = |end| self.notes_of(end);
        let mut sum = seen;
        sum.start = notes(source).and_then(|notes| notes.wrote);
        // An end that sent a request has finished when it has read the reply.
        sum.finished = notes(source).and_then(|notes| notes.finished).or(sum.finished);
        sum.delivered_bytes = notes(source.peer()).map_or(0, |notes| notes.read_bytes);
        if let Some(from) = from {
            let own = FlowSum::of([from, from]);
            let (received, duplicates) = (sum.received, sum.duplicates);
            let delivered_bytes = sum.delivered_bytes;
            sum = FlowSum { received, duplicates, delivered_bytes, ..own };
        }
        if let Some(to) = to {
            sum.received = to.received.segments;
            sum.duplicates = to.received.duplicates;
            sum.delivered_bytes = to.received.delivered_bytes;
        }
        sum
    }

    /// The report on programs.
    fn programs_report(&self, watcher: &Watcher) -> Option<ProgramsReport> {
        let ((programs, ended), watched) = self.programs.as_ref().zip(watcher.programs.as_ref())?;
        Some(ProgramsReport {
            command: programs.command.clone(),
            server: programs.server.clone(),
            status: ended.status,
            ran: ended.ran,
            stopped: ended.stopped,
            other_packets: watched.others,
            kernel_told: watched.can_ask(),
        })
    }

    fn report(
        &self,
        results: &Results,
        programs: Option<ProgramsReport>,
        replayed: Replayed,
        budget: Duration,
    ) -> LiveReport {
        let late = self.log.deliveries.iter().map(|d| d.actual.saturating_since(d.due)).collect();
        let lateness = Lateness::of(late);
        let read_damaged = self.notes.iter().map(|notes| notes.damaged).sum();
        let packets = PacketCounts::of(&self.log, read_damaged);
        let failures = self.notes.iter().filter_map(|notes| {
            let flow = self.names.name(notes.end.flow());
            notes.failure.clone().map(|failure| FlowFailure { flow, failure })
        });
        LiveReport {
            valid: packets.all_carried() && replayed.same && lateness.is_within(budget),
            back_end: self.wiring.description(),
            wire: self.wiring.wire,
            offload: self.wiring.offload,
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            real_time: self.real_time,
            budget_ns: budget.as_nanos(),
            lateness: LatenessReport::from(&lateness),
            replayed,
            packets,
            ends: self.ends.clone(),
            failures: failures.collect(),
            programs,
            contents: results.contents(),
        }
    }
}

/// Completes the files of captures and writes them to the disk.
fn finish_captures(captures: Vec<Capture>) -> io::Result<()> {
    for capture in captures {
        capture.file.finish()?.into_inner().map_err(io::Error::from)?.sync_all()?;
    }
    Ok(())
}

/// The number of segments that the shim of an end retransmitted. A shim is a retransmission timer
/// between a host's TCP and the path.
fn shims(verdict: Retransmissions) -> u64 {
    u64::from(verdict.sent[Cause::Shim as usize]) + u64::from(verdict.sent[Cause::Sfr as usize])
}

/// Adds to the given sums the segments that a host's shim retransmitted. The sums `seen` come from
/// the packets that the host itself sent.
fn with_shim(seen: FlowSum, again: &[Retransmission]) -> FlowSum {
    let data = again.iter().filter(|segment| segment.len > 0).count() as u64;
    FlowSum {
        sent: seen.sent + data,
        retransmissions: seen.retransmissions + again.len() as u64,
        ..seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netspurt::ids::TransmissionId;

    #[test]
    fn a_fin_that_a_shim_retransmits_does_not_count_as_a_segment_with_payload() {
        let data = Retransmission {
            at: Time::ZERO,
            armed: Time::ZERO,
            id: TransmissionId::default(),
            left: 1,
            len: 100,
            cause: Cause::Shim,
            backoff: 2,
        };
        let seen = FlowSum { sent: 5, retransmissions: 1, ..FlowSum::default() };
        let sum = with_shim(seen, &[data, Retransmission { len: 0, ..data }]);
        assert_eq!((sum.sent, sum.retransmissions), (6, 3));
    }
}
