//! Reads the texts that people write for netspurt: scenarios, sweeps and scripts.
//!
//! A scenario describes a network, the flows over it, and what to record. A sweep is a part of a
//! scenario: it lists values with which the scenario is run again and again. Each of these runs is
//! a case. A script tests a connection packet by packet, in the notation of packetdrill.
//!
//! From a scenario, this crate makes a plan for the core, the crate `netspurt`. It also runs the
//! cases of sweeps and plays scripts. The core does the work for each packet. Like the core, this
//! crate reads no clock and opens no file or socket.

pub mod scenario;
pub mod script;
pub mod sweep;
