//! Runs the cases of a sweep in chunks, on any number of threads.
//!
//! No other module of this crate uses threads. A chunk's bytes depend on its cases alone, and not
//! on the thread, process or machine that made them, unless a case exceeds its budget of time.

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
