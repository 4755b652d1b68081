//! The receiving half of a connection: reassembly, the receive window, and when to acknowledge.

use crate::packed::packed;
use crate::segment::{Flags, SackBlock, SackBlocks, Segment};
use crate::seq;
use crate::units::{Duration, Time};
use crate::wire::TCP_HEADER_BYTES;

use super::super::receiver::ReceiveCount;
use super::compress::SackCompression;
use super::config::RfcConfig;
use super::delayed_ack::{AckDelay, AckNeed, ArrivalState, Reader};
use super::header::{Agreed, HeaderState, advertisable};
use super::info::ReceivingInfo;
use super::marks::MarkEcho;
use super::receive_memory::ReceiveMemory;
use super::rules::ReceiveRules;
use crate::ranges::{Range, Ranges};

/// The receiving half of a connection. Octets are counted from the peer's SYN, which is 0, so the
/// peer's first octet of data is 1.
#[derive(Debug)]
pub(in crate::tcp) struct RfcReceiver {
    /// The peer's initial sequence number.
    irs: u32,
    /// The next octet expected.
    pub(super) nxt: u64,
    /// The value of `nxt` in the last acknowledgment.
    pub(super) last_ack: u64,
    /// The right edge of the last advertised window. The edge moves left only if there is no memory
    /// for the next octets (RFC 9293 §3.8.6, `tcp_data_queue`).
    pub(super) edge: u64,
    /// The octets that have arrived beyond a hole (a range of octets that has not arrived).
    pub(super) above: Ranges,
    /// The blocks that SACK reports, newest first.
    blocks: Vec<Range>,
    /// A duplicate to report first in the next acknowledgment (RFC 2883 §4).
    duplicate: Option<Range>,
    /// The blocks of the next acknowledgment, if this acknowledgment must report the state from
    /// before the arrival of the current segment. These blocks then replace `blocks` and
    /// `duplicate`. Otherwise this list is empty.
    early: Vec<Range>,
    /// The number of octets that arrived in order and that the application has not read.
    pub(super) unread: u64,
    /// Whether the application reads data as it arrives.
    pub(super) reads_at_once: bool,
    /// Octets of the receive buffer, if memory is not counted.
    pub(super) buffer: u64,
    /// Whether windows are not scaled, so that no window is larger than 65,535 octets (RFC 9293
    /// §3.1). False until the peer's SYN has arrived. Also false if memory is counted, because
    /// Linux limits only the field, and accepts what its memory has room for (`tcp_select_window`).
    pub(super) unscaled: bool,
    /// The memory of the buffer. The value is `None` if memory is not counted.
    pub(super) memory: Option<ReceiveMemory>,
    /// Octets of the window that our SYN offers, before rounding.
    first_max: u64,
    /// Octets of payload of the largest segment seen.
    pub(super) full: u64,
    /// The number of the peer's FIN, if it is known.
    fin: Option<u64>,
    pub(super) ack_delay: AckDelay,
    compression: SackCompression,
    pub(super) marks: MarkEcho,
    /// When a delayed acknowledgment is sent.
    pub(super) deadline: Time,
    pub(super) need: AckNeed,
    /// If this end has merged the arriving segment, or if segments are merged on their way
    /// (`merged_mss`): the octets of payload in each of the merged segments. Otherwise `None`.
    pub(super) merged: Option<u16>,
    /// Whether this end, and not the network card, merges segments.
    pub(super) merged_here: bool,
    /// When the last challenge ACK was sent.
    pub(super) challenged: Option<Time>,
    pub(in crate::tcp) count: ReceiveCount,
}

packed!(RfcReceiver { irs, nxt, last_ack, edge, above, blocks, duplicate, early, unread, unscaled, reads_at_once, memory, full, fin, ack_delay, compression, marks, deadline, need, challenged, count } keeps { buffer, first_max, merged, merged_here });

