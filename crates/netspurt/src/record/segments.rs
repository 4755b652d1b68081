//! Makes the tables `segments`, `sack_blocks` and `syns`. They have the segments that passed the
//! observed nodes of a run.

use crate::event::Way;
use crate::ids::{EndId, Side, TransmissionId};
use crate::observe::{AckKind, Acks, Sequence};
use crate::segment::{Cause, Flags, Segment, SynOptions, Timestamps};

use super::OptionalValues;
use super::names::Names;
use super::table::{Column, Data, Table};

/// The names of the kinds of segments, as a node sees them.
pub(super) const KINDS: [&str; 12] = [
    "data",
    "retransmission",
    "ack",
    "dupack",
    "old-ack",
    "syn",
    "fin",
    "rst",
    "fragment",
    "request",
    "reply",
    "other",
];
const DATA: u8 = 0;
const RETRANSMISSION: u8 = 1;
const ACK: u8 = 2;
const DUPACK: u8 = 3;
const OLD_ACK: u8 = 4;
const SYN: u8 = 5;
const FIN: u8 = 6;
const RST: u8 = 7;
const FRAGMENT: u8 = 8;
const REQUEST: u8 = 9;
const REPLY: u8 = 10;
const OTHER: u8 = 11;

/// The names of the ECN codepoints in the IP header, in the order of their values.
const ECNS: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];

/// The names of the ways in which a frame passes a node, in the order of [`Way`]'s codes.
const WAYS: [&str; 3] = ["out", "in", "through"];

/// The names of the causes in the order of their codes. The first name is empty: it stands for no
/// cause.
pub(super) const CAUSES: [&str; Cause::ALL.len() + 1] = cause_names("");

/// Returns the names of the codes of causes, in order. The first code stands for no cause, and its
/// name is the parameter `none`.
pub const fn cause_names(none: &'static str) -> [&'static str; Cause::ALL.len() + 1] {
    let mut names = [none; Cause::ALL.len() + 1];
    let mut i = 0;
    while i < Cause::ALL.len() {
        names[i + 1] = Cause::ALL[i].name();
        i += 1;
    }
    names
}

/// The tables `segments`, `sack_blocks` and `syns` under construction, column by column.
#[derive(Debug)]
pub(super) struct SegmentRows {
    names: Names,
    /// What each node has seen of each sending end.
    seen: Vec<Vec<SeenSender>>,
    t_ns: Vec<i64>,
    node: Vec<u32>,
    sender: Vec<EndId>,
    way: Vec<u8>,
    kind: Vec<u8>,
    packet: Vec<i64>,
    seq: Vec<i64>,
    len: Vec<u16>,
    ack: Vec<i64>,
    size: Vec<u16>,
    window: Vec<u16>,
    cause: Vec<u8>,
    id: Vec<u64>,
    sack_blocks: Vec<u16>,
    flags: Vec<u16>,
    ecn: Vec<u8>,
    /// The row and the offset of each fragment.
    offsets: Vec<(usize, u32)>,
    /// The row and the timestamps of each segment that has timestamps.
    stamps: Vec<(usize, Timestamps)>,
    blocks: Blocks,
    syns: Syns,
}

/// What a node has seen of the segments of one end.
#[derive(Clone, Copy, Debug)]
struct SeenSender {
    sequence: Sequence,
    acks: Acks,
    /// The number of the octet of the end's FIN, counted from the SYN. If no FIN was seen, this is
    /// [`u64::MAX`].
    fin: u64,
}

/// The kind of a segment as a node sees it, and the segment's sequence number and acknowledgment
/// number, counted from the SYN.
struct Sight {
    kind: u8,
    seq: u64,
    ack: u64,
}

#[derive(Debug, Default)]
struct Blocks {
    t_ns: Vec<i64>,
    node: Vec<u32>,
    sender: Vec<EndId>,
    id: Vec<u64>,
    place: Vec<u16>,
    left: Vec<i64>,
    right: Vec<i64>,
}

#[derive(Debug, Default)]
struct Syns {
    t_ns: Vec<i64>,
    node: Vec<u32>,
    sender: Vec<EndId>,
    id: Vec<u64>,
    mss: OptionalValues<i64>,
    window_scale: OptionalValues<i64>,
    sack_permitted: Vec<bool>,
}

impl SegmentRows {
    pub(super) fn new(names: Names) -> Self {
        Self {
            seen: vec![Vec::new(); names.nodes.len()],
            names,
            t_ns: Vec::new(),
            node: Vec::new(),
            sender: Vec::new(),
            way: Vec::new(),
            kind: Vec::new(),
            packet: Vec::new(),
            seq: Vec::new(),
            len: Vec::new(),
            ack: Vec::new(),
            size: Vec::new(),
            window: Vec::new(),
            cause: Vec::new(),
            id: Vec::new(),
            sack_blocks: Vec::new(),
            flags: Vec::new(),
            ecn: Vec::new(),
            offsets: Vec::new(),
            stamps: Vec::new(),
            blocks: Blocks::default(),
            syns: Syns::default(),
        }
    }

