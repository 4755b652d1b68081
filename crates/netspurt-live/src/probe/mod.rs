//! Makes the measurement of RFC 889: it sends echo probes over a real path, with at most one probe
//! in flight, and stores the outcome of each probe.
//!
//! A probe is an ICMP echo, a datagram to a host that echoes, or the SYN of a TCP connection. The
//! program and the kernel each take two timestamps: when the probe leaves, and when its answer
//! arrives. If the kernel gives both of its timestamps, the four timestamps separate the delay in
//! the host from the delay in the network.

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
pub use echo_probes::{EndReason, Pace};
pub use lengths::{Draw, ProbeLengths};
pub use order::{
    CaptureTask, EchoProbesTask, HopsTask, ProbeTarget, ProbingOrder, ProbingTask, ServeTask, work,
};
pub use packet::ProbeKind;
pub use socket::{ProbeSocket, SeenReply};

use std::io;

/// Why a process cannot probe, serve or capture.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The machine does not allow a socket of this kind.
    #[error("{what} is not allowed here: {error}; {fix}")]
    Forbidden {
        /// The kind of socket.
        what: &'static str,
        /// The kernel's error.
        error: io::Error,
        /// What the user can do.
        fix: &'static str,
    },
    /// A system call failed.
    #[error("{what}: {error}")]
    Failed {
        /// The step that failed.
        what: String,
        /// The kernel's error.
        error: io::Error,
    },
    /// The order, which tells the probing process its task, is invalid, or the process that gave
    /// the order has ended.
    #[error("{0}")]
    Order(String),
}

/// Makes an error from the step that failed and the kernel's error.
fn tried(what: impl Into<String>) -> impl FnOnce(io::Error) -> ProbeError {
    let what = what.into();
    move |error| ProbeError::Failed { what, error }
}
