//! Planned flows.

use std::num::NonZero;
use std::sync::Arc;

use crate::app::{EchoProbePlan, Task};
use crate::shim::ShimConfig;
use crate::tcp::TcpConfig;
use crate::units::{Duration, Time};

use super::kernel_config::KernelTcp;

/// What the flows of a group are: transfers over TCP, say, or echo probes to an echo host. A task has
/// the start of the first.
#[derive(Debug)]
pub(super) enum Traffic {
    Tcp {
        tcp: TcpConfig,
        task: Task,
    },
    /// At least one of the ends is the kernel's.
    Real {
        ends: [PlannedEnd; 2],
        shims: [Option<ShimConfig>; 2],
        task: Task,
    },
    /// Programs, at two kernel's ends.
    Programs {
        tcp: KernelTcp,
        shims: [Option<ShimConfig>; 2],
    },
    EchoProbes {
        plan: EchoProbePlan,
        processing: Duration,
    },
}

/// One end of a flow that is not the simulator's alone.
#[derive(Clone, Debug)]
pub(super) enum PlannedEnd {
    Model(TcpConfig),
    Kernel(KernelTcp),
}

impl PlannedEnd {
    pub(super) fn smss(&self) -> u16 {
        match self {
            Self::Model(tcp) => tcp.smss(),
            Self::Kernel(tcp) => tcp.smss(),
        }
    }

    /// Octets of a full packet.
    pub(super) fn packet_bytes(&self) -> u16 {
        match self {
            Self::Model(tcp) => tcp.packet_bytes(),
            Self::Kernel(tcp) => tcp.packet_bytes,
        }
    }

    /// Octets of the headers of a packet.
    pub(super) fn header_bytes(&self) -> u16 {
        match self {
            Self::Model(tcp) => tcp.header_bytes(),
            Self::Kernel(tcp) => tcp.header_bytes,
        }
    }
}

/// One flow.
#[derive(Debug)]
pub(super) struct PlannedFlow {
    pub(super) name: String,
    pub(super) from: u32,
    pub(super) to: u32,
    /// Whether its packets are IPv6.
    pub(super) ipv6: bool,
    /// When it starts.
    pub(super) start: Time,
    pub(super) traffic: Arc<Traffic>,
}

impl PlannedFlow {
    /// Whether both ends are the simulator's.
    pub(super) fn is_simulated(&self) -> bool {
        matches!(*self.traffic, Traffic::Tcp { .. } | Traffic::EchoProbes { .. })
    }

    /// Whether it is a transfer between two of the simulator's ends.
    pub(super) fn is_transfer(&self) -> bool {
        matches!(*self.traffic, Traffic::Tcp { task: Task::Bulk(_), .. })
    }
}

impl Traffic {
    /// Octets of each message forward, and of each one in reverse, where what is written is messages.
    pub(super) fn messages(&self) -> [Option<NonZero<u64>>; 2] {
        match self {
            Self::Tcp { task: Task::Requests(plan), .. }
            | Self::Real { task: Task::Requests(plan), .. } => {
                [plan.each.request_bytes, plan.each.reply_bytes].map(NonZero::new)
            }
            _ => [None; 2],
        }
    }

    /// Whether its receiver also writes.
    pub(super) fn answers(&self) -> bool {
        match self {
            Self::Tcp { task, .. } | Self::Real { task, .. } => {
                matches!(task, Task::Requests(_))
            }
            Self::Programs { .. } => true,
            Self::EchoProbes { .. } => false,
        }
    }

    /// Octets of payload in a full segment; 1 for echo probes, which have no segments.
    pub(super) fn smss(&self) -> u16 {
        match self {
            Self::Tcp { tcp, .. } => tcp.smss(),
            Self::Real { ends: [source, _], .. } => source.smss(),
            Self::Programs { tcp, .. } => tcp.smss(),
            Self::EchoProbes { .. } => 1,
        }
    }
}
