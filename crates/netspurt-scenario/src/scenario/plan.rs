//! Checks that the nodes, links, routes and flows of a scenario are consistent, and makes the plan
//! of its run.

use std::sync::Arc;

use indexmap::IndexSet;

use netspurt::app::Task;
use netspurt::event::Wanted;
use netspurt::ids::Side;
use netspurt::link::Messages;
use netspurt::plan::{Plan, PlannedEnd, PlannedFlow, PlannedPopulation, Traffic};
use netspurt::record::Capturing;
use netspurt::rto::EstimatorConfig;
use netspurt::sim::Routes;
use netspurt::units::{Duration, Time};

use super::echo_probes_plan::echo_probes;
use super::error::Problem;
use super::expand::{PlacedLink, build_graph, expand_links, node, set_route};
use super::flow_plan::{planned_end, start, task};
use super::flow_spec::{Family, FlowSpec};
use super::kernel::shims;
use super::names;
use super::number::BoundedInteger;
use super::population_plan::{kernel_tasks, plan_populations};
use super::population_spec::PopulationSpec;
use super::programs_plan::plan_programs;
use super::quantity::WordOr;
use super::reach::Reach;
use super::spec::{RecordSpec, Spec, TableName};
use super::tree::entry;

impl Spec {
    /// Fills in the defaults that depend on other keys.
    pub(super) fn fill_in(&mut self) {
        self.flows.values_mut().for_each(FlowSpec::fill_in);
        self.populations.values_mut().for_each(PopulationSpec::fill_in);
        self.fill_in_record();
    }

    /// Sets the keys `capture` (whether captures are written) and `spy` (the nodes whose segments
    /// are recorded) if the file does not set them. The default nodes are the nodes that start
    /// flows or echo probes, the nodes that answer requests, and both nodes of each population.
    pub(super) fn fill_in_record(&mut self) {
        self.record.capture.get_or_insert(self.record.tables.contains(&TableName::Segments));
        if self.record.spy.is_some() {
            return;
        }
        let answers = |flow: &FlowSpec| matches!(flow.app, WordOr::Table(_));
        let sources: IndexSet<String> = (self.flows.values())
            .flat_map(|flow| (0..flow.count.small()).map(move |i| (flow, i)))
            .flat_map(|(flow, i)| {
                [Some(flow.source(i)), answers(flow).then(|| flow.sink(i))].into_iter().flatten()
            })
            .chain(self.echo_probes.values().map(|echo_probes| echo_probes.from.clone()))
            .chain(self.populations.values().flat_map(|own| [own.from.clone(), own.to.clone()]))
            .collect();
        self.record.spy = Some(sources.into_iter().collect());
    }
}

/// Makes the plan of `spec`. The defaults of `spec` must already be filled in.
pub(super) fn plan(spec: &Spec) -> Result<Plan, Problem> {
    if spec.stop.is_zero() {
        return Err(Problem::at(["stop"], "the run would end when it starts")
            .fix("write a value above zero"));
    }
    if spec.title.contains(['\n', '\r']) {
        return Err(Problem::at(["title"], "the title has several lines").fix("write one line"));
    }
    names::check(spec)?;
    let expanded = expand_links(spec)?;
    let nodes: IndexSet<String> =
        expanded.iter().flat_map(|link| link.between.iter().cloned()).collect();
    let (graph, mut links) = build_graph(&expanded, &nodes, spec.seed.0, spec.stop)?;
    let mut routes = Routes::shortest(&graph);
    for (place, route) in spec.routes.iter().enumerate() {
        set_route(&mut routes, place, route, &expanded, &nodes)?;
    }
    let net = Reach { nodes: &nodes, graph: &graph, routes: &routes, links: &links };
    let mut flows = plan_flows(spec, &net)?;
    plan_echo_probes(spec, &net, &mut flows)?;
    plan_programs(spec, &net, &mut flows)?;
    let populations = plan_populations(spec, &net)?;
    let kernel_tasks = plan_kernel_tasks(&populations, &mut flows)?;
    give_message_lengths(&mut links, &flows);
    if spec.reassembly.timer.is_zero() {
        let message = "hosts must wait some time for the rest of a datagram";
        return Err(Problem::at(["reassembly", "timer"], message).fix("write a value above zero"));
    }
    let fragments = links.iter().any(|placed| placed.link.config.mtu.is_some());
    let spied: IndexSet<u32> = (spec.record.spy.iter().flatten().enumerate())
        .map(|(n, name)| node(&nodes, name, &["record", "spy", &entry(n)]))
        .collect::<Result<_, _>>()?;
    let spied: Vec<u32> = spied.into_iter().collect();
    Ok(Plan {
        graph,
        routes,
        links: links.into_iter().map(|placed| placed.link).collect(),
        flows,
        populations,
        kernel_tasks,
        fragments,
        reassembly: spec.reassembly.timer,
        wanted: wanted(&spec.record.tables),
        shadows: shadows(&spec.record)?,
        connections: spec.record.tables.contains(&TableName::Connections),
        captured: captured(&spec.record, &spied)?,
        spied,
        most_rows: spec.record.rows,
        nodes: nodes.into_iter().collect(),
    })
}

