//! The flows of a scenario, from before they start until what came of them is summed up.

use crate::app::{Client, Echo, EchoProbes, Endpoint, Exchange, FlowResult, Program, Server, Task};
use crate::ids::{EndId, FlowId, Side, TransmissionId};
use crate::ip::Reassembling;
use crate::record::{EchoProbeSum, FlowSum, Judge, SenderVerdict};
use crate::results::echo_probe_sums;
use crate::segment::Segment;
use crate::sim::{FlowEnds, Population};
use crate::tcp::{Connection, TcpConfig};
use crate::units::{Duration, Time};

use super::traffic::{PlannedFlow, Traffic};

/// A host of a world of this kind.
pub(super) trait Resident: Sized {
    /// The host of `program`, which waits for `reassembly` for the rest of a datagram.
    ///
    /// # Panics
    /// When the world has no such programs.
    fn of(program: Program, reassembly: Duration) -> Self;

    /// What came of it, if it is an end of a connection.
    fn result(&self) -> Option<FlowResult>;

    /// What it asked, if it is the end that asks.
    fn exchanges(&self) -> Option<&[Exchange]> {
        None
    }

    /// The prober, if it is one.
    fn prober(&self) -> Option<&EchoProbes> {
        None
    }
}

impl Resident for Endpoint {
    fn of(program: Program, _: Duration) -> Self {
        match program {
            Program::Tcp(end) => end,
            _ => panic!("a world of transfers has no other programs"),
        }
    }

    fn result(&self) -> Option<FlowResult> {
        Some(Endpoint::result(self))
    }
}

impl Resident for Reassembling<Segment, Program> {
    fn of(program: Program, reassembly: Duration) -> Self {
        Self::new(program, reassembly)
    }

    fn result(&self) -> Option<FlowResult> {
        self.inner().result()
    }

    fn exchanges(&self) -> Option<&[Exchange]> {
        match self.inner() {
            Program::Client(client) => Some(client.exchanges()),
            _ => None,
        }
    }

    fn prober(&self) -> Option<&EchoProbes> {
        match self.inner() {
            Program::EchoProbes(prober) => Some(prober),
            _ => None,
        }
    }
}

/// What came of the flows of a run.
#[derive(Debug, Default)]
pub(super) struct FlowSums {
    /// Of the senders of TCP flows.
    pub(super) flows: Vec<(EndId, FlowSum)>,
    /// The requests of the flows that ask, by the number of the flow.
    pub(super) exchanges: Vec<(u32, Vec<Exchange>)>,
    pub(super) echo_probes: Vec<EchoProbeSum>,
}

/// The flows of a scenario: those to come, who watches the living, and the sums of those that are over.
#[derive(Debug)]
pub(super) struct ScenarioFlows {
    /// The flows to come; the last of them starts next.
    waiting: Vec<(FlowId, PlannedFlow)>,
    reassembly: Duration,
    judge: Judge,
    sums: FlowSums,
}

impl ScenarioFlows {
    /// All of them still to come; flow numbers are places in `flows`.
    ///
    /// # Panics
    /// When an end is the kernel's.
    pub(super) fn new(flows: Vec<PlannedFlow>, reassembly: Duration) -> Self {
        let simulated = flows.iter().all(PlannedFlow::is_simulated);
        assert!(simulated, "a flow of the kernel's is no simulation");
        let mut waiting: Vec<_> = (0..).map(FlowId).zip(flows).collect();
        waiting.sort_by_key(|(id, flow)| std::cmp::Reverse((flow.start, *id)));
        Self { waiting, reassembly, judge: Judge::default(), sums: FlowSums::default() }
    }

    /// Takes out the flows that are there from the start to the end: echo probes and their hosts.
    pub(super) fn permanent<E: Resident>(&mut self) -> Vec<(FlowId, FlowEnds<E>)> {
        let permanent = |(_, flow): &mut (FlowId, PlannedFlow)| {
            matches!(*flow.traffic, Traffic::EchoProbes { .. })
        };
        let mut taken: Vec<_> = self.waiting.extract_if(.., permanent).collect();
        taken.sort_by_key(|(id, _)| *id);
        taken.iter().for_each(|(id, _)| self.judge.watch(*id));
        taken.iter().map(|(id, flow)| (*id, self.ends(*id, flow))).collect()
    }

    /// The pairs of nodes between which the flows to come run.
    pub(super) fn pairs(&self) -> Vec<[u32; 2]> {
        let mut pairs: Vec<_> = self.waiting.iter().map(|(_, flow)| [flow.from, flow.to]).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs
    }

