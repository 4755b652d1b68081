//! The measures of a case (one run of a sweep). They are sums, means, maxima and quantiles of the
//! results of its flows, links, echo probes, requests and populations. A population is many
//! connections of one kind.

use netspurt::ids::Direction;
use netspurt::record::{Data, Table};
use netspurt::segment::Cause;
use netspurt::units::Time;

/// A measure of a case.
#[derive(Clone, Copy, Debug)]
pub struct CaseMeasure {
    /// The column's name, with the unit if the measure has one.
    pub name: &'static str,
    /// Whether its values are numbers with a fraction.
    pub fraction: bool,
}

const fn whole_number(name: &'static str) -> CaseMeasure {
    CaseMeasure { name, fraction: false }
}

const fn fraction(name: &'static str) -> CaseMeasure {
    CaseMeasure { name, fraction: true }
}

/// The measures, in the order of their columns.
pub const MEASURES: [CaseMeasure; 67] = [
    whole_number("events"),
    whole_number("flows"),
    whole_number("finished"),
    whole_number("sent"),
    whole_number("retransmissions"),
    whole_number("spurious"),
    whole_number("undone"),
    whole_number("timeouts"),
    whole_number("fast_retransmits"),
    whole_number("received"),
    whole_number("duplicates"),
    whole_number("acked_bytes"),
    whole_number("delivered_bytes"),
    whole_number("waited_ns"),
    whole_number("window_limited"),
    whole_number("completion_ns_mean"),
    whole_number("completion_ns_max"),
    whole_number("completion_ns_p50"),
    whole_number("completion_ns_p90"),
    whole_number("completion_ns_p99"),
    whole_number("completion_ns_p999"),
    fraction("goodput_bps"),
    fraction("fairness"),
    whole_number("carried"),
    whole_number("carried_bytes"),
    fraction("busiest_bps"),
    whole_number("dropped"),
    whole_number("lost"),
    whole_number("marked"),
    whole_number("overtook"),
    whole_number("queue_packets_max"),
    whole_number("echo_probes_lost"),
    whole_number("echo_probe_rtt_ns_mean"),
    whole_number("requests"),
    whole_number("requests_complete"),
    whole_number("request_ns_mean"),
    whole_number("request_ns_max"),
    whole_number("request_ns_p50"),
    whole_number("request_ns_p90"),
    whole_number("request_ns_p99"),
    whole_number("request_ns_p999"),
    whole_number("connections"),
    whole_number("connections_complete"),
    whole_number("connection_ns_mean"),
    whole_number("connection_ns_max"),
    whole_number("connection_ns_p50"),
    whole_number("connection_ns_p90"),
    whole_number("connection_ns_p99"),
    whole_number("connection_ns_p999"),
    whole_number("retransmissions_fast"),
    whole_number("retransmissions_sack_recovery"),
    whole_number("retransmissions_rack"),
    whole_number("retransmissions_rto"),
    whole_number("retransmissions_tlp"),
    whole_number("retransmissions_sfr"),
    whole_number("retransmissions_go_back_n"),
    whole_number("retransmissions_syn"),
    whole_number("retransmissions_shim"),
    whole_number("spurious_fast"),
    whole_number("spurious_sack_recovery"),
    whole_number("spurious_rack"),
    whole_number("spurious_rto"),
    whole_number("spurious_tlp"),
    whole_number("spurious_sfr"),
    whole_number("spurious_go_back_n"),
    whole_number("spurious_syn"),
    whole_number("spurious_shim"),
];

/// The last measures count retransmissions by their cause, in the order of [`Cause::IN_RUNS`].
/// `BEFORE_CAUSES` is the number of measures before them.
const BEFORE_CAUSES: usize = MEASURES.len() - 2 * Cause::IN_RUNS.len();

/// The columns with the times of requests in the table of populations. They are used if no flow
/// sends requests.
const REQUESTS: [&str; 6] = [
    "request_ns_mean",
    "request_ns_max",
    "request_ns_p50",
    "request_ns_p90",
    "request_ns_p99",
    "request_ns_p999",
];

/// The value of each measure; `None` if a measure has no value, such as the duration of endless
/// flows.
pub type Measured = [Option<f64>; MEASURES.len()];

