//! Puts the packets of a connection into the order in which they passed the capture point. A
//! capture may hold them in another order, for example because the host receives through several
//! queues.

use std::collections::VecDeque;

use crate::ids::Side;
use crate::segment::Flags;
use crate::seq::{compare_ids, is_before};
use crate::units::{Duration, Time};
use crate::wire::{CapturedTcp, PlainSegment, TcpView};

use super::CapturedDirection;
use super::disorder::Disorder;
use super::infer::Vantage;

/// A segment in the form in which it was kept.
#[derive(Clone, Copy, Debug)]
pub enum EitherSegment {
    /// A plain segment: it comes in the middle of a connection, and has no unusual options.
    Plain(PlainSegment),
    /// Any other segment.
    Other(TcpView),
}

/// A segment that waits, because a segment that passed earlier may still follow in the capture.
#[derive(Clone, Copy, Debug)]
pub struct HeldSegment {
    /// The side that sent the segment.
    pub side: Side,
    /// When the segment was captured.
    pub at: Time,
    /// The segment.
    pub segment: EitherSegment,
    /// The segment's index in the transcript (the copy of the captured packets).
    pub place: Option<u32>,
    fields: OrderFields,
}

/// The header fields that show the order in which segments passed.
#[derive(Clone, Copy, Debug)]
struct OrderFields {
    seq: u32,
    /// The sequence number after the segment's last octet.
    end: u32,
    ack: u32,
    flags: Flags,
    val: Option<u32>,
    ip_id: u16,
    /// How many octets the segment's SACK blocks cover.
    sacked_bytes: u32,
    /// The edges of the segment's first SACK block.
    newest: Option<(u32, u32)>,
}

impl OrderFields {
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

    /// Whether the segment's numbers can be compared with the numbers of other segments. It must
    /// have the flag ACK and no RST.
    fn is_comparable(&self) -> bool {
        self.flags.has(Flags::ACK) && !self.flags.has(Flags::RST)
    }

    fn opens(&self) -> bool {
        self.flags.has(Flags::SYN)
    }
}

impl HeldSegment {
    /// Holds the plain `segment`. `side` sent the segment, and it was captured at the instant `at`.
    /// `place` is its index in the transcript.
    pub fn plain(side: Side, at: Time, segment: PlainSegment, place: Option<u32>) -> Self {
        let fields = OrderFields::of(&segment);
        Self { side, at, segment: EitherSegment::Plain(segment), place, fields }
    }

    /// Like [`plain`](Self::plain), for any other segment.
    pub fn other(side: Side, at: Time, segment: &TcpView, place: Option<u32>) -> Self {
        let fields = OrderFields::of(segment);
        Self { side, at, segment: EitherSegment::Other(*segment), place, fields }
    }
}

/// The segments of a connection that wait because the capture is out of order.
///
/// A new segment is moved before a held segment if two conditions hold. First, it was captured
/// later than the held segment by at most [`Disorder::LIMIT`] and at most half a round trip.
/// Second, one of these rules shows that it passed first:
///
/// * Both segments have the same sender, which sent the new segment first. Their header fields are
///   compared one by one, and the first field that differs shows the order. The fields are: the
///   flag SYN; the timestamp; the IP identification, if the sender's identifications ascend; the
///   acknowledgment number (RFC 9293 §3.4). If these fields do not differ and both segments carry
///   octets, the sequence numbers show the order. They show it only if both segments carry new
///   octets, or both carry old octets. If one of the segments carries no octets, the number of
///   octets that their SACK blocks cover shows the order.
/// * The held segment acknowledges all octets of the new segment, and these octets were not seen
///   before. In a capture at the receiver, it is enough that earlier acknowledgments did not cover
///   all of these octets.
/// * The held segment is a retransmission, and the capture was taken at its sender. The new segment
///   is an acknowledgment that does not cover the retransmission. The acknowledgment came too soon
///   to answer the retransmission, so it triggered the retransmission.
///
/// Otherwise segments keep their order. Each segment keeps its time of capture.
#[derive(Clone, Debug, Default)]
pub struct Reordering {
    held: VecDeque<HeldSegment>,
    /// When the last segment was captured.
    last: Time,
}

impl Reordering {
    /// A segment can be moved before at most `MOST` held segments.
    const MOST: usize = 256;

    /// Adds the segment that was captured next. `directions` has the two directions, indexed by the
    /// side that sends. If the segment is moved before others, `disorder` counts it.
    pub fn add(
        &mut self,
        one: HeldSegment,
        directions: [Option<&CapturedDirection>; 2],
        disorder: &mut Disorder,
    ) {
        let within = disordered_within(directions);
        self.last = one.at;
        let place = self.held.len();
        let first_place = place.saturating_sub(Self::MOST);
        let mut before = None;
        for (place, other) in self.held.iter().enumerate().skip(first_place) {
            let late = one.at.saturating_since(other.at);
            if late <= within && passed_before(&one, other, directions) {
                before = Some((place, late));
                break;
            }
        }
        if let Some((_, late)) = before {
            disorder.count(late);
        }
        self.held.insert(before.map_or(place, |(place, _)| place), one);
    }

