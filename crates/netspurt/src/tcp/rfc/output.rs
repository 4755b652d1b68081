//! Chooses the next segment that a sender sends: a retransmission or new data, as cwnd, the peer's
//! window and the pacer allow.

use crate::segment::Cause;
use crate::units::{BitRate, Time};

use super::account::HeldBy;
use super::cwnd::Idleness;
use super::gso::PacketPlace;
use super::offload::{grow_packet, packet_tail, place_of_copy, place_of_new};
use super::pacer::spread_rate;
use super::repair::Phase;
use super::reshape::reshape;
use super::send_window::SendWindow;
use super::sender::RfcSender;
use super::sent_segment::SentSegment;
use super::stamps::stamp;
use super::usage::Sending;

/// A segment that is to be put on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct NextSegment {
    /// The first octet of the segment.
    pub(super) seq: u64,
    /// Octets of payload.
    pub(super) len: u64,
    /// Whether our FIN follows the payload.
    pub(super) fin: bool,
    /// Whether the segment has PSH.
    pub(super) push: bool,
    /// The payload of a full segment minus the payload of this segment, in octets. SACK blocks may
    /// use this room.
    pub(super) spare: u64,
    /// The cause, if the segment is a retransmission.
    pub(super) cause: Option<Cause>,
}

impl NextSegment {
    /// Returns the segment that sends the octets of `sent`, with a `cause` if it is a
    /// retransmission.
    #[inline]
    fn of(
        sent: &SentSegment,
        window: &SendWindow,
        place: PacketPlace,
        cause: Option<Cause>,
    ) -> Self {
        let SendWindow { end, closing, smss, .. } = *window;
        let fin = closing && sent.end() > end;
        let len = sent.len() - u64::from(fin);
        Self {
            seq: sent.seq,
            len,
            fin,
            push: sent.is_pushed() || place.is_last,
            spare: smss.saturating_sub(len),
            cause,
        }
    }
}

/// Two limits for full segments of new data. Each limit is the octet up to which data may be sent.
/// The limits apply while no repair is in progress and no retransmission can be due.
#[derive(Clone, Copy)]
pub(super) struct Edges {
    /// The lowest of three octets: the end of the peer's window, the end of the current record
    /// (`MSG_EOR`), and the last octet that was written. The limit excludes this last octet,
    /// because only [`next`](RfcSender::next) sends it.
    pub(super) peer: u64,
    /// The lowest of three octets: the field `peer`, the octet up to which cwnd allows data, and
    /// the octet from which data waits until a whole packet for segmentation offload (TSO) may
    /// leave.
    pub(super) both: u64,
}

