//! Computes the rttvar of Linux's retransmission timer for several minimums (`rto_min`) at once.

use crate::sample::RttSample;
use crate::units::Duration;

use super::linux::{MICROSECOND, smoothed};

/// The rttvar of `N` timers of Linux that differ only in their minimum. Each timer is srtt +
/// rttvar. All timers take the same samples.
///
/// [`Linux`](super::Linux) is the timer with one minimum. Of its smoothed values, only rttvar
/// depends on the minimum. So the other values are kept once for all timers.
///
/// ```
/// use netspurt::rto::LinuxFloors;
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let floors = [40, 200].map(Duration::from_millis);
/// let sample = |round| RttSample { rtt: Duration::from_millis(30), round, ..RttSample::default() };
/// let first = LinuxFloors::sampled(None, &sample(1), &floors);
/// let each = |floors: LinuxFloors<2>| [0, 1].map(|place| floors.rttvar(place));
/// assert_eq!(each(first), [60, 200].map(Duration::from_millis));
/// // When a round ends, rttvar falls by a quarter of its distance to a lower limit. This limit is
/// // the minimum, or the largest mdev of the round if that is larger.
/// let mut third = LinuxFloors::sampled(Some(first), &sample(2), &floors);
/// third = LinuxFloors::sampled(Some(third), &sample(3), &floors);
/// assert_eq!(each(third), [55_000, 200_000].map(Duration::from_micros));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxFloors<const N: usize> {
    /// Eight times the mean, in microseconds.
    srtt: u64,
    /// Four times the mean deviation, in microseconds.
    mdev: u64,
    /// The largest mdev of this round.
    mdev_max: u64,
    /// The round of the last sample.
    round: u64,
    /// rttvar for each minimum, in microseconds.
    rttvars: [u64; N],
}

impl<const N: usize> LinuxFloors<N> {
    /// The values after `sample`. The argument `before` has the values before the sample, or is
    /// `None` for the first sample. `floors` are the minimums.
    pub fn sampled(before: Option<Self>, sample: &RttSample, floors: &[Duration; N]) -> Self {
        let (rtt, round) = (sample.rtt.whole_units(MICROSECOND), sample.round);
        let floors = floors.map(|floor| floor.whole_units(MICROSECOND));
        let Some(mut now) = before else {
            let mdev = rtt << 1;
            let rttvars = floors.map(|floor| mdev.max(floor));
            return Self { srtt: (rtt << 3).max(1), mdev, mdev_max: mdev, round, rttvars };
        };
        (now.srtt, now.mdev) = smoothed(now.srtt, now.mdev, rtt);
        now.mdev_max = now.mdev_max.max(now.mdev);
        let ends = round != now.round;
        for (rttvar, floor) in now.rttvars.iter_mut().zip(floors) {
            *rttvar = (*rttvar).max(now.mdev_max);
            if ends {
                *rttvar -= (*rttvar - now.mdev_max.max(floor)) >> 2;
            }
        }
        if ends {
            (now.mdev_max, now.round) = (0, round);
        }
        now
    }

    /// The rttvar of the timer with the minimum at the index `place`.
    ///
    /// # Panics
    /// When there is no minimum at this index.
    pub const fn rttvar(&self, place: usize) -> Duration {
        Duration::from_micros(self.rttvars[place])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rto::{Linux, LinuxConfig, RtoEstimator as _};

    #[test]
    fn each_rttvar_equals_the_rttvar_of_a_linux_timer_with_the_same_minimum() {
        let floors = [1, 10, 20, 40, 100, 200].map(Duration::from_millis);
        let mut timers = floors
            .map(|floor| Linux::new(LinuxConfig { rto_min: floor, ..LinuxConfig::default() }));
        let mut several = None;
        let trips = [30_000, 31_000, 90_000, 12_000, 12_500, 12_000, 400_000, 13_000];
        for (n, micros) in (0_u64..).zip(trips.into_iter().cycle().take(200)) {
            let rtt = Duration::from_micros(micros);
            let sample = RttSample { rtt, round: n / 3, ..RttSample::default() };
            several = Some(LinuxFloors::sampled(several, &sample, &floors));
            timers.iter_mut().for_each(|timer| timer.on_sample(&sample));
            let each = timers.each_ref().map(|timer| timer.state().rttvar.unwrap());
            let found = [0, 1, 2, 3, 4, 5].map(|place| several.unwrap().rttvar(place));
            assert_eq!(found, each, "sample {n}");
        }
    }
}
