//! Tests of distributions: the quantiles and the means of their draws, and their text form.

use proptest::prelude::*;

use crate::rng::Stream;
use crate::units::Duration;

use super::DistributionUnit::{Count, Gap, Octets, Span};
use super::sizes::{DOWNLOADED, LARGE, SMALL, VALIDATED};
use super::*;

/// Reads a correct text.
fn parse(text: &str, unit: DistributionUnit) -> Distribution {
    Distribution::parse(text, unit).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A sampler of the distribution that `text` describes.
fn sampler(text: &str, unit: DistributionUnit) -> Sampler {
    Sampler::new(&parse(text, unit), Stream::named(7, text))
}

/// Draws `DRAWS` values of the distribution that `text` describes.
fn draws(text: &str, unit: DistributionUnit) -> Vec<f64> {
    let mut sampler = sampler(text, unit);
    (0..DRAWS).map(|_| sampler.draw()).collect()
}

const DRAWS: u32 = 100_000;

/// The number of standard errors by which a measured share or mean may differ from its expected
/// value.
const ERRORS: f64 = 4.5;

/// The mean of `DRAWS` values.
fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / f64::from(DRAWS)
}

/// Asserts that the share of the draws below each quantile is the probability of this quantile,
/// within [`ERRORS`] standard errors.
fn assert_quantiles(text: &str, unit: DistributionUnit, quantile: impl Fn(f64) -> f64) {
    let values = draws(text, unit);
    for p in [0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999_f64] {
        let cut = quantile(p);
        let below = values.iter().filter(|value| **value < cut).count();
        let share = f64::from(u32::try_from(below).unwrap()) / f64::from(DRAWS);
        let error = (p * (1.0 - p) / f64::from(DRAWS)).sqrt();
        assert!((share - p).abs() < ERRORS * error, "{text}: share {share} below quantile {p}");
    }
}

/// Asserts that the computed mean of a distribution is `expected`, and that the mean of the draws
/// is `expected` within a bound. The bound follows from the standard deviation `deviation`.
fn assert_mean(text: &str, unit: DistributionUnit, expected: f64, deviation: f64) {
    let computed = parse(text, unit).mean().unwrap();
    assert!((computed / expected - 1.0).abs() < 1e-12, "{text}: mean {computed}, not {expected}");
    let drawn = mean(&draws(text, unit));
    let error = ERRORS * deviation / f64::from(DRAWS).sqrt();
    assert!((drawn - expected).abs() <= error, "{text}: mean {drawn}, not {expected}");
}

#[test]
fn every_draw_of_a_plain_quantity_is_this_quantity() {
    assert_eq!(sampler("8 kB", Octets).octets(), 8000);
    assert_eq!(sampler("20 ms", Span).span(), Duration::from_millis(20));
    assert_eq!(sampler("3", Count).count(), 3);
    assert_eq!(sampler("every:20 ms", Gap).span(), Duration::from_millis(20));
    assert_eq!(sampler("0 s", Span).span(), Duration::ZERO);
    assert_eq!(parse("8 kB", Octets).mean(), Some(8000.0));
}

#[test]
fn a_uniform_distribution_draws_all_values_including_both_ends_equally_often() {
    let mut sampler = sampler("uniform:from=2,to=6", Count);
    let mut drawn = [0_u32; 9];
    (0..DRAWS).for_each(|_| drawn[sampler.count() as usize] += 1);
    assert_eq!(drawn.iter().sum::<u32>(), drawn[2..=6].iter().sum::<u32>());
    let error = ERRORS * (f64::from(DRAWS) * 0.2 * 0.8).sqrt();
    assert!(drawn[2..=6].iter().all(|n| (f64::from(*n) - 20_000.0).abs() < error), "{drawn:?}");
    assert_mean("uniform:from=1 kB,to=20 kB", Octets, 10_500.0, 19_000.0 / 12_f64.sqrt());
}

#[test]
fn exponential_sizes_and_poisson_gaps_have_their_quantiles_and_mean() {
    assert_quantiles("exponential:mean=8 kB", Octets, |p| -8000.0 * (1.0 - p).ln());
    assert_mean("exponential:mean=8 kB", Octets, 8000.0, 8000.0);
    assert_quantiles("poisson:rate=50/s", Gap, |p| -2e7 * (1.0 - p).ln());
    assert_mean("poisson:rate=50/s", Gap, 2e7, 2e7);
}

