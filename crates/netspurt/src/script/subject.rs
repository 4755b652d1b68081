//! What a runner asks of a TCP implementation.

use crate::segment::Segment;
use crate::units::Time;

use super::call::{Call, Outcome};
use super::info::Info;

/// What came of a call at once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallResult {
    /// It returned.
    Returned(Outcome),
    /// It blocks; [`Subject::returned`] tells when it is over.
    Blocks,
    /// The implementation has no such thing; what it has not.
    NotSupported(String),
}

/// A TCP implementation under test, in virtual time.
///
/// The runner calls it with instants that never decrease, and lets everything happen that is due
/// at an instant before it calls or injects at that instant. A socket call hands out socket
/// numbers as a system does: 3 first, then the lowest that is free.
pub trait Subject {
    /// The application calls. A blocking call lasts until [`returned`](Self::returned) says so;
    /// the runner makes no other before.
    fn call(&mut self, now: Time, call: &Call) -> CallResult;

    /// What came of the call that blocks, once it is over.
    fn returned(&mut self, now: Time) -> Option<Outcome>;

    /// A segment arrives, with sequence numbers as on the wire. `dest` and `id` are 0.
    fn inject(&mut self, now: Time, segment: &Segment);

    /// The next instant at which something falls due.
    fn next_wakeup(&self) -> Option<Time>;

    /// Lets happen what is due until `now`, and takes the next segment sent, with its instant.
    fn poll(&mut self, now: Time) -> Option<(Time, Segment)>;

    /// The connection's state.
    fn info(&self, now: Time) -> Info;
}
