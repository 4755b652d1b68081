//! The kernel's sockets that a run asks about retransmissions.

use crate::kernel::FlowSocket;

/// For each end, the socket that is asked about retransmissions, and whether it detects losses by
/// time. `None` for the simulator's ends.
pub type Sockets = Vec<Option<(FlowSocket, bool)>>;