#[test]
fn lognormal_draws_have_the_quantiles_and_the_mean_of_their_distribution() {
    // Quantiles of the standard normal distribution.
    let points = [
        (0.001, -3.090_232_306),
        (0.01, -2.326_347_874),
        (0.1, -1.281_551_566),
        (0.25, -0.674_489_750),
        (0.5, 0.0),
        (0.75, 0.674_489_750),
        (0.9, 1.281_551_566),
        (0.99, 2.326_347_874),
        (0.999, 3.090_232_306),
    ];
    let normal = |p: f64| -> f64 { points.iter().find(|(q, _)| *q == p).unwrap().1 };
    let text = "lognormal:median=900 B,sigma=1.6";
    assert_quantiles(text, Octets, |p| 900.0 * (1.6 * normal(p)).exp());
    let expected = 900.0 * 1.28_f64.exp();
    assert_mean(text, Octets, expected, expected * (2.56_f64.exp() - 1.0).sqrt());
    let median = 72_000.0 * (-0.5_f64).exp();
    assert_quantiles("lognormal:mean=72 kB,sigma=1", Octets, |p| median * normal(p).exp());
    assert_mean("lognormal:mean=72 kB,sigma=1", Octets, 72e3, 72e3 * (1_f64.exp() - 1.0).sqrt());
}

#[test]
fn pareto_draws_have_the_quantiles_and_the_mean_of_their_distribution() {
    assert_quantiles("pareto:shape=1.2,least=1 kB", Octets, |p| 1e3 * (1.0 - p).powf(-1.0 / 1.2));
    assert_mean("pareto:shape=5,least=1 kB", Octets, 1250.0, 1250.0 / 15_f64.sqrt());
    assert_eq!(parse("pareto:shape=1.2,least=1 kB", Octets).mean(), Some(1e3 * 1.2 / (1.2 - 1.0)));
    // With a shape of 1.2, a least value of 1 kB means a mean of 6 kB.
    assert_quantiles("pareto:shape=1.2,mean=6 kB", Octets, |p| 1e3 * (1.0 - p).powf(-1.0 / 1.2));
    assert_eq!(parse("pareto:shape=1,least=1 kB", Octets).mean(), None);
}

#[test]
fn a_truncated_pareto_distribution_has_its_quantiles_and_its_bounds_and_its_mean() {
    for shape in [0.5_f64, 1.0, 1.2, 3.0] {
        let text = format!("pareto:shape={shape},least=1 kB,most=100 kB");
        let kept = 1.0 - 0.01_f64.powf(shape);
        let quantile = |p: f64| 1e3 * (1.0 - kept * p).powf(-1.0 / shape);
        assert_quantiles(&text, Octets, quantile);
        assert!(draws(&text, Octets).iter().all(|octets| (1e3..=100e3 + 1e-6).contains(octets)));
        // The mean is the sum of the least value and the integral of P(X > x) up to the greatest
        // value. The integral is taken over ln x.
        let (strips, span) = (50_000_u32, 100_f64.ln());
        let middle = |n: u32| 1e3 * (span * (f64::from(n) + 0.5) / f64::from(strips)).exp();
        let above = |x: f64| 1.0 - (1.0 - (1e3 / x).powf(shape)) / kept;
        let sum: f64 = (0..strips).map(|n| middle(n) * above(middle(n))).sum();
        let expected = 1e3 + sum * span / f64::from(strips);
        let computed = parse(&text, Octets).mean().unwrap();
        assert!(
            (computed / expected - 1.0).abs() < 1e-6,
            "{text}: mean {computed}, not {expected}"
        );
        // The least value follows from the mean.
        let (least, most) = (pareto::least(family::Start::Mean(computed), shape, Some(1e5)), 1e5);
        assert!((least.unwrap() - 1e3).abs() < 1e-6, "shape {shape}: {least:?} below {most}");
    }
}

