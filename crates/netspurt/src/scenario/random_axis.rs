//! Axes of a sweep whose values are drawn: every run has its own.

use super::axis::{Axis, AxisRange, AxisSetting, Label, Point};
use super::error::Problem;
use super::number::Whole;
use super::sweep_spec::AxisSpec;
use crate::rng::Stream;

/// An axis with `draw = true`. Its values form no combinations.
#[derive(Clone, Debug)]
pub struct RandomAxis {
    /// The points of a list, or the ends of the range.
    axis: Axis,
    range: Option<AxisRange>,
    /// The name of its random stream, which the paths that it sets decide.
    stream: String,
}

impl RandomAxis {
    /// The axis called `name` of a file.
    pub(super) fn new(name: &str, spec: &AxisSpec) -> Result<Self, Problem> {
        if spec.count.is_some() {
            let problem = Problem::at(["sweep", "over", name, "count"], "each run draws one value");
            return Err(problem.of_the_key().fix("leave `count` out; `seeds` counts the draws"));
        }
        let range = match (&spec.from, &spec.to) {
            (Some(from), Some(to)) => {
                AxisRange::new(from, to, spec.spacing.unwrap_or_default()).ok()
            }
            _ => None,
        };
        let count = spec.from.is_some().then_some(Whole(2));
        let axis = Axis::new(name, &AxisSpec { count, ..spec.clone() })?;
        let settings = axis.points.iter().flat_map(|point| &point.settings);
        let mut paths: Vec<&str> = settings.map(|setting| &*setting.path).collect();
        paths.sort_unstable();
        paths.dedup();
        let stream = format!("sweep/{}", paths.join(" "));
        Ok(Self { axis, range, stream })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.axis.name
    }

    /// The points of a list, or the ends of the range.
    pub fn points(&self) -> &[Point] {
        &self.axis.points
    }

    /// The point of a run with this seed.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a place in a list of at most 100 000"
    )]
    pub(super) fn draw(&self, seed: u64) -> Point {
        let share = Stream::named(seed, &self.stream).uniform();
        let points = &self.axis.points;
        let Some(range) = &self.range else {
            return points[(share * points.len() as f64) as usize].clone();
        };
        let value = range.drawn(share);
        let set = |setting: &AxisSetting| AxisSetting { value: value.clone(), ..setting.clone() };
        let first = &points[0];
        Point {
            label: Label::from(&value),
            settings: first.settings.iter().map(set).collect(),
            place: first.place.clone(),
        }
    }

    /// All that its draws depend on.
    pub(super) fn told(&self) -> String {
        let range = self.range.as_ref().map(AxisRange::told);
        let points = self.axis.points.iter().map(|point| {
            let settings = point.settings.iter().map(|own| (&own.path, &own.value));
            (&point.label, settings.collect::<Vec<_>>())
        });
        format!("{:?} {range:?} {:?}", self.axis.name, points.collect::<Vec<_>>())
    }
}
