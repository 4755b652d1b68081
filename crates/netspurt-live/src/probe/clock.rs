//! Reads two clocks at almost the same instant: the machine's time, which can be set, and a clock
//! that cannot be set.

use rustix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// The times that both clocks show at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ClockReading {
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds: it has no steps and is not steered.
    pub raw_ns: u64,
    /// `CLOCK_REALTIME`, in nanoseconds since 1970: the clock of the kernel's timestamps.
    pub unix_ns: u64,
}

/// The clock that cannot be set is read, then the machine's time, and then the first clock again.
/// This constant is the maximum time between the two readings of the first clock, in nanoseconds.
/// If the time is longer, all three readings are repeated up to four times.
const APART_NS: u64 = 20_000;

/// Reads both clocks.
///
/// ```
/// let (first, second) = (netspurt_live::probe::read(), netspurt_live::probe::read());
/// assert!(second.raw_ns >= first.raw_ns);
/// ```
pub fn read() -> ClockReading {
    let mut tries = 0;
    loop {
        let before = nanos(ClockId::MonotonicRaw);
        let unix_ns = nanos(ClockId::Realtime);
        let after = nanos(ClockId::MonotonicRaw);
        tries += 1;
        if after - before <= APART_NS || tries == 5 {
            return ClockReading { raw_ns: before + (after - before) / 2, unix_ns };
        }
    }
}

/// Reads only the clock that cannot be set, in nanoseconds.
pub(super) fn raw_ns() -> u64 {
    nanos(ClockId::MonotonicRaw)
}

fn nanos(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
}

impl ClockReading {
    /// Returns the nanoseconds by which the machine's clock was set between the reading `earlier`
    /// and this reading. Returns zero if the steering of the clock and the errors of the readings
    /// can explain the difference between the clocks.
    pub fn step_since(self, earlier: ClockReading) -> i64 {
        // Steering changes the rate of the clock by 500 parts in a million at most.
        const STEERED: u64 = 2000;
        let (raw, unix) = (
            i128::from(self.raw_ns) - i128::from(earlier.raw_ns),
            i128::from(self.unix_ns) - i128::from(earlier.unix_ns),
        );
        let allowed = i128::from(10 * APART_NS) + raw.abs() / i128::from(STEERED);
        let step = unix - raw;
        if step.abs() <= allowed { 0 } else { i64::try_from(step).unwrap_or(i64::MAX) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reading_counts_whole_seconds_and_the_nanoseconds_beyond_them() {
        let seconds = || u64::try_from(clock_gettime(ClockId::MonotonicRaw).tv_sec).unwrap();
        let before = seconds();
        let read = raw_ns() / 1_000_000_000;
        assert!((before..=seconds()).contains(&read), "{before} {read}");
        assert!(before > 0, "a machine that runs tests has been up for a second");
    }

    #[test]
    fn setting_the_clock_is_a_step_and_steering_the_clock_is_not() {
        let at = |raw_ns, unix_ns| ClockReading { raw_ns, unix_ns };
        let start = at(5, 1_000_000_000);
        // A difference of half a millisecond in a second counts as steering.
        assert_eq!(at(1_000_000_005, 2_000_500_000).step_since(start), 0);
        assert_eq!(at(1_000_000_005, 3_000_000_000).step_since(start), 1_000_000_000);
        assert_eq!(at(1_000_000_005, 1_000_000_000).step_since(start), -1_000_000_000);
    }
}
