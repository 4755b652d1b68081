//! Generic receive offload (GRO): segments that come back to back are taken as one, and so are
//! acknowledged together.

use crate::segment::{Flags, Segment};
use crate::units::Time;

/// The most octets that an IP packet has.
const PACKET_MAX: u32 = 65_535;

/// Data segments that arrived and wait for others that continue them, as one segment.
///
/// As Linux's `tcp_gro_receive` has it, segments are taken together only if one continues the
/// other, with the same acknowledgment, timestamps, congestion mark and length; the last may be
/// shorter. One with PSH or FIN, one that is shorter, and 64 KiB end the wait. The kernel merges
/// what it finds in one poll of the device; here a poll takes what arrives within a fixed time
/// after the first.
#[derive(Debug, Default)]
pub(super) struct Merging {
    /// The waiting segment; without payload nothing waits.
    held: Segment,
    /// Octets of payload in each of the segments.
    full: u16,
    /// Until when it waits.
    until: Time,
}

impl Merging {
    /// Whether nothing waits.
    pub(super) fn is_empty(&self) -> bool {
        self.held.len == 0
    }

    /// Until when the segment waits; [`Time::NEVER`] if none waits.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        if self.is_empty() { Time::NEVER } else { self.until }
    }

    /// A segment begins to wait.
    pub(super) fn begin(&mut self, segment: &Segment, until: Time) {
        (self.held, self.full, self.until) = (*segment, segment.len, until);
    }

    /// Whether `segment` continues the waiting segment and may be merged with it.
    pub(super) fn is_continued_by(&self, segment: &Segment) -> bool {
        let held = &self.held;
        !self.is_empty()
            && can_wait(segment)
            && segment.seq == held.seq.wrapping_add(held.len.into())
            && segment.ack == held.ack
            && segment.timestamps() == held.timestamps()
            && segment.ecn == held.ecn
            && segment.len <= self.full
            && u32::from(held.size_bytes) + u32::from(segment.len) <= PACKET_MAX
    }

    /// Appends `segment` to the waiting segment.
    pub(super) fn append(&mut self, segment: &Segment) {
        self.held.len += segment.len;
        self.held.size_bytes += segment.len;
        self.held.flags = self.held.flags.with(segment.flags);
    }

    /// Takes out the waiting segment, with the octets of payload in each of its segments.
    pub(super) fn take(&mut self) -> Option<(Segment, u16)> {
        let Self { held, full, .. } = core::mem::take(self);
        (held.len > 0).then_some((held, full))
    }

    /// Whether no further segment may follow `last`.
    pub(super) fn is_complete(&self, last: &Segment) -> bool {
        last.len < self.full || last.flags.without(Flags::ACK) != Flags::default()
    }
}

/// Whether a segment may be taken together with others: it has data, and no options but timestamps.
pub(super) fn can_wait(segment: &Segment) -> bool {
    let flags = segment.flags.without(Flags::PSH).without(Flags::FIN);
    flags == Flags::ACK && segment.len > 0 && segment.is_bare(segment.timestamps().is_some())
}
