//! Readers of the files of other tools: recorded delays, and element sets of satellites.
//!
//! All code here takes the bytes that it reads as parameters. It reads no clock, and opens no file
//! or socket. `ARCHITECTURE.md` describes the modules, and which module may import which.

pub mod orbit;
pub mod recordings;