/// Gives the lengths of the flows' messages (requests and replies) to each link with effects, such
/// as losses. Some effects select packets by their numbers in the flow. A link computes the number
/// of a packet from the packet's position in the stream. It must know where messages end, because
/// the last packet of each message may be short.
fn give_message_lengths(links: &mut [PlacedLink], flows: &[PlannedFlow]) {
    if flows.iter().all(|flow| flow.traffic.messages() == [None; 2]) {
        return;
    }
    // For each flow, the list has first the messages to the first end, then the messages to the
    // second end. Forward messages go to the second end.
    let to_ends = |flow: &PlannedFlow| {
        let [forward, reverse] = flow.traffic.messages();
        [reverse, forward]
    };
    let messages: Messages = flows.iter().flat_map(to_ends).collect();
    for effects in links.iter_mut().filter_map(|placed| placed.link.config.effects.as_mut()) {
        effects.set_message_lengths(&messages);
    }
}

/// The captures of a run. If the scenario asks for captures, they are written at the nodes with the
/// numbers `spied`.
fn captured(record: &RecordSpec, spied: &[u32]) -> Result<Capturing, Problem> {
    let nodes = if capture(record)? { spied.to_vec() } else { Vec::new() };
    Ok(Capturing { nodes, snap_bytes: Some(snap_bytes(record)?) })
}

/// Whether captures are written. A capture has the packets of the table `segments`.
fn capture(record: &RecordSpec) -> Result<bool, Problem> {
    let recorded = record.tables.contains(&TableName::Segments);
    if record.capture == Some(true) && !recorded {
        let message = "captures need the table `segments`, which `tables` lacks";
        let fix = "add `segments` to `tables`, or set `capture` to false";
        return Err(Problem::at(["record", "capture"], message).fix(fix));
    }
    Ok(record.capture.unwrap_or(recorded))
}

/// The octets that captures keep of each packet. They must be enough for the headers of IPv4 and
/// TCP.
fn snap_bytes(record: &RecordSpec) -> Result<u32, Problem> {
    match u32::try_from(record.snap.0) {
        Ok(bytes @ 40..=65_535) => Ok(bytes),
        _ => {
            let message = format!("captures cannot keep {} of a packet", record.snap);
            Err(Problem::at(["record", "snap"], message).fix("write a size from 40 B to 65535 B"))
        }
    }
}

/// The estimators that get each sample of the round trip but do not influence the run.
fn shadows(record: &RecordSpec) -> Result<Vec<EstimatorConfig>, Problem> {
    let lacks = |name: &TableName| !record.tables.contains(name);
    if !record.shadows.is_empty() && [TableName::Rtt, TableName::Rto].iter().any(lacks) {
        let message = "`shadows` need the tables `rtt` and `rto`";
        return Err(Problem::at(["record", "tables"], message).fix("add them to `tables`"));
    }
    let parse = |(n, text): (usize, &String)| {
        EstimatorConfig::parse(text).map_err(|slip| {
            let problem = Problem::at(["record", "shadows", &entry(n)], slip.message);
            problem.fix(slip.fix)
        })
    };
    record.shadows.iter().enumerate().map(parse).collect()
}

fn wanted(tables: &[TableName]) -> Wanted {
    let has = |name| tables.contains(&name);
    Wanted {
        seen: has(TableName::Segments),
        drops: has(TableName::Drops),
        queue: has(TableName::Queue),
        cwnd: has(TableName::Cwnd),
        rtt: has(TableName::Rtt),
        rto: has(TableName::Rto),
    }
}

