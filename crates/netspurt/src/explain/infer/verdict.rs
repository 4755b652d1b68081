//! Decides whether retransmissions were needed or spurious, by the acknowledgments that follow
//! them.

use std::collections::VecDeque;
use std::ops::RangeInclusive;

use crate::seq::is_before;
use crate::units::{Duration, Time};

use super::super::retransmission::{Verdict, VerdictEvidence};

/// A retransmission that is watched until its octets are acknowledged, and for some time after
/// that.
#[derive(Clone, Copy, Debug)]
pub struct Watched {
    /// The number of the retransmission in its direction, counted from 0.
    pub number: usize,
    /// The first octet of the retransmission.
    pub left: u64,
    /// The octet after the last octet of the retransmission.
    pub right: u64,
    /// When the retransmission was captured.
    pub at: Time,
    /// The timestamp that the retransmission carries.
    pub stamp: SentStamp,
    /// Whether the retransmission carries a SYN.
    pub syn: bool,
    /// Whether D-SACK blocks about all its octets, or a duplicate ACK, were counted for the
    /// retransmission.
    pub reported: bool,
    /// The octets of the retransmission that D-SACK blocks have reported, from the first octet to
    /// the octet after the last octet. Both values are equal if there are none.
    pub reported_part: (u64, u64),
    /// Whether the retransmission, or an earlier transmission of its octets, filled the receiver's
    /// first hole (octets that were missing below octets that had arrived).
    pub filled: bool,
    /// Whether the first acknowledgment of the octets has a D-SACK block about a later
    /// retransmission of these octets. Then an earlier transmission had arrived, and its
    /// acknowledgment was lost.
    pub unclear: bool,
}

/// The timestamp that a retransmission carries.
#[derive(Clone, Copy, Debug)]
pub struct SentStamp {
    /// The timestamp. `None` without timestamps.
    pub val: Option<u32>,
    /// Whether the transmission before has the same timestamp, because the clock of the timestamps
    /// has not ticked since then. If so, an echo does not show which transmission arrived.
    pub again: bool,
    /// The oldest timestamp whose echo shows that an earlier transmission arrived.
    pub oldest: u32,
}

impl Watched {
    /// Whether a D-SACK block about `left..right` reports octets of the retransmission that no
    /// earlier block reported.
    fn is_news(&self, left: u64, right: u64) -> bool {
        let (first, end) = (left.max(self.left), right.min(self.right));
        let known = self.reported_part.0 <= first && end <= self.reported_part.1;
        !self.reported && first < end && !known
    }

    /// Takes a D-SACK block about `left..right`. A receiver may report one retransmission by
    /// several blocks in a row, because the path may have divided it. So a block counts if it
    /// continues the octets that earlier blocks reported. Returns whether the blocks have reported
    /// the whole retransmission. One octet may be missing: it may be a SYN or a FIN, which some
    /// receivers do not report.
    fn take_report(&mut self, left: u64, right: u64) -> bool {
        let (first, end) = (left.max(self.left), right.min(self.right));
        let (from, to) = self.reported_part;
        if from == to {
            self.reported_part = (first, end);
        } else if first <= to && from <= end {
            self.reported_part = (from.min(first), to.max(end));
        }
        let (from, to) = self.reported_part;
        self.reported = to - from + 1 >= self.right - self.left;
        self.reported
    }
}

/// The verdict on a retransmission and its evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The number of the retransmission.
    pub number: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// The evidence for the verdict.
    pub evidence: VerdictEvidence,
    /// The time from the retransmission to the first acknowledgment that covers it. Zero unless
    /// this acknowledgment decided the verdict.
    pub answered_in: Duration,
}

impl Decision {
    /// The verdict *spurious* on a retransmission, because the receiver's answer shows that it
    /// arrived as a duplicate.
    const fn by_duplicate(number: usize, evidence: VerdictEvidence) -> Self {
        Self { number, verdict: Verdict::Spurious, evidence, answered_in: Duration::ZERO }
    }
}

