//! Remembers which octets of a direction were first seen a short time ago.

use crate::units::{Duration, Time};

/// Two checkpoints in the sequence space. A checkpoint is an octet and an instant: this octet and
/// all higher octets were not seen before this instant.
///
/// Only an acknowledgment or a timer triggers a retransmission. So a retransmission comes no sooner
/// than about a round trip after the original. If octets come a second time sooner than that, they
/// are a copy that the network made.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lately {
    checkpoints: [(u64, Time); 2],
}

impl Lately {
    /// Notes that new octets from octet `left` on were seen at the instant `at`. `span` returns the
    /// time that later calls of [`holds`](Self::holds) use.
    #[inline]
    pub fn take(&mut self, at: Time, left: u64, span: impl Fn() -> Duration) {
        /// The minimum time between two checkpoints.
        const LEAST: Duration = Duration::from_micros(200);
        let [newer, _] = self.checkpoints;
        if at.saturating_since(newer.1) >= LEAST && at.saturating_since(newer.1) >= span() / 2 {
            self.checkpoints = [(left, at), newer];
        }
    }

    /// Whether a checkpoint proves that the octets from octet `left` on were first seen within the
    /// time `span` before the instant `at`.
    pub fn holds(&self, at: Time, left: u64, span: Duration) -> bool {
        let within = |point: &(u64, Time)| left >= point.0 && at.saturating_since(point.1) <= span;
        self.checkpoints.iter().any(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_count_as_seen_lately_only_where_a_checkpoint_proves_it() {
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let span = Duration::from_millis(20);
        let mut lately = Lately::default();
        for (ms, left) in [(100, 1), (104, 1001), (112, 2001), (124, 3001)] {
            lately.take(at(ms), left, || span);
        }
        // The checkpoints are at 112 and 124 ms.
        assert!(lately.holds(at(125), 3001, span));
        assert!(lately.holds(at(130), 2001, span));
        assert!(!lately.holds(at(133), 2001, span), "21 ms ago");
        assert!(!lately.holds(at(125), 1001, span), "no checkpoint shows when it was first seen");
    }
}
