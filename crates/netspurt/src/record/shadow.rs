//! Timers in the shadow of a sender: laws that are told its samples and have no say.

use crate::rto::EstimatorConfig;
use crate::sample::{RttSample, SampleSource};
use crate::units::{Duration, Time};

use super::table::{Column, Data, Table};

/// What each law would have its timer at beside the sender's own: a row for each sample of the
/// table `rtt` and each law, in the table `shadows`.
///
/// A law is told the samples and nothing else, no timeout among them, so it never backs off. The
/// sender's timer is the last one of the table `rto` at that instant; without a row before it
/// there is none.
pub fn shadows_table(tables: &[Table], laws: &[EstimatorConfig]) -> Table {
    let texts: Vec<String> = laws.iter().map(ToString::to_string).collect();
    let mut rows = Rows::default();
    let trips = Trips::of(tables);
    for (flow, _) in trips.names.iter().enumerate() {
        let mut running: Vec<_> = laws.iter().map(EstimatorConfig::build).collect();
        let own = u32::try_from(flow).expect("flows are numbered in 32 bits");
        let (mut round, mut round_from) = (0, 0);
        let mut timers = Timers::of(tables, own);
        for row in (0..trips.t_ns.len()).filter(|row| trips.flows[*row] == own) {
            let (t_ns, sent_ns, rtt_ns) = (trips.t_ns[row], trips.sent_ns[row], trips.rtt_ns[row]);
            if sent_ns >= round_from {
                (round, round_from) = (round + 1, t_ns);
            }
            let time = |nanos: i64| Time::from_nanos(nanos.cast_unsigned());
            let sample = RttSample {
                at: time(t_ns),
                sent: time(sent_ns),
                rtt: Duration::from_nanos(rtt_ns.cast_unsigned()),
                source: SampleSource::EachSegment,
                round,
                ..RttSample::default()
            };
            let sender = timers.at(t_ns);
            for (number, law) in (0..).zip(&mut running) {
                law.on_sample(&sample);
                rows.t_ns.push(t_ns);
                rows.flow.push(own);
                rows.law.push(number);
                rows.rtt.push(rtt_ns);
                rows.rto.push(law.rto().as_nanos().cast_signed());
                rows.sender.push(sender);
            }
        }
    }
    let flows = Data::Text { codes: rows.flow, texts: trips.names.into() };
    let columns = vec![
        Column::new("t_ns", Data::I64(rows.t_ns)),
        Column::new("flow", flows),
        Column::new("estimator", Data::Text { codes: rows.law, texts: texts.into() }),
        Column::new("rtt_ns", Data::I64(rows.rtt)),
        Column::new("rto_ns", Data::I64(rows.rto)),
        Column::new("sender_rto_ns", Data::OptionalI64(rows.sender)),
    ];
    Table::new("shadows", columns).in_time()
}

#[derive(Default)]
struct Rows {
    t_ns: Vec<i64>,
    flow: Vec<u32>,
    law: Vec<u32>,
    rtt: Vec<i64>,
    rto: Vec<i64>,
    sender: Vec<Option<i64>>,
}

/// The columns of `rtt`.
#[derive(Default)]
struct Trips {
    t_ns: Vec<i64>,
    sent_ns: Vec<i64>,
    rtt_ns: Vec<i64>,
    flows: Vec<u32>,
    names: Vec<String>,
}

impl Trips {
    fn of(tables: &[Table]) -> Self {
        let Some(table) = tables.iter().find(|table| table.name == "rtt") else {
            return Self::default();
        };
        let Some(Data::Text { codes, texts }) = table.column("flow") else {
            return Self::default();
        };
        let number = |name| numbers(table, name);
        let (flows, names) = (codes.clone(), texts.to_vec());
        let (sent_ns, rtt_ns) = (number("sent_ns"), number("rtt_ns"));
        Self { t_ns: number("t_ns"), sent_ns, rtt_ns, flows, names }
    }
}

fn numbers(table: &Table, name: &str) -> Vec<i64> {
    match table.column(name) {
        Some(Data::I64(values)) => values.clone(),
        _ => Vec::new(),
    }
}

/// A sender's timer as time goes by.
struct Timers {
    t_ns: Vec<i64>,
    rto_ns: Vec<i64>,
    next: usize,
}

impl Timers {
    fn of(tables: &[Table], flow: u32) -> Self {
        let mut own = Self { t_ns: Vec::new(), rto_ns: Vec::new(), next: 0 };
        let Some(table) = tables.iter().find(|table| table.name == "rto") else { return own };
        let Some(Data::Text { codes, .. }) = table.column("flow") else { return own };
        let (t_ns, rto_ns) = (numbers(table, "t_ns"), numbers(table, "rto_ns"));
        for (row, of) in codes.iter().enumerate() {
            if *of == flow {
                own.t_ns.push(t_ns[row]);
                own.rto_ns.push(rto_ns[row]);
            }
        }
        own
    }

    /// The last at `t_ns`, which never goes back.
    fn at(&mut self, t_ns: i64) -> Option<i64> {
        while self.next < self.t_ns.len() && self.t_ns[self.next] <= t_ns {
            self.next += 1;
        }
        self.next.checked_sub(1).map(|last| self.rto_ns[last])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &'static str, columns: Vec<Column>) -> Table {
        let flow = Data::Text { codes: vec![0; 2], texts: vec!["f".to_owned()].into() };
        let t_ns = Column::new("t_ns", Data::I64(vec![30_000_000, 70_000_000]));
        let all = [t_ns, Column::new("flow", flow)].into_iter().chain(columns);
        Table::new(name, all.collect())
    }

    /// RFC 6298 §2.2: three times the first round trip; §2.3 with the second.
    #[test]
    fn every_law_is_told_every_sample_and_stands_beside_the_senders_timer() {
        let number = |name, values: [i64; 2]| Column::new(name, Data::I64(values.to_vec()));
        let rtt = table(
            "rtt",
            vec![number("sent_ns", [0, 40_000_000]), number("rtt_ns", [30_000_000, 30_000_000])],
        );
        let rto = table("rto", vec![number("rto_ns", [204_000_000, 208_000_000])]);
        let laws = ["rfc6298:min=0s", "fixed:rto=50ms"];
        let laws = laws.map(|law| EstimatorConfig::parse(law).unwrap());
        let shadows = shadows_table(&[rtt, rto], &laws);
        assert_eq!(numbers(&shadows, "t_ns"), [30_000_000, 30_000_000, 70_000_000, 70_000_000]);
        let rto = numbers(&shadows, "rto_ns");
        assert_eq!(rto, [90_000_000, 50_000_000, 75_000_000, 50_000_000]);
        let Some(Data::OptionalI64(sender)) = shadows.column("sender_rto_ns") else { panic!() };
        assert_eq!(sender[1..3], [Some(204_000_000), Some(208_000_000)]);
    }

    #[test]
    fn without_samples_there_is_a_table_without_rows() {
        assert_eq!(shadows_table(&[], &[]).rows(), 0);
    }
}