impl RfcSender {
    /// True if no octet is outstanding and no octet is to be sent.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        self.recovery.loss.scoreboard.is_empty() && self.window.unsent() == 0
    }

    /// Notes that no segment is to be sent.
    #[inline]
    pub(super) fn rest(&mut self) {
        self.account.held_by = HeldBy::Nothing;
        self.moved = false;
        self.timers.rest();
    }

    /// Returns the limits up to which [`send_fresh`](Self::send_fresh) may send full segments
    /// without the checks of [`next`](Self::next). `None` if these checks are needed: for example
    /// during a repair, with pacing, or if nothing is outstanding. The limits exclude the last
    /// octet that was written, because only `next` sends this octet.
    #[inline]
    pub(super) fn clear_edges(&self) -> Option<Edges> {
        let calm = self.recovery.has_nothing_to_repair()
            && !self.recovery.loss.scoreboard.is_empty()
            && !self.pacer.is_on()
            && !self.persist.is_refused
            && !self.window.grows_packets();
        if !calm {
            return None;
        }
        let peer = self.window.peer_edge().min(self.window.end - 1).min(self.window.record_end());
        let cwnd = self.window.nxt + self.recovery.cwnd.window.cwnd.saturating_sub(self.pipe());
        let both = peer.min(cwnd).min(self.packet_edge.unwrap_or(u64::MAX));
        Some(Edges { peer, both })
    }

    /// Returns the next segment that may leave now: lost segments first, then new segments, then
    /// segments that may be lost (RFC 6675 §4, NextSeg). With `only_copies`, returns only lost
    /// segments. Without `only_copies`, if F-RTO needs new data (RFC 5682 §2.1) and there is new
    /// data, returns only new segments.
    pub(super) fn next(&mut self, only_copies: bool, now: Time) -> Option<NextSegment> {
        let held = self.pacer.holds(now);
        self.timers.pace(held);
        if held.is_some() || self.persist.is_refused {
            return None;
        }
        if only_copies {
            return self.next_lost(now);
        }
        if self.recovery.spurious.wants_new_data() {
            let fresh = self.next_new(true, now);
            if fresh.is_some() || self.window.nxt > self.recovery.repair.point {
                return fresh;
            }
            // RFC 5682 §2.1 step 2: without new data, the lost segments are retransmitted.
            self.recovery.spurious.stop_watching();
        }
        let lost = self.next_lost(now);
        lost.or_else(|| self.next_new(false, now)).or_else(|| self.next_doubtful(now))
    }

    /// Ends a burst (the segments that leave at one instant), after everything that may be sent was
    /// sent. Arms the timers of tail loss probes and of window probes. The flag `sent` says whether
    /// anything was sent. The flag `waited` says whether there was new data to send.
    #[inline]
    pub(super) fn end_burst(&mut self, sent: bool, waited: bool, now: Time) {
        self.readings.end_burst();
        if sent || self.moved {
            self.moved = false;
            self.arm_tail_probe(sent, now);
        }
        let mut pipe = self.pipe();
        if self.packet_edge.take().is_some() && self.window.room() > 0 {
            // Data that waits for a whole packet counts as held back by cwnd.
            pipe = pipe.max(self.recovery.cwnd.window.cwnd);
        }
        if pipe + self.window.smss > self.recovery.cwnd.window.cwnd {
            self.recovery.cwnd.note_full(self.window.nxt);
        }
        if self.config.cwnd_rules.validation && waited {
            self.recovery.cwnd.count_usage(&Sending {
                now,
                sent,
                pipe,
                out: self.recovery.loss.counted_flight(&self.window, &self.config),
                una: self.window.una,
                nxt: self.window.nxt,
                smss: self.window.smss,
                rto: self.timers.retransmission.rto(),
                initial: self.recovery.cwnd.initial(self.window.smss),
                is_application_limited: self.recovery.repair.phase == Phase::Open
                    && self.window.unsent() == 0
                    && self.config.cwnd_rules.idle_restart,
            });
        }
        self.arm_persist(now);
        self.account.held_by = self.what_holds(now, pipe);
    }

    /// Determines again what holds the next octets back, because a timer may have sent octets since
    /// the last burst.
    pub(super) fn update_hold(&mut self, now: Time) {
        self.account.held_by = self.what_holds(now, self.pipe());
    }

    /// Returns what the next segment waits for: the pacer, cwnd, or the peer's window. If cwnd and
    /// the peer's window both lack room for this segment, returns the window with less room.
    fn what_holds(&self, now: Time, pipe: u64) -> HeldBy {
        let repairs = self.recovery.loss.scoreboard.waiting() > 0;
        if self.window.unsent() == 0 && !repairs {
            return HeldBy::Nothing;
        }
        if self.pacer.holds(now).is_some() {
            return HeldBy::Pacer;
        }
        // A retransmitted octet needs no new room in the peer's window.
        let smss = self.window.smss;
        let of_peer = if repairs { u64::MAX } else { self.window.room() };
        let filled = self.recovery.filled_of(pipe, &self.window, &self.config);
        let of_cwnd = self.recovery.cwnd.window.cwnd.saturating_sub(filled);
        let next = if repairs { smss } else { self.window.unsent_data().min(smss) };
        let full = if self.config.cwnd_rules.whole_segments { smss } else { next };
        // Room for less than a segment counts as no room, because of silly window avoidance.
        HeldBy::lack_of_room((of_cwnd, full), (of_peer, next))
    }

    fn next_lost(&mut self, now: Time) -> Option<NextSegment> {
        let (place, cause) = self.recovery.next_lost(&self.window, &self.config)?;
        Some(self.retransmit(place, cause, now))
    }

    fn next_doubtful(&mut self, now: Time) -> Option<NextSegment> {
        let place = self.recovery.next_doubtful(&self.window, &self.config)?;
        Some(self.retransmit(place, Cause::SackRecovery, now))
    }

    /// Retransmits the segment at `place` (the index in the scoreboard).
    pub(super) fn retransmit(&mut self, place: usize, cause: Cause, now: Time) -> NextSegment {
        reshape(&mut self.recovery.loss.scoreboard, place, &self.window, &self.config);
        let in_packet = place_of_copy(self, place, cause);
        let scoreboard = &mut self.recovery.loss.scoreboard;
        let snapshot = self.delivery.snapshot(now, !scoreboard.is_empty());
        let counted = cause != Cause::Tlp || !self.config.send_rules.probes_are_uncounted;
        let reads = self.readings.on_copy() || !self.config.rack_rules.clock_read_again;
        scoreboard.retransmit(place, (now, reads), counted, snapshot);
        let sent = *self.recovery.loss.scoreboard.get(place);
        self.recovery.repair.forced = false;
        self.count.retransmissions += 1;
        self.count.retransmitted_bytes += sent.end().min(self.window.end) - sent.seq;
        let tells = sent.seq == self.window.una && sent.times == 2;
        self.recovery.spurious.on_retransmitted(sent.end(), cause, stamp(now), tells);
        self.meter.on_retransmitted(sent.seq, self.config.karn);
        let head_copy = place == 0 && self.config.timer_rules.head_copy_restarts;
        if self.timers.is_unguarded() || head_copy && !self.timers.awaits_reordering() {
            self.timers.arm(&self.recovery.loss.scoreboard, now);
        }
        if place == 0 && cause != Cause::Sfr && self.super_fast.on_other_repair() {
            self.timers.arm_super_fast(None, now);
        }
        NextSegment::of(&sent, &self.window, in_packet, Some(cause))
    }

    /// Sends the next new octets, if cwnd, the peer's window, Nagle and silly window avoidance
    /// allow it. The new data of F-RTO does not wait for Nagle (`tcp_xmit_recovery`).
    fn next_new(&mut self, for_frto: bool, now: Time) -> Option<NextSegment> {
        if self.window.grows_packets() {
            grow_packet(self);
        }
        let len = self.window.next_len(for_frto).or_else(|| packet_tail(self))?;
        if self.packet_edge.is_some_and(|edge| self.window.nxt >= edge) {
            return None;
        }
        if !self.recovery.fits(len.max(1), &self.window, &self.config) {
            self.recovery.cwnd.note_full(self.window.nxt);
            return None;
        }
        if self.window.flight() == 0 {
            self.restart_after_idle(now);
        }
        if self.recovery.repair.phase == Phase::Disorder {
            self.recovery.loss.limited += len;
        }
        Some(self.send_fresh(len, now))
    }

    /// Sends `len` new octets, and the FIN if the FIN follows these octets. The function is
    /// inlined, so that the compiler can use the known length of a full segment.
    #[inline(always)]
    pub(super) fn send_fresh(&mut self, len: u64, now: Time) -> NextSegment {
        let snapshot = self.delivery.snapshot(now, !self.recovery.loss.scoreboard.is_empty());
        let seq = self.window.nxt;
        let place = place_of_new(self, len);
        let pushed = len > 0 && !place.goes_on && self.window.is_pushed(seq + len);
        let ends_record = self.window.ends_record(seq + len);
        let fin = self.window.send(len);
        let octets =
            u32::try_from(len).expect("no segment is longer than the MSS") + u32::from(fin);
        let sent =
            SentSegment::first(seq, octets, now).with_bits(place.goes_on, pushed, ends_record);
        let scoreboard = &mut self.recovery.loss.scoreboard;
        let again = self.config.rack_rules.clock_read_again;
        let reads = !again || self.readings.on_new();
        scoreboard.push(sent, reads, snapshot);
        self.meter.on_sent(self.window.nxt, now);
        if self.timers.is_unguarded() {
            self.timers.arm(scoreboard, now);
        }
        self.super_fast.on_new_data();
        self.arm_super_fast(now);
        if self.window.unsent() == 0 {
            let in_flight = self.pipe();
            self.delivery.limited_by_application(in_flight);
        }
        NextSegment::of(&sent, &self.window, place, None)
    }

    /// Notes that a segment with `len` octets of payload was sent. With its headers, the segment
    /// has `size_bytes` octets.
    #[inline]
    pub(super) fn on_departed(&mut self, len: u64, size_bytes: u16, now: Time) {
        self.count.data_segments += u64::from(len > 0);
        self.last_sent = now;
        let whole_segments = self.config.cwnd_rules.whole_segments;
        let octets = if whole_segments { self.window.smss } else { len };
        self.recovery.repair.on_departed(octets, self.config.prr);
        if self.pacer.is_on() {
            self.pacer.on_departed(size_bytes.into(), self.pacing_rate(), now);
        }
    }

    /// The rate at which segments are paced. The result is `None` without pacing, or before a round
    /// trip is known.
    fn pacing_rate(&self) -> Option<BitRate> {
        let cwnd = &self.recovery.cwnd;
        let spread = || spread_rate(&cwnd.window, self.meter.srtt).filter(|_| self.config.pacing);
        cwnd.pacing_rate().or_else(spread)
    }

    /// Applies the rules for idle times. The sender is about to send new octets after a time in
    /// which nothing was outstanding.
    fn restart_after_idle(&mut self, now: Time) {
        let (idle, rto) = (now.saturating_since(self.last_sent), self.timers.retransmission.rto());
        let shrinks = self.config.cwnd_rules.idle_restart && !self.recovery.cwnd.is_owned();
        if idle > rto && self.timers.retries() == 0 && shrinks {
            let smss = self.window.smss;
            let initial = self.recovery.cwnd.initial(smss);
            let idleness = Idleness { now, idle, rto, initial, smss };
            self.recovery.cwnd.restart_after_idle(&idleness, &self.config.cwnd_rules);
        }
        // departs: draft-cardwell-iccrg-bbr-congestion-control §4.3.4.4 - BBR is told only of idle
        // times longer than the timer.
        if idle > rto || !self.recovery.cwnd.is_owned() {
            self.recovery.cwnd.algorithm.on_idle_restart(now, idle);
        }
    }
}
