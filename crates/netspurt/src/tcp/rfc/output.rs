//! What goes out: resends, new data, acknowledgments, and when each may.

use std::sync::Arc;

use crate::segment::{Cause, Ecn, Flags, Segment};
use crate::seq;
use crate::units::{BitRate, Time};
use crate::wire::{TCP_HEADER_BYTES, option_bytes};

use super::super::config::Recovery;
use super::super::transmit::Context;
use super::alarm::is_idle;
use super::board::Sent;
use super::repair::{Frto, Phase};
use super::{Held, State, Tcb, Timed};

/// Octets of a SACK option with one block, padding included.
const SACK_BLOCK_BYTES: u64 = 12;
/// Blocks that fit beside time stamps, and alone (RFC 2018 §3); segments here hold three.
const SACK_ROOM: usize = 3;
/// How much of a window a round trip's pacing aims at, in percent: Linux's two ratios.
const PACE_SLOW_START: u64 = 200;
const PACE_AVOIDANCE: u64 = 120;

impl Tcb {
    /// Sends what may be sent now.
    #[inline]
    pub(super) fn output(&mut self, cx: &mut Context<'_>) {
        let idle = self.board.is_empty() && self.unsent() == 0;
        if idle || !self.state.may_send() {
            self.held = Held::No;
            self.moved = false;
            self.deadlines.tlp = Time::NEVER;
            self.deadlines.persist = Time::NEVER;
        } else {
            self.send_all(cx);
        }
    }

    /// Sends what may be sent of what there is. Apart from [`output`](Self::output), which an end
    /// that only receives asks with each segment.
    #[inline(never)]
    fn send_all(&mut self, cx: &mut Context<'_>) {
        let (sent_before, waited) = (self.sent, self.unsent() > 0);
        if !self.send_full(cx) {
            while !self.is_paced(cx.now) && self.send_one(cx) {}
        }
        if self.sent > sent_before || core::mem::take(&mut self.moved) {
            self.moved = false;
            self.arm_tlp(cx.now);
        }
        let pipe = self.pipe();
        if pipe + self.smss > self.window.cwnd {
            self.limited_until = self.nxt;
        }
        if self.config.linux_rules && waited {
            self.count_usage(self.sent > sent_before, cx.now);
        }
        self.arm_persist(cx.now);
        self.held = self.what_holds(cx.now, pipe);
    }

    /// Says anew what holds the next octets back, after some were sent in another way.
    pub(super) fn look_at_hold(&mut self, now: Time) {
        self.held = self.what_holds(now, self.pipe());
    }

    /// Sends full segments while both windows take them and nothing is doubted: what
    /// [`send_new`](Self::send_new) would, with one look at what may stand against it. The last
    /// octets written are left to it. Whether the congestion window is full, so that no more may go.
    #[inline]
    fn send_full(&mut self, cx: &mut Context<'_>) -> bool {
        let calm = self.repair.phase == Phase::Open
            && self.repair.frto == Frto::Off
            && self.repair.dup_bytes == 0
            && self.board.is_orderly()
            && !self.board.is_empty()
            && !self.paces;
        if !calm {
            return false;
        }
        let by_peer = (self.una + self.peer_window).min(self.end - 1);
        let by_cwnd = self.nxt + self.window.cwnd.saturating_sub(self.pipe());
        let edge = by_peer.min(by_cwnd);
        while self.nxt + self.smss <= edge {
            self.send_fresh(self.smss, cx);
        }
        self.nxt + self.smss <= by_peer
    }

    /// What the next segment waits for: the pacer, or of the two windows that do not take it the
    /// one that has less room.
    fn what_holds(&self, now: Time, pipe: u64) -> Held {
        let repairs = self.board.waiting() > 0;
        if self.unsent() == 0 && !repairs {
            return Held::No;
        }
        if now < self.paced_until {
            return Held::ByPacer;
        }
        // What goes out again the peer has offered to take before.
        let of_peer = if repairs { u64::MAX } else { self.room() };
        let of_cwnd = self.window.cwnd.saturating_sub(self.filled(pipe));
        let next =
            if repairs { self.smss } else { self.end.saturating_sub(self.nxt).min(self.smss) };
        let full = if self.config.linux_rules { self.smss } else { next };
        // A remainder below a segment counts as none: silly windows are not filled.
        if of_peer >= next && of_cwnd >= full {
            Held::No
        } else if of_cwnd <= of_peer {
            Held::ByCwnd
        } else {
            Held::ByPeer
        }
    }

