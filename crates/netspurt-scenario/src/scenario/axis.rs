//! The axes of a sweep. An axis is a part of a scenario that the sweep varies. Its points come from
//! a list of values, a range, or named sets of values. A point has settings. Each setting is a
//! value, and the path of the key that gets this value.

use core::fmt;

use indexmap::IndexSet;
use toml::Value;

use netspurt::foreign::unpinned;
use netspurt::units::steps_of;

use super::error::Problem;
use super::sweep_spec::{AxisSpec, Spacing};
use super::tree::{entry, keys};

/// The label of a point on an axis: what tables show for the point.
#[derive(Clone, Debug, PartialEq)]
pub enum Label {
    /// A whole number.
    Whole(i64),
    /// A number with a fraction.
    Number(f64),
    /// A text, the name of a set, or another value as TOML.
    Text(String),
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Label::Whole(number) => number.fmt(f),
            Label::Number(number) => number.fmt(f),
            Label::Text(text) => text.fmt(f),
        }
    }
}

impl From<&Value> for Label {
    fn from(value: &Value) -> Self {
        match value {
            Value::Integer(number) => Label::Whole(*number),
            Value::Float(number) => Label::Number(*number),
            Value::String(text) => Label::Text(unpinned(text)),
            other => Label::Text(other.to_string()),
        }
    }
}

/// The columns of every sweep's table. An axis cannot have one of these names.
pub const RESERVED_COLUMNS: [&str; 73] = [
    "case",
    "scenario",
    "seed",
    "repeat",
    "status",
    "why",
    "events",
    "flows",
    "finished",
    "sent",
    "retransmissions",
    "spurious",
    "undone",
    "timeouts",
    "fast_retransmits",
    "received",
    "duplicates",
    "acked_bytes",
    "delivered_bytes",
    "waited_ns",
    "window_limited",
    "completion_ns_mean",
    "completion_ns_max",
    "completion_ns_p50",
    "completion_ns_p90",
    "completion_ns_p99",
    "completion_ns_p999",
    "goodput_bps",
    "fairness",
    "carried",
    "carried_bytes",
    "busiest_bps",
    "dropped",
    "lost",
    "marked",
    "overtook",
    "queue_packets_max",
    "echo_probes_lost",
    "echo_probe_rtt_ns_mean",
    "requests",
    "requests_complete",
    "request_ns_mean",
    "request_ns_max",
    "request_ns_p50",
    "request_ns_p90",
    "request_ns_p99",
    "request_ns_p999",
    "connections",
    "connections_complete",
    "connection_ns_mean",
    "connection_ns_max",
    "connection_ns_p50",
    "connection_ns_p90",
    "connection_ns_p99",
    "connection_ns_p999",
    "retransmissions_fast",
    "retransmissions_sack_recovery",
    "retransmissions_rack",
    "retransmissions_rto",
    "retransmissions_tlp",
    "retransmissions_sfr",
    "retransmissions_go_back_n",
    "retransmissions_syn",
    "retransmissions_shim",
    "spurious_fast",
    "spurious_sack_recovery",
    "spurious_rack",
    "spurious_rto",
    "spurious_tlp",
    "spurious_sfr",
    "spurious_go_back_n",
    "spurious_syn",
    "spurious_shim",
];

/// The columns in which `netspurt sweep show` and `netspurt sweep compare` print results, in
/// addition to the columns of the axes. An axis cannot have one of these names.
pub const RESULT_COLUMNS: [&str; 12] = [
    "measure",
    "cases",
    "without",
    "value",
    "low",
    "high",
    "median",
    "percentiles",
    "axis",
    "label",
    "baseline",
    "verdict",
];

/// One axis of a sweep.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The name of the axis.
    pub name: String,
    /// The points of the axis, in order.
    pub points: Vec<Point>,
}

/// A point on an axis.
#[derive(Clone, Debug)]
pub struct Point {
    /// The label of the point.
    pub label: Label,
    /// The path in the file to the value, set or axis from which the point is made. Errors name
    /// this path.
    pub(super) place: Vec<String>,
    pub(super) settings: Vec<AxisSetting>,
}

/// A value to be set at a path.
#[derive(Clone, Debug)]
pub(super) struct AxisSetting {
    pub(super) path: String,
    pub(super) value: Value,
    /// Where `path` is written in the file: the keys that lead to this place. Errors name this
    /// place.
    pub(super) place: Vec<String>,
}

