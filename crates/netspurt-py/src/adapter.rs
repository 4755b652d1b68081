//! Adapts estimators written in Python, so that the core can use them as its own. An estimator is
//! an algorithm that computes the retransmission timeout (RTO) from round trips and timeouts.

use std::sync::{Arc, Mutex, PoisonError};

use netspurt::event::RtoState;
use netspurt::rto::{RtoEstimator, TimeoutKind};
use netspurt::sample::RttSample;
use netspurt::units::{Duration, Time};
use pyo3::prelude::*;

use crate::hooks::{Instance, hook, needed, takes, unlike};
use crate::sample::{Sample, instant, kind_name, span};

/// The first exception that a method of an estimator written in Python raised. After this
/// exception, no method of the estimator is called.
#[derive(Clone, Default)]
pub struct HookFailure(Arc<Mutex<Option<PyErr>>>);

impl HookFailure {
    fn is_there(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Keeps the first exception, with a note that names the method (`hook`) and the sample.
    fn keep(&self, error: PyErr, hook: &str, samples: u64) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_none() {
            let at =
                if samples == 0 { "before any sample".into() } else { format!("sample {samples}") };
            let note = format!("in `{hook}` of the estimator, {at}");
            // An exception to which no note can be added is still reported.
            let _ = Python::attach(|py| error.value(py).call_method1("add_note", (note,)).is_ok());
            *kept = Some(error);
        }
    }

    /// Takes the exception, and raises it if there was one.
    pub fn take(&self) -> PyResult<()> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        kept.map_or(Ok(()), Err)
    }
}

/// What happens to an exception that a method of an estimator raises. The caller cannot get the
/// exception as an error, because the methods of the trait [`RtoEstimator`] return no errors.
#[derive(Clone)]
pub enum OnFailure {
    /// The exception is kept, and the timer does not change. The caller of the estimator then looks
    /// for the exception.
    Keep(HookFailure),
    /// The exception ends the run, as a [`ForeignFault`](netspurt::foreign::ForeignFault).
    EndRun,
}

/// An estimator written in Python that works as an estimator of the core.
pub struct Adapter {
    instance: Instance,
    on_sample: Py<PyAny>,
    on_timeout: Py<PyAny>,
    rto: Py<PyAny>,
    on_send: Option<Py<PyAny>>,
    on_handshake: Option<Py<PyAny>>,
    on_spurious: Option<Py<PyAny>>,
    on_progress: Option<Py<PyAny>>,
    deadline: Option<Py<PyAny>>,
    /// Whether the method `on_timeout` has a parameter `kind`.
    takes_kind: bool,
    on_failure: OnFailure,
    samples: u64,
    timeouts: u32,
    current: Duration,
}

impl core::fmt::Debug for Adapter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Adapter").field("current", &self.current).finish_non_exhaustive()
    }
}

/// The error message for a missing method ends with this text.
const METHODS: &str = "an estimator needs on_sample(sample), on_timeout(now) and rto()";

impl Adapter {
    /// Wraps `object`, and asks this object for its first timer.
    ///
    /// # Errors
    /// When a method is missing, or the first `rto()` raises an exception or returns an invalid
    /// value.
    pub fn new(object: &Bound<'_, PyAny>, on_failure: OnFailure) -> PyResult<Self> {
        Self::named(object, &Arc::from(""), on_failure)
    }

    /// Wraps an object as [`new`](Self::new) does. `text` names the class of the object.
    ///
    /// # Errors
    /// For the same reasons as [`new`](Self::new).
    pub fn named(
        object: &Bound<'_, PyAny>,
        text: &Arc<str>,
        on_failure: OnFailure,
    ) -> PyResult<Self> {
        let needed = |name: &str| needed(object, name, METHODS);
        let mut adapter = Self {
            instance: Instance::new(object, text),
            on_sample: needed("on_sample")?,
            on_timeout: needed("on_timeout")?,
            rto: needed("rto")?,
            on_send: hook(object, "on_send")?,
            on_handshake: hook(object, "on_handshake")?,
            on_spurious: hook(object, "on_spurious")?,
            on_progress: hook(object, "on_progress")?,
            deadline: hook(object, "deadline")?,
            takes_kind: false,
            on_failure,
            samples: 0,
            timeouts: 0,
            current: Duration::ZERO,
        };
        adapter.takes_kind = takes(object.py(), &adapter.on_timeout, "kind")?;
        match (adapter.query_rto(object.py()), &adapter.on_failure) {
            (Ok(timer), _) => adapter.current = timer,
            (Err(error), OnFailure::Keep(failure)) => {
                failure.keep(error, "rto", 0);
                failure.take()?;
            }
            (Err(error), OnFailure::EndRun) => {
                return Err(adapter.instance.with_context(object.py(), "rto", error));
            }
        }
        Ok(adapter)
    }