impl RfcReceiver {
    pub(super) fn new(config: &RfcConfig) -> Self {
        let memory = ReceiveMemory::new(config);
        let offered = config.receive_buffer_bytes.min(config.first_window_bytes);
        Self {
            irs: 0,
            nxt: 1,
            last_ack: 1,
            edge: 1,
            above: Ranges::default(),
            blocks: Vec::new(),
            duplicate: None,
            early: Vec::new(),
            unread: 0,
            unscaled: false,
            reads_at_once: true,
            buffer: config.receive_buffer_bytes,
            first_max: memory.as_ref().map_or(offered, ReceiveMemory::first_window),
            memory,
            full: 0,
            fin: None,
            ack_delay: AckDelay::new(config),
            compression: SackCompression::new(config),
            marks: MarkEcho::new(config),
            deadline: Time::NEVER,
            need: AckNeed::None,
            merged: config.merged_mss,
            merged_here: !config.receive_rules.gro.is_zero(),
            challenged: None,
            count: ReceiveCount::default(),
        }
    }

    /// Sets the state at the beginning, when the peer's SYN has arrived. The SYN has the number
    /// `irs`. `agreed` has the options on which both ends agreed.
    pub(super) fn begin(&mut self, irs: u32, agreed: &Agreed) {
        self.irs = irs;
        self.compression.begin(agreed.sack);
        self.marks.begin(agreed.ecn);
        self.unscaled = !agreed.scaling && self.memory.is_none();
        self.edge = self.nxt + advertisable(self.window(), self.unscaled);
    }

    /// Returns the window that a SYN offers. The window is rounded down to a multiple of `unit`, if
    /// `unit` is given and smaller than the window.
    pub(super) fn first_window(&mut self, unit: Option<u64>) -> u64 {
        let over =
            unit.filter(|unit| *unit < self.first_max).map_or(0, |unit| self.first_max % unit);
        self.edge = self.edge.max(self.nxt + advertisable(self.first_max - over, self.unscaled));
        self.window()
    }

    /// Takes over the settings that the application made in the receiver `other`.
    pub(super) fn copy_settings_of(&mut self, other: &Self) {
        self.reads_at_once = other.reads_at_once;
        if let Some(memory) = &other.memory {
            self.set_accepted(memory.accepted);
        }
    }

    /// Sets whether an application has accepted the connection.
    pub(super) fn set_accepted(&mut self, accepted: bool) {
        if let Some(memory) = &mut self.memory {
            memory.accepted = accepted;
        }
    }

    /// The sequence number on the wire of the next octet that is expected.
    #[inline]
    pub(super) fn next_on_wire(&self) -> u32 {
        seq::to_wire(self.irs, self.nxt)
    }

    /// True if the peer has closed its direction, and all its octets were delivered.
    pub(in crate::tcp) fn is_closed(&self) -> bool {
        self.fin.is_some_and(|fin| self.nxt > fin)
    }

    /// Returns the number of an octet, counted from the peer's SYN. `wire` is the octet's sequence
    /// number on the wire.
    pub(super) fn octet(&self, wire: u32) -> u64 {
        seq::from_wire(self.irs, wire, self.nxt)
    }

    /// Returns the number of octets that the peer may send starting at `nxt`.
    pub(super) fn window(&self) -> u64 {
        self.edge.saturating_sub(self.nxt)
    }

    /// Whether `segment` ends beyond the octets that have arrived in order.
    pub(in crate::tcp) fn expects(&self, segment: &Segment) -> bool {
        self.octet(segment.seq) + u64::from(segment.len) > self.nxt
    }

    /// Requests a challenge ACK (RFC 5961), unless the last challenge ACK was sent less than
    /// `challenge_interval` ago.
    pub(super) fn challenge(&mut self, now: Time, config: &RfcConfig) {
        if self.may_challenge(now, config) {
            self.need = AckNeed::Now;
        }
    }

    /// Returns whether a challenge ACK may be sent at `now`. If it may be sent, it counts as sent.
    pub(super) fn may_challenge(&mut self, now: Time, config: &RfcConfig) -> bool {
        let interval = config.receive_rules.challenge_interval;
        let may = self.challenged.is_none_or(|at| now.saturating_since(at) >= interval);
        if may {
            self.challenged = Some(now);
        }
        may
    }

    /// Returns the number of octets that were delivered and not read.
    pub(in crate::tcp) fn unread(&self) -> u64 {
        self.unread
    }

