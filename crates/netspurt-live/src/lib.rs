//! netspurt on real clocks and real wires.
//!
//! No model lives here: this crate tells the core's stages the time and, later, hands them
//! packets from real interfaces. So far it holds the clock with its driver, and what a machine
//! must be asked before it is used.

#![expect(clippy::disallowed_methods, reason = "this is where the time comes from")]

pub mod capability;
pub mod content;
pub mod drive;
pub mod exec;
pub mod gate;
pub mod hold;
pub mod kernel;
pub mod labels;
pub mod lateness;
pub mod offload;
pub mod path;
pub mod post;
pub mod probe;
pub mod run;
pub mod sandbox;
pub mod sys;
pub mod wall;
pub mod worker;
