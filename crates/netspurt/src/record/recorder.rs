//! From events to tables.

use std::num::NonZero;
use std::sync::Arc;

use crate::event::{DropReason, Event, Wanted, What};
use crate::segment::{Grid, Segment};
use crate::units::Time;

use super::segments::Segments;
use super::table::{Column, Data, Table};

/// What a flow is called, and what is needed to count its packets.
#[derive(Clone, Debug)]
pub struct FlowName {
    /// Its name.
    pub name: String,
    /// The node it starts from, by number.
    pub from: u32,
    /// The node it goes to.
    pub to: u32,
    /// Octets of payload in a full segment; 1 of volleys.
    pub smss: u16,
    /// Whether it is no TCP flow, but volleys to an echo host.
    pub volleys: bool,
    /// Whether the node it goes to writes, too. Tables call that way the flow's name and `.back`.
    pub answers: bool,
    /// Octets of each message there, and of each one back, where what is written is messages.
    pub messages: [Option<NonZero<u64>>; 2],
    /// Whether its packets are IPv6's.
    pub ipv6: bool,
}

/// What one direction of a link is called.
#[derive(Clone, Debug)]
pub struct LinkName {
    /// The link's name.
    pub name: String,
    /// `there` or `back`.
    pub way: &'static str,
    /// The node it leaves, by number.
    pub from: u32,
    /// The node it leads to.
    pub to: u32,
}

/// The names of everything that events number.
#[derive(Clone, Debug)]
pub struct Names {
    /// Nodes.
    pub nodes: Vec<String>,
    /// Directions of links.
    pub links: Vec<LinkName>,
    /// Flows, volleys behind all those of TCP; flow *f* has the endpoints 2*f* and 2*f* + 1.
    pub flows: Vec<FlowName>,
}

/// What tables put behind a flow's name for its way back.
pub const BACK: &str = ".back";

impl FlowName {
    /// How octets are cut into packets, there and back.
    pub(super) fn grids(&self) -> [Grid; 2] {
        self.messages.map(|message_bytes| Grid { full_bytes: self.smss, message_bytes })
    }

    /// The way from its sink to its source.
    pub fn back(&self) -> Self {
        let [there, back] = self.messages;
        Self {
            name: format!("{}{BACK}", self.name),
            from: self.to,
            to: self.from,
            messages: [back, there],
            ..self.clone()
        }
    }
}

impl Names {
    /// The flows that sums are about: each of TCP, behind it the way back of one that answers.
    pub fn summed(&self) -> Vec<FlowName> {
        let tcp = self.flows.iter().filter(|flow| !flow.volleys);
        tcp.flat_map(|flow| [Some(flow.clone()), flow.answers.then(|| flow.back())])
            .flatten()
            .collect()
    }
}

/// Names as columns use them.
#[derive(Debug)]
pub(super) struct Texts {
    pub(super) nodes: Arc<[String]>,
    pub(super) flows: Arc<[String]>,
    links: Arc<[String]>,
}

/// The two directions of a link, as in [`LinkName::way`]; and none, of what is no link's.
pub(super) const WAYS: [&str; 2] = ["there", "back"];
const WAYS_OR_NONE: [&str; 3] = [WAYS[0], WAYS[1], ""];

/// Why a frame went no further, in the order of [`DropReason`]'s codes.
const REASONS: [&str; 5] = ["queue-full", "loss", "aqm", "too-big", "reassembly"];

/// Builds the tables of a run from its events.
///
/// The tables: `segments`, `sack_blocks` and `syns` (what the observed nodes saw), `cwnd`,
/// `rto`, `rtt`, `queue`, `drops`. A table none of whose events came is empty.
#[derive(Debug)]
pub struct Recorder {
    names: Names,
    texts: Texts,
    /// By flow: the place among its names of the way back; its own where nothing is written there.
    backs: Vec<u32>,
    segments: Segments,
    cwnd: Cwnd,
    rto: Rto,
    rtt: Rtt,
    queue: Queue,
    drops: Drops,
}

#[derive(Debug, Default)]
struct Cwnd {
    t_ns: Vec<i64>,
    flow: Vec<u32>,
    cwnd: Vec<i64>,
    ssthresh: Vec<i64>,
    flight: Vec<i64>,
    dupacks: Vec<u32>,
    in_recovery: Vec<bool>,
}