    /// The state of the receiving half, for reports.
    pub(super) fn info(&self, config: &RfcConfig) -> ReceivingInfo {
        ReceivingInfo {
            window: self.advertised_window(),
            has_fin: self.is_closed(),
            memory: self.memory.as_ref().map(ReceiveMemory::info),
            count: self.count,
            mss: config.mss,
            packet_bytes: (config.ip_header_bytes + TCP_HEADER_BYTES + config.mss).into(),
            ack_wait: self.ack_delay.longest(),
            peer_smss: self.ack_delay.full(),
        }
    }

    /// Whether arrived octets wait for their acknowledgment.
    fn is_owed(&self) -> bool {
        self.need > AckNeed::None || self.deadline < Time::NEVER
    }

    /// Notes that the application read `octets`. Returns whether an acknowledgment must be sent.
    /// There are two reasons: an acknowledgment waited for the reading, or the window opened enough
    /// to be advertised immediately. The second reason applies only if the window opens to at least
    /// twice the window that the peer knows, as in Linux. So a wide window does not cause an
    /// acknowledgment at each read. If memory is not counted, the second reason applies only if the
    /// window also opens by the step of RFC 9293 §3.8.6.2.2. After the peer's FIN, no window is
    /// advertised.
    pub(super) fn read(&mut self, octets: u64, now: Time) -> bool {
        self.unread -= octets.min(self.unread);
        self.note_reading(now);
        let held = self.nxt - self.last_ack;
        let was_requested = self.unread == 0 && self.ack_delay.is_sent_when_all_is_read()
            || self.ack_delay.is_sent_on_reading(held);
        self.is_owed() && was_requested || !self.is_closed() && self.opened_enough()
    }

    /// Whether a segment with the octets `left..right` is accepted: whether any of its octets is in
    /// the window (RFC 9293 §3.4). With the switch `takes_last_again`, a segment without new octets
    /// is also accepted if it ends at the octet of the last acknowledgment or later. This holds
    /// until the peer's FIN is accepted.
    pub(super) fn accepts(&self, left: u64, right: u64, rules: &ReceiveRules) -> bool {
        let edge = self.nxt + self.window();
        if rules.takes_last_again
            && !self.is_closed()
            && (self.last_ack..=self.nxt).contains(&right)
        {
            return true;
        }
        if left == right {
            let last = if self.memory.is_some() { edge } else { edge.saturating_sub(1) };
            return left == self.nxt || left >= self.nxt && left <= last;
        }
        if right > edge && self.memory.as_ref().is_some_and(|memory| !memory.is_read()) {
            // `tcp_sequence`: a segment that ends beyond the window is accepted only if no data
            // waits for the application. The segment is then accepted completely.
            return false;
        }
        left < edge && right > self.nxt && edge > self.nxt
    }

    /// Processes the payload of a segment.
    #[inline]
    pub(super) fn on_data(&mut self, segment: &Segment, at: &ArrivalState, config: &RfcConfig) {
        let left = self.octet(segment.seq);
        let right = left + u64::from(segment.len);
        self.count.segments += 1;
        self.count.out_of_order += u64::from(left > self.nxt);
        self.ack_delay.is_due = true;
        self.note_echo(segment, at.now);
        self.full = self.full.max(u64::from(segment.len));
        let (window, had_gap) = (self.window(), !self.above.is_empty());
        let (old, is_beyond) = (right <= self.nxt, left > self.nxt);
        let admitted = if old { Some(right) } else { self.admit(left, right) };
        let Some(right) = admitted else { return self.need = AckNeed::Now };
        end_report(self, segment);
        let new = self.take_in(left, right, config);
        self.count.duplicates += u64::from(!new);
        if old {
            self.ack_delay.on_duplicate(window);
        } else if is_beyond {
            self.arrive_beyond(segment, window);
        } else {
            self.arrive(segment, window, at);
            self.close_gap(right);
            self.note_delivery(at.now);
        }
        let held = self.nxt - self.last_ack;
        let reader = self.reader(config);
        if !is_beyond && !had_gap {
            let need = self.ack_delay.need(held, reader);
            self.ask_for(need, at, config);
        } else if !self.early.is_empty() || !self.waits_behind_hole(held, reader, at) {
            self.need = self.need.max(AckNeed::Now);
        }
    }

