//! Reads and writes the text form of distributions: a quantity alone, or a name with settings.

use core::fmt;

use super::error::DistributionError;
use super::family::{Distribution, DistributionFamily, DistributionUnit, Middle, Start};
use super::packmime::RATES;
use super::settings::{Settings, as_in, quantity, written};

use DistributionUnit::{Count, Gap, Octets, Span};

/// A family's name and keys, the kinds of values that it can have, and a correct text. In the
/// correct text, LESS and MORE stand for two quantities.
struct Form {
    name: &'static str,
    keys: &'static [&'static str],
    units: &'static [DistributionUnit],
    example: &'static str,
}

const fn form(
    name: &'static str,
    keys: &'static [&'static str],
    units: &'static [DistributionUnit],
    example: &'static str,
) -> Form {
    Form { name, keys, units, example }
}

const CONTINUOUS: &[DistributionUnit] = &[Octets, Span, Gap];

const FORMS: [Form; 12] = [
    form("uniform", &["from", "to"], &[Octets, Span, Count, Gap], "uniform:from=LESS,to=MORE"),
    form("exponential", &["mean"], CONTINUOUS, "exponential:mean=MORE"),
    form("lognormal", &["median", "mean", "sigma"], CONTINUOUS, "lognormal:median=LESS,sigma=1.6"),
    form("pareto", &["shape", "mean", "least", "most"], CONTINUOUS, "pareto:shape=1.2,least=LESS"),
    form("weibull", &["shape", "mean"], CONTINUOUS, "weibull:shape=0.7,mean=MORE"),
    form("geometric", &["mean"], &[Count], "geometric:mean=5"),
    form("every", &[], &[Gap], "every:MORE"),
    form("poisson", &["rate"], &[Gap], "poisson:rate=50/s"),
    form("packmime", &["rate"], &[Gap], "packmime:rate=18/s"),
    form("packmime-request", &["rate"], &[Octets], "packmime-request:rate=18/s"),
    form("packmime-reply", &["rate"], &[Octets], "packmime-reply:rate=18/s"),
    form("packmime-server", &[], &[Span], "packmime-server"),
];

impl Form {
    /// Returns a correct text for values of `unit`.
    fn example(&self, unit: DistributionUnit) -> String {
        let [less, more] = match unit {
            Octets => ["1 kB", "20 kB"],
            Span | Gap => ["1 ms", "20 ms"],
            Count => ["1", "20"],
        };
        self.example.replace("LESS", less).replace("MORE", more)
    }
}

impl Distribution {
    /// Reads a distribution of `unit`.
    ///
    /// - A quantity alone is a constant: `8 kB`, `20 ms`, `3`. Gaps of equal length are `every:20
    ///   ms`.
    /// - Sizes, times and gaps may be `uniform:from=1 kB,to=20 kB`, `exponential:mean=8 kB`,
    ///   `lognormal:median=900 B,sigma=1.6`, `weibull:shape=0.7,mean=20 ms` and
    ///   `pareto:shape=1.2,least=1 kB`. A lognormal distribution may have `mean` instead of
    ///   `median`. A Pareto distribution may have `mean`, the mean of all draws, instead of
    ///   `least`. `most` truncates a Pareto distribution.
    /// - Counts may be `uniform:from=1,to=9` and `geometric:mean=5`.
    /// - Gaps may be `poisson:rate=50/s`.
    /// - PackMime-HTTP has the gaps `packmime:rate=18/s`, the sizes `packmime-request:rate=18/s`
    ///   and `packmime-reply:rate=18/s`, and the times `packmime-server`. The rates count new
    ///   connections.
    ///
    /// ```
    /// use netspurt::distribution::{Distribution, DistributionUnit};
    /// let text = "lognormal:median=900 B,sigma=1.6";
    /// let sizes = Distribution::parse(text, DistributionUnit::Octets).unwrap();
    /// assert_eq!(sizes.to_string(), "lognormal:median=900B,sigma=1.6");
    /// ```
    ///
    /// # Errors
    /// When the name is unknown or not for `unit`, or a key is unknown, missing or given twice.
    /// Also when a value is malformed or out of range, or when values contradict each other.
    pub fn parse(text: &str, unit: DistributionUnit) -> Result<Self, DistributionError> {
        let text = text.trim();
        if text.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c)) {
            return plain(text, unit);
        }
        let (name, settings) = match text.split_once(':') {
            None => (text, None),
            Some((name, settings)) => (name.trim(), Some(settings)),
        };
        let form = known(name, unit)?;
        let example = form.example(unit);
        let family = if form.name == "every" {
            DistributionFamily::Fixed(every(settings.unwrap_or_default().trim(), &example)?)
        } else {
            family(&Settings::read((form.name, settings), unit, form.keys, example)?)?
        };
        Ok(Self { unit, family })
    }
}

