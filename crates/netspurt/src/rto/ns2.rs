//! The retransmission timer of the one-way TCP senders of the simulator ns-2.35. It computes as
//! 4.4BSD does, in integers of ticks: the mean of the round trips (srtt) and their mean deviation
//! (rttvar).

use crate::event::RtoState;
use crate::sample::{RttSample, SampleSource};
use crate::units::{Duration, Time};

use super::keys::{Constant, Contradiction, Keys, above_zero, by_name, checked, ordered};
use super::{RtoEstimator, TimeoutKind};

/// The constants of ns-2, with the names of its variables. The defaults come from ns-2.35.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ns2Config {
    /// `tcpTick_`: the unit of samples and of the smoothed values.
    pub tick: Duration,
    /// `rtxcur_init_`: the RTO before any sample.
    pub initial: Duration,
    /// `minrto_`: the minimum RTO; it applies before the backoff (`rfc2988_ true`).
    pub min: Duration,
    /// `maxrto_`: the maximum RTO; it applies after the backoff.
    pub max: Duration,
}

impl Default for Ns2Config {
    fn default() -> Self {
        Self {
            tick: Duration::from_millis(10),
            initial: Duration::from_secs(3),
            min: Duration::from_millis(200),
            max: Duration::from_secs(60),
        }
    }
}

impl Keys for Ns2Config {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => tick, initial, min, max)
    }

    fn check(&self) -> Result<(), Contradiction> {
        above_zero("tick", self.tick)?;
        ordered(("min", self.min), ("max", self.max))?;
        if self.tick * RTO_TICKS_MIN <= self.max {
            return Ok(());
        }
        let message = format!(
            "the RTO is at least {RTO_TICKS_MIN} ticks, which is above `max`, {}",
            self.max
        );
        let fix = format!("write at most {}, or raise `max`", self.max / RTO_TICKS_MIN);
        Err(Contradiction { key: "tick", message, fix })
    }
}

/// The retransmission timer of ns-2.35 with `rfc2988_` on (its default), `rttvar_exp_` 2 and
/// `ts_resetRTO_` off.
///
/// srtt is kept in eighths of a tick and rttvar in quarters, as in Jacobson's code of 1988. A
/// sample sets srtt and rttvar to at least 1. The RTO is srtt + 4 rttvar in whole ticks. Two rules
/// are ns-2's own. First, an ACK of the timed segment (the segment whose round trip is measured)
/// ends a backoff, with or without a sample. A sample of an echoed timestamp does not end a
/// backoff. Second, if the factor of the backoff is above 8 after a timeout, a quarter of srtt is
/// added to rttvar, and srtt is set to zero. The next sample then counts as the first: it sets srtt
/// and rttvar anew. The original ns-2 does not detect spurious timeouts. In netspurt, a spurious
/// timeout ends a backoff.
///
/// ```
/// use netspurt::rto::{Ns2, Ns2Config, RtoEstimator, TimeoutKind};
/// use netspurt::units::{Duration, Time};
/// let mut timer = Ns2::new(Ns2Config::default());
/// timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
/// assert_eq!(timer.rto(), Duration::from_secs(6));
/// ```
#[derive(Clone, Debug)]
pub struct Ns2 {
    config: Ns2Config,
    /// The mean in eighths of a tick. The value is 0 if the next sample counts as the first.
    srtt: u64,
    /// The deviation in quarters of a tick.
    rttvar: u64,
    sampled: bool,
    /// `t_rtxcur_`: the RTO that was last computed from a sample.
    current: Duration,
    backoff: u32,
}

/// `rttvar_init_`: the deviation before any sample, in quarters of a tick.
const RTTVAR_INIT: u64 = 12;
/// A backoff of this value or more doubles only while the RTO is below `max`.
const BACKOFF_CAP: u32 = 64;
/// If the backoff is above this value after a timeout, srtt is set to zero.
const SRTT_BACKOFF_MAX: u32 = 8;
/// The minimum RTO in ticks.
const RTO_TICKS_MIN: u64 = 2;

impl Ns2 {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When the tick is zero, two ticks are more than the maximum, or the bounds contradict each
    /// other.
    pub fn new(config: Ns2Config) -> Self {
        Self {
            config: checked(config),
            srtt: 0,
            rttvar: RTTVAR_INIT,
            sampled: false,
            current: config.initial,
            backoff: 1,
        }
    }
}

