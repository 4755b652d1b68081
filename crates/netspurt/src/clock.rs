//! How a host reads time and when its timers fire: exactly, in ticks, or as Linux does. A *jiffy*
//! is the tick of Linux's timers. The *phase* of a clock says how far its count of ticks had
//! advanced when the run started.

use core::str::FromStr;

use crate::units::{Duration, Time};

/// A host's clock. [`elapsed`](Self::elapsed) measures a round trip. [`expiry`](Self::expiry)
/// returns the instant at which a timer fires. A host may measure with one clock and arm its timers
/// with another. In ns-2, round trips are measured in ticks and timers fire exactly. In 4.4BSD,
/// measurements and timers depend on ticks. Linux measures in microseconds, and its timers fire by
/// jiffies and a timer wheel.
///
/// ```
/// use netspurt::clock::Clock;
/// use netspurt::units::{Duration, Time};
/// let ms = Duration::from_millis;
/// let coarse = Clock::ticking(ms(10), Duration::ZERO).unwrap();
/// let read = coarse.elapsed(Time::ZERO, Time::from_nanos(1_222_138_000));
/// assert_eq!(read, ms(1220));
/// let now = Time::ZERO + ms(8);
/// assert_eq!(coarse.expiry(now, ms(30)), Time::ZERO + ms(30), "the first of three ticks is short");
/// assert_eq!(Clock::EXACT.expiry(now, ms(30)), now + ms(30));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock(ClockKind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClockKind {
    Exact,
    Ticks { tick: Duration, phase: Duration },
    Nearest { tick: Duration },
    Linux { jiffy: Duration, phase: Duration },
}

/// The error for a text that does not name a clock.
///
/// ```
/// use netspurt::clock::Clock;
/// let slip = "linux".parse::<Clock>().unwrap_err();
/// assert_eq!(slip.to_string(), "`linux` is not a clock: write `exact`, `linux-hz250` or a tick, as in `10 ms`");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a clock: write `exact`, `linux-hz250` or a tick, as in `10 ms`")]
pub struct ClockTextError(String);

impl FromStr for Clock {
    type Err = ClockTextError;

    /// Reads the name of one of the [`NAMED`](Clock::NAMED) clocks, or the length of a tick. From a
    /// length, it makes a ticking clock whose first tick begins with the run.
    fn from_str(text: &str) -> Result<Self, ClockTextError> {
        let named = Self::NAMED.iter().find(|(name, ..)| *name == text.trim());
        let ticking = || Self::ticking(text.parse().ok()?, Duration::ZERO);
        named
            .map(|(_, clock, _)| *clock)
            .or_else(ticking)
            .ok_or_else(|| ClockTextError(text.to_owned()))
    }
}

/// The phase that ns-2.35 draws for its first sender with `ns-random 1`, as the numerator and
/// denominator of a fraction of a tick. The fraction is the second output of the random generator
/// MRG32k3a with seed 1.
const NS2_PHASE: (u64, u64) = (555_880_716, 1_000_000_000);

/// The unit of Linux's clock for round trips.
const MICROSECOND: Duration = Duration::from_micros(1);

impl Clock {
    /// A clock without granularity.
    pub const EXACT: Clock = Clock(ClockKind::Exact);

    /// Linux with 250 jiffies a second. The first jiffy begins with the run.
    pub const LINUX_HZ250: Clock =
        Clock(ClockKind::Linux { jiffy: Duration::from_millis(4), phase: Duration::ZERO });

    /// The clocks that have a name: the name, the clock, and its description.
    pub const NAMED: [(&str, Clock, &str); 2] = [
        ("exact", Self::EXACT, "exact to the nanosecond"),
        (
            "linux-hz250",
            Self::LINUX_HZ250,
            "the clock of Linux, with 250 jiffies a second and the timer wheel of Linux",
        ),
    ];

