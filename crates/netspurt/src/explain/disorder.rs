//! Detects whether the packets of a capture are out of order, and by how much time.

use crate::ids::Side;
use crate::observe::Observed;
use crate::segment::Flags;
use crate::seq::{compare_ids, is_before};
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

use super::infer::PathTimes;

/// How many packets of a capture are out of order, and by how much time.
///
/// The packets of a connection may have another order in the capture than they had on the path.
/// This happens if the capturing host receives through several queues, or if several captures were
/// joined. In such a capture, an acknowledgment may precede the octets that it acknowledges, or a
/// segment may precede a segment that its sender sent earlier. As soon as one connection shows such
/// disorder, [`Reordering`](super::Reordering) puts the packets of all connections back into order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disorder {
    found: bool,
    /// The number of packets that were moved to an earlier place in the capture.
    pub packets: u64,
    /// The maximum time by which a packet came too late in the capture. A late packet is captured
    /// after a packet that it preceded on the path. The time is counted from the capture of that
    /// packet to the capture of the late packet.
    pub late_max: Duration,
}

impl Disorder {
    /// A capture puts packets out of order by at most the time `LIMIT`. Packets that come later
    /// were overtaken on the path, or they are retransmissions.
    pub const LIMIT: Duration = Duration::from_micros(100);

    /// Notes that the capture is out of order.
    pub fn note(&mut self) {
        self.found = true;
    }

    /// Whether the capture is known to be out of order.
    #[inline]
    pub fn is_found(&self) -> bool {
        self.found
    }

    /// Counts a packet that is moved before a packet that was captured earlier. `late` is the time
    /// from the capture of that earlier packet to the capture of the moved packet.
    pub fn count(&mut self, late: Duration) {
        self.packets += 1;
        self.late_max = self.late_max.max(late);
    }
}

/// Adds the disorder of two captures.
impl core::ops::Add for Disorder {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            found: self.found || other.found,
            packets: self.packets + other.packets,
            late_max: self.late_max.max(other.late_max),
        }
    }
}

/// What earlier packets showed about a side. [`DisorderWatch`] does not examine these packets.
#[derive(Clone, Copy, Debug)]
pub struct KnownSide {
    /// Whether the capture is known to have been taken at this side.
    pub is_here: bool,
    /// The sequence number of the first octet.
    pub first: u32,
    /// The sequence number after the highest octet.
    pub next: u32,
}

/// The latest sequence and acknowledgment numbers of one side, in 32 bits as on the wire.
#[derive(Clone, Copy, Debug, Default)]
struct LatestNumbers {
    /// The last acknowledgment number, and when its packet was captured.
    ack: Option<(u32, Time)>,
    /// The number after the highest octet of this side that was captured or that the peer
    /// acknowledged.
    end: Option<u32>,
    /// The latest gap in this side's octets: the first missing octet, and the number after the last
    /// missing octet. The last two values are about the packet that showed the gap: when it was
    /// captured, and whether it was the peer's acknowledgment.
    gap: Option<(u32, u32, Time, bool)>,
    /// The lowest octet that was sent. The other two values are about the last segment with octets:
    /// its IP identification, and when it was captured.
    begin: Option<(u32, u16, Time)>,
    /// Whether the side's SYN was captured.
    opened: bool,
}

impl LatestNumbers {
    /// Notes a packet that was captured at the instant `at`. The packet shows that this side sent
    /// the octets from octet `from` up to octet `to`. If the packet is an acknowledgment of the
    /// peer, `from` and `to` are both the acknowledgment number.
    #[inline]
    fn note_octets(&mut self, at: Time, from: u32, to: u32) {
        let end = self.end.unwrap_or(from);
        if is_before(end, from) {
            self.gap = Some((end, from, at, from == to));
        }
        if self.end.is_none() || is_before(end, to) {
            self.end = Some(to);
        }
    }

    /// Notes a segment with the octets from octet `from` on. Returns whether this segment was sent
    /// earlier than the previous segment, although it was captured later. There are three
    /// conditions. The previous segment was captured just before this one. All earlier segments
    /// began at higher octets. The IP identification of this segment is 0, or is lower than the
    /// identification of the previous segment.
    #[inline]
    fn note_begin(&mut self, at: Time, from: u32, id: u16) -> bool {
        let Some((begin, last_id, since)) = self.begin else {
            self.begin = Some((from, id, at));
            return false;
        };
        let lowest = if is_before(from, begin) { from } else { begin };
        self.begin = Some((lowest, id, at));
        let older = id == 0 || compare_ids(id, last_id).is_lt();
        is_before(from, begin) && older && at.saturating_since(since) < Disorder::LIMIT
    }

    /// If octet `from` lies in a gap that appeared just before the instant `at`, returns whether
    /// the peer's acknowledgment showed the gap. Otherwise returns `None`.
    #[inline]
    fn gap_acked(&self, at: Time, from: u32) -> Option<bool> {
        let (begin, end, since, acked) = self.gap?;
        let within = !is_before(from, begin) && is_before(from, end);
        (within && at.saturating_since(since) < Disorder::LIMIT).then_some(acked)
    }
}

