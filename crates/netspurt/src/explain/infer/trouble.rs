//! The state of a sender whose octets are missing or were sent again.
//!
//! An acknowledgment has *news* if it acknowledges new octets, is a duplicate, or has SACK blocks.
//! A *hole* is a range of octets that have not arrived, although higher octets have. A *repair* is
//! a series of retransmissions that fills holes.

mod revision;

use std::collections::VecDeque;
use std::num::NonZeroU32;
use std::ops::RangeInclusive;

use crate::ranges::Ranges;
use crate::segment::Cause;
use crate::seq::is_before;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::super::kept::Acknowledged;
use super::super::retransmission::{ExplainedRetransmission, Verdict, VerdictEvidence};
use super::super::rule::CauseRule;
use super::after_lone::{AfterLone, FreshSegment};
use super::habits::{LateBy, LatePackets};
use super::phase::{LossPhase, Machine};
use super::recent_news::{PassedNews, RecentNews};
use super::scene::{ScenePlace, SenderScene};
use super::too_big::TooBigReports;
use super::traits::Traits;
use super::verdict::{Arrived, Decision, SentStamp, VerdictWatch, Watched};

/// Octets that a SACK block reported for the first time: `left..right`. The block passed at `at`.
#[derive(Clone, Copy, Debug)]
struct FirstReport {
    at: Time,
    left: u64,
    right: u64,
}

/// The state of a direction in which octets are missing or were sent again.
#[derive(Clone, Debug, Default)]
pub struct SenderTrouble {
    /// The octets above the cumulative acknowledgment that SACK blocks reported.
    pub sacked: Ranges,
    /// Whether SACK blocks reported more holes than some senders can store. Until all these holes
    /// are filled, such a sender also retransmits reported octets.
    pub overflowed: bool,
    /// The octets that were neither captured nor acknowledged when higher octets were captured.
    pub gaps: Ranges,
    /// The state machine.
    pub machine: Machine,
    /// The retransmissions that are watched for a verdict (needed or spurious).
    pub watch: VerdictWatch,
    /// All retransmissions.
    pub found: Vec<ExplainedRetransmission>,
    /// The time when the newest segment was sent, and the octet after its last octet
    /// (`RACK.xmit_ts`, `RACK.end_seq` of RFC 8985 §5.3). The newest segment was sent last of all
    /// segments that have arrived.
    pub newest: (Time, u64),
    /// The number of octets that were acknowledged but never captured.
    pub uncaptured_bytes: u64,
    /// The packets that were overtaken before they reached the capture.
    pub late: LatePackets,
    /// The packets that were overtaken before they reached the receiver, as acknowledgments show.
    /// Such a packet was sent once, and was acknowledged after packets that were sent later.
    pub late_in_acks: LatePackets,
    /// The number of copies that the network or the capture made.
    pub copies: u64,
    /// Whether the receiver was seen to send D-SACK blocks.
    pub reports_duplicates: bool,
    /// The number of D-SACK blocks about octets that were sent once, as far as the capture shows.
    /// Most likely the network made the copies that these blocks report (RFC 2883 §5). The
    /// capture may also have missed a retransmission of these octets.
    pub reported_copies: u64,
    /// The number of duplicate acknowledgments in a row whose cause is not clear. The cause may be
    /// a segment that arrived twice, or the loss of the segment after the acknowledged octets.
    pub unclear_duplicates: usize,
    /// Watches the segments after the last retransmission. `None` unless two conditions hold: the
    /// last retransmission was the only outstanding segment (a *lone* segment), and only the length
    /// of the silence before it showed its cause.
    after_lone: Option<AfterLone>,
    /// What to restore if new octets show that no timer sent the last retransmission: its most
    /// likely cause, and the traits before it. `None` if they cannot show this.
    pub doubted: Option<(Cause, Traits)>,
    /// The last burst of retransmissions (see [`continues_burst`](Self::continues_burst)): its
    /// first octet, and whether SACK blocks had reported some of its segments.
    pub burst: (u64, bool),
    /// The indices, in the list `found`, of the retransmissions that came before their originals.
    came: Vec<usize>,
    passed: RecentNews,
    /// What the last SACK blocks reported for the first time.
    reports: VecDeque<FirstReport>,
    /// The reports that packets were too big for the path.
    pub too_big: TooBigReports,
    /// The verdicts that one acknowledgment gave. Empty between acknowledgments.
    decided: Vec<Decision>,
}

