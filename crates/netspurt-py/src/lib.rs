//! netspurt's core for Python: convert and delegate.

mod delays;
mod errors;
mod replay;
mod scenario;
mod script;
mod surrogate;
mod sweep;
mod table;

use netspurt::scenario::{STARTING_POINT, schema};
use netspurt_live::capability::{self, Capability};
use pyo3::prelude::*;

use delays::{Delays, read_delays};
use errors::{DelaysError, ScenarioError, ScriptError};
use replay::{Replayed, adapt, estimator_text, replay_records, two_gain_front};
use scenario::{Results, Scenario, Simulation};
use script::{Played, Script};
use surrogate::Surrogate;
use sweep::{Sweep, SweepEngine};
use table::Table;

/// The JSON Schema of scenario files, as JSON.
#[pyfunction]
#[pyo3(name = "schema")]
fn schema_json() -> String {
    schema().to_string()
}

/// What this machine can do: (name, whether, what was found, what it is for).
#[pyfunction]
fn capabilities() -> Vec<(&'static str, bool, String, &'static str)> {
    let row = |c: Capability| (c.name, c.available, c.found, c.purpose);
    capability::all().into_iter().map(row).collect()
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("STARTING_POINT", STARTING_POINT)?;
    module.add("ScenarioError", module.py().get_type::<ScenarioError>())?;
    module.add("ScriptError", module.py().get_type::<ScriptError>())?;
    module.add_class::<Scenario>()?;
    module.add_class::<Simulation>()?;
    module.add_class::<Results>()?;
    module.add_class::<Surrogate>()?;
    module.add_class::<Sweep>()?;
    module.add_class::<SweepEngine>()?;
    module.add_class::<Table>()?;
    module.add_class::<Script>()?;
    module.add_class::<Played>()?;
    module.add("DelaysError", module.py().get_type::<DelaysError>())?;
    module.add_class::<Delays>()?;
    module.add_class::<Replayed>()?;
    module.add_function(wrap_pyfunction!(read_delays, module)?)?;
    module.add_function(wrap_pyfunction!(replay::replay, module)?)?;
    module.add_function(wrap_pyfunction!(replay_records, module)?)?;
    module.add_function(wrap_pyfunction!(two_gain_front, module)?)?;
    module.add_function(wrap_pyfunction!(adapt, module)?)?;
    module.add_function(wrap_pyfunction!(estimator_text, module)?)?;
    module.add_function(wrap_pyfunction!(schema_json, module)?)?;
    module.add_function(wrap_pyfunction!(capabilities, module)?)
}
