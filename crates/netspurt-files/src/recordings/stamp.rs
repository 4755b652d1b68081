//! Reads the time at the beginning of a text, in the forms that logs and programs write.

use super::instant::{DAY, civil, days, of_day};
use super::text::{SECOND, decimal, integer};
use super::year_last::date_of_line;
use super::zone::{Zone, zone};

/// A time that was read from a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// The time in nanoseconds since 1970, read as if it were UTC. It is the time since midnight if
    /// the date or the year is missing, or if the order of day and month is unclear.
    civil_ns: i64,
    zone: Zone,
}

impl Stamp {
    /// Returns nanoseconds since 1970, or since midnight. A time without a zone counts as UTC.
    ///
    /// # Errors
    /// When the abbreviation of the zone has several meanings.
    pub fn ns(self) -> Result<i64, &'static str> {
        match self.zone {
            Zone::Unnamed => Ok(self.civil_ns),
            Zone::East(seconds) => Ok(self.civil_ns.saturating_sub(seconds * SECOND.cast_signed())),
            Zone::Ambiguous(why) => Err(why),
        }
    }

    /// Whether the time has no zone.
    pub fn is_local(self) -> bool {
        self.zone == Zone::Unnamed
    }

    /// Reads seconds since 1970, and returns the text that follows.
    fn epoch(text: &str) -> Option<(Self, &str)> {
        let (civil_ns, rest) = decimal(text, SECOND)?;
        Some((Self { civil_ns, zone: Zone::East(0) }, rest))
    }
}

/// Reads the timestamp at the beginning of `text`, and returns the text that follows. These forms
/// are known: RFC 3339, ISO 8601's basic form, `ctime`, `date`, RFC 2822 §3.3, Apache
/// (`22/Oct/2024:10:11:12 +0200`), and a time of day alone.
pub(super) fn leading(text: &str) -> Option<(Stamp, &str)> {
    if let Some((civil_ns, rest)) = civil(text).or_else(|| basic(text)) {
        let (of_day, rest) = half_of_day(civil_ns.rem_euclid(DAY), rest);
        let (zone, rest) = zone(rest);
        return Some((
            Stamp { civil_ns: civil_ns - civil_ns.rem_euclid(DAY) + of_day, zone },
            rest,
        ));
    }
    with_month(text).or_else(|| {
        let (civil_ns, rest) = clock(text)?;
        let (zone, rest) = zone(rest);
        Some((Stamp { civil_ns, zone }, rest))
    })
}

/// Splits a line of a log into its timestamp, in brackets or not, and the rest.
pub(super) fn of_line(line: &str) -> (Option<Stamp>, &str) {
    let found = || {
        let (stamp, rest) = match line.strip_prefix('[') {
            Some(inside) => {
                // `ping -D` writes seconds since 1970 in brackets. No other form of a time is a
                // number alone.
                let number = Stamp::epoch(inside).filter(|(_, rest)| rest.starts_with(']'));
                let (stamp, rest) = number.or_else(|| leading(inside))?;
                (stamp, rest.strip_prefix(']')?)
            }
            None => leading(line).or_else(|| year_last(line)).or_else(|| {
                // A number below 1,000,000,000 at the beginning of a line is not a time, but the
                // size of a reply.
                integer(line).filter(|(number, _)| *number >= 1_000_000_000)?;
                Stamp::epoch(line)
            })?,
        };
        let after_mark = rest.strip_prefix([':', '|', ',']).unwrap_or(rest);
        let dash = after_mark.strip_prefix(" -").filter(|rest| rest.starts_with(' '));
        let after_mark = dash.unwrap_or(after_mark);
        let is_separate =
            line.starts_with('[') || after_mark.is_empty() || after_mark.starts_with([' ', '\t']);
        is_separate.then(|| (stamp, after_mark.trim_start()))
    };
    found().map_or((None, line), |(stamp, rest)| (Some(stamp), rest))
}

/// Reads `22.10.2024 10:11:12`. If the day and the month cannot be told apart, only the time of day
/// is used.
fn year_last(text: &str) -> Option<(Stamp, &str)> {
    let (midnight, rest) = date_of_line(text)?;
    let rest = rest.strip_prefix(',').unwrap_or(rest).strip_prefix([' ', 'T'])?;
    let (of_day, rest) = clock(rest.trim_start())?;
    let (zone, rest) = zone(rest);
    Some((Stamp { civil_ns: midnight.unwrap_or(0).checked_add(of_day)?, zone }, rest))
}