impl SenderTrouble {
    /// The maximum number of holes that FreeBSD stores (`net.inet.tcp.sack.maxholes`).
    const HOLES_MAX: usize = 128;

    /// Notes that an acknowledgment with news and the timestamp `val` passed at the instant `at`.
    /// It acknowledges the octets below `next`.
    pub fn passed(&mut self, at: Time, val: Option<u32>, next: u64) {
        let val = val.and_then(NonZeroU32::new);
        self.passed.add(PassedNews { at, val, next: next as u32 });
    }

    /// The time of the newest acknowledgment with news that passed at the instant `by` or before.
    /// `None` if no such acknowledgment is kept.
    pub fn passed_before(&self, by: Time) -> Option<Time> {
        self.passed.newest_first().map(|news| news.at).find(|at| *at <= by)
    }

    /// An upper bound of the time from the arrival of an acknowledgment at the sender to the
    /// sending of a packet. The packet passed the capture at the instant `at`. It echoes the
    /// timestamp `ecr`, which shows the last acknowledgment that had reached the sender. The next
    /// acknowledgment had not reached the sender yet, so the bound is the time between these two
    /// acknowledgments. `near` is the time from the capture to the sender and back.
    ///
    /// Returns `None` in four cases:
    /// * The sender had got all acknowledgments.
    /// * The echoed acknowledgment passed longer ago than the time `near` explains. Then the later
    ///   acknowledgments may have been lost on the way to the sender, and a timeout may have sent
    ///   the packet.
    /// * An acknowledgment has no timestamp.
    /// * All kept acknowledgments are newer than the echoed acknowledgment.
    pub fn lag_by_echo(&self, at: Time, ecr: u32, near: Duration) -> Option<Duration> {
        let mut next = None;
        for news in self.passed.newest_first() {
            if !is_before(ecr, news.val?.get()) {
                let plausible = near * 3 / 2 + SenderScene::FLOOR;
                let next: Time = next.filter(|_| at.saturating_since(news.at) <= plausible)?;
                return Some(next.saturating_since(news.at));
            }
            next = Some(news.at);
        }
        None
    }

    /// The maximum number of SACK blocks whose times are kept.
    const MOST_REPORTS: usize = 256;
    /// The maximum number of ranges of one kind. It is needed because a hostile capture may report
    /// any number of ranges.
    const MOST_RANGES: usize = 1 << 12;

    /// Whether SACK blocks report no holes, and no retransmission is outstanding.
    pub fn is_calm(&self) -> bool {
        self.sacked.is_empty() && self.watch.is_empty()
    }

    /// Whether a retransmission from octet `left` on belongs to the same burst as the last
    /// retransmission. It does if it follows the last retransmission without a gap, and at nearly
    /// the same time.
    pub fn continues_burst(&self, at: Time, left: u64) -> bool {
        self.found.last().is_some_and(|found| {
            found.right == left && at.saturating_since(found.at) <= ScenePlace::BURST
        })
    }

