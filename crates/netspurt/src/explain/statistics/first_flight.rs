//! The first flight of a direction: the data that its sender sent with its initial window.

use crate::packed::packed_value;
use crate::units::{Duration, Time};

/// The data that a sender sent before it could know of any arrival: the *first flight*. It is not
/// larger than the initial window. It is smaller if the application had less data.
///
/// The first flight ends with the first acknowledgment of data, duplicate acknowledgment or SACK
/// block. It also ends with a silence of one round trip: data after such a silence may be a tail
/// loss probe with new data (RFC 8985 §7.3), or may come after a timeout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FirstFlight {
    /// Octets of payload.
    pub bytes: u32,
    /// Segments with payload.
    pub packets: u16,
    /// Whether the capture was taken beside the sender. Elsewhere, acknowledgments pass the capture
    /// before they reach the sender, so the end of the first flight is not known.
    pub beside_sender: bool,
    /// Whether the first flight has ended.
    over: bool,
    /// When the last segment of the flight was sent.
    last: Time,
}

packed_value!(FirstFlight { bytes, packets, beside_sender, over, last });

impl FirstFlight {
    /// A shorter silence does not end the flight, because a busy host may pause for so long. No
    /// timer of a sender is so short.
    const SILENCE_MIN: Duration = Duration::from_millis(1);
    /// A silence of this length ends the flight if the round trip is not known. It is the minimum
    /// RTO of Linux (`TCP_RTO_MIN`).
    const SILENCE_WITHOUT_RTT: Duration = Duration::from_millis(200);

    /// Whether the flight has not ended.
    #[inline]
    pub const fn is_open(&self) -> bool {
        !self.over
    }

    /// Ends the flight.
    #[inline]
    pub const fn end(&mut self) {
        self.over = true;
    }

    /// Takes a segment with `bytes` octets of payload, sent at the instant `at`. `new` says whether
    /// the octets are new. `rtt` is the round trip of the SYN, if it is known.
    pub fn take(&mut self, at: Time, bytes: u32, new: bool, rtt: Option<Duration>) {
        let silence = rtt.map_or(Self::SILENCE_WITHOUT_RTT, |rtt| rtt.max(Self::SILENCE_MIN));
        if self.packets > 0 && at.saturating_since(self.last) >= silence {
            self.over = true;
        }
        if self.over || !new || bytes == 0 {
            return;
        }
        self.bytes = self.bytes.saturating_add(bytes);
        self.packets = self.packets.saturating_add(1);
        self.last = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The segments of a flight whose segments have 100 octets and come at the instants `at_us`.
    fn flight(rtt_us: Option<u64>, at_us: &[u64]) -> u16 {
        let mut flight = FirstFlight::default();
        for &us in at_us {
            let at = Time::ZERO + Duration::from_micros(us);
            flight.take(at, 100, true, rtt_us.map(Duration::from_micros));
        }
        assert_eq!(flight.bytes, u32::from(flight.packets) * 100);
        flight.packets
    }

    #[test]
    fn a_silence_of_one_round_trip_ends_the_first_flight() {
        assert_eq!(flight(Some(40_000), &[50_000, 60_000, 99_999, 139_998, 179_998, 179_999]), 4);
    }

    #[test]
    fn a_silence_of_less_than_a_millisecond_does_not_end_the_first_flight() {
        assert_eq!(flight(Some(50), &[100, 1099, 2098, 3098, 3099]), 3);
    }

    #[test]
    fn without_a_round_trip_200_ms_end_the_first_flight() {
        assert_eq!(flight(None, &[0, 199_999, 399_999]), 2);
    }

    #[test]
    fn old_octets_do_not_count_and_end_the_first_flight_only_after_a_silence() {
        let mut flight = FirstFlight::default();
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let rtt = Some(Duration::from_millis(10));
        flight.take(at(5), 100, true, rtt);
        flight.take(at(6), 100, false, rtt);
        assert!(flight.is_open());
        flight.take(at(20), 100, false, rtt);
        assert!(!flight.is_open());
        flight.take(at(21), 100, true, rtt);
        assert_eq!((flight.bytes, flight.packets), (100, 1));
    }
}
