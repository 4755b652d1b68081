//! Writes the packets of a capture as the tables that a simulation writes, so that plots and
//! comparisons can read them.

use std::collections::HashMap;

use crate::event::{Event, RtoState, Way, What};
use crate::ids::{EndId, FlowId, Side, TransmissionId};
use crate::observe::{Observed, Sighting};
use crate::record::{Data, FlowProperties, FlowSum, Names, Recorder, Table, flows_table};
use crate::rto::{EstimatorConfig, RtoEstimator, TimeoutKind};
use crate::sample::RttSample;
use crate::segment::{Cause, Flags, SackBlock, SackBlocks, Segment};
use crate::seq::{is_before, to_wire};
use crate::units::Time;
use crate::wire::{CapturedIp, TcpView};

use super::round_trips_table::RoundTripRows;
use super::{
    EndedBy, EndedConnection, EndedConnections, EndedDirection, ExplainedRetransmission, Verdict,
};

/// The maximum number of octets of payload in one row. Captured packets may have more, because some
/// network cards split them after the capture. Such packets are divided into several rows.
const MOST_PAYLOAD: u32 = 0xf000;

/// The estimator whose timer is computed for the table `rto`.
const TIMER: &str = "linux";

/// The name of the only node in the tables of a capture.
const NODE: &str = "capture";

/// One captured packet.
#[derive(Clone, Copy, Debug)]
struct Logged {
    at: Time,
    connection: u64,
    side: Side,
    view: TcpView,
    /// The sample of the round trip that the packet ends.
    sample: Option<RttSample>,
    /// Whether the sequence and acknowledgment numbers of the packet belong to its connection (see
    /// `stray_packets.rs`).
    counts: bool,
}

/// The packets of connections, in the order of the capture.
#[derive(Debug, Default)]
pub struct Transcript {
    packets: Vec<Logged>,
}

/// Counts and extreme values of the packets of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Extent {
    /// The largest payload of a packet, in octets.
    payload_bytes: u16,
    /// The number of packets with payload.
    sent: u64,
    /// When the first packet with payload was captured.
    start: Option<Time>,
    /// How far the lowest sequence number lies below the first octet of data. The distance is 0 if
    /// no sequence number lies below this octet.
    below: u32,
}

/// The facts about an ended connection that are needed to convert its packets.
struct Known {
    flow: FlowId,
    /// For each side, the sequence number on the wire that counts as 0.
    bases: [u32; 2],
    /// For each side, its retransmissions by their time and their sequence number on the wire.
    again: [HashMap<(Time, u32), ExplainedRetransmission>; 2],
}

impl Transcript {
    /// Adds a packet. `sighting` says which side of which connection sent it. Returns the packet's
    /// index in the transcript.
    ///
    /// # Panics
    ///
    /// Panics if there are 2^32 packets.
    pub fn add(&mut self, at: Time, sighting: Sighting, view: &TcpView) -> u32 {
        let Sighting { number: connection, side, .. } = sighting;
        let place = u32::try_from(self.packets.len()).expect("fewer than 2^32 packets");
        let view = *view;
        self.packets.push(Logged { at, connection, side, view, sample: None, counts: true });
        place
    }

    /// Like [`add`](Self::add), for a packet with a plain segment
    /// ([`PlainSegment`](crate::wire::PlainSegment)). `ip` has the captured octets of the packet.
    ///
    /// # Panics
    ///
    /// Panics if the segment is not plain.
    #[cold]
    pub fn add_plain(&mut self, at: Time, sighting: Sighting, ip: CapturedIp<'_>) -> u32 {
        let view = TcpView::of(ip.bytes, ip.original_bytes as usize);
        self.add(at, sighting, &view.expect("plain segments can be read"))
    }

    /// Stores the sample of the round trip that the packet at the index `place` ends. An ambiguous
    /// sample is not stored.
    pub fn sampled(&mut self, place: u32, sample: RttSample) {
        self.packets[place as usize].sample = Some(sample).filter(|sample| !sample.ambiguous);
    }

