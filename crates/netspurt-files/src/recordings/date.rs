//! Reads instants in cells of tables: timestamps, dates with the year last, and times of day with
//! 24 or 12 hours.

use super::instant::DAY;
use super::stamp::leading;
use super::text::{SECOND, decimal, integer};
use super::year_last::{DateOrder, YearLast};
use super::zone::{Zone, ambiguous, is_zone, zone};

/// Reads a cell that holds a date and nothing else. Returns the midnight at which that day begins,
/// in nanoseconds since 1970.
pub(super) fn whole_date(cell: &str, order: Option<DateOrder>) -> Option<i64> {
    if let Some((date, "")) = YearLast::read(cell) {
        return date.midnight(order);
    }
    // `2024-10-22` and `22-Oct-2024`
    let midnight = (9..=12).contains(&cell.len()).then(|| format!("{cell} 00:00:00"))?;
    whole_stamp(&midnight).filter(|ns| *ns >= DAY)
}

/// Reads a cell that holds a timestamp and nothing else. Returns nanoseconds since 1970, or since
/// midnight if the cell has no date or no year.
fn whole_stamp(cell: &str) -> Option<i64> {
    let (stamp, "") = leading(cell)? else { return None };
    stamp.ns().ok()
}

/// Reads a cell that holds an instant or a time of day and nothing else. Returns nanoseconds since
/// 1970, or since midnight. A time without a zone counts as UTC.
pub(super) fn written(cell: &str, order: Option<DateOrder>) -> Option<i64> {
    let bare = || cell.strip_prefix('[')?.strip_suffix(']');
    let cell = bare().unwrap_or(cell);
    if let Some(known) = whole_stamp(cell) {
        return Some(known);
    }
    if let Some((date, rest)) = YearLast::read(cell) {
        let clock = rest.strip_prefix(',').unwrap_or(rest).strip_prefix([' ', 'T'])?;
        return date.midnight(order)?.checked_add(clock_of(clock.trim_start())?);
    }
    clock_of(cell)
}

/// Whether a cell looks like an instant, a date or a time of day.
pub(super) fn looks(cell: &str) -> bool {
    let order = Some(DateOrder::DayFirst);
    written(cell, order).is_some() || whole_date(cell, order).is_some() || ambiguous(cell).is_some()
}

/// Reads a text that is a time of day: `10:11`, `10:11:12.5` or `10:11:12 PM`. Returns nanoseconds
/// since midnight, in UTC if a zone is given.
pub(super) fn clock_of(text: &str) -> Option<i64> {
    let (hours, rest) = integer(text).filter(|(hours, _)| *hours < 24)?;
    let (minutes, rest) = integer(rest.strip_prefix(':')?).filter(|(minutes, _)| *minutes < 60)?;
    let (ns, rest) = match rest.strip_prefix(':') {
        Some(seconds) => decimal(seconds, SECOND).filter(|(ns, _)| *ns <= MINUTE)?,
        None => (0, rest),
    };
    let half = rest.trim_start();
    let (hours, rest) = match half.get(..2).map(str::to_ascii_uppercase).as_deref() {
        Some("AM") if (1..=12).contains(&hours) => (hours % 12, &half[2..]),
        Some("PM") if (1..=12).contains(&hours) => (hours % 12 + 12, &half[2..]),
        _ => (hours, rest),
    };
    let east = match zone(rest) {
        (Zone::Unnamed, "") => 0,
        (Zone::East(seconds), "") => seconds,
        _ => return None,
    };
    let minutes = i64::try_from(hours * 60 + minutes).ok()?;
    Some(minutes * MINUTE + ns - east * SECOND.cast_signed())
}

/// The number of nanoseconds in a minute.
const MINUTE: i64 = 60 * SECOND.cast_signed();

/// Whether a cell with a time of day gives its zone.
pub(super) fn has_zone(cell: &str) -> bool {
    let basic = is_basic(cell).then(|| &cell[9..]);
    let Some(clock) = basic.or_else(|| Some(cell.split_once(':')?.1)) else { return false };
    clock.contains(['+', '-', 'Z']) || clock.split_whitespace().any(is_zone)
}

/// Whether a cell has a time of day: `10:11`, or ISO 8601's basic form `20241022T101112`.
pub(super) fn has_clock(cell: &str) -> bool {
    cell.contains(':') || is_basic(cell)
}

fn is_basic(cell: &str) -> bool {
    cell.is_ascii() && cell.as_bytes().get(8) == Some(&b'T')
}

#[cfg(test)]
mod tests {
    use super::super::year_last::{DateOrderEvidence, evidence};
    use super::*;

    /// The time that `date -u -d '2024-10-22 10:11:12' +%s` prints, in nanoseconds.
    const NS: i64 = 1_729_591_872_000_000_000;

    #[test]
    fn a_date_that_ends_with_the_year_is_read_if_its_day_and_month_are_clear() {
        for text in [
            "22.10.2024 10:11:12",
            "22.10.24 10:11:12",
            "22/10/2024 10:11:12",
            "22-10-2024T10:11:12",
            "10/22/2024 10:11:12 AM",
            "10/22/2024, 10:11:12 am",
            "22.10.2024 10:11:12 UTC",
            "22.10.2024 12:11:12+02:00",
        ] {
            assert_eq!(written(text, None), Some(NS), "{text}");
        }
        let half_day = 12 * 60 * MINUTE;
        assert_eq!(written("10/22/2024 10:11:12 PM", None), Some(NS + half_day));
        assert_eq!(clock_of("12:00:01 AM"), Some(SECOND.cast_signed()));
        assert_eq!(clock_of("12:00:01 PM"), Some(half_day + SECOND.cast_signed()));
        for wrong in [
            "13:00:01 PM",
            "22/22/2024 10:11:12",
            "32.1.2024 10:11",
            "1/2/24 10:11",
            "29/02/2023 10:11",
        ] {
            assert_eq!(written(wrong, Some(DateOrder::DayFirst)), None, "{wrong}");
        }
    }

    #[test]
    fn an_ambiguous_date_with_slashes_is_read_only_if_the_order_is_given() {
        let text = "10/11/2024 00:00";
        assert_eq!((written(text, None), evidence(text)), (None, Some(DateOrderEvidence::Either)));
        // `date -u -d 2024-11-10 +%s` prints the first time. The second time is 2024-10-11.
        let at = |order| written(text, Some(order)).map(|ns| ns / SECOND.cast_signed());
        assert_eq!(at(DateOrder::DayFirst), Some(1_731_196_800));
        assert_eq!(at(DateOrder::MonthFirst), Some(1_728_604_800));
        assert_eq!(evidence("10.11.2024"), Some(DateOrderEvidence::Only(DateOrder::DayFirst)));
        assert_eq!(evidence("10/10/2024"), None);
        assert!(written("10/10/2024 00:00", None).is_some());
    }
}
