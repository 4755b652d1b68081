//! Remembers finished echo probes, so that late answers and duplicate answers can be recognised.

use std::collections::{HashMap, VecDeque};

use super::book::ProbeOutcome;
use super::clock::ClockReading;

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoCounts {
    /// The number of finished echo probes.
    pub echo_probes: u64,
    /// The number of echo probes that were answered in time.
    pub answered: u64,
    /// The number of echo probes whose first answer came after they were given up or had failed.
    pub late: u64,
    /// The number of further answers to echo probes that already had an answer.
    pub duplicates: u64,
    /// How often the machine's clock was set.
    pub steps: u64,
}

/// The maximum number of finished echo probes that are remembered.
const REMEMBERED: usize = 1 << 16;

/// A finished echo probe.
#[derive(Clone, Copy, Debug)]
pub(super) struct PastProbe {
    pub number: u64,
    pub sent_at: ClockReading,
    pub kernel_sent_ns: Option<u64>,
    /// Whether an answer has come.
    answered: bool,
}

/// The finished echo probes that are remembered, by their keys.
#[derive(Debug, Default)]
pub(super) struct PastProbes {
    known: HashMap<u64, PastProbe>,
    order: VecDeque<u64>,
    pub tally: EchoCounts,
}

impl PastProbes {
    /// Adds a finished echo probe.
    pub fn over(
        &mut self,
        number: u64,
        key: u64,
        sent_at: ClockReading,
        kernel_sent_ns: Option<u64>,
        outcome: &ProbeOutcome,
    ) {
        let answered = matches!(outcome, ProbeOutcome::Answered(_));
        self.tally.echo_probes += 1;
        self.tally.answered += u64::from(answered);
        self.known.insert(key, PastProbe { number, sent_at, kernel_sent_ns, answered });
        self.order.push_back(key);
        if self.order.len() > REMEMBERED
            && let Some(old) = self.order.pop_front()
        {
            self.known.remove(&old);
        }
    }

    /// Returns the finished echo probe with this key, if it is remembered.
    pub fn find(&self, key: u64) -> Option<PastProbe> {
        self.known.get(&key).copied()
    }

    /// Counts an answer to a finished echo probe. Returns true for the first answer, which is late,
    /// and false for a further answer, which is a duplicate. If the echo probe is not remembered,
    /// counts nothing and returns false.
    pub fn count_stray(&mut self, key: u64) -> bool {
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
    fn a_lost_echo_probe_gets_a_late_answer_and_then_duplicates() {
        let mut ledger = PastProbes::default();
        let sent_at = ClockReading { raw_ns: 1, unix_ns: 1 };
        ledger.over(1, 77, sent_at, None, &ProbeOutcome::Lost);
        assert_eq!(ledger.find(77).map(|known| known.number), Some(1));
        assert!(ledger.count_stray(77));
        assert!(!ledger.count_stray(77));
        assert!(ledger.find(78).is_none());
        let tally = EchoCounts { echo_probes: 1, late: 1, duplicates: 1, ..EchoCounts::default() };
        assert_eq!(ledger.tally, tally);
    }

    #[test]
    fn only_a_limited_number_of_past_probes_is_remembered() {
        let mut ledger = PastProbes::default();
        let sent_at = ClockReading { raw_ns: 1, unix_ns: 1 };
        for number in 0..REMEMBERED as u64 + 10 {
            ledger.over(number, number, sent_at, None, &ProbeOutcome::Lost);
        }
        assert_eq!(ledger.known.len(), REMEMBERED);
        assert!(ledger.find(0).is_none() && ledger.find(10).is_some());
    }
}
