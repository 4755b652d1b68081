//! The tables of what observed nodes saw.

use crate::event::Way;
use crate::segment::{Cause, SackBlock, Segment};
use crate::seq;

use super::recorder::Texts;
use super::table::{Column, Data, Table};

/// What a segment is, seen where it was seen.
pub(super) const KINDS: [&str; 5] = ["data", "resend", "ack", "dupack", "old-ack"];
const DATA: u8 = 0;
const RESEND: u8 = 1;
const ACK: u8 = 2;
const DUPACK: u8 = 3;
const OLD_ACK: u8 = 4;

/// How a frame passed, in the order of [`Way`]'s codes.
const WAYS: [&str; 3] = ["out", "in", "through"];

/// No cause, and then the causes in the order of their codes.
const CAUSES: [&str; Cause::ALL.len() + 1] = {
    let mut names = [""; Cause::ALL.len() + 1];
    let mut i = 0;
    while i < Cause::ALL.len() {
        names[i + 1] = Cause::ALL[i].name();
        i += 1;
    }
    names
};

/// Initial sequence number of every simulated connection.
const ISN: u32 = 0;

/// Segments under construction, column by column.
#[derive(Debug)]
pub(super) struct Segments {
    smss: Vec<u16>,
    /// By observed node and flow.
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
    blocks: Blocks,
}

/// The highest a node saw of a flow: to unwrap sequence numbers and to tell duplicates.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
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

impl Segments {
    pub(super) fn new(nodes: usize, smss: impl Iterator<Item = u16>) -> Self {
        Self {
            smss: smss.collect(),
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
            blocks: Blocks::default(),
        }
    }

    #[inline]
    pub(super) fn push(&mut self, t_ns: i64, node: u32, way: Way, frame: &Segment) {
        let flow = frame.flow();
        let smss = u64::from(self.smss[flow as usize]);
        let seen = &mut self.seen[node as usize];
        if seen.is_empty() {
            seen.resize(self.smss.len(), Seen { seq: 1, ack: 1 });
        }
        let seen = &mut seen[flow as usize];
        let seq = seq::from_wire(ISN, frame.seq, seen.seq);
        let (kind, ack, packet) = if frame.len > 0 {
            seen.seq = seen.seq.max(seq);
            let kind = if frame.cause.get().is_some() { RESEND } else { DATA };
            (kind, seq::from_wire(ISN, frame.ack, 1), (seq - 1) / smss + 1)
        } else {
            let ack = seq::from_wire(ISN, frame.ack, seen.ack);
            let kind = match ack.cmp(&seen.ack) {
                core::cmp::Ordering::Greater => ACK,
                core::cmp::Ordering::Equal => DUPACK,
                core::cmp::Ordering::Less => OLD_ACK,
            };
            seen.ack = seen.ack.max(ack);
            (kind, ack, (ack - 1).div_ceil(smss))
        };
        let id = frame.id;
        for (place, block) in (1..).zip(frame.sack()) {
            self.blocks.t_ns.push(t_ns);
            self.blocks.node.push(node);
            self.blocks.flow.push(flow);
            self.blocks.push(id, place, ack, *block);
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
        self.sack_blocks.push(u16::try_from(frame.sack().len()).unwrap_or(0));
    }

    /// Kind and packet number of a segment, without regard to what was seen before.
    pub(super) fn identify(&self, frame: &Segment) -> (u8, i64) {
        let smss = u64::from(self.smss[frame.flow() as usize]);
        match frame.packet_number() {
            Some(number) => {
                let kind = if frame.cause.get().is_some() { RESEND } else { DATA };
                (kind, number.cast_signed())
            }
            None => (ACK, (u64::from(frame.ack) - 1).div_ceil(smss).cast_signed()),
        }
    }

    /// The tables `segments` and `sack_blocks`.
    pub(super) fn finish(self, texts: &Texts) -> (Table, Table) {
        let node = |codes| Column::new("node", Data::Text { codes, texts: texts.nodes.clone() });
        let flow = |codes| Column::new("flow", Data::Text { codes, texts: texts.flows.clone() });
        let number = |name: &'static str, values| Column::new(name, Data::I64(values));
        let small = |name: &'static str, values| Column::new(name, Data::U16(values));
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
            Column::new("id", Data::U64(self.id)),
            small("sack_blocks", self.sack_blocks),
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
        (Table::new("segments", segments), Table::new("sack_blocks", blocks))
    }
}

impl Blocks {
    /// The block at `place` of the ACK `id`, whose cumulative part is `ack`.
    fn push(&mut self, id: u64, place: u16, ack: u64, block: SackBlock) {
        let edge = |wire| seq::from_wire(ISN, wire, ack).cast_signed();
        self.id.push(id);
        self.place.push(place);
        self.left.push(edge(block.left));
        self.right.push(edge(block.right));
    }
}
