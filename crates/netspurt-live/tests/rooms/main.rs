//! Tests of each room (directory of sources) of the crate. The tests need no privileges, and
//! their results do not depend on how much real time passes.

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
