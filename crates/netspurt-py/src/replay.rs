//! Replays for Python. A replay gives the delays of a recording to an algorithm for retransmission
//! timers. It computes for each probe whether the timer would have fired before the reply.

use std::sync::Arc;

use netspurt::clock::ClockTextError;
use netspurt::delays::Delays as CoreDelays;
use netspurt::foreign::watched;
use netspurt::record::{ReplayedAlgorithm, replay_table};
use netspurt::replay::{self as core, Account, Front, Notice, PartSums, Replay, TwoGainGrid};
use netspurt::rto::{EstimatorConfig, RtoEstimator};
use netspurt::units::Duration;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::adapter::{Adapter, HookFailure, OnFailure};
use crate::array::collected;
use crate::delays::{PyDelays, order_name, order_named};
use crate::errors::{ReplayError, estimator_error};
use crate::estimator::Estimator;
use crate::hooks::raised;
use crate::table::PyTable;

fn refused(error: core::ReplayError) -> PyErr {
    ReplayError::new_err(error.to_string())
}

/// The replay of an algorithm on a recording.
#[pyclass(frozen, name = "Replayed", module = "netspurt._core")]
pub struct PyReplayed {
    estimator: String,
    delays: Arc<CoreDelays>,
    how: Replay,
    account: Account,
    waits: Vec<Duration>,
}

/// Replays an estimator on a recording. `estimator` is the text of an estimator of the core, an
/// object of the class `Estimator`, or another Python object. An estimator of the core starts in
/// its initial state, and another Python object starts in its current state. `name` is the name in
/// the results. `order` is by default the order of the recording. `clock` is the host's clock. If
/// `told` is true, the algorithm gets timeouts in addition to samples.
#[pyfunction]
#[pyo3(signature = (delays, estimator, name=None, *, order=None, clock="exact", told=false))]
pub fn replay(
    py: Python<'_>,
    delays: &PyDelays,
    estimator: &Bound<'_, PyAny>,
    name: Option<String>,
    order: Option<&str>,
    clock: &str,
    told: bool,
) -> PyResult<PyReplayed> {
    let delays = Arc::clone(&delays.0);
    let how = Replay {
        order: order.map_or(Ok(delays.order), order_named)?,
        clock: clock
            .parse()
            .map_err(|error: ClockTextError| PyValueError::new_err(error.to_string()))?,
        notice: if told { Notice::Timeouts } else { Notice::Samples },
    };
    let own = match estimator.extract::<&str>() {
        Ok(text) => {
            Some(EstimatorConfig::parse(text).map_err(|error| estimator_error(py, &error))?)
        }
        Err(_) => estimator.cast::<Estimator>().ok().map(|own| own.borrow().config()),
    };
    if let Some(config) = own {
        let (name, mut algorithm) = (name.unwrap_or_else(|| config.to_string()), config.build());
        let result = py.detach(|| watched(|| run(name, delays, how, algorithm.as_mut())));
        return result.map_err(|fault| raised(*fault))?.map_err(refused);
    }
    let name = name.map_or_else(|| estimator.get_type().name().map(|n| n.to_string()), Ok)?;
    let failure = HookFailure::default();
    let mut algorithm = Adapter::new(estimator, OnFailure::Keep(failure.clone()))?;
    let replayed = run(name, delays, how, &mut algorithm).map_err(refused)?;
    failure.take().map(|()| replayed)
}

fn run(
    estimator: String,
    delays: Arc<CoreDelays>,
    how: Replay,
    algorithm: &mut dyn RtoEstimator,
) -> Result<PyReplayed, core::ReplayError> {
    let (account, waits) = how.results(&delays, algorithm)?;
    Ok(PyReplayed { estimator, delays, how, account, waits })
}

#[pymethods]
impl PyReplayed {
    /// The name in the results. By default this is the algorithm with the constants that differ
    /// from the published constants, or the name of a Python class.
    #[getter]
    fn estimator(&self) -> &str {
        &self.estimator
    }

    /// The recording that was replayed.
    #[getter]
    fn delays(&self) -> PyDelays {
        PyDelays(Arc::clone(&self.delays))
    }

    /// The order of the replay: `sequence` or `causal`.
    #[getter]
    fn order(&self) -> &'static str {
        order_name(self.how.order)
    }

    /// Sums over the probes, and values computed from the sums. Times are in nanoseconds.
    fn account<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (it, sums) = (&self.account, PyDict::new(py));
        sums.set_item("probes", it.probes)?;
        sums.set_item("lost", it.lost)?;
        sums.set_item("spurious", it.spurious)?;
        let spans = [
            ("good_ns", it.good),
            ("waited_ns", it.waited),
            ("spurious_ns", it.spurious_time),
            ("total_ns", it.total()),
            ("short_by_ns", it.short_by),
            ("timers_ns", it.timers),
            ("mean_ns", it.mean()),
        ];
        for (name, span) in spans {
            sums.set_item(name, span.as_nanos())?;
        }
        sums.set_item("cov", it.coefficient_of_variation())?;
        sums.set_item("efficiency", it.efficiency())?;
        sums.set_item("bad_share", it.bad_share())?;
        sums.set_item("waited_in_delays", it.waited_in_delays())?;
        Ok(sums)
    }

    /// Returns sums over some probes, in the order of the fields of [`PartSums`]; times are in
    /// nanoseconds. The argument `first` is the number of the first of these probes, and `end` is
    /// the number of the probe after the last of them. `learnt_from` is the number of the first
    /// probe that left after a delay was known.
    fn part_sums(
        &self,
        py: Python<'_>,
        learnt_from: usize,
        first: usize,
        end: usize,
    ) -> PyResult<PartRow> {
        if first > end || end > self.waits.len() {
            return Err(PyValueError::new_err(format!(
                "there are no probes {first} to {end}: the recording has {} probes",
                self.waits.len()
            )));
        }
        let sums = py.detach(|| PartSums::of(&self.delays, &self.waits, learnt_from, first..end));
        let PartSums { learnt, answers, lost, spurious, timers, waited } = sums;
        Ok((learnt, answers, lost, spurious, timers.as_nanos(), waited.as_nanos()))
    }

    /// The timer of each probe, in nanoseconds.
    fn wait_ns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        collected(py, self.waits.iter().map(|wait| wait.as_nanos().cast_signed()))
    }
}