    /// Notes that the numbers of the packet at the index `place` do not belong to its connection
    /// (see `stray_packets.rs`).
    pub fn without_numbers(&mut self, place: u32) {
        self.packets[place as usize].counts = false;
    }

    /// Returns the tables of the `connections`. The table `rto` has the values that Linux's timer
    /// would have with the round trips of the capture. The timer backs off at each timeout that was
    /// found in the capture. The tables of cwnd, queues and drops are empty, because a capture does
    /// not show these. Times count from the instant `start`. A flow's name is `c` and the number of
    /// its connection.
    pub fn tables(&self, connections: &EndedConnections, start: Time) -> Vec<Table> {
        let mut known: HashMap<u64, Known> = (0..)
            .zip(connections.iter())
            .map(|(flow, one)| (one.number, Known::of(FlowId(flow), &one)))
            .collect();
        let counted = || self.packets.iter().filter(|packet| packet.counts);
        let extents = extents(counted(), &known);
        for (number, known) in &mut known {
            for side in Side::BOTH {
                let below = extents.get(&(*number, side)).map_or(0, |extent| extent.below);
                let base = &mut known.bases[side.index()];
                *base = base.wrapping_sub(below);
            }
        }
        let mut recorder = Recorder::new(names(connections, &extents));
        let timed_by = EstimatorConfig::named(TIMER).expect("TIMER names an estimator");
        let mut timers: HashMap<EndId, Box<dyn RtoEstimator>> = HashMap::new();
        let mut spurious = Vec::new();
        let since = |at: Time| Time::ZERO + at.saturating_since(start);
        let mut count = 0;
        for packet in &self.packets {
            let Some(known) = known.get(&packet.connection) else { continue };
            let at = since(packet.at);
            let (mut segment, verdict) = known.segment(packet);
            if !packet.counts {
                (segment.seq, segment.ack) = (0, 0);
                segment.set_sack(&SackBlocks::default());
            }
            for piece in pieces(segment, packet.view.payload_bytes) {
                let id = TransmissionId::from_bits(count);
                count += 1;
                if verdict == Some(Verdict::Spurious) {
                    spurious.push(id);
                }
                let way = if packet.side == Side::From { Way::Out } else { Way::In };
                let frame = Segment { id, ..piece };
                recorder.take(&Event { at, what: What::Seen { node: 0, way, frame } });
            }
            let end = known.flow.end(packet.side);
            // Before the first sample there is no timer, so the table `rto` has no row.
            if let Some(timer) =
                timers.get_mut(&end).filter(|_| segment.cause.get() == Some(Cause::Rto))
            {
                timer.on_timeout(at, TimeoutKind::Rto);
                let state = RtoState { fired: true, ..timer.state() };
                recorder.take(&Event { at, what: What::Rto { end, state } });
            }
            if let Some(sample) = packet.sample {
                let end = known.flow.end(packet.side.peer());
                let (sent, rtt) = (since(sample.sent), sample.rtt);
                let timer = timers.entry(end).or_insert_with(|| timed_by.build());
                timer.on_sample(&sample);
                recorder.take(&Event { at, what: What::Rtt { end, sent, rtt } });
                recorder.take(&Event { at, what: What::Rto { end, state: timer.state() } });
            }
        }
        let mut round_trips = RoundTripRows::default();
        for packet in counted() {
            let whose = (packet.connection, packet.side);
            round_trips.take(packet.at, whose, &packet.view, packet.sample);
        }
        let flows = flows_table(recorder.names(), &sums(connections, &extents, since));
        let more = [without_unseen(flows), round_trips.table(start)];
        more.into_iter().chain(recorder.finish(&spurious)).collect()
    }
}

