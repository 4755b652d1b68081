//! The border to packetdrill, a program in C. The border has packetdrill's table of functions, and
//! the functions of the C library that this library replaces. All `unsafe` code of this crate is
//! here.
//!
//! Every function here catches panics, because no panic may leave Rust. After a panic in a call on
//! a socket, the script is refused. Later calls on sockets then fail, except a `getsockopt` that
//! reads the state of the connection, such as `TCP_INFO`. The clock still runs. packetdrill's
//! memory is read and written only while packetdrill waits for the call. The library keeps no
//! pointer to this memory.

#![expect(unsafe_code, reason = "calls and memory of a C program need unsafe code")]

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
