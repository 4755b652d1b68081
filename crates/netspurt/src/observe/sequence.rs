//! The sequence space of one direction. Its 32-bit sequence numbers are unwrapped to 64-bit counts
//! of octets.

use crate::packed::packed_value;
use crate::segment::Flags;
use crate::seq;

use super::Observed;

/// A segment's position in its sequence space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// The first octet of the segment.
    pub left: u64,
    /// The octet after the last octet of the segment.
    pub right: u64,
    /// Whether any octets of the segment had been sent before.
    pub again: bool,
}

/// The sequence space of one direction. It counts octets in 64 bits, and remembers how far octets
/// were sent. The SYN is the octet [`first`](Self::first).
///
/// ```
/// use netspurt::observe::Sequence;
/// use netspurt::segment::Segment;
/// let mut sequence = Sequence::from_syn(u32::MAX - 1);
/// let data = Segment { seq: u32::MAX, len: 100, ..Segment::default() };
/// let first = sequence.take(&data);
/// assert_eq!((first.left, first.right, first.again), (1, 101, false));
/// assert!(sequence.take(&data).again);
/// assert_eq!((sequence.highest(), sequence.next(), sequence.octet(98)), (101, 99, 100));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequence {
    highest: u64,
    isn: u32,
    /// Whether the observer may still see segments that are older than the first segment that it
    /// saw.
    midway: bool,
}

/// The default is the sequence space of a simulated connection.
impl Default for Sequence {
    fn default() -> Self {
        Self::from_syn(seq::SIMULATED_ISN)
    }
}

packed_value!(Sequence { highest, isn, midway });

impl Sequence {
    /// How far a space may extend before the first segment seen. It is a multiple of 2³², so it
    /// does not change the numbers on the wire.
    const ROOM: u64 = 1 << 32;

    /// The space that begins with a SYN numbered `isn`, which is octet 0.
    pub const fn from_syn(isn: u32) -> Self {
        Self { highest: 0, isn, midway: false }
    }

    /// The space of a direction in which every octet before the octet with the number `next` was
    /// sent. The observer may have missed the SYN and may still see older segments. The octet
    /// before the octet with the number `next` counts as [`first`](Self::first).
    pub const fn midway(next: u32) -> Self {
        Self { highest: Self::ROOM + 1, isn: next.wrapping_sub(1), midway: true }
    }

    /// The space of a direction whose first observed segment is `segment`.
    pub fn seen_from(segment: &impl Observed) -> Self {
        if segment.flags().has(Flags::SYN) {
            return Self { highest: Self::ROOM, isn: segment.seq(), midway: true };
        }
        Self::midway(segment.seq())
    }

    /// Returns the space of the same direction after every octet below `highest` was sent.
    #[must_use]
    pub const fn sent_to(self, highest: u64) -> Self {
        Self { highest, ..self }
    }

    /// The octet of the SYN. If the SYN was not seen, the octet before the first segment that was
    /// seen counts as the SYN.
    pub const fn first(&self) -> u64 {
        if self.midway { Self::ROOM } else { 0 }
    }

    /// The sequence number of the octet [`first`](Self::first) on the wire.
    pub const fn isn(&self) -> u32 {
        self.isn
    }

    /// The octet after the highest octet seen.
    pub const fn highest(&self) -> u64 {
        self.highest
    }

    /// The sequence number of the octet [`highest`](Self::highest) on the wire.
    pub const fn next(&self) -> u32 {
        self.isn.wrapping_add(self.highest as u32)
    }

    /// Returns the octet whose sequence number on the wire is `wire`. This number repeats after 2³²
    /// octets. The result is the octet with this number that is nearest to the highest octet.
    pub const fn octet(&self, wire: u32) -> u64 {
        seq::from_wire(self.isn, wire, self.highest)
    }

    /// Returns the position of `segment`, and raises the highest octet to the segment's end. The
    /// segment counts as a retransmission if it begins below the highest octet so far. If the
    /// observer missed packets, it may not have seen the original.
    #[inline]
    pub fn take(&mut self, segment: &impl Observed) -> Transmission {
        self.take_at(self.octet(segment.seq()), segment)
    }

    /// Does the same as [`take`](Self::take) for a `segment` that begins with the octet `left`.
    #[inline]
    pub fn take_at(&mut self, left: u64, segment: &impl Observed) -> Transmission {
        let right = left + u64::from(segment.seq_len());
        let again = left < self.highest && left < right;
        self.raise(right);
        Transmission { left, right, again }
    }

    /// Notes that all octets below `octet` were sent.
    #[inline]
    pub fn raise(&mut self, octet: u64) {
        self.highest = self.highest.max(octet);
    }
}
