//! The receiving half: reassembly, the window, and when to acknowledge.

use crate::segment::{SackBlock, SackBlocks, Segment};
use crate::seq;
use crate::units::{Duration, Time};

use super::super::ranges::{Range, Ranges};
use super::super::receiver::ReceiveCount;
use super::config::{DelayedAck, RfcConfig};

/// What a segment asks of the acknowledging side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum AckNeed {
    /// Nothing: it carried nothing.
    None,
    /// An acknowledgment, but it may wait.
    Later,
    /// One at once.
    Now,
}

/// The receiving half of a connection whose peer's first octet of data is 1.
#[derive(Debug)]
pub(super) struct Receiver {
    /// The peer's initial sequence number.
    pub(super) irs: u32,
    /// The next octet expected.
    pub(super) nxt: u64,
    /// `nxt` as the last acknowledgment told it.
    pub(super) told: u64,
    /// The right edge of the window as last told; it never moves left (RFC 9293 §3.8.6).
    edge: u64,
    above: Ranges,
    /// Blocks reported, newest first.
    blocks: Vec<Range>,
    /// A duplicate to report first in the next acknowledgment (RFC 2883 §4).
    duplicate: Option<Range>,
    /// Octets delivered in order that the application has not read.
    unread: u64,
    /// Whether the application reads as data comes.
    pub(super) reads_at_once: bool,
    buffer: u64,
    /// The largest segment seen: what counts as full.
    full: u64,
    /// Octets of the peer's, its FIN included, end here.
    pub(super) fin: Option<u64>,
    acks: DelayedAck,
    /// When a held acknowledgment goes out.
    pub(super) deadline: Time,
    /// When the application asked for acknowledgments at once, or the start does.
    pub(super) quick_segs: u32,
    /// Linux's `ato`: what an adaptive wait has come to.
    wait: Duration,
    last_arrival: Option<Time>,
    pub(super) need: AckNeed,
    pub(super) count: ReceiveCount,
}

impl Receiver {
    pub(super) fn new(config: &RfcConfig) -> Self {
        let wait = match config.acks {
            DelayedAck::Never => Duration::ZERO,
            DelayedAck::Fixed(wait) | DelayedAck::Adaptive { min: wait, .. } => wait,
        };
        Self {
            irs: 0,
            nxt: 1,
            told: 1,
            edge: 1,
            above: Ranges::default(),
            blocks: Vec::new(),
            duplicate: None,
            unread: 0,
            reads_at_once: true,
            buffer: config.receive_buffer_bytes,
            full: 0,
            fin: None,
            acks: config.acks,
            deadline: Time::NEVER,
            quick_segs: config.quick_acks_segs,
            wait,
            last_arrival: None,
            need: AckNeed::None,
            count: ReceiveCount::default(),
        }
    }

    /// The count of the octet the wire calls `wire`.
    pub(super) fn octet(&self, wire: u32) -> u64 {
        seq::from_wire(self.irs, wire, self.nxt)
    }

    /// Octets the peer may send from `nxt` on.
    pub(super) fn window(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }

    /// Octets delivered and not read.
    pub(super) fn unread(&self) -> u64 {
        self.unread
    }

    /// The application took `octets`; whether the window opened enough to tell at once: by the
    /// step of RFC 9293 §3.8.6.2.2, and to twice what the peer knows, as Linux has it, so that
    /// a wide window is not told at every reading.
    pub(super) fn read(&mut self, octets: u64) -> bool {
        self.unread -= octets.min(self.unread);
        let (before, wanted) = (self.window(), self.wanted_edge().saturating_sub(self.nxt));
        wanted >= before + self.least_step() && wanted >= 2 * before
    }

    fn wanted_edge(&self) -> u64 {
        self.nxt + self.buffer.saturating_sub(self.unread)
    }

    fn least_step(&self) -> u64 {
        (self.buffer / 2).min(self.full.max(1))
    }

    /// The window to tell now. It opens by a full segment or half the buffer, not less.
    pub(super) fn advance_window(&mut self) -> u64 {
        let wanted = self.wanted_edge();
        if wanted >= self.edge + self.least_step() {
            self.edge = wanted;
        }
        self.window()
    }

    /// Whether any octet of `left..right` lies in the window (RFC 9293 §3.4).
    pub(super) fn accepts(&self, left: u64, right: u64) -> bool {
        let edge = self.nxt + self.window();
        if left == right {
            return left == self.nxt || left >= self.nxt && left < edge;
        }
        left < edge && right > self.nxt && edge > self.nxt
    }

