//! The core's errors as Python's.

use std::error::Error;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use netspurt::place::Place;

/// An exception with attributes that tell the parts of its mistake.
fn with_parts(
    py: Python<'_>,
    raised: PyErr,
    set: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<()>,
) -> PyErr {
    match set(raised.value(py)) {
        Ok(()) => raised,
        Err(failed) => failed,
    }
}

fn said(instance: &Bound<'_, PyAny>, message: &str, fix: &str, file: &str) -> PyResult<()> {
    instance.setattr("message", message)?;
    instance.setattr("fix", fix)?;
    instance.setattr("file", file)
}

fn placed(instance: &Bound<'_, PyAny>, place: Option<&Place>) -> PyResult<()> {
    instance.setattr("line", place.map(|place| place.line))?;
    instance.setattr("column", place.map(|place| place.column))
}

create_exception!(
    netspurt,
    ScenarioError,
    PyValueError,
    "A mistake in a scenario; `message`, `fix`, `file`, `line`, `column`, `key` and `value` tell."
);

/// A scenario's mistake, with its parts as attributes.
pub fn scenario_error(py: Python<'_>, error: &netspurt::scenario::ScenarioError) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    with_parts(py, raised, |instance| {
        said(instance, &error.message, &error.fix, &error.file)?;
        instance.setattr("key", &error.key)?;
        instance.setattr("value", &error.value)?;
        placed(instance, error.place.as_ref())
    })
}

create_exception!(
    netspurt,
    ScriptError,
    PyValueError,
    "A mistake in a script; `message`, `fix`, `file`, `line` and `column` tell."
);

/// A script's mistake, with its parts as attributes.
pub fn script_error(py: Python<'_>, error: &netspurt::script::ScriptError) -> PyErr {
    let raised = ScriptError::new_err(error.to_string());
    with_parts(py, raised, |instance| {
        said(instance, &error.message, &error.fix, &error.file)?;
        placed(instance, error.place.as_ref())
    })
}

create_exception!(
    netspurt,
    DelaysError,
    PyValueError,
    "A file without recorded delays; `message`, `fix`, `file` and `line` tell."
);

/// What is wrong with a file of delays, with its parts as attributes.
pub fn delays_error(py: Python<'_>, error: &netspurt::delays::RecordingError) -> PyErr {
    let raised = DelaysError::new_err(error.to_string());
    with_parts(py, raised, |instance| {
        said(instance, &error.message, &error.fix, &error.file)?;
        instance.setattr("line", error.line)
    })
}

create_exception!(
    netspurt,
    OrbitError,
    PyValueError,
    "A mistake in elements, a station or a span; `message`, `fix`, `file`, `line`, `column` tell."
);

/// A mistake in an orbit, with its parts as attributes.
pub fn orbit_error(py: Python<'_>, error: &netspurt::orbit::OrbitError) -> PyErr {
    let raised = OrbitError::new_err(error.to_string());
    with_parts(py, raised, |instance| {
        said(instance, &error.message, &error.fix, &error.file)?;
        placed(instance, error.place.as_ref())
    })
}

create_exception!(
    netspurt,
    EstimatorError,
    PyValueError,
    "A mistake in a timer; `algorithm`, `key`, `value`, `message` and `fix` tell."
);

/// A timer's mistake, with its parts as attributes.
pub fn estimator_error(py: Python<'_>, error: &netspurt::rto::EstimatorError) -> PyErr {
    let raised = EstimatorError::new_err(error.to_string());
    with_parts(py, raised, |instance| {
        instance.setattr("algorithm", &error.algorithm)?;
        instance.setattr("key", &error.key)?;
        instance.setattr("value", &error.value)?;
        instance.setattr("message", &error.message)?;
        instance.setattr("fix", &error.fix)
    })
}

create_exception!(
    netspurt,
    ReplayError,
    PyValueError,
    "A recording that cannot be replayed: no probes, smoothed values, no times of sending."
);

/// A file that cannot be written or read, or has unexpected contents.
pub fn file_error(path: &str, error: impl Error) -> PyErr {
    // Names come from others: what would steer a terminal, or begin a line, is escaped.
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    let path: String = path.chars().map(escaped).collect();
    PyOSError::new_err(format!("{path}: {error}"))
}
