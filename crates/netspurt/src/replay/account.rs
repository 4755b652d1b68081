//! Computes the sums of a replay: the columns of RFC 889's table, and Allman and Paxson's two
//! measures.

use crate::units::Duration;

use super::engine::{Judged, TimerVerdict};

/// The sums over the probes of a replay.
///
/// In RFC 889 §3.3, a probe counts as retransmitted spuriously if its timer was shorter than its
/// delay. The RFC adds up a *total time*: the delays of the answered probes, the timers of the lost
/// probes, and again the delays of the probes that were retransmitted spuriously. The *efficiency*
/// is the share of the delays in the total time. Allman and Paxson (SIGCOMM '99) weigh the time
/// spent waiting for necessary timeouts against the share of bad timeouts, which are the spurious
/// timeouts.
///
/// departs: RFC 889 §3.3 - the RFC does not say how much time counts for a spurious retransmission;
/// the reading used here is the only reading that agrees with the RFC's whole table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The number of probes.
    pub probes: u64,
    /// The number of probes without a reply. The timeout of each was necessary.
    pub lost: u64,
    /// The number of probes that were retransmitted spuriously.
    pub spurious: u64,
    /// The sum of the delays of all answered probes.
    pub good: Duration,
    /// The sum of the timers of lost probes (Allman and Paxson's W).
    pub waited: Duration,
    /// The sum of the delays of the probes that were retransmitted spuriously.
    pub spurious_time: Duration,
    /// The sum, over the probes that were retransmitted spuriously, of the delay minus the timer.
    pub short_by: Duration,
    /// The sum of the timers of all probes, answered or lost.
    pub timers: Duration,
    /// The sum of the squares of the delays, in square nanoseconds.
    squares: u128,
    /// The sum, in millionths, of one ratio for each lost probe: the wait divided by the delay of
    /// the last answered probe before the lost probe. A lost probe adds nothing if no probe was
    /// answered before, or if this delay is zero.
    waits_in_delays: u64,
    last_delay: Duration,
}

impl Account {
    /// Adds the next probe.
    #[inline]
    pub fn take(&mut self, judged: Judged) {
        self.probes += 1;
        let Judged { probe, wait, verdict } = judged;
        self.timers = self.timers + wait;
        let Some(rtt) = probe.rtt else {
            self.lost += 1;
            self.waited = self.waited + wait;
            if !self.last_delay.is_zero() {
                let share = u128::from(wait.as_nanos()) * 1_000_000;
                let share = share / u128::from(self.last_delay.as_nanos());
                let share = u64::try_from(share).unwrap_or(u64::MAX);
                self.waits_in_delays = self.waits_in_delays.saturating_add(share);
            }
            return;
        };
        self.good = self.good + rtt;
        self.squares += u128::from(rtt.as_nanos()).pow(2);
        self.last_delay = rtt;
        if verdict == TimerVerdict::Spurious {
            self.spurious += 1;
            self.spurious_time = self.spurious_time + rtt;
            self.short_by = self.short_by + (rtt - wait);
        }
    }

    /// The number of answered probes.
    pub const fn answered(&self) -> u64 {
        self.probes - self.lost
    }

    /// RFC 889's total time: the sum of all delays, plus the waits for lost probes, plus once more
    /// the delays of the probes that were retransmitted spuriously.
    pub fn total(&self) -> Duration {
        self.good + self.waited + self.spurious_time
    }

    /// The sum of the delays divided by the number of *all* probes, as in RFC 889's table.
    pub fn mean(&self) -> Duration {
        Duration::from_nanos(self.good.as_nanos() / self.probes.max(1))
    }

    /// The mean delay of the answered probes.
    pub fn mean_answered(&self) -> Duration {
        Duration::from_nanos(self.good.as_nanos() / self.answered().max(1))
    }

    /// The standard deviation of the delays of answered probes, divided by their mean. The result
    /// is NaN if no probe was answered, or if all delays are zero.
    pub fn coefficient_of_variation(&self) -> f64 {
        let n = u128::from(self.answered());
        let sum = u128::from(self.good.as_nanos());
        // n Σx² - (Σx)² is computed exactly, so no digits cancel before the root.
        let spread = n.saturating_mul(self.squares).saturating_sub(sum.saturating_mul(sum));
        (spread as f64).sqrt() / sum as f64
    }

    /// RFC 889's efficiency: the share of the delays in the total time. If the total time is zero,
    /// the result is NaN.
    pub fn efficiency(&self) -> f64 {
        self.good.as_nanos() as f64 / self.total().as_nanos() as f64
    }

    /// Allman and Paxson's B: the share of bad timeouts in all timeouts. Without timeouts, the
    /// result is NaN.
    pub fn bad_share(&self) -> f64 {
        self.spurious as f64 / (self.spurious + self.lost) as f64
    }

    /// Allman and Paxson's normalised W: the mean of a value over all necessary timeouts. The value
    /// of a timeout is the wait divided by the delay of the last answered probe before the lost
    /// probe. The value is zero if no probe was answered before, or if this delay is zero. Without
    /// necessary timeouts, the result is NaN.
    pub fn waited_in_delays(&self) -> f64 {
        self.waits_in_delays as f64 / 1e6 / self.lost as f64
    }
}
