//! The packet for segmentation offload (GSO) whose segments are being sent. Linux sends several
//! segments as one packet, which is cut into segments below the network stack.

use crate::packed::packed;

/// The place of a segment in its packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PacketPlace {
    /// True if another segment of the packet follows.
    pub(super) goes_on: bool,
    /// True for the last of several segments, which has PSH.
    pub(super) is_last: bool,
}

/// The packet whose segments are being sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct GsoPacket {
    /// The first octet of the packet's next segment.
    next: u64,
    /// The octet after the packet's last octet.
    end: u64,
    /// True if the packet has more than one segment.
    is_long: bool,
}

packed!(GsoPacket { next, end, is_long });

impl GsoPacket {
    /// Returns the number of octets from `seq` to the end of the packet. If the packet does not
    /// continue at `seq`, the number is 0.
    pub(super) fn rest_from(&self, seq: u64) -> u64 {
        if seq == self.next { self.end.saturating_sub(seq) } else { 0 }
    }

    /// Returns the place of a segment of `len` octets starting at `seq`. The segment is the next
    /// segment of the current packet, or the first segment of a new packet. The function `end`
    /// returns the end of a new packet.
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
