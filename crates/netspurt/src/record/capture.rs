//! Writes a capture file (pcapng) from the tables of a run. The file has the packets that passed
//! one node of the run.

use core::ops::Range;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::ids::{Direction, EndId, FlowId, Side, TransmissionId};
use crate::segment::{
    Ecn, Flags, IPV4_HEADER_BYTES, SackBlock, SackBlocks, Segment, SynOptions, Timestamps,
};
use crate::wire::{EchoPacket, Packet, PcapngWriter, cut, encode, encode_echo};

use super::OptionalValues;
use super::names::{FlowProperties, Names};
use super::table::{Data, Table};

/// The instant at which a simulated run starts in its captures: 2000-01-01 00:00:00 UTC, in
/// nanoseconds since 1970.
const EPOCH_NS: u64 = 946_684_800_000_000_000;

/// The port of the end that opens flow 0 (the opener). The port of each further flow is greater by
/// one; see [`addresses`].
const FIRST_PORT: u32 = 10_000;
/// The first port on which receivers listen.
const LISTENING_PORT: u16 = 5001;

/// Which nodes of a run have captures, and how many octets of each packet the captures keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capturing {
    /// The numbers of the nodes that have captures.
    pub nodes: Vec<u32>,
    /// The maximum number of octets that a capture keeps of each packet. `None` means that captures
    /// keep all octets.
    pub snap_bytes: Option<u32>,
}

/// Why a capture could not be written.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// Writing to the file failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// A table or a column that the capture needs is missing.
    #[error(
        "the run did not record the segments that a capture needs: add `segments` to \
         `record.tables`"
    )]
    NotRecorded,
}

/// The tables of the segments that passed the observed nodes, as [`Recorder`](super::Recorder)
/// makes them.
#[derive(Clone, Copy, Debug)]
pub struct SeenTables<'a> {
    /// The table `segments`.
    pub segments: &'a Table,
    /// The table `sack_blocks`.
    pub sack_blocks: &'a Table,
    /// The table `syns`.
    pub syns: &'a Table,
    /// Whether the hosts of the run are real. The ids of the transmissions of real hosts are not
    /// consecutive, so IP identifications come from the numbers of the packets.
    pub real_hosts: bool,
}

/// The columns of the table `segments`.
struct Rows<'a> {
    t_ns: &'a [i64],
    node: &'a [u32],
    flow: &'a [u32],
    direction: &'a [u8],
    seq: &'a [i64],
    ack: &'a [i64],
    len: &'a [u16],
    size: &'a [u16],
    window: &'a [u16],
    id: &'a [u64],
    sack_blocks: &'a [u16],
    flags: &'a [u16],
    ecn: &'a [u8],
    ts_val: Optional<'a>,
    ts_ecr: Optional<'a>,
    offset: Optional<'a>,
}

/// The columns of the table `sack_blocks`.
struct SeenBlocks<'a> {
    left: &'a [i64],
    right: &'a [i64],
}

/// The columns of the table `syns`.
struct SeenSyns<'a> {
    mss: Optional<'a>,
    window_scale: Optional<'a>,
    sack_permitted: &'a [bool],
}

/// A column whose values may be absent.
enum Optional<'a> {
    Some(&'a OptionalValues<i64>),
    None,
}

