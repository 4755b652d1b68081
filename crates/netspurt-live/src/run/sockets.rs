//! The kernel's sockets that a run asks about retransmissions.

use crate::kernel::FlowSocket;

/// For each end, the socket that the run asks about retransmissions, and whether the socket's TCP
/// detects losses by time (RACK). `None` for an end without such a socket, such as an end in the
/// simulator.
pub type Sockets = Vec<Option<(FlowSocket, bool)>>;
