//! Nodes, links, routes and flows of a scenario, checked against each other.

use indexmap::IndexSet;

use crate::app::Task;
use crate::event::Wanted;
use crate::link::{LinkConfig, Messages};
use crate::record::{self, FlowName, Names};
use crate::rto::EstimatorConfig;
use crate::sim::{Graph, RouteError, Routes};
use crate::tcp::TcpConfig;
use crate::units::Duration;

use super::error::Problem;
use super::flow_plan::{carried, connection, task};
use super::flow_spec::{EndpointWord, Family, FlowSpec, Profile};
use super::kernel::{kernel_tcp, shims};
use super::link_plan::{LinkName, WAYS, both_ways};
use super::link_spec::LinkSpec;
use super::names;
use super::number::Whole;
use super::programs::plan_programs;
use super::quantity::WordOr;
use super::rfc_switches::contradiction;
use super::spec::{DumbbellSpec, PathSpec, RecordSpec, RouteSpec, Spec, TableName};
use super::traffic::{PlannedEnd, PlannedFlow, Traffic};
use super::tree::entry;
use super::volleys_plan::volleys;
use crate::place::did_you_mean;

/// One direction of a link.
pub(super) struct PlannedLink {
    pub(super) name: String,
    /// The path of its table in the file.
    pub(super) place: Vec<String>,
    pub(super) way: &'static str,
    pub(super) config: LinkConfig,
}

/// What a world is built from.
pub(super) struct Plan {
    pub(super) nodes: Vec<String>,
    pub(super) graph: Graph,
    pub(super) routes: Routes,
    pub(super) links: Vec<PlannedLink>,
    pub(super) flows: Vec<PlannedFlow>,
    /// Whether there may be fragments.
    pub(super) fragments: bool,
    /// How long hosts wait for the rest of a datagram.
    pub(super) reassembly: Duration,
    pub(super) spied: Vec<u32>,
    pub(super) wanted: Wanted,
    pub(super) capture: bool,
    /// Timers beside those of the senders.
    pub(super) shadows: Vec<EstimatorConfig>,
}

/// A link and where it stands in the file.
struct Drawn<'a> {
    name: String,
    between: [String; 2],
    path: Vec<String>,
    spec: &'a LinkSpec,
}

impl Spec {
    /// Spells out the defaults that depend on other keys.
    pub(super) fn fill_in(&mut self) {
        self.flows.values_mut().for_each(FlowSpec::fill_in);
        let answers = |flow: &FlowSpec| matches!(flow.app, WordOr::Table(_));
        let sources: IndexSet<String> = (self.flows.values())
            .flat_map(|flow| (0..flow.count.small()).map(move |i| (flow, i)))
            .flat_map(|(flow, i)| {
                [Some(flow.source(i)), answers(flow).then(|| flow.sink(i))].into_iter().flatten()
            })
            .chain(self.volleys.values().map(|volleys| volleys.from.clone()))
            .collect();
        self.record.spy.get_or_insert_with(|| sources.into_iter().collect());
    }
}

impl Plan {
    /// The plan of `spec`, whose defaults are filled in.
    pub(super) fn new(spec: &Spec) -> Result<Self, Problem> {
        if spec.stop.is_zero() {
            return Err(Problem::at(["stop"], "a run that ends at once").fix("above zero"));
        }
        names::check(spec)?;
        let drawn = draw(spec)?;
        let nodes: IndexSet<String> =
            drawn.iter().flat_map(|link| link.between.iter().cloned()).collect();
        let (graph, mut links) = lay(&drawn, &nodes, spec.seed.0)?;
        let mut routes = Routes::shortest(&graph);
        for (place, route) in spec.routes.iter().enumerate() {
            set_route(&mut routes, place, route, &drawn, &nodes)?;
        }
        let net = Net { nodes: &nodes, graph: &graph, routes: &routes, links: &links };
        let mut flows = plan_flows(spec, &net)?;
        plan_volleys(spec, &net, &mut flows)?;
        plan_programs(spec, &net, &mut flows)?;
        names::check_ways_back(&flows)?;
        tell_links(&mut links, &flows);
        if spec.reassembly.timer.is_zero() {
            let message = "no time to wait for the rest of a datagram";
            return Err(Problem::at(["reassembly", "timer"], message).fix("above zero"));
        }
        let fragments = links.iter().any(|link| link.config.mtu.is_some());
        let spied: IndexSet<u32> = (spec.record.spy.iter().flatten().enumerate())
            .map(|(n, name)| node(&nodes, name, &["record", "spy", &entry(n)]))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            graph,
            routes,
            links,
            flows,
            fragments,
            reassembly: spec.reassembly.timer,
            spied: spied.into_iter().collect(),
            wanted: wanted(&spec.record.tables),
            shadows: shadows(&spec.record)?,
            capture: spec.record.capture,
            nodes: nodes.into_iter().collect(),
        })
    }
}

