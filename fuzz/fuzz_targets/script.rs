//! Fuzzes scripts, which are tests of a TCP connection in packetdrill's notation. Any text is read
//! as a script. If the text is a script, it is played to a simulated connection.

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