    /// Sends one segment: what is lost first, then what is new (RFC 6675 §4, NextSeg).
    fn send_one(&mut self, cx: &mut Context<'_>) -> bool {
        let new_first = self.repair.frto == Frto::SentNew;
        if new_first {
            return self.send_new(cx);
        }
        self.send_lost(cx) || self.send_new(cx) || self.send_doubtful(cx)
    }

    /// Octets that fill the congestion window. Before a repair, without Limited Transmit, what
    /// was reported as arrived still does.
    fn filled(&self, pipe: u64) -> u64 {
        let careful = !self.config.limited_transmit && !self.repair.phase.is_repairing();
        if careful { self.counted_flight() } else { pipe }
    }

    /// Room for `octets` in the congestion window.
    fn fits(&self, octets: u64) -> bool {
        let octets = if self.config.linux_rules { self.smss } else { octets };
        self.filled(self.pipe()) + octets <= self.window.cwnd
    }

    fn send_lost(&mut self, cx: &mut Context<'_>) -> bool {
        if self.board.waiting() == 0 || !self.repair.phase.is_repairing() {
            return false;
        }
        let Some(place) = self.board.next_waiting() else { return false };
        let sent = *self.board.get(place);
        if !self.repair.forced && !self.fits(sent.len()) {
            self.limited_until = self.nxt;
            return false;
        }
        let cause = self.repair.head_cause.take().or(sent.lost).unwrap_or(Cause::GoBackN);
        self.resend(place, cause, cx);
        true
    }

    /// RFC 6675 §4 rules 3 and 4: with nothing lost and nothing new to send, what may be lost
    /// goes out again below the highest report, and once in a recovery the last segment.
    fn send_doubtful(&mut self, cx: &mut Context<'_>) -> bool {
        let by_blocks = self.uses_sack() && self.config.recovery == Recovery::Sack;
        if !by_blocks || self.repair.phase != Phase::Recovery || !self.fits(self.smss) {
            return false;
        }
        let fack = self.board.fack().unwrap_or(0);
        let doubtful = |sent: &Sent| !sent.sacked && sent.times == 1;
        let place = (0..self.board.len())
            .take_while(|place| self.board.get(*place).seq < fack)
            .find(|place| doubtful(self.board.get(*place)));
        if let Some(place) = place {
            self.resend(place, Cause::SackRecovery, cx);
            return true;
        }
        let last = self.board.len().saturating_sub(1);
        let rescue = !self.repair.rescued && self.board.back().is_some_and(|sent| !sent.sacked);
        if rescue {
            self.repair.rescued = true;
            self.resend(last, Cause::SackRecovery, cx);
        }
        rescue
    }

    /// Sends the segment at `place` again.
    pub(super) fn resend(&mut self, place: usize, cause: Cause, cx: &mut Context<'_>) {
        let outstanding = !self.board.is_empty();
        let snapshot = self.delivery.snapshot(cx.now, outstanding);
        self.board.resend(place, cx.now, snapshot);
        let sent = *self.board.get(place);
        self.repair.forced = false;
        self.count.resends += 1;
        let tells = sent.seq == self.una && sent.times == 2;
        self.note_resend(sent.end(), cause, tells.then(|| Self::stamp(cx.now)));
        if self.timed.is_some_and(|timed| sent.seq < timed.end) && self.config.karn {
            self.timed = None;
        }
        self.emit(&sent, Some(cause), cx);
        // departs: RFC 6298 §5.1 - in Linux the head's copy sets a running timer anew, too.
        let anew = self.config.linux_rules && place == 0 && is_idle(self.deadlines.reorder);
        if self.timer.is_idle() || anew {
            self.arm_timer(cx.now);
        }
    }

