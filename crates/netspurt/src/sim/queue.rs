//! The event queue. Its entries are appointments: instants at which a link or a host has something
//! to do. The appointments are ordered by time. Appointments of the same time are ordered by the
//! instant at which they were made, then by their cause, and then by the order of entry.
//!
//! Time is divided into slots of 1024 ns, and blocks of 4096 slots, about 4 ms. Each slot of the
//! current block and of the next block is a sorted list. Two levels of bitmaps show the next list
//! with an entry. Entries of later blocks are in *wheels*, which are rings of wider slots
//! (`wheels.rs`). A slot of the lowest wheel is as wide as a block. A slot of a higher wheel is as
//! wide as the whole wheel below. As time advances, entries move down to narrower slots. They keep
//! the order of entry, so equal entries come out first in, first out. The cost does not depend on
//! the number of appointments if each slot has only a few.

use crate::stage::Appointment;
use crate::units::Time;

use super::nodes::{BLOCK, NONE, Node, Nodes, block_of};
use super::wheels::Wheels;

/// log2 of the number of slots in a block. A block has 64 words of 64 bits, one bit for each slot.
const BITS: u32 = 12;
/// log2 of a slot's width in nanoseconds.
const WIDTH: u32 = BLOCK - BITS;
const SLOTS: usize = 1 << BITS;
const WORDS: usize = SLOTS / 64;

/// A queue of appointments, each with a number. The number tells the caller whose appointment it
/// is.
///
/// ```
/// use netspurt::sim::EventQueue;
/// use netspurt::stage::Appointment;
/// use netspurt::units::Time;
/// let mut queue = EventQueue::new();
/// let instant = Time::from_nanos;
/// let when = |at, since| Appointment { at: instant(at), since: instant(since), by: <_>::default() };
/// queue.push(when(70, 4), 1);
/// queue.push(when(70, 3), 2);
/// queue.push(when(5, 5), 3);
/// let order: Vec<u32> = std::iter::from_fn(|| queue.pop_by(Time::NEVER)).map(|e| e.1).collect();
/// assert_eq!(order, [3, 2, 1]);
/// ```
#[derive(Debug)]
pub struct EventQueue {
    /// The number of the current block.
    block: u64,
    /// The first slot of the current block that may have an entry.
    from: usize,
    /// The last entry of each slot. The lists are circular: the last entry of a list links to its
    /// first entry. The slots of even blocks come first, and then the slots of odd blocks.
    slots: Box<[u32; 2 * SLOTS]>,
    /// The slots that have entries: first the slots of the even block, then the slots of the odd
    /// block.
    used: [Used; 2],
    nodes: Nodes,
    /// The entries of the blocks after the next block.
    far: Wheels,
}

/// Records which slots of a block have entries.
#[derive(Clone, Copy, Debug)]
struct Used {
    slots: [u64; WORDS],
    /// One bit for each word of `slots`. The bit is set if the word is not zero.
    words: u64,
}

impl Used {
    const NONE: Used = Used { slots: [0; WORDS], words: 0 };

    #[inline]
    fn set(&mut self, slot: usize) {
        self.slots[slot / 64] |= 1 << (slot % 64);
        self.words |= 1 << (slot / 64);
    }

    #[inline]
    fn clear(&mut self, slot: usize) {
        let word = &mut self.slots[slot / 64];
        *word &= !(1 << (slot % 64));
        if *word == 0 {
            self.words &= !(1 << (slot / 64));
        }
    }

    /// The first slot with an entry, from the slot `from` on.
    #[inline]
    fn next(&self, from: usize) -> Option<usize> {
        let word = from / 64 % WORDS;
        let bits = self.slots[word] & (u64::MAX << (from % 64));
        if bits != 0 {
            return Some(word * 64 + bits.trailing_zeros() as usize);
        }
        let words = self.words & (u64::MAX << word << 1);
        if words == 0 {
            return None;
        }
        let word = words.trailing_zeros() as usize;
        Some(word * 64 + self.slots[word].trailing_zeros() as usize)
    }
}

