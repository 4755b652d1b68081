//! The names of nodes, links and flows. Events contain the numbers of nodes, links and flows, and
//! tables contain the names. This file also converts instants to the form that tables have.

use std::num::NonZero;
use std::sync::Arc;

use crate::ids::{Direction, EndId, FlowId, Side};
use crate::segment::Packetization;
use crate::units::Time;

use super::table::{Column, Data};

/// The properties of a flow that the tables need, except its name.
#[derive(Clone, Copy, Debug)]
pub struct FlowProperties {
    /// The number of the node from which the flow starts.
    pub from: u32,
    /// The number of the node at the other end.
    pub to: u32,
    /// The number of octets of payload in a full segment. For echo probes, the number is 1.
    pub smss: u16,
    /// Whether the flow is a series of echo probes and not a TCP flow.
    pub echo_probes: bool,
    /// Whether the node at the other end also writes. If so, the summaries have a row for the
    /// reverse direction.
    pub answers: bool,
    /// The number of octets in each message, forward and reverse, if the application writes
    /// messages.
    pub messages: [Option<NonZero<u64>>; 2],
    /// Whether the packets of the flow are IPv6 packets.
    pub ipv6: bool,
    /// Whether the flow stands for a population: many connections that start and end during the
    /// run. A flow of programs that the user runs in a live run also counts as a population.
    pub population: bool,
}

/// The name of one direction of a link.
#[derive(Clone, Debug)]
pub struct LinkName {
    /// The link's name.
    pub name: String,
    /// The direction.
    pub direction: Direction,
    /// The number of the node at which the direction begins.
    pub from: u32,
    /// The number of the node at which the direction ends.
    pub to: u32,
}

/// The names of all nodes, directions of links, and flows. Events refer to them by number. Cloning
/// this value is cheap.
#[derive(Clone, Debug)]
pub struct Names {
    /// The names of the nodes.
    pub nodes: Arc<[String]>,
    /// The names of the directions of links.
    pub links: Arc<[LinkName]>,
    /// The properties of the flows: first TCP flows, then echo probes, and last the populations.
    /// Flow *f* has the ends 2*f* and 2*f* + 1. The connections of populations are flows with
    /// higher numbers.
    pub flows: Arc<[FlowProperties]>,
    /// The names of `flows`.
    pub flow_names: Arc<[String]>,
    /// The number of populations in `flows`.
    populations: u32,
}

impl FlowProperties {
    /// Returns how the octets that travel in `direction` are cut into packets.
    pub(super) fn packetization(&self, direction: Direction) -> Packetization {
        let message_bytes = self.messages[direction.index()];
        Packetization { full_bytes: self.smss, message_bytes }
    }

    /// The number of the node on the side `side`.
    pub fn node(&self, side: Side) -> u32 {
        match side {
            Side::From => self.from,
            Side::To => self.to,
        }
    }
}

impl Names {
    /// Makes the names from the names of the nodes, of the directions of links, and of the flows.
    pub fn new(
        nodes: Vec<String>,
        links: Vec<LinkName>,
        flows: impl IntoIterator<Item = (String, FlowProperties)>,
    ) -> Self {
        let (flow_names, flows): (Vec<_>, Vec<_>) = flows.into_iter().unzip();
        let populations = flows.iter().filter(|flow| flow.population).count();
        let populations = u32::try_from(populations).expect("flows are numbered in 32 bits");
        Self {
            nodes: nodes.into(),
            links: links.into(),
            flows: flows.into(),
            flow_names: flow_names.into(),
            populations,
        }
    }

    /// The number of flows that have a name of their own. This number includes the populations, but
    /// not their connections.
    fn named(&self) -> u32 {
        u32::try_from(self.flows.len()).expect("flows are numbered in 32 bits")
    }

    /// The flow ids that stand for populations.
    pub fn populations(&self) -> impl ExactSizeIterator<Item = FlowId> + use<> {
        (self.named() - self.populations..self.named()).map(FlowId)
    }

