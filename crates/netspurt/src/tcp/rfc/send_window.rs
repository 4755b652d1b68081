//! The send sequence space (which octets were written, sent and acknowledged), and the peer's
//! window (RFC 9293 §3.3.1).

use std::collections::VecDeque;

use crate::packed::{packed, packed_value};
use crate::seq;

use super::config::RfcConfig;
use super::written::WrittenPart;

/// The largest receive window, in octets, that one segment may fill completely (`TCP_MSS_DEFAULT`,
/// RFC 9293 §3.7.1). A segment fills at most half of a larger window. The constant has an effect
/// only with the rule `halves_small_windows`.
const DEFAULT_MSS: u64 = 536;

/// The maximum number of octets in one of the buffers in which the host keeps written data. Such a
/// buffer also holds no more octets than half of the peer's largest window.
const BUFFER_MAX: u64 = 1 << 16;

/// Which octets were written, sent and acknowledged, and how many octets the peer accepts. Octets
/// are counted from the SYN, which is 0.
#[derive(Debug)]
pub(in crate::tcp) struct SendWindow {
    /// The number of our SYN (ISS).
    iss: u32,
    /// The oldest octet that is not acknowledged (SND.UNA).
    pub(super) una: u64,
    /// The next octet to send (SND.NXT).
    pub(super) nxt: u64,
    /// The octet after the last octet that the application wrote.
    pub(super) end: u64,
    /// The end of the last write, if this write needs PSH. Otherwise the value is 0.
    pushed: u64,
    /// The ends of earlier writes that need PSH and are not sent yet. If a later write continues
    /// the same buffer of the host, the end of the earlier write is not kept.
    pushed_before: VecDeque<u64>,
    /// Whether the application has closed the connection. The FIN then has the number `end`.
    pub(super) closing: bool,
    /// Octets of payload in a full segment, after options.
    pub(super) smss: u64,
    /// The octets of payload in a full segment for a peer with a large window.
    smss_max: u64,
    /// However small the peer's window is, a full segment has at least this many octets.
    pub(super) smss_min: u64,
    /// Whether a small window makes segments smaller.
    halves: bool,
    /// The peer's window (SND.WND).
    peer: u64,
    /// The maximum of the peer's window so far (Max(SND.WND)).
    peer_max: u64,
    /// The sequence and acknowledgment numbers of the segment that set the peer's window (SND.WL1,
    /// SND.WL2).
    last_update: (u64, u64),
    pub(super) short: ShortSegments,
    /// Whether the FIN waits for room in the peer's window.
    fin_needs_window: bool,
    /// Whether an ACK that brings neither data nor progress may enlarge or close the peer's window,
    /// but not reduce it to another size.
    keeps_larger: bool,
    /// The ends of records ([`Record`]), and of small buffers of the host, that are not completely
    /// sent. No segment has octets from both sides of one of these ends.
    records: VecDeque<Record>,
}

packed!(SendWindow { una, nxt, end, pushed, pushed_before, closing, smss, smss_max, smss_min, peer, peer_max, last_update, short, records } keeps { iss, halves, fin_needs_window, keeps_larger });

/// The end of a record, or of a small buffer of the host. A record is data that shares no segment
/// with later data (Linux's `MSG_EOR`).
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// The octet after the last octet of the record or buffer.
    end: u64,
    /// Whether the octets after this end may join the octets before it in one packet.
    joins: bool,
}

packed_value!(Record { end, joins });

/// The rules that hold back a segment that is shorter than a full segment.
#[derive(Debug)]
pub(in crate::tcp) struct ShortSegments {
    /// Whether the segment waits while any octet is outstanding (RFC 896).
    pub(in crate::tcp) nagle: bool,
    /// Whether the rule `nagle` lets the segment wait only while another short segment is
    /// outstanding (Minshall 1999).
    minshall: bool,
    /// Whether the segment always waits for more octets.
    pub(in crate::tcp) corked: bool,
    /// The octet after the last short segment sent.
    end: u64,
}

packed!(ShortSegments { nagle, minshall, corked, end });

impl ShortSegments {
    /// Whether a short segment waits while `flight` octets are outstanding; `una` is the first of
    /// these octets.
    fn wait(&self, una: u64, flight: u64) -> bool {
        let outstanding = if self.minshall { self.end > una } else { flight > 0 };
        self.nagle && outstanding || self.corked
    }
}

