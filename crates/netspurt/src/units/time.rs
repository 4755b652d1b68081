//! Instants and spans of time, in whole nanoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub};

/// An instant, counted in nanoseconds from the start of the run.
///
/// ```
/// use netspurt::units::{Duration, Time};
/// let sent = Time::ZERO + Duration::from_millis(25);
/// assert_eq!((sent + Duration::from_micros(10)) - sent, Duration::from_micros(10));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

/// A span of time in nanoseconds, never negative.
///
/// ```
/// use netspurt::units::Duration;
/// assert_eq!(Duration::from_millis(25).to_string(), "25 ms");
/// assert_eq!("0.5558807 s".parse(), Ok(Duration::from_nanos(555_880_700)));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// An instant later than every instant of a run. It stands for an event that is not scheduled.
    pub const NEVER: Time = Time(u64::MAX);

    /// The instant `ns` nanoseconds after the start of the run.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start of the run.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start of the run, as a floating-point number.
    pub fn as_secs_f64(self) -> f64 {
        Duration(self.0).as_secs_f64()
    }

    /// The span from `earlier` to `self`, or zero if `earlier` is later than `self`.
    pub const fn saturating_since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }

    /// The instant that lies `span` before `self`, or the start of the run if that is later.
    pub const fn saturating_before(self, span: Duration) -> Time {
        Time(self.0.saturating_sub(span.0))
    }
}

impl Duration {
    /// A span of zero.
    pub const ZERO: Duration = Duration(0);

    /// A span of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Self {
        Self(ns)
    }

    /// A span of `us` microseconds.
    pub const fn from_micros(us: u64) -> Self {
        Self(us * 1_000)
    }

    /// A span of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Self {
        Self(ms * 1_000_000)
    }

    /// A span of `s` seconds.
    pub const fn from_secs(s: u64) -> Self {
        Self(s * 1_000_000_000)
    }

    /// The span in nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// The span in seconds, as a floating-point number.
    #[expect(clippy::cast_precision_loss, reason = "the result is exact below 104 days")]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Whether this span is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// How many whole `unit`s fit in this span.
    ///
    /// # Panics
    /// When `unit` is zero.
    pub const fn whole_units(self, unit: Duration) -> u64 {
        self.0 / unit.0
    }

    /// Returns `self · n`, limited to the longest span.
    pub const fn saturating_mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, d: Duration) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(self >= earlier, "{earlier} is later than {self}");
        self.saturating_since(earlier)
    }
}

impl Add for Duration {
    type Output = Duration;
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.saturating_add(d.0))
    }
}

impl Sub for Duration {
    type Output = Duration;
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0.saturating_sub(d.0))
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    fn mul(self, n: u64) -> Duration {
        self.saturating_mul(n)
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6} s", self.as_secs_f64())
    }
}
