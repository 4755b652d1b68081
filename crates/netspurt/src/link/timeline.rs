//! A delay that changes with time.

use crate::units::{Duration, Time};

/// The rule between two points of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The earlier point's value.
    Step,
    /// A straight line; two points at one instant make a jump.
    Linear,
}

/// A mistake in the points of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimelineError {
    /// There are no points.
    #[error("a timeline needs at least one point")]
    Empty,
    /// An instant is before its predecessor's.
    #[error("point {0} of the timeline lies before the point in front of it")]
    Unordered(usize),
}

/// Values at instants, with a rule for the time between them. Before the first point its value
/// holds, and after the last point that one's.
///
/// ```
/// use netspurt::link::{Interpolation, Timeline};
/// use netspurt::units::{Duration, Time};
/// let ms = Duration::from_millis;
/// let at = |s| Time::ZERO + Duration::from_secs(s);
/// let handover = Timeline::new(vec![(at(0), ms(20)), (at(15), ms(40))], Interpolation::Step);
/// assert_eq!(handover.unwrap().value(at(14), &mut 0), ms(20));
/// ```
#[derive(Clone, Debug)]
pub struct Timeline {
    points: Vec<(Time, Duration)>,
    between: Interpolation,
}

impl Timeline {
    /// A timeline through `points`.
    ///
    /// # Errors
    /// When there are no points, or their instants fall.
    pub fn new(
        points: Vec<(Time, Duration)>,
        between: Interpolation,
    ) -> Result<Self, TimelineError> {
        if points.is_empty() {
            return Err(TimelineError::Empty);
        }
        match points.windows(2).position(|pair| pair[1].0 < pair[0].0) {
            Some(earlier) => Err(TimelineError::Unordered(earlier + 2)),
            None => Ok(Self { points, between }),
        }
    }

    /// The least value.
    pub fn least(&self) -> Duration {
        self.points.iter().map(|(_, value)| *value).min().unwrap_or_default()
    }

    /// The value at `now`. `cursor` stores the position between calls, whose instants must ascend;
    /// it starts at 0.
    pub fn value(&self, now: Time, cursor: &mut usize) -> Duration {
        while self.points.get(*cursor + 1).is_some_and(|next| next.0 <= now) {
            *cursor += 1;
        }
        let (from, value) = self.points[*cursor];
        match (self.between, self.points.get(*cursor + 1)) {
            (Interpolation::Linear, Some(&(to, next))) if now > from => {
                mix(value, next, now - from, to - from)
            }
            _ => value,
        }
    }
}

/// `a` moved towards `b` by the share `part / whole`, rounded down.
fn mix(a: Duration, b: Duration, part: Duration, whole: Duration) -> Duration {
    let share = |span: Duration| {
        let product = u128::from(span.as_nanos()) * u128::from(part.as_nanos());
        Duration::from_nanos(u64::try_from(product / u128::from(whole.as_nanos())).unwrap_or(0))
    };
    if b >= a { a + share(b - a) } else { a - share(a - b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(values: &[(u64, u64)]) -> Vec<(Time, Duration)> {
        let ms = Duration::from_millis;
        values.iter().map(|&(t, d)| (Time::ZERO + ms(t), ms(d))).collect()
    }

    fn read(timeline: &Timeline, at_ms: u64) -> u64 {
        timeline.value(Time::ZERO + Duration::from_millis(at_ms), &mut 0).as_nanos()
    }

    #[test]
    fn a_step_holds_the_earlier_value_until_the_next_instant() {
        let t = Timeline::new(points(&[(10, 5), (20, 9)]), Interpolation::Step).unwrap();
        let ms = 1_000_000;
        assert_eq!([0, 10, 19, 20, 99].map(|at| read(&t, at) / ms), [5, 5, 5, 9, 9]);
    }

    #[test]
    fn a_line_is_straight_up_and_down_and_may_jump() {
        let rows = [(0, 10), (10, 20), (10, 40), (20, 30)];
        let t = Timeline::new(points(&rows), Interpolation::Linear).unwrap();
        let ms = 1_000_000;
        assert_eq!([0, 5, 10, 15, 20, 30].map(|at| read(&t, at) / ms), [10, 15, 40, 35, 30, 30]);
    }

    #[test]
    fn points_must_exist_and_not_fall_back() {
        let none = Timeline::new(vec![], Interpolation::Step);
        assert_eq!(none.unwrap_err(), TimelineError::Empty);
        let back = Timeline::new(points(&[(5, 1), (9, 1), (8, 1)]), Interpolation::Step);
        assert_eq!(back.unwrap_err(), TimelineError::Unordered(3));
    }
}
