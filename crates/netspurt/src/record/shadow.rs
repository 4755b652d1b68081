//! Makes the table `shadows`. A shadow is a timer algorithm that gets the samples of a sender, but
//! does not influence the sender.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::ids::Direction;
use crate::observe::Rounds;
use crate::rto::EstimatorConfig;
use crate::sample::{RttSample, SampleSource};
use crate::units::{Duration, Time};

use super::OptionalValues;
use super::table::{Column, Data, Table};

/// Makes the table `shadows`, which compares the timer of each algorithm with the sender's own
/// timer. It has a row for each sample of the table `rtt` and each algorithm.
///
/// An algorithm gets one sender's samples and nothing else. Because the algorithm does not learn of
/// timeouts, it never backs off. The sender's timer comes from the last row of the table `rto` at
/// or before the instant of the sample. If there is no row at or before this instant, the sender's
/// timer is absent.
pub fn shadows_table(tables: &[Table], algorithms: &[EstimatorConfig]) -> Table {
    let named = |name: &str| tables.iter().find(|table| table.name == name);
    let texts: Vec<String> = algorithms.iter().map(ToString::to_string).collect();
    let mut rows = ShadowRows::default();
    let (samples, timers) = (Sent::of(named("rtt")), Sent::of(named("rto")));
    let [sent, rtt] = ["sent_ns", "rtt_ns"].map(|name| numbers(named("rtt"), name));
    let rto = numbers(named("rto"), "rto_ns");
    for (sender, own) in &samples.by_sender {
        let mut running: Vec<_> = algorithms.iter().map(EstimatorConfig::build).collect();
        let mut rounds = Rounds::default();
        let mut timer = Timer::of(&timers, *sender);
        for row in own {
            let (t_ns, sent_ns, rtt_ns) = (samples.t_ns[*row], sent[*row], rtt[*row]);
            let round = rounds.sample(sent_ns.cast_unsigned(), t_ns.cast_unsigned());
            let time = |nanos: i64| Time::from_nanos(nanos.cast_unsigned());
            let sample = RttSample {
                at: time(t_ns),
                sent: time(sent_ns),
                rtt: Duration::from_nanos(rtt_ns.cast_unsigned()),
                source: SampleSource::EachSegment,
                round,
                ..RttSample::default()
            };
            let sender_rto = timer.at(t_ns).map(|row| rto[row]);
            for (number, algorithm) in (0..).zip(&mut running) {
                algorithm.on_sample(&sample);
                rows.t_ns.push(t_ns);
                rows.sender.push(*sender);
                rows.algorithm.push(number);
                rows.rtt.push(rtt_ns);
                rows.rto.push(algorithm.rto().as_nanos().cast_signed());
                rows.sender_rto.push(sender_rto);
            }
        }
    }
    let flows = Data::Text {
        codes: rows.sender.iter().map(|(_, flow)| *flow).collect(),
        texts: samples.flows.clone(),
    };
    let directions = Data::Tag {
        codes: rows.sender.iter().map(|(direction, _)| *direction).collect(),
        texts: &Direction::NAMES,
    };
    let columns = vec![
        Column::new("t_ns", Data::I64(rows.t_ns)),
        Column::new("flow", flows),
        Column::new("direction", directions),
        Column::new("estimator", Data::Text { codes: rows.algorithm, texts: texts.into() }),
        Column::new("rtt_ns", Data::I64(rows.rtt)),
        Column::new("rto_ns", Data::I64(rows.rto)),
        Column::new("sender_rto_ns", Data::OptionalI64(rows.sender_rto)),
    ];
    Table::new("shadows", columns).in_time()
}

/// The sender of a row: the codes of the columns `direction` and `flow`.
type ShadowSender = (u8, u32);

#[derive(Default)]
struct ShadowRows {
    t_ns: Vec<i64>,
    sender: Vec<ShadowSender>,
    algorithm: Vec<u32>,
    rtt: Vec<i64>,
    rto: Vec<i64>,
    sender_rto: OptionalValues<i64>,
}

/// The rows of a table, grouped by sender.
struct Sent {
    t_ns: Vec<i64>,
    flows: Arc<[String]>,
    by_sender: BTreeMap<ShadowSender, Vec<usize>>,
}

impl Sent {
    fn of(table: Option<&Table>) -> Self {
        let mut own =
            Self { t_ns: numbers(table, "t_ns"), flows: [].into(), by_sender: BTreeMap::new() };
        let column = |name| table.and_then(|table| table.column(name));
        let Some(Data::Text { codes: flows, texts }) = column("flow") else { return own };
        let Some(Data::Tag { codes: directions, .. }) = column("direction") else { return own };
        own.flows = texts.clone();
        for (row, sender) in directions.iter().copied().zip(flows.iter().copied()).enumerate() {
            own.by_sender.entry(sender).or_default().push(row);
        }
        own
    }
}