impl SendWindow {
    pub(super) fn new(config: &RfcConfig) -> Self {
        Self {
            iss: config.iss,
            una: 0,
            nxt: 0,
            end: 1,
            pushed: 0,
            pushed_before: VecDeque::new(),
            closing: false,
            smss: u64::from(config.mss),
            smss_max: u64::from(config.mss),
            smss_min: 0,
            halves: config.send_rules.halves_small_windows,
            peer: 0,
            peer_max: 0,
            last_update: (0, 0),
            short: ShortSegments {
                nagle: config.nagle,
                minshall: config.minshall,
                corked: false,
                end: 0,
            },
            fin_needs_window: config.send_rules.fin_needs_window,
            keeps_larger: config.send_rules.keeps_larger_window,
            records: VecDeque::new(),
        }
    }

    /// Ends a record after the octets written so far.
    pub(super) fn end_record(&mut self) {
        if self.records.back().is_some_and(|last| last.end == self.end) {
            self.records.pop_back();
        }
        if self.end > self.nxt {
            self.records.push_back(Record { end: self.end, joins: false });
        }
    }

    /// The end of the current record or small buffer. The result is `u64::MAX` if there is neither
    /// a record nor a small buffer. The next segment has no octets beyond this end.
    pub(super) fn record_end(&self) -> u64 {
        self.records.front().map_or(u64::MAX, |record| record.end)
    }

    /// Whether the first record that is not completely sent ends at the octet `at`.
    #[inline]
    pub(super) fn ends_record(&self, at: u64) -> bool {
        self.records.front().is_some_and(|record| record.end == at && !record.joins)
    }

    /// Whether the next octets are in a small buffer of the host that further octets may join.
    pub(super) fn grows_packets(&self) -> bool {
        self.records.front().is_some_and(|first| first.joins)
    }

    /// Moves octets of the host's second buffer into the first buffer, so that a packet has up to
    /// `octets_max` octets (`tcp_grow_skb`). Octets of further buffers follow only at the next
    /// attempt to send.
    pub(super) fn grow_packet(&mut self, octets_max: u64) {
        let Some(first) = self.records.front().filter(|first| first.joins).copied() else { return };
        let next = self.records.get(1).map_or(self.end, |second| second.end);
        let end = next.min(self.nxt + octets_max);
        if end <= first.end {
            return;
        }
        if end == next {
            self.records.pop_front();
        } else {
            self.records[0].end = end;
        }
        // If a write that needs PSH ends within the packet, the PSH moves to the packet's end.
        for pushed in self.pushed_before.iter_mut().take_while(|pushed| **pushed < end) {
            *pushed = end;
        }
    }

    /// The largest window that the peer ever offered.
    pub(super) fn peer_max(&self) -> u64 {
        self.peer_max
    }

    /// Whether the octet with the number `wire` on the wire is outstanding, or is the next octet to
    /// be sent.
    pub(in crate::tcp) fn has_out(&self, wire: u32) -> bool {
        (self.una..=self.nxt).contains(&self.octet(wire))
    }

    /// Returns our octet whose number on the wire is `wire`. The result is counted from the SYN.
    #[inline]
    pub(in crate::tcp) fn octet(&self, wire: u32) -> u64 {
        seq::from_wire(self.iss, wire, self.una)
    }

    /// Returns the number on the wire of our octet `octet`.
    #[inline]
    pub(super) fn on_wire(&self, octet: u64) -> u32 {
        seq::to_wire(self.iss, octet)
    }

    /// Octets of data acknowledged.
    pub(in crate::tcp) fn acknowledged(&self) -> u64 {
        self.una.clamp(1, self.end) - 1
    }

    /// Octets of data sent, counted once.
    pub(super) fn sent(&self) -> u64 {
        self.nxt.clamp(1, self.end) - 1
    }

    /// Octets of data written and not acknowledged.
    pub(in crate::tcp) fn unacknowledged(&self) -> u64 {
        self.end - self.una.clamp(1, self.end)
    }

