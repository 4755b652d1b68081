//! What came of a live run.

use std::io;

use netspurt::app::Program;
use netspurt::event::Wanted;
use netspurt::record::{
    Column, Data, FlowSum, Names, Table, digest, flow_addresses, flows_table, links_table,
    node_address, resends_table, shadows_table,
};
use netspurt::rto::EstimatorConfig;
use netspurt::scenario::{Network, Scenario};
use netspurt::units::{Duration, Time};
use serde_json::{Value, json};

use super::watcher::Watcher;
use super::{LiveError, Made};
use crate::drive::{Arrival, Log, simultaneous};
use crate::kernel::FlowNotes;
use crate::lateness::Lateness;
use crate::path::Path;
use crate::sandbox::Wiring;

/// Whether the same arrivals, in virtual time, were treated the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Packets dropped or lost in the live run.
    pub live: usize,
    /// The same, when it was run again.
    pub again: usize,
    /// Whether those were the same packets, at the same instants, on the same links.
    pub same: bool,
}

/// A live run that has ended.
#[derive(Debug)]
pub struct LiveRun {
    /// Its tables.
    pub tables: Vec<Table>,
    /// When it ended.
    pub stop: Time,
    /// How late deliveries were.
    pub lateness: Lateness,
    /// What the run in virtual time said.
    pub replayed: Replayed,
    /// Whether it counts: nothing was too late, and no packet went missing here.
    pub valid: bool,
    /// Everything else there is to tell, as JSON.
    pub report: Value,
    /// Captures by node: file names in the run's folder.
    pub captures: Vec<(String, String)>,
}

/// What is at hand when the clock has stopped.
pub(super) struct Outcome {
    pub(super) path: Path,
    pub(super) log: Log,
    pub(super) notes: Vec<FlowNotes>,
    pub(super) profiles: Vec<Value>,
    pub(super) names: Names,
    pub(super) wanted: Wanted,
    /// Timers beside the kernel's.
    pub(super) shadows: Vec<EstimatorConfig>,
    /// Whether the driver ran before all others.
    pub(super) first: bool,
    pub(super) wiring: Wiring,
}

/// The files of the captures of a network's spied nodes, in their order; none where none are
/// wanted.
pub(super) fn capture_files(network: &Network) -> Vec<String> {
    if !network.capture {
        return Vec::new();
    }
    let mut files: Vec<String> = Vec::new();
    for node in &network.spied {
        let plain: String = network.names.nodes[*node as usize]
            .chars()
            .map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' })
            .collect();
        let plain = plain.trim_start_matches('.');
        let name = format!("{}.pcapng", if plain.is_empty() { "node" } else { plain });
        let taken = files.contains(&name);
        files.push(if taken { format!("{plain}-{}.pcapng", files.len()) } else { name });
    }
    files
}

/// What a kernel's end was given, value by value.
pub(super) fn profile(names: &Names, made: &Made) -> Value {
    let flow = &names.flows[(made.end / 2) as usize].name;
    let sysctls: serde_json::Map<String, Value> = made
        .plan
        .sysctls
        .iter()
        .map(|(name, value)| (format!("net.ipv4.{name}"), json!(value)))
        .collect();
    let tcp = &made.asked.tcp;
    json!({
        "flow": flow,
        "side": if made.end & 1 == 0 { "from" } else { "to" },
        "profile": tcp.profile.name(),
        "sysctls": sysctls,
        "route": { "initcwnd": tcp.initial_window_segs, "quickack": u8::from(tcp.quick_acks) },
        "device": { "mtu": tcp.packet_bytes, "offloads": if made.plan.wiring.offload { "on" } else { "off" } },
        "socket": {
            "TCP_CONGESTION": tcp.congestion,
            "TCP_NODELAY": u8::from(!tcp.nagle),
            "SO_RCVBUF": if tcp.window_scaling { Value::Null } else { json!(65_535) },
        },
    })
}