#[test]
fn the_mean_of_a_truncated_pareto_distribution_is_the_mean_of_its_draws() {
    let text = "pareto:shape=1.2,mean=8 kB,most=100 kB";
    assert_eq!(parse(text, Octets).mean(), Some(8000.0));
    let values = draws(text, Octets);
    let variance = mean(&values.iter().map(|v| (v - 8e3).powi(2)).collect::<Vec<_>>());
    assert_mean(text, Octets, 8e3, variance.sqrt());
}

#[test]
fn weibull_draws_have_the_quantiles_and_the_mean_of_their_distribution() {
    // The mean is Γ(1 + 1/0.5) = 2 times the scale. The variance is Γ(5) - 4 = 20 times the square
    // of the scale.
    let text = "weibull:shape=0.5,mean=20 ms";
    assert_quantiles(text, Span, |p| 1e7 * (1.0 - p).ln().powi(2));
    assert_mean(text, Span, 2e7, 1e7 * 20_f64.sqrt());
    assert_quantiles("weibull:shape=2,mean=20 ms", Span, |p| {
        // Γ(1.5) = √π / 2.
        2e7 / (core::f64::consts::PI.sqrt() / 2.0) * (-(1.0 - p).ln()).sqrt()
    });
}

#[test]
fn geometric_counts_begin_at_one_and_have_geometric_probabilities() {
    let values = draws("geometric:mean=5", Count);
    for n in 1..12_u32 {
        let p = 0.2 * 0.8_f64.powi(i32::try_from(n).unwrap() - 1);
        let found = values.iter().filter(|value| **value == f64::from(n)).count();
        let error = ERRORS * (p * (1.0 - p) / f64::from(DRAWS)).sqrt();
        let share = f64::from(u32::try_from(found).unwrap()) / f64::from(DRAWS);
        assert!((share - p).abs() < error, "count {n}: {share} instead of {p}");
    }
    assert_mean("geometric:mean=5", Count, 5.0, 20_f64.sqrt());
    assert!(draws("geometric:mean=1", Count).iter().all(|count| *count == 1.0));
}

#[test]
fn empirical_values_are_drawn_equally_often_and_impossible_values_are_refused() {
    let distribution = Distribution::empirical(vec![1.0, 40.0, 1500.0], Octets).unwrap();
    let mut sampler = Sampler::new(&distribution, Stream::named(3, "values"));
    let mut found = std::collections::BTreeMap::new();
    (0..DRAWS).for_each(|_| *found.entry(sampler.octets()).or_insert(0_u32) += 1);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [1, 40, 1500]);
    let error = ERRORS * (f64::from(DRAWS) * 2.0 / 9.0).sqrt();
    assert!(found.values().all(|n| (f64::from(*n) - f64::from(DRAWS) / 3.0).abs() < error));
    for (values, message) in [
        (vec![], "empirical: there are no values: give at least one value"),
        (
            vec![3.0, f64::NAN],
            "empirical: `NaN` is not among the sizes that can be drawn: give values from 1 to 9000000000000000",
        ),
        (
            vec![0.0],
            "empirical: `0` is not among the sizes that can be drawn: give values from 1 to 9000000000000000",
        ),
    ] {
        assert_eq!(Distribution::empirical(values, Octets).unwrap_err().to_string(), message);
    }
    assert!(Distribution::empirical(vec![0.0, 0.0], Gap).is_err());
    assert!(Distribution::empirical(vec![0.0, 0.0], Span).is_ok());
}

#[test]
fn the_delays_of_packmimes_servers_are_the_inverses_of_weibull_values() {
    let values = draws("packmime-server", Span);
    assert!(values.iter().all(|delay| (0.0..=1e8).contains(delay)));
    // P(delay > t) = 1 - exp(-(1 / (305 t))^0.63) below 100 ms.
    for seconds in [0.001, 0.003, 0.01, 0.05, 0.099_9_f64] {
        let p = -(-(1.0 / (305.0 * seconds)).powf(0.63)).exp_m1();
        let above = values.iter().filter(|delay| **delay > seconds * 1e9).count();
        let share = f64::from(u32::try_from(above).unwrap()) / f64::from(DRAWS);
        let error = ERRORS * (p * (1.0 - p) / f64::from(DRAWS)).sqrt();
        assert!((share - p).abs() < error, "above {seconds} s: {share} instead of {p}");
    }
    let computed = parse("packmime-server", Span).mean().unwrap();
    let variance = mean(&values.iter().map(|v| (v - computed).powi(2)).collect::<Vec<_>>());
    assert_mean("packmime-server", Span, computed, variance.sqrt());
}

