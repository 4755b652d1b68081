//! What came of connections that came and went: a row for each, and sums over a population of them.

use hdrhistogram::Histogram;

use super::judge::{Retransmissions, SenderVerdict};
use super::names::{Names, nanos};
use super::summary::FlowSum;
use super::table::{Column, Data, Table};
use crate::app::FlowResult;
use crate::ids::{EndId, FlowId, Side};
use crate::segment::Cause;
use crate::units::{Duration, Time};

/// The results of a connection of a population.
///
/// Its duration is the time from its first SYN to the last acknowledgement of data, which reaches
/// the end that wrote last. Its response time is the time from its first SYN until its opener had
/// read all replies; a transfer without replies has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionSum {
    /// The connection.
    pub flow: FlowId,
    /// When its first SYN left.
    pub start: Time,
    /// Octets to be written, forward and reverse.
    pub octets: [u64; 2],
    /// The number of requests.
    pub requests: u32,
    /// The time from its first SYN to the last acknowledgement of data.
    pub duration: Option<Duration>,
    /// The time from its first SYN until its opener had read all replies.
    pub response: Option<Duration>,
    /// The sums of what each end sent, the opener first.
    pub ends: [FlowSum; 2],
}

/// The sums of what both ends of a flow sent, from their results and the judge's verdict on each.
pub fn sums_of_ends([from, to]: [FlowResult; 2], verdicts: [SenderVerdict; 2]) -> [FlowSum; 2] {
    let sum = |of, SenderVerdict { retransmissions: verdict, waited }| FlowSum {
        verdict,
        waited,
        ..FlowSum::of(of)
    };
    [sum([from, to], verdicts[0]), sum([to, from], verdicts[1])]
}

impl ConnectionSum {
    /// Whether it ended otherwise than by closing.
    fn failed(&self) -> bool {
        self.ends.iter().any(|end| end.failure.is_some())
    }

    /// The retransmissions of both ends.
    fn retransmissions(&self) -> Retransmissions {
        let [mut all, other] = self.ends.map(|end| end.verdict);
        all.add(&other);
        all
    }
}

/// What is kept of each connection where each is wanted.
#[derive(Clone, Copy, Debug)]
struct ConnectionOutcome {
    flow: FlowId,
    start: Time,
    octets: [u64; 2],
    requests: u32,
    duration: Option<Duration>,
    response: Option<Duration>,
    sent: u32,
    timeouts: u32,
    retransmissions: Retransmissions,
    failed: bool,
}

/// The sums over the connections of a population. Its size does not depend on their number.
#[derive(Clone, Debug)]
struct PopulationSum {
    connections: u64,
    failed: u64,
    octets: [u64; 2],
    ends: [FlowSum; 2],
    durations: Spans,
    responses: Spans,
}

/// How spans of time are distributed.
#[derive(Clone, Debug)]
struct Spans {
    /// In nanoseconds, each known to 1 in 1000.
    histogram: Histogram<u64>,
    sum_ns: u128,
    max: Duration,
}

/// What came of all populations of a run.
#[derive(Clone, Debug)]
pub struct PopulationSums {
    names: Names,
    /// In the order of [`Names::populations`].
    sums: Vec<PopulationSum>,
    /// Of each connection, if each is wanted.
    rows: Option<Vec<ConnectionOutcome>>,
}

/// The shares of connections whose durations the table of populations tells, and the names of its
/// columns.
const QUANTILES: [(f64, [&str; 2]); 5] = [
    (0.5, ["duration_ns_p50", "response_ns_p50"]),
    (0.75, ["duration_ns_p75", "response_ns_p75"]),
    (0.9, ["duration_ns_p90", "response_ns_p90"]),
    (0.99, ["duration_ns_p99", "response_ns_p99"]),
    (0.999, ["duration_ns_p999", "response_ns_p999"]),
];

impl Spans {
    fn new() -> Self {
        let histogram = Histogram::new(3).expect("three digits are possible");
        Self { histogram, sum_ns: 0, max: Duration::ZERO }
    }

