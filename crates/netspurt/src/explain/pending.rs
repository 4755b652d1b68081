//! Captured segments that are kept until their connection takes several at once.

use crate::ids::Side;
use crate::units::Time;
use crate::wire::{PlainSegment, TcpView};

/// A segment that its connection has not taken.
#[derive(Clone, Copy, Debug)]
pub struct PendingSegment {
    /// When it was captured.
    pub at: Time,
    /// `None` if it is not plain; then it is the next one of the others.
    pub plain: Option<PlainSegment>,
    /// Who sent it.
    pub side: Side,
}

/// The segments of a connection that were captured and are not taken yet.
///
/// A connection has some 2.5 KB of state, and a segment 40 octets. If each segment were taken when it
/// comes, the processor's caches would often have lost the state since the segment before.
#[derive(Clone, Debug, Default)]
pub struct PendingSegments {
    /// All of them, in order.
    pub all: Vec<PendingSegment>,
    /// Those that are not plain, in order.
    pub others: Vec<TcpView>,
}

impl PendingSegments {
    /// The most segments.
    const MOST: usize = 128;
    /// The most segments that are not plain. They need more memory.
    const MOST_OTHERS: usize = 32;

    /// Adds a plain segment that `side` sent and that was captured at `at`.
    #[inline]
    pub fn add_plain(&mut self, side: Side, at: Time, segment: &PlainSegment) {
        self.add(PendingSegment { at, plain: Some(*segment), side });
    }

    /// Adds any other segment.
    pub fn add_other(&mut self, side: Side, at: Time, segment: &TcpView) {
        self.add(PendingSegment { at, plain: None, side });
        if self.others.len() == self.others.capacity() {
            self.others.reserve_exact(Self::MOST_OTHERS / 8);
        }
        self.others.push(*segment);
    }

    /// Adds a segment. The memory grows by few segments at once, as most connections are short.
    #[inline]
    fn add(&mut self, segment: PendingSegment) {
        if self.all.len() == self.all.capacity() {
            self.all.reserve_exact(Self::MOST / 4);
        }
        self.all.push(segment);
    }

    /// Whether no more can be added.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.all.len() >= Self::MOST || self.others.len() >= Self::MOST_OTHERS
    }
}
