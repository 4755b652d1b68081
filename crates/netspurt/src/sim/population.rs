//! The interface between a world (a running network) and a population. A population is code that
//! starts flows, sees their frames, and takes back the ends of flows that are over.

use crate::ids::FlowId;
use crate::units::Time;

/// The two ends of a flow, each with the number of its node. The end that opens the flow comes
/// first.
pub type FlowEnds<E> = [(E, u32); 2];

/// Provides the flows that start while a world runs, sees each frame that leaves or reaches an end,
/// and takes back the ends of flows that are over.
pub trait Population<F, E> {
    /// When the next flow starts. The result is [`Time::NEVER`] if no more flows start. While the
    /// world runs, only [`start`](Self::start) changes this instant.
    fn next_start(&self) -> Time {
        Time::NEVER
    }

    /// Returns the flow that starts at [`next_start`](Self::next_start). The end that opens the
    /// flow has a wake-up at that instant.
    ///
    /// # Panics
    /// When no flow starts any more.
    fn start(&mut self) -> (FlowId, FlowEnds<E>) {
        panic!("no flow starts")
    }

    /// The world calls this method when `frame` has left its source at the instant `at`.
    fn departed(&mut self, at: Time, frame: &F);

    /// The world calls this method when `frame` has reached its destination at the instant `at`. A
    /// datagram in fragments counts as arrived when all its fragments have arrived.
    fn reached(&mut self, at: Time, frame: &F);

    /// Takes back a flow that [`start`](Self::start) returned and that is over: neither end has a
    /// wake-up, and no frame of the flow is on its way.
    fn retire(&mut self, flow: FlowId, ends: [E; 2]) {
        let _ = (flow, ends);
    }
}

/// The empty population: no flows start, and nothing watches the frames.
impl<F, E> Population<F, E> for () {
    fn departed(&mut self, _at: Time, _frame: &F) {}
    fn reached(&mut self, _at: Time, _frame: &F) {}
}