/// Returns the form called `name`.
///
/// # Errors
/// When the name is unknown, or the form is not for `unit`.
fn known(name: &str, unit: DistributionUnit) -> Result<&'static Form, DistributionError> {
    let fitting: Vec<&str> =
        FORMS.iter().filter(|form| form.units.contains(&unit)).map(|form| form.name).collect();
    let what = unit.what();
    match FORMS.iter().find(|form| form.name == name) {
        Some(form) if form.units.contains(&unit) => Ok(form),
        Some(_) => {
            let message = format!("`{name}` is not a distribution of {what}");
            let fix = format!("write one of {}", fitting.join(", "));
            Err(DistributionError::new([name, "", ""], message, fix))
        }
        None => {
            let message = format!("no distribution of {what} is called `{name}`");
            Err(DistributionError::unknown([name, "", ""], message, &fitting))
        }
    }
}

/// Reads a quantity alone, which is a constant.
fn plain(text: &str, unit: DistributionUnit) -> Result<Distribution, DistributionError> {
    let refuse =
        |message: String, fix: String| DistributionError::new([text, "", ""], message, fix);
    let value = quantity(text, unit)
        .map_err(|fix| refuse(format!("`{text}` is not a possible value"), fix))?;
    if unit == Gap {
        let message = format!("`{text}` does not say how arrivals follow each other");
        return Err(refuse(message, format!("write `every:{text}`")));
    }
    if value < unit.least() || (unit == Count && value.fract() != 0.0) {
        let fix = match unit {
            Count => "write a whole number from 1".to_owned(),
            _ => format!("write at least `{}`", written(unit.least(), unit)),
        };
        return Err(refuse(format!("`{text}` is not a possible value"), fix));
    }
    Ok(Distribution { unit, family: DistributionFamily::Fixed(value) })
}

/// Reads the gap after `every:`, and returns it in nanoseconds.
fn every(text: &str, example: &str) -> Result<f64, DistributionError> {
    let refuse = |fix| {
        let message = format!("a gap cannot be `{text}`");
        DistributionError::new(["every", "gap", text], message, fix)
    };
    if text.is_empty() {
        return Err(DistributionError::new(
            ["every", "gap", ""],
            "no gap is given",
            as_in(example),
        ));
    }
    let gap = quantity(text, Gap).map_err(refuse)?;
    if gap > 0.0 { Ok(gap) } else { Err(refuse("write more than zero".into())) }
}

/// The least and the greatest shape.
const SHAPES: [f64; 2] = [0.05, 1000.0];
/// The least and the greatest sigma.
const SIGMAS: [f64; 2] = [0.001, 10.0];
/// The least and the greatest rate of Poisson arrivals, in arrivals per second.
const POISSON_RATES: [f64; 2] = [0.000_001, 1e9];

/// Returns the family and the parameters that the settings describe.
fn family(settings: &Settings<'_>) -> Result<DistributionFamily, DistributionError> {
    let shape = || settings.number("shape", SHAPES[0]..=SHAPES[1]);
    let rate = || settings.rate(RATES[0]..=RATES[1]);
    Ok(match settings.name {
        "uniform" => uniform(settings)?,
        "exponential" => DistributionFamily::Exponential { mean: settings.positive("mean")? },
        "lognormal" => DistributionFamily::Lognormal {
            middle: settings.either([("median", Middle::Median), ("mean", Middle::Mean)])?,
            sigma: settings.number("sigma", SIGMAS[0]..=SIGMAS[1])?,
        },
        "pareto" => pareto(settings, shape()?)?,
        "weibull" => {
            DistributionFamily::Weibull { shape: shape()?, mean: settings.positive("mean")? }
        }
        "geometric" => DistributionFamily::Geometric { mean: settings.positive("mean")? },
        "poisson" => DistributionFamily::Poisson {
            rate: settings.rate(POISSON_RATES[0]..=POISSON_RATES[1])?,
        },
        "packmime" => DistributionFamily::PackmimeArrivals { rate: rate()? },
        "packmime-request" => DistributionFamily::PackmimeRequests { rate: rate()? },
        "packmime-reply" => DistributionFamily::PackmimeReplies { rate: rate()? },
        "packmime-server" => DistributionFamily::PackmimeServers,
        name => unreachable!("{name} is a form without a family"),
    })
}

