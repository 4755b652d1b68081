//! Why one side of a captured connection retransmits.

use crate::observe::{Answer, CoveredBy, Observed, OneWay, Transmission};
use crate::segment::{Cause, CauseCode, Flags};
use crate::units::{Duration, Time};
use crate::wire::TcpView;

use super::infer::{
    Age, Arrived, Found, Inferred, PathTimes, Phase, Rule, Scene, SendingOrder, Trouble, Vantage,
};
use super::kept::{Acknowledged, CapturedSegment};
use super::retransmission::{ExplainedRetransmission, Verdict, VerdictEvidence};

/// Whether SACK is used, as far as was seen.
#[derive(Clone, Copy, Debug, Default)]
struct SackUse {
    /// Whether the SYN of the sender, and of the receiver, permits it.
    permitted: [Option<bool>; 2],
    /// Blocks were seen.
    seen: bool,
    /// Duplicate ACKs without blocks, whose options were captured.
    without: u8,
}

impl SackUse {
    fn of_syn(&mut self, side: usize, packet: &TcpView) {
        if packet.options.whole {
            self.permitted[side] = Some(packet.options.syn.sack);
        }
    }

    fn known(self) -> Option<bool> {
        match self.permitted {
            _ if self.seen => Some(true),
            [Some(true), Some(true)] => Some(true),
            [Some(false), _] | [_, Some(false)] => Some(false),
            _ if self.without >= 2 => Some(false),
            _ => None,
        }
    }
}

/// What is inferred of the sender of one direction, from its segments and their acknowledgements.
#[derive(Clone, Debug, Default)]
pub struct Sender {
    path: PathTimes,
    order: SendingOrder,
    sack: SackUse,
    /// Whether a segment was captured.
    started: bool,
    /// Whether the receiver's window is closed.
    closed: bool,
    /// The payload of the largest segment.
    smss_bytes: u32,
    /// Duplicate ACKs in a row.
    dup_acks: u32,
    /// The first octet not acknowledged before the acknowledgement at hand.
    una_before: u64,
    /// When octets were acknowledged last, when an acknowledgement said anything, and when the
    /// sender sent anything.
    una_at: Time,
    answered_at: Time,
    sent_at: Time,
    trouble: Option<Box<Trouble>>,
}

impl Sender {
    /// A segment that occupies sequence numbers is about to be added to `octets`.
    #[inline]
    pub fn sending(&mut self, at: Time, packet: &TcpView, octets: &OneWay<CapturedSegment>) {
        let left = octets.sequence().octet(packet.seq);
        if let Some(stamps) = packet.options.timestamps {
            self.path.stamp_echoed(at, stamps.ecr);
        }
        let fresh = if left == octets.sequence().highest() && self.trouble.is_none() {
            true
        } else {
            self.sending_in_trouble(at, packet, (left, left + u64::from(packet.seq_len())), octets)
        };
        if packet.flags.has(Flags::SYN) {
            self.sack.of_syn(0, packet);
        }
        self.order.take(at, packet, fresh);
        self.started = true;
        self.smss_bytes = self.smss_bytes.max(packet.len());
        self.sent_at = at;
    }

    /// The same where something is or may be missing; whether all its octets are new.
    fn sending_in_trouble(
        &mut self,
        at: Time,
        packet: &TcpView,
        (left, right): (u64, u64),
        octets: &OneWay<CapturedSegment>,
    ) -> bool {
        let highest = octets.sequence().highest();
        let reported = self.trouble.as_ref().and_then(|trouble| trouble.sacked.top()).unwrap_or(0);
        let known = highest.max(reported);
        if left >= known {
            if left > known && self.started {
                self.trouble.get_or_insert_default().gaps.insert(known, left);
            }
            if let Some(trouble) = &mut self.trouble {
                trouble.machine.went_on();
            }
            return true;
        }
        self.old(at, packet, (left, right), known, octets);
        false
    }

