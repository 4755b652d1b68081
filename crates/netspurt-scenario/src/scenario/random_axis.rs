//! Axes of a sweep from which every run draws its own values. An axis is a part of a scenario that
//! the sweep varies.

use netspurt::rng::Stream;

use super::axis::{Axis, AxisRange, AxisSetting, Label, Point};
use super::error::Problem;
use super::number::BoundedInteger;
use super::sweep_spec::AxisSpec;

/// An axis with `draw = true`. The axis adds no cases to the sweep: each run draws one of its
/// values.
#[derive(Clone, Debug)]
pub struct RandomAxis {
    /// The axis, with a point for each value of a list or each named set. For a range, the points
    /// are only its two ends.
    axis: Axis,
    /// The range from which values are drawn; `None` for a list and for named sets.
    range: Option<AxisRange>,
    /// The name of the random stream: `sweep/`, and then the dotted paths of the keys whose values
    /// the axis sets.
    stream: String,
}

impl RandomAxis {
    /// Reads the axis called `name`.
    pub(super) fn new(name: &str, spec: &AxisSpec) -> Result<Self, Problem> {
        if spec.count.is_some() {
            let problem = Problem::at(
                ["sweep", "over", name, "count"],
                "with `draw`, each run draws one value",
            );
            return Err(problem
                .of_the_key()
                .fix("leave `count` out; `seeds` is the number of draws for each combination"));
        }
        let range = match (&spec.from, &spec.to) {
            (Some(from), Some(to)) => {
                AxisRange::new(from, to, spec.spacing.unwrap_or_default()).ok()
            }
            _ => None,
        };
        let count = spec.from.is_some().then_some(BoundedInteger(2));
        let axis = Axis::new(name, &AxisSpec { count, ..spec.clone() })?;
        let settings = axis.points.iter().flat_map(|point| &point.settings);
        let mut paths: Vec<&str> = settings.map(|setting| &*setting.path).collect();
        paths.sort_unstable();
        paths.dedup();
        let stream = format!("sweep/{}", paths.join(" "));
        Ok(Self { axis, range, stream })
    }

    /// The name of the axis.
    pub fn name(&self) -> &str {
        &self.axis.name
    }

    /// A point for each value of a list or each named set. A range has a point for each end.
    pub fn points(&self) -> &[Point] {
        &self.axis.points
    }

    /// The point that a run with `seed` draws.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "lists are far shorter than 2^53"
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

    /// A text with the name of the axis and everything on which the draws depend, except the seed.
    pub(super) fn identity(&self) -> String {
        let range = self.range.as_ref().map(AxisRange::identity);
        let points = self.axis.points.iter().map(|point| {
            let settings = point.settings.iter().map(|own| (&own.path, &own.value));
            (&point.label, settings.collect::<Vec<_>>())
        });
        format!("{:?} {range:?} {:?}", self.axis.name, points.collect::<Vec<_>>())
    }
}
