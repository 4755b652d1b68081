//! Runs netspurt in real time and with real packets.
//!
//! This crate has no models of links, queues or TCP. It drives the models of the core (the crate
//! `netspurt`) by the wall clock, passes real packets into the simulated network, and takes them
//! out again. It also finds out whether a machine allows what live runs, probes and polls need.

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
