//! Appointments in order of time, at one instant in the order in which they were settled, and
//! then in order of entry.
//!
//! A wheel of wheels over exact nanoseconds. The lowest wheel's slots span 1024 ns, each wheel
//! above it has slots as wide as the whole wheel below; a bitmap finds the next slot in use. An
//! appointment sinks a wheel whenever time enters its slot, and the lowest slot that time is in
//! lies sorted in `current`. Sinking keeps the order of entry, so full ties come out first in,
//! first out. Cost: constant in the number of appointments.

use std::collections::VecDeque;

use crate::units::Time;

/// log2 of the lowest slot's width in nanoseconds.
const LOWEST: u32 = 10;
/// log2 of the slots in a wheel.
const BITS: u32 = 8;
const SLOTS: usize = 1 << BITS;
/// Enough wheels for 64 bits of nanoseconds.
const WHEELS: usize = (64 - LOWEST as usize).div_ceil(BITS as usize);
const NONE: u32 = u32::MAX;

/// A queue of `(instant, number)`, which knows since when an appointment is settled.
///
/// ```
/// use netspurt::sim::EventQueue;
/// use netspurt::units::Time;
/// let mut queue = EventQueue::new();
/// let at = Time::from_nanos;
/// queue.push(at(70), at(4), 1);
/// queue.push(at(70), at(3), 2);
/// queue.push(at(5), at(5), 3);
/// let order: Vec<u32> = std::iter::from_fn(|| queue.pop_by(Time::NEVER)).map(|e| e.1).collect();
/// assert_eq!(order, [3, 2, 1]);
/// ```
#[derive(Debug)]
pub struct EventQueue {
    /// Start of the lowest slot that time is in.
    base: u64,
    /// That slot's appointments, sorted.
    current: VecDeque<Entry>,
    wheels: Vec<Wheel>,
    nodes: Vec<Node>,
    free: u32,
}

#[derive(Clone, Debug)]
struct Wheel {
    /// Which slots are in use.
    used: [u64; SLOTS / 64],
    slots: [Slot; SLOTS],
}

/// A list of nodes in order of entry.
#[derive(Clone, Copy, Debug)]
struct Slot {
    first: u32,
    last: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    at: u64,
    since: u64,
    number: u32,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    since: u64,
    number: u32,
}

impl Entry {
    #[inline]
    fn place(self) -> (u64, u64) {
        (self.at, self.since)
    }
}

impl EventQueue {
    /// An empty queue at the start of time.
    pub fn new() -> Self {
        let empty =
            Wheel { used: [0; SLOTS / 64], slots: [Slot { first: NONE, last: NONE }; SLOTS] };
        Self {
            base: 0,
            current: VecDeque::new(),
            wheels: vec![empty; WHEELS],
            nodes: Vec::new(),
            free: NONE,
        }
    }

    /// Enters `number` for the instant `at`, which is not before what was popped last; settled
    /// `since` then.
    #[inline]
    pub fn push(&mut self, at: Time, since: Time, number: u32) {
        let (at, since) = (at.as_nanos(), since.as_nanos());
        debug_assert!(at >= self.base, "an appointment in the past");
        if at >> LOWEST == self.base >> LOWEST {
            self.push_current(at, since, number);
        } else {
            let node = self.new_node(Node { at, since, number, next: NONE });
            self.place(node, at);
        }
    }

    /// The first appointment, if it is due by `until`.
    #[inline]
    pub fn pop_by(&mut self, until: Time) -> Option<(Time, u32)> {
        let until = until.as_nanos();
        if self.current.is_empty() && !self.enter_next_slot(until) {
            return None;
        }
        let &Entry { at, number, .. } = self.current.front()?;
        if at > until {
            return None;
        }
        self.current.pop_front();
        Some((Time::from_nanos(at), number))
    }

    /// The instant of the first appointment.
    pub fn first(&self) -> Option<Time> {
        if let Some(entry) = self.current.front() {
            return Some(Time::from_nanos(entry.at));
        }
        let (wheel, slot) = self.next_used()?;
        let mut node = self.wheels[wheel].slots[slot].first;
        let mut first = u64::MAX;
        while node != NONE {
            let Node { at, next, .. } = self.nodes[node as usize];
            first = first.min(at);
            node = next;
        }
        Some(Time::from_nanos(first))
    }

    /// Takes the parts of an entry: one that was put together in memory would be copied from there
    /// before the writes of its parts are through.
    fn push_current(&mut self, at: u64, since: u64, number: u32) {
        let entry = Entry { at, since, number };
        if self.current.back().is_none_or(|last| last.place() <= entry.place()) {
            self.current.push_back(entry);
        } else {
            let place = self.current.partition_point(|other| other.place() <= entry.place());
            self.current.insert(place, entry);
        }
    }

    fn new_node(&mut self, node: Node) -> u32 {
        if self.free == NONE {
            self.nodes.push(node);
            return u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 appointments");
        }
        let index = self.free;
        self.free = self.nodes[index as usize].next;
        self.nodes[index as usize] = node;
        index
    }

