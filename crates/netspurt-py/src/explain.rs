//! Explains captures for Python: finds the connections of TCP in recorded packets, and the causes
//! of their retransmissions.

use std::fs::File;
use std::io::{self, Read};
use std::mem::take;
use std::path::PathBuf;

use netspurt::explain::{Explainer, Explanation, JoinedCaptures, Passed, RowLayout};
use netspurt::unpack::{Packing, Unpacked};
use netspurt::wire::{CaptureFault, CaptureReader, CaptureSource, is_capture};
use netspurt_live::sys::return_free_memory;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::file_error;
use crate::interrupts::Raised;
use crate::table::PyTable;

/// The explanation of a capture: its connections, their retransmissions and, on request, its
/// packets.
#[pyclass(name = "Explanation", module = "netspurt._core")]
pub struct PyExplanation {
    explanation: Explanation,
    fault: Option<String>,
}

/// The faults of captures that could not be read to the end. If there are several captures, each
/// fault has the name of its capture.
fn fault_of(names: &[String], faults: &[(usize, CaptureFault)]) -> Option<String> {
    let named = |(place, fault): &(usize, CaptureFault)| match names {
        [_] => fault.to_string(),
        _ => format!("{}: {fault}", names[*place]),
    };
    (!faults.is_empty()).then(|| faults.iter().map(named).collect::<Vec<_>>().join("; "))
}

#[pymethods]
impl PyExplanation {
    /// Returns the tables of the capture. The object has no connections and no packets afterwards.
    fn take_tables(&mut self, py: Python<'_>) -> Vec<PyTable> {
        let Explanation { connections, transcript, start, .. } = &mut self.explanation;
        let (connections, transcript) = (take(connections), take(transcript));
        let tables = py.detach(|| {
            let of_packets = transcript.map(|packets| packets.tables(&connections, *start));
            let mut tables = connections.into_tables();
            tables.extend(of_packets.into_iter().flatten());
            // The memory of the connections is free now.
            return_free_memory();
            tables
        });
        tables.into_iter().map(PyTable::of).collect()
    }

    /// Joins the explanations of several captures. The connections of each capture are numbered
    /// after the connections of the capture before it. Packets are not kept. If several captures
    /// have a fault, the first fault is kept.
    #[staticmethod]
    fn pooled(captures: Vec<PyRef<'_, Self>>) -> Self {
        let all = captures.iter().map(|capture| &capture.explanation);
        let fault = captures.iter().find_map(|capture| capture.fault.clone());
        Self { explanation: Explanation::pooled(all), fault }
    }

    /// The number of connections.
    fn __len__(&self) -> usize {
        self.explanation.connections.len()
    }

    /// When the first packet of TCP was captured, in nanoseconds since 1970. 0 if no packet of TCP
    /// was captured.
    #[getter]
    fn start_ns(&self) -> u64 {
        self.explanation.start.as_nanos()
    }

    /// Where and why the reading ended early; `None` if the whole capture was read.
    #[getter]
    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// The properties of the capture that limit the explanation, in words.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.explanation.notes.lines()
    }

    /// The number of packets of each of five kinds: all packets, TCP packets, packets without IP or
    /// of an unknown link type, TCP fragments that complete no datagram, and other IP packets.
    #[getter]
    fn passed(&self) -> (u64, u64, u64, u64, u64) {
        as_tuple(self.explanation.passed)
    }
}

fn as_tuple(passed: Passed) -> (u64, u64, u64, u64, u64) {
    (passed.packets, passed.tcp, passed.no_ip, passed.fragments, passed.other)
}

/// A source whose reading stops if a signal's handler raises an exception. Without this type, the
/// user could not stop the reading of a pipe that sends nothing.
struct Interruptible {
    source: CaptureSource,
    raised: Raised,
}

impl Read for Interruptible {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(out);
        if count.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::Interrupted) {
            self.raised.check()?;
        }
        count
    }
}

/// Explains captures step by step. Several captures are joined: they count as one capture.
#[pyclass(name = "Explaining", module = "netspurt._core")]
pub struct PyExplaining {
    captures: JoinedCaptures,
    names: Vec<String>,
    raised: Raised,
    explainer: Explainer,
    over: bool,
}

