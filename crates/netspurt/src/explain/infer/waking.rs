//! What a sender sends after a long silence, which may show that a timeout ended the silence.

use crate::units::{Duration, Time};

use super::scene::SenderScene;

/// The first segment after the last long silence. A silence is long if a timeout may have ended it.
///
/// After a timeout, a sender sends one segment, and the next segments a round trip later (RFC 5681
/// §3.1). If all outstanding segments were lost before they reached the capture, the retransmitted
/// segment looks like new data.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waking {
    at: Time,
    /// Whether two conditions hold: a timeout may have sent this segment, and no other segment
    /// followed within half a round trip.
    alone: bool,
    /// Whether the sender sent packets before this segment that never came to the capture.
    after_losses: bool,
    /// The silence before this segment, if it may also have been a round trip. This is so for the
    /// first segment of a connection, because no earlier segment shows how long a round trip takes.
    maybe_a_trip: Option<Duration>,
}

impl Waking {
    /// Takes a segment that is sent at the instant `at` after a silence of the length `quiet`.
    /// `head` says whether a timeout may have sent the segment: it is as large as the largest
    /// segment so far, and no octets are missing before it. `lost` says whether packets that the
    /// sender sent before this segment never came to the capture. `estimate` returns the smoothed
    /// round trip and its variation.
    #[inline]
    pub fn sending(
        &mut self,
        at: Time,
        quiet: Duration,
        (head, lost): (bool, bool),
        estimate: impl Fn() -> Option<(Duration, Duration)>,
    ) {
        if !self.alone && quiet < SenderScene::FLOOR {
            return;
        }
        let Some(estimate) = estimate() else { return };
        let long = is_long(quiet, estimate);
        if long || self.at == Time::ZERO {
            let maybe_a_trip = (!long).then_some(quiet);
            *self = Self { at, alone: head, after_losses: lost, maybe_a_trip };
        } else if at.saturating_since(self.at) < estimate.0 / 2 {
            self.alone = false;
        }
    }

    /// When the first segment after the silence was captured. `None` unless three conditions hold.
    /// First, the segment was alone. Second, packets that the sender sent before the segment never
    /// came to the capture. Third, the sender sent no segment after it. `sent_at` is the instant at
    /// which the sender last sent a segment.
    #[inline]
    pub fn after_losses(&self, sent_at: Time) -> Option<Time> {
        let alone = self.alone && self.maybe_a_trip.is_none();
        (self.after_losses && alone && self.at == sent_at).then_some(self.at)
    }

    /// The time since the first segment after the silence. `None` unless this segment was alone.
    /// `estimate` has the smoothed round trip and its variation.
    pub fn since_lone(&self, at: Time, estimate: Option<(Duration, Duration)>) -> Option<Duration> {
        let long = |quiet| estimate.is_some_and(|estimate| is_long(quiet, estimate));
        let alone = self.alone && self.maybe_a_trip.is_none_or(long);
        alone.then(|| at.saturating_since(self.at))
    }
}

/// Whether a timeout may have ended a silence of the length `quiet`.
fn is_long(quiet: Duration, (rtt, rttvar): (Duration, Duration)) -> bool {
    quiet >= rtt + (rttvar * 2).max(SenderScene::FLOOR)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends segments at these instants, in milliseconds, on a path with a round trip of 100 ms.
    /// Returns the time from the last segment that was alone after a silence to the last segment.
    /// `None` if the first segment after the last silence was not alone.
    fn since_lone(instants: &[u64]) -> Option<Duration> {
        let ms = Duration::from_millis;
        let mut waking = Waking::default();
        let mut before = Time::ZERO;
        for at in instants.iter().map(|at| Time::ZERO + ms(*at)) {
            let quiet = at.saturating_since(before);
            waking.sending(at, quiet, (true, false), || Some((ms(100), ms(10))));
            before = at;
        }
        waking.since_lone(before, Some((ms(100), ms(10))))
    }

    #[test]
    fn a_segment_is_alone_if_none_follows_it_within_half_a_round_trip() {
        assert_eq!(since_lone(&[1000, 1101, 1102]), Some(Duration::from_millis(102)));
        assert_eq!(since_lone(&[1000, 1001, 1101]), None);
        assert_eq!(
            since_lone(&[1000, 1101, 1102, 1400]),
            Some(Duration::ZERO),
            "another silence begins"
        );
    }
}
