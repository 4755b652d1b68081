//! The Pareto distribution, whole or truncated.
//!
//! With the shape *a* and the least value *L*, P(X > x) is (L / x)^a. The distribution truncated at
//! *H* is the same distribution under the condition X <= H.

use super::family::Start;

/// The greatest ln(H / L) that [`least_of_truncated`] tries.
const LONGEST: f64 = 700.0;

/// Returns the mean divided by the least value. If there is no mean, the result is infinite.
/// `log_span` is ln(H / L) of a truncated distribution.
pub(super) fn mean_over_least(shape: f64, log_span: Option<f64>) -> f64 {
    let over = shape - 1.0;
    let Some(span) = log_span else {
        return if over > 0.0 { shape / over } else { f64::INFINITY };
    };
    if span == 0.0 {
        return 1.0;
    }
    // The ratio is a / (a - 1) · (1 - r^(a-1)) / (1 - r^a) with r = L / H. For a = 1, its limit is
    // used.
    let grown = if over.abs() < 1e-12 { span } else { -libm::expm1(-over * span) / over };
    shape * grown / -libm::expm1(-shape * span)
}

/// Returns the least value of the distribution. If a mean is given but the distribution has no
/// mean, returns `None`.
pub(super) fn least(start: Start, shape: f64, most: Option<f64>) -> Option<f64> {
    match (start, most) {
        (Start::Least(least), _) => Some(least),
        (Start::Mean(mean), None) => {
            let ratio = mean_over_least(shape, None);
            ratio.is_finite().then(|| mean / ratio)
        }
        (Start::Mean(mean), Some(most)) => Some(least_of_truncated(mean, shape, most)),
    }
}

/// Finds, by bisection, the least value for which the distribution truncated at the value `most`
/// has the mean `mean`.
fn least_of_truncated(mean: f64, shape: f64, most: f64) -> f64 {
    let (mut near, mut far) = (0.0, LONGEST);
    loop {
        let span = (near + far) / 2.0;
        if span <= near || span >= far {
            return most * libm::exp(-span);
        }
        let found = most * libm::exp(-span) * mean_over_least(shape, Some(span));
        *(if found > mean { &mut near } else { &mut far }) = span;
    }
}

/// Returns the mean, or `None` if there is none.
pub(super) fn mean(start: Start, shape: f64, most: Option<f64>) -> Option<f64> {
    match start {
        Start::Mean(mean) => Some(mean),
        Start::Least(least) => {
            let ratio = mean_over_least(shape, most.map(|most| libm::log(most / least)));
            ratio.is_finite().then_some(least * ratio)
        }
    }
}
