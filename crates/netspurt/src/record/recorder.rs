//! Makes the tables of a run from its events.

use std::sync::Arc;

use crate::event::{DropReason, Event, Wanted, What};
use crate::ids::{Direction, EndId, TransmissionId};
use crate::segment::Segment;

use super::OptionalValues;
use super::names::{Names, nanos};
use super::segments::SegmentRows;
use super::table::{Column, Data, Table};

/// The names of a link's two directions, and an empty name for events that belong to no link.
const LINK_DIRECTIONS: [&str; 3] = [Direction::NAMES[0], Direction::NAMES[1], ""];

/// The names of the reasons of drops, in the order of [`DropReason`]'s codes.
const REASONS: [&str; 6] = ["queue-full", "loss", "aqm", "too-big", "reassembly", "handover"];

/// Makes the tables of a run from its events.
///
/// The tables are `segments`, `sack_blocks` and `syns` of the observed nodes, and `cwnd`, `rto`,
/// `rtt`, `queue` and `drops`. A table without events is empty.
#[derive(Debug)]
pub struct Recorder {
    names: Names,
    segments: SegmentRows,
    cwnd: Cwnd,
    rto: Rto,
    rtt: Rtt,
    queue: QueueRows,
    drops: Drops,
}

#[derive(Debug, Default)]
struct Cwnd {
    t_ns: Vec<i64>,
    sender: Vec<EndId>,
    cwnd: Vec<i64>,
    ssthresh: Vec<i64>,
    flight: Vec<i64>,
    dupacks: Vec<u32>,
    in_recovery: Vec<bool>,
}

#[derive(Debug, Default)]
struct Rto {
    t_ns: Vec<i64>,
    sender: Vec<EndId>,
    fired: Vec<bool>,
    srtt: OptionalValues<i64>,
    rttvar: OptionalValues<i64>,
    backoff: Vec<u32>,
    rto: Vec<i64>,
}

#[derive(Debug, Default)]
struct Rtt {
    t_ns: Vec<i64>,
    sender: Vec<EndId>,
    sent: Vec<i64>,
    rtt: Vec<i64>,
}

#[derive(Debug, Default)]
struct QueueRows {
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
    sender: Vec<EndId>,
    kind: Vec<u8>,
    packet: Vec<i64>,
    size: Vec<u16>,
    id: Vec<u64>,
}

impl Recorder {
    /// Makes a recorder without events. Its tables use the names in `names`.
    pub fn new(names: Names) -> Self {
        Self {
            segments: SegmentRows::new(names.clone()),
            names,
            cwnd: Cwnd::default(),
            rto: Rto::default(),
            rtt: Rtt::default(),
            queue: QueueRows::default(),
            drops: Drops::default(),
        }
    }

    /// The names that the tables use.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// The number of rows in all tables so far.
    pub fn rows(&self) -> u64 {
        let rows = [
            self.cwnd.t_ns.len(),
            self.rto.t_ns.len(),
            self.rtt.t_ns.len(),
            self.queue.t_ns.len(),
            self.drops.t_ns.len(),
            self.segments.rows(),
        ];
        rows.into_iter().sum::<usize>() as u64
    }

