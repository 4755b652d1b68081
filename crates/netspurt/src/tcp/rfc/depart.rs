//! Assembles and sends the segments of a TCP connection: data, acknowledgments, SYN and RST.

use std::sync::Arc;

use crate::segment::{Cause, Ecn, Flags, Segment};
use crate::wire::full_payload;

use super::super::context::Context;
use super::offload::{end_of_new, packet_edge};
use super::output::NextSegment;
use super::state::TcpState;
use super::tcb::Tcb;

impl Tcb {
    /// Sends what may be sent now.
    #[inline]
    pub(super) fn output(&mut self, cx: &mut Context<'_>) {
        if self.tx.is_idle() || !self.life.state().may_send() {
            self.tx.rest();
        } else {
            self.send_all(cx);
        }
    }

    /// Sends one packet of new data for segmentation offload, if it may be sent now
    /// (`tcp_push_one`).
    pub(super) fn output_packet(&mut self, cx: &mut Context<'_>) {
        if !self.life.state().may_send() {
            return;
        }
        let sent_before = self.header.sent;
        self.tx.packet_edge = Some(end_of_new(&self.tx, self.tx.window.nxt));
        while let Some(departure) = self.tx.next(false, cx.now) {
            self.depart(Some(departure), cx);
        }
        self.tx.packet_edge = None;
        self.tx.end_burst(self.header.sent > sent_before, true, cx.now);
    }

    /// Sends what may be sent now. An end that only receives data calls [`output`](Self::output)
    /// for each segment, so `output` must stay small. Therefore this is a function of its own.
    #[inline(never)]
    fn send_all(&mut self, cx: &mut Context<'_>) {
        let (sent_before, waited) = (self.header.sent, self.tx.window.unsent() > 0);
        self.tx.packet_edge = packet_edge(&self.tx, cx.now);
        if !self.send_full(cx) {
            while let Some(departure) = self.tx.next(false, cx.now) {
                self.depart(Some(departure), cx);
            }
        }
        self.tx.end_burst(self.header.sent > sent_before, waited, cx.now);
    }

    /// Sends full segments, if there are any, up to the limits of `clear_edges`. Returns true if
    /// there is one more full segment that fits into the peer's window. This segment waits for cwnd
    /// or for a whole packet of segmentation offload, and nothing else can be sent.
    #[inline]
    fn send_full(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(edges) = self.tx.clear_edges() else { return false };
        while self.tx.window.has_full_below(edges.both) {
            let full = self.tx.send_fresh(self.tx.window.smss, cx.now);
            self.emit(&full, cx);
        }
        self.tx.window.has_full_below(edges.peer)
    }

    /// Sends a segment of the sending half, if there is one.
    #[inline(never)]
    pub(super) fn depart(&mut self, departure: Option<NextSegment>, cx: &mut Context<'_>) {
        if let Some(departure) = departure {
            self.emit(&departure, cx);
        }
    }

    /// Puts a segment of the sending half on the wire.
    #[inline(always)]
    fn emit(&mut self, departure: &NextSegment, cx: &mut Context<'_>) {
        let &NextSegment { seq, len, fin, push, spare, cause } = departure;
        let now = cx.now;
        let segment = self.header.begin(self.tx.window.on_wire(seq), cx);
        segment.len = u16::try_from(len).expect("no segment is longer than the MSS");
        segment.cause = cause.into();
        if fin {
            segment.flags = segment.flags.with(Flags::FIN);
            self.life.on_fin_sent();
        }
        if push {
            segment.flags = segment.flags.with(Flags::PSH);
        }
        if self.header.agreed.ecn && cause.is_none() && len > 0 {
            segment.ecn = Ecn::ECT0;
            if core::mem::take(&mut self.tx.recovery.cwnd.owes_cwr) {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
        self.rx.acknowledge(segment, self.header.sack_room_in(spare), &self.header);
        let size_bytes = self.header.set_wire_size(segment);
        if len > 0 {
            self.rx.ack_delay.on_data_sent(now);
        }
        self.tx.on_departed(len, size_bytes, now);
    }

    /// Begins a segment at the next octet to be sent.
    #[inline]
    pub(super) fn begin<'a>(&mut self, cx: &'a mut Context<'_>) -> &'a mut Segment {
        let seq = self.tx.window.on_wire(self.tx.window.nxt);
        self.header.begin(seq, cx)
    }

    /// Sends a pure ACK.
    pub(super) fn send_ack(&mut self, cx: &mut Context<'_>) {
        let segment = self.begin(cx);
        self.rx.acknowledge(segment, self.header.sack_room(), &self.header);
        self.header.set_wire_size(segment);
    }

    /// Sends one octet into the peer's closed window, to learn whether it has opened (RFC 9293
    /// §3.8.6.1). The octet is not counted as sent until it is acknowledged. Linux sends a segment
    /// without payload and with an old sequence number, which makes the peer answer.
    pub(super) fn send_window_probe(&mut self, cx: &mut Context<'_>) {
        let segment = self.begin(cx);
        self.rx.acknowledge(segment, 0, &self.header);
        if self.config.empty_window_probes {
            segment.seq = segment.seq.wrapping_sub(1);
        } else {
            segment.len = 1;
            self.tx.count.data_segments += 1;
        }
        self.header.set_wire_size(segment);
    }

    pub(super) fn send_reset(&mut self, cx: &mut Context<'_>) {
        let segment = self.begin(cx);
        segment.flags = Flags::RST.with(Flags::ACK);
        segment.ack = self.rx.next_on_wire();
        self.header.set_wire_size(segment);
    }

    /// Sends our SYN or SYN-ACK. `cause` is `None` for the first transmission.
    pub(super) fn send_syn(&mut self, cause: Option<Cause>, cx: &mut Context<'_>) {
        self.tx.send_syn(cx.now);
        let answering = self.life.state() == TcpState::SynReceived;
        let config = Arc::clone(&self.config);
        let now = cx.now;
        let segment = self.header.begin(config.iss, cx);
        segment.cause = cause.into();
        let repeats = !answering || config.syn_rules.keeps_offer && !self.life.is_passive();
        segment.set_syn_options(self.header.offer(!repeats, &config));
        let stamped = if repeats { config.timestamps } else { self.header.agreed.timestamps };
        if stamped {
            segment.set_timestamps(self.header.stamps(now));
        }
        let unit = u64::from(full_payload(config.mss, answering && self.header.agreed.timestamps));
        let unit = config.syn_rules.whole_first_window.then_some(unit);
        let window = self.rx.first_window(unit).min(u64::from(u16::MAX));
        segment.window = u16::try_from(window).unwrap_or(u16::MAX);
        segment.flags = Flags::SYN;
        if answering {
            segment.flags = segment.flags.with(Flags::ACK);
            segment.ack = self.rx.next_on_wire();
            if self.header.agreed.ecn {
                segment.flags = segment.flags.with(Flags::ECE);
            }
        } else if config.ecn && !(config.syn_rules.again_without_ecn && cause.is_some()) {
            segment.flags = segment.flags.with(Flags::ECE.with(Flags::CWR));
        }
        self.header.set_wire_size(segment);
    }

    /// Retransmits our SYN or SYN-ACK.
    pub(super) fn retransmit_syn(&mut self, cx: &mut Context<'_>) {
        self.tx.retransmit_syn(cx.now);
        self.send_syn(Some(Cause::Syn), cx);
    }
}
