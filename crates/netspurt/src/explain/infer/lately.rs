//! Remembers which octets of a direction were first seen a short time ago.

use crate::units::{Duration, Time};

/// Two marks in the sequence space. A mark is an octet and an instant: this octet and all higher
/// ones were not seen before this instant.
///
/// Only an acknowledgment or a timer triggers a retransmission. So a retransmission comes no sooner
/// than about a round trip after the original. If octets come a second time sooner than that, the
/// network made the copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lately {
    marks: [(u64, Time); 2],
}

impl Lately {
    /// Notes new octets from `left` on, seen at `at`. `span` returns the span that later calls of
    /// [`holds`](Self::holds) use.
    #[inline]
    pub fn take(&mut self, at: Time, left: u64, span: impl Fn() -> Duration) {
        /// The minimum time between two marks.
        const LEAST: Duration = Duration::from_micros(200);
        let [newer, _] = self.marks;
        if at.saturating_since(newer.1) >= LEAST && at.saturating_since(newer.1) >= span() / 2 {
            self.marks = [(left, at), newer];
        }
    }

    /// Whether a mark proves that the octets from `left` on were first seen within `span` before
    /// `at`.
    pub fn holds(&self, at: Time, left: u64, span: Duration) -> bool {
        let within = |mark: &(u64, Time)| left >= mark.0 && at.saturating_since(mark.1) <= span;
        self.marks.iter().any(within)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn octets_count_as_seen_lately_only_where_a_mark_proves_it() {
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let span = Duration::from_millis(20);
        let mut lately = Lately::default();
        for (ms, left) in [(100, 1), (104, 1001), (112, 2001), (124, 3001)] {
            lately.take(at(ms), left, || span);
        }
        // The marks are at 112 and 124 ms.
        assert!(lately.holds(at(125), 3001, span));
        assert!(lately.holds(at(130), 2001, span));
        assert!(!lately.holds(at(133), 2001, span), "21 ms ago");
        assert!(!lately.holds(at(125), 1001, span), "no mark shows when it was first seen");
    }
}
