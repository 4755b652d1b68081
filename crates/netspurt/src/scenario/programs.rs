//! Scenarios for programs: a file that may have no flow gets the one whose ends they are.

use super::document::Document;
use super::error::Problem;
use super::flow_plan::HEADER_BYTES;
use super::flow_spec::{EndpointWord, Family};
use super::kernel::{kernel_tcp, shims};
use super::number::Whole;
use super::plan::{Net, node, nodes_and_leaves};
use super::spec::Spec;
use super::traffic::{PlannedFlow, Traffic};
use super::{Scenario, ScenarioError};

/// What the flow is called where the file has none.
const NAME: &str = "programs";

/// Connections of programs that have a flow of their own in a run's tables.
const CONNECTIONS: u32 = 2000;

impl Scenario {
    /// Reads the text of a scenario for programs at two of its nodes, with `values` set over it as
    /// in [`with`](Self::with).
    ///
    /// Where no flow of it is one of programs, one with the kernel's defaults is added. Its nodes
    /// are `ends`; those left out are the ones at the ends of the links, if there are two.
    ///
    /// ```
    /// use netspurt::scenario::Scenario;
    /// let text = r#"
    /// stop = "1 min"
    /// links.wire = { between = ["home", "away"], rate = "5 Mbit/s", delay = "10 ms" }
    /// "#;
    /// let scenario = Scenario::for_programs("here", text, &[], [None, None]).unwrap();
    /// assert_eq!(scenario.programs_flow(), Some("programs"));
    /// let shim = [("flows.programs.shim", "sfr")];
    /// assert!(Scenario::for_programs("here", text, &shim, [None, Some("home")]).is_ok());
    /// assert!(Scenario::for_programs("here", text, &[], [Some("hom"), None]).is_err());
    /// ```
    ///
    /// # Errors
    /// As [`parse`](Self::parse), and when it is not clear which nodes they are.
    pub fn for_programs(
        name: &str,
        text: &str,
        values: &[(&str, &str)],
        ends: [Option<&str>; 2],
    ) -> Result<Self, ScenarioError> {
        let mut document = Document::new(name, text).without_sweep();
        // What is set of a flow that is not there yet has to wait for it.
        let (own, others): (Vec<_>, Vec<_>) =
            values.iter().partition(|(path, _)| path.starts_with(&format!("flows.{NAME}.")));
        for (path, value) in others {
            document = document.with(path, value);
        }
        let spec = document.read()?;
        let there = spec.flows.iter().find(|(_, flow)| flow.is_of_programs());
        let flow = there.map_or(NAME, |(name, _)| name).to_owned();
        let chosen = if there.is_some() {
            ends.map(|end| end.map(str::to_owned))
        } else {
            choose(&spec, ends).map_err(|problem| document.blame(&problem))?.map(Some)
        };
        let mut set = |key: &str, value: &str| {
            let path = format!("flows.{flow}.{key}");
            document = document.clone().with(&path, value);
        };
        if there.is_none() {
            set("app", "\"programs\"");
            set("endpoint", "\"kernel\"");
            set("profile", "\"linux-default\"");
        }
        for (key, end) in ["from", "to"].into_iter().zip(chosen) {
            if let Some(end) = end {
                set(key, &format!("{end:?}"));
            }
        }
        for (path, value) in own {
            document = document.with(path, value);
        }
        Self::read(document)
    }
}

/// The two nodes.
fn choose(spec: &Spec, ends: [Option<&str>; 2]) -> Result<[String; 2], Problem> {
    let [nodes, mut leaves] = nodes_and_leaves(spec)?;
    if spec.flows.contains_key(NAME) {
        let problem = Problem::at(["flows", NAME], "a flow called `programs` that is none of them");
        return Err(problem.of_the_key().fix("another name, or `app = \"programs\"`"));
    }
    leaves.retain(|leaf| !ends.contains(&Some(leaf)));
    let mut left = leaves.iter();
    let wanted = ends.iter().filter(|end| end.is_none()).count();
    // What is no node at all is told when all of it is put together.
    let real = ends.iter().flatten().all(|end| nodes.iter().any(|node| node == end));
    if leaves.len() != wanted && wanted > 0 && real {
        let message = "it is not clear between which nodes programs run";
        return Err(Problem::at([], message).fix("name both, as in `--side NODE --peer NODE`"));
    }
    Ok(ends.map(|end| end.map_or_else(|| left.next().cloned().unwrap_or_default(), str::to_owned)))
}

/// The flow of programs, if there is one: behind all others, as often as there may be connections.
pub(super) fn plan_programs(
    spec: &Spec,
    net: &Net<'_>,
    flows: &mut Vec<PlannedFlow>,
) -> Result<(), Problem> {
    let mut all = spec.flows.iter().filter(|(_, flow)| flow.is_of_programs());
    let Some((name, flow)) = all.next() else { return Ok(()) };
    let slip = |key: &str, message: &str| Problem::at(["flows", name, key], message);
    if let Some((second, _)) = all.next() {
        let problem = Problem::at(["flows", second, "app"], "two flows of programs");
        return Err(problem.also(["flows", name, "app"]).fix("one pair of hosts runs programs"));
    }
    if flow.ends() != [EndpointWord::Kernel; 2] {
        return Err(slip("endpoint", "programs run at ends of the kernel's")
            .also(["flows", name, "app"])
            .fix("`endpoint = \"kernel\"`"));
    }
    if flow.count != Whole(1) {
        return Err(slip("count", "one pair of hosts runs programs").fix("leave `count` out"));
    }
    let place = |key: &str, host: &str| node(net.nodes, host, &["flows", name, key]);
    let (from, to) = (place("from", &flow.from)?, place("to", &flow.to)?);
    if flow.family == Family::Ipv6 {
        let problem = slip("family", "hosts of programs have addresses of version 4");
        return Err(problem.also(["flows", name, "app"]).fix("leave `family` out"));
    }
    let tcp = kernel_tcp(name, flow.profile, &flow.tcp, Family::Ipv4, true)?;
    net.check(["flows", name], (from, to), [tcp.packet_bytes, HEADER_BYTES])?;
    let shims = shims(name, flow)?;
    let called = |i: u32| if i == 0 { name.clone() } else { format!("{name}.{i}") };
    flows.extend((0..=CONNECTIONS).map(|i| {
        let traffic = Traffic::Programs { tcp, shims };
        PlannedFlow { name: called(i), from, to, ipv6: false, traffic }
    }));
    Ok(())
}
