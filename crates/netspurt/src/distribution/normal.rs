//! The normal distribution: draws, and the probability of a draw above a value.

use core::f64::consts::{FRAC_1_SQRT_2, TAU};

use crate::rng::Stream;

/// Draws from the normal distribution with mean 0 and variance 1 (Box and Muller 1958).
pub(super) fn normal(stream: &mut Stream) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - stream.uniform())).sqrt();
    radius * libm::cos(TAU * stream.uniform())
}

/// Returns the probability that a draw of [`normal`] is above `value`.
pub(super) fn above(value: f64) -> f64 {
    libm::erfc(value * FRAC_1_SQRT_2) / 2.0
}
