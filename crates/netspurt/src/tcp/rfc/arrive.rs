//! Segments that arrive, by the state they meet (RFC 9293 §3.10.7).

use crate::sample::RttSample;
use crate::segment::{Ecn, Flags, IPV4_HEADER_BYTES, Segment, SynOptions};
use crate::units::{Duration, Time};
use crate::wire::TIMESTAMPS_BYTES;

use super::super::transmit::Context;
use super::ack::is_before;
use super::board::Sent;
use super::patience::Moment;
use super::receive::AckNeed;
use super::{Agreed, DEFAULT_MSS, DEFAULT_MSS_V6, Failure, State, Tcb};

/// The largest shift (RFC 7323 §2.3).
const SHIFT_MAX: u8 = 14;
/// How long a peer's stamp is compared with later ones (RFC 7323 §5.5).
const STAMP_LIFE: Duration = Duration::from_secs(24 * 86_400);
/// A peer that says it takes less is taken to take this, lest a hostile one have a packet sent for
/// each octet (Linux's `TCP_MIN_MSS`).
///
/// departs: RFC 9293 §3.7.1 - which sets no least.
const LEAST_PEER_MSS: u16 = 88;

impl Tcb {
    /// A segment arrived.
    pub(in crate::tcp) fn on_segment(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        self.tell_time(cx.now);
        if !self.take_predicted(segment, cx) {
            self.take(segment, cx);
        }
        self.answer(cx);
    }

    /// Takes a segment in, whatever it is. Apart, so that the predicted ones stay near each other.
    #[inline(never)]
    pub(super) fn take(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        match self.state {
            State::Closed => self.refuse(segment, cx),
            State::Listen => self.on_segment_in_listen(segment, cx),
            State::SynSent => self.on_segment_in_syn_sent(segment, cx),
            _ => self.on_segment_in_sequence(segment, cx),
        }
    }