impl Axis {
    /// Reads the axis called `name`.
    pub(super) fn new(name: &str, spec: &AxisSpec) -> Result<Self, Problem> {
        let home = ["sweep", "over", name];
        if name.is_empty() || name.chars().any(char::is_control) {
            let message = "a column cannot have this name: it is empty or has a control character";
            let problem = Problem::at(home, message).of_the_key();
            return Err(problem.fix("write letters, digits and signs"));
        }
        if RESERVED_COLUMNS.contains(&name) || RESULT_COLUMNS.contains(&name) {
            let reserved = RESERVED_COLUMNS.contains(&name);
            let whose = if reserved { "every sweep has" } else { "tables of results may have" };
            let problem = Problem::at(home, format!("{whose} a column `{name}`"));
            return Err(problem.of_the_key().fix("choose another name"));
        }
        let points = match (&spec.path, &spec.sets) {
            (None, Some(_)) if spec.without_values() => sets(name, spec),
            (Some(path), None) if path.each().is_empty() => {
                let [sweep, over, name] = home;
                let problem = Problem::at([sweep, over, name, "path"], "the list has no paths");
                return Err(problem.fix("write at least one path"));
            }
            (Some(path), None) => listed(name, spec, path.each())?,
            _ => {
                let message = format!("`{name}` needs either `path` with values, or `sets`");
                let fix = "write `path` and `values`, or `path` and a range, or `sets`";
                return Err(Problem::at(home, message).fix(fix));
            }
        };
        if points.is_empty() {
            let problem = Problem::at(home, format!("`{name}` has no values"));
            return Err(problem.fix("write at least one value"));
        }
        let mut met = IndexSet::new();
        if let Some(twice) = points.iter().find(|point| !met.insert(point.label.to_string())) {
            let mut problem = Problem::at([], format!("`{}` appears twice", twice.label));
            problem.path.clone_from(&twice.place);
            let fix = match (&spec.from, &spec.to) {
                (Some(Value::Integer(from)), Some(Value::Integer(to))) if from != to => format!(
                    "a range from {from} to {to} has only whole numbers; for decimals write \
                     `from = {from}.0`"
                ),
                (Some(_), _) => {
                    "write ends that are farther apart, or fewer values: values are rounded"
                        .to_owned()
                }
                (None, _) => "write each value once".to_owned(),
            };
            return Err(problem.fix(fix));
        }
        Ok(Self { name: name.to_owned(), points })
    }
}

impl AxisSpec {
    fn without_values(&self) -> bool {
        self.values.is_none() && self.without_range()
    }

    fn without_range(&self) -> bool {
        let AxisSpec { from, to, count, spacing, .. } = self;
        from.is_none() && to.is_none() && count.is_none() && spacing.is_none()
    }
}

