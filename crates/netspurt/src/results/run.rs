//! Makes the tables of a run that has ended.

use std::mem::take;

use crate::app::{EchoProbes, Exchange};
use crate::event::Wanted;
use crate::ids::{EndId, FlowId, TransmissionId};
use crate::link::LinkCount;
use crate::record::{
    CaptureError, Capturing, EchoProbeSum, FlowSum, Names, PopulationSums, Recorder, SeenTables,
    Table, digest, echo_probes_table, flows_table, links_table, requests_table,
    retransmissions_table, shadows_table, write_capture,
};
use crate::rto::EstimatorConfig;
use crate::units::Time;

/// A run that has ended, with all the data from which its tables are made.
#[derive(Debug)]
pub struct EndedRun {
    /// The recorder with the events of the run.
    pub recorder: Recorder,
    /// Which of the recorded tables are kept.
    pub wanted: Wanted,
    /// The ids of the spurious retransmissions, in ascending order.
    pub spurious: Vec<TransmissionId>,
    /// The sums of each sender: first the senders of [`Names::senders`] in their order, then both
    /// ends of each connection of the programs that the user runs.
    pub sums: Vec<(EndId, FlowSum)>,
    /// The counts of each direction of each link, in the order of [`Names::links`].
    pub links: Vec<LinkCount>,
    /// The sums of echo probes.
    pub echo_probes: Vec<EchoProbeSum>,
    /// The requests of each flow, with the number of the flow.
    pub requests: Vec<(u32, Vec<Exchange>)>,
    /// The sums of populations. The value may be `None` if the run has no populations. A population
    /// is many connections of one kind.
    pub populations: Option<PopulationSums>,
    /// The first flow that belongs to programs, which the user runs on the emulated path of a live
    /// run. All later flows also belong to programs. Programs choose their own ports.
    pub programs: Option<FlowId>,
    /// Algorithms of the retransmission timer (estimators) that get each round-trip sample, but do
    /// not influence the run.
    pub shadows: Vec<EstimatorConfig>,
    /// Additional tables, which only some kinds of runs have. They come after all other tables.
    pub more: Vec<Table>,
    /// The captures of the run.
    pub captured: Capturing,
    /// Whether the hosts are real, as in a live run. In a simulation, they are not.
    pub real_hosts: bool,
    /// When the run ended.
    pub stop: Time,
}

/// The tables of a run that has ended.
#[derive(Clone, Debug)]
pub struct Results {
    tables: Vec<Table>,
    names: Names,
    programs: Option<FlowId>,
    captured: Capturing,
    real_hosts: bool,
    stop: Time,
}

impl EndedRun {
    /// Makes the tables. `flows`, `retransmissions` and `links` come first. `echo_probes`,
    /// `requests` and `populations` follow, each only if the run has flows of its kind. Then comes
    /// `connections`, if single connections are recorded. The recorded tables, `shadows` and the
    /// tables in the field `more` come last.
    pub fn finish(mut self) -> Results {
        let names = self.recorder.names().clone();
        let flows = flows_table(&names, &self.sums);
        // The sums of many flows take most of the memory, so they are not copied.
        let mut senders = take(&mut self.sums);
        senders.extend(self.populations.as_ref().map(PopulationSums::senders).unwrap_or_default());
        let retransmissions = retransmissions_table(&names, &senders);
        drop(senders);
        let mut tables = vec![flows, retransmissions, links_table(&names, &self.links)];
        if names.flows.iter().any(|flow| flow.echo_probes) {
            tables.push(echo_probes_table(&names, &self.echo_probes));
        }
        let own = self.programs.map_or(names.flows.len(), FlowId::index);
        if names.flows[..own].iter().any(|flow| flow.answers && !flow.population) {
            tables.push(requests_table(&names, &self.requests));
        }
        let populations = self.populations.as_ref().filter(|_| names.populations().len() > 0);
        tables.extend(populations.into_iter().flat_map(|sums| sums.tables(self.stop)));
        tables.extend(self.recorder.finish_wanted(&self.spurious, self.wanted));
        if !self.shadows.is_empty() {
            tables.push(shadows_table(&tables, &self.shadows));
        }
        tables.extend(self.more);
        let Self { programs, captured, real_hosts, stop, .. } = self;
        Results { tables, names, programs, captured, real_hosts, stop }
    }
}

/// The echo probes of flow `flow`, including the probe in flight.
pub fn echo_probe_sums(flow: u32, prober: &EchoProbes) -> Vec<EchoProbeSum> {
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
    /// The tables, in the order in which [`EndedRun::finish`] made them.
    pub fn tables(&self) -> &[Table] {
        &self.tables
    }

    /// The table `name`, or `None` if the results do not have this table.
    pub fn table(&self, name: &str) -> Option<&Table> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// Returns the results without the table `name`.
    #[must_use]
    pub fn without(mut self, name: &str) -> Self {
        self.tables.retain(|table| table.name != name);
        self
    }

    /// When the run ended.
    pub fn stop(&self) -> Time {
        self.stop
    }

    /// The names of the run's nodes, links and flows.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The nodes that have captures.
    pub fn captured(&self) -> &[u32] {
        &self.captured.nodes
    }

    /// The indices of the flows whose addresses and ports are known from the scenario: single flows
    /// of TCP, except flows of programs. Populations are left out.
    pub(super) fn addressed_flows(&self) -> impl Iterator<Item = usize> {
        let own = self.programs.map_or(self.names.flows.len(), FlowId::index);
        let flows = self.names.flows.iter().enumerate().take(own);
        flows.filter(|(_, flow)| !flow.echo_probes && !flow.population).map(|(index, _)| index)
    }

    /// Writes a pcapng file with the packets that node `node` saw.
    ///
    /// # Errors
    /// When writing to the writer `out` fails, or when the run did not record segments.
    pub fn write_capture<W: std::io::Write>(&self, node: u32, out: W) -> Result<W, CaptureError> {
        let table = |name| self.table(name).ok_or(CaptureError::NotRecorded);
        let seen = SeenTables {
            segments: table("segments")?,
            sack_blocks: table("sack_blocks")?,
            syns: table("syns")?,
            real_hosts: self.real_hosts,
        };
        write_capture(seen, &self.names, node, self.captured.snap_bytes, out)
    }

    /// The digest of all tables.
    pub fn digest(&self) -> String {
        digest(&self.tables)
    }

    /// The digest of the table `flows`. It does not depend on which other tables are recorded.
    pub fn flows_digest(&self) -> String {
        digest(self.table("flows"))
    }
}