/// Reads `20241022T101112.5`.
fn basic(text: &str) -> Option<(i64, &str)> {
    let two = |from: usize, most: i64| -> Option<i64> {
        let digits = text.get(from..from + 2)?;
        let value = digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())??;
        (value <= most).then_some(value)
    };
    text.get(8..)?.strip_prefix('T')?;
    let [month, day] =
        [(4, 12), (6, 31)].map(|(from, most)| two(from, most).filter(|one| *one > 0));
    let date = days(two(0, 99)? * 100 + two(2, 99)?, month?, day?)?;
    let minutes = two(9, 23)? * 60 + two(11, 59)?;
    two(13, 60)?;
    let (second, rest) = decimal(&text[13..], SECOND)?;
    Some((date.checked_mul(DAY)?.checked_add(minutes * MINUTE)?.checked_add(second)?, rest))
}

/// Reads a time of day with seconds, in 24 or 12 hours.
fn clock(text: &str) -> Option<(i64, &str)> {
    let (ns, rest) = of_day(text)?;
    if rest.starts_with(|c: char| c.is_ascii_alphanumeric()) && !rest.starts_with('Z') {
        return None;
    }
    Some(half_of_day(ns, rest))
}

/// Converts a time of day to 24 hours if `AM` or `PM` follows the time. Returns the time and the
/// text after it.
fn half_of_day(ns: i64, rest: &str) -> (i64, &str) {
    let (hour, half) = (ns / (60 * MINUTE), rest.trim_start());
    let noon = 12 * 60 * MINUTE;
    let ends = !half.get(2..).is_some_and(|text| text.starts_with(|c: char| c.is_alphanumeric()));
    match half.get(..2).map(str::to_ascii_uppercase).as_deref() {
        Some("AM") if ends && (1..=12).contains(&hour) => (ns % noon, &half[2..]),
        Some("PM") if ends && (1..=12).contains(&hour) => (ns % noon + noon, &half[2..]),
        _ => (ns, rest),
    }
}

/// Reads a timestamp whose month is a word. If the timestamp has no year, as in the output of `ts`,
/// only the time of day is used. A timestamp that begins with a weekday must have a year.
fn with_month(text: &str) -> Option<(Stamp, &str)> {
    // The word `mar` is a weekday in French and in Spanish, and also a month in Spanish. So if no
    // date follows the weekday, the text is read again as a date without a weekday.
    let weekday = weekday(text).map(|rest| rest.strip_prefix(',').unwrap_or(rest).trim_start());
    weekday.and_then(|rest| dated(rest, true)).or_else(|| dated(text, false))
}

/// Reads a timestamp whose month is a word. The text `rest` begins with the date. `after_weekday`
/// says that a weekday came before the date.
fn dated(rest: &str, after_weekday: bool) -> Option<(Stamp, &str)> {
    let (month, day, mut year, rest) = match month(rest) {
        Some((month, rest)) => {
            let (day, rest) = integer(rest.strip_prefix(' ')?.trim_start())?;
            let (year, rest) = year_behind(rest, ' ');
            (month, day, year, rest)
        }
        None => day_first(rest)?,
    };
    let day = i64::try_from(day).ok().filter(|day| (1..=31).contains(day))?;
    let (of_day, rest) = clock(rest.strip_prefix([' ', ':', 'T']).map(str::trim_start)?)?;
    let (zone, mut rest) = zone(rest);
    // Only a timestamp that begins with a weekday can end with the year. In `Oct 22 10:11:12 2008
    // bytes`, the number 2008 is not a year.
    if after_weekday && year.is_none() {
        (year, rest) = year_behind(rest, ' ');
        year?;
    }
    let midnight = match year {
        Some(year) => days(year, month, day)?.checked_mul(DAY)?,
        None => 0,
    };
    Some((Stamp { civil_ns: midnight.checked_add(of_day)?, zone }, rest))
}

