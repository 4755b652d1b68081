//! The receive window, and the memory of the receive buffer, from which the window is computed.

use crate::segment::{Flags, Segment};
use crate::units::Time;

use super::config::RfcConfig;
use super::delayed_ack::{ArrivalState, Reader};
use super::header::advertisable;
use super::receive::RfcReceiver;
use super::receive_memory::{Load, Opening, room_behind, truesize};

impl RfcReceiver {
    /// Begins to delay acknowledgments and to count memory when the connection is open.
    pub(super) fn open(&mut self, opening: &Opening, now: Time) {
        let advertised = self.advertised_window();
        self.ack_delay.open(opening.advertised, opening.smss.min(advertised / 2), now);
        if let Some(memory) = &mut self.memory {
            memory.open(advertised, opening, now);
        }
    }

    /// Returns the receive window that the last acknowledgment advertised.
    pub(super) fn advertised_window(&self) -> u64 {
        self.edge.saturating_sub(self.last_ack)
    }

    /// True if `segment` is a FIN without data that is accepted even if the receive window is
    /// closed.
    pub(super) fn takes_lone_fin(&self, left: u64, segment: &Segment) -> bool {
        self.memory.is_some()
            && left == self.nxt
            && segment.len == 0
            && segment.flags.without(Flags::PSH) == Flags::FIN.with(Flags::ACK)
    }

    /// True if the receive window has opened enough to be advertised immediately.
    pub(super) fn opened_enough(&self) -> bool {
        let before = self.window();
        let Some(memory) = &self.memory else {
            let wanted = self.wanted_edge().saturating_sub(self.nxt);
            return wanted >= before + self.least_step() && wanted >= 2 * before;
        };
        let wanted = memory.window(self.advertised_window(), self.ack_delay.full()).0;
        memory.is_small(before) && wanted > 0 && wanted >= 2 * before
    }

    /// Frees the memory of the octets that the application has read. The buffer may grow.
    #[inline]
    pub(super) fn note_reading(&mut self, now: Time) {
        let Some(memory) = &mut self.memory else { return };
        let (nxt, read_to) = (self.nxt, self.nxt - self.unread);
        let beyond = self.above.top().map_or(0, |top| top - nxt);
        let mut at = memory.release_next(read_to);
        loop {
            if let Some(copied) = memory.tuning().on_read(at, nxt - at, now) {
                memory.grow(copied, beyond);
            }
            if at >= read_to {
                break;
            }
            at = memory.release_next(read_to);
        }
    }

    /// The octet after the last octet for which the buffer has room, if memory is not counted.
    pub(super) fn wanted_edge(&self) -> u64 {
        self.nxt + advertisable(self.buffer.saturating_sub(self.unread), self.unscaled)
    }

    /// The least number of octets by which the window opens, if memory is not counted: a full
    /// segment or half the buffer, whichever is less.
    pub(super) fn least_step(&self) -> u64 {
        (self.buffer / 2).min(self.full.max(1))
    }

    /// Returns the window to advertise now. If memory is not counted, the window opens only if it
    /// can open by [`least_step`](Self::least_step).
    #[inline]
    pub(super) fn advance_window(&mut self) -> u64 {
        if let Some(memory) = &self.memory {
            let (advertised, remaining) = (self.advertised_window(), self.window());
            let (window, scarce) = memory.window(advertised, self.ack_delay.full());
            self.edge = self.nxt + memory.not_below(window, remaining);
            if scarce {
                self.ack_delay.on_scarcity();
            }
            return self.window();
        }
        let wanted = self.wanted_edge();
        if wanted >= self.edge + self.least_step() {
            self.edge = wanted;
        }
        self.window()
    }

    /// Returns the octet up to which the octets `left..right` are accepted. Returns `None` if there
    /// is no memory for these octets. In this case, the window closes if these octets were expected
    /// next (`tcp_data_queue`).
    #[inline]
    pub(super) fn admit(&mut self, left: u64, right: u64) -> Option<u64> {
        let Some(memory) = &mut self.memory else {
            return Some(right.min(self.nxt + self.window()));
        };
        if memory.takes_more() || left <= self.nxt && memory.is_read() {
            return Some(right);
        }
        if left <= self.nxt && right > self.nxt {
            (self.edge, self.last_ack) = (self.nxt, self.nxt);
        }
        None
    }

