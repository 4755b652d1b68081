//! The frames in a drop-tail queue. The departure of each frame is fixed when the frame enters.

use crate::ring::Ring;
use crate::units::Time;

/// The limit of a queue. The frame in transmission counts, as in RFC 2416's "three buffers" and
/// ns-2's DropTail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// At most this many frames.
    Packets(u32),
    /// At most this many octets.
    Bytes(u64),
    /// No limit.
    Unlimited,
}

impl QueueLimit {
    /// Whether a queue that holds this many frames and octets has room for one more frame of `size`
    /// octets.
    #[inline]
    pub(super) fn admits(self, (packets, bytes): (u32, u64), size: u32) -> bool {
        match self {
            Self::Packets(limit) => packets < limit,
            Self::Bytes(limit) => bytes + u64::from(size) <= limit,
            Self::Unlimited => true,
        }
    }
}

/// The frames queued or in transmission, each with the instant of its departure and its octets.
#[derive(Debug)]
pub(super) struct Backlog {
    limit: QueueLimit,
    frames: Ring<(Time, u32)>,
    bytes: u64,
}

impl Backlog {
    pub(super) fn new(limit: QueueLimit) -> Self {
        Self { limit, frames: Ring::default(), bytes: 0 }
    }

    /// The departure and the size of the frame that leaves next.
    #[inline]
    pub(super) fn next(&self) -> Option<(Time, u32)> {
        self.frames.first().copied()
    }

    /// Removes the frame that leaves next.
    #[inline]
    pub(super) fn remove_next(&mut self) {
        if let Some((_, size)) = self.frames.pop() {
            self.bytes -= u64::from(size);
        }
    }

    /// Whether there is room for a frame of `size` octets.
    #[inline]
    pub(super) fn admits(&self, size: u32) -> bool {
        self.limit.admits(self.held(), size)
    }

    #[inline(always)]
    pub(super) fn add(&mut self, depart: Time, size: u32) {
        self.frames.push((depart, size));
        self.bytes += u64::from(size);
    }

    /// The numbers of frames and octets held.
    #[inline]
    pub(super) fn held(&self) -> (u32, u64) {
        (self.frames.len(), self.bytes)
    }
}
