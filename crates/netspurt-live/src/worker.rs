//! The process that a live run is: started by another one, told what to do on its standard input.
//!
//! A process of its own because namespaces are a process's, and so that nothing of the run
//! outlives it. It ends with the one that started it.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use netspurt::record::write_table;
use netspurt::scenario::Scenario;
use netspurt::units::{Duration, Time};

use crate::run::{LiveRun, Options, run};
use crate::sandbox::{Wire, Wiring, end_with};

/// The file that tells how a run went.
pub const REPORT: &str = "live.json";

/// What a worker is asked to do.
struct Order {
    parent: u32,
    folder: PathBuf,
    budget: Duration,
    spin: Duration,
    wiring: Wiring,
}

/// Does what the arguments and the standard input say: `PARENT FOLDER BUDGET_NS SPIN_NS
/// [WIRE [offload]]`, the scenario as text. Tables, captures and [`REPORT`] go to the folder, which is there. While it
/// runs, lines with the seconds that have passed go to the standard output.
///
/// # Errors
/// What went wrong, in a line for people.
pub fn work(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    Order::read(arguments)?.obey()
}

impl Order {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        const USE: &str = "use: PARENT FOLDER BUDGET_NS SPIN_NS [veth|tun [offload]] < SCENARIO";
        let mut next = || arguments.next().ok_or(USE);
        let number = |text: String| text.parse().map_err(|_| USE);
        Ok(Self {
            parent: next()?.parse().map_err(|_| USE)?,
            folder: next()?.into(),
            budget: Duration::from_nanos(number(next()?)?),
            spin: Duration::from_nanos(number(next()?)?),
            wiring: wiring(arguments).ok_or(USE)?,
        })
    }

    fn obey(self) -> Result<(), String> {
        let text = |error: &dyn ToString| error.to_string();
        let mut source = String::new();
        io::stdin().read_to_string(&mut source).map_err(|e| text(&e))?;
        let scenario = Scenario::parse("scenario", &source).map_err(|e| text(&e))?;
        end_with(self.parent).map_err(|e| text(&e))?;
        let progress = Box::new(tell_seconds());
        let Self { budget, spin, wiring, .. } = self;
        let options = Options { budget, spin, wiring, progress };
        let ended = run(&scenario, &self.folder, options).map_err(|e| text(&e))?;
        keep(&ended, &self.folder).map_err(|e| text(&e))
    }
}

/// What hosts' wires are made of: by default veth devices without offload.
fn wiring(mut words: impl Iterator<Item = String>) -> Option<Wiring> {
    let wire = words.next().map_or(Some(Wire::default()), |word| Wire::named(&word))?;
    let offload = words.next().map_or(Some(false), |word| (word == "offload").then_some(true))?;
    Some(Wiring { wire, offload })
}

/// Prints the seconds that have passed, one by one.
fn tell_seconds() -> impl FnMut(Time) -> bool {
    let mut next = 1;
    move |now: Time| {
        if now.as_nanos() / 1_000_000_000 >= next {
            next = now.as_nanos() / 1_000_000_000 + 1;
            // Where nobody reads any more, the run has lost its purpose.
            return writeln!(io::stdout(), "{}", next - 1)
                .and_then(|()| io::stdout().flush())
                .is_ok();
        }
        true
    }
}

/// Writes everything into the folder, the report last.
fn keep(ended: &LiveRun, folder: &Path) -> io::Result<()> {
    for table in &ended.tables {
        let file = File::create_new(folder.join(format!("{}.parquet", table.name)))?;
        write_table(table, BufWriter::new(&file)).map_err(io::Error::other)?;
        file.sync_all()?;
    }
    let mut report = ended.report.clone();
    for (node, file) in &ended.captures {
        report["captures"][node] = file.as_str().into();
    }
    for table in &ended.tables {
        report["tables"][&*table.name] = table.rows().into();
    }
    let mut file = File::create_new(folder.join(REPORT))?;
    file.write_all(format!("{report:#}\n").as_bytes())?;
    file.sync_all()
}
