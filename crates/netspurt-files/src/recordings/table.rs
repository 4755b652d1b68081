//! Reads tables. A table is a text or a list of rows. In a text, commas, semicolons, tabs or blanks
//! divide the cells. The reader of Parquet files passes its rows as a list.

use std::borrow::Cow;

use indexmap::IndexMap;
use netspurt::delays::{Delays, Measure, ProbeOrder};
use netspurt::units::Duration;

use super::cells::{bare, cells, separator};
use super::columns::{
    SourceColumn, TablePlan, by_names, by_shape, is_address, is_called_time, is_missing, is_value,
};
use super::date::{has_clock, has_zone, whole_date, written};
use super::instant::{DAY, Midnights};
use super::outcome;
use super::reading::{Hints, Malformed, Reading, RecordingError, left_out};
use super::table_cells::{
    delay_ns, is_decimal_comma, is_grouped, measure, moment, order, span, unit_note, whole,
};
use super::tally::Tally;
use super::text::{decimal, lines};
use super::year_last::{DateOrder, DateOrderEvidence, evidence, is_year_last};
use super::zone::ambiguous;

/// The interval between the probes if a file is only a list of delays in whole milliseconds. The
/// program LeoReplayer reads such lists.
const PACE: Duration = Duration::from_millis(10);

/// The maximum number of rows that are examined to recognise a table and its columns.
const ROWS_TESTED: usize = 20;

/// The minimum number of rows that can show that a column has the times of a clock.
const CLOCK_ROWS_MIN: u64 = 5;

/// How to read a text as a table.
struct TextLayout {
    plan: TablePlan,
    separator: Option<char>,
    /// The line of the header; `None` if the table has no header.
    header: Option<usize>,
    /// The number of columns.
    width: usize,
}

/// Finds out how to read `text` as a table; `None` if it is not a table.
///
/// # Errors
/// When the hints name a column, a unit or an order of dates that does not exist. Also when the
/// table's columns have no names and the hints give some columns, but neither the column of the
/// delays nor the column of the times of receiving.
fn layout(text: &str, hints: &Hints) -> Result<Option<TextLayout>, RecordingError> {
    let all = || lines(text).filter(|(_, line)| !line.trim().is_empty());
    let mut plain = all().filter(|(_, line)| !line.starts_with('#')).map(|(_, line)| line);
    let Some(first) = plain.next() else { return Ok(None) };
    // The names of the columns may be in a line that begins with `#`, in the first line without
    // `#`, or below a title.
    for (number, line) in all().take(ROWS_TESTED) {
        let commented = line.starts_with('#');
        let mark = if commented { separator(first) } else { separator(line) };
        let names = cells(line.trim_start_matches(['#', ' ']), mark);
        if names.iter().all(|name| is_value(name) || is_address(name)) {
            if commented {
                continue;
            }
            break;
        }
        let below = || all().filter(|(next, line)| *next > number && !line.starts_with('#'));
        let rows = || below().take(ROWS_TESTED).map(|(_, line)| cells(line, mark));
        let has_value =
            |row: &Vec<Cow<'_, str>>| row.iter().any(|cell| is_value(cell) && !is_missing(cell));
        let fits = match commented || line == first {
            // The first probes may all be lost, so their rows may have no value.
            true => {
                let are_missing = || rows().flatten().all(|cell| is_missing(&cell));
                rows().any(|row| has_value(&row)) || !commented && are_missing()
            }
            false => {
                names.len() > 1
                    && rows().next().is_some_and(|row| has_value(&row) && row.len() == names.len())
            }
        };
        if !fits {
            continue;
        }
        let names: Vec<String> = names.into_iter().map(Cow::into_owned).collect();
        let mut plan = match by_names(&names, &hints.columns) {
            Err(_) if commented || line != first => continue,
            plan => plan?,
        };
        let may_be_clock = hints.columns.rtt.is_none()
            && plan.rtt.is_some_and(|column| is_called_time(&names, column));
        if may_be_clock && is_clock(below().map(|(_, line)| cells(line, mark)), &plan) {
            plan.sent = plan.sent.or(plan.rtt.take());
        }
        // The user may give the column of delays by its number. If this line has a delay in that
        // column, the line has values and not names.
        let delay = |name: &str| is_value(name) && !is_missing(name);
        if plan.rtt.is_some_and(|column| delay(&names[column.at])) {
            break;
        }
        if plan.rtt.is_some() || plan.sent.is_some() && plan.received.is_some() {
            let (separator, width) = (mark, names.len());
            return Ok(Some(TextLayout { plan, separator, header: Some(number), width }));
        }
    }
    let separator = separator(first);
    let rows = all().filter(|(_, line)| !line.starts_with('#')).take(ROWS_TESTED);
    let rows: Vec<Vec<Cow<'_, str>>> = rows.map(|(_, line)| cells(line, separator)).collect();
    let rows: Vec<Vec<&str>> =
        rows.iter().map(|row| row.iter().map(|cell| &**cell).collect()).collect();
    let plan = by_shape(&rows, &hints.columns)?;
    let width = rows.first().map_or(0, Vec::len);
    Ok(plan.map(|plan| TextLayout { plan, separator, header: None, width }))
}