impl EventQueue {
    /// Makes an empty queue at the start of time.
    pub fn new() -> Self {
        Self {
            block: 0,
            from: 0,
            slots: Box::new([NONE; 2 * SLOTS]),
            used: [Used::NONE; 2],
            nodes: Nodes::new(),
            // The entries of the blocks 0 and 1 are in slots, and not in wheels.
            far: Wheels::from_block(2),
        }
    }

    /// Adds the appointment `when` with `number`. The appointment's instant must not be before the
    /// instant of the last popped entry. If the last [`pop_by`](Self::pop_by) returned `None`
    /// although the queue had entries, the instant must also not be before the bound `until` of
    /// that call.
    #[inline(always)]
    pub fn push(&mut self, when: Appointment, number: u32) {
        let node = self.nodes.add(when, number);
        let block = block_of(when);
        debug_assert!(block >= self.block, "an appointment in the past");
        if block <= self.block + 1 {
            self.place(node, when);
        } else {
            self.far.put(&mut self.nodes, node);
        }
    }

    /// Removes and returns the first appointment and its number, if it is due by the instant
    /// `until`.
    #[inline(always)]
    pub fn pop_by(&mut self, until: Time) -> Option<(Appointment, u32)> {
        let (half, slot) = match self.next_slot() {
            Some(place) => place,
            None => self.jump(until)?,
        };
        let place = half * SLOTS + slot;
        let last = self.slots[place];
        let first = self.nodes.get(last).next;
        let Node { when, number, next } = *self.nodes.get(first);
        if when.at > until {
            return None;
        }
        if half != self.half() {
            self.enter_next_block();
        }
        self.from = slot;
        if first == last {
            self.slots[place] = NONE;
            self.used[half].clear(slot);
        } else {
            self.nodes.link(last, next);
        }
        self.nodes.remove(first);
        Some((when, number))
    }

    /// The instant of the first appointment.
    pub fn first(&self) -> Option<Time> {
        let Some((half, slot)) = self.next_slot() else { return self.far.first(&self.nodes) };
        let last = self.slots[half * SLOTS + slot];
        Some(self.nodes.get(self.nodes.get(last).next).when.at)
    }

    /// The half of the slots that belongs to the current block.
    #[inline]
    fn half(&self) -> usize {
        (self.block & 1) as usize
    }

    /// Finds the first slot with an entry. Returns the half of `slots` that contains this slot, and
    /// the number of the slot in this half.
    #[inline]
    fn next_slot(&self) -> Option<(usize, usize)> {
        let half = self.half();
        if let Some(slot) = self.used[half].next(self.from) {
            return Some((half, slot));
        }
        self.used[half ^ 1].next(0).map(|slot| (half ^ 1, slot))
    }

    /// Inserts a node in the list of its slot, behind all nodes whose appointments are earlier or
    /// equal.
    #[inline(always)]
    fn place(&mut self, node: u32, when: Appointment) {
        let slot = (when.at.as_nanos() >> WIDTH) as usize % (2 * SLOTS);
        let last = self.slots[slot];
        if last == NONE {
            self.nodes.link(node, node);
            self.slots[slot] = node;
            return self.used[slot / SLOTS].set(slot % SLOTS);
        }
        let mut before = last;
        if self.nodes.get(last).when <= when {
            self.slots[slot] = node;
        } else {
            // The search ends before the last node, because the last node is after the inserted
            // node.
            before = self.last_not_after(when, before);
        }
        let next = self.nodes.link(before, node);
        self.nodes.link(node, next);
    }

    /// Searches the list that ends with the node `last`, and returns the last node that is not
    /// after the appointment `when`. If all nodes are after the appointment, returns the node
    /// `last` itself, because the list is circular: the first node follows the last node.
    fn last_not_after(&self, when: Appointment, last: u32) -> u32 {
        let mut before = last;
        loop {
            let next = self.nodes.get(before).next;
            if self.nodes.get(next).when > when {
                return before;
            }
            before = next;
        }
    }

    /// Makes the next block the current block. Then moves the entries of the block after it from
    /// the wheels to slots.
    #[cold]
    #[inline(never)]
    fn enter_next_block(&mut self) {
        self.block += 1;
        self.fetch_block();
    }