    /// Sends what may be sent now, and an acknowledgment where one is due and none went along.
    #[inline]
    pub(super) fn answer(&mut self, cx: &mut Context<'_>) {
        self.output(cx);
        if self.rx.need == AckNeed::Now {
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
        if flags.has(Flags::SYN) {
            self.take_syn(segment, cx.now);
            self.agree_on_ecn(flags.has(Flags::ECE.with(Flags::CWR)));
            self.state = State::SynReceived;
            self.send_syn(None, cx);
        }
    }

    fn on_segment_in_syn_sent(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        let flags = segment.flags;
        let ack = self.octet(segment.ack);
        if flags.has(Flags::ACK) && (ack == 0 || ack > self.nxt) {
            if !flags.has(Flags::RST) {
                self.refuse(segment, cx);
            }
            return;
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
        self.take_syn(segment, cx.now);
        if flags.has(Flags::ACK) {
            let echoed = flags.has(Flags::ECE) && !flags.has(Flags::CWR);
            self.agree_on_ecn(echoed);
            self.on_handshake_ack(segment, cx);
            self.rx.need = AckNeed::Now;
        } else {
            // Both opened at once.
            self.agree_on_ecn(flags.has(Flags::ECE.with(Flags::CWR)));
            self.state = State::SynReceived;
            self.send_syn(None, cx);
        }
    }

    fn on_segment_in_sequence(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        let flags = segment.flags;
        let left = self.rx.octet(segment.seq);
        let right = left + u64::from(segment.seq_len());
        if self.state == State::SynReceived && flags.has(Flags::SYN) && left == 0 {
            return self.on_syn_again(segment, cx);
        }
        if self.agreed.timestamps && segment.timestamps().is_none() && !flags.has(Flags::RST) {
            // RFC 7323 §3.2: once agreed on, every segment has them.
            return;
        }
        if self.is_old_duplicate(segment, cx.now) || !self.rx.accepts(left, right) {
            if !flags.has(Flags::RST) {
                self.on_unacceptable(segment, left, right, cx);
            }
            return;
        }
        if flags.has(Flags::RST) {
            // RFC 5961 §3.2: only an exact one resets.
            if left == self.rx.nxt {
                self.on_reset();
            } else {
                self.rx.need = AckNeed::Now;
            }
            return;
        }
        if flags.has(Flags::SYN) {
            // RFC 5961 §4.2.
            self.rx.need = AckNeed::Now;
            return;
        }
        if !flags.has(Flags::ACK) {
            return;
        }
        self.take_stamp(segment, left, cx.now);
        if self.state == State::SynReceived {
            if self.octet(segment.ack) != self.nxt.min(1) {
                return self.refuse(segment, cx);
            }
            self.on_handshake_ack(segment, cx);
        } else if !self.on_ack(segment, cx) {
            return;
        }
        self.take_marks(segment);
        if segment.len > 0 && !self.peer_closed() {
            // RFC 9293 §3.10.7.4: nothing follows a FIN.
            self.take_data(segment, cx.now);
        }
        if flags.has(Flags::FIN) && !self.peer_closed() {
            self.rx.note_fin(right - 1);
        }
        if self.rx.fin.is_some() && self.rx.take_fin() {
            self.on_fin(cx);
        }
        self.after_fin_acked(cx);
    }

    /// The peer's SYN in SYN-RECEIVED: with the ACK of ours both had opened at once, and the
    /// connection stands (RFC 9293 §3.5); without it our SYN-ACK was not heard.
    fn on_syn_again(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        if !segment.flags.has(Flags::ACK) || self.octet(segment.ack) != 1 {
            return self.resend_syn(cx);
        }
        self.take_stamp(segment, 0, cx.now);
        self.on_handshake_ack(segment, cx);
        // Its octet lies before the window.
        self.rx.need = AckNeed::Now;
    }

    /// A valid reset (RFC 9293 §3.10.7.4): who listened listens again, who had closed is done.
    fn on_reset(&mut self) {
        match self.state {
            State::SynReceived if self.passive => {
                let (sent, count, at_once) = (self.sent, self.count, self.rx.reads_at_once);
                *self = Self { sent, count, ..Self::new(&self.config) };
                self.rx.reads_at_once = at_once;
                self.listen();
            }
            State::Closing | State::LastAck | State::TimeWait => {
                self.state = State::Closed;
                self.stop_everything();
            }
            _ => self.fail(Failure::Reset),
        }
    }

    /// A segment outside the window: what it acknowledges still counts where it is a duplicate,
    /// and it is answered (RFC 9293 §3.10.7.4).
    fn on_unacceptable(&mut self, segment: &Segment, left: u64, right: u64, cx: &mut Context<'_>) {
        if segment.len > 0 && right <= self.rx.nxt {
            self.take_data(segment, cx.now);
        }
        if self.state == State::TimeWait && left < self.rx.nxt {
            self.deadlines.linger = cx.now + self.config.time_wait;
        }
        let closed = self.rx.window() == 0 && left == self.rx.nxt;
        let old = self.is_old_duplicate(segment, cx.now);
        if closed && !old && segment.flags.has(Flags::ACK) && self.state.is_synchronised() {
            // A closed window keeps text out, not what it acknowledges.
            self.on_ack(segment, cx);
            self.after_fin_acked(cx);
        }
        self.rx.need = AckNeed::Now;
    }

    #[inline]
    fn take_data(&mut self, segment: &Segment, now: Time) {
        let at = self.moment(now);
        self.rx.on_data(segment, &at, &self.config);
    }

    pub(super) fn moment(&self, now: Time) -> Moment {
        Moment { now, srtt: self.srtt, rto: self.timer.rto() }
    }

    /// RFC 7323 §5.2: a stamp older than the last says so, unless that has outlived half the
    /// clock's range (§5.5).
    fn is_old_duplicate(&self, segment: &Segment, now: Time) -> bool {
        let Some(stamps) = segment.timestamps() else { return false };
        let comparable = now.saturating_since(self.ts_recent_at) <= STAMP_LIFE;
        let older = comparable && is_before(stamps.val, self.ts_recent);
        self.agreed.timestamps && !segment.flags.has(Flags::RST) && older
    }

    /// Keeps the stamp to echo: of the segment that spans the last acknowledgment (RFC 7323
    /// §4.3).
    #[inline]
    pub(super) fn take_stamp(&mut self, segment: &Segment, left: u64, now: Time) {
        if let Some(stamps) = segment.timestamps()
            && self.agreed.timestamps
            && left <= self.rx.told
        {
            (self.ts_recent, self.ts_recent_at) = (stamps.val, now);
        }
    }

    /// Congestion marks are echoed until the peer says that it reacted (RFC 3168 §6.1.3).
    fn take_marks(&mut self, segment: &Segment) {
        if !self.agreed.ecn {
            return;
        }
        if segment.flags.has(Flags::CWR) {
            self.echo_marks = false;
        }
        if segment.ecn == Ecn::CE {
            self.echo_marks = true;
            self.rx.need = AckNeed::Now;
        }
    }

    /// The peer's SYN: where its octets begin, and what it offers.
    fn take_syn(&mut self, segment: &Segment, now: Time) {
        self.rx.irs = segment.seq;
        self.rx.advance_window();
        let offer = segment.syn_options();
        let config = &self.config;
        let fallback =
            if config.ip_header_bytes > IPV4_HEADER_BYTES { DEFAULT_MSS_V6 } else { DEFAULT_MSS };
        let timestamps = config.timestamps && segment.timestamps().is_some();
        let scaling = config.window_scaling && offer.window_scale.is_some();
        let shift = |shift: u8| if scaling { shift.min(SHIFT_MAX) } else { 0 };
        self.agreed = Agreed {
            timestamps,
            sack: config.sack && offer.sack,
            ecn: false,
            scaling,
            peer_shift: shift(offer.window_scale.unwrap_or(0)),
            own_shift: shift(self.wanted_shift()),
        };
        self.ts_recent = segment.timestamps().map_or(0, |stamps| stamps.val);
        self.ts_recent_at = now;
        // RFC 6691 §2: the option counts no options, so the sender takes them off.
        let options = if timestamps { TIMESTAMPS_BYTES } else { 0 };
        let mss = offer.mss.unwrap_or(fallback).max(LEAST_PEER_MSS).min(config.mss);
        self.smss = u64::from(mss.saturating_sub(options).max(1));
        self.peer_window = u64::from(segment.window);
        self.peer_window_max = self.peer_window;
    }

    fn agree_on_ecn(&mut self, peer_takes: bool) {
        self.agreed.ecn = self.config.ecn && peer_takes;
    }

    /// The shift that lets the window name the whole buffer.
    pub(super) fn wanted_shift(&self) -> u8 {
        let buffer = self.config.receive_buffer_bytes;
        (0..SHIFT_MAX).find(|shift| buffer >> shift <= u64::from(u16::MAX)).unwrap_or(SHIFT_MAX)
    }

    pub(super) fn syn_offer(&self, answering: bool) -> SynOptions {
        let config = &self.config;
        let scaling = if answering { self.agreed.scaling } else { config.window_scaling };
        SynOptions {
            mss: Some(config.mss),
            window_scale: scaling.then(|| self.wanted_shift()),
            sack: if answering { self.agreed.sack } else { config.sack },
        }
    }

    /// Our SYN is acknowledged: the connection stands.
    fn on_handshake_ack(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        let ack = self.octet(segment.ack);
        let syn = self.board.front().copied();
        let (rack, min_rtt) = (&mut self.rack, self.min_rtt);
        self.board.ack(1, |syn, _| rack.arrived(syn, cx.now, min_rtt, false));
        self.una = 1;
        self.state = State::Established;
        self.window_told = (self.rx.octet(segment.seq), ack);
        if !segment.flags.has(Flags::SYN) {
            self.peer_window = u64::from(segment.window) << self.agreed.peer_shift;
        }
        self.peer_window_max = self.peer_window;
        self.retries = 0;
        self.timer.stop();
        let forgiven = self.config.syn_resends_forgiven;
        let resent = syn.is_none_or(|syn| u32::from(syn.times) > 1 + forgiven);
        if let Some(syn) = syn {
            self.measure_handshake(&syn, segment, cx);
        }
        // RFC 5681 §3.1: after a lost SYN the initial window is one segment; Linux forgives one.
        let segs = if resent { 1 } else { self.config.initial_window(self.smss) };
        self.window.cwnd = segs * self.smss;
        self.usage.begin(cx.now);
        self.congestion.on_open(self.handshake_rtt, &self.window);
        self.repair.recover = 1;
        self.round_end = 1;
        self.last_sent = cx.now;
    }

    /// The peer has closed.
    fn on_fin(&mut self, cx: &mut Context<'_>) {
        self.state = match self.state {
            State::Established => State::CloseWait,
            State::FinWait1 if self.fin_acked() => State::TimeWait,
            State::FinWait1 => State::Closing,
            State::FinWait2 => State::TimeWait,
            other => other,
        };
        if self.state == State::TimeWait {
            self.begin_time_wait(cx);
        }
    }

    fn fin_acked(&self) -> bool {
        self.closing && self.una > self.end
    }

    fn after_fin_acked(&mut self, cx: &mut Context<'_>) {
        if !self.fin_acked() {
            return;
        }
        match self.state {
            State::FinWait1 => self.state = State::FinWait2,
            State::Closing => {
                self.state = State::TimeWait;
                self.begin_time_wait(cx);
            }
            State::LastAck => {
                self.state = State::Closed;
                self.stop_everything();
            }
            _ => {}
        }
    }

    fn begin_time_wait(&mut self, cx: &mut Context<'_>) {
        self.timer.stop();
        self.deadlines = super::Deadlines::NONE;
        self.deadlines.linger = cx.now + self.config.time_wait;
    }

    /// Answers a segment that belongs to no connection (RFC 9293 §3.10.7.1).
    fn refuse(&mut self, segment: &Segment, cx: &mut Context<'_>) {
        if segment.flags.has(Flags::RST) {
            return;
        }
        let reset = self.begin(cx);
        if segment.flags.has(Flags::ACK) {
            (reset.seq, reset.ack, reset.flags) = (segment.ack, 0, Flags::RST);
        } else {
            reset.seq = 0;
            reset.ack = segment.seq.wrapping_add(segment.seq_len());
            reset.flags = Flags::RST.with(Flags::ACK);
        }
        self.weigh(reset);
    }

    pub(super) fn measure_handshake(&mut self, syn: &Sent, ack: &Segment, cx: &mut Context<'_>) {
        if syn.times == 1 {
            let rtt = cx.now - syn.at;
            self.handshake_rtt = Some(rtt);
            self.take_exact_rtt(rtt);
        }
        let echo = ack.timestamps().map(|stamps| stamps.ecr);
        let trip = match self.doubtful_echo(echo, cx.now).filter(|_| syn.times > 1) {
            Some(rtt) => self.echoed_trip(rtt, 0, cx.now),
            None => self.trip(syn.at, syn.times, 0),
        };
        self.timer.sample(RttSample { handshake: true, ..trip }, cx);
    }
}