    /// Takes payload in.
    pub(super) fn on_data(&mut self, segment: &Segment, now: Time, config: &RfcConfig) {
        let left = self.octet(segment.seq);
        let right = left + u64::from(segment.len);
        self.count.segments += 1;
        self.full = self.full.max(u64::from(segment.len));
        let in_order = left <= self.nxt && right > self.nxt && self.above.is_empty();
        let new = self.take_in(left, right.min(self.nxt + self.window()), config);
        if !new {
            self.count.duplicates += 1;
        }
        self.pace(now);
        let need = if in_order && new { self.need_in_order() } else { AckNeed::Now };
        self.need = self.need.max(need);
        if need == AckNeed::Later && self.deadline == Time::NEVER {
            self.deadline = config.timer_clock.expiry(now, self.wait);
        }
    }

    /// How urgent the acknowledgment of data in order is: at least every second full segment
    /// (RFC 5681 §4.2).
    fn need_in_order(&self) -> AckNeed {
        let held = self.nxt - self.told;
        let every = matches!(self.acks, DelayedAck::Never) || self.quick_segs > 0;
        // Linux counts more than one full segment, RFC 5681 two: the same for full ones.
        if every || held > self.full { AckNeed::Now } else { AckNeed::Later }
    }

    /// Whether the octets brought anything new.
    fn take_in(&mut self, left: u64, right: u64, config: &RfcConfig) -> bool {
        if right <= self.nxt {
            self.report_duplicate(left, right, config);
            return false;
        }
        if left < self.nxt {
            self.report_duplicate(left, self.nxt, config);
        }
        if left > self.nxt {
            let before = self.above.total();
            let held = self.above.holding(left).filter(|range| range.1 >= right);
            if held.is_some() {
                self.report_duplicate(left, right, config);
            }
            let range = self.above.insert(left, right);
            self.blocks.retain(|block| block.1 < range.0 || block.0 > range.1);
            self.blocks.insert(0, range);
            self.blocks.truncate(SackBlocks::MAX + 1);
            return self.above.total() > before;
        }
        let before = self.nxt;
        self.nxt = right;
        if let Some((_, end)) = self.above.holding(right) {
            self.nxt = end;
        }
        self.above.remove_below(self.nxt);
        self.blocks.retain(|block| block.0 > self.nxt);
        self.deliver(self.nxt - before);
        true
    }

    fn deliver(&mut self, octets: u64) {
        self.count.delivered_bytes += octets;
        if !self.reads_at_once {
            self.unread += octets;
        }
    }

    fn report_duplicate(&mut self, left: u64, right: u64, config: &RfcConfig) {
        if config.dsack {
            self.duplicate = Some((left, right));
        }
    }

    /// Linux's wait for the next acknowledgment, from the gap since the last arrival
    /// (`tcp_event_data_recv`).
    fn pace(&mut self, now: Time) {
        let last = self.last_arrival.replace(now);
        let (DelayedAck::Adaptive { min, max }, Some(last)) = (self.acks, last) else { return };
        let gap = now.saturating_since(last);
        if gap <= min / 2 {
            self.wait = self.wait / 2 + min / 2;
        } else if gap < self.wait {
            self.wait = self.wait / 2 + gap;
        }
        self.wait = self.wait.min(max).max(min);
    }

    /// Takes the peer's FIN in where everything before it is there; whether it did.
    pub(super) fn take_fin(&mut self) -> bool {
        let reached = self.fin == Some(self.nxt);
        if reached {
            self.nxt += 1;
            self.need = AckNeed::Now;
        }
        reached
    }

    /// An acknowledgment goes out: the blocks it carries, `room` of them at most. A duplicate is
    /// reported first (RFC 2883 §4), then the block of the newest segment, then the ones most
    /// recently reported (RFC 2018 §4).
    pub(super) fn acknowledge(&mut self, room: usize) -> SackBlocks {
        self.told = self.nxt;
        self.deadline = Time::NEVER;
        self.need = AckNeed::None;
        self.quick_segs = self.quick_segs.saturating_sub(1);
        let mut blocks = SackBlocks::default();
        let wire = |octet| seq::to_wire(self.irs, octet);
        let duplicate = self.duplicate.take();
        for &(left, right) in duplicate.iter().chain(&self.blocks).take(room.min(SackBlocks::MAX)) {
            blocks.add(SackBlock { left: wire(left), right: wire(right) });
        }
        blocks
    }
}