/// An acknowledgment, with all values that a verdict depends on.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    /// When the acknowledgment was captured.
    pub at: Time,
    /// The first octet not acknowledged: before this acknowledgment, and after it.
    pub una: (u64, u64),
    /// The timestamp that the acknowledgment echoes.
    pub echo: Option<u32>,
    /// The shortest round trip between the capture and the receiver.
    pub far: Option<Duration>,
    /// The sender's smoothed round trip plus twice its variation.
    pub round: Duration,
    /// The number of octets for which the receiver may wait before it acknowledges.
    pub awaited_bytes: u64,
    /// The maximum number of octets that the receiver acknowledged at once while nothing was
    /// missing.
    pub at_once_bytes: u64,
    /// Whether the connection uses SACK. `None` if the capture does not show it.
    pub sack: Option<bool>,
    /// Whether the packet begins after the highest octet of the receiver's data that was captured.
    /// Then a packet of the receiver with data was probably lost before the capture, and the
    /// acknowledgment in it was lost too.
    pub after_gap: bool,
}

/// The retransmissions of one direction that are watched.
#[derive(Clone, Debug, Default)]
pub struct VerdictWatch {
    /// Retransmissions that are not acknowledged, in the order in which they were sent.
    open: VecDeque<Watched>,
    /// Retransmissions that are acknowledged. D-SACK blocks may still report them.
    past: VecDeque<Watched>,
    /// The number of the retransmission that the receiver answered last.
    answered: Option<usize>,
    /// The octet after the highest octet of the retransmissions that were removed because a list
    /// was full. Zero if none was removed.
    dropped_to: u64,
}

impl VerdictWatch {
    /// The maximum number of retransmissions in each of the two lists.
    const MOST: usize = 1 << 10;

    /// Watches a retransmission that was sent.
    pub fn watch(&mut self, one: Watched) {
        self.open.push_back(one);
        if self.open.len() > Self::MOST {
            let dropped = self.open.pop_front();
            self.note_dropped(dropped);
        }
    }

    /// Watches a retransmission whose octets had arrived before it was sent.
    pub fn watch_spurious(&mut self, one: Watched) {
        self.retire(one);
    }

    fn retire(&mut self, one: Watched) {
        self.past.push_back(one);
        if self.past.len() > Self::MOST {
            let dropped = self.past.pop_front();
            self.note_dropped(dropped);
        }
    }

    fn note_dropped(&mut self, dropped: Option<Watched>) {
        self.dropped_to = dropped.map_or(self.dropped_to, |one| self.dropped_to.max(one.right));
    }

    /// Whether no retransmission is outstanding.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether one of the watched retransmissions has all octets of `left..right`.
    pub fn knows(&self, left: u64, right: u64) -> bool {
        let mut all = self.open.iter().rev().chain(self.past.iter().rev());
        all.any(|one| one.left <= left && right <= one.right)
    }

    /// Whether a watched retransmission has some of the octets `left..right`, or a retransmission
    /// that is no longer watched may have some of them.
    pub fn may_overlap(&self, left: u64, right: u64) -> bool {
        let mut all = self.open.iter().rev().chain(self.past.iter().rev());
        left < self.dropped_to || all.any(|one| one.left < right && left < one.right)
    }

    /// Whether exactly one retransmission that is not acknowledged has some of the octets
    /// `left..right`.
    pub fn has_one(&self, left: u64, right: u64) -> bool {
        let mut hits = self.open.iter().filter(|one| one.left < right && left < one.right);
        hits.next().is_some() && hits.next().is_none()
    }

    /// When the octet `left` was last sent again.
    pub fn last_sent(&self, left: u64) -> Option<Time> {
        let one = self.open.iter().rev().find(|one| one.left <= left && left < one.right)?;
        Some(one.at)
    }

    /// When the octet `left` was last sent again. This octet is acknowledged.
    pub fn acked_sent(&self, left: u64) -> Option<Time> {
        let one = self.past.iter().rev().find(|one| one.left <= left && left < one.right)?;
        Some(one.at)
    }

    /// The numbers of the retransmissions that begin at the octet `left`, were captured before the
    /// instant `before`, and are not acknowledged.
    pub fn outstanding_from(&self, left: u64, before: Time) -> impl Iterator<Item = usize> {
        let all = self.open.iter().filter(move |one| one.left == left && one.at < before);
        all.map(|one| one.number)
    }

    /// Takes an acknowledgment. `covers` says whether the acknowledgments so far cover all octets
    /// of a range, by their numbers or by SACK blocks. The acknowledgments so far include `ack`.
    /// Adds the verdicts to `decided`.
    pub fn arrived(
        &mut self,
        ack: &Arrived,
        covers: impl Fn(u64, u64) -> bool,
        decided: &mut Vec<Decision>,
    ) {
        let head_sent = self.last_sent(ack.una.0);
        let mut place = 0;
        while let Some(one) = self.open.get(place).copied() {
            if covers(one.left, one.right) {
                decided.extend(Self::decide(&one, ack, head_sent));
                self.open.remove(place);
                let filled = ack.una.0 == one.left && one.left < ack.una.1;
                if filled {
                    self.answered = Some(one.number);
                }
                self.retire(Watched { filled, ..one });
            } else {
                place += 1;
            }
        }
    }

