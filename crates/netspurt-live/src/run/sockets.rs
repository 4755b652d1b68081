//! The kernel's sockets of a run.

use crate::kernel::FlowSocket;

/// By end: its socket, of which retransmits are asked, and whether it finds losses by time; `None`
/// of the simulator's ends.
pub type Sockets = Vec<Option<(FlowSocket, bool)>>;
