//! Segments that were sent more than once.

use crate::packed::packed_value;
use crate::units::Duration;

use super::spread::Spread;

/// How often, and how long after each other, segments were sent again.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Repairs {
    /// The most retransmissions of one segment.
    pub of_one_max: u64,
    /// The times between two transmissions of a segment that was not acknowledged.
    pub gaps: Spread,
    /// The times from the last transmission of such a segment to an acknowledgement that ends with
    /// it.
    pub ambiguous: Spread,
}

packed_value!(Repairs { of_one_max, gaps, ambiguous });

impl Repairs {
    /// A segment was sent again for the `count`-th time, this long after the time before.
    pub fn take(&mut self, count: u64, gap: Duration) {
        self.of_one_max = self.of_one_max.max(count);
        self.gaps.add(gap);
    }
}
