//! Converts the core's errors to Python exceptions.

use std::error::Error;

use pyo3::create_exception;
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use netspurt::place::Place;

/// Calls the function `set`, which gives the exception `raised` its attributes. Returns this
/// exception, or the error of `set` if this function fails.
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

fn set_attributes(
    instance: &Bound<'_, PyAny>,
    message: &str,
    fix: &str,
    file: &str,
) -> PyResult<()> {
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
    "A mistake in a scenario. Attributes: `message`, `fix`, `file`, `line`, `column`, `key`, \
     `value`."
);

/// The exception for a mistake in a scenario, with its parts as attributes.
pub fn scenario_error(py: Python<'_>, error: &netspurt_scenario::scenario::ScenarioError) -> PyErr {
    let raised = ScenarioError::new_err(error.to_string());
    with_parts(py, raised, |instance| {
        set_attributes(instance, &error.message, &error.fix, &error.file)?;
        instance.setattr("key", &error.key)?;
        instance.setattr("value", &error.value)?;
        placed(instance, error.place.as_ref())
    })
}

create_exception!(
    netspurt,
    ScriptError,
    PyValueError,
    "A mistake in a script. Attributes: `message`, `fix`, `file`, `line`, `column`."
);

/// The exception for a mistake in a script, with its parts as attributes.
pub fn script_error(py: Python<'_>, error: &netspurt_scenario::script::ScriptError) -> PyErr {
    let raised = ScriptError::new_err(error.to_string());
    with_parts(py, raised, |instance| {
        set_attributes(instance, &error.message, &error.fix, &error.file)?;
        placed(instance, error.place.as_ref())
    })
}

create_exception!(
    netspurt,
    DelaysError,
    PyValueError,
    "A faulty file of recorded delays. Attributes: `message`, `fix`, `file`, `line`."
);

/// The exception for a faulty file of delays, with its parts as attributes.
pub fn delays_error(py: Python<'_>, error: &netspurt_files::recordings::RecordingError) -> PyErr {
    let raised = DelaysError::new_err(error.to_string());
    with_parts(py, raised, |instance| {
        set_attributes(instance, &error.message, &error.fix, &error.file)?;
        instance.setattr("line", error.line)
    })
}

create_exception!(
    netspurt,
    OrbitError,
    PyValueError,
    "A mistake in an orbit. Attributes: `message`, `fix`, `file`, `line`, `column`."
);

/// The exception for a mistake in an orbit, with its parts as attributes.
pub fn orbit_error(py: Python<'_>, error: &netspurt_files::orbit::OrbitError) -> PyErr {
    let raised = OrbitError::new_err(error.to_string());
    with_parts(py, raised, |instance| {
        set_attributes(instance, &error.message, &error.fix, &error.file)?;
        placed(instance, error.place.as_ref())
    })
}

create_exception!(
    netspurt,
    EstimatorError,
    PyValueError,
    "A mistake in a timer. Attributes: `algorithm`, `key`, `value`, `message`, `fix`."
);

/// The exception for a mistake in a timer, with its parts as attributes.
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
    "A recording that cannot be replayed: it has no probes or no send times, or its values are \
     smoothed."
);

/// The exception for a file that cannot be written or read, or has unexpected contents.
pub fn file_error(path: &str, error: impl Error) -> PyErr {
    // Control characters in the name are escaped: they could control the terminal or begin a new
    // line.
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    let path: String = path.chars().map(escaped).collect();
    PyOSError::new_err(format!("{path}: {error}"))
}
