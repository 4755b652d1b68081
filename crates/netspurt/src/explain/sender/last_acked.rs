//! The last acknowledgment of new octets, and what the earlier acknowledgments show.

use crate::packed::PackedValue;
use crate::units::Time;

use super::super::infer::DuplicatesSoFar;
use super::super::kept::Acknowledged;
use super::super::statistics::PacketTimes;

/// The last acknowledgment of new octets, and the state before it.
///
/// A sender does not retransmit octets if it got their acknowledgment. The capture may have an
/// acknowledgment of octets before their retransmission. Then this acknowledgment had not reached
/// the sender: it was lost after it passed the capture, or was still on its way. So the sender knew
/// only what the earlier acknowledgments show.
#[derive(Clone, Copy, Debug, Default)]
pub struct LastAcked {
    /// The last segment that the acknowledgment covered: its first octet, the octet after its last
    /// octet, and when it was last sent.
    segment: (u64, u64, Time),
    /// What the earlier acknowledgments show.
    before: KnownAcks,
}

/// The last segment of a direction, if all octets of the direction are acknowledged.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckedTail {
    /// The length of the segment in sequence numbers. Zero if it is not known.
    pub seq_len: u64,
    /// When the segment was last sent.
    pub sent: Time,
}

impl AckedTail {
    /// Packs the segment. The `times` of its direction must be packed first.
    pub fn put_after(&self, times: &PacketTimes, into: &mut Vec<u8>) {
        self.seq_len.put(into);
        if self.seq_len > 0 {
            times.put_time(self.sent, into);
        }
    }

    /// Unpacks a segment that [`put_after`](Self::put_after) packed.
    pub fn get_after(times: &PacketTimes, from: &mut &[u8]) -> Self {
        match u64::get(from) {
            0 => Self::default(),
            seq_len => Self { seq_len, sent: times.get_time(from) },
        }
    }
}

/// When acknowledgments came. [`Time::ZERO`] if none came.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckTimes {
    /// When new octets were acknowledged last. If the capture lacks this acknowledgment, the field
    /// has the time of its first repetition.
    pub una_at: Time,
    /// When an acknowledgment last covered new octets, had SACK blocks, or was a duplicate.
    pub answered_at: Time,
    /// When an acknowledgment without new octets last had SACK blocks, or was a duplicate.
    pub told_at: Time,
    /// When a packet of the receiver with the flag ACK last came.
    pub packet_at: Time,
    /// When a SYN-ACK of the receiver last came.
    pub syn_at: Time,
}

/// What acknowledgments show at some time.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownAcks {
    /// The first octet that is not acknowledged.
    pub una: u64,
    /// When acknowledgments came.
    pub heard: AckTimes,
    /// The duplicate ACKs.
    pub duplicates: DuplicatesSoFar,
    /// The octet after the highest octet that SACK blocks reported. Zero without reports.
    pub reported: u64,
}

impl LastAcked {
    /// Returns the state of a direction that continues after it was packed. All its octets below
    /// `una` are acknowledged, and nothing is outstanding.
    pub fn resumed(una: u64, tail: AckedTail) -> Self {
        let left = una - tail.seq_len;
        let before = KnownAcks { una: left, ..KnownAcks::default() };
        Self { segment: (left, una, tail.sent), before }
    }

    /// The last segment of the direction, if it is acknowledged. `highest` is the octet after the
    /// highest octet sent.
    pub fn tail(&self, highest: u64) -> AckedTail {
        let (left, right, sent) = self.segment;
        if right == highest {
            AckedTail { seq_len: right - left, sent }
        } else {
            AckedTail::default()
        }
    }

    /// When the segment that was acknowledged last was sent for the last time. [`Time::ZERO`] if
    /// this is not known.
    pub fn sent_at(&self) -> Time {
        self.segment.2
    }

    /// Notes that the current acknowledgment covers `segment`.
    #[inline]
    pub fn covers(&mut self, segment: &Acknowledged) {
        self.segment = (segment.left, segment.right, segment.last_sent);
    }

    /// Takes `before`: what the earlier acknowledgments show. The current acknowledgment covers new
    /// octets.
    #[inline]
    pub fn came_after(&mut self, before: KnownAcks) {
        self.before = before;
    }

    /// When the octet `left` was last sent. `None` unless the segment that was acknowledged last
    /// has this octet.
    pub fn last_sent(&self, left: u64) -> Option<Time> {
        let (begin, end, sent) = self.segment;
        (begin..end).contains(&left).then_some(sent)
    }

    /// What the sender knew when it retransmitted `left..right`. `None` if these octets are not
    /// acknowledged. Also `None` if an earlier acknowledgment covered some of them: then several
    /// acknowledgments had not reached the sender.
    pub fn unheard(&self, (left, right): (u64, u64)) -> Option<KnownAcks> {
        (right <= self.segment.1 && left >= self.before.una).then_some(self.before)
    }
}
