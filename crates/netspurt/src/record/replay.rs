//! Makes the table `replay`. A replay applies timer algorithms to a recording, which has the
//! measured delays of probes. For each probe, the table says whether the timer would have fired
//! before the answer came.

use std::sync::Arc;

use crate::delays::Delays;
use crate::replay::TimerVerdict;
use crate::units::Duration;

use super::names::nanos;
use super::table::{Column, Data, Table};

/// The results of a replay of one algorithm on a recording.
#[derive(Clone, Copy, Debug)]
pub struct ReplayedAlgorithm<'a> {
    /// The text form of the algorithm, with its constants.
    pub estimator: &'a str,
    /// The recording.
    pub delays: &'a Delays,
    /// For each probe, the time from its sending until the timer would fire.
    pub waits: &'a [Duration],
}

const VERDICTS: &[&str] = &["in-time", "spurious", "lost"];

const fn code(verdict: TimerVerdict) -> u8 {
    match verdict {
        TimerVerdict::InTime => 0,
        TimerVerdict::Spurious => 1,
        TimerVerdict::Lost => 2,
    }
}

const ORDERS: &[&str] = &["sequence", "causal"];
const MEASURES: &[&str] = &["round-trip", "one-way", "smoothed"];

/// Makes the codes of a column in which all rows of an algorithm have the same code.
fn each(algorithms: &[ReplayedAlgorithm<'_>], of: fn(&ReplayedAlgorithm<'_>) -> u8) -> Vec<u8> {
    algorithms.iter().flat_map(|algorithm| vec![of(algorithm); algorithm.waits.len()]).collect()
}

/// Makes the table `replay`: a row for each algorithm and probe, ordered by algorithm.
pub fn replay_table(algorithms: &[ReplayedAlgorithm<'_>]) -> Table {
    let number = |place: usize| u32::try_from(place).unwrap_or(u32::MAX);
    let codes: Vec<u32> = algorithms
        .iter()
        .enumerate()
        .flat_map(|(n, algorithm)| vec![number(n); algorithm.waits.len()])
        .collect();
    let names = |of: fn(&ReplayedAlgorithm<'_>) -> String| -> Arc<[String]> {
        algorithms.iter().map(of).collect()
    };
    let judged = || {
        algorithms.iter().flat_map(|algorithm| algorithm.delays.probes.iter().zip(algorithm.waits))
    };
    let verdicts = judged().map(|(probe, wait)| code(TimerVerdict::of(probe.rtt, *wait))).collect();
    let span = |span: Duration| span.as_nanos().cast_signed();
    let columns = [
        (
            "recording",
            Data::Text {
                codes: codes.clone(),
                texts: names(|algorithm| algorithm.delays.name.clone()),
            },
        ),
        (
            "estimator",
            Data::Text { codes, texts: names(|algorithm| algorithm.estimator.to_owned()) },
        ),
        (
            "order",
            Data::Tag {
                codes: each(algorithms, |algorithm| algorithm.delays.order as u8),
                texts: ORDERS,
            },
        ),
        (
            "measure",
            Data::Tag {
                codes: each(algorithms, |algorithm| algorithm.delays.measure as u8),
                texts: MEASURES,
            },
        ),
        ("number", Data::U64(judged().map(|(probe, _)| probe.number).collect())),
        ("sent_ns", Data::I64(judged().map(|(probe, _)| nanos(probe.sent)).collect())),
        ("rtt_ns", Data::OptionalI64(judged().map(|(probe, _)| probe.rtt.map(span)).collect())),
        ("wait_ns", Data::I64(judged().map(|(_, wait)| span(*wait)).collect())),
        ("verdict", Data::Tag { codes: verdicts, texts: VERDICTS }),
        ("late", Data::Bool(judged().map(|(probe, _)| probe.late).collect())),
        ("wire_bytes", Data::U32(judged().map(|(probe, _)| probe.wire_bytes).collect())),
    ];
    Table::new("replay", columns.map(|(name, data)| Column::new(name, data)).into())
}

#[cfg(test)]
mod tests {
    use crate::delays::{Probe, ProbeOrder, SendTimeSource};
    use crate::units::Time;

    use super::*;

    #[test]
    fn each_row_has_a_probe_a_timer_and_a_verdict() {
        let ms = Duration::from_millis;
        let probes = vec![
            Probe::answered(1, Time::ZERO, ms(20)),
            Probe::answered(2, Time::ZERO + ms(100), ms(50)),
            Probe::lost(3, Time::ZERO + ms(200)),
        ];
        let delays = Delays::of("path", probes, ProbeOrder::Causal, SendTimeSource::Recorded);
        let algorithm = |estimator, waits| ReplayedAlgorithm { estimator, delays: &delays, waits };
        let (short, long) = ([ms(40), ms(40), ms(40)], [ms(900), ms(900), ms(900)]);
        let table = replay_table(&[algorithm("short", &short), algorithm("long", &long)]);
        assert_eq!(table.rows(), 6);
        let texts: &'static [&'static str] = VERDICTS;
        let verdicts = Data::Tag { codes: vec![0, 1, 2, 0, 0, 2], texts };
        assert_eq!(table.column("verdict"), Some(&verdicts));
        let rtts = [Some(20_000_000), Some(50_000_000), None].repeat(2);
        assert_eq!(table.column("rtt_ns"), Some(&Data::OptionalI64(rtts.into())));
    }
}