    /// Whether our FIN was sent and acknowledged.
    pub(super) fn is_fin_acked(&self) -> bool {
        self.closing && self.una > self.end
    }

    /// Octets sent and not acknowledged (FlightSize of RFC 5681 §2).
    pub(super) fn flight(&self) -> u64 {
        self.nxt - self.una
    }

    /// The number of segments in a span of octets. A shorter last segment counts as one.
    pub(super) fn segs(&self, octets: u64) -> u64 {
        octets.div_ceil(self.smss)
    }

    /// Octets not sent yet, the FIN included.
    pub(super) fn unsent(&self) -> u64 {
        (self.end + u64::from(self.closing)).saturating_sub(self.nxt)
    }

    /// Octets of data not sent yet.
    pub(super) fn unsent_data(&self) -> u64 {
        self.end.saturating_sub(self.nxt)
    }

    /// Octets of data that the next segment may have if cwnd and the peer's window have room.
    pub(super) fn next_data(&self) -> u64 {
        self.unsent_data().min(self.smss).min(self.record_end() - self.nxt)
    }

    /// The peer's window.
    pub(super) fn peer(&self) -> u64 {
        self.peer
    }

    /// The octet after the last octet for which the peer's window has room.
    pub(super) fn peer_edge(&self) -> u64 {
        self.una + self.peer
    }

    /// Whether the next full segment ends at the octet `edge` or before it.
    #[inline]
    pub(super) fn has_full_below(&self, edge: u64) -> bool {
        self.nxt + self.smss <= edge
    }

    /// The number of octets from `nxt` on for which the peer's window has room.
    pub(super) fn room(&self) -> u64 {
        self.peer_edge().saturating_sub(self.nxt)
    }

    /// Whether the segment that begins at octet `seq` may be retransmitted. The rules may forbid a
    /// retransmission beyond the peer's window, after the peer has shrunk it. The segment that
    /// begins at the oldest outstanding octet may always be retransmitted.
    pub(super) fn takes_copy(&self, seq: u64, config: &RfcConfig) -> bool {
        seq == self.una || seq < self.peer_edge() || !config.send_rules.copies_need_window
    }

    /// Whether there are new octets for which the peer's window has room.
    pub(super) fn has_new_data(&self) -> bool {
        self.unsent() > 0 && self.peer > self.flight()
    }

    /// Reads the peer's SYN, which offers segments of `smss` octets and the peer's first window.
    pub(super) fn on_syn(&mut self, smss: u64, window: u64) {
        (self.smss, self.smss_max) = (smss, smss);
        (self.peer, self.peer_max) = (window, window);
    }

    /// Takes the peer's window when a segment with the numbers `last_update` acknowledges our SYN.
    /// `window` is the peer's window in this segment, or `None` if the segment is a SYN.
    pub(super) fn open(&mut self, last_update: (u64, u64), window: Option<u64>) {
        self.una = 1;
        self.last_update = last_update;
        self.peer = window.unwrap_or(self.peer);
        self.peer_max = self.peer;
        self.bound();
    }

    /// Limits a full segment by the largest window that the peer offered.
    fn bound(&mut self) {
        let payload_max =
            if self.peer_max > DEFAULT_MSS { self.peer_max / 2 } else { self.peer_max };
        // A peer's window that never opened does not limit segments.
        if self.halves && self.peer_max > 0 {
            self.smss = self.smss_max.min(payload_max.max(self.smss_min));
        }
    }

    /// Whether a segment that begins at the peer's octet `seq` and acknowledges our octets up to
    /// `ack` may change the peer's window. The argument `window` is the window that this segment
    /// advertises.
    #[inline]
    pub(super) fn may_change(&self, seq: u64, ack: u64, window: u64) -> bool {
        if self.keeps_larger {
            let (last_seq, _) = self.last_update;
            let opens = window > self.peer || window == 0;
            ack > self.una || seq > last_seq || seq == last_seq && opens
        } else {
            (seq, ack) >= self.last_update
        }
    }

