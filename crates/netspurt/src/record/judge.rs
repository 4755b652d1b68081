//! Judges whether each retransmission of a run was spurious.
//!
//! A retransmission is spurious if each of its octets also arrives in an earlier transmission,
//! before or after the retransmission leaves. Only an observer of both ends can see this. A sender
//! cannot.

use std::collections::BTreeMap;

use crate::ids::{EndId, FlowId, Side, TransmissionId};
use crate::observe::{Sequence, Transmission};
use crate::ranges::Ranges;
use crate::segment::{Cause, Flags, Segment};
use crate::sim::{FlowSlots, Population};
use crate::units::{Duration, Time};

/// No segment has more octets than this number. So a retransmission that contains an arriving octet
/// begins at most this far before the octet.
const SEGMENT_BYTES_MAX: u64 = 1 << 17;

/// The number of retransmissions and of spurious retransmissions, for each cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retransmissions {
    /// All retransmissions, in the order of [`Cause::ALL`].
    pub sent: [u32; Cause::ALL.len()],
    /// The spurious retransmissions, in the same order.
    pub spurious: [u32; Cause::ALL.len()],
}

impl Retransmissions {
    /// Adds the retransmissions of another sender.
    pub(super) fn add(&mut self, other: &Self) {
        for place in 0..Cause::ALL.len() {
            self.sent[place] += other.sent[place];
            self.spurious[place] += other.spurious[place];
        }
    }
}

/// The judge's state for the segments that one end sent. It fits into one cache line, because the
/// judge reads it for every segment of every connection.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Evidence {
    arrived: Ranges,
    sequence: Sequence,
    /// The retransmissions of the end. The value is `None` until the end retransmits, or a repeated
    /// SYN reaches the end.
    doubts: Option<Box<Doubts>>,
    /// When the end last sent or received a segment.
    last: Time,
}

const _: () = assert!(size_of::<Evidence>() == 64, "one cache line");

/// The retransmissions of an end: those that may still prove spurious, and the counts of all
/// retransmissions so far.
#[derive(Debug, Default)]
struct Doubts {
    /// Retransmissions with octets that have not yet arrived in an earlier transmission. The key is
    /// the first octet and the id of the retransmission.
    open: BTreeMap<(u64, TransmissionId), Open>,
    /// The octet after the highest octet that was ever in the map `open`.
    open_end: u64,
    /// Whether a repeated SYN has reached the end, and the end has not retransmitted its SYN-ACK
    /// after this SYN.
    asked: bool,
    verdict: SenderVerdict,
}

/// A retransmission that may still prove spurious.
#[derive(Debug)]
struct Open {
    /// The octets that have not yet arrived in an earlier transmission.
    missing: Ranges,
    cause: Cause,
}

/// The judge's verdict on the retransmissions of one end, up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderVerdict {
    /// The retransmissions of the end, and how many of them were spurious.
    pub retransmissions: Retransmissions,
    /// How long the end waited for timeouts: for each timeout that retransmitted a segment, the
    /// time since the end last sent or received a segment. Timeouts of a FIN without data do not
    /// count, because no application waits for them. SYN-ACKs that answer a repeated SYN do not
    /// count either, because no timer sent them.
    pub waited: Duration,
}

/// Watches both ends of flows, and decides which retransmissions were spurious.
///
/// ```
/// use netspurt::ids::{FlowId, Side, TransmissionId};
/// use netspurt::record::Judge;
/// use netspurt::segment::{Cause, Segment};
/// use netspurt::units::Time;
/// let mut judge = Judge::default();
/// judge.watch(FlowId(0));
/// let end = FlowId(0).end(Side::From);
/// let [id, second] = [1, 2].map(|count| TransmissionId::new(end, count));
/// let first = Segment { id, dest: end.peer(), seq: 1, len: 1000, ..Segment::default() };
/// let again = Segment { id: second, cause: Some(Cause::Rto).into(), ..first };
/// judge.departed(Time::ZERO, &first);
/// judge.departed(Time::ZERO, &again);
/// judge.reached(Time::ZERO, &first);
/// judge.reached(Time::ZERO, &again);
/// assert_eq!(judge.spurious(), [second]);
/// ```
#[derive(Debug, Default)]
pub struct Judge {
    slots: FlowSlots,
    /// The state of each end. The field `slots` gives the index of an end.
    senders: Vec<Evidence>,
    spurious: Vec<TransmissionId>,
}

impl Judge {
    /// Starts to watch `flow`.
    pub fn watch(&mut self, flow: FlowId) {
        self.slots.claim(flow);
        let place = self.slots.place(flow.end(Side::To));
        if place >= self.senders.len() {
            self.senders.resize_with(place + 1, Evidence::default);
        }
    }