    /// Whether a retransmission at the instant `at` follows the last one (see
    /// [`ScenePlace::follows`]). The last acknowledgment with news came at `answered_at`, and the
    /// shortest round trip is `round`. If `untriggered`, no acknowledgment with news can have
    /// triggered this retransmission.
    ///
    /// The capture may miss one acknowledgment if it misses packets. It probably misses one if each
    /// of several retransmissions of the repair waited for an acknowledgment: go-back-N begins with
    /// slow start, which sends two segments for the first acknowledgment (RFC 5681 §3.1). Then this
    /// retransmission counts only if the last one followed, too, or if it continues a burst.
    pub fn follows(
        &self,
        at: Time,
        left: u64,
        (answered_at, untriggered): (Time, bool),
        round: Duration,
    ) -> bool {
        let sure = self.uncaptured_bytes == 0 && self.is_early() || self.continues_burst(at, left);
        let begin = self.found.len().checked_sub(if sure { 1 } else { 2 });
        begin.map(|begin| &self.found[begin..]).is_some_and(|row| {
            let (since, last) = (row[0].at, &row[row.len() - 1]);
            row.windows(2).all(|two| two[0].right == two[1].left)
                && last.right == left
                && (answered_at <= since || untriggered)
                && at.saturating_since(last.at) < round
        })
    }

    /// Whether no acknowledgment with news reached the sender between the last retransmission and
    /// the packet at the instant `at`, as far as the capture shows. The way from the capture to the
    /// sender and back takes the time `near`, or up to an eighth less.
    ///
    /// The packet begins at octet `left`. If an acknowledgment of exactly the octets below it passed
    /// in time, this partial ACK may have triggered the packet (RFC 6582 §3.2), although the last
    /// retransmission left at nearly the same time. Then the answer is no.
    pub fn has_same_trigger(&self, at: Time, near: Duration, left: u64) -> bool {
        let Some(last) = self.found.last() else { return false };
        let by = at.saturating_before(near * 7 / 8);
        let partial = |news: PassedNews| news.at <= by && news.next == left as u32;
        if self.passed.newest_first().any(partial) {
            return false;
        }
        match self.passed_before(by) {
            Some(heard) => heard <= last.at.saturating_before(near),
            None => self.passed.has_all(),
        }
    }

    /// Whether the sender repairs a loss.
    pub fn repairs(&self) -> bool {
        self.machine.phase != LossPhase::Open
    }

    /// Whether several retransmissions were spurious, and the receiver reported none of them by a
    /// D-SACK block. One or two are not enough, because the path may have lost the retransmissions
    /// or the reports.
    pub fn hides_duplicates(&self) -> bool {
        const SEVERAL: usize = 3;
        let spurious = self.found.iter().filter(|one| one.verdict == Verdict::Spurious);
        !self.reports_duplicates && spurious.take(SEVERAL).count() == SEVERAL
    }

    /// The evidence that the octets `left..right` had arrived before they were sent again. `None`
    /// without evidence. The octets below `una` are acknowledged.
    ///
    /// A receiver may discard octets that it reported (RFC 2018 §8). In this case, its reports do
    /// not count. The octet `una` shows this case: it was reported, but is not acknowledged.
    pub fn arrived_before(&self, left: u64, right: u64, una: u64) -> Option<VerdictEvidence> {
        if right <= una {
            return Some(VerdictEvidence::Acknowledged);
        }
        let discarded = self.sacked.holding(una).is_some();
        let reported = !discarded && self.sacked.holds(left.max(una), right);
        reported.then_some(VerdictEvidence::Reported)
    }

    /// Takes a SACK block of the octets `left..right`, which lie above the cumulative
    /// acknowledgment. The block passed at `at`.
    pub fn report(&mut self, at: Time, left: u64, right: u64) {
        if self.sacked.iter().size_hint().0 < Self::MOST_RANGES {
            let begin = self.sacked.holding(left).map_or(left, |range| range.1);
            if begin < right {
                if self.reports.len() == Self::MOST_REPORTS {
                    self.reports.pop_front();
                }
                self.reports.push_back(FirstReport { at, left: begin, right });
            }
            self.sacked.insert(left, right);
            self.overflowed |= self.sacked.iter().nth(Self::HOLES_MAX).is_some();
        }
    }

