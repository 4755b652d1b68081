//! Reads dates with the year last, as spreadsheets and many tools write them: `22.10.2024`,
//! `10/22/2024`.

use super::instant::{DAY, days};
use super::text::integer;

/// Whether the day or the month comes first in a date that consists of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateOrder {
    DayFirst,
    MonthFirst,
}

impl DateOrder {
    /// The order with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        match &*name.to_lowercase() {
            "dmy" => Some(DateOrder::DayFirst),
            "mdy" => Some(DateOrder::MonthFirst),
            _ => None,
        }
    }
}

/// A date as written: the day and the month in either order, and the year.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct YearLast {
    numbers: [u64; 2],
    year: u64,
    dotted: bool,
}

/// What a date shows about the order of day and month.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DateOrderEvidence {
    /// The date is possible in this order only.
    Only(DateOrder),
    /// The date is possible in both orders, and the two orders give different days.
    Either,
}

impl YearLast {
    /// Reads the date at the beginning of a text. Returns the date and the text after it.
    pub fn read(text: &str) -> Option<(Self, &str)> {
        let (first, rest) = integer(text).filter(|(number, _)| (1..=31).contains(number))?;
        let mark = rest.chars().next().filter(|mark| matches!(mark, '.' | '/' | '-'))?;
        let (second, rest) = integer(&rest[1..]).filter(|(number, _)| (1..=31).contains(number))?;
        let digits = rest.strip_prefix(mark)?;
        let (year, rest) = integer(digits)?;
        let dotted = mark == '.';
        // A year of two digits is in this century. A date with slashes or hyphens and two digits at
        // its end is not read, because the year may come first.
        let year = match digits.len() - rest.len() {
            4 => year,
            2 if dotted => 2000 + year,
            _ => return None,
        };
        let date = Self { numbers: [first, second], year, dotted };
        date.numbers.iter().any(|number| *number <= 12).then_some((date, rest))
    }

    fn evidence(self) -> Option<DateOrderEvidence> {
        match self.numbers {
            [first, _] if first > 12 => Some(DateOrderEvidence::Only(DateOrder::DayFirst)),
            [_, second] if second > 12 => Some(DateOrderEvidence::Only(DateOrder::MonthFirst)),
            // No country writes the month first with dots.
            _ if self.dotted => Some(DateOrderEvidence::Only(DateOrder::DayFirst)),
            [first, second] if first == second => None,
            _ => Some(DateOrderEvidence::Either),
        }
    }

    /// Returns the midnight at which the day begins, in nanoseconds since 1970. If two days are
    /// possible, the argument `order` decides between these days, and the result is `None` if
    /// `order` is `None`. The result is also `None` if the date does not exist.
    pub fn midnight(self, order: Option<DateOrder>) -> Option<i64> {
        let order = match self.evidence() {
            Some(DateOrderEvidence::Only(order)) => order,
            Some(DateOrderEvidence::Either) => order?,
            None => DateOrder::DayFirst,
        };
        let [day, month] = match (order, self.numbers) {
            (DateOrder::DayFirst, numbers) => numbers,
            (DateOrder::MonthFirst, [month, day]) => [day, month],
        };
        let integer = |number: u64| i64::try_from(number).ok();
        days(integer(self.year)?, integer(month)?, integer(day)?)?.checked_mul(DAY)
    }
}

/// Returns the evidence about the order of day and month in a cell that begins with a date. In a
/// date with dots, the day comes first if both orders are possible. `None` if the cell does not
/// begin with a date that ends with the year. Also `None` if a date without dots is the same day in
/// both orders.
pub(super) fn evidence(cell: &str) -> Option<DateOrderEvidence> {
    YearLast::read(cell)?.0.evidence()
}

/// True if a cell begins with a date that ends with the year.
pub(super) fn is_year_last(cell: &str) -> bool {
    YearLast::read(cell).is_some()
}

/// Reads the date at the beginning of a line. Returns the midnight of the date, if the order of
/// day and month is certain, and the text after the date. `None` if the line does not begin with a
/// date that ends with the year, or if the date does not exist.
pub(super) fn date_of_line(line: &str) -> Option<(Option<i64>, &str)> {
    let (date, rest) = YearLast::read(line)?;
    let midnight = match date.evidence() {
        Some(DateOrderEvidence::Either) => None,
        _ => Some(date.midnight(None)?),
    };
    Some((midnight, rest))
}