/// Whether the values in the column of delays rise from row to row, as the values of a clock do.
fn is_clock<'a>(rows: impl Iterator<Item = Vec<Cow<'a, str>>>, plan: &TablePlan) -> bool {
    let Some(column) = plan.rtt else { return false };
    let (mut count, mut last) = (0, None);
    for row in rows {
        let Some(cell) = row.get(column.at).filter(|cell| !is_missing(cell)) else { continue };
        let value = moment(cell, column.unit, plan.dates);
        if value.is_none() || value <= last {
            return false;
        }
        last = value;
        count += 1;
    }
    count >= CLOCK_ROWS_MIN
}

/// Whether a column has numbers with decimal commas.
fn has_decimal_commas(text: &str, layout: &TextLayout) -> bool {
    let Some(column) = layout.plan.rtt else { return false };
    // In a line without quotes, a comma that divides the cells cannot be a decimal comma.
    if !text.contains(if layout.separator == Some(',') { '"' } else { ',' }) {
        return false;
    }
    let rows = lines(text).map(|(_, line)| cells(line, layout.separator));
    rows.filter_map(|row| row.get(column.at).cloned()).any(|cell| is_decimal_comma(&cell))
}

/// Whether to read a text as a table: true if the hints name the column of delays, or if [`layout`]
/// finds how to read the text.
pub(super) fn knows(text: &str, hints: &Hints) -> bool {
    hints.columns.rtt.is_some() || layout(text, hints).is_ok_and(|layout| layout.is_some())
}

/// The maximum number of columns that a message lists.
const NAMES_MAX: usize = 32;

/// The maximum number of characters of a column's name that a message shows.
const NAME_CHARS_MAX: usize = 30;

/// Returns the cells of the first row, for a message. `None` if the text does not look like a
/// table. In a text that looks like a table, rows have equal numbers of cells, and the last of
/// these rows has a number.
pub(super) fn names(text: &str) -> Option<Vec<String>> {
    let plain = lines(text).filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
    let first_lines: Vec<&str> = plain.take(ROWS_TESTED).map(|(_, line)| line).collect();
    let mark = separator(first_lines.first()?);
    let rows: Vec<Vec<Cow<'_, str>>> = first_lines.iter().map(|line| cells(line, mark)).collect();
    let (first, last) = (rows.first()?, rows.last()?);
    let number = |cell: &Cow<'_, str>| decimal(cell, 1).is_some_and(bare);
    let even = rows.iter().all(|row| row.len() == first.len());
    (even && (2..=NAMES_MAX).contains(&first.len()) && last.iter().any(number))
        .then(|| first.iter().map(|name| name.chars().take(NAME_CHARS_MAX).collect()).collect())
}

