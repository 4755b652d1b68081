//! Running a sweep's cases: a chunk of them at a time, on as many threads as are wanted.
//!
//! This is the one room of the core with threads. A chunk's bytes depend on its cases alone, and
//! not on which thread, process or machine made them.

mod chunk;
mod engine;
mod measures;
#[cfg(test)]
mod tests;

pub use chunk::{CaseCounts, Chunk, Done, Stopwatch, run_chunk};
pub use engine::Engine;
pub use measures::{MEASURES, Measured};