    /// Sends the next new octets as the windows, Nagle and the silly window rules allow.
    #[inline]
    fn send_new(&mut self, cx: &mut Context<'_>) -> bool {
        let Some(len) = self.next_len() else { return false };
        if !self.fits(len.max(1)) {
            self.limited_until = self.nxt;
            return false;
        }
        if self.flight() == 0 {
            self.restart_after_idle(cx.now);
        }
        if self.repair.phase == Phase::Disorder {
            self.repair.limited += len;
        }
        self.send_fresh(len, cx);
        true
    }

    /// Octets that the peer's window takes beyond what was sent.
    pub(super) fn room(&self) -> u64 {
        (self.una + self.peer_window).saturating_sub(self.nxt)
    }

    /// Octets of the next new segment; `None` where nothing may go, cwnd apart.
    fn next_len(&self) -> Option<u64> {
        let unsent = self.unsent();
        if unsent == 0 {
            return None;
        }
        let data = self.end.saturating_sub(self.nxt);
        let len = data.min(self.smss).min(self.room());
        if data == 0 {
            // Only the FIN is left; it may go into a closed window as a probe would.
            return Some(0);
        }
        if len == 0 {
            return None;
        }
        let all = len == data;
        let full = len == self.smss;
        if full || all && self.closing {
            return Some(len);
        }
        // RFC 9293 §3.8.6.2.1 and, for the last of what was written, RFC 896.
        let held = self.nagle && self.flight() > self.long_flight() || self.corked;
        let half = len >= self.peer_window_max / 2;
        ((all || half) && !held).then_some(len)
    }

    /// Octets of flight that hold no short segment back: none in RFC 896. In Linux all of a
    /// flight without another short one in it (Minshall 1999, `tcp_nagle_check`).
    fn long_flight(&self) -> u64 {
        let only_long = self.config.linux_rules && self.short_end <= self.una;
        if only_long { self.flight() } else { 0 }
    }

    /// Sends `len` new octets, and the FIN where it follows them.
    #[inline]
    pub(super) fn send_fresh(&mut self, len: u64, cx: &mut Context<'_>) {
        let outstanding = !self.board.is_empty();
        let end = self.nxt + len;
        let fin = self.closing && end == self.end;
        let snapshot = self.delivery.snapshot(cx.now, outstanding);
        let octets =
            u32::try_from(len).expect("no segment is longer than the MSS") + u32::from(fin);
        let sent = Sent::first(self.nxt, octets, cx.now);
        self.nxt = sent.end();
        if len < self.smss {
            self.short_end = self.nxt;
        }
        self.board.push(sent, snapshot);
        self.timed.get_or_insert(Timed { end: self.nxt, at: cx.now });
        if fin {
            self.state = match self.state {
                State::Established => State::FinWait1,
                State::CloseWait => State::LastAck,
                other => other,
            };
        }
        self.emit(&sent, None, cx);
        if self.timer.is_idle() {
            self.arm_timer(cx.now);
        }
        self.sfr_rests = false;
        self.arm_sfr(cx.now);
        if self.unsent() == 0 {
            let in_flight = self.pipe();
            self.delivery.limited_by_application(in_flight);
        }
    }

    /// RFC 5681 §4.1: after an RTO's idleness the window is no larger than the initial one. In
    /// Linux it is half as large for each RTO that passed, down to that (`tcp_cwnd_restart`), and
    /// the threshold remembers three quarters of it (RFC 2861 §3.1).
    fn restart_after_idle(&mut self, now: Time) {
        let (idle, rto) = (now.saturating_since(self.last_sent), self.timer.rto());
        if idle > rto && self.retries == 0 && !self.congestion.owns_window() {
            let initial = self.config.initial_window(self.smss) * self.smss;
            if self.config.linux_rules {
                self.remember_window();
                // Exactly at a multiple of the timer the last of them has not passed.
                let timers = (idle.as_nanos() - 1) / rto.as_nanos().max(1);
                let halved = (self.window.cwnd / self.smss) >> timers.min(63);
                self.window.cwnd = self.window.cwnd.min((halved * self.smss).max(initial));
                self.usage.begin(now);
            } else {
                self.window.cwnd = self.window.cwnd.min(initial);
            }
        }
        // departs: draft-cardwell-iccrg-bbr-congestion-control §4.3.4.4 - BBR heeds no shorter one.
        if idle > rto || !self.congestion.owns_window() {
            self.congestion.on_idle_restart(now, idle);
        }
    }