    /// Adds the rows of an event to the tables.
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
            What::Cwnd { end, state } => {
                self.cwnd.t_ns.push(t_ns);
                self.cwnd.sender.push(*end);
                self.cwnd.cwnd.push(state.cwnd_bytes.cast_signed());
                self.cwnd.ssthresh.push(state.ssthresh_bytes.cast_signed());
                self.cwnd.flight.push(state.flight_bytes.cast_signed());
                self.cwnd.dupacks.push(state.dupacks);
                self.cwnd.in_recovery.push(state.in_recovery);
            }
            What::Rtt { end, sent, rtt } => {
                self.rtt.t_ns.push(t_ns);
                self.rtt.sender.push(*end);
                self.rtt.sent.push(nanos(*sent));
                self.rtt.rtt.push(rtt.as_nanos().cast_signed());
            }
            What::Rto { end, state } => {
                let span = |d: crate::units::Duration| d.as_nanos().cast_signed();
                self.rto.t_ns.push(t_ns);
                self.rto.sender.push(*end);
                self.rto.fired.push(state.fired);
                self.rto.srtt.push(state.srtt.map(span));
                self.rto.rttvar.push(state.rttvar.map(span));
                self.rto.backoff.push(state.backoff);
                self.rto.rto.push(span(state.rto));
            }
            // A congestion mark adds no row to these tables. The table `links` counts marks, and
            // the table `segments` shows them.
            What::Marked { .. } => {}
            What::Dropped { link, reason, frame } => self.drop(t_ns, *link, *reason, frame),
        }
    }

    /// Returns the number that stands for "no link". It is greater than the number of any link.
    fn nowhere(&self) -> u32 {
        u32::try_from(self.names.links.len()).expect("links are numbered in 32 bits")
    }

    fn drop(&mut self, t_ns: i64, link: Option<u32>, reason: DropReason, frame: &Segment) {
        let (kind, packet) = self.segments.identify(frame);
        self.drops.t_ns.push(t_ns);
        self.drops.link.push(link.unwrap_or(self.nowhere()));
        self.drops.reason.push(reason as u8);
        self.drops.sender.push(frame.source());
        self.drops.kind.push(kind);
        self.drops.packet.push(packet);
        self.drops.size.push(frame.size_bytes);
        self.drops.id.push(frame.id.bits());
    }

    /// Returns the tables, each ordered by time. `spurious` are the ids of the spurious
    /// transmissions, in ascending order.
    pub fn finish(self, spurious: &[TransmissionId]) -> Vec<Table> {
        let links = self.names.links.iter().map(|link| link.name.clone());
        let links: Arc<[String]> = links.chain([String::new()]).collect();
        let directions: Vec<u8> =
            self.names.links.iter().map(|link| link.direction as u8).chain([2]).collect();
        let link = |codes: Vec<u32>, direction: &'static str| {
            let directions = codes.iter().map(|link| directions[*link as usize]).collect();
            [
                Column::new("link", Data::Text { codes, texts: links.clone() }),
                Column::new(direction, Data::Tag { codes: directions, texts: &LINK_DIRECTIONS }),
            ]
        };
        let number = |name: &'static str, values| Column::new(name, Data::I64(values));
        let count = |name: &'static str, values| Column::new(name, Data::U32(values));
        let seen = self.segments.finish(spurious);
        let sent = |t_ns, senders: &[EndId]| {
            let [flow, direction] = self.names.sender_columns(senders);
            vec![number("t_ns", t_ns), flow, direction]
        };
        let Cwnd { t_ns, sender, cwnd, ssthresh, flight, dupacks, in_recovery } = self.cwnd;
        let cwnd = [
            number("cwnd_bytes", cwnd),
            number("ssthresh_bytes", ssthresh),
            number("flight_bytes", flight),
            count("dupacks", dupacks),
            Column::new("in_recovery", Data::Bool(in_recovery)),
        ];
        let cwnd = sent(t_ns, &sender).into_iter().chain(cwnd).collect();
        let Rto { t_ns, sender, fired, srtt, rttvar, backoff, rto } = self.rto;
        let rto = [
            Column::new("fired", Data::Bool(fired)),
            Column::new("srtt_ns", Data::OptionalI64(srtt)),
            Column::new("rttvar_ns", Data::OptionalI64(rttvar)),
            count("backoff", backoff),
            number("rto_ns", rto),
        ];
        let rto = sent(t_ns, &sender).into_iter().chain(rto).collect();
        let Rtt { t_ns, sender, sent: left, rtt } = self.rtt;
        let rtt = [number("sent_ns", left), number("rtt_ns", rtt)];
        let rtt = sent(t_ns, &sender).into_iter().chain(rtt).collect();
        let QueueRows { t_ns, link: of, packets, bytes } = self.queue;
        let [of, direction] = link(of, "direction");
        let queue = vec![
            number("t_ns", t_ns),
            of,
            direction,
            count("queue_packets", packets),
            number("queue_bytes", bytes),
        ];
        let Drops { t_ns, link: of, reason, sender, kind, packet, size, id } = self.drops;
        let [of, link_direction] = link(of, "link_direction");
        let [flow, direction] = self.names.sender_columns(&sender);
        let drops = vec![
            number("t_ns", t_ns),
            of,
            link_direction,
            Column::new("reason", Data::Tag { codes: reason, texts: &REASONS }),
            flow,
            direction,
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
    /// Returns the tables of the events that are wanted. `spurious` is as in
    /// [`finish`](Self::finish).
    pub fn finish_wanted(
        self,
        spurious: &[TransmissionId],
        wanted: Wanted,
    ) -> impl Iterator<Item = Table> {
        let wants = move |table: &Table| match table.name.as_ref() {
            "segments" | "sack_blocks" | "syns" => wanted.seen,
            "cwnd" => wanted.cwnd,
            "rto" => wanted.rto,
            "rtt" => wanted.rtt,
            "queue" => wanted.queue,
            _ => wanted.drops,
        };
        self.finish(spurious).into_iter().filter(wants)
    }
}
