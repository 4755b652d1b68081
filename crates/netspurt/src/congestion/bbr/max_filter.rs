//! A filter that keeps the maximum of the values of the last rounds. BBR uses it for delivery
//! rates.

use crate::packed::packed;

/// The exact maximum over the last rounds. The filter keeps the value of a round only while no
/// later round reaches this value.
///
/// Old values are removed only when a new value arrives, so the maximum stays during an idle time.
#[derive(Debug)]
pub(super) struct MaxFilter {
    rounds: u64,
    /// Rounds and their values. The values decrease, and the first value is the maximum.
    kept: Vec<(u64, u64)>,
}

packed!(MaxFilter { kept } keeps { rounds });

impl MaxFilter {
    /// A filter over `rounds` rounds, including the current round.
    pub(super) fn new(rounds: u32) -> Self {
        let room = usize::try_from(rounds).unwrap_or(usize::MAX).saturating_add(1);
        Self { rounds: u64::from(rounds), kept: Vec::with_capacity(room.min(1024)) }
    }

    /// Adds `value`, which was measured in `round`. Rounds must not decrease.
    pub(super) fn update(&mut self, round: u64, value: u64) {
        self.kept.retain(|(when, kept)| round - when < self.rounds && *kept > value);
        if self.kept.last().is_none_or(|(when, _)| *when < round) {
            self.kept.push((round, value));
        }
    }

    /// The maximum. The result is 0 before the first value.
    pub(super) fn max(&self) -> u64 {
        self.kept.first().map_or(0, |(_, value)| *value)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_maximum_is_the_greatest_value_of_the_last_rounds(
            steps in prop::collection::vec((0..3u64, 0..1000u64), 1..100),
            rounds in 1..12u32,
        ) {
            let mut filter = MaxFilter::new(rounds);
            let (mut round, mut all) = (0, Vec::new());
            for (later, value) in steps {
                round += later;
                all.push((round, value));
                filter.update(round, value);
                let young = all.iter().filter(|(when, _)| when + u64::from(rounds) > round);
                prop_assert_eq!(Some(filter.max()), young.map(|(_, value)| *value).max());
                prop_assert!(filter.kept.len() <= rounds as usize);
            }
        }
    }
}
