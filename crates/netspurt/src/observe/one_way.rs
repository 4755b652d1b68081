//! One direction of a TCP connection, observed from its segments and their acknowledgments.

use std::collections::VecDeque;

use crate::ranges::Ranges;
use crate::sample::{RttSample, SampleSource};
use crate::segment::Flags;
use crate::units::{Duration, Time};

use super::{Observed, Rounds, Sequence, Transmission};

/// A segment that was sent and is not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outstanding<T> {
    /// The first octet of the segment.
    pub left: u64,
    /// The octet after the last octet of the segment.
    pub right: u64,
    /// When the segment was sent first.
    pub first_sent: Time,
    /// When the segment was sent last.
    pub last_sent: Time,
    /// The size of the first transmission in octets, headers included.
    pub wire_bytes: u32,
    /// How many times the segment or a part of the segment was retransmitted. The count begins at 1
    /// if the segment is the new part of a segment that began with octets sent before.
    pub retransmissions: u16,
    /// Whether a SACK block has reported the segment.
    pub sacked: bool,
    /// Whether the segment is a part of a segment that was divided, and not the last part (see
    /// [`dividing`](OneWay::dividing)).
    pub continues: bool,
    /// The value that the caller stores with the segment.
    pub kept: T,
}

/// How an acknowledgment covers a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoveredBy {
    /// The acknowledgment number covers the segment.
    InOrder,
    /// A SACK block covers the segment.
    ByBlock,
}

/// What a segment of the reverse direction acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer {
    /// The number of octets that the segment acknowledges in order for the first time.
    pub acked_bytes: u64,
    /// The sample of the round trip that ends with the segment. If the sample is ambiguous, its
    /// round trip counts from the first transmission.
    pub sample: Option<RttSample>,
}

/// One direction of a connection: the data that was sent in it, its outstanding segments, and its
/// round trips.
///
/// An acknowledgment gives at most one round-trip sample. One segment gives this sample. Three
/// rules look for this segment, and the first rule that finds a segment decides:
///
/// 1. The oldest segment that the acknowledgment number newly covers, that was sent once, and that
///    no SACK block had reported. The sample then includes the delay of the acknowledgment, as with
///    an echoed timestamp (RFC 7323 §4.3). The rule finds no segment if the number newly covers a
///    segment that was sent more than once, or that came after higher octets. The reason is that
///    the segments above a missing segment are acknowledged only when the missing segment arrives.
/// 2. The oldest segment that was sent once and that a SACK block newly reports.
/// 3. The oldest segment that the acknowledgment number newly covers, if the number newly covers a
///    segment that was sent more than once. The sample is then *ambiguous*. A timer that follows
///    Karn and Partridge (1987, RFC 6298 §3) must not use this sample.
///
/// Linux has the first two rules (`tcp_clean_rtx_queue`, `tcp_ack_update_rtt`). In place of the
/// third rule, Linux uses echoed timestamps. This code does not use them.
///
/// ```
/// use netspurt::observe::{OneWay, Sequence};
/// use netspurt::segment::{Flags, Segment};
/// use netspurt::units::{Duration, Time};
/// let at = |ms| Time::ZERO + Duration::from_millis(ms);
/// let data = |seq| Segment { seq, len: 100, ..Segment::default() };
/// let ack = Segment { ack: 201, flags: Flags::ACK, ..Segment::default() };
/// let mut way = OneWay::new(Sequence::default());
/// way.sent(at(0), &data(1), ());
/// way.sent(at(5), &data(101), ());
/// let sample = way.answered(at(30), &ack).sample.unwrap();
/// assert_eq!((sample.sent, sample.rtt, sample.round), (at(0), Duration::from_millis(30), 1));
/// assert!(way.outstanding().is_empty());
/// ```
#[derive(Clone, Debug)]
pub struct OneWay<T = ()> {
    sequence: Sequence,
    /// The first octet not acknowledged.
    una: u64,
    outstanding: VecDeque<Outstanding<T>>,
    /// The octets above `una` that SACK blocks have reported.
    sacked: Ranges,
    rounds: Rounds,
    retransmissions: u64,
    /// The octet after the segments that filled holes: segments below the highest octet that the
    /// observer had not seen before. Zero without such segments.
    filled_to: u64,
    smss_bytes: u32,
    /// Whether an acknowledgment was seen.
    answered: bool,
    /// Whether outstanding segments are divided (see [`dividing`](Self::dividing)).
    divides: bool,
}

