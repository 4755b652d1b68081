//! The retransmission timer of Solaris and illumos. It keeps the smoothed mean of the round trips
//! and their smoothed mean deviation, in milliseconds. The deviation has a minimum.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::keys::{Constant, Contradiction, Keys, by_name, checked, ordered};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Solaris`]. The defaults are the tunables of illumos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SolarisConfig {
    /// The timer from which the first estimate is made: `tcp_rexmit_interval_initial`. Half of this
    /// timer is the first mean. The other half is the first value of four times the deviation.
    /// Before `extra`, `grace` and the bounds apply, the first timer is an eighth longer than
    /// `initial`, because a quarter of the mean is added.
    pub initial: Duration,
    /// The minimum RTO: `tcp_rexmit_interval_min`.
    pub min: Duration,
    /// The maximum RTO: `tcp_rexmit_interval_max`.
    pub max: Duration,
    /// The span that is added to every timer: `tcp_rexmit_interval_extra`.
    pub extra: Duration,
    /// The span that is added to the first timer: `tcp_conn_grace_period`.
    pub grace: Duration,
    /// The minimum of four times the deviation: `TCP_SD_MIN`.
    pub sd_min: Duration,
    /// The time without an answer after which the next sample replaces the mean and the deviation:
    /// `tcp_ip_notify_interval`.
    pub notify: Duration,
}

impl Default for SolarisConfig {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            min: Duration::from_millis(400),
            max: Duration::from_secs(60),
            extra: Duration::ZERO,
            grace: Duration::ZERO,
            sd_min: Duration::from_millis(400),
            notify: Duration::from_secs(10),
        }
    }
}