    /// Asks the object for its timer in seconds, which must be above zero and at most 9e9.
    fn query_rto(&self, py: Python<'_>) -> PyResult<Duration> {
        let answer = self.rto.call0(py)?;
        let seconds = answer.extract::<f64>(py).ok();
        let timer = seconds.and_then(span).filter(|timer| !timer.is_zero());
        timer.ok_or_else(|| unlike("rto", answer.bind(py), "seconds above zero, at most 9e9"))
    }

    /// Calls a method, and then asks the object for its timer. If an exception was kept earlier,
    /// this function does nothing.
    fn tell(
        &mut self,
        name: &'static str,
        call: impl FnOnce(&Self, Python<'_>) -> PyResult<Py<PyAny>>,
    ) {
        if matches!(&self.on_failure, OnFailure::Keep(failure) if failure.is_there()) {
            return;
        }
        let answer = Python::attach(|py| {
            call(self, py).map_err(|error| (name, error))?;
            self.query_rto(py).map_err(|error| ("rto", error))
        });
        match answer {
            Ok(timer) => self.current = timer,
            Err((method, error)) => self.failed(method, error),
        }
    }

    fn failed(&self, method: &'static str, error: PyErr) {
        match &self.on_failure {
            OnFailure::Keep(failure) => failure.keep(error, method, self.samples),
            OnFailure::EndRun => self.instance.end_run(method, error),
        }
    }
}

impl RtoEstimator for Adapter {
    fn on_sample(&mut self, sample: &RttSample) {
        self.samples += 1;
        if !sample.ambiguous {
            self.timeouts = 0;
        }
        self.tell("on_sample", |adapter, py| adapter.on_sample.call1(py, (Sample(*sample),)));
    }

    fn on_timeout(&mut self, now: Time, kind: TimeoutKind) {
        if kind == TimeoutKind::Probe {
            return;
        }
        self.timeouts = (self.timeouts + 1).min(31);
        let at = now.as_secs_f64();
        self.tell("on_timeout", |adapter, py| {
            if adapter.takes_kind {
                return adapter.on_timeout.call1(py, (at, kind_name(kind)));
            }
            adapter.on_timeout.call1(py, (at,))
        });
    }

    fn rto(&self) -> Duration {
        self.current
    }

    fn state(&self) -> RtoState {
        let (rto, backoff) = (self.current, 1 << self.timeouts);
        RtoState { srtt: None, rttvar: None, backoff, rto, fired: false }
    }

    fn on_send(&mut self, now: Time, wire_bytes: u32) {
        if self.on_send.is_some() {
            self.tell("on_send", |adapter, py| {
                let hook = adapter.on_send.as_ref().expect("the hook exists");
                hook.call1(py, (now.as_secs_f64(), wire_bytes))
            });
        }
    }

    fn on_handshake(&mut self, sample: &RttSample) {
        if self.on_handshake.is_none() {
            return self.on_sample(sample);
        }
        self.samples += 1;
        self.tell("on_handshake", |adapter, py| {
            let hook = adapter.on_handshake.as_ref().expect("the hook exists");
            hook.call1(py, (Sample(*sample),))
        });
    }

    fn on_spurious(&mut self, sample: Option<&RttSample>) {
        self.timeouts = 0;
        if self.on_spurious.is_none() {
            if let Some(sample) = sample {
                self.on_sample(sample);
            }
            return;
        }
        self.samples += u64::from(sample.is_some());
        self.tell("on_spurious", |adapter, py| {
            let hook = adapter.on_spurious.as_ref().expect("the hook exists");
            hook.call1(py, (sample.map(|sample| Sample(*sample)),))
        });
    }

    fn on_progress(&mut self, covers_timed: bool) {
        if self.on_progress.is_some() {
            self.tell("on_progress", |adapter, py| {
                let hook = adapter.on_progress.as_ref().expect("the hook exists");
                hook.call1(py, (covers_timed,))
            });
        }
    }

    fn deadline(&self, now: Time, oldest_sent: Time, flight_segs: u64) -> Time {
        let usual = now + self.current;
        let failed = matches!(&self.on_failure, OnFailure::Keep(failure) if failure.is_there());
        let Some(hook) = self.deadline.as_ref().filter(|_| !failed) else { return usual };
        let answer = Python::attach(|py| {
            let arguments = (now.as_secs_f64(), oldest_sent.as_secs_f64(), flight_segs);
            let answer = hook.call1(py, arguments)?;
            let wrong = |_| unlike("deadline", answer.bind(py), "an instant in seconds");
            answer.extract::<f64>(py).and_then(instant).map_err(wrong)
        });
        answer.map(|at| at.max(now)).unwrap_or_else(|error| {
            self.failed("deadline", error);
            usual
        })
    }
}
