//! The tables of what observed nodes saw.

use core::cmp::Ordering;

use crate::event::Way;
use crate::segment::{Cause, Flags, Grid, SackBlock, Segment, SynOptions, Timestamps};
use crate::seq;

use super::recorder::Texts;
use super::table::{Column, Data, Table};

/// What a segment is, seen where it was seen.
pub(super) const KINDS: [&str; 12] = [
    "data", "resend", "ack", "dupack", "old-ack", "syn", "fin", "rst", "fragment", "request",
    "reply", "other",
];
const DATA: u8 = 0;
const RESEND: u8 = 1;
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

/// What the IP header says of congestion, by its value.
const ECNS: [&str; 4] = ["not-ect", "ect1", "ect0", "ce"];

/// How a frame passed, in the order of [`Way`]'s codes.
const WAYS: [&str; 3] = ["out", "in", "through"];

/// No cause, and then the causes in the order of their codes.
pub(super) const CAUSES: [&str; Cause::ALL.len() + 1] = {
    let mut names = [""; Cause::ALL.len() + 1];
    let mut i = 0;
    while i < Cause::ALL.len() {
        names[i + 1] = Cause::ALL[i].name();
        i += 1;
    }
    names
};

/// Segments under construction, column by column.
#[derive(Debug)]
pub(super) struct Segments {
    /// By endpoint: how what it writes is cut into packets.
    grids: Vec<Grid>,
    /// By observed node and sending endpoint.
    seen: Vec<Vec<Seen>>,
    t_ns: Vec<i64>,
    node: Vec<u32>,
    flow: Vec<u32>,
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
    /// Offsets of fragments, by row, where there are any.
    offsets: Vec<(usize, u32)>,
    /// By row, where there are any.
    stamps: Vec<(usize, Timestamps)>,
    blocks: Blocks,
    syns: Syns,
}

/// What a node saw of an endpoint's segments: to unwrap sequence numbers and to tell duplicates.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The highest.
    seq: u64,
    /// The highest.
    ack: u64,
    /// The sequence number of its FIN.
    fin: u64,
    /// The last it advertised behind its SYN.
    window: Option<u16>,
}

/// What stands in a segment, as its node sees it.
struct Sight {
    kind: u8,
    seq: u64,
    ack: u64,
}

#[derive(Debug, Default)]
struct Blocks {
    t_ns: Vec<i64>,
    node: Vec<u32>,
    flow: Vec<u32>,
    id: Vec<u64>,
    place: Vec<u16>,
    left: Vec<i64>,
    right: Vec<i64>,
}

#[derive(Debug, Default)]
struct Syns {
    t_ns: Vec<i64>,
    node: Vec<u32>,
    flow: Vec<u32>,
    id: Vec<u64>,
    mss: Vec<Option<i64>>,
    window_scale: Vec<Option<i64>>,
    sack_permitted: Vec<bool>,
}

