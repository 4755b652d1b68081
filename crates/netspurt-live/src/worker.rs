//! The process of a live run. Another process starts it and sends its order to its standard input.
//!
//! It is a process of its own because namespaces belong to a process, and so that nothing of the
//! run outlives it. It ends with the process that started it.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use netspurt::record::write_table;
use netspurt::scenario::Scenario;
use netspurt::units::{Duration, Time};
use serde_json::Value;

use crate::exec::Programs;
use crate::run::{LiveRun, Options, run};
use crate::sandbox::{Wire, Wiring, end_with};

/// The file that tells how a run went.
pub const REPORT: &str = "live.json";

/// What the word with the file of programs begins with.
const ORDER: &str = "order:";

/// What a worker is asked to do.
struct Order {
    parent: u32,
    folder: PathBuf,
    budget: Duration,
    spin: Duration,
    /// The file of the scenario and the programs; without, the scenario is read.
    programs: Option<PathBuf>,
    wiring: Wiring,
}

/// Does what the arguments and the standard input say: `PARENT FOLDER BUDGET_NS SPIN_NS
/// [order:FILE] [WIRE [offload]]`, the scenario as text. Tables, captures and [`REPORT`] go to the
/// folder, which is there. While it runs, lines with the seconds that have passed go to the
/// standard output.
///
/// With a file it runs programs, which have input and output for themselves: JSON with `scenario`,
/// the text, `command`, a list, and `server`, a line or null.
///
/// # Errors
/// What went wrong, in a line for people.
pub fn work(arguments: impl Iterator<Item = String>) -> Result<(), String> {
    Order::read(arguments)?.obey()
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

impl Order {
    fn read(mut arguments: impl Iterator<Item = String>) -> Result<Self, String> {
        const USE: &str =
            "use: PARENT FOLDER BUDGET_NS SPIN_NS [order:FILE] [veth|tun [offload]] < SCENARIO";
        let mut next = || arguments.next().ok_or(USE);
        let number = |text: String| text.parse().map_err(|_| USE);
        let (parent, folder) = (next()?, next()?.into());
        let [budget, spin] = [next()?, next()?];
        let mut words = arguments.peekable();
        let programs = words.next_if(|word| word.starts_with(ORDER));
        Ok(Self {
            parent: parent.parse().map_err(|_| USE)?,
            folder,
            budget: Duration::from_nanos(number(budget)?),
            spin: Duration::from_nanos(number(spin)?),
            programs: programs.map(|word| word[ORDER.len()..].into()),
            wiring: wiring(words).ok_or(USE)?,
        })
    }

    fn obey(self) -> Result<(), String> {
        end_with(self.parent).map_err(text)?;
        let (source, programs) = match &self.programs {
            Some(file) => programs(file)?,
            None => (io::read_to_string(io::stdin()).map_err(text)?, None),
        };
        let scenario = Scenario::parse("scenario", &source).map_err(text)?;
        let progress: Box<dyn FnMut(Time) -> bool> =
            if programs.is_some() { Box::new(|_| true) } else { Box::new(tell_seconds()) };
        let Self { budget, spin, wiring, .. } = self;
        let options = Options { budget, spin, wiring, progress, programs };
        let ended = run(&scenario, &self.folder, options).map_err(text)?;
        keep(&ended, &self.folder).map_err(text)
    }
}

/// Reads what programs are to run, and the scenario.
fn programs(file: &Path) -> Result<(String, Option<Programs>), String> {
    let order: Value =
        serde_json::from_str(&fs::read_to_string(file).map_err(text)?).map_err(text)?;
    let word = |value: &Value| value.as_str().map(str::to_owned);
    let scenario = word(&order["scenario"]).ok_or("the order has no scenario")?;
    let command = order["command"].as_array().ok_or("the order has no command")?;
    let command: Vec<String> = command.iter().filter_map(word).collect();
    Ok((scenario, Some(Programs { command, server: word(&order["server"]) })))
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