    /// The number of rows in the three tables so far.
    pub(super) fn rows(&self) -> usize {
        self.t_ns.len() + self.blocks.t_ns.len() + self.syns.t_ns.len()
    }

    #[inline]
    pub(super) fn push(&mut self, t_ns: i64, node: u32, way: Way, frame: &Segment) {
        let all = &mut self.seen[node as usize];
        let sender = frame.source();
        let places = EndId::places(sender.flow().index() + 1);
        if all.len() < places {
            let places = places.max(EndId::places(self.names.flows.len()));
            all.resize(places, SeenSender::default());
        }
        let (source, other) = (sender.index(), frame.dest.index());
        let fin = all[other].fin;
        let sight = all[source].take(frame);
        let packet = self.packet_number(frame, &sight, fin);
        let (all, Sight { kind, seq, ack }) = (&self.seen[node as usize], sight);
        let id = frame.id.bits();
        for (place, block) in (1..).zip(frame.sack()) {
            self.blocks.t_ns.push(t_ns);
            self.blocks.node.push(node);
            self.blocks.sender.push(sender);
            let edges = [block.left, block.right].map(|edge| all[source].acks.octet(edge));
            self.blocks.push(id, place, edges);
        }
        if !frame.part.is_whole() {
            self.offsets.push((self.t_ns.len(), frame.part.offset_bytes()));
        }
        if let Some(stamps) = frame.timestamps() {
            self.stamps.push((self.t_ns.len(), stamps));
        }
        if frame.flags.has(Flags::SYN) {
            self.syns.push(t_ns, node, frame);
        }
        self.t_ns.push(t_ns);
        self.node.push(node);
        self.sender.push(sender);
        self.way.push(way as u8);
        self.kind.push(kind);
        self.packet.push(packet.cast_signed());
        self.seq.push(seq.cast_signed());
        self.len.push(frame.len);
        self.ack.push(ack.cast_signed());
        self.size.push(frame.size_bytes);
        self.window.push(frame.window);
        self.cause.push(frame.cause.code());
        self.id.push(id);
        self.sack_blocks.push(frame.sack_count().into());
        self.flags.push(frame.flags.0.into());
        self.ecn.push(frame.ecn.bits());
    }

    /// Returns the packet number of the segment `frame`. `sight` is what the node saw of it. For an
    /// ACK without data, the result is the number of the last packet that the ACK covers. `fin` is
    /// the octet of the other end's FIN. The FIN is not a packet, so an ACK of the FIN covers no
    /// further packet.
    #[inline]
    fn packet_number(&self, frame: &Segment, sight: &Sight, fin: u64) -> u64 {
        let [own, other] = [frame.source(), frame.dest].map(|end| self.names.packetization(end));
        if frame.is_echo() {
            sight.seq
        } else if frame.len > 0 {
            own.packet_of(sight.seq.max(1) - 1)
        } else {
            other.packets_in(sight.ack.min(fin).saturating_sub(1))
        }
    }

    /// Returns the kind and the packet number of a segment, without regard to earlier segments.
    pub(super) fn identify(&self, frame: &Segment) -> (u8, i64) {
        let [own, other] = [frame.source(), frame.dest].map(|end| self.names.packetization(end));
        let kind = kind_of(frame).unwrap_or(ACK);
        let covered = || other.packets_in(u64::from(frame.ack).saturating_sub(1));
        (kind, frame.packet_number(own).unwrap_or_else(covered).cast_signed())
    }

    /// Returns the tables `segments`, `sack_blocks` and `syns`. `spurious` are the ids of the
    /// spurious transmissions, in ascending order.
    pub(super) fn finish(self, spurious: &[TransmissionId]) -> [Table; 3] {
        let judged = |(cause, id): (&u8, &u64)| {
            *cause > 0 && spurious.binary_search(&TransmissionId::from_bits(*id)).is_ok()
        };
        let verdicts = self.cause.iter().zip(&self.id).map(judged).collect();
        let names = &self.names;
        let node = |codes| Column::new("node", Data::Text { codes, texts: names.nodes.clone() });
        let sent = |senders: &[EndId]| names.sender_columns(senders);
        let number = |name: &'static str, values| Column::new(name, Data::I64(values));
        let small = |name: &'static str, values| Column::new(name, Data::U16(values));
        let offsets = optional(&self.offsets, self.t_ns.len(), |offset| *offset);
        let stamps = |of: fn(&Timestamps) -> u32| optional(&self.stamps, self.t_ns.len(), of);
        let (ts_val, ts_ecr) = (stamps(|stamps| stamps.val), stamps(|stamps| stamps.ecr));
        let [flow, direction] = sent(&self.sender);
        let segments = vec![
            number("t_ns", self.t_ns),
            node(self.node),
            flow,
            direction,
            Column::new("way", Data::Tag { codes: self.way, texts: &WAYS }),
            Column::new("kind", Data::Tag { codes: self.kind, texts: &KINDS }),
            number("packet", self.packet),
            number("seq", self.seq),
            small("len_bytes", self.len),
            number("ack", self.ack),
            small("size_bytes", self.size),
            small("window", self.window),
            Column::new("cause", Data::Tag { codes: self.cause, texts: &CAUSES }),
            Column::new("spurious", Data::Bool(verdicts)),
            Column::new("id", Data::U64(self.id)),
            small("sack_blocks", self.sack_blocks),
            small("flags", self.flags),
            Column::new("ecn", Data::Tag { codes: self.ecn, texts: &ECNS }),
            Column::new("ts_val", ts_val),
            Column::new("ts_ecr", ts_ecr),
            Column::new("offset_bytes", offsets),
        ];
        let Blocks { t_ns, node: at, sender, id, place, left, right } = self.blocks;
        let [flow, direction] = sent(&sender);
        let blocks = vec![
            number("t_ns", t_ns),
            node(at),
            flow,
            direction,
            Column::new("id", Data::U64(id)),
            small("place", place),
            number("left", left),
            number("right", right),
        ];
        let Syns { t_ns, node: at, sender, id, mss, window_scale, sack_permitted } = self.syns;
        let [flow, direction] = sent(&sender);
        let syns = vec![
            number("t_ns", t_ns),
            node(at),
            flow,
            direction,
            Column::new("id", Data::U64(id)),
            Column::new("mss", Data::OptionalI64(mss)),
            Column::new("window_scale", Data::OptionalI64(window_scale)),
            Column::new("sack_permitted", Data::Bool(sack_permitted)),
        ];
        [("segments", segments), ("sack_blocks", blocks), ("syns", syns)]
            .map(|(name, columns)| Table::new(name, columns))
    }
}

