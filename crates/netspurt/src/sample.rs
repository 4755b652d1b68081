//! One measured round trip, with the labels a retransmission timer needs to judge it.

use crate::units::{Duration, Time};

/// Where a sample was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SampleSource {
    /// One segment timed at a time.
    TimedSegment,
    /// A time stamp that came back.
    Echo,
}

/// A round-trip time and its circumstances. Producers label; estimators judge.
///
/// ```
/// use netspurt::sample::{RttSample, SampleSource};
/// use netspurt::units::{Duration, Time};
/// let sample = RttSample {
///     at: Time::from_nanos(1_222_138_000),
///     sent: Time::ZERO,
///     rtt: Duration::from_millis(1220),
///     ambiguous: false,
///     source: SampleSource::TimedSegment,
///     acked_bytes: 960,
///     flight_bytes: 0,
/// };
/// assert!(sample.rtt < sample.at - sample.sent, "read from a clock with 10 ms ticks");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RttSample {
    /// When the acknowledgment arrived.
    pub at: Time,
    /// When the timed octets were sent.
    pub sent: Time,
    /// The round trip as the sender's clock read it.
    pub rtt: Duration,
    /// Whether the acknowledgment may answer another copy (Karn and Partridge 1987).
    pub ambiguous: bool,
    /// How it was taken.
    pub source: SampleSource,
    /// Octets acknowledged by that acknowledgment.
    pub acked_bytes: u64,
    /// Octets outstanding after it.
    pub flight_bytes: u64,
}
