//! A live run's own process: that of tests. `netspurt live run` starts one that does the same.

use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    match netspurt_live::worker::work(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            // Nobody may be left to read it.
            let _ = writeln!(std::io::stderr(), "{why}");
            ExitCode::from(2)
        }
    }
}
