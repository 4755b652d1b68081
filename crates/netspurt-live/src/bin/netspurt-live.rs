//! The process of a live run or, with the word `probe`, one that probes; for tests. `netspurt live
//! run` and `netspurt probe` start equivalent processes.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    let done = match words.peek().map(String::as_str) {
        Some("probe") => netspurt_live::probe::work(),
        _ => netspurt_live::worker::work(words),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Nobody may be left to read it.
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::from(2)
        }
    }
}