    /// Decides whether an acknowledgment with SACK reports waits for more reports (see
    /// [`SackCompression`]). If the acknowledgment waits, sets its deadline. The number of octets
    /// that arrived in order and are not acknowledged is `held`.
    fn waits_behind_hole(&mut self, held: u64, reader: Reader, at: &ArrivalState) -> bool {
        if self.above.is_empty() || self.ack_delay.is_urgent(held, reader) {
            return false;
        }
        let rtt = self.memory.as_ref().map_or(Duration::ZERO, ReceiveMemory::rtt);
        let wait = self.compression.wait(self.nxt, at.srtt.map_or(rtt, |srtt| rtt.min(srtt)));
        self.deadline = wait.map_or(self.deadline, |wait| self.deadline.min(at.now + wait));
        wait.is_some()
    }

    /// Called when the wait of a delayed acknowledgment is over. Adapts the length of the next
    /// wait, unless the acknowledgment waited because of [`SackCompression`].
    pub(super) fn on_wait_over(&mut self, rto: Duration) {
        if !self.compression.is_waiting() {
            self.ack_delay.on_wait_over(rto);
        }
    }

    /// Switches immediate acknowledgments on or off, as the application requests. Returns whether
    /// an owed acknowledgment must be sent.
    pub(super) fn set_quick_acks(&mut self, quick: bool, now: Time) -> bool {
        let owed = quick && self.deadline < Time::NEVER;
        let at_once = self.ack_delay.set_quick(quick, owed);
        owed && (at_once || self.read(0, now))
    }

    /// True if [`on_next`](Self::on_next) may process the next `len` octets: these octets fit into
    /// the receive window, no octets have arrived beyond a hole, and no FIN has arrived.
    #[inline]
    pub(super) fn takes_next(&self, len: u64) -> bool {
        self.above.is_empty() && self.fin.is_none() && len <= self.window()
    }

    /// Processes the payload that was expected next, with the same effect as
    /// [`on_data`](Self::on_data).
    #[inline]
    pub(super) fn on_next(&mut self, segment: &Segment, at: &ArrivalState, config: &RfcConfig) {
        let (len, window) = (u64::from(segment.len), self.window());
        self.count.segments += 1;
        self.note_echo(segment, at.now);
        self.full = self.full.max(len);
        self.ack_delay.is_due = true;
        if self.admit(self.nxt, self.nxt + len).is_none() {
            return self.need = AckNeed::Now;
        }
        end_report(self, segment);
        self.nxt += len;
        self.deliver(len);
        self.arrive(segment, window, at);
        self.note_delivery(at.now);
        let reader = self.reader(config);
        let need = self.ack_delay.need(self.nxt - self.last_ack, reader);
        self.ask_for(need, at, config);
    }

    /// Records how urgent the acknowledgment is, and starts its wait if it may wait.
    #[inline]
    fn ask_for(&mut self, need: AckNeed, at: &ArrivalState, config: &RfcConfig) {
        self.need = self.need.max(need);
        if need == AckNeed::Later {
            self.hold(at, config);
        }
    }

    /// Lets the acknowledgment wait. If the acknowledgment already waits and its wait is nearly
    /// over, the acknowledgment is sent immediately.
    fn hold(&mut self, at: &ArrivalState, config: &RfcConfig) {
        if self.deadline <= self.ack_delay.nearly_over(at) {
            self.need = AckNeed::Now;
            return;
        }
        let due = config.timer_clock.expiry(at.now, self.ack_delay.wait(at));
        self.deadline = self.deadline.min(due);
    }

