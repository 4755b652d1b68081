//! Sweeps: a scenario's numbered cases, each with its values and its seed.

use core::fmt::Write as _;

use indexmap::{IndexMap, IndexSet};
use sha2::{Digest, Sha256};
use toml::{Table, Value};

use super::axis::{Axis, Label, Point, path_keys};
use super::document::Document;
use super::error::{Problem, ScenarioError};
use super::flow_spec::EndpointWord;
use super::form::{self, read_table};
use super::number::Whole;
use super::plan::Plan;
use super::run::Simulation;
use super::spec::Spec;
use super::sweep_spec::SweepSpec;
use super::whole::Scenario;
use crate::units::Duration;

/// The prefix of the texts from which seeds are derived.
const DERIVATION: &[u8] = b"netspurt case 1\0";

/// The budget of a case, after which it is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Wake-ups served.
    pub events: Option<u64>,
    /// Wall-clock time.
    pub time: Option<Duration>,
}

/// The cases of a scenario's `[sweep]`, or of a list of scenarios.
///
/// Cases are numbered from 0: all runs of the first combination, then those of the second.
///
/// ```
/// use netspurt::scenario::{STARTING_POINT, Scenario};
/// let text = format!(r#"{STARTING_POINT}
/// [sweep]
/// seeds = 3
/// over.rate = {{ path = "links.modem.rate", values = ["9600 bit/s", "2400 bit/s"] }}
/// "#);
/// let sweep = Scenario::parse("mine.toml", &text).unwrap().sweep().unwrap();
/// assert_eq!(sweep.cases(), 6);
/// // Paired: the same draws whatever the rate.
/// assert_eq!(sweep.seed(0), sweep.seed(3));
/// assert_ne!(sweep.seed(0), sweep.seed(1));
/// ```
#[derive(Clone, Debug)]
pub struct Sweep {
    names: Vec<String>,
    source: Source,
    seeds: u64,
    paired: bool,
    budget: Budget,
}

/// The source of combinations.
#[derive(Clone, Debug)]
enum Source {
    /// A file, and every combination of the points of its axes.
    Grid { document: Document, base: Table, seed: u64, axes: Vec<Axis> },
    /// Scenarios with their labels.
    Listed(Vec<(Vec<Label>, Scenario)>),
}

/// A combination of values, ready to be run with any seed.
#[derive(Clone, Debug)]
pub struct Combination {
    spec: Spec,
    /// The SHA-256 of its resolved scenario without the seed and what is recorded, the first 16
    /// octets in hexadecimal.
    pub fingerprint: String,
}

impl Combination {
    fn new(mut spec: Spec) -> Self {
        spec.sweep = None;
        spec.seed = Whole(0);
        spec.record.tables.clear();
        spec.record.shadows.clear();
        spec.record.capture = false;
        spec.record.rows = None;
        let text = form::write(&spec);
        Self { fingerprint: short_hash(&[text.as_bytes()]), spec }
    }

    /// A run of it that records nothing but sums.
    ///
    /// # Errors
    /// When the combination is inconsistent.
    pub fn simulate(&mut self, seed: u64) -> Result<Simulation, ScenarioError> {
        self.spec.seed = Whole(seed);
        if let Some(problem) = not_simulated(&self.spec) {
            return Err(Document::new("", "").blame(&problem));
        }
        let plan = Plan::new(&self.spec);
        let plan = plan.map_err(|problem| Document::new("", "").blame(&problem))?;
        Ok(Simulation::new(plan, self.spec.stop))
    }
}

