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

use super::{CapturedConnection, CapturedDirection};

/// The numbers of the last stray packets of a direction; 0 if there were none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Strays {
    /// The first octet of the last stray segment.
    seq: u64,
    /// The number in the last stray acknowledgment of the direction.
    ack: u64,
}

/// Whether `number` is farther than two windows of `window` octets above `known` and above `una`,
/// and `last` is not near it. Sets `last`. One window may be in use, and the capture may lack the
/// acknowledgments of another.
fn is_far(number: u64, known: u64, una: u64, window: u64, last: &mut u64) -> bool {
    let limit = 2 * window;
    if window == 0 || number <= known || number <= una + limit {
        return false;
    }
    let near = number != *last && number.abs_diff(*last) <= limit;
    *last = number;
    !near
}

impl CapturedDirection {
    /// Whether a segment of this direction that begins with the number `seq` on the wire is stray.
    fn is_stray_segment(&mut self, seq: u32) -> bool {
        let (sequence, una) = (self.octets.sequence(), self.octets.una());
        let window = self.limits.window_max();
        is_far(sequence.octet(seq), sequence.highest(), una, window, &mut self.strays.seq)
    }

    /// Whether an acknowledgment of this direction with the number `ack` on the wire is stray.
    fn is_stray_ack(&mut self, ack: u32) -> bool {
        let (sequence, una) = (self.octets.sequence(), self.octets.una());
        let (known, window) = (sequence.highest(), self.limits.window_max());
        is_far(sequence.octet(ack), known, una.max(known), window, &mut self.strays.ack)
    }
}

impl CapturedConnection {
    /// Whether `packet` of `side` is stray. Only the windows of a connection whose window scale is
    /// known show this.
    #[inline]
    pub(super) fn is_stray(&mut self, side: Side, packet: &impl CapturedTcp) -> bool {
        let [own, other] = [side, side.peer()].map(Side::index);
        let opens = [Flags::SYN, Flags::RST].iter().any(|flag| packet.flags().has(*flag));
        if opens {
            return false;
        }
        let segment = packet.seq_len() > 0
            && self.directions[own]
                .as_deref_mut()
                .is_some_and(|direction| direction.is_stray_segment(packet.seq()));
        segment
            || packet.flags().has(Flags::ACK)
                && self.directions[other]
                    .as_deref_mut()
                    .is_some_and(|direction| direction.is_stray_ack(packet.ack()))
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
