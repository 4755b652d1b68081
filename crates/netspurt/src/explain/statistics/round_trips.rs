//! Round trips by the acknowledgements of segments.

use crate::packed::packed_value;
use crate::units::Time;

use super::spread::Spread;

/// A segment that an acknowledgement covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoveredSegments {
    /// Octets of payload.
    pub payload_bytes: u64,
    /// When it was sent last.
    pub sent: Time,
    /// Whether it was sent once.
    pub once: bool,
    /// Whether it is the SYN.
    pub syn: bool,
    /// Whether it ends where the acknowledgement does.
    pub last: bool,
}

/// Round trips between the capture's point and the receiver of a direction.
///
/// An acknowledgement is timed if it equals the end of a segment that was sent once (Karn and
/// Partridge 1987), and if nothing below that segment was sent after it: the acknowledgement might
/// have waited for that. The rule is tcptrace's; [`OneWay`](crate::observe::OneWay) has another one,
/// for the samples that a sender takes.
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
    /// Acknowledgements of a segment where octets below it were sent after it.
    pub post_loss: u64,
    /// Segments whose acknowledgement also covers later segments.
    pub cumulative: u64,
    /// The latest time at which acknowledged octets were sent.
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
    /// Takes an acknowledgement at `at` that is the first to cover `segment`. Returns whether it
    /// would end the round trip of a segment that was sent more than once.
    #[inline]
    pub fn cover(&mut self, at: Time, segment: CoveredSegments) -> bool {
        let overtaken = self.latest > segment.sent;
        self.latest = self.latest.max(segment.sent);
        if !segment.last {
            self.cumulative += 1;
            return false;
        }
        if overtaken {
            self.post_loss += 1;
            return false;
        }
        if segment.once {
            self.sample(at, segment);
        }
        !segment.once
    }

    fn sample(&mut self, at: Time, segment: CoveredSegments) {
        let rtt = at.saturating_since(segment.sent);
        self.all.add(rtt);
        if segment.syn {
            self.handshake = Some(rtt.as_nanos());
        }
        if segment.payload_bytes > self.full_bytes {
            (self.full_bytes, self.full_size) = (segment.payload_bytes, Spread::default());
        }
        if segment.payload_bytes > 0 && segment.payload_bytes == self.full_bytes {
            self.full_size.add(rtt);
        }
    }

    /// Notes that octets that were already acknowledged were sent again at `at`.
    pub fn repeated(&mut self, at: Time) {
        self.latest = self.latest.max(at);
    }
}