    /// Puts a node, due after the current slot, at the end of its slot's list.
    #[inline]
    fn place(&mut self, node: u32, at: u64) {
        let differs = (at ^ self.base) >> LOWEST;
        let wheel = ((63 - differs.leading_zeros()) / BITS) as usize;
        let index = slot_of(at, wheel);
        let Wheel { used, slots } = &mut self.wheels[wheel];
        let slot = &mut slots[index];
        if slot.first == NONE {
            slot.first = node;
            used[index / 64] |= 1 << (index % 64);
        } else {
            self.nodes[slot.last as usize].next = node;
        }
        slot.last = node;
    }

    /// The next slot in use after the current one: wheel and slot.
    #[inline]
    fn next_used(&self) -> Option<(usize, usize)> {
        (0..WHEELS).find_map(|wheel| {
            let after = slot_of(self.base, wheel) + 1;
            Some((wheel, self.wheels[wheel].next_used(after)?))
        })
    }

    /// Moves on to the next slot in use, unless it begins after `until`; whether it did.
    fn enter_next_slot(&mut self, until: u64) -> bool {
        while self.current.is_empty() {
            let Some((wheel, slot)) = self.next_used() else { return false };
            let shift = LOWEST + BITS * u32::try_from(wheel).expect("few wheels");
            let above = self.base.checked_shr(shift + BITS).unwrap_or(0);
            let above = above.checked_shl(shift + BITS).unwrap_or(0);
            let begins = above | (slot as u64) << shift;
            if begins > until {
                return false;
            }
            self.base = begins;
            self.sink(wheel, slot);
        }
        true
    }

    /// Empties a slot that time has entered into the wheels below.
    fn sink(&mut self, wheel: usize, slot: usize) {
        let mut index = self.wheels[wheel].empty(slot);
        while index != NONE {
            let Node { at, since, number, next } = self.nodes[index as usize];
            if at >> LOWEST == self.base >> LOWEST {
                self.push_current(at, since, number);
                self.nodes[index as usize].next = self.free;
                self.free = index;
            } else {
                self.nodes[index as usize].next = NONE;
                self.place(index, at);
            }
            index = next;
        }
    }
}

impl Default for EventQueue {
    fn default() -> Self {
        Self::new()
    }
}

impl Wheel {
    /// The first slot in use at or after `from`.
    #[inline]
    fn next_used(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        if word >= self.used.len() {
            return None;
        }
        let mut bits = self.used[word] & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.used.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// Takes a slot's whole list: its first node.
    fn empty(&mut self, slot: usize) -> u32 {
        self.used[slot / 64] &= !(1 << (slot % 64));
        std::mem::replace(&mut self.slots[slot], Slot { first: NONE, last: NONE }).first
    }
}

/// The slot of a wheel that the instant `at` falls in.
#[inline]
fn slot_of(at: u64, wheel: usize) -> usize {
    (at >> (LOWEST as usize + BITS as usize * wheel)) as usize & (SLOTS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a sorted list: pushes at random distances and pops up to random bounds.
        #[test]
        fn appointments_come_out_by_time_then_by_what_was_settled_first_then_by_entry(
            steps in prop::collection::vec(
                (0_u32..60, 0_u64..1 << 12, 0_u64..3, any::<bool>()), 1..400)
        ) {
            let mut queue = EventQueue::new();
            let mut oracle: Vec<(u64, u64, u32)> = Vec::new();
            let mut now = 0_u64;
            for (number, (shift, offset, since, pop)) in (0..).zip(steps) {
                let at = now.saturating_add(offset << (shift / 2));
                queue.push(Time::from_nanos(at), Time::from_nanos(since), number);
                oracle.push((at, since, number));
                if pop {
                    let until = now.saturating_add(offset << (shift / 3));
                    loop {
                        oracle.sort_by_key(|e| (e.0, e.1));
                        prop_assert_eq!(queue.first(), oracle.first().map(|e| Time::from_nanos(e.0)));
                        let due = oracle.first().filter(|e| e.0 <= until).copied();
                        let got = queue.pop_by(Time::from_nanos(until));
                        prop_assert_eq!(got, due.map(|(at, _, n)| (Time::from_nanos(at), n)));
                        if due.is_none() { break; }
                        oracle.remove(0);
                    }
                    now = until;
                }
            }
        }
    }

    #[test]
    fn a_queue_reaches_the_end_of_time() {
        let mut queue = EventQueue::new();
        queue.push(Time::from_nanos(u64::MAX - 1), Time::ZERO, 1);
        queue.push(Time::from_nanos(1), Time::ZERO, 2);
        assert_eq!(queue.pop_by(Time::NEVER), Some((Time::from_nanos(1), 2)));
        assert_eq!(queue.pop_by(Time::NEVER), Some((Time::from_nanos(u64::MAX - 1), 1)));
        assert_eq!(queue.pop_by(Time::NEVER), None);
    }
}