    /// A clock that advances after each span of `tick`. When the run starts, a tick has already
    /// lasted for `phase`. Returns `None` if the tick is zero, or if the phase is not shorter than
    /// the tick.
    pub fn ticking(tick: Duration, phase: Duration) -> Option<Clock> {
        (phase < tick).then_some(Clock(ClockKind::Ticks { tick, phase }))
    }

    /// Returns this clock, but each measurement is rounded to the nearest tick and does not depend
    /// on the phase. ns-2.35 rounds timestamps in this way. The timers of the returned clock fire
    /// exactly. A clock that does not tick is returned unchanged.
    #[must_use]
    pub fn to_the_nearest_tick(self) -> Clock {
        self.ticks().map_or(self, |(tick, _)| Clock(ClockKind::Nearest { tick }))
    }

    /// The phase that ns-2.35 draws for its first sender, for a clock with this `tick`.
    pub fn ns2_phase(tick: Duration) -> Duration {
        let nanos = u128::from(tick.as_nanos()) * u128::from(NS2_PHASE.0);
        Duration::from_nanos(u64::try_from(nanos / u128::from(NS2_PHASE.1)).unwrap_or(0))
    }

    /// Makes the clock of Linux with jiffies of this length. If the length is zero, returns `None`.
    /// When the run starts, the time `phase` has passed since the count of jiffies began at 0.
    ///
    /// The phase may be longer than a jiffy. The buckets of the timer wheel are aligned to the
    /// count of jiffies. The instant at which a timer fires therefore depends on the remainders
    /// that this count leaves when it is divided by 8, by 64 and so on.
    pub fn linux(jiffy: Duration, phase: Duration) -> Option<Clock> {
        (!jiffy.is_zero()).then_some(Clock(ClockKind::Linux { jiffy, phase }))
    }

    /// Returns this clock with another phase. The phase is the time from the instant at which the
    /// count of jiffies was 0 to the start of the run. A clock other than Linux's is returned
    /// unchanged.
    #[must_use]
    pub fn with_jiffies_from(self, phase: Duration) -> Clock {
        self.jiffy().map_or(self, |jiffy| Clock(ClockKind::Linux { jiffy, phase }))
    }

    /// The tick and its phase, for a clock that ticks.
    pub fn ticks(self) -> Option<(Duration, Duration)> {
        match self.0 {
            ClockKind::Ticks { tick, phase } => Some((tick, phase)),
            ClockKind::Nearest { tick } => Some((tick, Duration::ZERO)),
            ClockKind::Exact | ClockKind::Linux { .. } => None,
        }
    }

    /// The length of a jiffy, for Linux's clock.
    pub fn jiffy(self) -> Option<Duration> {
        match self.0 {
            ClockKind::Linux { jiffy, .. } => Some(jiffy),
            ClockKind::Exact | ClockKind::Ticks { .. } | ClockKind::Nearest { .. } => None,
        }
    }

    /// For Linux's clock, the time from the instant at which the count of jiffies was 0 to the
    /// start of the run. For other clocks, returns zero.
    pub fn jiffy_phase(self) -> Duration {
        match self.0 {
            ClockKind::Linux { phase, .. } => phase,
            ClockKind::Exact | ClockKind::Ticks { .. } | ClockKind::Nearest { .. } => {
                Duration::ZERO
            }
        }
    }

    /// The unit in which the clock *measures*, or `None` for an exact clock.
    pub fn tick(self) -> Option<Duration> {
        match self.0 {
            ClockKind::Exact => None,
            ClockKind::Ticks { tick, .. } | ClockKind::Nearest { tick } => Some(tick),
            ClockKind::Linux { .. } => Some(MICROSECOND),
        }
    }