    /// Returns the memory that a segment needs.
    #[inline]
    pub(super) fn weigh(&self, segment: &Segment) -> Load {
        let len = u64::from(segment.len);
        let headers = u64::from(segment.size_bytes.saturating_sub(segment.len));
        let part = self.merged.map_or(len, |part| len.min(part.into()));
        let packets = if self.merged_here && part > 0 { len.div_ceil(part) } else { 1 };
        let is_one = packets == 1;
        let memory = packets * truesize(headers + if is_one { len } else { part });
        let room = if is_one { room_behind(headers + len) } else { 0 };
        Load { len, part, packets, memory, room }
    }

    /// Processes a segment with the next octets. The receive window had `window` octets.
    #[inline]
    pub(super) fn arrive(&mut self, segment: &Segment, window: u64, at: &ArrivalState) {
        let (full, advertised, load) =
            (self.ack_delay.full(), self.advertised_window(), self.weigh(segment));
        self.count.segments += load.packets - 1;
        self.ack_delay.on_arrival(segment, load.part, window, at);
        if self.marks.on_new_data(segment) {
            self.ack_delay.on_mark(window);
        }
        let packet = load.packet(self.octet(segment.seq));
        let Some(memory) = &mut self.memory else { return };
        if self.reads_at_once {
            memory.last_arrival_memory = load.memory;
        } else {
            memory.keep(packet);
        }
        if load.part > full {
            memory.learn_share(&load, advertised);
        }
        memory.tuning().on_window(packet.end, advertised, at.now);
        if memory.grow_threshold(&load, self.ack_delay.full()) {
            self.ack_delay.on_growth();
        }
    }

    /// Processes a segment that arrived beyond a hole, a range of octets that has not arrived
    /// (`tcp_data_queue_ofo`).
    pub(super) fn arrive_beyond(&mut self, segment: &Segment, window: u64) {
        let (full, advertised, load) =
            (self.ack_delay.full(), self.advertised_window(), self.weigh(segment));
        self.count.segments += load.packets - 1;
        if self.marks.on_new_data(segment) {
            self.ack_delay.on_mark(window);
        }
        let left = self.octet(segment.seq);
        let beyond = self.above.top().map_or(0, |top| top - self.nxt);
        let Some(memory) = &mut self.memory else { return };
        self.ack_delay.on_beyond(segment, load.part);
        if load.part > full {
            memory.learn_share(&load, advertised);
        }
        if memory.keep_beyond(left, &load, self.ack_delay.full(), beyond) {
            self.ack_delay.on_growth();
        }
    }

    /// If a hole was filled, some packets that were beyond it are now in order. These packets then
    /// wait for the application, or are read if the application reads data as it arrives. The
    /// segment that filled the hole ended at the octet `before`.
    pub(super) fn close_gap(&mut self, before: u64) {
        if let Some(memory) = &mut self.memory {
            memory.close_gap(before, self.nxt, !self.reads_at_once);
        }
    }

    /// Notes that data was delivered. An application that reads data as it arrives has read this
    /// data.
    #[inline]
    pub(super) fn note_delivery(&mut self, now: Time) {
        if self.reads_at_once {
            self.note_reading(now);
        }
    }

    /// Measures the round trip from the echoed timestamp of a full segment
    /// (`tcp_rcv_rtt_measure_ts`).
    #[inline]
    pub(super) fn note_echo(&mut self, segment: &Segment, now: Time) {
        if let Some(memory) = &mut self.memory
            && let Some(stamps) = segment.timestamps()
        {
            let is_full = u64::from(segment.len) >= self.ack_delay.full();
            memory.tuning().on_echo(stamps.ecr, is_full, self.unread == 0, now);
        }
    }

    /// Returns how the application reads arriving data.
    #[inline]
    pub(super) fn reader(&mut self, config: &RfcConfig) -> Reader {
        let reads = self.reads_at_once;
        let looks = config.receive_rules.full_needs_reader && !reads;
        Reader { reads, keeps_window: reads || looks && self.keeps_window() }
    }

    /// Whether the window that can be advertised now is at least as wide as the window that the
    /// last acknowledgment advertised. If no more than a full segment waits for its acknowledgment,
    /// the result does not matter, and is false.
    pub(super) fn keeps_window(&mut self) -> bool {
        let (advertised, full) = (self.advertised_window(), self.ack_delay.full());
        if self.nxt - self.last_ack <= full {
            return false;
        }
        let Some(memory) = &self.memory else {
            return self.wanted_edge().saturating_sub(self.nxt) >= advertised;
        };
        let (window, scarce) = memory.window(advertised, full);
        if scarce {
            self.ack_delay.on_scarcity();
        }
        window >= advertised
    }
}
