//! Timestamps (RFC 7323): the clock of our timestamps, and the peer's newest timestamp.

use crate::packed::packed;
use crate::seq::is_before;
use crate::units::{Duration, Time};

/// How long a peer's timestamp is compared with later timestamps (RFC 7323 §5.5).
const STAMP_LIFE: Duration = Duration::from_secs(24 * 86_400);

/// Returns our timestamp at the instant `now`. Our timestamps count milliseconds.
#[expect(clippy::cast_possible_truncation, reason = "timestamps wrap at 2^32")]
pub(super) fn stamp(now: Time) -> u32 {
    // The value is never zero, because an echo of zero means that there is no echo.
    ((now.as_nanos() / 1_000_000) as u32).wrapping_add(1).max(1)
}

/// Returns the time since the clock of our timestamps showed the value `echo`.
pub(super) fn since_stamp(echo: u32, now: Time) -> Duration {
    Duration::from_millis(u64::from(stamp(now).wrapping_sub(echo)))
}

/// The peer's newest timestamp (`TS.Recent`, RFC 7323 §4.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PeerStamp {
    /// The timestamp.
    pub(super) recent: u32,
    /// When the timestamp arrived.
    at: Time,
}

packed!(PeerStamp { recent, at });

impl PeerStamp {
    /// Makes the state for the timestamp `recent`, which arrived at the instant `at`.
    pub(super) fn new(recent: u32, at: Time) -> Self {
        Self { recent, at }
    }

    /// Whether the timestamp `val` shows an old duplicate (RFC 7323 §5.2). If the newest timestamp
    /// arrived more than `STAMP_LIFE` ago, the timestamps are not compared, and the result is false
    /// (§5.5).
    pub(super) fn outdates(&self, val: u32, now: Time) -> bool {
        now.saturating_since(self.at) <= STAMP_LIFE && is_before(val, self.recent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn a_stamp_counts_milliseconds_from_one() {
        assert_eq!((stamp(Time::ZERO), stamp(at(41))), (1, 42));
        assert_eq!(since_stamp(stamp(at(1000)), at(1250)), Duration::from_millis(250));
    }

    /// RFC 7323 §5.2: timestamps are compared in modular arithmetic, so 5 is newer than 2^32 - 3.
    #[test]
    fn a_timestamp_after_the_wrap_is_newer_than_a_timestamp_before_the_wrap() {
        let (before, after) = (u32::MAX - 2, 5);
        assert!(PeerStamp::new(after, at(0)).outdates(before, at(1)));
        assert!(!PeerStamp::new(before, at(0)).outdates(after, at(1)));
    }

    #[test]
    fn a_timestamp_that_came_more_than_24_days_ago_shows_no_old_duplicate() {
        let newest = PeerStamp::new(100, at(0));
        let day = 86_400_000;
        assert!(newest.outdates(99, at(24 * day)) && !newest.outdates(100, at(1)));
        assert!(!newest.outdates(99, at(24 * day + 1)));
    }
}
