//! Infers why one side of a captured connection (the sender) retransmits.
//!
//! The *round trip* of the sender has two parts. The *near* part is the time from the capture to
//! the sender and back. The *far* part is the time from the capture to the receiver and back. The
//! sender is *in trouble* if octets are missing, may be missing, or were sent again.

mod answered;
mod circumstances;
mod discarded;
mod known;
mod last_acked;
mod repeated;

use std::cmp::Ordering;

use crate::observe::{Answer, CoveredBy};
use crate::segment::{Cause, Flags};
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::infer::{
    AckHabits, AfterLone, Age, DuplicatesSoFar, FlowLabels, FreshSegment, Habits, Inferred,
    LabelHint, LateBy, Lately, PathTimes, SackUse, SenderScene, SenderTrouble, SendingOrder,
    SentStamp, Vantage, Waking, is_bare_fin,
};
use super::kept::{
    Acknowledged, CapturedOctets, CapturedSegment, CurrentSegment, Repeat, before_tail,
    has_same_stamp, is_duplicate, shortens_tail,
};
use super::probed_octet::ProbedOctet;
use super::retransmission::ExplainedRetransmission;
use super::rule::CauseRule;
use last_acked::{AckTimes, KnownAcks};

pub use last_acked::{AckedTail, LastAcked};

/// The sender of one direction, as its segments and their acknowledgments show it.
///
/// If the sender is in trouble, this struct also holds the state of its loss recovery.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    /// The near and the far part of the round trip, and where the capture was taken.
    pub(super) path: PathTimes,
    pub(super) order: SendingOrder,
    sack: SackUse,
    acks: AckHabits,
    /// The flow labels of the sender's packets. In some stacks, a timeout changes the label.
    labels: FlowLabels,
    /// The largest number of octets that were outstanding at one time.
    widest_bytes: u64,
    /// Whether a segment of the sender that occupies sequence numbers was captured.
    started: bool,
    /// The last window that the receiver advertised, before scaling.
    window: Option<u16>,
    probed: ProbedOctet,
    /// Whether the last SYN of the sender was without the ACK flag.
    opens: bool,
    /// The payload of the largest segment, in octets.
    smss_bytes: u32,
    /// The size of the largest segment that was acknowledged. If a retransmission or a SACK block
    /// divided a segment, each part counts as a segment.
    acked_bytes_max: u64,
    /// The duplicate ACKs.
    duplicates: DuplicatesSoFar,
    /// Acknowledgments in a row that acknowledged nothing new while nothing was outstanding.
    idle_acks: u32,
    /// The state before the current acknowledgment: the first octet not acknowledged, and whether
    /// exactly one segment was outstanding.
    before: (u64, bool),
    pub(super) last_acked: LastAcked,
    /// The timestamp of the first FIN without data whose timestamp is newer than all earlier
    /// timestamps. `None` if there was no such FIN.
    fin_val: Option<u32>,
    /// When acknowledgments came.
    heard: AckTimes,
    /// When the sender last sent a segment that occupies sequence numbers.
    sent_at: Time,
    /// When the sender last sent new octets.
    fresh_at: Time,
    /// The new octets that were seen lately.
    lately: Lately,
    /// What the sender sent after the last long silence.
    waking: Waking,
    pub(super) current: CurrentSegment,
    trouble: Option<Box<SenderTrouble>>,
    /// The behaviour before the connection was packed to save memory (see
    /// [`resumed`](Self::resumed)). `None` if it was not packed, or no behaviour was observed.
    earlier: Option<Box<Habits>>,
}

impl Sender {
    /// No sender waits for less than `SYN_WAIT` before it retransmits a SYN (RFC 6298 §2.1 asks for
    /// a second). A SYN-ACK may be sent again sooner, because a host answers each SYN with a
    /// SYN-ACK.
    pub(super) const SYN_WAIT: Duration = Duration::from_millis(100);