/// Reads the recordings of a table.
///
/// # Errors
/// When no column holds delays, the hints do not fit the table, the order of day and month is
/// unclear, or too many probes are missing.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<Reading, RecordingError> {
    let Some(layout) = layout(text, hints)? else {
        return Err(RecordingError::new(
            "no column of this table is known to hold delays",
            "give the column's name or its number, such as `--column rtt=3` for the third column",
        ));
    };
    let (dates, decimal_commas) =
        (order_of_dates(text, &layout)?, has_decimal_commas(text, &layout));
    let mut rows = TableRows::new(TablePlan { dates, decimal_commas, ..layout.plan });
    // Counts the empty lines between rows. Empty lines above and below all rows are not counted,
    // because they cannot be lost probes.
    let (mut started, mut empty, mut left_out) = (false, 0_u64, 0);
    for (number, line) in lines(text) {
        if line.trim().is_empty() {
            empty += u64::from(started);
            continue;
        }
        if line.starts_with('#') || layout.header == Some(number) {
            continue;
        }
        started = true;
        left_out += core::mem::take(&mut empty);
        if layout.header.is_some_and(|header| number < header) {
            let why = "the line is above the names of the columns";
            rows.malformed.push(Malformed::new(number, line, why));
            continue;
        }
        let cells = cells(line, layout.separator);
        let row = |at: usize| cells.get(at).map(|cell| &**cell);
        // If blanks divide the cells, surplus cells are no mistake, because a value such as a date
        // may contain blanks.
        let surplus = cells.iter().skip(layout.width).any(|cell| !cell.is_empty());
        if surplus && layout.separator.is_some() {
            rows.leave_out(&row, Malformed::new(number, line, "more cells than columns"));
            continue;
        }
        rows.read(number, row, || line.to_owned());
    }
    let format = match (rows.plan.paced, layout.separator) {
        (true, _) => "one-way delays, one per line",
        (_, None) => "columns",
        (_, Some(_)) => "CSV",
    };
    let mut reading = rows.finish(name, format, hints)?;
    if layout.width == 1 && left_out > 0 {
        for recording in &mut reading.recordings {
            recording.notes.push(format!(
                "empty lines left out: {left_out}; if they are lost probes, write `-` in them"
            ));
        }
    }
    Ok(reading)
}

/// Some dates of a table may end with the year. Finds out whether the day or the month comes first
/// in these dates; `None` if no date shows this order.
///
/// # Errors
/// When dates contradict each other, or some date allows both orders and no date decides.
fn order_of_dates(text: &str, layout: &TextLayout) -> Result<Option<DateOrder>, RecordingError> {
    const FIX: &str =
        "write `--column dates=dmy` (22/10/2024) or `--column dates=mdy` (10/22/2024)";
    let plan = &layout.plan;
    if plan.dates.is_some() {
        return Ok(plan.dates);
    }
    let places = [plan.date, plan.sent.map(|one| one.at), plan.received.map(|one| one.at)];
    let (mut known, mut either) = (None, None);
    let mut dated = false;
    for (row, (number, line)) in lines(text).enumerate() {
        if row > ROWS_TESTED && !dated {
            return Ok(None);
        }
        let cells = cells(line, layout.separator);
        for cell in places.iter().flatten().filter_map(|at| cells.get(*at)) {
            dated |= is_year_last(cell);
            match (evidence(cell), known) {
                (Some(DateOrderEvidence::Only(order)), None) => known = Some(order),
                (Some(DateOrderEvidence::Only(order)), Some(other)) if order != other => {
                    let message = format!(
                        "the date `{cell}` has day and month in another order than a date above"
                    );
                    return Err(
                        RecordingError::new(message, "write dates as 2024-10-22").at(number)
                    );
                }
                (Some(DateOrderEvidence::Either), _) => {
                    either.get_or_insert_with(|| (number, cell.clone().into_owned()));
                }
                _ => {}
            }
        }
    }
    match (known, either) {
        (None, Some((line, cell))) => Err(RecordingError::new(
            format!(
                "in the date `{cell}` either the day or the month may come first, and no other \
                 date decides which"
            ),
            FIX,
        )
        .at(line)),
        _ => Ok(known),
    }
}

/// Collects the rows of a table into recordings.
pub(super) struct TableRows {
    pub plan: TablePlan,
    groups: IndexMap<String, Group>,
    malformed: Vec<Malformed>,
    /// For each group, the number of requests that still waited for a reply when the run ended.
    waiting: IndexMap<String, u64>,
}