/// Measures a case that ran to its end.
#[expect(clippy::cast_precision_loss, reason = "sums stay far below 2^53")]
pub fn measure(case: &EndedCase<'_>) -> Measured {
    let (flows, links) = (MaybeTable::of(case, "flows"), MaybeTable::of(case, "links"));
    let echo_probes = MaybeTable::of(case, "echo_probes");
    let reverse = flows.reverse();
    let spans = completions(&flows, &reverse);
    let goodputs = goodputs(&flows, &reverse, case.stop.as_nanos() as f64);
    let [span_p50, span_p90, span_p99, span_p999] = QUANTILES.map(|share| quantile(&spans, share));
    let finished = spans.iter().flatten().count() as f64;
    let rtts = echo_probes.values("rtt_ns");
    let populations = MaybeTable::of(case, "populations");
    let [asked, answered, asked_mean, asked_max, asked_p50, asked_p90, asked_p99, asked_p999] =
        requests(case, &populations);
    let sum = |name| Some(flows.sum(name)? + populations.sum(name).unwrap_or(0.0));
    let mut measured = [None; MEASURES.len()];
    let sums: [Option<f64>; BEFORE_CAUSES] = [
        case.events.map(|events| events as f64),
        Some(spans.len() as f64),
        Some(finished),
        sum("sent"),
        sum("retransmissions"),
        sum("spurious"),
        sum("undone").filter(|_| case.events.is_some()),
        sum("timeouts"),
        sum("fast_retransmits"),
        sum("received"),
        sum("duplicates"),
        sum("acked_bytes"),
        sum("delivered_bytes"),
        sum("waited_ns"),
        flows.values("window_limited").into_iter().flatten().reduce(|a, b| a + b),
        mean(&spans).map(f64::round),
        spans.iter().flatten().copied().reduce(f64::max),
        span_p50,
        span_p90,
        span_p99,
        span_p999,
        (!goodputs.is_empty()).then(|| goodputs.iter().sum()),
        fairness(&goodputs),
        links.sum("carried"),
        links.sum("carried_bytes"),
        links.maximum("carried_bytes").map(|octets| 8e9 * octets / case.stop.as_nanos() as f64),
        links.sum("dropped"),
        links.sum("lost"),
        links.sum("marked"),
        links.sum("overtook"),
        links.maximum("queue_packets_max"),
        echo_probes.sum("lost"),
        mean(&rtts).map(f64::round),
        asked,
        answered,
        asked_mean,
        asked_max,
        asked_p50,
        asked_p90,
        asked_p99,
        asked_p999,
        populations.sum("connections"),
        populations.sum("complete"),
        populations.first("duration_ns_mean"),
        populations.first("duration_ns_max"),
        populations.first("duration_ns_p50"),
        populations.first("duration_ns_p90"),
        populations.first("duration_ns_p99"),
        populations.first("duration_ns_p999"),
    ];
    measured[..BEFORE_CAUSES].copy_from_slice(&sums);
    let causes = MaybeTable::of(case, "retransmissions");
    measured[BEFORE_CAUSES..].copy_from_slice(&causes.by_cause().map(Some));
    measured
}

/// The number of requests, the number of answered requests, and the mean, the maximum and the
/// quantiles of the times until the answers. Both numbers include the requests of all populations.
/// The times are the times of the flows' requests or, if no flow sends requests, of the first
/// population's requests.
#[expect(clippy::cast_precision_loss, reason = "counts and times stay far below 2^53")]
fn requests(case: &EndedCase<'_>, populations: &MaybeTable<'_>) -> [Option<f64>; 8] {
    let requests = MaybeTable::of(case, "requests");
    let times = requests.values("complete_ns");
    let answered = times.iter().flatten().count() as f64;
    let asked = Some(times.len() as f64 + populations.sum("requests").unwrap_or(0.0));
    let answered = Some(answered + populations.sum("requests_complete").unwrap_or(0.0));
    if times.is_empty() {
        let [mean, max, p50, p90, p99, p999] = REQUESTS.map(|name| populations.first(name));
        return [asked, answered, mean, max, p50, p90, p99, p999];
    }
    let longest = longest(&times, &requests.values("t_ns"), case.stop.as_nanos() as f64);
    let [p50, p90, p99, p999] = QUANTILES.map(|share| quantile(&times, share));
    [asked, answered, mean(&times).map(f64::round), longest, p50, p90, p99, p999]
}

/// The data of a case that ran to its end, from which its measures are computed.
#[derive(Clone, Debug)]
pub struct EndedCase<'a> {
    /// The tables of the run.
    pub tables: Vec<&'a Table>,
    /// When the run ended.
    pub stop: Time,
    /// The number of wake-ups of the simulator; `None` if the case ran live. The measure `undone`
    /// is then missing as well, because the kernel does not report which cuts of cwnd it undid.
    pub events: Option<u64>,
}

/// A table that may not exist.
struct MaybeTable<'a>(Option<&'a Table>);

