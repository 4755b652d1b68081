//! Puts the packets of a connection into the order in which they passed.

use std::collections::VecDeque;

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::{CapturedTcp, PlainSegment, TcpView};

use super::CapturedWay;
use super::disorder::{Disorder, is_before};
use super::infer::Vantage;

/// A segment in the form in which it was kept.
#[derive(Clone, Copy, Debug)]
pub enum EitherSegment {
    /// A plain one.
    Plain(PlainSegment),
    /// Any other, with its place in the transcript.
    Other(TcpView, Option<u32>),
}

/// A segment that waits until none can come any more that passed before it.
#[derive(Clone, Copy, Debug)]
pub struct HeldSegment {
    /// Who sent it.
    pub side: Side,
    /// When it was captured.
    pub at: Time,
    /// Itself.
    pub segment: EitherSegment,
    marks: OrderMarks,
}

/// What tells when a segment passed.
#[derive(Clone, Copy, Debug)]
struct OrderMarks {
    seq: u32,
    /// The number after its last.
    end: u32,
    ack: u32,
    flags: Flags,
    val: Option<u32>,
    ip_id: u16,
    /// The octets of its SACK blocks, and the block that it reports first.
    sacked_bytes: u32,
    newest: Option<(u32, u32)>,
}

impl OrderMarks {
    fn of(packet: &impl CapturedTcp) -> Self {
        let blocks = packet.sack().iter();
        Self {
            seq: packet.seq(),
            end: packet.seq().wrapping_add(packet.seq_len()),
            ack: packet.ack(),
            flags: packet.flags(),
            val: packet.timestamps().map(|stamps| stamps.val),
            ip_id: packet.ip_id(),
            sacked_bytes: blocks
                .map(|one| one.right.wrapping_sub(one.left))
                .fold(0, u32::wrapping_add),
            newest: packet.sack().first().map(|one| (one.left, one.right)),
        }
    }

    /// Whether its numbers tell when it passed.
    fn counts(&self) -> bool {
        self.flags.has(Flags::ACK) && !self.flags.has(Flags::RST)
    }

    fn opens(&self) -> bool {
        self.flags.has(Flags::SYN)
    }
}

impl HeldSegment {
    /// The plain `segment`, which `side` sent and which was captured at `at`.
    pub fn plain(side: Side, at: Time, segment: PlainSegment) -> Self {
        Self { side, at, segment: EitherSegment::Plain(segment), marks: OrderMarks::of(&segment) }
    }

    /// As [`plain`](Self::plain), for a segment that is not, with its place in the transcript.
    pub fn other(side: Side, at: Time, segment: &TcpView, place: Option<u32>) -> Self {
        let marks = OrderMarks::of(segment);
        Self { side, at, segment: EitherSegment::Other(*segment, place), marks }
    }
}

/// The segments of a connection that wait because the capture is out of order.
///
/// A segment goes before another one that was captured up to [`Disorder::WITHIN`] earlier, and at
/// most half a round trip, if it must have passed before that one:
///
/// * its sender sent it first: it is a SYN, or it has the older timestamp, the lower IP identification where these
///   ascend, the lower acknowledgement number (RFC 9293 §3.4), fewer octets in SACK blocks, or the
///   lower octets, while both segments have new ones or neither has;
/// * the other one acknowledges its octets, which had not been seen;
/// * it acknowledges something, and the other one sends octets again in a capture at the sender: what
///   sent them was the acknowledgement, since no acknowledgement can answer them so soon.
///
/// Otherwise segments keep their order. Each keeps the time at which it was captured.
#[derive(Clone, Debug, Default)]
pub struct Reordering {
    held: VecDeque<HeldSegment>,
    /// When the last one was captured.
    last: Time,
}

impl Reordering {
    /// The most segments before which one may go.
    const MOST: usize = 256;

    /// Adds the segment that was captured next in a connection with these directions, by the side that
    /// sends. Counts it if it goes before others.
    pub fn add(
        &mut self,
        one: HeldSegment,
        ways: [Option<&CapturedWay>; 2],
        disorder: &mut Disorder,
    ) {
        let within = disordered_within(ways);
        self.last = one.at;
        let place = self.held.len();
        let least = place.saturating_sub(Self::MOST);
        let mut before = None;
        for (place, other) in self.held.iter().enumerate().skip(least) {
            let late = one.at.saturating_since(other.at);
            if late <= within && passed_before(&one, other, ways) {
                before = Some((place, late));
                break;
            }
        }
        if let Some((_, late)) = before {
            disorder.count(late);
        }
        self.held.insert(before.map_or(place, |(place, _)| place), one);
    }

