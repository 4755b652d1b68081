//! Reads the values in the cells of tables.

use netspurt::delays::{Delays, Measure, ProbeOrder};
use netspurt::units::Duration;

use super::columns::{SourceColumn, is_bound, is_missing, unit_of};
use super::date::written;
use super::instant::DAY;
use super::text::{MICROSECOND, MILLISECOND, SECOND, decimal, integer};
use super::year_last::DateOrder;

/// Reads a cell that says how probes followed each other. It holds a word of netspurt's tables.
pub(super) fn order(text: &str) -> Option<ProbeOrder> {
    match text {
        "sequence" => Some(ProbeOrder::Sequence),
        "causal" => Some(ProbeOrder::Causal),
        _ => None,
    }
}

/// Reads a cell that names the kind of the delays. It holds a word of netspurt's tables.
pub(super) fn measure(text: &str) -> Option<Measure> {
    match text {
        "round-trip" => Some(Measure::RoundTrip),
        "one-way" => Some(Measure::OneWay),
        "smoothed" => Some(Measure::Smoothed),
        _ => None,
    }
}

/// Returns a span of `ns` nanoseconds. `None` if `ns` is negative.
pub(super) fn span(ns: i64) -> Option<Duration> {
    u64::try_from(ns).ok().map(Duration::from_nanos)
}

/// Reads a cell of delays, in nanoseconds. `None` if the value is missing or -1, which means lost.
pub(super) fn delay_ns(text: &str, column: SourceColumn) -> Result<Option<i64>, &'static str> {
    if is_missing(text) {
        return Ok(None);
    }
    if is_bound(text) {
        return Err("only a bound, such as `>1000`, which is neither a delay nor a loss");
    }
    let unit = column.unit.unwrap_or(MILLISECOND);
    let (_, rest) = decimal(text, unit).ok_or("not a delay")?;
    let unit = match rest.trim() {
        "" => unit,
        word => unit_of(word).ok_or("not a delay")?,
    };
    let (ns, _) = decimal(text, unit).ok_or("not a delay")?;
    // If the column has no unit, a value of more than a day is probably an instant.
    if column.unit.is_none() && ns > DAY {
        return Err("a delay of more than a day");
    }
    let is_minus_one = ns < 0 && ns.unsigned_abs() == unit;
    Ok((!is_minus_one).then_some(ns))
}

/// Reads a cell of instants. If the unit is unknown, the size of the number shows the unit, because
/// the time is not far from the present.
pub(super) fn moment(text: &str, unit: Option<u64>, dates: Option<DateOrder>) -> Option<i64> {
    if let Some(ns) = written(text, dates) {
        return Some(ns);
    }
    let unit = unit.unwrap_or_else(|| match integer(text).map_or(0, |(whole, _)| whole) {
        100_000_000_000_000_000.. => 1,
        100_000_000_000_000.. => MICROSECOND,
        100_000_000_000.. => MILLISECOND,
        _ => SECOND,
    });
    let (ns, rest) = decimal(text, unit)?;
    rest.is_empty().then_some(ns)
}

/// Reads a cell with a whole number.
pub(super) fn whole(text: &str) -> Option<u64> {
    let (value, rest) = decimal(text, 1)?;
    rest.is_empty().then(|| u64::try_from(value).ok()).flatten()
}

/// Whether a cell has a number with a decimal comma.
pub(super) fn is_decimal_comma(text: &str) -> bool {
    text.split_once(',').is_some_and(|(before, after)| {
        before.ends_with(|c: char| c.is_ascii_digit())
            && after.starts_with(|c: char| c.is_ascii_digit())
    })
}

/// Whether a cell has a number such as `1.234`, whose point may divide thousands.
pub(super) fn is_grouped(text: &str) -> bool {
    let Some((whole, rest)) = text.split_once('.') else { return false };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    digits == 3 && !whole.starts_with('0') && (1..=3).contains(&whole.len())
}

/// If the median delay is at least this value, milliseconds are an unlikely unit.
const UNLIKELY: Duration = Duration::from_secs(5);

/// Returns the note that the delays of a table without units were read as milliseconds. The note
/// names the unit that is more likely.
pub(super) fn unit_note(delays: &Delays) -> String {
    let mut known: Vec<Duration> = delays.probes.iter().filter_map(|probe| probe.rtt).collect();
    let middle = known.len() / 2;
    let median = match known.is_empty() {
        true => Duration::ZERO,
        false => *known.select_nth_unstable(middle).1,
    };
    let taken = "the delays have no unit and were read as milliseconds";
    let (unit, name) = match median {
        median if median < UNLIKELY => {
            return format!("{taken}; `--column unit=s` reads them as seconds");
        }
        median if median < UNLIKELY * 1000 => ("us", "microseconds"),
        _ => ("ns", "nanoseconds"),
    };
    format!(
        "{taken}, which gives a median of {median}; `--column unit={unit}` reads them as {name}, \
         which are more likely"
    )
}
