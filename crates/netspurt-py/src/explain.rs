//! Explained captures for Python.

use std::fs::File;
use std::path::PathBuf;

use netspurt::explain::{Explainer, Explanation, connections_table, retransmissions_table};
use netspurt::wire::CaptureReader;
use pyo3::prelude::*;

use crate::errors::file_error;
use crate::table::PyTable;

/// A capture, explained.
#[pyclass(frozen, name = "Explanation", module = "netspurt._core")]
pub struct PyExplanation {
    explanation: Explanation,
    fault: Option<String>,
}

#[pymethods]
impl PyExplanation {
    /// Its tables.
    fn tables(&self) -> Vec<PyTable> {
        let found = &self.explanation;
        let mut tables = vec![connections_table(found), retransmissions_table(found)];
        if let Some(transcript) = &found.transcript {
            tables.extend(transcript.tables(&found.connections, found.start));
        }
        tables.into_iter().map(PyTable::of).collect()
    }

    /// When the first packet of TCP was captured, in nanoseconds since 1970.
    #[getter]
    fn start_ns(&self) -> u64 {
        self.explanation.start.as_nanos()
    }

    /// Where and why the reading stopped early.
    #[getter]
    fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Packets: all, those of TCP, those without IP, other ones.
    #[getter]
    fn passed(&self) -> (u64, u64, u64, u64) {
        let passed = self.explanation.passed;
        (passed.packets, passed.tcp, passed.no_ip, passed.other)
    }
}

/// Explains the capture at `path`; with `segments` it keeps the packets, of all connections or of
/// the one with the number `connection`.
#[pyfunction]
#[pyo3(signature = (path, *, segments=false, connection=None))]
pub fn explain(
    py: Python<'_>,
    path: PathBuf,
    segments: bool,
    connection: Option<u64>,
) -> PyResult<PyExplanation> {
    let name = path.display().to_string();
    py.detach(|| {
        let file = File::open(&path).map_err(|e| file_error(&name, e))?;
        let mut reader = CaptureReader::new(file).map_err(|e| file_error(&name, e))?;
        let mut explainer = Explainer::default();
        if segments {
            explainer = explainer.with_transcript(connection);
        }
        let fault = loop {
            match reader.next_packet() {
                Ok(Some(packet)) => explainer.take(&packet),
                Ok(None) => break None,
                Err(fault) => break Some(fault.to_string()),
            }
        };
        Ok(PyExplanation { explanation: explainer.finish(), fault })
    })
}
