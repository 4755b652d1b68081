//! How a host reads time: exactly, or in ticks that begin at a phase of their own.

use crate::units::{Duration, Time};

/// A host's clock for measuring round trips.
///
/// ```
/// use netspurt::clock::Clock;
/// use netspurt::units::{Duration, Time};
/// let tick = Duration::from_millis(10);
/// let coarse = Clock::ticking(tick, Duration::ZERO).unwrap();
/// let read = coarse.elapsed(Time::ZERO, Time::from_nanos(1_222_138_000));
/// assert_eq!(read, Duration::from_millis(1220));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Exact,
    Ticks { tick: Duration, phase: Duration },
}

impl Clock {
    /// A clock without granularity.
    pub const EXACT: Clock = Clock(Kind::Exact);

    /// A clock that advances every `tick`, having last done so `phase` before the start of the
    /// run; `None` where the tick is zero or the phase is not below it.
    pub fn ticking(tick: Duration, phase: Duration) -> Option<Clock> {
        (phase < tick).then_some(Clock(Kind::Ticks { tick, phase }))
    }

    /// The tick, if there is one.
    pub fn tick(self) -> Option<Duration> {
        match self.0 {
            Kind::Exact => None,
            Kind::Ticks { tick, .. } => Some(tick),
        }
    }

    /// The span from `sent` to `now` as this clock reads it: the ticks that began in between,
    /// one at the least, as in the senders of ns-2.35.
    pub fn elapsed(self, sent: Time, now: Time) -> Duration {
        match self.0 {
            Kind::Exact => now - sent,
            Kind::Ticks { tick, phase } => {
                let sent_ns = sent.as_nanos() + phase.as_nanos();
                let into_tick = Duration::from_nanos(sent_ns % tick.as_nanos());
                tick * ((now - sent) + into_tick).whole(tick).max(1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_reading_counts_the_ticks_that_began_since() {
        let ms = Duration::from_millis;
        let at = |n| Time::ZERO + ms(n);
        let clock = Clock::ticking(ms(10), ms(4)).unwrap();
        // Ticks begin at 6, 16, 26 ms ...
        assert_eq!(clock.elapsed(at(5), at(6)), ms(10));
        assert_eq!(clock.elapsed(at(5), at(15)), ms(10));
        assert_eq!(clock.elapsed(at(5), at(16)), ms(20));
        assert_eq!(clock.elapsed(at(6), at(25)), ms(10));
        assert_eq!(clock.elapsed(at(7), at(8)), ms(10), "never less than one");
    }

    #[test]
    fn a_phase_lies_within_the_tick() {
        let ms = Duration::from_millis;
        assert_eq!(Clock::ticking(ms(10), ms(10)), None);
        assert_eq!(Clock::ticking(ms(0), ms(0)), None);
    }
}
