//! Runs netspurt in real time and with real packets.
//!
//! This crate has no models. It drives the core's stages by the wall clock, and passes real packets
//! to them and back. It also finds out what a machine allows.

#![expect(clippy::disallowed_methods, reason = "this crate reads the wall clock")]

pub mod capability;
pub mod content;
pub mod drive;
pub mod exec;
pub mod folder;
pub mod hold;
pub mod kernel;
pub mod labels;
pub mod lateness;
pub mod offload;
pub mod post;
pub mod probe;
pub mod run;
pub mod sandbox;
pub mod sys;
pub mod wall;
pub mod worker;