/// Returns the extent of each direction. The key of a direction is the number of its connection and
/// the side that sends.
fn extents<'a>(
    packets: impl Iterator<Item = &'a Logged>,
    known: &HashMap<u64, Known>,
) -> HashMap<(u64, Side), Extent> {
    let mut extents: HashMap<(u64, Side), Extent> = HashMap::new();
    for Logged { at, connection, side, view, .. } in packets {
        let Some(known) = known.get(connection) else { continue };
        let below = |number: u32, side: Side| {
            let base = known.bases[side.index()];
            // The first octet of data has the number 1.
            if is_before(base, number) { 0 } else { base.wrapping_sub(number) + 1 }
        };
        let own = extents.entry((*connection, *side)).or_default();
        let octets = u16::try_from(view.payload_bytes.min(MOST_PAYLOAD)).unwrap_or(u16::MAX);
        own.payload_bytes = own.payload_bytes.max(octets);
        if view.payload_bytes > 0 {
            own.sent += 1;
            own.start.get_or_insert(*at);
            own.below = own.below.max(below(view.seq, *side));
        }
        if view.flags.has(Flags::ACK) {
            let other = extents.entry((*connection, side.peer())).or_default();
            other.below = other.below.max(below(view.ack, side.peer()));
        }
    }
    extents
}

/// The names and properties of the flows of the tables.
fn names(connections: &EndedConnections, extents: &HashMap<(u64, Side), Extent>) -> Names {
    let flows = connections.iter().map(|one| {
        let largest =
            |side| extents.get(&(one.number, side)).map_or(0, |direction| direction.payload_bytes);
        let properties = FlowProperties {
            from: 0,
            to: 0,
            smss: largest(Side::From).max(largest(Side::To)).max(1),
            echo_probes: false,
            answers: largest(Side::To) > 0,
            messages: [None; 2],
            ipv6: one.ends[0].is_ipv6(),
            population: false,
        };
        (format!("c{}", one.number), properties)
    });
    Names::new(vec![NODE.into()], Vec::new(), flows)
}

/// Empties the columns of the table `flows` that a capture does not show.
fn without_unseen(mut flows: Table) -> Table {
    const UNSEEN: [&str; 5] =
        ["fast_retransmits", "received", "duplicates", "delivered_bytes", "undone"];
    for column in flows.columns.iter_mut().filter(|column| UNSEEN.contains(&&*column.name)) {
        column.data = Data::MissingI64(column.data.len());
    }
    flows
}

/// The totals of each direction that has data.
fn sums(
    connections: &EndedConnections,
    extents: &HashMap<(u64, Side), Extent>,
    since: impl Fn(Time) -> Time,
) -> Vec<(EndId, FlowSum)> {
    let mut sums = Vec::new();
    for (flow, one) in (0..).map(FlowId).zip(connections.iter()) {
        for side in Side::BOTH {
            let extent = extents.get(&(one.number, side)).filter(|extent| extent.sent > 0);
            if let (Some(direction), Some(extent)) = (one.direction(side), extent) {
                sums.push((flow.end(side), sum(direction, extent, &since)));
            }
        }
    }
    sums
}

/// The totals of a direction.
fn sum(direction: &EndedDirection, extent: &Extent, since: &impl Fn(Time) -> Time) -> FlowSum {
    let first = direction.sequence.first() + 1;
    let acked_bytes = direction.una.saturating_sub(first);
    let mut sum = FlowSum {
        start: extent.start.map(since),
        sent: extent.sent,
        // This is the number of retransmissions that were explained. In a capture beside the
        // receiver, a retransmission may have octets that were not seen before. So the number of
        // segments with repeated octets may be smaller.
        retransmissions: direction.retransmissions.len() as u64,
        // An acknowledged FIN is not data.
        acked_bytes: direction.statistics.stream_bytes().unwrap_or(u64::MAX).min(acked_bytes),
        ..FlowSum::default()
    };
    for again in &direction.retransmissions {
        let cause = again.cause.get().unwrap_or(Cause::Unknown);
        sum.timeouts += u64::from(matches!(cause, Cause::Rto | Cause::Syn));
        sum.verdict.spurious[cause as usize] += u32::from(again.verdict == Verdict::Spurious);
    }
    for (wait, _) in direction.settled_waits().filter(|(wait, _)| wait.timer != EndedBy::Probe) {
        sum.waited = sum.waited + wait.waited;
    }
    sum
}

