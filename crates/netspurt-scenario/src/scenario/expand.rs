//! Makes the list of all links of a scenario, and the graph of these links. The list includes the
//! links of the two short forms, `[path]` and `[dumbbell]`.

use indexmap::IndexSet;

use netspurt::ids::Direction;
use netspurt::place::did_you_mean;
use netspurt::plan::PlannedLink;
use netspurt::sim::{Graph, Routes};
use netspurt::units::Duration;

use super::error::Problem;
use super::link_place::LinkPlace;
use super::link_plan::directed_configs;
use super::link_spec::LinkSpec;
use super::slots_plan::with_drawn_slots;
use super::spec::{DumbbellSpec, PathSpec, RouteSpec, Spec};
use super::tree::entry;

/// One direction of a link, with the path of the link's table in the file.
pub(super) struct PlacedLink {
    pub(super) place: Vec<String>,
    pub(super) link: PlannedLink,
}

/// A link with its place in the file.
pub(super) struct ExpandedLink<'a> {
    pub(super) name: String,
    pub(super) between: [String; 2],
    pub(super) path: Vec<String>,
    pub(super) spec: &'a LinkSpec,
}

fn path<const N: usize>(steps: [&str; N]) -> Vec<String> {
    steps.into_iter().map(str::to_owned).collect()
}

/// Returns all links of the file, including the links of `[path]` and `[dumbbell]`.
pub(super) fn expand_links(spec: &Spec) -> Result<Vec<ExpandedLink<'_>>, Problem> {
    let mut expanded = Vec::new();
    for (name, link) in &spec.links {
        let between = link.between.clone().ok_or_else(|| {
            Problem::at(["links", name], format!("link `{name}` joins no nodes"))
                .fix("add `between = [\"a\", \"b\"]`")
                .incomplete()
        })?;
        if between[0] == between[1] {
            let message = format!("link `{name}` joins `{}` to itself", between[0]);
            return Err(
                Problem::at(["links", name, "between"], message).fix("write two different nodes")
            );
        }
        expanded.push(ExpandedLink {
            name: name.clone(),
            between,
            path: path(["links", name]),
            spec: link,
        });
    }
    if let Some(path) = &spec.path {
        expand_path(path, &mut expanded)?;
    }
    if let Some(dumbbell) = &spec.dumbbell {
        expand_dumbbell(dumbbell, &mut expanded)?;
    }
    let mut names = IndexSet::new();
    if let Some(twice) = expanded.iter().find(|link| !names.insert(&link.name)) {
        let message = format!("two links are called `{}`", twice.name);
        let mut problem = Problem::at([], message);
        problem.path.clone_from(&twice.path);
        return Err(problem
            .fix("`[path]` and `[dumbbell]` name links after their nodes: choose another name"));
    }
    if expanded.is_empty() {
        return Err(Problem::at([], "the scenario has no links")
            .fix("add `[links]`, `[path]` or `[dumbbell]`"));
    }
    Ok(expanded)
}

fn without_between(spec: &LinkSpec, path: &[String]) -> Result<(), Problem> {
    if spec.between.is_none() {
        return Ok(());
    }
    let mut problem = Problem::at([], "the short form already says which nodes this link joins");
    problem.path = [path, &["between".to_owned()]].concat();
    Err(problem.fix("leave `between` out"))
}

fn expand_path<'a>(
    chain: &'a PathSpec,
    expanded: &mut Vec<ExpandedLink<'a>>,
) -> Result<(), Problem> {
    let nodes = chain.nodes.len();
    if nodes < 2 {
        let message = "a path needs at least two nodes";
        return Err(
            Problem::at(["path", "nodes"], message).fix("write it as in `nodes = [\"a\", \"b\"]`")
        );
    }
    if nodes != chain.links.len() + 1 {
        let (wanted, there) = (nodes - 1, chain.links.len());
        let message = format!("a path of {nodes} nodes needs {wanted} links, not {there}");
        let fix = "write one link for each pair of neighbouring nodes";
        return Err(Problem::at(["path", "links"], message).also(["path", "nodes"]).fix(fix));
    }
    let mut met = IndexSet::new();
    if let Some(n) = chain.nodes.iter().position(|node| !met.insert(node)) {
        let message = format!("the path already has a node `{}`", chain.nodes[n]);
        return Err(Problem::at(["path", "nodes", &entry(n)], message).fix("choose another name"));
    }
    for (n, (pair, link)) in chain.nodes.windows(2).zip(&chain.links).enumerate() {
        let place = path(["path", "links", &entry(n)]);
        without_between(link, &place)?;
        expanded.push(ExpandedLink {
            name: format!("{}-{}", pair[0], pair[1]),
            between: [pair[0].clone(), pair[1].clone()],
            path: place,
            spec: link,
        });
    }
    Ok(())
}

