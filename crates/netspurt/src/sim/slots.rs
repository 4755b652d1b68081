//! Places for the state of flows that come and go.

use crate::ids::{EndId, FlowId};

/// No slot.
const NONE: u32 = u32::MAX;

/// In which slot the state of each flow lies. A slot is used again when its flow has gone, so memory
/// follows the flows that are there together.
///
/// ```
/// use netspurt::ids::{FlowId, Side};
/// use netspurt::sim::FlowSlots;
/// let mut slots = FlowSlots::default();
/// assert_eq!((slots.claim(FlowId(7)), slots.claim(FlowId(9))), (0, 1));
/// assert_eq!(slots.place(FlowId(9).end(Side::To)), 3);
/// let slot = slots.leave(FlowId(7));
/// slots.free(slot);
/// assert_eq!((slots.find(FlowId(7)), slots.claim(FlowId(8))), (None, 0));
/// ```
#[derive(Debug, Default)]
pub struct FlowSlots {
    /// By flow.
    slots: Vec<u32>,
    /// Slots that nobody uses. The one that was used last is used first, while it is in the
    /// processor's cache.
    free: Vec<u32>,
    /// How many slots there are.
    count: u32,
}

impl FlowSlots {
    /// Gives `flow`, which has none, a slot: a free one, or the next one behind all others.
    pub fn claim(&mut self, flow: FlowId) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        if self.slots.len() <= flow.index() {
            self.slots.resize(flow.index() + 1, NONE);
        }
        debug_assert_eq!(self.slots[flow.index()], NONE, "{flow:?} has a slot");
        self.slots[flow.index()] = slot;
        slot
    }

    /// Takes its slot away from `flow`, but lets nobody else use it yet.
    ///
    /// # Panics
    /// When the flow has none.
    pub fn leave(&mut self, flow: FlowId) -> u32 {
        let slot = std::mem::replace(&mut self.slots[flow.index()], NONE);
        assert_ne!(slot, NONE, "{flow:?} has no slot");
        slot
    }

    /// From now on another flow may claim `slot`, which its flow has left.
    pub fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// The slot of `flow`.
    pub fn find(&self, flow: FlowId) -> Option<u32> {
        self.slots.get(flow.index()).copied().filter(|slot| *slot != NONE)
    }

    /// The place of `end` in a list that has both ends of each slot; beyond every list where its
    /// flow has no slot.
    #[inline]
    pub fn place(&self, end: EndId) -> usize {
        FlowId(self.slots[end.flow().index()]).end(end.side()).index()
    }
}
