//! Processes the segments that arrive at a TCP connection, depending on the state of the connection
//! (RFC 9293 §3.10.7).

use crate::segment::{Flags, Segment};
use crate::seq::is_before;
use crate::units::Time;
use crate::wire::full_payload;

use super::super::context::Context;
use super::config::RfcConfig;
use super::delayed_ack::AckNeed;
use super::news::AckSegment;
use super::receive::{RfcReceiver, is_predictable};
use super::receive_memory::Opening;
use super::state::{Failure, TcpState};
use super::tcb::Tcb;

/// A small window of the peer limits the payload of a full segment. The limit applies to payload
/// and timestamps together, and is at least `MSS_MIN`. The value is Linux's
/// (`tcp_bound_to_half_wnd`): the 68 octets that every router forwards in one piece (RFC 791 §3.2),
/// minus the 20 octets of the TCP header. The IP header is not subtracted.
const MSS_MIN: u16 = 48;

impl Tcb {
    /// Processes an arrived segment, or several merged segments that count as one segment.
    pub(in crate::tcp) fn on_segment(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        self.account_for(cx.now);
        if !self.take_predicted(segment, cx) {
            self.take(segment, cx);
        }
        self.answer(cx);
    }

    /// Processes a segment of any kind. This function is not inlined, so that the machine code for
    /// predicted segments stays short. Predicted segments are the frequent segments that
    /// `predict.rs` processes.
    #[inline(never)]
    pub(super) fn take(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        if self.life.deadline() <= cx.now {
            self.end();
        }
        match self.life.state() {
            TcpState::Closed => self.refuse(segment, cx),
            TcpState::Listen => self.on_segment_in_listen(segment, cx),
            TcpState::SynSent => self.on_segment_in_syn_sent(segment, cx),
            _ => self.on_segment_in_sequence(segment, cx),
        }
    }

    /// Sends all segments that may be sent now, and then a pure ACK if an immediate acknowledgment
    /// is still due. If the arrived segment gets nothing but an ACK ([`AckNeed::Alone`]), sends
    /// only the pure ACK.
    #[inline]
    pub(super) fn answer(&mut self, cx: &mut Context<'_>) {
        if self.rx.need != AckNeed::Alone {
            self.output(cx);
        }
        if self.rx.need >= AckNeed::Now {
            self.send_ack(cx);
        }
        self.report(cx);
    }

    fn on_segment_in_listen(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        let flags = segment.flags;
        if flags.has(Flags::RST) {
            return;
        }
        if flags.has(Flags::ACK) {
            return self.refuse(segment, cx);
        }
        if flags.has(Flags::FIN) && self.config.syn_rules.fin_spoils {
            return;
        }
        if flags.has(Flags::SYN) {
            self.take_syn(segment, flags.has(Flags::ECE.with(Flags::CWR)), cx.now);
            self.life.on_syn();
            self.send_syn(None, cx);
        }
    }

    fn on_segment_in_syn_sent(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        let flags = segment.flags;
        let ack = self.tx.window.octet(segment.ack);
        if flags.has(Flags::ACK) && (ack == 0 || ack > self.tx.window.nxt) {
            if self.config.syn_rules.again_after_reset && self.tx.timers.retries() == 0 {
                self.tx.timers.fire_soon(cx.now);
            }
            return self.refuse(segment, cx);
        }
        if flags.has(Flags::RST) {
            if flags.has(Flags::ACK) {
                self.fail(Failure::Refused);
            }
            return;
        }
        if !flags.has(Flags::SYN) {
            return;
        }
        if flags.has(Flags::ACK) {
            let takes_marks = flags.has(Flags::ECE) && !flags.has(Flags::CWR);
            self.take_syn(segment, takes_marks, cx.now);
            self.on_handshake_ack(segment, cx);
            self.rx.need = AckNeed::Now;
        } else {
            // Both ends opened the connection simultaneously.
            self.take_syn(segment, flags.has(Flags::ECE.with(Flags::CWR)), cx.now);
            self.life.on_syn();
            self.send_syn(None, cx);
        }
    }

