//! Captured segments that wait until their connection takes several at once. To *take* a segment
//! means to process it.

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::{Duration, Time};
use crate::wire::PlainSegment;

use super::disorder::{DisorderWatch, KnownSide};
use super::other_segments::OtherSegments;

/// A segment that its connection has not taken yet, and the segments that continue it. A segment
/// continues the previous segment if it carries the next octets and its other header fields hardly
/// differ (see [`PlainSegment::continuation`]).
#[derive(Clone, Copy, Debug)]
pub struct PendingSegment<'a> {
    /// The side that sent the segment.
    pub side: Side,
    /// When the segment was captured.
    pub at: Time,
    /// The segment.
    pub kind: PendingKind,
    /// In the transcript (the copy of the captured packets): the indexes of this segment and of the
    /// segments that continue it. Empty if there is no transcript.
    places: &'a [u32],
    /// One word for each segment that continues this segment.
    continued: &'a [u64],
}

/// A segment in the form in which it is kept.
#[derive(Clone, Copy, Debug)]
pub enum PendingKind {
    /// A plain segment: it comes in the middle of a connection, and has no unusual options.
    Plain(PlainSegment),
    /// Any other segment, by its place in [`OtherSegments`].
    Other(u32),
}

/// An iterator over pending segments, in order.
#[derive(Clone, Debug)]
pub struct PendingIter<'a> {
    /// When the previous segment was captured.
    at: Time,
    words: &'a [u64],
    places: &'a [u32],
}

/// The captured segments of a connection that are not taken yet.
///
/// A connection has about 2.5 KB of state, and a pending segment needs 32 or 8 octets. If each
/// segment were taken when it comes, the connection's state would often have left the processor's
/// caches since the previous segment. So several segments are kept and taken together.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct PendingSegments {
    /// When the last segment was captured.
    last: Time,
    /// All segments, in order. A plain segment has four words. A segment has one word if it
    /// continues the previous segment, or if it is not plain.
    words: Vec<u64>,
    /// The index in `words` of the last segment with four words, if all segments after it continue
    /// it. Otherwise `None`.
    whole: Option<u16>,
    /// The number of segments that are not plain.
    others: u16,
    /// When the first segment was captured.
    first: Time,
    /// The indexes of all segments in the transcript. Empty if there is no transcript.
    places: Vec<u32>,
}

/// The layout of the first word of a segment. The highest bit says whether the segment continues
/// another segment. The next two bits say whether the segment is plain, and whether [`Side::To`]
/// sent it. If the segment continues another segment, these two bits are zero. Then come the
/// nanoseconds since the previous segment in 29 bits. The low half has 32 bits. If the segment
/// continues another segment, the low half says how the two segments differ. For any other plain
/// segment, the low half is the sequence number. If the segment is not plain, the low half is its
/// place in [`OtherSegments`].
struct FirstWord(u64);

impl FirstWord {
    const CONTINUES: u64 = 1 << 63;
    const PLAIN: u64 = 1 << 62;
    const BACK: u64 = 1 << 61;
    /// The longest gap between two segments in nanoseconds, about half a second.
    const MOST_GAP: u64 = (1 << 29) - 1;

    #[inline]
    fn gap(self) -> Duration {
        Duration::from_nanos(self.0 >> 32 & Self::MOST_GAP)
    }

    #[inline]
    fn continues(self) -> bool {
        self.0 & Self::CONTINUES != 0
    }

    #[inline]
    fn side(self) -> Side {
        if self.0 & Self::BACK == 0 { Side::From } else { Side::To }
    }
}

impl<'a> Iterator for PendingIter<'a> {
    type Item = PendingSegment<'a>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (first, rest) = self.words.split_first()?;
        self.at += FirstWord(*first).gap();
        let (side, at) = (FirstWord(*first).side(), self.at);
        let Some(whole) = self.words.first_chunk().filter(|_| first & FirstWord::PLAIN != 0) else {
            self.words = rest;
            let (kind, places) = (PendingKind::Other(*first as u32), self.next_places(1));
            return Some(PendingSegment { side, at, kind, places, continued: &[] });
        };
        let after = &self.words[whole.len()..];
        let many = after.iter().position(|word| !FirstWord(*word).continues());
        let (continued, after) = after.split_at(many.unwrap_or(after.len()));
        self.words = after;
        continued.iter().for_each(|word| self.at += FirstWord(*word).gap());
        let kind = PendingKind::Plain(PlainSegment::of_words(*whole));
        let places = self.next_places(1 + continued.len());
        Some(PendingSegment { side, at, kind, places, continued })
    }
}

impl<'a> PendingIter<'a> {
    /// The indexes of the next `many` segments in the transcript.
    #[inline]
    fn next_places(&mut self, many: usize) -> &'a [u32] {
        let (places, rest) = self.places.split_at(many.min(self.places.len()));
        self.places = rest;
        places
    }
}

