//! Reads dates and instants in text form.

use super::text::{SECOND, decimal, integer};
use super::zone::{Zone, zone};

/// Returns the days from 1970-01-01 to a date of the Gregorian calendar; `None` if the date does
/// not exist. The month is from 1 to 12.
pub(super) fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if !(1..=length).contains(&day) {
        return None;
    }
    // Here a year begins in March. A leap day is then the last day of a year.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// Reads the instant at the beginning of a text, such as `2019-07-01T00:00:12.092Z` (RFC 3339). A
/// space may stand in place of the `T`. Without a zone, the time counts as UTC. Returns nanoseconds
/// since 1970, and the text that follows. `None` if the text does not begin with an instant, or if
/// the zone has several meanings.
pub(super) fn instant(text: &str) -> Option<(i64, &str)> {
    let (ns, rest) = civil(text)?;
    match zone(rest) {
        (Zone::Unnamed, rest) => Some((ns, rest)),
        (Zone::East(seconds), rest) => {
            Some((ns.saturating_sub(seconds * SECOND.cast_signed()), rest))
        }
        (Zone::Ambiguous(_), _) => None,
    }
}

/// Reads an instant as [`instant`] does, but leaves the zone in the text and treats the time as
/// UTC.
pub(super) fn civil(text: &str) -> Option<(i64, &str)> {
    let field = |text: &'_ str, most: u64| -> Option<i64> {
        let (value, rest) = integer(text)?;
        (rest.is_empty() && value <= most).then(|| i64::try_from(value).ok()).flatten()
    };
    let date = text.get(..10)?;
    let mut parts = date.split(['-', '/']);
    let year = field(parts.next()?, 9999)?;
    let month = field(parts.next()?, 12).filter(|month| *month > 0)?;
    let day = field(parts.next()?, 31).filter(|day| *day > 0)?;
    let clock = text.get(10..)?.strip_prefix(['T', ' '])?;
    let hours = field(clock.get(..2)?, 24)?;
    let minutes = field(clock.get(2..)?.strip_prefix(':')?.get(..2)?, 60)?;
    let (ns, rest) = match clock.get(5..)?.strip_prefix(':') {
        Some(seconds) => decimal(seconds, SECOND)?,
        None => (0, &clock[5..]),
    };
    let seconds = days(year, month, day)? * 86_400 + hours * 3600 + minutes * 60;
    Some((seconds.checked_mul(SECOND.cast_signed())?.checked_add(ns)?, rest))
}

/// The number of nanoseconds in a day.
pub(super) const DAY: i64 = 86_400 * SECOND.cast_signed();

/// Reads the time of day at the beginning of a text, such as `10:00:12.092`. Returns nanoseconds
/// since midnight, and the text that follows.
pub(super) fn of_day(text: &str) -> Option<(i64, &str)> {
    let (hours, rest) = integer(text).filter(|(hours, _)| *hours < 24)?;
    let (minutes, rest) = integer(rest.strip_prefix(':')?).filter(|(minutes, _)| *minutes < 60)?;
    let seconds = rest.strip_prefix(':')?;
    let (ns, rest) = decimal(seconds, SECOND).filter(|(ns, _)| *ns <= 60 * SECOND.cast_signed())?;
    let minutes = i64::try_from(hours * 60 + minutes).ok()?;
    Some((minutes * 60 * SECOND.cast_signed() + ns, rest))
}

/// Counts the midnights in a series of times of day. With the counted days added, a time after
/// midnight is later than a time before midnight.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Midnights {
    /// The last time, as it was written.
    written: Option<i64>,
    /// The days since the first time.
    days: i64,
    /// Whether a time was earlier than the time before it, on the same day.
    fell: bool,
    /// Whether a time was later than the time before it, on the same day.
    rose: bool,
}

impl Midnights {
    /// Returns the time `written`, plus the days since the first line if `written` is a time of
    /// day. If times fall from line to line, the log begins with the last probe, and each midnight
    /// subtracts a day.
    pub fn since(&mut self, written: i64) -> i64 {
        let step = self.written.map_or(0, |last| written.saturating_sub(last));
        let backwards = self.fell && !self.rose;
        if written < DAY && step < -DAY / 2 && !backwards {
            self.days += 1;
        } else if written < DAY && step > DAY / 2 && backwards {
            self.days -= 1;
        } else {
            self.fell |= step < 0;
            self.rose |= step > 0;
        }
        self.written = Some(written);
        if written >= DAY {
            return written;
        }
        written.saturating_add(self.days.saturating_mul(DAY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_midnight_adds_a_day_if_times_rise_and_subtracts_a_day_if_times_fall() {
        let pass = |times: &[i64]| {
            let mut midnights = Midnights::default();
            times.iter().map(|time| midnights.since(*time)).collect::<Vec<_>>()
        };
        assert_eq!(pass(&[DAY - 2, DAY - 1, 0, 1]), [DAY - 2, DAY - 1, DAY, DAY + 1]);
        assert_eq!(pass(&[DAY - 1, 0, 700 * DAY]), [DAY - 1, DAY, 700 * DAY], "with a date");
        assert_eq!(pass(&[2, 1, DAY - 1, DAY - 2, 5]), [2, 1, -1, -2, 5 - DAY]);
        // The times of this log rise, so a long pause does not count as a midnight.
        assert_eq!(pass(&[1, 2, DAY - 1]), [1, 2, DAY - 1]);
    }

    #[test]
    fn instants_count_from_1970_whatever_their_zone() {
        for text in ["2019-07-01T00:00:12.092Z", "2019-07-01 02:00:12.092+02:00"] {
            assert_eq!(instant(text), Some((1_561_939_212_092_000_000, "")));
        }
        assert_eq!(instant("1970-01-01T00:00:00Z,x"), Some((0, ",x")));
        assert_eq!(instant("2024-02-29 12:00"), Some((1_709_208_000_000_000_000, "")));
        for wrong in
            ["2024-13-01 12:00", "2023-02-29 12:00", "2024-02-30 12:00", "2024-04-31 12:00"]
        {
            assert_eq!(instant(wrong), None, "{wrong}");
        }
        assert!(instant("2000-02-29 12:00").is_some() && instant("1900-02-29 12:00").is_none());
    }
}
