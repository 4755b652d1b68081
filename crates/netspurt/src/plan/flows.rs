//! Starts the flows of a scenario during a run, and sums up their results when they end. A
//! population is many connections of one kind, which start at different instants.

use std::sync::Arc;

use crate::app::{Client, Echo, EchoProbes, Endpoint, Exchange, FlowResult, Program, Server, Task};
use crate::ids::{EndId, FlowId, Side, TransmissionId};
use crate::ip::Reassembling;
use crate::record::{
    ConnectionSum, EchoProbeSum, FlowSum, Judge, Names, PopulationSums, SenderVerdict, sums_of_ends,
};
use crate::results::echo_probe_sums;
use crate::segment::Segment;
use crate::sim::{FlowEnds, Population};
use crate::tcp::{Connection, TcpConfig};
use crate::units::{Duration, Time};

use super::population::{ArrivingConnections, PlannedPopulation};
use super::traffic::{PlannedEnd, PlannedFlow, Traffic};

/// A type of host. All hosts of a simulated network have the same type.
pub(super) trait HostType: Sized {
    /// Makes the host of `program`. The host waits for the missing fragments of a datagram for at
    /// most the time `reassembly`.
    ///
    /// # Panics
    /// When a host of this type cannot run `program`.
    fn of(program: Program, reassembly: Duration) -> Self;

    /// The result of the host, if it is an end of a connection.
    fn result(&self) -> Option<FlowResult>;

    /// The exchanges (requests and their replies) of the host, if it is an end that sends requests.
    fn exchanges(&self) -> Option<&[Exchange]> {
        None
    }

    /// If the host opens a connection, returns how many octets are to be written forward and in
    /// reverse, and the number of requests. Returns zeros for any other host. An unlimited transfer
    /// counts as zero octets.
    fn planned(&self) -> ([u64; 2], u32);

    /// The program that sends echo probes. The result is `None` if the host has no such program.
    fn prober(&self) -> Option<&EchoProbes> {
        None
    }
}

impl HostType for Endpoint {
    fn of(program: Program, _: Duration) -> Self {
        match program {
            Program::Tcp(end) => end,
            _ => panic!("this world has only TCP transfers"),
        }
    }

    fn result(&self) -> Option<FlowResult> {
        Some(Endpoint::result(self))
    }

    fn planned(&self) -> ([u64; 2], u32) {
        ([self.octets().unwrap_or(0), 0], 0)
    }
}

impl HostType for Reassembling<Segment, Program> {
    fn of(program: Program, reassembly: Duration) -> Self {
        Self::new(program, reassembly)
    }

    fn result(&self) -> Option<FlowResult> {
        self.inner().result()
    }