    /// Moves the entries of the first block in the wheels to the slots of this block.
    #[cold]
    #[inline(never)]
    fn fetch_block(&mut self) {
        let mut node = self.far.take_block(&mut self.nodes);
        while node != NONE {
            let Node { when, next, .. } = *self.nodes.get(node);
            self.place(node, when);
            node = next;
        }
    }

    /// Called when no slot has an entry. Moves on to the first block with an entry in the wheels,
    /// and returns the first slot with an entry. Returns `None` if the wheels have no entry, or if
    /// this block begins after the instant `until`.
    #[cold]
    #[inline(never)]
    fn jump(&mut self, until: Time) -> Option<(usize, usize)> {
        self.block = self.far.jump(&mut self.nodes, until.as_nanos() >> BLOCK)?;
        self.from = 0;
        self.fetch_block();
        self.fetch_block();
        self.next_slot()
    }
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An appointment at the instant `at` that was made at the instant `since`. The number `by`
    /// stands for its cause.
    fn when(at: u64, since: u64, by: u32) -> Appointment {
        let by = (Time::from_nanos(by.into()), Time::ZERO);
        Appointment { at: Time::from_nanos(at), since: Time::from_nanos(since), by }
    }

    proptest! {
        /// If entries are pushed at random distances and popped up to random bounds, they come out
        /// in the order of a sorted list.
        #[test]
        fn appointments_are_ordered_by_time_then_scheduling_then_cause_then_entry(
            steps in prop::collection::vec(
                (0_u32..100, 0_u64..1 << 12, 0_u64..3, any::<bool>()), 1..400)
        ) {
            let mut queue = EventQueue::new();
            let mut expected: Vec<(u64, u64, u32)> = Vec::new();
            let mut now = 0_u64;
            for (number, (shift, offset, since, pop)) in (0..).zip(steps) {
                let at = now.saturating_add(offset << (shift / 2));
                queue.push(when(at, since, number % 2), number);
                expected.push((at, since, number));
                if pop {
                    let until = now.saturating_add(offset << (shift / 3));
                    loop {
                        expected.sort_by_key(|e| (e.0, e.1, e.2 % 2));
                        prop_assert_eq!(queue.first(), expected.first().map(|e| Time::from_nanos(e.0)));
                        let due = expected.first().filter(|e| e.0 <= until).copied();
                        let got = queue.pop_by(Time::from_nanos(until));
                        let got = got.map(|(when, n)| (when.at.as_nanos(), when.since.as_nanos(), n));
                        prop_assert_eq!(got, due);
                        if due.is_none() { break; }
                        expected.remove(0);
                    }
                    now = until;
                }
            }
        }
    }

    #[test]
    fn an_appointment_at_the_last_instant_comes_out_of_the_queue() {
        let mut queue = EventQueue::new();
        queue.push(when(u64::MAX - 1, 0, 0), 1);
        queue.push(when(1, 0, 0), 2);
        assert_eq!(queue.pop_by(Time::NEVER), Some((when(1, 0, 0), 2)));
        assert_eq!(queue.pop_by(Time::NEVER), Some((when(u64::MAX - 1, 0, 0), 1)));
        assert_eq!(queue.pop_by(Time::NEVER), None);
    }

    #[test]
    fn equal_appointments_come_out_in_their_order_of_entry_from_any_wheel() {
        let mut queue = EventQueue::new();
        let at = 100 << BLOCK | 5;
        queue.push(when(at, 0, 0), 1);
        for block in [60_u32, 98, 99] {
            let near = when(u64::from(block) << BLOCK, 0, 0);
            queue.push(near, 0);
            assert_eq!(queue.pop_by(near.at), Some((near, 0)));
            queue.push(when(at, 0, 0), block);
        }
        let order = std::iter::from_fn(|| queue.pop_by(Time::NEVER)).map(|e| e.1);
        let order: Vec<u32> = order.collect();
        assert_eq!(order, [1, 60, 98, 99]);
    }
}