    /// Whether a SACK block reported some of the octets `left..right` for the first time at or
    /// after `since`.
    pub fn reported_since(&self, since: Time, left: u64, right: u64) -> bool {
        let mut lately = self.reports.iter().rev().take_while(|one| one.at >= since);
        lately.any(|one| one.left < right && left < one.right)
    }

    /// Whether a SACK block that passed at the instant `by` or before reported the octets
    /// `left..right`.
    pub fn reported_by(&self, by: Time, left: u64, right: u64) -> bool {
        let covers = |one: &FirstReport| one.left <= left && right <= one.right;
        self.reports.iter().any(|one| one.at <= by && covers(one))
    }

    /// Notes that the octets `left..right` were not captured, although higher octets were.
    pub fn pass_over(&mut self, left: u64, right: u64) {
        if self.gaps.iter().size_hint().0 < Self::MOST_RANGES {
            self.gaps.insert(left, right);
        }
    }

    /// Counts an original that was overtaken before it reached the capture.
    pub fn overtaken(&mut self, by: LateBy) {
        self.late.add(by);
    }

    /// Whether some octets of `left..right` were not captured. `known` is the octet after the
    /// highest octet captured.
    pub fn lacks_some(&self, (left, right): (u64, u64), known: u64) -> bool {
        right > known || self.gaps.next_from(left).is_some_and(|gap| gap.0 < right)
    }

    /// Whether a packet with the octets `left..right` may be the late original of an earlier
    /// retransmission. There are three conditions. First, the retransmission covers all octets of
    /// the packet. Second, the original of the retransmission was not captured before the
    /// retransmission. Third, the retransmission came less than a round trip (`round`) ago. A
    /// sender waits at least a round trip before it sends these octets once more. If
    /// identifications or timestamps already show that the packet is older, `round` is `None`, and
    /// the time does not matter. Each retransmission has one original, so each retransmission is
    /// found only once.
    pub fn filled_by_other(
        &mut self,
        at: Time,
        (left, right): (u64, u64),
        round: Option<Duration>,
    ) -> bool {
        /// The maximum number of retransmissions that are searched.
        const LATE: usize = 64;
        let lately = self.found.len().saturating_sub(LATE)..self.found.len();
        let came = &self.came;
        let other = lately.rev().find(|number| {
            let one = &self.found[*number];
            let same = one.left <= left && right <= one.right;
            let soon = round.is_none_or(|round| at.saturating_since(one.at) < round);
            one.original_missing
                && same
                && soon
                && !came.iter().rev().take(LATE).any(|n| n == number)
        });
        self.came.extend(other);
        if let Some(number) = other {
            self.found[number].original_late = true;
        }
        other.is_some()
    }

    /// The first octet that is neither acknowledged nor SACKed. The octets below `una` are
    /// acknowledged.
    pub fn head(&self, una: u64) -> u64 {
        self.sacked.holding(una).map_or(una, |range| range.1)
    }

    /// Notes that the octets below `una` are acknowledged. Counts the octets among them that were
    /// not captured.
    pub fn acknowledged(&mut self, una: u64) {
        self.sacked.remove_below(una);
        self.overflowed &= !self.sacked.is_empty();
        if !self.gaps.is_empty() {
            let before = self.gaps.total();
            self.gaps.remove_below(una);
            self.uncaptured_bytes += before - self.gaps.total();
        }
        self.machine.acknowledged(una);
    }

    /// Decides the verdicts that the acknowledgment `ack` allows.
    pub fn judge(&mut self, ack: &Arrived) {
        let sacked = &self.sacked;
        let una = ack.una.1;
        self.watch.arrived(
            ack,
            |left, right| right <= una || left >= una && sacked.holds(left, right),
            &mut self.decided,
        );
        self.take_decisions();
    }

    fn take_decisions(&mut self) {
        while let Some(decision) = self.decided.pop() {
            self.decide(decision);
        }
    }