    /// The span from the instant `sent` to the instant `now` as this clock reads it.
    ///
    /// A ticking clock counts the ticks that began between the two instants. The count may be zero.
    /// A clock that rounds to the nearest tick rounds the span. Linux reads its clock in whole
    /// microseconds at both instants, and subtracts.
    pub fn elapsed(self, sent: Time, now: Time) -> Duration {
        match self.0 {
            ClockKind::Exact => now - sent,
            ClockKind::Ticks { tick, phase } => {
                let sent_ns = sent.as_nanos() + phase.as_nanos();
                let into_tick = Duration::from_nanos(sent_ns % tick.as_nanos());
                tick * ((now - sent) + into_tick).whole_units(tick)
            }
            ClockKind::Nearest { tick } => tick * ((now - sent) + tick / 2).whole_units(tick),
            ClockKind::Linux { phase, .. } => {
                let micros = |t: Time| age(t, phase).whole_units(MICROSECOND);
                MICROSECOND * micros(now).saturating_sub(micros(sent))
            }
        }
    }

    /// Returns the measured time `reading`. If this clock ticks, returns at least one tick. The
    /// senders of ns-2.35 have this rule, because they cannot compute a timer from a round trip of
    /// zero.
    pub fn at_least_a_tick(self, reading: Duration) -> Duration {
        self.ticks().map_or(reading, |(tick, _)| reading.max(tick))
    }

    /// The span between two instants in whole jiffies, as Linux counts it. Other clocks return the
    /// exact span.
    pub fn jiffies_between(self, from: Time, to: Time) -> Duration {
        match self.0 {
            ClockKind::Linux { jiffy, phase } => {
                let count = |t| age(t, phase).whole_units(jiffy);
                jiffy * count(to).saturating_sub(count(from))
            }
            _ => to.saturating_since(from),
        }
    }

    /// The whole jiffies of a span, for Linux's clock. Other clocks return the whole span.
    pub fn whole_jiffies(self, span: Duration) -> Duration {
        self.jiffy().map_or(span, |jiffy| jiffy * span.whole_units(jiffy))
    }

    /// The instant at which a timer fires if it is armed at the instant `now` for the span `after`.
    ///
    /// A ticking clock checks its timers when a tick begins, like the slow timeout of 4.4BSD
    /// (`tcp_slowtimo`). The span is rounded to a whole number of ticks, at least one, and the
    /// timer fires when this number of ticks has begun. The rest of the current tick counts as a
    /// whole tick, so the timer may fire up to a tick before the rounded time is over.
    ///
    /// Linux rounds the span up to whole jiffies (`usecs_to_jiffies`), adds them to the current
    /// count, and passes the sum to its timer wheel (`kernel/time/timer.c`, since 4.8). A span that
    /// is longer than the wheel's longest delay is cut to this delay, so the timer fires early. No
    /// other timer of Linux fires early. In the coarser levels of the wheel, timers fire late by up
    /// to about an eighth of the span.
    #[inline]
    pub fn expiry(self, now: Time, after: Duration) -> Time {
        match self.0 {
            ClockKind::Exact | ClockKind::Nearest { .. } => now + after,
            ClockKind::Ticks { tick, phase } => expiry_by_ticks(now, after, tick, phase),
            ClockKind::Linux { jiffy, phase } => expiry_by_jiffies(now, after, jiffy, phase),
        }
    }
}

fn expiry_by_ticks(now: Time, after: Duration, tick: Duration, phase: Duration) -> Time {
    let ticks = (after + tick / 2).whole_units(tick).max(1);
    let count = age(now, phase).whole_units(tick).saturating_add(ticks);
    began(tick * count, phase)
}

fn expiry_by_jiffies(now: Time, after: Duration, jiffy: Duration, phase: Duration) -> Time {
    let jiffies = age(now, phase).whole_units(jiffy);
    let after = after.as_nanos().div_ceil(jiffy.as_nanos());
    began(jiffy * wheel(jiffies, after), phase)
}

/// The time from the beginning of the clock's count to the instant `t`.
fn age(t: Time, phase: Duration) -> Duration {
    (t - Time::ZERO) + phase
}

