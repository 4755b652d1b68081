//! What an observed node saw, as a capture file.

use std::io::{self, Write};
use std::net::{Ipv4Addr, SocketAddrV4};

use crate::segment::{Flags, SackBlock};
use crate::wire::{Packet, PcapngWriter, encode};

use super::recorder::{FlowName, Names};
use super::table::{Data, Table};

/// 2000-01-01 00:00:00 UTC: the start of every simulated run, in captures.
const EPOCH_NS: u64 = 946_684_800_000_000_000;

/// Senders' ports count up from here, receivers listen here.
const FIRST_PORT: u32 = 10_000;
const LISTENING_PORT: u16 = 5001;

/// Why a capture could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// The output failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The tables lack what a capture is made from.
    #[error("no record of segments to make a capture from")]
    NotRecorded,
}

/// The columns that packets are made from.
struct Rows<'a> {
    t_ns: &'a [i64],
    node: &'a [u32],
    flow: &'a [u32],
    seq: &'a [i64],
    ack: &'a [i64],
    len: &'a [u16],
    size: &'a [u16],
    window: &'a [u16],
    id: &'a [u64],
    sack_blocks: &'a [u16],
}

/// The columns that SACK options are made from.
struct Blocks<'a> {
    left: &'a [i64],
    right: &'a [i64],
}

/// Writes what the node numbered `node` saw as a pcapng file, from the tables `segments` and
/// `sack_blocks`.
///
/// Node *n* has the address 10.x.y.z whose last three octets are *n* + 1. The IP identification
/// counts an endpoint's transmissions. Where a link charges an ACK with what no TCP header can
/// say, as ns-2 does with 40 + 8*k* octets for *k* SACK blocks, the packet is a valid one and
/// its comment tells the difference.
///
/// # Errors
/// When `out` fails, or the tables are not those.
pub fn write_capture<W: Write>(
    segments: &Table,
    sack_blocks: &Table,
    names: &Names,
    node: u32,
    out: W,
) -> Result<W, CaptureError> {
    let rows = Rows::of(segments).ok_or(CaptureError::NotRecorded)?;
    let blocks = Blocks::of(sack_blocks).ok_or(CaptureError::NotRecorded)?;
    let application = concat!("netspurt ", env!("CARGO_PKG_VERSION"));
    let mut file = PcapngWriter::new(out, &names.nodes[node as usize], application)?;
    let (mut bytes, mut sack, mut block) = (Vec::new(), Vec::new(), 0);
    for row in 0..rows.t_ns.len() {
        // Blocks lie in the order of their segments.
        let first = block;
        block += usize::from(rows.sack_blocks[row]);
        if rows.node[row] != node {
            continue;
        }
        sack.clear();
        sack.extend((first..block).map(|block| blocks.block(block)));
        encode(&rows.packet(row, names, &sack), &mut bytes);
        let comment = comment(usize::from(rows.size[row]), bytes.len(), sack.len());
        let unix_ns = EPOCH_NS + rows.t_ns[row].cast_unsigned();
        file.packet(unix_ns, &bytes, comment.as_deref())?;
    }
    Ok(file.finish()?)
}

fn comment(charged: usize, written: usize, blocks: usize) -> Option<String> {
    (charged != written).then(|| {
        format!(
            "The links were charged {charged} octets for this packet, as ns-2 counts {blocks} \
             SACK block(s); with a valid TCP option it has {written}."
        )
    })
}

impl<'a> Rows<'a> {
    fn of(table: &'a Table) -> Option<Self> {
        Some(Self {
            t_ns: numbers(table, "t_ns")?,
            node: codes(table, "node")?,
            flow: codes(table, "flow")?,
            seq: numbers(table, "seq")?,
            ack: numbers(table, "ack")?,
            len: small(table, "len_bytes")?,
            size: small(table, "size_bytes")?,
            window: small(table, "window")?,
            id: ids(table)?,
            sack_blocks: small(table, "sack_blocks")?,
        })
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "mod 2^32, 2^16")]
    fn packet<'b>(&self, row: usize, names: &Names, sack: &'b [SackBlock]) -> Packet<'b> {
        let flow = self.flow[row];
        let [opener, listener] = addresses(flow, &names.flows[flow as usize]);
        // The upper bits of an id are the endpoint: even at the side that opened the flow.
        let opened = (self.id[row] >> 40) & 1 == 0;
        let (source, destination) = if opened { (opener, listener) } else { (listener, opener) };
        Packet {
            source,
            destination,
            ip_id: self.id[row] as u16,
            seq: self.seq[row] as u32,
            ack: self.ack[row] as u32,
            flags: Flags::ACK,
            window: self.window[row],
            sack,
            payload_bytes: self.len[row],
        }
    }
}

impl<'a> Blocks<'a> {
    fn of(table: &'a Table) -> Option<Self> {
        Some(Self { left: numbers(table, "left")?, right: numbers(table, "right")? })
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "mod 2^32")]
    fn block(&self, row: usize) -> SackBlock {
        SackBlock { left: self.left[row] as u32, right: self.right[row] as u32 }
    }
}

/// The address that the node numbered `node` has in captures.
pub fn node_address(node: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 | (node + 1) & 0x00ff_ffff)
}

/// The addresses and ports that both ends of each flow have in captures.
pub fn flow_addresses(names: &Names) -> impl Iterator<Item = [SocketAddrV4; 2]> {
    (0..).zip(&names.flows).map(|(i, flow)| addresses(i, flow))
}

/// The addresses of a flow's two ends. Ports are reused after 50 000 flows, listening ports
/// then differ.
#[expect(clippy::cast_possible_truncation, reason = "both stay below 65536")]
fn addresses(flow: u32, names: &FlowName) -> [SocketAddrV4; 2] {
    let host = node_address;
    let port = (FIRST_PORT + flow % 50_000) as u16;
    let listening = LISTENING_PORT + (flow / 50_000 % 4000) as u16;
    [SocketAddrV4::new(host(names.from), port), SocketAddrV4::new(host(names.to), listening)]
}

fn numbers<'a>(table: &'a Table, name: &str) -> Option<&'a [i64]> {
    match table.column(name)? {
        Data::I64(values) => Some(values),
        _ => None,
    }
}

fn ids(table: &Table) -> Option<&[u64]> {
    match table.column("id")? {
        Data::U64(values) => Some(values),
        _ => None,
    }
}

fn small<'a>(table: &'a Table, name: &str) -> Option<&'a [u16]> {
    match table.column(name)? {
        Data::U16(values) => Some(values),
        _ => None,
    }
}

fn codes<'a>(table: &'a Table, name: &str) -> Option<&'a [u32]> {
    match table.column(name)? {
        Data::Text { codes, .. } => Some(codes),
        _ => None,
    }
}