    /// Takes a D-SACK block, which reports that the octets `left..right` arrived twice. `first` is
    /// the first octet that the capture may have. A block of one octet may report a keep-alive or a
    /// window probe.
    pub fn duplicate_reported(&mut self, left: u64, right: u64, first: u64) {
        if self.fills_hole(left, right) {
            return;
        }
        self.reports_duplicates = true;
        self.machine.reported_twice();
        if let Some(decision) = self.watch.reported(left, right) {
            self.decide(decision);
        } else if left >= first && right - left > 1 && !self.watch.may_overlap(left, right) {
            self.reported_copies += 1;
        }
    }

    /// A D-SACK block reports the octets `left..right`. Returns whether these octets filled a hole
    /// and did not arrive twice. They were retransmitted only once, and no acknowledgment covered
    /// them before, although octets above them were reported. While octets are missing, a receiver
    /// answers each segment at once (RFC 5681 §4.2). So if two copies had arrived, an earlier
    /// acknowledgment would cover these octets. Some receivers (FreeBSD 13) send such a block about
    /// a segment that arrived once.
    fn fills_hole(&self, left: u64, right: u64) -> bool {
        self.sacked.top().is_some_and(|top| top > right) && self.watch.has_one(left, right)
    }

    /// Some D-SACK blocks are about retransmissions. Returns the share of these blocks that report
    /// a spurious retransmission. The other blocks report copies that the network made of needed
    /// retransmissions. `acked_segs` is the number of segments that were acknowledged.
    ///
    /// The network is assumed to duplicate retransmissions as often as other segments. The result
    /// is a lower bound: it assumes that the number of copies exceeds its mean by two standard
    /// deviations.
    pub fn spurious_share(&self, acked_segs: u64) -> f32 {
        if self.reported_copies == 0 {
            return 1.0;
        }
        let by_block = |one: &&ExplainedRetransmission| one.evidence == VerdictEvidence::DSack;
        let blocks = self.found.iter().filter(by_block).count() as f32;
        let again = self.found.len() as f32;
        let once = (acked_segs as f32 - again).max(1.0);
        let copies = again * (self.reported_copies as f32 / once).min(1.0);
        (1.0 - (copies + 2.0 * copies.sqrt()) / blocks.max(1.0)).max(0.0)
    }

    /// Takes a duplicate acknowledgment. A segment whose octets had already arrived caused this
    /// acknowledgment. `far` is the shortest round trip between the capture and the receiver.
    pub fn duplicate_answered(&mut self, at: Time, far: Duration) {
        if let Some(decision) = self.watch.duplicate_answered(at, far) {
            self.decide(decision);
        }
    }

    /// Takes `segment`, which is acknowledged now. It begins at the number that earlier duplicate
    /// acknowledgments repeated. If `segment` was sent only once, it was not lost. So these
    /// duplicate acknowledgments answered segments that were sent before `segment` and whose octets
    /// had already arrived.
    pub fn explain_duplicates(&mut self, segment: &Acknowledged) {
        let many = std::mem::take(&mut self.unclear_duplicates);
        let after_timeout = |one: &ExplainedRetransmission| {
            matches!(one.cause.get(), Some(Cause::Rto | Cause::GoBackN))
        };
        let first = self.machine.first;
        if segment.retransmissions == 0 && self.found.get(first).is_some_and(after_timeout) {
            let Self { watch, decided, .. } = self;
            watch.duplicates_answered(many, (first, segment.first_sent), decided);
            self.take_decisions();
        }
    }

    /// Takes a duplicate acknowledgment of the octets below `una`. The connection does not use
    /// SACK, and no original can have caused this acknowledgment, so a retransmission caused it.
    /// Returns whether it answers the retransmission after the one that was answered last. `trip`
    /// is the range of round trips between the capture and the receiver.
    pub fn next_answered(&mut self, at: Time, una: u64, trip: RangeInclusive<Duration>) -> bool {
        let Some(next) = self.watch.next_answered(at, una, trip) else { return false };
        if let Some(decision) = next {
            let told = &mut self.found[decision.number];
            if told.verdict != Verdict::Spurious {
                (told.verdict, told.evidence) = (decision.verdict, decision.evidence);
            }
        }
        true
    }