/// Writes the packets that the node numbered `node` saw as a pcapng file. If `snap_bytes` is
/// `None`, the file keeps all octets of each packet. Otherwise it keeps only the first `snap_bytes`
/// octets.
///
/// In IPv4, node *n* has the address 10.x.y.z, and x.y.z is the number *n* + 1 in three octets. The
/// field "identification" of the IP header has the lowest 16 bits of the transmission's number at
/// the sending end. If the hosts are real, it has the lowest 16 bits of the packet's number at its
/// host. A segment may have a size that is impossible with a TCP header: in ns-2, an ACK with *k*
/// SACK blocks has 40 + 8*k* octets. In this case, the packet is written with valid headers, and
/// its comment states its size in the run and its size in the file. Fragments are cut from the
/// whole packet. Echo probes are ICMP echo requests and replies (RFC 792) with the flow's number as
/// the identifier.
///
/// # Errors
/// When writing to the output fails, or a table lacks a column that the capture needs.
pub fn write_capture<W: Write>(
    seen: SeenTables<'_>,
    names: &Names,
    node: u32,
    snap_bytes: Option<u32>,
    out: W,
) -> Result<W, CaptureError> {
    let rows = Rows::of(seen.segments).ok_or(CaptureError::NotRecorded)?;
    let blocks = SeenBlocks::of(seen.sack_blocks).ok_or(CaptureError::NotRecorded)?;
    let syns = SeenSyns::of(seen.syns).ok_or(CaptureError::NotRecorded)?;
    let application = concat!("netspurt ", env!("CARGO_PKG_VERSION"));
    let name = &names.nodes[node as usize];
    let mut file = PcapngWriter::cutting(out, name, application, snap_bytes)?;
    let (mut whole_packet, mut bytes, mut block, mut syn) = (Vec::new(), Vec::new(), 0, 0);
    for row in 0..rows.t_ns.len() {
        // The rows of SACK blocks and SYNs are in the order of their segments.
        let (first, this) = (block, syn);
        block += usize::from(rows.sack_blocks[row]);
        syn += usize::from(rows.flags(row).has(Flags::SYN));
        if rows.node[row] != node {
            continue;
        }
        if let Some(echo) = rows.echo(row, names) {
            encode_echo(&echo, &mut whole_packet);
        } else {
            let mut packet = rows.packet(row, names, seen.real_hosts);
            if first < block {
                packet.segment.set_sack(&blocks.between(first, block));
            }
            if this < syn {
                packet.segment.set_syn_options(syns.options(this));
            }
            encode(&packet, &mut whole_packet);
        }
        match rows.part(row) {
            None => std::mem::swap(&mut whole_packet, &mut bytes),
            Some(part) => cut(&whole_packet, part, &mut bytes),
        }
        let comment = comment(usize::from(rows.size[row]), bytes.len(), block - first);
        let unix_ns = EPOCH_NS + rows.t_ns[row].cast_unsigned();
        file.packet(unix_ns, &bytes, comment.as_deref())?;
    }
    Ok(file.finish()?)
}

/// The comment of a packet whose size in the file differs from the size that the links counted.
fn comment(counted: usize, written: usize, blocks: usize) -> Option<String> {
    let why = if blocks > 0 {
        ". ns-2 counts only 8 octets for each SACK block. With a valid TCP option,"
    } else {
        ". With valid headers,"
    };
    (counted != written).then(|| {
        format!(
            "The links counted {counted} octets for this packet{why} the packet has {written} octets."
        )
    })
}

impl<'a> Rows<'a> {
    fn of(table: &'a Table) -> Option<Self> {
        Some(Self {
            t_ns: numbers(table, "t_ns")?,
            node: codes(table, "node")?,
            flow: codes(table, "flow")?,
            direction: tags(table, "direction")?,
            seq: numbers(table, "seq")?,
            ack: numbers(table, "ack")?,
            len: small(table, "len_bytes")?,
            size: small(table, "size_bytes")?,
            window: small(table, "window")?,
            id: ids(table)?,
            sack_blocks: small(table, "sack_blocks")?,
            flags: small(table, "flags")?,
            ecn: tags(table, "ecn")?,
            ts_val: Optional::of(table, "ts_val")?,
            ts_ecr: Optional::of(table, "ts_ecr")?,
            offset: Optional::of(table, "offset_bytes")?,
        })
    }

    #[expect(clippy::cast_possible_truncation, reason = "netspurt uses only the lower eight bits")]
    fn flags(&self, row: usize) -> Flags {
        Flags(self.flags[row] as u8)
    }

    /// Returns which octets of the datagram's payload a fragment carries. For a whole datagram,
    /// returns `None`.
    fn part(&self, row: usize) -> Option<Range<usize>> {
        let offset = usize::try_from(self.offset.get(row)?).ok()?;
        Some(offset..offset + usize::from(self.size[row].saturating_sub(IPV4_HEADER_BYTES)))
    }

    /// The end that sent the segment.
    fn sender(&self, row: usize) -> EndId {
        let reverse = self.direction[row] == Direction::Reverse as u8;
        FlowId(self.flow[row]).end(if reverse { Side::To } else { Side::From })
    }