impl PendingSegment<'_> {
    /// Returns an index in the transcript. If `behind` is 0, it is the index of this segment.
    /// Otherwise it is the index of a segment that continues this segment: of the first such
    /// segment if `behind` is 1, of the second if `behind` is 2, and so on. `None` if there is no
    /// transcript.
    #[inline]
    pub fn place(&self, behind: usize) -> Option<u32> {
        self.places.get(behind).copied()
    }

    /// The segments that continue this segment, each with the time since the segment before it.
    /// `plain` is this segment.
    #[inline]
    pub fn continued(
        &self,
        plain: &PlainSegment,
    ) -> impl ExactSizeIterator<Item = (Duration, PlainSegment)> + Clone {
        let plain = *plain;
        self.continued.iter().enumerate().map(move |(before, word)| {
            (FirstWord(*word).gap(), plain.continued(before as u32 + 1, *word as u32))
        })
    }
}

impl PendingSegments {
    /// The maximum number of words.
    const MOST: usize = 256;
    /// The maximum number of segments that are not plain. There is a limit of their own for them,
    /// because they need more memory than plain segments.
    const MOST_OTHERS: u16 = 32;

    /// Whether there is room for a segment that was captured at the instant `at`. There is no room
    /// if the list is full, or if the time since the last segment does not fit into a word.
    #[inline]
    pub fn have_room(&self, at: Time) -> bool {
        let gap = at.as_nanos().wrapping_sub(self.last.as_nanos());
        self.words.is_empty() || gap <= FirstWord::MOST_GAP && self.words.len() <= Self::MOST - 4
    }

    /// Whether there is room for a segment that was captured at the instant `at` and is not plain.
    pub fn have_room_for_other(&self, at: Time) -> bool {
        self.have_room(at) && self.others < Self::MOST_OTHERS
    }

    /// Adds a plain segment that `side` sent and that was captured at the instant `at`. `place` is
    /// its index in the transcript. The caller must have checked that there is room.
    #[inline]
    pub fn add_plain(&mut self, side: Side, at: Time, segment: &PlainSegment, place: Option<u32>) {
        if let Some(place) = place {
            self.places.push(place);
        }
        let (gap, back) = (self.gap_to(at), Self::back(side));
        let mut own = segment.to_words();
        if self.words.len() + 4 > self.words.capacity() {
            self.grow();
        }
        if let Some(place) = self.whole
            && let Some(whole) = self.words[usize::from(place)..].first_chunk()
            && whole[0] & FirstWord::BACK == back
            && let Some(continuation) = PlainSegment::continuation(
                *whole,
                self.words.len() as u32 - u32::from(place) - 3,
                own,
            )
        {
            return self.words.push(FirstWord::CONTINUES | gap | u64::from(continuation));
        }
        self.whole = Some(self.words.len() as u16);
        own[0] |= FirstWord::PLAIN | back | gap;
        self.words.extend_from_slice(&own);
    }

    /// Adds the segment at the place `other` of [`OtherSegments`]. The caller must have checked
    /// that there is room.
    pub fn add_other(&mut self, side: Side, at: Time, other: u32, place: Option<u32>) {
        let word = self.gap_to(at) | Self::back(side);
        self.words.push(word | u64::from(other));
        self.whole = None;
        self.others += 1;
        self.places.extend(place);
    }

    #[inline]
    fn back(side: Side) -> u64 {
        if side == Side::To { FirstWord::BACK } else { 0 }
    }

    /// The time from the last segment to the instant `at`, shifted to its bits in a word. The time
    /// fits, because the caller has checked that there is room.
    #[inline]
    fn gap_to(&mut self, at: Time) -> u64 {
        if self.words.is_empty() {
            (self.first, self.last, self.whole) = (at, at, None);
        }
        let gap = at.as_nanos().wrapping_sub(self.last.as_nanos());
        self.last = at;
        gap << 32
    }

    /// Allocates memory for a few more segments only, because most connections are short.
    #[inline(never)]
    fn grow(&mut self) {
        self.words.reserve_exact(Self::MOST / 4);
    }

