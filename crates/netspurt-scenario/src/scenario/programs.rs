//! Scenarios in which programs of the user run at two nodes. The connections of these programs are
//! a flow with `app = "programs"`. If a scenario has no such flow, `Scenario::for_programs` adds
//! one.

use super::document::Document;
use super::error::{Problem, ScenarioError};
use super::expand::nodes_and_leaves;
use super::spec::Spec;
use super::whole::Scenario;

/// The name of the flow that is added.
const NAME: &str = "programs";

impl Scenario {
    /// Reads the text of a scenario for programs at two of its nodes. Removes the keys `unset`
    /// first, and then sets `values`, as [`without`](Self::without) does. `files` has the files
    /// that the scenario may name, as pairs of a name and a text.
    ///
    /// If the scenario has no flow of programs, the function adds a flow with the kernel's defaults
    /// between the two nodes in `ends`. In place of each `None`, the function takes a node that has
    /// only one link and is not in `ends`. If there is a `None`, the scenario must have exactly as
    /// many such nodes as there are `None`s. If the scenario has a flow of programs, each node in
    /// `ends` replaces a node of this flow. A `[sweep]` of the scenario is ignored.
    ///
    /// ```
    /// use netspurt_scenario::scenario::Scenario;
    /// let text = r#"
    /// stop = "1 min"
    /// links.wire = { between = ["home", "away"], rate = "5 Mbit/s", delay = "10 ms" }
    /// "#;
    /// let scenario = Scenario::for_programs("here", text, vec![], &[], &[], [None, None]).unwrap();
    /// assert_eq!(scenario.programs_flow(), Some("programs"));
    /// let shim = [("flows.programs.shim", "sfr")];
    /// assert!(Scenario::for_programs("here", text, vec![], &[], &shim, [None, Some("home")]).is_ok());
    /// assert!(Scenario::for_programs("here", text, vec![], &[], &[], [Some("hom"), None]).is_err());
    /// ```
    ///
    /// # Errors
    /// For the same reasons as [`without`](Self::without), and when it is not clear which nodes are
    /// the ends. Also when a flow with another `app` has the name of the flow that would be added.
    pub fn for_programs(
        name: &str,
        text: &str,
        files: Vec<(String, String)>,
        unset: &[&str],
        values: &[(&str, &str)],
        ends: [Option<&str>; 2],
    ) -> Result<Self, ScenarioError> {
        let mut document = Document::new(name, text).with_files(files).without_sweep();
        for path in unset {
            document = document.without(path)?;
        }
        // Settings of the flow are applied after the flow was added.
        let (own, others): (Vec<_>, Vec<_>) =
            values.iter().partition(|(path, _)| path.starts_with(&format!("flows.{NAME}.")));
        for (path, value) in others {
            document = document.with(path, value);
        }
        let spec = document.read()?;
        let existing = spec.flows.iter().find(|(_, flow)| flow.is_of_programs());
        let flow = existing.map_or(NAME, |(name, _)| name).to_owned();
        let chosen = if existing.is_some() {
            ends.map(|end| end.map(str::to_owned))
        } else {
            choose(&spec, ends).map_err(|problem| document.blame(&problem))?.map(Some)
        };
        let mut set = |key: &str, value: &str| {
            let path = format!("flows.{flow}.{key}");
            document = document.clone().with(&path, value);
        };
        if existing.is_none() {
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
        Self::of(document)
    }
}

/// Chooses the two nodes of the flow of programs.
fn choose(spec: &Spec, ends: [Option<&str>; 2]) -> Result<[String; 2], Problem> {
    let [nodes, mut leaves] = nodes_and_leaves(spec)?;
    if spec.flows.contains_key(NAME) {
        let problem = Problem::at(["flows", NAME], "the flow called `programs` has another `app`");
        return Err(problem
            .of_the_key()
            .fix("give the flow another name, or write `app = \"programs\"`"));
    }
    leaves.retain(|leaf| !ends.contains(&Some(leaf)));
    let mut remaining_leaves = leaves.iter();
    let wanted = ends.iter().filter(|end| end.is_none()).count();
    // Unknown nodes are reported later, when the whole scenario is planned.
    let real = ends.iter().flatten().all(|end| nodes.iter().any(|node| node == end));
    if leaves.len() != wanted && wanted > 0 && real {
        let message = "it is not clear between which nodes programs run";
        return Err(
            Problem::at([], message).fix("name both nodes, as in `--side NODE --peer NODE`")
        );
    }
    Ok(ends.map(|end| {
        end.map_or_else(|| remaining_leaves.next().cloned().unwrap_or_default(), str::to_owned)
    }))
}
