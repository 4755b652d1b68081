//! The results of one end of a flow.

use crate::tcp::{Connection, ConnectionTotals, Failure, ReceiveCount, SendCount, SendTimes};
use crate::units::Time;

/// The results of one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowResult {
    /// When its application first wrote; `None` if it never did.
    pub start: Option<Time>,
    /// When all its data was acknowledged, or all its replies were read; `None` if that did not
    /// happen, or its data has no end.
    pub finished: Option<Time>,
    /// Octets acknowledged.
    pub acked_bytes: u64,
    /// The counts of its sending half.
    pub sent: SendCount,
    /// How its time was spent, for a byte-sequenced connection.
    pub times: Option<SendTimes>,
    /// The counts of its receiving half.
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
