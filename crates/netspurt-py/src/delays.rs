//! Recordings of the delays of probes, for Python. Python can read recordings from files or make
//! them from columns. This file also pairs the segments of two captures of one path.

use std::net::SocketAddr;
use std::sync::Arc;

use netspurt::delays::{self as core, HalfDelays, Measure, Probe, ProbeOrder, SendTimeSource};
use netspurt::units::{Duration, Time};
use netspurt_files::recordings::{Columns, Format, Hints, Pair, pair, read_as};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::array::{Cell, cells, collected};
use crate::errors::delays_error;

/// A recording of one path.
#[pyclass(frozen, name = "Delays", module = "netspurt._core")]
#[derive(Clone)]
pub struct PyDelays(pub Arc<core::Delays>);

/// The malformed lines of a file, each with its number, its text and its mistake.
type MalformedLines = Vec<(usize, String, String)>;

pub fn order_named(name: &str) -> PyResult<ProbeOrder> {
    match name {
        "sequence" => Ok(ProbeOrder::Sequence),
        "causal" => Ok(ProbeOrder::Causal),
        _ => Err(PyValueError::new_err(format!(
            "order = {name:?}: write `sequence` (one probe in flight) or `causal` (each delay is \
             known when its reply arrives)"
        ))),
    }
}

pub const fn order_name(order: ProbeOrder) -> &'static str {
    match order {
        ProbeOrder::Sequence => "sequence",
        ProbeOrder::Causal => "causal",
    }
}

#[pymethods]
impl PyDelays {
    /// Makes a recording from columns: delays and times of sending in nanoseconds, and numbers of
    /// octets on the wire. A negative delay stands for a lost probe. `sent_ns` and `wire_bytes` may
    /// be missing.
    #[new]
    #[pyo3(signature = (name, rtt_ns, sent_ns, wire_bytes, order))]
    fn new(
        name: &str,
        rtt_ns: &Bound<'_, PyAny>,
        sent_ns: Option<&Bound<'_, PyAny>>,
        wire_bytes: Option<&Bound<'_, PyAny>>,
        order: &str,
    ) -> PyResult<Self> {
        let (rtts, order) = (cells::<i64>(rtt_ns)?, order_named(order)?);
        let sent = sent_ns.map(cells::<i64>).transpose()?;
        let octets = wire_bytes.map(cells::<u32>).transpose()?;
        let probe = |(place, rtt): (usize, &i64)| Probe {
            number: place as u64,
            sent: Time::from_nanos(sent.as_ref().map_or(0, |sent| sent[place].cast_unsigned())),
            rtt: u64::try_from(*rtt).ok().map(Duration::from_nanos),
            late: false,
            wire_bytes: octets.as_ref().map_or(0, |octets| octets[place]),
        };
        let probes = rtts.iter().enumerate().map(probe).collect();
        let times = if sent.is_some() { SendTimeSource::Recorded } else { SendTimeSource::Unknown };
        Ok(Self(Arc::new(core::Delays::of(name, probes, order, times))))
    }

    /// The name of the recording.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The format in which the recording was read.
    #[getter]
    fn format(&self) -> &str {
        &self.0.format
    }

    /// The kind of the recording's delays: `round-trip`, `one-way` or `smoothed`.
    #[getter]
    fn measure(&self) -> &'static str {
        match self.0.measure {
            Measure::RoundTrip => "round-trip",
            Measure::OneWay => "one-way",
            Measure::Smoothed => "smoothed",
        }
    }

    /// When a delay is known: before the next probe leaves (`sequence`), or when the reply arrives
    /// (`causal`).
    #[getter]
    fn order(&self) -> &'static str {
        order_name(self.0.order)
    }

    /// The source of the times of sending: `recorded`, `computed` or `unknown`.
    #[getter]
    fn send_times(&self) -> &'static str {
        match self.0.send_times {
            SendTimeSource::Recorded => "recorded",
            SendTimeSource::Computed => "computed",
            SendTimeSource::Unknown => "unknown",
        }
    }

    /// When the first probe left: nanoseconds since 1970, and whether this is a local time without
    /// a time zone. `None` if the file does not have this time.
    #[getter]
    fn began(&self) -> Option<(i64, bool)> {
        self.0.began.map(|began| (began.unix_ns, began.local))
    }

    /// Whether the file shows that the probed address is a loopback address.
    #[getter]
    fn loopback(&self) -> bool {
        self.0.loopback
    }

    /// The numbers of probes that were sent, answered, lost, late, and answered with an unknown
    /// delay; and the number of duplicate replies.
    #[getter]
    fn counts(&self) -> (u64, u64, u64, u64, u64, u64) {
        let own = &self.0;
        (own.sent(), own.received(), own.lost(), own.late(), own.untimed, own.duplicates)
    }

    /// The assumptions of the file's reader, and what it left out. Each item is a sentence.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }

    /// Returns a copy of the recording in which each probe with a delay above `limit_ns` counts as
    /// lost.
    fn lost_after(&self, limit_ns: u64) -> Self {
        let mut delays = (*self.0).clone();
        delays.give_up_after(Duration::from_nanos(limit_ns));
        Self(Arc::new(delays))
    }

    /// The number of probes in the recording.
    fn __len__(&self) -> usize {
        self.0.probes.len()
    }

    /// The number of each probe.
    fn number<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |probe| probe.number)
    }

    /// When each probe left, in nanoseconds since the beginning of the recording. If `send_times`
    /// is `unknown`, these numbers have no meaning.
    fn sent_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |probe| probe.sent.as_nanos().cast_signed())
    }

    /// The delay of each probe in nanoseconds; -1 for a lost probe.
    fn rtt_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |probe| probe.rtt.map_or(-1, |rtt| rtt.as_nanos().cast_signed()))
    }

    /// Whether each reply came after the tool's give-up time.
    fn late<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |probe| probe.late)
    }

    /// The forward delay of each probe in nanoseconds, measured with the clocks of both ends. An
    /// unknown delay is the lowest 64-bit integer. `None` if the file has neither forward delays
    /// nor directions of losses.
    fn forward_ns<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.half_delays(
            py,
            |half_delays| if let HalfDelays::Forward(ns) = half_delays { ns } else { i64::MIN },
        )
    }

    /// The direction in which each probe was lost: 1 for forward, 2 for reverse, 0 for neither or
    /// unknown. `None` if the file has neither forward delays nor directions of losses.
    fn lost_direction<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        self.half_delays(py, |half_delays| match half_delays {
            HalfDelays::RequestLost => 1_u8,
            HalfDelays::ReplyLost => 2,
            HalfDelays::Unknown | HalfDelays::Forward(_) => 0,
        })
    }

    /// The number of octets of each probe on the wire; zero if it is unknown.
    fn wire_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.column(py, |probe| probe.wire_bytes)
    }
}