    /// Takes a segment that occupies sequence numbers from octet `left` on. The caller adds the
    /// segment to `octets` afterwards.
    #[inline]
    pub fn sending(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        left: u64,
        octets: &CapturedOctets,
    ) {
        if let Some(stamps) = packet.timestamps() {
            self.path.stamp_echoed(at, stamps.ecr, at.saturating_since(self.sent_at));
            if is_bare_fin(packet) && self.fin_val.is_none() {
                self.fin_val = self.order.is_newer(stamps.val).then_some(stamps.val);
            }
        }
        let fresh = self.is_calm() && left == octets.sequence().highest()
            || self.sending_in_trouble(at, packet, left, octets);
        if packet.flags().has(Flags::SYN) {
            self.sack.syn(false, packet);
            self.opens = !packet.flags().has(Flags::ACK);
        }
        self.started = true;
        self.smss_bytes = self.smss_bytes.max(packet.len());
        self.note_sent(at, packet, (left, fresh), octets);
    }

    /// Whether no octets are missing, and no sign of missing octets was seen.
    #[inline]
    pub fn is_calm(&self) -> bool {
        self.trouble.is_none() && self.duplicates.count == 0
    }

    /// Whether IP identifications tell in what order packets were sent.
    pub(super) fn numbers_packets(&self) -> bool {
        self.order.ascends()
    }

    /// Notes a segment that occupies sequence numbers. Its first octet is `left`. `fresh` says
    /// whether its octets are new.
    #[inline]
    pub(super) fn note_sent(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        (left, fresh): (u64, bool),
        octets: &CapturedOctets,
    ) {
        let quiet = at.saturating_since(self.sent_at);
        let lost = quiet >= SenderScene::FLOOR
            && !self.path.is_beside_sender()
            && self.order.has_lost_before(packet);
        self.order.take(at, packet, fresh);
        self.probed.take(left, packet, self.window == Some(0));
        let Self { lately, waking, path, .. } = self;
        if fresh {
            self.fresh_at = at;
            lately.take(at, left, || path.least().unwrap_or_default() * 3 / 5);
        }
        // After a timeout, a sender sends the first missing octets, so no gap precedes the segment.
        let head = packet.len() == self.smss_bytes && left <= octets.sequence().highest();
        waking.sending(at, quiet, (head, lost), || path.estimate());
        let flight = left + u64::from(packet.len());
        self.widest_bytes = self.widest_bytes.max(flight.saturating_sub(octets.una()));
        self.sent_at = at;
    }

    /// Whether a packet shows that a timer may have ended the last silence. The packet was captured
    /// at the instant `at`, and its first octet is `left`. Returns the instant at which the silence
    /// ended, and the round trip. `None` if the packet does not show this.
    /// [`sending`](Self::sending) must not have taken the packet yet.
    ///
    /// All captured data is acknowledged, so the sender seemed to have nothing to send. But IP
    /// identifications show that the sender sent packets that never came to the capture, and then
    /// one full segment. The sender sent `packet` when the acknowledgment of this segment arrived.
    /// So cwnd was one segment, as after a timeout (RFC 5681 §3.1).
    #[inline]
    pub fn may_show_timeout(
        &self,
        at: Time,
        packet: &impl CapturedTcp,
        left: u64,
        octets: &CapturedOctets,
    ) -> Option<(Time, Duration)> {
        let ended = self.waking.after_losses(self.sent_at)?;
        let highest = octets.sequence().highest();
        let (least, near) = (self.path.near(), self.path.near_now());
        let since = at.saturating_since(self.heard.una_at);
        let clocked = (least - least / 4..=near + near / 4).contains(&since);
        let next = left >= highest && octets.una() == highest;
        (clocked && next && self.order.sent_between(packet) == Some(0))
            .then(|| (ended, self.path.least().unwrap_or(near).max(near)))
    }

    /// Notes that a timeout ended a silence at the instant `at`. The segment that the timeout sent
    /// looked like new data. The octets below `point` were sent before the timeout.
    #[cold]
    pub fn had_timed_out(&mut self, point: u64, at: Time) {
        let trouble = self.trouble.get_or_insert_default();
        trouble.machine.had_timed_out(trouble.found.len(), point, at);
    }

    /// Takes a report that a packet was too big for the path. The packet's first octet has the
    /// number `seq`. Returns whether this octet is outstanding.
    #[cold]
    pub fn too_big(&mut self, at: Time, seq: u32, octets: &CapturedOctets) -> bool {
        let (una, highest) = (octets.una(), octets.sequence().highest());
        let outstanding = (una..highest).contains(&octets.sequence().octet(seq));
        if outstanding {
            self.trouble.get_or_insert_default().too_big.report(at, una, highest);
        }
        outstanding
    }