impl Plan {
    /// The names of everything that events number.
    pub(super) fn names(&self) -> Names {
        let flows = self.flows.iter().map(|flow| FlowName {
            name: flow.name.clone(),
            from: flow.from,
            to: flow.to,
            smss: flow.smss(),
            volleys: matches!(flow.traffic, Traffic::Volleys { .. }),
            answers: flow.answers(),
            messages: flow.messages(),
            ipv6: flow.ipv6,
        });
        let links = (0..).zip(&self.links).map(|(i, link)| {
            let (from, to) = self.graph.ends(i);
            record::LinkName { name: link.name.clone(), way: link.way, from, to }
        });
        Names { nodes: self.nodes.clone(), links: links.collect(), flows: flows.collect() }
    }
}

/// Lets links that pick packets by number know how long messages are.
fn tell_links(links: &mut [PlannedLink], flows: &[PlannedFlow]) {
    if flows.iter().all(|flow| flow.messages() == [None; 2]) {
        return;
    }
    // By the endpoint they go to: those there to the second of a flow's two.
    let to_ends = |flow: &PlannedFlow| {
        let [there, back] = flow.messages();
        [back, there]
    };
    let messages: Messages = flows.iter().flat_map(to_ends).collect();
    for effects in links.iter_mut().filter_map(|link| link.config.effects.as_mut()) {
        effects.know_messages(&messages);
    }
}

/// The timers beside those of the senders.
fn shadows(record: &RecordSpec) -> Result<Vec<EstimatorConfig>, Problem> {
    let lacks = |name: &TableName| !record.tables.contains(name);
    if !record.shadows.is_empty() && [TableName::Rtt, TableName::Rto].iter().any(lacks) {
        let message = "timers in the shadow of others need the tables `rtt` and `rto`";
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

fn path<const N: usize>(steps: [&str; N]) -> Vec<String> {
    steps.into_iter().map(str::to_owned).collect()
}

/// All links of the file, the short forms drawn out.
fn draw(spec: &Spec) -> Result<Vec<Drawn<'_>>, Problem> {
    let mut drawn = Vec::new();
    for (name, link) in &spec.links {
        let between = link.between.clone().ok_or_else(|| {
            Problem::at(["links", name], format!("link `{name}` joins no nodes"))
                .fix("add `between = [\"a\", \"b\"]`")
                .incomplete()
        })?;
        if between[0] == between[1] {
            let message = format!("link `{name}` joins `{}` to itself", between[0]);
            return Err(Problem::at(["links", name, "between"], message).fix("two nodes"));
        }
        drawn.push(Drawn { name: name.clone(), between, path: path(["links", name]), spec: link });
    }
    if let Some(path) = &spec.path {
        draw_path(path, &mut drawn)?;
    }
    if let Some(dumbbell) = &spec.dumbbell {
        draw_dumbbell(dumbbell, &mut drawn)?;
    }
    let mut names = IndexSet::new();
    if let Some(twice) = drawn.iter().find(|link| !names.insert(&link.name)) {
        let message = format!("two links are called `{}`", twice.name);
        let mut problem = Problem::at([], message);
        problem.path.clone_from(&twice.path);
        return Err(problem.fix("a short form names its links after its nodes"));
    }
    if drawn.is_empty() {
        return Err(Problem::at([], "the scenario has no links")
            .fix("add `[links]`, `[path]` or `[dumbbell]`"));
    }
    Ok(drawn)
}

fn without_between(spec: &LinkSpec, path: &[String]) -> Result<(), Problem> {
    if spec.between.is_none() {
        return Ok(());
    }
    let mut problem = Problem::at([], "here the short form says which nodes a link joins");
    problem.path = [path, &["between".to_owned()]].concat();
    Err(problem.fix("leave `between` out"))
}

fn draw_path<'a>(chain: &'a PathSpec, drawn: &mut Vec<Drawn<'a>>) -> Result<(), Problem> {
    let nodes = chain.nodes.len();
    if nodes < 2 {
        let message = "a chain joins at least two nodes";
        return Err(Problem::at(["path", "nodes"], message).fix("as in `nodes = [\"a\", \"b\"]`"));
    }
    if nodes != chain.links.len() + 1 {
        let (wanted, there) = (nodes - 1, chain.links.len());
        let message = format!("a chain of {nodes} nodes has {wanted} links, and not {there}");
        let fix = "one link for each node and its neighbour";
        return Err(Problem::at(["path", "links"], message).also(["path", "nodes"]).fix(fix));
    }
    let mut met = IndexSet::new();
    if let Some(n) = chain.nodes.iter().position(|node| !met.insert(node)) {
        let message =
            format!("a chain meets no node twice, and `{}` is there already", chain.nodes[n]);
        return Err(Problem::at(["path", "nodes", &entry(n)], message).fix("another name"));
    }
    for (n, (pair, link)) in chain.nodes.windows(2).zip(&chain.links).enumerate() {
        let place = path(["path", "links", &entry(n)]);
        without_between(link, &place)?;
        drawn.push(Drawn {
            name: format!("{}-{}", pair[0], pair[1]),
            between: [pair[0].clone(), pair[1].clone()],
            path: place,
            spec: link,
        });
    }
    Ok(())
}

