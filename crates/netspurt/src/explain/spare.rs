//! Memory of resting connections, which new connections use.

use crate::observe::Sequence;

use super::CapturedWay;
use super::pending::PendingSegments;

/// Directions that are not in use. New connections get the memory of resting ones: this costs less
/// than to free the memory and to allocate it again.
#[derive(Debug, Default)]
#[expect(clippy::vec_box, reason = "who takes one keeps it in its box")]
pub struct SpareWays {
    ways: Vec<Box<CapturedWay>>,
    /// Empty lists of pending segments.
    pending: Vec<PendingSegments>,
    /// A buffer for packing a direction before its packed length is known.
    pub packing: Vec<u8>,
}

impl SpareWays {
    /// The largest number of directions that are kept.
    const MOST: usize = 1 << 8;
    /// The largest number of lists of pending segments that are kept.
    const MOST_PENDING: usize = 1 << 12;

    /// Returns a new direction with the sequence space `sequence`.
    pub fn begin(&mut self, sequence: Sequence) -> Box<CapturedWay> {
        match self.ways.pop() {
            Some(mut way) => {
                way.begin_again(sequence);
                way
            }
            None => Box::new(CapturedWay::new(sequence)),
        }
    }

    /// Returns an empty list of pending segments.
    pub fn begin_pending(&mut self) -> PendingSegments {
        self.pending.pop().unwrap_or_default()
    }

    /// Keeps the memory of an empty list that is no longer needed.
    pub fn keep_pending(&mut self, pending: PendingSegments) {
        if self.pending.len() < Self::MOST_PENDING {
            self.pending.push(pending.spared());
        }
    }

    /// Keeps the memory of a direction that is no longer needed.
    pub fn keep(&mut self, way: Box<CapturedWay>) {
        if self.ways.len() < Self::MOST {
            self.ways.push(way);
        }
    }
}
