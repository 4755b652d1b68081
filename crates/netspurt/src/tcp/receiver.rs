//! The sink of the network simulator ns-2, which is the receiving half of a connection. It collects
//! arrivals, and decides when to acknowledge them.

use crate::packed::packed;
use crate::segment::{Flags, SackBlock, SackBlocks, Segment};
use crate::seq;
use crate::units::{Duration, Time};

use super::config::{AckPolicy, NsConfig, NsSink};
use crate::ranges::{Range, Ranges};

/// Two instants that differ by at most this time count as one at the end of a hold (the wait of a
/// delayed acknowledgment). The start of a transmission on an idle link is rounded to a whole
/// nanosecond. If a packet should arrive exactly at the end of a hold, it may arrive slightly
/// earlier or later because of this rounding. After some hundred round trips, the difference is 20
/// ns, which is less than `GRAIN`.
const GRAIN: Duration = Duration::from_nanos(50);

/// The maximum number of SACK blocks in an acknowledgment (ns-2's `max_sack_blocks_`).
const BLOCKS_MAX: usize = 3;

/// The counts of a receiver so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiveCount {
    /// Segments with payload that were processed, and segments for which the receive buffer had no
    /// memory. Other segments that the connection discards do not count.
    pub segments: u64,
    /// Segments with payload that brought no new octet.
    pub duplicates: u64,
    /// Segments that arrived beyond a hole (a range of octets that has not arrived). ns-2's sink
    /// does not count them.
    pub out_of_order: u64,
    /// Octets delivered in order.
    pub delivered_bytes: u64,
}

packed!(ReceiveCount { segments, duplicates, out_of_order, delivered_bytes });

/// The receiving half of a connection of ns-2's kind.
#[derive(Debug)]
pub(super) struct NsReceiver {
    /// The octet at which packet 0 starts: 0 if packet 0 is a SYN, else 1.
    first: u64,
    /// The next octet expected.
    next: u64,
    /// The value of the field `next` in the last acknowledgment.
    last_ack: u64,
    /// The octets that arrived above the next expected octet.
    above: Ranges,
    /// The first SACK block of each of the last ACKs, newest first. The value is `None` without
    /// SACK.
    history: Option<Vec<Range>>,
    acks: AckPolicy,
    sink: NsSink,
    /// Whether a SYN came since the last acknowledgment.
    syn_came: bool,
    /// The timestamp to echo. A segment sets this echo if the segment begins at or below the last
    /// acknowledgment and its timestamp is not older than the present echo. With the switch
    /// `echoes_next`, a segment that begins at the last acknowledgment sets the echo even if its
    /// timestamp is older. After a hold, the echo is therefore the timestamp of the segment that
    /// began the hold, and not of the segment that ended it.
    echo: Time,
    /// The held acknowledgment's deadline. The value is [`Time::NEVER`] while no acknowledgment is
    /// held.
    deadline: Time,
    pub(super) count: ReceiveCount,
}

/// The fields of an acknowledgment, without the SACK blocks and the fields that the sending half
/// sets.
pub(super) struct Acknowledgment {
    /// Whether the acknowledgment answers a SYN.
    pub(super) of_syn: bool,
    pub(super) next: u64,
    pub(super) echo: Time,
    /// The octets of the segment that the acknowledgment answers. The value is (0, 0) if the end of
    /// a hold releases the acknowledgment.
    pub(super) newest: Range,
}

impl NsReceiver {
    pub(super) fn new(config: &NsConfig) -> Self {
        let first = u64::from(!config.handshake);
        Self {
            first,
            next: first,
            last_ack: first,
            above: Ranges::default(),
            history: config.variant.needs_sack().then(Vec::new),
            acks: config.acks,
            sink: config.sink,
            syn_came: false,
            echo: Time::ZERO,
            deadline: Time::NEVER,
            count: ReceiveCount::default(),
        }
    }

    /// The latest instant at which a held acknowledgment leaves.
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    /// When the connection must be woken to end the hold. An arrival after this instant comes after
    /// the end of the hold.
    pub(super) fn wakeup(&self) -> Time {
        self.deadline + GRAIN
    }

    /// Whether the hold ends before an arrival at the instant `now` that was scheduled at the
    /// instant `since`. Of two events at one instant, the event that was scheduled first happens
    /// first. The end of a hold is scheduled when the hold begins.
    pub(super) fn ends_before(&self, now: Time, since: Time) -> bool {
        let AckPolicy::Delayed(wait) = self.acks else { return false };
        if self.deadline == Time::NEVER || now + GRAIN < self.deadline {
            return false;
        }
        self.deadline + GRAIN < now || self.deadline.saturating_since(since) < wait
    }

