//! Jacobson's retransmission timer of 1988. It keeps the smoothed mean of the round trips and their
//! smoothed mean deviation, as scaled integers.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::backoff::Backoff;
use super::keys::{Constant, Contradiction, Keys, above_zero, by_name, checked, ordered};
use super::mean::Deviations;
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Jacobson88`]. The gains and the tick come from Jacobson's paper of 1988. The
/// bounds and the first timer come from 4.3BSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Jacobson88Config {
    /// The unit of the samples and of the timer.
    pub tick: Duration,
    /// The number of deviations between the mean and the timer: two or four.
    pub deviations: Deviations,
    /// The timer before any sample.
    pub initial: Duration,
    /// The minimum RTO; it applies before the backoff.
    pub min: Duration,
    /// The maximum RTO; it applies after the backoff.
    pub max: Duration,
}

impl Default for Jacobson88Config {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(500),
            deviations: Deviations::Four,
            initial: Duration::from_secs(3),
            min: Duration::from_secs(1),
            max: Duration::from_secs(64),
        }
    }
}

impl Keys for Jacobson88Config {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => tick, deviations, initial, min, max)
    }

    fn check(&self) -> Result<(), Contradiction> {
        above_zero("tick", self.tick)?;
        ordered(("min", self.min), ("max", self.max))
    }
}

/// The timer of V. Jacobson, "Congestion Avoidance and Control", SIGCOMM '88, appendix A.
///
/// The mean is kept in eighths of a tick and the mean deviation in quarters, with gains of 1/8 and
/// 1/4. An update therefore takes two shifts and a few sums. Samples are whole ticks, rounded down.
/// The first sample R sets the mean to R and the deviation to R/2, as in BSD, because the appendix
/// does not define the start. Timeouts double the timer. The backoff ends with an unambiguous
/// sample (Karn and Partridge 1987), or when a timeout proves spurious.
///
/// ```
/// use netspurt::rto::{Jacobson88, Jacobson88Config, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Jacobson88::new(Jacobson88Config::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(1000), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(3000));
/// ```
#[derive(Clone, Debug)]
pub struct Jacobson88 {
    config: Jacobson88Config,
    /// `sa` and `sv` of the appendix: the mean in eighths of a tick, and the deviation in quarters.
    /// The value is `None` before the first sample.
    scaled: Option<(u64, u64)>,
    backoff: Backoff,
}

impl Jacobson88 {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When the tick is zero or the bounds contradict each other.
    pub fn new(config: Jacobson88Config) -> Self {
        Self { config: checked(config), scaled: None, backoff: Backoff::default() }
    }

    /// The timer in ticks, before the bounds and the backoff.
    fn ticks(&self, (sa, sv): (u64, u64)) -> u64 {
        match self.config.deviations {
            Deviations::Two => ((sa >> 2) + sv) >> 1,
            Deviations::Four => (sa >> 3) + sv,
        }
    }
}

impl RtoEstimator for Jacobson88 {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let rtt = sample.rtt.whole_units(self.config.tick);
        self.scaled = Some(match self.scaled {
            None => (rtt << 3, rtt << 1),
            Some((sa, sv)) => {
                let error = rtt.abs_diff(sa >> 3);
                (sa + rtt - (sa >> 3), sv + error - (sv >> 2))
            }
        });
        self.backoff.end();
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if kind != TimeoutKind::Probe {
            self.backoff.double();
        }
    }

    fn rto(&self) -> Duration {
        let Jacobson88Config { tick, initial, min, max, .. } = self.config;
        let timer = self.scaled.map_or(initial, |scaled| tick * self.ticks(scaled));
        self.backoff.on(timer.clamp(min, max), max)
    }

    fn state(&self) -> RtoState {
        let tick = self.config.tick;
        RtoState {
            srtt: self.scaled.map(|(sa, _)| tick * sa / 8),
            rttvar: self.scaled.map(|(_, sv)| tick * sv / 4),
            backoff: self.backoff.factor(),
            rto: self.rto(),
            fired: false,
        }
    }

    fn end_backoff(&mut self) {
        self.backoff.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The span of `n` ticks.
    fn ticks(n: u64) -> Duration {
        Duration::from_millis(500) * n
    }

    /// A timer after these samples, in ticks.
    fn after(deviations: Deviations, samples: &[u64]) -> Jacobson88 {
        let mut timer =
            Jacobson88::new(Jacobson88Config { deviations, ..Jacobson88Config::default() });
        for n in samples {
            timer.on_sample(&RttSample { rtt: ticks(*n), ..RttSample::default() });
        }
        timer
    }

    /// Appendix A: the whole error is added to the scaled mean `sa`. The size of the error, minus a
    /// quarter of the scaled deviation `sv`, is added to `sv`. The error is the sample minus the
    /// mean. The values are computed by hand for samples of 4, 8 and 2 ticks. The first sample
    /// gives sa 32 and sv 8. The second sample has an error of 4 and gives sa 36 and sv 8 + 4 - 2 =
    /// 10. The third sample has an error of 2 - 4 and gives sa 34 and sv 10 + 2 - 2 = 10.
    #[test]
    fn the_integers_agree_with_the_appendix() {
        let scaled = |samples: &[u64]| after(Deviations::Four, samples).scaled;
        assert_eq!(scaled(&[4]), Some((32, 8)));
        assert_eq!(scaled(&[4, 8]), Some((36, 10)));
        assert_eq!(scaled(&[4, 8, 2]), Some((34, 10)));
    }

    /// The timers are computed by hand. After samples of 4 and 8 ticks, sa is 36 and sv is 10. The
    /// paper of 1988 gives ((36 / 4) + 10) / 2 = 9 ticks, and the paper of 1990 gives (36 / 8) + 10
    /// = 14 ticks. Each quotient is rounded down.
    #[test]
    fn the_timer_has_two_deviations_as_in_1988_or_four_as_in_1990() {
        assert_eq!(after(Deviations::Two, &[4, 8]).rto(), ticks(9));
        assert_eq!(after(Deviations::Four, &[4, 8]).rto(), ticks(14));
        // After a third sample of 2 ticks, sa is 34 and sv is 10. The timer of 1988 is (34 / 4 +
        // 10) / 2 = 9 ticks, and the timer of 1990 is 34 / 8 + 10 = 14 ticks. After a third sample
        // of 5 ticks, sa is 37 and sv is 9. The timer of 1988 is (37 / 4 + 9) / 2 = 9 ticks,
        // because the two terms are added before they are halved.
        assert_eq!(after(Deviations::Two, &[4, 8, 2]).rto(), ticks(9));
        assert_eq!(after(Deviations::Four, &[4, 8, 2]).rto(), ticks(14));
        assert_eq!(after(Deviations::Two, &[4, 8, 5]).rto(), ticks(9));
        assert_eq!(after(Deviations::Four, &[4, 8, 5]).rto(), ticks(13));
    }

    #[test]
    fn samples_are_rounded_down_to_whole_ticks_and_ambiguous_ones_are_ignored() {
        let mut timer = after(Deviations::Four, &[]);
        assert_eq!(timer.rto(), ticks(6));
        let rtt = Duration::from_millis(1999);
        timer.on_sample(&RttSample { rtt, ..RttSample::default() });
        assert_eq!(timer.scaled, Some((24, 6)));
        timer.on_sample(&RttSample { ambiguous: true, rtt: ticks(60), ..RttSample::default() });
        assert_eq!(timer.scaled, Some((24, 6)));
    }
}