    /// Notes the flow label of the packet that was taken at the instant `at`.
    #[inline]
    pub fn labelled(&mut self, at: Time, label: u32) {
        if label != 0 {
            let again = self.latest().is_some_and(|last| last.at == at);
            self.labels.take(label, again);
        }
    }

    /// What the captured acknowledgments show. The octets below `una` are acknowledged.
    #[inline]
    fn known_acks(&self, una: u64) -> KnownAcks {
        let Self { heard, duplicates, .. } = *self;
        KnownAcks { una, heard, duplicates, reported: self.reported_top() }
    }

    /// The octet after the highest octet that SACK blocks reported. Zero without reports.
    #[inline]
    fn reported_top(&self) -> u64 {
        self.trouble.as_ref().and_then(|trouble| trouble.sacked.top()).unwrap_or(0)
    }

    /// Takes a segment while the sender is in trouble. Returns whether all octets of the segment
    /// are new.
    fn sending_in_trouble(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        left: u64,
        octets: &CapturedOctets,
    ) -> bool {
        let known = octets.sequence().highest().max(self.reported_top());
        if left < known {
            let right = left + u64::from(packet.seq_len());
            if !self.repeats_nothing(packet, (left, right), known, octets.una()) {
                self.take_repeated(at, packet, (left, right), known, octets);
            }
            return false;
        }
        let skipped = left > known && self.started && self.heard.answered_at > Time::ZERO;
        let on_duplicate =
            (1..=2).contains(&self.duplicates.count) && self.heard.answered_at >= self.sent_at;
        if skipped || on_duplicate {
            self.trouble.get_or_insert_default();
        }
        if let Some(trouble) = &mut self.trouble {
            if skipped {
                trouble.pass_over(known, left);
            }
            trouble.machine.traits.limited.0 += u32::from(on_duplicate);
            trouble.new_octets(at, self.path.near());
            trouble.machine.went_on();
            let smss_bytes = u64::from(self.smss_bytes);
            let cwr = packet.flags().has(Flags::CWR);
            let fresh = FreshSegment { at, bytes: packet.len().into(), smss_bytes, cwr };
            trouble.sending(&fresh, AfterLone::is_wide(self.widest_bytes, smss_bytes));
        }
        true
    }

    /// Takes a segment with octets that were sent before: a retransmission, an original that later
    /// packets overtook, or a copy from the network or the capture.
    fn take_repeated(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        (left, right): (u64, u64),
        known: u64,
        octets: &CapturedOctets,
    ) {
        let (una, outstanding) = (octets.una(), octets.outstanding());
        let first = outstanding.partition_point(|one| one.right <= left);
        let earlier = outstanding.get(first).filter(|one| one.left < right);
        let above = outstanding.range(first..).find(|one| one.left >= right);
        let missing = self.is_missing((left, right), earlier.is_none() && left >= una, octets);
        // A copy has the same first and last octet as its original.
        let whole = earlier.filter(|one| (one.left, one.right) == (left, right));
        let last = whole.map(|one| (one.last_sent, one.kept));
        let mut age = self.age_of(at, packet, last);
        let round = self.path.least().unwrap_or(Duration::ZERO);
        let vantage = self.path.vantage().0;
        let far = age == Age::Unknown && vantage == Vantage::Receiver;
        let behind = above.map_or(Duration::ZERO, |one| at.saturating_since(one.first_sent));
        let soon = above.is_some() && Self::is_soon(behind, round, far);
        let beyond = age == Age::Unknown && vantage != Vantage::Sender;
        if beyond && !missing && self.lately.holds(at, left, round * 3 / 5) {
            age = Age::Copy;
        }
        let distance = self.segs_between(right, known);
        let other = last.and_then(|(_, kept)| self.order.compared(packet, kept));
        if age == Age::Older && self.is_overtaken_retransmission(packet, above, distance, other) {
            age = Age::Newer;
        }
        let late_by = LateBy { overtook: (outstanding.len() - first) as u64, distance, behind };
        let unordered = age == Age::Unknown && packet.timestamps().is_none();
        let opening = self.is_late_opening(at, packet);
        let trouble = self.trouble.get_or_insert_default();
        let original = opening
            || far
                && unordered
                && !missing
                && trouble.filled_by_other(at, (left, right), Some(round));
        match age {
            Age::Unknown if original => trouble.overtaken(late_by),
            Age::Unknown if missing && soon => trouble.overtaken(late_by),
            Age::Copy => trouble.copies += 1,
            // This packet was sent before the newest one. It is a late original if its octets were
            // missing, if their retransmission came before, or if a captured segment with the same
            // octets was sent after it. Otherwise, it is a copy.
            Age::Older if missing || trouble.filled_by_other(at, (left, right), None) => {
                trouble.overtaken(late_by);
            }
            Age::Older if other == Some(Ordering::Less) => trouble.overtaken(late_by),
            Age::Older => trouble.copies += 1,
            Age::Newer | Age::Unknown => {
                // At the receiver, the segment was needed if any of its octets had not arrived.
                let partly = trouble.lacks_some((left, right), known);
                let missing = missing || partly && vantage == Vantage::Receiver;
                let first_sent = earlier.map(|one| one.first_sent);
                let joins = outstanding.get(first + 1).is_some_and(|second| second.left < right);
                let before_tail = before_tail(octets, self.heard.una_at);
                let old =
                    Repeat { left, right, known, una, first_sent, missing, ..Repeat::default() };
                let shortens_tail = shortens_tail(octets, (left, right));
                let stamp_again = earlier.is_some_and(|one| has_same_stamp(packet, one));
                let old =
                    Repeat { before_tail, unordered, joins, shortens_tail, stamp_again, ..old };
                self.note_retransmission(at, packet, old);
            }
        }
        self.trouble.iter_mut().for_each(|trouble| trouble.gaps.remove(left, right));
    }

