//! What came of a live run.

use std::io;

use netspurt::app::{FlowResult, Program};
use netspurt::event::Wanted;
use netspurt::record::{
    Column, Data, FlowName, FlowSum, Names, Resends, Table, digest, flow_addresses, flows_table,
    links_table, node_address, requests_table, resends_table, shadows_table,
};
use netspurt::rto::EstimatorConfig;
use netspurt::scenario::{Network, Scenario};
use netspurt::segment::Cause;
use netspurt::shim::Resend;
use netspurt::units::{Duration, Time};
use serde_json::{Value, json};

use super::ledger::Ledger;
use super::watcher::Watcher;
use super::{LiveError, Made};
use crate::drive::{Arrival, Log, simultaneous};
use crate::exec::{Counts, Ended, Pair, Programs, connections_table};
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

/// The same of the hosts of programs, whose sockets are their own.
pub(super) fn profiles_of_programs(names: &Names, pair: &Pair) -> [Value; 2] {
    let flow = &names.flows[(pair.first / 2) as usize].name;
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
        mut watcher: Watcher,
        budget: Duration,
    ) -> Result<LiveRun, LiveError> {
        let stop = self.path.now();
        let late = self.log.deliveries.iter().map(|d| d.actual.saturating_since(d.due)).collect();
        let lateness = Lateness::of(late);
        self.tell_what_entered(&mut watcher);
        let names = self.names_of_flows(&watcher);
        let sums = self.sums(&watcher);
        let mut own = self.shim_tables();
        own.extend(self.connections(&watcher, &names, &sums));
        let told = watcher.programs.as_ref().map(|programs| (programs.others, programs.is_told()));
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
            flows_table(&names, &sums),
            resends_table(&names, &sums),
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

    /// The first end of programs.
    fn first_of_programs(watcher: &Watcher) -> u32 {
        watcher.programs.as_ref().map_or(u32::MAX, |programs| programs.first)
    }

    /// The ends of programs' connections, those of one behind each other.
    fn ends_of_programs(watcher: &Watcher) -> impl Iterator<Item = u32> {
        let count = watcher.programs.as_ref().map_or(0, |programs| programs.connections.count());
        let first = Self::first_of_programs(watcher);
        (0_u32..).take(2 * count).map(move |n| first + 2 + n)
    }

    /// The flows that tables sum up: those of TCP, and the connections of programs.
    fn names_of_flows(&self, watcher: &Watcher) -> Names {
        let first = (Self::first_of_programs(watcher) / 2) as usize;
        let own = self.names.flows.iter().take(first).cloned();
        let programs = Self::ends_of_programs(watcher).step_by(2);
        let programs = programs.map(|end| self.names.flows[(end / 2) as usize].clone());
        let all = Names { flows: own.chain(programs).collect(), ..self.names.clone() };
        Names { flows: all.summed(), ..all }
    }

    /// The sums of those, in the same order.
    fn sums(&self, watcher: &Watcher) -> Vec<FlowSum> {
        let judge = self.path.judge();
        let first = Self::first_of_programs(watcher);
        let own = (0_u32..).step_by(2).zip(&self.names.flows).take_while(|(end, _)| *end < first);
        let own = own.filter(|(_, flow)| !flow.volleys);
        let own = own.flat_map(|(end, flow)| [Some(end), flow.answers.then_some(end + 1)]);
        let result = |end| self.path.program(end).and_then(Program::result);
        let ledger = |end: u32| watcher.ledgers[end as usize].as_ref();
        let sum = |end: u32| {
            let (verdict, waited) = (judge.resends(end), judge.waited(end));
            let seen = ledger(end).map_or_else(FlowSum::default, Ledger::sum);
            let sum = match (result(end), result(end ^ 1)) {
                (Some(a), Some(b)) => FlowSum::of([a, b]),
                _ if end >= first => with_shims(seen, verdict),
                (a, b) => self.joined(end, with_shims(seen, verdict), [a, b]),
            };
            FlowSum { verdict, waited, ..sum }
        };
        own.flatten().chain(Self::ends_of_programs(watcher)).map(sum).collect()
    }

    /// The table `requests`, where there are any.
    fn requests(&self) -> Option<Table> {
        let of = |(flow, _): (u32, &FlowName)| match self.path.program(2 * flow) {
            Some(Program::Client(client)) => Some((flow, client.exchanges().to_vec())),
            _ => {
                let notes = self.notes.iter().find(|notes| notes.end == 2 * flow)?;
                (!notes.exchanges.is_empty()).then(|| (flow, notes.exchanges.clone()))
            }
        };
        let asking = (0..).zip(&self.names.flows).filter(|(_, flow)| flow.answers);
        let of_programs = |name: &str| self.is_of_programs(name);
        let mut asking = asking.filter(|(_, flow)| !of_programs(&flow.name)).peekable();
        asking.peek()?;
        Some(requests_table(&self.names, &asking.filter_map(of).collect::<Vec<_>>()))
    }

    /// Tells programs' connections what entered the path, and when.
    fn tell_what_entered(&self, watcher: &mut Watcher) {
        let Some(programs) = &mut watcher.programs else { return };
        for Arrival { at, segment, .. } in &self.log.arrivals {
            if let Some(behind) = segment.source().checked_sub(programs.first + 2) {
                let (place, side) = ((behind / 2) as usize, (behind & 1) as usize);
                programs.connections.entered(place, side, *at, segment);
            }
        }
    }

    /// The table `connections`, where there are programs.
    fn connections(&self, watcher: &Watcher, names: &Names, sums: &[FlowSum]) -> Option<Table> {
        let programs = watcher.programs.as_ref()?;
        let count = programs.connections.count();
        let of = |pair: &[FlowSum]| {
            let arrived = [pair[1].delivered_bytes, pair[0].delivered_bytes];
            let shims = [0, 1].map(|side: usize| shims(pair[side].verdict));
            [arrived, shims]
        };
        let counts: Vec<Counts> = sums[sums.len() - 2 * count..].chunks_exact(2).map(of).collect();
        let name = &names.flows.get(sums.len() - 2 * count)?.name;
        let name = name.rsplit_once('.').map_or(&**name, |(name, _)| name);
        Some(connections_table(name, &programs.connections, &counts))
    }

    /// The table `shims`, where one sent anything again.
    fn shim_tables(&self) -> Vec<Table> {
        let all = self.path.resends();
        if all.is_empty() {
            return Vec::new();
        }
        let nanos = |at: Time| at.as_nanos().cast_signed();
        let number = |of: &dyn Fn(&Resend) -> i64| {
            Data::I64(all.iter().map(|(_, resend)| of(resend)).collect())
        };
        let columns = vec![
            Column::new("t_ns", number(&|resend| nanos(resend.at))),
            Column::new("end", Data::U32(all.iter().map(|(end, _)| *end).collect())),
            Column::new("id", Data::U64(all.iter().map(|(_, resend)| resend.id).collect())),
            Column::new("seq", number(&|resend| resend.left.cast_signed())),
            Column::new("armed_ns", number(&|resend| nanos(resend.armed))),
            Column::new("backoff", number(&|resend| resend.backoff.into())),
        ];
        vec![Table::new("shims", columns)]
    }

    /// What was seen of a flow, what its applications say, and what an end of the simulator's
    /// says of itself.
    fn joined(&self, source: u32, seen: FlowSum, [from, to]: [Option<FlowResult>; 2]) -> FlowSum {
        let notes = |end| self.notes.iter().find(|notes| notes.end == end);
        let mut sum = seen;
        sum.start = notes(source).and_then(|notes| notes.wrote);
        // Who asked has finished when it has read what it asked for.
        sum.finished = notes(source).and_then(|notes| notes.finished).or(sum.finished);
        sum.delivered_bytes = notes(source ^ 1).map_or(0, |notes| notes.read_bytes);
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
        // Programs have ports of their own.
        let real = |(flow, _): &(&FlowName, _)| !flow.volleys && !self.is_of_programs(&flow.name);
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
fn shims(verdict: Resends) -> u64 {
    verdict.sent[Cause::Shim as usize] + verdict.sent[Cause::Sfr as usize]
}

/// What was seen of a host, and what its shim added.
fn with_shims(seen: FlowSum, verdict: Resends) -> FlowSum {
    let more = shims(verdict);
    FlowSum { sent: seen.sent + more, resends: seen.resends + more, ..seen }
}

fn capture_names(scenario: &Scenario) -> Vec<(String, String)> {
    let network = scenario.network();
    let nodes = network.spied.iter().map(|node| network.names.nodes[*node as usize].clone());
    nodes.zip(capture_files(&network)).collect()
}