fn numbers(table: Option<&Table>, name: &str) -> Vec<i64> {
    match table.and_then(|table| table.column(name)) {
        Some(Data::I64(values)) => values.clone(),
        _ => Vec::new(),
    }
}

/// The rows of one sender in the table `rto`, in the order of time.
struct Timer<'a> {
    t_ns: &'a [i64],
    rows: &'a [usize],
    next: usize,
}

impl<'a> Timer<'a> {
    fn of(timers: &'a Sent, sender: ShadowSender) -> Self {
        let rows = timers.by_sender.get(&sender).map_or(&[][..], Vec::as_slice);
        Self { t_ns: &timers.t_ns, rows, next: 0 }
    }

    /// Returns the last row at or before `t_ns`, or `None` if there is none. `t_ns` must not be
    /// less than in the previous call.
    fn at(&mut self, t_ns: i64) -> Option<usize> {
        while self.rows.get(self.next).is_some_and(|row| self.t_ns[*row] <= t_ns) {
            self.next += 1;
        }
        self.next.checked_sub(1).map(|last| self.rows[last])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table with rows at 30 and 70 ms. Each row belongs to the sender of its direction.
    fn table(name: &'static str, directions: [Direction; 2], columns: Vec<Column>) -> Table {
        let flow = Data::Text { codes: vec![0; 2], texts: vec!["f".to_owned()].into() };
        let codes = directions.map(|direction| direction as u8).to_vec();
        let direction = Data::Tag { codes, texts: &Direction::NAMES };
        let t_ns = Column::new("t_ns", Data::I64(vec![30_000_000, 70_000_000]));
        let all = [t_ns, Column::new("flow", flow), Column::new("direction", direction)];
        Table::new(name, all.into_iter().chain(columns).collect())
    }

    /// A column with two numbers.
    fn number(name: &'static str, values: [i64; 2]) -> Column {
        Column::new(name, Data::I64(values.to_vec()))
    }

    /// The table `rtt` with two samples of 30 ms.
    fn samples(directions: [Direction; 2]) -> Table {
        let rtt = number("rtt_ns", [30_000_000, 30_000_000]);
        table("rtt", directions, vec![number("sent_ns", [0, 40_000_000]), rtt])
    }

    /// After the first round trip, the timer is three times that round trip (RFC 6298 §2.2). After
    /// the second sample, it follows §2.3.
    #[test]
    fn every_algorithm_gets_every_sample_and_is_compared_with_the_senders_timer() {
        let forward = [Direction::Forward; 2];
        let rtt = samples(forward);
        let rto = table("rto", forward, vec![number("rto_ns", [204_000_000, 208_000_000])]);
        let algorithms = ["rfc6298:min=0s", "fixed:rto=50ms"];
        let algorithms = algorithms.map(|algorithm| EstimatorConfig::parse(algorithm).unwrap());
        let shadows = shadows_table(&[rtt, rto], &algorithms);
        assert_eq!(
            numbers(Some(&shadows), "t_ns"),
            [30_000_000, 30_000_000, 70_000_000, 70_000_000]
        );
        let rto = numbers(Some(&shadows), "rto_ns");
        assert_eq!(rto, [90_000_000, 50_000_000, 75_000_000, 50_000_000]);
        let Some(Data::OptionalI64(sender)) = shadows.column("sender_rto_ns") else { panic!() };
        assert_eq!([1, 2].map(|row| sender.at(row)), [Some(204_000_000), Some(208_000_000)]);
    }

    /// Each sample is the first of its sender, so the timer is three times the round trip (RFC 6298
    /// §2.2).
    #[test]
    fn the_two_ends_of_a_flow_have_shadows_of_their_own() {
        let algorithm = EstimatorConfig::parse("rfc6298:min=0s").unwrap();
        let shadows = shadows_table(&[samples(Direction::BOTH)], &[algorithm]);
        assert_eq!(numbers(Some(&shadows), "rto_ns"), [90_000_000, 90_000_000]);
        let Some(Data::Tag { codes, .. }) = shadows.column("direction") else { panic!() };
        assert_eq!(codes[..], [0, 1]);
    }

    #[test]
    fn without_samples_there_is_a_table_without_rows() {
        assert_eq!(shadows_table(&[], &[]).rows(), 0);
    }
}
