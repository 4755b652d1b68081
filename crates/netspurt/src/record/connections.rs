//! Makes two tables about populations. A population is many connections of one kind that start at
//! different instants of a run. The table `connections` has a row for each connection, and the
//! table `populations` has sums over each population.

use hdrhistogram::Histogram;

use super::judge::{Retransmissions, SenderVerdict};
use super::names::{Names, nanos};
use super::summary::FlowSum;
use super::table::{Column, Data, Table};
use crate::app::{Exchange, FlowResult};
use crate::ids::{EndId, FlowId, Side};
use crate::segment::Cause;
use crate::units::{Duration, Time};

/// The results of a connection of a population.
///
/// The duration is the time from the first SYN to the last acknowledgment of data, as seen by the
/// end that wrote last. The response time is the time from the first SYN until the opener (the end
/// that sent this SYN) had read all replies. A transfer without replies has no response time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionSum {
    /// The connection.
    pub flow: FlowId,
    /// When the first SYN left.
    pub start: Time,
    /// The numbers of octets to be written, forward and reverse.
    pub octets: [u64; 2],
    /// The number of requests.
    pub requests: u32,
    /// The time from the first SYN to the last acknowledgment of data. The value is `None` if the
    /// connection did not complete.
    pub duration: Option<Duration>,
    /// The time from the first SYN until the opener had read all replies. The value is `None` if
    /// the opener did not read all replies, or if there are no replies.
    pub response: Option<Duration>,
    /// The results of each end as a sender. The opener (the end that sent the first SYN) comes
    /// first.
    pub ends: [FlowSum; 2],
}

/// Returns the results of both ends of a flow as senders, the opener first. Combines the results of
/// the two hosts with the verdicts on both ends: which retransmissions of each end were spurious,
/// and how long the end waited.
pub fn sums_of_ends([from, to]: [FlowResult; 2], verdicts: [SenderVerdict; 2]) -> [FlowSum; 2] {
    let sum = |of, SenderVerdict { retransmissions: verdict, waited }| FlowSum {
        verdict,
        waited,
        ..FlowSum::of(of)
    };
    [sum([from, to], verdicts[0]), sum([to, from], verdicts[1])]
}

impl ConnectionSum {
    /// Whether the connection was refused, reset or timed out.
    fn failed(&self) -> bool {
        self.ends.iter().any(|end| end.failure.is_some())
    }

    /// Adds up the retransmissions of both ends.
    fn retransmissions(&self) -> Retransmissions {
        let [mut all, other] = self.ends.map(|end| end.verdict);
        all.add(&other);
        all
    }
}

/// A row of the table `connections`.
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

/// The sums over the connections of a population. Their size in memory does not depend on the
/// number of connections.
#[derive(Clone, Debug)]
struct PopulationSum {
    connections: u64,
    failed: u64,
    octets: [u64; 2],
    ends: [FlowSum; 2],
    durations: Spans,
    responses: Spans,
    requests: Spans,
}

/// The distribution of spans of one kind, for example the durations of connections. A span is open
/// if it had not ended when the run ended.
#[derive(Clone, Debug)]
struct Spans {
    /// The spans that ended, in nanoseconds. Each span is stored to a precision of 1 in 1000.
    histogram: Histogram<u64>,
    sum_ns: u128,
    max: Duration,
    /// The number of open spans.
    open: u64,
    /// When the oldest open request was written. The value is `Time::NEVER` if no request is open,
    /// or if the spans are not those of requests.
    waiting_since: Time,
}

/// The results of all populations of a run.
#[derive(Clone, Debug)]
pub struct PopulationSums {
    names: Names,
    /// The sums of each population, in the order of [`Names::populations`].
    sums: Vec<PopulationSum>,
    /// A row for each connection, if the run records single connections.
    rows: Option<Vec<ConnectionOutcome>>,
}

