//! Replays for Python.

use std::sync::Arc;

use netspurt::clock::Clock;
use netspurt::delays::Delays as CoreDelays;
use netspurt::record::{ReplayedLaw, replay_table};
use netspurt::replay::{self as core, Account, Front, Replay, Told, TwoGainGrid};
use netspurt::rto::{EstimatorConfig, RtoEstimator};
use netspurt::units::Duration;
use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::delays::{Delays, order_name, order_named};
use crate::errors::{ReplayError, estimator_error};
use crate::estimator::{Adapter, Estimator, Failure};
use crate::table::Table;

fn refused(error: core::ReplayError) -> PyErr {
    ReplayError::new_err(error.to_string())
}

/// A law replayed on a recording.
#[pyclass(frozen, module = "netspurt._core")]
pub struct Replayed {
    estimator: String,
    delays: Arc<CoreDelays>,
    how: Replay,
    account: Account,
    waits: Vec<Duration>,
}

/// Replays an estimator on a recording: one of the core's, by its text or from its start, or an
/// object with hooks as it is. It is called `name`, or what it calls itself. `order` is the
/// recording's own where it is not given; `clock` is the host's; `told` lets the law hear of its
/// timeouts.
#[pyfunction]
#[pyo3(signature = (delays, estimator, name=None, *, order=None, clock="exact", told=false))]
pub fn replay(
    py: Python<'_>,
    delays: &Delays,
    estimator: &Bound<'_, PyAny>,
    name: Option<String>,
    order: Option<&str>,
    clock: &str,
    told: bool,
) -> PyResult<Replayed> {
    let delays = Arc::clone(&delays.0);
    let how = Replay {
        order: order.map_or(Ok(delays.order), order_named)?,
        clock: clock_named(clock)?,
        told: if told { Told::Timeouts } else { Told::Samples },
    };
    let own = match estimator.extract::<&str>() {
        Ok(text) => {
            Some(EstimatorConfig::parse(text).map_err(|error| estimator_error(py, &error))?)
        }
        Err(_) => estimator.cast::<Estimator>().ok().map(|own| own.borrow().config()),
    };
    if let Some(config) = own {
        let (name, mut law) = (name.unwrap_or_else(|| config.to_string()), config.build());
        return py.detach(|| run(name, delays, how, law.as_mut())).map_err(refused);
    }
    let name = name.map_or_else(|| estimator.get_type().name().map(|n| n.to_string()), Ok)?;
    let failure = Failure::default();
    let mut law = Adapter::new(estimator, failure.clone())?;
    let replayed = run(name, delays, how, &mut law).map_err(refused)?;
    failure.take().map(|()| replayed)
}

fn run(
    estimator: String,
    delays: Arc<CoreDelays>,
    how: Replay,
    law: &mut dyn RtoEstimator,
) -> Result<Replayed, core::ReplayError> {
    let (mut account, mut waits) = (Account::default(), Vec::with_capacity(delays.probes.len()));
    how.run(&delays, law, |judged| {
        account.take(judged);
        waits.push(judged.wait);
    })?;
    Ok(Replayed { estimator, delays, how, account, waits })
}

/// `exact`, `linux`, or a tick such as `10ms`.
fn clock_named(name: &str) -> PyResult<Clock> {
    match name {
        "exact" => Ok(Clock::EXACT),
        "linux" => Ok(Clock::LINUX_HZ250),
        tick => tick
            .parse::<Duration>()
            .ok()
            .and_then(|tick| Clock::ticking(tick, Duration::ZERO))
            .ok_or_else(|| {
                PyValueError::new_err(format!(
                    "clock = {name:?}: it is `exact`, `linux`, or the length of a tick, as `10 ms`"
                ))
            }),
    }
}

#[pymethods]
impl Replayed {
    /// The law, with the constants that are not its published ones.
    #[getter]
    fn estimator(&self) -> &str {
        &self.estimator
    }

    /// The recording.
    #[getter]
    fn delays(&self) -> Delays {
        Delays(Arc::clone(&self.delays))
    }

