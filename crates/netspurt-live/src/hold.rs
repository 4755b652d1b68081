//! Keeps the octets of packets that are on the path.
//!
//! The segments of an end have increasing numbers, so the packet of a segment is found by an index.
//! Short packets are copied. Long packets stay in the buffers in which they were received.

use std::collections::VecDeque;

use crate::offload::{SegmentRun, Shape, complete};
use crate::sys::Batch;
use netspurt::ids::TransmissionId;

/// Packets of at most this many octets are copied.
const SHORT_PACKET_BYTES_MAX: usize = 2048;

/// A packet that is kept: one segment, or many segments under one header.
#[derive(Debug, Default)]
pub struct Held {
    room: Vec<u8>,
    start: usize,
    end: usize,
    /// The number of the packet's segments that are not released yet.
    users: usize,
    /// The work that the kernel left to the device: to divide the packet into segments, and to
    /// complete its checksum.
    pub shape: Shape,
    /// The number of octets of the packet's IP and TCP headers. It is 0 if `offload::header_bytes`
    /// returns `None` for the packet.
    pub headers: usize,
}

impl Held {
    /// The octets of the packet, starting at the IP header.
    pub fn octets(&self) -> &[u8] {
        &self.room[self.start..self.end]
    }
}

/// The packet that holds a segment, and the number of the segment in this packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    packet: u32,
    /// The segment's number in the packet, from 0.
    pub part: u32,
}

/// The handles of one end's segments, in the order of the segments' numbers.
#[derive(Debug, Default)]
struct HandleRing {
    /// The number of the segment to which the first handle belongs.
    first: u64,
    handles: VecDeque<Option<Handle>>,
}

/// The octets of all packets that real hosts sent and that are on the path.
#[derive(Debug, Default)]
pub struct Hold {
    packets: Vec<Held>,
    /// The free indices of `packets`. The field `short` has the indices of buffers for short
    /// packets, and the field `long` has the indices of buffers for long packets.
    short: Vec<u32>,
    long: Vec<u32>,
    rings: Vec<HandleRing>,
    /// True if a packet may leave the path more than once, because a link fragments or duplicates
    /// it, or a shim retransmits it. A shim is a timer at the edge of a host. If this is true, no
    /// packet is released.
    pub keeps: bool,
    /// A buffer in which a packet is assembled.
    pub scratch: Vec<u8>,
}

impl Hold {
    /// Keeps packet `index` of `batch`. The packet's IP header begins at `start`. The packet has
    /// `count` segments, and their ids begin with `first`.
    pub fn take(
        &mut self,
        batch: &mut Batch,
        index: usize,
        start: usize,
        shape: Shape,
        (first, count): (TransmissionId, usize),
    ) {
        let octets = batch.packet(index).bytes;
        let (end, headers) = (octets.len(), crate::offload::header_bytes(&octets[start..]));
        let place = if end <= SHORT_PACKET_BYTES_MAX {
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
        let at = first.packet();
        if ring.handles.is_empty() {
            ring.first = at;
        }
        let gap = usize::try_from(at - ring.first).unwrap_or(usize::MAX);
        ring.handles.resize(gap, None);
        let parts = 0..u32::try_from(count).unwrap_or(u32::MAX);
        ring.handles.extend(parts.map(|part| Some(Handle { packet: place, part })));
    }

    fn ring(&mut self, id: TransmissionId) -> &mut HandleRing {
        let end = id.sender().index();
        if self.rings.len() <= end {
            self.rings.resize_with(end + 1, HandleRing::default);
        }
        &mut self.rings[end]
    }

    /// Returns a free index of `packets`. The buffer at this index is for a short packet if `short`
    /// is true, and otherwise for a long packet.
    fn place(&mut self, short: bool) -> u32 {
        let free = if short { &mut self.short } else { &mut self.long };
        free.pop().unwrap_or_else(|| {
            self.packets.push(Held::default());
            u32::try_from(self.packets.len() - 1).expect("fewer than 2^32 packets")
        })
    }

    /// The handle of the segment with this id. `None` if the segment was released or was never kept
    /// here.
    pub fn handle(&self, id: TransmissionId) -> Option<Handle> {
        let ring = self.rings.get(id.sender().index())?;
        let place = usize::try_from(id.packet().checked_sub(ring.first)?).ok()?;
        *ring.handles.get(place)?
    }

    /// The packet of a handle.
    pub fn packet(&self, handle: Handle) -> &Held {
        &self.packets[handle.packet as usize]
    }

    /// Returns `count` consecutive segments of a packet that has several segments under one header.
    /// The argument `first` is the handle of the first of these segments.
    pub fn run(&self, first: Handle, count: usize) -> SegmentRun<'_> {
        let held = self.packet(first);
        SegmentRun {
            packet: held.octets(),
            headers: held.headers,
            segment_bytes: held.shape.segment_bytes,
            first: first.part as usize,
            count,
        }
    }