    /// The spurious transmissions, in ascending order.
    pub(super) fn spurious(&self) -> Vec<TransmissionId> {
        let mut spurious = self.judge.spurious().to_vec();
        spurious.sort_unstable();
        spurious
    }

    /// Ends the run with these flows not over: the sums of all flows, in their order.
    pub(super) fn finish<E: Resident>(
        mut self,
        living: impl Iterator<Item = (FlowId, [E; 2])>,
    ) -> FlowSums {
        self.waiting.shrink_to_fit();
        for (flow, ends) in living {
            let verdicts = self.judge.forget(flow);
            self.sum(flow, &ends, verdicts);
        }
        while let Some((id, flow)) = self.waiting.pop() {
            let ends: [E; 2] = self.ends(id, &flow).map(|(host, _)| host);
            self.sum(id, &ends, Default::default());
        }
        self.sums.flows.sort_unstable_by_key(|(end, _)| *end);
        self.sums.exchanges.sort_unstable_by_key(|(flow, _)| *flow);
        self.sums.echo_probes.sort_unstable_by_key(|sum| (sum.flow, sum.number));
        self.sums
    }

    /// Adds up what came of a flow.
    fn sum<E: Resident>(&mut self, flow: FlowId, ends: &[E; 2], verdicts: [SenderVerdict; 2]) {
        let [from, to] = ends;
        if let Some(prober) = from.prober() {
            return self.sums.echo_probes.extend(echo_probe_sums(flow.0, prober));
        }
        let (Some(source), Some(sink)) = (from.result(), to.result()) else { return };
        let [verdict, reverse] = verdicts;
        let row = |end, of, SenderVerdict { retransmissions: verdict, waited }| {
            (end, FlowSum { verdict, waited, ..FlowSum::of(of) })
        };
        self.sums.flows.push(row(flow.end(Side::From), [source, sink], verdict));
        if let Some(exchanges) = from.exchanges() {
            self.sums.flows.push(row(flow.end(Side::To), [sink, source], reverse));
            self.sums.exchanges.push((flow.0, exchanges.to_vec()));
        }
    }

    /// Both ends of the flow `id`, and their nodes.
    ///
    /// # Panics
    /// When an end is the kernel's.
    fn ends<E: Resident>(&self, id: FlowId, flow: &PlannedFlow) -> FlowEnds<E> {
        let [from, to] = programs(id, flow).map(|program| E::of(program, self.reassembly));
        [(from, flow.from), (to, flow.to)]
    }
}

impl<E: Resident> Population<Segment, E> for ScenarioFlows {
    #[inline]
    fn next_start(&self) -> Time {
        self.waiting.last().map_or(Time::NEVER, |(_, flow)| flow.start)
    }

    fn start(&mut self) -> (FlowId, FlowEnds<E>) {
        let (id, flow) = self.waiting.pop().expect("a flow that is to start");
        self.judge.watch(id);
        (id, self.ends(id, &flow))
    }

    #[inline]
    fn left(&mut self, at: Time, segment: &Segment) {
        self.judge.left(at, segment);
    }

    #[inline]
    fn reached(&mut self, at: Time, segment: &Segment) {
        self.judge.reached(at, segment);
    }

    fn retire(&mut self, flow: FlowId, ends: [E; 2]) {
        let verdicts = self.judge.forget(flow);
        self.sum(flow, &ends, verdicts);
    }
}

/// The programs at the two ends of the flow `id`.
///
/// # Panics
/// When an end is the kernel's.
pub(super) fn programs(id: FlowId, flow: &PlannedFlow) -> [Program; 2] {
    match &*flow.traffic {
        Traffic::Tcp { tcp, task } => {
            Side::BOTH.map(|side| tcp_end(id.end(side), tcp, task.starting(flow.start)))
        }
        Traffic::Real { .. } | Traffic::Programs { .. } => {
            panic!("a flow of the kernel's is no simulation")
        }
        Traffic::EchoProbes { plan, processing } => [
            Program::EchoProbes(EchoProbes::new(id.end(Side::From), plan.clone())),
            Program::Echo(Echo::new(id.end(Side::To), *processing)),
        ],
    }
}

/// The program at `end` of a flow whose two ends do `task`.
pub(super) fn tcp_end(end: EndId, tcp: &TcpConfig, task: Task) -> Program {
    let connection = Connection::new(end, tcp);
    match (task, end.side()) {
        (Task::Bulk(bulk), side) => {
            Program::Tcp(Endpoint::new(connection, (side == Side::From).then_some(bulk)))
        }
        (Task::Requests(plan), Side::From) => Program::Client(Client::new(connection, plan)),
        (Task::Requests(plan), Side::To) => Program::Server(Server::new(connection, plan)),
    }
}
