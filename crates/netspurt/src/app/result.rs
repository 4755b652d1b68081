//! The results of one end of a flow.

use crate::tcp::{Connection, ConnectionTotals, Failure, ReceiveCount, SendCount, SendTimes};
use crate::units::Time;

/// The results of one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowResult {
    /// When the application first wrote; `None` if it never wrote.
    pub start: Option<Time>,
    /// When all data of the end was acknowledged, or all replies to it were read. `None` if this
    /// has not happened, or if the data has no end.
    pub finished: Option<Time>,
    /// The octets that were acknowledged to the end.
    pub acked_bytes: u64,
    /// The counts of the sending half.
    pub sent: SendCount,
    /// How the end's time was spent, for a byte-sequenced connection.
    pub times: Option<SendTimes>,
    /// The counts of the receiving half.
    pub received: ReceiveCount,
    /// Why the connection ended, if it did not close normally.
    pub failure: Option<Failure>,
}

impl FlowResult {
    /// The results of a connection whose application wrote and finished at these instants.
    pub(super) fn of(connection: &Connection, start: Option<Time>, finished: Option<Time>) -> Self {
        let ConnectionTotals { acked_bytes, sent, times, received, failure } = connection.totals();
        Self { start, finished, acked_bytes, sent, times, received, failure }
    }
}
