//! What each room does, in plain virtual time and without privileges.

mod common;
mod connections;
mod gates;
mod labels;
mod ledgers;
mod offload;
mod orders;
mod paths;
mod sysctls;
