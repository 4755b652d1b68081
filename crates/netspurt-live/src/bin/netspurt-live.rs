//! A live run's own process, or with the word `probe` one that probes: those of tests. `netspurt
//! live run` and `netspurt probe` start ones that do the same.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1).peekable();
    let status = match words.peek().map(String::as_str) {
        Some("probe") => netspurt_live::probe::work(),
        _ => netspurt_live::worker::work(words).map(|()| 0),
    };
    match status {
        Ok(status) => ExitCode::from(u8::try_from(status).unwrap_or(255)),
        Err(why) => {
            // Nobody may be left to read it.
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::from(2)
        }
    }
}
