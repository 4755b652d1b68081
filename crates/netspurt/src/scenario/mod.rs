//! Scenarios: a file becomes plain data, and plain data a world.
//!
//! Nothing is ignored: an unknown key, a missing unit, a combination without meaning is an
//! error that names its place and its fix.

mod axis;
mod document;
mod error;
mod flow_plan;
mod flow_spec;
mod kernel;
mod link_plan;
mod link_spec;
mod names;
mod net;
mod number;
mod pattern;
mod plan;
mod programs;
mod quantity;
mod queue_plan;
mod queue_spec;
mod rfc_switches;
mod run;
mod spec;
mod stranger;
mod sweep;
mod sweep_spec;
mod switches;
mod traffic;
mod tree;
mod volleys_plan;
mod volleys_spec;

use schemars::schema_for;

use crate::units::Time;

pub use axis::{Axis, Label, Point, TAKEN};
use document::Document;
pub use error::ScenarioError;
use flow_spec::{EndpointWord, FlowSpec};
pub use kernel::{KernelProfile, KernelTcp};
pub use net::{KernelEnd, Network, NetworkEnd, ProgramsEnd};
use plan::Plan;
pub use run::{Results, Simulation};
use spec::Spec;
pub use sweep::{Budget, Combination, Sweep};
pub use switches::{SwitchError, tcp_config};

/// A commented scenario to start from.
pub const STARTING_POINT: &str = include_str!("starting_point.toml");

/// A scenario that holds together.
///
/// ```
/// use netspurt::scenario::{STARTING_POINT, Scenario};
/// let scenario = Scenario::parse("mine.toml", STARTING_POINT).unwrap();
/// let slower = scenario.with(&[("links.modem.rate", "2400 bit/s")]).unwrap();
/// assert!(slower.resolved().contains(r#"rate = "2400 bit/s""#));
///
/// let slip = Scenario::parse("mine.toml", &STARTING_POINT.replace("stop ", "stpo ")).unwrap_err();
/// assert_eq!(slip.message, "unknown key `stpo`");
/// ```
#[derive(Clone, Debug)]
pub struct Scenario {
    document: Document,
    spec: Spec,
}

impl Scenario {
    /// Reads the text of a scenario. `name` is what errors call it.
    ///
    /// # Errors
    /// When the text is not a scenario, or the scenario does not hold together.
    pub fn parse(name: &str, text: &str) -> Result<Self, ScenarioError> {
        Self::read(Document::new(name, text))
    }

    /// The same with values set over it: dotted paths, and values as TOML or as bare text.
    ///
    /// # Errors
    /// As [`parse`](Self::parse).
    pub fn with(&self, values: &[(&str, &str)]) -> Result<Self, ScenarioError> {
        let document = values
            .iter()
            .fold(self.document.clone(), |document, (path, value)| document.with(path, value));
        Self::read(document)
    }

    fn read(document: Document) -> Result<Self, ScenarioError> {
        let mut spec = document.read()?;
        spec.fill_in();
        // Planning is how a scenario is found to hold together.
        Plan::new(&spec).map_err(|problem| document.blame(&problem))?;
        Sweep::of(&document, &spec)?;
        Ok(Self { document, spec })
    }

    /// What errors call it.
    pub fn name(&self) -> &str {
        self.document.name()
    }

    /// What the run shows, in a line.
    pub fn title(&self) -> &str {
        &self.spec.title
    }

    /// What seeds the random draws.
    pub fn seed(&self) -> u64 {
        self.spec.seed.0
    }

    /// When a run of it ends.
    pub fn stop(&self) -> Time {
        Time::ZERO + self.spec.stop
    }

    /// Its text, with what was set over it: what a copy elsewhere is read from.
    ///
    /// # Panics
    /// Never: what was read before can be read.
    pub fn text(&self) -> String {
        self.document.whole().expect("it was read before")
    }

    /// The scenario with every default spelt out, as TOML.
    ///
    /// # Panics
    /// Never: what was read can be written.
    pub fn resolved(&self) -> String {
        toml::to_string(&self.spec).expect("plain data")
    }

    /// The first flow with an end that is the kernel's, if there is one: such a scenario can only
    /// be run live.
    pub fn kernel_flow(&self) -> Option<&str> {
        let real = |flow: &&FlowSpec| flow.ends().contains(&EndpointWord::Kernel);
        let (name, _) = self.spec.flows.iter().find(|(_, flow)| real(flow))?;
        Some(name)
    }

    /// The flow whose ends are programs, if there is one.
    pub fn programs_flow(&self) -> Option<&str> {
        let programs = |flow: &&FlowSpec| flow.is_of_programs();
        let (name, _) = self.spec.flows.iter().find(|(_, flow)| programs(flow))?;
        Some(name)
    }

    /// Its network, for a live run.
    pub fn network(&self) -> Network {
        Network::new(self.plan(), self.stop())
    }

    /// Its cases, if it has a `[sweep]`.
    pub fn sweep(&self) -> Option<Sweep> {
        let Ok(sweep) = Sweep::of(&self.document, &self.spec) else {
            unreachable!("as `read` did")
        };
        sweep
    }

    fn plan(&self) -> Plan {
        let Ok(plan) = Plan::new(&self.spec) else { unreachable!("planned when it was read") };
        plan
    }

    /// A run of it, at its beginning; of one with a `[sweep]`, with the values in the file.
    ///
    /// # Panics
    /// When it has a [`kernel_flow`](Self::kernel_flow).
    pub fn simulate(&self) -> Simulation {
        Simulation::new(self.plan(), self.spec.stop)
    }
}

/// The JSON Schema of scenario files.
pub fn schema() -> serde_json::Value {
    schema_for!(Spec).to_value()
}

#[cfg(test)]
mod tests;
