//! Surrogates: invented recordings that fit a printed row of statistics, because the original
//! recording is lost.
//!
//! A printed mean, a spread and a number of losses do not say how delays followed each other. But
//! the results of a retransmission timer depend on this order. So a surrogate can have one of
//! several [`Structure`]s, which all fit the same row. A result that differs between structures
//! does not follow from the row. A result that is the same for all structures does not depend on
//! the choice of the structure.

mod fit;
mod lengths;
mod losses;
mod row;
mod structure;

#[cfg(test)]
mod tests;

pub use lengths::{DelayByLength, Lengths};
pub use losses::Losses;
pub use row::{Row, SurrogateError};
pub use structure::Structure;
