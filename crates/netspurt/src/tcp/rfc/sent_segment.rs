//! An outstanding segment, as the scoreboard of a sender keeps it.

use crate::packed::packed_value;
use crate::segment::Cause;
use crate::units::Time;

/// An outstanding segment. SYN and FIN count as one octet each. The type has only 24 octets,
/// because the scoreboards of many connections must fit into the cache.
#[derive(Clone, Copy, Debug)]
pub(super) struct SentSegment {
    /// First octet.
    pub(super) seq: u64,
    /// When the segment was last sent.
    pub(super) at: Time,
    /// Three values in one number: the number of octets, the [turn](Self::turn) of the last
    /// transmission, and the bits `PUSHED`, `GOES_ON` and `ENDS_RECORD`.
    size: u32,
    /// The number of times that the segment was sent.
    pub(super) times: u8,
    /// Whether the receiver reported that the segment arrived, although the cumulative ACK does not
    /// cover the segment.
    pub(super) sacked: bool,
    /// The cause of the retransmission, if the sender believes that the segment is lost.
    pub(super) lost: Option<Cause>,
    /// Whether the segment was retransmitted, and its last retransmission counts as outstanding and
    /// not as lost.
    pub(super) retransmitted: bool,
}

packed_value!(SentSegment { seq, at, size, times, sacked, lost, retransmitted });

/// The state of delivery when a segment was sent. A sample of the delivery rate is computed from
/// this state (draft-ietf-ccwg-bbr, "Delivery Rate Samples").
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Snapshot {
    /// Octets delivered so far.
    pub(super) delivered: u64,
    /// When the last of these octets was delivered.
    pub(super) delivered_at: Time,
    /// The instant from which the sending interval of a sample counts (`first_sent_time` in the
    /// draft).
    pub(super) first_sent_at: Time,
    /// Whether the application had nothing more to send.
    pub(super) app_limited: bool,
}

packed_value!(Snapshot { delivered, delivered_at, first_sent_at, app_limited });

/// The bits for the number of a segment's octets: enough for a packet and a FIN.
const LEN: u32 = (1 << TURN_SHIFT) - 1;
/// The position of the bits for [`SentSegment::turn`].
const TURN_SHIFT: u32 = 17;
/// The largest turn.
pub(super) const TURN_MAX: u32 = (1 << 12) - 1;
/// The bit of a segment that ends a record (Linux's `MSG_EOR`): no later data joins it.
const ENDS_RECORD: u32 = 1 << 29;
/// The bit of a segment that has PSH even if it is not the last one of its packet. There are two
/// reasons: a write of the application ends in this segment, or the timer of window probes sent it.
/// A packet here is what the sender hands to segmentation offload (GSO, TSO); the offload divides
/// it into segments.
const PUSHED: u32 = 1 << 30;
/// The bit of a segment that is not the last one of its packet.
const GOES_ON: u32 = 1 << 31;

impl SentSegment {
    /// Makes the segment of `len` octets from `seq` on, which was sent for the first time at the
    /// instant `at`.
    pub(super) fn first(seq: u64, len: u32, at: Time) -> Self {
        Self { seq, at, size: len, times: 1, sacked: false, lost: None, retransmitted: false }
    }

    /// Returns the segment with the bit [`GOES_ON`] if `goes_on` is true, the bit [`PUSHED`] if
    /// `pushed` is true, and the bit [`ENDS_RECORD`] if `ends_record` is true.
    #[inline]
    pub(super) fn with_bits(self, goes_on: bool, pushed: bool, ends_record: bool) -> Self {
        let bit = |bit, on| if on { bit } else { 0 };
        let bits = bit(GOES_ON, goes_on) | bit(PUSHED, pushed) | bit(ENDS_RECORD, ends_record);
        Self { size: self.size | bits, ..self }
    }

    /// Whether a record ends with the segment.
    pub(super) fn ends_record(&self) -> bool {
        self.size & ENDS_RECORD != 0
    }

    #[inline]
    pub(super) fn len(&self) -> u64 {
        u64::from(self.size & LEN)
    }

    /// Returns how often the sender had already read the clock at the instant when it last sent
    /// this segment. The number is at most `TURN_MAX`.
    #[inline]
    pub(super) fn turn(&self) -> u32 {
        self.size >> TURN_SHIFT & TURN_MAX
    }

    /// Returns the segment with this `turn`.
    #[inline]
    pub(super) fn with_turn(self, turn: u32) -> Self {
        Self { size: self.size & !(TURN_MAX << TURN_SHIFT) | turn << TURN_SHIFT, ..self }
    }

    /// Whether the segment has PSH even if it is not the last one of its packet.
    #[inline]
    pub(super) fn is_pushed(&self) -> bool {
        self.size & PUSHED != 0
    }

    /// Gives PSH to the segment and to its later retransmissions.
    pub(super) fn push(&mut self) {
        self.size |= PUSHED;
    }

    /// Makes the segment the last one of its packet.
    pub(super) fn end_packet(&mut self) {
        self.size &= !GOES_ON;
    }

    /// Whether another segment of the same packet follows.
    pub(super) fn goes_on(&self) -> bool {
        self.size & GOES_ON != 0
    }

    /// True if the segment was marked as lost and was not retransmitted after the mark.
    pub(super) fn is_waiting(&self) -> bool {
        self.lost.is_some() && !self.retransmitted && !self.sacked
    }

    /// The octet after the last octet of the segment.
    pub(super) fn end(&self) -> u64 {
        self.seq + self.len()
    }

    /// Divides the segment after `len` octets. The first part is the last segment of its packet.
    pub(super) fn divided(self, len: u32) -> (Self, Self) {
        let turn = self.size & (TURN_MAX << TURN_SHIFT);
        let first = Self { size: len | turn, ..self };
        (first, Self { seq: self.seq + u64::from(len), size: self.size - len, ..self })
    }

    /// Returns this segment joined with the segment `next`.
    pub(super) fn joined(self, next: &Self) -> Self {
        let bits = next.size & (PUSHED | GOES_ON | ENDS_RECORD);
        Self {
            size: (self.size + (next.size & LEN)) | bits,
            times: self.times.max(next.times),
            ..self
        }
    }

    /// Removes the octets below `seq`, which were acknowledged, and returns them.
    pub(super) fn trim(&mut self, seq: u64) -> Self {
        let gone = (seq - self.seq) as u32;
        let part = Self { size: gone, ..*self };
        (self.seq, self.size) = (seq, self.size - gone);
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outstanding_segment_takes_24_octets_of_memory() {
        assert_eq!(size_of::<SentSegment>(), 24);
    }
}