    /// Appends a segment's octets to the buffer `out` as they are on a wire, with complete
    /// checksums.
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

    /// Whether the segment of the handle `next` follows the segment of `handle` in the same packet.
    pub fn follows(handle: Handle, next: Handle) -> bool {
        handle.packet == next.packet && handle.part + 1 == next.part
    }

    /// Releases the segment with this id after it has left the path or was dropped.
    pub fn release(&mut self, id: TransmissionId) {
        if self.keeps {
            return;
        }
        let Some(Handle { packet, .. }) = self.handle(id) else { return };
        let ring = self.ring(id);
        let place = usize::try_from(id.packet() - ring.first).unwrap_or(0);
        ring.handles[place] = None;
        while let Some(None) = ring.handles.front() {
            ring.handles.pop_front();
            ring.first += 1;
        }
        let held = &mut self.packets[packet as usize];
        held.users -= 1;
        if held.users == 0 {
            let free =
                if held.end <= SHORT_PACKET_BYTES_MAX { &mut self.short } else { &mut self.long };
            free.push(packet);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netspurt::ids::EndId;
    use netspurt::segment::Segment;
    use netspurt::wire::{Packet, encode};
    use proptest::prelude::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixDatagram;

    /// Makes a packet with `len` octets of payload.
    fn packet(len: u16) -> Vec<u8> {
        let segment = Segment { seq: len.into(), len, ..Segment::default() };
        let (source, destination) =
            ("10.0.0.1:10000".parse().unwrap(), "10.0.0.2:5001".parse().unwrap());
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut bytes);
        bytes
    }

    /// The id of packet number `5 + n` of end 1.
    fn id(n: u64) -> TransmissionId {
        TransmissionId::of_packet(EndId::at(1), 5 + n)
    }

    /// Receives packets one by one, and keeps them under ids of end 1. The numbers of the ids start
    /// at 5. Each entry of `packets` has a packet's octets of payload and its number of segments.
    fn held(hold: &mut Hold, packets: &[(u16, usize)]) {
        let (near, far) = UnixDatagram::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let mut batch = Batch::new(20_000);
        let mut place = 0;
        for (len, count) in packets {
            near.send(&packet(*len)).unwrap();
            assert!(!batch.read(far.as_fd()).unwrap());
            let shape = Shape { segment_bytes: 1000, ..Shape::WHOLE };
            let shape = if *count > 1 { shape } else { Shape::WHOLE };
            hold.take(&mut batch, 0, 0, shape, (id(place), *count));
            place += *count as u64;
        }
    }

    #[test]
    fn packets_are_found_by_their_ids_until_they_are_released() {
        let mut hold = Hold::default();
        held(&mut hold, &[(100, 1), (9500, 10), (700, 1)]);
        let of = |hold: &Hold, n| hold.handle(id(n)).map(|h| hold.packet(h).octets().to_vec());
        assert_eq!(of(&hold, 0), Some(packet(100)));
        assert_eq!(of(&hold, 11), Some(packet(700)));
        let parts = [1, 2, 10].map(|n| hold.handle(id(n)).unwrap());
        assert!(Hold::follows(parts[0], parts[1]) && !Hold::follows(parts[0], parts[2]));
        for n in [11, 4, 0, 1, 2, 3, 5, 6, 7, 8, 9] {
            hold.release(id(n));
            assert_eq!(of(&hold, n), None);
            assert_eq!(of(&hold, 10), Some(packet(9500)), "the last segment is still on the path");
        }
        hold.release(id(10));
        assert_eq!(
            (hold.handle(id(10)), hold.handle(id(12)), hold.handle(TransmissionId::from_bits(3))),
            (None, None, None)
        );
        assert_eq!((hold.short.len(), hold.long.len()), (2, 1));
    }

    #[test]
    fn places_are_used_again_if_no_packet_may_leave_twice() {
        let mut hold = Hold::default();
        held(&mut hold, &[(100, 1)]);
        hold.release(id(0));
        held(&mut hold, &[(200, 1)]);
        assert_eq!(hold.packets.len(), 1);
        hold.keeps = true;
        hold.release(id(0));
        let handle = hold.handle(id(0)).unwrap();
        assert_eq!(hold.packet(handle).octets(), packet(200));
        let mut whole = Vec::new();
        hold.write(handle, &mut whole);
        assert_eq!(whole, packet(200));
    }

    #[test]
    fn each_segment_of_a_large_packet_is_written_with_headers_of_its_own() {
        let mut hold = Hold::default();
        held(&mut hold, &[(2500, 3)]);
        let mut carried = 0;
        for (n, len) in [(0, 1000), (1, 1000), (2, 500)] {
            let handle = hold.handle(id(n)).unwrap();
            assert_eq!(u64::from(handle.part), n);
            let mut out = b"ahead".to_vec();
            hold.write(handle, &mut out);
            assert_eq!(&out[..5], b"ahead", "earlier octets stay");
            let mut own = out[5..].to_vec();
            complete(&mut own);
            let read = netspurt::wire::decode(&own, netspurt::wire::Checks::Whole).unwrap();
            assert_eq!((read.payload.len(), read.segment.seq), (len, 2500 + carried));
            carried += len as u32;
        }
    }

    #[test]
    fn ids_that_were_skipped_are_not_held() {
        let mut hold = Hold::default();
        let (near, far) = UnixDatagram::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let mut batch = Batch::new(2000);
        for n in [0, 3] {
            near.send(&packet(10 + n)).unwrap();
            batch.read(far.as_fd()).unwrap();
            hold.take(&mut batch, 0, 0, Shape::WHOLE, (id(n.into()), 1));
        }
        let held = [0, 1, 2, 3, 4].map(|n| hold.handle(id(n)).is_some());
        assert_eq!(held, [true, false, false, true, false]);
        hold.release(id(1));
        hold.release(id(0));
        assert!(hold.handle(id(3)).is_some(), "the packet after the gap is still held");
    }

    proptest! {
        #[test]
        fn every_packet_keeps_its_octets_in_any_order_of_release(
            lengths in prop::collection::vec(1_u16..4000, 1..12),
            order in prop::collection::vec(any::<prop::sample::Index>(), 0..24)
        ) {
            let mut hold = Hold::default();
            let packets: Vec<(u16, usize)> = lengths.iter().map(|len| (*len, 1)).collect();
            held(&mut hold, &packets);
            let mut kept = vec![true; lengths.len()];
            for index in order {
                let n = index.index(lengths.len());
                hold.release(id(n as u64));
                kept[n] = false;
                for (n, len) in lengths.iter().enumerate() {
                    let found = hold.handle(id(n as u64));
                    let octets = found.map(|handle| hold.packet(handle).octets().to_vec());
                    prop_assert_eq!(octets, kept[n].then(|| packet(*len)));
                }
            }
            let free = hold.short.len() + hold.long.len();
            prop_assert_eq!(free, kept.iter().filter(|kept| !**kept).count());
        }
    }
}
