//! The lists that make up the event queue. An entry of the queue is an appointment: an instant at
//! which a link or a host has something to do. Each appointment is a node of a linked list.

use std::mem;

use crate::stage::Appointment;

/// The event queue divides time into blocks. A block is 2^`BLOCK` nanoseconds wide.
pub(super) const BLOCK: u32 = 22;
/// The number that stands for no node.
pub(super) const NONE: u32 = u32::MAX;

/// An appointment in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) when: Appointment,
    /// A number that tells the user of the queue whose appointment this is.
    pub(super) number: u32,
    /// The next node of the list.
    pub(super) next: u32,
}

/// The block in which an appointment is due.
#[inline]
pub(super) fn block_of(when: Appointment) -> u64 {
    when.at.as_nanos() >> BLOCK
}

/// The nodes of all lists, and a list of the free places for nodes.
#[derive(Debug)]
pub(super) struct Nodes {
    nodes: Vec<Node>,
    /// The first node of the free list.
    free: u32,
}

impl Nodes {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), free: NONE }
    }

    /// Makes a node that is in no list yet, and returns its place.
    ///
    /// The fields are written directly to the node's place. A node is not built elsewhere and then
    /// copied, because the wide loads of the copy would wait for the narrow stores that built the
    /// node. This wait would take a twelfth of the time of a packet-hop (one packet carried over
    /// one link).
    #[inline]
    pub(super) fn add(&mut self, when: Appointment, number: u32) -> u32 {
        if self.free as usize >= self.nodes.len() {
            self.grow();
        }
        let place = self.free;
        let node = &mut self.nodes[place as usize];
        self.free = node.next;
        (node.when, node.number, node.next) = (when, number, NONE);
        place
    }

    /// Makes a place for a node and puts the place on the free list, which must be empty.
    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        self.free = u32::try_from(self.nodes.len()).expect("fewer than 2^32 appointments");
        self.nodes.push(Node { when: Appointment::default(), number: 0, next: NONE });
    }

    /// Frees the place of a node that is in no list any more.
    #[inline]
    pub(super) fn remove(&mut self, place: u32) {
        self.link(place, self.free);
        self.free = place;
    }

    #[inline]
    pub(super) fn get(&self, place: u32) -> &Node {
        &self.nodes[place as usize]
    }

    /// Lets the node at `next` follow the node at `place`. Returns the node that followed the node
    /// at `place` before.
    #[inline]
    pub(super) fn link(&mut self, place: u32, next: u32) -> u32 {
        mem::replace(&mut self.nodes[place as usize].next, next)
    }
}
