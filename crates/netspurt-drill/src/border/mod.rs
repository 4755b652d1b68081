//! The border to packetdrill, which is written in C: its table of functions, and the functions of the C
//! library whose place this library takes. The only `unsafe` code of this crate.
//!
//! Every function here catches what panics inside, since no panic may leave Rust: the script is then
//! refused, and every later call fails. What packetdrill points to is read and written while it waits
//! for the call, and never kept.

#![expect(unsafe_code, reason = "another program's memory and its table of functions")]

mod control;
mod fds;
mod guard;
mod memory;
mod options;
mod packets;
mod preload;
mod sockets;
mod table;
#[cfg(test)]
mod tests;
mod transfers;
mod waits;

pub use table::{PacketdrillTable, packetdrill_interface_init};
