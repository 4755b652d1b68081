//! Distributions of sizes, times and counts, and samplers that draw from them.
//!
//! A [`Distribution`] is plain data with a text form, as in `lognormal:median=900 B,sigma=1.6`. A
//! [`Sampler`] draws values of a distribution, with random numbers from a named stream. Functions
//! such as the logarithm come from the crate `libm`, so that the draws are the same on every
//! machine.
//!
//! The models of web traffic called PackMime-HTTP come from Cao, Cleveland, Gao, Jeffay, Smith and
//! Weigle 2004, "Stochastic Models for Generating Synthetic HTTP Source Traffic", IEEE Infocom. All
//! constants and rules come from the implementation in ns-2.35 (`packmime/packmime_ranvar.cc`, Bell
//! Labs and the University of North Carolina), except for replies of 2^31 octets or more.
//! `authorities/packmime` has runs of this implementation.

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
