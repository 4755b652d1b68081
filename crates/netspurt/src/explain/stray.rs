//! Stray packets: packets whose numbers lie far outside of the receive window.
//!
//! Such a packet is forged, damaged, or a late packet of an earlier connection between the same
//! ports. The receiver drops it (RFC 9293 §3.10.7.4), so it counts as a packet, but its numbers do
//! not count. After a gap in the capture the numbers also lie far away. So a second packet near the
//! first one shows that the connection is there now.

use crate::ids::Side;
use crate::segment::Flags;
use crate::units::Time;
use crate::wire::CapturedTcp;

use super::CapturedConnection;

impl CapturedConnection {
    /// Whether `packet` of `side` is stray. Only the windows of a connection whose window scale is
    /// known show this.
    #[inline]
    pub(super) fn is_stray(&mut self, side: Side, packet: &impl CapturedTcp) -> bool {
        if [Flags::SYN, Flags::RST].iter().any(|flag| packet.flags().has(*flag)) {
            return false;
        }
        if packet.seq_len() > 0
            && let Some(own) = self.directions[side.index()].as_deref_mut()
        {
            let (sequence, una) = (own.octets.sequence(), own.octets.una());
            let (left, highest) = (sequence.octet(packet.seq()), sequence.highest());
            if own.strays.takes_segment(left, (una, highest), own.limits.window_max()) {
                return true;
            }
        }
        packet.flags().has(Flags::ACK)
            && self.directions[side.peer().index()].as_deref_mut().is_some_and(|other| {
                let sequence = other.octets.sequence();
                let (ack, highest) = (sequence.octet(packet.ack()), sequence.highest());
                other.strays.takes_ack(ack, highest, other.limits.window_max())
            })
    }

    /// Counts a stray packet.
    #[cold]
    pub(super) fn take_stray(&mut self, side: Side, at: Time, packet: &impl CapturedTcp) {
        if let Some(direction) = self.directions[side.index()].as_deref_mut() {
            direction.statistics.packets.take(packet, 1);
            direction.statistics.times.take(at, false);
        }
        let waiting = self.waiting();
        self.spent.packet(at, None, waiting);
    }
}
