//! Readers of files: recorded delays, element sets of satellites, and the tables of runs.
//!
//! A function here that reads a file gets the file's bytes or the open file as a parameter. No
//! function reads a clock, or opens a file or a socket. `ARCHITECTURE.md` describes the modules and
//! says which module may import which.

pub mod orbit;
pub mod parquet;
pub mod recordings;
pub mod tables;
