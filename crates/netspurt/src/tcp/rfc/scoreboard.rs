//! The scoreboard of a sender: the outstanding segments, which of them have arrived, and which
//! count as lost.

use std::collections::VecDeque;

use crate::packed::{packed, packed_value};
use crate::segment::Cause;
use crate::units::Time;

use crate::ranges::Ranges;

use super::sent_segment::{SentSegment, Snapshot, TURN_MAX};

/// The number of octets and segments in one state.
#[derive(Clone, Copy, Debug, Default)]
struct StateCount {
    octets: u64,
    segs: u64,
}

packed_value!(StateCount { octets, segs });

impl StateCount {
    #[inline]
    fn add(&mut self, sent: &SentSegment) {
        self.octets += sent.len();
        self.segs += 1;
    }

    /// Removes the octets from the count, and also one segment if `whole` is true.
    #[inline]
    fn take(&mut self, octets: u64, whole: bool) {
        self.octets -= octets;
        self.segs -= u64::from(whole);
    }
}

/// Segments in the order of their octets, from the oldest outstanding on.
///
/// The counts of octets and segments change whenever a segment changes its state. So pipe is
/// computed without a loop: outstanding - SACKed - lost + retransmitted (RFC 6675 §4, SetPipe).
#[derive(Debug, Default)]
pub(super) struct Scoreboard {
    segs: VecDeque<SentSegment>,
    /// When the last transmission left, and how often the clock was read earlier at the same
    /// instant.
    newest: (Time, u32),
    /// The state of delivery when each segment left. The list is empty if delivery is not sampled.
    snapshots: VecDeque<Snapshot>,
    /// Octets reported as arrived.
    arrived: Ranges,
    sacked: StateCount,
    lost: StateCount,
    retransmitted: StateCount,
    /// Octets that are lost and not retransmitted yet.
    waiting: u64,
    /// Below this octet, no lost segment waits for its retransmission.
    waiting_from: u64,
    /// Loss detection by SACK has checked all segments below this octet.
    judged: u64,
    /// The octets of segments that RACK had marked as lost. An undo cleared the mark before these
    /// segments were retransmitted.
    spared: Ranges,
}

packed!(Scoreboard {
    segs,
    newest,
    snapshots,
    arrived,
    sacked,
    lost,
    retransmitted,
    waiting,
    waiting_from,
    judged,
    spared
});

impl Scoreboard {
    pub(super) fn is_empty(&self) -> bool {
        self.segs.is_empty()
    }

