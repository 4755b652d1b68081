//! Whether a capture is out of order, and how much.

use crate::ids::Side;
use crate::observe::Observed;
use crate::segment::Flags;
use crate::seq::is_before;
use crate::units::{Duration, Time};
use crate::wire::CapturedTcp;

/// How far packets of a capture are out of order.
///
/// A host that receives by several queues, and a capture that was joined from several, may hold the
/// packets of a connection in another order than the one in which they passed: an acknowledgment
/// before the octets that it acknowledges, or a segment before the one that its sender sent first.
/// The first such packet of a capture shows it. From then on [`Reordering`](super::Reordering) puts
/// the packets of all connections back into order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disorder {
    found: bool,
    /// The packets that were put before others.
    pub packets: u64,
    /// The longest time by which one of them is late.
    pub longest: Duration,
}

impl Disorder {
    /// Packets that are out of order by more than this were overtaken on the path, or they are
    /// retransmissions.
    pub const WITHIN: Duration = Duration::from_micros(100);

    /// Notes that the capture is out of order.
    pub fn note(&mut self) {
        self.found = true;
    }

    /// Whether the capture is known to be out of order.
    #[inline]
    pub fn is_found(&self) -> bool {
        self.found
    }

    /// Counts a packet that is put before others which were captured up to `late` before it.
    pub fn count(&mut self, late: Duration) {
        self.packets += 1;
        self.longest = self.longest.max(late);
    }
}

/// Adds the disorder of two captures.
impl core::ops::Add for Disorder {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            found: self.found || other.found,
            packets: self.packets + other.packets,
            longest: self.longest.max(other.longest),
        }
    }
}

/// What one side's latest packets show, on the wire.
#[derive(Clone, Copy, Debug, Default)]
struct LatestNumbers {
    /// The last acknowledgment number, and when it was captured.
    ack: Option<(u32, Time)>,
    /// The octet after the last that was sent or acknowledged.
    end: Option<u32>,
    /// The octets that were passed over last, when, and whether they were acknowledged.
    gap: Option<(u32, u32, Time, bool)>,
    /// The lowest octet that was sent, the IP identification of the last segment that had octets, and
    /// when that was captured.
    begin: Option<(u32, u16, Time)>,
    /// Whether its SYN was seen.
    opened: bool,
}

impl LatestNumbers {
    /// Notes that octets below `to` were sent, of which a packet that was captured at `at` has those
    /// from `from` on.
    #[inline]
    fn passed(&mut self, at: Time, from: u32, to: u32) {
        let end = self.end.unwrap_or(from);
        if is_before(end, from) {
            self.gap = Some((end, from, at, from == to));
        }
        if self.end.is_none() || is_before(end, to) {
            self.end = Some(to);
        }
    }

    /// Whether a segment of octets from `from` on was sent before the one that was captured just
    /// before `at`, and is the first with octets so low.
    #[inline]
    fn began_before(&mut self, at: Time, from: u32, id: u16) -> bool {
        let Some((begin, last_id, since)) = self.begin else {
            self.begin = Some((from, id, at));
            return false;
        };
        let lowest = if is_before(from, begin) { from } else { begin };
        self.begin = Some((lowest, id, at));
        let older = id == 0 || id.wrapping_sub(last_id).cast_signed() < 0;
        is_before(from, begin) && older && at.saturating_since(since) < Disorder::WITHIN
    }

    /// Whether octets from `from` on, which were passed over just before `at`, were acknowledged then.
    /// `None` if they were not passed over.
    #[inline]
    fn lacks(&self, at: Time, from: u32) -> Option<bool> {
        let (begin, end, since, acked) = self.gap?;
        let within = !is_before(from, begin) && is_before(from, end);
        (within && at.saturating_since(since) < Disorder::WITHIN).then_some(acked)
    }
}

/// Looks for packets out of order among consecutive packets of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct DisorderWatch {
    sides: [LatestNumbers; 2],
    /// How many packets came after others with higher octets. The path may have made them.
    overtaken: u32,
}

impl DisorderWatch {
    /// If so many packets of one batch were overtaken, it was not on the path.
    const OVERTAKEN_MIN: u32 = 3;

    /// Takes the next packet that `side` sent, and `many` more that continue it. The packet must have
    /// ACK or SYN, and no RST. Returns whether packets are out of order: one came just after its
    /// acknowledgment, or several have lower octets than others just before them.
    #[inline]
    pub fn take(&mut self, side: Side, at: Time, packet: &impl CapturedTcp, many: u32) -> bool {
        if packet.flags().has(Flags::SYN) {
            return self.take_syn(side, at, packet);
        }
        let (seq, bytes) = (packet.seq(), packet.seq_len());
        let own = &mut self.sides[side.index()];
        // Acknowledgments that come together may have overtaken each other on the path.
        own.ack = Some((packet.ack(), at));
        let mut proven = false;
        if bytes > 0 {
            let (lacks, first) = (own.lacks(at, seq), own.began_before(at, seq, packet.ip_id()));
            proven = lacks == Some(true);
            self.overtaken += u32::from(lacks.is_some() || first);
            own.passed(at, seq, seq.wrapping_add(bytes.wrapping_mul(many + 1)));
        }
        let other = &mut self.sides[side.peer().index()];
        other.passed(at, packet.ack(), packet.ack());
        proven || self.overtaken >= Self::OVERTAKEN_MIN
    }

    /// Takes a SYN that `side` sent. Returns whether the peer had just acknowledged it.
    #[cold]
    fn take_syn(&mut self, side: Side, at: Time, packet: &impl Observed) -> bool {
        let end = packet.seq().wrapping_add(1);
        let answer = self.sides[side.peer().index()].ack;
        let recent = answer.is_some_and(|(ack, since)| {
            !is_before(ack, end) && at.saturating_since(since) < Disorder::WITHIN
        });
        let own = &mut self.sides[side.index()];
        if packet.flags().has(Flags::ACK) {
            own.ack = Some((packet.ack(), at));
        }
        // A SYN may be sent again because its answer was late, or have a copy.
        !std::mem::replace(&mut own.opened, true) && recent
    }
}
