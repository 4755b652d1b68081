//! Fuzzes scripts: plays any text to a connection.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt_scenario::script::{Script, run};

fuzz_target!(|text: &str| {
    let script = match Script::parse("fuzz.pkt", text) {
        Ok(script) => script,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut host = match script.host(None, &[]) {
        Ok(host) => host,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if let Err(failure) = run(&script, &mut host) {
        assert!(failure.line <= script.lines.len());
    }
});