    /// A segment with octets that were sent before.
    fn old(
        &mut self,
        at: Time,
        packet: &TcpView,
        (left, right): (u64, u64),
        known: u64,
        octets: &OneWay<CapturedSegment>,
    ) {
        if self.is_probe(packet, (left, right), known, octets) {
            return;
        }
        let first = octets.outstanding().partition_point(|one| one.right <= left);
        let earlier = octets.outstanding().get(first).filter(|one| one.left < right);
        let above = octets.outstanding().range(first..).find(|one| one.left >= right);
        let was_missing = earlier.is_none() && left >= octets.una()
            || self.trouble.as_ref().is_some_and(|trouble| trouble.gaps.holds(left, right));
        let last = earlier.map(|one| (one.last_sent, one.kept));
        let answered_since = last.is_some_and(|(sent, _)| self.answered_at > sent);
        let age = self.order.age(at, packet, last, answered_since);
        let total = self.path.least().unwrap_or(Duration::ZERO);
        let gap_age = above.map(|one| at.saturating_since(one.first_sent));
        let trouble = self.trouble.get_or_insert_default();
        let overtook = octets.outstanding().len().saturating_sub(first);
        let soon = was_missing && gap_age.is_some_and(|age| age < total * 3 / 5);
        match age {
            Age::Copy => trouble.copies += 1,
            Age::Older if was_missing => trouble.late = (trouble.late.0 + 1, trouble.late.1.max(overtook)),
            Age::Older => trouble.copies += 1,
            Age::Unknown if soon => trouble.late = (trouble.late.0 + 1, trouble.late.1.max(overtook)),
            Age::Newer | Age::Unknown => {
                let first_sent = earlier.map(|one| one.first_sent);
                self.again(at, packet, (left, right), known, first_sent, was_missing, octets.una());
            }
        }
        if let Some(trouble) = &mut self.trouble {
            trouble.gaps.remove(left, right);
        }
    }

    /// Whether a segment probes the receiver: a keep-alive repeats the last octet (RFC 9293 §3.8.4),
    /// a window probe sends one octet that the window does not allow (RFC 9293 §3.8.6.1).
    fn is_probe(
        &self,
        packet: &TcpView,
        (left, right): (u64, u64),
        known: u64,
        octets: &OneWay<CapturedSegment>,
    ) -> bool {
        let bare = !packet.flags.has(Flags::SYN) && !packet.flags.has(Flags::FIN);
        let small = packet.len() <= 1 && bare;
        let idle = octets.una() >= known && right == known && !packet.flags.has(Flags::PSH);
        small && (idle || self.closed && left >= octets.una())
    }

    /// Octets left again.
    #[expect(clippy::too_many_arguments, reason = "temporary")]
    fn again(
        &mut self,
        at: Time,
        packet: &TcpView,
        (left, right): (u64, u64),
        known: u64,
        first_sent: Option<Time>,
        original_missing: bool,
        una: u64,
    ) {
        let near = self.path.near();
        let (rtt, rttvar) = self.path.estimate().unwrap_or_default();
        let rtt_min = self.path.least().unwrap_or(Duration::ZERO);
        let sack = self.sack.known();
        let trouble = self.trouble.get_or_insert_default();
        trouble.waited_again(at, left, self.answered_at);
        let head = trouble.head(una);
        let last_again = trouble.watch.last_sent(left);
        let head_sent = trouble.watch.last_sent(head).or(first_sent).unwrap_or(Time::ZERO);
        let heard = if near.is_zero() {
            self.answered_at
        } else {
            trouble
                .passed_before(Time::from_nanos(at.as_nanos().saturating_sub((near * 7 / 8).as_nanos()))).unwrap_or(self.answered_at)
        };
        let last_sent = last_again.or(first_sent);
        let scene = Scene {
            at,
            left,
            right,
            head,
            highest: known.max(right),
            last_sent,
            sent_again: last_again.is_some(),
            waited: at.saturating_since(self.una_at.max(head_sent)),
            since_una: at.saturating_since(self.una_at),
            lag: (at.saturating_since(heard)) - near,
            quiet: at.saturating_since(heard.max(self.sent_at)),
            rtt,
            rttvar,
            rtt_min,
            hole: trouble.sacked.top().is_some_and(|top| top > left),
            dup_acks: self.dup_acks,
            follows: trouble.found.last().is_some_and(|found| {
                found.told.right == left && self.answered_at <= found.told.at
            }),
            overtaken: last_sent.is_some_and(|sent| trouble.newest > (sent, right)),
            sack,
        };
        let number = trouble.found.len();
        let inferred = if packet.flags.has(Flags::SYN) {
            Inferred { cause: Cause::Syn, rule: Rule::Syn }
        } else {
            trouble.machine.infer(&scene, number)
        };
        if inferred.rule == Rule::InOrder && trouble.machine.first + 1 < number {
            // What left since the fast retransmit went in order, too.
            let first = trouble.machine.first + 1;
            trouble.relabel(first, Some(inferred.cause).into(), inferred.rule);
        }
        let told = ExplainedRetransmission {
            at,
            left,
            right,
            gap: last_sent.map_or(Duration::ZERO, |sent| at.saturating_since(sent)),
            cause: Some(inferred.cause).into(),
            cause_confidence: inferred.rule.confidence(),
            original_missing,
            ..Default::default()
        };
        let val = packet.options.timestamps.map(|stamps| stamps.val);
        trouble.add(Found { told, rule: inferred.rule }, val, right <= una);
        if std::env::var_os("EXPLAIN_DEBUG").is_some() {
            eprintln!("{scene:?} {inferred:?} {:?}", trouble.machine);
        }
    }

