//! Determines the contents of each column of a table: from the name of the column, from the shape
//! of the rows, or from what the user says about the column.

use std::net::IpAddr;

use super::date::{clock_of, looks, whole_date};
use super::outcome::says_lost;
use super::reading::{Columns, RecordingError};
use super::stamp::leading;
use super::text::{MICROSECOND, MILLISECOND, SECOND, decimal};
use super::year_last::DateOrder;

/// A column: its index, and its unit in nanoseconds if the unit is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SourceColumn {
    pub at: usize,
    pub unit: Option<u64>,
}

/// The contents of the columns of a table. Columns are numbered from 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TablePlan {
    pub rtt: Option<SourceColumn>,
    /// Whether the column of delays has decimal commas.
    pub decimal_commas: bool,
    pub sent: Option<SourceColumn>,
    /// The column with the date, if the column `sent` has only times of day.
    pub date: Option<usize>,
    /// Whether the day or the month comes first in dates such as 10/11/2024; `None` if this is not
    /// known.
    pub dates: Option<DateOrder>,
    pub received: Option<SourceColumn>,
    /// The delay of a reply that came after the give-up time.
    pub late: Option<SourceColumn>,
    pub seq: Option<usize>,
    pub lost: Option<usize>,
    /// Whether a probe was answered (the negation of lost).
    pub answered: Option<usize>,
    /// Whether numbers in the column `answered` are codes, and not truth values.
    pub coded: bool,
    /// Names of ignored columns.
    pub unused: Vec<String>,
    pub duplicates: Option<usize>,
    pub size: Option<usize>,
    pub group: Option<usize>,
    /// The direction of a flow, in tables that netspurt wrote. Each direction of a flow is a
    /// recording of its own.
    pub direction: Option<usize>,
    /// The algorithm, in netspurt's table of replays. That table has a row for each probe and each
    /// algorithm. Only the rows of the first algorithm are read.
    pub estimator: Option<usize>,
    /// How the probes followed each other ([`ProbeOrder`](super::ProbeOrder)), in netspurt's
    /// tables.
    pub order: Option<usize>,
    /// The kind of the delays ([`Measure`](super::Measure)), in netspurt's tables.
    pub measure: Option<usize>,
    pub one_way: bool,
    /// Whether this is netspurt's table of echo probes, where one probe is in flight at a time.
    pub echo_probes: bool,
    /// Whether the table has a single column of whole numbers that neither a header nor the user
    /// names. The numbers are then one-way delays at fixed intervals.
    pub paced: bool,
}

/// Names that a column of delays may have. This list and the lists below begin with the preferred
/// names. The last name here is `time`, because many tables call a column of clock times `time`.
const RTT: &[&str] = &[
    "rtt",
    "round_trip_time",
    "roundtrip",
    "round_trip",
    "latency",
    "delay",
    "one_way_delay",
    "owd",
    "ping",
    "response_time",
    "latest_rtt",
    "sample_rtt",
    "rtt_sample",
    "measured_rtt",
    "response",
    "elapsed",
    "duration",
    "latenz",
    "laufzeit",
    "antwortzeit",
    "umlaufzeit",
    TIME,
];
const TIME: &str = "time";
const SENT: &[&str] = &[
    "sent",
    "send_time",
    "sent_time",
    "send_timestamp",
    "sent_at",
    "pub_time",
    "timestamp",
    "time_stamp",
    "epoch",
    "datetime",
    "date",
    "unix_time",
    "ts",
    "t",
    "start",
    "tx",
    "send",
    "send_ts",
    "sent_ts",
    "sent_timestamp",
    "time_sent",
    "tx_time",
    "tx_timestamp",
    "departure",
    "zeitstempel",
    "zeitpunkt",
    "time",
    "zeit",
];
/// The possible names of a column of dates.
const DATE: &[&str] = &["date", "day", "datum"];
/// The possible names of the column of times of day beside a column of dates.
const CLOCK: &[&str] = &["time", "time_of_day", "clock", "clock_time", "uhrzeit", "zeit"];
const RECEIVED: &[&str] = &[
    "sub_time",
    "recv_time",
    "receive_time",
    "received_time",
    "received_at",
    "arrival",
    "recv_timestamp",
    "rx",
    "recv",
    "recv_ts",
    "received_timestamp",
    "receive_timestamp",
    "time_received",
    "rx_time",
    "rx_timestamp",
    "arrival_time",
    "reply_time",
];
const SEQ: &[&str] = &[
    "seq",
    "icmp_seq",
    "seqno",
    "sequence",
    "seq_no",
    "seq_num",
    "seqnum",
    "sequence_number",
    "number",
    "probe",
    "probe_number",
    "no",
    "n",
    "#",
];
const LOST: &[&str] = &["lost", "is_lost", "loss", "timeout", "timed_out", "dropped", "no_reply"];
const ANSWERED: &[&str] = &[
    "success",
    "ok",
    "received",
    "answered",
    "replied",
    "alive",
    "is_alive",
    "is_up",
    "reachable",
    "online",
    "status",
    "outcome",
    UP,
];
const UP: &str = "up";
const GROUP: &[&str] = &["recording", "flow", "target", "host", "destination", "dst", "address"];

