//! Recordings made up to fit a printed row, and timers replayed on them.

use netspurt::delays::{Delays, Order, Probe, SendTimes};
use netspurt::replay::{Account, Replay, TwoGainGrid};
use netspurt::rto::{ByLength, EstimatorConfig, Mills, MillsConfig, RtoEstimator};
use netspurt::surrogate::{Lengths, Line, Losses, Row, Structure};
use netspurt::units::{Duration, Time};
use numpy::{IntoPyArray, PyArray1};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// A made-up recording, or one from arrays, that timers are replayed on.
#[pyclass(frozen, module = "netspurt._core")]
pub struct Surrogate(Delays);

/// A setting's F1, F2, G, needless resends, their delays and the waits of the lost ones, in
/// nanoseconds.
type Setting = (f64, f64, f64, u64, f64, f64);

/// A law's probes, lost, waits of these, needless resends, their delays, delays of all, total, in
/// nanoseconds, and the efficiency.
type Sums = (u64, u64, u64, u64, u64, u64, u64, f64);

/// The name of `mills` made to heed lengths.
const BY_LENGTH: &str = "mills-by-length";

fn refused(error: impl ToString) -> PyErr {
    PyValueError::new_err(error.to_string())
}

#[pymethods]
impl Surrogate {
    /// Makes one up: `lengths` is one length, the bounds of random ones, or of two runs the length
    /// and how many, each; `line` has (octets, ns); `burst` is how many losses lie together.
    #[new]
    #[pyo3(signature = (structure, seed, *, name, probes, mean_ns, cov, lost, burst, lengths, line, glitches))]
    #[expect(clippy::too_many_arguments, reason = "one keyword for each field of a row")]
    fn new(
        py: Python<'_>,
        structure: &str,
        seed: u64,
        name: String,
        probes: u32,
        mean_ns: u64,
        cov: f64,
        lost: u32,
        burst: u32,
        lengths: Vec<u32>,
        line: Vec<(u32, u64)>,
        glitches: u32,
    ) -> PyResult<Self> {
        let Some(structure) = Structure::named(structure) else {
            let names = Structure::ALL.map(Structure::name).join(", ");
            return Err(refused(format!("structure = {structure:?}: there are {names}")));
        };
        let points: Vec<_> = line.iter().map(|&(at, ns)| (at, Duration::from_nanos(ns))).collect();
        let row = Row {
            name,
            probes,
            mean: Duration::from_nanos(mean_ns),
            cov,
            lost,
            losses: if burst > 1 { Losses::Bursts(burst) } else { Losses::Independent },
            lengths: lengths_of(&lengths)?,
            line: Line::through(&points),
            glitches,
            ..Row::default()
        };
        py.detach(|| row.surrogate(structure, seed)).map(Self).map_err(refused)
    }

    /// A recording of these delays in nanoseconds, zero where a probe is lost.
    #[staticmethod]
    fn of(delay_ns: Vec<u64>) -> Self {
        let probe = |(number, ns): (u64, u64)| match ns {
            0 => Probe::lost(number, Time::ZERO),
            _ => Probe::answered(number, Time::ZERO, Duration::from_nanos(ns)),
        };
        let probes = (0..).zip(delay_ns).map(probe).collect();
        Self(Delays::of("delays", probes, Order::Sequence, SendTimes::Unknown))
    }

    /// What it is called.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// What it was made as.
    #[getter]
    fn format(&self) -> &str {
        &self.0.format
    }

    /// What was assumed, a sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.0.notes.clone()
    }

    /// When each probe left, in nanoseconds.
    fn sent_ns<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |probe| probe.sent.as_nanos())
    }

    /// Each probe's delay in nanoseconds; zero where it is lost.
    fn delay_ns<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u64>> {
        self.column(py, |probe| probe.rtt.unwrap_or_default().as_nanos())
    }

    /// Which probes are lost.
    fn lost<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<bool>> {
        self.column(py, |probe| probe.rtt.is_none())
    }

    /// Each probe's length in octets.
    fn wire_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u32>> {
        self.column(py, |probe| probe.wire_bytes)
    }

    /// Replays the two-gain filter with every combination of weights and factors.
    fn two_gain(
        &self,
        py: Python<'_>,
        falling: Vec<f64>,
        rising: Vec<f64>,
        g: Vec<f64>,
    ) -> PyResult<Vec<Setting>> {
        let grid = TwoGainGrid { falling, rising, g, ..TwoGainGrid::default() };
        let mut settings = Vec::with_capacity(grid.settings());
        let each = |s: netspurt::replay::Setting| {
            settings.push((s.falling, s.rising, s.g, s.needless, s.needless_ns, s.waited_ns));
        };
        py.detach(|| grid.run(&self.0, Order::Sequence, each)).map_err(refused)?;
        Ok(settings)
    }

    /// Replays the law called `name` with its published constants: sums, and each probe's timer
    /// in nanoseconds.
    fn replay<'py>(
        &self,
        py: Python<'py>,
        name: &str,
    ) -> PyResult<(Sums, Bound<'py, PyArray1<u64>>)> {
        let mut law = law_of(name)?;
        let (mut sums, mut waits) = (Account::default(), Vec::with_capacity(self.0.probes.len()));
        let how = Replay { order: Order::Sequence, ..Replay::of(&self.0) };
        let each = |judged: netspurt::replay::Judged| {
            sums.take(judged);
            waits.push(judged.wait.as_nanos());
        };
        how.run(&self.0, law.as_mut(), each).map_err(refused)?;
        Ok((summed(&sums), waits.into_pyarray(py)))
    }
}

impl Surrogate {
    fn column<'py, T: numpy::Element>(
        &self,
        py: Python<'py>,
        value: impl Fn(&netspurt::delays::Probe) -> T,
    ) -> Bound<'py, PyArray1<T>> {
        self.0.probes.iter().map(value).collect::<Vec<T>>().into_pyarray(py)
    }
}

fn lengths_of(lengths: &[u32]) -> PyResult<Lengths> {
    match *lengths {
        [octets] => Ok(Lengths::Same(octets)),
        [lowest, highest] => Ok(Lengths::Clamped { lowest, highest }),
        [a, n, b, m] => Ok(Lengths::Runs { first: (a, n), then: (b, m) }),
        _ => Err(refused(format!("lengths = {lengths:?}: one, two or four numbers"))),
    }
}

/// A law by its name; RFC 889's two gains also with what a length costs.
fn law_of(name: &str) -> PyResult<Box<dyn RtoEstimator>> {
    if name == BY_LENGTH {
        return Ok(Box::new(ByLength::new(Mills::new(MillsConfig::default()))));
    }
    EstimatorConfig::named(name).map(|config| config.build()).ok_or_else(|| {
        let names = EstimatorConfig::NAMES.join(", ");
        refused(format!("law = {name:?}: there are {names}, {BY_LENGTH}"))
    })
}

fn summed(sums: &Account) -> Sums {
    let ns = Duration::as_nanos;
    (
        sums.probes,
        sums.lost,
        ns(sums.waited),
        sums.needless,
        ns(sums.needless_time),
        ns(sums.good),
        ns(sums.total()),
        sums.efficiency(),
    )
}
