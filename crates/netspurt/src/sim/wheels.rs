//! Timing wheels, a part of the event queue. They store the appointments (the wake-ups of links and
//! hosts) that are not due soon. The event queue divides time into blocks (`queue.rs`). A slot of
//! the first wheel is one block. A slot of each higher wheel is as wide as the whole wheel below.

use crate::units::Time;

use super::nodes::{NONE, Nodes, block_of};

/// log2 of the number of slots in a wheel.
const BITS: u32 = 8;
const SLOTS: usize = 1 << BITS;
/// The number of wheels. Times have 64 bits, so these wheels are enough for all blocks.
const WHEELS: usize = 6;

/// The appointments that are due in the block `first` or later. Each appointment is a node
/// (`nodes.rs`) of the list of its slot.
#[derive(Debug)]
pub(super) struct Wheels {
    /// The first block whose appointments are stored here.
    first: u64,
    wheels: Vec<Wheel>,
}

#[derive(Clone, Debug)]
struct Wheel {
    /// Which slots are in use.
    used: [u64; SLOTS / 64],
    slots: [Slot; SLOTS],
}

/// A list of nodes in the order of entry.
#[derive(Clone, Copy, Debug)]
struct Slot {
    first: u32,
    last: u32,
}

impl Wheels {
    /// Makes empty wheels for the blocks from block `first` on.
    pub(super) fn from_block(first: u64) -> Self {
        let empty =
            Wheel { used: [0; SLOTS / 64], slots: [Slot { first: NONE, last: NONE }; SLOTS] };
        Self { first, wheels: vec![empty; WHEELS] }
    }

    /// Appends a node to its slot.
    pub(super) fn put(&mut self, nodes: &mut Nodes, node: u32) {
        nodes.link(node, NONE);
        let block = block_of(nodes.get(node).when);
        let differs = (block ^ self.first) | 1;
        let wheel = (63 - differs.leading_zeros()) / BITS;
        let index = slot_of(block, wheel);
        let Wheel { used, slots } = &mut self.wheels[wheel as usize];
        let slot = &mut slots[index];
        if slot.first == NONE {
            slot.first = node;
            used[index / 64] |= 1 << (index % 64);
        } else {
            nodes.link(slot.last, node);
        }
        slot.last = node;
    }

    /// Removes the list of the first block, and returns the first node of the list. The next block
    /// becomes the first block.
    pub(super) fn take_block(&mut self, nodes: &mut Nodes) -> u32 {
        let node = self.wheels[0].empty(slot_of(self.first, 0));
        self.first += 1;
        // Each wheel stands for one digit of the block's number to the base 256. If all lower
        // digits are zero, a slot of this wheel begins, and the slot's entries move down.
        let turned = (self.first.trailing_zeros() / BITS).min(WHEELS as u32 - 1);
        for wheel in (1..=turned).rev() {
            self.move_down(nodes, wheel);
        }
        node
    }

    /// Moves on to the next block that has an appointment: makes this block the first block, and
    /// returns it. Returns `None` if this block is after block `until`, or if there is no
    /// appointment.
    pub(super) fn jump(&mut self, nodes: &mut Nodes, until: u64) -> Option<u64> {
        loop {
            let (wheel, slot) = self.next_used()?;
            let begins = self.beginning(wheel, slot);
            if begins > until {
                return None;
            }
            self.first = begins;
            if wheel == 0 {
                return Some(begins);
            }
            self.move_down(nodes, wheel);
        }
    }

    /// The instant of the first appointment.
    pub(super) fn first(&self, nodes: &Nodes) -> Option<Time> {
        let (wheel, slot) = self.next_used()?;
        let mut node = self.wheels[wheel as usize].slots[slot].first;
        let mut first = None;
        while node != NONE {
            let at = nodes.get(node).when.at;
            first = Some(first.unwrap_or(at).min(at));
            node = nodes.get(node).next;
        }
        first
    }

    /// Empties the slot of `wheel` that contains the first block. The entries of this slot move to
    /// the wheels below.
    fn move_down(&mut self, nodes: &mut Nodes, wheel: u32) {
        let mut node = self.wheels[wheel as usize].empty(slot_of(self.first, wheel));
        while node != NONE {
            let next = nodes.get(node).next;
            self.put(nodes, node);
            node = next;
        }
    }

    /// Returns the next slot in use: the number of the wheel, and the number of the slot in the
    /// wheel.
    fn next_used(&self) -> Option<(u32, usize)> {
        (0..).zip(&self.wheels).find_map(|(number, wheel)| {
            // In the wheels above the lowest, the slot that contains the first block is empty: its
            // nodes moved down when the first block reached this slot.
            let from = slot_of(self.first, number) + usize::from(number > 0);
            Some((number, wheel.next_used(from)?))
        })
    }

    /// The first block of a slot.
    fn beginning(&self, wheel: u32, slot: usize) -> u64 {
        let shift = BITS * wheel;
        let above = self.first >> shift >> BITS << BITS << shift;
        above | (slot as u64) << shift
    }
}

impl Wheel {
    /// The first slot in use, from the slot `from` on.
    fn next_used(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.used.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.used.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Removes a slot's whole list and returns its first node.
    fn empty(&mut self, slot: usize) -> u32 {
        self.used[slot / 64] &= !(1 << (slot % 64));
        std::mem::replace(&mut self.slots[slot], Slot { first: NONE, last: NONE }).first
    }
}

/// The number of the slot for `block` in the wheel with the number `wheel`.
fn slot_of(block: u64, wheel: u32) -> usize {
    (block >> (BITS * wheel)) as usize & (SLOTS - 1)
}
