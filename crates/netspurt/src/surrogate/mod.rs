//! Surrogates: recorded delays made up to fit a summary, where the recording itself is lost.
//!
//! A printed mean, a spread and a number of losses do not say how delays followed each other, and
//! a retransmission timer lives on just that. So there are several [`Structure`]s, and all fit the
//! same row: what holds under each of them follows from the row, and what does not cannot be told
//! from it.

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
