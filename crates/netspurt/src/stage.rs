//! The seam everything that handles frames implements: three verbs, and time is a parameter.

use core::ops::Range;

use crate::event::Events;
use crate::ids::{EndId, TransmissionId};
use crate::segment::{Ecn, Packetization, Part, Segment};
use crate::units::Time;

/// One of a stage's doors. A link has one way in and one way out; a path has two ends.
pub type Port = usize;

/// What links know of the things they carry. Simulated segments and handles to live bytes are
/// both frames; link code cannot tell which it moves.
pub trait Frame: Copy {
    /// Octets of the IP datagram, before any framing of the link.
    fn size_bytes(&self) -> u32;
    /// Unique to this transmission; a copy made by a link keeps it.
    fn id(&self) -> TransmissionId;
    /// The end the frame is addressed to.
    fn dest(&self) -> EndId;
    /// Octets of payload.
    fn payload_bytes(&self) -> u16;
    /// The packet's number in its flow, whose octets are cut into packets so; from 1, where it has
    /// one.
    fn packet_number(&self, packetization: Packetization) -> Option<u64>;
    /// A number that all frames of one flow in one direction share and few others have.
    fn flow_hash(&self) -> u64;
    /// What its IP header says of congestion.
    fn ecn(&self) -> Ecn;
    /// The same frame with the mark of a congested queue (RFC 3168 §5).
    #[must_use]
    fn with_mark(self) -> Self;
    /// Which part of its datagram it is.
    fn part(&self) -> Part;
    /// The fragment that carries the octets `payload` of what lies behind the frame's own IP
    /// header, with a header of its own and the frame's id.
    #[must_use]
    fn fragment(self, payload: Range<u32>) -> Self;
    /// The whole datagram, of `size_bytes` octets, that the frame is a fragment of.
    #[must_use]
    fn reassembled(self, size_bytes: u32) -> Self;
}

/// When a stage has something to do, and what comes first among things at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Appointment {
    /// The instant.
    pub at: Time,
    /// Since when it is settled.
    pub since: Time,
    /// What it was made by: when that was due, and since when that was settled.
    pub by: (Time, Time),
}

/// Anything frames pass through or end in.
///
/// A stage acts at instants of its own choosing: `next_wakeup` names the earliest, and whoever
/// drives it calls `pop` then, or later. What comes out carries the *logical* time of its
/// departure, and the next stage is pushed with that time, never with the driver's. So the same
/// stages run in virtual time and against a wall clock, and do the same to the same arrivals.
pub trait Stage<F: Frame> {
    /// Takes `frame` in at `port` at the instant `now`.
    ///
    /// Instants never fall from call to call. A departure due at `now` precedes this arrival.
    fn push(&mut self, now: Time, port: Port, frame: F, events: &mut Events<F>);

    /// The earliest instant at which `pop` has something to do.
    fn next_wakeup(&self) -> Option<Time>;

    /// Acts on what is due at `now`: the next frame out, its logical departure and its port.
    /// `None` once nothing more is due.
    fn pop(&mut self, now: Time, events: &mut Events<F>) -> Option<(Time, Port, F)>;
}

/// A stage that frames end in.
pub trait Host<F: Frame>: Stage<F> {
    /// Looks at a frame that reaches the host at `now`, before it is pushed: what is to be pushed
    /// instead, if anything. That is the frame, except at a host that puts fragments together.
    #[inline]
    fn gather(&mut self, now: Time, frame: F, events: &mut Events<F>) -> Option<F> {
        let _ = (now, events);
        Some(frame)
    }
}

impl Frame for crate::segment::Segment {
    fn size_bytes(&self) -> u32 {
        u32::from(self.size_bytes)
    }
    fn id(&self) -> TransmissionId {
        self.id
    }
    fn dest(&self) -> EndId {
        self.dest
    }
    fn payload_bytes(&self) -> u16 {
        self.len
    }
    fn packet_number(&self, packetization: Packetization) -> Option<u64> {
        Segment::packet_number(self, packetization)
    }
    fn flow_hash(&self) -> u64 {
        u64::from(self.dest.place())
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn with_mark(mut self) -> Self {
        self.ecn = Ecn::CE;
        self
    }
    fn part(&self) -> Part {
        self.part
    }
    fn fragment(self, payload: Range<u32>) -> Self {
        Segment::fragment(self, payload)
    }
    fn reassembled(self, size_bytes: u32) -> Self {
        Segment::reassembled(self, size_bytes)
    }
}