/// Returns the nanoseconds of the unit that a word names. The word is in lower case.
pub(super) fn unit_of(word: &str) -> Option<u64> {
    match word.trim() {
        "s" | "sec" | "secs" | "seconds" => Some(SECOND),
        "ms" | "msec" | "milliseconds" | "millis" => Some(MILLISECOND),
        "us" | "µs" | "μs" | "usec" | "microseconds" => Some(MICROSECOND),
        "ns" | "nsec" | "nanoseconds" => Some(1),
        _ => None,
    }
}

/// Splits a column's name into the name without the unit, in lower case, and the unit in
/// nanoseconds.
fn split(name: &str) -> (String, Option<u64>) {
    let name = name.trim().trim_matches('"').to_lowercase();
    let plain = |base: &str| base.trim().replace([' ', '-', '.'], "_").trim_matches('_').to_owned();
    if let Some((base, inside)) = name.split_once(['(', '[', ',', '/']) {
        return (plain(base), unit_of(inside.trim_end_matches([')', ']'])));
    }
    let base = plain(&name);
    if let Some((front, back)) = base.rsplit_once('_')
        && unit_of(back).is_some()
    {
        // `rtt in ms`
        return (front.strip_suffix("_in").unwrap_or(front).to_owned(), unit_of(back));
    }
    // `rttMs`
    let joined = ["ms", "us", "ns"].iter().find_map(|unit| Some((base.strip_suffix(unit)?, unit)));
    match joined {
        Some((front, unit)) if [RTT, SENT, RECEIVED].iter().any(|list| list.contains(&front)) => {
            (front.to_owned(), unit_of(unit))
        }
        _ => (base, None),
    }
}

/// Returns the nanoseconds of a unit that the user names.
///
/// # Errors
/// When the unit is unknown.
fn named_unit(text: Option<&String>) -> Result<Option<u64>, RecordingError> {
    let Some(text) = text else { return Ok(None) };
    match split(&format!("x ({text})")).1 {
        Some(unit) => Ok(Some(unit)),
        None => {
            Err(RecordingError::new(format!("`{text}` is not a unit"), "write s, ms, us or ns"))
        }
    }
}

