//! Prepares packets for delivery to a host. One call sends many packets.
//!
//! A packet of a host with segmentation offload may have several segments. If some of these
//! segments leave the path directly after each other, they are joined under one header again.

use std::ops::Range;

use netspurt::segment::{Ecn, Segment};

use crate::hold::{Handle, Hold};
use crate::offload::{PREFIX_BYTES_MAX, Shape};
use crate::sandbox::PacketPort;
use crate::sys::{BATCH, Outbox, OutgoingPacket};

/// Packets that are prepared for delivery.
#[derive(Default)]
pub struct Post {
    outbox: Outbox,
    prepared: Vec<PreparedPacket>,
    /// The octets of the headers and packets that [`Post::pack`] wrote.
    made: Vec<u8>,
    /// A buffer for one packet that cannot be sent as it was received.
    whole: Vec<u8>,
    /// A buffer for the segments of a packet that was received.
    pub segments: Vec<Segment>,
}

/// A packet that is to be delivered.
struct PreparedPacket {
    prefix: [u8; PREFIX_BYTES_MAX],
    prefix_bytes: usize,
    head: PacketHead,
    /// The octets that follow the headers: a range of a packet in the [`Hold`], the store of
    /// received packets.
    body: Option<(Handle, Range<usize>)>,
    /// The number of segments in the packet.
    count: usize,
}

/// Where the beginning of a packet is stored.
enum PacketHead {
    /// The packet is sent as it was received.
    Held(Handle),
    /// The beginning is in the field `made` of the [`Post`].
    Made(Range<usize>),
}

/// Whether the links changed nothing in a segment: the segment is not a fragment and has no mark of
/// a congested queue. A segment that was marked before it entered the path also counts as changed.
pub fn is_unchanged(segment: &Segment) -> bool {
    segment.part.is_whole() && segment.ecn != Ecn::CE
}

impl Post {
    /// Packs `segments` into packets for `port`. There are at most as many packets as one call can
    /// send. If a segment cannot be sent as it was received, the function `write` is called. This
    /// function must replace the contents of its buffer by the octets of the segment.
    pub fn pack(
        &mut self,
        port: &PacketPort,
        hold: &Hold,
        segments: impl Iterator<Item = Segment>,
        write: &mut dyn FnMut(&Segment, &mut Vec<u8>),
    ) {
        self.prepared.clear();
        self.made.clear();
        let mut segments = segments.peekable();
        while self.prepared.len() < BATCH
            && let Some(segment) = segments.next()
        {
            let mut count = 1;
            let handle = hold.handle(segment.id);
            let packet = match handle.map(|handle| (handle, hold.packet(handle))) {
                Some((handle, held)) if held.shape.segment_bytes > 0 && segment.part.is_whole() => {
                    let mut last = handle;
                    while let Some(next) = segments.peek()
                        && next.part.is_whole()
                        && next.ecn == segment.ecn
                        && let Some(next) = hold.handle(next.id)
                        && Hold::follows(last, next)
                    {
                        (last, count) = (next, count + 1);
                        segments.next();
                    }
                    self.joined(port, hold, handle, (count, segment.ecn == Ecn::CE))
                }
                Some((handle, held)) if is_unchanged(&segment) => {
                    let (head, octets) = (PacketHead::Held(handle), held.octets());
                    PreparedPacket::new(port, held.shape, octets, (head, None, count))
                }
                _ => {
                    write(&segment, &mut self.whole);
                    let start = self.made.len();
                    self.made.extend_from_slice(&self.whole);
                    let head = PacketHead::Made(start..self.made.len());
                    PreparedPacket::new(port, Shape::WHOLE, &self.whole, (head, None, count))
                }
            };
            self.prepared.push(packet);
        }
    }

    /// Joins `count` segments of one packet, starting at the segment `first`, under one header.
    fn joined(
        &mut self,
        port: &PacketPort,
        hold: &Hold,
        first: Handle,
        (count, marked): (usize, bool),
    ) -> PreparedPacket {
        let run = hold.run(first, count);
        let start = self.made.len();
        run.write_headers(marked, &mut self.made);
        let segment_bytes = if count > 1 { run.segment_bytes } else { 0 };
        let shape = Shape { segment_bytes, partial: true, foreign: false };
        let head = PacketHead::Made(start..self.made.len());
        let body = Some((first, run.payload()));
        PreparedPacket::new(port, shape, &self.made[start..], (head, body, count))
    }

    /// Sends the packed packets. Returns the number of segments that were accepted or refused, and
    /// the number of refused segments among them.
    pub fn send(&mut self, port: &PacketPort, hold: &Hold) -> (usize, u64) {
        let packets: Vec<OutgoingPacket<'_>> =
            self.prepared
                .iter()
                .map(|packet| OutgoingPacket {
                    prefix: &packet.prefix[..packet.prefix_bytes],
                    head: match &packet.head {
                        PacketHead::Held(handle) => hold.packet(*handle).octets(),
                        PacketHead::Made(range) => &self.made[range.clone()],
                    },
                    body: packet.body.as_ref().map_or(&[], |(handle, range)| {
                        &hold.packet(*handle).octets()[range.clone()]
                    }),
                })
                .collect();
        let taken = port.send(&mut self.outbox, &packets);
        let sent = taken.as_ref().map_or(1, |taken| *taken);
        let segments = self.prepared[..sent].iter().map(|packet| packet.count).sum();
        (segments, if taken.is_err() { segments as u64 } else { 0 })
    }
}

impl PreparedPacket {
    fn new(
        port: &PacketPort,
        shape: Shape,
        headers: &[u8],
        (head, body, count): (PacketHead, Option<(Handle, Range<usize>)>, usize),
    ) -> Self {
        let mut prefix = [0; PREFIX_BYTES_MAX];
        let prefix_bytes = port.write_prefix(shape, headers, &mut prefix);
        Self { prefix, prefix_bytes, head, body, count }
    }
}

#[cfg(test)]
mod tests;