    /// A later packet overtook `packet`. Returns whether `packet` is a retransmission. It is one if
    /// its sender had already sent the same or higher octets. `above` is a segment with higher
    /// octets, and `segs` is the number of full segments from the packet's end to the highest
    /// octet. `other` compares when the packet and the segment with the same octets were sent.
    fn is_overtaken_retransmission(
        &self,
        packet: &impl CapturedTcp,
        above: Option<&Acknowledged>,
        segs: u64,
        other: Option<Ordering>,
    ) -> bool {
        above.is_some_and(|one| self.order.was_sent_after(packet, one))
            || self.order.was_sent_after_some(packet, segs)
            || other == Some(Ordering::Greater)
    }

    /// Whether octets came so soon after higher octets that they are an overtaken original.
    /// `behind` is the time since the higher octets. A sender learns that octets are missing only a
    /// round trip after it sent the octets above them. At the receiver (`far`), the limit is close
    /// to one round trip (`round`). Elsewhere the limit is lower, because delays on the rest of the
    /// path vary.
    fn is_soon(behind: Duration, round: Duration, far: bool) -> bool {
        behind < if far { round * 7 / 8 } else { round * 3 / 5 }
    }

    /// Returns whether `packet` was sent before or after the newest packet, or is a copy. `last` is
    /// the last transmission of its octets.
    fn age_of(
        &self,
        at: Time,
        packet: &impl CapturedTcp,
        last: Option<(Time, CapturedSegment)>,
    ) -> Age {
        let answered_since =
            self.current.answers_syn || last.is_some_and(|(sent, _)| self.heard.answered_at > sent);
        let age = self.order.age(at, packet, last, answered_since);
        let opens = packet.flags().has(Flags::SYN) && !packet.flags().has(Flags::ACK);
        // Beside the receiver, a SYN and its retransmission may come together if the SYN was late.
        let alike = self.order.may_be_same(packet, last.map(|(_, kept)| kept));
        let copy = opens && alike && at.saturating_since(self.sent_at) < Self::SYN_WAIT;
        if copy { Age::Copy } else { age }
    }

    /// The distance from octet `left` to octet `right`, in full segments, rounded up.
    fn segs_between(&self, left: u64, right: u64) -> u64 {
        right.saturating_sub(left).div_ceil(u64::from(self.smss_bytes).max(1))
    }

    /// Whether the capture has no earlier transmission of any of the octets `left..right`. `unseen`
    /// says that no outstanding segment overlaps these octets, and that the octet `left` is not
    /// acknowledged. If no acknowledgment is captured, `octets` keeps only the latest segments.
    fn is_missing(&self, (left, right): (u64, u64), unseen: bool, octets: &CapturedOctets) -> bool {
        let kept = octets.outstanding().front().is_none_or(|one| one.left <= left);
        let unseen = unseen && (kept || self.heard.answered_at > Time::ZERO);
        let Some(trouble) = &self.trouble else { return unseen };
        unseen && !trouble.watch.knows(left, right) || trouble.gaps.holds(left, right)
    }