    fn decide(&mut self, decision: Decision) {
        let Decision { number, verdict, evidence, answered_in } = decision;
        if evidence == VerdictEvidence::DSack {
            self.machine.reported_again(number);
        } else if verdict == Verdict::Spurious && evidence != VerdictEvidence::Reported {
            // A sender that retransmits reported octets has not undone its timeout, so this
            // evidence does not count here.
            let again = number >= self.machine.begun
                && self.found.get(number).is_some_and(|one| one.cause.get() == Some(Cause::Rto));
            let in_loss =
                self.machine.phase == LossPhase::Loss && (again || number >= self.machine.first);
            // After several timeouts, the retransmission that the first timeout sent decides. If it
            // was needed, the timeout was not spurious (RFC 3522 §3.2).
            let first = self.found.get(self.machine.begun);
            let needed = first.is_some_and(|first| first.verdict == Verdict::Needed);
            self.machine.undone |= in_loss && !needed;
        }
        let told = &mut self.found[number];
        (told.verdict, told.evidence, told.answered_in) = (verdict, evidence, answered_in);
    }

    /// Takes a segment of new octets. The number of new octets shows the congestion window, which
    /// may show why a lone segment was sent again.
    pub fn sending(&mut self, fresh: &FreshSegment, was_wide: bool) {
        let Some(after) = &mut self.after_lone else { return };
        let told = after.sending(fresh, was_wide);
        if told.is_some() || after.is_over() {
            let number = after.number;
            self.after_lone = None;
            if let Some(cause) = told {
                self.machine.lone_is_known(cause);
                self.relabel(number, number + 1, Some(cause).into(), CauseRule::LoneByWindow);
            }
        }
    }

    /// Takes `ack`, which acknowledges the octets below `una`. `highest` is the octet after the
    /// highest octet sent.
    pub fn window_grows(&mut self, at: Time, una: u64, highest: u64, ack: &impl CapturedTcp) {
        let Some(after) = &mut self.after_lone else { return };
        after.acknowledged(at, una, highest, ack);
        // A sender that notices that a timeout was spurious restores its cwnd (RFC 4015 §3).
        if self.found[after.number].verdict == Verdict::Spurious {
            self.after_lone = None;
        }
    }

    /// Adds a retransmission. `stamp` is its timestamp. If an acknowledgment echoes an older one,
    /// but not older than `stamp.oldest`, an earlier transmission of the same octets arrived. `before` is the evidence that these octets had arrived before the retransmission was sent;
    /// `None` without evidence.
    pub fn add(
        &mut self,
        found: ExplainedRetransmission,
        stamp: SentStamp,
        before: Option<VerdictEvidence>,
    ) {
        let number = self.found.len();
        let ExplainedRetransmission { left, right, at, gap, .. } = found;
        if !self.continues_burst(at, left) {
            self.burst = (left, false);
        }
        self.burst.1 |= before == Some(VerdictEvidence::Reported);
        let syn = found.rule == CauseRule::Syn;
        let by_time = found.rule == CauseRule::LoneByTime;
        let only = self.found.last().is_none_or(|last| at.saturating_since(last.at) > gap);
        self.after_lone = by_time.then(|| AfterLone::of(number, right, only));
        let watched = Watched {
            number,
            left,
            right,
            at,
            stamp,
            syn,
            reported: false,
            reported_part: (left, left),
            filled: false,
            unclear: false,
        };
        self.found.push(found);
        if let Some(evidence) = before {
            let (verdict, answered_in) = (Verdict::Spurious, Duration::ZERO);
            self.decide(Decision { number, verdict, evidence, answered_in });
            self.watch.watch_spurious(watched);
        } else {
            self.watch.watch(watched);
        }
    }
}