#[derive(Debug, Default)]
struct Rto {
    t_ns: Vec<i64>,
    flow: Vec<u32>,
    fired: Vec<bool>,
    srtt: Vec<Option<i64>>,
    rttvar: Vec<Option<i64>>,
    backoff: Vec<u32>,
    rto: Vec<i64>,
}

#[derive(Debug, Default)]
struct Rtt {
    t_ns: Vec<i64>,
    flow: Vec<u32>,
    sent: Vec<i64>,
    rtt: Vec<i64>,
}

#[derive(Debug, Default)]
struct Queue {
    t_ns: Vec<i64>,
    link: Vec<u32>,
    packets: Vec<u32>,
    bytes: Vec<i64>,
}

#[derive(Debug, Default)]
struct Drops {
    t_ns: Vec<i64>,
    link: Vec<u32>,
    reason: Vec<u8>,
    flow: Vec<u32>,
    kind: Vec<u8>,
    packet: Vec<i64>,
    size: Vec<u16>,
    id: Vec<u64>,
}

impl Recorder {
    /// A recorder for what `names` names.
    pub fn new(names: Names) -> Self {
        let own = names.flows.iter().map(|flow| flow.name.clone());
        let answering = names.flows.iter().filter(|flow| flow.answers);
        let backs = answering.map(|flow| flow.back().name);
        let texts = Texts {
            nodes: names.nodes.clone().into(),
            flows: own.chain(backs).collect(),
            links: names
                .links
                .iter()
                .map(|link| link.name.clone())
                .chain([String::new()])
                .collect(),
        };
        let segments = Segments::new(names.nodes.len(), names.flows.iter().map(FlowName::grids));
        let mut place = (0..).skip(names.flows.len());
        let back = |(flow, of): (u32, &FlowName)| {
            if of.answers { place.next().unwrap_or(flow) } else { flow }
        };
        Self {
            backs: (0..).zip(&names.flows).map(back).collect(),
            texts,
            segments,
            names,
            cwnd: Cwnd::default(),
            rto: Rto::default(),
            rtt: Rtt::default(),
            queue: Queue::default(),
            drops: Drops::default(),
        }
    }

    /// The names it uses.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Takes an event in.
    #[inline]
    pub fn take(&mut self, event: &Event<Segment>) {
        let t_ns = nanos(event.at);
        match &event.what {
            What::Seen { node, way, frame } => self.segments.push(t_ns, *node, *way, frame),
            What::Queue { link, packets, bytes } => {
                self.queue.t_ns.push(t_ns);
                self.queue.link.push(*link);
                self.queue.packets.push(*packets);
                self.queue.bytes.push(bytes.cast_signed());
            }
            What::Cwnd { endpoint, state } => {
                let sender = self.sender(*endpoint);
                self.cwnd.t_ns.push(t_ns);
                self.cwnd.flow.push(sender);
                self.cwnd.cwnd.push(state.cwnd_bytes.cast_signed());
                self.cwnd.ssthresh.push(state.ssthresh_bytes.cast_signed());
                self.cwnd.flight.push(state.flight_bytes.cast_signed());
                self.cwnd.dupacks.push(state.dupacks);
                self.cwnd.in_recovery.push(state.in_recovery);
            }
            What::Rtt { endpoint, sent, rtt } => {
                let sender = self.sender(*endpoint);
                self.rtt.t_ns.push(t_ns);
                self.rtt.flow.push(sender);
                self.rtt.sent.push(nanos(*sent));
                self.rtt.rtt.push(rtt.as_nanos().cast_signed());
            }
            What::Rto { endpoint, state } => {
                let sender = self.sender(*endpoint);
                let span = |d: crate::units::Duration| d.as_nanos().cast_signed();
                self.rto.t_ns.push(t_ns);
                self.rto.flow.push(sender);
                self.rto.fired.push(state.fired);
                self.rto.srtt.push(state.srtt.map(span));
                self.rto.rttvar.push(state.rttvar.map(span));
                self.rto.backoff.push(state.backoff);
                self.rto.rto.push(span(state.rto));
            }
            // Marks are summed up in `links`, and seen on segments.
            What::Marked { .. } => {}
            What::Dropped { link, reason, frame } => self.drop(t_ns, *link, *reason, frame),
        }
    }

    /// The place among the names of flows of what an endpoint sends.
    #[inline]
    fn sender(&self, endpoint: u32) -> u32 {
        let flow = endpoint >> 1;
        if endpoint & 1 == 0 { flow } else { self.backs[flow as usize] }
    }

    /// The number, behind those of all links, of none.
    fn nowhere(&self) -> u32 {
        u32::try_from(self.names.links.len()).expect("links are numbered in 32 bits")
    }