    /// The order of the replay: `sequence` or `causal`.
    #[getter]
    fn order(&self) -> &'static str {
        order_name(self.how.order)
    }

    /// Sums over the probes. Times are in nanoseconds.
    fn account<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (it, sums) = (&self.account, PyDict::new(py));
        sums.set_item("probes", it.probes)?;
        sums.set_item("lost", it.lost)?;
        sums.set_item("needless", it.needless)?;
        let spans = [
            ("good_ns", it.good),
            ("waited_ns", it.waited),
            ("needless_ns", it.needless_time),
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

    /// How long after each probe left its timer fires, in nanoseconds.
    fn wait_ns<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        PyArray1::from_iter(py, self.waits.iter().map(|wait| wait.as_nanos().cast_signed()))
    }
}

/// The table `replay` of some replays.
#[pyfunction]
pub fn replay_records(py: Python<'_>, replays: Vec<PyRef<'_, Replayed>>) -> Table {
    let laws: Vec<ReplayedLaw<'_>> = replays
        .iter()
        .map(|one| ReplayedLaw {
            estimator: &one.estimator,
            delays: &one.delays,
            waits: &one.waits,
        })
        .collect();
    py.detach(|| Table::of(replay_table(&laws)))
}

/// A setting's weights F1 and F2, factor G, needless resends, and in nanoseconds their delays, the
/// waits of those lost, and all timers.
type Setting = (f64, f64, f64, u64, f64, f64, f64);

/// Replays the two-gain filter of RFC 889 under every combination of weights and factors: the
/// settings that no other one beats, and how many there were.
#[pyfunction]
#[pyo3(signature = (delays, falling, rising, g, *, order=None))]
pub fn two_gain_front(
    py: Python<'_>,
    delays: &Delays,
    falling: Vec<f64>,
    rising: Vec<f64>,
    g: Vec<f64>,
    order: Option<&str>,
) -> PyResult<(Vec<Setting>, usize)> {
    let grid = TwoGainGrid { falling, rising, g, ..TwoGainGrid::default() };
    let order = order.map_or(Ok(delays.0.order), order_named)?;
    let mut front = Front::default();
    py.detach(|| grid.run(&delays.0, order, |setting| front.offer(setting))).map_err(refused)?;
    Ok((front.settings().iter().map(row).collect(), grid.settings()))
}

/// Replays the two-gain filter under every combination of weights and factors: all settings, `g`
/// fastest, then `rising`.
#[pyfunction]
#[pyo3(signature = (delays, falling, rising, g, *, order=None))]
pub fn two_gain_grid(
    py: Python<'_>,
    delays: &Delays,
    falling: Vec<f64>,
    rising: Vec<f64>,
    g: Vec<f64>,
    order: Option<&str>,
) -> PyResult<Vec<Setting>> {
    let grid = TwoGainGrid { falling, rising, g, ..TwoGainGrid::default() };
    let order = order.map_or(Ok(delays.0.order), order_named)?;
    let mut rows = Vec::with_capacity(grid.settings());
    py.detach(|| grid.run(&delays.0, order, |setting| rows.push(row(&setting))))
        .map_err(refused)?;
    Ok(rows)
}

const fn row(s: &core::Setting) -> Setting {
    (s.falling, s.rising, s.g, s.needless, s.needless_ns, s.waited_ns, s.timers_ns)
}

/// What a step from one constant delay to another does to a law: samples until its timer is no
/// longer below the new delay, samples until it stays within a tenth of where it settles, the
/// timer before and the settled one, in nanoseconds.
#[pyfunction]
pub fn adapt(
    py: Python<'_>,
    estimator: &str,
    from_ns: u64,
    to_ns: u64,
) -> PyResult<(u32, u32, u64, u64)> {
    let mut law = EstimatorConfig::parse(estimator).map_err(|e| estimator_error(py, &e))?.build();
    let (from, to) = (Duration::from_nanos(from_ns), Duration::from_nanos(to_ns));
    let found = core::adapt(law.as_mut(), from, to);
    let timers = (found.timers.0.as_nanos(), found.timers.1.as_nanos());
    Ok((found.samples_short, found.samples_to_settle, timers.0, timers.1))
}