#[test]
fn the_means_of_packmimes_curves_are_the_sums_of_small_strips() {
    let strips = 400_000_u32;
    let middle = |n: u32, length: f64| length * (f64::from(n) + 0.5) / f64::from(strips);
    for curve in [&VALIDATED, &SMALL] {
        let sum: f64 = (0..strips).map(|n| curve.at(middle(n, 1.0))).sum();
        let expected = sum / f64::from(strips);
        assert!(
            (curve.mean() / expected - 1.0).abs() < 1e-6,
            "mean {}, not {expected}",
            curve.mean()
        );
    }
    // The integral over u is computed in strips of v = log2 u, from -200 to 0. Here du is 2^v ln 2
    // dv.
    for curve in [&DOWNLOADED, &LARGE] {
        let strip = |v: f64| (curve.at(v) + v).exp2() * core::f64::consts::LN_2;
        let sum: f64 = (0..strips).map(|n| strip(middle(n, -200.0))).sum();
        let expected = sum * 200.0 / f64::from(strips);
        let computed = curve.mean_of_powers();
        assert!((computed / expected - 1.0).abs() < 1e-5, "mean {computed}, not {expected}");
    }
}

#[test]
fn the_sizes_of_packmimes_requests_have_the_quantiles_of_their_curves() {
    // Half of the requests are of the smaller kind. Successive sizes depend on each other, so the
    // shares vary more than the shares of independent draws.
    let mut sampler = sampler("packmime-request:rate=18/s", Octets);
    let values: Vec<f64> = (0..DRAWS / 4).map(|_| sampler.draw()).collect();
    let share = |cut: f64| {
        let below = values.iter().filter(|octets| **octets < cut.floor()).count();
        f64::from(u32::try_from(below).unwrap()) / f64::from(DRAWS / 4)
    };
    for p in [0.02, 0.2, 0.4_f64] {
        let [small, large] = [SMALL.at(2.0 * p), LARGE.at((2.0 * p).log2()).exp2()];
        let shares = [share(small), share(large)];
        assert!((shares[0] - p).abs() < 0.03, "shares {shares:?} below {small}, {large}");
        assert!((shares[1] - 1.0 + p).abs() < 0.03, "shares {shares:?} below {small}, {large}");
    }
}

#[test]
fn the_share_of_downloads_follows_from_the_mean_lengths_of_runs() {
    // The smallest download has 2^8.1 octets, and the largest validation has 272 octets.
    let values = draws("packmime-reply:rate=18/s", Octets);
    assert!(values[0] > 272.0, "the first reply is a download");
    let downloads = values.iter().filter(|octets| **octets > 272.0).count();
    let share = f64::from(u32::try_from(downloads).unwrap()) / f64::from(DRAWS);
    let [validations, downloads] = packmime::run_lengths(18.0).map(packmime::mean_run);
    let expected = downloads / (validations + downloads);
    assert!((share - expected).abs() < 0.01, "a share of {share} instead of {expected}");
    assert!(values.iter().all(|octets| octets.fract() == 0.0 && *octets >= 4.0));
}

#[test]
fn a_text_is_written_in_one_form_that_is_read_back_unchanged() {
    for (text, unit, written) in [
        (" 8 kB ", Octets, "8000 B"),
        ("20 ms", Span, "20 ms"),
        ("3", Count, "3"),
        ("every: 0.02 s", Gap, "every:20ms"),
        ("uniform : from = 1 kB , to=20 kB", Octets, "uniform:from=1000B,to=20kB"),
        ("lognormal:sigma=1.60,mean=72 kB", Octets, "lognormal:mean=72kB,sigma=1.6"),
        (
            "pareto:least=1 kB,most=10 MB,shape=1.2",
            Octets,
            "pareto:shape=1.2,least=1000B,most=10MB",
        ),
        ("weibull:shape=0.7,mean=20 ms", Gap, "weibull:shape=0.7,mean=20ms"),
        ("geometric:mean=2.5", Count, "geometric:mean=2.5"),
        ("poisson:rate=0.5 /s", Gap, "poisson:rate=0.5/s"),
        ("packmime:rate=18/s", Gap, "packmime:rate=18/s"),
        ("packmime-request:rate=18/s", Octets, "packmime-request:rate=18/s"),
        ("packmime-reply:rate=18/s", Octets, "packmime-reply:rate=18/s"),
        ("packmime-server", Span, "packmime-server"),
    ] {
        let read = parse(text, unit);
        assert_eq!((read.to_string().as_str(), read.unit()), (written, unit));
        assert_eq!(parse(written, unit), read);
    }
}

