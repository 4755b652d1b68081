//! One measured round trip, with the labels that a retransmission timer needs to judge it.

use crate::units::{Duration, Time};

/// The way in which a sample was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SampleSource {
    /// The sender times one segment at a time, which gives about one sample in each round trip.
    #[default]
    TimedSegment,
    /// The sender's scoreboard times every segment.
    EachSegment,
    /// The ACK echoed a timestamp (RFC 7323 §4).
    Echo,
    /// The sample is the round trip of a probe that belongs to no stream: an echo request, or a
    /// packet of a measuring tool.
    Probe,
}

/// A round-trip time and its circumstances. The producer of a sample sets the labels, and the timer
/// algorithm (the estimator) decides how to use the sample.
///
/// A label that a producer does not know keeps its default: zero, `false`, or the source
/// [`TimedSegment`](SampleSource::TimedSegment).
///
/// ```
/// use netspurt::sample::{RttSample, SampleSource};
/// use netspurt::units::{Duration, Time};
/// let sample = RttSample {
///     at: Time::from_nanos(1_222_138_000),
///     rtt: Duration::from_millis(1220),
///     acked_bytes: 960,
///     ..RttSample::default()
/// };
/// assert!(sample.rtt < sample.at - sample.sent, "read from a clock with 10 ms ticks");
/// assert_eq!((sample.source, sample.ambiguous), (SampleSource::TimedSegment, false));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RttSample {
    /// When the acknowledgment arrived.
    pub at: Time,
    /// When the timed octets were sent.
    pub sent: Time,
    /// The round trip as the sender's clock read it.
    pub rtt: Duration,
    /// Whether the acknowledgment may answer another transmission of the segment (Karn and
    /// Partridge 1987).
    pub ambiguous: bool,
    /// The way in which the sample was measured.
    pub source: SampleSource,
    /// The size of the timed segment on the wire in octets, including headers.
    pub wire_bytes: u32,
    /// The number of octets that the acknowledgment newly acknowledged.
    pub acked_bytes: u64,
    /// The number of octets outstanding after the acknowledgment.
    pub flight_bytes: u64,
    /// The number of octets of payload in a full segment of this sender (SMSS of RFC 5681 §2).
    pub smss_bytes: u32,
    /// The number of retransmissions of the timed segment.
    pub retransmissions: u8,
    /// The time for which the peer delayed the acknowledgment, as the peer reports it. Without a
    /// report, the time is zero.
    pub ack_delay: Duration,
    /// The number of rounds so far. When a round begins, the sender notes the number of the next
    /// octet that it will send. The next round begins with the first ACK of all octets before this
    /// octet. With Linux's rule (`rtt_seq`), the next round begins with the first ACK that also
    /// covers this octet. Echo probes and shadows also follow Linux's rule, but with times of
    /// sending instead of octets. A shadow is a timer that gets the samples of a run but does not
    /// influence the run.
    pub round: u64,
    /// Whether the sample comes from the handshake, and not from data.
    pub handshake: bool,
}
