//! Runs the cases of a sweep in chunks (groups of consecutive cases), on any number of threads. A
//! sweep runs one scenario many times with different values, and each of these runs is a case.
//!
//! No other module of this crate uses threads. A chunk's bytes depend only on its cases, and not on
//! the thread, process or machine that made the bytes. The only exception is a case that exceeds
//! its budget of time.

mod chunk;
mod engine;
mod live;
mod measures;
#[cfg(test)]
mod tests;

pub use chunk::{CaseCounts, Chunk, FinishedChunk, Stopwatch, run_chunk};
pub use engine::Engine;
pub use live::{LiveEnd, live_chunk};
pub use measures::{EndedCase, MEASURES, Measured};