impl TablePlan {
    /// The name of the group to which a row belongs; empty if the table has no groups.
    fn group<'a>(&self, cell: &impl Fn(usize) -> Option<&'a str>) -> String {
        let group = self.group.and_then(cell).unwrap_or("");
        match self.direction.and_then(cell) {
            None | Some("forward") => group.to_owned(),
            Some(direction) => format!("{group} {direction}"),
        }
    }

    /// Reads the instant or the time of day in a column.
    fn time<'a>(
        &self,
        cell: &impl Fn(usize) -> Option<&'a str>,
        column: Option<SourceColumn>,
    ) -> Result<Option<i64>, &'static str> {
        let Some(column) = column else { return Ok(None) };
        let text = cell(column.at).ok_or("too few columns")?;
        if is_missing(text) {
            return Ok(None);
        }
        let why = || ambiguous(text).unwrap_or("a time that cannot be read");
        moment(text, column.unit, self.dates).map(Some).ok_or_else(why)
    }

    /// Reads the delay in a column.
    fn delay<'a>(
        &self,
        cell: &impl Fn(usize) -> Option<&'a str>,
        column: SourceColumn,
    ) -> Result<Option<i64>, &'static str> {
        let text = cell(column.at).ok_or("too few columns")?;
        if self.decimal_commas && is_grouped(text) {
            return Err("the point may divide thousands, because other delays have decimal commas");
        }
        delay_ns(text, column)
    }

    /// Adds the date in the column of dates to `sent`, the time of sending. Returns the sum, and
    /// whether the time is local.
    fn dated<'a>(
        &self,
        mut sent: Option<i64>,
        cell: &impl Fn(usize) -> Option<&'a str>,
    ) -> Result<(Option<i64>, bool), &'static str> {
        let cell_at = |at: Option<usize>| at.and_then(cell).unwrap_or("");
        let (date, clock) = (cell_at(self.date), cell_at(self.sent.map(|column| column.at)));
        if let (false, Some(of_day)) = (date.is_empty(), sent) {
            sent = Some(match whole_date(date, self.dates) {
                Some(midnight) if of_day.abs() <= DAY => midnight.saturating_add(of_day),
                Some(_) => of_day,
                None => written(date, self.dates).ok_or("not a date")?,
            });
        }
        let stamps = [date, clock];
        let timed = stamps.iter().any(|text| has_clock(text));
        Ok((sent, timed && !stamps.iter().any(|text| has_zone(text))))
    }
}

/// The rows of one recording.
#[derive(Default)]
struct Group {
    tally: Tally,
    /// The highest number so far, unwrapped.
    last: u64,
    midnights: Midnights,
    rows: u64,
    duplicates: u64,
    /// The estimator whose rows are read, if the table holds replays.
    estimator: Option<String>,
    /// The order of the probes, if the table has a column for it.
    order: Option<ProbeOrder>,
    /// The kind of the delays, if the table has a column for it.
    measure: Option<Measure>,
    /// Whether some delay had a unit neither in the column's name nor in the cell.
    assumed: bool,
}

impl TableRows {
    pub fn new(plan: TablePlan) -> Self {
        Self { plan, groups: IndexMap::new(), malformed: Vec::new(), waiting: IndexMap::new() }
    }

