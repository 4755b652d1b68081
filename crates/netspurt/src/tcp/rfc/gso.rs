//! The packet for segmentation offload (GSO) that is being sent, segment by segment.

use crate::packed::packed;

/// The place of a segment in its packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketPlace {
    /// Whether another segment of the packet follows.
    pub(super) goes_on: bool,
    /// Whether it is the last of several: it has PSH.
    pub(super) is_last: bool,
}

/// The packet whose segments are being sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GsoPacket {
    /// The first octet of its next segment.
    next: u64,
    /// The octet after its last one.
    end: u64,
    /// Whether it has more than one segment.
    is_long: bool,
}

packed!(GsoPacket { next, end, is_long });

impl GsoPacket {
    /// Octets that it still has from `seq` on.
    pub(super) fn rest_from(&self, seq: u64) -> u64 {
        if seq == self.next { self.end.saturating_sub(seq) } else { 0 }
    }

    /// Returns the place of a segment of `len` octets from `seq` on, which is sent as the next one of
    /// the packet, or else as the first one of a packet that ends at `end`.
    pub(super) fn step(&mut self, seq: u64, len: u64, end: impl FnOnce() -> u64) -> PacketPlace {
        let next = seq + len;
        if seq != self.next || seq >= self.end {
            let end = end();
            (self.end, self.is_long) = (end, end > next);
        }
        self.next = next;
        let goes_on = next < self.end;
        PacketPlace { goes_on, is_last: self.is_long && !goes_on }
    }
}