fn draw_dumbbell<'a>(
    dumbbell: &'a DumbbellSpec,
    drawn: &mut Vec<Drawn<'a>>,
) -> Result<(), Problem> {
    without_between(&dumbbell.access, &path(["dumbbell", "access"]))?;
    without_between(&dumbbell.bottleneck, &path(["dumbbell", "bottleneck"]))?;
    let mut add = |name: String, from: &str, to: &str, key, spec| {
        let between = [from.to_owned(), to.to_owned()];
        drawn.push(Drawn { name, between, path: path(["dumbbell", key]), spec });
    };
    add("bottleneck".into(), "west", "east", "bottleneck", &dumbbell.bottleneck);
    for i in 0..dumbbell.pairs.small() {
        let (west, east) = (format!("west{i}"), format!("east{i}"));
        add(west.clone(), &west, "west", "access", &dumbbell.access);
        add(east.clone(), "east", &east, "access", &dumbbell.access);
    }
    Ok(())
}

/// The graph, and each link's two directions in it.
fn lay(
    drawn: &[Drawn<'_>],
    nodes: &IndexSet<String>,
    seed: u64,
) -> Result<(Graph, Vec<PlannedLink>), Problem> {
    let number = |name: &String| u32::try_from(nodes.get_index_of(name).unwrap_or(0)).unwrap_or(0);
    let mut graph = Graph::new(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
    let mut links = Vec::new();
    for link in drawn {
        let name = LinkName { path: &link.path, name: &link.name, seed, way: 0 };
        let [a, b] = [number(&link.between[0]), number(&link.between[1])];
        graph.add_link(a, b);
        graph.add_link(b, a);
        for (config, way) in both_ways(link.spec, &name)?.into_iter().zip(WAYS) {
            links.push(PlannedLink {
                name: link.name.clone(),
                place: link.path.clone(),
                way,
                config,
            });
        }
    }
    Ok((graph, links))
}

/// The number of the node called `name`, which stands in the file at `path`.
pub(super) fn node(nodes: &IndexSet<String>, name: &str, path: &[&str]) -> Result<u32, Problem> {
    if let Some(index) = nodes.get_index_of(name) {
        return Ok(u32::try_from(index).unwrap_or(u32::MAX));
    }
    let mut problem = Problem::at([], format!("no link leads to a node `{name}`"));
    problem.path = path.iter().map(|key| (*key).to_owned()).collect();
    Err(match did_you_mean(name, nodes.iter().map(String::as_str)) {
        Some(question) => problem.fix(question),
        None => {
            let known: Vec<&str> = nodes.iter().take(8).map(String::as_str).collect();
            let more = if nodes.len() > known.len() { ", ..." } else { "" };
            problem.fix(format!("there are {}{more}", known.join(", ")))
        }
    })
}

/// Sets the route that is entry `place` of the list.
fn set_route(
    routes: &mut Routes,
    place: usize,
    route: &RouteSpec,
    drawn: &[Drawn<'_>],
    nodes: &IndexSet<String>,
) -> Result<(), Problem> {
    let place = entry(place);
    let to = node(nodes, &route.to, &["routes", &place, "to"])?;
    let mut at = &route.from;
    let mut here = node(nodes, at, &["routes", &place, "from"])?;
    for (n, next) in route.via.iter().chain([&route.to]).enumerate() {
        let n = entry(n);
        let step = ["routes", &place, "via", &n];
        let step = if *n == entry(route.via.len()) { &["routes", &place, "to"] } else { &step[..] };
        let there = node(nodes, next, step)?;
        let link = drawn.iter().zip(0_u32..).find_map(|(link, i)| match &link.between {
            [a, b] if a == at && b == next => Some(2 * i),
            [a, b] if b == at && a == next => Some(2 * i + 1),
            _ => None,
        });
        let link = link.ok_or_else(|| {
            let mut problem = Problem::at([], format!("no link joins `{at}` and `{next}`"));
            problem.path = step.iter().map(|key| (*key).to_owned()).collect();
            problem.fix("a route goes from node to neighbouring node")
        })?;
        routes.set(here, to, link);
        (at, here) = (next, there);
    }
    Ok(())
}

/// What flows are checked against.
pub(super) struct Net<'a> {
    pub(super) nodes: &'a IndexSet<String>,
    graph: &'a Graph,
    routes: &'a Routes,
    links: &'a [PlannedLink],
}

fn plan_flows(spec: &Spec, net: &Net<'_>) -> Result<Vec<PlannedFlow>, Problem> {
    if spec.flows.is_empty() && spec.volleys.is_empty() {
        let problem = Problem::at(["flows"], "nothing flows");
        return Err(problem.fix("add `[flows.name]` or `[volleys.name]`"));
    }
    let mut flows = Vec::new();
    let mut checked: IndexSet<(u32, u32, [u16; 2])> = IndexSet::new();
    for (name, flow) in spec.flows.iter().filter(|(_, flow)| !flow.is_of_programs()) {
        let words = flow.ends();
        let ends = [planned_end(name, flow, words[0])?, planned_end(name, flow, words[1])?];
        for i in 0..flow.count.small() {
            let place = |key: &str, host: &str| node(net.nodes, host, &["flows", name, key]);
            let (from, to) = (place("from", &flow.source(i))?, place("to", &flow.sink(i))?);
            let [full, acks] = match &ends[0] {
                PlannedEnd::Model(tcp) => [tcp.packet_bytes(), tcp.header_bytes()],
                PlannedEnd::Kernel(tcp) => [tcp.packet_bytes, tcp.header_bytes],
            };
            let task = task(name, flow, ends[0].smss(), i, spec.stop)?;
            let sizes = [full, if matches!(task, Task::Bulk(_)) { acks } else { full }];
            if checked.insert((from, to, sizes)) {
                net.check(["flows", name], (from, to), sizes)?;
            }
            if flow.family == Family::Ipv6 {
                net.check_uncut(name, (from, to), full)?;
            }
            let shims = shims(name, flow)?;
            flows.push(PlannedFlow {
                name: if flow.count == Whole(1) { name.clone() } else { format!("{name}.{i}") },
                from,
                to,
                ipv6: flow.family == Family::Ipv6,
                traffic: match ends.clone() {
                    [PlannedEnd::Model(tcp), PlannedEnd::Model(_)] => Traffic::Tcp { tcp, task },
                    ends => Traffic::Real { ends, shims, task },
                },
            });
        }
    }
    Ok(flows)
}

/// The nodes of `spec`, and those that one link leads to, in the order of the file.
pub(super) fn nodes_and_leaves(spec: &Spec) -> Result<[Vec<String>; 2], Problem> {
    let drawn = draw(spec)?;
    let ends = || drawn.iter().flat_map(|link| &link.between);
    let nodes: Vec<String> = ends().cloned().collect::<IndexSet<_>>().into_iter().collect();
    let alone = |node: &&String| ends().filter(|other| other == node).count() == 1;
    let leaves = nodes.iter().filter(alone).cloned().collect();
    Ok([nodes, leaves])
}

fn planned_end(name: &str, flow: &FlowSpec, word: EndpointWord) -> Result<PlannedEnd, Problem> {
    if word == EndpointWord::Kernel {
        let alone = flow.ends() == [EndpointWord::Kernel; 2];
        let tcp = kernel_tcp(name, flow.profile, &flow.tcp, flow.family, alone)?;
        return Ok(PlannedEnd::Kernel(tcp));
    }
    if flow.profile == Profile::LinuxDefault {
        let problem = Problem::at(["flows", name, "profile"], "`linux-default` is the kernel's");
        return Err(problem.fix("`linux-6`, or `endpoint = \"kernel\"` in a live run"));
    }
    let tcp = connection(name, flow.profile, &flow.tcp)?;
    let wrong = match &tcp {
        TcpConfig::Rfc(config) => contradiction(name, config),
        TcpConfig::Ns(_) => None,
    };
    wrong.map_or_else(|| carried(name, tcp, flow.family).map(PlannedEnd::Model), Err)
}

fn plan_volleys(spec: &Spec, net: &Net<'_>, flows: &mut Vec<PlannedFlow>) -> Result<(), Problem> {
    for (name, table) in &spec.volleys {
        if flows.iter().any(|flow| flow.name == *name) {
            let message = format!("a flow is called `{name}`, too");
            return Err(Problem::at(["volleys", name], message).of_the_key().fix("another name"));
        }
        let place = |key: &str, host: &str| node(net.nodes, host, &["volleys", name, key]);
        let (from, to) = (place("from", &table.from)?, place("to", &table.to)?);
        let plan = volleys(name, table, spec)?;
        for size in plan.sizes_bytes.iter().max().into_iter().chain(plan.sizes_bytes.iter().min()) {
            net.check(["volleys", name], (from, to), [*size; 2])?;
        }
        let traffic = Traffic::Volleys { plan, processing: table.processing };
        flows.push(PlannedFlow { name: name.clone(), from, to, ipv6: false, traffic });
    }
    Ok(())
}

impl Net<'_> {
    /// Whether packets get there and answers back, of so many octets, and not in no time at all.
    pub(super) fn check(
        &self,
        [section, name]: [&str; 2],
        (from, to): (u32, u32),
        [there, back]: [u16; 2],
    ) -> Result<(), Problem> {
        if from == to {
            let message = "the flow ends where it starts";
            let problem = Problem::at([section, name, "to"], message);
            return Err(problem.fix("another node than `from`"));
        }
        let path = |a: u32, b: u32, key| {
            let path = self.routes.path(self.graph, a, b);
            path.map_err(|error| self.no_route([section, name, key], (a, b), error))
        };
        let there = self.least_time(&path(from, to, "to")?, there.into())?;
        let back = self.least_time(&path(to, from, "from")?, back.into())?;
        if (there + back).is_zero() {
            let message = "the way there and back takes no time, so the run would never end";
            return Err(Problem::at([section, name], message).fix("give a link a rate or a delay"));
        }
        Ok(())
    }

    /// Whether no link would cut packets of `size` octets on their way there or back, which nobody
    /// does with those of IPv6.
    fn check_uncut(&self, name: &str, (a, b): (u32, u32), size: u16) -> Result<(), Problem> {
        for (from, to) in [(a, b), (b, a)] {
            let links = self.routes.path(self.graph, from, to).unwrap_or_default();
            for link in links {
                let PlannedLink { config, name: cuts, .. } = &self.links[link as usize];
                if config.cuts(size.into()) {
                    let message = format!("link `{cuts}` cuts packets, but none of IPv6");
                    let place = Problem::at(["flows", name, "family"], message);
                    return Err(place.fix("`too_big = \"drop\"` on the link, or a smaller packet"));
                }
            }
        }
        Ok(())
    }

    /// The least time that packets of `size` octets take over `links`, which have room for them;
    /// of those that are cut, the first fragment's.
    fn least_time(&self, links: &[u32], mut size: u32) -> Result<Duration, Problem> {
        let mut time = Duration::ZERO;
        for link in links {
            let PlannedLink { place, config, way, .. } = &self.links[*link as usize];
            size = config.largest_part(size);
            if !config.has_room_for(size) {
                let message = format!("a queue that has no room for a packet of {size} B");
                let mut problem = Problem::at([], message);
                let way = entry(usize::from(*way != WAYS[0]));
                problem.path = [&place[..], &["queue".to_owned(), way]].concat();
                return Err(problem.fix(format!("at least `{size} B`")));
            }
            time = time + config.least_time(size);
        }
        Ok(time)
    }

    fn no_route(&self, place: [&str; 3], (a, b): (u32, u32), error: RouteError) -> Problem {
        let (RouteError::DeadEnd { at } | RouteError::Circle { at }) = error;
        let called = |node: u32| &self.nodes[node as usize];
        let message = format!("no route from `{}` to `{}`", called(a), called(b));
        Problem::at(place, message).fix(match error {
            _ if !self.graph.joins(a, b) => "no chain of links joins them".to_owned(),
            RouteError::DeadEnd { .. } => format!("the routes end at `{}`", called(at)),
            RouteError::Circle { .. } => format!("the routes circle through `{}`", called(at)),
        })
    }
}
