//! What is sent next: retransmissions and new data, as both windows and the pacer allow.

use crate::segment::Cause;
use crate::units::{BitRate, Time};

use super::super::config::Recovery;
use super::account::HeldBy;
use super::cwnd::Idleness;
use super::deadlines::is_idle;
use super::pacer::spread_rate;
use super::repair::Phase;
use super::scoreboard::Sent;
use super::send_window::SendWindow;
use super::sender::RfcSender;
use super::stamps::stamp;
use super::usage::Sending;

/// A segment that is to be put on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextSegment {
    /// Its first octet.
    pub(super) seq: u64,
    /// Octets of payload.
    pub(super) len: u64,
    /// Whether our FIN follows them.
    pub(super) fin: bool,
    /// Whether they are the last that were written.
    pub(super) push: bool,
    /// Whether it has octets to spare for a SACK block.
    pub(super) has_room: bool,
    /// Why it leaves again, if it does.
    pub(super) cause: Option<Cause>,
}

/// How far full segments may be sent while nothing is doubted.
#[derive(Clone, Copy)]
pub(super) struct Edges {
    /// By the peer's window, the last octets written left out.
    pub(super) peer: u64,
    /// By both windows.
    pub(super) both: u64,
}

/// Octets of a SACK option with one block, padding included.
const SACK_BLOCK_BYTES: u64 = 12;

