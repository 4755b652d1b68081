//! PackMime-HTTP, a model of web traffic: the arrivals of connections, the sizes of requests and
//! replies, and the delays of servers. `mod.rs` names the paper and the implementation in ns-2.
//!
//! All parameters are constants, or are computed from one number, the rate at which connections
//! arrive.
//!
//! ns-2.35 ignores one of its own constants: it draws the arrivals with a memory parameter d of
//! 0.33, although the constant is 0.35. netspurt also uses 0.33. A reply of 2^31 octets or more
//! overflows in ns-2.35. This happens to one reply in thirty million. In netspurt, the size of such
//! a reply follows the curve.

use crate::rng::Stream;

use super::normal::above;
use super::sizes::{DOWNLOADED, LARGE, SMALL, VALIDATED};
use super::sum_difference::SumDifference;

/// The least and the greatest rate for which the formulas are used, in connections per second.
pub(super) const RATES: [f64; 2] = [0.1, 1e6];

/// The number of past values from which the process of arrivals computes its next value, as in
/// ns-2.
const ARRIVALS_ORDER: usize = 999;
/// The number of past values from which the process of request sizes computes its next value, as in
/// ns-2.
const REQUESTS_ORDER: usize = 4999;

/// Computes a parameter p from the rate, so that the odds p / (1 - p) are 2^(a + b·log2(rate)).
fn by_rate([a, b]: [f64; 2], rate: f64) -> f64 {
    1.0 / (1.0 + libm::exp2(-(a + b * libm::log2(rate))))
}

/// A Weibull distribution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Weibull {
    pub(super) scale: f64,
    /// The inverse of the shape.
    pub(super) power: f64,
}

impl Weibull {
    /// Makes the distribution with this mean.
    pub(super) fn of_mean(mean: f64, shape: f64) -> Self {
        let power = 1.0 / shape;
        Self { scale: mean / libm::tgamma(1.0 + power), power }
    }

    /// Returns the value that a draw exceeds with the probability e^-x.
    pub(super) fn at(self, x: f64) -> f64 {
        self.scale * libm::pow(x, self.power)
    }

    pub(super) fn draw(self, stream: &mut Stream) -> f64 {
        self.at(exponential(stream))
    }
}

/// Draws from the exponential distribution with mean 1.
pub(super) fn exponential(stream: &mut Stream) -> f64 {
    -libm::log(1.0 - stream.uniform())
}

/// Arrivals of connections. The gaps have a Weibull distribution, and a sum-difference process
/// (`sum_difference.rs`) makes them depend on each other.
#[derive(Clone, Debug)]
pub(super) struct PackmimeArrivals {
    process: SumDifference,
    /// The distribution of the gaps, in nanoseconds.
    gaps: Weibull,
}

impl PackmimeArrivals {
    pub(super) fn new(rate: f64, stream: &mut Stream) -> Self {
        let noise = by_rate([0.333, 0.414], rate);
        let gaps = Weibull::of_mean(1e9 / rate, by_rate([0.352, 0.388], rate));
        Self { process: SumDifference::new(0.33, noise, ARRIVALS_ORDER, stream), gaps }
    }

    /// Draws the time to the next arrival, in nanoseconds.
    pub(super) fn draw(&mut self, stream: &mut Stream) -> f64 {
        self.gaps.at(-libm::log(above(self.process.next(stream))))
    }
}

/// Sizes of requests. A sum-difference process (`sum_difference.rs`) makes them depend on each
/// other.
#[derive(Clone, Debug)]
pub(super) struct PackmimeRequests(SumDifference);

impl PackmimeRequests {
    pub(super) fn new(rate: f64, stream: &mut Stream) -> Self {
        let noise = by_rate([0.123, 0.494], rate);
        Self(SumDifference::new(0.31, noise, REQUESTS_ORDER, stream))
    }

    /// Draws the next size, in whole octets.
    pub(super) fn draw(&mut self, stream: &mut Stream) -> f64 {
        let value = self.0.next(stream);
        let size = if value > 0.0 {
            libm::exp2(LARGE.at(libm::log2(2.0 * above(value))))
        } else {
            SMALL.at(2.0 * above(-value))
        };
        size.floor()
    }
}

