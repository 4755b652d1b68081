//! Sweeps: the numbered cases of a scenario, each with its values and its seed.

use core::fmt::Write as _;
use std::sync::Arc;

use indexmap::{IndexMap, IndexSet};
use sha2::{Digest, Sha256};

use netspurt::units::Duration;

use super::axis::{Axis, Label, Point, path_keys};
use super::combination::{Combination, not_simulated, short_hash};
use super::document::Document;
use super::error::ScenarioError;
use super::grid::Grid;
use super::random_axis::RandomAxis;
use super::spec::Spec;
use super::whole::Scenario;

/// The beginning of the texts from which seeds are derived.
const DERIVATION: &[u8] = b"netspurt case 1\0";

/// The budget of a case. A case that exceeds its budget is stopped and has the status `cut`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// The maximum number of events (wake-ups) that the simulator processes.
    pub events: Option<u64>,
    /// The maximum wall-clock time.
    pub time: Option<Duration>,
}

/// The cases of a scenario's `[sweep]`, or of a list of scenarios.
///
/// An axis is a part of the scenario that the sweep varies. A combination has one value of each
/// axis. Cases are numbered from 0: first all runs of the first combination, then all runs of the
/// second combination, and so on.
///
/// ```
/// use netspurt_scenario::scenario::{STARTING_POINT, Scenario};
/// let text = format!(r#"{STARTING_POINT}
/// [sweep]
/// seeds = 3
/// over.rate = {{ path = "links.modem.rate", values = ["9600 bit/s", "2400 bit/s"] }}
/// "#);
/// let sweep = Scenario::parse("mine.toml", &text).unwrap().sweep().unwrap();
/// assert_eq!(sweep.cases(), 6);
/// // Paired: runs of different rates have the same seeds.
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
    /// The error for a case in which an end uses the kernel's TCP; `None` if no such case is known.
    kernel: Option<Box<ScenarioError>>,
}

/// Where combinations come from.
#[derive(Clone, Debug)]
enum Source {
    /// A file, and every combination of the points of its axes.
    Grid(Arc<Grid>),
    /// Scenarios with their labels. Tables show the labels in place of the values of axes.
    Listed(Vec<ListedCase>),
}

/// A scenario with its labels.
#[derive(Clone, Debug)]
struct ListedCase {
    labels: Vec<Label>,
    scenario: Scenario,
    /// The number of earlier scenarios in the list with the same labels.
    repeat: u64,
}

impl Sweep {
    /// The sweep of a file with its axes.
    pub(super) fn of(grid: Arc<Grid>, document: &Document, spec: &Spec) -> Option<Self> {
        let sweep = spec.sweep.as_ref()?;
        Some(Self {
            names: grid.axes.iter().map(|axis| axis.name.clone()).collect(),
            kernel: grid.kernel(spec).map(|problem| Box::new(document.blame(&problem))),
            source: Source::Grid(grid),
            seeds: sweep.seeds.0,
            paired: sweep.paired,
            budget: Budget { events: sweep.events.map(|n| n.0), time: sweep.time },
        })
    }