    /// Records a retransmission and infers its cause.
    fn note_retransmission(&mut self, at: Time, packet: &impl CapturedTcp, old: Repeat) {
        let (heard_at, una_heard) = (self.heard.answered_at, self.heard.una_at + self.path.near());
        // A SYN may be sent again after its SYN-ACK. Then `scene.last_sent` is not known.
        let syn_at = packet.flags().has(Flags::SYN).then_some(self.sent_at);
        let syn_at = syn_at.filter(|sent| *sent > Time::ZERO);
        self.trouble.get_or_insert_default().waited_again(at, old.left, heard_at, una_heard);
        let mut scene = self.scene(at, &old);
        scene.label = self.labels.hint(packet.flow_label());
        let near = self.path.near_now();
        if let Some(stamps) = packet.timestamps().filter(|_| near > SenderScene::SLACK) {
            let trouble = self.trouble.get_or_insert_default();
            let by_echo = trouble.lag_by_echo(at, stamps.ecr, near);
            scene.lag = by_echo.map_or(scene.lag, |lag| lag.min(scene.lag));
        }
        let trouble = self.trouble.get_or_insert_default();
        let number = trouble.found.len();
        let traits = trouble.machine.traits;
        let Inferred { cause, rule } = if packet.flags().has(Flags::SYN) {
            Inferred { cause: Cause::Syn, rule: CauseRule::Syn }
        } else if trouble.too_big.explains(&scene, near, trouble.machine.since) {
            Inferred { cause: Cause::TooBig, rule: CauseRule::TooBig }
        } else {
            let each = trouble.answers_each_duplicate(&scene);
            each.unwrap_or_else(|| trouble.machine.infer(&scene, number))
        };
        let doubtful = rule == CauseRule::Silence && scene.place.is_afar() && scene.is_reported();
        trouble.doubted = doubtful.then(|| (scene.repair_cause(true), traits));
        match rule {
            CauseRule::InOrder => trouble.went_in_order(cause),
            CauseRule::ReportedBefore => trouble.went_back(old.left),
            _ => {}
        }
        let last_sent = scene.last_sent.or(syn_at).or_else(|| {
            let again = trouble.watch.acked_sent(old.left);
            again.max(self.last_acked.last_sent(old.left))
        });
        let discarded =
            self.is_discarded(packet, &old, last_sent) || self.stayed_silent(at, old.left);
        let trouble = self.trouble.get_or_insert_default();
        let told = ExplainedRetransmission {
            at,
            left: old.left,
            right: old.right,
            gap: last_sent.map_or(Duration::ZERO, |sent| at.saturating_since(sent)),
            cause: Some(cause).into(),
            rule,
            original_missing: old.missing,
            discarded,
            srtt: self.path.estimate().map_or(Duration::ZERO, |both| both.0),
            acked_bytes_max: u32::try_from(self.acked_bytes_max).unwrap_or(u32::MAX),
            unordered: old.unordered,
            bare_fin: is_bare_fin(packet),
            maybe_after_timeout: trouble.machine.may_follow_timeout(cause, rule),
            pause_unclear: old.missing
                && self.path.near_known().is_none()
                && self.path.far().is_some_and(|far| far < SenderScene::SLACK)
                && scene.quiet < ExplainedRetransmission::INITIAL_RTO,
            label_kept: matches!(scene.label, LabelHint::Kept | LabelHint::KeptByHabit),
            ..Default::default()
        };
        let val = packet.timestamps().map(|stamps| stamps.val);
        let before = trouble.arrived_before(old.left, old.right, old.una);
        let any = val.unwrap_or_default().wrapping_sub(u32::MAX / 2);
        let oldest_val = if is_bare_fin(packet) { self.fin_val.or(val) } else { Some(any) };
        let stamp =
            SentStamp { val, again: old.stamp_again, oldest: oldest_val.unwrap_or_default() };
        trouble.add(told, stamp, before);
    }