impl Sweep {
    /// The sweep of a consistent file.
    pub(super) fn of(document: &Document, spec: &Spec) -> Result<Option<Self>, ScenarioError> {
        let Some(sweep) = &spec.sweep else { return Ok(None) };
        let blamed = |problem: Problem| document.blame(&problem);
        if sweep.time.is_some_and(Duration::is_zero) {
            let problem = Problem::at(["sweep", "time"], "every case would be cut at once");
            return Err(blamed(problem.fix("above zero")));
        }
        let axes = sweep.over.iter().map(|(name, axis)| Axis::new(name, axis));
        let axes: Vec<Axis> = axes.collect::<Result<_, _>>().map_err(blamed)?;
        too_many(&axes, sweep).map_err(blamed)?;
        overwritten(&axes).map_err(blamed)?;
        let settings = || axes.iter().flat_map(|axis| &axis.points).flat_map(|p| &p.settings);
        let varied = settings().any(|s| path_keys(s).last().is_some_and(|key| key == "endpoint"));
        if let Some(problem) = not_simulated(spec).filter(|_| !varied) {
            return Err(blamed(problem));
        }
        let single = document.clone().without_sweep();
        let base = single.table()?;
        let made = Self {
            names: axes.iter().map(|axis| axis.name.clone()).collect(),
            source: Source::Grid { document: single, base, seed: spec.seed.0, axes },
            seeds: sweep.seeds.0,
            paired: sweep.paired,
            budget: Budget { events: sweep.events.map(|n| n.0), time: sweep.time },
        };
        made.check(document)?;
        Ok(Some(made))
    }

    /// A sweep over individually made scenarios, each with a label for each name.
    ///
    /// # Errors
    /// When a scenario does not have as many labels as there are names.
    pub fn listed(
        names: Vec<String>,
        cases: Vec<(Vec<Label>, Scenario)>,
        seeds: u64,
        paired: bool,
        budget: Budget,
    ) -> Result<Self, String> {
        if let Some((labels, _)) = cases.iter().find(|(labels, _)| labels.len() != names.len()) {
            return Err(format!("{} labels for {} names", labels.len(), names.len()));
        }
        Ok(Self { names, source: Source::Listed(cases), seeds, paired, budget })
    }

    /// The names of the axes.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// How many combinations of values there are.
    pub fn combinations(&self) -> u64 {
        match &self.source {
            Source::Grid { axes, .. } => axes.iter().map(|axis| axis.points.len() as u64).product(),
            Source::Listed(cases) => cases.len() as u64,
        }
    }

    /// How many cases there are.
    pub fn cases(&self) -> u64 {
        self.combinations() * self.seeds
    }

    /// How many times each combination is run.
    pub fn seeds(&self) -> u64 {
        self.seeds
    }

    /// Whether runs of different combinations share their seeds.
    pub fn paired(&self) -> bool {
        self.paired
    }

    /// The budget of a case.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// The labels of a combination, one for each name.
    pub fn labels(&self, combination: u64) -> Vec<Label> {
        match &self.source {
            Source::Grid { axes, .. } => {
                points(axes, combination).iter().map(|point| point.label.clone()).collect()
            }
            Source::Listed(cases) => cases[at(combination)].0.clone(),
        }
    }

    /// The labels that each name has, each once, in order.
    pub fn all_labels(&self) -> Vec<Vec<Label>> {
        match &self.source {
            Source::Grid { axes, .. } => {
                let labels = |axis: &Axis| axis.points.iter().map(|p| p.label.clone()).collect();
                axes.iter().map(labels).collect()
            }
            Source::Listed(cases) => (0..self.names.len())
                .map(|n| {
                    let mut met = IndexSet::new();
                    let labels = cases.iter().map(|(labels, _)| &labels[n]);
                    labels.filter(|label| met.insert(label.to_string())).cloned().collect()
                })
                .collect(),
        }
    }

    /// A case's seed. It depends only on the case, so order and threads do not change it. It is
    /// derived from the number of the run within its combination and, unless runs are paired, from
    /// the values that are set, but not from the axes' names (for listed scenarios: from their
    /// labels).
    pub fn seed(&self, case: u64) -> u64 {
        let combination = case / self.seeds;
        let base = match &self.source {
            Source::Grid { seed, .. } => *seed,
            Source::Listed(cases) => cases[at(combination)].1.seed(),
        };
        let mut key = if self.paired { String::new() } else { self.key(combination) };
        let _ = write!(key, "{}", case % self.seeds + 1);
        let hash = Sha256::new()
            .chain_update(DERIVATION)
            .chain_update(base.to_le_bytes())
            .chain_update(key)
            .finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        u64::from_le_bytes(first) >> 1
    }

