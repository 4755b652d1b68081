//! Surrogates: recordings made up to fit a summary whose own recording is lost.
//!
//! A printed mean, a spread and a number of losses do not say how delays followed each other, and a
//! retransmission timer depends on exactly that. So there are several [`Structure`]s, and all fit
//! the same row. A result that holds for each of them follows from the row; another result does
//! not.

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