/// Sizes of replies. Runs of downloads and runs of validations alternate. A validation is a reply
/// that confirms a cached page.
#[derive(Clone, Debug)]
pub(super) struct PackmimeReplies {
    /// The distributions of the run lengths: first of validations, then of downloads.
    runs: [Weibull; 2],
    downloads: bool,
    /// The number of replies that remain in the present run.
    left: u64,
}

impl PackmimeReplies {
    /// Makes the process. It begins with a run of downloads.
    pub(super) fn new(rate: f64) -> Self {
        Self { runs: run_lengths(rate), downloads: false, left: 0 }
    }

    /// Draws the next size, in whole octets.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the length of a run is at least zero"
    )]
    pub(super) fn draw(&mut self, stream: &mut Stream) -> f64 {
        if self.left == 0 {
            self.downloads = !self.downloads;
            let length = self.runs[usize::from(self.downloads)].draw(stream);
            self.left = (length.ceil() as u64).max(1);
        }
        self.left -= 1;
        let p = stream.uniform();
        let size = if self.downloads {
            libm::exp2(DOWNLOADED.at(libm::log2(1.0 - p)))
        } else {
            VALIDATED.at(p)
        };
        size.floor()
    }
}

/// Returns the distributions of the run lengths: first of validations, then of downloads. A length
/// is rounded up when it is drawn.
pub(super) fn run_lengths(rate: f64) -> [Weibull; 2] {
    let run = |scale, odds| Weibull { scale, power: 1.0 / by_rate(odds, rate) };
    [run(0.775, [0.718, 0.357]), run(3.11, [1.293, 0.316])]
}

/// The distribution of a server's speed in 1/s. The speed is the inverse of the delay.
const SPEED: Weibull = Weibull { scale: 305.0, power: 1.0 / 0.63 };
/// The least speed of a server in 1/s.
const SPEED_MIN: f64 = 10.0;

/// Draws the delay of a server, in nanoseconds. It is at most 100 ms.
pub(super) fn server_delay(stream: &mut Stream) -> f64 {
    1e9 / SPEED.draw(stream).max(SPEED_MIN)
}

/// Returns the mean size of requests in octets. This is the mean of the integrals of the two curves
/// of request sizes, minus half an octet. Half an octet is subtracted because fractions of octets
/// are cut off.
pub(super) fn mean_request() -> f64 {
    (SMALL.mean() + LARGE.mean_of_powers()) / 2.0 - 0.5
}

/// Returns the mean size of replies in octets. This is the mean of the integrals of the two curves
/// of reply sizes, minus half an octet. The mean is weighted with the mean lengths of runs.
pub(super) fn mean_reply(rate: f64) -> f64 {
    let [validations, downloads] = run_lengths(rate).map(mean_run);
    let octets = validations * VALIDATED.mean() + downloads * DOWNLOADED.mean_of_powers();
    octets / (validations + downloads) - 0.5
}

/// Returns the mean length of runs, where each length is rounded up. The mean is the sum of
/// P(length > k) for k from 0 on.
pub(super) fn mean_run(lengths: Weibull) -> f64 {
    let beyond = |k| libm::exp(-libm::pow(f64::from(k) / lengths.scale, 1.0 / lengths.power));
    (0_u32..).map(beyond).take_while(|p| *p > 1e-18).sum()
}

/// Returns the mean delay of servers in nanoseconds. One part of the mean comes from the delays
/// that are limited to 100 ms. The rest is an integral over the logarithm of x, the argument of
/// [`Weibull::at`], by Simpson's rule. The integral begins where the delay is no longer limited,
/// and ends at x = 50, where e^-x is negligible.
pub(super) fn mean_server_delay() -> f64 {
    let limited = libm::pow(SPEED_MIN / SPEED.scale, 1.0 / SPEED.power);
    let density = |log_x: f64| {
        let x = libm::exp(log_x);
        x * libm::exp(-x) / SPEED.at(x)
    };
    let [from, to] = [libm::log(limited), libm::log(50.0)];
    let halves = 2000_u32;
    let step = (to - from) / f64::from(halves);
    let weighed = (0..=halves).map(|n| {
        let weight = if n == 0 || n == halves { 1.0 } else { f64::from(2 + 2 * (n % 2)) };
        weight * density(from + step * f64::from(n))
    });
    let rest = weighed.sum::<f64>() * step / 3.0;
    1e9 * (-libm::expm1(-limited) / SPEED_MIN + rest)
}
