//! Tests of scenarios and sweeps with algorithms that are not part of netspurt, such as Python
//! classes.

use std::sync::Once;

use netspurt::event::RtoState;
use netspurt::foreign::{Finder, ForeignError, ForeignFault, Lookup, Origin, fail, watched};
use netspurt::rto::{EstimatorConfig, FOREIGN_TIMERS, ForeignTimer, RtoEstimator, TimeoutKind};
use netspurt::sample::RttSample;
use netspurt::units::{Duration, Time};

use crate::scenario::{Label, Scenario, ScenarioError};

/// Stands for a Python class `Steady` in a file `steady.py`. Its timer has a constant RTO. If
/// `fails` is true, the timer fails at the second sample.
#[derive(Debug)]
struct Steady {
    origin: Origin,
    fails: bool,
}

#[derive(Debug)]
struct SteadyTimer {
    samples: u32,
    fails: bool,
}

impl ForeignTimer for Steady {
    fn origin(&self) -> &Origin {
        &self.origin
    }

    fn build(&self) -> Box<dyn RtoEstimator> {
        Box::new(SteadyTimer { samples: 0, fails: self.fails })
    }
}

impl RtoEstimator for SteadyTimer {
    fn on_sample(&mut self, _sample: &RttSample) {
        self.samples += 1;
        if self.fails && self.samples == 2 {
            fail(ForeignFault { message: "line 7: no".into(), cause: Box::new(()) });
        }
    }

    fn on_timeout(&mut self, _now: Time, _kind: TimeoutKind) {}

    fn rto(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn state(&self) -> RtoState {
        RtoState { srtt: None, rttvar: None, backoff: 1, rto: self.rto(), fired: false }
    }
}

/// Finds the class `Steady` in the file `steady.py`, as Python would. The text may set the
/// constant `fails=1`.
fn find(text: &str) -> Lookup<dyn ForeignTimer> {
    let rest = text.strip_prefix("steady.py")?;
    let (_, class) = rest.split_once(':')?;
    if !class.starts_with("Steady") {
        let fix = "write `Steady`".into();
        return Some(Err(ForeignError { message: format!("no class `{class}`"), fix }));
    }
    let (file, sha256) = ("steady.py".into(), "0".repeat(64));
    let origin = Origin { text: text.into(), file, sha256 };
    Some(Ok(Box::leak(Box::new(Steady { origin, fails: class.ends_with("fails=1") }))))
}

/// Registers the function `find` only once. Then texts may name the class.
static OPENED: Once = Once::new();

/// Reads a scenario of one transfer with the estimator `timer` and the table `sweep`. The scenario
/// may name the file `steady.py`.
fn scenario(timer: &str, sweep: &str) -> Result<Scenario, ScenarioError> {
    OPENED.call_once(|| {
        FOREIGN_TIMERS.open(Finder { find, offered: || vec!["steady".into()] });
    });
    let text = format!(
        r#"
        title = "steady.py:Steady in a title is only text"
        stop = "20 s"
        [links]
        wire = {{ between = ["a", "b"], rate = "1 Mbit/s", delay = "20 ms", queue = "9 packets" }}
        [flows.x]
        from = "a"
        to = "b"
        send = "30 kB"
        profile = "reno-2005"
        tcp.rto.estimator = "{timer}"
        {sweep}"#
    );
    Scenario::parse_with("mine.toml", &text, vec![("steady.py".into(), "class Steady".into())])
}

/// The name of the file, followed by the beginning of the fingerprint of its code.
fn pin() -> String {
    format!("steady.py@{}", &netspurt::foreign::fingerprint("class Steady")[..16])
}

#[test]
fn the_name_of_a_class_gets_the_fingerprint_of_its_file_except_in_the_title() {
    let scenario = scenario("steady.py:Steady:k=3", "").unwrap();
    let resolved = scenario.resolved();
    assert!(resolved.contains(&format!("estimator = \"{}:Steady:k=3\"", pin())), "{resolved}");
    assert!(resolved.contains("title = \"steady.py:Steady in"));
    let [origin] = &scenario.algorithms()[..] else { panic!("exactly one algorithm was expected") };
    assert_eq!(origin.file, "steady.py");
    let again = Scenario::parse_with(
        "copy.toml",
        &scenario.text(),
        vec![("steady.py".into(), "class Steady".into())],
    );
    assert_eq!(again.unwrap().resolved(), resolved);
}

#[test]
fn the_error_for_a_missing_file_names_the_key() {
    let slip = scenario("other.py:Steady", "").unwrap_err();
    assert_eq!(slip.message, "there is no file `other.py`");
    assert_eq!(slip.key, "flows.x.tcp.rto.estimator");
}

#[test]
fn the_error_for_a_missing_class_shows_the_line() {
    let slip = scenario("steady.py:Other", "").unwrap_err();
    assert_eq!((slip.message.as_str(), slip.fix.as_str()), ("no class `Other`", "write `Steady`"));
    assert_eq!(slip.place.unwrap().line, 11);
}

#[test]
fn a_fault_of_a_timer_ends_the_run_early() {
    let mut run = scenario("steady.py:Steady:fails=1", "").unwrap().simulate();
    let stop = run.stop();
    let fault = watched(|| run.advance_to(stop)).unwrap_err();
    assert_eq!(fault.message, "line 7: no");
    assert!(run.now() < stop);
}

#[test]
fn labels_of_a_sweep_have_no_fingerprints() {
    let over = r#"
        [sweep.over.timer]
        path = "flows.x.tcp.rto.estimator"
        values = ["steady.py:Steady:fails=1", "steady.py:Steady", "rfc6298"]"#;
    let sweep = scenario("rfc6298", over).unwrap().sweep().unwrap();
    let labels = ["steady.py:Steady:fails=1", "steady.py:Steady", "rfc6298"];
    assert_eq!(sweep.all_labels()[0], labels.map(|label| Label::Text(label.into())));
}

#[test]
fn a_panic_that_is_not_a_fault_of_an_algorithm_is_passed_on() {
    let panicked = std::panic::catch_unwind(|| watched(|| std::panic::resume_unwind(Box::new(3))));
    assert_eq!(panicked.unwrap_err().downcast_ref::<i32>(), Some(&3));
}

#[test]
fn a_timer_from_a_file_has_no_minimum() {
    let timer = scenario("steady.py:Steady", "").unwrap();
    let slip = timer.with(&[("flows.x.tcp.rto.min", "1 s")]).unwrap_err();
    assert_eq!(slip.message, "`steady.py:Steady` has no `min`");
}

#[test]
fn the_name_of_a_timer_with_a_fingerprint_is_read_back() {
    let own = EstimatorConfig::parse(&format!("{}:Steady", pin())).unwrap();
    assert_eq!(own.to_string(), own.name());
    assert_eq!(own, EstimatorConfig::parse(own.name()).unwrap());
}
