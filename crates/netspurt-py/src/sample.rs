//! Samples (measured round trips) for Python. This file also converts seconds to spans and instants
//! of the core.

use netspurt::rto::TimeoutKind;
use netspurt::sample::{RttSample, SampleSource};
use netspurt::units::{Duration, Time};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// The kinds of timers that fire, and their names.
pub const KINDS: [(TimeoutKind, &str); 4] = [
    (TimeoutKind::Rto, "rto"),
    (TimeoutKind::Syn, "syn"),
    (TimeoutKind::SynAck, "syn-ack"),
    (TimeoutKind::Probe, "probe"),
];

/// The name of a kind of timer.
pub fn kind_name(kind: TimeoutKind) -> &'static str {
    KINDS[kind as usize].1
}

/// The longest span in seconds. It is a little shorter than the longest span that tables can hold,
/// 2^63 - 1 ns.
const SECONDS_MAX: f64 = 9e9;

/// Converts seconds to a span; `None` if `seconds` is not a number from 0 to [`SECONDS_MAX`].
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
pub fn span(seconds: f64) -> Option<Duration> {
    (0.0..=SECONDS_MAX)
        .contains(&seconds)
        .then(|| Duration::from_nanos((seconds * 1e9).round() as u64))
}

/// Does the same as [`span`], but returns an error for a number that is not allowed. The text
/// `what` in this error says what the number should be.
fn checked(seconds: f64, what: &str) -> PyResult<Duration> {
    span(seconds).ok_or_else(|| {
        PyValueError::new_err(format!("{seconds} is not {what}: write seconds from 0 to 9e9"))
    })
}

/// Converts seconds to a span.
///
/// # Errors
/// When `seconds` is not a number from 0 to [`SECONDS_MAX`].
pub fn duration(seconds: f64) -> PyResult<Duration> {
    checked(seconds, "a duration")
}

/// Converts seconds since the start of the run to an instant.
///
/// # Errors
/// When `seconds` is not a number from 0 to [`SECONDS_MAX`].
pub fn instant(seconds: f64) -> PyResult<Time> {
    Ok(Time::ZERO + checked(seconds, "an instant")?)
}

/// One measured round trip, as estimators get it. Times are in seconds.
#[pyclass(frozen, module = "netspurt._core")]
pub struct Sample(pub RttSample);

#[pymethods]
impl Sample {
    #[new]
    #[pyo3(signature = (
        rtt, *, at=0.0, sent=0.0, ambiguous=false, source="timed-segment", wire_bytes=0,
        acked_bytes=0, flight_bytes=0, smss_bytes=0, retransmissions=0, ack_delay=0.0, round=0,
        handshake=false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "each label is a keyword argument")]
    fn new(
        rtt: f64,
        at: f64,
        sent: f64,
        ambiguous: bool,
        source: &str,
        wire_bytes: u32,
        acked_bytes: u64,
        flight_bytes: u64,
        smss_bytes: u32,
        retransmissions: u8,
        ack_delay: f64,
        round: u64,
        handshake: bool,
    ) -> PyResult<Self> {
        let time = |name: &str, seconds| {
            let wrong = || format!("`{name}` cannot be {seconds}: write seconds from 0 to 9e9");
            span(seconds).ok_or_else(|| PyValueError::new_err(wrong()))
        };
        let named = SOURCES.iter().find(|(_, name)| *name == source);
        let (source, _) = named.ok_or_else(|| {
            let names = SOURCES.map(|(_, name)| name).join(", ");
            PyValueError::new_err(format!("`source` cannot be `{source}`: write one of {names}"))
        })?;
        Ok(Self(RttSample {
            at: instant(at)?,
            sent: instant(sent)?,
            rtt: time("rtt", rtt)?,
            ambiguous,
            source: *source,
            wire_bytes,
            acked_bytes,
            flight_bytes,
            smss_bytes,
            retransmissions,
            ack_delay: time("ack_delay", ack_delay)?,
            round,
            handshake,
        }))
    }

    /// The round trip in seconds, measured by the sender's clock.
    #[getter]
    fn rtt(&self) -> f64 {
        self.0.rtt.as_secs_f64()
    }

    /// When the acknowledgment arrived, in seconds.
    #[getter]
    fn at(&self) -> f64 {
        self.0.at.as_secs_f64()
    }

    /// When the timed octets were sent, in seconds.
    #[getter]
    fn sent(&self) -> f64 {
        self.0.sent.as_secs_f64()
    }

    /// Whether the ACK may answer another transmission of the segment (Karn and Partridge 1987).
    #[getter]
    fn ambiguous(&self) -> bool {
        self.0.ambiguous
    }

    /// The way in which the sample was measured.
    #[getter]
    fn source(&self) -> &'static str {
        SOURCES.iter().find(|(source, _)| *source == self.0.source).map_or("", |(_, name)| name)
    }

    /// The octets of the timed segment on the wire, including headers.
    #[getter]
    fn wire_bytes(&self) -> u32 {
        self.0.wire_bytes
    }

    /// The octets that the acknowledgment newly acknowledged.
    #[getter]
    fn acked_bytes(&self) -> u64 {
        self.0.acked_bytes
    }

    /// The octets outstanding after the acknowledgment.
    #[getter]
    fn flight_bytes(&self) -> u64 {
        self.0.flight_bytes
    }

    /// The octets of payload in a full segment of this sender.
    #[getter]
    fn smss_bytes(&self) -> u32 {
        self.0.smss_bytes
    }

    /// The number of retransmissions of the timed segment.
    #[getter]
    fn retransmissions(&self) -> u8 {
        self.0.retransmissions
    }

    /// How long the peer delayed the acknowledgment, in seconds, as the peer says. Zero if the peer
    /// says nothing about it.
    #[getter]
    fn ack_delay(&self) -> f64 {
        self.0.ack_delay.as_secs_f64()
    }

    /// The number of rounds so far; a round is the time from the sending of an octet until its ACK.
    #[getter]
    fn round(&self) -> u64 {
        self.0.round
    }

    /// Whether the sample is of the handshake, and not of data.
    #[getter]
    fn handshake(&self) -> bool {
        self.0.handshake
    }

    fn __repr__(&self) -> String {
        let ambiguous = if self.0.ambiguous { ", ambiguous=True" } else { "" };
        format!("Sample({}{ambiguous})", self.rtt())
    }
}

const SOURCES: [(SampleSource, &str); 4] = [
    (SampleSource::TimedSegment, "timed-segment"),
    (SampleSource::EachSegment, "each-segment"),
    (SampleSource::Echo, "echo"),
    (SampleSource::Probe, "probe"),
];

/// Reads a sample, or makes one from a round trip in seconds.
pub fn sample_of(given: &Bound<'_, PyAny>) -> PyResult<RttSample> {
    if let Ok(sample) = given.cast::<Sample>() {
        return Ok(sample.get().0);
    }
    let seconds: f64 = given.extract().map_err(|_| {
        PyTypeError::new_err("a sample is a `Sample`, or the round trip in seconds")
    })?;
    let wrong = || {
        PyValueError::new_err(format!("{seconds} is not a round trip: write seconds from 0 to 9e9"))
    };
    Ok(RttSample { rtt: span(seconds).ok_or_else(wrong)?, ..RttSample::default() })
}