/// Makes a column of `rows` values. `some` has the numbers of the rows whose values exist, with
/// these values. All other values are absent.
fn optional<T>(some: &[(usize, T)], rows: usize, of: fn(&T) -> u32) -> Data {
    if some.is_empty() {
        return Data::MissingI64(rows);
    }
    let mut values = vec![None; rows];
    for (row, value) in some {
        values[*row] = Some(of(value).into());
    }
    Data::OptionalI64(values.into())
}

/// Returns the kind of a segment. For an ACK without data, returns `None`, because its kind depends
/// on earlier ACKs. The first fragment has the kind of its segment. All further fragments have the
/// kind [`FRAGMENT`].
#[inline]
fn kind_of(frame: &Segment) -> Option<u8> {
    if frame.part.offset_bytes() > 0 {
        return Some(FRAGMENT);
    } else if frame.is_echo() {
        return Some(match frame.source().side() {
            Side::From => REQUEST,
            Side::To => REPLY,
        });
    } else if frame.is_other() {
        return Some(OTHER);
    }
    const RARE: u8 = Flags::SYN.with(Flags::RST).with(Flags::FIN).0;
    let data =
        (frame.len > 0).then_some(if frame.cause.code() == 0 { DATA } else { RETRANSMISSION });
    if frame.flags.0 & RARE == 0 {
        data
    } else if frame.flags.has(Flags::RST) {
        Some(RST)
    } else if frame.flags.has(Flags::SYN) {
        Some(SYN)
    } else {
        Some(data.unwrap_or(FIN))
    }
}

/// The state before the first segment. If no handshake is seen, data starts at 1, and an ACK of 1
/// covers nothing.
impl Default for SeenSender {
    fn default() -> Self {
        let sequence = Sequence::default().sent_to(1);
        Self { sequence, acks: Acks::new(sequence), fin: u64::MAX }
    }
}

impl SeenSender {
    /// Adds a segment, and returns its kind and numbers.
    #[inline]
    fn take(&mut self, frame: &Segment) -> Sight {
        let seq = self.sequence.octet(frame.seq);
        let ack = self.acks.octet(frame.ack);
        let known = kind_of(frame);
        if let Some(kind @ (RST | FRAGMENT | REQUEST | REPLY | OTHER)) = known {
            return Sight { kind, seq, ack };
        }
        self.sequence.take(frame);
        let pure = match self.acks.take(frame) {
            AckKind::New | AckKind::WindowUpdate => ACK,
            AckKind::Duplicate => DUPACK,
            AckKind::Old => OLD_ACK,
        };
        if frame.flags.has(Flags::FIN) {
            self.fin = seq + u64::from(frame.len);
        }
        Sight { kind: known.unwrap_or(pure), seq, ack }
    }
}

impl Syns {
    fn push(&mut self, t_ns: i64, node: u32, frame: &Segment) {
        let SynOptions { mss, window_scale, sack } = frame.syn_options();
        self.t_ns.push(t_ns);
        self.node.push(node);
        self.sender.push(frame.source());
        self.id.push(frame.id.bits());
        self.mss.push(mss.map(i64::from));
        self.window_scale.push(window_scale.map(i64::from));
        self.sack_permitted.push(sack);
    }
}

impl Blocks {
    /// Adds the SACK block with the index `place` in the ACK `id`. The caller adds the other
    /// columns.
    fn push(&mut self, id: u64, place: u16, edges: [u64; 2]) {
        let [left, right] = edges.map(u64::cast_signed);
        self.id.push(id);
        self.place.push(place);
        self.left.push(left);
        self.right.push(right);
    }
}
