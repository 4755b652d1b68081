//! Scenarios, their runs and the results, for Python. A scenario is a text that describes links,
//! flows and what a run records.

use std::sync::Arc;

use netspurt::foreign::{Origin, watched};
use netspurt::plan::Simulation;
use netspurt::results::{FolderWriter, Results, RunIdentity};
use netspurt::units::Time;
use netspurt_scenario::scenario as core;
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use crate::errors::scenario_error;
use crate::hooks::raised;
use crate::interrupts::{InterruptibleFolder, Raised};
use crate::table::PyTable;

/// The names and texts of files.
type NamedTexts = Vec<(String, String)>;

/// A scenario that was read and found consistent.
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
    /// Reads the text of a scenario. Errors call the scenario `name`. `files` has the names and
    /// texts of files: the files that links and populations (many connections of one kind) follow,
    /// and the files with algorithms.
    #[new]
    fn new(py: Python<'_>, name: &str, text: &str, files: NamedTexts) -> PyResult<Self> {
        core::Scenario::parse_with(name, text, files).map(Self).map_err(|e| scenario_error(py, &e))
    }

    /// Reads the text of a scenario for programs at two of its nodes. First removes the keys at the
    /// paths in the list `unset`. Then sets each of the `values` at its dotted path. `ends` names
    /// the nodes of the programs. `None` stands for the node of the scenario's flow of programs or,
    /// if there is no such flow, for a node that has only one link.
    #[staticmethod]
    fn for_programs(
        py: Python<'_>,
        name: &str,
        text: &str,
        files: NamedTexts,
        unset: Vec<String>,
        values: Vec<(String, String)>,
        ends: (Option<String>, Option<String>),
    ) -> PyResult<Self> {
        let pairs: Vec<(&str, &str)> = values.iter().map(|(k, v)| (&**k, &**v)).collect();
        let unset: Vec<&str> = unset.iter().map(String::as_str).collect();
        let ends = [ends.0.as_deref(), ends.1.as_deref()];
        core::Scenario::for_programs(name, text, files, &unset, &pairs, ends)
            .map(Self)
            .map_err(|e| scenario_error(py, &e))
    }

    /// Returns a changed scenario. First removes the keys at the paths in the list `unset`. Then
    /// sets each of the `values` at its dotted path. A value that is not TOML counts as text.
    #[pyo3(name = "with_values", signature = (values, files, unset=Vec::new()))]
    fn with(
        &self,
        py: Python<'_>,
        values: Vec<(String, String)>,
        files: NamedTexts,
        unset: Vec<String>,
    ) -> PyResult<Self> {
        let pairs: Vec<(&str, &str)> = values.iter().map(|(k, v)| (&**k, &**v)).collect();
        let unset: Vec<&str> = unset.iter().map(String::as_str).collect();
        self.0.without(&unset, &pairs, files).map(Self).map_err(|e| scenario_error(py, &e))
    }

    /// The name of the scenario in errors.
    #[getter]
    fn name(&self) -> &str {
        self.0.name()
    }

    /// One line that says what the run shows.
    #[getter]
    fn title(&self) -> &str {
        self.0.title()
    }

    /// The seed of the random draws.
    #[getter]
    fn seed(&self) -> u64 {
        self.0.seed()
    }

    /// The text of the scenario, with the values that were set afterwards. This text contains the
    /// values of the files that its links and populations follow.
    #[getter]
    fn text(&self) -> String {
        self.0.text()
    }

    /// The text as it was read, the values that were set afterwards, and the files. The files are
    /// the files that links and populations may follow, and the files with algorithms written
    /// in Python.
    fn source(&self) -> (String, NamedTexts, NamedTexts) {
        let (text, values, files) = self.0.source();
        let files = files.iter().map(|(name, text)| (name.clone(), text.clone()));
        (text.to_owned(), values.to_vec(), files.collect())
    }

    /// The scenario with every default written out, as TOML.
    fn resolved(&self) -> String {
        self.0.resolved()
    }

    /// Returns the scenario without its `[sweep]`.
    fn alone(&self) -> Self {
        Self(self.0.alone())
    }

    /// The names of the links that change during a run.
    fn changing_links(&self) -> Vec<String> {
        self.0.changing_links()
    }

    /// The changes of the link called `name` over time, as the text of a file that links can
    /// follow.
    fn link_changes(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        self.0.link_changes(name).map_err(|e| scenario_error(py, &e))
    }

    /// The links that follow a file which ends before the run. Each item is a tuple: the link, the
    /// file, and the instant of the link's last change in nanoseconds.
    fn followed_ends(&self) -> Vec<(String, String, u64)> {
        let ends = self.0.followed_ends().into_iter();
        ends.map(|end| (end.link, end.file, end.at.as_nanos())).collect()
    }

    /// When a run ends, in nanoseconds.
    #[getter]
    fn stop_ns(&self) -> u64 {
        self.0.stop().as_nanos()
    }

    /// The name of the flow whose ends are programs; `None` if there is none.
    fn programs_flow(&self) -> Option<&str> {
        self.0.programs_flow()
    }

    /// The algorithms in the scenario that are written in Python: text, file, and SHA-256 of the
    /// file.
    fn algorithms(&self) -> Vec<(String, String, String)> {
        let parts = |origin: Origin| (origin.text, origin.file, origin.sha256);
        self.0.algorithms().into_iter().map(parts).collect()
    }

    /// The path of the key `endpoint` in the first flow or population, for the advice in an error
    /// message.
    fn first_endpoint(&self) -> String {
        self.0.first_endpoint()
    }

    /// The name of the first flow or population with an end on the kernel's TCP; `None` if no end
    /// uses the kernel's TCP.
    fn kernel_flow(&self) -> Option<&str> {
        self.0.kernel_flow()
    }

    /// Begins a run of the scenario.
    fn simulate(&self, py: Python<'_>) -> PyResult<PySimulation> {
        if let Some(flow) = self.0.kernel_flow() {
            let message = format!(
                "flow `{flow}` has an end on the kernel's TCP: the scenario can only run live"
            );
            return Err(PyValueError::new_err(message));
        }
        let result = py.detach(|| watched(|| self.0.simulate()));
        result.map(|run| PySimulation(Some(run))).map_err(|fault| raised(*fault))
    }
}

