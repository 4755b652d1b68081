//! Which octets of one direction were captured (*seen*), and which are missing.

use crate::packed::{Packed, PackedValue};
use crate::ranges::Ranges;
use crate::units::Time;

/// Which sequence numbers of a segment are new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewOctets {
    /// The number of sequence numbers that were seen before.
    pub repeated: u64,
    /// Whether the segment's first sequence number was seen before.
    pub first_repeated: bool,
    /// Whether the segment's last sequence number was seen before.
    pub last_repeated: bool,
    /// Whether all sequence numbers of the segment are new, and lie below a sequence number that
    /// was seen before.
    pub late: bool,
}

/// A segment that came after higher octets (*late*) and is not acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LateSegment {
    /// The first octet of the segment.
    pub left: u64,
    /// The octet after the last octet of the segment.
    pub right: u64,
    /// When the segment was captured.
    pub sent: Time,
}

/// The octets that are missing or came late, between the lowest and the highest octet seen.
#[derive(Clone, Debug, Default)]
struct Holes {
    octets: Ranges,
    /// Segments that came late, in ascending order.
    late: Vec<LateSegment>,
}

/// The set of a direction's octets that were seen. It stores only the holes between these octets,
/// because most captures have no holes.
#[derive(Clone, Debug, Default)]
pub struct SeenOctets {
    /// The lowest octet seen. Zero if none was seen.
    left: u64,
    /// The octet after the highest octet seen. Zero if none was seen.
    right: u64,
    holes: Option<Box<Holes>>,
}

/// Only the two ends of the seen octets are packed. A closed connection with holes is not packed,
/// and after the end of a connection its holes are not needed.
impl Packed for SeenOctets {
    fn pack(&self, into: &mut Vec<u8>) {
        (self.left, self.right).pack(into);
    }

    fn unpack(&mut self, from: &mut &[u8]) {
        (self.left, self.right) = PackedValue::get(from);
        self.holes = None;
    }
}

impl SeenOctets {
    /// The maximum number of holes, and of late segments. If there are more, the lowest hole counts
    /// as seen, and the lowest late segment is forgotten.
    const MOST: usize = 1 << 12;

    /// Takes a segment with the sequence numbers from number `left` to below number `right`, seen
    /// at the instant `at`.
    #[inline]
    pub fn take(&mut self, left: u64, right: u64, at: Time) -> NewOctets {
        if self.right == 0 {
            (self.left, self.right) = (left, right);
            return NewOctets::default();
        }
        if left == self.right {
            self.right = right;
            return NewOctets::default();
        }
        self.take_other(left, right, at)
    }

    /// The octet after the highest octet seen. Zero if none was seen.
    pub fn end(&self) -> u64 {
        self.right
    }

    /// Whether `left` is the octet after the highest octet seen.
    #[inline]
    pub fn goes_on_at(&self, left: u64) -> bool {
        self.right == left && left > 0
    }

    /// Takes a segment that does not begin directly after the highest octet seen.
    fn take_other(&mut self, left: u64, right: u64, at: Time) -> NewOctets {
        if left > self.right {
            self.add_hole(self.right, left);
            self.right = right;
            return NewOctets::default();
        }
        let missed = self.missing(left, right);
        let repeated = right.min(self.right) - left - missed;
        let late = repeated == 0 && right <= self.right;
        let new_octets = NewOctets {
            repeated,
            first_repeated: self.missing(left, left + 1) == 0,
            last_repeated: right <= self.right && self.missing(right - 1, right) == 0,
            late,
        };
        if missed > 0 {
            self.fill(left, right);
        }
        if late {
            self.add_late(LateSegment { left, right, sent: at });
        }
        self.right = self.right.max(right);
        new_octets
    }

    /// The number of missing octets in `left..right` that lie below the highest octet seen.
    fn missing(&self, left: u64, right: u64) -> u64 {
        let below = self.left.min(right).saturating_sub(left);
        let Some(holes) = &self.holes else { return below };
        let (mut at, mut missing) = (left.max(self.left), below);
        while let Some((from, to)) = holes.octets.next_from(at).filter(|hole| hole.0 < right) {
            missing += to.min(right) - from.max(at);
            at = to;
        }
        missing
    }

    fn fill(&mut self, left: u64, right: u64) {
        if right < self.left {
            self.add_hole(right, self.left);
        }
        self.left = self.left.min(left);
        if let Some(holes) = &mut self.holes {
            holes.octets.remove(left, right);
        }
    }

    fn add_hole(&mut self, left: u64, right: u64) {
        let holes = &mut self.holes.get_or_insert_default().octets;
        holes.insert(left, right);
        if holes.iter().nth(Self::MOST).is_some() {
            let lowest = holes.next_from(0).map_or(0, |hole| hole.1);
            holes.remove_below(lowest);
        }
    }

    fn add_late(&mut self, segment: LateSegment) {
        let late = &mut self.holes.get_or_insert_default().late;
        let place = late.partition_point(|one| one.left < segment.left);
        late.insert(place, segment);
        if late.len() > Self::MOST {
            late.remove(0);
        }
    }

    /// Whether octets are missing, or a segment that came late is not acknowledged.
    pub fn has_holes(&self) -> bool {
        let open = |holes: &Holes| !holes.octets.is_empty() || !holes.late.is_empty();
        self.holes.as_deref().is_some_and(open)
    }

    /// Takes an acknowledgment of all octets below `ack`. Calls the function `each` for the late
    /// segments that the acknowledgment newly covers, in ascending order.
    #[inline]
    pub fn acknowledge(&mut self, ack: u64, each: impl FnMut(LateSegment)) {
        if let Some(holes) = &mut self.holes {
            let covered = holes.late.partition_point(|one| one.right <= ack);
            holes.late.drain(..covered).for_each(each);
        }
    }
}
