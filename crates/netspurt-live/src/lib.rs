//! Runs netspurt's simulated networks in real time and with real packets. Such a run is a *live
//! run*.
//!
//! This crate has no models of links, queues or TCP. It drives the models of the core (the crate
//! `netspurt`) by the wall clock, passes real packets into the simulated network, and takes them
//! out again. It also sends echo probes over real paths. And it finds out whether a machine allows
//! live runs, probes and polls. A poll fetches a page at fixed intervals.

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
