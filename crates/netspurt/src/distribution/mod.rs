//! Distributions of sizes, times and counts, and samplers that draw from them.
//!
//! A [`Distribution`] is plain data with a text form, as in `lognormal:median=900 B,sigma=1.6`; a
//! [`Sampler`] draws its values from a named stream. Transcendental functions are `libm`'s, so that
//! the draws are the same on every machine.
//!
//! The models of web traffic called PackMime-HTTP are Cao, Cleveland, Gao, Jeffay, Smith and Weigle
//! 2004, "Stochastic Models for Generating Synthetic HTTP Source Traffic", IEEE Infocom. All
//! constants and rules are those of its implementation in ns-2.35 (`packmime/packmime_ranvar.cc`, Bell
//! Labs and the University of North Carolina), of which `authorities/packmime` holds runs.

mod curve;
mod error;
mod family;
mod mean;
mod normal;
mod packmime;
mod pareto;
mod sampler;
mod settings;
mod sizes;
mod sum_difference;
mod text;

#[cfg(test)]
mod tests;

pub use error::DistributionError;
pub use family::{Distribution, DistributionUnit};
pub use sampler::Sampler;
