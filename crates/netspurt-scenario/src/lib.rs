//! What people write for netspurt: scenarios, sweeps and scripts.
//!
//! A scenario or a script is read here and becomes a plan or a host of the core, which does the
//! work for each packet. Like the core, this crate reads no clock and opens no file or socket.

pub mod scenario;
pub mod script;
pub mod sweep;