impl<'a> MaybeTable<'a> {
    fn of(case: &EndedCase<'a>, name: &str) -> Self {
        Self(case.tables.iter().copied().find(|table| *table.name == *name))
    }

    /// A column of words. In the tables of a simulation, the words are of the kind `Data::Tag`. In
    /// a table that was read from a file, they are of the kind `Data::Text`.
    fn words(&self, name: &str) -> Vec<&'a str> {
        match self.0.and_then(|table| table.column(name)) {
            Some(Data::Tag { codes, texts }) => {
                codes.iter().map(|code| texts[usize::from(*code)]).collect()
            }
            Some(Data::Text { codes, texts }) => {
                codes.iter().map(|code| &*texts[*code as usize]).collect()
            }
            _ => Vec::new(),
        }
    }

    /// For each row of `flows`: whether the row is the reverse direction of the previous row's
    /// flow.
    fn reverse(&self) -> Vec<bool> {
        let reverse = Direction::NAMES[Direction::Reverse as usize];
        self.words("direction").into_iter().map(|word| word == reverse).collect()
    }

    /// The sums of `sent` for each cause, followed by the sums of `spurious` for each cause.
    fn by_cause(&self) -> [f64; 2 * Cause::IN_RUNS.len()] {
        let mut sums = [0.0; 2 * Cause::IN_RUNS.len()];
        let causes = self.words("cause");
        for (first, column) in [(0, "sent"), (Cause::IN_RUNS.len(), "spurious")] {
            for (word, count) in causes.iter().zip(self.values(column)) {
                let Some(cause) = Cause::IN_RUNS.iter().find(|cause| cause.name() == *word) else {
                    continue;
                };
                sums[first + *cause as usize] += count.unwrap_or(0.0);
            }
        }
        sums
    }

    #[expect(clippy::cast_precision_loss, reason = "counts and times stay far below 2^53")]
    fn values(&self, name: &str) -> Vec<Option<f64>> {
        match self.0.and_then(|table| table.column(name)) {
            Some(Data::I64(all)) => all.iter().map(|value| Some(*value as f64)).collect(),
            Some(Data::OptionalI64(all)) => all.iter().map(|v| v.map(|v| v as f64)).collect(),
            Some(Data::MissingI64(count)) => vec![None; *count],
            Some(Data::U32(all)) => all.iter().map(|value| Some(f64::from(*value))).collect(),
            Some(Data::Bool(all)) => all.iter().map(|v| Some(f64::from(u8::from(*v)))).collect(),
            _ => Vec::new(),
        }
    }

    /// The value in the first row.
    fn first(&self, name: &str) -> Option<f64> {
        self.values(name).first().copied().flatten()
    }

    fn maximum(&self, name: &str) -> Option<f64> {
        self.values(name).into_iter().flatten().reduce(f64::max)
    }

    fn sum(&self, name: &str) -> Option<f64> {
        self.0.map(|_| self.values(name).into_iter().flatten().sum())
    }
}

/// The duration of each flow, in nanoseconds; `None` for a flow that did not end.
fn completions(flows: &MaybeTable<'_>, reverse: &[bool]) -> Vec<Option<f64>> {
    let (starts, ends) = (flows.values("start_ns"), flows.values("finished_ns"));
    let spans = starts.into_iter().zip(ends).map(|(start, end)| Some(end? - start?));
    spans.zip(reverse).filter(|(_, reverse)| !**reverse).map(|(span, _)| span).collect()
}

/// The goodput of each flow in bits per second: the acknowledged data of both directions together,
/// divided by the flow's duration. If the flow did not end, its duration lasts until the end of the
/// run.
fn goodputs(flows: &MaybeTable<'_>, reverse: &[bool], stop: f64) -> Vec<f64> {
    let (starts, ends) = (flows.values("start_ns"), flows.values("finished_ns"));
    let acked = flows.values("acked_bytes");
    let rate = |n: usize| {
        let busy = ends[n].unwrap_or(stop) - starts[n]?;
        let answers = reverse.get(n + 1).is_some_and(|reverse| *reverse);
        let other = answers.then(|| acked[n + 1]).flatten().unwrap_or(0.0);
        (busy > 0.0).then_some(8e9 * (acked[n]? + other) / busy)
    };
    (0..reverse.len()).filter(|n| !reverse[*n]).filter_map(rate).collect()
}