impl Known {
    fn of(flow: FlowId, connection: &EndedConnection) -> Self {
        let directions = Side::BOTH.map(|side| connection.direction(side));
        let again = directions.map(|direction| {
            let Some(direction) = direction else { return HashMap::new() };
            let wire = |octet: u64| to_wire(direction.sequence.isn(), octet);
            let all = direction.retransmissions.iter();
            all.map(|&again| ((again.at, wire(again.left)), again)).collect()
        });
        let bases =
            directions.map(|direction| direction.map_or(0, |direction| direction.sequence.isn()));
        Self { flow, bases, again }
    }

    /// Returns the segment of a packet. If it is a retransmission, the segment has the cause, and
    /// the verdict (needed or spurious) comes with it.
    fn segment(&self, packet: &Logged) -> (Segment, Option<Verdict>) {
        let Logged { at, side, view, .. } = packet;
        let bases = [*side, side.peer()].map(|side| self.bases[side.index()]);
        let segment = relative(view, self.flow.end(side.peer()), bases);
        let again = self.again[side.index()].get(&(*at, view.seq)).filter(|_| view.seq_len() > 0);
        let cause = again.map(|again| again.cause.get().unwrap_or(Cause::Unknown));
        (Segment { cause: cause.into(), ..segment }, again.map(|again| again.verdict))
    }
}

/// Converts a captured packet into a segment whose destination is `dest`. Its sequence and
/// acknowledgment numbers count from the bases `own` and `other`. Its payload is cut to
/// [`MOST_PAYLOAD`].
fn relative(view: &TcpView, dest: EndId, [own, other]: [u32; 2]) -> Segment {
    let octets = |count: u32| u16::try_from(count).unwrap_or(u16::MAX);
    let mut segment = Segment {
        dest,
        seq: view.seq.wrapping_sub(own),
        ack: if view.flags.has(Flags::ACK) { view.ack.wrapping_sub(other) } else { 0 },
        len: octets(view.payload_bytes.min(MOST_PAYLOAD)),
        size_bytes: octets(view.size_bytes),
        window: view.window,
        flags: view.flags,
        ecn: view.ecn,
        ..Segment::default()
    };
    if let Some(stamps) = view.options.timestamps {
        segment.set_timestamps(stamps);
    }
    let mut blocks = SackBlocks::default();
    for SackBlock { left, right } in view.sack().iter().take(SackBlocks::MAX) {
        let [left, right] = [left, right].map(|edge| edge.wrapping_sub(other));
        blocks.add(SackBlock { left, right });
    }
    if view.flags.has(Flags::SYN) {
        segment.set_syn_options(view.options.syn);
    } else if !view.sack().is_empty() {
        segment.set_sack(&blocks);
    }
    segment
}

/// Divides a packet with `payload_bytes` octets of payload into segments of at most
/// [`MOST_PAYLOAD`] octets. `first` is the first of these segments. Its payload is already cut.
fn pieces(first: Segment, payload_bytes: u32) -> impl Iterator<Item = Segment> {
    let mut left = payload_bytes;
    let mut next = Some(first);
    std::iter::from_fn(move || {
        let piece = next?;
        left -= u32::from(piece.len);
        let len = u16::try_from(left.min(MOST_PAYLOAD)).unwrap_or(0);
        let seq = piece.seq.wrapping_add(piece.len.into());
        next = (left > 0).then_some(Segment { seq, len, ..piece });
        Some(piece)
    })
}
