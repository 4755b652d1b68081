//! One direction of a captured connection: what one side sends, and how it is acknowledged.

use std::mem::take;

use crate::observe::{OneWay, Sequence};
use crate::wire::CapturedTcp;

use super::{
    CapturedSegment, ExplainedRetransmission, Habits, Limits, OtherFloors, Sender, Statistics,
};

/// What one side of a captured connection sends.
#[derive(Clone, Debug)]
pub struct CapturedDirection {
    /// The sequence space, the outstanding segments and the round trips of the direction.
    pub octets: OneWay<CapturedSegment>,
    /// The statistics of the direction's packets.
    pub statistics: Statistics,
    /// The state of the sender, from which the causes of retransmissions are inferred.
    pub sender: Sender,
    /// What limits the sender.
    pub limits: Limits,
    /// What retransmission timers with other minimums (`FLOORS`) would have done.
    pub floors: OtherFloors,
    /// The stray packets: packets whose numbers lie far outside of the receive window.
    pub strays: Strays,
    /// The retransmissions that were found before the connection was last packed to save memory
    /// (`PackedDirections`).
    pub earlier: Vec<ExplainedRetransmission>,
}

/// What was found out about a direction: its retransmissions, what timers with other minimums would
/// have done, and the observed behaviour of sender, receiver and path.
pub type Findings = (Vec<ExplainedRetransmission>, OtherFloors, Option<Box<Habits>>);

impl CapturedDirection {
    /// The maximum number of octets that the capture may have missed before a SYN that is sent
    /// again.
    const MISSED_MAX: u64 = 1 << 26;

    /// Returns a new direction with the sequence space `sequence`.
    pub fn new(sequence: Sequence) -> Self {
        Self {
            octets: OneWay::new(sequence).dividing(),
            statistics: Statistics::default(),
            sender: Sender::default(),
            limits: Limits::default(),
            floors: OtherFloors::default(),
            strays: Strays::default(),
            earlier: Vec::new(),
        }
    }

    /// Makes this a new direction, and reuses the memory of the old direction.
    pub fn begin_again(&mut self, sequence: Sequence) {
        let Self { octets, statistics, sender, limits, floors, strays, earlier } = self;
        *octets = std::mem::replace(octets, OneWay::new(sequence)).begun_again(sequence);
        *statistics = Statistics::default();
        *sender = Sender::default();
        *limits = Limits::default();
        *floors = OtherFloors::default();
        *strays = Strays::default();
        *earlier = Vec::new();
    }

    /// Makes the SYN `packet` the first octet of the direction, if its sequence number is not the
    /// number of the first octet so far, and only octets of SYNs were sent before this packet. A
    /// SYN that is only sent again does not become the first octet. A SYN with a new number comes
    /// in two cases. In the first case, a packet of an earlier connection came before the SYN-ACK.
    /// In the second case, a second SYN-ACK has another number than the first, because another host
    /// sent it, or because the host keeps no state.
    pub fn number_from(&mut self, packet: &impl CapturedTcp) {
        let sequence = *self.octets.sequence();
        let (octet, first) = (sequence.octet(packet.seq()), sequence.first());
        // If the beginning of the connection was not captured, a SYN that is sent again has a
        // slightly lower number than the first captured octet.
        let again = self.statistics.packets.syns == 0
            && (first.saturating_sub(Self::MISSED_MAX)..first).contains(&octet);
        if octet != first && !again && sequence.highest() <= first + 1 {
            let sequence = Sequence::seen_from(packet);
            let octets = std::mem::replace(&mut self.octets, OneWay::new(sequence));
            self.octets = octets.begun_again(sequence);
        }
    }

    /// Notes about a SYN whether packets without a SYN came before it from the same side.
    pub fn note_late_syn(&mut self) {
        let packets = &self.statistics.packets;
        self.sender.current.is_late_syn = packets.all > packets.syns + packets.resets;
    }

    /// Notes in the statistics whether the capture was taken beside the sender. The caller does
    /// this before the statistics are packed, because packing loses the round trips that show the
    /// place.
    pub fn note_place(&mut self) {
        self.statistics.first_flight.beside_sender |= self.sender.path.is_beside_sender();
    }

    /// Takes the findings out of the direction.
    pub fn take_findings(&mut self) -> Findings {
        let habits = self.sender.habits();
        let mut retransmissions = take(&mut self.earlier);
        retransmissions.extend(take(&mut self.sender).finish());
        (retransmissions, take(&mut self.floors), habits)
    }

    /// Whether `packet` acknowledges octets that no packet before it acknowledged. The receiver of
    /// this direction sent `packet`.
    pub fn is_acked_by(&self, packet: &impl CapturedTcp) -> bool {
        self.octets.sequence().octet(packet.ack()) > self.octets.una()
    }

    /// Whether all octets of the direction were captured and are acknowledged.
    pub fn is_done(&self) -> bool {
        self.octets.outstanding().is_empty() && !self.statistics.has_holes()
    }
}

/// The numbers of the last stray packets of a direction. They are 0 if there were no stray packets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strays {
    /// The first octet of the last stray segment.
    segment: u64,
    /// The number in the last stray acknowledgment of the direction.
    ack: u64,
}

impl Strays {
    /// Whether a segment that begins with the octet `left` is stray. Octets below `highest` were
    /// sent, and octets below `una` are acknowledged. `window` is the largest window so far, in
    /// octets. It is 0 if it is not known. The limit is two windows above `una`. One window may be
    /// in use, and the capture may lack the acknowledgments of another window.
    pub fn takes_segment(&mut self, left: u64, (una, highest): (u64, u64), window: u64) -> bool {
        left > highest && is_far(left, una, window, &mut self.segment)
    }

    /// Whether an acknowledgment with the number `ack` is stray, if octets below `highest` were
    /// sent. `window` is the largest window so far, in octets. It is 0 if it is not known.
    pub fn takes_ack(&mut self, ack: u64, highest: u64, window: u64) -> bool {
        is_far(ack, highest, window, &mut self.ack)
    }
}

/// Whether two conditions hold: `number` is *far*, and it is not near `last`. A far number lies
/// more than two windows above `base`, and `last` is the previous far number. If `number` equals
/// `last`, the packet may be a copy, so it does not count as near. If `number` is far, `last`
/// becomes `number`.
fn is_far(number: u64, base: u64, window: u64, last: &mut u64) -> bool {
    if window == 0 || number <= base + 2 * window {
        return false;
    }
    let near = number != *last && number.abs_diff(*last) <= 2 * window;
    *last = number;
    !near
}
