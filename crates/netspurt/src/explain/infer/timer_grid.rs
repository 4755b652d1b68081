//! Finds the ticks of a sender's clock from the times of its timeouts. A *grid* is a series of
//! instants with equal steps between them.

use crate::units::{Duration, Time};

/// A grid of equal steps on which all timeouts of a sender fall.
///
/// If a stack's clock ticks, its timeouts happen only at ticks. The ticks of 4.3BSD and 4.4BSD are
/// 500 ms apart (Stevens, TCP/IP Illustrated, vol. 2, §25.1). Some stacks have shorter ticks.
///
/// ```
/// use netspurt::explain::TimerGrid;
/// use netspurt::units::{Duration, Time};
/// let at = |ms| Time::ZERO + Duration::from_millis(ms);
/// let grid = TimerGrid::of(&[at(1230), at(4731), at(9730)]).unwrap();
/// assert_eq!((grid.step, grid.cases), (Duration::from_millis(500), 3));
/// assert_eq!(TimerGrid::of(&[at(1230), at(4567), at(9730)]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimerGrid {
    /// The time between two ticks, or a multiple of this time.
    pub step: Duration,
    /// The number of timeouts that were compared. All of them fall on the grid.
    pub cases: u32,
}

impl TimerGrid {
    /// The steps that are tried, the longest first.
    const STEPS_MS: [u64; 6] = [500, 200, 100, 50, 20, 10];
    /// A timeout is captured some time after its tick, because hosts and captures add delays. The
    /// delays of two timeouts are assumed to differ by at most the time `WIDTH`.
    const WIDTH: Duration = Duration::from_millis(2);
    /// The maximum probability with which random instants would fall on one of the tried grids. A
    /// grid with a higher probability is not reported.
    const CHANCE: f64 = 0.01;

    /// Of the grids on which all `instants` fall, returns the grid with the longest step. `None` if
    /// the instants fall on no grid, or are too few to tell.
    pub fn of(instants: &[Time]) -> Option<Self> {
        let cases = u32::try_from(instants.len()).unwrap_or(u32::MAX);
        let steps = Self::STEPS_MS.into_iter().map(Duration::from_millis);
        let found = steps.filter(|step| Self::is_unlikely(*step, cases));
        let step = found.into_iter().find(|step| Self::is_grid(*step, instants))?;
        Some(Self { step, cases })
    }

    /// Whether `cases` random instants are unlikely to fall on a grid with this step. On a circle
    /// of circumference 1, the probability that *n* random points all lie on one arc of length *s*
    /// is n·sⁿ⁻¹. This probability is multiplied by the number of steps that are tried.
    fn is_unlikely(step: Duration, cases: u32) -> bool {
        let share = Self::WIDTH.as_nanos() as f64 / step.as_nanos() as f64;
        let cases = cases.max(1);
        let power = i32::try_from(cases - 1).unwrap_or(i32::MAX);
        f64::from(cases) * share.powi(power) * Self::STEPS_MS.len() as f64 <= Self::CHANCE
    }

    fn is_grid(step: Duration, instants: &[Time]) -> bool {
        let step = step.as_nanos();
        let first = instants.first().map_or(0, |first| first.as_nanos() % step);
        // Half a step is added, so that instants just before the first instant and instants just
        // after it have similar offsets.
        let offset = |at: &Time| (at.as_nanos() % step + step + step / 2 - first) % step;
        let [least, most] = [instants.iter().map(offset).min(), instants.iter().map(offset).max()];
        let width = most.unwrap_or(0) - least.unwrap_or(0);
        width <= Self::WIDTH.as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// `count` instants at random ticks of a clock, each up to 1 ms late. The ticks are `tick` ms
    /// apart.
    fn ticks(random: &mut Stream, tick: u64, count: usize) -> Vec<Time> {
        let phase = random.bits() % (tick * 1_000_000);
        let at = |random: &mut Stream| {
            let late = random.bits() % 1_000_000;
            phase + random.bits() % 1000 * tick * 1_000_000 + late
        };
        (0..count).map(|_| Time::from_nanos(at(random))).collect()
    }

    #[test]
    fn the_grid_of_a_ticking_clock_is_found_at_any_phase_of_the_clock() {
        let mut random = Stream::named(1, "ticks");
        for (tick, count) in [(500, 5), (100, 6), (10, 12)] {
            for _ in 0..200 {
                let grid = TimerGrid::of(&ticks(&mut random, tick, count)).unwrap();
                assert_eq!(grid.step.as_nanos() % (tick * 1_000_000), 0);
            }
        }
    }

    #[test]
    fn random_instants_seldom_fall_on_a_grid() {
        let mut random = Stream::named(2, "no ticks");
        let many = 20_000;
        for count in [2, 3, 5, 8] {
            let found = (0..many).filter(|_| {
                let at = |_| Time::from_nanos(random.bits() % 100_000_000_000);
                TimerGrid::of(&(0..count).map(at).collect::<Vec<_>>()).is_some()
            });
            assert!(found.count() < many / 100, "{count} instants");
        }
    }

    #[test]
    fn two_instants_are_too_few_to_show_a_grid() {
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        assert_eq!(TimerGrid::of(&[at(500), at(1000)]), None);
        assert_eq!(TimerGrid::of(&[]), None);
    }
}
