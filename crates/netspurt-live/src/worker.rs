//! The process that a live run is: started by another one, told what to do in one order of JSON.
//!
//! It is a process of its own because namespaces belong to a process, and so that nothing of the
//! run outlives it. It ends with the process that started it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use netspurt::foreign::watched;
use netspurt::results::{FolderWriter, LIVE, RunIdentity};
use netspurt::scenario::{Scenario, ScenarioError};
use netspurt::units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde::{Deserialize, Serialize};

use crate::exec::Programs;
use crate::folder::{DiskFolder, note_others};
use crate::run::{LiveRun, Options, Progress, RunScene, run};
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

/// Does what the order in `file` says, or without one the order on the standard input. The run's
/// folder is whole then, its manifest included. While a run goes on, a [`RunScene`] goes to the
/// standard output four times a second, unless there are programs, which have it for themselves.
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
        let progress: Progress =
            if self.programs.is_some() { Box::new(|_, _| true) } else { Box::new(tell_scenes()) };
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

/// How often a scene is told.
const EVERY: Duration = Duration::from_millis(250);

/// The octets that a pipe with room takes at once (`PIPE_BUF`).
const AT_ONCE: usize = 4096;

/// Prints scenes. Packets never wait for this: of a scene that the reader has no room for, nothing
/// is printed.
fn tell_scenes() -> impl FnMut(Time, &dyn Fn() -> RunScene) -> bool {
    let mut next = Time::ZERO + EVERY;
    move |now, scene| {
        if now < next {
            return true;
        }
        next = now + EVERY;
        let mut line = serde_json::to_string(&scene()).expect("it is JSON");
        line.push('\n');
        let out = io::stdout();
        match room(&out) {
            Ok(true) if line.len() <= AT_ONCE => {
                rustix::io::write(&out, line.as_bytes()).is_ok_and(|count| count == line.len())
            }
            // Where nobody reads any more, the run has lost its purpose.
            room => room.is_ok(),
        }
    }
}

/// Whether a pipe takes a line at once; an error where its reader is gone.
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