    /// Decides on the retransmission `one` by `ack`, the first acknowledgment that covers it.
    /// `head_sent` is the time of the last retransmission of the octet that the receiver waited
    /// for. Returns `None` if the acknowledgment decides nothing.
    fn decide(one: &Watched, ack: &Arrived, head_sent: Option<Time>) -> Option<Decision> {
        if one.reported {
            return None;
        }
        let since = ack.at.saturating_since(one.at);
        // If an earlier acknowledgment was lost, it may have answered an earlier transmission. Then
        // `ack` answers a duplicate, and with SACK it would have a D-SACK block.
        let may_be_second = ack.after_gap && ack.sack != Some(true);
        let decision = |verdict, evidence| {
            // If a D-SACK block reports a later retransmission, an earlier transmission arrived
            // before it. Nothing shows which one, because the echo may be the timestamp of the
            // later retransmission.
            let needed = verdict == Verdict::Needed;
            let (verdict, evidence) = match needed && (one.unclear || may_be_second) {
                true => (Verdict::Unknown, VerdictEvidence::None),
                false => (verdict, evidence),
            };
            Some(Decision { number: one.number, verdict, evidence, answered_in: since })
        };
        // If the capture's clock stepped back between the two packets, the time between them is not
        // known. So it does not show that the acknowledgment came too soon.
        let timed = ack.at >= one.at;
        let too_soon = timed && ack.far.is_some_and(|far| since < far * 3 / 4);
        // True if the receiver waited for the first octet of the retransmission `one`. Then the
        // acknowledgment echoes the timestamp of the transmission that arrived first (RFC 7323
        // §4.3).
        let filled = ack.una.0 == one.left && one.left < ack.una.1;
        if let (true, Some(echo), Some(val)) = (filled, ack.echo, one.stamp.val) {
            let older = is_before(echo, val);
            if !older && one.syn {
                // A SYN-ACK echoes the newest SYN, even if an earlier SYN arrived.
                return None;
            }
            if !older && !one.stamp.again {
                return decision(Verdict::Needed, VerdictEvidence::Echo);
            }
            if older && !is_before(echo, one.stamp.oldest) {
                return decision(Verdict::Spurious, VerdictEvidence::Echo);
            }
        }
        if too_soon {
            return decision(Verdict::Spurious, VerdictEvidence::Timing);
        }
        // If the octets of the retransmission had arrived before, another segment filled the gap
        // below them. So neither the retransmission `one` nor a later retransmission may have
        // carried the octet that the receiver waited for. Without SACK, this condition does not
        // apply.
        let behind = ack.sack == Some(false) || head_sent.is_none_or(|sent| sent < one.at);
        if timed && behind && Self::jumped(one, ack) {
            return decision(Verdict::Spurious, VerdictEvidence::Jump);
        }
        if ack.sack != Some(true) && !one.syn && Self::covers_more_than_at_once(one, ack) {
            return decision(Verdict::Unknown, VerdictEvidence::None);
        }
        decision(Verdict::Needed, VerdictEvidence::None)
    }

    /// Whether two conditions hold. First, `ack` covers more octets than the receiver acknowledges
    /// at once. Second, the retransmission `one` ends after the octets for which a delayed ACK may
    /// have waited. Then a segment filled a gap, and the octets above the gap had arrived before.
    fn covers_more_than_at_once(one: &Watched, ack: &Arrived) -> bool {
        let more = ack.una.1.saturating_sub(ack.una.0) > ack.at_once_bytes.max(ack.awaited_bytes);
        more && one.right > ack.una.0 + ack.awaited_bytes && ack.una.1 >= one.right
    }

    /// Whether `ack` shows that the octets of the retransmission `one` had arrived before it.
    ///
    /// If `ack` came long after the retransmission, the retransmission may have filled a gap
    /// itself, and the acknowledgments that reported this may have been lost. So there is a limit
    /// for the time from the retransmission to `ack`. Without SACK, the limit is one and a half
    /// round trips. Otherwise the limit is the shortest round trip between the capture and the
    /// receiver, because within this time, `ack` cannot answer the retransmission.
    fn jumped(one: &Watched, ack: &Arrived) -> bool {
        let since = ack.at.saturating_since(one.at);
        let without = ack.sack == Some(false);
        let near = |far: Duration| since < if without { ack.round.max(far) * 3 / 2 } else { far };
        Self::covers_more_than_at_once(one, ack) && ack.far.is_some_and(near)
    }

