//! The sums of a replay over a part of its probes.

use std::ops::Range;

use crate::delays::Delays;
use crate::units::Duration;

use super::engine::TimerVerdict;

/// The sums over a part of the probes of a replay. The timers of probes that left before any delay
/// was known say nothing about the path, so some of the sums leave these probes out.
///
/// ```
/// use netspurt::delays::{Delays, ProbeOrder, Probe, SendTimeSource};
/// use netspurt::replay::PartSums;
/// use netspurt::units::{Duration, Time};
///
/// let ms = Duration::from_millis;
/// let at = |n| Time::ZERO + ms(1000) * n;
/// let probes = vec![
///     Probe::lost(0, at(0)),
///     Probe::answered(1, at(1), ms(40)),
///     Probe::answered(2, at(2), ms(90)),
///     Probe::lost(3, at(3)),
/// ];
/// let delays = Delays::of("example", probes, ProbeOrder::Causal, SendTimeSource::Recorded);
/// let waits = [ms(3000), ms(3000), ms(80), ms(105)];
/// let sums = PartSums::of(&delays, &waits, 2, 0..4);
/// assert_eq!((sums.learnt, sums.answers, sums.lost, sums.spurious), (2, 2, 1, 1));
/// assert_eq!((sums.timers, sums.waited), (ms(185), ms(105)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PartSums {
    /// The number of probes that left when a delay was known.
    pub learnt: u64,
    /// The number of answered probes.
    pub answers: u64,
    /// The number of the probes counted in `learnt` that were lost.
    pub lost: u64,
    /// The number of probes that were retransmitted spuriously.
    pub spurious: u64,
    /// The sum of the timers of the probes counted in `learnt`.
    pub timers: Duration,
    /// The sum of the timers of the probes counted in `lost`.
    pub waited: Duration,
}

impl PartSums {
    /// Adds up the probes with the numbers in `part`. `waits` has the timer of each probe of the
    /// recording. `learnt_from` is the number of the first probe that left after a delay was known.
    ///
    /// # Panics
    /// If `part` is not within the recording, or `waits` is shorter than the recording.
    pub fn of(delays: &Delays, waits: &[Duration], learnt_from: usize, part: Range<usize>) -> Self {
        let mut sums = Self::default();
        let first = part.start;
        let each = delays.probes[part.clone()].iter().zip(&waits[part]);
        for (place, (probe, &wait)) in each.enumerate() {
            let verdict = TimerVerdict::of(probe.rtt, wait);
            sums.answers += u64::from(probe.rtt.is_some());
            sums.spurious += u64::from(verdict == TimerVerdict::Spurious);
            if first + place >= learnt_from {
                sums.learnt += 1;
                sums.timers = sums.timers + wait;
                if verdict == TimerVerdict::Lost {
                    sums.lost += 1;
                    sums.waited = sums.waited + wait;
                }
            }
        }
        sums
    }
}