    /// Accepts the octets `left..right`. Returns whether any of them are new.
    fn take_in(&mut self, left: u64, right: u64, config: &RfcConfig) -> bool {
        if right <= self.nxt {
            self.report_duplicate(left, right, config);
            return false;
        }
        if left < self.nxt {
            self.report_duplicate(left, self.nxt, config);
        } else if config.receive_rules.reports_overlaps {
            self.report_overlap(left, right, config);
        }
        if left > self.nxt {
            let before = self.above.total();
            let held = self.above.holding(left).filter(|range| range.1 >= right);
            if held.is_some() {
                self.report_duplicate(left, right, config);
            }
            self.report((left, right), config);
            return self.above.total() > before;
        }
        let before = self.nxt;
        self.nxt = right;
        if !self.above.is_empty() {
            if let Some((_, end)) = self.above.holding(right) {
                // A FIN is not an octet of data; `take_fin` counts it.
                self.nxt = self.fin.map_or(end, |fin| end.min(fin));
            }
            self.above.remove_below(self.nxt);
            self.blocks.retain(|block| block.0 > self.nxt);
        }
        self.deliver(self.nxt - before);
        true
    }

    fn deliver(&mut self, octets: u64) {
        self.count.delivered_bytes += octets;
        if !self.reads_at_once {
            self.unread += octets;
        }
    }

    /// Reports a duplicate: the first range of octets in `left..right` that had already arrived
    /// beyond a hole.
    fn report_overlap(&mut self, left: u64, right: u64, config: &RfcConfig) {
        let overlap = match self.above.holding(left) {
            Some(range) => Some((left, range.1)),
            None => self.above.next_from(left).filter(|range| range.0 < right),
        };
        if let Some((from, to)) = overlap {
            self.report_duplicate(from, to.min(right), config);
        }
    }

    /// Reports an old segment with a FIN as a duplicate, if the switch `reports_fins` is on. The
    /// FIN counts as an octet.
    pub(super) fn report_old(&mut self, left: u64, right: u64, config: &RfcConfig) {
        if config.receive_rules.reports_fins {
            self.report_duplicate(left, right, config);
        }
    }

    /// Removes the report of a duplicate.
    pub(super) fn forget_duplicate(&mut self) {
        self.duplicate = None;
    }

    /// True if no octet has arrived beyond a hole, and no acknowledgment is due immediately.
    pub(super) fn is_at_ease(&self) -> bool {
        self.above.is_empty() && self.need < AckNeed::Now
    }

    /// Treats the FIN, which was just accepted, in the same way as data: the acknowledgment of the
    /// FIN may wait for an answer of the application.
    pub(super) fn let_fin_wait(&mut self, at: &ArrivalState, config: &RfcConfig) {
        if self.memory.as_mut().is_some_and(|memory| !memory.takes_more()) {
            // Without memory, the acknowledgment is due immediately (`ICSK_ACK_NOMEM`).
            return;
        }
        self.need = AckNeed::None;
        let reader = self.reader(config);
        let need = self.ack_delay.need_of_fin(self.nxt - self.last_ack, reader);
        self.ask_for(need, at, config);
    }

    pub(super) fn report_duplicate(&mut self, left: u64, right: u64, config: &RfcConfig) {
        if config.dsack {
            self.duplicate = Some((left, right));
        }
    }

    /// Reports the octets `new`, which arrived beyond a hole. The block of these octets is reported
    /// first.
    fn report(&mut self, new: Range, config: &RfcConfig) {
        let touches = |block: &Range, range: Range| block.1 >= range.0 && block.0 <= range.1;
        let block = self.above.insert(new.0, new.1);
        let range = if config.receive_rules.forgets_blocks {
            let known = self.blocks.iter().filter(|block| touches(block, new));
            known.fold(new, |all, block| (all.0.min(block.0), all.1.max(block.1)))
        } else {
            block
        };
        let place = self.blocks.iter().position(|block| touches(block, range));
        if self.compression.must_precede_change(place.unwrap_or(self.blocks.len())) {
            // The acknowledgment that waits reports the blocks as they were before the current
            // segment. There is one exception: a block that the current segment made longer has its
            // new length.
            self.early.extend(self.duplicate.iter().chain(&self.blocks));
            let before = usize::from(self.duplicate.is_some());
            place.inspect(|place| self.early[before + place] = range);
        }
        self.blocks.retain(|block| !touches(block, range));
        self.blocks.insert(0, range);
        self.blocks.truncate(SackBlocks::MAX);
    }

