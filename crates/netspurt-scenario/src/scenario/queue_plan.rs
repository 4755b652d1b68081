//! Makes the queues of links from the queues of a scenario. An AQM is an algorithm that manages a
//! queue.

use netspurt::link::{
    CoDelConfig, FqCoDelConfig, PieConfig, Queue, QueueLimit, RedConfig, RedUnit,
};
use netspurt::units::{ByteCount, Duration};

use super::error::Problem;
use super::link_place::LinkPlace;
use super::quantity::{Amount, WordOr};
use super::queue_spec::{
    CodelTable, FLOWS_MAX, FqCodelTable, PieTable, QueueSpec, QueueTable, RedTable,
};

/// Makes the queue of the direction `way` of a link: 0 for forward, 1 for reverse.
pub(super) fn queue(
    spec: &WordOr<QueueSpec, QueueTable>,
    name: &LinkPlace<'_>,
    way: usize,
) -> Result<Queue, Problem> {
    let table = match spec {
        WordOr::Word(word) => return limit(*word, name, &[]).map(Queue::DropTail),
        WordOr::Table(table) => table,
    };
    match table {
        QueueTable { red: Some(table), codel: None, fq_codel: None, pie: None } => {
            red(table, &AqmTable { name, key: "red" }, way).map(Queue::Red)
        }
        QueueTable { red: None, codel: Some(table), fq_codel: None, pie: None } => {
            codel(table, &AqmTable { name, key: "codel" }).map(Queue::CoDel)
        }
        QueueTable { red: None, codel: None, fq_codel: Some(table), pie: None } => {
            fq_codel(table, &AqmTable { name, key: "fq-codel" }, way).map(Queue::FqCoDel)
        }
        QueueTable { red: None, codel: None, fq_codel: None, pie: Some(table) } => {
            pie(table, &AqmTable { name, key: "pie" }, way).map(Queue::Pie)
        }
        _ => Err(name
            .problem("queue", "a queue has exactly one AQM")
            .fix("write one of `red`, `codel`, `fq-codel`, `pie`, as in `{ codel = {} }`")),
    }
}

/// The place of an AQM's table in the file: its link, and its key below `queue`.
struct AqmTable<'a> {
    name: &'a LinkPlace<'a>,
    key: &'a str,
}

impl AqmTable<'_> {
    fn problem(&self, key: &str, message: impl Into<String>) -> Problem {
        below_queue(self.name, &[self.key, key], message)
    }

    fn limit(&self, spec: QueueSpec) -> Result<QueueLimit, Problem> {
        limit(spec, self.name, &[self.key, "limit"])
    }

    fn probability(&self, key: &str, p: f64) -> Result<f64, Problem> {
        if (0.0..=1.0).contains(&p) {
            return Ok(p);
        }
        Err(self
            .problem(key, format!("{p} is not a probability"))
            .fix("write a number from 0 to 1"))
    }

    /// A probability, or a weight, above zero. The text `without` says what zero would mean.
    fn positive(&self, key: &str, share: f64, without: &str) -> Result<f64, Problem> {
        if share == 0.0 {
            let problem = self.problem(key, format!("with `{key}` = 0 {without}"));
            return Err(problem.fix("write a number above 0, at most 1"));
        }
        self.probability(key, share)
    }

    fn gain(&self, key: &str, gain: f64) -> Result<f64, Problem> {
        if gain.is_finite() && gain >= 0.0 {
            return Ok(gain);
        }
        Err(self.problem(key, format!("{gain} is not a gain")).fix("write zero or more"))
    }

    fn span(&self, key: &str, span: Duration) -> Result<Duration, Problem> {
        if span.is_zero() {
            return Err(self
                .problem(key, "this time cannot be zero")
                .fix("write a value above zero"));
        }
        Ok(span)
    }

    fn size(&self, key: &str, size: ByteCount) -> Result<u32, Problem> {
        u32::try_from(size.0).ok().filter(|bytes| (1..=65_535).contains(bytes)).ok_or_else(|| {
            self.problem(key, format!("this size cannot be {size}")).fix("write 1 B to 65535 B")
        })
    }
}

fn below_queue(name: &LinkPlace<'_>, keys: &[&str], message: impl Into<String>) -> Problem {
    let mut problem = name.problem("queue", message);
    problem.path.extend(keys.iter().map(|key| (*key).to_owned()));
    problem
}

