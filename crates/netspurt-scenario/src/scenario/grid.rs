//! The scenario file of a sweep, and its axes. An axis is a part of the scenario that the sweep
//! varies. Each point of an axis has a value, or a set of values. A case is a run with one point of
//! each axis. The first thousand values of each axis are checked before any case runs.

use indexmap::{IndexMap, IndexSet};
use toml::Value;

use netspurt::units::Duration;

use super::axis::{Axis, AxisSetting, Point, path_keys};
use super::combination::{KERNEL, LIVE, not_simulated};
use super::document::Document;
use super::error::{Problem, ScenarioError};
use super::plan::plan;
use super::random_axis::RandomAxis;
use super::spec::Spec;
use super::sweep_spec::SweepSpec;
use super::varied::Varied;

/// The file of a sweep, and its axes.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    /// The file without its `[sweep]`.
    pub(super) document: Document,
    pub(super) varied: Varied,
    pub(super) seed: u64,
    /// The axes whose points form combinations.
    pub(super) axes: Vec<Axis>,
    /// The axes from which every run draws its values.
    pub(super) drawn: Vec<RandomAxis>,
}

impl Grid {
    /// The grid of `document`; `None` if it has no `[sweep]`. [`plan`] must accept `spec`. Checks
    /// the first [`CHECKED`] values of each axis: each value alone must be valid at its path. The
    /// values of a case are checked together only later, when the case runs.
    pub(super) fn of(document: &Document, spec: &Spec) -> Result<Option<Self>, ScenarioError> {
        let Some(sweep) = &spec.sweep else { return Ok(None) };
        let blamed = |problem: Problem| document.blame(&problem);
        if sweep.time.is_some_and(Duration::is_zero) {
            let problem = Problem::at(
                ["sweep", "time"],
                "a `time` of zero would stop every case immediately",
            );
            return Err(blamed(problem.fix("write a value above zero")));
        }
        let over = |draw: bool| sweep.over.iter().filter(move |(_, axis)| axis.draw == draw);
        let axes = over(false).map(|(name, axis)| Axis::new(name, axis));
        let axes: Vec<Axis> = axes.collect::<Result<_, _>>().map_err(blamed)?;
        let drawn = over(true).map(|(name, axis)| RandomAxis::new(name, axis));
        let drawn: Vec<RandomAxis> = drawn.collect::<Result<_, _>>().map_err(blamed)?;
        too_many(&axes, sweep).map_err(blamed)?;
        let single = document.clone().without_sweep();
        let varied = Varied::new(&single)?;
        let grid = Self { varied, document: single, seed: spec.seed.0, axes, drawn };
        check_no_overwrite(&grid.by_axis()).map_err(blamed)?;
        grid.check().map_err(blamed)?;
        Ok(Some(grid))
    }

    /// Checks the first [`CHECKED`] values of each axis: each value alone must be valid at its
    /// path.
    fn check(&self) -> Result<(), Problem> {
        for (_, points) in self.by_axis() {
            // All values of a range have the same type, so a thousand of them are enough. The later
            // values of a longer list are checked when their cases run.
            for point in points.iter().take(CHECKED) {
                try_point(self, point)?;
            }
        }
        Ok(())
    }

    /// The points of each axis, by the axis's name. Axes whose values are drawn are included.
    fn by_axis(&self) -> Vec<(&str, &[Point])> {
        let points = self.axes.iter().map(|axis| (&*axis.name, &*axis.points));
        points.chain(self.drawn.iter().map(|axis| (axis.name(), axis.points()))).collect()
    }

    /// The problem to report if an end uses the kernel's TCP in at least one case. `None` if no
    /// such case is found. The problem names the first place that asks for the kernel's TCP. If every point
    /// of an axis sets the `endpoint` of a flow or population, the file's value of this key is not
    /// checked.
    pub(super) fn kernel(&self, spec: &Spec) -> Option<Problem> {
        let axes = self.by_axis();
        let points = || axes.iter().flat_map(|(_, points)| *points);
        let ends =
            |setting: &AxisSetting| path_keys(setting).last().is_some_and(|key| key == "endpoint");
        let of_kernel = |setting: &AxisSetting| {
            if ends(setting) { names_kernel(&setting.value) } else { has_kernel(&setting.value) }
        };
        if let Some(point) = points().find(|point| point.settings.iter().any(of_kernel)) {
            let mut problem = Problem::at([], KERNEL);
            problem.path.clone_from(&point.place);
            return Some(problem.fix(LIVE));
        }
        let covers = |setting: &AxisSetting, place: &[&str]| {
            let keys = path_keys(setting);
            place.get(..keys.len()).is_some_and(|begin| *begin == *keys)
        };
        not_simulated(spec, |place| {
            let set_by = |point: &Point| point.settings.iter().any(|one| covers(one, place));
            axes.iter().any(|(_, points)| points.iter().all(set_by))
        })
    }
}

/// Whether the value of an `endpoint` asks for the kernel's TCP, at one end or at both.
fn names_kernel(endpoint: &Value) -> bool {
    endpoint.to_string().contains("\"kernel\"")
}

