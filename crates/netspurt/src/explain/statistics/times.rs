//! When a direction's packets were captured.

use crate::packed::packed_value;
use crate::units::{Duration, Time};

/// When the packets of a direction were captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketTimes {
    /// When the first packet was captured.
    pub first: Option<Time>,
    /// When the latest packet was captured.
    pub last: Time,
    /// The longest time between two packets that follow each other in this direction.
    pub idle_max: Duration,
    /// When the first packet with payload was captured.
    pub first_data: Option<Time>,
    /// When the latest packet with payload was captured.
    pub last_data: Time,
}

packed_value!(PacketTimes { first, last, idle_max, first_data, last_data });

impl PacketTimes {
    /// Takes a packet that was captured at `at`. `data` says whether it has payload. If the
    /// capture's clock steps back, the step counts as no time.
    #[inline]
    pub fn take(&mut self, at: Time, data: bool) {
        if self.first.is_none() {
            (self.first, self.last) = (Some(at), at);
        }
        self.idle_max = self.idle_max.max(at.saturating_since(self.last));
        self.last = self.last.max(at);
        if data {
            self.first_data.get_or_insert(at);
            self.last_data = self.last_data.max(at);
        }
    }

    /// The time from the first segment with payload to the last.
    pub fn data_span(&self) -> Option<Duration> {
        self.first_data.map(|first| self.last_data.saturating_since(first))
    }
}
