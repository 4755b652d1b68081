//! Sweeps for Python. A sweep runs a scenario once for each case. A case is a combination of
//! values, with one seed. An axis of a sweep is a value of the scenario that varies. Consecutive
//! cases form a chunk. The engine runs chunks on threads.

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard};

use netspurt::units::{Duration, Time};
use netspurt_live::wall::WallClock;
use netspurt_scenario::scenario::{self as core, Budget, Label};
use netspurt_scenario::sweep::{
    CaseCounts, Chunk, EndedCase, Engine, FinishedChunk, LiveEnd, Stopwatch, live_chunk, run_chunk,
};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::scenario_error;
use crate::scenario::PyScenario;
use crate::table::PyTable;

/// The cases of a sweep.
#[pyclass(frozen, name = "Sweep", module = "netspurt._core")]
pub struct PySweep(Arc<core::Sweep>);

/// The label of one value on an axis, as a Python value.
#[derive(IntoPyObject, FromPyObject)]
pub enum PyLabel {
    Whole(i64),
    Number(f64),
    Text(String),
}

impl From<Label> for PyLabel {
    fn from(label: Label) -> Self {
        match label {
            Label::Whole(number) => Self::Whole(number),
            Label::Number(number) => Self::Number(number),
            Label::Text(text) => Self::Text(text),
        }
    }
}

impl From<PyLabel> for Label {
    fn from(label: PyLabel) -> Self {
        match label {
            PyLabel::Whole(number) => Self::Whole(number),
            PyLabel::Number(number) => Self::Number(number),
            PyLabel::Text(text) => Self::Text(text),
        }
    }
}

/// The outcome of a chunk as a tuple. The first value is the Parquet file of the chunk, as octets.
/// Four numbers of cases follow: done cases, cases that exceeded a limit (cut), cases whose live run
/// was not valid (late), and cases with errors. The next value is the first error, with its case and its message. The last
/// value is the time that the cases took, in seconds.
type ChunkOutcome<'py> = (Bound<'py, PyBytes>, u64, u64, u64, u64, Option<(u64, String)>, f64);

fn outcome(py: Python<'_>, done: FinishedChunk) -> ChunkOutcome<'_> {
    let FinishedChunk { bytes, counts, busy, .. } = done;
    let bytes = PyBytes::new(py, &bytes);
    let first = counts.first_error.clone();
    let CaseCounts { done, cut, late, errors, .. } = counts;
    (bytes, done, cut, late, errors, first, busy.as_secs_f64())
}

#[pymethods]
impl PySweep {
    /// The sweep of a scenario; `None` if the scenario has no sweep.
    #[staticmethod]
    fn of(scenario: &PyScenario) -> Option<Self> {
        scenario.core().sweep().map(|sweep| Self(Arc::new(sweep)))
    }

    /// A sweep over a list of scenarios. `names` has the names of the axes. Each scenario has one
    /// label on each axis.
    #[staticmethod]
    #[pyo3(signature = (names, cases, *, seeds, paired, events, time_ns))]
    fn listed(
        names: Vec<String>,
        cases: Vec<(Vec<PyLabel>, Py<PyScenario>)>,
        seeds: u64,
        paired: bool,
        events: Option<u64>,
        time_ns: Option<u64>,
    ) -> PyResult<Self> {
        let budget = Budget { events, time: time_ns.map(Duration::from_nanos) };
        let case = |(labels, scenario): (Vec<PyLabel>, Py<PyScenario>)| {
            (labels.into_iter().map(Label::from).collect(), scenario.get().core().clone())
        };
        let cases = cases.into_iter().map(case).collect();
        let sweep = core::Sweep::listed(names, cases, seeds, paired, budget);
        sweep.map(|sweep| Self(Arc::new(sweep))).map_err(PyValueError::new_err)
    }

    /// The names of the axes.
    #[getter]
    fn names(&self) -> Vec<String> {
        self.0.names().to_vec()
    }

    /// The distinct labels of each axis, in order.
    fn labels(&self) -> Vec<Vec<PyLabel>> {
        let all = self.0.all_labels().into_iter();
        all.map(|labels| labels.into_iter().map(PyLabel::from).collect()).collect()
    }

    /// The number of cases.
    fn __len__(&self) -> usize {
        usize::try_from(self.0.cases()).unwrap_or(usize::MAX)
    }

    /// The number of runs of each combination.
    #[getter]
    fn seeds(&self) -> u64 {
        self.0.seeds()
    }

    /// Whether runs of different combinations share their seeds.
    #[getter]
    fn paired(&self) -> bool {
        self.0.paired()
    }

    /// The fingerprint of everything on which the results depend.
    fn fingerprint(&self) -> String {
        self.0.fingerprint()
    }

    /// Returns a case as a scenario of its own.
    fn scenario(&self, py: Python<'_>, case: u64) -> PyResult<PyScenario> {
        if case >= self.0.cases() {
            return Err(PyIndexError::new_err(format!(
                "there is no case {case}: the sweep has {} cases, counted from 0",
                self.0.cases()
            )));
        }
        self.0.scenario(case).map(PyScenario::of).map_err(|e| scenario_error(py, &e))
    }

    /// The names of the axes whose values are drawn at random for each run.
    #[getter]
    fn drawn(&self) -> Vec<String> {
        self.0.drawn().iter().map(|axis| axis.name().to_owned()).collect()
    }

    /// Raises an error if the kernel's TCP is an end of a flow in at least one case.
    fn check_simulated(&self, py: Python<'_>) -> PyResult<()> {
        self.0.kernel().map_or(Ok(()), |error| Err(scenario_error(py, error)))
    }

    /// Whether the kernel's TCP is an end of a flow in at least one case.
    #[getter]
    fn is_live(&self) -> bool {
        self.0.kernel().is_some()
    }

    /// The two limits of a case: the maximum number of events (wake-ups) of the simulator, and the
    /// maximum wall-clock time in nanoseconds. `None` stands for no limit.
    #[getter]
    fn budget(&self) -> (Option<u64>, Option<u64>) {
        let Budget { events, time } = self.0.budget();
        (events, time.map(Duration::as_nanos))
    }

    /// Makes a chunk of one case that ran live. If the run was valid, `counts` has the tables of
    /// the run and the time of its end in nanoseconds. If the run was not valid, `late` says why.
    /// If there was no run, `error` says why. If `counts`, `late` and `error` are all missing, the
    /// case was stopped because it exceeded its limit of time.
    #[pyo3(signature = (case, busy_ns, *, counts, late, error))]
    fn live_chunk<'py>(
        &self,
        py: Python<'py>,
        case: u64,
        busy_ns: u64,
        counts: Option<(Vec<Py<PyTable>>, u64)>,
        late: Option<String>,
        error: Option<String>,
    ) -> ChunkOutcome<'py> {
        let counts = counts.as_ref();
        let end = match (counts, late, error) {
            (Some((tables, stop_ns)), ..) => LiveEnd::Counts(EndedCase {
                tables: tables.iter().map(|table| table.get().table()).collect(),
                stop: Time::from_nanos(*stop_ns),
                events: None,
            }),
            (None, Some(late), _) => LiveEnd::Late(late),
            (None, None, Some(error)) => LiveEnd::Error(error),
            (None, None, None) => LiveEnd::Cut,
        };
        outcome(py, live_chunk(&self.0, case, end, Duration::from_nanos(busy_ns)))
    }

    /// Runs a chunk of cases on the calling thread.
    fn run_chunk<'py>(&self, py: Python<'py>, first: u64, count: u64) -> ChunkOutcome<'py> {
        let (chunk, clock) = (Chunk { first, count }, wall());
        let cancelled = AtomicBool::new(false);
        let done = py.detach(|| run_chunk(&self.0, chunk, &clock, &cancelled));
        outcome(py, done.expect("this chunk cannot be cancelled"))
    }
}

