//! A program for tests. It carries out one order. An order is a JSON text that describes either a
//! live run or a task with real packets, such as sending echo probes.
//!
//! If the argument is the word `probe`, the program reads the order of a task from its standard
//! input. Any other argument is the name of a file with the order of a live run. Without an
//! argument, the program reads the order of a live run from its standard input. The commands
//! `netspurt live run` and `netspurt probe` start processes that do the same.

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
            // An error is ignored, because the reader may be gone.
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::from(2)
        }
    }
}