    /// True if nothing was reported beyond the cumulative ACK, and nothing is lost or
    /// retransmitted.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_orderly() && self.arrived.is_empty()
    }

    /// True if no segment is SACKed, lost or retransmitted. A SACK report that covers no complete
    /// segment does not matter here.
    pub(super) fn is_orderly(&self) -> bool {
        self.sacked.segs == 0 && self.lost.segs == 0 && self.retransmitted.segs == 0
    }

    pub(super) fn len(&self) -> usize {
        self.segs.len()
    }

    pub(super) fn sacked(&self) -> u64 {
        self.sacked.octets
    }

    /// Segments reported as arrived.
    pub(super) fn sacked_segs(&self) -> u64 {
        self.sacked.segs
    }

    pub(super) fn lost(&self) -> u64 {
        self.lost.octets
    }

    pub(super) fn retransmitted(&self) -> u64 {
        self.retransmitted.octets
    }

    /// The number of segments that have an outstanding retransmission.
    pub(super) fn copies(&self) -> u64 {
        self.retransmitted.segs
    }

    /// Segments that may still arrive (Linux's `tcp_packets_in_flight`). Duplicate ACKs are not
    /// counted as arrivals.
    #[inline]
    pub(super) fn segs_in_network(&self) -> u64 {
        let all = self.segs.len() as u64 + self.retransmitted.segs;
        let gone = self.sacked.segs + self.lost.segs;
        debug_assert!(all >= gone, "of {all} transmissions, {gone} arrived or were lost");
        all - gone
    }

    /// Outstanding segments that do not count as lost.
    pub(super) fn segs_not_lost(&self) -> u64 {
        self.segs.len() as u64 - self.lost.segs
    }

    /// Whether the number of outstanding retransmissions is at least the number of lost segments.
    pub(super) fn copies_match_losses(&self) -> bool {
        self.retransmitted.segs >= self.lost.segs
    }

    /// Whether retransmissions are outstanding, or the oldest segment was sent more than once.
    pub(super) fn has_copies(&self) -> bool {
        self.retransmitted.segs > 0 || self.segs.front().is_some_and(|head| head.times > 1)
    }

    /// Octets that are lost and not retransmitted yet.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting
    }

    /// The octet after the highest octet that was reported as arrived (`snd.fack`).
    pub(super) fn fack(&self) -> Option<u64> {
        self.arrived.top()
    }

    pub(super) fn arrived(&self) -> &Ranges {
        &self.arrived
    }

    /// True if RACK had marked the segment `sent` as lost, and an undo cleared this mark before the
    /// segment was retransmitted.
    pub(super) fn is_spared(&self, sent: &SentSegment) -> bool {
        !self.spared.is_empty() && self.spared.holds(sent.seq, sent.end())
    }

    pub(super) fn front(&self) -> Option<&SentSegment> {
        self.segs.front()
    }

    pub(super) fn back(&self) -> Option<&SentSegment> {
        self.segs.back()
    }

    pub(super) fn get(&self, place: usize) -> &SentSegment {
        &self.segs[place]
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SentSegment> {
        self.segs.iter()
    }

    /// Returns the place (the index) of the first segment after the run of arrived octets that
    /// contains `octet`.
    pub(super) fn after_run(&self, octet: u64) -> usize {
        self.place_of(self.arrived.holding(octet).map_or(octet + 1, |run| run.1))
    }

    /// Returns the place of the first segment that was sent once and may be lost, because a segment
    /// above it has arrived (RFC 6675 §4, rule 3 of NextSeg).
    pub(super) fn first_doubtful(&self) -> Option<usize> {
        let fack = self.fack().unwrap_or(0);
        let below = self.segs.iter().take_while(|sent| sent.seq < fack);
        below.enumerate().find(|(_, sent)| !sent.sacked && sent.times == 1).map(|(place, _)| place)
    }

    /// Adds a segment of new data that was sent. The flag `reads` says whether the sender read the
    /// clock for this segment, even if it had already read the clock at the same instant.
    pub(super) fn push(&mut self, sent: SentSegment, reads: bool, snapshot: Option<Snapshot>) {
        let turn = self.take_turn(sent.at, reads);
        self.segs.push_back(sent.with_turn(turn));
        if let Some(snapshot) = snapshot {
            self.snapshots.push_back(snapshot);
        }
    }

    /// Gives PSH to the last segment and to its later retransmissions.
    pub(super) fn push_last(&mut self) {
        if let Some(last) = self.segs.back_mut() {
            last.push();
        }
    }

    /// Counts a transmission at the instant `now`. The flag `reads` says whether the sender reads
    /// the clock for it. Returns how often the clock was read before at this instant, but at most
    /// `TURN_MAX`.
    #[inline]
    fn take_turn(&mut self, now: Time, reads: bool) -> u32 {
        let (at, turn) = self.newest;
        let next = if at == now { (turn + u32::from(reads)).min(TURN_MAX) } else { 0 };
        self.newest = (now, next);
        next
    }

    /// Marks the segment at `place` as the last segment of its packet.
    pub(super) fn end_packet(&mut self, place: usize) {
        self.segs[place].end_packet();
    }

    /// The place of the first segment that ends above `octet`. This is the segment that contains
    /// `octet`, if there is one.
    pub(super) fn place_of(&self, octet: u64) -> usize {
        self.segs.partition_point(|sent| sent.end() <= octet)
    }

    /// Moves the cumulative ACK to `ack`. Calls the function `covered` for each segment that this
    /// ACK covers completely, with the state of the segment before the ACK.
    pub(super) fn ack(
        &mut self,
        ack: u64,
        mut covered: impl FnMut(&SentSegment, Option<&Snapshot>),
    ) {
        while let Some(front) = self.segs.front_mut() {
            if front.end() <= ack {
                covered(front, self.snapshots.front());
                let gone = *front;
                self.segs.pop_front();
                self.snapshots.pop_front();
                self.uncount(&gone, true);
            } else {
                if front.seq < ack {
                    let part = front.trim(ack);
                    self.uncount(&part, false);
                }
                break;
            }
        }
        if !self.arrived.is_empty() {
            self.arrived.remove_below(ack);
        }
        if !self.spared.is_empty() {
            self.spared.remove_below(ack);
        }
    }

    /// Does the same as [`ack`](Self::ack) for a quiet scoreboard without snapshots, but leaves the
    /// field `spared` as it is. The segments of a quiet scoreboard are in no count.
    pub(super) fn ack_quiet(&mut self, ack: u64, mut covered: impl FnMut(&SentSegment)) {
        while let Some(front) = self.segs.front_mut() {
            if front.end() > ack {
                if front.seq < ack {
                    front.trim(ack);
                }
                break;
            }
            covered(front);
            self.segs.pop_front();
        }
    }

    /// Divides the segment at `place` after `len` octets. Both parts keep the state of the segment.
    pub(super) fn divide(&mut self, place: usize, len: u32) {
        let (first, rest) = self.segs[place].divided(len);
        self.segs[place] = first;
        self.segs.insert(place + 1, rest);
        if let Some(snapshot) = self.snapshots.get(place).copied() {
            self.snapshots.insert(place + 1, snapshot);
        }
        self.lost.segs += u64::from(first.lost.is_some());
        self.retransmitted.segs += u64::from(first.retransmitted);
    }

    /// Joins the segment at `place` with the next segment. The joined segment has the state of the
    /// first segment, and counts as sent more than once if one of the two segments was.
    pub(super) fn join_next(&mut self, place: usize) {
        let (first, next) = (self.segs[place], self.segs[place + 1]);
        self.uncount(&first, true);
        self.uncount(&next, true);
        self.segs.remove(place + 1);
        self.snapshots.remove(place + 1);
        let joined = first.joined(&next);
        if joined.lost.is_some() {
            self.lost.add(&joined);
            self.waiting += if joined.retransmitted { 0 } else { joined.len() };
        }
        if joined.retransmitted {
            self.retransmitted.add(&joined);
        }
        self.segs[place] = joined;
    }

    /// Removes the segment `gone` from the counts. If `whole` is false, `gone` is only the
    /// acknowledged first part of a segment.
    fn uncount(&mut self, gone: &SentSegment, whole: bool) {
        let octets = gone.len();
        if gone.sacked {
            return self.sacked.take(octets, whole);
        }
        if gone.lost.is_some() {
            self.lost.take(octets, whole);
            if !gone.retransmitted {
                self.waiting -= octets;
            }
        }
        if gone.retransmitted {
            self.retransmitted.take(octets, whole);
        }
    }

    /// Notes a report that the octets `left..right` have arrived. Each segment that the report
    /// covers completely is marked as arrived. Calls the function `covered` for each segment that
    /// was not marked before, with the state of the segment before the report.
    pub(super) fn sack(
        &mut self,
        left: u64,
        right: u64,
        mut covered: impl FnMut(&SentSegment, Option<&Snapshot>),
    ) {
        let mut at = left;
        while at < right {
            if let Some((_, end)) = self.arrived.holding(at) {
                at = end;
                continue;
            }
            let next = self.arrived.next_from(at).map_or(right, |range| range.0.min(right));
            self.cover(at, next, left, right, &mut covered);
            at = next;
        }
        self.arrived.insert(left, right);
    }

    /// Marks as arrived the segments that overlap `from..to` and lie within `left..right`.
    fn cover(
        &mut self,
        from: u64,
        to: u64,
        left: u64,
        right: u64,
        covered: &mut impl FnMut(&SentSegment, Option<&Snapshot>),
    ) {
        for place in self.place_of(from)..self.segs.len() {
            let sent = self.segs[place];
            if sent.seq >= to {
                break;
            }
            if sent.seq >= left && sent.end() <= right && !sent.sacked {
                covered(&sent, self.snapshots.get(place));
                self.uncount(&sent, true);
                self.sacked.add(&sent);
                let sent = &mut self.segs[place];
                (sent.sacked, sent.lost, sent.retransmitted) = (true, None, false);
            }
        }
    }

    /// Marks the segment at `place` and its retransmissions as lost, unless it has arrived. A
    /// segment that already waits for its retransmission keeps its cause.
    pub(super) fn mark_lost(&mut self, place: usize, cause: Cause) {
        let sent = &mut self.segs[place];
        if sent.sacked {
            return;
        }
        let len = sent.len();
        if sent.lost.is_none() {
            self.lost.add(sent);
            self.waiting += len;
        } else if sent.retransmitted {
            self.waiting += len;
        }
        if sent.retransmitted {
            self.retransmitted.take(len, true);
        }
        if !sent.is_waiting() {
            sent.lost = Some(cause);
        }
        sent.retransmitted = false;
        self.waiting_from = self.waiting_from.min(sent.seq);
    }

    /// Marks as lost all segments that have not arrived, start below the octet `edge`, and were not
    /// checked by an earlier call. Returns the number of their octets.
    pub(super) fn mark_lost_below(&mut self, edge: u64, mut cause: impl FnMut() -> Cause) -> u64 {
        let before = self.lost();
        let first = self.place_of(self.judged);
        for place in first..self.segs.len() {
            let sent = &self.segs[place];
            if sent.seq >= edge {
                break;
            }
            if !sent.sacked && sent.lost.is_none() {
                self.mark_lost(place, cause());
            }
        }
        self.judged = self.judged.max(edge);
        self.lost() - before
    }

    /// Marks all segments that have not arrived as lost, after a timeout or after Tahoe's fast
    /// retransmit.
    pub(super) fn mark_all_lost(&mut self, cause: Cause) {
        for place in 0..self.segs.len() {
            self.mark_lost(place, cause);
        }
        self.judged = self.segs.back().map_or(self.judged, SentSegment::end);
    }

    /// Clears the mark of all lost segments, because the originals are still on their way. Some of
    /// the lost segments may have been marked by RACK and not retransmitted after the mark. If
    /// `spared` is true, RACK ignores these segments until they are retransmitted.
    pub(super) fn clear_lost(&mut self, spared: bool) {
        for sent in &mut self.segs {
            if spared && sent.lost == Some(Cause::Rack) && !sent.retransmitted {
                self.spared.insert(sent.seq, sent.end());
            }
            sent.lost = None;
        }
        (self.lost, self.waiting) = (StateCount::default(), 0);
        self.judged = self.segs.front().map_or(0, |first| first.seq);
    }

    /// Counts no octet as arrived any more, because the receiver discarded octets that it had
    /// reported (RFC 2018 §8).
    pub(super) fn forget_sacks(&mut self) {
        for sent in &mut self.segs {
            sent.sacked = false;
        }
        self.sacked = StateCount::default();
        self.arrived.clear();
    }

    /// Returns the place of the first segment that is lost and not retransmitted yet.
    pub(super) fn next_waiting(&mut self) -> Option<usize> {
        if self.waiting == 0 {
            self.waiting_from = u64::MAX;
            return None;
        }
        let first = self.place_of(self.waiting_from);
        let found = (first..self.segs.len()).find(|place| self.segs[*place].is_waiting());
        self.waiting_from = found.map_or(u64::MAX, |place| self.segs[place].seq);
        found
    }

    /// Notes that the segment at `place` was retransmitted at the instant `now`. The flag `reads`
    /// is as in [`push`](Self::push). The flag `counted` says whether the retransmission counts as
    /// outstanding.
    pub(super) fn retransmit(
        &mut self,
        place: usize,
        (now, reads): (Time, bool),
        counted: bool,
        snapshot: Option<Snapshot>,
    ) {
        let turn = self.take_turn(now, reads);
        let sent = &mut self.segs[place];
        if counted && !sent.retransmitted {
            self.retransmitted.add(sent);
            if sent.lost.is_some() {
                self.waiting -= sent.len();
            }
            sent.retransmitted = true;
        }
        sent.at = now;
        *sent = sent.with_turn(turn);
        if !self.spared.is_empty() {
            self.spared.remove(sent.seq, sent.end());
        }
        sent.times = sent.times.saturating_add(1);
        if let (Some(kept), Some(snapshot)) = (self.snapshots.get_mut(place), snapshot) {
            *kept = snapshot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fast_path_and_the_slow_path_change_a_scoreboard_equally() {
        let full = || {
            let mut scoreboard = Scoreboard::default();
            (0..5).for_each(|n| {
                scoreboard.push(SentSegment::first(n * 10, 10, Time::ZERO), true, None)
            });
            scoreboard
        };
        for ack in 0..=50 {
            let (mut fast, mut slow) = (full(), full());
            let (mut covered_fast, mut covered_slow) = (Vec::new(), Vec::new());
            fast.ack_quiet(ack, |sent| covered_fast.push(sent.seq));
            slow.ack(ack, |sent, _| covered_slow.push(sent.seq));
            let rest = |scoreboard: &Scoreboard| {
                scoreboard.iter().map(|s| (s.seq, s.len())).collect::<Vec<_>>()
            };
            assert_eq!((covered_fast, rest(&fast)), (covered_slow, rest(&slow)), "{ack}");
        }
    }
}