    fn add(&mut self, span: Duration) {
        self.histogram.record(span.as_nanos()).expect("the histogram grows");
        self.sum_ns += u128::from(span.as_nanos());
        self.max = self.max.max(span);
    }

    fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The least span that this share does not exceed, at most 1 in 1000 too great.
    fn quantile(&self, share: f64) -> Option<i64> {
        let value = || self.histogram.value_at_quantile(share).min(self.max.as_nanos());
        (self.count() > 0).then(|| value().cast_signed())
    }

    fn mean(&self) -> Option<i64> {
        let mean = self.sum_ns.checked_div(self.count().into())?;
        i64::try_from(mean).ok()
    }

    fn max(&self) -> Option<i64> {
        (self.count() > 0).then(|| self.max.as_nanos().cast_signed())
    }
}

impl PopulationSum {
    fn new() -> Self {
        Self {
            connections: 0,
            failed: 0,
            octets: [0; 2],
            ends: Default::default(),
            durations: Spans::new(),
            responses: Spans::new(),
        }
    }

    fn add(&mut self, one: &ConnectionSum) {
        self.connections += 1;
        self.failed += u64::from(one.failed());
        for side in 0..2 {
            self.octets[side] = self.octets[side].saturating_add(one.octets[side]);
            self.ends[side].add(&one.ends[side]);
        }
        one.duration.into_iter().for_each(|span| self.durations.add(span));
        one.response.into_iter().for_each(|span| self.responses.add(span));
    }
}

impl PopulationSums {
    /// The sums of the populations of `names`, no connection of which has ended. With `each`, a row
    /// of each connection is kept.
    pub fn new(names: Names, each: bool) -> Self {
        let sums = names.populations().map(|_| PopulationSum::new()).collect();
        Self { names, sums, rows: each.then(Vec::new) }
    }

    /// The names of the run.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Adds what came of a connection.
    ///
    /// # Panics
    /// When it is of no population.
    pub fn add(&mut self, one: &ConnectionSum) {
        let population = self.names.population(one.flow).expect("a connection of a population");
        let first = self.names.populations().next().map_or(0, |first| first.0);
        self.sums[(population.0 - first) as usize].add(one);
        let Some(rows) = &mut self.rows else { return };
        let both = |of: fn(&FlowSum) -> u64| {
            u32::try_from(one.ends.iter().map(of).sum::<u64>()).unwrap_or(u32::MAX)
        };
        rows.push(ConnectionOutcome {
            flow: one.flow,
            start: one.start,
            octets: one.octets,
            requests: one.requests,
            duration: one.duration,
            response: one.response,
            sent: both(|end| end.sent),
            timeouts: both(|end| end.timeouts),
            retransmissions: one.retransmissions(),
            failed: one.failed(),
        });
    }

    /// How many rows it keeps.
    pub fn rows(&self) -> u64 {
        self.rows.as_ref().map_or(0, |rows| rows.len() as u64)
    }

    /// The sums of each population, by the number that stands for it.
    pub fn senders(&self) -> Vec<(EndId, FlowSum)> {
        let ends = |(id, sum): (FlowId, &PopulationSum)| {
            Side::BOTH.map(|side| (id.end(side), sum.ends[side.index()]))
        };
        self.names.populations().zip(&self.sums).flat_map(ends).collect()
    }

    /// The table `populations`, and `connections` if each is wanted.
    pub fn tables(&self) -> Vec<Table> {
        let each = self.rows.as_ref().map(|rows| connections_table(&self.names, rows));
        [Some(self.table()), each].into_iter().flatten().collect()
    }

