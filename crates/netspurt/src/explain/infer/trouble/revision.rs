//! A later retransmission may show why earlier retransmissions were sent, and so change their
//! causes.

use crate::segment::{Cause, CauseCode};
use crate::units::{Duration, Time};

use super::super::super::retransmission::ExplainedRetransmission;
use super::super::super::rule::CauseRule;
use super::super::phase::Inferred;
use super::super::scene::SenderScene;
use super::SenderTrouble;

impl SenderTrouble {
    /// Gives the cause go-back-N to the last retransmissions, because the next retransmission shows
    /// that the sender uses go-back-N. The next retransmission begins at octet `left`. The change
    /// covers the last retransmissions of the current repair that are in order and end at or below
    /// octet `left`. If the sender skipped reported octets, the change covers nothing before the
    /// last skip. The first of the covered retransmissions keeps its cause, unless it follows a
    /// timeout.
    pub fn went_back(&mut self, left: u64) {
        let (mut begin, mut above) = (self.found.len(), left);
        let from = self.machine.first.max(self.machine.skipped_at);
        while begin > from && self.found[begin - 1].right <= above {
            begin -= 1;
            above = self.found[begin].left;
        }
        let follows = begin > 0 && self.machine.maybe_after_timeout && {
            let before = &self.found[begin - 1];
            let cause = before.cause.get();
            before.right <= above && matches!(cause, Some(Cause::Rto | Cause::GoBackN))
        };
        let head = usize::from(!follows && begin < self.found.len());
        let end = self.found.len();
        self.relabel(begin + head, end, Some(Cause::GoBackN).into(), CauseRule::ReportedBefore);
        for one in &mut self.found[begin + head..] {
            one.maybe_after_timeout = false;
        }
    }

    /// Whether retransmission `number` repeats the previous retransmission of the same repair.
    fn is_copy(&self, number: usize) -> bool {
        number > self.machine.first && self.found[number].left == self.found[number - 1].left
    }

    /// Whether only a few retransmissions came since the current repair began, or since one of them
    /// repeated the previous one.
    pub(super) fn is_early(&self) -> bool {
        const FEW: usize = 3;
        let end = self.found.len();
        let few_back = end.saturating_sub(FEW);
        self.machine.first >= few_back || (few_back..end).any(|number| self.is_copy(number))
    }

    /// Gives the cause `cause`, which is go-back-N, to the retransmissions after the first one of
    /// the current repair. The reason is that the next retransmission shows that the sender sends
    /// everything again in order. If no acknowledgment had reported a loss when the repair began, a
    /// timeout began it.
    ///
    /// If the sender sent a segment twice in a row during the repair, the timer sent the second
    /// copy, because a partial ACK triggers only one copy (RFC 6582 §3.2). So the sender went back
    /// from this copy on, and the retransmissions before it keep their causes.
    pub fn went_in_order(&mut self, cause: Cause) {
        let end = self.found.len();
        let copy = (self.machine.first..end).rev().find(|number| self.is_copy(*number));
        let first = copy.unwrap_or(self.machine.first);
        if first < end {
            self.relabel(first + 1, end, Some(cause).into(), CauseRule::InOrder);
            let timeout = Some(Cause::Rto).into();
            if copy.is_some() {
                self.relabel(first, first + 1, timeout, CauseRule::HeadAgain);
                self.machine.restarted(first);
            } else if self.machine.unindicated {
                self.relabel(first, first + 1, timeout, CauseRule::Guess);
            }
        }
    }

    /// Takes a retransmission in the circumstances `scene`. Returns its cause if the sender
    /// retransmits the head for each further duplicate ACK, as picoTCP does (`tcp_ack`). Such a
    /// sender retransmits the head again within a round trip. Neither a timer nor an acknowledgment
    /// can do this a second time within a round trip: a timer waits twice as long (RFC 6298 §5.5).
    /// So if a timeout seemed to have sent the head before, a duplicate ACK triggered it, too.
    pub fn answers_each_duplicate(&mut self, scene: &SenderScene) -> Option<Inferred> {
        let last = self.found.last()?;
        let head = scene.is_head() && scene.sent_again && self.repairs();
        if !head || scene.duplicates.count <= 3 || !scene.is_clocked() {
            return None;
        }
        let same = last.left == scene.left && last.rule == CauseRule::HeadAgain;
        let shown = same && scene.age() < scene.rtt_min;
        let known = self.machine.traits.each_duplicate && scene.age() < scene.shortest_rto();
        if !shown && !known {
            return None;
        }
        let (cause, rule) = (scene.repair_cause(true), CauseRule::Reported);
        if shown {
            let number = self.found.len() - 1;
            self.relabel(number, number + 1, Some(cause).into(), rule);
        }
        self.machine.answers_each_duplicate(cause);
        Some(Inferred { cause, rule })
    }

