//! The octets of packets on their way.
//!
//! Packets of an end are numbered one after the other, so that they are found by counting. What
//! is short is copied, what is long keeps the room it was received in.

use std::collections::VecDeque;

use crate::labels::{count_of, end_of};
use crate::offload::{Run, Shape, complete};
use crate::sys::Batch;

/// Octets of what is copied at most.
const SHORT: usize = 2048;

/// A packet that is held: one segment, or many under one header.
#[derive(Debug, Default)]
pub struct Held {
    room: Vec<u8>,
    start: usize,
    end: usize,
    /// Segments of it that are still on their way.
    users: usize,
    /// What the kernel left to be done.
    pub shape: Shape,
    /// Octets of its headers, where it is to be cut.
    pub headers: usize,
}

impl Held {
    /// From its IP header on.
    pub fn octets(&self) -> &[u8] {
        &self.room[self.start..self.end]
    }
}

/// A segment's packet, and which part of it the segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    packet: u32,
    /// Its number among the segments of the packet.
    pub part: u32,
}

/// The packets of one end.
#[derive(Debug, Default)]
struct Ring {
    /// The count of the first.
    first: u64,
    handles: VecDeque<Option<Handle>>,
}

/// All packets on their way.
#[derive(Debug, Default)]
pub struct Hold {
    packets: Vec<Held>,
    /// Places in `packets` that are free, with rooms for what is short and for what is long.
    short: Vec<u32>,
    long: Vec<u32>,
    rings: Vec<Ring>,
    /// Whether a packet may leave more than once, as a copy or in fragments; then all are kept.
    pub keeps: bool,
    /// Room for a packet that is put together.
    pub scratch: Vec<u8>,
}

impl Hold {
    /// Holds packet `index` of `batch`, whose octets begin at `start` and which is the segments
    /// with the ids from `first` on, `count` of them.
    pub fn take(
        &mut self,
        batch: &mut Batch,
        index: usize,
        start: usize,
        shape: Shape,
        (first, count): (u64, usize),
    ) {
        let octets = batch.packet(index).bytes;
        let (end, headers) = (octets.len(), crate::offload::header_bytes(&octets[start..]));
        let place = if end <= SHORT {
            let place = self.place(true);
            let room = &mut self.packets[place as usize].room;
            room.clear();
            room.extend_from_slice(octets);
            place
        } else {
            let place = self.place(false);
            let room = &mut self.packets[place as usize].room;
            room.resize(batch.room_bytes(), 0);
            batch.exchange(index, room);
            place
        };
        let held = &mut self.packets[place as usize];
        (held.start, held.end, held.users) = (start, end, count);
        (held.shape, held.headers) = (shape, headers.unwrap_or(0));
        let ring = self.ring(first);
        let at = count_of(first);
        if ring.handles.is_empty() {
            ring.first = at;
        }
        let gap = usize::try_from(at - ring.first).unwrap_or(usize::MAX);
        ring.handles.resize(gap, None);
        let parts = 0..u32::try_from(count).unwrap_or(u32::MAX);
        ring.handles.extend(parts.map(|part| Some(Handle { packet: place, part })));
    }

    fn ring(&mut self, id: u64) -> &mut Ring {
        let end = end_of(id) as usize;
        if self.rings.len() <= end {
            self.rings.resize_with(end + 1, Ring::default);
        }
        &mut self.rings[end]
    }

    /// A free place.
    fn place(&mut self, short: bool) -> u32 {
        let free = if short { &mut self.short } else { &mut self.long };
        free.pop().unwrap_or_else(|| {
            self.packets.push(Held::default());
            u32::try_from(self.packets.len() - 1).expect("fewer than 2^32 packets")
        })
    }

    /// What is held of the segment with this id.
    pub fn handle(&self, id: u64) -> Option<Handle> {
        let ring = self.rings.get(end_of(id) as usize)?;
        let place = usize::try_from(count_of(id).checked_sub(ring.first)?).ok()?;
        *ring.handles.get(place)?
    }

    /// The packet that a handle leads to.
    pub fn packet(&self, handle: Handle) -> &Held {
        &self.packets[handle.packet as usize]
    }

    /// The `count` segments from `first` on of a packet that is to be cut.
    pub fn run(&self, first: Handle, count: usize) -> Run<'_> {
        let held = self.packet(first);
        Run {
            packet: held.octets(),
            headers: held.headers,
            segment_bytes: held.shape.segment_bytes,
            first: first.part as usize,
            count,
        }
    }

    /// Puts a segment's octets behind `out` as a wire would have them, its checksums whole.
    pub fn write(&self, handle: Handle, out: &mut Vec<u8>) {
        let start = out.len();
        let held = self.packet(handle);
        if held.shape.segment_bytes > 0 {
            let run = self.run(handle, 1);
            run.write_headers(false, out);
            out.extend_from_slice(&run.packet[run.payload()]);
        } else {
            out.extend_from_slice(held.octets());
        }
        if held.shape.partial {
            complete(&mut out[start..]);
        }
    }

    /// Whether `next` is the segment behind `handle`'s in the same packet.
    pub fn follows(handle: Handle, next: Handle) -> bool {
        handle.packet == next.packet && handle.part + 1 == next.part
    }

    /// The segment with this id is on its way no longer.
    pub fn release(&mut self, id: u64) {
        if self.keeps {
            return;
        }
        let Some(Handle { packet, .. }) = self.handle(id) else { return };
        let ring = self.ring(id);
        let place = usize::try_from(count_of(id) - ring.first).unwrap_or(0);
        ring.handles[place] = None;
        while let Some(None) = ring.handles.front() {
            ring.handles.pop_front();
            ring.first += 1;
        }
        let held = &mut self.packets[packet as usize];
        held.users -= 1;
        if held.users == 0 {
            let free = if held.end <= SHORT { &mut self.short } else { &mut self.long };
            free.push(packet);
        }
    }
}