    /// Adds a row. The function `cell` returns the cell at an index. The function `text` returns
    /// the whole row, for messages.
    pub fn read<'a>(
        &mut self,
        line: usize,
        cell: impl Fn(usize) -> Option<&'a str>,
        text: impl Fn() -> String,
    ) {
        if let Err(why) = self.take(&cell) {
            self.leave_out(&cell, Malformed::new(line, &text(), why));
        }
    }

    /// Leaves out a row that cannot be read. If the row has the number of its probe, the probe is
    /// not counted as lost.
    fn leave_out<'a>(&mut self, cell: &impl Fn(usize) -> Option<&'a str>, row: Malformed) {
        if let Some(raw) = self.plan.seq.and_then(cell).and_then(whole) {
            let group = self.groups.entry(self.plan.group(cell)).or_default();
            let number = group.unwrap(raw);
            group.tally.leave_out(number);
        }
        self.malformed.push(row);
    }

    fn take<'a>(&mut self, cell: &impl Fn(usize) -> Option<&'a str>) -> Result<(), &'static str> {
        let plan = &self.plan;
        let cell_at = |at: Option<usize>| at.and_then(cell);
        let time = |column: Option<SourceColumn>| plan.time(cell, column);
        let (sent, received) = (time(plan.sent)?, time(plan.received)?);
        let (sent, local) = plan.dated(sent, cell)?;
        let taken_ns = match (plan.rtt, sent, received) {
            (Some(column), ..) => plan.delay(cell, column)?,
            (None, Some(sent), Some(received)) => Some(received.saturating_sub(sent)),
            (None, ..) => None,
        };
        let mut rtt = taken_ns.and_then(span);
        let assumed = plan.rtt.is_some_and(|column| {
            let bare = |text| decimal(text, 1).is_some_and(bare);
            column.unit.is_none() && cell(column.at).is_some_and(bare)
        });
        let told = match (cell_at(plan.lost), cell_at(plan.answered)) {
            (Some(text), _) => Some(outcome::lost(text).ok_or("neither lost nor received")?),
            (None, Some(text)) => match outcome::success(text, plan.coded) {
                Some(answered) => Some(!answered),
                // The meaning of this code is unknown.
                None if plan.coded && whole(text).is_some() => None,
                None => return Err("neither success nor failure"),
            },
            (None, None) => None,
        };
        if taken_ns.is_some_and(|ns| ns < 0) && told != Some(true) {
            return Err(match plan.rtt {
                Some(_) => "a negative delay; only -1 means lost",
                None => "received before it was sent, so the two clocks differ",
            });
        }
        let lost = told.unwrap_or(rtt.is_none());
        let late = match plan.late {
            Some(column) => delay_ns(cell(column.at).ok_or("too few columns")?, column)?,
            None => None,
        }
        .and_then(span);
        if !lost && rtt.is_none() && plan.echo_probes {
            *self.waiting.entry(plan.group(cell)).or_default() += 1;
            return Ok(());
        }
        rtt = if lost { late } else { rtt };
        let number = match plan.seq {
            Some(at) => Some(
                whole(cell(at).ok_or("too few columns")?)
                    .ok_or("the sequence number is not a whole number")?,
            ),
            None => None,
        };
        let size = cell_at(plan.size).and_then(whole).and_then(|bytes| u32::try_from(bytes).ok());
        let duplicates = cell_at(plan.duplicates).and_then(whole).unwrap_or(0);
        let (order, measure) = (cell_at(plan.order).map(order), cell_at(plan.measure).map(measure));
        let group = self.groups.entry(plan.group(cell)).or_default();
        if let Some(estimator) = cell_at(plan.estimator)
            && group.estimator.get_or_insert_with(|| estimator.to_owned()) != estimator
        {
            return Ok(());
        }
        group.order = group.order.or(order.flatten());
        group.measure = group.measure.or(measure.flatten());
        group.tally.local |= local;
        group.assumed |= assumed;
        group.row(number, rtt, !lost, late.is_some(), size.unwrap_or(0), sent);
        group.duplicates += duplicates;
        Ok(())
    }

    /// Returns the recordings.
    ///
    /// # Errors
    /// When more than 4,194,304 (`MISSING_MAX`) probes of a recording are missing.
    pub fn finish(
        self,
        name: &str,
        format: &str,
        hints: &Hints,
    ) -> Result<Reading, RecordingError> {
        let mut reading = Reading { recordings: Vec::new(), malformed: self.malformed };
        let unread_rows = unread_rows(&reading.malformed);
        for (group, mut rows) in self.groups {
            let waiting = self.waiting.get(&group).copied().unwrap_or(0);
            let name = if group.is_empty() { name.into() } else { format!("{name}: {group}") };
            let mut delays = Delays::new(name, format);
            let plan = &self.plan;
            let default = if plan.one_way { Measure::OneWay } else { Measure::RoundTrip };
            delays.measure = rows.measure.unwrap_or(default);
            let default = if plan.echo_probes { ProbeOrder::Sequence } else { ProbeOrder::Causal };
            delays.order = rows.order.unwrap_or(default);
            let paced = plan.paced.then_some(PACE);
            if plan.paced && hints.interval.is_none() {
                delays
                    .notes
                    .push(format!("times computed: one delay every {PACE}, as in LeoReplayer"));
            }
            if waiting > 0 {
                let words = ["request", "requests"]
                    .map(|word| format!("{word} without a reply at the end of the run"));
                delays.notes.push(left_out(waiting, words.each_ref().map(String::as_str)));
            }
            let own = plan.echo_probes || plan.estimator.is_some() || plan.order.is_some();
            if !own && !plan.unused.is_empty() {
                delays.notes.push(format!("ignored columns: {}", plan.unused.join(", ")));
            }
            let repeated = rows.tally.duplicates();
            if repeated > 0 {
                delays.notes.push(format!(
                    "rows with the number of an earlier row count as duplicates: {repeated}; if they \
                     belong to another run, name the column that tells runs apart, as in \
                     `--column group=NAME`"
                ));
            }
            delays.notes.extend(unread_rows.clone());
            if self.plan.seq.is_none() {
                delays.notes.extend(in_order(&mut rows.tally).map(Into::into));
            }
            let range = rows.tally.ends();
            rows.tally.finish(&mut delays, range, hints.interval.or(paced))?;
            if rows.assumed {
                let note = unit_note(&delays);
                delays.notes.insert(0, note);
            }
            delays.duplicates += rows.duplicates;
            reading.recordings.push(delays);
        }
        Ok(reading)
    }
}

