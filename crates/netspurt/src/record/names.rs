//! The names behind the numbers of events, and how tables write instants.

use std::num::NonZero;
use std::sync::Arc;

use crate::ids::{Direction, EndId, FlowId, Side};
use crate::segment::Packetization;
use crate::units::Time;

use super::table::{Column, Data};

/// A flow's name, and the facts needed to count its packets.
#[derive(Clone, Debug)]
pub struct FlowName {
    /// Its name.
    pub name: String,
    /// The node it starts from, by number.
    pub from: u32,
    /// The node at its other end.
    pub to: u32,
    /// Octets of payload in a full segment; 1 for echo probes.
    pub smss: u16,
    /// Whether it is a series of echo probes and not a TCP flow.
    pub echo_probes: bool,
    /// Whether the node at its other end also writes, so that the summaries have a row for the
    /// reverse direction.
    pub answers: bool,
    /// Octets of each message, forward and reverse, if the application writes messages.
    pub messages: [Option<NonZero<u64>>; 2],
    /// Whether its packets are IPv6 packets.
    pub ipv6: bool,
    /// Whether it is a population of connections that come and go, and no flow of its own.
    pub population: bool,
}

/// The name of one direction of a link.
#[derive(Clone, Debug)]
pub struct LinkName {
    /// The link's name.
    pub name: String,
    /// Which of its two directions.
    pub direction: Direction,
    /// The node it leaves, by number.
    pub from: u32,
    /// The node it leads to.
    pub to: u32,
}

/// The names of everything that events number; a copy is cheap.
#[derive(Clone, Debug)]
pub struct Names {
    /// Nodes.
    pub nodes: Arc<[String]>,
    /// Directions of links.
    pub links: Arc<[LinkName]>,
    /// Flows, echo probes behind all those of TCP, and last the populations; flow *f* has the
    /// endpoints 2*f* and 2*f* + 1. The connections of populations are flows with higher numbers.
    pub flows: Arc<[FlowName]>,
    /// How many of them are populations.
    populations: u32,
    /// The names of the flows, as columns use them.
    flow_texts: Arc<[String]>,
}

impl FlowName {
    /// How octets that travel in `direction` are cut into packets.
    pub(super) fn packetization(&self, direction: Direction) -> Packetization {
        let message_bytes = self.messages[direction.index()];
        Packetization { full_bytes: self.smss, message_bytes }
    }

    /// The node of the end on `side`.
    pub fn node(&self, side: Side) -> u32 {
        match side {
            Side::From => self.from,
            Side::To => self.to,
        }
    }
}

impl Names {
    /// The names of these nodes, directions of links, and flows.
    pub fn new(nodes: Vec<String>, links: Vec<LinkName>, flows: Vec<FlowName>) -> Self {
        let flow_texts = flows.iter().map(|flow| flow.name.clone()).collect();
        let populations = flows.iter().filter(|flow| flow.population).count();
        let populations = u32::try_from(populations).expect("flows are numbered in 32 bits");
        Self {
            nodes: nodes.into(),
            links: links.into(),
            flows: flows.into(),
            populations,
            flow_texts,
        }
    }

    /// The number of flows that are not connections of a population, populations included.
    fn named(&self) -> u32 {
        u32::try_from(self.flows.len()).expect("flows are numbered in 32 bits")
    }

    /// The numbers that stand for populations.
    pub fn populations(&self) -> impl ExactSizeIterator<Item = FlowId> + use<> {
        (self.named() - self.populations..self.named()).map(FlowId)
    }

    /// The number of connection `number`, from 0, of a population; none where numbers run out.
    ///
    /// ```
    /// use netspurt::ids::FlowId;
    /// use netspurt::record::{FlowName, Names};
    /// let flow = |name: &str, population| FlowName {
    ///     name: name.to_owned(), from: 0, to: 1, smss: 1460, echo_probes: false, answers: true,
    ///     messages: [None; 2], ipv6: false, population,
    /// };
    /// let flows = vec![flow("own", false), flow("web", true), flow("mail", true)];
    /// let names = Names::new(vec![], vec![], flows);
    /// let third = names.connection(FlowId(2), 2).unwrap();
    /// assert_eq!(names.name(third), "mail.2");
    /// assert_eq!((names.population(third), names.population(FlowId(0))), (Some(FlowId(2)), None));
    /// ```
    pub fn connection(&self, population: FlowId, number: u32) -> Option<FlowId> {
        let place = population.0 - (self.named() - self.populations);
        let behind = number.checked_mul(self.populations)?.checked_add(place)?;
        // Ends have two numbers for each flow.
        self.named().checked_add(behind).filter(|id| *id < u32::MAX / 2).map(FlowId)
    }

    /// The population and the number in it, if the flow is a connection of one.
    fn in_population(&self, flow: FlowId) -> Option<(FlowId, u32)> {
        let behind = flow.0.checked_sub(self.named())?;
        let place = self.named() - self.populations + behind % self.populations;
        Some((FlowId(place), behind / self.populations))
    }

    /// The population of a flow that is a connection of one.
    pub fn population(&self, flow: FlowId) -> Option<FlowId> {
        self.in_population(flow).map(|(population, _)| population)
    }

    /// The facts of a flow; for a connection of a population, those of the population.
    pub fn of(&self, flow: FlowId) -> &FlowName {
        &self.flows[self.population(flow).unwrap_or(flow).index()]
    }

    /// The name of a flow.
    pub fn name(&self, flow: FlowId) -> String {
        let name = &self.of(flow).name;
        match self.in_population(flow) {
            Some((_, number)) => format!("{name}.{number}"),
            None => name.clone(),
        }
    }

    /// How what `end` writes is cut into packets.
    pub(super) fn packetization(&self, end: EndId) -> Packetization {
        self.of(end.flow()).packetization(end.side().sends())
    }

    /// A column `flow` of these flows, by number.
    pub(super) fn flow_column(&self, codes: Vec<u32>) -> Column {
        self.flows_column("flow", codes)
    }

    /// A column called `name` of these flows, by number.
    pub(super) fn flows_column(&self, name: &'static str, codes: Vec<u32>) -> Column {
        let texts = match codes.iter().copied().max().filter(|last| *last >= self.named()) {
            None => self.flow_texts.clone(),
            Some(last) => (0..=last).map(|flow| self.name(FlowId(flow))).collect(),
        };
        Column::new(name, Data::Text { codes, texts })
    }

    /// The senders that sums have a row for: the opener of each TCP flow, and behind it the other
    /// end where that one answers.
    pub fn senders(&self) -> impl Iterator<Item = EndId> {
        let tcp = (0..).map(FlowId).zip(self.flows.iter());
        let tcp = tcp.filter(|(_, flow)| !flow.echo_probes && !flow.population);
        tcp.flat_map(|(flow, of)| {
            [Some(flow.end(Side::From)), of.answers.then(|| flow.end(Side::To))]
        })
        .flatten()
    }

    /// The columns `flow` and `direction` for data of these ends.
    pub fn sender_columns(&self, senders: &[EndId]) -> [Column; 2] {
        let codes = senders.iter().map(|end| end.flow().0).collect();
        let directions = senders.iter().map(|end| end.side().sends() as u8).collect();
        let directions = Data::Tag { codes: directions, texts: &Direction::NAMES };
        [self.flow_column(codes), Column::new("direction", directions)]
    }
}

/// An instant as tables store it.
pub(super) fn nanos(at: Time) -> i64 {
    at.as_nanos().cast_signed()
}