fn expand_dumbbell<'a>(
    dumbbell: &'a DumbbellSpec,
    expanded: &mut Vec<ExpandedLink<'a>>,
) -> Result<(), Problem> {
    without_between(&dumbbell.access, &path(["dumbbell", "access"]))?;
    without_between(&dumbbell.bottleneck, &path(["dumbbell", "bottleneck"]))?;
    let mut add = |name: String, from: &str, to: &str, key, spec| {
        let between = [from.to_owned(), to.to_owned()];
        expanded.push(ExpandedLink { name, between, path: path(["dumbbell", key]), spec });
    };
    add("bottleneck".into(), "west", "east", "bottleneck", &dumbbell.bottleneck);
    for i in 0..dumbbell.pairs.small() {
        let (west, east) = (format!("west{i}"), format!("east{i}"));
        add(west.clone(), &west, "west", "access", &dumbbell.access);
        add(east.clone(), "east", &east, "access", &dumbbell.access);
    }
    Ok(())
}

/// Makes the graph of the nodes, and both directions of each link.
pub(super) fn build_graph(
    expanded: &[ExpandedLink<'_>],
    nodes: &IndexSet<String>,
    seed: u64,
    stop: Duration,
) -> Result<(Graph, Vec<PlacedLink>), Problem> {
    let number = |name: &String| u32::try_from(nodes.get_index_of(name).unwrap_or(0)).unwrap_or(0);
    let mut graph = Graph::new(u32::try_from(nodes.len()).unwrap_or(u32::MAX));
    let mut links = Vec::new();
    for link in expanded {
        let name = LinkPlace { path: &link.path, name: &link.name, seed, way: 0 };
        let [a, b] = [number(&link.between[0]), number(&link.between[1])];
        graph.add_link(a, b);
        graph.add_link(b, a);
        let spec = with_drawn_slots(link.spec, &name, stop)?;
        for (config, direction) in directed_configs(&spec, &name)?.into_iter().zip(Direction::BOTH)
        {
            let planned = PlannedLink { name: link.name.clone(), direction, config };
            links.push(PlacedLink { place: link.path.clone(), link: planned });
        }
    }
    Ok((graph, links))
}

/// Returns the number of the node called `name`. `path` is the place of this name in the file.
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
            let more = if nodes.len() > known.len() { ", and more" } else { "" };
            problem.fix(format!("the nodes are {}{more}", known.join(", ")))
        }
    })
}

/// Sets the route with the index `place` in the file's list `routes`.
pub(super) fn set_route(
    routes: &mut Routes,
    place: usize,
    route: &RouteSpec,
    expanded: &[ExpandedLink<'_>],
    nodes: &IndexSet<String>,
) -> Result<(), Problem> {
    let place = entry(place);
    let to = node(nodes, &route.to, &["routes", &place, "to"])?;
    let mut at = &route.from;
    let mut here = node(nodes, at, &["routes", &place, "from"])?;
    let mut met = IndexSet::from([at]);
    for (n, next) in route.via.iter().chain([&route.to]).enumerate() {
        let n = entry(n);
        let step = ["routes", &place, "via", &n];
        let step = if *n == entry(route.via.len()) { &["routes", &place, "to"] } else { &step[..] };
        let there = node(nodes, next, step)?;
        if !met.insert(next) {
            let mut problem = Problem::at([], format!("the route meets `{next}` twice"));
            problem.path = step.iter().map(|key| (*key).to_owned()).collect();
            return Err(problem.fix("write each node of a route once, and no route to its start"));
        }
        let link = expanded.iter().zip(0_u32..).find_map(|(link, i)| match &link.between {
            [a, b] if a == at && b == next => Some(2 * i),
            [a, b] if b == at && a == next => Some(2 * i + 1),
            _ => None,
        });
        let link = link.ok_or_else(|| {
            let mut problem = Problem::at([], format!("no link joins `{at}` and `{next}`"));
            problem.path = step.iter().map(|key| (*key).to_owned()).collect();
            problem.fix("write all nodes of the route: a link must join each node to the next node")
        })?;
        routes.set(here, to, link);
        (at, here) = (next, there);
    }
    Ok(())
}

/// The nodes of `spec`, and the nodes with a single link, both in the order of the list of links.
pub(super) fn nodes_and_leaves(spec: &Spec) -> Result<[Vec<String>; 2], Problem> {
    let expanded = expand_links(spec)?;
    let ends = || expanded.iter().flat_map(|link| &link.between);
    let nodes: Vec<String> = ends().cloned().collect::<IndexSet<_>>().into_iter().collect();
    let alone = |node: &&String| ends().filter(|other| other == node).count() == 1;
    let leaves = nodes.iter().filter(alone).cloned().collect();
    Ok([nodes, leaves])
}
