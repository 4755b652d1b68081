//! Runs the cases of a chunk in order, and makes the table of the chunk. A sweep runs one scenario
//! many times with different values. Each of these runs is a case, and a chunk is a group of
//! consecutive cases.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use indexmap::IndexSet;

use netspurt::foreign::ForeignFault;
use netspurt::plan::Simulation;
use netspurt::record::{Column, Data, Table, write_table};
use netspurt::units::Duration;

use crate::scenario::{Combination, Label, ScenarioError, Sweep};

use super::measures::{EndedCase, MEASURES, Measured, measure};

/// A function that returns the real time since some fixed instant. The caller provides it, because
/// this crate reads no clock.
pub type Stopwatch = Arc<dyn Fn() -> Duration + Send + Sync>;

/// A chunk: consecutive cases of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// The number of the first case.
    pub first: u64,
    /// The number of cases.
    pub count: u64,
}

/// How many cases ended in each way, and the first error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CaseCounts {
    /// The number of cases that ran to their end.
    pub done: u64,
    /// The number of cases that were cut because they exceeded their budget.
    pub cut: u64,
    /// The number of live cases (runs in real time) that are not valid, for example because a
    /// delivery was late.
    pub late: u64,
    /// The number of cases with an error.
    pub errors: u64,
    /// The number of the first case with an error, and the error.
    pub first_error: Option<(u64, String)>,
}

/// The results of a chunk.
#[derive(Clone, Debug)]
pub struct FinishedChunk {
    /// The chunk.
    pub chunk: Chunk,
    /// The table of the chunk, as a Parquet file.
    pub bytes: Vec<u8>,
    /// How many cases of the chunk ended in each way.
    pub counts: CaseCounts,
    /// The wall-clock time that the chunk took.
    pub busy: Duration,
}

/// The way in which a case ended.
pub(super) enum CaseEnd {
    Done(Box<Measured>),
    /// The case ran live, and the run is valid.
    Live(Box<Measured>),
    Cut(String),
    Late(String),
    Error(String),
}

impl CaseEnd {
    /// Returns the end of a case that cannot run, because its values have a mistake.
    pub(super) fn of_mistake(error: &ScenarioError) -> Self {
        Self::Error(in_a_line(error))
    }

    /// Returns the way in which the case ended, and the text of the column `why`. This text says
    /// why the case has no measures, or why it lacks some. It is empty if a simulated case ran to
    /// its end.
    fn status_and_reason(&self) -> (CaseStatus, &str) {
        match self {
            Self::Done(_) => (CaseStatus::Done, ""),
            Self::Live(_) => (CaseStatus::Done, LIVE),
            Self::Cut(why) => (CaseStatus::Cut, why),
            Self::Late(why) => (CaseStatus::Late, why),
            Self::Error(why) => (CaseStatus::Error, why),
        }
    }
}

/// The reason why a live case lacks two of the measures.
const LIVE: &str = "live: `events` and `undone` are not known";

/// The way in which a case ended, as the column `status` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CaseStatus {
    Done,
    Cut,
    Late,
    Error,
}

impl CaseStatus {
    /// The words, in the order of the variants.
    const WORDS: [&str; 4] = ["done", "cut", "late", "error"];
}

pub(super) struct CaseRow {
    combination: u64,
    case: u64,
    seed: u64,
    drawn: Vec<Label>,
    pub(super) fingerprint: String,
    pub(super) end: CaseEnd,
}

impl CaseRow {
    /// The row of a case that has not run.
    pub(super) fn new(sweep: &Sweep, case: u64) -> Self {
        Self {
            combination: case / sweep.seeds(),
            case,
            seed: sweep.seed(case),
            drawn: sweep.drawn_labels(case),
            fingerprint: String::new(),
            end: CaseEnd::Error(String::new()),
        }
    }
}

/// Runs a chunk. Returns `None` if `cancelled` becomes true before the chunk is done.
///
/// A case that fails gives a row with its error. The octets of the table depend only on the cases,
/// unless a case is cut by its wall-clock budget.
pub fn run_chunk(
    sweep: &Sweep,
    chunk: Chunk,
    clock: &Stopwatch,
    cancelled: &AtomicBool,
) -> Option<FinishedChunk> {
    let began = clock();
    let mut rows = Vec::new();
    let mut current: Option<(u64, Result<Combination, ScenarioError>)> = None;
    let watch = CaseWatch { clock, cancelled };
    for case in chunk.first..(chunk.first + chunk.count).min(sweep.cases()) {
        let number = sweep.combination_number(case);
        let made = match current.take() {
            Some((made, combination)) if made == number => combination,
            _ => sweep.combination(case),
        };
        let (_, combination) = current.insert((number, made));
        rows.push(run_case(sweep, case, combination, watch));
        if watch.cancelled() {
            return None;
        }
    }
    Some(done(sweep, chunk, &rows, clock() - began))
}

