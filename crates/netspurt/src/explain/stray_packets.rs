//! Packets whose sequence or acknowledgment numbers do not belong to their connection. They count
//! as packets, but their numbers are ignored. There are two kinds of such packets.
//!
//! *Packets of an earlier connection* come because a host may still know a connection that its peer
//! has forgotten. RFC 9293 §3.5.1 calls such a connection half-open. The host answers the peer's
//! SYN with an acknowledgment that has the numbers of this earlier connection (RFC 5961 §4.2). The
//! peer sends a reset, and then its SYN again.
//!
//! *Stray packets* have numbers that lie far outside of the receive window. Such a packet is
//! forged, damaged, or a late packet of an earlier connection between the same ports. The receiver
//! drops it (RFC 9293 §3.10.7.4). After a gap in the capture, the numbers of ordinary packets also
//! lie far outside. Such a gap is recognised by a second packet with numbers near the numbers of
//! the first one.

use crate::ids::Side;
use crate::observe::Sequence;
use crate::segment::Flags;
use crate::units::Time;
use crate::wire::CapturedTcp;

use super::{CapturedConnection, SharedState};

impl CapturedConnection {
    /// A SYN carries fewer than `SYN_DATA_MAX` octets of data (RFC 7413), and its answer
    /// acknowledges them.
    const SYN_DATA_MAX: u64 = 1 << 16;

    /// Whether `packet` of `side` acknowledges octets of an earlier connection. There are three
    /// conditions. First, the other side has only sent a SYN. Second, `side` has not answered the
    /// SYN yet. Third, `packet` acknowledges neither the SYN nor the data in it. A host in SYN-SENT
    /// does not accept such an acknowledgment (RFC 9293 §3.10.7.3).
    pub(super) fn is_of_earlier(&self, side: Side, packet: &impl CapturedTcp) -> bool {
        let flags = packet.flags();
        if flags.has(Flags::SYN) || !flags.has(Flags::ACK) || self.handshake.has_syn(side) {
            return false;
        }
        self.handshake.has_syn(side.peer())
            && self.directions[side.peer().index()].as_deref().is_some_and(|opened| {
                let sequence = opened.octets.sequence();
                let answer = sequence.first()..=sequence.highest() + Self::SYN_DATA_MAX;
                !answer.contains(&sequence.octet(packet.ack()))
            })
    }

    /// Counts a packet of an earlier connection.
    #[cold]
    pub(super) fn take_of_earlier(
        &mut self,
        side: Side,
        at: Time,
        packet: &impl CapturedTcp,
        shared: &mut SharedState,
    ) {
        let host = self.host;
        self.directions[side.index()]
            .get_or_insert_with(|| shared.begin(Sequence::seen_from(packet), host.seen_from(side)));
        self.take_without_numbers(side, at, packet);
    }

    /// Whether `packet` of `side` is stray. If the windows of the connection are not known, the
    /// answer is no. The sequence number of a reset does not count, because a reset has no octets.
    /// But a reset may acknowledge octets that were never sent. Two resets with similar numbers do
    /// not show a gap in the capture.
    #[inline]
    pub(super) fn is_stray(&mut self, side: Side, packet: &impl CapturedTcp) -> bool {
        let (flags, reset) = (packet.flags(), packet.flags().has(Flags::RST));
        if flags.has(Flags::SYN) {
            return false;
        }
        if packet.seq_len() > 0
            && !reset
            && let Some(own) = self.directions[side.index()].as_deref_mut()
        {
            let (sequence, una) = (own.octets.sequence(), own.octets.una());
            let (left, highest) = (sequence.octet(packet.seq()), sequence.highest());
            if own.strays.takes_segment(left, (una, highest), own.limits.window_max()) {
                return true;
            }
        }
        flags.has(Flags::ACK)
            && self.directions[side.peer().index()].as_deref_mut().is_some_and(|other| {
                let sequence = other.octets.sequence();
                let (ack, highest) = (sequence.octet(packet.ack()), sequence.highest());
                let window = other.limits.window_max();
                if reset {
                    let mut forgotten = other.strays;
                    return forgotten.takes_ack(ack, highest, window);
                }
                other.strays.takes_ack(ack, highest, window)
            })
    }

    /// Counts a packet whose numbers are ignored.
    #[cold]
    pub(super) fn take_without_numbers(&mut self, side: Side, at: Time, packet: &impl CapturedTcp) {
        if let Some(direction) = self.directions[side.index()].as_deref_mut() {
            direction.statistics.packets.take(packet, 1);
            direction.statistics.times.take(at, false);
        }
        let waiting = self.waiting();
        self.spent.packet(at, None, waiting);
    }
}
