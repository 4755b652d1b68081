//! The process that a live run is: started by another one, told what to do in one order of JSON.
//!
//! It is a process of its own because namespaces belong to a process, and so that nothing of the
//! run outlives it. It ends with the process that started it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use netspurt::foreign::watched;
use netspurt::results::{FolderWriter, LIVE, RunIdentity};
use netspurt::scenario::{Scenario, ScenarioError};
use netspurt::units::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::exec::Programs;
use crate::folder::{DiskFolder, note_others};
use crate::run::{LiveRun, Options, run};
use crate::sandbox::{Wire, Wiring, end_with};

/// What a worker is asked to do.
///
/// ```
/// use netspurt_live::worker::RunOrder;
/// let text = r#"{"parent": 1, "folder": "/tmp/run", "source": "mine.toml", "scenario": "",
///     "code": {}, "budget_ns": 5000000, "spin_ns": 0, "wire": "veth", "offload": false, "programs": null}"#;
/// assert!(RunOrder::read(text).is_ok());
/// let slip = RunOrder::read(&text.replace("spin_ns", "spin")).unwrap_err();
/// assert!(slip.contains("unknown field `spin`"), "{slip}");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RunOrder {
    /// The process with which this one ends.
    pub parent: u32,
    /// The run folder, which is there.
    pub folder: PathBuf,
    /// Where the scenario came from.
    pub source: String,
    /// The resolved scenario, as TOML.
    pub scenario: String,
    /// The files with algorithms that it names, by name.
    pub code: BTreeMap<String, String>,
    /// How late a delivery may be before the run counts for nothing.
    pub budget_ns: u64,
    /// How long before an appointment the driver looks at the clock again and again.
    pub spin_ns: u64,
    /// What hosts' wires are made of.
    pub wire: Wire,
    /// Whether devices take segments many at a time.
    pub offload: bool,
    /// What is to run at the ends of the flow of programs.
    pub programs: Option<Programs>,
}

/// A line of the standard output while a run goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Progress {
    /// Seconds that have passed.
    pub passed_s: u64,
}

/// Does what the order in `file` says, or without one the order on the standard input. The run's
/// folder is whole then, its manifest included. While a run goes on, a [`Progress`] a second goes
/// to the standard output, unless there are programs, which have it for themselves.
///
/// # Errors
/// What went wrong, in a line for people.
pub fn work(file: Option<&Path>) -> Result<(), String> {
    let order = match file {
        Some(file) => fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display())),
        None => io::read_to_string(io::stdin()).map_err(text),
    };
    RunOrder::read(&order?)?.obey()
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

impl RunOrder {
    /// Reads an order.
    ///
    /// # Errors
    /// What is wrong with it: its key, line and column.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("the order of a live run: {error}"))
    }

    fn obey(self) -> Result<(), String> {
        end_with(self.parent).map_err(text)?;
        let scenario = self.scenario().map_err(text)?;
        let progress: Box<dyn FnMut(Time) -> bool> =
            if self.programs.is_some() { Box::new(|_| true) } else { Box::new(tell_seconds()) };
        let options = Options {
            budget: Duration::from_nanos(self.budget_ns),
            spin: Duration::from_nanos(self.spin_ns),
            wiring: Wiring { wire: self.wire, offload: self.offload },
            progress,
            programs: self.programs.clone(),
        };
        let ran = watched(|| run(&scenario, &self.folder, options));
        let ended = ran.map_err(|fault| fault.message)?.map_err(text)?;
        self.keep(&scenario, &ended).map_err(text)
    }

    fn scenario(&self) -> Result<Scenario, ScenarioError> {
        let code = self.code.clone().into_iter().collect();
        Scenario::parse_with("scenario", &self.scenario, code)
    }

    /// Writes everything into the folder, the manifest last.
    fn keep(&self, scenario: &Scenario, ended: &LiveRun) -> io::Result<()> {
        let mut out = FolderWriter::new(DiskFolder::at(&self.folder));
        out.tables(&ended.results)?;
        out.json(LIVE, &ended.report)?;
        for (name, text) in &self.code {
            out.code(name, text)?;
        }
        note_others(&mut out, &self.folder)?;
        let identity = RunIdentity {
            title: scenario.title(),
            source: &self.source,
            seed: scenario.seed(),
            scenario: &self.scenario,
            algorithms: &scenario.algorithms(),
        };
        out.end(identity, &ended.report.contents)
    }
}

/// Prints the seconds that have passed, one by one.
fn tell_seconds() -> impl FnMut(Time) -> bool {
    let mut next = 1;
    move |now: Time| {
        let passed_s = now.as_nanos() / 1_000_000_000;
        if passed_s < next {
            return true;
        }
        next = passed_s + 1;
        let line = serde_json::to_string(&Progress { passed_s }).expect("a number is JSON");
        // Where nobody reads any more, the run has lost its purpose.
        writeln!(io::stdout(), "{line}").and_then(|()| io::stdout().flush()).is_ok()
    }
}