/// A stopwatch that reads the wall clock.
fn wall() -> Stopwatch {
    let clock = WallClock::start();
    Arc::new(move || clock.now().saturating_since(Time::ZERO))
}

/// The length of one wait for cancelled chunks.
const MOMENT: std::time::Duration = std::time::Duration::from_millis(20);
/// The maximum number of such waits.
const WAITS: u32 = 250;

/// An engine that runs a sweep on the threads of this process.
#[pyclass(frozen, module = "netspurt._core")]
pub struct SweepEngine(Mutex<Engine>);

impl SweepEngine {
    fn lock(&self) -> MutexGuard<'_, Engine> {
        self.0.lock().unwrap_or_else(|broken| broken.into_inner())
    }
}

#[pymethods]
impl SweepEngine {
    #[new]
    fn new(sweep: &PySweep, threads: usize) -> PyResult<Self> {
        let engine = Engine::new(sweep.0.clone(), threads, wall());
        engine.map(|engine| Self(Mutex::new(engine))).map_err(|error| {
            PyValueError::new_err(format!("cannot start {threads} threads: {error}"))
        })
    }

    /// The number of threads.
    #[getter]
    fn threads(&self) -> usize {
        self.lock().threads()
    }

    /// The number of submitted chunks that the method `next` has not returned yet.
    #[getter]
    fn underway(&self) -> usize {
        self.lock().underway()
    }

    /// Schedules a chunk of cases.
    fn submit(&self, first: u64, count: u64) {
        self.lock().submit(Chunk { first, count });
    }

    /// Returns the next finished chunk with its first case; `None` if no chunk finishes within
    /// `seconds`.
    fn next<'py>(
        &self,
        py: Python<'py>,
        seconds: f64,
    ) -> PyResult<Option<(u64, ChunkOutcome<'py>)>> {
        let wait = std::time::Duration::try_from_secs_f64(seconds)
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        let done = py.detach(|| self.lock().next(wait));
        Ok(done.map(|done| (done.chunk.first, outcome(py, done))))
    }

    /// Stops all chunks, and waits for their threads for at most five seconds. It waits because a
    /// thread that calls an algorithm in Python must not outlive the interpreter.
    fn cancel(&self, py: Python<'_>) {
        py.detach(|| {
            let mut engine = self.lock();
            engine.cancel();
            for _ in 0..WAITS {
                if engine.underway() == 0 {
                    return;
                }
                engine.next(MOMENT);
            }
        });
    }
}
