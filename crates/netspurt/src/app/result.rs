//! The results of one end of a flow.

use crate::tcp::{Connection, ConnectionTotals, Failure, ReceiveCount, SendCount, SendTimes};
use crate::units::Time;

/// The results of one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowResult {
    /// When the application first wrote data. The value is `None` if it never wrote.
    pub start: Option<Time>,
    /// When this end finished. A client finishes when it has read the last reply. Any other end
    /// finishes when the peer has acknowledged all its data. The value is `None` if this end has
    /// not finished, or if it only listens.
    pub finished: Option<Time>,
    /// The number of octets of this end's data that the peer has acknowledged.
    pub acked_bytes: u64,
    /// The counts of the sending half.
    pub sent: SendCount,
    /// How the end's sender spent its time. For the TCPs of ns-2, the value is `None`.
    pub times: Option<SendTimes>,
    /// The counts of the receiving half.
    pub received: ReceiveCount,
    /// Why the connection ended, if it did not close normally.
    pub failure: Option<Failure>,
}

impl FlowResult {
    /// Makes the results of `connection`. The application of this end first wrote at the instant
    /// `start`, and the end finished at the instant `finished`.
    pub(super) fn of(connection: &Connection, start: Option<Time>, finished: Option<Time>) -> Self {
        let ConnectionTotals { acked_bytes, sent, times, received, failure } = connection.totals();
        Self { start, finished, acked_bytes, sent, times, received, failure }
    }
}
