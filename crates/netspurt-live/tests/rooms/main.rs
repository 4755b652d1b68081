//! Tests of each room (directory of sources) of the crate. The tests run in virtual time and need
//! no privileges.

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
