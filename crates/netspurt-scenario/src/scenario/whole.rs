//! A scenario that was read and found consistent. A scenario describes a network, the flows over
//! it, and what to record.

use std::collections::BTreeMap;
use std::sync::Arc;

use netspurt::foreign::Origin;
use netspurt::plan::{Network, Plan, Simulation};
use netspurt::units::Time;

use super::document::Document;
use super::error::ScenarioError;
use super::flow_spec::{EndpointWord, FlowSpec};
use super::form;
use super::grid::Grid;
use super::origins::origins;
use super::plan::plan;
use super::population_spec::PopulationSpec;
use super::spec::Spec;

/// A consistent scenario.
///
/// ```
/// use netspurt_scenario::scenario::{STARTING_POINT, Scenario};
/// let scenario = Scenario::parse("mine.toml", STARTING_POINT).unwrap();
/// let slower = scenario.with(&[("links.modem.rate", "2400 bit/s")]).unwrap();
/// assert!(slower.resolved().contains(r#"rate = "2400 bit/s""#));
///
/// let slip = Scenario::parse("mine.toml", &STARTING_POINT.replace("stop ", "stpo ")).unwrap_err();
/// assert_eq!(slip.message, "unknown key `stpo`");
/// ```
#[derive(Clone, Debug)]
pub struct Scenario {
    pub(super) document: Document,
    pub(super) spec: Spec,
    /// The axes of the scenario's `[sweep]`, if the sweep is used.
    pub(super) grid: Option<Arc<Grid>>,
}

impl Scenario {
    /// Reads the scenario in `document`. The scenario's sweep is ignored.
    pub(super) fn of(document: Document) -> Result<Self, ScenarioError> {
        let mut spec = document.read()?;
        spec.fill_in();
        // A scenario is consistent if it can be planned.
        plan(&spec).map_err(|problem| document.blame(&problem))?;
        Ok(Self { document, spec, grid: None })
    }

    /// The scenario without its `[sweep]`: a single run with the values in the file.
    ///
    /// # Panics
    /// Never: the file without its sweep is a scenario.
    #[must_use]
    pub fn alone(&self) -> Self {
        Self::of(self.document.clone().without_sweep())
            .expect("the file without its sweep is a scenario")
    }

    /// The name of the scenario in errors.
    pub fn name(&self) -> &str {
        self.document.name()
    }

    /// One line that says what the run shows.
    pub fn title(&self) -> &str {
        &self.spec.title
    }

    /// The seed of the random draws.
    pub fn seed(&self) -> u64 {
        self.spec.seed.0
    }

    /// When a run ends.
    pub fn stop(&self) -> Time {
        Time::ZERO + self.spec.stop
    }

    /// The text of the scenario, with the values that override it and the values of the files that
    /// its links and populations follow. If the scenario uses no algorithm from outside netspurt, a
    /// copy of the scenario can be read from this text elsewhere.
    ///
    /// # Panics
    /// Never: the text was read before.
    pub fn text(&self) -> String {
        self.document.full_text().expect("the text was read before")
    }

    /// The sources from which the scenario was read: its text, the settings that override values in
    /// the text, and the files. Links and populations may follow a file, and a file may contain the
    /// code of an algorithm. A copy of the scenario can be read from these sources elsewhere.
    pub fn source(&self) -> (&str, &[(String, String)], &BTreeMap<String, String>) {
        self.document.source()
    }

    /// The scenario with every default written out, as TOML.
    ///
    /// # Panics
    /// Never: a scenario that was read can be written.
    pub fn resolved(&self) -> String {
        form::write(&self.spec)
    }

    /// The name of the first flow or population with an end that uses the kernel's TCP; `None` if
    /// no end uses it. A scenario with such an end can only be run live.
    pub fn kernel_flow(&self) -> Option<&str> {
        let real = |flow: &&FlowSpec| flow.ends().contains(&EndpointWord::Kernel);
        let flow = self.spec.flows.iter().find(|(_, flow)| real(flow)).map(|(name, _)| name);
        let of_kernel = |own: &&PopulationSpec| own.endpoint == EndpointWord::Kernel;
        let populations = &self.spec.populations;
        let population = populations.iter().find(|(_, own)| of_kernel(own)).map(|(name, _)| name);
        Some(flow.or(population)?)
    }

    /// The path of the key `endpoint` of the first flow or population, for the advice in an error
    /// message.
    pub fn first_endpoint(&self) -> String {
        let flow = self.spec.flows.keys().next().map(|name| format!("flows.{name}"));
        let population = || self.spec.populations.keys().next();
        let own = flow.or_else(|| Some(format!("populations.{}", population()?)));
        format!("{}.endpoint", own.unwrap_or_else(|| "flows.NAME".to_owned()))
    }

    /// The flow whose ends are programs, if there is one.
    pub fn programs_flow(&self) -> Option<&str> {
        let programs = |flow: &&FlowSpec| flow.is_of_programs();
        let (name, _) = self.spec.flows.iter().find(|(_, flow)| programs(flow))?;
        Some(name)
    }

    /// The algorithms in the scenario that are not part of netspurt, each once.
    pub fn algorithms(&self) -> Vec<Origin> {
        origins(&self.spec)
    }

    /// The network of the scenario, for a live run.
    pub fn network(&self) -> Network {
        Network::new(self.plan(), self.stop())
    }

    fn plan(&self) -> Plan {
        let Ok(plan) = plan(&self.spec) else { unreachable!("the reader has planned it") };
        plan
    }

    /// A new run of the scenario. If the scenario has a `[sweep]`, the run has the values in the
    /// file.
    ///
    /// ```
    /// use netspurt_scenario::scenario::{STARTING_POINT, Scenario};
    /// use netspurt::units::{Duration, Time};
    /// let mut run = Scenario::parse("mine.toml", STARTING_POINT).unwrap().simulate();
    /// run.advance_to(Time::ZERO + Duration::from_secs(2));
    /// run.advance_to(run.stop());
    /// let results = run.finish();
    /// assert_eq!(results.table("flows").unwrap().rows(), 1);
    /// ```
    ///
    /// # Panics
    /// When the scenario has a [`kernel_flow`](Self::kernel_flow).
    pub fn simulate(&self) -> Simulation {
        Simulation::new(self.plan(), self.spec.stop)
    }
}
