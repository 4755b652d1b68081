//! Scripts and their results for Python. A script is a test in packetdrill's notation: it says what
//! a peer sends to a TCP connection and how the connection must answer. To play a script means to
//! run it with a simulated connection. A switch is a named setting of the simulated TCP.

use std::fs;
use std::path::Path;

use netspurt::foreign::watched;
use netspurt_scenario::script::{
    self as core, FailureKind, ScriptDialect, SwitchSetting, TranscriptEntry,
};
use pyo3::prelude::*;

use crate::errors::script_error;
use crate::hooks::raised;

/// A script.
#[pyclass(frozen, name = "Script", module = "netspurt._core")]
pub struct PyScript(core::Script);

#[pymethods]
impl PyScript {
    /// Reads the text of a script, and the files that the script names. `name` is the path of the
    /// script, and its name in error messages. The files are searched first in the script's folder,
    /// then in the working directory.
    #[new]
    fn new(py: Python<'_>, name: &str, text: &str) -> PyResult<Self> {
        let folder = Path::new(name).parent().unwrap_or(Path::new("")).to_owned();
        let mut files =
            |file: &str| read_small(&folder.join(file)).or_else(|| read_small(Path::new(file)));
        let script = core::Script::parse_with(ScriptDialect::of(text), name, text, &mut files);
        script.map(Self).map_err(|e| script_error(py, &e))
    }

    /// The name of the script in error messages.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The behaviour that the script shows, in one line.
    #[getter]
    fn title(&self) -> &str {
        &self.0.options.title
    }

    /// The clauses, for example of RFCs, that require the behaviour.
    #[getter]
    fn clauses(&self) -> Vec<&str> {
        self.0.options.clauses.iter().map(|clause| &**clause).collect()
    }

    /// Changes of switches. Each change alone must make the script fail. Each item is the path of a
    /// switch and its new value.
    #[getter]
    fn fails_with(&self) -> Vec<(&str, &str)> {
        self.0.options.fails_with.iter().map(|set| (&*set.path, &*set.value)).collect()
    }

    /// Plays the script against the core's connection. `values` override the switches of the
    /// script.
    #[pyo3(signature = (values, profile=None))]
    fn play(
        &self,
        py: Python<'_>,
        values: Vec<(String, String)>,
        profile: Option<&str>,
    ) -> PyResult<Played> {
        let setting = |(path, value)| SwitchSetting { path, value, line: 0 };
        let changes: Vec<SwitchSetting> = values.into_iter().map(setting).collect();
        let mut host = self.0.host(profile, &changes).map_err(|e| script_error(py, &e))?;
        self.0.check_changes().map_err(|e| script_error(py, &e))?;
        let played = py.detach(|| watched(|| core::run(&self.0, &mut host)));
        played.map(Played).map_err(|fault| raised(*fault))
    }

    /// The items of `fails_with` that do not make the script fail, each with its line, path and
    /// value. An invalid item is an error.
    fn ineffective_changes(&self, py: Python<'_>) -> PyResult<Vec<(usize, &str, &str)>> {
        let found = self.0.ineffective_changes().map_err(|e| script_error(py, &e))?;
        Ok(found.into_iter().map(|set| (set.line, &*set.path, &*set.value)).collect())
    }
}

/// Reads a file of shell commands. Returns `None` if `path` is not a file that can be read, or the
/// file is larger than 64 KiB.
fn read_small(path: &Path) -> Option<String> {
    const BYTES_MAX: u64 = 1 << 16;
    let about = fs::metadata(path).ok()?;
    let is_small = about.is_file() && about.len() <= BYTES_MAX;
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
}

/// The result of a script.
#[pyclass(frozen, module = "netspurt._core")]
pub struct Played(Result<Vec<TranscriptEntry>, Box<core::ScriptFailure>>);

impl Played {
    fn failure(&self) -> Option<&core::ScriptFailure> {
        self.0.as_ref().err().map(|failure| &**failure)
    }

    fn entries(&self) -> &[TranscriptEntry] {
        match &self.0 {
            Ok(transcript) => transcript,
            Err(failure) => &failure.transcript,
        }
    }
}

#[pymethods]
impl Played {
    /// Whether the connection followed the script.
    #[getter]
    fn ok(&self) -> bool {
        self.0.is_ok()
    }

    /// Whether the connection supports everything that the script used before it ended or failed.
    #[getter]
    fn supported(&self) -> bool {
        self.failure().is_none_or(|failure| failure.kind != FailureKind::NotSupported)
    }

    /// The events up to the end or the failure: an instant in nanoseconds and a text for each.
    #[getter]
    fn transcript(&self) -> Vec<(u64, &str)> {
        self.entries().iter().map(|entry| (entry.at.as_nanos(), &*entry.text)).collect()
    }

    /// The kind of failure, in one line.
    #[getter]
    fn headline(&self) -> Option<&'static str> {
        self.failure().map(|failure| failure.kind.headline())
    }

    /// The number of the line that failed, from 1.
    #[getter]
    fn line(&self) -> Option<usize> {
        self.failure().map(|failure| failure.line)
    }

    /// The event that the script expects in the line that failed.
    #[getter]
    fn expected(&self) -> Option<&str> {
        self.failure().map(|failure| &*failure.expected)
    }

    /// The event that happened instead of the expected event.
    #[getter]
    fn actual(&self) -> Option<&str> {
        self.failure().map(|failure| &*failure.actual)
    }

    /// The fields that differ: name, expected value and sent value of each.
    #[getter]
    fn differences(&self) -> Vec<(&str, &str, &str)> {
        let Some(FailureKind::Packet(found)) = self.failure().map(|failure| &failure.kind) else {
            return Vec::new();
        };
        found
            .iter()
            .map(|difference| (difference.field, &*difference.expected, &*difference.actual))
            .collect()
    }

    /// The report of a failure; empty if the script did not fail.
    fn __str__(&self) -> String {
        self.failure().map_or_else(String::new, ToString::to_string)
    }
}