/// Finds out the contents of columns from their names, which the list `names` holds. The user's
/// hints in `columns` take precedence over the names.
///
/// # Errors
/// When the user names a column that does not exist, an unknown unit, or an unknown order of day
/// and month.
pub(super) fn by_names(names: &[String], columns: &Columns) -> Result<TablePlan, RecordingError> {
    let split_names: Vec<(String, Option<u64>)> = names.iter().map(|name| split(name)).collect();
    let mut taken: Vec<usize> = Vec::new();
    let mut find =
        |given: Option<&String>, known: &[&str]| -> Result<Option<SourceColumn>, RecordingError> {
            let at = match given {
                Some(given) => Some(place(names, given)?),
                None => known.iter().find_map(|name| {
                    let named =
                        |at: &usize| same_word(&split_names[*at].0, name) && !taken.contains(at);
                    (0..names.len()).find(named)
                }),
            };
            taken.extend(at);
            Ok(at.map(|at| SourceColumn { at, unit: split_names[at].1 }))
        };
    let group = find(columns.group.as_ref(), GROUP)?;
    let of_flows = group.is_some_and(|group| split_names[group.at].0 == "flow");
    let direction = if of_flows { find(None, &["direction"])? } else { None };
    let seq = find(columns.seq.as_ref(), SEQ)?;
    let lost = find(columns.lost.as_ref(), LOST)?;
    let late = find(None, &["late"])?;
    let duplicates = find(None, &["duplicates"])?;
    let size = find(None, &["size_bytes", "bytes", "size"])?;
    let rtt = find(columns.rtt.as_ref(), delay_names(&split_names))?;
    // Without a column of times of day, a column `date` may have the times of sending.
    let date = find(None, if has_clock(&split_names, rtt) { DATE } else { &[] })?;
    let sent = find(columns.sent.as_ref(), if date.is_some() { CLOCK } else { SENT })?;
    let mut received = find(columns.received.as_ref(), RECEIVED)?;
    if let (None, Some(_), None, None) = (rtt, sent, received, direction) {
        // Without delays, `received` has instants. In netspurt's table of flows, it has counts.
        received = find(None, &["received"])?;
    }
    let answered = find(None, answered_names(&split_names))?;
    let estimator = find(None, &["estimator"])?;
    let order = find(None, &["order"])?;
    let measure = find(None, &["measure"])?;
    let unused = ignored(names, &taken);
    let has = |name: &str| split_names.iter().any(|(base, _)| base == name);
    let one_way = ["one_way_delay", "owd", "pub_time"].iter().any(|name| has(name));
    let (unit, time_unit) =
        (named_unit(columns.unit.as_ref())?, named_unit(columns.time_unit.as_ref())?);
    let with = |column: Option<SourceColumn>, unit: Option<u64>| {
        column.map(|column| SourceColumn { unit: unit.or(column.unit), ..column })
    };
    Ok(TablePlan {
        rtt: with(rtt, unit),
        sent: with(sent, time_unit),
        date: date.map(|column| column.at),
        dates: named_dates(columns.dates.as_ref())?,
        received: with(received, time_unit),
        late: late.filter(|late| late.unit.is_some()),
        seq: seq.map(|column| column.at),
        lost: lost.map(|column| column.at),
        answered: answered.map(|column| column.at),
        coded: answered
            .is_some_and(|column| ["status", "outcome"].contains(&&*split_names[column.at].0)),
        unused,
        duplicates: duplicates.map(|column| column.at),
        size: size.map(|column| column.at),
        group: group.map(|column| column.at),
        direction: direction.map(|column| column.at),
        estimator: estimator.map(|column| column.at),
        order: order.map(|column| column.at),
        measure: measure.map(|column| column.at),
        one_way: one_way || columns.one_way,
        echo_probes: has("size_bytes") && has("late") && has("rtt"),
        ..TablePlan::default()
    })
}

/// Whether the column is called `time`. Such a column may have delays, or the times of sending.
pub(super) fn is_called_time(names: &[String], column: SourceColumn) -> bool {
    split(&names[column.at]).0 == TIME
}

/// Returns the names that a column of delays may have. The name `time` is one of these names,
/// unless another column may have the delays. The name of this other column has a unit of time, and
/// is not a known name of instants.
fn delay_names(names: &[(String, Option<u64>)]) -> &'static [&'static str] {
    let known = |base: &str| {
        base == TIME || [SENT, RECEIVED, LOST, &["late"]].iter().any(|list| list.contains(&base))
    };
    let other = names.iter().any(|(base, unit)| unit.is_some() && !known(base));
    match RTT.split_last() {
        Some((&TIME, others)) if other => others,
        _ => RTT,
    }
}