fn plan_flows(spec: &Spec, net: &Reach<'_>) -> Result<Vec<PlannedFlow>, Problem> {
    if spec.flows.is_empty() && spec.echo_probes.is_empty() && spec.populations.is_empty() {
        let problem = Problem::at(["flows"], "the scenario has no traffic");
        return Err(problem.fix("add `[flows.name]`, `[populations.name]` or `[echo_probes.name]`"));
    }
    let mut flows = Vec::new();
    for (name, flow) in spec.flows.iter().filter(|(_, flow)| !flow.is_of_programs()) {
        plan_group(name, flow, (spec.stop, spec.seed.0), net, &mut flows)?;
    }
    Ok(flows)
}

/// Plans the flow or the group of flows called `name`. A flow with a `count` above 1 is a group.
/// The flows of a group share one configuration, and one task (what their applications send and
/// when).
fn plan_group(
    name: &str,
    group: &FlowSpec,
    run: (Duration, u64),
    net: &Reach<'_>,
    flows: &mut Vec<PlannedFlow>,
) -> Result<(), Problem> {
    let words = group.ends();
    let end = |side: Side| planned_end(name, group, words[side.index()], side);
    let ends = [end(Side::From)?, end(Side::To)?];
    let [full, acks] = [ends[0].packet_bytes(), ends[0].header_bytes()];
    let smss = ends[0].smss();
    start(name, group, 0, run)?;
    let task = task(name, group, smss)?;
    let sizes = [full, if matches!(task, Task::Bulk(_)) { acks } else { full }];
    let shims = shims(name, group)?;
    let ipv6 = group.family == Family::Ipv6;
    let traffic = Arc::new(match ends {
        [PlannedEnd::Model(tcp), PlannedEnd::Model(_)] => Traffic::Tcp { tcp, task },
        ends => Traffic::Real { ends, shims, task },
    });
    let mut checked: IndexSet<(u32, u32)> = IndexSet::new();
    for i in 0..group.count.small() {
        let place = |key: &str, host: &str| node(net.nodes, host, &["flows", name, key]);
        let (from, to) = (place("from", &group.source(i))?, place("to", &group.sink(i))?);
        let start = start(name, group, i, run)?;
        if checked.insert((from, to)) {
            net.check(["flows", name], (from, to), sizes)?;
            if ipv6 {
                net.check_uncut(name, (from, to), full)?;
            }
        }
        let name =
            if group.count == BoundedInteger(1) { name.to_owned() } else { format!("{name}.{i}") };
        flows.push(PlannedFlow { name, from, to, ipv6, start, traffic: traffic.clone() });
    }
    Ok(())
}

/// Plans the connections of a population that uses the kernel's TCP. The two hosts of the
/// population are planned like the hosts of a flow with `app = "programs"`. Returns the tasks of
/// the connections.
fn plan_kernel_tasks(
    populations: &[Arc<PlannedPopulation>],
    flows: &mut Vec<PlannedFlow>,
) -> Result<Option<Vec<Task>>, Problem> {
    for population in populations {
        let PlannedEnd::Kernel(tcp) = population.end else { continue };
        let name = population.name.clone();
        let (from, to) = (population.from, population.to);
        let traffic = Arc::new(Traffic::Programs { tcp, shims: population.shims });
        let start = Time::ZERO;
        flows.push(PlannedFlow { name, from, to, ipv6: false, start, traffic });
        return kernel_tasks(population).map(Some);
    }
    Ok(None)
}

fn plan_echo_probes(
    spec: &Spec,
    net: &Reach<'_>,
    flows: &mut Vec<PlannedFlow>,
) -> Result<(), Problem> {
    for (name, table) in &spec.echo_probes {
        if flows.iter().any(|flow| flow.name == *name) {
            let message = format!("a flow is also called `{name}`");
            return Err(Problem::at(["echo_probes", name], message)
                .of_the_key()
                .fix("choose another name"));
        }
        let place = |key: &str, host: &str| node(net.nodes, host, &["echo_probes", name, key]);
        let (from, to) = (place("from", &table.from)?, place("to", &table.to)?);
        let plan = echo_probes(name, table, spec)?;
        for size in plan.sizes_bytes.iter().max().into_iter().chain(plan.sizes_bytes.iter().min()) {
            net.check(["echo_probes", name], (from, to), [*size; 2])?;
        }
        let start = plan.start;
        let traffic = Arc::new(Traffic::EchoProbes { plan, processing: table.processing });
        flows.push(PlannedFlow { name: name.clone(), from, to, ipv6: false, start, traffic });
    }
    Ok(())
}