    /// A key that identifies a combination, in a canonical order.
    fn key(&self, combination: u64) -> String {
        let mut parts: Vec<(String, String)> = match &self.source {
            Source::Grid { axes, .. } => points(axes, combination)
                .iter()
                .flat_map(|point| &point.settings)
                .map(|setting| (path_keys(setting).join("\0"), setting.value.to_string()))
                .collect(),
            Source::Listed(cases) => {
                let labels = cases[at(combination)].0.iter().map(ToString::to_string);
                self.names.iter().cloned().zip(labels).collect()
            }
        };
        parts.sort_unstable();
        parts.iter().fold(String::new(), |mut key, (name, value)| {
            let _ = write!(key, "{}:{name}={}:{value}\0", name.len(), value.len());
            key
        })
    }

    /// A combination by its number, read once for all its seeds.
    ///
    /// # Errors
    /// When its values contradict each other.
    pub fn combination(&self, combination: u64) -> Result<Combination, ScenarioError> {
        match &self.source {
            Source::Grid { base, axes, .. } => {
                let quick = quickly(base, &points(axes, combination));
                // A case that cannot be read this way is read again in full, for a good error
                // message.
                let spec = quick.map_or_else(|| Ok(self.scenario_of(combination)?.spec), Ok)?;
                Ok(Combination::new(spec))
            }
            Source::Listed(cases) => Ok(Combination::new(cases[at(combination)].1.spec.clone())),
        }
    }

    /// A case as a separate scenario.
    ///
    /// # Errors
    /// When its values contradict each other.
    pub fn scenario(&self, case: u64) -> Result<Scenario, ScenarioError> {
        let seed = self.seed(case).to_string();
        let scenario = self.scenario_of(case / self.seeds)?;
        Scenario::of(scenario.document.with("seed", &seed))
    }

    fn scenario_of(&self, combination: u64) -> Result<Scenario, ScenarioError> {
        match &self.source {
            Source::Grid { document, axes, .. } => {
                let points = points(axes, combination);
                let settings = points.iter().flat_map(|point| &point.settings);
                Scenario::of(settings.fold(document.clone(), |document, setting| {
                    document.with(&setting.path, &setting.value.to_string())
                }))
            }
            Source::Listed(cases) => Ok(cases[at(combination)].1.clone()),
        }
    }

    /// The fingerprint of everything that the results depend on.
    pub fn fingerprint(&self) -> String {
        let mut told = format!("{} {} {:?}\0", self.seeds, self.paired, self.budget);
        match &self.source {
            Source::Grid { base, seed, axes, .. } => {
                let _ = write!(told, "{seed}\0{base}\0");
                for axis in axes {
                    let _ = write!(told, "{} {:?}\0", axis.points.len(), axis.name);
                    for Point { label, settings, .. } in &axis.points {
                        let _ = write!(told, "{label:?} {}\0", settings.len());
                        for setting in settings {
                            let _ = write!(told, "{:?}={}\0", setting.path, setting.value);
                        }
                    }
                }
            }
            Source::Listed(cases) => {
                let _ = write!(told, "{:?}\0", self.names);
                for (labels, scenario) in cases {
                    let _ = write!(told, "{labels:?}\0{}\0", scenario.resolved());
                }
            }
        }
        short_hash(&[told.as_bytes()])
    }

    /// Whether each value can be set at its place. Whether all of them fit together is known only
    /// for each case.
    fn check(&self, file: &Document) -> Result<(), ScenarioError> {
        let Source::Grid { document, axes, .. } = &self.source else { return Ok(()) };
        for axis in axes {
            // The values of a range are of one kind, so the first thousand are enough.
            for point in axis.points.iter().take(CHECKED) {
                try_point(document, point).map_err(|problem| file.blame(&problem))?;
            }
        }
        Ok(())
    }
}

/// Why the scenario cannot be a case: the kernel does not run in virtual time.
fn not_simulated(spec: &Spec) -> Option<Problem> {
    let real = spec.flows.iter().find(|(_, flow)| flow.ends().contains(&EndpointWord::Kernel));
    let (name, _) = real?;
    Some(Problem::at(["flows", name, "endpoint"], KERNEL).fix(LIVE))
}

const KERNEL: &str = "a sweep runs in virtual time, which the kernel does not keep";
const LIVE: &str = "`endpoint = \"model\"`, or `netspurt live run` for each case";

/// The most values of an axis that are tried before a sweep starts.
const CHECKED: usize = 1000;

/// The most cases of a sweep.
const MOST: u64 = 100_000_000;