fn limit(spec: QueueSpec, name: &LinkPlace<'_>, keys: &[&str]) -> Result<QueueLimit, Problem> {
    let limit = match spec {
        Amount::Count(packets) => u32::try_from(packets.0).ok().map(QueueLimit::Packets),
        Amount::Bytes(bytes) => Some(QueueLimit::Bytes(bytes.0)),
        Amount::Unlimited => Some(QueueLimit::Unlimited),
    };
    match limit {
        Some(QueueLimit::Packets(0) | QueueLimit::Bytes(0)) => {
            let problem = below_queue(name, keys, "a queue without room would drop every packet");
            Err(problem.fix("the packet in transmission counts: write at least `1 packet`"))
        }
        Some(limit) => Ok(limit),
        None => Err(below_queue(name, keys, "a queue has room for at most 4294967295 packets")
            .fix("write fewer packets, or `unlimited`")),
    }
}

fn red(table: &RedTable, algorithm: &AqmTable<'_>, way: usize) -> Result<RedConfig, Problem> {
    let (min_th, max_th, unit) = match (table.min_th, table.max_th) {
        (Amount::Count(min), Amount::Count(max)) => (min.0, max.0, RedUnit::Packets),
        (Amount::Bytes(min), Amount::Bytes(max)) => (min.0, max.0, RedUnit::Bytes),
        _ => {
            let problem = algorithm.problem("max_th", "both thresholds must have the same unit");
            return Err(
                problem.fix("write `min_th` and `max_th` both in packets, or both in bytes")
            );
        }
    };
    if min_th >= max_th {
        let message =
            format!("`max_th` = {} is not above `min_th` = {}", table.max_th, table.min_th);
        return Err(algorithm
            .problem("max_th", message)
            .fix("write a `max_th` above `min_th`: RED drops or marks between the two"));
    }
    Ok(RedConfig {
        limit: algorithm.limit(table.limit)?,
        unit,
        min_th,
        max_th,
        wq: algorithm.positive(
            "wq",
            table.wq,
            "the average would stay 0, so RED would drop nothing",
        )?,
        max_p: algorithm.positive("max_p", table.max_p, "RED would drop nothing below `max_th`")?,
        gentle: table.gentle,
        packet_bytes: algorithm.size("packet", table.packet)?,
        ecn: table.ecn,
        stream: algorithm.name.stream(way, "red"),
    })
}

fn codel(table: &CodelTable, algorithm: &AqmTable<'_>) -> Result<CoDelConfig, Problem> {
    Ok(CoDelConfig {
        target: table.target,
        interval: algorithm.span("interval", table.interval)?,
        limit: algorithm.limit(table.limit)?,
        ecn: table.ecn,
    })
}

fn fq_codel(
    table: &FqCodelTable,
    algorithm: &AqmTable<'_>,
    way: usize,
) -> Result<FqCoDelConfig, Problem> {
    if !(1..=FLOWS_MAX).contains(&table.flows) {
        let message = format!("{} is not a possible number of queues", table.flows);
        return Err(algorithm
            .problem("flows", message)
            .fix(format!("write a number from 1 to {FLOWS_MAX}")));
    }
    Ok(FqCoDelConfig {
        target: table.target,
        interval: algorithm.span("interval", table.interval)?,
        limit: algorithm.limit(table.limit)?,
        flows: table.flows,
        quantum_bytes: algorithm.size("quantum", table.quantum)?,
        ecn: table.ecn,
        ce_threshold: table.ce_threshold,
        salt: algorithm.name.stream(way, "fq-codel").bits(),
    })
}

fn pie(table: &PieTable, algorithm: &AqmTable<'_>, way: usize) -> Result<PieConfig, Problem> {
    Ok(PieConfig {
        target: table.target,
        t_update: algorithm.span("t_update", table.t_update)?,
        alpha: algorithm.gain("alpha", table.alpha)?,
        beta: algorithm.gain("beta", table.beta)?,
        max_burst: table.max_burst,
        packet_bytes: algorithm.size("packet", table.packet)?,
        limit: algorithm.limit(table.limit)?,
        ecn: table.ecn,
        mark_ecnth: algorithm.probability("mark_ecnth", table.mark_ecnth)?,
        stream: algorithm.name.stream(way, "pie"),
    })
}
