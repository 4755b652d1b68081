//! Makes the text of a file from the changes of one link of a scenario, such as its timelines and
//! handovers. Other links can follow this file: their key `follows` names it.

use serde::Serialize;

use netspurt::units::{BitRate, Duration};

use super::error::{Problem, ScenarioError};
use super::expand::expand_links;
use super::form;
use super::link_place::LinkPlace;
use super::link_spec::{
    DuplicateTable, HandoverTable, LinkSpec, LossTable, NoneWord, ProbabilityTable, RateTable,
    TimelineSpec,
};
use super::number::Probability;
use super::quantity::{BothWays, WordOr};
use super::slots_plan::with_drawn_slots;
use super::whole::Scenario;

/// The handovers of a link. Also its delay, rate, losses and duplicates, if they change with time.
/// A value that does not change is left out. If a probability of losses changes, all rules for
/// losses are here. If the probability of duplicates changes, all rules for duplicates are here.
#[derive(Serialize)]
struct LinkChanges {
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<BothWays<WordOr<Duration, TimelineSpec>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<BothWays<WordOr<BitRate, RateTable>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<BothWays<WordOr<NoneWord, LossTable>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<BothWays<WordOr<NoneWord, DuplicateTable>>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    handovers: Vec<HandoverTable>,
}

/// The reason why `expand_links` cannot fail.
const EXPANDED: &str = "the reader has checked the links";

impl Scenario {
    /// Returns the changes of the link called `name` during a run, as the text of a file that links
    /// can follow. The text has all handovers. It has the delay, the rate, the losses and the
    /// duplicates only if they change with time. If the link has slots (times with one satellite
    /// each), their values are drawn with the scenario's seed.
    ///
    /// # Errors
    /// When no link has this name. Also when the link has no handovers and none of its values
    /// changes.
    ///
    /// # Panics
    /// Never, because the links were checked when the scenario was read.
    pub fn link_changes(&self, name: &str) -> Result<String, ScenarioError> {
        let blamed = |problem: Problem| self.document.blame(&problem);
        let expanded = expand_links(&self.spec).expect(EXPANDED);
        let Some(link) = expanded.iter().find(|link| link.name == name) else {
            let names: Vec<&str> = expanded.iter().take(8).map(|link| &*link.name).collect();
            let more = if expanded.len() > names.len() { ", and more" } else { "" };
            let problem = Problem::at([], format!("no link is called `{name}`"));
            return Err(blamed(problem.fix(format!("the links are {}{more}", names.join(", ")))));
        };
        let place =
            LinkPlace { path: &link.path, name: &link.name, seed: self.spec.seed.0, way: 0 };
        let link = with_drawn_slots(link.spec, &place, self.spec.stop).map_err(blamed)?;
        let changes = LinkChanges::of(&link);
        if changes.is_empty() {
            let message =
                format!("link `{name}` has no handovers, and its values do not change in a run");
            let fix = "name a link with `slots`, `handovers`, or a `delay`, `rate`, `loss` or \
                       `duplicate` that changes";
            return Err(blamed(Problem::at([], message).fix(fix)));
        }
        Ok(one_point_per_line(&form::write(&changes)))
    }

    /// The names of the links whose delay, rate, losses or path change during a run, in the order
    /// of the scenario.
    ///
    /// # Panics
    /// Never, because the links were checked when the scenario was read.
    pub fn changing_links(&self) -> Vec<String> {
        let expanded = expand_links(&self.spec).expect(EXPANDED);
        // Duplicates are left out, because no picture shows them.
        let changes = |spec: &LinkSpec| {
            let changes = LinkChanges { duplicate: None, ..LinkChanges::of(spec) };
            spec.slots.is_some() || !changes.is_empty()
        };
        expanded
            .iter()
            .filter(|link| changes(link.spec))
            .map(|link| link.name.to_string())
            .collect()
    }
}

/// Writes each point of a timeline, and each opportunity, on a line of its own. The `text`
/// is TOML.
fn one_point_per_line(text: &str) -> String {
    let spread = |line: &str| {
        let (key, list) = line.strip_suffix(']')?.split_once(" = [")?;
        let points = match key {
            "timeline" => list.replace("], [", "],\n  ["),
            "opportunities" => list.replace(", ", ",\n  "),
            _ => return None,
        };
        Some(format!("{key} = [\n  {points},\n]\n"))
    };
    text.lines().map(|line| spread(line).unwrap_or_else(|| format!("{line}\n"))).collect()
}

impl LinkChanges {
    fn of(link: &LinkSpec) -> Self {
        let delay = link.delay.each().iter().any(|delay| delay.table().is_some());
        let rate = link.rate.each().iter().any(|rate| rate.table().is_some());
        let loss = link
            .loss
            .each()
            .iter()
            .filter_map(|loss| loss.table())
            .any(|loss| is_timeline(&loss.probability) || is_timeline(&loss.bit_error_rate));
        let copies = link.duplicate.each();
        let duplicate =
            copies.iter().filter_map(|one| one.table()).any(|one| is_timeline(&one.probability));
        Self {
            delay: delay.then(|| link.delay.clone()),
            rate: rate.then(|| link.rate.clone()),
            loss: loss.then(|| link.loss.clone()),
            duplicate: duplicate.then(|| link.duplicate.clone()),
            handovers: link.handovers.clone(),
        }
    }

    fn is_empty(&self) -> bool {
        let Self { delay, rate, loss, duplicate, handovers } = self;
        delay.is_none()
            && rate.is_none()
            && loss.is_none()
            && duplicate.is_none()
            && handovers.is_empty()
    }
}

/// Whether a probability changes with time.
fn is_timeline(probability: &Option<WordOr<Probability, ProbabilityTable>>) -> bool {
    probability.as_ref().is_some_and(|probability| probability.table().is_some())
}