    /// Stops watching `flow`, and returns the verdicts on its two ends. The caller must not report
    /// any further segment of the flow.
    pub fn forget(&mut self, flow: FlowId) -> [SenderVerdict; 2] {
        let verdicts = Side::BOTH.map(|side| {
            let place = self.slots.place(flow.end(side));
            std::mem::take(&mut self.senders[place]).verdict()
        });
        let slot = self.slots.leave(flow);
        self.slots.free(slot);
        verdicts
    }

    /// The ids of the spurious transmissions so far, in the order in which they were recognised.
    pub fn spurious(&self) -> &[TransmissionId] {
        &self.spurious
    }

    /// Returns the verdict on the end `end`, up to now.
    ///
    /// # Panics
    /// When the judge does not watch the flow of this end.
    pub fn verdict(&self, end: EndId) -> SenderVerdict {
        self.senders[self.slots.place(end)].verdict()
    }

    /// Tells the judge that `segment` left its source at the instant `at`.
    #[inline(always)]
    pub fn departed(&mut self, at: Time, segment: &Segment) {
        let place = self.slots.place(segment.source());
        let sender = &mut self.senders[place];
        if let Some(cause) = segment.cause.get() {
            sender.retransmitted(at, segment, cause, &mut self.spurious);
        }
        sender.last = at;
    }

    /// Tells the judge that `segment` reached its destination at the instant `at`.
    #[inline(always)]
    pub fn reached(&mut self, at: Time, segment: &Segment) {
        let place = self.slots.place(segment.dest);
        self.senders[place].last = at;
        if segment.seq_len() == 0 {
            return;
        }
        let peer = EndId::at(place as u32).peer().index();
        if segment.flags.has(Flags::SYN) && !self.senders[peer].arrived.is_empty() {
            self.senders[place].doubts.get_or_insert_default().asked = true;
        }
        let sender = &mut self.senders[peer];
        let octets = sender.octets(segment);
        if let Some(doubts) = &mut sender.doubts
            && octets.0 < doubts.open_end
        {
            doubts.settle(octets, segment.id, &mut self.spurious);
        }
        sender.arrived.insert(octets.0, octets.1);
    }
}

impl<E> Population<Segment, E> for Judge {
    #[inline]
    fn departed(&mut self, at: Time, segment: &Segment) {
        Judge::departed(self, at, segment);
    }

    #[inline]
    fn reached(&mut self, at: Time, segment: &Segment) {
        Judge::reached(self, at, segment);
    }
}

impl Evidence {
    /// Returns the first octet of a segment and the octet after its last one, and updates the state
    /// of the sequence space.
    #[inline]
    fn octets(&mut self, segment: &Segment) -> (u64, u64) {
        let Transmission { left, right, .. } = self.sequence.take(segment);
        (left, right)
    }

    fn verdict(&self) -> SenderVerdict {
        self.doubts.as_ref().map(|doubts| doubts.verdict).unwrap_or_default()
    }

    #[cold]
    fn retransmitted(
        &mut self,
        at: Time,
        segment: &Segment,
        cause: Cause,
        spurious: &mut Vec<TransmissionId>,
    ) {
        let (left, right) = self.octets(segment);
        let doubts = self.doubts.get_or_insert_default();
        let answers = cause == Cause::Syn && std::mem::take(&mut doubts.asked);
        if cause == Cause::Rto && segment.len > 0 || cause == Cause::Syn && !answers {
            let waited = &mut doubts.verdict.waited;
            *waited = *waited + at.saturating_since(self.last);
        }
        let verdict = &mut doubts.verdict.retransmissions;
        verdict.sent[cause as usize] += 1;
        if self.arrived.holds(left, right) {
            verdict.spurious[cause as usize] += 1;
            return spurious.push(segment.id);
        }
        let mut missing = Ranges::default();
        let mut at = left;
        while at < right {
            let next = self.arrived.next_from(at).unwrap_or((right, right));
            missing.insert(at, next.0.clamp(at, right));
            at = next.1;
        }
        doubts.open_end = doubts.open_end.max(right);
        doubts.open.insert((left, segment.id), Open { missing, cause });
    }
}

