//! Timelines: values that change during a run. A timeline has values at instants, and a rule for
//! the time between them.
//!
//! Delays, rates and probabilities of loss follow timelines. Links read timelines. A timeline is
//! given by a scenario, or computed from orbits or a recording.

mod opportunities;
mod rates;

pub use opportunities::{Opportunities, OpportunitiesError};
pub use rates::{LineInstant, Rates};

use crate::units::{Duration, Time};

/// The rule for the values between two points of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The value of the earlier point holds.
    Step,
    /// The value changes along a straight line from point to point. Two points at one instant make
    /// a jump.
    Linear,
}

/// A mistake in the points of a timeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TimelineError {
    /// The timeline has no points.
    #[error("a timeline needs at least one point")]
    Empty,
    /// The instant of a point is earlier than the instant of the point before it. The field is the
    /// number of the point, from 1.
    #[error("point {0} of the timeline is earlier than the point before it")]
    Unordered(usize),
}

/// A value that can be interpolated along a straight line.
pub trait Moving: Copy + PartialOrd {
    /// Returns this value moved towards the value `other` by the share `part / interval` of their
    /// difference.
    #[must_use]
    fn towards(self, other: Self, part: Duration, interval: Duration) -> Self;
}

impl Moving for Duration {
    /// The change is rounded down, so the result is rounded towards the earlier value.
    fn towards(self, other: Self, part: Duration, interval: Duration) -> Self {
        let share = |span: Duration| {
            let (span, part, interval) = (span.as_nanos(), part.as_nanos(), interval.as_nanos());
            Duration::from_nanos(match span.checked_mul(part) {
                // The usual case needs no division of 128 bits.
                Some(product) => product / interval,
                None => {
                    let nanos = u128::from(span) * u128::from(part) / u128::from(interval);
                    u64::try_from(nanos).unwrap_or(0)
                }
            })
        };
        if other >= self { self + share(other - self) } else { self - share(self - other) }
    }
}

impl Moving for f64 {
    #[expect(clippy::cast_precision_loss, reason = "a probability needs no more than 53 bits")]
    fn towards(self, other: Self, part: Duration, interval: Duration) -> Self {
        self + (other - self) * (part.as_nanos() as f64 / interval.as_nanos() as f64)
    }
}

/// Values at instants, with a rule for the time between them. Before the first point, the first
/// value holds. After the last point, the last value holds. A timeline remembers which point was
/// read last, so reading in the order of time is fast.
///
/// ```
/// use netspurt::timeline::{Interpolation, Timeline};
/// use netspurt::units::{Duration, Time};
/// let ms = Duration::from_millis;
/// let at = |s| Time::ZERO + Duration::from_secs(s);
/// let points = vec![(at(0), ms(20)), (at(15), ms(40))];
/// let mut handover = Timeline::new(points, Interpolation::Step).unwrap();
/// assert_eq!([at(14), at(15)].map(|now| handover.value(now)), [ms(20), ms(40)]);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline<T> {
    points: Vec<(Time, T)>,
    between: Interpolation,
    /// The index of the point that was read last.
    place: usize,
}

impl<T: Moving> Timeline<T> {
    /// Makes a timeline through `points`.
    ///
    /// # Errors
    /// When there are no points, or they are not in the order of time.
    pub fn new(points: Vec<(Time, T)>, between: Interpolation) -> Result<Self, TimelineError> {
        in_order(&points)?;
        Ok(Self { points, between, place: 0 })
    }

    /// Returns the minimum value of the points.
    pub fn minimum(&self) -> Option<T> {
        let values = self.points.iter().map(|(_, value)| *value);
        values.reduce(|minimum, value| if value < minimum { value } else { minimum })
    }

    /// Returns the value at the instant `now`.
    pub fn value(&mut self, now: Time) -> T {
        self.place = place(&self.points, now, self.place);
        self.value_behind(self.place, now)
    }

    /// Returns the value at the instant `now`, without remembering the point. Use this method for
    /// an instant far ahead of the instants that are read next.
    pub fn ahead(&self, now: Time) -> T {
        self.value_behind(place(&self.points, now, self.place), now)
    }

    /// Returns the value at the instant `now`. The argument `place` is the index that the function
    /// `place` finds for this instant.
    fn value_behind(&self, place: usize, now: Time) -> T {
        let (from, value) = self.points[place];
        match (self.between, self.points.get(place + 1)) {
            (Interpolation::Linear, Some(&(to, next))) if now > from => {
                value.towards(next, now - from, to - from)
            }
            _ => value,
        }
    }
}

