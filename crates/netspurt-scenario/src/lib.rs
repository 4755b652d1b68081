//! Reads the texts that people write for netspurt: scenarios, sweeps and scripts.
//!
//! This crate reads a scenario and makes a plan for the core from it, or reads a script and makes a
//! host from it. The core does the work for each packet. Like the core, this crate reads no clock
//! and opens no file or socket.

pub mod scenario;
pub mod script;
pub mod sweep;
