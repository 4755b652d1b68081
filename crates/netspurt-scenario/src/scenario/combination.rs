//! A combination of a sweep's values. A sweep runs a scenario with different values, and an axis is
//! a part of the scenario that the sweep varies. A combination has one value of each axis, and can
//! be run with any seed.

use sha2::{Digest, Sha256};

use netspurt::plan::Simulation;

use super::document::Document;
use super::error::{Problem, ScenarioError};
use super::flow_spec::EndpointWord;
use super::form;
use super::number::BoundedInteger;
use super::plan::plan;
use super::spec::Spec;

/// A combination of a sweep's values: one value of each axis. It can be run with any seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Combination {
    spec: Spec,
    /// A hash of the resolved scenario: the first 16 octets of its SHA-256, in hexadecimal. In a
    /// resolved scenario, every default is written out. The hash leaves out the seed, because a
    /// combination can be run with any seed. It also leaves out some parts of the scenario that
    /// change no result: the sweep, and the keys `tables`, `shadows`, `capture` and `rows` of
    /// `record`.
    pub fingerprint: String,
}

impl Combination {
    pub(super) fn new(mut spec: Spec) -> Self {
        remove_what_changes_no_result(&mut spec);
        let text = form::write(&spec);
        Self { fingerprint: short_hash(&[text.as_bytes()]), spec }
    }

    /// Does the same as [`new`](Self::new), but does not hash the text of the links again. `known`
    /// must be made from a scenario with the same links as `spec`, and with the same values for all
    /// keys outside of tables.
    pub(super) fn with_known_links(mut spec: Spec, known: &KnownLinks) -> Self {
        remove_what_changes_no_result(&mut spec);
        let text = text_without_links(&mut spec);
        let hash = known.hash.clone().chain_update(&text[known.head..]);
        let fingerprint = shortened(hash);
        debug_assert_eq!(fingerprint, short_hash(&[form::write(&spec).as_bytes()]));
        Self { spec, fingerprint }
    }

    /// Makes a run of the combination with this seed. The run records none of the optional tables.
    ///
    /// # Errors
    /// When the combination is inconsistent, or an end uses the kernel's TCP.
    pub fn simulate(&mut self, seed: u64) -> Result<Simulation, ScenarioError> {
        self.spec.seed = BoundedInteger(seed);
        if let Some(problem) = not_simulated(&self.spec, |_| false) {
            return Err(Document::new("", "").blame(&problem));
        }
        let plan = plan(&self.spec);
        let plan = plan.map_err(|problem| Document::new("", "").blame(&problem))?;
        Ok(Simulation::new(plan, self.spec.stop))
    }
}

/// The hash of a scenario's resolved text (every default is written out) up to the end of its
/// links. The rest of the text can be added to this hash later. This saves time, because the
/// timelines of links are by far the longest part of the text, and few axes change them.
#[derive(Clone, Debug)]
pub(super) struct KnownLinks {
    hash: Sha256,
    /// The number of octets of the text before the links: the keys outside of tables, with their
    /// values.
    head: usize,
}

impl KnownLinks {
    /// Hashes the text of `spec` up to the end of its links. Returns `None` if the text does not
    /// begin with the keys outside of tables and then the links.
    pub(super) fn of(spec: &Spec) -> Option<Self> {
        let mut spec = spec.clone();
        remove_what_changes_no_result(&mut spec);
        let whole = form::write(&spec);
        let mut head = form::table(&spec);
        head.retain(|_, value| !value.is_table() && !value.is_array());
        let head = head.to_string();
        let text = text_without_links(&mut spec);
        let known = whole.strip_suffix(text.strip_prefix(&head)?)?;
        known
            .starts_with(&head)
            .then(|| Self { hash: Sha256::new().chain_update(known), head: head.len() })
    }
}

/// The resolved text of `spec` without its links.
fn text_without_links(spec: &mut Spec) -> String {
    let links = std::mem::take(&mut spec.links);
    let text = form::write(spec);
    spec.links = links;
    text
}

/// Removes the seed and the sweep, and the keys of `record` that do not change the results of a
/// case.
fn remove_what_changes_no_result(spec: &mut Spec) {
    spec.sweep = None;
    spec.seed = BoundedInteger(0);
    spec.record.tables.clear();
    spec.record.shadows.clear();
    spec.record.capture = Some(false);
    spec.record.rows = None;
}

/// The problem of a scenario with an end that uses the kernel's TCP; `None` for any other scenario.
/// The kernel does not run in virtual time, so such a scenario cannot be simulated. An end is
/// ignored if the function `varied` gives true for the path to its `endpoint`.
pub(super) fn not_simulated(spec: &Spec, varied: impl Fn(&[&str]) -> bool) -> Option<Problem> {
    let flows = spec.flows.iter().map(|(name, flow)| {
        (["flows", name, "endpoint"], flow.ends().contains(&EndpointWord::Kernel))
    });
    let populations = spec.populations.iter().map(|(name, own)| {
        (["populations", name, "endpoint"], own.endpoint == EndpointWord::Kernel)
    });
    let mut places = flows.chain(populations);
    let (place, _) = places.find(|(place, of_kernel)| *of_kernel && !varied(place))?;
    Some(Problem::at(place, KERNEL).fix(LIVE))
}

/// The message about an end that uses the kernel's TCP, in a simulated sweep.
pub(super) const KERNEL: &str = "the kernel does not run in the virtual time of a sweep";
/// The fix for an end that uses the kernel's TCP, in a simulated sweep.
pub(super) const LIVE: &str =
    "use `netspurt sweep --live` for real time, or write `endpoint = \"model\"`";

/// Joins all `parts`, and returns the first 16 octets of their SHA-256 in hexadecimal.
pub(super) fn short_hash(parts: &[&[u8]]) -> String {
    shortened(parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)))
}

fn shortened(hash: Sha256) -> String {
    hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
