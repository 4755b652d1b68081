//! Captured segments that are kept until their connection takes several at once.

use crate::ids::Side;
use crate::units::{Duration, Time};
use crate::wire::{PlainSegment, TcpView};

/// A segment that its connection has not taken.
#[derive(Clone, Copy, Debug)]
pub struct PendingSegment {
    /// Twice the nanoseconds since the segment before was captured; one more if [`Side::To`] sent
    /// this segment.
    gap_twice: u32,
    /// `None` if it is not plain; then it is the next one of the others.
    pub plain: Option<PlainSegment>,
}

/// The segments of a connection that were captured and are not taken yet.
///
/// A connection has some 2.5 KB of state, and a segment 32 octets. If each segment were taken when it
/// comes, the processor's caches would often have lost the state since the segment before.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct PendingSegments {
    /// When the last one was captured.
    last: Time,
    /// All of them, in order.
    pub all: Vec<PendingSegment>,
    /// When the first one was captured.
    pub first: Time,
    /// Those that are not plain, in order.
    pub others: Vec<TcpView>,
}

impl PendingSegment {
    /// Who sent it.
    #[inline]
    pub fn side(&self) -> Side {
        if self.gap_twice & 1 == 0 { Side::From } else { Side::To }
    }

    /// The time since the segment before was captured; zero for the first.
    #[inline]
    pub fn gap(&self) -> Duration {
        Duration::from_nanos(u64::from(self.gap_twice >> 1))
    }
}

impl PendingSegments {
    /// The most segments.
    const MOST: usize = 128;
    /// The most segments that are not plain. They need more memory.
    const MOST_OTHERS: usize = 32;
    /// The longest gap between two segments in nanoseconds, some two seconds.
    const MOST_GAP: u64 = (u32::MAX >> 1) as u64;

    /// Whether there is room for a segment that was captured at `at`.
    #[inline]
    pub fn have_room(&self, at: Time) -> bool {
        let gap = at.as_nanos().wrapping_sub(self.last.as_nanos());
        self.all.is_empty() || gap <= Self::MOST_GAP && self.all.len() < Self::MOST
    }

    /// Whether there is room for a segment that was captured at `at` and is not plain.
    pub fn have_room_for_other(&self, at: Time) -> bool {
        self.have_room(at) && self.others.len() < Self::MOST_OTHERS
    }

    /// Adds a plain segment that `side` sent and that was captured at `at`. There must be room.
    #[inline]
    pub fn add_plain(&mut self, side: Side, at: Time, segment: &PlainSegment) {
        self.add(side, at, Some(*segment));
    }

    /// Adds any other segment.
    pub fn add_other(&mut self, side: Side, at: Time, segment: &TcpView) {
        self.add(side, at, None);
        if self.others.len() == self.others.capacity() {
            self.others.reserve_exact(Self::MOST_OTHERS / 8);
        }
        self.others.push(*segment);
    }

    #[inline]
    fn add(&mut self, side: Side, at: Time, plain: Option<PlainSegment>) {
        if self.all.is_empty() {
            (self.first, self.last) = (at, at);
        }
        // Room says that the gap is short.
        let gap = at.as_nanos().wrapping_sub(self.last.as_nanos()) as u32;
        self.last = at;
        if self.all.len() == self.all.capacity() {
            self.grow();
        }
        let back = side == Side::To;
        self.all.push(PendingSegment { gap_twice: gap << 1 | u32::from(back), plain });
    }

    /// Makes room for a few segments, as most connections are short.
    #[inline(never)]
    fn grow(&mut self) {
        self.all.reserve_exact(Self::MOST / 4);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether there is memory for any.
    pub fn have_memory(&self) -> bool {
        self.all.capacity() > 0
    }

    /// The memory of an empty list. Without that for segments that are not plain if it is much more
    /// than most connections need.
    #[must_use]
    pub fn spared(self) -> Self {
        let most = Self::MOST_OTHERS / 4;
        let others = if self.others.capacity() > most { Vec::new() } else { self.others };
        Self { others, ..self }
    }
}