    #[doc(hidden)]
    pub fn vantage_debug(&self) -> (super::infer::Vantage, f32, u64, u64) {
        let (v, c) = self.path.vantage();
        (v, c, self.path.near().as_nanos(), self.path.far().map_or(0, |f| f.as_nanos()))
    }

    #[doc(hidden)]
    pub fn finish_debug(self) -> Vec<(ExplainedRetransmission, String)> {
        let rules: Vec<_> = self.trouble.iter().flat_map(|t| t.found.iter().map(|f| format!("{:?}", f.rule))).collect();
        self.finish().into_iter().zip(rules).collect()
    }

    /// It was added to `octets`, as `transmission`.
    #[inline]
    pub fn sent(
        &mut self,
        _at: Time,
        _packet: &TcpView,
        _transmission: Transmission,
        _octets: &OneWay<CapturedSegment>,
    ) {
    }

    /// A round trip from the capture to the sender and back was measured.
    #[inline]
    pub fn near_sample(&mut self, rtt: Duration) {
        self.path.near_sample(rtt);
    }

    /// An acknowledgement is about to be added to `octets`.
    #[inline]
    pub fn answering(&mut self, at: Time, packet: &TcpView, octets: &OneWay<CapturedSegment>) {
        self.una_before = octets.una();
        if let Some(stamps) = packet.options.timestamps {
            self.path.stamp_passed(at, stamps.val);
        }
        if packet.flags.has(Flags::SYN) {
            self.sack.of_syn(1, packet);
        }
    }

    /// The acknowledgement is the first to cover `segment`.
    #[inline]
    pub fn covered(&mut self, at: Time, segment: &Acknowledged, covered: CoveredBy) {
        if let Some(trouble) = &mut self.trouble
            && !(segment.sacked && covered == CoveredBy::InOrder)
        {
            let once = segment.retransmissions == 0;
            let least = self.path.far().unwrap_or(Duration::ZERO);
            if once || at.saturating_since(segment.last_sent) >= least * 7 / 8 {
                trouble.newest = trouble.newest.max((segment.last_sent, segment.right));
            }
            let machine = &mut trouble.machine;
            let told_each = self.sack.known() == Some(true);
            if told_each
                && once
                && machine.from_open
                && machine.phase == Phase::Loss
                && segment.last_sent <= machine.since {
                machine.undone = true;
            }
        }
    }

    /// The acknowledgement was added to `octets`, and acknowledged `answer`.
    #[inline]
    pub fn answered(
        &mut self,
        at: Time,
        packet: &TcpView,
        answer: &Answer,
        octets: &OneWay<CapturedSegment>,
    ) {
        if let Some(sample) = answer.sample.filter(|sample| !sample.ambiguous) {
            self.path.far_sample(sample.rtt);
        }
        self.closed = packet.window == 0 && !packet.flags.has(Flags::RST);
        if answer.acked_bytes > 0 {
            self.dup_acks = 0;
            self.una_at = at;
            self.answered_at = at;
            if self.trouble.is_none() && packet.sack().is_empty() {
                return;
            }
        } else if !packet.sack().is_empty() || self.is_duplicate(packet, octets) {
            self.dup_acks += 1;
            self.answered_at = at;
            let without = packet.options.whole && packet.sack().is_empty();
            self.sack.without = self.sack.without.saturating_add(without.into());
        } else {
            self.answered_when_idle(at, packet, octets);
            return;
        }
        self.answered_in_trouble(at, packet, octets);
    }