    /// Records the peer's FIN with the number `fin`, in a segment that begins at `left`. A FIN
    /// beyond a hole is reported like an octet, because it has a sequence number (RFC 2018 §3, RFC
    /// 9293 §3.4).
    pub(super) fn note_fin(&mut self, left: u64, fin: u64, config: &RfcConfig) {
        self.fin = Some(fin);
        if fin <= self.nxt {
            return;
        }
        if self.above.holding(fin).is_none_or(|range| range.1 <= fin) {
            self.report((fin, fin + 1), config);
        } else if config.receive_rules.reports_fins {
            let all = left == fin || self.duplicate == Some((left, fin));
            self.report_duplicate(if all { left } else { fin }, fin + 1, config);
        }
        self.ack_delay.is_due = true;
        self.need = AckNeed::Now;
    }

    /// Whether the highest block that is reported ends at `octet`.
    pub(super) fn reports_up_to(&self, octet: u64) -> bool {
        self.blocks.iter().map(|block| block.1).max() == Some(octet)
    }

    /// Accepts the peer's FIN if everything before it has arrived. Returns whether the FIN was
    /// accepted.
    pub(super) fn take_fin(&mut self) -> bool {
        let reached = self.fin == Some(self.nxt);
        if reached {
            self.nxt += 1;
            self.above.remove_below(self.nxt);
            self.blocks.clear();
            self.need = AckNeed::Now;
            self.ack_delay.is_due = true;
        }
        reached
    }

    /// True if the receiver must report more than the octets that arrived in order.
    #[inline]
    fn has_blocks(&self) -> bool {
        self.duplicate.is_some() || !self.blocks.is_empty()
    }

    /// The blocks of an acknowledgment, at most `room`. A duplicate is reported first (RFC 2883
    /// §4), then the block of the newest segment, then the most recently reported blocks (RFC 2018
    /// §4).
    fn blocks(&self, room: usize) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let wire = |octet| seq::to_wire(self.irs, octet);
        let (now, early) = (self.duplicate.iter().chain(&self.blocks), self.early.iter());
        let now = now.take(if self.early.is_empty() { usize::MAX } else { 0 });
        for &(left, right) in early.chain(now).take(room.min(SackBlocks::MAX)) {
            blocks.add(SackBlock { left: wire(left), right: wire(right) });
        }
        blocks
    }

    /// Puts the acknowledgment into a segment that leaves, with at most `room` SACK blocks.
    #[inline]
    pub(super) fn acknowledge(&mut self, segment: &mut Segment, room: usize, header: &HeaderState) {
        segment.ack = self.next_on_wire();
        let window = self.advance_window() >> header.agreed.own_shift;
        segment.window = u16::try_from(window).unwrap_or(u16::MAX);
        if self.marks.is_echoed {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        if self.has_blocks() && header.agreed.sack && room > 0 {
            segment.set_sack(&self.blocks(room));
        }
        self.on_acknowledged();
    }

    /// Notes that an acknowledgment is sent.
    #[inline]
    fn on_acknowledged(&mut self) {
        // The answer to a segment that was discarded does not count as one of the immediate
        // acknowledgments.
        self.ack_delay.on_acknowledged();
        self.last_ack = self.nxt;
        self.compression.on_acknowledged();
        self.deadline = Time::NEVER;
        self.need = AckNeed::None;
        self.duplicate = None;
        self.early.clear();
    }
}

/// Removes the report of an earlier duplicate that still waits, unless header prediction processes
/// the present segment (`tcp_data_queue`).
#[inline]
fn end_report(rx: &mut RfcReceiver, segment: &Segment) {
    if rx.duplicate.is_some() && !is_predictable(rx, segment) {
        rx.duplicate = None;
    }
}

/// Whether Linux's header prediction processes `segment`. Then the segment begins with the next
/// octet expected, nothing lies beyond a hole, and memory for it is already set aside
/// (`sk_forward_alloc`). The memory set aside is the rest of the last page that unread data uses.
#[inline]
pub(super) fn is_predictable(rx: &RfcReceiver, segment: &Segment) -> bool {
    let set_aside = rx.memory.as_ref().map_or(0, ReceiveMemory::page_rest);
    rx.above.is_empty()
        && segment.seq == rx.next_on_wire()
        && segment.flags.without(Flags::PSH) == Flags::ACK
        && (segment.len == 0 || rx.weigh(segment).memory <= set_aside)
}
