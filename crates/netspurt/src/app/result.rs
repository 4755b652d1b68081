//! What came of one end of a flow.

use crate::tcp::{Connection, Failure, ReceiveCount, SendCount, SendTimes};
use crate::units::Time;

/// What came of one end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowResult {
    /// When its application first wrote; `None` if it never did.
    pub start: Option<Time>,
    /// When all it wrote was acknowledged, or all it asked for was read; `None` if it was not, or
    /// has no end.
    pub finished: Option<Time>,
    /// Octets acknowledged.
    pub acked_bytes: u64,
    /// What its sending half did.
    pub sent: SendCount,
    /// What its time went into, of a byte-sequenced connection.
    pub times: Option<SendTimes>,
    /// What its receiving half took in.
    pub received: ReceiveCount,
    /// Why the connection ended otherwise than by closing.
    pub failure: Option<Failure>,
}

impl FlowResult {
    /// What a connection says of itself, whose application wrote and finished then.
    pub(super) fn of(connection: &Connection, start: Option<Time>, finished: Option<Time>) -> Self {
        Self {
            start,
            finished,
            acked_bytes: connection.acknowledged(),
            sent: connection.sent(),
            times: connection.times(),
            received: connection.received(),
            failure: connection.failure(),
        }
    }
}