/// Returns the index of the last point at or before the instant `now`. If all points are later,
/// returns the index of the first point. The search starts at the index `place`, which is usually
/// near.
fn place<T>(points: &[(Time, T)], now: Time, mut place: usize) -> usize {
    if points[place].0 > now {
        place = points.partition_point(|point| point.0 <= now).saturating_sub(1);
    }
    while points.get(place + 1).is_some_and(|next| next.0 <= now) {
        place += 1;
    }
    place
}

/// Checks that there are points, and that they are in the order of time.
fn in_order<T>(points: &[(Time, T)]) -> Result<(), TimelineError> {
    if points.is_empty() {
        return Err(TimelineError::Empty);
    }
    match points.windows(2).position(|pair| pair[1].0 < pair[0].0) {
        Some(earlier) => Err(TimelineError::Unordered(earlier + 2)),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of a timeline. The instants and the values are given in milliseconds.
    fn points(values: &[(u64, u64)]) -> Vec<(Time, Duration)> {
        let ms = Duration::from_millis;
        values.iter().map(|&(t, d)| (Time::ZERO + ms(t), ms(d))).collect()
    }

    /// The value at the instant `at_ms`, in nanoseconds.
    fn read(timeline: &Timeline<Duration>, at_ms: u64) -> u64 {
        timeline.ahead(Time::ZERO + Duration::from_millis(at_ms)).as_nanos()
    }

    #[test]
    fn a_step_holds_the_earlier_value_until_the_next_instant() {
        let t = Timeline::new(points(&[(10, 5), (20, 9)]), Interpolation::Step).unwrap();
        let ms = 1_000_000;
        assert_eq!([0, 10, 19, 20, 99].map(|at| read(&t, at) / ms), [5, 5, 5, 9, 9]);
        assert_eq!(t.minimum(), Some(Duration::from_millis(5)));
    }

    #[test]
    fn values_rise_and_fall_along_straight_lines_and_may_jump() {
        let rows = [(0, 10), (10, 20), (10, 40), (20, 30)];
        let t = Timeline::new(points(&rows), Interpolation::Linear).unwrap();
        let ms = 1_000_000;
        assert_eq!([0, 5, 10, 15, 20, 30].map(|at| read(&t, at) / ms), [10, 15, 40, 35, 30, 30]);
    }

    #[test]
    fn a_probability_moves_along_a_line() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let mut fade =
            Timeline::new(vec![(at(0), 0.2), (at(10), 0.0)], Interpolation::Linear).unwrap();
        let read = [0, 5, 10, 20, 5, 0].map(|s| fade.value(at(s)));
        assert_eq!(read, [0.2, 0.1, 0.0, 0.0, 0.1, 0.2], "the last two reads go back in time");
    }

    /// The curve has one point each second. The test reads values between the points.
    #[test]
    fn a_curve_of_a_day_is_exact_to_the_nanosecond() {
        let at = |s| Time::ZERO + Duration::from_secs(s);
        let delay = |s: u64| Duration::from_nanos(200_000_000 + (s * 7_919) % 100_003);
        let points = (0..=86_400).map(|s| (at(s), delay(s))).collect();
        let mut curve = Timeline::new(points, Interpolation::Linear).unwrap();
        for s in (0..86_400).step_by(97) {
            let part = 123_456_789_u64 + s;
            let (a, b) = (i128::from(delay(s).as_nanos()), i128::from(delay(s + 1).as_nanos()));
            let moved = ((b - a).abs() * i128::from(part) / 1_000_000_000) * (b - a).signum();
            let read = curve.value(at(s) + Duration::from_nanos(part));
            assert_eq!(i128::from(read.as_nanos()), a + moved, "{s}");
        }
    }

    #[test]
    fn a_timeline_without_points_or_with_unordered_points_is_refused() {
        let none = Timeline::<Duration>::new(vec![], Interpolation::Step);
        assert_eq!(none.unwrap_err(), TimelineError::Empty);
        let back = Timeline::new(points(&[(5, 1), (9, 1), (8, 1)]), Interpolation::Step);
        assert_eq!(back.unwrap_err(), TimelineError::Unordered(3));
    }
}
