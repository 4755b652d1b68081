//! The backoff of a retransmission timer: each timeout doubles the timer, up to a maximum.

use crate::packed::packed;
use crate::units::Duration;

/// The number of doublings of a timer since its last backoff ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Backoff {
    doublings: u32,
}

packed!(Backoff { doublings });

impl Backoff {
    pub(super) fn double(&mut self) {
        self.doublings = (self.doublings + 1).min(u32::BITS - 1);
    }

    pub(super) fn end(&mut self) {
        self.doublings = 0;
    }

    pub(super) fn has_ended(self) -> bool {
        self.doublings == 0
    }

    /// The factor by which all doublings together lengthen the timer.
    pub(super) fn factor(self) -> u32 {
        1 << self.doublings
    }

    /// Returns `timer` times the factor, but at most `max`.
    pub(super) fn on(self, timer: Duration, max: Duration) -> Duration {
        (timer * u64::from(self.factor())).min(max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_factor_stops_at_the_largest_power_of_two_in_32_bits() {
        let mut backoff = Backoff::default();
        assert_eq!(backoff.factor(), 1);
        (0..3).for_each(|_| backoff.double());
        assert_eq!((backoff.factor(), backoff.has_ended()), (8, false));
        (0..100).for_each(|_| backoff.double());
        assert_eq!(backoff.factor(), 1 << 31);
        let second = Duration::from_secs(1);
        assert_eq!(backoff.on(second, second * 60), second * 60);
        backoff.end();
        assert_eq!((backoff.factor(), backoff.has_ended()), (1, true));
    }
}