/// Reads a date such as `22 Oct 2024`. The marks between its parts may also be `-`, `/` or `. `,
/// and the year may be missing. Returns the month, the day, the year and the text after the date.
fn day_first(text: &str) -> Option<(i64, u64, Option<i64>, &str)> {
    let (day, rest) = integer(text)?;
    let rest = rest.strip_prefix('.').filter(|rest| rest.starts_with(' ')).unwrap_or(rest);
    let mark = rest.chars().next().filter(|mark| matches!(mark, ' ' | '-' | '/'))?;
    let (month, rest) = month(&rest[1..])?;
    let (year, rest) = year_behind(rest, mark);
    Some((month, day, year, rest))
}

/// Reads a year of four digits after `mark`.
fn year_behind(text: &str, mark: char) -> (Option<i64>, &str) {
    let year = || {
        let digits = text.strip_prefix(',').unwrap_or(text).strip_prefix(mark)?.trim_start();
        let (year, rest) = integer(digits)?;
        // Only four digits are a year. In `22 Oct 10:11:12`, the number 10 is the hour.
        let four = digits.len() - rest.len() == 4;
        four.then(|| i64::try_from(year).ok().map(|year| (year, rest)))?
    };
    year().map_or((None, text), |(year, rest)| (Some(year), rest))
}

/// Finds the name at the beginning of `text`. Returns the number of the name in the list `names`,
/// from 1, and the text after the name.
fn name<'a>(text: &'a str, names: &[&str]) -> Option<(i64, &'a str)> {
    // Most texts begin with no name. All names begin with a letter of ASCII.
    text.bytes().next().filter(u8::is_ascii_alphabetic)?;
    let end = text.find(|c: char| !c.is_alphanumeric()).unwrap_or(text.len());
    let (place, _) = (1..).zip(names).find(|(_, name)| **name == &text[..end])?;
    Some((place, &text[end..]))
}

/// Returns the text after a weekday in English, German, French or Spanish.
fn weekday(text: &str) -> Option<&str> {
    let (_, rest) = name(text, &WEEKDAYS).or_else(|| name(text, &FOREIGN_WEEKDAYS))?;
    Some(rest.strip_prefix('.').unwrap_or(rest))
}

/// Reads the month at the beginning of `text` in English, German, French or Spanish. Returns the
/// number of the month, from 1, and the text after the month.
fn month(text: &str) -> Option<(i64, &str)> {
    let foreign = || FOREIGN_MONTHS.iter().find_map(|names| name(text, names));
    let (month, rest) = name(text, &MONTHS).or_else(foreign)?;
    Some((month, rest.strip_prefix('.').unwrap_or(rest)))
}

/// The weekdays as `date` writes them in German, French and Spanish.
const FOREIGN_WEEKDAYS: [&str; 21] = [
    "Mo", "Di", "Mi", "Do", "Fr", "Sa", "So", "lun", "mar", "mer", "jeu", "ven", "sam", "dim",
    "mi\u{e9}", "jue", "vie", "s\u{e1}b", "dom", "mie", "sab",
];

/// Five lists of months: two in German, two in French (with and without accents), and one in
/// Spanish.
const FOREIGN_MONTHS: [[&str; 12]; 5] = [
    ["Jan", "Feb", "M\u{e4}r", "Apr", "Mai", "Jun", "Jul", "Aug", "Sep", "Okt", "Nov", "Dez"],
    ["Jan", "Feb", "Mrz", "Apr", "Mai", "Juni", "Juli", "Aug", "Sept", "Okt", "Nov", "Dez"],
    [
        "janv",
        "f\u{e9}vr",
        "mars",
        "avril",
        "mai",
        "juin",
        "juil",
        "ao\u{fb}t",
        "sept",
        "oct",
        "nov",
        "d\u{e9}c",
    ],
    ["jan", "fevr", "mars", "avr", "mai", "juin", "juil", "aout", "sep", "oct", "nov", "dec"],
    ["ene", "feb", "mar", "abr", "may", "jun", "jul", "ago", "sept", "oct", "nov", "dic"],
];

const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Whether a text begins like a timestamp of several words: with an English weekday, an English
/// month, or a date such as `22 Oct 2024`.
pub(super) fn begins_with_name(text: &str) -> bool {
    name(text, &WEEKDAYS).is_some()
        || name(text, &MONTHS).is_some()
        || day_first(text).is_some_and(|(_, _, year, _)| year.is_some())
}

/// The number of nanoseconds in a minute.
const MINUTE: i64 = 60 * SECOND.cast_signed();

#[cfg(test)]
mod tests {
    use super::*;

