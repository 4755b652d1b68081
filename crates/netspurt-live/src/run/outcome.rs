//! The results of a live run.

use std::io;

use netspurt::app::{FlowResult, Program};
use netspurt::event::Wanted;
use netspurt::ids::{EndId, FlowId, Side};
use netspurt::record::{
    Column, Data, FlowName, FlowSum, Names, Retransmissions, SenderVerdict, Table, digest,
    flow_addresses, flows_table, links_table, node_address, requests_table, retransmissions_table,
    shadows_table,
};
use netspurt::rto::EstimatorConfig;
use netspurt::scenario::{Network, Scenario};
use netspurt::segment::Cause;
use netspurt::shim::Retransmission;
use netspurt::units::{Duration, Time};
use serde_json::{Value, json};

use super::ledger::Ledger;
use super::watcher::Watcher;
use super::{LiveError, Made};
use crate::drive::{Log, PacketArrival, PacketDelivery, simultaneous};
use crate::exec::{Counts, Ended, ProgramPair, Programs, connections_table};
use crate::kernel::FlowNotes;
use crate::lateness::Lateness;
use crate::path::Path;
use crate::sandbox::{HostPlan, Wiring};

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
    /// Programs, and how the first one ended.
    pub(super) programs: Option<(Programs, Ended)>,
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
    let flow = &names.flows[made.end.flow().index()].name;
    let sysctls: serde_json::Map<String, Value> = made
        .plan
        .sysctls
        .iter()
        .map(|(name, value)| (format!("net.ipv4.{name}"), json!(value)))
        .collect();
    let tcp = &made.asked.tcp;
    json!({
        "flow": flow,
        "side": made.end.side().name(),
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

/// The same of the hosts of programs, whose sockets are their own.
pub(super) fn profiles_of_programs(names: &Names, pair: &ProgramPair) -> [Value; 2] {
    let flow = &names.flows[pair.first.index()].name;
    [(0, "from"), (1, "to")].map(|(side, called)| {
        let HostPlan { sysctls, hints, mtu, wiring, .. } = &pair.plans[side];
        let offloads = if wiring.offload { "on" } else { "off" };
        let sysctls: serde_json::Map<String, Value> = sysctls
            .iter()
            .map(|(name, value)| (format!("net.ipv4.{name}"), json!(value)))
            .collect();
        json!({
            "flow": flow,
            "profile_of": "programs",
            "side": called,
            "profile": pair.asked.tcp.profile.name(),
            "sysctls": sysctls,
            "route": {
                "initcwnd": hints.initial_window_segs,
                "quickack": u8::from(hints.quick_acks),
                "congctl": hints.congestion,
            },
            "device": { "mtu": mtu, "offloads": offloads },
            "socket": {},
        })
    })
}

/// What becomes of `arrivals` on the path of `network` in virtual time, up to `stop`.
pub fn replay(network: Network, arrivals: &[PacketArrival], stop: Time) -> Vec<Table> {
    let (names, wanted) = (network.names.clone(), network.wanted);
    let mut recorder = netspurt::record::Recorder::new(names);
    let mut path = Path::new(network);
    for together in simultaneous(arrivals) {
        let PacketArrival { at, segment, .. } = together[0];
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
        mut watcher: Watcher,
        budget: Duration,
    ) -> Result<LiveRun, LiveError> {
        let stop = self.path.now();
        let late = self.log.deliveries.iter().map(|d| d.actual.saturating_since(d.due)).collect();
        let lateness = Lateness::of(late);
        self.tell_what_entered(&mut watcher);
        let sums = self.sums(&watcher);
        let mut own = self.shim_tables();
        own.extend(self.connections(&watcher, &sums));
        let told = watcher.programs.as_ref().map(|programs| (programs.others, programs.is_told()));
        let Watcher { recorder, captures, failure, .. } = watcher;
        if let Some(error) = failure {
            return Err(error.into());
        }
        for capture in captures {
            capture.file.finish()?.into_inner().map_err(io::Error::from)?.sync_all()?;
        }
        let mut spurious = self.path.judge().spurious().to_vec();
        spurious.sort_unstable();
        let drops = Wanted { drops: true, ..self.wanted };
        let recorded: Vec<Table> = recorder.finish_wanted(&spurious, drops).collect();
        let live = recorded.iter().find(|table| table.name == "drops");
        let again = replay(scenario.network(), &self.log.arrivals, stop);
        let replayed = Replayed {
            live: live.map_or(0, Table::rows),
            again: again.first().map_or(0, Table::rows),
            same: live == again.first(),
        };
        let mut tables = vec![
            flows_table(&self.names, &sums),
            retransmissions_table(&self.names, &sums),
            links_table(&self.names, &self.path.counts()),
        ];
        tables.extend(self.requests());
        tables.extend(recorded.into_iter().filter(|t| t.name != "drops" || self.wanted.drops));
        if !self.shadows.is_empty() {
            tables.push(shadows_table(&tables, &self.shadows));
        }
        tables.extend(self.log_tables());
        tables.extend(own);
        let whole = self.log.missed == 0 && self.log.refused == 0;
        let valid = whole && replayed.same && lateness.is_within(budget);
        let mut report = self.report(lateness, budget, replayed, valid, &tables);
        if let (Some((programs, ended)), Some((others, told))) = (&self.programs, told) {
            report["programs"] = json!({
                "command": programs.command,
                "server": programs.server,
                "status": ended.status,
                "ran": ended.ran,
                "stopped": ended.stopped,
                "other_packets": others,
                "kernel_told": told,
            });
        }
        let captures = capture_names(scenario);
        Ok(LiveRun { tables, stop, lateness, replayed, valid, report, captures })
    }

    /// Whether the flow called `name` is one of programs'.
    fn is_of_programs(&self, name: &str) -> bool {
        let of = |end: &Value| {
            end["profile_of"] == "programs" && {
                let flow = end["flow"].as_str().unwrap_or_default();
                name == flow || name.strip_prefix(flow).is_some_and(|rest| rest.starts_with('.'))
            }
        };
        self.profiles.iter().any(of)
    }

    /// How many flows are no programs'.
    fn own_flows(&self, watcher: &Watcher) -> usize {
        watcher.programs.as_ref().map_or(self.names.flows.len(), |programs| programs.first.index())
    }

    /// The flows that are connections of programs.
    fn flows_of_programs(watcher: &Watcher) -> impl Iterator<Item = FlowId> {
        let programs = watcher.programs.as_ref();
        let connections =
            programs.map(|programs| (programs.first.0 + 1, programs.connections.count()));
        let (first, count) = connections.unwrap_or_default();
        (first..).map(FlowId).take(count)
    }

    /// What came of each sender that tables sum up: those of TCP, and both ends of programs'
    /// connections.
    fn sums(&self, watcher: &Watcher) -> Vec<(EndId, FlowSum)> {
        let judge = self.path.judge();
        let count = self.own_flows(watcher);
        let programs: Vec<FlowId> = Self::flows_of_programs(watcher).collect();
        let summed = |end: &EndId| end.flow().index() < count || programs.contains(&end.flow());
        let result = |end| self.path.program(end).and_then(Program::result);
        let ledger = |end: EndId| watcher.ledgers[end.index()].as_ref();
        let sum = |end: EndId| {
            let SenderVerdict { retransmissions: verdict, waited } = judge.verdict(end);
            let seen = ledger(end).map_or_else(FlowSum::default, Ledger::sum);
            let sum = match (result(end), result(end.peer())) {
                (Some(a), Some(b)) => FlowSum::of([a, b]),
                _ if end.flow().index() >= count => with_shims(seen, verdict),
                (a, b) => self.joined(end, with_shims(seen, verdict), [a, b]),
            };
            (end, FlowSum { verdict, waited, ..sum })
        };
        self.names.senders().filter(summed).map(sum).collect()
    }

    /// The table `requests`, where there are any.
    fn requests(&self) -> Option<Table> {
        let of = |(flow, _): (u32, &FlowName)| match self.path.program(FlowId(flow).end(Side::From))
        {
            Some(Program::Client(client)) => Some((flow, client.exchanges().to_vec())),
            _ => {
                let notes =
                    self.notes.iter().find(|notes| notes.end == FlowId(flow).end(Side::From))?;
                (!notes.exchanges.is_empty()).then(|| (flow, notes.exchanges.clone()))
            }
        };
        let asking = (0..).zip(self.names.flows.iter()).filter(|(_, flow)| flow.answers);
        let of_programs = |name: &str| self.is_of_programs(name);
        let mut asking = asking.filter(|(_, flow)| !of_programs(&flow.name)).peekable();
        asking.peek()?;
        Some(requests_table(&self.names, &asking.filter_map(of).collect::<Vec<_>>()))
    }

    /// Tells programs' connections what entered the path, and when.
    fn tell_what_entered(&self, watcher: &mut Watcher) {
        let Some(programs) = &mut watcher.programs else { return };
        for PacketArrival { at, segment, .. } in &self.log.arrivals {
            if let Some(place) = programs.place_of(segment.flow()) {
                programs.connections.entered(place, segment.source().side(), *at, segment);
            }
        }
    }

    /// The table `connections`, where there are programs.
    fn connections(&self, watcher: &Watcher, sums: &[(EndId, FlowSum)]) -> Option<Table> {
        let programs = watcher.programs.as_ref()?;
        let sum = |end: EndId| {
            let own = sums.iter().find(|(sender, _)| *sender == end);
            own.map_or_else(FlowSum::default, |(_, sum)| *sum)
        };
        let of = |flow: FlowId| {
            let [from, to] = Side::BOTH.map(|side| sum(flow.end(side)));
            let arrived = [to.delivered_bytes, from.delivered_bytes];
            [arrived, [shims(from.verdict), shims(to.verdict)]]
        };
        let counts: Vec<Counts> = Self::flows_of_programs(watcher).map(of).collect();
        let name = &self.names.flows[programs.first.index()].name;
        Some(connections_table(name, &programs.connections, &counts))
    }

    /// The table `shims`, where one sent anything again.
    fn shim_tables(&self) -> Vec<Table> {
        let all = self.path.retransmissions();
        if all.is_empty() {
            return Vec::new();
        }
        let nanos = |at: Time| at.as_nanos().cast_signed();
        let number = |of: &dyn Fn(&Retransmission) -> i64| {
            Data::I64(all.iter().map(|(_, retransmission)| of(retransmission)).collect())
        };
        let senders: Vec<EndId> = all.iter().map(|(end, _)| *end).collect();
        let [flow, direction] = self.names.sender_columns(&senders);
        let ids = all.iter().map(|(_, retransmission)| retransmission.id.bits()).collect();
        let columns = vec![
            Column::new("t_ns", number(&|retransmission| nanos(retransmission.at))),
            flow,
            direction,
            Column::new("id", Data::U64(ids)),
            Column::new("seq", number(&|retransmission| retransmission.left.cast_signed())),
            Column::new("armed_ns", number(&|retransmission| nanos(retransmission.armed))),
            Column::new("backoff", number(&|retransmission| retransmission.backoff.into())),
        ];
        vec![Table::new("shims", columns)]
    }

    /// What was seen of a flow, what its applications say, and what an end of the simulator's
    /// says of itself.
    fn joined(&self, source: EndId, seen: FlowSum, [from, to]: [Option<FlowResult>; 2]) -> FlowSum {
        let notes = |end| self.notes.iter().find(|notes| notes.end == end);
        let mut sum = seen;
        sum.start = notes(source).and_then(|notes| notes.wrote);
        // Who asked has finished when it has read what it asked for.
        sum.finished = notes(source).and_then(|notes| notes.finished).or(sum.finished);
        sum.delivered_bytes = notes(source.peer()).map_or(0, |notes| notes.read_bytes);
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
        let came = |of: fn(&PacketArrival) -> Time| {
            Data::I64(arrivals.iter().map(|arrival| nanos(of(arrival))).collect())
        };
        let senders: Vec<EndId> = arrivals.iter().map(|a| a.segment.source()).collect();
        let [flow, direction] = self.names.sender_columns(&senders);
        let arrived = vec![
            Column::new("t_ns", came(|arrival| arrival.at)),
            Column::new("stamped_ns", came(|arrival| arrival.stamped)),
            flow,
            direction,
            Column::new("id", Data::U64(arrivals.iter().map(|a| a.segment.id.bits()).collect())),
        ];
        let went = |of: fn(&PacketDelivery) -> Time| {
            Data::I64(deliveries.iter().map(|delivery| nanos(of(delivery))).collect())
        };
        let senders: Vec<EndId> = deliveries.iter().map(|d| d.end.peer()).collect();
        let [flow, direction] = self.names.sender_columns(&senders);
        let delivered = vec![
            Column::new("t_ns", went(|delivery| delivery.due)),
            Column::new("actual_ns", went(|delivery| delivery.actual)),
            flow,
            direction,
            Column::new("id", Data::U64(deliveries.iter().map(|d| d.id.bits()).collect())),
        ];
        [Table::new("arrivals", arrived), Table::new("deliveries", delivered)]
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
                let flow = &self.names.flows[notes.end.flow().index()].name;
                notes.failure.as_ref().map(|why| json!({ "flow": flow, "failure": why }))
            })
            .collect();
        let read: u64 = self.notes.iter().map(|notes| notes.damaged).sum();
        let damaged = self.log.damaged + read;
        let flows = tables.iter().find(|table| table.name == "flows");
        let nodes = (0..).zip(self.names.nodes.iter());
        let nodes: serde_json::Map<String, Value> =
            nodes.map(|(i, name)| (name.clone(), json!(node_address(i)))).collect();
        let sockets = self.names.flows.iter().zip(flow_addresses(&self.names));
        // Programs have ports of their own.
        let real =
            |(flow, _): &(&FlowName, _)| !flow.echo_probes && !self.is_of_programs(&flow.name);
        let sockets: serde_json::Map<String, Value> = sockets
            .filter(real)
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

/// What shims sent again for an end.
fn shims(verdict: Retransmissions) -> u64 {
    u64::from(verdict.sent[Cause::Shim as usize]) + u64::from(verdict.sent[Cause::Sfr as usize])
}

/// What was seen of a host, and what its shim added.
fn with_shims(seen: FlowSum, verdict: Retransmissions) -> FlowSum {
    let more = shims(verdict);
    FlowSum { sent: seen.sent + more, retransmissions: seen.retransmissions + more, ..seen }
}

fn capture_names(scenario: &Scenario) -> Vec<(String, String)> {
    let network = scenario.network();
    let nodes = network.spied.iter().map(|node| network.names.nodes[*node as usize].clone());
    nodes.zip(capture_files(&network)).collect()
}