    fn on_segment_in_sequence(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        let flags = segment.flags;
        let left = self.rx.octet(segment.seq);
        let right = left + u64::from(segment.seq_len());
        if self.life.state() == TcpState::SynReceived && flags.has(Flags::SYN) && left == 0 {
            return self.on_syn_again(segment, cx);
        }
        let rules = self.config.receive_rules;
        if !rules.takes_unstamped && self.header.lacks_stamps(segment) {
            return;
        }
        let mut old = self.header.is_old_duplicate(segment, &rules, cx.now);
        if old && rules.forgives_late_acks && segment.seq_len() == 0 {
            if left < self.rx.nxt {
                return;
            }
            old = !self.is_late_repeat(segment, left, cx.now);
        }
        let at_fin = self.life.has_peers_fin() && left + 1 == self.rx.nxt;
        if rules.reset_at_fin && at_fin && !old && flags.has(Flags::RST) {
            return self.on_reset();
        }
        let accepted =
            self.rx.accepts(left, right, &rules) || self.rx.takes_lone_fin(left, segment);
        if old || !accepted {
            if !flags.has(Flags::RST) {
                self.on_unacceptable(segment, left, right, cx);
            }
            return;
        }
        if flags.has(Flags::RST) {
            // RFC 5961 §3.2: only a reset with the number of the next expected octet is valid. With
            // the switch `reset_behind_gap`, even a reset at the end of the highest SACK block is
            // valid.
            let reported = rules.reset_behind_gap && self.header.agreed.sack;
            if left == self.rx.nxt || reported && self.rx.reports_up_to(left) {
                self.on_reset();
            } else {
                self.rx.challenge(cx.now, &self.config);
            }
            return;
        }
        if flags.has(Flags::SYN) {
            // RFC 5961 §4.2: a SYN gets a challenge ACK.
            return self.rx.challenge(cx.now, &self.config);
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        let late_ack = is_before(segment.ack, self.tx.window.on_wire(self.tx.window.una));
        if !rules.stamp_after_ack || late_ack && is_predictable(&self.rx, segment) {
            self.header.take_stamp(segment, left, self.rx.last_ack, cx.now);
        }
        if self.life.state() == TcpState::SynReceived {
            if self.tx.window.octet(segment.ack) != self.tx.window.nxt.min(1) {
                return self.refuse(segment, cx);
            }
            self.on_handshake_ack(segment, cx);
        } else if !self.on_ack(segment, cx) {
            return;
        }
        if rules.stamp_after_ack && !late_ack {
            self.header.take_stamp(segment, left, self.rx.last_ack, cx.now);
        }
        self.take_text(segment, (left, right), cx);
        self.look_for_fin_ack(cx.now);
    }

    /// Whether an ACK without data, which begins at the octet `left`, only repeats the last
    /// acknowledgment. The ACK's timestamp must be older than the newest timestamp by at most 1.2
    /// RTOs.
    fn is_late_repeat(&self, segment: &Segment, left: u64, now: Time) -> bool {
        let AckSegment { ack, window, .. } = self.ack_of(segment);
        let lag_max = self.tx.arrival_state(now).rto * 6 / 5;
        segment.flags.has(Flags::ACK)
            && left == self.rx.nxt
            && ack == self.tx.window.una
            && !self.tx.window.may_change(left, ack, window)
            && self.header.lag(segment) <= lag_max
    }

    /// Processes the congestion mark, the data and the FIN of a segment. The octets of the segment
    /// are `left..right`.
    fn take_text(&mut self, segment: &Segment, (left, right): (u64, u64), cx: &mut Context<'_>) {
        if self.rx.marks.on_segment(segment) {
            self.rx.need = AckNeed::Now;
        }
        let patient = self.config.receive_rules.fin_ack_waits
            && self.life.state() == TcpState::Established
            && self.rx.is_at_ease();
        if segment.len > 0 && !self.rx.is_closed() {
            // RFC 9293 §3.10.7.4: data after a FIN is ignored.
            self.take_data(segment, cx.now);
        } else if segment.len > 0 && self.life.state() == TcpState::TimeWait {
            // Linux acknowledges data in TIME-WAIT (`tcp_timewait_state_process`).
            self.rx.need = AckNeed::Now;
        }
        if segment.flags.has(Flags::FIN) && !self.rx.is_closed() {
            self.rx.note_fin(left, right - 1, &self.config);
        }
        if self.rx.take_fin() {
            if self.config.receive_rules.fin_ends_reports {
                self.rx.forget_duplicate();
            }
            if patient {
                let at = self.tx.arrival_state(cx.now);
                self.rx.let_fin_wait(&at, &self.config);
            }
            self.move_to(
                self.life.state().after_fin_received(self.tx.window.is_fin_acked()),
                cx.now,
            );
        }
    }

    /// Handles the peer's SYN in SYN-RECEIVED. If the segment acknowledges our SYN, both ends
    /// opened simultaneously, and the connection is established (RFC 9293 §3.5). Otherwise our
    /// SYN-ACK may have been lost. The SYN-ACK is then retransmitted, but at most once in each
    /// `challenge_interval`.
    fn on_syn_again(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        if !segment.flags.has(Flags::ACK) || self.tx.window.octet(segment.ack) != 1 {
            if self.rx.may_challenge(cx.now, &self.config) {
                self.retransmit_syn(cx);
            }
            return;
        }
        self.header.take_stamp(segment, 0, self.rx.last_ack, cx.now);
        self.on_handshake_ack(segment, cx);
        // The peer's SYN lies before the receive window, so the segment is acknowledged.
        self.rx.need = AckNeed::Now;
    }

    /// Handles a valid reset (RFC 9293 §3.10.7.4). A passive opener in SYN-RECEIVED returns to
    /// LISTEN. An end in CLOSING, LAST-ACK or TIME-WAIT goes to CLOSED. In all other states, the
    /// connection fails.
    fn on_reset(&mut self) {
        match self.life.state() {
            TcpState::SynReceived if self.life.is_passive() => self.listen_again(),
            TcpState::Closing | TcpState::LastAck | TcpState::TimeWait => self.end(),
            _ => self.fail(Failure::Reset),
        }
    }

    /// Handles a segment outside the receive window, or an old duplicate. The segment is answered
    /// (RFC 9293 §3.10.7.4). A SYN, or a segment without octets, is answered at most once in each
    /// `challenge_interval`. If the receive window is closed and the segment begins with the next
    /// expected octet, its acknowledgment still counts, unless the segment is an old duplicate.
    fn on_unacceptable(&mut self, segment: &Segment, left: u64, right: u64, cx: &mut Context<'_>) {
        if self.life.state() == TcpState::TimeWait && left < self.rx.nxt {
            self.life.begin_time_wait(cx.now);
        }
        if segment.flags.has(Flags::SYN) {
            // RFC 5961 §4.2: a SYN with any number gets a challenge ACK.
            return self.rx.challenge(cx.now, &self.config);
        }
        if right > left && right <= self.rx.nxt {
            self.take_old(segment, (left, right));
        }
        let closed = self.rx.window() == 0 && left == self.rx.nxt;
        let old = self.header.is_old_duplicate(segment, &self.config.receive_rules, cx.now);
        if closed && !old && segment.flags.has(Flags::ACK) && self.life.state().is_synchronised() {
            // A closed window refuses the octets of the segment, but not the acknowledgment that it
            // carries.
            self.on_ack(segment, cx);
            self.look_for_fin_ack(cx.now);
        }
        if right > left {
            // A segment with octets cannot be part of a loop of ACKs, so it is always answered
            // (`tcp_oow_rate_limited`).
            self.rx.need = AckNeed::Now;
        } else {
            self.rx.challenge(cx.now, &self.config);
        }
    }

    /// Handles a segment whose octets `left..right` had already arrived.
    fn take_old(&mut self, segment: &Segment, (left, right): (u64, u64)) {
        if segment.len > 0 {
            let octets = (left, left + u64::from(segment.len));
            report_old_data(&mut self.rx, octets, &self.config);
        }
        if segment.flags.has(Flags::FIN) {
            self.rx.report_old(left, right, &self.config);
        }
        if self.config.receive_rules.time_wait_is_mute && self.life.state() == TcpState::TimeWait {
            self.rx.forget_duplicate();
        }
    }

    /// Returns the fields of a segment that concern the sending half.
    fn ack_of<'a>(&self, segment: &'a Segment) -> AckSegment<'a> {
        let agreed = &self.header.agreed;
        AckSegment {
            segment,
            seq: self.rx.octet(segment.seq),
            ack: self.tx.window.octet(segment.ack),
            window: self.header.peer_window(segment),
            echo: self.header.echo(segment),
            marked: agreed.ecn && segment.flags.has(Flags::ECE),
            has_sack: agreed.sack,
        }
    }

    /// Handles the acknowledgment that a segment carries. Returns whether the rest of the segment
    /// is to be handled.
    fn on_ack(&mut self, segment: &Segment, cx: &mut Context<'_>) -> bool {
        let ack = self.ack_of(segment);
        let goes_on = self.tx.on_ack(&ack, cx);
        if !goes_on && self.rx.may_challenge(cx.now, &self.config) {
            self.rx.need = AckNeed::Alone;
        }
        goes_on
    }

    fn take_data(&mut self, segment: &Segment, now: Time) {
        let at = self.tx.arrival_state(now);
        self.rx.on_data(segment, &at, &self.config);
    }

    /// Handles the peer's SYN: its sequence number, and the options that it offers. The flag
    /// `takes_marks` says whether its flags ask for ECN (SYN) or agree to ECN (SYN-ACK).
    fn take_syn(&mut self, segment: &Segment, takes_marks: bool, now: Time) {
        let smss = self.header.on_syn(segment, &self.config, now);
        self.header.agreed.ecn = self.config.ecn && takes_marks;
        self.rx.begin(segment.seq, &self.header.agreed);
        self.tx.window.smss_min = full_payload(MSS_MIN, self.header.agreed.timestamps).into();
        self.tx.on_syn(smss, u64::from(segment.window), self.header.agreed.sack);
    }

    /// Opens the connection, because `segment` acknowledges our SYN.
    fn on_handshake_ack(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        let ack = self.ack_of(segment);
        // The window of a SYN is not shifted, and was already read.
        let window = (!segment.flags.has(Flags::SYN)).then_some(ack.window);
        self.life.establish();
        // Challenge ACKs of the handshake do not limit later challenge ACKs.
        self.rx.challenged = None;
        let agreed = &self.header.agreed;
        let advertised = full_payload(self.config.mss, agreed.timestamps).into();
        let smss = self.tx.window.smss;
        let opening = Opening { advertised, smss, reports: agreed.sack, shift: agreed.own_shift };
        self.rx.open(&opening, cx.now);
        self.tx.open(&ack, window, cx);
    }

    /// Goes to the next state if our FIN was acknowledged.
    fn look_for_fin_ack(&mut self, now: Time) {
        if self.tx.window.is_fin_acked() {
            self.move_to(self.life.state().after_fin_acked(), now);
        }
    }

    /// Moves the state of the connection one step towards CLOSED.
    fn move_to(&mut self, state: TcpState, now: Time) {
        if self.life.step_to(state, now) {
            match state {
                TcpState::TimeWait => self.tx.timers.stop(),
                TcpState::Closed => self.end(),
                _ => {}
            }
        }
    }

    /// Answers a segment with a reset, unless the segment is itself a reset. This function is for a
    /// segment that belongs to no connection (RFC 9293 §3.10.7.1), and for a wrong acknowledgment
    /// before the connection is open (RFC 9293 §3.5.2).
    fn refuse(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        // A reset needs no timestamps (RFC 7323 §3.2), and there may be no connection that agreed
        // on them. So the reset has none.
        let reset = self.header.begin_bare(0, cx);
        if segment.flags.has(Flags::ACK) {
            (reset.seq, reset.ack, reset.flags) = (segment.ack, 0, Flags::RST);
        } else {
            reset.seq = 0;
            reset.ack = segment.seq.wrapping_add(segment.seq_len());
            reset.flags = Flags::RST.with(Flags::ACK);
        }
        self.header.set_wire_size(reset);
    }
}

/// Reports the payload `left..right` of a segment that is discarded because all its octets had
/// arrived before.
fn report_old_data(rx: &mut RfcReceiver, (left, right): (u64, u64), config: &RfcConfig) {
    rx.count.segments += 1;
    rx.count.duplicates += 1;
    rx.full = rx.full.max(right - left);
    rx.report_duplicate(left, right, config);
    rx.ack_delay.on_duplicate(rx.window());
}