    /// The table `populations`: a row for each.
    fn table(&self) -> Table {
        let number = |of: &dyn Fn(&PopulationSum) -> u64| {
            Data::I64(self.sums.iter().map(|sum| of(sum).cast_signed()).collect())
        };
        let both = |of: fn(&FlowSum) -> u64| number(&|sum| sum.ends.iter().map(of).sum());
        let some = |of: &dyn Fn(&PopulationSum) -> Option<i64>| {
            Data::OptionalI64(self.sums.iter().map(of).collect())
        };
        let mut columns = vec![
            ("connections", number(&|sum| sum.connections)),
            ("complete", number(&|sum| sum.durations.count())),
            ("failed", number(&|sum| sum.failed)),
            ("forward_bytes", number(&|sum| sum.octets[0])),
            ("reverse_bytes", number(&|sum| sum.octets[1])),
            ("sent", both(|end| end.sent)),
            ("retransmissions", both(|end| end.retransmissions)),
            ("spurious", both(FlowSum::spurious)),
            ("undone", both(|end| end.undone)),
            ("timeouts", both(|end| end.timeouts)),
            ("fast_retransmits", both(|end| end.fast_retransmits)),
            ("received", both(|end| end.received)),
            ("duplicates", both(|end| end.duplicates)),
            ("acked_bytes", both(|end| end.acked_bytes)),
            ("delivered_bytes", both(|end| end.delivered_bytes)),
            ("waited_ns", both(|end| end.waited.as_nanos())),
            ("duration_ns_mean", some(&|sum| sum.durations.mean())),
        ];
        let quantiles = |place: usize, of: fn(&PopulationSum) -> &Spans| {
            QUANTILES.map(|(share, names)| (names[place], some(&|sum| of(sum).quantile(share))))
        };
        columns.extend(quantiles(0, |sum| &sum.durations));
        columns.push(("duration_ns_max", some(&|sum| sum.durations.max())));
        columns.push(("response_ns_mean", some(&|sum| sum.responses.mean())));
        columns.extend(quantiles(1, |sum| &sum.responses));
        columns.push(("response_ns_max", some(&|sum| sum.responses.max())));
        let columns = columns.into_iter().map(|(name, data)| Column::new(name, data));
        let codes = self.names.populations().map(|id| id.0).collect();
        let names = self.names.flows_column("population", codes);
        Table::new("populations", [names].into_iter().chain(columns).collect())
    }
}

/// The table `connections`: one row for each connection, in the order of their starts.
fn connections_table(names: &Names, rows: &[ConnectionOutcome]) -> Table {
    let mut rows = rows.to_vec();
    rows.sort_unstable_by_key(|row| (row.start, row.flow));
    let number = |of: &dyn Fn(&ConnectionOutcome) -> u64| {
        Data::I64(rows.iter().map(|row| of(row).cast_signed()).collect())
    };
    let count = |of: &dyn Fn(&ConnectionOutcome) -> u32| Data::U32(rows.iter().map(of).collect());
    let span = |of: fn(&ConnectionOutcome) -> Option<Duration>| {
        let nanos = |row| of(row).map(|span| span.as_nanos().cast_signed());
        Data::OptionalI64(rows.iter().map(nanos).collect())
    };
    let columns = [
        ("requests", count(&|row| row.requests)),
        ("forward_bytes", number(&|row| row.octets[0])),
        ("reverse_bytes", number(&|row| row.octets[1])),
        ("duration_ns", span(|row| row.duration)),
        ("response_ns", span(|row| row.response)),
        ("sent", count(&|row| row.sent)),
        ("timeouts", count(&|row| row.timeouts)),
    ];
    let columns = columns.map(|(name, data)| Column::new(name, data));
    let by_cause = Cause::KNOWN.iter().flat_map(|cause| {
        let (place, name) = (*cause as usize, cause.name().replace('-', "_"));
        let sent = count(&|row| row.retransmissions.sent[place]);
        let spurious = count(&|row| row.retransmissions.spurious[place]);
        [
            Column::new(format!("retransmissions_{name}"), sent),
            Column::new(format!("spurious_{name}"), spurious),
        ]
    });
    let failed = Data::Bool(rows.iter().map(|row| row.failed).collect());
    let starts = Data::I64(rows.iter().map(|row| nanos(row.start)).collect());
    let flow = names.flow_column(rows.iter().map(|row| row.flow.0).collect());
    let columns =
        [Column::new("opened_ns", starts), flow].into_iter().chain(columns).chain(by_cause);
    let columns = columns.chain([Column::new("failed", failed)]);
    Table::new("connections", columns.collect())
}