    /// An acknowledgement that says nothing new while nothing is outstanding.
    fn answered_when_idle(
        &mut self,
        at: Time,
        packet: &TcpView,
        octets: &OneWay<CapturedSegment>,
    ) {
        if let Some(trouble) = &mut self.trouble
            && let (Some(false), Some(far)) = (self.sack.known(), self.path.far())
            && packet.seq_len() == 0
            && octets.outstanding().is_empty()
        {
            trouble.duplicate_answered(at, far);
        }
    }

    /// A duplicate acknowledgement (RFC 5681 §2), but for its window.
    fn is_duplicate(&self, packet: &TcpView, octets: &OneWay<CapturedSegment>) -> bool {
        let bare = packet.is_empty() && packet.seq_len() == 0 && !packet.flags.has(Flags::RST);
        let same = octets.sequence().octet(packet.ack) == octets.una();
        bare && same && octets.una() < octets.sequence().highest()
    }

    /// An acknowledgement where something is missing or was sent again.
    fn answered_in_trouble(
        &mut self,
        at: Time,
        packet: &TcpView,
        octets: &OneWay<CapturedSegment>,
    ) {
        let una = octets.una();
        if packet.sack().is_empty() && self.trouble.is_none() {
            return;
        }
        let trouble = self.trouble.get_or_insert_default();
        trouble.passed(at);
        let ack = octets.sequence().octet(packet.ack);
        for (place, block) in packet.sack().iter().enumerate() {
            self.sack.seen = true;
            let [left, right] = [block.left, block.right].map(|edge| octets.sequence().octet(edge));
            if left >= right {
                continue;
            }
            let within = packet.sack().get(1).is_some_and(|next| {
                let [l, r] = [next.left, next.right].map(|edge| octets.sequence().octet(edge));
                l <= left && right <= r
            });
            if place == 0 && (right <= ack || within) {
                trouble.duplicate_reported(left, right);
            } else if left >= una {
                trouble.sacked.insert(left, right);
            }
        }
        trouble.judge(&Arrived {
            at,
            una: (self.una_before, una),
            echo: packet.options.timestamps.map(|stamps| stamps.ecr),
            far: self.path.far(),
            two_segments: u64::from(self.smss_bytes) * 2,
        });
        trouble.acknowledged(una);
    }

    /// The connection has ended, or the capture: all retransmissions, in order.
    pub fn finish(self) -> Vec<ExplainedRetransmission> {
        let Some(trouble) = self.trouble else { return Vec::new() };
        let sack = self.sack.known() == Some(true);
        let reports = trouble.reports_duplicates;
        let habit = trouble.machine.traits.lone();
        let arrived_here = self.path.vantage().0 == Vantage::Receiver;
        trouble
            .found
            .into_iter()
            .map(|found| {
                let mut told = found.told;
                if let (Rule::LoneByTime, Some(cause)) = (found.rule, habit) {
                    told.cause = Some(cause).into();
                    told.cause_confidence = Rule::LoneByHabit.confidence();
                }
                if told.verdict == Verdict::Needed && told.evidence == VerdictEvidence::None && sack {
                    told.evidence = VerdictEvidence::NoDSack;
                }
                let decided = matches!(
                    told.evidence,
                    VerdictEvidence::DSack | VerdictEvidence::Acknowledged
                );
                if arrived_here && !decided {
                    told.evidence = VerdictEvidence::AtReceiver;
                    told.verdict = if told.original_missing { Verdict::Needed } else { Verdict::Spurious };
                }
                told.verdict_confidence = sureness(&told, reports);
                told
            })
            .collect()
    }
}

/// The probability that a verdict is right.
fn sureness(told: &ExplainedRetransmission, reports: bool) -> f32 {
    match (told.verdict, told.evidence) {
        (Verdict::Unknown, _) => 0.0,
        (_, VerdictEvidence::DSack | VerdictEvidence::Acknowledged) => 0.98,
        (_, VerdictEvidence::Echo) => 0.97,
        (_, VerdictEvidence::Timing | VerdictEvidence::AtReceiver) => 0.95,
        (_, VerdictEvidence::DuplicateAck | VerdictEvidence::Jump) => 0.8,
        (_, VerdictEvidence::NoDSack) if reports => 0.97,
        (_, VerdictEvidence::NoDSack) => 0.9,
        (_, VerdictEvidence::None) => 0.75,
    }
}

/// Codes of causes.
#[expect(dead_code, reason = "temporary")]
fn code(cause: Cause) -> CauseCode {
    Some(cause).into()
}