/// The segments that an acknowledgment newly covers.
struct NewlyCovered<T> {
    /// The oldest segment that is covered in order.
    first: Option<Outstanding<T>>,
    /// The oldest segment that is covered in order, was sent once, and was not reported by a SACK
    /// block.
    once: Option<Outstanding<T>>,
    /// The oldest segment that a SACK block reports and that was sent once.
    sacked: Option<Outstanding<T>>,
    /// Whether any segment that is covered in order was sent more than once, or came after higher
    /// octets.
    again: bool,
}

impl<T: Copy> OneWay<T> {
    /// The maximum number of outstanding segments that are followed: a window of 2³⁰ octets (RFC
    /// 7323 §2.3) in packets of 16 KiB. Segmentation offload makes packets of about this size.
    const SEGMENTS_MAX: usize = 1 << 16;
    /// The maximum number of outstanding segments that are followed before the first
    /// acknowledgment. This limit is lower than `SEGMENTS_MAX`, because a capture of one direction
    /// never has an acknowledgment. First flights have far fewer segments than this limit.
    const UNANSWERED_SEGMENTS_MAX: usize = 1 << 8;
    /// If `DIVIDED_MAX` segments are outstanding, none is divided.
    const DIVIDED_MAX: usize = 1 << 12;
    /// The memory for `ROOM` segments is kept even if no segment is outstanding.
    const ROOM: usize = 32;

    /// Makes a direction without packets. The octets below the highest octet of `sequence` count as
    /// acknowledged.
    pub fn new(sequence: Sequence) -> Self {
        Self {
            sequence,
            una: sequence.highest(),
            outstanding: VecDeque::new(),
            sacked: Ranges::default(),
            rounds: Rounds::default(),
            retransmissions: 0,
            filled_to: 0,
            smss_bytes: 0,
            answered: false,
            divides: false,
        }
    }

    /// Returns the direction in a mode in which it divides outstanding segments. A segment is
    /// divided where a retransmission or a SACK block begins or ends within it, and both parts have
    /// the times of the segment. In a capture beside the sender, one captured segment may stand for
    /// several segments on the wire (segmentation offload). Each segment on the wire may be lost,
    /// reported and retransmitted by itself.
    #[must_use]
    pub fn dividing(self) -> Self {
        Self { divides: true, ..self }
    }

    /// Makes a new direction that uses the memory of this direction.
    #[must_use]
    pub fn begun_again(self, sequence: Sequence) -> Self {
        let Self { mut outstanding, divides, .. } = self;
        outstanding.clear();
        Self { outstanding, divides, ..Self::new(sequence) }
    }

    /// The sequence space of the direction, with the highest octet sent.
    pub const fn sequence(&self) -> &Sequence {
        &self.sequence
    }

    /// The first octet not acknowledged.
    pub const fn una(&self) -> u64 {
        self.una
    }

    /// The outstanding segments, the oldest first.
    pub const fn outstanding(&self) -> &VecDeque<Outstanding<T>> {
        &self.outstanding
    }

    /// The number of segments with octets that had been sent before.
    pub const fn retransmissions(&self) -> u64 {
        self.retransmissions
    }

    /// Notes that `segment` was sent at the instant `at`, and stores the value `kept` with it.
    /// Returns the segment's position, or `None` if the segment occupies no sequence numbers or is
    /// a reset.
    pub fn sent(&mut self, at: Time, segment: &impl Observed, kept: T) -> Option<Transmission> {
        self.sent_from(self.sequence.octet(segment.seq()), at, segment, kept)
    }

    /// Does the same as [`sent`](Self::sent) for a `segment` that begins with the octet `left`.
    #[inline]
    pub fn sent_from(
        &mut self,
        left: u64,
        at: Time,
        segment: &impl Observed,
        kept: T,
    ) -> Option<Transmission> {
        if segment.seq_len() == 0 || segment.flags().has(Flags::RST) {
            return None;
        }
        let highest = self.sequence.highest();
        let transmission = self.sequence.take_at(left, segment);
        let Transmission { left, right, again } = transmission;
        if again {
            self.retransmissions += 1;
            self.repeat((left, right), at, kept);
        }
        // If the acknowledgment of all octets was seen before the segment itself, the segment is
        // not outstanding.
        if right > highest && right > self.una {
            // If the segment has new octets after old ones, `again` stays true for the new octets.
            // So these octets give at most an ambiguous sample.
            let octets = Transmission { left: left.max(highest), ..transmission };
            self.push(octets, at, segment, kept);
        }
        Some(transmission)
    }