    /// Puts a segment of the scoreboard on the wire.
    #[inline(always)]
    fn emit(&mut self, sent: &Sent, cause: Option<Cause>, cx: &mut Context<'_>) {
        let now = cx.now;
        let fin = self.closing && sent.end() > self.end;
        let len = sent.len() - u64::from(fin);
        let segment = self.begin(cx);
        segment.seq = seq::to_wire(self.config.iss, sent.seq);
        segment.len = u16::try_from(len).expect("no segment is longer than the MSS");
        segment.cause = cause.into();
        if fin {
            segment.flags = segment.flags.with(Flags::FIN);
        }
        if len > 0 && sent.seq + len == self.end {
            segment.flags = segment.flags.with(Flags::PSH);
        }
        if self.agreed.ecn && cause.is_none() && len > 0 {
            segment.ecn = Ecn::ECT0;
            if core::mem::take(&mut self.owe_cwr) {
                segment.flags = segment.flags.with(Flags::CWR);
            }
        }
        let room = (self.smss - len) >= SACK_BLOCK_BYTES;
        self.acknowledge_in(segment, if room { 1 } else { 0 });
        let size_bytes = self.weigh(segment);
        if len > 0 {
            self.count.data_segments += 1;
            self.rx.patience.on_data_sent(now);
        }
        self.last_sent = now;
        self.count_sent(len);
        self.pace(u64::from(size_bytes), now);
    }

    /// Puts a segment without payload that carries no acknowledgment yet into the outbox, to be
    /// completed there: built elsewhere, it would be copied before its parts are through.
    #[inline(always)]
    pub(super) fn begin<'a>(&mut self, cx: &'a mut Context<'_>) -> &'a mut Segment {
        self.sent += 1;
        cx.outbox.push_back(Segment::default());
        let segment = cx.outbox.back_mut().expect("just put there");
        segment.id = u64::from(cx.endpoint) << 40 | self.sent;
        segment.dest = cx.endpoint ^ 1;
        segment.seq = seq::to_wire(self.config.iss, self.nxt);
        segment.flags = Flags::ACK;
        if self.agreed.timestamps {
            segment.set_timestamps(self.stamps(cx.now));
        }
        segment
    }

    /// Says how many octets a segment has on the wire, once its options are there.
    #[inline]
    pub(super) fn weigh(&self, segment: &mut Segment) -> u16 {
        let header = self.config.ip_header_bytes + TCP_HEADER_BYTES + option_bytes(segment);
        segment.size_bytes = header + segment.len;
        segment.size_bytes
    }

    /// Puts the acknowledgment in, with `room` SACK blocks at most.
    #[inline]
    fn acknowledge_in(&mut self, segment: &mut Segment, room: usize) {
        segment.ack = seq::to_wire(self.rx.irs, self.rx.nxt);
        let window = self.rx.advance_window() >> self.agreed.own_shift;
        segment.window = u16::try_from(window).unwrap_or(u16::MAX);
        if self.echo_marks {
            segment.flags = segment.flags.with(Flags::ECE);
        }
        if self.rx.has_blocks() && self.agreed.sack && room > 0 {
            segment.set_sack(&self.rx.blocks(room));
        }
        self.rx.on_acknowledged();
    }

    /// A pure ACK.
    pub(super) fn send_ack(&mut self, cx: &mut Context<'_>) {
        let segment = self.begin(cx);
        self.acknowledge_in(segment, SACK_ROOM);
        self.weigh(segment);
    }