    /// Returns the flow id of a connection of a population. `number` counts the population's
    /// connections from 0. Returns `None` if there are no more ids.
    ///
    /// ```
    /// use netspurt::ids::FlowId;
    /// use netspurt::record::{FlowProperties, Names};
    /// let flow = |name: &str, population| (name.to_owned(), FlowProperties {
    ///     from: 0, to: 1, smss: 1460, echo_probes: false, answers: true, messages: [None; 2],
    ///     ipv6: false, population,
    /// });
    /// let flows = [flow("own", false), flow("web", true), flow("mail", true)];
    /// let names = Names::new(vec![], vec![], flows);
    /// let third = names.connection(FlowId(2), 2).unwrap();
    /// assert_eq!(names.name(third), "mail.2");
    /// assert_eq!((names.population(third), names.population(FlowId(0))), (Some(FlowId(2)), None));
    /// ```
    pub fn connection(&self, population: FlowId, number: u32) -> Option<FlowId> {
        let place = population.0 - (self.named() - self.populations);
        let offset = number.checked_mul(self.populations)?.checked_add(place)?;
        // The ends of flow *f* have the numbers 2*f* and 2*f* + 1, which must fit in 32 bits.
        self.named().checked_add(offset).filter(|id| *id < u32::MAX / 2).map(FlowId)
    }

    /// Returns the population of a connection, and the connection's number in it. Returns `None` if
    /// the flow does not belong to a population.
    fn in_population(&self, flow: FlowId) -> Option<(FlowId, u32)> {
        let offset = flow.0.checked_sub(self.named())?;
        let place = self.named() - self.populations + offset % self.populations;
        Some((FlowId(place), offset / self.populations))
    }

    /// Returns the population of a connection, or `None` if the flow does not belong to a
    /// population.
    pub fn population(&self, flow: FlowId) -> Option<FlowId> {
        self.in_population(flow).map(|(population, _)| population)
    }

    /// Returns the properties of a flow. A connection of a population has the properties of its
    /// population.
    pub fn of(&self, flow: FlowId) -> &FlowProperties {
        &self.flows[self.population(flow).unwrap_or(flow).index()]
    }

    /// Returns the name of a flow. The name of a connection of a population is the population's
    /// name with a number.
    pub fn name(&self, flow: FlowId) -> String {
        match self.in_population(flow) {
            Some((population, number)) => {
                format!("{}.{number}", self.flow_names[population.index()])
            }
            None => self.flow_names[flow.index()].clone(),
        }
    }

    /// Returns how the octets that the end `end` writes are cut into packets.
    pub(super) fn packetization(&self, end: EndId) -> Packetization {
        self.of(end.flow()).packetization(end.side().sends())
    }

    /// Makes a column `flow` from the numbers of flows.
    pub(super) fn flow_column(&self, codes: Vec<u32>) -> Column {
        self.flows_column("flow", codes)
    }

    /// Makes a column called `name` from the numbers of flows.
    pub(super) fn flows_column(&self, name: &'static str, codes: Vec<u32>) -> Column {
        let texts = match codes.iter().copied().max().filter(|last| *last >= self.named()) {
            None => self.flow_names.clone(),
            Some(last) => (0..=last).map(|flow| self.name(FlowId(flow))).collect(),
        };
        Column::new(name, Data::Text { codes, texts })
    }

    /// Returns the ends that have a row in summaries. For each single TCP flow, these are the end
    /// that opens the flow and, if the other end also writes, this other end. Populations are left
    /// out.
    pub fn senders(&self) -> impl Iterator<Item = EndId> {
        let tcp = (0..).map(FlowId).zip(self.flows.iter());
        let tcp = tcp.filter(|(_, flow)| !flow.echo_probes && !flow.population);
        tcp.flat_map(|(flow, of)| {
            [Some(flow.end(Side::From)), of.answers.then(|| flow.end(Side::To))]
        })
        .flatten()
    }

    /// Makes the columns `flow` and `direction` for segments that these ends sent.
    pub fn sender_columns(&self, senders: &[EndId]) -> [Column; 2] {
        let codes = senders.iter().map(|end| end.flow().0).collect();
        let directions = senders.iter().map(|end| end.side().sends() as u8).collect();
        let directions = Data::Tag { codes: directions, texts: &Direction::NAMES };
        [self.flow_column(codes), Column::new("direction", directions)]
    }
}

/// Returns an instant as tables store it: in nanoseconds since the start of the run.
pub(super) fn nanos(at: Time) -> i64 {
    at.as_nanos().cast_signed()
}