/// Whether a table, or a table in it, has an `endpoint` that asks for the kernel's TCP.
fn has_kernel(value: &Value) -> bool {
    value.as_table().is_some_and(|table| {
        table.iter().any(
            |(key, value)| {
                if key == "endpoint" { names_kernel(value) } else { has_kernel(value) }
            },
        )
    })
}

/// The maximum number of values of an axis that are checked before a sweep starts.
const CHECKED: usize = 1000;

/// The maximum number of cases of a sweep.
const MOST: u64 = 100_000_000;

fn too_many(axes: &[Axis], sweep: &SweepSpec) -> Result<(), Problem> {
    let lengths = axes.iter().map(|axis| axis.points.len() as u64).chain([sweep.seeds.0]);
    let cases = lengths.fold(1_u64, u64::saturating_mul);
    if cases <= MOST {
        return Ok(());
    }
    let message = format!("the sweep has {cases} cases; the maximum is {MOST}");
    Err(Problem::at(["sweep"], message).fix("write fewer values or fewer seeds"))
}

/// Checks that no setting overwrites an earlier setting of the same point.
fn check_within(points: &[Point]) -> Result<(), Problem> {
    for settings in points.iter().map(|point| &point.settings).filter(|all| all.len() > 1) {
        let mut before: Vec<(Vec<String>, &str)> = Vec::new();
        for setting in settings {
            let keys = path_keys(setting);
            if let Some((_, first)) = before.iter().find(|(other, _)| other.starts_with(&keys)) {
                let message = format!("`{}` replaces the value of `{first}`", setting.path);
                let mut problem = Problem::at([], message);
                problem.path.clone_from(&setting.place);
                return Err(problem.fix("write each path once, and a table before its keys"));
            }
            before.push((keys, &setting.path));
        }
    }
    Ok(())
}

/// Checks that no setting overwrites another setting of the same point or a setting of an earlier
/// axis. Otherwise the earlier setting would have no effect.
fn check_no_overwrite(axes: &[(&str, &[Point])]) -> Result<(), Problem> {
    let mut before: IndexMap<Vec<String>, (&str, &str)> = IndexMap::new();
    for (name, points) in axes {
        check_within(points)?;
        let settings = || points.iter().flat_map(|point| &point.settings);
        let mut tried = IndexSet::new();
        for setting in settings().filter(|setting| tried.insert(&setting.path)) {
            let keys = path_keys(setting);
            let Some((other, (first, path))) =
                before.iter().find(|(other, _)| other.starts_with(&keys))
            else {
                continue;
            };
            let how =
                if *other == keys { "as this axis does" } else { "which this value replaces" };
            let message = format!("the axis `{first}` varies `{path}`, {how}");
            let mut problem = Problem::at([], message);
            problem.path.clone_from(&setting.place);
            return Err(problem.fix(
                "vary another path, or use one axis with `sets`; `--set 'sweep.over={ ... }'` replaces all axes",
            ));
        }
        let varied = settings().map(|setting| (path_keys(setting), (*name, &*setting.path)));
        before.extend(varied);
    }
    Ok(())
}

/// Checks a single point. Each of its paths must exist, and a sweep must be allowed to vary it.
/// Each value must be valid at its path.
fn try_point(grid: &Grid, point: &Point) -> Result<(), Problem> {
    for setting in &point.settings {
        let keys = path_keys(setting);
        let own = ["seed", "sweep", "record"];
        let at = |message: String, place: &[String]| {
            let mut problem = Problem::at([], message);
            problem.path = place.to_vec();
            problem
        };
        if let Some(first) = keys.first().filter(|first| own.contains(&first.as_str())) {
            let message = format!("a sweep cannot vary `{first}`");
            return Err(
                at(message, &setting.place).fix("vary another key; for several seeds, set `seeds`")
            );
        }
        let quick = grid.varied.spec(std::iter::once(setting));
        if quick.is_some_and(|spec| is_complete(&spec).is_ok()) {
            continue;
        }
        // To get a good error message, the whole document is read again with the setting.
        let with_setting = grid.document.clone().with(&setting.path, &setting.value.to_string());
        let Err((path, mistake)) = is_valid_alone(&with_setting) else { continue };
        let place = if path { &setting.place } else { &point.place };
        return Err(at(mistake.message, place).fix(mistake.fix));
    }
    Ok(())
}

/// Checks that the document can be read and has every required key. A mistake is returned with a
/// flag, which says whether the path is to blame. The flag is `false` if a value is wrong. The flag
/// is `true` if a path is wrong or a required key is missing. It is also `true` if the document
/// refers to a file that is wrong or missing.
fn is_valid_alone(document: &Document) -> Result<(), (bool, ScenarioError)> {
    let mut spec = document.read_or_blame()?;
    spec.fill_in();
    is_complete(&spec).map_err(|problem| (true, document.blame(&problem)))
}

/// Checks that the scenario has every key that it must have.
fn is_complete(spec: &Spec) -> Result<(), Problem> {
    match plan(spec) {
        Err(problem) if problem.incomplete => Err(problem),
        _ => Ok(()),
    }
}
