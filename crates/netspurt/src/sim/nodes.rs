//! Appointments as nodes of linked lists.

use crate::stage::Appointment;

/// log2 of a block's width in nanoseconds.
pub(super) const BLOCK: u32 = 24;
/// No node.
pub(super) const NONE: u32 = u32::MAX;

/// An appointment in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    pub(super) when: Appointment,
    pub(super) number: u32,
    pub(super) next: u32,
}

impl Node {
    /// The block it is due in.
    #[inline]
    pub(super) fn block(&self) -> u64 {
        self.when.at.as_nanos() >> BLOCK
    }
}

/// The nodes of all lists.
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

    #[inline]
    pub(super) fn add(&mut self, node: Node) -> u32 {
        let place = self.free;
        let Some(slot) = self.nodes.get_mut(place as usize) else { return self.grow(node) };
        self.free = slot.next;
        *slot = node;
        place
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self, node: Node) -> u32 {
        self.nodes.push(node);
        u32::try_from(self.nodes.len() - 1).expect("fewer than 2^32 appointments")
    }

    #[inline]
    pub(super) fn remove(&mut self, place: u32) {
        self.link(place, self.free);
        self.free = place;
    }

    #[inline]
    pub(super) fn get(&self, place: u32) -> &Node {
        &self.nodes[place as usize]
    }

    #[inline]
    pub(super) fn link(&mut self, place: u32, next: u32) {
        self.nodes[place as usize].next = next;
    }
}