/// The row that [`PyReplayed::part_sums`] returns.
type PartRow = (u64, u64, u64, u64, u64, u64);

/// Makes the table `replay` from several replays. It has a row for each probe of each replay.
#[pyfunction]
pub fn replay_records(py: Python<'_>, replays: Vec<PyRef<'_, PyReplayed>>) -> PyTable {
    let algorithms: Vec<ReplayedAlgorithm<'_>> = replays
        .iter()
        .map(|replayed| ReplayedAlgorithm {
            estimator: &replayed.estimator,
            delays: &replayed.delays,
            waits: &replayed.waits,
        })
        .collect();
    py.detach(|| PyTable::of(replay_table(&algorithms)))
}

/// A setting and its results: the weights F1 (falling) and F2 (rising), the factor G, the number of
/// spurious retransmissions, and three sums in nanoseconds. The first sum adds the delays of the
/// probes that were retransmitted spuriously. The second sum adds the waits for lost probes, and
/// the third sum adds all timers.
type GridRow = (f64, f64, f64, u64, f64, f64, f64);

/// Replays RFC 889's two-gain filter with every combination of the weights `falling` (F1) and
/// `rising` (F2) and the factors `g`. Returns the best settings and the number of all settings. A
/// setting is among the best if no other setting beats it. A setting beats another setting if it is
/// better in one of two figures (spurious retransmissions, sum of the timers) and at least as good
/// in the other figure. Of settings that are equal in both figures, the first is kept.
#[pyfunction]
#[pyo3(signature = (delays, falling, rising, g, *, order=None))]
pub fn two_gain_front(
    py: Python<'_>,
    delays: &PyDelays,
    falling: Vec<f64>,
    rising: Vec<f64>,
    g: Vec<f64>,
    order: Option<&str>,
) -> PyResult<(Vec<GridRow>, usize)> {
    let grid = TwoGainGrid { falling, rising, g, ..TwoGainGrid::default() };
    let order = order.map_or(Ok(delays.0.order), order_named)?;
    let mut front = Front::default();
    py.detach(|| grid.run(&delays.0, order, |setting| front.offer(setting))).map_err(refused)?;
    Ok((front.settings().iter().map(row).collect(), grid.settings()))
}

/// Replays the two-gain filter with every combination of weights and factors. Returns all settings;
/// `g` varies fastest, then `rising`.
#[pyfunction]
#[pyo3(signature = (delays, falling, rising, g, *, order=None))]
pub fn two_gain_grid(
    py: Python<'_>,
    delays: &PyDelays,
    falling: Vec<f64>,
    rising: Vec<f64>,
    g: Vec<f64>,
    order: Option<&str>,
) -> PyResult<Vec<GridRow>> {
    let grid = TwoGainGrid { falling, rising, g, ..TwoGainGrid::default() };
    let order = order.map_or(Ok(delays.0.order), order_named)?;
    let mut rows = Vec::with_capacity(grid.settings());
    py.detach(|| grid.run(&delays.0, order, |setting| rows.push(row(&setting))))
        .map_err(refused)?;
    Ok(rows)
}

const fn row(s: &core::GridPoint) -> GridRow {
    (s.falling, s.rising, s.g, s.spurious, s.spurious_ns, s.waited_ns, s.timers_ns)
}

/// Gives an algorithm samples of one constant delay, and then samples of another constant delay.
/// Returns two numbers, which count samples of the new delay. After the first number of samples,
/// the timer is never again below the new delay. After the second number, the timer stays within a
/// tenth of the final timer. Also returns two timers in nanoseconds: the timer before the delay
/// changed, and the timer at the end.
#[pyfunction]
pub fn adapt(
    py: Python<'_>,
    estimator: &str,
    from_ns: u64,
    to_ns: u64,
) -> PyResult<(u32, u32, u64, u64)> {
    let mut algorithm =
        EstimatorConfig::parse(estimator).map_err(|e| estimator_error(py, &e))?.build();
    let (from, to) = (Duration::from_nanos(from_ns), Duration::from_nanos(to_ns));
    let found = watched(|| core::adapt(algorithm.as_mut(), from, to));
    let found = found.map_err(|fault| raised(*fault))?;
    let timers = (found.timers.0.as_nanos(), found.timers.1.as_nanos());
    Ok((found.samples_short, found.samples_to_settle, timers.0, timers.1))
}