    /// Accepts a data segment or a SYN. Returns the acknowledgment, if it is sent immediately.
    ///
    /// Only one acknowledgment is held at a time. An acknowledgment is held only if the segment
    /// ends at the next expected octet. The newest segment in order ends there, even if it arrives
    /// again. By default, the acknowledgment of packet 0 is never held (ns-2's delayed-ACK sink).
    #[inline(always)]
    pub(super) fn on_data(&mut self, segment: &Segment, now: Time) -> Option<Acknowledgment> {
        let (left, right) = self.span(segment);
        let continues = left == self.last_ack && self.sink.echoes_next;
        if continues || left <= self.last_ack && segment.stamp() >= self.echo {
            self.echo = segment.stamp();
        }
        self.take_in(left, right, segment.len > 0);
        let fills_gap = !self.above.is_empty() && self.sink.gaps_at_once;
        let is_first = left == self.first && self.sink.first_at_once;
        if let AckPolicy::Delayed(wait) = self.acks
            && right == self.next
            && !(fills_gap || is_first)
            && self.deadline == Time::NEVER
        {
            self.deadline = now + wait;
            return None;
        }
        Some(self.acknowledge((left, right)))
    }

    /// The octets of a segment; the SYN is octet 0.
    #[inline]
    fn span(&mut self, segment: &Segment) -> Range {
        if segment.len == 0 && segment.flags.has(Flags::SYN) {
            self.syn_came = true;
            return (0, 1);
        }
        let left = seq::from_wire(seq::SIMULATED_ISN, segment.seq, self.next);
        (left, left + u64::from(segment.len))
    }

    /// Returns the held acknowledgment, because its deadline has come.
    pub(super) fn on_deadline(&mut self) -> Acknowledgment {
        self.acknowledge((0, 0))
    }

    /// Accepts the octets of a packet, and counts them if they are data.
    #[inline]
    fn take_in(&mut self, left: u64, right: u64, data: bool) {
        let before = self.next;
        let new = self.add(left, right);
        if data {
            self.count.segments += 1;
            self.count.duplicates += u64::from(!new);
            self.count.delivered_bytes += self.next - before;
        }
    }

    /// Adds the octets of a segment. Returns whether any of them are new.
    #[inline]
    fn add(&mut self, left: u64, right: u64) -> bool {
        if right <= self.next {
            return false;
        }
        if left <= self.next {
            self.next = right;
            if !self.above.is_empty() {
                if let Some((_, end)) = self.above.holding(right) {
                    self.next = end;
                }
                self.above.remove_below(self.next);
            }
            return true;
        }
        let before = self.above.total();
        self.above.insert(left, right);
        self.above.total() > before
    }

    #[inline(always)]
    fn acknowledge(&mut self, newest: Range) -> Acknowledgment {
        self.deadline = Time::NEVER;
        self.last_ack = self.next;
        let of_syn = core::mem::take(&mut self.syn_came);
        Acknowledgment { of_syn, next: self.next, echo: self.echo, newest }
    }

    /// Returns the SACK blocks to report. If the newest segment lies above the ACK, the first block
    /// is the range of received octets that contains this segment. Then comes the first block of
    /// each earlier ACK, newest first (RFC 2018 §4), except blocks within this range. If the newest
    /// segment does not lie above the ACK, there are only blocks of earlier ACKs, except blocks
    /// below the ACK. As in ns-2's sink, a block of an earlier ACK is repeated unchanged. It may
    /// therefore lie below the ACK if the newest segment lies above the ACK. The history is cleared
    /// when nothing lies above the ACK.
    ///
    /// The caller calls this function exactly once for each acknowledgment, because the call
    /// updates the history.
    #[inline(always)]
    pub(super) fn sack_blocks(&mut self, newest: Range) -> Option<SackBlocks> {
        let history = self.history.as_mut()?;
        if self.above.is_empty() {
            history.clear();
            return None;
        }
        self.blocks_above(newest)
    }

    #[inline(never)]
    fn blocks_above(&mut self, newest: Range) -> Option<SackBlocks> {
        let history = self.history.as_mut()?;
        let mut blocks = SackBlocks::default();
        let first = self.above.holding(newest.0);
        let (left, right) = first.unwrap_or((0, self.next));
        history.retain(|old| old.0 < left || old.1 > right);
        if let Some(first) = first {
            history.insert(0, first);
            history.truncate(BLOCKS_MAX);
        }
        for &(left, right) in history.iter() {
            let (left, right) =
                (seq::to_wire(seq::SIMULATED_ISN, left), seq::to_wire(seq::SIMULATED_ISN, right));
            blocks.add(SackBlock { left, right });
        }
        Some(blocks)
    }
}
