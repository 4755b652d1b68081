//! Fits the delays of a surrogate, which is an invented recording, to the mean and the coefficient
//! of variation in a printed row of statistics. Each delay is the sum of two parts: the delay that
//! the probe's length alone would cause, and noise. The first part as a function of the length is
//! called the *line*.

/// A fitted series of delays, and how much the line was changed for it.
pub(super) struct Fitted {
    /// The delays, in the unit of the mean.
    pub delays: Vec<f64>,
    /// The factor by which the effect of the probes' lengths was scaled, to fit the mean and the
    /// spread. `None` if the lengths have no effect.
    kept: Option<f64>,
}

impl Fitted {
    /// Says how the effect of the probes' lengths was scaled. `None` if they have no effect.
    pub(super) fn note(&self) -> Option<String> {
        self.kept.map(|kept| {
            format!(
                "the effect of the probes' lengths was scaled to {:.0} % of the given effect, to fit \
                 the mean and the CoV",
                100.0 * kept
            )
        })
    }
}

/// The minimum ratio of the noise's spread to the spread that the printed row gives. A spread is a
/// coefficient of variation. If the ratio is above one, the line plus some positive multiple of the
/// noise has the row's spread. Both parts are positive, so all delays are above zero.
const MARGIN: f64 = 1.25;
/// The greatest share of the row's spread that the lengths of probes may cause.
const SHARE: f64 = 0.9;

/// Returns a bound for the coefficient of variation of `answered` delays. Below this bound, all
/// delays can be above zero.
pub(super) fn limit(answered: u32) -> f64 {
    f64::from(answered - 1).sqrt() / (MARGIN * MARGIN)
}

/// Returns delays with the mean `mean` and the coefficient of variation `cov`. The delays are the
/// sum of `base` and a multiple of `noise`, scaled to the mean. The multiple is chosen so that the
/// spread is `cov`. If `base` alone spreads too much, it is flattened first. If the noise spreads
/// too little, it is raised to a power first.
pub(super) fn fit(base: &[f64], noise: &[f64], mean: f64, cov: f64) -> Fitted {
    let own = spread(base);
    let kept = if own > SHARE * cov { SHARE * cov / own } else { 1.0 };
    let middle = average(base);
    let base: Vec<f64> = base.iter().map(|b| middle + kept * (b - middle)).collect();
    let noise = sharpened(noise, cov);
    let unit = middle / average(&noise);
    let mix = |q: f64| -> Vec<f64> {
        base.iter().zip(&noise).map(|(b, extra)| b + q * unit * extra).collect()
    };
    let delays = mix(crossing(cov, |q| spread(&mix(q))));
    let scale = mean / average(&delays);
    Fitted {
        delays: delays.iter().map(|delay| delay * scale).collect(),
        kept: (own > 0.0).then_some(kept * scale),
    }
}

/// Raises the noise to a power: the least of 1, 1.25, 1.25² and so on for which the spread is at
/// least [`MARGIN`] times `cov`.
fn sharpened(noise: &[f64], cov: f64) -> Vec<f64> {
    let highest = noise.iter().fold(0.0_f64, |a, &b| a.max(b));
    let mut power = 1.0;
    let mut sharp: Vec<f64> = noise.iter().map(|x| x / highest).collect();
    while spread(&sharp) < MARGIN * cov {
        power *= MARGIN;
        sharp = noise.iter().map(|x| libm::pow(x / highest, power)).collect();
    }
    sharp
}

/// Returns the factor at which the function `spread_at` reaches `cov`. At the factor 0, the spread
/// must not be above `cov`.
fn crossing(cov: f64, spread_at: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while spread_at(high) < cov {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if spread_at(middle) < cov {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

#[expect(clippy::cast_precision_loss, reason = "an f64 holds the number of probes exactly")]
pub(super) fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the coefficient of variation of `values`.
#[expect(clippy::cast_precision_loss, reason = "an f64 holds the number of probes exactly")]
pub(super) fn spread(values: &[f64]) -> f64 {
    let mean = average(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / values.len() as f64).sqrt() / mean
}