    /// All segments, in order.
    #[inline]
    pub fn iter(&self) -> PendingIter<'_> {
        PendingIter { at: self.first, words: &self.words, places: &self.places }
    }

    /// Whether the capture holds the segments out of order. `known` has what is known of each side
    /// from earlier segments.
    pub fn are_disordered(&self, known: [Option<KnownSide>; 2], others: &OtherSegments) -> bool {
        let mut watch = DisorderWatch::new(known);
        self.iter().any(|one| match &one.kind {
            PendingKind::Plain(plain) => {
                watch.take(one.side, one.at, plain, one.continued.len() as u32)
            }
            PendingKind::Other(place) => {
                let view = others.at(*place);
                let tells = view.flags.has(Flags::ACK) || view.flags.has(Flags::SYN);
                tells && !view.flags.has(Flags::RST) && watch.take(one.side, one.at, view, 0)
            }
        })
    }

    /// Removes all segments.
    pub fn clear(&mut self) {
        self.words.clear();
        self.others = 0;
        self.places.clear();
    }

    /// Whether there are no segments.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Whether memory was allocated.
    pub fn have_memory(&self) -> bool {
        self.words.capacity() > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{Segment, Timestamps};
    use crate::wire::{CapturedIp, Packet, encode};
    use proptest::prelude::*;

    /// A captured plain segment with these numbers.
    fn plain(
        seq: u32,
        len: u16,
        window: u16,
        stamps: Option<(u32, u32)>,
        ip_id: u16,
    ) -> PlainSegment {
        let mut segment = Segment { seq, len, window, flags: Flags::ACK, ..Segment::default() };
        if let Some((val, ecr)) = stamps {
            segment.set_timestamps(Timestamps { val, ecr });
        }
        let [source, destination] =
            ["10.0.0.1:4000", "10.0.0.2:80"].map(|end| end.parse().unwrap());
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id, segment, payload: None }, &mut bytes);
        let ip = CapturedIp { bytes: &bytes, original_bytes: bytes.len() as u32 };
        PlainSegment::of(ip).unwrap().1
    }

    #[test]
    fn a_segment_that_continues_the_previous_segment_takes_one_word() {
        let mut pending = PendingSegments::default();
        let at = |us| Time::ZERO + Duration::from_micros(us);
        let words = |pending: &PendingSegments| pending.words.len();
        for place in 0..10_u32 {
            let segment = plain(
                (u32::MAX - 3000).wrapping_add(place * 1000),
                1000,
                5,
                Some((7 + place, 9)),
                3,
            );
            pending.add_plain(Side::To, at(place.into()), &segment, None);
        }
        assert_eq!(words(&pending), 4 + 9);
        // None of the next seven segments continues the segment before it. Each differs in one way:
        // another side, another window, no payload, another echoed timestamp, or a much later
        // timestamp.
        let next = (u32::MAX - 3000).wrapping_add(10_000);
        pending.add_plain(Side::From, at(20), &plain(next, 1000, 5, Some((17, 9)), 3), None);
        pending.add_plain(Side::To, at(21), &plain(next, 1000, 5, Some((17, 9)), 3), None);
        pending.add_plain(Side::To, at(22), &plain(next + 1000, 1000, 6, Some((17, 9)), 3), None);
        pending.add_plain(Side::To, at(23), &plain(next + 2000, 0, 6, Some((17, 9)), 3), None);
        pending.add_plain(Side::To, at(24), &plain(next + 2000, 0, 6, Some((17, 9)), 3), None);
        pending.add_plain(Side::To, at(25), &plain(next + 2000, 9, 6, Some((17, 8)), 3), None);
        pending.add_plain(
            Side::To,
            at(26),
            &plain(next + 2009, 9, 6, Some((17 + (1 << 16), 8)), 3),
            None,
        );
        assert_eq!(words(&pending), 4 + 9 + 7 * 4);
    }

    proptest! {
        #[test]
        fn pending_segments_come_out_in_the_order_in_which_they_were_added(
            steps in prop::collection::vec((0..9_u8, any::<u16>(), 0..3_u32, any::<bool>()), 0..60)
        ) {
            let (mut pending, mut added) = (PendingSegments::default(), Vec::new());
            let (mut at, mut seq) = (Time::from_nanos(5), 0);
            for (kind, mark, tick, stamped) in steps {
                let stamps = stamped.then_some((u32::MAX - 5 + tick, 4));
                let segment = plain(seq, 100 + u16::from(kind / 8), 7, stamps, mark);
                seq = if kind == 7 { seq + 5 } else { seq + 100 };
                let side = if kind == 6 { Side::From } else { Side::To };
                let gap = u64::from(mark) * u64::from(mark) % (FirstWord::MOST_GAP + 1);
                at += Duration::from_nanos(if added.is_empty() { 0 } else { gap });
                prop_assert!(pending.have_room(at));
                pending.add_plain(side, at, &segment, None);
                added.push((side, at, segment));
            }
            let mut found = Vec::new();
            for one in pending.iter() {
                let PendingKind::Plain(segment) = one.kind else { panic!("{one:?}") };
                found.push((one.side, one.at, segment));
                let mut at = one.at;
                for (gap, next) in one.continued(&segment) {
                    at += gap;
                    found.push((one.side, at, next));
                }
            }
            prop_assert_eq!(found, added);
        }
    }
}