/// Jain's index of `rates` (Jain, Chiu and Hawe 1984, DEC-TR-301). The index is 1 if all of the n
/// rates are equal, and 1/n if only one of them is above zero.
#[expect(clippy::cast_precision_loss, reason = "a table has far fewer than 2^53 flows")]
fn fairness(rates: &[f64]) -> Option<f64> {
    let (sum, squares) = rates.iter().fold((0.0, 0.0), |(s, q), r| (s + r, q + r * r));
    (squares > 0.0).then(|| sum * sum / (rates.len() as f64 * squares))
}

#[expect(clippy::cast_precision_loss, reason = "a table has far fewer than 2^53 rows")]
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Vec<f64> = values.iter().flatten().copied().collect();
    (!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64)
}

/// The longest time. For a request that is not complete, the time until the end of the run counts,
/// because the request takes at least this time.
fn longest(spans: &[Option<f64>], began: &[Option<f64>], stop: f64) -> Option<f64> {
    let times = spans.iter().zip(began).filter_map(|(span, began)| span.or(Some(stop - (*began)?)));
    times.reduce(f64::max)
}

/// A share as a fraction: numerator and denominator.
type Share = (usize, usize);

/// The shares of the quantiles: 50 %, 90 %, 99 % and 99.9 %.
const QUANTILES: [Share; 4] = [(1, 2), (9, 10), (99, 100), (999, 1000)];

/// The quantile for a share: the value of rank ⌈share · count⌉ in ascending order (definition 1 of
/// Hyndman and Fan 1996). A missing value, such as the time of a request that is not complete,
/// counts as greater than all other values. Returns `None` if the rank belongs to a missing value,
/// or if it is the highest rank. The value of the highest rank is the maximum, and any greater
/// share would have the same result.
fn quantile(values: &[Option<f64>], (above, below): Share) -> Option<f64> {
    let rank = (values.len() * above).div_ceil(below);
    let mut known: Vec<f64> = values.iter().flatten().copied().collect();
    if rank == values.len() || rank > known.len() {
        return None;
    }
    Some(*known.select_nth_unstable_by(rank - 1, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_by_cause_have_the_names_and_the_order_of_the_causes() {
        let names: Vec<&str> = MEASURES[BEFORE_CAUSES..].iter().map(|this| this.name).collect();
        let of = |kind: &str| {
            let named = |cause: &Cause| format!("{kind}_{}", cause.name().replace('-', "_"));
            Cause::IN_RUNS.iter().map(named).collect::<Vec<String>>()
        };
        assert_eq!(names, [of("retransmissions"), of("spurious")].concat());
    }

    #[test]
    fn a_quantile_is_the_value_of_its_rank() {
        let spans = |count: u32| -> Vec<Option<f64>> {
            (0..count).map(|n| Some(f64::from(n * 7 % count + 1))).collect()
        };
        assert_eq!(
            QUANTILES.map(|share| quantile(&spans(1000), share)),
            [Some(500.0), Some(900.0), Some(990.0), Some(999.0)]
        );
        assert_eq!(quantile(&spans(5), (1, 2)), Some(3.0));
    }

    #[test]
    fn an_incomplete_request_counts_with_its_wait_until_the_end_of_the_run() {
        let began = [Some(0.0), Some(2.0), Some(3.0)];
        assert_eq!(longest(&[Some(1.0), None, Some(4.0)], &began, 10.0), Some(8.0));
        assert_eq!(longest(&[Some(1.0), None, Some(9.0)], &began, 10.0), Some(9.0));
        assert_eq!(longest(&[], &[], 10.0), None);
    }

    #[test]
    fn a_quantile_that_would_be_the_maximum_is_absent() {
        let spans = |count| vec![Some(1.0); count];
        for (share, values_min) in QUANTILES.into_iter().zip([2, 10, 100, 1000]) {
            assert_eq!(quantile(&spans(values_min), share), Some(1.0), "{share:?}");
            assert_eq!(quantile(&spans(values_min - 1), share), None, "{share:?}");
        }
        assert_eq!(quantile(&[], (1, 2)), None);
    }

    #[test]
    fn a_missing_time_counts_as_longer_than_all_known_times() {
        let mut spans = vec![Some(2.0); 8];
        spans.extend([None, None]);
        assert_eq!(quantile(&spans, (1, 2)), Some(2.0));
        assert_eq!(quantile(&spans, (9, 10)), None);
    }

    #[test]
    fn the_fairness_of_n_flows_is_1_divided_by_n_if_only_one_flow_sends() {
        assert_eq!(fairness(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(fairness(&[5.0, 0.0, 0.0, 0.0]), Some(0.25));
        assert_eq!(fairness(&[0.0]), None);
        assert_eq!(fairness(&[]), None);
    }
}
