//! What is kept of an outstanding segment, and what is known of a segment that repeats octets.

use crate::observe::{OneWay, Outstanding};
use crate::segment::{Flags, SackBlock};
use crate::seq::is_before;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

/// The header fields of an outstanding segment that tell its transmissions apart. The octets and
/// times of the segment are in [`Outstanding`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapturedSegment {
    /// The sender's timestamp in the last transmission of the segment. `None` without a
    /// timestamp.
    pub ts_val: Option<u32>,
    /// The IP identification of the last transmission of the segment.
    pub ip_id: u16,
}

impl CapturedSegment {
    /// Returns these header fields of `packet`.
    #[inline]
    pub fn of(packet: &impl CapturedTcp) -> Self {
        Self { ts_val: packet.timestamps().map(|stamps| stamps.val), ip_id: packet.ip_id() }
    }
}

/// A segment that an acknowledgment covers for the first time.
pub type Acknowledged = Outstanding<CapturedSegment>;

/// The octets of one direction, with a [`CapturedSegment`] for each outstanding segment.
pub type CapturedOctets = OneWay<CapturedSegment>;

/// What the connection shows about the segment of a sender that is processed now.
#[derive(Clone, Copy, Debug, Default)]
pub struct CurrentSegment {
    /// Whether the segment answers a SYN that was captured after the last SYN-ACK.
    pub answers_syn: bool,
    /// Whether the segment acknowledges octets that no packet before it acknowledged.
    pub acks_anew: bool,
    /// The maximum length of a piece of the sender's send buffer, if the sender is Linux. Linux
    /// stores its send buffer in pieces.
    pub piece_bytes_max: u64,
    /// Whether the segment begins after the highest octet that was captured or acknowledged.
    pub after_gap: bool,
    /// Whether the segment carries a SYN, and packets without a SYN came before it from the same
    /// side.
    pub is_late_syn: bool,
}

/// A segment with octets that were sent before, and what is known about them.
#[derive(Clone, Copy, Default)]
pub struct Repeat {
    /// The first octet of the segment.
    pub left: u64,
    /// The octet after the last octet of the segment.
    pub right: u64,
    /// The octet after the highest octet that is known to have been sent.
    pub known: u64,
    /// The first octet not acknowledged.
    pub una: u64,
    /// When the segment's first octet was sent for the first time. `None` if this was not captured.
    pub first_sent: Option<Time>,
    /// Whether the capture lacks the original. In a capture at the receiver: whether it lacks the
    /// original of any octet of the segment.
    pub missing: bool,
    /// See [`before_tail`].
    pub before_tail: Duration,
    /// Whether no field of the packet shows the order of sending.
    pub unordered: bool,
    /// Whether the octets were sent before as several segments.
    pub joins: bool,
    /// See [`shortens_tail`].
    pub shortens_tail: bool,
    /// Whether the segment has the same timestamp as the last transmission of its octets.
    pub stamp_again: bool,
}

/// Whether `left..right` begins like the last outstanding segment, but ends 1 to 40 octets earlier.
/// The payload of a segment is shorter if the TCP header has more options, such as SACK blocks (RFC
/// 9293 §3.7.1).
pub fn shortens_tail(octets: &CapturedOctets, (left, right): (u64, u64)) -> bool {
    const OPTIONS_MAX: u64 = 40;
    octets.outstanding().back().is_some_and(|last| {
        last.left == left && right < last.right && last.right - right <= OPTIONS_MAX
    })
}

/// Whether `packet` has the same timestamp as the last transmission of `segment`. False without
/// timestamps.
pub fn has_same_stamp(packet: &impl CapturedTcp, segment: &Acknowledged) -> bool {
    let val = packet.timestamps().map(|stamps| stamps.val);
    val.is_some() && val == segment.kept.ts_val
}

/// The time between the last two outstanding segments. If this time is long, the last segment may
/// be a tail loss probe. New octets were last acknowledged at `una_at`. If `una_at` lies between
/// the two segments, the time counts from `una_at`. An `una_at` after the last segment changes
/// nothing, because a sender sends no other probe until the last octet of this probe is
/// acknowledged (RFC 8985 §7.2). Zero if fewer than two segments are outstanding.
pub fn before_tail(octets: &CapturedOctets, una_at: Time) -> Duration {
    let mut latest = octets.outstanding().iter().rev().map(|one| one.first_sent);
    match (latest.next(), latest.next()) {
        (Some(last), Some(before)) if una_at > last => last.saturating_since(before),
        (Some(last), Some(before)) => last.saturating_since(before.max(una_at)),
        _ => Duration::ZERO,
    }
}

/// Whether the first SACK block of `packet` reports octets that arrived twice (a D-SACK block). Such
/// a block lies below the acknowledgment or within the second block (RFC 2883 §4).
pub fn reports_duplicate(packet: &impl CapturedTcp) -> bool {
    let within = |inner: &SackBlock, outer: &SackBlock| {
        !is_before(inner.left, outer.left) && !is_before(outer.right, inner.right)
    };
    match packet.sack() {
        [first, ..] if !is_before(packet.ack(), first.right) => true,
        [first, second, ..] => within(first, second),
        _ => false,
    }
}

/// Whether a packet is a duplicate acknowledgment (RFC 5681 §2). This function does not compare the
/// window.
#[inline]
pub fn is_duplicate(packet: &impl CapturedTcp, octets: &CapturedOctets) -> bool {
    let bare = packet.seq_len() == 0 && !packet.flags().has(Flags::RST);
    let same = octets.sequence().octet(packet.ack()) == octets.una();
    bare && same && octets.una() < octets.sequence().highest()
}
