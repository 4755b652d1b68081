//! Compares our PackMime, a model of web traffic, with the PackMime of ns-2.35: when connections
//! arrive, and how many octets requests and replies have. The values of ns-2.35 are in
//! `authorities/packmime`.
//!
//! Both programs make runs of 400 s. Quantiles, counts and indices of dispersion describe a run.
//! For each of these numbers, the tests compare the mean over our runs with the mean over ns-2's
//! runs. The two means may differ by at most five standard errors of the difference, plus the unit
//! to which ns-2's values are rounded. At each rate, our runs hold about half a million draws of
//! each kind.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use netspurt::distribution::{Distribution, DistributionUnit, Sampler};
use netspurt::rng::Stream;

/// The rates of the runs, in connections per second.
const RATES: [u32; 3] = [18, 36, 54];
/// The approximate number of draws of each kind at each rate.
const DRAWS: u32 = 500_000;
/// The length of a run in seconds.
const STOP: u32 = 400;
/// The maximum difference of two means, in standard errors.
const ERRORS: f64 = 5.0;

/// The rows of a table, each with its values by column.
fn table(name: &str) -> Vec<HashMap<String, String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../authorities/packmime");
    let text = fs::read_to_string(folder.join(name)).expect("a table of the repository");
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned));
    let head: Vec<String> = lines.next().expect("a line with the names of the columns").collect();
    lines.map(|line| head.iter().cloned().zip(line).collect()).collect()
}

/// Returns the values of `column` in the 20 rows of ns-2's runs that have all values in `cells`.
fn authority(table: &[HashMap<String, String>], cells: &[(&str, &str)], column: &str) -> Vec<f64> {
    let fits = |row: &&HashMap<String, String>| cells.iter().all(|(key, cell)| row[*key] == *cell);
    let values: Vec<f64> =
        table.iter().filter(fits).map(|row| row[column].parse().expect("a number")).collect();
    assert_eq!(values.len(), 20, "runs of {cells:?}");
    values
}

/// Returns the mean of `values` and the standard error of the mean.
#[expect(clippy::cast_precision_loss, reason = "the number of runs is small")]
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Asserts that the means of two samples differ by at most the unit `grain` plus [`ERRORS`]
/// standard errors. ns-2's values are rounded to multiples of this unit.
fn assert_alike(what: &str, ours: &[f64], theirs: &[f64], grain: f64) {
    let ((a, a_error), (b, b_error)) = (mean_and_error(ours), mean_and_error(theirs));
    let errors = ((a - b).abs() - grain).max(0.0) / a_error.hypot(b_error).max(f64::MIN_POSITIVE);
    println!("{what}: {a:.6} ours, {b:.6} in ns-2, {errors:.1} standard errors apart");
    assert!(errors <= ERRORS, "{what}: {a} ours, {b} in ns-2, {errors} standard errors apart");
}

/// Samplers for runs at `rate` connections per second, each with random numbers of its own.
fn samplers(text: &str, unit: DistributionUnit, rate: u32) -> impl Iterator<Item = Sampler> {
    let distribution =
        Distribution::parse(&format!("{text}:rate={rate}/s"), unit).expect("the text is valid");
    let name = text.to_owned();
    (0..DRAWS.div_ceil(rate * STOP)).map(move |run| {
        Sampler::new(&distribution, Stream::named(u64::from(run), &format!("{name}/{rate}")))
    })
}

/// The quantile for the share `q`: the smallest value such that at least the share `q` of all
/// values are less than or equal to this value.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
fn quantile(ascending: &[f64], q: f64) -> f64 {
    ascending[((q * ascending.len() as f64).ceil() as usize).saturating_sub(1)]
}

/// Asserts that the quantiles of `quantity` in our runs agree with the quantiles in ns-2's runs.
fn assert_quantiles(quantity: &str, rate: u32, mut runs: Vec<Vec<f64>>, grain: f64) {
    let table = table("quantiles.csv");
    runs.iter_mut().for_each(|run| run.sort_by(f64::total_cmp));
    let mut columns: Vec<&String> = table[0].keys().filter(|key| key.starts_with("q0.")).collect();
    columns.sort();
    assert_eq!(columns.len(), 17);
    for column in columns {
        let q: f64 = column[1..].parse().expect("a share");
        let ours: Vec<f64> = runs.iter().map(|run| quantile(run, q)).collect();
        let cells = [("quantity", quantity), ("connections_per_s", &*rate.to_string())];
        let what = format!("{quantity} at {rate}/s, {column}");
        assert_alike(&what, &ours, &authority(&table, &cells, column), grain);
    }
}

#[test]
fn sizes_of_requests_and_replies_have_the_quantiles_of_ns_2() {
    for rate in RATES {
        for (text, quantity) in
            [("packmime-request", "request_bytes"), ("packmime-reply", "reply_bytes")]
        {
            let draw = |mut sampler: Sampler| (0..rate * STOP).map(|_| sampler.draw()).collect();
            let runs = samplers(text, DistributionUnit::Octets, rate).map(draw).collect();
            assert_quantiles(quantity, rate, runs, 1.0);
        }
    }
}

/// The instants, in seconds, at which connections arrive in a run. The first connection arrives at
/// 0.
fn arrivals(mut sampler: Sampler) -> Vec<f64> {
    let mut times = vec![0.0];
    loop {
        let next = times[times.len() - 1] + sampler.draw() / 1e9;
        if next >= f64::from(STOP) {
            return times;
        }
        times.push(next);
    }
}

/// Counts the arrivals in successive intervals of `tenths` tenths of a second. Returns the variance
/// of the counts divided by their mean.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 <= time < STOP")]
fn dispersion(times: &[f64], tenths: u32) -> f64 {
    let mut counts = vec![0_u32; (STOP * 10 / tenths) as usize];
    let last = counts.len() - 1;
    let interval = f64::from(tenths) / 10.0;
    times.iter().for_each(|time| counts[((time / interval) as usize).min(last)] += 1);
    let n = f64::from(STOP * 10 / tenths);
    let mean = counts.iter().map(|count| f64::from(*count)).sum::<f64>() / n;
    counts.iter().map(|count| (f64::from(*count) - mean).powi(2)).sum::<f64>() / n / mean
}

#[test]
#[expect(clippy::cast_precision_loss, reason = "a run has some ten thousand arrivals")]
fn arrivals_have_the_rate_the_gaps_and_the_dispersion_of_ns_2() {
    let table = table("runs.csv");
    for rate in RATES {
        let runs: Vec<Vec<f64>> =
            samplers("packmime", DistributionUnit::Gap, rate).map(arrivals).collect();
        let theirs =
            |column: &str| authority(&table, &[("connections_per_s", &*rate.to_string())], column);
        let counts: Vec<f64> = runs.iter().map(|run| run.len() as f64).collect();
        assert_alike(&format!("arrivals at {rate}/s"), &counts, &theirs("started"), 0.0);
        for (tenths, column) in
            [(1, "dispersion_0.1s"), (10, "dispersion_1s"), (100, "dispersion_10s")]
        {
            let ours: Vec<f64> = runs.iter().map(|run| dispersion(run, tenths)).collect();
            assert_alike(&format!("{column} at {rate}/s"), &ours, &theirs(column), 0.0);
        }
        let gap = |pair: &[f64]| (pair[1] - pair[0]) * 1e3;
        let gaps = runs.iter().map(|run| run.windows(2).map(gap).collect()).collect();
        // ns-2 writes microseconds.
        assert_quantiles("gap_ms", rate, gaps, 0.001);
    }
}