    fn planned(&self) -> ([u64; 2], u32) {
        match self.inner() {
            Program::Tcp(end) => end.planned(),
            Program::Client(client) => (client.plan().octets(), client.plan().count),
            _ => ([0; 2], 0),
        }
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

/// The results of the flows of a run. An exchange is a request and its reply.
#[derive(Debug)]
pub(super) struct FlowSums {
    /// The sums of each sender of a TCP flow, with the end that sends.
    pub(super) flows: Vec<(EndId, FlowSum)>,
    /// The exchanges of the flows with requests, each with the number of the flow.
    pub(super) exchanges: Vec<(u32, Vec<Exchange>)>,
    pub(super) echo_probes: Vec<EchoProbeSum>,
    /// The sums of the connections of populations.
    pub(super) connections: PopulationSums,
}

/// The flows of a scenario: the flows that have not started, the judge of the open flows, and the
/// sums of the flows that ended. The judge decides which retransmissions were spurious.
#[derive(Debug)]
pub(super) struct ScenarioFlows {
    /// The flows that have not started, in reverse order of their starts. The last one starts next.
    waiting: Vec<(FlowId, PlannedFlow)>,
    /// The populations, each with the flow id that stands for it.
    arrivals: Vec<(FlowId, ArrivingConnections)>,
    /// When the next connection of any population arrives.
    next_arrival: Time,
    names: Names,
    reassembly: Duration,
    judge: Judge,
    sums: FlowSums,
}

impl ScenarioFlows {
    /// Prepares all flows of a run. The number of a flow is its index in `flows`. The argument
    /// `connections` has the run's names and collects the results of the populations' connections.
    ///
    /// # Panics
    /// When an end uses the kernel's TCP.
    pub(super) fn new(
        flows: Vec<PlannedFlow>,
        populations: &[Arc<PlannedPopulation>],
        connections: PopulationSums,
        reassembly: Duration,
    ) -> Self {
        let simulated = flows.iter().all(PlannedFlow::is_simulated);
        assert!(simulated, "a flow with an end that uses the kernel's TCP cannot be simulated");
        let mut waiting: Vec<_> = (0..).map(FlowId).zip(flows).collect();
        waiting.sort_by_key(|(id, flow)| std::cmp::Reverse((flow.start, *id)));
        let names = connections.names().clone();
        let arrivals =
            populations.iter().map(|population| ArrivingConnections::new(population.clone()));
        let (flows, exchanges, echo_probes) = Default::default();
        let mut all = Self {
            waiting,
            arrivals: names.populations().zip(arrivals).collect(),
            next_arrival: Time::NEVER,
            names,
            reassembly,
            judge: Judge::default(),
            sums: FlowSums { flows, exchanges, echo_probes, connections },
        };
        all.find_next_arrival();
        all
    }

    fn find_next_arrival(&mut self) {
        let next = self.arrivals.iter().map(|(_, arrivals)| arrivals.next()).min();
        self.next_arrival = next.unwrap_or(Time::NEVER);
    }

    /// The number of rows that are kept for connections that ended.
    pub(super) fn connection_rows(&self) -> u64 {
        self.sums.connections.rows()
    }

    /// Removes and returns the flows that last from the start to the end of the run. These are the
    /// flows of echo probes.
    pub(super) fn permanent<E: HostType>(&mut self) -> Vec<(FlowId, FlowEnds<E>)> {
        let permanent = |(_, flow): &mut (FlowId, PlannedFlow)| {
            matches!(*flow.traffic, Traffic::EchoProbes { .. })
        };
        let mut taken: Vec<_> = self.waiting.extract_if(.., permanent).collect();
        taken.sort_by_key(|(id, _)| *id);
        taken.iter().for_each(|(id, _)| self.judge.watch(*id));
        taken.iter().map(|(id, flow)| (*id, self.ends(*id, flow))).collect()
    }

    /// The pairs of nodes between which flows or connections will start, each pair once.
    pub(super) fn pairs(&self) -> Vec<[u32; 2]> {
        let of_flows = self.waiting.iter().map(|(_, flow)| [flow.from, flow.to]);
        let of_arrivals = self.arrivals.iter().map(|(_, arrivals)| arrivals.nodes());
        let mut pairs: Vec<_> = of_flows.chain(of_arrivals).collect();
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

    /// Ends the run. The argument `open` has the flows that have not ended, with the hosts at their
    /// ends. Returns the sums of all flows, in the order of the flows.
    pub(super) fn finish<E: HostType>(
        mut self,
        open: impl Iterator<Item = (FlowId, [E; 2])>,
    ) -> FlowSums {
        self.waiting.shrink_to_fit();
        for (flow, ends) in open {
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

    /// Adds the results of a flow to the sums.
    fn sum<E: HostType>(&mut self, flow: FlowId, ends: &[E; 2], verdicts: [SenderVerdict; 2]) {
        let [from, to] = ends;
        if let Some(prober) = from.prober() {
            return self.sums.echo_probes.extend(echo_probe_sums(flow.0, prober));
        }
        let (Some(source), Some(sink)) = (from.result(), to.result()) else { return };
        let sums = sums_of_ends([source, sink], verdicts);
        if self.names.population(flow).is_some() {
            let one = connection(flow, [source, sink], from.planned(), sums);
            return self.sums.connections.add(&one, from.exchanges().unwrap_or_default());
        }
        self.sums.flows.push((flow.end(Side::From), sums[0]));
        if let Some(exchanges) = from.exchanges() {
            self.sums.flows.push((flow.end(Side::To), sums[1]));
            self.sums.exchanges.push((flow.0, exchanges.to_vec()));
        }
    }

    /// Starts the connection that arrives next.
    fn arrive<E: HostType>(&mut self) -> (FlowId, FlowEnds<E>) {
        let now = self.next_arrival;
        let (of, arrivals) = (self.arrivals.iter_mut())
            .find(|(_, arrivals)| arrivals.next() == now)
            .expect("`next_arrival` is the arrival of a connection");
        let (number, task) = arrivals.take();
        let id = self.names.connection(*of, number).expect("a run has fewer than 2^31 flows");
        let (nodes, population) = (arrivals.nodes(), arrivals.population.clone());
        let end = |side: Side| {
            let PlannedEnd::Model(tcp) = &population.end else {
                panic!("a population that uses the kernel's TCP cannot be simulated")
            };
            let program = tcp_end(id.end(side), tcp, task.clone());
            (E::of(program, self.reassembly), nodes[side.index()])
        };
        let ends = Side::BOTH.map(end);
        self.find_next_arrival();
        (id, ends)
    }

    /// Makes both ends of the flow `id`, each with its node.
    ///
    /// # Panics
    /// When an end uses the kernel's TCP.
    fn ends<E: HostType>(&self, id: FlowId, flow: &PlannedFlow) -> FlowEnds<E> {
        let [from, to] = programs(id, flow).map(|program| E::of(program, self.reassembly));
        [(from, flow.from), (to, flow.to)]
    }
}

impl<E: HostType> Population<Segment, E> for ScenarioFlows {
    #[inline]
    fn next_start(&self) -> Time {
        let own = self.waiting.last().map_or(Time::NEVER, |(_, flow)| flow.start);
        own.min(self.next_arrival)
    }

    fn start(&mut self) -> (FlowId, FlowEnds<E>) {
        if self.waiting.last().is_none_or(|(_, flow)| flow.start > self.next_arrival) {
            let (id, ends) = self.arrive();
            self.judge.watch(id);
            return (id, ends);
        }
        let (id, flow) = self.waiting.pop().expect("a flow starts only if one waits");
        self.judge.watch(id);
        (id, self.ends(id, &flow))
    }

    #[inline(always)]
    fn departed(&mut self, at: Time, segment: &Segment) {
        self.judge.departed(at, segment);
    }

    #[inline(always)]
    fn reached(&mut self, at: Time, segment: &Segment) {
        self.judge.reached(at, segment);
    }

    fn retire(&mut self, flow: FlowId, ends: [E; 2]) {
        let verdicts = self.judge.forget(flow);
        self.sum(flow, &ends, verdicts);
    }
}

/// The results of a connection of a population.
fn connection(
    flow: FlowId,
    [source, sink]: [FlowResult; 2],
    (octets, requests): ([u64; 2], u32),
    ends: [FlowSum; 2],
) -> ConnectionSum {
    let since = |at: Option<Time>| Some(at?.saturating_since(source.start?));
    // If there are requests, the end that answers gets the last acknowledgment of data.
    let [last, read] =
        if requests > 0 { [sink.finished, source.finished] } else { [source.finished, None] };
    ConnectionSum {
        flow,
        start: source.start.unwrap_or(Time::ZERO),
        octets,
        requests,
        duration: since(last),
        response: since(read),
        ends,
    }
}

/// The programs at the two ends of the flow `id`.
///
/// # Panics
/// When an end uses the kernel's TCP.
pub(super) fn programs(id: FlowId, flow: &PlannedFlow) -> [Program; 2] {
    match &*flow.traffic {
        Traffic::Tcp { tcp, task } => {
            Side::BOTH.map(|side| tcp_end(id.end(side), tcp, task.starting(flow.start)))
        }
        Traffic::Real { .. } | Traffic::Programs { .. } => {
            panic!("a flow with an end that uses the kernel's TCP cannot be simulated")
        }
        Traffic::EchoProbes { plan, processing } => [
            Program::EchoProbes(EchoProbes::new(id.end(Side::From), plan.clone())),
            Program::Echo(Echo::new(id.end(Side::To), *processing)),
        ],
    }
}

/// The program at the end `end` of a flow whose ends carry out this task.
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