/// Returns the names that a column of outcomes may have. Beside a column such as `down` or
/// `download`, a column `up` is a rate and not an outcome.
fn answered_names(names: &[(String, Option<u64>)]) -> &'static [&'static str] {
    let rates = names.iter().any(|(base, _)| base.starts_with("down"));
    match ANSWERED.split_last() {
        Some((&UP, others)) if rates => others,
        _ => ANSWERED,
    }
}

/// True if a column has a name of [`CLOCK`], and there is a column of delays whose name is not in
/// [`CLOCK`].
fn has_clock(names: &[(String, Option<u64>)], rtt: Option<SourceColumn>) -> bool {
    let clock = |at: usize| CLOCK.contains(&&*names[at].0);
    rtt.is_some_and(|rtt| !clock(rtt.at)) && (0..names.len()).any(clock)
}

/// Returns the names of the columns that are not used. A number does not count as a name.
fn ignored(names: &[String], taken: &[usize]) -> Vec<String> {
    let unused = |at: &usize| !taken.contains(at) && names[*at].parse::<usize>().is_err();
    let unused = (0..names.len()).filter(unused).map(|at| names[at].clone());
    unused.filter(|name| !name.is_empty()).collect()
}

/// Whether a column's name is a known name, with or without its `_`: `responsetime` is
/// `response_time`.
fn same_word(name: &str, known: &str) -> bool {
    name == known || known.contains('_') && name == known.replace('_', "")
}

/// Returns the order of day and month that the user names.
///
/// # Errors
/// When the order is neither `dmy` nor `mdy`.
fn named_dates(text: Option<&String>) -> Result<Option<DateOrder>, RecordingError> {
    let Some(text) = text else { return Ok(None) };
    let fix = "write `dmy`, as in 22/10/2024, or `mdy`, as in 10/22/2024";
    let unknown = || RecordingError::new(format!("`{text}` is not an order of day and month"), fix);
    DateOrder::by_name(text).map(Some).ok_or_else(unknown)
}

/// Returns the index of the column that the user gives by its name, or by its number counted from
/// 1.
///
/// # Errors
/// When there is no such column.
fn place(names: &[String], given: &str) -> Result<usize, RecordingError> {
    let same = |name: &String| name.trim().trim_matches('"').eq_ignore_ascii_case(given);
    let named = names.iter().position(same);
    let counted = || given.parse::<usize>().ok()?.checked_sub(1).filter(|at| *at < names.len());
    named.or_else(counted).ok_or_else(|| {
        RecordingError::new(
            format!("there is no column `{given}`"),
            match unit_of(&given.to_lowercase()) {
                Some(_) => format!("`--column unit={given}` gives the unit of the delays"),
                None => format!("the columns are {}; write `--column WHAT=NAME`", names.join(", ")),
            },
        )
    })
}