/// The instant at which the time `age` has passed since the clock's count began.
fn began(age: Duration, phase: Duration) -> Time {
    Time::ZERO + (age - phase)
}

/// The number of buckets in each level of the wheel.
const LEVEL_BUCKETS: u64 = 64;
/// The shift in bits that turns the width of a bucket into the width of a bucket in the level
/// above. A bucket is eight times as wide as a bucket of the level below.
const LEVEL_SHIFT: u32 = 3;
/// The number of the top level, counted from 0. Linux has nine levels at 250 jiffies a second.
const TOP_LEVEL: u32 = 8;
/// The longest delay of the wheel, in jiffies: the end of the top level minus the width of one of
/// its buckets.
const REACH: u64 = level_start(TOP_LEVEL + 1) - (1 << (TOP_LEVEL * LEVEL_SHIFT));

/// The first delay in jiffies that belongs to level `n`, for an `n` of at least 1.
const fn level_start(n: u32) -> u64 {
    (LEVEL_BUCKETS - 1) << ((n - 1) * LEVEL_SHIFT)
}

/// The jiffy at which Linux's timer wheel runs a timer. The timer is armed at the jiffy `now`, and
/// its length in jiffies is `after`. The timer runs at the beginning of the bucket *after* the
/// bucket in which it is due. Buckets of level n are 8^n jiffies wide and aligned to the count.
fn wheel(now: u64, after: u64) -> u64 {
    let after = after.min(REACH);
    let level = (1..=TOP_LEVEL).rev().find(|n| after >= level_start(*n)).unwrap_or(0);
    let shift = level * LEVEL_SHIFT;
    (((now + after) >> shift) + 1) << shift
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Time {
        Time::ZERO + ms(n)
    }

    #[test]
    fn a_coarse_reading_of_a_span_counts_the_ticks_that_begin_in_it() {
        let clock = Clock::ticking(ms(10), ms(4)).unwrap();
        // Ticks begin at 6, 16, 26 ms ...
        assert_eq!(clock.elapsed(at(5), at(6)), ms(10));
        assert_eq!(clock.elapsed(at(5), at(15)), ms(10));
        assert_eq!(clock.elapsed(at(5), at(16)), ms(20));
        assert_eq!(clock.elapsed(at(6), at(25)), ms(10));
        let none = clock.elapsed(at(7), at(8));
        assert_eq!((none, clock.at_least_a_tick(none)), (ms(0), ms(10)));
    }

    #[test]
    fn rounding_to_the_nearest_tick_ignores_the_phase_and_rounds_halves_up() {
        let clock = Clock::ticking(ms(10), ms(4)).unwrap().to_the_nearest_tick();
        assert_eq!(clock.elapsed(at(5), at(19)), ms(10));
        assert_eq!(clock.elapsed(at(5), at(20)), ms(20));
        let none = clock.elapsed(at(5), at(9));
        assert_eq!((none, clock.at_least_a_tick(none)), (ms(0), ms(10)));
        assert_eq!(Clock::EXACT.to_the_nearest_tick(), Clock::EXACT);
    }

    #[test]
    fn a_tick_must_be_longer_than_its_phase() {
        assert_eq!(Clock::ticking(ms(10), ms(10)), None);
        assert_eq!(Clock::ticking(ms(0), ms(0)), None);
        assert_eq!(Clock::linux(ms(0), ms(0)), None);
        assert!(Clock::linux(ms(4), ms(100)).is_some(), "Linux's phase may exceed a jiffy");
    }

    /// 4.4BSD's timers are counters of ticks of 500 ms. A timer that is set to 2 fires with the
    /// second tick.
    #[test]
    fn a_ticking_clock_rounds_a_timer_to_ticks_and_counts_their_beginnings() {
        let clock = Clock::ticking(ms(500), ms(100)).unwrap();
        // Ticks begin at 400, 900, 1400 ms ...
        assert_eq!(clock.expiry(at(0), ms(1000)), at(900));
        assert_eq!(clock.expiry(at(399), ms(1000)), at(900));
        assert_eq!(
            clock.expiry(at(400), ms(1000)),
            at(1400),
            "a timer that is armed when a tick begins counts from the next tick"
        );
        assert_eq!(
            clock.expiry(at(0), ms(1249)),
            at(900),
            "the length is rounded to the nearest tick"
        );
        assert_eq!(clock.expiry(at(0), ms(1250)), at(1400));
        assert_eq!(clock.expiry(at(0), ms(10)), at(400), "the length is at least one tick");
    }

    #[test]
    fn a_clock_is_read_from_its_name_or_the_length_of_its_tick() {
        for (name, clock, _) in Clock::NAMED {
            assert_eq!(name.parse(), Ok(clock));
        }
        assert_eq!("10ms".parse(), Ok(Clock::ticking(ms(10), ms(0)).unwrap()));
        for wrong in ["", "linux", "0 s", "10", "exactly"] {
            let slip = wrong.parse::<Clock>().unwrap_err().to_string();
            assert!(slip.starts_with(&format!("`{wrong}` is not a clock")), "{slip}");
        }
    }

    #[test]
    fn linux_reads_whole_microseconds() {
        let ns = Time::from_nanos;
        assert_eq!(Clock::LINUX_HZ250.elapsed(ns(1_999), ns(2_000)), Duration::from_micros(1));
        assert_eq!(Clock::LINUX_HZ250.elapsed(ns(1_000), ns(1_999)), Duration::ZERO);
        assert_eq!(Clock::LINUX_HZ250.elapsed(at(1), at(31)), ms(30));
    }

    /// The expected jiffies were computed by hand. Level 0 holds delays below 63 jiffies, in
    /// buckets of one jiffy. Level 1 holds delays below 504 jiffies, in buckets of 8 jiffies. Level
    /// 2 holds delays below 4032 jiffies, in buckets of 64 jiffies.
    #[test]
    fn the_wheel_runs_a_timer_in_the_bucket_after_the_bucket_in_which_it_is_due() {
        assert_eq!(wheel(1000, 0), 1001);
        assert_eq!(wheel(1000, 51), 1052);
        assert_eq!(wheel(1000, 62), 1063);
        assert_eq!(wheel(1000, 63), 1064, "1063 lies in 1056..1064");
        assert_eq!(wheel(1001, 63), 1072, "1064 lies in 1064..1072");
        assert_eq!(wheel(1000, 503), 1504, "1503 lies in 1496..1504");
        assert_eq!(wheel(1000, 504), 1536, "1504 lies in 1472..1536");
        assert_eq!(wheel(0, u64::MAX), REACH + (1 << 24), "the wheel cuts a longer delay");
    }

    /// Three series of measurements of Linux 6 with 250 jiffies a second. In each series, the path
    /// lost all packets, so Linux retransmitted one segment again and again. Each pair is an RTO
    /// and the gap to the next retransmission, in ms. The first series has the default minimum RTO.
    /// The second series has a minimum RTO of 16 ms, set by TCP_RTO_MIN_US. The third series has a
    /// maximum RTO of 1000 ms.
    const MEASURED: [&[(u64, u64)]; 3] = [
        &[(204, 208), (408, 420), (816, 832), (1632, 1664)],
        &[(16, 20), (32, 36), (64, 68), (128, 132)],
        &[(1000, 1024), (1000, 1024), (1000, 1024)],
    ];

    /// Returns the time from the arming of each timer until it fires. The lengths of the timers are
    /// the first numbers of the pairs in `timers`, in ms. Each timer is armed when the previous
    /// timer fires. When the first timer is armed, the jiffy numbered `jiffies` has lasted for the
    /// span `start`.
    fn gaps(jiffies: u64, start: Duration, timers: &[(u64, u64)]) -> Vec<Duration> {
        let mut now = at(4 * jiffies) + start;
        let gap = |timer: &(u64, u64)| {
            let fires = Clock::LINUX_HZ250.expiry(now, ms(timer.0));
            let gap = fires - now;
            now = fires;
            gap
        };
        timers.iter().map(gap).collect()
    }

    /// The measurements do not show how far a jiffy and a bucket had advanced when the first timer
    /// was armed. So the first gaps of a series may have any value in a range. A timer of level 0
    /// fires at the beginning of a jiffy, and a timer of level 1 at the beginning of a bucket. So
    /// each later gap has only one possible value.
    #[test]
    fn the_wheel_gives_the_gaps_that_were_measured_on_linux() {
        let (mut seen_208, mut seen_420) = (false, false);
        for jiffies in 0..512 {
            for start in (0..4000).step_by(500).map(Duration::from_micros) {
                let doublings = gaps(jiffies, start, MEASURED[0]);
                assert!(doublings[0] > ms(204) && doublings[0] <= ms(208));
                assert!(doublings[1] >= ms(412) && doublings[1] <= ms(440));
                assert_eq!(
                    doublings[2..],
                    [ms(832), ms(1664)],
                    "the later doublings do not depend on the phase"
                );
                seen_208 |= doublings[0] == ms(208);
                seen_420 |= doublings[1] == ms(420);

                let short = gaps(jiffies, start, MEASURED[1]);
                assert!(short[0] > ms(16) && short[0] <= ms(20));
                assert_eq!(short[1..3], [ms(36), ms(68)], "one jiffy late in level 0");
                assert_eq!(short[3], ms(132), "32 jiffies are still in level 0");

                let capped = gaps(jiffies, start, MEASURED[2]);
                assert!(capped[0] > ms(1000) && capped[0] <= ms(1032));
                assert_eq!(capped[1..], [ms(1024), ms(1024)]);
            }
        }
        assert!(seen_208 && seen_420, "the measured gaps are among the computed gaps");
    }

    #[test]
    fn the_phase_of_linuxs_clock_moves_the_beginnings_of_jiffies_and_buckets() {
        let shifted = Clock::linux(ms(4), ms(9)).unwrap();
        // Jiffies begin at 3, 7 and 11 ms and so on. The third jiffy has begun before the run
        // starts.
        assert_eq!(shifted.expiry(at(0), ms(4)), at(7));
        assert_eq!(Clock::LINUX_HZ250.expiry(at(0), ms(4)), at(8));
        // The timer is due in jiffy 2 + 63 = 65. The bucket of this jiffy ends with jiffy 71.
        assert_eq!(shifted.expiry(at(0), ms(252)), at(72 * 4 - 9));
        assert_eq!(Clock::LINUX_HZ250.expiry(at(0), ms(252)), at(64 * 4));
    }

    proptest! {
        #[test]
        fn a_timer_fires_after_it_is_armed_and_within_the_error_of_its_clock(
            now in 0..1u64 << 60, after in 0..1u64 << 60, phase in 0..500_000_000u64,
        ) {
            let (now, after) = (Time::from_nanos(now), Duration::from_nanos(after));
            let phase = Duration::from_nanos(phase);
            let ticking = Clock::ticking(ms(500), phase).unwrap();
            prop_assert!(ticking.expiry(now, after) > now);
            prop_assert!(ticking.expiry(now, after) + ms(750) >= now + after);
            prop_assert!(ticking.expiry(now, after) <= now + after + ms(500));
            let linux = Clock::linux(ms(4), phase).unwrap();
            let fires = linux.expiry(now, after);
            prop_assert!(fires > now);
            if after < ms(4) * REACH {
                prop_assert!(fires >= now + after, "the wheel is never early");
                prop_assert!(fires <= now + after + ms(8) + after / 7, "the wheel is late by at most a bucket");
            }
            prop_assert_eq!(Clock::EXACT.expiry(now, after), now + after);
        }
    }
}