impl RtoEstimator for Ns2 {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let rtt = sample.rtt.whole_units(self.config.tick).max(1);
        if self.srtt == 0 {
            self.srtt = rtt << 3;
            self.rttvar = rtt << 1;
        } else {
            let smoothed = self.srtt >> 3;
            self.srtt = (self.srtt + rtt).saturating_sub(smoothed).max(1);
            let deviation = rtt.abs_diff(smoothed);
            self.rttvar = (self.rttvar + deviation).saturating_sub(self.rttvar >> 2).max(1);
        }
        self.sampled = true;
        self.current = self.config.tick * (((self.rttvar << 3) + self.srtt) >> 3);
        if sample.source == SampleSource::TimedSegment {
            self.backoff = 1;
        }
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        if kind == TimeoutKind::Probe {
            return;
        }
        if self.backoff < BACKOFF_CAP || self.rto() < self.config.max {
            self.backoff = self.backoff.saturating_mul(2);
        }
        if self.backoff > SRTT_BACKOFF_MAX {
            self.rttvar += self.srtt >> 3;
            self.srtt = 0;
        }
    }

    fn rto(&self) -> Duration {
        let backed_off = self.current.max(self.config.min) * u64::from(self.backoff);
        backed_off.min(self.config.max).max(self.config.tick * RTO_TICKS_MIN)
    }

    fn on_progress(&mut self, covers_timed: bool) {
        if covers_timed {
            self.backoff = 1;
        }
    }

    fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    fn state(&self) -> RtoState {
        // `scaled` is a number of fractions of a tick. A tick has 2^`shift` fractions.
        let span = |scaled: u64, shift: u32| self.config.tick * scaled / (1 << shift);
        RtoState {
            srtt: self.sampled.then(|| span(self.srtt, 3)),
            rttvar: self.sampled.then(|| span(self.rttvar, 2)),
            backoff: self.backoff,
            rto: self.rto(),
            fired: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A timer that has seen no sample.
    fn timer() -> Ns2 {
        Ns2::new(Ns2Config::default())
    }

    /// A sample of a segment that was sent at time zero.
    fn sample(rtt: Duration) -> RttSample {
        RttSample { at: Time::ZERO + rtt, rtt, ..RttSample::default() }
    }

    /// The expected values are the columns srtt, rttvar and rto of a trace of ns-2.35 in
    /// `authorities/ns2`: the transfer of RFC 2416 with Tahoe and an initial window of 1. The
    /// samples are 1.22, 1.22 and 1.67 s.
    #[test]
    fn srtt_rttvar_and_rto_equal_those_of_ns_2() {
        let mut timer = timer();
        assert_eq!(timer.rto(), ms(3000));
        timer.on_sample(&sample(ms(1220)));
        assert_eq!((timer.srtt, timer.rttvar, timer.rto()), (122 << 3, 244, ms(3660)));
        timer.on_sample(&sample(ms(1220)));
        assert_eq!((timer.srtt, timer.rttvar, timer.rto()), (976, 183, ms(3050)));
        timer.on_sample(&sample(ms(1670)));
        assert_eq!((timer.srtt >> 3, timer.rttvar), (127, 183));
    }

    #[test]
    fn after_a_backoff_above_eight_the_next_sample_counts_as_the_first() {
        let mut timer = timer();
        timer.on_sample(&sample(ms(1220)));
        for backoff in [2, 4, 8] {
            timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
            assert_eq!((timer.backoff, timer.srtt), (backoff, 976));
        }
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        assert_eq!((timer.srtt, timer.rttvar, timer.rto()), (0, 244 + 122, ms(3660 * 16)));
        timer.on_sample(&sample(ms(500)));
        assert_eq!((timer.srtt, timer.rttvar, timer.backoff), (400, 100, 1));
    }

    #[test]
    fn the_minimum_applies_before_the_backoff_and_the_maximum_after_it() {
        let mut timer = timer();
        timer.on_sample(&sample(ms(10)));
        assert_eq!(timer.rto(), ms(200));
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        assert_eq!(timer.rto(), ms(400));
        (0..20).for_each(|_| timer.on_timeout(Time::ZERO, TimeoutKind::Rto));
        assert_eq!(timer.rto(), ms(60_000));
        timer.on_progress(true);
        assert_eq!(timer.rto(), ms(200));
    }

    #[test]
    fn a_sample_from_an_echoed_timestamp_does_not_end_a_backoff() {
        let mut timer = timer();
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        timer.on_sample(&RttSample { source: SampleSource::Echo, ..sample(ms(1220)) });
        assert_eq!((timer.backoff, timer.rto()), (2, ms(7320)));
        timer.on_spurious(None);
        assert_eq!((timer.backoff, timer.rto()), (1, ms(3660)));
    }
}
