//! Volleys that are over, so that what still comes for them is known.

use std::collections::{HashMap, VecDeque};

use super::book::Outcome;
use super::clock::Reading;
use super::volleys::Tally;

/// Answered volleys that are remembered, for their duplicates.
const REMEMBERED: usize = 1 << 16;

/// A volley that is over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    pub number: u64,
    pub left: Reading,
    pub kernel_left_ns: Option<u64>,
    /// Whether an answer has come.
    answered: bool,
}

/// All that are.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    known: HashMap<u64, Known>,
    order: VecDeque<u64>,
    pub tally: Tally,
}

impl Ledger {
    /// A volley is over.
    pub fn over(
        &mut self,
        number: u64,
        key: u64,
        left: Reading,
        kernel_left_ns: Option<u64>,
        outcome: &Outcome,
    ) {
        let answered = matches!(outcome, Outcome::Answered(_));
        self.tally.volleys += 1;
        self.tally.answered += u64::from(answered);
        self.known.insert(key, Known { number, left, kernel_left_ns, answered });
        self.order.push_back(key);
        if self.order.len() > REMEMBERED
            && let Some(old) = self.order.pop_front()
        {
            self.known.remove(&old);
        }
    }

    /// The volley with a key.
    pub fn find(&self, key: u64) -> Option<Known> {
        self.known.get(&key).copied()
    }

    /// An answer came for a volley that is over; whether it is its first, and so late.
    pub fn came_again(&mut self, key: u64) -> bool {
        let Some(known) = self.known.get_mut(&key) else { return false };
        let late = !known.answered;
        known.answered = true;
        self.tally.late += u64::from(late);
        self.tally.duplicates += u64::from(!late);
        late
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_answer_to_a_lost_volley_is_late_and_the_next_a_duplicate() {
        let mut ledger = Ledger::default();
        let left = Reading { raw_ns: 1, unix_ns: 1 };
        ledger.over(1, 77, left, None, &Outcome::Lost);
        assert_eq!(ledger.find(77).map(|known| known.number), Some(1));
        assert!(ledger.came_again(77));
        assert!(!ledger.came_again(77));
        assert!(ledger.find(78).is_none());
        let tally = Tally { volleys: 1, late: 1, duplicates: 1, ..Tally::default() };
        assert_eq!(ledger.tally, tally);
    }

    #[test]
    fn memory_does_not_grow_with_hours() {
        let mut ledger = Ledger::default();
        let left = Reading { raw_ns: 1, unix_ns: 1 };
        for number in 0..REMEMBERED as u64 + 10 {
            ledger.over(number, number, left, None, &Outcome::Lost);
        }
        assert_eq!(ledger.known.len(), REMEMBERED);
        assert!(ledger.find(0).is_none() && ledger.find(10).is_some());
    }
}
