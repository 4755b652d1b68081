//! Tests of the parts of the crate, one file for each part. The tests need no privileges, and their
//! results do not depend on how much real time passes.

mod common;
mod connections;
mod gates;
mod labels;
mod lateness;
mod ledgers;
mod offload;
mod orders;
mod paths;
mod programs;
mod sockets;
mod sysctls;