    /// Reads the peer's window from a segment that begins at the peer's octet `seq` and
    /// acknowledges our octets up to `ack`. The caller has not handled this acknowledgment yet.
    /// Returns whether the window changed (RFC 9293 §3.10.7.4). With `keeps_larger`, a segment that
    /// may change the window counts as a change, even if it has the same window
    /// (`FLAG_WIN_UPDATE`).
    #[inline]
    pub(super) fn update(&mut self, seq: u64, ack: u64, window: u64) -> bool {
        if !self.may_change(seq, ack, window) {
            return false;
        }
        self.last_update = (seq, ack);
        let moved = window != self.peer || self.keeps_larger;
        self.peer = window;
        if window > self.peer_max {
            self.peer_max = window;
            self.bound();
        }
        moved
    }

    /// Whether an acknowledgment of octets up to `ack` is too old: it lies more than the largest
    /// window below `una` (RFC 5961 §5.2).
    pub(super) fn is_too_old(&self, ack: u64) -> bool {
        ack + self.peer_max < self.una
    }

    /// Accepts a part of the octets that the application writes.
    pub(super) fn append(&mut self, part: &WrittenPart) {
        if part.starts && self.pushed > self.nxt {
            self.pushed_before.push_back(self.pushed);
        }
        let before = self.end;
        self.end = before.saturating_add(part.octets);
        if part.starts && self.peer_max < 2 * BUFFER_MAX {
            // The peer's largest window limits the size of a host's buffer while the host fills the
            // buffer (`tcp_bound_to_half_wnd`).
            self.records.push_back(Record { end: self.end, joins: true });
        } else if let Some(last) = self.records.back_mut()
            && last.joins
            && last.end == before
        {
            last.end = self.end;
        }
        self.pushed = if part.pushed { self.end } else { 0 };
    }

    /// Whether the next segment has PSH if it ends at the octet `end`. It has PSH in three cases: a
    /// record ends there, the last write needs PSH and ends there, or an earlier write that needs
    /// PSH ends within the segment.
    pub(super) fn is_pushed(&self, end: u64) -> bool {
        let ends_record = self.records.front().is_some_and(|one| one.end == end && !one.joins);
        let earlier = self.pushed_before.front();
        let ends_write = || earlier.is_some_and(|one| *one <= end);
        end == self.pushed || ends_record || ends_write()
    }

    /// Whether a short segment at the end of all data may be sent now.
    pub(super) fn may_send_short_last(&self) -> bool {
        self.closing || self.may_send_short_inner()
    }

    /// True if a short segment before the end of the data may be sent now.
    pub(super) fn may_send_short_inner(&self) -> bool {
        !self.short.wait(self.una, self.flight())
    }

    /// Returns how many octets of data the next new segment has. The result is zero if only the FIN
    /// is left. It is `None` if there is nothing to send, or if something other than cwnd holds the
    /// segment back. If `free` is true, the rules of the field `short` do not hold the segment
    /// back.
    pub(super) fn next_len(&self, free: bool) -> Option<u64> {
        if self.unsent() == 0 {
            return None;
        }
        let data = self.unsent_data();
        let record = self.record_end() - self.nxt;
        let len = self.next_data().min(self.room());
        if data == 0 {
            // Only the FIN is left. Without `fin_needs_window`, it may be sent into a closed
            // window, as a probe may.
            return (!self.fin_needs_window || self.room() > 0).then_some(0);
        }
        if len == 0 {
            return None;
        }
        let all = len == data;
        let full = len == self.smss;
        // A segment that ends with a record does not wait for later octets, except at the end of
        // all octets written.
        if full || all && self.closing || len == record && !all {
            return Some(len);
        }
        // A short segment may be sent under two conditions: the rules of the field `short` do not
        // hold it back, and it has all unsent octets or at least half of the peer's largest window
        // (RFC 9293 §3.8.6.2.1).
        let held = !free && self.short.wait(self.una, self.flight());
        let half = len >= self.peer_max / 2;
        ((all || half) && !held).then_some(len)
    }

