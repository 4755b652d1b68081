//! A set of octets, stored as disjoint ranges in ascending order.

/// The octets from the octet `left` up to the octet `right`, which is not included.
pub type Range = (u64, u64);

/// Disjoint ranges in ascending order. Ranges that touch are joined.
///
/// ```
/// use netspurt::ranges::Ranges;
/// let mut arrived = Ranges::default();
/// arrived.insert(1, 961);
/// arrived.insert(1921, 2881);
/// assert_eq!((arrived.total(), arrived.top()), (1920, Some(2881)));
/// assert!(arrived.holds(1921, 2000) && !arrived.holds(900, 1000));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    ranges: Vec<Range>,
    total: u64,
}

impl Ranges {
    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// The number of octets in the set.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The ranges in ascending order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range> + '_ {
        self.ranges.iter().copied()
    }

    /// Adds `left..right` and returns the range that now contains it. If `left..right` is empty,
    /// adds nothing and returns `(left, left)`.
    #[inline]
    pub fn insert(&mut self, left: u64, right: u64) -> Range {
        if left >= right {
            return (left, left);
        }
        if let Some(last) = self.ranges.last_mut().filter(|last| last.1 == left) {
            // Octets in order are by far the most common case.
            self.total += right - left;
            last.1 = right;
            return *last;
        }
        self.insert_elsewhere(left, right)
    }

    /// Adds `left..right`, which does not begin where the last range ends.
    #[inline(never)]
    fn insert_elsewhere(&mut self, left: u64, right: u64) -> Range {
        // The second most common case is a range that lies above all other ranges, or begins inside
        // the last range.
        let first = match self.ranges.last() {
            Some(last) if last.1 < left => self.ranges.len(),
            Some(last) if last.0 <= left => self.ranges.len() - 1,
            _ => self.ranges.partition_point(|range| range.1 < left),
        };
        let mut merged = (left, right);
        let mut past = first;
        while let Some(&(l, r)) = self.ranges.get(past).filter(|range| range.0 <= merged.1) {
            merged = (merged.0.min(l), merged.1.max(r));
            self.total -= r - l;
            past += 1;
        }
        self.total += merged.1 - merged.0;
        if past == first + 1 {
            self.ranges[first] = merged;
        } else {
            if self.ranges.capacity() == 0 {
                // Most sets never hold a second range, so memory for one range is enough at first.
                self.ranges.reserve_exact(1);
            }
            self.ranges.splice(first..past, [merged]);
        }
        merged
    }

    /// Removes everything below `octet`.
    #[inline]
    pub fn remove_below(&mut self, octet: u64) {
        let gone = self.ranges.partition_point(|range| range.1 <= octet);
        self.total -= self.ranges.drain(..gone).map(|(l, r)| r - l).sum::<u64>();
        if let Some(first) = self.ranges.first_mut().filter(|first| first.0 < octet) {
            self.total -= octet - first.0;
            first.0 = octet;
        }
    }

    /// Removes `left..right`.
    pub fn remove(&mut self, left: u64, right: u64) {
        let first = self.ranges.partition_point(|range| range.1 <= left);
        let past = self.ranges.partition_point(|range| range.0 < right);
        if left >= right || first == past {
            return;
        }
        let gone = &self.ranges[first..past];
        let (below, above) = ((gone[0].0, left), (right, gone[gone.len() - 1].1));
        let kept = [below, above].into_iter().filter(|range| range.0 < range.1);
        self.total -= gone.iter().map(|(l, r)| r - l).sum::<u64>();
        self.total += kept.clone().map(|(l, r)| r - l).sum::<u64>();
        self.ranges.splice(first..past, kept);
    }

    /// Removes everything.
    pub fn clear(&mut self) {
        self.ranges.clear();
        self.total = 0;
    }

    /// The range that contains `octet`.
    #[inline]
    pub fn holding(&self, octet: u64) -> Option<Range> {
        let place = self.ranges.partition_point(|range| range.1 <= octet);
        self.ranges.get(place).copied().filter(|range| range.0 <= octet)
    }

    /// Whether all of `left..right` is in the set.
    #[inline]
    pub fn holds(&self, left: u64, right: u64) -> bool {
        left >= right || self.holding(left).is_some_and(|range| range.1 >= right)
    }

    /// The first range that ends above `octet`.
    #[inline]
    pub fn next_from(&self, octet: u64) -> Option<Range> {
        let place = self.ranges.partition_point(|range| range.1 <= octet);
        self.ranges.get(place).copied()
    }

    /// The highest octet in the set, plus one.
    pub fn top(&self) -> Option<u64> {
        self.ranges.last().map(|range| range.1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn ranges_agree_with_a_set_of_octets(
            steps in prop::collection::vec((0_u64..60, 0_u64..12, 0..10_u8), 0..60)
        ) {
            let (mut ranges, mut oracle) = (Ranges::default(), BTreeSet::new());
            for (at, len, kind) in steps {
                if kind == 0 {
                    ranges.remove_below(at);
                    oracle.retain(|octet| *octet >= at);
                } else if kind < 4 {
                    ranges.remove(at, at + len);
                    oracle.retain(|octet| *octet < at || *octet >= at + len);
                } else {
                    let held = ranges.insert(at, at + len);
                    oracle.extend(at..at + len);
                    prop_assert!(len == 0 || held.0 <= at && at + len <= held.1);
                }
                let listed: Vec<u64> = ranges.iter().flat_map(|(l, r)| l..r).collect();
                prop_assert_eq!(&listed, &oracle.iter().copied().collect::<Vec<_>>());
                prop_assert!(ranges.iter().zip(ranges.iter().skip(1)).all(|(a, b)| a.1 < b.0));
                prop_assert_eq!(ranges.total(), listed.len() as u64);
                prop_assert_eq!(ranges.top(), listed.last().map(|octet| octet + 1));
                for octet in 0..75 {
                    prop_assert_eq!(ranges.holding(octet).is_some(), oracle.contains(&octet));
                }
            }
        }
    }
}
