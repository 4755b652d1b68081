//! What flows are, once they are planned.

use std::num::NonZero;

use crate::app::{EchoProbePlan, Task};
use crate::shim::ShimConfig;
use crate::tcp::TcpConfig;
use crate::units::Duration;

use super::kernel_config::KernelTcp;

/// What one flow is: a transfer over TCP, or echo probes to an echo host.
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
    /// Programs, at two ends of the kernel's.
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
#[derive(Clone)]
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
}

/// One flow.
pub(super) struct PlannedFlow {
    pub(super) name: String,
    pub(super) from: u32,
    pub(super) to: u32,
    /// Whether IPv6 carries it.
    pub(super) ipv6: bool,
    pub(super) traffic: Traffic,
}

impl PlannedFlow {
    /// Octets of each message there, and of each one back, where what is written is messages.
    pub(super) fn messages(&self) -> [Option<NonZero<u64>>; 2] {
        match &self.traffic {
            Traffic::Tcp { task: Task::Requests(plan), .. }
            | Traffic::Real { task: Task::Requests(plan), .. } => {
                [plan.request_bytes, plan.reply_bytes].map(NonZero::new)
            }
            _ => [None; 2],
        }
    }

    /// Whether its sink writes, too.
    pub(super) fn answers(&self) -> bool {
        match &self.traffic {
            Traffic::Tcp { task, .. } | Traffic::Real { task, .. } => {
                matches!(task, Task::Requests(_))
            }
            Traffic::Programs { .. } => true,
            Traffic::EchoProbes { .. } => false,
        }
    }

    /// Octets of payload in a full segment; 1 of echo probes, which have none.
    pub(super) fn smss(&self) -> u16 {
        match &self.traffic {
            Traffic::Tcp { tcp, .. } => tcp.smss(),
            Traffic::Real { ends: [source, _], .. } => source.smss(),
            Traffic::Programs { tcp, .. } => tcp.smss(),
            Traffic::EchoProbes { .. } => 1,
        }
    }
}