    /// Does the same as [`sent`](Self::sent) for a `segment` that begins directly after the highest
    /// octet sent. None of its octets were sent or acknowledged before.
    #[inline]
    pub fn sent_next(&mut self, at: Time, segment: &impl Observed, kept: T) -> Transmission {
        let transmission = self.sequence.take_at(self.sequence.highest(), segment);
        self.push(transmission, at, segment, kept);
        transmission
    }

    /// Adds `octets`, which are the new octets of `segment`, as an outstanding segment.
    #[inline]
    fn push(&mut self, octets: Transmission, at: Time, segment: &impl Observed, kept: T) {
        self.smss_bytes = self.smss_bytes.max(segment.len());
        self.outstanding.push_back(Outstanding {
            left: octets.left,
            right: octets.right,
            first_sent: at,
            last_sent: at,
            wire_bytes: segment.size_bytes(),
            retransmissions: octets.again.into(),
            sacked: false,
            continues: false,
            kept,
        });
        let most = if self.answered { Self::SEGMENTS_MAX } else { Self::UNANSWERED_SEGMENTS_MAX };
        if self.outstanding.len() > most {
            self.outstanding.pop_front();
        }
    }

    /// Divides an outstanding segment before the octet `octet`, if this octet belongs to the
    /// segment and is not its first octet.
    fn divide_before(&mut self, octet: u64) {
        let place = self.outstanding.partition_point(|one| one.right <= octet);
        let Some(one) = self.outstanding.get_mut(place).filter(|one| one.left < octet) else {
            return;
        };
        let upper = Outstanding { left: octet, ..*one };
        (one.right, one.continues) = (octet, true);
        self.outstanding.insert(place + 1, upper);
    }

    /// Divides outstanding segments at the ends of the octets `left..right`, if the direction is in
    /// the mode that divides segments. If very many segments are outstanding, none is divided,
    /// because each division then takes long.
    fn divide_at(&mut self, left: u64, right: u64) {
        if self.divides && self.outstanding.len() < Self::DIVIDED_MAX {
            self.divide_before(left);
            self.divide_before(right);
        }
    }

    /// Notes a retransmission of octets. If it has exactly the octets of an outstanding segment,
    /// the value `kept` replaces the value that was stored with that segment.
    fn repeat(&mut self, (left, right): (u64, u64), at: Time, kept: T) {
        self.divide_at(left, right);
        let first = self.outstanding.partition_point(|one| one.right <= left);
        if self.outstanding.get(first).is_none_or(|one| one.left >= right) {
            self.filled_to = self.filled_to.max(right);
        }
        for one in self.outstanding.range_mut(first..).take_while(|one| one.left < right) {
            one.retransmissions = one.retransmissions.saturating_add(1);
            one.last_sent = at;
            if (one.left, one.right) == (left, right) {
                one.kept = kept;
            }
        }
    }

    /// Notes that the observer itself retransmitted the first outstanding segment at the instant
    /// `at`. Such an observer is a shim: a retransmission timer between a host's TCP and the path.
    /// Returns the retransmitted segment. `None` if no segment is outstanding.
    pub fn repeat_first(&mut self, at: Time) -> Option<&mut Outstanding<T>> {
        let first = self.outstanding.front_mut()?;
        self.retransmissions += 1;
        first.retransmissions = first.retransmissions.saturating_add(1);
        first.last_sent = at;
        Some(first)
    }

    /// Processes a segment of the reverse direction, which came at the instant `at`. Returns what
    /// the segment acknowledges.
    #[inline]
    pub fn answered(&mut self, at: Time, segment: &impl Observed) -> Answer {
        self.answered_each(self.sequence.octet(segment.ack()), at, segment, |_, _| {})
    }

    /// Does the same as [`answered`](Self::answered) for a `segment` that acknowledges the octets
    /// below `ack`. Calls the function `each` for every outstanding segment that the acknowledgment
    /// newly covers, and tells it how this outstanding segment is covered. A segment may be covered
    /// first by a SACK block and later in order.
    #[inline]
    pub fn answered_each(
        &mut self,
        ack: u64,
        at: Time,
        segment: &impl Observed,
        mut each: impl FnMut(&mut Outstanding<T>, CoveredBy),
    ) -> Answer {
        if !segment.flags().has(Flags::ACK) {
            return Answer::default();
        }
        if !self.answered {
            self.answered_first(ack);
        }
        let mut covered = NewlyCovered { first: None, once: None, sacked: None, again: false };
        let acked_bytes = self.take_ack(ack, &mut covered, &mut each);
        for block in segment.sack() {
            let (left, right) = (self.sequence.octet(block.left), self.sequence.octet(block.right));
            self.take_block((left.max(self.una), right), &mut covered, &mut each);
        }
        Answer { acked_bytes, sample: self.sample(&covered, at, acked_bytes) }
    }