/// Puts the probes of rows without numbers in the order of sending. Returns a note; `None` if the
/// rows already had this order.
fn in_order(tally: &mut Tally) -> Option<&'static str> {
    let reversed = tally.is_reversed();
    if reversed {
        tally.reverse();
    }
    match (reversed, tally.sort_by_time()) {
        (true, _) => Some("the rows begin with the last probe, so they were sorted by time"),
        (false, true) => {
            Some("the rows are not in the order of sending, so they were sorted by time")
        }
        (false, false) => None,
    }
}

/// Returns the note about rows that could not be read; `None` if there are none.
fn unread_rows(malformed: &[Malformed]) -> Option<String> {
    let Malformed { line, why, .. } = malformed.first()?;
    let note = left_out(malformed.len() as u64, ["row of the file", "rows of the file"]);
    Some(format!("{note}; the first is line {line}: {why}"))
}

impl Group {
    fn row(
        &mut self,
        number: Option<u64>,
        rtt: Option<Duration>,
        answered: bool,
        late: bool,
        wire_bytes: u32,
        sent: Option<i64>,
    ) {
        let number = number.map_or(self.rows, |raw| self.unwrap(raw));
        let sent = sent.map(|written| self.midnights.since(written));
        self.rows += 1;
        self.last = self.last.max(number);
        let known = self.tally.answered(number);
        if answered || rtt.is_some() {
            self.tally.reply(number, rtt, wire_bytes);
        }
        let slot = self.tally.sent(number);
        if !known {
            slot.late = late;
            slot.wire_bytes = wire_bytes;
            slot.set_sent(sent);
        }
    }

    /// Unwraps a number of 16 bits: after the maximum, numbers continue and do not restart at 0.
    fn unwrap(&self, raw: u64) -> u64 {
        const NUMBERS: u64 = 1 << 16;
        let within = self.last % NUMBERS;
        let wrapped =
            raw < NUMBERS && self.last >= raw && within > NUMBERS / 4 * 3 && raw < NUMBERS / 4;
        match raw < NUMBERS {
            true if wrapped => self.last - within + NUMBERS + raw,
            true if self.last >= NUMBERS && raw <= within + NUMBERS / 4 => self.last - within + raw,
            true if self.last >= NUMBERS => self.last - within - NUMBERS + raw,
            _ => raw,
        }
    }
}