/// The quantiles in the table `populations`. Each quantile has the numerator and the denominator of
/// its share, and the last part of its column's name.
const QUANTILES: [(u64, u64, &str); 5] =
    [(1, 2, "p50"), (3, 4, "p75"), (9, 10, "p90"), (99, 100, "p99"), (999, 1000, "p999")];

impl Spans {
    fn new() -> Self {
        let histogram = Histogram::new(3).expect("3 significant digits are allowed");
        Self { histogram, sum_ns: 0, max: Duration::ZERO, open: 0, waiting_since: Time::NEVER }
    }

    fn add(&mut self, span: Option<Duration>) {
        let Some(span) = span else {
            self.open += 1;
            return;
        };
        self.histogram.record(span.as_nanos()).expect("the histogram grows");
        self.sum_ns += u128::from(span.as_nanos());
        self.max = self.max.max(span);
    }

    /// Adds the span from a request to the end of its reply. If the request is open,
    /// [`max`](Self::max) includes the time that it has waited.
    fn add_request(&mut self, exchange: &Exchange) {
        if exchange.complete.is_none() {
            self.waiting_since = self.waiting_since.min(exchange.asked);
        }
        self.add(exchange.complete.map(|at| at.saturating_since(exchange.asked)));
    }

    /// The number of spans that ended.
    fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// Returns the quantile for the share `numerator / denominator`: the span of rank ⌈share · n⌉
    /// in ascending order, where n is the number of all spans (definition 1 of Hyndman and Fan
    /// 1996). The result exceeds the exact value by at most 1 in 1000. An open span counts as
    /// longer than all others. Returns `None` if the rank belongs to an open span. Also returns
    /// `None` if the rank is n, because the quantile would be the maximum.
    #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^53")]
    fn quantile(&self, numerator: u64, denominator: u64) -> Option<i64> {
        let all = self.count() + self.open;
        let rank = (all * numerator).div_ceil(denominator);
        if rank == all || rank > self.count() {
            return None;
        }
        // The histogram rounds a share up to the next rank. The share given here is in the middle
        // between two ranks, so a rounding error in the division cannot change the rank.
        let share = (rank as f64 - 0.5) / self.count() as f64;
        let value = self.histogram.value_at_quantile(share).min(self.max.as_nanos());
        Some(value.cast_signed())
    }

    /// The mean, in nanoseconds, of the spans that ended. If no span ended, returns `None`.
    fn mean(&self) -> Option<i64> {
        let mean = self.sum_ns.checked_div(self.count().into())?;
        i64::try_from(mean).ok()
    }

    /// The longest of the spans that ended, in nanoseconds. If a request is open at the instant
    /// `stop`, the time that this request has waited also counts, because the request takes at
    /// least this time. Returns `None` if no span ended and no request is open.
    fn max(&self, stop: Time) -> Option<i64> {
        let ended = (self.count() > 0).then_some(self.max);
        let waits =
            (self.waiting_since < Time::NEVER).then(|| stop.saturating_since(self.waiting_since));
        ended.max(waits).map(|span| span.as_nanos().cast_signed())
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
            requests: Spans::new(),
        }
    }

    fn add(&mut self, sum: &ConnectionSum, exchanges: &[Exchange]) {
        self.connections += 1;
        self.failed += u64::from(sum.failed());
        for side in 0..2 {
            self.octets[side] = self.octets[side].saturating_add(sum.octets[side]);
            self.ends[side].add(&sum.ends[side]);
        }
        self.durations.add(sum.duration);
        if sum.requests > 0 {
            self.responses.add(sum.response);
        }
        for exchange in exchanges {
            self.requests.add_request(exchange);
        }
    }
}

impl PopulationSums {
    /// Makes empty sums for the populations of `names`. If `each` is true, the sums also keep a row
    /// for each connection.
    pub fn new(names: Names, each: bool) -> Self {
        let sums = names.populations().map(|_| PopulationSum::new()).collect();
        Self { names, sums, rows: each.then(Vec::new) }
    }

