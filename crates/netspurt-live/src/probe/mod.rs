//! RFC 889's instrument: echo probes on a real path, one in flight, each stored.
//!
//! A probe is an ICMP echo, a datagram to a host that echoes, or the SYN of a TCP connection. Each
//! has four time stamps, by the program and by the kernel, on sending and on receiving, so that the
//! host's delay can be distinguished from the network's.

mod book;
mod capture;
mod clock;
mod echo;
mod echo_probes;
mod gather;
mod hops;
mod lengths;
mod lines;
mod noise;
mod order;
mod packet;
mod route;
mod settle;
mod socket;
#[cfg(test)]
mod tests;

pub use clock::{ClockReading, read};
pub use echo::Service;
pub use echo_probes::{Pace, Until};
pub use lengths::{Draw, ProbeLengths};
pub use order::{
    CaptureTask, EchoProbesTask, HopsTask, ProbeTarget, ProbingOrder, ProbingTask, ServeTask, work,
};
pub use packet::ProbeKind;
pub use socket::{ProbeSocket, SeenReply};

use std::io;

/// Why there is no probing.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The machine allows no such socket.
    #[error("{what} is not allowed here: {error}; {fix}")]
    Forbidden {
        /// The socket.
        what: &'static str,
        /// What the kernel said.
        error: io::Error,
        /// The way out.
        fix: &'static str,
    },
    /// Something failed.
    #[error("{what}: {error}")]
    Failed {
        /// What was tried.
        what: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// The order makes no sense.
    #[error("{0}")]
    Order(String),
}

/// Says what was tried beside what the kernel said.
fn tried(what: impl Into<String>) -> impl FnOnce(io::Error) -> ProbeError {
    let what = what.into();
    move |error| ProbeError::Failed { what, error }
}
