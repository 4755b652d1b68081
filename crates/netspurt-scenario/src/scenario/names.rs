//! Checks the names of nodes, links, flows, populations and echo probes.

use super::error::Problem;
use super::number::BoundedInteger;
use super::spec::Spec;
use super::tree::entry;

/// Checks that each name is not empty and has no control characters. Also checks that no two flows
/// have the same name. No flow and no series of echo probes may have the name of a population or of
/// one of its connections.
pub(super) fn check(spec: &Spec) -> Result<(), Problem> {
    for (name, link) in &spec.links {
        check_characters("link", name, &["links", name]).map_err(Problem::of_the_key)?;
        for (n, node) in link.between.iter().flatten().enumerate() {
            check_characters("node", node, &["links", name, "between", &entry(n)])?;
        }
    }
    for (n, node) in spec.path.iter().flat_map(|path| &path.nodes).enumerate() {
        check_characters("node", node, &["path", "nodes", &entry(n)])?;
    }
    for name in spec.flows.keys() {
        check_characters("flow", name, &["flows", name]).map_err(Problem::of_the_key)?;
        alone(spec, name)?;
    }
    for name in spec.populations.keys() {
        check_characters("population", name, &["populations", name])
            .map_err(Problem::of_the_key)?;
        if let Some(section) = taken(spec, name) {
            let message = format!(
                "the section `{section}` uses the name of the population `{name}`, or of one of its \
                 connections"
            );
            let problem = Problem::at(["populations", name], message).of_the_key();
            return Err(problem.fix("choose another name"));
        }
    }
    for name in spec.echo_probes.keys() {
        check_characters("series of echo probes", name, &["echo_probes", name])
            .map_err(Problem::of_the_key)?;
    }
    Ok(())
}

/// `name` is the name of a population. Returns the section in which a flow or a series of echo
/// probes has this name or the name of one of the population's connections. Returns `None` if there
/// is no such section.
fn taken(spec: &Spec, name: &str) -> Option<&'static str> {
    let of_it = |other: &String| {
        let rest = other.strip_prefix(name).unwrap_or_default();
        let own = |n: &str| n.parse().is_ok_and(|number: u32| number.to_string() == n);
        other == name || rest.strip_prefix('.').is_some_and(own)
    };
    let sections = [("flows", spec.flows.keys().any(of_it))];
    let probes = ("echo_probes", spec.echo_probes.keys().any(of_it));
    sections.into_iter().chain([probes]).find_map(|(section, has)| has.then_some(section))
}

fn check_characters(what: &str, name: &str, path: &[&str]) -> Result<(), Problem> {
    let message = if name.is_empty() {
        format!("the name of a {what} is empty")
    } else if name.chars().any(char::is_control) {
        format!("the {what} {name:?} has a name with a control character")
    } else {
        return Ok(());
    };
    let mut problem = Problem::at([], message);
    problem.path = path.iter().map(|step| (*step).to_owned()).collect();
    Err(problem.fix("write at least one character, and no control characters"))
}

/// Checks that a flow `name` with a `count` of 1 does not have the name of a flow in a group. A
/// flow with a `count` above 1 is a group; its flows are called `group.0`, `group.1` and so on.
fn alone(spec: &Spec, name: &str) -> Result<(), Problem> {
    if spec.flows[name].count != BoundedInteger(1) {
        return Ok(());
    }
    let Some((group, number)) = name.rsplit_once('.') else { return Ok(()) };
    let count = spec.flows.get(group).map_or(0, |flow| flow.count.0);
    let own = number.parse().is_ok_and(|n: u64| n < count && n.to_string() == number);
    if count < 2 || !own {
        return Ok(());
    }
    let message = format!("two flows are called `{name}`: one of them is in the group `{group}`");
    let problem = Problem::at(["flows", name], message).of_the_key();
    Err(problem.also(["flows", group, "count"]).fix("choose another name"))
}
