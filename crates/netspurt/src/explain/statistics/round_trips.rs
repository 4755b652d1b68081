//! Round trips, measured by the acknowledgments of segments.

use crate::packed::packed_value;
use crate::units::{Duration, Time};

use super::spread::Spread;

/// Round trips between the capture and the receiver of a direction.
///
/// An acknowledgment is timed if two conditions hold. First, the acknowledgment ends at the end of
/// a segment, and this segment was sent only once (Karn and Partridge 1987). Second, no octets
/// below this segment were sent after the segment, because otherwise the acknowledgment might have
/// waited for these octets. These are the conditions of the program tcptrace.
/// [`OneWay`](crate::observe::OneWay) has other conditions, for the samples that a sender takes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundTripStatistics {
    /// All timed round trips.
    pub all: Spread,
    /// The timed round trips of segments that have the largest payload of all timed segments.
    pub full_size: Spread,
    /// The largest payload of a timed segment, in octets.
    full_bytes: u64,
    /// The round trip of the SYN in nanoseconds, if the SYN was sent once.
    pub handshake: Option<u64>,
    /// Acknowledgments that are not timed because octets below their segment were sent after the
    /// segment.
    pub post_loss: u64,
    /// Segments whose acknowledgment also covers later segments.
    pub cumulative: u64,
    /// The time of the latest transmission of any acknowledged octets.
    latest: Time,
}

packed_value!(RoundTripStatistics {
    all,
    full_size,
    full_bytes,
    handshake,
    post_loss,
    cumulative,
    latest
});

impl RoundTripStatistics {
    /// Takes an acknowledgment that newly covers a segment. The segment was sent last at the
    /// instant `sent`. `last` says whether the segment and the acknowledgment end at the same
    /// octet. Returns whether two conditions hold: `last` is true, and no octets below the segment
    /// were sent after the segment. The caller checks whether the segment was sent only once.
    #[inline]
    pub fn cover(&mut self, sent: Time, last: bool) -> bool {
        let overtaken = self.latest > sent;
        self.latest = self.latest.max(sent);
        self.cumulative += u64::from(!last);
        self.post_loss += u64::from(last && overtaken);
        last && !overtaken
    }

    /// Takes an acknowledgment that newly covers a part, but not the last part, of a segment. A
    /// segment is divided into parts if a retransmission or a SACK block begins or ends within it.
    /// The latest transmission of this part was at the instant `sent`.
    #[inline]
    pub fn cover_part(&mut self, sent: Time) {
        self.latest = self.latest.max(sent);
    }

    /// Takes the round trip of a segment that was sent once and has `payload_bytes` octets of
    /// payload. `syn` says whether the segment is the SYN.
    #[inline]
    pub fn sample(&mut self, rtt: Duration, payload_bytes: u64, syn: bool) {
        self.all.add(rtt);
        if syn {
            self.handshake = Some(rtt.as_nanos());
        }
        if payload_bytes > self.full_bytes {
            (self.full_bytes, self.full_size) = (payload_bytes, Spread::default());
        }
        if payload_bytes > 0 && payload_bytes == self.full_bytes {
            self.full_size.add(rtt);
        }
    }

    /// Notes a retransmission, at the instant `at`, of octets that were already acknowledged.
    pub fn repeated(&mut self, at: Time) {
        self.latest = self.latest.max(at);
    }
}