    /// Returns the request or reply, if the row is a packet of an echo probe.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers may wrap")]
    fn echo(&self, row: usize, names: &Names) -> Option<EchoPacket> {
        let sender = self.sender(row);
        let of = Some(names.of(sender.flow())).filter(|of| of.echo_probes)?;
        let echo = Segment {
            id: TransmissionId::from_bits(self.id[row]),
            dest: sender.peer(),
            seq: self.seq[row] as u32,
            len: self.len[row],
            ..Segment::default()
        };
        Some(EchoPacket::of(&echo, [of.from, of.to].map(ipv4_address)))
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers may wrap")]
    fn packet(&self, row: usize, names: &Names, real_hosts: bool) -> Packet<'static> {
        let id = TransmissionId::from_bits(self.id[row]);
        let ip_id = if real_hosts { id.packet() } else { id.count() } as u16;
        let sender = self.sender(row);
        let ends = addresses(sender.flow(), names.of(sender.flow()));
        let [source, destination] = [sender, sender.peer()].map(|end| ends[end.side().index()]);
        let mut segment = Segment {
            seq: self.seq[row] as u32,
            ack: self.ack[row] as u32,
            len: self.len[row],
            window: self.window[row],
            flags: self.flags(row),
            ecn: Ecn::from_bits(self.ecn[row]),
            ..Segment::default()
        };
        if let (Some(val), Some(ecr)) = (self.ts_val.get(row), self.ts_ecr.get(row)) {
            segment.set_timestamps(Timestamps { val: val as u32, ecr: ecr as u32 });
        }
        Packet { source, destination, ip_id, segment, payload: None }
    }
}

impl<'a> SeenBlocks<'a> {
    fn of(table: &'a Table) -> Option<Self> {
        Some(Self { left: numbers(table, "left")?, right: numbers(table, "right")? })
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "numbers may wrap")]
    fn between(&self, first: usize, end: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        for row in first..end {
            let [left, right] = [self.left[row] as u32, self.right[row] as u32];
            blocks.add(SackBlock { left, right });
        }
        blocks
    }
}

impl<'a> SeenSyns<'a> {
    fn of(table: &'a Table) -> Option<Self> {
        let Data::Bool(sack_permitted) = table.column("sack_permitted")? else { return None };
        let mss = Optional::of(table, "mss")?;
        Some(Self { mss, window_scale: Optional::of(table, "window_scale")?, sack_permitted })
    }

    fn options(&self, row: usize) -> SynOptions {
        SynOptions {
            mss: self.mss.get(row).and_then(|mss| mss.try_into().ok()),
            window_scale: self.window_scale.get(row).and_then(|shift| shift.try_into().ok()),
            sack: self.sack_permitted[row],
        }
    }
}

impl<'a> Optional<'a> {
    fn of(table: &'a Table, name: &str) -> Option<Self> {
        match table.column(name)? {
            Data::OptionalI64(values) => Some(Optional::Some(values)),
            Data::MissingI64(_) => Some(Optional::None),
            _ => None,
        }
    }

    fn get(&self, row: usize) -> Option<i64> {
        match self {
            Optional::Some(values) => values.at(row),
            Optional::None => None,
        }
    }
}

/// Returns the IPv4 address that the node numbered `node` has in captures.
pub fn node_address(node: u32) -> IpAddr {
    IpAddr::V4(ipv4_address(node))
}

/// Returns the IPv6 address of a node in captures, from the prefix for documentation (RFC 3849).
fn ipv6_address(node: u32) -> Ipv6Addr {
    Ipv6Addr::from((0x2001_0db8 << 96) | (u128::from(node) + 1))
}

fn ipv4_address(node: u32) -> Ipv4Addr {
    Ipv4Addr::from(0x0a00_0000 | (node + 1) & 0x00ff_ffff)
}

/// Returns the addresses and ports that both ends of each flow have in captures. The packets of
/// echo probes do not contain the ports.
pub fn flow_addresses(names: &Names) -> impl Iterator<Item = [SocketAddr; 2]> {
    (0..).map(FlowId).zip(names.flows.iter()).map(|(id, flow)| addresses(id, flow))
}

/// Returns the addresses and ports of a flow's two ends. After 50 000 flows, the ports of the
/// openers begin again, and the listening port is greater by one.
#[expect(clippy::cast_possible_truncation, reason = "both ports stay below 65536")]
fn addresses(flow: FlowId, properties: &FlowProperties) -> [SocketAddr; 2] {
    let host = |node| match properties.ipv6 {
        true => IpAddr::V6(ipv6_address(node)),
        false => node_address(node),
    };
    let port = (FIRST_PORT + flow.0 % 50_000) as u16;
    let listening = LISTENING_PORT + (flow.0 / 50_000 % 4000) as u16;
    [SocketAddr::new(host(properties.from), port), SocketAddr::new(host(properties.to), listening)]
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

fn tags<'a>(table: &'a Table, name: &str) -> Option<&'a [u8]> {
    match table.column(name)? {
        Data::Tag { codes, .. } => Some(codes),
        _ => None,
    }
}
