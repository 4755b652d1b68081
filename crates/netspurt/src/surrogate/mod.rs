//! Surrogates: recordings that are made up to fit a printed summary, because its own recording is
//! lost.
//!
//! A printed mean, a spread and a number of losses do not say how delays followed each other. But a
//! retransmission timer depends on exactly that. So a surrogate can have one of several
//! [`Structure`]s, which all fit the same row. A result that holds for every structure follows from
//! the row. Any other result does not.

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