    /// Removes and returns the first segment if no later segment can be moved before it, or if the
    /// connection has ended (`over`).
    pub fn next(&mut self, over: bool) -> Option<HeldSegment> {
        let first = self.held.front()?;
        let is_settled = self.last.saturating_since(first.at) > Disorder::LIMIT;
        if over || is_settled { self.held.pop_front() } else { None }
    }
}

/// The longest time by which a packet of a connection with these directions may be out of order. It
/// is at most half a round trip, because a retransmission may pass a round trip after the original.
fn disordered_within(directions: [Option<&CapturedDirection>; 2]) -> Duration {
    let rounds = directions.iter().flatten().filter_map(|direction| direction.sender.path.least());
    rounds.min().map_or(Disorder::LIMIT, |round| Disorder::LIMIT.min(round / 2))
}

/// Whether the segment `one` passed before the segment `other`, although `other` was captured
/// first.
fn passed_before(
    one: &HeldSegment,
    other: &HeldSegment,
    directions: [Option<&CapturedDirection>; 2],
) -> bool {
    if !(one.fields.is_comparable() || one.fields.opens()) || !other.fields.is_comparable() {
        return false;
    }
    let direction = directions[one.side.index()];
    if one.side == other.side && one.fields.opens() {
        return !other.fields.opens();
    }
    if one.side == other.side {
        return was_sent_before(&one.fields, &other.fields, direction);
    }
    let back = directions[other.side.index()];
    is_acknowledged(&one.fields, &other.fields, direction)
        || triggers(&one.fields, &other.fields, back)
}

/// Whether the octets from `seq` on are new in `direction`: they were not seen before.
fn is_new(seq: u32, direction: Option<&CapturedDirection>) -> bool {
    direction.is_none_or(|direction| {
        direction.octets.sequence().octet(seq) >= direction.octets.sequence().highest()
    })
}

/// Whether the sender of `direction` sent the segment `one` before the segment `other`.
fn was_sent_before(
    one: &OrderFields,
    other: &OrderFields,
    direction: Option<&CapturedDirection>,
) -> bool {
    if let (Some(one_val), Some(other_val)) = (one.val, other.val)
        && one_val != other_val
    {
        return is_before(one_val, other_val);
    }
    if one.ip_id != other.ip_id
        && direction.is_some_and(|direction| direction.sender.numbers_packets())
    {
        return compare_ids(one.ip_id, other.ip_id).is_lt();
    }
    if one.ack != other.ack {
        return is_before(one.ack, other.ack);
    }
    let has_octets = |fields: &OrderFields| fields.seq != fields.end;
    if has_octets(one) && has_octets(other) {
        let alike = is_new(one.seq, direction) == is_new(other.seq, direction);
        return alike && is_before(one.seq, other.seq);
    }
    one.sacked_bytes < other.sacked_bytes
}

/// Whether the segment `other` acknowledges all octets of the segment `one`, and these octets were
/// not seen before. In a capture at the receiver, they may have been seen before. There it is
/// enough that no earlier acknowledgment number covered all of them. The segment `one` belongs to
/// `direction`.
fn is_acknowledged(
    one: &OrderFields,
    other: &OrderFields,
    direction: Option<&CapturedDirection>,
) -> bool {
    if one.seq == one.end {
        return false;
    }
    let by_number = !is_before(other.ack, one.end);
    let by_block = other
        .newest
        .is_some_and(|(left, right)| !is_before(one.seq, left) && !is_before(right, one.end));
    if is_new(one.seq, direction) {
        return by_number || by_block;
    }
    // At the receiver, the acknowledgment of a retransmission is as fast as the acknowledgment of
    // new octets.
    direction.is_some_and(|direction| {
        let is_outstanding = direction.octets.una() < direction.octets.sequence().octet(one.end);
        direction.sender.path.vantage().0 == Vantage::Receiver
            && is_outstanding
            && (by_number || by_block)
    })
}

/// Whether the segment `other` is a retransmission that the segment `one` may have triggered. Only
/// a capture at the sender of the segment `other` shows this. The segment `other` belongs to the
/// direction `back`.
fn triggers(one: &OrderFields, other: &OrderFields, back: Option<&CapturedDirection>) -> bool {
    let again = other.seq != other.end && !is_new(other.seq, back);
    again
        && back.is_some_and(|direction| direction.sender.path.vantage().0 == Vantage::Sender)
        && !is_before(other.seq, one.ack)
}