/// Finds out the contents of columns without names, from what the user says or from the shape of
/// the rows. `None` if the shape is unknown.
///
/// # Errors
/// When the user names a column, unit, or order of day and month that does not exist. Also when the
/// user names some columns, but names neither the column of the delays nor the column of the times
/// of receiving.
pub(super) fn by_shape(
    rows: &[Vec<&str>],
    columns: &Columns,
) -> Result<Option<TablePlan>, RecordingError> {
    let Some(first) = rows.first() else { return Ok(None) };
    let names: Vec<String> = (1..=first.len()).map(|place| place.to_string()).collect();
    if columns.rtt.is_some() || columns.received.is_some() {
        return by_names(&names, columns).map(Some);
    }
    let named = [&columns.sent, &columns.seq, &columns.lost, &columns.group];
    if named.iter().any(|column| column.is_some()) {
        return Err(RecordingError::new(
            "the columns have no names, and `--column` does not say which one holds the delays",
            "give its number, such as `--column rtt=3` for the third column",
        ));
    }
    let known = |cell: &&str| is_value(cell) || is_address(cell);
    if rows.iter().any(|row| row.len() != first.len() || !row.iter().all(known)) {
        return Ok(None);
    }
    let all = |at: usize, holds: fn(&str) -> bool| rows.iter().all(|row| holds(row[at]));
    let whole_number: fn(&str) -> bool = |cell| cell.bytes().all(|c| c.is_ascii_digit());
    let instant_like: fn(&str) -> bool =
        |cell| is_time(cell) || decimal(cell, 1).is_some_and(|(v, _)| v > 100_000_000);
    let (unit, time_unit) =
        (named_unit(columns.unit.as_ref())?, named_unit(columns.time_unit.as_ref())?);
    let column = |at| Some(SourceColumn { at, unit });
    let instants = |at| Some(SourceColumn { at, unit: time_unit });
    let dates = named_dates(columns.dates.as_ref())?;
    let plan = TablePlan { one_way: columns.one_way, dates, ..TablePlan::default() };
    let dated = first.len() > 2
        && all(0, |cell| whole_date(cell, Some(DateOrder::DayFirst)).is_some())
        && all(1, |cell| clock_of(cell).is_some());
    let paced = all(0, whole_number) && rows.len() > 1;
    Ok(match first.len() {
        1 => Some(TablePlan { rtt: column(0), paced, one_way: paced || plan.one_way, ..plan }),
        2 if all(0, instant_like) => Some(TablePlan { sent: instants(0), rtt: column(1), ..plan }),
        2 if all(0, whole_number) => Some(TablePlan { seq: Some(0), rtt: column(1), ..plan }),
        3 if dated => Some(TablePlan { date: Some(0), sent: instants(1), rtt: column(2), ..plan }),
        4 if dated && all(2, whole_number) => {
            let (date, sent, seq) = (Some(0), instants(1), Some(2));
            Some(TablePlan { date, sent, seq, rtt: column(3), ..plan })
        }
        3 if all(0, instant_like) && all(1, whole_number) => {
            Some(TablePlan { sent: instants(0), seq: Some(1), rtt: column(2), ..plan })
        }
        3 if all(0, whole_number) && all(1, instant_like) => {
            Some(TablePlan { seq: Some(0), sent: instants(1), rtt: column(2), ..plan })
        }
        3 if all(0, instant_like) && all(1, is_address) => {
            Some(TablePlan { sent: instants(0), group: Some(1), rtt: column(2), ..plan })
        }
        _ => None,
    })
}

/// Whether a cell is an IP address.
pub(super) fn is_address(cell: &str) -> bool {
    cell.parse::<IpAddr>().is_ok()
}

/// True if a cell holds only a bound of a value, such as `>1000`.
pub(super) fn is_bound(cell: &str) -> bool {
    let number = cell.strip_prefix(['<', '>']).map(|rest| rest.trim_start_matches(['=', ' ']));
    number.is_some_and(|number| decimal(number, 1).is_some())
}

/// Whether a cell can be a value. If so, it is not the name of a column.
pub(super) fn is_value(cell: &str) -> bool {
    let number = |cell: &str| {
        decimal(cell, 1).is_some_and(|(_, rest)| rest.is_empty() || unit_of(rest).is_some())
    };
    // A cell of more than 20 octets is the name of a column, even if a word in the cell means that
    // no reply came.
    let missing = is_missing(cell) && cell.len() <= 20;
    number(cell) || missing || is_time(cell) || is_bound(cell) || cell.eq_ignore_ascii_case("true")
}

/// Whether a cell begins with an instant, or is a date or a time of day.
fn is_time(cell: &str) -> bool {
    leading(cell).is_some() || looks(cell)
}

/// Whether a cell stands for a missing value.
pub(super) fn is_missing(cell: &str) -> bool {
    const WORDS: [&str; 26] = [
        "",
        "*",
        "-",
        "nan",
        "null",
        "none",
        "n/a",
        "na",
        "lost",
        "timeout",
        "inf",
        "loss",
        "timed out",
        "request timed out",
        "no reply",
        "unreachable",
        "error",
        "failed",
        "dropped",
        "down",
        "no",
        "100%",
        "100% loss",
        "100% packet loss",
        // RRDtool writes `u` for an unknown value.
        "u",
        // pythonping and ping3 write `False` for a probe without an answer.
        "false",
    ];
    WORDS.iter().any(|word| cell.eq_ignore_ascii_case(word)) || says_lost(cell)
}