    /// Takes a duplicate acknowledgment of the octets below `una`, which answers a retransmission.
    ///
    /// A receiver that misses octets answers each segment at once (RFC 5681 §4.2), so the answers
    /// come in the order of the retransmissions. This acknowledgment answers the *next*
    /// retransmission: the one after the retransmission that was answered last. If all octets of
    /// the next retransmission are below `una`, they had arrived before it. Returns `None` if there
    /// is no next retransmission, or if the time from it to the acknowledgment does not fit the
    /// round trips `trip`. Returns `Some(None)` if the acknowledgment shows no verdict.
    pub fn next_answered(
        &mut self,
        at: Time,
        una: u64,
        trip: RangeInclusive<Duration>,
    ) -> Option<Option<Decision>> {
        let next = self.answered? + 1;
        let mut all = self.past.iter_mut().rev().take(64).chain(self.open.iter_mut());
        let one = all.find(|one| one.number == next)?;
        let since = at.saturating_since(one.at);
        if since < *trip.start() * 7 / 8 || since > *trip.end() {
            return None;
        }
        self.answered = Some(next);
        if one.right > una || one.reported {
            return Some(None);
        }
        one.reported = true;
        Some(Some(Decision::by_duplicate(next, VerdictEvidence::DuplicateAck)))
    }

    /// Takes a duplicate acknowledgment that has no D-SACK block. It may answer a retransmission
    /// that arrived as a duplicate. Such an answer comes about one round trip after the
    /// retransmission, when the retransmitted octets are already acknowledged. `far` is the
    /// shortest round trip between the capture and the receiver.
    pub fn duplicate_answered(&mut self, at: Time, far: Duration) -> Option<Decision> {
        let fits = |one: &&mut Watched| {
            let since = at.saturating_since(one.at);
            !one.reported && since >= far * 7 / 8 && since <= far * 3 / 2
        };
        let lately = self.past.iter_mut().rev().take(64).filter(fits);
        // A retransmission that filled a hole was probably needed, so other retransmissions are
        // preferred.
        let one = lately.reduce(|one, older| if older.filled && !one.filled { one } else { older });
        let one = one?;
        one.reported = true;
        Some(Decision::by_duplicate(one.number, VerdictEvidence::DuplicateAck))
    }

    /// Takes `many` duplicate acknowledgments. Each of them answered a segment that was sent before
    /// the instant `sent` and whose octets had already arrived. The candidates are the acknowledged
    /// retransmissions from number `first` on that were sent before this instant and have no report
    /// yet. If there are at most `many` candidates, all of them were spurious. A single duplicate
    /// acknowledgment proves nothing: the path may have made a copy of a segment. Adds the verdicts
    /// to `decided`.
    pub fn duplicates_answered(
        &mut self,
        many: usize,
        (first, sent): (usize, Time),
        decided: &mut Vec<Decision>,
    ) {
        let lately = |one: &Watched| !one.reported && one.number >= first && one.at < sent;
        if many < self.past.iter().filter(|one| lately(one)).count().max(2) {
            return;
        }
        for one in self.past.iter_mut().filter(|one| lately(one)) {
            one.reported = true;
            decided.push(Decision::by_duplicate(one.number, VerdictEvidence::DuplicateAck));
        }
    }

    /// Takes a D-SACK block, which reports that `left..right` arrived twice. The block counts for
    /// the last retransmission with octets for which no earlier block or duplicate ACK counted.
    /// This retransmission arrived after another transmission (RFC 2883 §4). If no acknowledgment
    /// covered these octets before, it is not clear which of the earlier transmissions arrived.
    ///
    /// A block about a part of the retransmission shows nothing about the other octets: they may
    /// have been missing. So the block decides only if it completes the report of all octets.
    pub fn reported(&mut self, left: u64, right: u64) -> Option<Decision> {
        let hit = |one: &&mut Watched| one.is_news(left, right);
        let mut open = self.open.iter_mut().rev();
        let one = open.find(hit).or_else(|| self.past.iter_mut().rev().find(hit))?;
        let whole = one.take_report(left, right);
        open.filter(|one| left <= one.left && one.right <= right)
            .for_each(|one| one.unclear = true);
        whole.then(|| Decision::by_duplicate(one.number, VerdictEvidence::DSack))
    }
}
