//! Readers of files: recorded delays, element sets of satellites, and the tables of runs.
//!
//! All code here takes the bytes, or the open file, that it reads as parameters. It reads no clock,
//! and opens no file or socket. `ARCHITECTURE.md` describes the modules, and which module may
//! import which.

pub mod orbit;
pub mod parquet;
pub mod recordings;
pub mod tables;
