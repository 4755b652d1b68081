//! Scenarios, runs and their results.

use std::fs::File;
use std::io::BufWriter;
use std::sync::Arc;

use netspurt::record::{flow_addresses, node_address, write_table};
use netspurt::scenario as core;
use netspurt::units::Time;
use pyo3::exceptions::{PyKeyError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::{file_error, scenario_error};
use crate::table::PyTable;

/// A consistent scenario.
#[pyclass(frozen, name = "Scenario", module = "netspurt._core")]
pub struct PyScenario(core::Scenario);

impl PyScenario {
    pub fn of(scenario: core::Scenario) -> Self {
        Self(scenario)
    }

    pub fn core(&self) -> &core::Scenario {
        &self.0
    }
}

#[pymethods]
impl PyScenario {
    /// Reads the text of a scenario; errors call it `name`.
    #[new]
    fn new(py: Python<'_>, name: &str, text: &str) -> PyResult<Self> {
        core::Scenario::parse(name, text).map(Self).map_err(|e| scenario_error(py, &e))
    }

    /// Reads the text of a scenario for programs at two of its nodes.
    #[staticmethod]
    fn for_programs(
        py: Python<'_>,
        name: &str,
        text: &str,
        values: Vec<(String, String)>,
        ends: (Option<String>, Option<String>),
    ) -> PyResult<Self> {
        let pairs: Vec<(&str, &str)> = values.iter().map(|(k, v)| (&**k, &**v)).collect();
        let ends = [ends.0.as_deref(), ends.1.as_deref()];
        core::Scenario::for_programs(name, text, &pairs, ends)
            .map(Self)
            .map_err(|e| scenario_error(py, &e))
    }

    /// The same with values set over it: dotted paths and TOML, or bare text.
    #[pyo3(name = "with_values")]
    fn with(&self, py: Python<'_>, values: Vec<(String, String)>) -> PyResult<Self> {
        let pairs: Vec<(&str, &str)> = values.iter().map(|(k, v)| (&**k, &**v)).collect();
        self.0.with(&pairs).map(Self).map_err(|e| scenario_error(py, &e))
    }

    /// The name for errors.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// One line that says what the run shows.
    #[getter]
    fn title(&self) -> &str {
        self.0.title()
    }

    /// The seed of its random draws.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// Its text with the settings applied.
    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    /// The scenario with every default written out, as TOML.
    fn resolved(&self) -> String {
        self.0.resolved()
    }

    /// When a run of it ends.
    #[getter]
    fn stop_ns(&self) -> u64 {
        self.0.stop().as_nanos()
    }

    /// The flow whose ends are programs.
    fn programs_flow(&self) -> Option<&str> {
        self.0.programs_flow()
    }

    /// The first flow with a kernel's end.
    fn kernel_flow(&self) -> Option<&str> {
        self.0.kernel_flow()
    }

    /// A run of it, at its beginning.
    fn simulate(&self, py: Python<'_>) -> PyResult<PySimulation> {
        if let Some(flow) = self.0.kernel_flow() {
            let message =
                format!("flow `{flow}` has an end of the kernel's: only a live run has one");
            return Err(PyValueError::new_err(message));
        }
        Ok(PySimulation(Some(py.detach(|| self.0.simulate()))))
    }
}

/// A run in progress.
#[pyclass(name = "Simulation", module = "netspurt._core")]
pub struct PySimulation(Option<core::Simulation>);

impl PySimulation {
    fn running(&self) -> PyResult<&core::Simulation> {
        self.0.as_ref().ok_or_else(|| PyRuntimeError::new_err("the run is finished"))
    }
}

#[pymethods]
impl PySimulation {
    /// When the run ends.
    #[getter]
    fn stop_ns(&self) -> PyResult<u64> {
        self.running().map(|run| run.stop().as_nanos())
    }

    /// How far it has advanced.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        self.running().map(|run| run.now().as_nanos())
    }

    /// Runs until `t_ns`, or to the end if that comes first. Signals are handled meanwhile.
    fn advance_to(&mut self, py: Python<'_>, t_ns: u64) -> PyResult<()> {
        self.running()?;
        let run = self.0.as_mut().expect("it is running");
        while !py.detach(|| run.advance_towards(Time::from_nanos(t_ns))) {
            py.check_signals()?;
        }
        Ok(())
    }

    /// Ends the run now.
    fn finish(&mut self, py: Python<'_>) -> PyResult<PyResults> {
        self.running()?;
        let run = self.0.take().expect("it is running");
        Ok(PyResults(Arc::new(py.detach(|| run.finish()))))
    }
}

/// The results of a run.
#[pyclass(frozen, name = "Results", module = "netspurt._core")]
pub struct PyResults(Arc<core::Results>);

#[pymethods]
impl PyResults {
    /// Its tables.
    fn tables(&self) -> Vec<PyTable> {
        let count = self.0.tables().len();
        (0..count).map(|index| PyTable::of_run(self.0.clone(), index)).collect()
    }

    /// The names of the nodes to be captured.
    fn captured(&self) -> Vec<&str> {
        let names = &self.0.names().nodes;
        self.0.captured().iter().map(|node| &*names[*node as usize]).collect()
    }

    /// Each node's name and its address in captures.
    fn nodes(&self) -> Vec<(&str, String)> {
        let nodes = (0..).zip(self.0.names().nodes.iter());
        nodes.map(|(i, name)| (&**name, node_address(i).to_string())).collect()
    }

    /// Each flow's name, and the addresses and ports of its two ends in captures.
    fn sockets(&self) -> Vec<(&str, String, String)> {
        let names = self.0.names();
        let flows = names.flows.iter().zip(flow_addresses(names));
        let flows = flows.filter(|(flow, _)| !flow.echo_probes);
        flows.map(|(flow, [from, to])| (&*flow.name, from.to_string(), to.to_string())).collect()
    }

    /// When the run ended.
    #[getter]
    fn stop_ns(&self) -> u64 {
        self.0.stop().as_nanos()
    }

    /// The fingerprint of every table.
    fn digest(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.digest())
    }

    /// The fingerprint of the flows' results.
    fn flows_digest(&self) -> String {
        self.0.flows_digest()
    }

    /// Writes the table called `name` to a Parquet file.
    fn write_table(&self, py: Python<'_>, name: &str, path: &str) -> PyResult<()> {
        let Some(table) = self.0.table(name) else {
            return Err(PyKeyError::new_err(name.to_owned()));
        };
        py.detach(|| {
            let file = File::create_new(path).map_err(|e| file_error(path, e))?;
            write_table(table, BufWriter::new(&file)).map_err(|e| file_error(path, e))?;
            file.sync_all().map_err(|e| file_error(path, e))
        })
    }

    /// Writes the packets that the node called `node` saw to a pcapng file.
    fn write_capture(&self, py: Python<'_>, node: &str, path: &str) -> PyResult<()> {
        let names = &self.0.names().nodes;
        let node = (0..).zip(names.iter()).find(|(_, name)| *name == node);
        let Some((node, _)) = node else { return Err(PyKeyError::new_err("no such node")) };
        py.detach(|| {
            let file = File::create_new(path).map_err(|e| file_error(path, e))?;
            let out = BufWriter::new(&file);
            self.0.write_capture(node, out).map_err(|e| file_error(path, e))?;
            file.sync_all().map_err(|e| file_error(path, e))
        })
    }
}
