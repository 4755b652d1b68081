//! Lets Python use the core's algorithms for congestion control, and lets the core use algorithms
//! that are written in Python. An algorithm *owns the window* if it controls cwnd even in recovery.

use std::sync::Arc;

use netspurt::congestion::{
    AckInfo, Congestion, CongestionConfig, CongestionControl, RateSample, Window,
};
use netspurt::packed::Packed;
use netspurt::units::{BitRate, Duration, Time};
use pyo3::call::PyCallArgs;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::hooks::{Instance, hook, needed, unlike};
use crate::sample::{duration, instant, span};

/// The maximum of cwnd and ssthresh in Python, in octets. It is far more than TCP can have
/// outstanding.
const CWND_MAX: u64 = Window::NO_THRESHOLD;

/// Reads a number of octets, which must be at least one. A fraction is cut off.
fn octets(what: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    let whole = value.extract::<u64>().ok();
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within range")]
    let part = || value.extract::<f64>().ok().filter(|n| (1.0..4e18).contains(n)).map(|n| n as u64);
    let octets = whole.or_else(part).filter(|octets| (1..=CWND_MAX).contains(octets));
    octets.ok_or_else(|| {
        PyValueError::new_err(format!("`{what}` cannot be {value}: write 1 octet or more"))
    })
}

/// A congestion window and its slow-start threshold, in octets.
#[pyclass(name = "Window", module = "netspurt._core")]
pub struct PyWindow(Window);

#[pymethods]
impl PyWindow {
    #[new]
    #[pyo3(signature = (cwnd, ssthresh=None))]
    fn new(cwnd: &Bound<'_, PyAny>, ssthresh: Option<&Bound<'_, PyAny>>) -> PyResult<Self> {
        let ssthresh = ssthresh.map(|value| octets("ssthresh", value)).transpose()?;
        let ssthresh = ssthresh.unwrap_or(Window::NO_THRESHOLD);
        Ok(Self(Window { cwnd: octets("cwnd", cwnd)?, ssthresh }))
    }

    /// The congestion window in octets.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.0.cwnd
    }

    #[setter]
    fn set_cwnd(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.cwnd = octets("cwnd", value)?;
        Ok(())
    }

    /// The slow-start threshold in octets.
    #[getter]
    fn ssthresh(&self) -> u64 {
        self.0.ssthresh
    }

    #[setter]
    fn set_ssthresh(&mut self, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.0.ssthresh = octets("ssthresh", value)?;
        Ok(())
    }

    fn __repr__(&self) -> String {
        match self.0.ssthresh {
            Window::NO_THRESHOLD => format!("Window({})", self.0.cwnd),
            ssthresh => format!("Window({}, {ssthresh})", self.0.cwnd),
        }
    }
}

/// A delivery rate sample. The interval is in seconds.
#[pyclass(frozen, get_all, name = "Rate", module = "netspurt._core")]
pub struct PyRate {
    /// The octets that were delivered in the interval.
    delivered_bytes: u64,
    /// The interval of the sample in seconds: the time that sending took, or the time that
    /// acknowledging took, whichever is longer.
    interval: f64,
    /// The octets that the connection had delivered when the newest acknowledged segment was sent.
    prior_delivered_bytes: u64,
    /// The octets that the connection has delivered by now.
    total_delivered_bytes: u64,
    /// Whether the application, and not cwnd, limited the rate.
    app_limited: bool,
}

impl From<RateSample> for PyRate {
    fn from(rate: RateSample) -> Self {
        Self {
            delivered_bytes: rate.delivered_bytes,
            interval: rate.interval.as_secs_f64(),
            prior_delivered_bytes: rate.prior_delivered_bytes,
            total_delivered_bytes: rate.total_delivered_bytes,
            app_limited: rate.app_limited,
        }
    }
}

/// What a congestion control algorithm learns about an ACK. Times are in seconds.
#[pyclass(frozen, name = "Ack", module = "netspurt._core")]
pub struct PyAck(AckInfo);

