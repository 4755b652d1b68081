//! Applications: programs that decide which data a connection carries, and when. This module also
//! has the hosts that only send or return echo probes. An echo probe is a packet that the remote
//! host sends back, to measure a path.

use crate::units::{Duration, Time};

mod bulk;
mod echo;
mod echo_probes;
mod program;
mod requests;
mod result;

pub use bulk::{Bulk, Endpoint};
pub use echo::Echo;
pub use echo_probes::{EchoProbe, EchoProbePlan, EchoProbes};
pub use program::Program;
pub use requests::{
    Client, ClientRequests, Exchange, PlannedRequest, RequestPlan, Server, ServerReplies,
};
pub use result::FlowResult;

/// The plan of the applications at the two ends of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// One end writes, and the other end reads.
    Bulk(Bulk),
    /// One end sends requests, and the other end sends replies.
    Requests(RequestPlan),
}

impl Task {
    /// The number of octets that the first end writes, and the number that the second end writes.
    /// `None` stands for a transfer that never ends.
    pub fn octets(&self) -> [Option<u64>; 2] {
        match self {
            Self::Bulk(bulk) => [bulk.octets, Some(0)],
            Self::Requests(plan) => plan.octets().map(Some),
        }
    }

    /// When the connection is opened.
    pub fn start(&self) -> Time {
        match self {
            Self::Bulk(bulk) => bulk.start,
            Self::Requests(plan) => plan.start,
        }
    }

    /// Returns this task with a connection that is opened at the instant `start`.
    #[must_use]
    pub fn starting(&self, start: Time) -> Self {
        match self {
            Self::Bulk(bulk) => Self::Bulk(Bulk { start, ..*bulk }),
            Self::Requests(plan) => Self::Requests(RequestPlan { start, ..plan.clone() }),
        }
    }

    /// How long the application waits, after the connection is established, before it writes the
    /// first data. Zero is special: the data is then written when the connection is opened.
    pub fn pause(&self) -> Duration {
        match self {
            Self::Bulk(bulk) => bulk.pause,
            Self::Requests(plan) => plan.pause,
        }
    }
}
