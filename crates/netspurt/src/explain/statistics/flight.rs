//! How many octets were outstanding, as seen at the capture point.

use crate::packed::packed_value;
use crate::units::Time;

/// The number of octets that were sent and not acknowledged, as seen at the capture point. In a
/// capture near the sender, this is the flight size. In a capture near the receiver, the number is
/// small.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FlightSize {
    /// How often the outstanding octets were counted: at each packet of the direction except SYN,
    /// RST, retransmissions and packets out of order. Each count is a *value*.
    pub count: u64,
    /// The largest value.
    pub max: u64,
    /// The smallest value above zero. Zero if no value is above zero.
    pub min: u64,
    /// The sum of all values.
    pub sum: u64,
    /// The integral of the outstanding octets over the time up to the instant `since`, in octets
    /// times ns.
    area: u128,
    /// When the number `now` changed last.
    since: Time,
    /// The number of octets that are outstanding now.
    now: u64,
}

packed_value!(FlightSize { count, max, min, sum, area, since, now });

impl FlightSize {
    /// Adds a value: `bytes` are outstanding after a packet.
    #[inline]
    pub fn look(&mut self, bytes: u64) {
        self.count += 1;
        self.max = self.max.max(bytes);
        self.sum += bytes;
        if bytes > 0 && (self.min == 0 || bytes < self.min) {
            self.min = bytes;
        }
    }

    /// Notes that `bytes` are outstanding from the instant `at` on.
    #[inline]
    pub fn change(&mut self, at: Time, bytes: u64) {
        if bytes != self.now {
            let span = at.saturating_since(self.since).as_nanos();
            self.area += u128::from(self.now) * u128::from(span);
            (self.since, self.now) = (self.since.max(at), bytes);
        }
    }

    /// The mean of all values.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The mean over the time from the instant `first` to the instant `last`.
    pub fn mean_over_time(mut self, first: Time, last: Time) -> Option<f64> {
        let span = last.saturating_since(first).as_nanos();
        self.change(last, u64::MAX);
        (span > 0).then(|| self.area as f64 / span as f64)
    }
}
