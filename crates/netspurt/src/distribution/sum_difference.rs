//! Fractional sum-difference processes: random values that have a normal distribution and depend on
//! values long before them. PackMime's arrivals and request sizes use these processes.
//!
//! A value is √(1-θ)·s + √θ·n. Here n is white noise, and s is the sum of two successive values of
//! a fractional ARIMA(0, d, 0) process. The sum is scaled so that each value is normal with mean 0
//! and variance 1 (Cao et al. 2004). The values of the fractional process are computed by Hosking's
//! method: Hosking 1984, "Modeling Persistence in Hydrological Time Series Using Fractional
//! Differencing", Water Resources Research 20 (12).

use crate::rng::Stream;

use super::normal::normal;

/// A sum-difference process and its past values.
#[derive(Clone, Debug)]
pub(super) struct SumDifference {
    /// The weights that give the mean of the next value from the past values. The weight of the
    /// newest value is first.
    weights: Box<[f64]>,
    /// The past values of the fractional process, in a ring from the newest to the oldest.
    past: Box<[f64]>,
    /// The index of the newest value in the ring.
    newest: usize,
    /// The standard deviation of the next value, given the past values.
    innovation: f64,
    /// Two factors. The first multiplies the sum of two successive values, and includes the
    /// scaling. The second multiplies the white noise n.
    factors: [f64; 2],
}

impl SumDifference {
    /// Makes a process in its steady state, with the memory parameter `d` and `order` past values.
    /// `noise` is θ, the share of white noise. The running time is proportional to `order`².
    pub(super) fn new(d: f64, noise: f64, order: usize, stream: &mut Stream) -> Self {
        let mut weights = vec![0.0; order];
        let mut past = vec![0.0; order];
        // The variance of a value of the fractional process: Γ(1 - 2d) / Γ(1 - d)².
        let variance = libm::tgamma(1.0 - 2.0 * d) / libm::pow(libm::tgamma(1.0 - d), 2.0);
        let mut left = variance;
        for known in 0..order {
            let newest = order - known;
            let mean = dot(&weights[..known], &past[newest..]);
            past[newest - 1] = mean + left.sqrt() * normal(stream);
            left *= extend(&mut weights[..=known], d);
        }
        // Successive values of this process have the correlation d / (1 - d).
        let of_sum = 2.0 * variance * (1.0 + d / (1.0 - d));
        let factors = [((1.0 - noise) / of_sum).sqrt(), noise.sqrt()];
        let (weights, past) = (weights.into(), past.into());
        Self { weights, past, newest: 0, innovation: left.sqrt(), factors }
    }

    /// Draws the next value.
    pub(super) fn next(&mut self, stream: &mut Stream) -> f64 {
        let order = self.weights.len();
        let (old, new) = self.past.split_at(self.newest);
        let (near, far) = self.weights.split_at(order - self.newest);
        let value = dot(near, new) + dot(far, old) + self.innovation * normal(stream);
        let sum = value + self.past[self.newest];
        self.newest = self.newest.checked_sub(1).unwrap_or(order - 1);
        self.past[self.newest] = value;
        self.factors[0] * sum + self.factors[1] * normal(stream)
    }
}

/// Turns the weights of k past values into the weights of k + 1 past values, by the recursion of
/// Durbin and Levinson (Hosking 1984). The slice has k + 1 elements, and the last element is still
/// unused. Returns the factor by which the remaining variance shrinks.
#[expect(clippy::cast_precision_loss, reason = "there are only some thousand values")]
fn extend(weights: &mut [f64], d: f64) -> f64 {
    let Some((last, others)) = weights.split_last_mut() else {
        unreachable!("no place for the new weight")
    };
    let partial = d / ((others.len() + 1) as f64 - d);
    let (front, rest) = others.split_at_mut(others.len() / 2);
    let (middle, back) = rest.split_at_mut(rest.len() - front.len());
    for (a, b) in front.iter_mut().zip(back.iter_mut().rev()) {
        (*a, *b) = (*a - partial * *b, *b - partial * *a);
    }
    middle.iter_mut().for_each(|weight| *weight -= partial * *weight);
    *last = partial;
    1.0 - partial * partial
}

/// Returns the dot product of `a` and `b`. The products are added in eight columns, because the
/// compiler can then use vector instructions.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut columns = [0.0; 8];
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    for (a, b) in a.iter().zip(b) {
        for (column, (a, b)) in columns.iter_mut().zip(a.iter().zip(b)) {
            *column += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    columns.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_are_those_of_hoskings_formula() {
        // Hosking 1981, theorem 1:
        // phi(k, j) = -C(k, j) Γ(j - d) Γ(k - d - j + 1) / (Γ(-d) Γ(k - d + 1)).
        let (d, order) = (0.31, 40);
        let mut weights = vec![0.0; order];
        for known in 0..order {
            extend(&mut weights[..=known], d);
        }
        let k = f64::from(40);
        let mut expected = k * d / (k - d);
        for (j, weight) in (1..).map(f64::from).zip(&weights) {
            assert!((weight - expected).abs() < 1e-14, "weight {j}: {weight}, not {expected}");
            expected *= (k - j) / (j + 1.0) * (j - d) / (k - d - j);
        }
    }

    #[test]
    #[expect(clippy::cast_precision_loss)]
    fn values_have_the_variance_one_and_the_correlations_of_the_model() {
        let (d, noise, draws) = (0.33, 0.4, 200_000);
        let mut stream = Stream::named(1, "process");
        let mut process = SumDifference::new(d, noise, 200, &mut stream);
        let values: Vec<f64> = (0..draws).map(|_| process.next(&mut stream)).collect();
        let at = |lag: usize| {
            let products = values.iter().zip(&values[lag..]).map(|(a, b)| a * b);
            products.sum::<f64>() / (draws - lag) as f64
        };
        // The fractional process has rho(k) = rho(k-1) (k - 1 + d) / (k - d). The sum of two
        // successive values has (2 rho(k) + rho(k-1) + rho(k+1)) / (2 + 2 rho(1)).
        let mut rho = vec![1.0];
        for k in (1..12).map(f64::from) {
            rho.push(rho[rho.len() - 1] * (k - 1.0 + d) / (k - d));
        }
        assert!((at(0) - 1.0).abs() < 0.03, "variance {}", at(0));
        for lag in 1..10 {
            let sum = (2.0 * rho[lag] + rho[lag - 1] + rho[lag + 1]) / (2.0 + 2.0 * rho[1]);
            let expected = (1.0 - noise) * sum;
            assert!((at(lag) - expected).abs() < 0.03, "lag {lag}: {}, not {expected}", at(lag));
        }
    }
}
