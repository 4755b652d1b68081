//! Generic receive offload (GRO): segments that arrive directly after each other are merged into
//! one segment. One ACK then acknowledges all merged segments.

use crate::segment::{Flags, Segment};
use crate::units::Time;

/// The maximum number of octets that an IP packet has.
const PACKET_MAX: u32 = 65_535;

/// Arrived data segments that were merged into one segment. The merged segment waits for segments
/// that continue it.
///
/// As in Linux (`tcp_gro_receive`), a segment is merged only if it continues the segments before
/// it, with the same acknowledgment, timestamps, congestion mark and length. The last segment may
/// be shorter. A segment with PSH or FIN, or a shorter segment, ends the wait. A segment that
/// cannot be merged also ends the wait, for example because the packet would exceed 65,535 octets.
/// The kernel merges the segments that it finds in one poll of the device. Here, a poll covers a
/// fixed time after the first segment.
#[derive(Debug, Default)]
pub(super) struct Merging {
    /// The waiting segment; if it has no payload, no segment waits.
    held: Segment,
    /// The octets of payload in each of the merged segments. The last segment may have fewer
    /// octets.
    full: u16,
    /// The end of the wait.
    until: Time,
}

impl Merging {
    /// True if no segment waits.
    pub(super) fn is_empty(&self) -> bool {
        self.held.len == 0
    }

    /// Returns the end of the wait. The result is [`Time::NEVER`] if no segment waits.
    #[inline]
    pub(super) fn deadline(&self) -> Time {
        if self.is_empty() { Time::NEVER } else { self.until }
    }

    /// Starts the wait of a segment.
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

    /// Removes and returns the waiting segment, with the octets of payload in each segment that was
    /// merged into it.
    pub(super) fn take(&mut self) -> Option<(Segment, u16)> {
        let Self { held, full, .. } = core::mem::take(self);
        (held.len > 0).then_some((held, full))
    }

    /// True if the segment `last` is the last one that may be merged.
    pub(super) fn is_complete(&self, last: &Segment) -> bool {
        last.len < self.full || last.flags.without(Flags::ACK) != Flags::default()
    }
}

/// True if a segment may be merged with other segments: it has data, no flags except ACK, PSH and
/// FIN, and no options except timestamps.
pub(super) fn can_wait(segment: &Segment) -> bool {
    let flags = segment.flags.without(Flags::PSH).without(Flags::FIN);
    flags == Flags::ACK && segment.len > 0 && segment.is_bare(segment.timestamps().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::{SackBlock, SackBlocks, Timestamps};

    /// A segment with data, and with this flag in addition to ACK.
    fn data(flag: Flags) -> Segment {
        Segment { len: 100, flags: Flags::ACK.with(flag), ..Segment::default() }
    }

    #[test]
    fn a_segment_may_be_merged_only_if_it_has_data_and_no_special_flags_or_options() {
        let mut stamped = data(Flags::ACK);
        stamped.set_timestamps(Timestamps { val: 7, ecr: 8 });
        for good in [data(Flags::ACK), stamped, data(Flags::PSH), data(Flags::FIN)] {
            assert!(can_wait(&good), "{good:?}");
        }
        let mut reporting = data(Flags::ACK);
        let mut blocks = SackBlocks::default();
        blocks.add(SackBlock { left: 1000, right: 1100 });
        reporting.set_sack(&blocks);
        let empty = Segment { flags: Flags::ACK, ..Segment::default() };
        for bad in [empty, reporting, data(Flags::ECE), data(Flags::URG), data(Flags::RST)] {
            assert!(!can_wait(&bad), "{bad:?}");
        }
    }
}