impl Segments {
    pub(super) fn new(nodes: usize, grids: impl Iterator<Item = [Grid; 2]>) -> Self {
        Self {
            grids: grids.flatten().collect(),
            seen: vec![Vec::new(); nodes],
            t_ns: Vec::new(),
            node: Vec::new(),
            flow: Vec::new(),
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

    #[inline]
    pub(super) fn push(&mut self, t_ns: i64, node: u32, way: Way, frame: &Segment) {
        let flow = frame.flow();
        let all = &mut self.seen[node as usize];
        if all.is_empty() {
            all.resize(self.grids.len(), Seen::NOTHING);
        }
        let (source, other) = (frame.source() as usize, frame.dest as usize);
        let fin = all[other].fin;
        let Sight { kind, seq, ack } = all[source].take(frame);
        let packet = if frame.is_echo() {
            seq
        } else if frame.len > 0 {
            self.grids[source].packet_of(seq.max(1) - 1)
        } else {
            // An ACK of a FIN covers no packet more.
            self.grids[other].packets_in(ack.min(fin).saturating_sub(1))
        };
        let id = frame.id;
        for (place, block) in (1..).zip(frame.sack()) {
            self.blocks.t_ns.push(t_ns);
            self.blocks.node.push(node);
            self.blocks.flow.push(flow);
            self.blocks.push(id, place, ack, *block);
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
        self.flow.push(flow);
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

    /// Kind and packet number of a segment, without regard to what was seen before.
    pub(super) fn identify(&self, frame: &Segment) -> (u8, i64) {
        let [own, other] = [frame.source(), frame.dest].map(|end| self.grids[end as usize]);
        let kind = kind_of(frame).unwrap_or(ACK);
        let covered = || other.packets_in(u64::from(frame.ack).saturating_sub(1));
        (kind, frame.packet_number(own).unwrap_or_else(covered).cast_signed())
    }

    /// The tables `segments`, `sack_blocks` and `syns`.
    /// `needless` are the transmissions that were, in ascending order.
    pub(super) fn finish(self, texts: &Texts, needless: &[u64]) -> [Table; 3] {
        let judged = |(cause, id): (&u8, &u64)| *cause > 0 && needless.binary_search(id).is_ok();
        let verdicts = self.cause.iter().zip(&self.id).map(judged).collect();
        let node = |codes| Column::new("node", Data::Text { codes, texts: texts.nodes.clone() });
        let flow = |codes| Column::new("flow", Data::Text { codes, texts: texts.flows.clone() });
        let number = |name: &'static str, values| Column::new(name, Data::I64(values));
        let small = |name: &'static str, values| Column::new(name, Data::U16(values));
        let offsets = optional(&self.offsets, self.t_ns.len(), |offset| *offset);
        let stamps = |of: fn(&Timestamps) -> u32| optional(&self.stamps, self.t_ns.len(), of);
        let (ts_val, ts_ecr) = (stamps(|stamps| stamps.val), stamps(|stamps| stamps.ecr));
        let segments = vec![
            number("t_ns", self.t_ns),
            node(self.node),
            flow(self.flow),
            Column::new("way", Data::Tag { codes: self.way, texts: &WAYS }),
            Column::new("kind", Data::Tag { codes: self.kind, texts: &KINDS }),
            number("packet", self.packet),
            number("seq", self.seq),
            small("len_bytes", self.len),
            number("ack", self.ack),
            small("size_bytes", self.size),
            small("window", self.window),
            Column::new("cause", Data::Tag { codes: self.cause, texts: &CAUSES }),
            Column::new("needless", Data::Bool(verdicts)),
            Column::new("id", Data::U64(self.id)),
            small("sack_blocks", self.sack_blocks),
            small("flags", self.flags),
            Column::new("ecn", Data::Tag { codes: self.ecn, texts: &ECNS }),
            Column::new("ts_val", ts_val),
            Column::new("ts_ecr", ts_ecr),
            Column::new("offset_bytes", offsets),
        ];
        let Blocks { t_ns, node: at, flow: of, id, place, left, right } = self.blocks;
        let blocks = vec![
            number("t_ns", t_ns),
            node(at),
            flow(of),
            Column::new("id", Data::U64(id)),
            small("place", place),
            number("left", left),
            number("right", right),
        ];
        let Syns { t_ns, node: at, flow: of, id, mss, window_scale, sack_permitted } = self.syns;
        let syns = vec![
            number("t_ns", t_ns),
            node(at),
            flow(of),
            Column::new("id", Data::U64(id)),
            Column::new("mss", Data::OptionalI64(mss)),
            Column::new("window_scale", Data::OptionalI64(window_scale)),
            Column::new("sack_permitted", Data::Bool(sack_permitted)),
        ];
        [("segments", segments), ("sack_blocks", blocks), ("syns", syns)]
            .map(|(name, columns)| Table::new(name, columns))
    }
}

/// A column of `rows` values, of which those in `some` exist.
fn optional<T>(some: &[(usize, T)], rows: usize, of: fn(&T) -> u32) -> Data {
    if some.is_empty() {
        return Data::MissingI64(rows);
    }
    let mut values = vec![None; rows];
    for (row, value) in some {
        values[*row] = Some(of(value).into());
    }
    Data::OptionalI64(values)
}

/// What a segment is, but for ACKs, which depend on what came before them. Of fragments only
/// the first shows what its segment is.
#[inline]
fn kind_of(frame: &Segment) -> Option<u8> {
    if frame.part.offset_bytes() > 0 {
        return Some(FRAGMENT);
    } else if frame.is_echo() {
        // Who asks is the side that opened the flow: the one with the even number.
        return Some(if frame.source() & 1 == 0 { REQUEST } else { REPLY });
    } else if frame.is_other() {
        return Some(OTHER);
    }
    const RARE: u8 = Flags::SYN.with(Flags::RST).with(Flags::FIN).0;
    let data = (frame.len > 0).then_some(if frame.cause.code() == 0 { DATA } else { RESEND });
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

impl Seen {
    /// Without a handshake, data starts at 1 and an ACK of 1 covers nothing.
    const NOTHING: Seen = Seen { seq: 1, ack: 1, fin: u64::MAX, window: None };

    /// Takes a segment in.
    #[inline]
    fn take(&mut self, frame: &Segment) -> Sight {
        let seq = seq::from_wire(seq::SIMULATED_ISN, frame.seq, self.seq);
        let ack = seq::from_wire(seq::SIMULATED_ISN, frame.ack, self.ack);
        let kind = kind_of(frame).unwrap_or_else(|| self.judge(ack, frame.window));
        if matches!(kind, RST | FRAGMENT | REQUEST | REPLY | OTHER) {
            return Sight { kind, seq, ack };
        }
        self.seq = self.seq.max(seq);
        if kind == SYN {
            self.open(frame, ack);
        } else {
            self.ack = self.ack.max(ack);
            self.window = Some(frame.window);
        }
        if frame.flags.has(Flags::FIN) {
            self.fin = seq + u64::from(frame.len);
        }
        Sight { kind, seq, ack }
    }

    /// What a pure ACK is: one that repeats both the highest number and the last window is a
    /// duplicate (RFC 5681 §2; whether data is outstanding is not looked at), one that changes
    /// only the window is not.
    fn judge(&self, ack: u64, window: u16) -> u8 {
        match ack.cmp(&self.ack) {
            Ordering::Greater => ACK,
            Ordering::Equal if self.window.is_none_or(|last| last == window) => DUPACK,
            Ordering::Equal => ACK,
            Ordering::Less => OLD_ACK,
        }
    }

    /// Takes a SYN in. Its window is not scaled as those that follow (RFC 7323 §2.2), so that
    /// the first of them has none to differ from.
    fn open(&mut self, frame: &Segment, ack: u64) {
        if frame.flags.has(Flags::ACK) {
            self.ack = self.ack.max(ack);
        } else if self.window.is_none() {
            // Nothing is acknowledged yet, not even the other side's SYN.
            self.ack = 0;
        }
    }
}

impl Syns {
    fn push(&mut self, t_ns: i64, node: u32, frame: &Segment) {
        let SynOptions { mss, window_scale, sack } = frame.syn_options();
        self.t_ns.push(t_ns);
        self.node.push(node);
        self.flow.push(frame.flow());
        self.id.push(frame.id);
        self.mss.push(mss.map(i64::from));
        self.window_scale.push(window_scale.map(i64::from));
        self.sack_permitted.push(sack);
    }
}

impl Blocks {
    /// The block at `place` of the ACK `id`, whose cumulative part is `ack`.
    fn push(&mut self, id: u64, place: u16, ack: u64, block: SackBlock) {
        let edge = |wire| seq::from_wire(seq::SIMULATED_ISN, wire, ack).cast_signed();
        self.id.push(id);
        self.place.push(place);
        self.left.push(edge(block.left));
        self.right.push(edge(block.right));
    }
}
