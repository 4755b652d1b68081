//! Gives Python access to netspurt's core, which is written in Rust. This crate only converts
//! values and calls the core.

mod adapter;
mod array;
mod congestion;
mod delays;
mod errors;
mod estimator;
mod explain;
mod foreign;
mod hooks;
mod interrupts;
mod orbit;
mod replay;
mod sample;
mod scenario;
mod script;
mod surrogate;
mod sweep;
mod table;

use std::path::PathBuf;

use netspurt::results;
use netspurt::rto::EstimatorConfig;
use netspurt::units::{BitRate, ByteCount, Duration, PacketCount, SegmentCount};
use netspurt_live::capability::{self, Capability};
use netspurt_live::{probe, sys, worker};
use netspurt_scenario::scenario::{
    RESERVED_COLUMNS, RESULT_COLUMNS, STARTING_POINT, schema, toml_as_json,
};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use delays::{PyDelays, pair_captures, read_delays};
use errors::{DelaysError, EstimatorError, ReplayError, ScenarioError, ScriptError};
use estimator::{Estimator, drive};
use replay::{PyReplayed, adapt, replay_records, two_gain_front, two_gain_grid};
use sample::Sample;
use scenario::{PyResults, PyScenario, PySimulation};
use script::{Played, PyScript};
use sweep::{PySweep, SweepEngine};
use table::PyTable;

/// The JSON Schema of scenario files, as JSON.
#[pyfunction]
#[pyo3(name = "schema")]
fn schema_json() -> String {
    schema().to_string()
}

/// Converts a TOML text to JSON. Reads the text by the same grammar as scenarios.
#[pyfunction]
fn toml_json(text: &str) -> PyResult<String> {
    toml_as_json(text).map_err(PyValueError::new_err)
}

/// Reads a quantity. Returns its unit (ns, bit/s, B, packets or segments) and its value.
#[pyfunction]
fn quantity(text: &str) -> PyResult<(&'static str, u64)> {
    let rate = || text.parse::<BitRate>().map(|rate| rate.bits_per_second().map(|n| ("bit/s", n)));
    let none = || {
        PyValueError::new_err(format!(
            "{text:?} is not a quantity with a unit: write it as in `50 ms`"
        ))
    };
    (text.parse::<Duration>().map(|span| Some(("ns", span.as_nanos()))))
        .or_else(|_| rate())
        .or_else(|_| text.parse::<ByteCount>().map(|count| Some(("B", count.0))))
        .or_else(|_| text.parse::<PacketCount>().map(|count| Some(("packets", count.0))))
        .or_else(|_| text.parse::<SegmentCount>().map(|count| Some(("segments", count.0))))
        .map_err(|_| none())?
        .ok_or_else(none)
}

/// The capabilities of the machine. Each capability is a tuple: its name, whether it is available,
/// what the check found, and its purpose.
#[pyfunction]
fn capabilities() -> Vec<(&'static str, bool, String, &'static str)> {
    let row = |c: Capability| (c.name, c.available, c.found, c.purpose);
    capability::all().into_iter().map(row).collect()
}

/// Carries out a live run that an order (a JSON text) describes. The calling process must do
/// nothing else. The order is in `file`, or on the standard input; see `netspurt.live`.
#[pyfunction]
#[pyo3(signature = (file=None))]
fn live_work(py: Python<'_>, file: Option<PathBuf>) -> PyResult<()> {
    py.detach(|| worker::work(file.as_deref())).map_err(PyRuntimeError::new_err)
}

/// Carries out one task: to probe a host or the hops on the path to it, to echo or discard data, or
/// to capture. The calling process must do nothing else. The order with the task is on the standard
/// input; see `netspurt.worker`.
#[pyfunction]
fn probe_work(py: Python<'_>) -> PyResult<()> {
    py.detach(probe::work).map_err(PyRuntimeError::new_err)
}

/// Returns free memory of this process to the operating system.
#[pyfunction]
fn return_free_memory(py: Python<'_>) {
    py.detach(sys::return_free_memory);
}

/// Makes the memory of large arrays return to the operating system when the arrays are freed. This
/// setting affects the whole process, so only the commands call this function, and not the library.
#[pyfunction]
fn keep_large_allocations_apart() {
    sys::keep_large_allocations_apart();
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("STARTING_POINT", STARTING_POINT)?;
    module.add("RUN_FORMAT", results::FORMAT)?;
    module.add("RUN_MANIFEST", results::MANIFEST)?;
    module.add("RUN_SCENARIO", results::SCENARIO)?;
    module.add("RUN_LIVE", results::LIVE)?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("ScriptError", module.py().get_type::<ScriptError>())?;
    module.add("EstimatorError", module.py().get_type::<EstimatorError>())?;
    module.add("SWEEP_COLUMNS", RESERVED_COLUMNS.to_vec())?;
    module.add("RESULT_COLUMNS", RESULT_COLUMNS.to_vec())?;
    module.add("ALGORITHMS", EstimatorConfig::NAMES.to_vec())?;
    module.add("ALIASES", EstimatorConfig::ALIASES.to_vec())?;
    foreign::open();
    module.add("ReturnedError", module.py().get_type::<hooks::ReturnedError>())?;
    module.add_class::<congestion::PyCongestion>()?;
    module.add_class::<congestion::PyWindow>()?;
    module.add_class::<congestion::PyAck>()?;
    module.add_class::<congestion::PyRate>()?;
    module.add_class::<Estimator>()?;
    module.add_class::<Sample>()?;
    module.add_class::<PyScenario>()?;
    module.add_class::<PySimulation>()?;
    module.add_class::<PyResults>()?;
    module.add_class::<PySweep>()?;
    module.add_class::<SweepEngine>()?;
    module.add_class::<PyTable>()?;
    module.add_class::<PyScript>()?;
    module.add_class::<Played>()?;
    module.add_class::<explain::PyExplanation>()?;
    module.add_class::<explain::PyExplaining>()?;
    orbit::register(module)?;
    module.add("ReplayError", module.py().get_type::<ReplayError>())?;
    module.add("DelaysError", module.py().get_type::<DelaysError>())?;
    module.add_class::<PyDelays>()?;
    module.add_class::<PyReplayed>()?;
    module.add_function(wrap_pyfunction!(read_delays, module)?)?;
    module.add_function(wrap_pyfunction!(pair_captures, module)?)?;
    module.add_function(wrap_pyfunction!(explain::begins_capture, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay, module)?)?;
    module.add_function(wrap_pyfunction!(replay_records, module)?)?;
    module.add_function(wrap_pyfunction!(two_gain_front, module)?)?;
    module.add_function(wrap_pyfunction!(two_gain_grid, module)?)?;
    module.add_function(wrap_pyfunction!(surrogate::surrogate, module)?)?;
    module.add_function(wrap_pyfunction!(adapt, module)?)?;
    module.add_function(wrap_pyfunction!(drive, module)?)?;
    module.add_function(wrap_pyfunction!(schema_json, module)?)?;
    module.add_function(wrap_pyfunction!(toml_json, module)?)?;
    module.add_function(wrap_pyfunction!(live_work, module)?)?;
    module.add_function(wrap_pyfunction!(quantity, module)?)?;
    module.add_function(wrap_pyfunction!(probe_work, module)?)?;
    module.add_function(wrap_pyfunction!(return_free_memory, module)?)?;
    module.add_function(wrap_pyfunction!(keep_large_allocations_apart, module)?)?;
    module.add_function(wrap_pyfunction!(capabilities, module)?)
}