    /// The names of the run.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Adds the results of a connection and of its requests.
    ///
    /// # Panics
    /// When the connection does not belong to a population.
    pub fn add(&mut self, sum: &ConnectionSum, exchanges: &[Exchange]) {
        let population = self.names.population(sum.flow).expect("a connection of a population");
        let first = self.names.populations().next().map_or(0, |first| first.0);
        self.sums[(population.0 - first) as usize].add(sum, exchanges);
        let Some(rows) = &mut self.rows else { return };
        let both = |of: fn(&FlowSum) -> u64| {
            u32::try_from(sum.ends.iter().map(of).sum::<u64>()).unwrap_or(u32::MAX)
        };
        rows.push(ConnectionOutcome {
            flow: sum.flow,
            start: sum.start,
            octets: sum.octets,
            requests: sum.requests,
            duration: sum.duration,
            response: sum.response,
            sent: both(|end| end.sent),
            timeouts: both(|end| end.timeouts),
            retransmissions: sum.retransmissions(),
            failed: sum.failed(),
        });
    }

    /// The number of rows of single connections.
    pub fn rows(&self) -> u64 {
        self.rows.as_ref().map_or(0, |rows| rows.len() as u64)
    }

    /// Returns two sums for each population, one for each direction. Each sum comes with the end of
    /// the population's flow that sends in this direction.
    pub fn senders(&self) -> Vec<(EndId, FlowSum)> {
        let ends = |(id, sum): (FlowId, &PopulationSum)| {
            Side::BOTH.map(|side| (id.end(side), sum.ends[side.index()]))
        };
        self.names.populations().zip(&self.sums).flat_map(ends).collect()
    }

    /// Makes the table `populations`. If single connections are recorded, it also makes the table
    /// `connections`. The run ended at the instant `stop`.
    pub fn tables(&self, stop: Time) -> Vec<Table> {
        let each = self.rows.as_ref().map(|rows| connections_table(&self.names, rows));
        [Some(self.table(stop)), each].into_iter().flatten().collect()
    }

    /// Makes the table `populations`: a row for each population.
    fn table(&self, stop: Time) -> Table {
        let number = |of: &dyn Fn(&PopulationSum) -> u64| {
            Data::I64(self.sums.iter().map(|sum| of(sum).cast_signed()).collect())
        };
        let both = |of: fn(&FlowSum) -> u64| number(&|sum| sum.ends.iter().map(of).sum());
        let mut columns = [
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
            ("requests", number(&|sum| sum.requests.count() + sum.requests.open)),
            ("requests_complete", number(&|sum| sum.requests.count())),
        ]
        .map(|(name, data)| Column::new(name, data))
        .to_vec();
        columns.extend(self.spans("duration_ns", |sum| &sum.durations, stop));
        columns.extend(self.spans("response_ns", |sum| &sum.responses, stop));
        columns.extend(self.spans("request_ns", |sum| &sum.requests, stop));
        let codes = self.names.populations().map(|id| id.0).collect();
        let names = self.names.flows_column("population", codes);
        Table::new("populations", [names].into_iter().chain(columns).collect())
    }

    /// Makes the columns for the spans of one kind: the mean, the quantiles and the maximum.
    fn spans(&self, name: &str, of: fn(&PopulationSum) -> &Spans, stop: Time) -> Vec<Column> {
        let column = |end: &str, value: &dyn Fn(&Spans) -> Option<i64>| {
            let values = self.sums.iter().map(|sum| value(of(sum))).collect();
            Column::new(format!("{name}_{end}"), Data::OptionalI64(values))
        };
        let quantile = |(numerator, denominator, end): (u64, u64, &str)| {
            column(end, &|spans| spans.quantile(numerator, denominator))
        };
        let quantiles = QUANTILES.map(quantile);
        let (mean, max) = (column("mean", &Spans::mean), column("max", &|spans| spans.max(stop)));
        [mean].into_iter().chain(quantiles).chain([max]).collect()
    }
}

/// Makes the table `connections`: one row for each connection, in the order of their starts.
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
    let by_cause = Cause::IN_RUNS.iter().flat_map(|cause| {
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
