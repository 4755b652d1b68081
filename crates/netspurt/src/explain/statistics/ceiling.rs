//! Finds out whether the outstanding octets of a direction often reach the same maximum (the
//! *ceiling*).

use crate::packed::packed_value;
use crate::units::Time;

/// The ceilings that the outstanding octets of a direction reached, and how often each ceiling was
/// reached.
///
/// If a sender fills its congestion window, this window grows by at least half a segment in each
/// round trip without a loss. RFC 5681 §3.1 with delayed ACKs has this growth, and the growth of
/// RFC 9438 §4.3 is at least as fast. So if the outstanding octets often reach the same ceiling and
/// never exceed it, the congestion window does not limit them. The limit is then the receive
/// window, or a limit of the sender, such as its send buffer.
///
/// A round trip ends when all octets that were sent before its beginning are acknowledged.
///
/// ```
/// use netspurt::explain::FlightCeiling;
/// use netspurt::units::Time;
/// let mut ceiling = FlightCeiling::default();
/// for trip in 1..=30 {
///     // Each round trip sends 50,000 octets, which are acknowledged at once.
///     ceiling.outstanding(50_000);
///     ceiling.acked(Time::from_nanos(trip), (50_000 * trip, 50_000 * trip), 1460);
/// }
/// let series = ceiling.series().unwrap();
/// assert_eq!((series.bytes, series.trips, series.full), (50_000, 29, 29));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlightCeiling {
    /// The current round trip ends when all octets below the octet `trip_end` are acknowledged.
    /// `None` before the first round trip.
    trip_end: Option<u64>,
    /// The most octets that were outstanding in the current round trip.
    most: u64,
    /// The current series of round trips.
    current: CeilingSeries,
    /// The series with the largest number of full round trips so far (see [`CeilingSeries::full`]).
    best: CeilingSeries,
}

/// Consecutive round trips in which nothing was retransmitted, and in which the outstanding octets
/// never exceeded a ceiling by more than two segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CeilingSeries {
    /// The ceiling in octets: the most octets that were outstanding in the first round trip.
    pub bytes: u64,
    /// The number of round trips from the first one up to the last full one.
    pub trips: u64,
    /// The number of full round trips. In a full round trip, the outstanding octets came within two
    /// segments of the ceiling.
    pub full: u64,
    /// When the first full round trip ended.
    pub from: Time,
    /// When the last full round trip ended.
    pub until: Time,
    /// The number of round trips since the last full one.
    since_full: u64,
}

packed_value!(FlightCeiling { trip_end, most, current, best });
packed_value!(CeilingSeries { bytes, trips, full, from, until, since_full });

impl FlightCeiling {
    /// The minimum number of full round trips that show a ceiling. In 20 round trips, a congestion
    /// window would grow by ten segments, so the outstanding octets would exceed the ceiling.
    const FULL_MIN: u64 = 20;
    /// A round trip is full if its outstanding octets are at most `SEGMENTS_OFF` segments below the
    /// ceiling. A series ends if they are more than `SEGMENTS_OFF` segments above the ceiling.
    const SEGMENTS_OFF: u64 = 2;

    /// Notes that `bytes` octets are outstanding after a segment was sent.
    #[inline]
    pub fn outstanding(&mut self, bytes: u64) {
        self.most = self.most.max(bytes);
    }

    /// Takes an acknowledgment of new octets at the instant `at`. `octets` has two values: the
    /// first octet that is not acknowledged, and the first octet that was never sent. A segment has
    /// `segment_bytes` octets of payload.
    #[inline]
    pub fn acked(&mut self, at: Time, octets: (u64, u64), segment_bytes: u64) {
        let (una, highest) = octets;
        if self.trip_end.is_some_and(|end| una < end) {
            return;
        }
        if self.trip_end.is_some() {
            self.end_trip(at, Self::SEGMENTS_OFF * segment_bytes);
        }
        (self.trip_end, self.most) = (Some(highest), highest.saturating_sub(una));
    }

    /// Ends a round trip. It counts as full if its outstanding octets differ from the ceiling by at
    /// most `off_max`.
    fn end_trip(&mut self, at: Time, off_max: u64) {
        let series = &mut self.current;
        if series.full == 0 || self.most > series.bytes + off_max {
            *series = CeilingSeries {
                bytes: self.most,
                trips: 1,
                full: 1,
                from: at,
                until: at,
                since_full: 0,
            };
        } else if self.most + off_max >= series.bytes {
            series.trips += 1 + std::mem::take(&mut series.since_full);
            series.full += 1;
            series.until = at;
        } else {
            series.since_full += 1;
        }
        if series.full > self.best.full {
            self.best = *series;
        }
    }

    /// Ends the current series: a segment was retransmitted, so the sender may have reduced its
    /// congestion window.
    #[inline]
    pub fn interrupted(&mut self) {
        self.current = CeilingSeries::default();
    }

    /// The series with the largest number of full round trips. `None` if the outstanding octets did not come
    /// back to a ceiling often enough.
    pub fn series(&self) -> Option<CeilingSeries> {
        Some(self.best).filter(|best| best.full >= Self::FULL_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The series of a direction. `most` gives, for each round trip, the most octets that were
    /// outstanding.
    fn series(most: impl IntoIterator<Item = u64>) -> Option<CeilingSeries> {
        let (mut ceiling, mut sent) = (FlightCeiling::default(), 0);
        for (trip, bytes) in (0..).zip(most) {
            ceiling.outstanding(bytes);
            sent += bytes;
            ceiling.acked(Time::from_nanos(trip), (sent, sent), 1000);
        }
        ceiling.series()
    }

    #[test]
    fn a_series_is_found_if_the_outstanding_octets_come_back_to_a_ceiling() {
        let found = series((0..90).map(|trip| [40_000, 68_000, 66_500][trip % 3])).unwrap();
        // The first round trip begins with the first acknowledgment.
        assert_eq!((found.bytes, found.full, found.trips), (68_000, 60, 89));
        assert_eq!((found.from.as_nanos(), found.until.as_nanos()), (1, 89));
    }

    #[test]
    fn no_series_is_found_if_the_outstanding_octets_grow_in_each_round_trip() {
        assert_eq!(series((0..500).map(|trip| 20_000 + trip * 500)), None);
    }

    #[test]
    fn a_series_needs_20_full_round_trips() {
        assert_eq!(series([9000; 20]), None);
        assert_eq!(series([9000; 21]).map(|found| found.full), Some(20));
    }

    #[test]
    fn a_retransmission_ends_a_series() {
        let mut ceiling = FlightCeiling::default();
        for trip in 1..=42 {
            ceiling.outstanding(9000);
            ceiling.acked(Time::from_nanos(trip), (9000 * trip, 9000 * trip), 1000);
            if trip == 21 {
                assert_eq!(ceiling.series().map(|found| found.full), Some(20));
                ceiling.interrupted();
            }
        }
        assert_eq!(
            ceiling.series().map(|found| (found.full, found.from.as_nanos())),
            Some((21, 22))
        );
    }
}
