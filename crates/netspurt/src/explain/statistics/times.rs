//! When a direction's packets were captured.

use crate::packed::PackedValue;
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

/// In the packed form, the times count from the first packet, because a time since 1970 takes nine
/// octets.
impl PackedValue for PacketTimes {
    fn put(&self, into: &mut Vec<u8>) {
        let Self { first, last, idle_max, first_data, last_data } = *self;
        first.put(into);
        self.put_time(last, into);
        idle_max.put(into);
        first_data.is_some().put(into);
        if let Some(first_data) = first_data {
            self.put_time(first_data, into);
            self.put_time(last_data, into);
        }
    }

    fn get(from: &mut &[u8]) -> Self {
        let mut this = Self { first: Option::get(from), ..Self::default() };
        this.last = this.get_time(from);
        this.idle_max = Duration::get(from);
        if bool::get(from) {
            this.first_data = Some(this.get_time(from));
            this.last_data = this.get_time(from);
        }
        this
    }
}

impl PacketTimes {
    /// Takes a packet that was captured at the instant `at`. `data` says whether it has payload. If
    /// the capture's clock steps back, the time between the two packets counts as zero.
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

    /// Packs `time` in few octets. A time before the time of the first packet takes more octets.
    pub fn put_time(&self, time: Time, into: &mut Vec<u8>) {
        time.as_nanos().wrapping_sub(self.first.unwrap_or(Time::ZERO).as_nanos()).put(into);
    }

    /// Unpacks a time that [`put_time`](Self::put_time) packed.
    pub fn get_time(&self, from: &mut &[u8]) -> Time {
        let nanos = u64::get(from);
        Time::from_nanos(self.first.unwrap_or(Time::ZERO).as_nanos().wrapping_add(nanos))
    }

    /// The time from the first segment with payload to the last.
    pub fn data_span(&self) -> Option<Duration> {
        self.first_data.map(|first| self.last_data.saturating_since(first))
    }
}