#[pymethods]
impl PyAck {
    #[new]
    #[pyo3(signature = (
        now, *, smss, acked_bytes=0, delivered_bytes=None, lost_bytes=0, pipe_before=0, pipe=0,
        rtt=None, srtt=None, min_rtt=None, una=0, nxt=0, window_limited=true, in_recovery=false,
        after_timeout=false,
    ))]
    #[expect(clippy::too_many_arguments, reason = "each field is a keyword argument")]
    fn new(
        now: f64,
        smss: u64,
        acked_bytes: u64,
        delivered_bytes: Option<u64>,
        lost_bytes: u64,
        pipe_before: u64,
        pipe: u64,
        rtt: Option<f64>,
        srtt: Option<f64>,
        min_rtt: Option<f64>,
        una: u64,
        nxt: u64,
        window_limited: bool,
        in_recovery: bool,
        after_timeout: bool,
    ) -> PyResult<Self> {
        let time = |name: &str, seconds: Option<f64>| {
            let wrong = |s| PyValueError::new_err(format!("`{name}` cannot be {s}: write seconds"));
            seconds.map(|seconds| span(seconds).ok_or_else(|| wrong(seconds))).transpose()
        };
        Ok(Self(AckInfo {
            now: instant(now)?,
            smss,
            acked_bytes,
            delivered_bytes: delivered_bytes.unwrap_or(acked_bytes),
            lost_bytes,
            pipe_before,
            pipe,
            rtt: time("rtt", rtt)?,
            srtt: time("srtt", srtt)?,
            min_rtt: time("min_rtt", min_rtt)?,
            una,
            nxt,
            window_limited,
            in_recovery,
            after_timeout,
            rate: None,
        }))
    }

    /// When the ACK arrived, in seconds.
    #[getter]
    fn now(&self) -> f64 {
        self.0.now.as_secs_f64()
    }

    /// The sender's maximum segment size, in octets of payload.
    #[getter]
    fn smss(&self) -> u64 {
        self.0.smss
    }

    /// The octets that are newly acknowledged in order. With the switch `cwnd.growth_by_delivery`,
    /// this equals `delivered_bytes`, unless the algorithm owns the window. With
    /// `cwnd.whole_segments`, the value is `smss` for each newly delivered segment.
    #[getter]
    fn acked_bytes(&self) -> u64 {
        self.0.acked_bytes
    }

    /// The octets that are newly known to have arrived, in order or by SACK. With the switch
    /// `cwnd.whole_segments`, a short segment counts as a full segment.
    #[getter]
    fn delivered_bytes(&self) -> u64 {
        self.0.delivered_bytes
    }

    /// The octets that are newly counted as lost.
    #[getter]
    fn lost_bytes(&self) -> u64 {
        self.0.lost_bytes
    }

    /// The sender's estimate of the octets in the network, before this ACK.
    #[getter]
    fn pipe_before(&self) -> u64 {
        self.0.pipe_before
    }

    /// The sender's estimate of the octets in the network, after this ACK.
    #[getter]
    fn pipe(&self) -> u64 {
        self.0.pipe
    }

    /// The unambiguous round trip that the ACK measured, in seconds; `None` if the ACK measured
    /// none.
    #[getter]
    fn rtt(&self) -> Option<f64> {
        self.0.rtt.map(Duration::as_secs_f64)
    }

    /// The smoothed round trip in seconds; `None` before the first sample.
    #[getter]
    fn srtt(&self) -> Option<f64> {
        self.0.srtt.map(Duration::as_secs_f64)
    }

    /// The minimum round trip so far, in seconds; `None` before the first sample.
    #[getter]
    fn min_rtt(&self) -> Option<f64> {
        self.0.min_rtt.map(Duration::as_secs_f64)
    }

    /// The oldest octet that is not acknowledged, after this ACK.
    #[getter]
    fn una(&self) -> u64 {
        self.0.una
    }

    /// The next octet to be sent.
    #[getter]
    fn nxt(&self) -> u64 {
        self.0.nxt
    }

    /// Whether the sender had filled cwnd before this ACK. In slow start with the switch
    /// `cwnd.validation`, more than half of cwnd is enough.
    #[getter]
    fn window_limited(&self) -> bool {
        self.0.window_limited
    }

    /// Whether a repair is in progress: recovery, or the repair after a timeout.
    #[getter]
    fn in_recovery(&self) -> bool {
        self.0.in_recovery
    }

    /// Whether a repair after a timeout, or after Tahoe's fast retransmit, is in progress.
    #[getter]
    fn after_timeout(&self) -> bool {
        self.0.after_timeout
    }

    /// The delivery rate that this ACK shows; `None` if the ACK shows none. An algorithm that uses
    /// the rate must set `wants_rate`.
    #[getter]
    fn rate(&self) -> Option<PyRate> {
        self.0.rate.map(PyRate::from)
    }
}

