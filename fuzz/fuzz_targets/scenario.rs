//! Scenarios of any text: what is read is written and read again as the same, and its run and the
//! first case of its sweep go some way.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt::scenario::Scenario;

/// Wake-ups that are served of a run.
const SERVED_MAX: u64 = 500;

fuzz_target!(|text: &str| {
    let scenario = match Scenario::parse("fuzz.toml", text) {
        Ok(scenario) => scenario,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let resolved = scenario.resolved();
    let again = Scenario::parse("again.toml", &resolved).expect("what was written can be read");
    assert_eq!(again.resolved(), resolved);
    go(&scenario);
    if let Some(sweep) = scenario.sweep()
        && sweep.cases() > 0
        && let Ok(case) = sweep.scenario(0)
    {
        go(&case);
    }
});

/// Runs `scenario` for a while, if nobody else has to.
fn go(scenario: &Scenario) {
    if scenario.kernel_flow().is_some() || scenario.programs_flow().is_some() {
        return;
    }
    let mut run = scenario.simulate();
    run.advance_within(run.stop(), SERVED_MAX);
    run.finish();
}
