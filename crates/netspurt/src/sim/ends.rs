//! The hosts at both ends of the flows that currently exist in a world (a running network).

use std::ops::{Index, IndexMut};

use crate::ids::{EndId, FlowId, Side};
use crate::units::Time;

use super::FlowSlots;
use super::population::FlowEnds;

/// One end of a flow: its host, its node, and its entries in the event queue.
#[derive(Debug)]
pub(super) struct FlowEnd<E> {
    /// The host. The value is `None` after the flow was removed.
    host: Option<E>,
    pub(super) flow: FlowId,
    /// The node of this end.
    pub(super) home: u32,
    /// The node of the other end.
    pub(super) peer_home: u32,
    /// The link by which frames for the other end leave. The value is `None` if there is no route.
    pub(super) exit: Option<u32>,
    /// The number of entries of this end in the event queue. It includes stale entries, which an
    /// entry for an earlier instant has replaced.
    entries: u32,
    /// Whether the flow is removed when it is over.
    pub(super) is_removed_when_over: bool,
    /// The instant of the end's valid entry in the event queue. The value is [`Time::NEVER`]
    /// without an entry.
    pub(super) entered: Time,
    /// The next wake-up of the host, and when this wake-up was scheduled.
    pub(super) appointed: (Time, Time),
}

/// The message of the panic if a host is missing.
const GONE: &str = "a flow that was not removed has both its hosts";

impl<E> FlowEnd<E> {
    /// Makes an end of `flow` without an entry in the event queue. The frames of its host leave by
    /// the link `exit`, towards the node `peer_home`.
    fn new(
        (flow, is_removed_when_over): (FlowId, bool),
        (host, home): (E, u32),
        (exit, peer_home): (Option<u32>, u32),
    ) -> Self {
        Self {
            host: Some(host),
            flow,
            home,
            peer_home,
            exit,
            entries: 0,
            is_removed_when_over,
            entered: Time::NEVER,
            appointed: (Time::NEVER, Time::ZERO),
        }
    }

    #[inline]
    pub(super) fn host(&self) -> &E {
        self.host.as_ref().expect(GONE)
    }

    #[inline]
    pub(super) fn host_mut(&mut self) -> &mut E {
        self.host.as_mut().expect(GONE)
    }

    /// Notes that the event queue has a new entry of this end, for the instant `at`.
    #[inline]
    pub(super) fn enter(&mut self, at: Time) {
        self.entered = at;
        self.entries += 1;
    }
}

/// Both ends of each flow that was not removed. The index operator finds an end by its place in the
/// list.
#[derive(Debug)]
pub(super) struct Ends<E> {
    slots: FlowSlots,
    /// Both ends of each slot's flow.
    ends: Vec<FlowEnd<E>>,
}

impl<E> Ends<E> {
    /// Makes an empty list of ends.
    pub(super) fn new() -> Self {
        Self { slots: FlowSlots::default(), ends: Vec::new() }
    }

    /// Adds the ends of a flow, and returns their places. The function `exit` finds the link by
    /// which frames leave a node for another node.
    pub(super) fn admit(
        &mut self,
        (flow, is_removed_when_over): (FlowId, bool),
        ends: FlowEnds<E>,
        exit: impl Fn(u32, u32) -> Option<u32>,
    ) -> [usize; 2] {
        self.slots.claim(flow);
        let places = self.places(flow);
        let [from, to] = ends.each_ref().map(|end| end.1);
        let [first, second] = ends;
        let ends = [
            FlowEnd::new((flow, is_removed_when_over), first, (exit(from, to), to)),
            FlowEnd::new((flow, is_removed_when_over), second, (exit(to, from), from)),
        ];
        if places[0] == self.ends.len() {
            self.ends.extend(ends);
        } else {
            for (place, end) in places.into_iter().zip(ends) {
                self.ends[place] = end;
            }
        }
        places
    }

    /// The place of an end of a flow that was not removed.
    #[inline]
    pub(super) fn place(&self, end: EndId) -> usize {
        self.slots.place(end)
    }

    fn places(&self, flow: FlowId) -> [usize; 2] {
        Side::BOTH.map(|side| self.slots.place(flow.end(side)))
    }

    /// The host at an end, if its flow has started and was not removed.
    pub(super) fn find(&self, end: EndId) -> Option<&E> {
        self.slots.find(end.flow())?;
        Some(self.ends[self.place(end)].host())
    }

    /// Removes and returns the hosts of a flow if the function `idle` returns true for both hosts.
    /// The flow's slot becomes free as soon as the event queue has no entry of the flow's ends. An
    /// old entry could otherwise wake the next flow in this slot.
    #[inline(never)]
    pub(super) fn retire_if_idle(
        &mut self,
        flow: FlowId,
        idle: impl Fn(&E) -> bool,
    ) -> Option<[E; 2]> {
        let places = self.places(flow);
        if !places.iter().all(|place| idle(self.ends[*place].host())) {
            return None;
        }
        let hosts = places.map(|place| self.ends[place].host.take().expect(GONE));
        let slot = self.slots.leave(flow);
        self.free_if_empty(slot);
        Some(hosts)
    }

    /// Both hosts of a flow that was not removed.
    pub(super) fn of(&self, flow: FlowId) -> impl Iterator<Item = &E> {
        self.places(flow).into_iter().map(|place| self.ends[place].host())
    }

    /// Calls the function `act` with each of the two hosts of a flow that was not removed.
    pub(super) fn of_mut(&mut self, flow: FlowId, mut act: impl FnMut(&mut E)) {
        for place in self.places(flow) {
            act(self.ends[place].host_mut());
        }
    }

    /// Notes that an entry of the end at `place` came out of the event queue. Returns false if the
    /// flow was removed.
    #[inline]
    pub(super) fn take_entry(&mut self, place: usize) -> bool {
        let end = &mut self.ends[place];
        end.entries -= 1;
        if end.host.is_none() {
            self.free_if_empty(EndId::at(place as u32).flow().0);
            return false;
        }
        true
    }

    /// Frees a slot that its flow has left, if the event queue has no entry of the slot.
    #[cold]
    fn free_if_empty(&mut self, slot: u32) {
        let places = Side::BOTH.map(|side| FlowId(slot).end(side).index());
        if places.iter().all(|place| self.ends[*place].entries == 0) {
            self.slots.free(slot);
        }
    }

    /// Returns the hosts of the flows that were not removed, from the last place to the first. As
    /// the caller takes hosts, the iterator also frees the unused memory of the list.
    pub(super) fn into_hosts(mut self) -> impl Iterator<Item = (FlowId, [E; 2])> {
        let all = std::iter::from_fn(move || {
            let (to, from) = (self.ends.pop()?, self.ends.pop()?);
            if self.ends.len() < self.ends.capacity() / 4 * 3 {
                self.ends.shrink_to_fit();
            }
            Some((from.flow, from.host.zip(to.host)))
        });
        all.filter_map(|(flow, hosts)| hosts.map(|(from, to)| (flow, [from, to])))
    }
}

impl<E> Index<usize> for Ends<E> {
    type Output = FlowEnd<E>;

    #[inline]
    fn index(&self, place: usize) -> &FlowEnd<E> {
        &self.ends[place]
    }
}

impl<E> IndexMut<usize> for Ends<E> {
    #[inline]
    fn index_mut(&mut self, place: usize) -> &mut FlowEnd<E> {
        &mut self.ends[place]
    }
}
