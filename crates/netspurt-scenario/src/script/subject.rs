//! The interface of a TCP implementation that scripts test. A script is a test in packetdrill's
//! notation.

use netspurt::segment::Segment;
use netspurt::units::Time;

use super::call::{Call, CallOutcome};
use super::change::HostChange;
use super::info::Info;
use super::unreachable::Unreachable;

/// The immediate result of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// The call returned.
    Returned(CallOutcome),
    /// The call blocks until [`Subject::returned`] provides its result.
    Blocks,
    /// The implementation does not support the call. The text names what is not supported.
    NotSupported(String),
}

/// A TCP implementation under test, in virtual time.
///
/// The runner calls the implementation with instants that never decrease. Everything that is due at
/// an instant happens before the runner makes a call or injects a segment at that instant. A new
/// socket gets the number that its call names. If the call names no number, or if the number is not
/// free, the socket gets the lowest free number from 3 on.
pub trait Subject {
    /// Makes a call. While a call blocks, the runner makes no other call.
    fn call(&mut self, now: Time, call: &Call) -> CallResult;

    /// Returns the result of the blocking call; `None` while the call still blocks.
    fn returned(&mut self, now: Time) -> Option<CallOutcome>;

    /// Receives a segment with sequence numbers as on the wire. In the segment, the ids of the flow
    /// and of the transmission are not set.
    fn inject(&mut self, now: Time, segment: &Segment);

    /// Receives the message that a packet did not arrive. The message has the sequence number of
    /// the packet as on the wire.
    ///
    /// # Errors
    /// When the implementation does not support the message. The text names what is not supported.
    fn unreachable(&mut self, _now: Time, message: &Unreachable) -> Result<(), String> {
        Err(message.to_string())
    }

    /// The next instant at which something is due.
    fn next_wakeup(&self) -> Option<Time>;

    /// Runs everything that is due until `now`. Returns the next segment that was sent, with the
    /// instant of its departure; `None` if there is no further segment.
    fn poll(&mut self, now: Time) -> Option<(Time, Segment)>;

    /// Changes the host or its link.
    ///
    /// # Errors
    /// When the implementation does not support the change. The text names what is not supported.
    fn change(&mut self, _now: Time, change: &HostChange) -> Result<(), String> {
        Err(change.to_string())
    }

    /// The connection's state.
    fn info(&self, now: Time) -> Info;
}