    /// A sweep over the given scenarios. Each scenario has one label for each of the `names`. Cases
    /// with the same labels are repeats of each other.
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
            return Err(format!(
                "a scenario has {} labels, but there are {} names: give one label for each name",
                labels.len(),
                names.len()
            ));
        }
        let mut met: IndexMap<String, u64> = IndexMap::new();
        let listed = |(labels, scenario): (Vec<Label>, Scenario)| {
            let count = met.entry(format!("{labels:?}")).or_insert(0);
            *count += 1;
            ListedCase { labels, scenario, repeat: *count - 1 }
        };
        let cases: Vec<ListedCase> = cases.into_iter().map(listed).collect();
        let of_kernel = |case: &ListedCase| {
            let problem = not_simulated(&case.scenario.spec, |_| false)?;
            Some(Box::new(case.scenario.document.blame(&problem)))
        };
        let kernel = cases.iter().find_map(of_kernel);
        Ok(Self { names, source: Source::Listed(cases), seeds, paired, budget, kernel })
    }

    /// The error to report if a case uses the kernel's TCP and the sweep is not run live (in real
    /// time). `None` if no such case is known. The error names the place that asks for the kernel's
    /// TCP. An `endpoint` in the file is not checked if every point of an axis replaces it.
    pub fn kernel(&self) -> Option<&ScenarioError> {
        self.kernel.as_deref()
    }

    /// The axes from which every run draws a random value.
    pub fn drawn(&self) -> &[RandomAxis] {
        match &self.source {
            Source::Grid(grid) => &grid.drawn,
            Source::Listed(_) => &[],
        }
    }

    /// The labels of the values that a case draws, one for each drawn axis.
    pub fn drawn_labels(&self, case: u64) -> Vec<Label> {
        self.draws(case).into_iter().map(|point| point.label).collect()
    }

    fn draws(&self, case: u64) -> Vec<Point> {
        let seed = self.seed(case);
        self.drawn().iter().map(|axis| axis.draw(seed)).collect()
    }

    /// The names of the axes whose values form combinations.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of combinations of values. For listed scenarios, this is the number of scenarios,
    /// even if some of them have the same labels.
    pub fn combinations(&self) -> u64 {
        match &self.source {
            Source::Grid(grid) => grid.axes.iter().map(|axis| axis.points.len() as u64).product(),
            Source::Listed(cases) => cases.len() as u64,
        }
    }

    /// The number of cases.
    pub fn cases(&self) -> u64 {
        self.combinations() * self.seeds
    }

    /// The number of runs of each combination.
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
            Source::Grid(grid) => {
                points(&grid.axes, combination).iter().map(|point| point.label.clone()).collect()
            }
            Source::Listed(cases) => cases[at(combination)].labels.clone(),
        }
    }

    /// The distinct labels of each name, in order.
    pub fn all_labels(&self) -> Vec<Vec<Label>> {
        match &self.source {
            Source::Grid(grid) => {
                let labels = |axis: &Axis| axis.points.iter().map(|p| p.label.clone()).collect();
                grid.axes.iter().map(labels).collect()
            }
            Source::Listed(cases) => (0..self.names.len())
                .map(|n| {
                    let mut met = IndexSet::new();
                    let labels = cases.iter().map(|case| &case.labels[n]);
                    labels.filter(|label| met.insert(label.to_string())).cloned().collect()
                })
                .collect(),
        }
    }

    /// The number of a case among the cases with the same labels, from 1.
    pub fn repeat(&self, case: u64) -> u64 {
        let before = match &self.source {
            Source::Grid(_) => 0,
            Source::Listed(cases) => cases[at(case / self.seeds)].repeat,
        };
        before * self.seeds + case % self.seeds + 1
    }

    /// Returns the seed of a case. The seed depends on the scenario's seed and on the case, and not
    /// on the order of the runs or the number of threads. If the runs are paired, the seed depends
    /// only on the scenario's seed and on the number that [`repeat`](Self::repeat) returns. If the
    /// runs are not paired, the seed also depends on the values that the combination sets, but not
    /// on the names of the axes. For listed scenarios that are not paired, the seed depends on the
    /// labels and their names instead of the values.
    pub fn seed(&self, case: u64) -> u64 {
        let combination = case / self.seeds;
        let base = match &self.source {
            Source::Grid(grid) => grid.seed,
            Source::Listed(cases) => cases[at(combination)].scenario.seed(),
        };
        let mut key = if self.paired { String::new() } else { self.key(combination) };
        let _ = write!(key, "{}", self.repeat(case));
        let hash = Sha256::new()
            .chain_update(DERIVATION)
            .chain_update(base.to_le_bytes())
            .chain_update(key)
            .finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        u64::from_le_bytes(first) >> 1
    }

    /// A key that identifies a combination. The order of the axes does not change it.
    fn key(&self, combination: u64) -> String {
        let mut parts: Vec<(String, String)> = match &self.source {
            Source::Grid(grid) => points(&grid.axes, combination)
                .iter()
                .flat_map(|point| &point.settings)
                .map(|setting| (path_keys(setting).join("\0"), setting.value.to_string()))
                .collect(),
            Source::Listed(cases) => {
                let labels = cases[at(combination)].labels.iter().map(ToString::to_string);
                self.names.iter().cloned().zip(labels).collect()
            }
        };
        parts.sort_unstable();
        parts.iter().fold(String::new(), |mut key, (name, value)| {
            let _ = write!(key, "{}:{name}={}:{value}\0", name.len(), value.len());
            key
        })
    }

    /// A number that stands for the [`combination`](Self::combination) of a case: all cases with
    /// the same number have the same combination.
    pub fn combination_number(&self, case: u64) -> u64 {
        if self.drawn().is_empty() { case / self.seeds } else { case }
    }

    /// The combination of a case, including the values that the case draws.
    ///
    /// # Errors
    /// When a value of the case is invalid. Some mistakes are found only by
    /// [`simulate`](Combination::simulate), for example values that contradict each other.
    pub fn combination(&self, case: u64) -> Result<Combination, ScenarioError> {
        match &self.source {
            Source::Grid(grid) => {
                let drawn = self.draws(case);
                let points = points(&grid.axes, case / self.seeds).into_iter().chain(&drawn);
                let quick = grid.varied.combination(points.flat_map(|point| &point.settings));
                // If this quick way fails, the whole file is read again with the values of the
                // case. This gives the combination, or an error with a good message.
                quick.map_or_else(|| Ok(Combination::new(self.scenario_of(case)?.spec)), Ok)
            }
            Source::Listed(_) => Ok(Combination::new(self.scenario_of(case)?.spec)),
        }
    }

    /// The case as a scenario of its own.
    ///
    /// # Errors
    /// When the values of the case are invalid or contradict each other.
    pub fn scenario(&self, case: u64) -> Result<Scenario, ScenarioError> {
        let seed = self.seed(case).to_string();
        let scenario = self.scenario_of(case)?;
        Scenario::of(scenario.document.with("seed", &seed))
    }

    fn scenario_of(&self, case: u64) -> Result<Scenario, ScenarioError> {
        match &self.source {
            Source::Grid(grid) => {
                let drawn = self.draws(case);
                let points = points(&grid.axes, case / self.seeds).into_iter().chain(&drawn);
                let settings = points.flat_map(|point| &point.settings);
                Scenario::of(settings.fold(grid.document.clone(), |document, setting| {
                    document.with(&setting.path, &setting.value.to_string())
                }))
            }
            Source::Listed(cases) => Ok(cases[at(case / self.seeds)].scenario.clone()),
        }
    }

    /// The fingerprint of everything on which the results depend.
    pub fn fingerprint(&self) -> String {
        let mut identity = format!("{} {} {:?}\0", self.seeds, self.paired, self.budget);
        match &self.source {
            Source::Grid(grid) => {
                let _ = write!(identity, "{}\0{}\0", grid.seed, grid.varied.table());
                for (name, text) in grid.document.files() {
                    let _ = write!(identity, "{name:?} {text:?}\0");
                }
                for drawn in &grid.drawn {
                    let _ = write!(identity, "draw {}\0", drawn.identity());
                }
                for axis in &grid.axes {
                    let _ = write!(identity, "{} {:?}\0", axis.points.len(), axis.name);
                    for Point { label, settings, .. } in &axis.points {
                        let _ = write!(identity, "{label:?} {}\0", settings.len());
                        for setting in settings {
                            let _ = write!(identity, "{:?}={}\0", setting.path, setting.value);
                        }
                    }
                }
            }
            Source::Listed(cases) => {
                let _ = write!(identity, "{:?}\0", self.names);
                for ListedCase { labels, scenario, .. } in cases {
                    let _ = write!(identity, "{labels:?}\0{}\0", scenario.resolved());
                }
            }
        }
        short_hash(&[identity.as_bytes()])
    }
}

fn at(combination: u64) -> usize {
    usize::try_from(combination).unwrap_or(usize::MAX)
}

/// The points of a combination. The last axis varies fastest.
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
