//! The process that carries out a live run (the *worker*). Another process starts it and gives it
//! one order in JSON.
//!
//! A live run needs a process of its own, because namespaces belong to a process. When this process
//! ends, everything that belongs to the run ends. This process ends when the process that started
//! it ends.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use netspurt::foreign::watched;
use netspurt::results::{FolderWriter, LIVE, RunIdentity};
use netspurt::units::{Duration, Time};
use netspurt_scenario::scenario::{Scenario, ScenarioError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::exec::Programs;
use crate::folder::{DiskFolder, note_others};
use crate::run::{LiveRun, Options, Progress, RunScene, run};
use crate::sandbox::{Wire, Wiring, end_with};

/// The order that a worker carries out.
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
    /// The id of the process that started the worker. When that process ends, the worker ends too.
    pub parent: u32,
    /// The run folder, which must exist.
    pub folder: PathBuf,
    /// Where the scenario came from.
    pub source: String,
    /// The scenario as TOML, with every default written out.
    pub scenario: String,
    /// The files with algorithms that the scenario refers to. The keys are the names of the files.
    pub code: BTreeMap<String, String>,
    /// The maximum lateness that a delivery may have in a valid run.
    pub budget_ns: u64,
    /// How long the driver polls the clock, instead of sleeping, before each instant at which it
    /// must act.
    pub spin_ns: u64,
    /// The kind of devices that connect the hosts.
    pub wire: Wire,
    /// Whether devices take many segments in one packet.
    pub offload: bool,
    /// The programs that `netspurt live exec` runs at the two ends of the path.
    pub programs: Option<Programs>,
}

/// Carries out the order in `file`, or the order on the standard input if there is no file. When
/// this function has returned without an error, the run folder is complete. It then has a manifest,
/// which lists its files.
///
/// During the run, the state of the run (a [`RunScene`]) is printed to the standard output up to
/// four times a second. Runs of programs print no scenes, because the programs use the standard
/// output themselves.
///
/// # Errors
/// When the order cannot be read or carried out. The error is a text of one or more lines.
pub fn work(file: Option<&Path>) -> Result<(), String> {
    let order = match file {
        Some(file) => fs::read_to_string(file).map_err(|e| format!("{}: {e}", file.display())),
        None => io::read_to_string(io::stdin()).map_err(text),
    };
    RunOrder::read(&order?)?.carry_out()
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

impl RunOrder {
    /// Reads an order.
    ///
    /// # Errors
    /// When the text is not an order. The error names the line and the column. It also names a key
    /// that is unknown, missing or given twice.
    pub fn read(text: &str) -> Result<Self, String> {
        serde_json::from_str(text).map_err(|error| format!("the order of a live run: {error}"))
    }

    fn carry_out(self) -> Result<(), String> {
        end_with(self.parent).map_err(text)?;
        let scenario = self.scenario().map_err(text)?;
        let progress: Progress =
            if self.programs.is_some() { Box::new(|_, _| true) } else { Box::new(print_scenes()) };
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

    /// Writes the results of the run into its folder. The manifest is written last.
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

/// The time between two printed scenes.
const SCENE_INTERVAL: Duration = Duration::from_millis(250);

/// The number of octets that a pipe accepts in one piece, if it has room (`PIPE_BUF`).
const PIPE_WRITE_BYTES_MAX: usize = 4096;

/// Returns a function that prints scenes. The function returns whether the run continues. A scene
/// is not printed if the pipe has no room for it, or if it is longer than [`PIPE_WRITE_BYTES_MAX`].
/// So packets never wait for the output.
fn print_scenes() -> impl FnMut(Time, &dyn Fn() -> RunScene) -> bool {
    let mut next = Time::ZERO + SCENE_INTERVAL;
    move |now, scene| {
        if now < next {
            return true;
        }
        next = now + SCENE_INTERVAL;
        let mut line = serde_json::to_string(&scene()).expect("a scene can be written as JSON");
        line.push('\n');
        let out = io::stdout();
        match room(&out) {
            Ok(true) if line.len() <= PIPE_WRITE_BYTES_MAX => {
                rustix::io::write(&out, line.as_bytes()).is_ok_and(|count| count == line.len())
            }
            // If nobody reads the output any more, the run ends.
            room => room.is_ok(),
        }
    }
}

/// Whether a pipe accepts a line without a wait. Returns an error if the reader of the pipe is
/// gone.
fn room(out: &io::Stdout) -> io::Result<bool> {
    let mut polled = [PollFd::new(out, PollFlags::OUT)];
    if poll(&mut polled, Some(&Timespec::default())).is_err() {
        return Ok(false);
    }
    match polled[0].revents() {
        gone if gone.intersects(PollFlags::ERR | PollFlags::HUP) => {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        found => Ok(found.contains(PollFlags::OUT)),
    }
}