impl RfcSender {
    /// Whether there is nothing outstanding and nothing to send.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.loss.scoreboard.is_empty() && self.window.unsent() == 0
    }

    /// Nothing is to be sent.
    #[inline]
    pub(super) fn rest(&mut self) {
        self.account.held_by = HeldBy::Nothing;
        self.moved = false;
        self.deadlines.tlp = Time::NEVER;
        self.deadlines.persist = Time::NEVER;
    }

    /// How far [`send_fresh`](Self::send_fresh) may be asked for full segments without a further
    /// look at what may stand against it, as [`next`](Self::next) would look; nowhere where
    /// anything is doubted or paced. The last octets written are left to `next`.
    #[inline]
    pub(super) fn clear_edges(&self) -> Option<Edges> {
        let calm = self.repair.phase == Phase::Open
            && self.spurious.is_frto_off()
            && self.loss.dup_bytes == 0
            && self.loss.scoreboard.is_orderly()
            && !self.loss.scoreboard.is_empty()
            && !self.pacer.is_on();
        if !calm {
            return None;
        }
        let peer = self.window.peer_edge().min(self.window.end - 1);
        let cwnd = self.window.nxt + self.cwnd.window.cwnd.saturating_sub(self.pipe());
        Some(Edges { peer, both: peer.min(cwnd) })
    }

    /// Whether a full segment ends at `edge` or before it.
    #[inline]
    pub(super) fn has_full_below(&self, edge: u64) -> bool {
        self.window.nxt + self.window.smss <= edge
    }

    /// The next segment that may leave now: what is lost first, then what is new (RFC 6675 §4,
    /// NextSeg).
    pub(super) fn next(&mut self, now: Time) -> Option<NextSegment> {
        let held = self.pacer.holds(now);
        self.deadlines.pace = held.unwrap_or(Time::NEVER);
        if held.is_some() {
            return None;
        }
        if self.spurious.wants_new_data() {
            return self.next_new(now);
        }
        let lost = self.next_lost(now);
        lost.or_else(|| self.next_new(now)).or_else(|| self.next_doubtful(now))
    }

    /// All that may be sent was: arms what waits for answers, and for room. `sent` says whether
    /// anything was, `waited` whether there was something new to send.
    #[inline]
    pub(super) fn end_burst(&mut self, sent: bool, waited: bool, now: Time) {
        if sent || self.moved {
            self.moved = false;
            self.arm_tail_probe(now);
        }
        let pipe = self.pipe();
        if pipe + self.window.smss > self.cwnd.window.cwnd {
            self.cwnd.note_full(self.window.nxt);
        }
        if self.config.cwnd_rules.validation && waited {
            self.cwnd.count_usage(&Sending {
                now,
                sent,
                pipe,
                out: self.loss.counted_flight(&self.window, &self.config),
                una: self.window.una,
                nxt: self.window.nxt,
                smss: self.window.smss,
                rto: self.timer.rto(),
                initial: self.initial_window(),
                is_application_limited: self.repair.phase == Phase::Open
                    && self.window.unsent() == 0,
            });
        }
        self.arm_persist(now);
        self.account.held_by = self.what_holds(now, pipe);
    }

    /// Says anew what holds the next octets back, after some were sent in another way.
    pub(super) fn look_at_hold(&mut self, now: Time) {
        self.account.held_by = self.what_holds(now, self.pipe());
    }

    /// What the next segment waits for: the pacer, or of the two windows that do not take it the
    /// one that has less room.
    fn what_holds(&self, now: Time, pipe: u64) -> HeldBy {
        let repairs = self.loss.scoreboard.waiting() > 0;
        if self.window.unsent() == 0 && !repairs {
            return HeldBy::Nothing;
        }
        if self.pacer.holds(now).is_some() {
            return HeldBy::Pacer;
        }
        // What goes out again the peer has offered to take before.
        let smss = self.window.smss;
        let of_peer = if repairs { u64::MAX } else { self.window.room() };
        let of_cwnd = self.cwnd.window.cwnd.saturating_sub(self.filled_of(pipe));
        let next = if repairs { smss } else { self.window.unsent_data().min(smss) };
        let full = if self.config.cwnd_rules.whole_segments { smss } else { next };
        // A remainder below a segment counts as none: silly windows are not filled.
        if of_peer >= next && of_cwnd >= full {
            HeldBy::Nothing
        } else if of_cwnd <= of_peer {
            HeldBy::Cwnd
        } else {
            HeldBy::Peer
        }
    }

    /// Octets that fill the congestion window, of which `pipe` are in the network. Before a
    /// repair, without Limited Transmit, what was reported as arrived still fills it.
    fn filled_of(&self, pipe: u64) -> u64 {
        let careful = !self.config.limited_transmit && !self.repair.phase.is_repairing();
        if careful { self.loss.counted_flight(&self.window, &self.config) } else { pipe }
    }

    /// Whether the congestion window has room for `octets`.
    fn fits(&self, octets: u64) -> bool {
        let whole = self.config.cwnd_rules.whole_segments;
        let octets = if whole { self.window.smss } else { octets };
        self.filled_of(self.pipe()) + octets <= self.cwnd.window.cwnd
    }

    fn next_lost(&mut self, now: Time) -> Option<NextSegment> {
        if self.loss.scoreboard.waiting() == 0 || !self.repair.phase.is_repairing() {
            return None;
        }
        let place = self.loss.scoreboard.next_waiting()?;
        let sent = *self.loss.scoreboard.get(place);
        if !self.repair.forced && !self.fits(sent.len()) {
            self.cwnd.note_full(self.window.nxt);
            return None;
        }
        let cause = self.repair.take_cause(sent.lost);
        Some(self.retransmit(place, cause, now))
    }

    /// RFC 6675 §4 rules 3 and 4: with nothing lost and nothing new to send, what may be lost
    /// goes out again below the highest report, and once in a recovery the last segment.
    fn next_doubtful(&mut self, now: Time) -> Option<NextSegment> {
        let by_blocks = self.loss.uses_sack && self.config.recovery == Recovery::Sack;
        let recovers = self.repair.phase == Phase::Recovery;
        if !by_blocks || !recovers || !self.fits(self.window.smss) {
            return None;
        }
        let place = match self.loss.scoreboard.first_doubtful() {
            Some(place) => place,
            None if self.repair.rescued => return None,
            None => {
                let last = self.loss.scoreboard.back().filter(|sent| !sent.sacked);
                self.repair.rescued = last.is_some();
                last.map(|_| self.loss.scoreboard.len() - 1)?
            }
        };
        Some(self.retransmit(place, Cause::SackRecovery, now))
    }

    /// The segment at `place` leaves again.
    pub(super) fn retransmit(&mut self, place: usize, cause: Cause, now: Time) -> NextSegment {
        let outstanding = !self.loss.scoreboard.is_empty();
        let snapshot = self.delivery.snapshot(now, outstanding);
        self.loss.scoreboard.retransmit(place, now, snapshot);
        let sent = *self.loss.scoreboard.get(place);
        self.repair.forced = false;
        self.count.retransmissions += 1;
        let tells = sent.seq == self.window.una && sent.times == 2;
        self.spurious.on_retransmitted(sent.end(), cause, tells.then(|| stamp(now)));
        self.meter.on_retransmitted(sent.seq, self.config.karn);
        let head_copy = place == 0 && self.config.timer_rules.head_copy_restarts;
        if self.timer.is_idle() || head_copy && is_idle(self.deadlines.reorder) {
            self.arm_timer(now);
        }
        self.departure(&sent, Some(cause))
    }

    /// The next new octets, as the windows, Nagle and the silly window rules allow.
    fn next_new(&mut self, now: Time) -> Option<NextSegment> {
        let len = self.window.next_len(self.config.minshall)?;
        if !self.fits(len.max(1)) {
            self.cwnd.note_full(self.window.nxt);
            return None;
        }
        if self.window.flight() == 0 {
            self.restart_after_idle(now);
        }
        if self.repair.phase == Phase::Disorder {
            self.loss.limited += len;
        }
        Some(self.send_fresh(len, now))
    }

    /// `len` new octets leave, and the FIN where it follows them.
    #[inline]
    pub(super) fn send_fresh(&mut self, len: u64, now: Time) -> NextSegment {
        let outstanding = !self.loss.scoreboard.is_empty();
        let snapshot = self.delivery.snapshot(now, outstanding);
        let seq = self.window.nxt;
        let fin = self.window.send(len);
        let octets =
            u32::try_from(len).expect("no segment is longer than the MSS") + u32::from(fin);
        let sent = Sent::first(seq, octets, now);
        self.loss.scoreboard.push(sent, snapshot);
        self.meter.on_sent(self.window.nxt, now);
        if self.timer.is_idle() {
            self.arm_timer(now);
        }
        self.sfr_rests = false;
        self.arm_sfr(now);
        if self.window.unsent() == 0 {
            let in_flight = self.pipe();
            self.delivery.limited_by_application(in_flight);
        }
        self.departure(&sent, None)
    }

    #[inline]
    fn departure(&self, sent: &Sent, cause: Option<Cause>) -> NextSegment {
        let SendWindow { end, closing, smss, .. } = self.window;
        let fin = closing && sent.end() > end;
        let len = sent.len() - u64::from(fin);
        NextSegment {
            seq: sent.seq,
            len,
            fin,
            push: len > 0 && sent.seq + len == end,
            has_room: smss - len >= SACK_BLOCK_BYTES,
            cause,
        }
    }

    /// A segment with `len` octets of payload left, `size_bytes` with its headers.
    #[inline]
    pub(super) fn on_departed(&mut self, len: u64, size_bytes: u16, now: Time) {
        self.count.data_segments += u64::from(len > 0);
        self.last_sent = now;
        self.repair.on_departed(len);
        if self.pacer.is_on() {
            self.pacer.on_departed(size_bytes.into(), self.pacing_rate(), now);
        }
    }

    /// The rate at which segments are paced, where they are.
    fn pacing_rate(&self) -> Option<BitRate> {
        let spread = || if self.config.pacing { self.spread_rate() } else { None };
        self.cwnd.pacing_rate().or_else(spread)
    }

    /// The rate that spreads the window over a round trip.
    pub(super) fn spread_rate(&self) -> Option<BitRate> {
        spread_rate(&self.cwnd.window, self.meter.srtt)
    }

    /// New octets leave after a time in which nothing was outstanding.
    fn restart_after_idle(&mut self, now: Time) {
        let (idle, rto) = (now.saturating_since(self.last_sent), self.timer.rto());
        if idle > rto && self.retries == 0 && !self.cwnd.is_owned() {
            let (initial, smss) = (self.initial_window(), self.window.smss);
            let idleness = Idleness { now, idle, rto, initial, smss };
            self.cwnd.restart_after_idle(&idleness, &self.config.cwnd_rules);
        }
        // departs: draft-cardwell-iccrg-bbr-congestion-control §4.3.4.4 - BBR is told only of idle
        // times longer than the timer.
        if idle > rto || !self.cwnd.is_owned() {
            self.cwnd.algorithm.on_idle_restart(now, idle);
        }
    }
}
