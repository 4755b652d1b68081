//! Gives each flow a slot for its state. Flows start and end during a run, and a free slot is used
//! again.

use crate::ids::{EndId, FlowId};

/// The number that stands for no slot.
const NONE: u32 = u32::MAX;

/// The slot of each flow's state. A slot that was freed is used again, so the number of slots is
/// the greatest number of slots that were in use at the same time.
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
    /// The slot of each flow, indexed by the flow's id.
    slots: Vec<u32>,
    /// The free slots. The slot that was freed last is used first, because it may still be in the
    /// processor's cache.
    free: Vec<u32>,
    /// The number of slots.
    count: u32,
}

impl FlowSlots {
    /// Gives a slot to `flow`, which must not have a slot. If no slot is free, the flow gets a new
    /// slot after all others.
    pub fn claim(&mut self, flow: FlowId) -> u32 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.count += 1;
            self.count - 1
        });
        if self.slots.len() <= flow.index() {
            self.slots.resize(flow.index() + 1, NONE);
        }
        debug_assert_eq!(self.slots[flow.index()], NONE, "{flow:?} already has a slot");
        self.slots[flow.index()] = slot;
        slot
    }

    /// Takes the slot away from `flow` and returns the slot. No other flow can claim the slot until
    /// [`free`](Self::free) is called.
    ///
    /// # Panics
    /// When the flow has no slot.
    pub fn leave(&mut self, flow: FlowId) -> u32 {
        let slot = std::mem::replace(&mut self.slots[flow.index()], NONE);
        assert_ne!(slot, NONE, "{flow:?} has no slot");
        slot
    }

    /// Lets other flows claim `slot`, which its flow has left.
    pub fn free(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// The slot of `flow`.
    pub fn find(&self, flow: FlowId) -> Option<u32> {
        self.slots.get(flow.index()).copied().filter(|slot| *slot != NONE)
    }

    /// The place of an end in a list that has two places for each slot, one for each end of the
    /// flow. After the flow has left its slot, the returned number is beyond the end of any list.
    #[inline]
    pub fn place(&self, end: EndId) -> usize {
        FlowId(self.slots[end.flow().index()]).end(end.side()).index()
    }
}