const KINDS: [(Congestion, &str); 3] =
    [(Congestion::Loss, "loss"), (Congestion::Mark, "mark"), (Congestion::Timeout, "timeout")];

/// A congestion control algorithm of the core.
#[pyclass(name = "CongestionControl", module = "netspurt._core")]
pub struct PyCongestion {
    config: CongestionConfig,
    algorithm: Box<dyn CongestionControl>,
}

#[pymethods]
impl PyCongestion {
    /// Makes the algorithm called `name`, with its published constants.
    #[new]
    fn new(name: &str) -> PyResult<Self> {
        let config = CongestionConfig::named(name).ok_or_else(|| {
            let known = "write `reno`, `cubic`, `bbr` or `westwood`";
            PyValueError::new_err(format!("no algorithm is called `{name}`: {known}"))
        })?;
        Ok(Self { config, algorithm: config.build() })
    }

    /// Processes an ACK that may enlarge cwnd, or any ACK if the algorithm owns the window.
    fn on_ack(&mut self, ack: &PyAck, window: &mut PyWindow) {
        self.algorithm.on_ack(&ack.0, &mut window.0);
    }

    /// Processes the end of the handshake: its round trip in seconds, and the initial window.
    fn on_open(&mut self, rtt: Option<f64>, window: &PyWindow) -> PyResult<()> {
        self.algorithm.on_open(rtt.map(duration).transpose()?, &window.0);
        Ok(())
    }

    /// Processes the round trip, in seconds, of an ACK that must not enlarge cwnd.
    fn on_round_trip(&mut self, now: f64, rtt: f64) -> PyResult<()> {
        self.algorithm.on_round_trip(instant(now)?, duration(rtt)?);
        Ok(())
    }

    /// Processes congestion (`kind`: `loss`, `mark` or `timeout`). Returns the new ssthresh.
    fn on_congestion(
        &mut self,
        now: f64,
        kind: &str,
        flight_bytes: u64,
        smss: u64,
        window: &PyWindow,
    ) -> PyResult<u64> {
        let (kind, _) = KINDS.iter().find(|(_, name)| *name == kind).ok_or_else(|| {
            let names = KINDS.map(|(_, name)| name).join(", ");
            PyValueError::new_err(format!("`kind` cannot be `{kind}`: write one of {names}"))
        })?;
        Ok(self.algorithm.on_congestion(instant(now)?, *kind, flight_bytes, smss, &window.0))
    }

    /// Processes a timeout, which begins a repair of all outstanding octets, up to octet `nxt`.
    fn on_timeout(&mut self, now: f64, nxt: u64) -> PyResult<()> {
        self.algorithm.on_timeout(instant(now)?, nxt);
        Ok(())
    }

    /// Processes the proof that a recovery or timeout was spurious. The window is already restored.
    fn on_undo(&mut self, now: f64, window: &mut PyWindow) -> PyResult<()> {
        self.algorithm.on_undo(instant(now)?, &mut window.0);
        Ok(())
    }

    /// Processes the end of recovery, or of the repair after a timeout.
    fn on_recovery_end(&mut self, now: f64, window: &mut PyWindow) -> PyResult<()> {
        self.algorithm.on_recovery_end(instant(now)?, &mut window.0);
        Ok(())
    }

    /// Processes a restart of sending while nothing is outstanding, `idle` seconds after the last
    /// segment was sent.
    fn on_idle_restart(&mut self, now: f64, idle: f64) -> PyResult<()> {
        self.algorithm.on_idle_restart(instant(now)?, duration(idle)?);
        Ok(())
    }

    /// The pacing rate in bits per second; `None` if the algorithm does not pace.
    fn pacing_rate(&self) -> Option<u64> {
        self.algorithm.pacing_rate().and_then(BitRate::bits_per_second)
    }

    /// Whether the algorithm controls the window even in recovery.
    #[getter]
    fn owns_window(&self) -> bool {
        self.algorithm.owns_window()
    }

    /// Whether the algorithm uses the delivery rate of ACKs.
    #[getter]
    fn wants_rate(&self) -> bool {
        self.algorithm.wants_rate()
    }

    fn __repr__(&self) -> String {
        format!("CongestionControl('{}')", self.config.name())
    }
}