impl Keys for SolarisConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => initial, min, max, extra, grace, sd_min, notify)
    }

    fn check(&self) -> Result<(), Contradiction> {
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The retransmission timer of illumos, and of Solaris before it (`tcp_set_rto` of `tcp_input.c`,
/// `tcp_timer` of `tcp_timers.c`), in whole milliseconds.
///
/// The mean is kept in eighths and the deviation in quarters, with Jacobson's gains. Three rules
/// are particular to illumos. First, four deviations are at least 400 ms. Second, a quarter of the
/// mean is added to the mean and the deviations, to allow for the ACKs of bursts. Third, a new
/// connection has an estimate before the first sample, and the first sample updates this estimate
/// instead of replacing it. Timeouts double the timer. The doublings begin from the sum of the
/// mean, the deviations, this quarter and `extra`, or from the minimum if the sum is below the
/// minimum. After ten seconds without an answer, the mean and its quarter are added to the four
/// deviations, and the next sample replaces the mean and the deviations.
///
/// The backoff ends with an unambiguous sample, or when a timeout proves spurious.
///
/// ```
/// use netspurt::rto::{RtoEstimator, Solaris, SolarisConfig};
/// use netspurt::units::Duration;
/// let timer = Solaris::new(SolarisConfig::default());
/// assert_eq!(timer.rto(), Duration::from_millis(500 + 500 + 125));
/// ```
#[derive(Clone, Debug)]
pub struct Solaris {
    config: SolarisConfig,
    /// `tcp_rtt_sa`: the mean in eighths of a millisecond. The value is 0 if the next sample
    /// replaces it.
    sa: u64,
    /// `tcp_rtt_sd`: the deviation in quarters of a millisecond. The same number is four deviations
    /// in milliseconds.
    sd: u64,
    sampled: bool,
    backoff: u32,
    /// `tcp_rto` in milliseconds.
    rto: u64,
    /// `tcp_ms_we_have_waited`: the sum of the timers that timeouts have started since the last
    /// answer, in milliseconds. It includes the running timer.
    waited: u64,
}

const MS: Duration = Duration::from_millis(1);
/// The number of doublings stays below this number.
const MAX_BACKOFF: u32 = 31;

impl Solaris {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When the bounds contradict each other.
    pub fn new(config: SolarisConfig) -> Self {
        let config = checked(config);
        let initial = config.initial.whole_units(MS);
        let (sa, sd) = (initial << 2, initial >> 1);
        let mut timer = Self { config, sa, sd, sampled: false, backoff: 0, rto: 0, waited: 0 };
        timer.rto = timer.within_bounds(timer.sum() + config.grace.whole_units(MS));
        timer
    }

    /// The timer before its bounds: the mean, four deviations, the extra, and a quarter of the
    /// mean.
    fn sum(&self) -> u64 {
        (self.sa >> 3) + self.sd + self.config.extra.whole_units(MS) + (self.sa >> 5)
    }

    fn within_bounds(&self, ms: u64) -> u64 {
        ms.clamp(self.config.min.whole_units(MS), self.config.max.whole_units(MS))
    }
}

impl RtoEstimator for Solaris {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let rtt = sample.rtt.whole_units(MS);
        if self.sa == 0 {
            (self.sa, self.sd) = (rtt << 3, rtt << 1);
        } else {
            let mean = self.sa >> 3;
            self.sa = (self.sa + rtt - mean).max(1);
            self.sd = self.sd + rtt.abs_diff(mean) - (self.sd >> 2);
        }
        self.sd = self.sd.max(self.config.sd_min.whole_units(MS));
        self.sampled = true;
        (self.backoff, self.waited) = (0, 0);
        self.rto = self.within_bounds(self.sum());
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if kind == TimeoutKind::Probe {
            return;
        }
        if self.waited > self.config.notify.whole_units(MS) && self.sa > 0 {
            self.sd += (self.sa >> 3) + (self.sa >> 5);
            self.sa = 0;
        }
        self.backoff += 1;
        let (sum, max) =
            (self.sum().max(self.config.min.whole_units(MS)), self.config.max.whole_units(MS));
        let ms = sum.saturating_mul(1 << self.backoff);
        if ms > max || self.backoff == MAX_BACKOFF {
            self.backoff -= 1;
        }
        // departs: illumos - here a timeout never makes the timer shorter, so what `grace` adds to
        // the first timer is not lost.
        self.rto = ms.min(max).max(self.rto);
        self.waited = self.waited.saturating_add(self.rto);
    }

    fn rto(&self) -> Duration {
        MS * self.rto
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.sampled.then(|| MS * self.sa / 8),
            rttvar: self.sampled.then(|| MS * self.sd / 4),
            backoff: 1 << self.backoff,
            rto: self.rto(),
            fired: false,
        }
    }

    fn end_backoff(&mut self) {
        if self.backoff > 0 {
            (self.backoff, self.waited) = (0, 0);
            self.rto = self.within_bounds(self.sum());
        }
    }

    fn on_progress(&mut self, _covers_timed: bool) {
        self.waited = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rtt_ms: u64) -> RttSample {
        RttSample { rtt: MS * rtt_ms, ..RttSample::default() }
    }

    /// A timer after these samples, in milliseconds.
    fn after(samples: &[u64]) -> Solaris {
        let mut timer = Solaris::new(SolarisConfig::default());
        samples.iter().for_each(|rtt| timer.on_sample(&sample(*rtt)));
        timer
    }

    /// The mean in eighths of a millisecond, and four deviations and the timer in milliseconds.
    fn integers(timer: &Solaris) -> (u64, u64, u64) {
        (timer.sa, timer.sd, timer.rto)
    }

    /// The values are computed by hand from the rules of illumos's `tcp_set_rto`, for samples of
    /// 100, 800 and 500 ms. The error is the sample minus the mean. The field sa is eight times the
    /// mean, and the field sd is four deviations. All values are in milliseconds. A new connection
    /// has sa 4000 and sd 500, so the timer is 500 + 500 + 125. The error 100 - 500 gives sa 3600,
    /// sd 500 + 400 - 125 = 775 and a timer of 450 + 775 + 112. The error 800 - 450 gives sa 3950,
    /// sd 775 + 350 - 193 = 932 and a timer of 493 + 932 + 123. The error 500 - 493 gives sa 3957,
    /// sd 932 + 7 - 233 = 706 and a timer of 494 + 706 + 123.
    #[test]
    fn the_integers_agree_with_illumos() {
        assert_eq!(integers(&after(&[])), (4000, 500, 1125));
        assert_eq!(integers(&after(&[100])), (3600, 775, 1337));
        assert_eq!(integers(&after(&[100, 800])), (3950, 932, 1548));
        assert_eq!(integers(&after(&[100, 800, 500])), (3957, 706, 1323));
    }

    /// On a steady path of 100 ms, the deviation stays at its minimum, so the timer is 100 + 400 +
    /// 25 ms.
    #[test]
    fn four_deviations_are_no_less_than_400_ms() {
        let steady = after(&[100; 100]);
        assert_eq!((steady.sd, steady.rto), (400, 525));
        let quick = after(&[0; 200]);
        assert_eq!(integers(&quick), (7, 400, 400));
    }

    /// The timer of 1337 ms doubles to 2674, 5348 and 10696 ms. The sum of these three doubled
    /// timers is 18.7 s, and illumos counts this sum as the wait. So at the next timeout, the mean
    /// and its quarter are added to the four deviations (775 + 450 + 112), and the timer doubles to
    /// 21392 ms. The next sample replaces the mean.
    #[test]
    fn after_ten_seconds_without_an_answer_the_mean_is_no_longer_used() {
        let mut timer = after(&[100]);
        for (rto, sa) in [(2674, 3600), (5348, 3600), (10_696, 3600), (21_392, 0), (42_784, 0)] {
            timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
            assert_eq!((timer.rto, timer.sa), (rto, sa));
        }
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        assert_eq!(timer.rto(), Duration::from_secs(60));
        timer.on_sample(&sample(300));
        assert_eq!(integers(&timer), (2400, 600, 975));
    }

    #[test]
    fn doublings_begin_from_the_minimum_and_an_ambiguous_sample_does_not_end_them() {
        let mut timer = after(&[0; 200]);
        for rto in [800, 1600] {
            timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
            assert_eq!(timer.rto, rto);
        }
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        timer.on_sample(&RttSample { ambiguous: true, ..sample(7) });
        assert_eq!(timer.rto, 1600);
        timer.on_spurious(None);
        assert_eq!(timer.rto, 400);
    }
}
