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
    /// Flows, echo probes behind all those of TCP; flow *f* has the endpoints 2*f* and 2*f* + 1.
    pub flows: Arc<[FlowName]>,
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
        Self { nodes: nodes.into(), links: links.into(), flows: flows.into(), flow_texts }
    }

    /// How what `end` writes is cut into packets.
    pub(super) fn packetization(&self, end: EndId) -> Packetization {
        self.flows[end.flow().index()].packetization(end.side().sends())
    }

    /// A column `flow` of these flows, by number.
    pub(super) fn flow_column(&self, codes: Vec<u32>) -> Column {
        Column::new("flow", Data::Text { codes, texts: self.flow_texts.clone() })
    }

    /// The senders that sums have a row for: the opener of each TCP flow, and behind it the other
    /// end where that one answers.
    pub fn senders(&self) -> impl Iterator<Item = EndId> {
        let tcp = (0..).map(FlowId).zip(self.flows.iter()).filter(|(_, flow)| !flow.echo_probes);
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
