//! Tests of each room in virtual time and without privileges.

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
