//! Lets the core find foreign algorithms: estimators and congestion control that are written in
//! Python. This module finds each class with its constants once, and keeps it as long as the
//! process runs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use netspurt::congestion::{CongestionControl, FOREIGN_CONGESTION, ForeignCongestion};
use netspurt::foreign::{Finder, ForeignError, Lookup, Origin, fail, learn_with};
use netspurt::rto::{FOREIGN_TIMERS, ForeignTimer, RtoEstimator};
use pyo3::prelude::*;

use crate::adapter::{Adapter, OnFailure};
use crate::congestion::CongestionAdapter;
use crate::hooks::{MODULE, fault_of};

/// A Python class with its constants.
#[derive(Debug)]
struct PyAlgorithm {
    origin: Origin,
    text: Arc<str>,
    make: Py<PyAny>,
}

/// The algorithms that were found. The keys are their pinned names, which contain a fingerprint of
/// the code.
type KnownAlgorithms = Mutex<BTreeMap<String, &'static PyAlgorithm>>;

static TIMERS: KnownAlgorithms = Mutex::new(BTreeMap::new());
static CONGESTION: KnownAlgorithms = Mutex::new(BTreeMap::new());

/// Lets the core find algorithms written in Python.
pub fn open() {
    learn_with(learn);
    FOREIGN_TIMERS.open(Finder { find: timer, offered: || offered("timer") });
    FOREIGN_CONGESTION.open(Finder { find: congestion, offered: || offered("congestion") });
}

fn learn(name: &str, code: &str) {
    Python::attach(|py| {
        let learned =
            py.import(MODULE).and_then(|module| module.call_method1("learn", (name, code)));
        if let Err(error) = learned {
            error.write_unraisable(py, None);
        }
    });
}

fn offered(kind: &str) -> Vec<String> {
    let names = |py: Python<'_>| py.import(MODULE)?.call_method1("offered", (kind,))?.extract();
    Python::attach(names).unwrap_or_default()
}

fn timer(text: &str) -> Lookup<dyn ForeignTimer> {
    let tried = |made: &Bound<'_, PyAny>| {
        Adapter::named(made, &Arc::from(text), OnFailure::EndRun).map(drop)
    };
    let found = find(&TIMERS, "timer", text, tried)?;
    Some(found.map(|timer| timer as &'static dyn ForeignTimer))
}

fn congestion(text: &str) -> Lookup<dyn ForeignCongestion> {
    let tried = |made: &Bound<'_, PyAny>| CongestionAdapter::new(made, &Arc::from(text)).map(drop);
    let found = find(&CONGESTION, "congestion", text, tried)?;
    Some(found.map(|algorithm| algorithm as &'static dyn ForeignCongestion))
}

/// Returns the class that `text` names. The function `tried` checks whether an instance of the
/// class has all required methods.
fn find(
    known: &KnownAlgorithms,
    kind: &str,
    text: &str,
    tried: impl Fn(&Bound<'_, PyAny>) -> PyResult<()>,
) -> Lookup<PyAlgorithm> {
    let kept = |text: &str| known.lock().unwrap_or_else(PoisonError::into_inner).get(text).copied();
    if let Some(found) = kept(text) {
        return Some(Ok(found));
    }
    let looked_up = Python::attach(|py| {
        let found = py.import(MODULE)?.call_method1("find", (kind, text))?;
        if found.is_none() {
            return Ok(None);
        }
        let origin = Origin {
            text: found.getattr("text")?.extract()?,
            file: found.getattr("file")?.extract()?,
            sha256: found.getattr("sha256")?.extract()?,
        };
        if let Some(found) = kept(&origin.text) {
            return Ok(Some(found));
        }
        let make = found.getattr("make")?;
        tried(&make.call0()?)?;
        let text = Arc::from(&*origin.text);
        let found = PyAlgorithm { origin, text, make: make.unbind() };
        let found: &'static PyAlgorithm = Box::leak(Box::new(found));
        let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Some(*known.entry(found.origin.text.clone()).or_insert(found)))
    });
    looked_up.map_err(|error: PyErr| mistake(text, &error)).transpose()
}

/// Makes the error for a text that does not name an algorithm, or names an algorithm that cannot be
/// used.
fn mistake(text: &str, error: &PyErr) -> ForeignError {
    Python::attach(|py| {
        let value = error.value(py);
        let part = |name: &str| value.getattr(name).ok()?.extract::<String>().ok();
        match (part("message"), part("fix")) {
            (Some(message), Some(fix)) => ForeignError { message, fix },
            _ => {
                let message = format!("`{}`: {value}", netspurt::foreign::unpinned(text));
                ForeignError { message, fix: "see docs/own-algorithms.md".into() }
            }
        }
    })
}

impl PyAlgorithm {
    /// Makes an instance of the class. The function `adapt` converts this instance to an algorithm
    /// of the core.
    fn instance<A>(&self, adapt: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<A>) -> A {
        let made = Python::attach(|py| {
            let made = self.make.bind(py).call0().and_then(|made| adapt(&made));
            made.map_err(|error| fault_of(py, error))
        });
        made.unwrap_or_else(|fault| fail(fault))
    }
}

impl ForeignTimer for PyAlgorithm {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn build(&self) -> Box<dyn RtoEstimator> {
        Box::new(self.instance(|made| Adapter::named(made, &self.text, OnFailure::EndRun)))
    }
}

impl ForeignCongestion for PyAlgorithm {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn build(&self) -> Box<dyn CongestionControl> {
        Box::new(self.instance(|made| CongestionAdapter::new(made, &self.text)))
    }
}
