//! Dates and instants in text form.

use super::text::{SECOND, decimal, integer};

/// Days from 1970-01-01 to a date of the Gregorian calendar.
pub(super) fn days(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that a leap day is the last day.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The instant `2019-07-01T00:00:12.092Z` (RFC 3339; also with a space, and without a zone, which
/// is then UTC) in nanoseconds since 1970, and what follows it.
pub(super) fn instant(text: &str) -> Option<(i64, &str)> {
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
    let (offset, rest) = zone(rest)?;
    let seconds = days(year, month, day) * 86_400 + hours * 3600 + minutes * 60 - offset;
    Some((seconds.checked_mul(SECOND.cast_signed())?.checked_add(ns)?, rest))
}

/// The instant `Tue Oct 22 10:11:12 2024` as C's `ctime` writes it (also with a fraction of the
/// second, and with `UTC` or `GMT` before the year), taken as UTC, in nanoseconds since 1970.
pub(super) fn ctime(text: &str) -> Option<i64> {
    const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let mut words = text.split_whitespace();
    words.next().filter(|word| DAYS.contains(word))?;
    let month = words.next()?;
    let month = (1..).zip(MONTHS).find(|(_, name)| *name == month)?.0;
    let (day, "") = integer(words.next()?).filter(|(day, _)| (1..=31).contains(day))? else {
        return None;
    };
    let (clock, "") = of_day(words.next()?)? else { return None };
    let year = words.next()?;
    let year = if ["UTC", "GMT"].contains(&year) { words.next()? } else { year };
    let (year, "") = integer(year).filter(|(year, _)| *year <= 9999)? else { return None };
    if words.next().is_some() {
        return None;
    }
    let days = days(year.cast_signed(), month, day.cast_signed());
    days.checked_mul(DAY)?.checked_add(clock)
}

/// The instant, or the time of day, that a whole cell contains.
pub(super) fn whole_instant(cell: &str) -> Option<i64> {
    match instant(cell).or_else(|| of_day(cell)) {
        Some((ns, rest)) => rest.is_empty().then_some(ns),
        None => ctime(cell),
    }
}

/// Nanoseconds in a day.
pub(super) const DAY: i64 = 86_400 * SECOND.cast_signed();

/// The time of day `10:00:12.092` in nanoseconds since midnight, and what follows it.
pub(super) fn of_day(text: &str) -> Option<(i64, &str)> {
    let (hours, rest) = integer(text).filter(|(hours, _)| *hours < 24)?;
    let (minutes, rest) = integer(rest.strip_prefix(':')?).filter(|(minutes, _)| *minutes < 60)?;
    let seconds = rest.strip_prefix(':')?;
    let (ns, rest) = decimal(seconds, SECOND).filter(|(ns, _)| *ns <= 60 * SECOND.cast_signed())?;
    let minutes = i64::try_from(hours * 60 + minutes).ok()?;
    Some((minutes * 60 * SECOND.cast_signed() + ns, rest))
}

/// Seconds east of Greenwich.
pub(super) fn zone(text: &str) -> Option<(i64, &str)> {
    if let Some(rest) = text.strip_prefix('Z') {
        return Some((0, rest));
    }
    let (sign, rest) = match text.bytes().next() {
        Some(b'+') => (1, &text[1..]),
        Some(b'-') => (-1, &text[1..]),
        _ => return Some((0, text)),
    };
    let hours: i64 = rest.get(..2)?.parse().ok()?;
    let rest = &rest[2..];
    let rest = rest.strip_prefix(':').unwrap_or(rest);
    match rest.get(..2).and_then(|minutes| minutes.parse::<i64>().ok()) {
        Some(minutes) => Some((sign * (hours * 3600 + minutes * 60), &rest[2..])),
        None => Some((sign * hours * 3600, rest)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_count_from_1970_whatever_their_zone() {
        for text in ["2019-07-01T00:00:12.092Z", "2019-07-01 02:00:12.092+02:00"] {
            assert_eq!(instant(text), Some((1_561_939_212_092_000_000, "")));
        }
        assert_eq!(instant("1970-01-01T00:00:00Z,x"), Some((0, ",x")));
        assert_eq!(instant("2024-02-29 12:00"), Some((1_709_208_000_000_000_000, "")));
        assert_eq!(instant("2024-13-01 12:00"), None);
    }

    #[test]
    fn stamps_of_ctime_are_instants_with_and_without_a_fraction() {
        // `date -u -d 'Tue Oct 22 10:11:12 2024' +%s`
        let ns = 1_729_591_872_000_000_000;
        assert_eq!(ctime("Tue Oct 22 10:11:12 2024"), Some(ns));
        assert_eq!(ctime("Tue Oct 22 10:11:12.5 2024"), Some(ns + 500_000_000));
        assert_eq!(ctime("Tue Oct 22 10:11:12 UTC 2024"), Some(ns));
        assert_eq!(ctime("Thu Jan  1 00:00:01 1970"), Some(1_000_000_000));
        for wrong in ["Tue Oct 22 10:11:12", "Tue Oct 32 10:11:12 2024", "Tue Oct 22 2024", "Tue"] {
            assert_eq!(ctime(wrong), None, "{wrong}");
        }
    }
}