fn too_many(axes: &[Axis], sweep: &SweepSpec) -> Result<(), Problem> {
    let lengths = axes.iter().map(|axis| axis.points.len() as u64).chain([sweep.seeds.0]);
    let cases = lengths.fold(1_u64, u64::saturating_mul);
    if cases <= MOST {
        return Ok(());
    }
    let message = format!("{cases} cases, and {MOST} are the most");
    Err(Problem::at(["sweep"], message).fix("fewer values or fewer seeds"))
}

/// A setting of one axis that a later axis overwrites, so that the first would have no effect.
fn overwritten(axes: &[Axis]) -> Result<(), Problem> {
    let mut before: IndexMap<Vec<String>, &str> = IndexMap::new();
    for axis in axes {
        let settings = || axis.points.iter().flat_map(|point| &point.settings);
        let mut tried = IndexSet::new();
        for setting in settings().filter(|setting| tried.insert(&setting.path)) {
            let keys = path_keys(setting);
            let Some((_, first)) = before.iter().find(|(other, _)| other.starts_with(&keys)) else {
                continue;
            };
            let message = format!("`{first}` varies `{}` already", setting.path);
            let mut problem = Problem::at([], message);
            problem.path.clone_from(&setting.place);
            return Err(problem.fix("another path; or `sets`, where values go together"));
        }
        before.extend(settings().map(|setting| (path_keys(setting), &*axis.name)));
    }
    Ok(())
}

/// The mistake of a single point: a path that leads nowhere, or an invalid value.
fn try_point(document: &Document, point: &Point) -> Result<(), Problem> {
    for setting in &point.settings {
        let keys = path_keys(setting);
        let own = ["seed", "sweep", "record"];
        let at = |message: String, place: &[String]| {
            let mut problem = Problem::at([], message);
            problem.path = place.to_vec();
            problem
        };
        if let Some(first) = keys.first().filter(|first| own.contains(&first.as_str())) {
            let message = format!("a sweep does not vary `{first}`");
            return Err(at(message, &setting.place).fix("`seeds` draws seeds; all else is fixed"));
        }
        let kernel = setting.value.to_string().contains("\"kernel\"");
        if kernel && keys.last().is_some_and(|key| key == "endpoint") {
            return Err(at(KERNEL.to_owned(), &point.place).fix(LIVE));
        }
        let alone = document.clone().with(&setting.path, &setting.value.to_string());
        let Err((path, slip)) = stands_alone(&alone) else { continue };
        let place = if path { &setting.place } else { &point.place };
        return Err(at(slip.message, place).fix(slip.fix));
    }
    Ok(())
}

/// Whether the document's settings are valid at their places. On a mistake, also returns whether
/// the path is to blame and not the value.
fn stands_alone(document: &Document) -> Result<(), (bool, ScenarioError)> {
    let mut spec = document.read_or_blame()?;
    spec.fill_in();
    match Plan::new(&spec) {
        Err(problem) if problem.incomplete => Err((true, document.blame(&problem))),
        _ => Ok(()),
    }
}

fn at(combination: u64) -> usize {
    usize::try_from(combination).unwrap_or(usize::MAX)
}

/// The points of a combination; the last axis varies fastest.
fn points(axes: &[Axis], combination: u64) -> Vec<&Point> {
    let mut rest = at(combination);
    let mut found: Vec<&Point> = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        found.push(&axis.points[rest % axis.points.len()]);
        rest /= axis.points.len();
    }
    found.reverse();
    found
}

/// The scenario with the points applied; `None` if it cannot be read.
fn quickly(base: &Table, points: &[&Point]) -> Option<Spec> {
    let mut table = base.clone();
    for setting in points.iter().flat_map(|point| &point.settings) {
        let keys = path_keys(setting);
        let (last, above) = keys.split_last()?;
        let mut inner = &mut table;
        for key in above {
            let entry = inner.entry(key.clone()).or_insert_with(|| Value::Table(Table::new()));
            inner = entry.as_table_mut()?;
        }
        inner.insert(last.clone(), setting.value.clone());
    }
    let mut spec: Spec = read_table(table).ok()?;
    spec.fill_in();
    Some(spec)
}

/// The first 16 octets of a SHA-256, in hexadecimal.
fn short_hash(parts: &[&[u8]]) -> String {
    let hash = parts.iter().fold(Sha256::new(), |hash, part| hash.chain_update(part)).finalize();
    hash.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}
