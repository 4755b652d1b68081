//! Instants of UTC, and the Earth's angle of rotation at each instant.

use core::fmt;
use core::str::FromStr;

use sgp4::chrono::{DateTime, NaiveDate, NaiveDateTime};

use super::OrbitError;

/// An instant of UTC in nanoseconds since 1970, from 1678 to 2261. A leap second has no instant of
/// its own.
///
/// ```
/// use netspurt_files::orbit::Utc;
/// let start: Utc = "1999-07-01T00:00:00Z".parse().unwrap();
/// assert_eq!(start.after(1.5).to_string(), "1999-07-01T00:00:01.500Z");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Utc(i64);

/// The number of nanoseconds in a second.
const SECOND: f64 = 1e9;
/// The number of nanoseconds in a day.
const DAY: f64 = 86_400e9;
/// 2000-01-01 12:00 UTC, the instant from which sidereal time is computed.
const J2000: Utc = Utc(946_728_000_000_000_000);

impl Utc {
    /// Makes the instant `ns` nanoseconds after the start of 1970.
    pub const fn from_nanos(ns: i64) -> Self {
        Self(ns)
    }

    /// Nanoseconds since the start of 1970.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Returns the start of a day of a year. On 1 January, `day` is 1. `None` if the year has no
    /// such day.
    pub(super) fn of_day(year: i32, day: u32) -> Option<Self> {
        NaiveDate::from_yo_opt(year, day).and_then(midnight)
    }

    /// Returns the instant `seconds` later.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
    pub fn after(self, seconds: f64) -> Self {
        self.after_nanos((seconds * SECOND).round() as i64)
    }

    /// Returns the instant `ns` nanoseconds later.
    #[must_use]
    pub const fn after_nanos(self, ns: i64) -> Self {
        Self(self.0.saturating_add(ns))
    }

    /// Seconds from `earlier` to this instant; negative if `earlier` is later.
    #[expect(clippy::cast_precision_loss, reason = "in 30 years, a double is exact to 0.1 µs")]
    pub fn since(self, earlier: Utc) -> f64 {
        self.0.saturating_sub(earlier.0) as f64 / SECOND
    }

    /// Years of 365.25 days since J2000, as the crate `sgp4` counts them.
    pub(super) fn years(self) -> f64 {
        self.since(J2000) * SECOND / DAY / 365.25
    }

    /// Returns the angle from the equinox to Greenwich [rad]. UTC is used in place of UT1. The two
    /// times differ by less than 0.9 s, and in 0.9 s the Earth rotates by 0.004°.
    pub fn sidereal_angle(self) -> f64 {
        sgp4::iau_epoch_to_sidereal_time(self.years())
    }
}

fn midnight(date: NaiveDate) -> Option<Utc> {
    date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_nanos_opt().map(Utc)
}

impl FromStr for Utc {
    type Err = OrbitError;

    /// Reads `1999-07-01` or `1999-07-01T12:00:00`. The second form may also have a fraction of a
    /// second and a `Z`. All texts are UTC.
    fn from_str(text: &str) -> Result<Self, OrbitError> {
        let plain = text.trim().trim_end_matches('Z').replace(' ', "T");
        let day = || plain.parse::<NaiveDate>().ok().and_then(midnight);
        let instant = plain.parse::<NaiveDateTime>().ok();
        let found = instant.and_then(|at| at.and_utc().timestamp_nanos_opt().map(Utc));
        found.or_else(day).ok_or_else(|| {
            let message = format!("`{text}` is not an instant of UTC");
            OrbitError::new(message, "write it as 1999-07-01T00:00:00Z")
        })
    }
}

impl fmt::Display for Utc {
    /// Writes the instant to the millisecond. Milliseconds are left out if they are zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.saturating_add(500_000).div_euclid(1_000_000);
        let at = DateTime::from_timestamp_millis(ms).map(|at| at.naive_utc());
        let Some(at) = at else { return write!(f, "{} ns", self.0) };
        write!(f, "{}T{}Z", at.date(), at.time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_read_and_written_in_utc() {
        let at = |text: &str| text.parse::<Utc>().unwrap();
        assert_eq!(at("2000-01-01 12:00:00"), J2000);
        assert_eq!(at("1999-07-01").to_string(), "1999-07-01T00:00:00Z");
        assert_eq!(at("1999-07-01T23:59:59.9996Z").to_string(), "1999-07-02T00:00:00Z");
        assert_eq!(Utc::of_day(2000, 366).unwrap().to_string(), "2000-12-31T00:00:00Z");
        assert_eq!(Utc::of_day(1999, 366), None);
        let wrong = "yesterday".parse::<Utc>().unwrap_err().to_string();
        assert!(wrong.contains("`yesterday` is not an instant") && wrong.contains("1999-07-01T"));
    }

    #[test]
    fn the_sidereal_angle_of_greenwich_equals_the_example_of_meeus() {
        // Meeus, Astronomical Algorithms, example 12.a: mean sidereal time at Greenwich on
        // 1987-04-10 0h is 13 h 10 min 46.3668 s.
        let at: Utc = "1987-04-10".parse().unwrap();
        let seconds = at.sidereal_angle() / core::f64::consts::TAU * 86_400.0;
        assert!((seconds - (13.0 * 3600.0 + 10.0 * 60.0 + 46.3668)).abs() < 1e-3, "{seconds}");
    }
}