/// A congestion control algorithm written in Python that works as an algorithm of the core. An
/// exception in a method ends the run.
pub struct CongestionAdapter {
    instance: Instance,
    on_ack: Py<PyAny>,
    on_congestion: Py<PyAny>,
    on_open: Option<Py<PyAny>>,
    on_round_trip: Option<Py<PyAny>>,
    on_timeout: Option<Py<PyAny>>,
    on_undo: Option<Py<PyAny>>,
    on_recovery_end: Option<Py<PyAny>>,
    on_idle_restart: Option<Py<PyAny>>,
    pacing_rate: Option<Py<PyAny>>,
    owns_window: bool,
    wants_rate: bool,
    /// The window object that the methods get. Only one method is called at a time.
    shown: Py<PyWindow>,
    /// The pacing rate that `pacing_rate` returned last.
    rate: Option<BitRate>,
    /// The sender's maximum segment size; 0 before the first ACK.
    smss: u64,
}

impl core::fmt::Debug for CongestionAdapter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("CongestionAdapter").field("rate", &self.rate).finish_non_exhaustive()
    }
}

/// The error message for a missing method ends with this text.
const METHODS: &str = "a congestion control algorithm needs on_ack(ack, window) and \
                       on_congestion(now, kind, flight_bytes, smss, window)";

impl CongestionAdapter {
    /// Wraps `object`. `text` names its class.
    ///
    /// # Errors
    /// When a method is missing, or the first pacing rate is invalid.
    pub fn new(object: &Bound<'_, PyAny>, text: &Arc<str>) -> PyResult<Self> {
        let py = object.py();
        let flag = |name: &str| -> PyResult<bool> {
            object.getattr_opt(name)?.map_or(Ok(false), |value| value.is_truthy())
        };
        let window = PyWindow(Window { cwnd: 1, ssthresh: Window::NO_THRESHOLD });
        let mut adapter = Self {
            instance: Instance::new(object, text),
            on_ack: needed(object, "on_ack", METHODS)?,
            on_congestion: needed(object, "on_congestion", METHODS)?,
            on_open: hook(object, "on_open")?,
            on_round_trip: hook(object, "on_round_trip")?,
            on_timeout: hook(object, "on_timeout")?,
            on_undo: hook(object, "on_undo")?,
            on_recovery_end: hook(object, "on_recovery_end")?,
            on_idle_restart: hook(object, "on_idle_restart")?,
            pacing_rate: hook(object, "pacing_rate")?,
            owns_window: flag("owns_window")?,
            wants_rate: flag("wants_rate")?,
            shown: Py::new(py, window)?,
            rate: None,
            smss: 0,
        };
        let rate = adapter.query_pacing_rate(py);
        adapter.rate =
            rate.map_err(|error| adapter.instance.with_context(py, "pacing_rate", error))?;
        Ok(adapter)
    }

