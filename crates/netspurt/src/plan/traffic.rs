//! The flows that a plan describes, and their traffic. A population is many connections of one
//! kind, which start at different instants.

use std::num::NonZero;
use std::sync::Arc;

use crate::app::{EchoProbePlan, Task};
use crate::shim::ShimConfig;
use crate::tcp::TcpConfig;
use crate::units::{Duration, Time};

use super::kernel_config::KernelTcp;

/// The traffic of a group of flows, for example transfers over TCP, or echo probes. A group
/// consists of the flows that a scenario describes under one name. The start time in a task is the
/// start time of the first flow of the group.
#[derive(Debug)]
pub enum Traffic {
    /// Connections between two ends that use the simulator's TCP.
    Tcp {
        /// The configuration of both ends.
        tcp: TcpConfig,
        /// What the applications at both ends do.
        task: Task,
    },
    /// A connection of a live run, with at least one end that uses the kernel's TCP.
    Real {
        /// The TCP at each end.
        ends: [PlannedEnd; 2],
        /// The shims, which are retransmission timers between the TCP of each host and the path.
        /// For a host without a shim, the value is `None`.
        shims: [Option<ShimConfig>; 2],
        /// What the applications at both ends do.
        task: Task,
    },
    /// Programs at two hosts, or the connections of a population between two hosts. All use the
    /// kernel's TCP.
    Programs {
        /// The configuration of the TCP of both hosts.
        tcp: KernelTcp,
        /// The shims, which are retransmission timers between the TCP of each host and the path.
        /// For a host without a shim, the value is `None`.
        shims: [Option<ShimConfig>; 2],
    },
    /// Echo probes and their replies.
    EchoProbes {
        /// The echo probes.
        plan: EchoProbePlan,
        /// The time from the arrival of an echo probe at the echo host until the host sends the
        /// reply.
        processing: Duration,
    },
}

/// The TCP at one end of a flow: the simulator's or the kernel's.
#[derive(Clone, Debug)]
pub enum PlannedEnd {
    /// The simulator's TCP.
    Model(TcpConfig),
    /// The kernel's TCP.
    Kernel(KernelTcp),
}

impl PlannedEnd {
    /// The octets of payload in a full segment.
    pub fn smss(&self) -> u16 {
        match self {
            Self::Model(tcp) => tcp.smss(),
            Self::Kernel(tcp) => tcp.smss(),
        }
    }

    /// The octets of a full packet.
    pub fn packet_bytes(&self) -> u16 {
        match self {
            Self::Model(tcp) => tcp.packet_bytes(),
            Self::Kernel(tcp) => tcp.packet_bytes,
        }
    }

    /// The octets of the headers of a packet.
    pub fn header_bytes(&self) -> u16 {
        match self {
            Self::Model(tcp) => tcp.header_bytes(),
            Self::Kernel(tcp) => tcp.header_bytes,
        }
    }
}

/// One flow.
#[derive(Debug)]
pub struct PlannedFlow {
    /// The name of the flow.
    pub name: String,
    /// The number of the node at which the flow starts.
    pub from: u32,
    /// The number of the node at which the flow ends.
    pub to: u32,
    /// Whether the packets of the flow are IPv6.
    pub ipv6: bool,
    /// When the flow starts.
    pub start: Time,
    /// The traffic of the flow.
    pub traffic: Arc<Traffic>,
}

impl PlannedFlow {
    /// Whether both ends of the flow are simulated.
    pub fn is_simulated(&self) -> bool {
        matches!(*self.traffic, Traffic::Tcp { .. } | Traffic::EchoProbes { .. })
    }

    /// Whether the flow is a transfer between two simulated ends.
    pub fn is_transfer(&self) -> bool {
        matches!(*self.traffic, Traffic::Tcp { task: Task::Bulk(_), .. })
    }
}

impl Traffic {
    /// The octets of each forward message and of each reverse message, if the applications exchange
    /// requests and replies.
    pub fn messages(&self) -> [Option<NonZero<u64>>; 2] {
        match self {
            Self::Tcp { task: Task::Requests(plan), .. }
            | Self::Real { task: Task::Requests(plan), .. } => {
                [plan.each.request_bytes, plan.each.reply_bytes].map(NonZero::new)
            }
            _ => [None; 2],
        }
    }

    /// Whether the application at the end that does not open the flow may also send data. Replies
    /// to echo probes do not count.
    pub fn answers(&self) -> bool {
        match self {
            Self::Tcp { task, .. } | Self::Real { task, .. } => {
                matches!(task, Task::Requests(_))
            }
            Self::Programs { .. } => true,
            Self::EchoProbes { .. } => false,
        }
    }

    /// The octets of payload in a full segment of the first end. For echo probes, which have no
    /// segments, the result is 1.
    pub fn smss(&self) -> u16 {
        match self {
            Self::Tcp { tcp, .. } => tcp.smss(),
            Self::Real { ends: [source, _], .. } => source.smss(),
            Self::Programs { tcp, .. } => tcp.smss(),
            Self::EchoProbes { .. } => 1,
        }
    }
}