fn uniform(settings: &Settings<'_>) -> Result<DistributionFamily, DistributionError> {
    let (from, to) = (settings.quantity("from")?, settings.positive("to")?);
    let unit = settings.unit;
    if from < unit.least() {
        return Err(settings.refuse("from", "`from` is zero", "write more than zero"));
    }
    if from > to {
        let to = written(to, unit);
        return Err(settings.refuse("from", "`from` is above `to`", format!("write at most {to}")));
    }
    for (key, value) in [("from", from), ("to", to)] {
        if value.fract() != 0.0 {
            let message = format!("`{key}` is not a whole number");
            return Err(settings.refuse(key, message, "write a whole number"));
        }
    }
    Ok(DistributionFamily::Uniform { from, to })
}

fn pareto(settings: &Settings<'_>, shape: f64) -> Result<DistributionFamily, DistributionError> {
    let start = settings.either([("least", Start::Least), ("mean", Start::Mean)])?;
    let most = settings.maybe_positive("most")?;
    let (key, value) = match start {
        Start::Least(least) => ("least", least),
        Start::Mean(mean) => ("mean", mean),
    };
    if most.is_none() && key == "mean" && shape <= 1.0 {
        let message =
            format!("with a shape of {shape} there is no mean, because the shape is not above 1");
        return Err(settings.refuse("mean", message, "write `least` instead, or add `most`"));
    }
    if let Some(most) = most.filter(|most| *most <= value) {
        let most = written(most, settings.unit);
        let message = format!("`{key}` is not below `most` ({most})");
        return Err(settings.refuse(key, message, "write a smaller value, or raise `most`"));
    }
    Ok(DistributionFamily::Pareto { start, shape, most })
}

impl fmt::Display for Distribution {
    /// Writes the text that [`Distribution::parse`] reads as this distribution. For an empirical
    /// distribution it writes the number of values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: f64| written(value, self.unit).replace(' ', "");
        match &self.family {
            DistributionFamily::Fixed(gap) if self.unit == Gap => write!(f, "every:{}", text(*gap)),
            DistributionFamily::Fixed(value) => f.write_str(&written(*value, self.unit)),
            DistributionFamily::Uniform { from, to } => {
                write!(f, "uniform:from={},to={}", text(*from), text(*to))
            }
            DistributionFamily::Exponential { mean } => {
                write!(f, "exponential:mean={}", text(*mean))
            }
            DistributionFamily::Lognormal { middle, sigma } => {
                let (key, value) = match middle {
                    Middle::Median(median) => ("median", median),
                    Middle::Mean(mean) => ("mean", mean),
                };
                write!(f, "lognormal:{key}={},sigma={sigma}", text(*value))
            }
            DistributionFamily::Pareto { start, shape, most } => {
                let (key, value) = match start {
                    Start::Least(least) => ("least", least),
                    Start::Mean(mean) => ("mean", mean),
                };
                write!(f, "pareto:shape={shape},{key}={}", text(*value))?;
                most.map_or(Ok(()), |most| write!(f, ",most={}", text(most)))
            }
            DistributionFamily::Weibull { mean, shape } => {
                write!(f, "weibull:shape={shape},mean={}", text(*mean))
            }
            DistributionFamily::Geometric { mean } => write!(f, "geometric:mean={}", text(*mean)),
            DistributionFamily::Poisson { rate } => write!(f, "poisson:rate={rate}/s"),
            DistributionFamily::PackmimeArrivals { rate } => write!(f, "packmime:rate={rate}/s"),
            DistributionFamily::PackmimeRequests { rate } => {
                write!(f, "packmime-request:rate={rate}/s")
            }
            DistributionFamily::PackmimeReplies { rate } => {
                write!(f, "packmime-reply:rate={rate}/s")
            }
            DistributionFamily::PackmimeServers => f.write_str("packmime-server"),
            DistributionFamily::Empirical(values) => {
                write!(f, "empirical ({} values)", values.len())
            }
        }
    }
}
