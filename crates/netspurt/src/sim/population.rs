//! Who brings a world's flows, watches their ends, and takes them back.

use crate::ids::FlowId;
use crate::units::Time;

/// The two ends of a flow, `from` first, and the nodes they live at.
pub type FlowEnds<E> = [(E, u32); 2];

/// Brings the flows that start while a world is in motion, sees what leaves all ends and what
/// reaches them, and takes back the ends of flows that are over.
pub trait Population<F, E> {
    /// When the next flow starts; [`Time::NEVER`] where none does.
    fn next_start(&self) -> Time {
        Time::NEVER
    }

    /// The flow that starts at that instant. Its `from` has something to do at once.
    ///
    /// # Panics
    /// When no flow starts any more.
    fn start(&mut self) -> (FlowId, FlowEnds<E>) {
        panic!("no flow starts")
    }

    /// `frame` left its source at `at`.
    fn left(&mut self, at: Time, frame: &F);

    /// `frame` reached its destination at `at`; one in fragments when it is put together.
    fn reached(&mut self, at: Time, frame: &F);

    /// A flow that [`start`](Self::start) brought is over: neither end waits for an instant, and no
    /// frame of it is on its way.
    fn retire(&mut self, flow: FlowId, ends: [E; 2]) {
        let _ = (flow, ends);
    }
}

/// Nobody.
impl<F, E> Population<F, E> for () {
    fn left(&mut self, _at: Time, _frame: &F) {}
    fn reached(&mut self, _at: Time, _frame: &F) {}
}