    /// Processes the first acknowledgment, of the octets below `ack`. If `ack` is below the first
    /// octet that was seen, the observer missed the octets between these two octets. The missed
    /// octets are also outstanding.
    #[cold]
    fn answered_first(&mut self, ack: u64) {
        self.answered = true;
        self.una = self.una.min(ack);
    }

    /// Processes the acknowledgment of the octets below `ack`. Returns the number of octets that
    /// are acknowledged for the first time.
    #[inline]
    fn take_ack(
        &mut self,
        ack: u64,
        covered: &mut NewlyCovered<T>,
        each: &mut impl FnMut(&mut Outstanding<T>, CoveredBy),
    ) -> u64 {
        let Some(acked_bytes) = ack.checked_sub(self.una).filter(|bytes| *bytes > 0) else {
            return 0;
        };
        covered.again = self.filled_to > self.una;
        self.una = ack;
        while let Some(one) = self.outstanding.front_mut().filter(|one| one.right <= ack) {
            each(one, CoveredBy::InOrder);
            covered.in_order(*one);
            self.outstanding.pop_front();
        }
        if self.outstanding.is_empty() && self.outstanding.capacity() > Self::ROOM {
            self.outstanding.shrink_to(Self::ROOM);
        }
        if !self.sacked.is_empty() {
            self.sacked.remove_below(ack);
        }
        acked_bytes
    }

    /// Processes a SACK block, which reports the octets `left..right`. A block below the cumulative
    /// acknowledgment reports duplicates (RFC 2883 §4), and has no effect here.
    fn take_block(
        &mut self,
        (left, right): (u64, u64),
        covered: &mut NewlyCovered<T>,
        each: &mut impl FnMut(&mut Outstanding<T>, CoveredBy),
    ) {
        if right > self.sequence.highest() || self.sacked.holds(left, right) {
            return;
        }
        self.divide_at(left, right);
        let (mut at, mut news) = (left, false);
        while at < right {
            // Blocks repeat earlier reports, so only the octets that are not yet reported are
            // processed.
            let known = self.sacked.next_from(at).unwrap_or((right, right));
            let gap_end = known.0.min(right);
            let first = self.outstanding.partition_point(|one| one.right <= at);
            for one in self.outstanding.range_mut(first..).take_while(|one| one.left < gap_end) {
                if !one.sacked && left <= one.left && one.right <= right {
                    (one.sacked, news) = (true, true);
                    each(one, CoveredBy::ByBlock);
                    covered.by_block(*one);
                }
            }
            at = known.1.max(gap_end);
        }
        if news {
            self.sacked.insert(left, right);
        }
    }

    /// Returns the round-trip sample of an acknowledgment that newly covers `covered`.
    #[inline]
    fn sample(
        &mut self,
        covered: &NewlyCovered<T>,
        at: Time,
        acked_bytes: u64,
    ) -> Option<RttSample> {
        let clean = covered.once.filter(|_| !covered.again).or(covered.sacked);
        let timed = clean.or(covered.first.filter(|_| covered.again))?;
        if at < timed.first_sent {
            return None;
        }
        if clean.is_some() {
            self.rounds.sample(timed.right - 1, self.sequence.highest());
        }
        Some(RttSample {
            at,
            sent: timed.first_sent,
            rtt: at.saturating_since(timed.first_sent),
            ambiguous: clean.is_none(),
            source: SampleSource::EachSegment,
            wire_bytes: timed.wire_bytes,
            acked_bytes,
            flight_bytes: self.sequence.highest().saturating_sub(self.una),
            smss_bytes: self.smss_bytes,
            retransmissions: u8::try_from(timed.retransmissions).unwrap_or(u8::MAX),
            ack_delay: Duration::ZERO,
            round: self.rounds.count(),
            handshake: timed.left == self.sequence.first(),
        })
    }
}

impl<T: Copy> NewlyCovered<T> {
    #[inline]
    fn in_order(&mut self, one: Outstanding<T>) {
        self.first.get_or_insert(one);
        self.again |= one.retransmissions > 0;
        if one.retransmissions == 0 && !one.sacked {
            self.once.get_or_insert(one);
        }
    }

    #[inline]
    fn by_block(&mut self, one: Outstanding<T>) {
        let older = self.sacked.is_none_or(|sacked| one.left < sacked.left);
        if one.retransmissions == 0 && older {
            self.sacked = Some(one);
        }
    }
}