impl PyDelays {
    fn half_delays<'py, T: Cell>(
        &self,
        py: Python<'py>,
        value: impl Fn(HalfDelays) -> T,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let half_delays = &self.0.one_way;
        (!half_delays.is_empty())
            .then(|| collected(py, half_delays.iter().copied().map(value)))
            .transpose()
    }

    fn column<'py, T: Cell>(
        &self,
        py: Python<'py>,
        value: impl Fn(&Probe) -> T,
    ) -> PyResult<Bound<'py, PyAny>> {
        collected(py, self.0.probes.iter().map(value))
    }
}

/// Reads the recordings of a file from its octets. Returns the recordings and the malformed lines.
#[pyfunction]
#[pyo3(signature = (name, content, *, format=None, interval_ns=None, columns=None))]
pub fn read_delays(
    py: Python<'_>,
    name: &str,
    content: &[u8],
    format: Option<&str>,
    interval_ns: Option<u64>,
    columns: Option<Vec<(String, String)>>,
) -> PyResult<(Vec<PyDelays>, MalformedLines)> {
    let hints = Hints {
        format: format.map(format_named).transpose()?,
        interval: interval_ns.map(Duration::from_nanos),
        columns: columns_named(columns.unwrap_or_default())?,
    };
    let reading = py.detach(|| read_as(name, content, &hints));
    let reading = reading.map_err(|error| delays_error(py, &error))?;
    let recordings =
        reading.recordings.into_iter().map(|delays| PyDelays(Arc::new(delays))).collect();
    let malformed = reading.malformed.into_iter().map(|m| (m.line, m.text, m.why)).collect();
    Ok((recordings, malformed))
}

fn format_named(name: &str) -> PyResult<Format> {
    Format::by_name(name).ok_or_else(|| {
        let known: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
        let known = known.join(", ");
        PyValueError::new_err(format!("no format is called {name:?}; the formats are {known}"))
    })
}

fn columns_named(given: Vec<(String, String)>) -> PyResult<Columns> {
    let mut columns = Columns::default();
    for (key, name) in given {
        let slot = match key.as_str() {
            "rtt" => &mut columns.rtt,
            "sent" => &mut columns.sent,
            "received" => &mut columns.received,
            "seq" => &mut columns.seq,
            "lost" => &mut columns.lost,
            "group" => &mut columns.group,
            "unit" => &mut columns.unit,
            "time_unit" => &mut columns.time_unit,
            "dates" => &mut columns.dates,
            "one_way" => {
                columns.one_way = name == "true";
                continue;
            }
            _ => {
                let known = "rtt, sent, received, seq, lost, group, unit, time_unit, dates, \
                             one_way";
                let message = format!("no key of columns is called {key:?}; the keys are {known}");
                return Err(PyValueError::new_err(message));
            }
        };
        *slot = Some(name);
    }
    Ok(columns)
}

/// A paired segment as a tuple. The first five values are the source, the destination, the sequence
/// number, the octets of payload, and whether the segment has a SYN. The next two values are the
/// segment's times in the two captures, in nanoseconds since 1970. A time is -1 if the capture does
/// not have the segment. The last values are the number of segments for which the tuple stands, and
/// the number of additional copies of the segment in each capture.
type PairedSegment = (String, String, u32, u32, bool, i64, i64, u32, u32, u32);

/// The source and the destination of a direction in the first capture, and the source and the
/// destination of the same direction in the second capture.
type Translated = ((String, String), (String, String));

/// Pairs the segments of two captures of one path. Also returns the directions of connections whose
/// addresses or ports differ in the second capture.
#[pyfunction]
pub fn pair_captures(
    py: Python<'_>,
    first_name: &str,
    first: &[u8],
    second_name: &str,
    second: &[u8],
) -> PyResult<(Vec<PairedSegment>, Vec<Translated>)> {
    let found = pair((first_name, first), (second_name, second))
        .map_err(|error| delays_error(py, &error))?;
    let text = |end: SocketAddr| end.to_string();
    let row = |p: Pair| {
        let at = |ns: Option<i64>| ns.unwrap_or(-1);
        (
            text(p.from),
            text(p.to),
            p.seq,
            p.len,
            p.opens,
            at(p.seen_ns[0]),
            at(p.seen_ns[1]),
            p.segments,
            p.copies[0],
            p.copies[1],
        )
    };
    let ends = |[from, to]: [SocketAddr; 2]| (text(from), text(to));
    let translated = found.translated.iter().map(|[here, there]| (ends(*here), ends(*there)));
    Ok((found.pairs.into_iter().map(row).collect(), translated.collect()))
}
