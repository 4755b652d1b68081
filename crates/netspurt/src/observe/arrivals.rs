//! Observes which octets of one direction of a connection have arrived.

use crate::ranges::Ranges;

use super::{Observed, Sequence};

/// What a segment with payload adds to the octets that have arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brought {
    /// Only octets that had arrived before.
    Duplicate,
    /// New octets after a gap, or within a gap.
    Gapped,
    /// New octets without a gap before them.
    InOrder,
}

/// The octets of one direction that have arrived.
///
/// ```
/// use netspurt::observe::{Arrivals, Brought};
/// use netspurt::segment::Segment;
/// let mut arrivals = Arrivals::default();
/// let data = |seq| Segment { seq, len: 100, ..Segment::default() };
/// assert_eq!(arrivals.take(&data(101)), Brought::Gapped);
/// assert_eq!(arrivals.take(&data(1)), Brought::InOrder);
/// assert_eq!((arrivals.take(&data(101)), arrivals.in_order()), (Brought::Duplicate, 201));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    sequence: Sequence,
    octets: Ranges,
}

impl Arrivals {
    /// Notes the arrival of a segment with payload, and returns what it added.
    pub fn take(&mut self, segment: &impl Observed) -> Brought {
        let left = self.sequence.take(segment).left;
        let right = left + u64::from(segment.len());
        if self.octets.holds(left, right) {
            return Brought::Duplicate;
        }
        let before = self.in_order();
        self.octets.insert(left, right);
        if self.in_order() > before { Brought::InOrder } else { Brought::Gapped }
    }

    /// The octet after the last octet that arrived without a gap before it. Before any data has
    /// arrived, this is the octet after the SYN.
    pub fn in_order(&self) -> u64 {
        let begin = self.sequence.first() + 1;
        match self.octets.next_from(begin) {
            Some((left, right)) if left <= begin => right,
            _ => begin,
        }
    }
}