fn steps(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

/// The points of named sets.
fn sets(name: &str, spec: &AxisSpec) -> Vec<Point> {
    let sets = spec.sets.iter().flatten();
    let point = |(label, values): (&String, &indexmap::IndexMap<String, Value>)| {
        let home = steps(&["sweep", "over", name, "sets", label]);
        let setting = |(path, value): (&String, &Value)| AxisSetting {
            path: path.clone(),
            value: value.clone(),
            place: [&home[..], &keys_in_file(path)].concat(),
        };
        let settings = values.iter().map(setting).collect();
        Point { label: Label::Text(label.clone()), settings, place: home }
    };
    sets.map(point).collect()
}

/// Returns the keys that lead to the value at `path` in a set. In the file, the whole path is one
/// key, in quotes if it has dots.
fn keys_in_file(path: &str) -> Vec<String> {
    vec![path.to_owned()]
}

/// The points of a list or a range of values. Each value is set at all `paths`.
fn listed(name: &str, spec: &AxisSpec, paths: &[String]) -> Result<Vec<Point>, Problem> {
    let home = ["sweep", "over", name];
    let place = |key: &str| steps(&[&home[..], &[key]].concat());
    let (values, listed) = match (&spec.values, &spec.from, &spec.to, spec.count) {
        (Some(values), ..) if spec.without_range() => (values.clone(), true),
        (None, Some(from), Some(to), Some(count)) => {
            let range = AxisRange::new(from, to, spec.spacing.unwrap_or_default());
            let range = range.map_err(|[message, fix]| Problem::at(home, message).fix(fix))?;
            ((0..count.0).map(|n| range.value(n, count.0)).collect(), false)
        }
        (Some(_), ..) => {
            let message = format!("`{name}` has a list of values, and keys of a range");
            return Err(Problem::at(home, message)
                .fix("leave out `values`, or `from`, `to`, `count` and `spacing`"));
        }
        _ => {
            let message = format!("`{name}` needs either a list of values or a complete range");
            let fix = "write `values = [...]`, or `from`, `to` and `count`; with `draw`, leave \
                       `count` out";
            return Err(Problem::at(home, message).fix(fix));
        }
    };
    let points = values.iter().enumerate().map(|(n, value)| Point {
        label: Label::from(value),
        settings: paths
            .iter()
            .map(|path| AxisSetting {
                path: path.clone(),
                value: value.clone(),
                place: place("path"),
            })
            .collect(),
        place: if listed { [place("values"), vec![entry(n)]].concat() } else { steps(&home) },
    });
    Ok(points.collect())
}

/// A range of numbers. Either all of them have the same unit, or none of them has a unit.
#[derive(Clone, Debug)]
pub(super) struct AxisRange {
    from: f64,
    to: f64,
    /// The unit of each number; `None` for plain numbers.
    unit: Option<String>,
    /// Values are rounded to multiples of 1/`steps`, because a scenario refuses finer values. For
    /// whole numbers, `steps` is 1. Plain numbers with a fraction have no `steps`.
    steps: Option<u64>,
    log: bool,
}

impl AxisRange {
    pub(super) fn new(from: &Value, to: &Value, spacing: Spacing) -> Result<Self, [String; 2]> {
        let fix = "write two numbers, or two numbers with the same unit".to_owned();
        let no_range = || [format!("{from} and {to} are not the ends of a range"), fix.clone()];
        let (first, unit) = number(from).ok_or_else(no_range)?;
        let (last, last_unit) = number(to).ok_or_else(no_range)?;
        // One end of a range may have its unit in the singular, as in "1 packet" to "5 packets".
        let singular = |unit: &String| match unit.len() {
            ..=2 => unit.clone(),
            _ => unit.strip_suffix('s').unwrap_or(unit).to_owned(),
        };
        if unit.as_ref().map(singular) != last_unit.as_ref().map(singular) {
            return Err(no_range());
        }
        let unit = [unit, last_unit].into_iter().flatten().max_by_key(String::len);
        let log = spacing == Spacing::Log;
        if log && (first <= 0.0 || last <= 0.0) {
            let message =
                "both ends of a range with spacing = \"log\" must be above zero".to_owned();
            return Err([message, "write ends above zero, or spacing = \"even\"".to_owned()]);
        }
        let whole = matches!((from, to), (Value::Integer(_), Value::Integer(_)));
        let steps = if whole { Some(1) } else { unit.as_deref().and_then(steps_of) };
        Ok(Self { from: first, to: last, unit, steps, log })
    }

    /// Returns the value with index `n` of `count` values. The first and the last value are exactly
    /// the given bounds.
    #[expect(clippy::cast_precision_loss, reason = "a range has at most 100 000 values")]
    fn value(&self, n: u64, count: u64) -> Value {
        let share = n as f64 / (count - 1) as f64;
        let between = if self.log {
            self.from * libm::pow(self.to / self.from, share)
        } else {
            self.from + (self.to - self.from) * share
        };
        let value = if n == 0 {
            self.from
        } else if n + 1 == count {
            self.to
        } else {
            self.rounded(between)
        };
        self.written(value)
    }

    /// Returns the value of the range at the fraction `share`, which is from 0 to less than 1. If
    /// the range has evenly spaced whole numbers, all of them are equally likely for a random
    /// `share`.
    pub(super) fn drawn(&self, share: f64) -> Value {
        let value = if self.log {
            self.from * libm::pow(self.to / self.from, share)
        } else if self.is_integer() {
            let (lower, upper) = self.bounds();
            lower + (share * (upper - lower + 1.0)).floor()
        } else {
            self.from + (self.to - self.from) * share
        };
        self.written(self.rounded(value))
    }

    /// Returns a text for the range. Ranges with different values have different texts.
    pub(super) fn identity(&self) -> String {
        format!("{self:?}")
    }

    fn is_integer(&self) -> bool {
        self.steps == Some(1)
    }

    fn bounds(&self) -> (f64, f64) {
        (self.from.min(self.to), self.from.max(self.to))
    }

    /// Rounds `value` to a value that a scenario accepts: first to six digits (unless the range has
    /// only whole numbers), then to whole steps of the unit.
    #[expect(clippy::cast_precision_loss, reason = "the number of steps is 4 or a power of 10")]
    fn rounded(&self, value: f64) -> f64 {
        let digits = if self.is_integer() { value } else { six_digits(value) };
        let steps = self.steps.map(|steps| steps as f64);
        let whole = steps.map_or(digits, |steps| (digits * steps).round() / steps);
        let (lower, upper) = self.bounds();
        whole.clamp(lower, upper)
    }

    #[expect(clippy::cast_possible_truncation, reason = "a person writes no number above 2^63")]
    fn written(&self, value: f64) -> Value {
        match &self.unit {
            Some(unit) => Value::String(format!("{value} {unit}")),
            None if self.is_integer() => Value::Integer(value as i64),
            None => Value::Float(value),
        }
    }
}

fn six_digits(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// The number in a value, and the unit if the value is a text.
#[expect(clippy::cast_precision_loss, reason = "people write numbers below 2^53")]
fn number(value: &Value) -> Option<(f64, Option<String>)> {
    match value {
        Value::Integer(number) => Some((*number as f64, None)),
        Value::Float(number) => number.is_finite().then_some((*number, None)),
        Value::String(text) => {
            let (number, unit) = text.trim().split_once(' ')?;
            let number: f64 = number.parse().ok().filter(|n: &f64| n.is_finite())?;
            Some((number, Some(unit.trim().to_owned())))
        }
        _ => None,
    }
}

/// The keys of a setting's path.
pub(super) fn path_keys(setting: &AxisSetting) -> Vec<String> {
    keys(&setting.path)
}