#[pymethods]
impl PyExplaining {
    /// Opens the captures at `paths`. A capture may be compressed. The path `-` is the standard
    /// input. If `segments` is true, packets are kept. If `connection` is given, only the packets
    /// of the connection with this number are kept.
    #[new]
    #[pyo3(signature = (paths, *, segments=false, connection=None))]
    fn new(
        py: Python<'_>,
        paths: Vec<PathBuf>,
        segments: bool,
        connection: Option<u64>,
    ) -> PyResult<Self> {
        py.detach(|| {
            let raised = Raised::default();
            let readers: PyResult<Vec<_>> =
                paths.iter().map(|path| opened(path, raised.clone())).collect();
            raised.raise()?;
            let captures = JoinedCaptures::new(readers?);
            let names = paths.iter().map(|path| path.display().to_string()).collect();
            let mut explainer = Explainer::default();
            if segments {
                explainer = explainer.with_transcript(connection);
            }
            Ok(Self { captures, names, raised, explainer, over: false })
        })
    }

    /// Takes the next packets; returns whether there may be more.
    fn advance(&mut self, py: Python<'_>) -> PyResult<bool> {
        py.detach(|| {
            self.over = !self.captures.explain(&mut self.explainer);
            self.raised.raise()?;
            Ok(!self.over)
        })
    }

    /// The next rows, about 64 KiB of text. Each row describes a connection that has ended. The
    /// text is empty if no more connections have ended. After the end of the capture, all
    /// connections count as ended. `layout` names the layout of the rows: netspurt's own or
    /// tcptrace's. If `file` is given, each row of netspurt's own layout names this file.
    #[pyo3(signature = (layout, file=None))]
    fn rows(&mut self, py: Python<'_>, layout: &str, file: Option<&str>) -> PyResult<Vec<u8>> {
        let layout: RowLayout = layout.parse().map_err(PyValueError::new_err)?;
        py.detach(|| Ok(self.explainer.rows(layout, self.over, file)?))
    }

    /// The heading of the rows: a line with the names of the columns. `file` says whether the rows
    /// name files.
    #[staticmethod]
    fn heading(layout: &str, file: bool) -> PyResult<Vec<u8>> {
        let layout: RowLayout = layout.parse().map_err(PyValueError::new_err)?;
        Ok(layout.heading(file)?)
    }

    /// The number of connections so far.
    #[getter]
    fn connections(&self) -> u64 {
        self.explainer.connections()
    }

    /// The time from the first packet of TCP to the latest so far, in nanoseconds.
    #[getter]
    fn span_ns(&self) -> u64 {
        self.explainer.span().as_nanos()
    }

    /// Where and why the reading ended early; `None` if it has not ended early so far.
    #[getter]
    fn fault(&self) -> Option<String> {
        fault_of(&self.names, self.captures.faults())
    }

    /// The properties of the capture that limit the explanation, in words, as far as they are known
    /// by now.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.explainer.notes().lines()
    }

    /// The five numbers of `Explanation.passed` for the packets that were read so far.
    #[getter]
    fn passed(&self) -> (u64, u64, u64, u64, u64) {
        as_tuple(self.explainer.passed())
    }

    /// Returns the explanation of all connections that were not returned as rows. The object is
    /// empty afterwards.
    fn finish(&mut self, py: Python<'_>) -> PyExplanation {
        let explainer = take(&mut self.explainer);
        let explanation = py.detach(|| explainer.finish());
        PyExplanation { explanation, fault: self.fault() }
    }
}

/// Whether a file that begins with `octets` is a capture, or a compressed file that may be a
/// capture.
#[pyfunction]
pub fn begins_capture(octets: &[u8]) -> bool {
    is_capture(octets) || Packing::of(octets).is_some()
}

fn opened(path: &PathBuf, raised: Raised) -> PyResult<CaptureReader<Unpacked<CaptureSource>>> {
    let name = path.display().to_string();
    let source: CaptureSource = if name == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path).map_err(|e| file_error(&name, e))?)
    };
    let source: CaptureSource = Box::new(Interruptible { source, raised });
    CaptureReader::unpacking(source).map_err(|e| file_error(&name, e))
}