/// What becomes of `arrivals` on the path of `network` in virtual time, up to `stop`.
pub fn replay(network: Network, arrivals: &[Arrival], stop: Time) -> Vec<Table> {
    let (names, wanted) = (network.names.clone(), network.wanted);
    let mut recorder = netspurt::record::Recorder::new(names);
    let mut path = Path::new(network);
    for together in simultaneous(arrivals) {
        let Arrival { at, segment, .. } = together[0];
        let segments = together.iter().map(|arrival| arrival.segment);
        path.enter_together(at, segment.source(), segments, &mut |event| recorder.take(event));
        path.departures();
    }
    path.advance(stop.max(path.now()), &mut |event| recorder.take(event));
    path.settle(&mut |event| recorder.take(event));
    let wanted = Wanted { drops: true, ..wanted };
    recorder.finish_wanted(&[], wanted).filter(|table| table.name == "drops").collect()
}

impl Outcome {
    /// The tables, and what else there is to tell.
    pub(super) fn finish(
        self,
        scenario: &Scenario,
        watcher: Watcher,
        budget: Duration,
    ) -> Result<LiveRun, LiveError> {
        let stop = self.path.now();
        let late = self.log.deliveries.iter().map(|d| d.actual.saturating_since(d.due)).collect();
        let lateness = Lateness::of(late);
        let sums = self.sums(&watcher);
        let Watcher { recorder, captures, failure, .. } = watcher;
        if let Some(error) = failure {
            return Err(error.into());
        }
        for capture in captures {
            capture.file.finish()?.into_inner().map_err(io::Error::from)?.sync_all()?;
        }
        let mut needless = self.path.judge().needless().to_vec();
        needless.sort_unstable();
        let drops = Wanted { drops: true, ..self.wanted };
        let recorded: Vec<Table> = recorder.finish_wanted(&needless, drops).collect();
        let live = recorded.iter().find(|table| table.name == "drops");
        let again = replay(scenario.network(), &self.log.arrivals, stop);
        let replayed = Replayed {
            live: live.map_or(0, Table::rows),
            again: again.first().map_or(0, Table::rows),
            same: live == again.first(),
        };
        let mut tables = vec![
            flows_table(&self.names, &sums),
            resends_table(&self.names, &sums),
            links_table(&self.names, &self.path.counts()),
        ];
        tables.extend(recorded.into_iter().filter(|t| t.name != "drops" || self.wanted.drops));
        if !self.shadows.is_empty() {
            tables.push(shadows_table(&tables, &self.shadows));
        }
        tables.extend(self.log_tables());
        let whole = self.log.missed == 0 && self.log.refused == 0;
        let valid = whole && replayed.same && lateness.is_within(budget);
        let report = self.report(lateness, budget, replayed, valid, &tables);
        let captures = capture_names(scenario);
        Ok(LiveRun { tables, stop, lateness, replayed, valid, report, captures })
    }

    /// The sums of all TCP flows.
    fn sums(&self, watcher: &Watcher) -> Vec<FlowSum> {
        let judge = self.path.judge();
        let flows = (0_u32..).step_by(2).zip(&watcher.ledgers);
        let tcp = |end: u32| match self.path.program(end) {
            Some(Program::Tcp(endpoint)) => Some(endpoint.result()),
            _ => None,
        };
        flows
            .filter(|(source, _)| !self.names.flows[(source / 2) as usize].volleys)
            .map(|(source, ledger)| {
                let (verdict, waited) = (judge.resends(source), judge.waited(source));
                let sum = match (tcp(source), tcp(source + 1)) {
                    (Some(a), Some(b)) => FlowSum::of([a, b]),
                    (a, b) => {
                        let seen = ledger.as_ref().map_or_else(FlowSum::default, |l| l.sum());
                        self.joined(source, seen, [a, b])
                    }
                };
                FlowSum { verdict, waited, ..sum }
            })
            .collect()
    }

    /// What was seen of a flow, what its applications say, and what an end of the simulator's
    /// says of itself.
    fn joined(
        &self,
        source: u32,
        seen: FlowSum,
        [from, to]: [Option<netspurt::app::FlowResult>; 2],
    ) -> FlowSum {
        let notes = |end| self.notes.iter().find(|notes| notes.end == end);
        let mut sum = seen;
        sum.start = notes(source).and_then(|notes| notes.wrote);
        sum.delivered_bytes = notes(source + 1).map_or(0, |notes| notes.read_bytes);
        if let Some(from) = from {
            let own = FlowSum::of([from, from]);
            let (received, duplicates) = (sum.received, sum.duplicates);
            let delivered_bytes = sum.delivered_bytes;
            sum = FlowSum { received, duplicates, delivered_bytes, ..own };
        }
        if let Some(to) = to {
            sum.received = to.received.segments;
            sum.duplicates = to.received.duplicates;
            sum.delivered_bytes = to.received.delivered_bytes;
        }
        sum
    }