    /// The time that `date -u -d '2024-10-22 10:11:12' +%s` prints, in nanoseconds.
    const NS: i64 = 1_729_591_872_000_000_000;

    fn at(text: &str) -> Option<i64> {
        let (stamp, "") = leading(text)? else { return None };
        stamp.ns().ok()
    }

    #[test]
    fn timestamps_of_many_programs_are_read_as_instants() {
        for text in [
            "Tue Oct 22 10:11:12 2024",
            "Tue Oct 22 10:11:12 UTC 2024",
            "Tue Oct 22 10:11:12 AM UTC 2024",
            "Tue Oct 22 12:11:12 CEST 2024",
            "Tue 22 Oct 11:11:12 CET 2024",
            "Tue, 22 Oct 2024 12:11:12 +0200",
            "22 Oct 2024 10:11:12",
            "22-Oct-2024 10:11:12",
            "22/Oct/2024:12:11:12 +0200",
            "2024-10-22 12:11:12 +0200",
            "2024-10-22 06:11:12 EDT",
            "2024-10-22T19:11:12 JST",
            "20241022T101112Z",
            "20241022T101112",
            "2024-10-22 10:11:12 AM",
            "2024-10-22T10:11:12am UTC",
            "Di 22. Okt 12:11:12 CEST 2024",
            "Di 22. Okt 2024 12:11:12 CEST",
            "mar. 22 oct. 2024 12:11:12 CEST",
            "mar 22 oct 2024 12:11:12 CEST",
        ] {
            assert_eq!(at(text), Some(NS), "{text}");
        }
        assert_eq!(at("2024-10-22 10:11:12 PM"), Some(NS + DAY / 2));
        assert_eq!(at("2024-10-22 12:11:12 AM"), Some(NS - 10 * 60 * MINUTE));
        // `date -u -d '2024-03-01 10:11:12' +%s` prints this time. The day is a Friday.
        for text in [
            "Fr 1. M\u{e4}r 10:11:12 UTC 2024",
            "ven. 1 mars 2024 10:11:12 UTC",
            "vie 1 mar 2024 10:11:12 UTC",
            "vie mar 1 10:11:12 UTC 2024",
        ] {
            assert_eq!(at(text), Some(1_709_287_872_000_000_000), "{text}");
        }
        assert_eq!(at("Tue Oct 22 10:11:12.5 2024"), Some(NS + 500_000_000));
        assert_eq!(at("Thu Jan  1 00:00:01 1970"), Some(1_000_000_000));
        assert_eq!(at("Oct 22 00:00:12"), Some(12_000_000_000));
        for wrong in ["Tue Oct 22 10:11:12", "Tue Oct 32 10:11:12 2024", "Tue Oct 22 2024", "Tue"] {
            assert_eq!(at(wrong), None, "{wrong}");
        }
        for wrong in
            ["20240022T101112Z", "20241000T101112Z", "20241322T101112Z", "20230229T101112Z"]
        {
            assert_eq!(at(wrong), None, "{wrong}");
        }
        assert_eq!(at("Tue Oct 22 10:11:12 IST 2024"), None);
    }

    #[test]
    fn a_timestamp_is_separated_from_the_rest_of_its_line() {
        for text in [
            "Tue Oct 22 10:11:12 UTC 2024: 64 bytes",
            "Oct 22 10:11:12 64 bytes",
            "10:11:12.123456 64 bytes",
            "[Tue Oct 22 10:11:12 2024] 64 bytes",
            "[10:11:12] 64 bytes",
            "[1729591872.5] 64 bytes",
            "1729591872.5 64 bytes",
            "2024-10-22 10:11:12 PM 64 bytes",
            "22.10.2024 10:11:12 - 64 bytes",
            "10/22/2024 10:11:12 AM, 64 bytes",
            "10/11/2024 10:11:12 64 bytes",
        ] {
            let (stamp, rest) = of_line(text);
            assert_eq!((stamp.is_some(), rest), (true, "64 bytes"), "{text}");
        }
        assert_eq!(of_line("Oct 22 10:11:12 2008 bytes").1, "2008 bytes");
        for text in ["64 bytes from", "10:11:12::1 : [0], 64 bytes", "2024-10-22 10:11:12,1,20"] {
            assert_eq!(of_line(text), (None, text));
        }
    }
}
