//! Fuzzes the reader of scenarios with any text. A scenario is a text that describes a simulation.
//! A scenario that was read is written as text and read again, and must then be the same scenario.
//! This fuzz target runs the scenario for some events of the simulator. If the scenario has a sweep
//! (runs with different values), the fuzz target also makes the first of these runs.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netspurt_scenario::scenario::Scenario;

/// The maximum number of wake-ups (events of the simulator) for which a run continues.
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

/// Runs `scenario` for a limited number of wake-ups, if the simulator alone can run it.
fn go(scenario: &Scenario) {
    if scenario.kernel_flow().is_some() || scenario.programs_flow().is_some() {
        return;
    }
    let mut run = scenario.simulate();
    run.advance_within(run.stop(), SERVED_MAX);
    run.finish();
}
