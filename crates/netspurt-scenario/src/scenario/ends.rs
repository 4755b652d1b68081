//! A link follows a file if it takes values from the file, for example delays that change with
//! time. This module finds the links that follow a file and stop changing before the end of the
//! run.

use netspurt::units::Duration;

use super::expand::expand_links;
use super::link_spec::{LinkSpec, ProbabilityTable};
use super::number::Probability;
use super::quantity::WordOr;
use super::whole::Scenario;

/// A link that follows a file and stops changing before the end of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FollowedEnd {
    /// The name of the link.
    pub link: String,
    /// The name of the file.
    pub file: String,
    /// The instant of the link's last change. After this instant, the last values stay. There are
    /// two exceptions. The list of opportunities (instants at which the link can send) repeats.
    /// Values that are drawn for slots (times with one satellite each) go on changing.
    pub at: Duration,
}

impl Scenario {
    /// The links that follow a file and stop changing before the end of the run. Each link comes
    /// with its file.
    ///
    /// # Panics
    /// Never, because the links were checked when the scenario was read.
    pub fn followed_ends(&self) -> Vec<FollowedEnd> {
        let expanded = expand_links(&self.spec).expect("the reader has checked the links");
        let ended = expanded.iter().filter_map(|link| {
            let at = last_change(link.spec).filter(|at| *at < self.spec.stop)?;
            let file = self.document.file_of(&link.path)?;
            Some(FollowedEnd { link: link.name.clone(), file, at })
        });
        ended.collect()
    }
}

/// The last instant at which a value of a link changes. Opportunities are not considered, because
/// their list repeats without end. Values that are drawn for the link's slots are not considered
/// either. `None` if no other value changes.
fn last_change(link: &LinkSpec) -> Option<Duration> {
    let mut last: Vec<Option<Duration>> = Vec::new();
    for way in 0..2 {
        if let WordOr::Table(delay) = link.delay.each()[way] {
            last.push(end(delay.timeline.iter().map(|point| point[0])));
        }
        if let WordOr::Table(rate) = link.rate.each()[way] {
            last.push(rate.timeline.as_ref().and_then(|all| end(all.iter().map(|p| p.0))));
        }
        if let WordOr::Table(loss) = link.loss.each()[way] {
            last.extend([&loss.probability, &loss.bit_error_rate].map(of_probability));
        }
        if let WordOr::Table(duplicate) = link.duplicate.each()[way] {
            last.push(of_probability(&duplicate.probability));
        }
    }
    last.extend(link.handovers.iter().map(|handover| Some(handover.at + handover.dead)));
    last.into_iter().flatten().max()
}

/// The instant of the last change of a probability; `None` if the probability is constant.
fn of_probability(share: &Option<WordOr<Probability, ProbabilityTable>>) -> Option<Duration> {
    match share {
        Some(WordOr::Table(table)) => end(table.timeline.iter().map(|point| point.0)),
        _ => None,
    }
}

/// The instant of the last of several points; `None` for a single point, whose value never changes.
fn end(points: impl ExactSizeIterator<Item = Duration>) -> Option<Duration> {
    if points.len() > 1 { points.last() } else { None }
}