    /// Notes that the next `len` octets are sent. Returns whether a FIN follows them.
    #[inline]
    pub(super) fn send(&mut self, len: u64) -> bool {
        let end = self.nxt + len;
        let fin = self.closing && end == self.end && (!self.fin_needs_window || self.room() > len);
        self.nxt = end + u64::from(fin);
        while self.record_end() <= self.nxt {
            self.records.pop_front();
        }
        while self.pushed_before.front().is_some_and(|end| *end <= self.nxt) {
            self.pushed_before.pop_front();
        }
        if len < self.smss {
            self.short.end = self.nxt;
        }
        fin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A connection with segments of 1000 octets to a peer with a window of 4000.
    fn opened() -> SendWindow {
        let mut window = SendWindow::new(&RfcConfig::rfc_2026());
        window.on_syn(1000, 4000);
        (window.nxt, window.una) = (1, 1);
        window
    }

    #[test]
    fn flight_and_room_add_up_to_the_peers_window() {
        let mut window = opened();
        window.end += 10_000;
        window.send(1000);
        window.send(1000);
        assert_eq!((window.flight(), window.room(), window.unsent()), (2000, 2000, 8000));
        assert!(window.has_new_data());
        window.update(5, 1, 2000);
        assert!(window.room() == 0 && !window.has_new_data());
    }

    /// RFC 9293 §3.10.7.4: SND.WL1 and SND.WL2 prevent old segments from setting the peer's
    /// window.
    #[test]
    fn an_old_segment_does_not_change_the_peers_window() {
        let mut window = opened();
        assert!(window.update(10, 5, 3000) && !window.update(10, 5, 3000));
        assert!(!window.update(9, 5, 1) && !window.update(10, 4, 1) && window.peer() == 3000);
        assert!(window.update(10, 6, 1));
    }

    /// Linux's rule (`tcp_may_update_window`) for an ACK that brings neither data nor progress.
    #[test]
    fn an_ack_without_news_enlarges_or_closes_a_window_but_never_reduces_it() {
        let mut window = opened();
        (window.una, window.keeps_larger) = (5, true);
        assert!(window.update(10, 5, 3000));
        assert!(!window.update(10, 5, 2999) && window.update(10, 5, 3001));
        assert!(window.update(10, 5, 0) && window.update(10, 5, 1));
        assert!(!window.update(9, 5, 7) && window.update(11, 5, 0) && window.update(9, 6, 7));
    }

    /// RFC 5961 §5.2: the smallest acceptable ACK is SND.UNA - MAX.SND.WND.
    #[test]
    fn an_ack_is_too_old_if_it_is_below_una_by_more_than_the_largest_window() {
        let mut window = opened();
        window.una = 10_000;
        assert!(!window.is_too_old(6000) && window.is_too_old(5999));
    }

    /// RFC 896: a short segment waits for all outstanding octets. With Minshall 1999, it waits only
    /// for short segments.
    #[test]
    fn nagle_lets_a_short_segment_wait_for_all_octets_and_minshall_only_for_short_segments() {
        let mut window = opened();
        window.end += 1100;
        let next = |window: &mut SendWindow| {
            [false, true].map(|minshall| {
                window.short.minshall = minshall;
                window.next_len(false)
            })
        };
        assert_eq!(next(&mut window), [Some(1000); 2]);
        window.send(1000);
        assert_eq!(next(&mut window), [None, Some(100)]);
        window.send(100);
        window.end += 100;
        assert_eq!(next(&mut window), [None; 2]);
        window.short.nagle = false;
        assert_eq!(next(&mut window), [Some(100); 2]);
        window.short.corked = true;
        assert_eq!(next(&mut window), [None; 2]);
    }

    #[test]
    fn the_fin_is_sent_with_the_last_octets_and_counts_as_one_octet() {
        let mut window = opened();
        window.end += 1500;
        window.closing = true;
        assert!(!window.send(1000));
        assert_eq!(window.next_len(false), Some(500));
        assert!(window.send(500));
        assert_eq!((window.unsent(), window.flight()), (0, 1501));
        window.una = window.nxt;
        assert!(window.is_fin_acked());
        assert_eq!((window.acknowledged(), window.unacknowledged()), (1500, 0));
    }

    /// RFC 9293 §3.8.6.2.1: half of the largest window may be sent although it is not a full
    /// segment.
    #[test]
    fn half_of_the_peers_largest_window_may_be_sent() {
        let mut window = opened();
        window.end += 5000;
        window.update(5, 1, 500);
        assert_eq!(window.next_len(false), None);
        window.on_syn(1000, 900);
        window.update(6, 1, 450);
        assert_eq!(window.next_len(false), Some(450));
    }
}