    /// The tables `arrivals` and `deliveries`.
    fn log_tables(&self) -> [Table; 2] {
        let nanos = |at: Time| at.as_nanos().cast_signed();
        let Log { arrivals, deliveries, .. } = &self.log;
        let came = |of: fn(&Arrival) -> i64| Data::I64(arrivals.iter().map(of).collect());
        let arrivals = vec![
            Column::new("t_ns", came(|a| a.at.as_nanos().cast_signed())),
            Column::new("stamped_ns", came(|a| a.stamped.as_nanos().cast_signed())),
            Column::new("end", Data::U32(arrivals.iter().map(|a| a.segment.source()).collect())),
            Column::new("id", Data::U64(arrivals.iter().map(|a| a.segment.id).collect())),
        ];
        let went = vec![
            Column::new("t_ns", Data::I64(deliveries.iter().map(|d| nanos(d.due)).collect())),
            Column::new(
                "actual_ns",
                Data::I64(deliveries.iter().map(|d| nanos(d.actual)).collect()),
            ),
            Column::new("end", Data::U32(deliveries.iter().map(|d| d.end).collect())),
            Column::new("id", Data::U64(deliveries.iter().map(|d| d.id).collect())),
        ];
        [Table::new("arrivals", arrivals), Table::new("deliveries", went)]
    }

    fn report(
        &self,
        lateness: Lateness,
        budget: Duration,
        replayed: Replayed,
        valid: bool,
        tables: &[Table],
    ) -> Value {
        let Replayed { live, again, same } = replayed;
        let failures: Vec<Value> = (self.notes.iter())
            .filter_map(|notes| {
                let flow = &self.names.flows[(notes.end / 2) as usize].name;
                notes.failure.as_ref().map(|why| json!({ "flow": flow, "failure": why }))
            })
            .collect();
        let read: u64 = self.notes.iter().map(|notes| notes.damaged).sum();
        let damaged = self.log.damaged + read;
        let flows = tables.iter().find(|table| table.name == "flows");
        let nodes = (0..).zip(&self.names.nodes);
        let nodes: serde_json::Map<String, Value> =
            nodes.map(|(i, name)| (name.clone(), json!(node_address(i)))).collect();
        let sockets = self.names.flows.iter().zip(flow_addresses(&self.names));
        let sockets: serde_json::Map<String, Value> = sockets
            .map(|(flow, [from, to])| (flow.name.clone(), json!({ "from": from, "to": to })))
            .collect();
        json!({
            "valid": valid,
            "back_end": self.wiring.told(),
            "wire": self.wiring.wire.name(),
            "offload": self.wiring.offload,
            "kernel": rustix::system::uname().release().to_string_lossy(),
            "real_time": self.first,
            "budget_ns": budget.as_nanos(),
            "lateness": {
                "deliveries": lateness.count,
                "p50_ns": lateness.p50.as_nanos(),
                "p99_ns": lateness.p99.as_nanos(),
                "p999_ns": lateness.p999.as_nanos(),
                "max_ns": lateness.max.as_nanos(),
            },
            "replayed": { "drops": live, "drops_again": again, "same": same },
            "packets": {
                "strange": self.log.strange,
                "damaged": damaged,
                "missed": self.log.missed,
                "refused": self.log.refused,
            },
            "nodes": nodes,
            "flows": sockets,
            "ends": self.profiles,
            "failures": failures,
            "stop_ns": self.path.now().as_nanos(),
            "digest": digest(tables),
            "flows_digest": digest(flows),
        })
    }
}

fn capture_names(scenario: &Scenario) -> Vec<(String, String)> {
    let network = scenario.network();
    let nodes = network.spied.iter().map(|node| network.names.nodes[*node as usize].clone());
    nodes.zip(capture_files(&network)).collect()
}
