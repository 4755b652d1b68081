//! The core's estimators for Python. An estimator is an algorithm that computes the retransmission
//! timeout (RTO) from round trips and timeouts.

use netspurt::event::RtoState;
use netspurt::rto::{EstimatorConfig, RtoEstimator, TimeoutKind};
use netspurt::sample::RttSample;
use netspurt::units::{Duration, Time};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::adapter::{Adapter, HookFailure, OnFailure};
use crate::array::{array, cells};
use crate::errors::estimator_error;
use crate::sample::{KINDS, instant, sample_of, span};

/// One of the core's algorithms with its constants and its state.
#[pyclass(module = "netspurt._core")]
pub struct Estimator {
    config: EstimatorConfig,
    timer: Box<dyn RtoEstimator>,
}

#[pymethods]
impl Estimator {
    /// Reads the name of an algorithm and its constants, as in `linux:rto_min=50ms`.
    #[new]
    fn new(py: Python<'_>, text: &str) -> PyResult<Self> {
        let config = EstimatorConfig::parse(text).map_err(|e| estimator_error(py, &e))?;
        Ok(Self { config, timer: config.build() })
    }

    /// The name of the algorithm.
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.config.name()
    }

    /// All constants, each as its key and its value as text.
    #[getter]
    fn settings(&self) -> Vec<(&'static str, String)> {
        self.config.settings()
    }

    /// Processes a sample, or a round trip in seconds.
    fn on_sample(&mut self, sample: &Bound<'_, PyAny>) -> PyResult<()> {
        self.timer.on_sample(&sample_of(sample)?);
        Ok(())
    }

    /// Processes a timeout at `now` seconds; `kind` is `rto`, `syn`, `syn-ack` or `probe`.
    #[pyo3(signature = (now=0.0, kind="rto"))]
    fn on_timeout(&mut self, now: f64, kind: &str) -> PyResult<()> {
        let (kind, _) = KINDS.iter().find(|(_, name)| *name == kind).ok_or_else(|| {
            let names = KINDS.map(|(_, name)| name).join(", ");
            PyValueError::new_err(format!("`kind` cannot be `{kind}`: write one of {names}"))
        })?;
        self.timer.on_timeout(instant(now)?, *kind);
        Ok(())
    }

    /// Processes the sending of a segment of `wire_bytes` octets, with headers, at `now` seconds.
    fn on_send(&mut self, now: f64, wire_bytes: u32) -> PyResult<()> {
        self.timer.on_send(instant(now)?, wire_bytes);
        Ok(())
    }

    /// Processes the handshake's round trip. Call this method once, when the handshake is complete.
    fn on_handshake(&mut self, sample: &Bound<'_, PyAny>) -> PyResult<()> {
        self.timer.on_handshake(&sample_of(sample)?);
        Ok(())
    }

    /// Processes the proof that a timeout was spurious. `sample` is from the ACK that proved this.
    #[pyo3(signature = (sample=None))]
    fn on_spurious(&mut self, sample: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let sample = sample.map(sample_of).transpose()?;
        self.timer.on_spurious(sample.as_ref());
        Ok(())
    }

    /// Processes an ACK of new octets that gave no sample. `covers_timed` says whether this ACK
    /// covered the timed segment.
    #[pyo3(signature = (covers_timed=false))]
    fn on_progress(&mut self, covers_timed: bool) {
        self.timer.on_progress(covers_timed);
    }

    /// When a timer that is armed at `now` fires, in seconds. `oldest_sent` is when the oldest
    /// outstanding segment left; `flight_segs` is the number of outstanding segments.
    fn deadline(&self, now: f64, oldest_sent: f64, flight_segs: u64) -> PyResult<f64> {
        let deadline = self.timer.deadline(instant(now)?, instant(oldest_sent)?, flight_segs);
        Ok(deadline.as_secs_f64())
    }

    /// The RTO in seconds.
    fn rto(&self) -> f64 {
        self.timer.rto().as_secs_f64()
    }

    /// The minimum and the maximum RTO in seconds. They are 0 and infinity if the algorithm has no
    /// bounds.
    #[getter]
    fn bounds(&self) -> (f64, f64) {
        // Linux's minimum applies to the variation. The RTO is the sum of srtt and the variation,
        // so the same minimum holds for the RTO.
        let bounds = self.config.bounds();
        let max = bounds.max.map_or(f64::INFINITY, Duration::as_secs_f64);
        (bounds.min.unwrap_or_default().as_secs_f64(), max)
    }

    /// The smoothed round trip and its variation in seconds, and the backoff. A value that the
    /// algorithm does not have is `None`.
    #[getter]
    fn state(&self) -> (Option<f64>, Option<f64>, u32) {
        let RtoState { srtt, rttvar, backoff, .. } = self.timer.state();
        (srtt.map(Duration::as_secs_f64), rttvar.map(Duration::as_secs_f64), backoff)
    }

    fn __str__(&self) -> String {
        self.config.to_string()
    }

    fn __repr__(&self) -> String {
        format!("estimator('{}')", self.config)
    }

    /// The text from which a copy is made. A copy has the same constants, but no samples.
    fn __getnewargs__(&self) -> (String,) {
        (self.config.to_string(),)
    }
}

impl Estimator {
    /// The algorithm with its constants.
    pub fn config(&self) -> EstimatorConfig {
        self.config
    }
}

/// Gives round trips in seconds to an estimator; NaN stands for a timeout. Returns the RTO after
/// each round trip and each timeout. An exception in a method ends the calls. A note on the
/// exception names the method and the sample.
#[pyfunction]
pub fn drive<'py>(
    py: Python<'py>,
    estimator: &Bound<'py, PyAny>,
    round_trips: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let failure = HookFailure::default();
    let round_trips: Vec<f64> = cells(round_trips)?;
    let mut timers = Vec::with_capacity(round_trips.len());
    let mut run = |timer: &mut dyn RtoEstimator| -> PyResult<()> {
        let mut now = Time::ZERO;
        for (i, seconds) in round_trips.iter().enumerate() {
            if seconds.is_nan() {
                now += timer.rto();
                timer.on_timeout(now, TimeoutKind::Rto);
            } else {
                let wrong = || {
                    PyValueError::new_err(format!(
                        "round trip {i} is {seconds}: write seconds from 0 to 9e9, or NaN for a \
                         timeout"
                    ))
                };
                let rtt = span(*seconds).ok_or_else(wrong)?;
                let sent = now;
                now += rtt;
                let round = i as u64;
                timer.on_sample(&RttSample { at: now, sent, rtt, round, ..RttSample::default() });
            }
            failure.take()?;
            timers.push(timer.rto().as_secs_f64());
        }
        Ok(())
    };
    if let Ok(own) = estimator.cast::<Estimator>() {
        run(own.borrow_mut().timer.as_mut())?;
    } else {
        run(&mut Adapter::new(estimator, OnFailure::Keep(failure.clone()))?)?;
    }
    array(py, &timers)
}
