//! A timer with a constant value. If its maximum is larger than this value, timeouts double the
//! timer.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::backoff::Backoff;
use super::keys::{Constant, Contradiction, Keys, by_name, checked, ordered};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Fixed`]. By default, the timer is always 3 s, the value of RFC 1122 §4.2.3.1
/// for a connection without samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedConfig {
    /// The timer before its backoff.
    pub rto: Duration,
    /// The maximum of a doubled timer. If it equals `rto`, the timer is never doubled.
    pub max: Duration,
}

impl Default for FixedConfig {
    fn default() -> Self {
        Self { rto: Duration::from_secs(3), max: Duration::from_secs(3) }
    }
}

impl Keys for FixedConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => rto, max)
    }

    fn bounds(&self) -> [Option<&'static str>; 3] {
        [Some("rto"), None, Some("max")]
    }

    fn check(&self) -> Result<(), Contradiction> {
        ordered(("rto", self.rto), ("max", self.max))
    }
}

/// A constant timer, with or without a backoff: the baseline for all algorithms.
///
/// The value `rto` does not depend on samples. An unambiguous sample ends the backoff (Karn and
/// Partridge 1987). A spurious timeout also ends the backoff.
///
/// ```
/// use netspurt::rto::{Fixed, FixedConfig, RtoEstimator, TimeoutKind};
/// use netspurt::units::{Duration, Time};
/// let ms = Duration::from_millis;
/// let mut timer = Fixed::new(FixedConfig { rto: ms(200), max: ms(1000) });
/// timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
/// assert_eq!(timer.rto(), ms(400));
/// ```
#[derive(Clone, Debug)]
pub struct Fixed {
    config: FixedConfig,
    backoff: Backoff,
}

impl Fixed {
    /// A timer whose backoff has not begun.
    ///
    /// # Panics
    /// When `max` is below `rto`.
    pub fn new(config: FixedConfig) -> Self {
        Self { config: checked(config), backoff: Backoff::default() }
    }
}

impl RtoEstimator for Fixed {
    fn on_sample(&mut self, sample: &RttSample) {
        if !sample.ambiguous {
            self.backoff.end();
        }
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if kind != TimeoutKind::Probe {
            self.backoff.double();
        }
    }

    fn rto(&self) -> Duration {
        self.backoff.on(self.config.rto, self.config.max)
    }

    fn state(&self) -> RtoState {
        let backoff = self.backoff.factor();
        RtoState { srtt: None, rttvar: None, backoff, rto: self.rto(), fired: false }
    }

    fn end_backoff(&mut self) {
        self.backoff.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_do_not_change_a_timer_whose_maximum_equals_its_value() {
        let mut timer = Fixed::new(FixedConfig::default());
        (0..40).for_each(|_| timer.on_timeout(Time::ZERO, TimeoutKind::Rto));
        assert_eq!(timer.rto(), Duration::from_secs(3));
    }

    #[test]
    fn only_an_unambiguous_sample_or_a_spurious_timeout_ends_the_backoff() {
        let ms = Duration::from_millis;
        let mut timer = Fixed::new(FixedConfig { rto: ms(200), max: ms(1000) });
        let after = |timer: &mut Fixed, kinds: &[TimeoutKind]| {
            kinds.iter().for_each(|kind| timer.on_timeout(Time::ZERO, *kind));
            timer.rto()
        };
        use TimeoutKind::{Probe, Rto, Syn};
        assert_eq!(after(&mut timer, &[Rto, Probe, Syn]), ms(800));
        assert_eq!(after(&mut timer, &[Rto]), ms(1000));
        timer.on_sample(&RttSample { ambiguous: true, ..RttSample::default() });
        assert_eq!(timer.rto(), ms(1000));
        timer.on_sample(&RttSample::default());
        assert_eq!(timer.rto(), ms(200));
        assert_eq!(after(&mut timer, &[Rto]), ms(400));
        timer.on_spurious(None);
        assert_eq!(timer.rto(), ms(200));
    }
}