/// Looks for packets out of order among consecutive packets of a connection.
///
/// An acknowledgment before the octets that it acknowledges shows that the capture is out of order.
/// Octets that come after higher octets show disorder only in a capture at their sender. In any
/// other capture, the path may have reordered these octets before they were captured, so the
/// receiver got them in the order of the capture.
#[derive(Clone, Copy, Debug, Default)]
pub struct DisorderWatch {
    sides: [LatestNumbers; 2],
    /// For each side that sends, whether the capture is known to have been taken at this sender.
    at_senders: [bool; 2],
    /// The side that opened the connection, and when its SYN and the answer were captured.
    opened: Option<(Side, Time, Option<Time>)>,
    /// How many packets came after packets with higher octets, if the capture was taken at their
    /// sender.
    overtaken: u32,
}

impl DisorderWatch {
    /// If at least `OVERTAKEN_MIN` packets came after higher octets in a capture at their sender,
    /// the capture put them out of order. Fewer packets show nothing, because the sender's queues
    /// may reorder a few packets.
    const OVERTAKEN_MIN: u32 = 3;

    /// Begins without packets. `known` has what earlier packets showed of each side.
    pub fn new(known: [Option<KnownSide>; 2]) -> Self {
        // A later segment with octets below octet `next` is a retransmission. It does not count as
        // out of order, because it fills no gap and does not begin below octet `first`.
        let sides = known.map(|known| LatestNumbers {
            end: known.map(|known| known.next),
            begin: known.map(|known| (known.first, 0, Time::ZERO)),
            ..LatestNumbers::default()
        });
        let at_senders = known.map(|known| known.is_some_and(|known| known.is_here));
        Self { sides, at_senders, ..Self::default() }
    }

    /// Takes the next packet that `side` sent, and `more` packets that continue it. The packet must
    /// have ACK or SYN, and no RST. Returns whether packets are out of order. They are out of order
    /// if a packet came just after its acknowledgment. In a capture at the sender, they are also
    /// out of order if several packets came just after higher octets.
    #[inline]
    pub fn take(&mut self, side: Side, at: Time, packet: &impl CapturedTcp, more: u32) -> bool {
        if packet.flags().has(Flags::SYN) {
            return self.take_syn(side, at, packet);
        }
        if self.opened.is_some() {
            self.find_place(side, at);
        }
        let (seq, bytes) = (packet.seq(), packet.seq_len());
        let own = &mut self.sides[side.index()];
        // The order of the acknowledgment numbers shows nothing, because acknowledgments that come
        // together may have overtaken each other on the path.
        own.ack = Some((packet.ack(), at));
        let mut proven = false;
        if bytes > 0 {
            let gap_acked = own.gap_acked(at, seq);
            let sent_earlier = own.note_begin(at, seq, packet.ip_id());
            proven = gap_acked == Some(true);
            let overtaken = gap_acked.is_some() || sent_earlier;
            self.overtaken += u32::from(overtaken && self.at_senders[side.index()]);
            own.note_octets(at, seq, seq.wrapping_add(bytes.wrapping_mul(more + 1)));
        }
        let other = &mut self.sides[side.peer().index()];
        other.note_octets(at, packet.ack(), packet.ack());
        proven || self.overtaken >= Self::OVERTAKEN_MIN
    }

    /// Finds the capture point from the times of the handshake. `side` sent the first packet after
    /// the SYN, or after the SYN and the SYN-ACK. This packet was captured at the instant `at`.
    #[cold]
    fn find_place(&mut self, side: Side, at: Time) {
        let Some((opener, asked, Some(answered))) = self.opened.take() else { return };
        if side != opener {
            return;
        }
        let (far, near) = (answered.saturating_since(asked), at.saturating_since(answered));
        for (sender, far, near) in [(opener, far, near), (opener.peer(), near, far)] {
            let mut path = PathTimes::default();
            path.far_sample(far);
            path.near_sample(near);
            self.at_senders[sender.index()] |= path.is_beside_sender();
        }
    }

    /// Takes a SYN that `side` sent. Returns true if this is the first SYN of this side, and the
    /// acknowledgment of this SYN was captured just before the SYN.
    #[cold]
    fn take_syn(&mut self, side: Side, at: Time, packet: &impl Observed) -> bool {
        self.opened = match (self.opened, packet.flags().has(Flags::ACK)) {
            (_, false) => Some((side, at, None)),
            (Some((opener, asked, _)), true) if opener != side => Some((opener, asked, Some(at))),
            (opened, true) => opened,
        };
        let end = packet.seq().wrapping_add(1);
        let answer = self.sides[side.peer().index()].ack;
        let recent = answer.is_some_and(|(ack, since)| {
            !is_before(ack, end) && at.saturating_since(since) < Disorder::LIMIT
        });
        let own = &mut self.sides[side.index()];
        if packet.flags().has(Flags::ACK) {
            own.ack = Some((packet.ack(), at));
        }
        // A later SYN shows nothing: it may be a copy, or a retransmission after a late answer.
        !std::mem::replace(&mut own.opened, true) && recent
    }
}