/// Faulty texts. Each has the unit with which it is read, and its error message.
const FAULTY_TEXTS: &[(&str, DistributionUnit, &str)] = &[
    (
        "lognormall:mean=1 kB",
        Octets,
        "no distribution of sizes is called `lognormall`: did you mean `lognormal`?",
    ),
    (
        "zipf:n=3",
        Count,
        "no distribution of counts is called `zipf`: write one of uniform, geometric",
    ),
    (
        "geometric:mean=5",
        Span,
        "`geometric` is not a distribution of times: write one of uniform, exponential, lognormal, pareto, weibull, packmime-server",
    ),
    (
        "lognormal:median=900 B",
        Octets,
        "lognormal: `sigma` is missing: write it as in `lognormal:median=1 kB,sigma=1.6`",
    ),
    (
        "lognormal:sigma=1",
        Span,
        "lognormal: neither `median` nor `mean` is given: write it as in `lognormal:median=1 ms,sigma=1.6`",
    ),
    (
        "lognormal:sigma=1,mean=1 s,median=1 s",
        Span,
        "lognormal: `median` and `mean` are both given: leave one out",
    ),
    (
        "exponential:mean=8",
        Octets,
        "exponential: `mean` cannot be `8`: `8` has no unit: write `8 B`",
    ),
    ("exponential:mean=0 s", Span, "exponential: `mean` cannot be `0 s`: write more than zero"),
    ("exponential:maen=0 s", Span, "exponential: no key `maen`: did you mean `mean`?"),
    (
        "exponential",
        Span,
        "exponential: `mean` is missing: write it as in `exponential:mean=20 ms`",
    ),
    (
        "exponential:mean",
        Span,
        "exponential: `mean` is not a setting: write it as in `exponential:mean=20 ms`",
    ),
    ("exponential:mean=1 s,mean=2 s", Span, "exponential: `mean` is given twice: leave one out"),
    ("packmime-server:rate=3/s", Span, "packmime-server: no key `rate`: write `packmime-server`"),
    (
        "pareto:shape=1,mean=72 kB",
        Octets,
        "pareto: with a shape of 1 there is no mean, because the shape is not above 1: write `least` instead, or add `most`",
    ),
    (
        "pareto:shape=1.2,least=72 kB,most=10 kB",
        Octets,
        "pareto: `least` is not below `most` (10 kB): write a smaller value, or raise `most`",
    ),
    (
        "pareto:shape=0,least=72 kB",
        Octets,
        "pareto: `shape` cannot be `0`: write a number from 0.05 to 1000",
    ),
    ("uniform:from=2 kB,to=1 kB", Octets, "uniform: `from` is above `to`: write at most 1000 B"),
    ("uniform:from=0 B,to=1 kB", Octets, "uniform: `from` is zero: write more than zero"),
    ("uniform:from=1,to=2.5", Count, "uniform: `to` is not a whole number: write a whole number"),
    (
        "poisson:rate=50",
        Gap,
        "poisson: `rate` cannot be `50`: write a rate from `0.000001/s` to `1000000000/s`",
    ),
    (
        "packmime:rate=0/s",
        Gap,
        "packmime: `rate` cannot be `0/s`: write a rate from `0.1/s` to `1000000/s`",
    ),
    ("20 ms", Gap, "`20 ms` does not say how arrivals follow each other: write `every:20 ms`"),
    ("every:0 s", Gap, "every: a gap cannot be `0 s`: write more than zero"),
    ("every", Gap, "every: no gap is given: write it as in `every:20 ms`"),
    ("8", Octets, "`8` is not a possible value: `8` has no unit: write `8 B`"),
    ("0 B", Octets, "`0 B` is not a possible value: write at least `1 B`"),
    ("2.5", Count, "`2.5` is not a possible value: write a whole number from 1"),
    (
        "200000 h",
        Span,
        "`200000 h` is not a possible value: `200000 h` is out of range for a time: write at most `99999 h`",
    ),
    ("9999 h", Span, "`9999 h` is not a possible value: write at most `9000000 s`"),
];