impl Doubts {
    /// Processes the arrival of the octets `left..right` in the transmission `id`. This arrival may
    /// prove that a later retransmission is spurious. A retransmission is spurious if all its
    /// octets have arrived in transmissions that were sent before it.
    #[cold]
    fn settle(
        &mut self,
        (left, right): (u64, u64),
        id: TransmissionId,
        spurious: &mut Vec<TransmissionId>,
    ) {
        let mut settled = None;
        let from = (left.saturating_sub(SEGMENT_BYTES_MAX), TransmissionId::default());
        for (key, open) in self.open.range_mut(from..(right, TransmissionId::default())) {
            if key.1 <= id {
                continue;
            }
            open.missing.remove(left, right);
            if open.missing.is_empty() {
                self.verdict.retransmissions.spurious[open.cause as usize] += 1;
                spurious.push(key.1);
                settled = Some(*key);
            }
        }
        if settled.is_some() {
            self.open.retain(|_, open| !open.missing.is_empty());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A segment that the opener of the flow sends to the other end.
    fn segment(id: u64, seq: u32, len: u16, cause: Option<Cause>) -> Segment {
        Segment {
            id: TransmissionId::from_bits(id),
            dest: EndId::at(1),
            seq,
            len,
            cause: cause.into(),
            ..Segment::default()
        }
    }

    /// A judge after `steps`. If the first value of a step is true, its segment leaves the source.
    /// Otherwise the segment reaches the destination.
    fn judge(steps: &[(bool, Segment)]) -> Judge {
        let mut judge = Judge::default();
        judge.watch(FlowId(0));
        for (leaves, segment) in steps {
            if *leaves {
                judge.departed(Time::ZERO, segment);
            } else {
                judge.reached(Time::ZERO, segment);
            }
        }
        judge
    }

    #[test]
    fn a_retransmission_of_lost_octets_is_needed() {
        let (first, retransmission) =
            (segment(1, 1, 10, None), segment(2, 1, 10, Some(Cause::Fast)));
        let judge = judge(&[(true, first), (true, retransmission), (false, retransmission)]);
        assert!(judge.spurious().is_empty());
        assert_eq!(judge.verdict(EndId::at(0)).retransmissions.sent[Cause::Fast as usize], 1);
    }

    #[test]
    fn a_retransmission_is_spurious_if_its_octets_arrived_or_will_arrive() {
        let (first, retransmission) =
            (segment(1, 1, 10, None), segment(2, 1, 10, Some(Cause::Rto)));
        for steps in [
            [(true, first), (false, first), (true, retransmission)],
            [(true, first), (true, retransmission), (false, first)],
        ] {
            assert_eq!(judge(&steps).spurious(), [TransmissionId::from_bits(2)]);
        }
        // The retransmission may also overtake the original.
        let overtaken =
            [(true, first), (true, retransmission), (false, retransmission), (false, first)];
        assert_eq!(judge(&overtaken).spurious(), [TransmissionId::from_bits(2)]);
    }

    #[test]
    fn a_syn_ack_that_answers_a_repeated_syn_waited_for_no_timer() {
        let ms = |count| Time::ZERO + Duration::from_millis(count);
        let syn = Segment { flags: Flags::SYN, ..segment(1, 0, 0, None) };
        let flags = Flags::SYN.with(Flags::ACK);
        let answer = Segment { dest: EndId::at(0), flags, ..syn };
        let again = |of: Segment| Segment { cause: Some(Cause::Syn).into(), ..of };
        let mut judge = Judge::default();
        judge.watch(FlowId(0));
        judge.departed(ms(0), &syn);
        judge.reached(ms(10), &syn);
        judge.departed(ms(11), &answer);
        judge.departed(ms(1000), &again(syn));
        judge.reached(ms(1010), &again(syn));
        judge.departed(ms(1013), &again(answer));
        assert_eq!(judge.verdict(EndId::at(1)).waited, Duration::ZERO);
        judge.departed(ms(2013), &again(answer));
        assert_eq!(judge.verdict(EndId::at(1)).waited, Duration::from_millis(1000));
        assert_eq!(judge.verdict(EndId::at(0)).waited, Duration::from_millis(1000));
    }

    /// An arrival of an earlier retransmission counts like an arrival of the original.
    #[test]
    fn a_second_retransmission_is_spurious_if_the_first_is_still_on_its_way() {
        let retransmission = |id| segment(id, 1, 10, Some(Cause::Rto));
        let steps = [
            (true, segment(1, 1, 10, None)),
            (true, retransmission(2)),
            (true, retransmission(3)),
            (false, retransmission(2)),
            (false, retransmission(3)),
        ];
        assert_eq!(judge(&steps).spurious(), [TransmissionId::from_bits(3)]);
    }

    #[test]
    fn a_retransmission_with_one_needed_octet_is_not_spurious() {
        let steps = |last: u32| {
            [
                (true, segment(1, 1, 10, None)),
                (true, segment(2, 11, 10, None)),
                (true, segment(3, 1, 20, Some(Cause::GoBackN))),
                (false, segment(1, 1, 10, None)),
                (false, segment(2, last, 10, None)),
            ]
        };
        assert_eq!(judge(&steps(11)).spurious(), [TransmissionId::from_bits(3)]);
        assert!(judge(&steps(31)).spurious().is_empty());
    }
}