    /// Asks for the pacing rate: `None`, or at least 1 and less than 10^15 bits per second.
    fn query_pacing_rate(&self, py: Python<'_>) -> PyResult<Option<BitRate>> {
        let Some(hook) = &self.pacing_rate else { return Ok(None) };
        let answer = hook.call0(py)?;
        if answer.is_none(py) {
            return Ok(None);
        }
        let wrong = || unlike("pacing_rate", answer.bind(py), "bits per second, or None");
        let rate = answer.extract::<f64>(py).ok().filter(|rate| (1.0..1e15).contains(rate));
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "in range")]
        rate.and_then(|rate| BitRate::new(rate as u64)).map(Some).ok_or_else(wrong)
    }

    /// Calls a method with the window, asks for the pacing rate, and returns the method's answer.
    /// The run ends with an error if a call fails, if an answer is invalid, or if the method
    /// reduces cwnd to less than a segment.
    fn call<T>(
        &mut self,
        name: &'static str,
        window: &mut Window,
        call: impl FnOnce(&Self, Python<'_>) -> PyResult<T>,
    ) -> T {
        let called = Python::attach(|py| {
            self.shown.borrow_mut(py).0 = *window;
            let answer = call(self, py).map_err(|error| (name, error))?;
            let changed = self.shown.borrow(py).0;
            if changed.cwnd < self.smss && changed.cwnd < window.cwnd {
                let what = format!("the window at {} octets, less than a segment", changed.cwnd);
                let message = format!("{name} left {what}: leave at least one segment");
                return Err((name, PyValueError::new_err(message)));
            }
            *window = changed;
            Ok((answer, self.query_pacing_rate(py).map_err(|error| ("pacing_rate", error))?))
        });
        match called {
            Ok((answer, rate)) => {
                self.rate = rate;
                answer
            }
            Err((method, error)) => self.instance.end_run(method, error),
        }
    }

    /// Does the same as [`call`](Self::call) for a method that the class need not have.
    fn call_if(
        &mut self,
        name: &'static str,
        window: &mut Window,
        method: fn(&Self) -> &Option<Py<PyAny>>,
        call: impl FnOnce(&Py<PyAny>, &Self, Python<'_>) -> PyResult<Py<PyAny>>,
    ) {
        if method(self).is_some() {
            self.call(name, window, |adapter, py| {
                call(method(adapter).as_ref().expect("the method exists"), adapter, py)
            });
        }
    }

    /// Does the same as [`call_if`](Self::call_if) for a method that does not get the window.
    fn notify<N>(
        &mut self,
        name: &'static str,
        method: fn(&Self) -> &Option<Py<PyAny>>,
        what: (f64, N),
    ) where
        (f64, N): for<'py> PyCallArgs<'py>,
    {
        let mut unused = Window { cwnd: 1, ssthresh: Window::NO_THRESHOLD };
        self.call_if(name, &mut unused, method, |hook, _, py| hook.call1(py, what));
    }
}

impl CongestionControl for CongestionAdapter {
    fn on_ack(&mut self, ack: &AckInfo, window: &mut Window) {
        self.smss = ack.smss;
        self.call("on_ack", window, |adapter, py| {
            adapter.on_ack.call1(py, (PyAck(*ack), &adapter.shown))
        });
    }

    fn on_open(&mut self, rtt: Option<Duration>, window: &Window) {
        let rtt = rtt.map(Duration::as_secs_f64);
        self.call_if(
            "on_open",
            &mut window.clone(),
            |adapter| &adapter.on_open,
            |hook, adapter, py| hook.call1(py, (rtt, &adapter.shown)),
        );
    }

    fn on_round_trip(&mut self, now: Time, rtt: Duration) {
        let what = (now.as_secs_f64(), rtt.as_secs_f64());
        self.notify("on_round_trip", |adapter| &adapter.on_round_trip, what);
    }

    fn on_congestion(
        &mut self,
        now: Time,
        kind: Congestion,
        flight: u64,
        smss: u64,
        window: &Window,
    ) -> u64 {
        let kind = KINDS.iter().find(|(known, _)| *known == kind).map_or("", |(_, name)| name);
        self.call("on_congestion", &mut window.clone(), |adapter, py| {
            let arguments = (now.as_secs_f64(), kind, flight, smss, &adapter.shown);
            let answer = adapter.on_congestion.call1(py, arguments)?;
            let what = "the new slow-start threshold in octets, at least 1";
            let wrong = |_| unlike("on_congestion", answer.bind(py), what);
            octets("ssthresh", answer.bind(py)).map_err(wrong)
        })
    }

    fn on_timeout(&mut self, now: Time, nxt: u64) {
        let what = (now.as_secs_f64(), nxt);
        self.notify("on_timeout", |adapter| &adapter.on_timeout, what);
    }

    fn on_undo(&mut self, now: Time, window: &mut Window) {
        self.call_if(
            "on_undo",
            window,
            |adapter| &adapter.on_undo,
            |hook, adapter, py| hook.call1(py, (now.as_secs_f64(), &adapter.shown)),
        );
    }

    fn on_recovery_end(&mut self, now: Time, window: &mut Window) {
        self.call_if(
            "on_recovery_end",
            window,
            |adapter| &adapter.on_recovery_end,
            |hook, adapter, py| hook.call1(py, (now.as_secs_f64(), &adapter.shown)),
        );
    }

    fn on_idle_restart(&mut self, now: Time, idle: Duration) {
        let what = (now.as_secs_f64(), idle.as_secs_f64());
        self.notify("on_idle_restart", |adapter| &adapter.on_idle_restart, what);
    }

    fn owns_window(&self) -> bool {
        self.owns_window
    }

    fn pacing_rate(&self) -> Option<BitRate> {
        self.rate
    }

    fn can_be_packed(&self) -> bool {
        false
    }

    fn wants_rate(&self) -> bool {
        self.wants_rate
    }
}

/// The state of the algorithm is in Python, so the state of its connection is never packed.
impl Packed for CongestionAdapter {
    fn pack(&self, _into: &mut Vec<u8>) {
        unreachable!("an algorithm in Python is never packed");
    }

    fn unpack(&mut self, _from: &mut &[u8]) {
        unreachable!("an algorithm in Python is never packed");
    }
}