/// Makes the results of a chunk with these rows.
///
/// # Panics
/// Never: a table in memory can be written.
pub(super) fn done(sweep: &Sweep, chunk: Chunk, rows: &[CaseRow], busy: Duration) -> FinishedChunk {
    let mut bytes = Vec::new();
    write_table(&table(sweep, rows), &mut bytes).expect("a table in memory can be written");
    FinishedChunk { chunk, bytes, counts: count(rows), busy }
}

/// The stopwatch that limits a case, and the flag that cancels it.
#[derive(Clone, Copy)]
struct CaseWatch<'a> {
    clock: &'a Stopwatch,
    cancelled: &'a AtomicBool,
}

impl CaseWatch<'_> {
    fn cancelled(self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

fn run_case(
    sweep: &Sweep,
    case: u64,
    combination: &mut Result<Combination, ScenarioError>,
    watch: CaseWatch<'_>,
) -> CaseRow {
    let mut row = CaseRow::new(sweep, case);
    let seed = row.seed;
    row.end = match combination {
        Err(error) => CaseEnd::of_mistake(error),
        Ok(combination) => {
            row.fingerprint.clone_from(&combination.fingerprint);
            // If a bug of this program makes one case panic, the other cases must still run.
            let result =
                catch_unwind(AssertUnwindSafe(|| simulate(sweep, combination, seed, watch)));
            result.unwrap_or_else(|panic| {
                CaseEnd::Error(match panic.downcast_ref::<ForeignFault>() {
                    Some(fault) => fault.message.clone(),
                    None => format!("netspurt failed: {}", words(&*panic)),
                })
            })
        }
    };
    row
}

/// Runs a combination with a seed, within the sweep's budget.
fn simulate(
    sweep: &Sweep,
    combination: &mut Combination,
    seed: u64,
    watch: CaseWatch<'_>,
) -> CaseEnd {
    let mut run = match combination.simulate(seed) {
        Ok(run) => run,
        Err(error) => return CaseEnd::of_mistake(&error),
    };
    match within(&mut run, sweep, watch) {
        Some(why) => CaseEnd::Cut(why),
        None => {
            let events = Some(run.served());
            let results = run.finish();
            let tables = results.tables().iter().collect();
            CaseEnd::Done(Box::new(measure(&EndedCase { tables, stop: results.stop(), events })))
        }
    }
}

/// The maximum number of wake-ups after which the clock is read again. This number is small,
/// because a wake-up may take long if a queue's algorithm has many updates to make.
const LOOK: u64 = 256;

/// Runs the simulation `run` to its end and returns `None`. If the run is cut before its end,
/// returns the reason: the exceeded budget, or the cancellation.
fn within(run: &mut Simulation, sweep: &Sweep, watch: CaseWatch<'_>) -> Option<String> {
    let clock = watch.clock;
    let budget = sweep.budget();
    let events_max = budget.events.unwrap_or(u64::MAX);
    let deadline = budget.time.map(|time| clock() + time);
    let stop = run.stop();
    // The budget's events are wake-ups. The loop may serve one wake-up more than the budget allows.
    // If it does, the run needs more than its budget. A run that needs exactly the allowed number
    // of wake-ups is not cut.
    while !run.advance_within(stop, (events_max.saturating_add(1) - run.served()).min(LOOK)) {
        if run.served() > events_max {
            return Some(format!("more than {events_max} events"));
        }
        if watch.cancelled() {
            return Some("cancelled".to_owned());
        }
        if let (Some(deadline), Some(time)) = (deadline, budget.time)
            && clock() > deadline
        {
            return Some(too_long(time));
        }
    }
    None
}

/// Returns the reason for cutting a case that took more than `time`.
pub(super) fn too_long(time: Duration) -> String {
    format!("longer than {time}")
}

/// Returns the text of an error on one line: the key, the mistake and the fix, without the place in
/// the file.
fn in_a_line(error: &ScenarioError) -> String {
    let key = if error.key.is_empty() { String::new() } else { format!("{}: ", error.key) };
    let fix = if error.fix.is_empty() { String::new() } else { format!("; {}", error.fix) };
    format!("{key}{}{fix}", error.message)
}

fn words(panic: &(dyn core::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic")
}

fn count(rows: &[CaseRow]) -> CaseCounts {
    let mut counts = CaseCounts::default();
    for row in rows {
        let (status, why) = row.end.status_and_reason();
        match status {
            CaseStatus::Done => counts.done += 1,
            CaseStatus::Cut => counts.cut += 1,
            CaseStatus::Late => counts.late += 1,
            CaseStatus::Error => {
                counts.errors += 1;
                counts.first_error.get_or_insert_with(|| (row.case, why.to_owned()));
            }
        }
    }
    counts
}

/// The table `cases`. For each case, it has the values, the way in which the case ended, and the
/// measures.
fn table(sweep: &Sweep, rows: &[CaseRow]) -> Table {
    let number = |of: &dyn Fn(&CaseRow) -> u64| -> Data {
        Data::I64(rows.iter().map(|row| of(row).cast_signed()).collect())
    };
    let mut columns = vec![
        Column::new("case", number(&|row| row.case)),
        Column::new("scenario", texts(rows.iter().map(|row| row.fingerprint.clone()))),
        Column::new("seed", number(&|row| row.seed)),
        Column::new("repeat", number(&|row| sweep.repeat(row.case))),
    ];
    columns.extend(label_columns(sweep, rows));
    let codes = rows.iter().map(|row| row.end.status_and_reason().0 as u8).collect();
    let texts_of = &CaseStatus::WORDS;
    columns.push(Column::new("status", Data::Tag { codes, texts: texts_of }));
    columns.push(Column::new(
        "why",
        texts(rows.iter().map(|row| row.end.status_and_reason().1.to_owned())),
    ));
    columns.extend((0..MEASURES.len()).map(|n| measure_column(rows, n)));
    Table::new("cases", columns)
}

#[expect(clippy::cast_possible_truncation, reason = "the measures are whole numbers below 2^53")]
fn measure_column(rows: &[CaseRow], n: usize) -> Column {
    let values = rows.iter().map(|row| match &row.end {
        CaseEnd::Done(measured) | CaseEnd::Live(measured) => measured[n],
        _ => None,
    });
    let data = if MEASURES[n].fraction {
        Data::OptionalF64(values.collect())
    } else {
        Data::OptionalI64(values.map(|value| value.map(|value| value as i64)).collect())
    };
    Column::new(MEASURES[n].name, data)
}

/// A column for each axis.
fn label_columns(sweep: &Sweep, rows: &[CaseRow]) -> Vec<Column> {
    let labels: Vec<Vec<Label>> = rows.iter().map(|row| sweep.labels(row.combination)).collect();
    let axes = sweep
        .names()
        .iter()
        .zip(sweep.all_labels())
        .enumerate()
        .map(|(n, (name, all))| label_column(name, &all, labels.iter().map(|row| &row[n])));
    let drawn = sweep.drawn().iter().enumerate().map(|(n, axis)| {
        let all: Vec<Label> = axis.points().iter().map(|point| point.label.clone()).collect();
        label_column(axis.name(), &all, rows.iter().map(|row| &row.drawn[n]))
    });
    axes.chain(drawn).collect()
}

/// The column of an axis. The list `all` has the labels of the axis, and `own` gives the labels of
/// the rows. The column holds numbers if all labels of the axis are numbers, else texts.
#[expect(clippy::cast_precision_loss, reason = "whole numbers in labels stay far below 2^53")]
fn label_column<'a>(name: &str, all: &[Label], own: impl Iterator<Item = &'a Label>) -> Column {
    let data = if all.iter().all(|label| matches!(label, Label::Whole(_))) {
        let whole_number = |label: &Label| if let Label::Whole(value) = label { *value } else { 0 };
        Data::I64(own.map(whole_number).collect())
    } else if all.iter().all(|label| !matches!(label, Label::Text(_))) {
        let number = |label: &Label| match label {
            Label::Whole(value) => Some(*value as f64),
            Label::Number(value) => Some(*value),
            Label::Text(_) => None,
        };
        Data::OptionalF64(own.map(number).collect())
    } else {
        texts(own.map(Label::to_string))
    };
    Column::new(name.to_owned(), data)
}

fn texts(all: impl Iterator<Item = String>) -> Data {
    let mut known: IndexSet<String> = IndexSet::new();
    let codes = all.map(|text| u32::try_from(known.insert_full(text).0).unwrap_or(u32::MAX));
    let codes = codes.collect();
    Data::Text { codes, texts: known.into_iter().collect() }
}
