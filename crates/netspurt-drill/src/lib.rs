//! netspurt's simulated host as a library that an unmodified packetdrill loads with
//! `--so_filename`. packetdrill is a program that tests a TCP packet by packet, as a script says.
//!
//! The host is the same as in `netspurt script`: it has the same sockets and the same TCP.
//! packetdrill reads the script, makes its calls, injects its packets, and judges the results. The
//! library owns the clock, so time is virtual, and a script takes only as long as the computation.
//!
//! packetdrill's interface for libraries does not cover everything. So the library must also be in
//! `LD_PRELOAD`, where it replaces some functions of the C library. The library replaces `system`,
//! which would run a script's shell commands on this computer. For the numbers of its own sockets,
//! it replaces `getsockopt` and `close`. It also replaces `mlockall` and `times`. `docs/scripts.md`
//! explains these functions and has the command line.

#![cfg(target_os = "linux")]

pub mod border;
pub mod clock;
pub mod ends;
pub mod info;
pub mod machine;
pub mod numbers;
pub mod shell;
pub mod world;