    fn drop(&mut self, t_ns: i64, link: Option<u32>, reason: DropReason, frame: &Segment) {
        let (kind, packet) = self.segments.identify(frame);
        self.drops.t_ns.push(t_ns);
        self.drops.link.push(link.unwrap_or(self.nowhere()));
        self.drops.reason.push(reason as u8);
        self.drops.flow.push(frame.flow());
        self.drops.kind.push(kind);
        self.drops.packet.push(packet);
        self.drops.size.push(frame.size_bytes);
        self.drops.id.push(frame.id);
    }

    /// The tables, each in the order of time. `needless` are the transmissions that were, in
    /// ascending order.
    pub fn finish(self, needless: &[u64]) -> Vec<Table> {
        let Texts { flows, links, .. } = &self.texts;
        let flow = |codes| Column::new("flow", Data::Text { codes, texts: flows.clone() });
        let ways: Vec<u8> =
            self.names.links.iter().map(|link| u8::from(link.way == WAYS[1])).chain([2]).collect();
        let way = |codes: &[u32]| {
            let codes = codes.iter().map(|link| ways[*link as usize]).collect();
            Column::new("way", Data::Tag { codes, texts: &WAYS_OR_NONE })
        };
        let link = |codes| Column::new("link", Data::Text { codes, texts: links.clone() });
        let number = |name: &'static str, values| Column::new(name, Data::I64(values));
        let count = |name: &'static str, values| Column::new(name, Data::U32(values));
        let seen = self.segments.finish(&self.texts, needless);
        let Cwnd { t_ns, flow: of, cwnd, ssthresh, flight, dupacks, in_recovery } = self.cwnd;
        let cwnd = vec![
            number("t_ns", t_ns),
            flow(of),
            number("cwnd_bytes", cwnd),
            number("ssthresh_bytes", ssthresh),
            number("flight_bytes", flight),
            count("dupacks", dupacks),
            Column::new("in_recovery", Data::Bool(in_recovery)),
        ];
        let Rto { t_ns, flow: of, fired, srtt, rttvar, backoff, rto } = self.rto;
        let rto = vec![
            number("t_ns", t_ns),
            flow(of),
            Column::new("fired", Data::Bool(fired)),
            Column::new("srtt_ns", Data::OptionalI64(srtt)),
            Column::new("rttvar_ns", Data::OptionalI64(rttvar)),
            count("backoff", backoff),
            number("rto_ns", rto),
        ];
        let Rtt { t_ns, flow: of, sent, rtt } = self.rtt;
        let rtt =
            vec![number("t_ns", t_ns), flow(of), number("sent_ns", sent), number("rtt_ns", rtt)];
        let Queue { t_ns, link: of, packets, bytes } = self.queue;
        let queue = vec![
            number("t_ns", t_ns),
            way(&of),
            link(of),
            count("queue_packets", packets),
            number("queue_bytes", bytes),
        ];
        let Drops { t_ns, link: of, reason, flow: whose, kind, packet, size, id } = self.drops;
        let drops = vec![
            number("t_ns", t_ns),
            way(&of),
            link(of),
            Column::new("reason", Data::Tag { codes: reason, texts: &REASONS }),
            flow(whose),
            Column::new("kind", Data::Tag { codes: kind, texts: &super::segments::KINDS }),
            number("packet", packet),
            Column::new("size_bytes", Data::U16(size)),
            Column::new("id", Data::U64(id)),
        ];
        let rest = [("cwnd", cwnd), ("rto", rto), ("rtt", rtt), ("queue", queue), ("drops", drops)];
        let rest = rest.into_iter().map(|(name, columns)| Table::new(name, columns).in_time());
        seen.into_iter().chain(rest).collect()
    }
}

impl Recorder {
    /// Of those tables, the ones that somebody wants.
    pub fn finish_wanted(self, needless: &[u64], wanted: Wanted) -> impl Iterator<Item = Table> {
        let wants = move |table: &Table| match table.name.as_ref() {
            "segments" | "sack_blocks" | "syns" => wanted.seen,
            "cwnd" => wanted.cwnd,
            "rto" => wanted.rto,
            "rtt" => wanted.rtt,
            "queue" => wanted.queue,
            _ => wanted.drops,
        };
        self.finish(needless).into_iter().filter(wants)
    }
}

/// An instant as tables have it.
pub(super) fn nanos(at: Time) -> i64 {
    at.as_nanos().cast_signed()
}