#[test]
fn an_error_names_the_distribution_and_the_key_and_the_fix() {
    for (text, unit, message) in FAULTY_TEXTS {
        let error = Distribution::parse(text, *unit).unwrap_err();
        assert_eq!(error.to_string(), *message, "{text}");
    }
    let error = Distribution::parse("pareto:shape=1,mean=72 kB", Octets).unwrap_err();
    assert_eq!((&*error.name, &*error.key, &*error.value), ("pareto", "mean", "72 kB"));
}

#[test]
fn the_same_stream_gives_the_same_draws() {
    for (text, unit) in [
        ("packmime-request:rate=54/s", Octets),
        ("packmime:rate=54/s", Gap),
        ("exponential:mean=1 s", Span),
    ] {
        let (mut a, mut b) = (sampler(text, unit), sampler(text, unit));
        assert!((0..100).all(|_| a.draw().to_bits() == b.draw().to_bits()));
    }
}

/// A correct text, and its unit.
fn texts() -> impl Strategy<Value = (String, DistributionUnit)> {
    let unit = prop_oneof![Just(Octets), Just(Span), Just(Count), Just(Gap)];
    let parameters =
        (0..12_usize, 2..9_000_000_000_u64, 1..1_000_000_u64, 0.06..9.9_f64, 0.2..1e6_f64);
    (unit, parameters, any::<bool>()).prop_map(|(unit, (family, a, b, x, rate), other)| {
        let base = match unit {
            Octets => "B",
            Span | Gap => "ns",
            Count => "",
        };
        let a = if unit == Count { a % 1_000_000 + 2 } else { a };
        let key = if other { "mean" } else { "median" };
        let least = if other { "least" } else { "mean" };
        let text = match (family, unit) {
            (0 | 6 | 7, _) => format!("uniform:from={}{base},to={a}{base}", a.min(b)),
            (8 | 9, Gap) => format!("poisson:rate={rate}/s"),
            (10, Gap) => format!("packmime:rate={rate}/s"),
            (_, Count) => format!("geometric:mean={}", 1.0 + rate),
            (1, _) => format!("exponential:mean={a}{base}"),
            (2, _) => format!("lognormal:{key}={a}{base},sigma={x}"),
            (3, _) => format!("pareto:{least}={a}{base},shape={x},most={}{base}", a + b),
            (4, _) => format!("weibull:mean={a}{base},shape={x}"),
            (8 | 9, Octets) => format!("packmime-reply:rate={rate}/s"),
            (10, Octets) => format!("packmime-request:rate={rate}/s"),
            (_, Gap) => format!("every:{a} ns"),
            _ => format!("{a} {base}"),
        };
        (text, unit)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_text_of_a_distribution_is_read_back_unchanged((text, unit) in texts()) {
        let read = parse(&text, unit);
        prop_assert_eq!(&parse(&read.to_string(), unit), &read, "{}", text);
        prop_assert!(read.mean().unwrap() > 0.0, "{}", text);
    }

    #[test]
    fn draws_are_finite_and_never_negative((text, unit) in texts()) {
        prop_assume!(!text.starts_with("packmime-request") && !text.starts_with("packmime:"));
        let mut sampler = sampler(&text, unit);
        for _ in 0..100 {
            let value = sampler.draw();
            prop_assert!(value.is_finite() && value >= 0.0, "{}: {}", text, value);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(
        text in "[a-z-]{0,10}:?[a-z]{0,8}=?[-0-9./ a-zµ]{0,12}|.{0,40}",
        unit in prop_oneof![Just(Octets), Just(Span), Just(Count), Just(Gap)],
    ) {
        let _ = Distribution::parse(&text, unit);
    }
}