    /// Removes the next segment before which none can come any more, or just the next one if the
    /// connection is `over`.
    pub fn next(&mut self, over: bool) -> Option<HeldSegment> {
        let first = self.held.front()?;
        let late = self.last.saturating_since(first.at) > Disorder::WITHIN;
        if over || late { self.held.pop_front() } else { None }
    }
}

/// The longest time by which a packet of a connection with these directions may be out of order.
/// Within a round trip both a segment and its retransmission may pass.
fn disordered_within(ways: [Option<&CapturedWay>; 2]) -> Duration {
    let rounds = ways.iter().flatten().filter_map(|way| way.sender.path.least());
    rounds.min().map_or(Disorder::WITHIN, |round| Disorder::WITHIN.min(round / 2))
}

/// Whether `one` passed before `other`, which was captured before it.
fn passed_before(one: &HeldSegment, other: &HeldSegment, ways: [Option<&CapturedWay>; 2]) -> bool {
    if !(one.marks.counts() || one.marks.opens()) || !other.marks.counts() {
        return false;
    }
    let way = ways[one.side.index()];
    if one.side == other.side && one.marks.opens() {
        return !other.marks.opens();
    }
    if one.side == other.side {
        return was_sent_before(&one.marks, &other.marks, way);
    }
    let back = ways[other.side.index()];
    is_acknowledged(&one.marks, &other.marks, way) || triggers(&one.marks, &other.marks, back)
}

/// Whether the octets from `seq` on were not seen in the direction `way`.
fn is_new(seq: u32, way: Option<&CapturedWay>) -> bool {
    way.is_none_or(|way| way.octets.sequence().octet(seq) >= way.octets.sequence().highest())
}

/// Whether the sender of `way` sent `one` before `other`.
fn was_sent_before(one: &OrderMarks, other: &OrderMarks, way: Option<&CapturedWay>) -> bool {
    if let (Some(val), Some(than)) = (one.val, other.val)
        && val != than
    {
        return is_before(val, than);
    }
    if one.ip_id != other.ip_id && way.is_some_and(|way| way.sender.numbers_packets()) {
        return one.ip_id.wrapping_sub(other.ip_id).cast_signed() < 0;
    }
    if one.ack != other.ack {
        return is_before(one.ack, other.ack);
    }
    let has_octets = |marks: &OrderMarks| marks.seq != marks.end;
    if has_octets(one) && has_octets(other) {
        let alike = is_new(one.seq, way) == is_new(other.seq, way);
        return alike && is_before(one.seq, other.seq);
    }
    one.sacked_bytes < other.sacked_bytes
}

/// Whether `other` acknowledges octets of `one`, which belongs to the direction `way`, and nothing
/// did so before.
fn is_acknowledged(one: &OrderMarks, other: &OrderMarks, way: Option<&CapturedWay>) -> bool {
    if one.seq == one.end {
        return false;
    }
    let by_number = !is_before(other.ack, one.end);
    let by_block = other
        .newest
        .is_some_and(|(left, right)| !is_before(one.seq, left) && !is_before(right, one.end));
    if is_new(one.seq, way) {
        return by_number || by_block;
    }
    // Beside the receiver a retransmission is acknowledged as soon.
    way.is_some_and(|way| {
        let open = way.octets.una() < way.octets.sequence().octet(one.end);
        way.sender.path.vantage().0 == Vantage::Receiver && open && (by_number || by_block)
    })
}

/// Whether `other`, which belongs to the direction `back`, has octets that were sent before, and may
/// be the answer to `one` in a capture at its sender.
fn triggers(one: &OrderMarks, other: &OrderMarks, back: Option<&CapturedWay>) -> bool {
    let again = other.seq != other.end && !is_new(other.seq, back);
    again
        && back.is_some_and(|way| way.sender.path.vantage().0 == Vantage::Sender)
        && !is_before(other.seq, one.ack)
}