    /// Takes new octets that were captured at the instant `at`, far from the sender. `near` is the
    /// time from the capture to the sender and back. They may show that a queue before the capture,
    /// and not a timer, made the silence before the last retransmission. After a timeout, a sender
    /// sends only one segment until an acknowledgment comes (RFC 5681 §3.1). So new octets soon after
    /// the retransmission show that it repaired a loss that acknowledgments had reported.
    pub fn new_octets(&mut self, at: Time, near: Duration) {
        let (Some((cause, traits)), Some(last)) = (self.doubted.take(), self.found.last()) else {
            return;
        };
        if at.saturating_since(last.at) < near / 2 {
            let number = self.found.len() - 1;
            self.relabel(number, number + 1, Some(cause).into(), CauseRule::Reported);
            self.machine.was_reported(traits);
        }
    }

    /// Takes a retransmission that begins at the octet `left` and was captured at the instant `at`.
    /// The wait before it may show the cause of the previous retransmission. There are three
    /// conditions. First, both retransmissions begin at the same octet. Second, only the length of
    /// a silence showed the cause so far. Third, no acknowledgment with news came between them. If
    /// the previous retransmission was a timeout, this wait is twice as long as the wait before the
    /// previous retransmission (RFC 6298 §5.5). After a tail loss probe, it is not twice as long.
    /// `heard` is the time of the last acknowledgment with news. The last acknowledgment of new
    /// octets restarted the timer (RFC 6298 §5.3). A packet that the sender sent at this restart
    /// would have passed the capture at `una_at`.
    pub fn waited_again(&mut self, at: Time, left: u64, heard: Time, una_at: Time) {
        let Some(last) = self.found.last_mut() else { return };
        let ExplainedRetransmission { at: before, left: same, gap, .. } = *last;
        if last.rule != CauseRule::LoneByTime || same != left || heard > before || gap.is_zero() {
            return;
        }
        let wait = at.saturating_since(before);
        // Linux's timers fire up to an eighth later than they are set, so both waits may be longer.
        let first = gap.min(before.saturating_since(una_at));
        let doubled = wait >= first * 16 / 9 && wait <= first * 9 / 4;
        let cause =
            if doubled || doubles_all_but_slop(first, wait) { Cause::Rto } else { Cause::Tlp };
        (last.cause, last.rule) = (Some(cause).into(), CauseRule::LoneByBackoff);
        let highest = last.right;
        self.machine.lone_is_known(cause);
        if cause == Cause::Rto {
            self.machine.was_lost(self.found.len() - 1, highest, before);
        }
    }

    /// Gives the retransmissions `first..end` the cause `cause`, which the rule `rule` found.
    pub fn relabel(&mut self, first: usize, end: usize, cause: CauseCode, rule: CauseRule) {
        for one in &mut self.found[first..end] {
            (one.cause, one.rule) = (cause, rule);
        }
    }
}

/// Whether the wait doubled from the first wait, `first`, to the second wait, `wait`, apart from a
/// fixed part of 200 ms. FreeBSD adds this part after doubling (`tcp_rexmit_slop`). If the part
/// that doubles is less than a quarter of the wait `first`, the answer is no. Otherwise the
/// expected wait is at least 5/4 of the wait `first`. A wait that did not double is shorter than
/// that, because Linux's timers fire at most an eighth later than they are set.
fn doubles_all_but_slop(first: Duration, wait: Duration) -> bool {
    const SLOP: Duration = Duration::from_millis(200);
    if first * 3 < SLOP * 4 {
        return false;
    }
    let (due, margin) = ((first - SLOP) * 2 + SLOP, first / 32);
    wait >= due - margin && wait <= due + margin
}