    /// An octet beyond a closed window, to learn whether it opened (RFC 9293 §3.8.6.1). It is
    /// not counted as sent until it is acknowledged. Linux sends none, but numbers the segment
    /// one too low, so that it must be answered.
    pub(super) fn send_window_probe(&mut self, cx: &mut Context<'_>) {
        let segment = self.begin(cx);
        self.acknowledge_in(segment, 0);
        if self.config.empty_window_probes {
            segment.seq = segment.seq.wrapping_sub(1);
        } else {
            segment.len = 1;
            self.count.data_segments += 1;
        }
        self.weigh(segment);
    }

    pub(super) fn send_reset(&mut self, cx: &mut Context<'_>) {
        let segment = self.begin(cx);
        segment.flags = Flags::RST.with(Flags::ACK);
        segment.ack = seq::to_wire(self.rx.irs, self.rx.nxt);
        self.weigh(segment);
    }

    /// Our SYN, or SYN-ACK, for the first time.
    pub(super) fn send_syn(&mut self, cause: Option<Cause>, cx: &mut Context<'_>) {
        if self.board.is_empty() {
            let snapshot = self.delivery.snapshot(cx.now, false);
            self.board.push(Sent::first(0, 1, cx.now), snapshot);
            self.nxt = 1;
        }
        let answering = self.state == State::SynReceived;
        let config = Arc::clone(&self.config);
        let now = cx.now;
        let segment = self.begin(cx);
        segment.seq = seq::to_wire(config.iss, 0);
        segment.cause = cause.into();
        segment.set_syn_options(self.syn_offer(answering));
        let stamps = if answering { self.agreed.timestamps } else { config.timestamps };
        if stamps {
            segment.set_timestamps(self.stamps(now));
        }
        let window = self.rx.advance_window().min(u64::from(u16::MAX));
        segment.window = u16::try_from(window).unwrap_or(u16::MAX);
        segment.flags = Flags::SYN;
        if answering {
            segment.flags = segment.flags.with(Flags::ACK);
            segment.ack = seq::to_wire(self.rx.irs, self.rx.nxt);
            if self.agreed.ecn {
                segment.flags = segment.flags.with(Flags::ECE);
            }
        } else if config.ecn {
            segment.flags = segment.flags.with(Flags::ECE.with(Flags::CWR));
        }
        self.weigh(segment);
        self.arm_timer(now);
    }

    /// The SYN goes out again.
    pub(super) fn resend_syn(&mut self, cx: &mut Context<'_>) {
        if !self.board.is_empty() {
            self.board.resend(0, cx.now, None);
        }
        self.count.resends += 1;
        self.send_syn(Some(Cause::Syn), cx);
    }

    /// Whether pacing holds the next segment back; it then wakes up for it.
    fn is_paced(&mut self, now: Time) -> bool {
        let held = now < self.paced_until;
        self.deadlines.pace = if held { self.paced_until } else { Time::NEVER };
        held
    }

    /// A segment of `octets` left: the next may when its time has passed.
    fn pace(&mut self, octets: u64, now: Time) {
        if !self.paces {
            debug_assert!(self.congestion.pacing_rate().is_none(), "only who owns the window");
            return;
        }
        let rate = match self.congestion.pacing_rate() {
            Some(rate) => Some(rate),
            None if self.config.pacing => self.spread_rate(),
            None => None,
        };
        let Some(rate) = rate else { return };
        let gap = rate.time_for(octets);
        self.paced_until = self.paced_until.max(now) + gap;
    }

    /// A window a round trip, and half as much again or twice as much so that pacing is not
    /// what holds it back.
    pub(super) fn spread_rate(&self) -> Option<BitRate> {
        let srtt = self.srtt?.as_nanos().max(1);
        let share = if self.window.in_slow_start() { PACE_SLOW_START } else { PACE_AVOIDANCE };
        let bits = u128::from(self.window.cwnd) * 8 * u128::from(share) / 100;
        let rate = bits * 1_000_000_000 / u128::from(srtt);
        BitRate::new(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
    }
}
