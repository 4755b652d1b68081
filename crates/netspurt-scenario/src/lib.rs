//! Reads the texts that people write for netspurt: scenarios, sweeps and scripts.
//!
//! From a scenario this crate makes a plan for the core, the crate `netspurt`. It also runs the
//! cases of sweeps and plays scripts. The core does the work for each packet. Like the core, this
//! crate reads no clock and opens no file or socket.

pub mod scenario;
pub mod script;
pub mod sweep;
