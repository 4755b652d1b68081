//! A live run's own process, or with the word `probe` one that probes: those of tests. `netspurt
//! live run` and `netspurt probe` start ones that do the same. Another word names the file of a live
//! run's order.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let word = std::env::args().nth(1);
    let done = match word.as_deref() {
        Some("probe") => netspurt_live::probe::work(),
        file => netspurt_live::worker::work(file.map(Path::new)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // It may be that no process is left to read it.
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::from(2)
        }
    }
}
