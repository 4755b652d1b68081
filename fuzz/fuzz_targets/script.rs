//! Scripts of any text, played to a connection.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt::script::{Script, SocketHost, run};

fuzz_target!(|text: &str| {
    let script = match Script::parse("fuzz.pkt", text) {
        Ok(script) => script,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let config = match script.config(None, &[]) {
        Ok(config) => config,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if let Err(failure) = run(&script, &mut SocketHost::new(&config)) {
        assert!(failure.line <= script.lines.len());
    }
});
