//! A live run's own process; `netspurt live run` starts it, and so do tests.

use std::process::ExitCode;

fn main() -> ExitCode {
    netspurt_live::worker::main(std::env::args().skip(1))
}