/// A run in progress.
#[pyclass(name = "Simulation", module = "netspurt._core")]
pub struct PySimulation(Option<Simulation>);

impl PySimulation {
    fn running(&self) -> PyResult<&Simulation> {
        self.0.as_ref().ok_or_else(|| PyRuntimeError::new_err("the run is finished"))
    }
}

#[pymethods]
impl PySimulation {
    /// When the run ends, in nanoseconds.
    #[getter]
    fn stop_ns(&self) -> PyResult<u64> {
        self.running().map(|run| run.stop().as_nanos())
    }

    /// The instant up to which the run has advanced, in nanoseconds.
    #[getter]
    fn now_ns(&self) -> PyResult<u64> {
        self.running().map(|run| run.now().as_nanos())
    }

    /// Runs until `t_ns`, or until the end of the run if the end comes first. Signals are handled
    /// in the meantime.
    fn advance_to(&mut self, py: Python<'_>, t_ns: u64) -> PyResult<()> {
        self.running()?;
        let run = self.0.as_mut().expect("the run is in progress");
        let until = Time::from_nanos(t_ns);
        loop {
            match py.detach(|| watched(|| run.advance_towards(until))) {
                Ok(true) => break,
                Ok(false) => py.check_signals()?,
                Err(fault) => {
                    self.0 = None;
                    return Err(raised(*fault));
                }
            }
        }
        run.overfull().map_or(Ok(()), |message| Err(PyValueError::new_err(message)))
    }

    /// Ends the run now, and returns its results.
    fn finish(&mut self, py: Python<'_>) -> PyResult<PyResults> {
        self.running()?;
        let run = self.0.take().expect("the run is in progress");
        let results = py.detach(|| watched(|| run.finish()));
        results.map(|ended| PyResults(Arc::new(ended))).map_err(|fault| raised(*fault))
    }
}

/// The results of a run.
#[pyclass(frozen, name = "Results", module = "netspurt._core")]
pub struct PyResults(Arc<Results>);

#[pymethods]
impl PyResults {
    /// The tables of the run.
    fn tables(&self) -> Vec<PyTable> {
        let count = self.0.tables().len();
        (0..count).map(|index| PyTable::of_run(self.0.clone(), index)).collect()
    }

    /// When the run ended, in nanoseconds.
    #[getter]
    fn stop_ns(&self) -> u64 {
        self.0.stop().as_nanos()
    }

    /// The digest of all tables.
    fn digest(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.digest())
    }

    /// The digest of the flows' results.
    fn flows_digest(&self) -> String {
        self.0.flows_digest()
    }

    /// Writes the run into an existing folder. Signals are handled in the meantime.
    #[pyo3(signature = (folder, *, title, source, seed, scenario, algorithms, code))]
    #[expect(clippy::too_many_arguments, reason = "each field of a manifest is a keyword")]
    fn save(
        &self,
        py: Python<'_>,
        folder: &str,
        title: &str,
        source: &str,
        seed: u64,
        scenario: &str,
        algorithms: Vec<(String, String, String)>,
        code: NamedTexts,
    ) -> PyResult<()> {
        let origin = |(text, file, sha256)| Origin { text, file, sha256 };
        let algorithms: Vec<Origin> = algorithms.into_iter().map(origin).collect();
        let interrupt = Raised::default();
        let write = || {
            let mut out = FolderWriter::new(InterruptibleFolder::at(folder, interrupt.clone()));
            out.tables(&self.0)?;
            out.captures(&self.0)?;
            for (name, text) in &code {
                out.code(name, text)?;
            }
            let algorithms = &algorithms;
            let identity = RunIdentity { title, source, seed, scenario, algorithms };
            out.end(identity, &self.0.contents())
        };
        let failed = |error: std::io::Error| PyOSError::new_err(format!("{folder}/{error}"));
        let written = py.detach(write).map_err(failed);
        interrupt.raise()?;
        written
    }
}
