//! Scripts, and what becomes of them.

use netspurt::script::{self as core, Entry, FailureKind, Host, Setting};
use pyo3::prelude::*;

use crate::errors::script_error;

/// A script that was read.
#[pyclass(frozen, module = "netspurt._core")]
pub struct Script(core::Script);

#[pymethods]
impl Script {
    /// Reads the text of a script; `name` is what errors call it.
    #[new]
    fn new(py: Python<'_>, name: &str, text: &str) -> PyResult<Self> {
        core::Script::parse(name, text).map(Self).map_err(|e| script_error(py, &e))
    }

    /// What errors call it.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// What it shows, in a line.
    #[getter]
    fn title(&self) -> &str {
        &self.0.options.title
    }

    /// Where that is written.
    #[getter]
    fn clauses(&self) -> Vec<&str> {
        self.0.options.clauses.iter().map(|clause| &**clause).collect()
    }

    /// The changes with each of which, alone, it must fail: paths and values.
    #[getter]
    fn fails_with(&self) -> Vec<(&str, &str)> {
        self.0.options.fails_with.iter().map(|set| (&*set.path, &*set.value)).collect()
    }

    /// Plays it against our connection, with values set over its own switches.
    #[pyo3(signature = (values, profile=None))]
    fn play(
        &self,
        py: Python<'_>,
        values: Vec<(String, String)>,
        profile: Option<&str>,
    ) -> PyResult<Played> {
        let setting = |(path, value)| Setting { path, value, line: 0 };
        let changes: Vec<Setting> = values.into_iter().map(setting).collect();
        let config = self.0.config(profile, &changes).map_err(|e| script_error(py, &e))?;
        self.0.check_changes().map_err(|e| script_error(py, &e))?;
        Ok(Played(py.detach(|| core::run(&self.0, &mut Host::new(&config)))))
    }

    /// The changes of `fails_with` with which it passes all the same: the line, path and value of
    /// each. One that means nothing is an error.
    fn idle_changes(&self, py: Python<'_>) -> PyResult<Vec<(usize, &str, &str)>> {
        let idle = self.0.idle_changes().map_err(|e| script_error(py, &e))?;
        Ok(idle.into_iter().map(|set| (set.line, &*set.path, &*set.value)).collect())
    }
}

/// How a script went.
#[pyclass(frozen, module = "netspurt._core")]
pub struct Played(Result<Vec<Entry>, Box<core::Failure>>);

impl Played {
    fn failure(&self) -> Option<&core::Failure> {
        self.0.as_ref().err().map(|failure| &**failure)
    }

    fn entries(&self) -> &[Entry] {
        match &self.0 {
            Ok(story) => story,
            Err(failure) => &failure.story,
        }
    }
}

#[pymethods]
impl Played {
    /// Whether the connection told the script's story.
    #[getter]
    fn ok(&self) -> bool {
        self.0.is_ok()
    }

    /// What happened: instants and what happened then.
    #[getter]
    fn story(&self) -> Vec<(u64, &str)> {
        self.entries().iter().map(|entry| (entry.at.as_nanos(), &*entry.text)).collect()
    }

    /// What went wrong, in a line.
    #[getter]
    fn headline(&self) -> Option<&'static str> {
        self.failure().map(|failure| failure.kind.headline())
    }

    /// The line it failed at, from 1.
    #[getter]
    fn line(&self) -> Option<usize> {
        self.failure().map(|failure| failure.line)
    }

    /// What the script says there.
    #[getter]
    fn expected(&self) -> Option<&str> {
        self.failure().map(|failure| &*failure.expected)
    }

    /// What happened instead.
    #[getter]
    fn actual(&self) -> Option<&str> {
        self.failure().map(|failure| &*failure.actual)
    }

    /// The fields that differ: name, expected, sent.
    #[getter]
    fn differences(&self) -> Vec<(&str, &str, &str)> {
        let Some(FailureKind::Packet(found)) = self.failure().map(|failure| &failure.kind) else {
            return Vec::new();
        };
        found.iter().map(|one| (one.field, &*one.expected, &*one.actual)).collect()
    }

    /// The whole report of a failure.
    fn __str__(&self) -> String {
        self.failure().map_or_else(String::new, ToString::to_string)
    }
}