    /// Takes an acknowledgment before the caller adds it to `octets`.
    #[inline]
    pub fn answering(&mut self, at: Time, packet: &impl CapturedTcp, octets: &CapturedOctets) {
        self.before = (octets.una(), octets.outstanding().len() == 1);
        if let Some(stamps) = packet.timestamps() {
            self.path.stamp_passed(at, stamps.val);
        }
        if packet.flags().has(Flags::SYN) {
            self.sack.syn(true, packet);
        }
        if !packet.sack().is_empty() {
            self.sack.blocks();
        }
        if !packet.options_whole() && !packet.flags().has(Flags::SYN) {
            let news = octets.sequence().octet(packet.ack()) > octets.una();
            self.sack.cut(packet.option_bytes(), news && self.is_calm());
        }
    }

    /// Notes that the current acknowledgment newly covers `segment`.
    #[inline]
    pub fn covered(&mut self, at: Time, segment: &Acknowledged, covered: CoveredBy) {
        let in_order = covered == CoveredBy::InOrder;
        self.acks.covered += u64::from(in_order);
        if in_order {
            self.last_acked.covers(segment);
        }
        self.acked_bytes_max = self.acked_bytes_max.max(segment.right - segment.left);
        if let Some(trouble) = &mut self.trouble
            && !(segment.sacked && in_order)
        {
            if in_order && trouble.unclear_duplicates > 0 {
                trouble.explain_duplicates(segment);
            }
            let once = segment.retransmissions == 0;
            // A part of a divided segment may have been acknowledged before.
            let late = once && segment.right > self.before.0;
            if let Some(top) = trouble.sacked.top().filter(|top| late && *top > segment.right) {
                let distance = (top - segment.right).div_ceil(u64::from(self.smss_bytes).max(1));
                trouble.late_in_acks.add(LateBy { distance, ..LateBy::default() });
            }
            let least = self.path.far().unwrap_or(Duration::ZERO);
            if once || at.saturating_since(segment.last_sent) >= least * 7 / 8 {
                trouble.newest = trouble.newest.max((segment.last_sent, segment.right));
            }
            // Go-back-N does not skip octets that no SACK block reported. If octets above this
            // segment were retransmitted, the capture missed the retransmission of this segment.
            let passed = trouble.found.last().is_some_and(|last| segment.right <= last.left);
            if once && !passed && self.sack.known() == Some(true) {
                trouble.machine.original_arrived(segment.last_sent);
            }
        }
    }

    /// Takes an acknowledgment that the caller has added to `octets`, with the result `answer`.
    /// `after_gap` says whether its packet begins after the highest captured octet of the receiver's
    /// data.
    #[inline]
    pub fn answered(
        &mut self,
        at: Time,
        packet: &impl CapturedTcp,
        answer: &Answer,
        after_gap: bool,
        octets: &CapturedOctets,
    ) {
        self.heard_packet(at, packet, answer.acked_bytes, octets);
        if let Some(sample) = &answer.sample
            && !sample.ambiguous
        {
            self.path.far_sample(sample.rtt);
            if self.before.1 && !sample.handshake {
                self.acks.lone_acknowledged(sample.rtt, self.path.far().unwrap_or(sample.rtt));
            }
        }
        let window = packet.advertised().filter(|_| !packet.flags().has(Flags::RST));
        let last = std::mem::replace(&mut self.window, window);
        self.count_in_row(packet, answer.acked_bytes > 0, last == window, octets);
        if answer.acked_bytes > 0 {
            self.acks.acks += 1;
            if self.duplicates.count == 0
                && self.trouble.as_ref().is_none_or(|trouble| trouble.is_calm())
            {
                self.acks.calm_ack(answer.acked_bytes);
            }
            self.last_acked.came_after(self.known_acks(self.before.0));
            (self.duplicates.count, self.idle_acks) = (0, 0);
            (self.heard.una_at, self.heard.answered_at) = (at, at);
            if self.trouble.is_none() && packet.sack().is_empty() {
                return;
            }
        } else if !packet.sack().is_empty() || is_duplicate(packet, octets) {
            self.duplicate(at, packet);
            if last == window {
                self.answered_copy(at, packet, octets);
            }
        } else {
            return self.answered_when_idle(at, packet, octets, last);
        }
        self.answered_in_trouble(at, packet, after_gap, octets);
    }
}
