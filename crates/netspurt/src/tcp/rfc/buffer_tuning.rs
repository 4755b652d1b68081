//! Estimates how many octets the application reads in a round trip, and how long a round trip is,
//! so that the receive buffer can be tuned.

use crate::packed::packed_value;
use crate::units::{Duration, Time};

use super::stamps::since_stamp;

/// How much an application reads in a round trip, as Linux measures it (`tcp_rcv_space_adjust`).
///
/// The receiver measures the round trip in two ways: from the echoes of its timestamps, and from
/// the time in which the peer fills the receive window. The second measurement is too long if the
/// peer does not fill the window. The second measurement therefore never raises the estimate.
#[derive(Debug, Default)]
pub(super) struct BufferTuning {
    /// Eight times the round trip in nanoseconds. The value is zero if the round trip is unknown.
    rtt: u64,
    /// The end of the receive window that is being measured.
    window_end: u64,
    /// When this measurement began.
    window_since: Option<Time>,
    /// The timestamp that was echoed last.
    echo: u32,
    /// The maximum number of octets read in a round trip.
    space: u64,
    /// The octet up to which the application had read when the present count of read octets began.
    read_to: u64,
    /// When the present count of read octets began.
    since: Time,
}

packed_value!(BufferTuning { rtt, window_end, window_since, echo, space, read_to, since });

impl BufferTuning {
    /// Begins to count the octets that the application reads. The caller calls this method when the
    /// connection is open. `space` is the initial value of the maximum number of octets read in a
    /// round trip.
    pub(super) fn begin(&mut self, space: u64, now: Time) {
        *self = Self { space, read_to: 1, since: now, ..Self::default() };
    }

    /// The round trip. The result is zero if the round trip is not known.
    pub(super) fn rtt(&self) -> Duration {
        Duration::from_nanos(self.rtt / 8)
    }

    /// The maximum number of octets read in a round trip.
    pub(super) fn space(&self) -> u64 {
        self.space
    }

    /// Sets the maximum number of octets read in a round trip to `space`. Returns the old value.
    pub(super) fn take_space(&mut self, space: u64) -> u64 {
        core::mem::replace(&mut self.space, space)
    }

    /// Limits the maximum number of octets read in a round trip to `octets_max`, because no receive
    /// window can be larger.
    pub(super) fn bound(&mut self, octets_max: u64) {
        self.space = self.space.min(octets_max);
    }

    /// Measures the round trip by the receive window, when data has arrived up to the octet `next`.
    /// The last advertised window has `advertised` octets.
    #[inline]
    pub(super) fn on_window(&mut self, next: u64, advertised: u64, now: Time) {
        if let Some(since) = self.window_since {
            if next < self.window_end {
                return;
            }
            let trip = now.saturating_since(since).as_nanos().max(1000);
            if self.rtt == 0 || 8 * trip < self.rtt {
                self.rtt = 8 * trip;
            }
        }
        (self.window_end, self.window_since) = (next + advertised, Some(now));
    }

    /// Measures the round trip by the timestamp `echo` that a segment echoes. Only the first
    /// segment with this echo counts, and only if it is a full segment. The first round trip, and
    /// any round trip shorter than the estimate, becomes the estimate. A round trip above the
    /// estimate raises the estimate by an eighth of the difference, but only if the application has
    /// read everything (`has_read`).
    #[inline]
    pub(super) fn on_echo(&mut self, echo: u32, is_full: bool, has_read: bool, now: Time) {
        if core::mem::replace(&mut self.echo, echo) == echo || !is_full {
            return;
        }
        let trip = since_stamp(echo, now).as_nanos();
        if trip == 0 || trip > u64::from(u32::MAX) * 1_000_000 / 2 {
            return;
        }
        if self.rtt == 0 || 8 * trip < self.rtt {
            self.rtt = 8 * trip;
        } else if has_read {
            self.rtt = self.rtt - self.rtt / 8 + trip;
        }
    }

    /// Counts what the application reads: it has read up to the octet `read_to`, and `unread` is
    /// the number of octets that arrived in order and wait for it. Once per round trip, computes
    /// the number of octets that the application read in that round trip. Like Linux, subtracts
    /// `unread` from this number. Returns the result if it is greater than the maximum so far.
    #[inline]
    pub(super) fn on_read(&mut self, read_to: u64, unread: u64, now: Time) -> Option<u64> {
        if self.rtt == 0 || now.saturating_since(self.since).as_nanos() < self.rtt / 8 {
            return None;
        }
        let copied = (read_to - self.read_to).saturating_sub(unread);
        (self.read_to, self.since) = (read_to, now);
        (copied > self.space).then_some(copied)
    }
}
