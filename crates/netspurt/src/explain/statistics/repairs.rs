//! Segments that were sent more than once.

use crate::packed::packed_value;
use crate::units::Duration;

use super::spread::Spread;

/// How often segments were sent again, and after how much time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repairs {
    /// The maximum number of retransmissions of one segment.
    pub of_one_max: u64,
    /// The times between two successive transmissions of a segment. The segment was not
    /// acknowledged between them.
    pub gaps: Spread,
    /// For segments that were sent more than once: the times from the last transmission of a
    /// segment to the acknowledgment that ends where the segment ends.
    pub ambiguous: Spread,
}

packed_value!(Repairs { of_one_max, gaps, ambiguous });

impl Repairs {
    /// Takes the `count`-th retransmission of a segment. `gap` is the time since its previous
    /// transmission.
    pub fn take(&mut self, count: u64, gap: Duration) {
        self.of_one_max = self.of_one_max.max(count);
        self.gaps.add(gap);
    }
}
