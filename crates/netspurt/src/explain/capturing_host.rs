//! Decides whether a capture was taken at an end of a connection, by the link headers, TTLs and
//! addresses of its packets.

use crate::ids::Side;
use crate::wire::PacketDirection;

use super::Vantage;

/// What the packets of a connection show about the host that captured them (the *host* for short).
///
/// Linux's cooked captures (`tcpdump -i any`) tell which packets the host sent, and which it
/// received. A host that forwards the connection receives each packet and sends it again. A router
/// also lowers the TTL.
#[derive(Clone, Copy, Debug, Default)]
pub struct CapturingHost {
    /// For each side, whether the host may be this side. It may be this side if it sent a packet of
    /// this side or received a packet of the other side.
    maybe: [bool; 2],
    /// Whether the host may have forwarded a packet that it sent. A packet was possibly forwarded
    /// if its TTL is not a value with which hosts send packets, or if the TTL was not captured.
    forwards: bool,
    /// Whether both ends of the connection are on the host.
    both: bool,
}

impl CapturingHost {
    /// The TTLs and hop limits with which hosts send packets. Each router on the way lowers them by
    /// one.
    const INITIAL_TTLS: [u8; 3] = [64, 128, 255];

    /// Takes a packet of `side` with the TTL or hop limit `ttl`.
    pub fn take(&mut self, side: Side, direction: PacketDirection, ttl: Option<u8>) {
        match direction {
            PacketDirection::Inbound => self.maybe[side.peer().index()] = true,
            PacketDirection::Outbound => {
                self.maybe[side.index()] = true;
                self.forwards |= ttl.is_none_or(|ttl| !Self::INITIAL_TTLS.contains(&ttl));
            }
        }
    }

    /// Notes that both ends are on one host. Only this host can capture the connection.
    pub fn has_both_ends(&mut self) {
        self.both = true;
    }

    /// Whether packets show anything about the host.
    #[inline]
    pub fn is_shown(self) -> bool {
        self.both || self.maybe != [false; 2]
    }

    /// Where the capture was taken, as seen from `sender`: at this sender, at its receiver, or
    /// unknown. If both ends are on the host, the capture was taken at each sender, because a
    /// packet is captured before it is received.
    pub fn seen_from(self, sender: Side) -> Vantage {
        if self.both {
            return Vantage::Sender;
        }
        let [from, to] = self.maybe;
        match from != to && !self.forwards {
            true if self.maybe[sender.index()] => Vantage::Sender,
            true => Vantage::Receiver,
            false => Vantage::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use PacketDirection::{Inbound, Outbound};
    use Side::{From, To};

    /// Where the capture was taken, as seen from each side, if it has `packets` with these TTLs.
    fn seen(packets: &[(Side, PacketDirection, u8)]) -> [Vantage; 2] {
        let mut host = CapturingHost::default();
        for (side, direction, ttl) in packets {
            host.take(*side, *direction, Some(*ttl));
        }
        [From, To].map(|side| host.seen_from(side))
    }

    #[test]
    fn a_host_is_the_side_whose_packets_it_sends() {
        let (at_from, at_to) =
            ([Vantage::Sender, Vantage::Receiver], [Vantage::Receiver, Vantage::Sender]);
        assert_eq!(seen(&[(From, Outbound, 64), (To, Inbound, 51)]), at_from);
        assert_eq!(seen(&[(From, Inbound, 51), (To, Outbound, 128)]), at_to);
        assert_eq!(seen(&[(From, Inbound, 51)]), at_to);
    }

    #[test]
    fn if_both_ends_are_on_the_capturing_host_the_capture_was_taken_at_each_sender() {
        let mut host = CapturingHost::default();
        host.has_both_ends();
        assert!(host.is_shown());
        assert_eq!([From, To].map(|side| host.seen_from(side)), [Vantage::Sender; 2]);
    }

    #[test]
    fn a_host_that_forwards_packets_is_neither_side() {
        let neither = [Vantage::Unknown; 2];
        assert_eq!(seen(&[]), neither);
        assert_eq!(seen(&[(From, Inbound, 64), (From, Outbound, 63)]), neither);
        // A host with NAT gives the two halves of a connection different addresses. In one half, it
        // only receives packets of one side, and only sends packets of the other side.
        assert_eq!(seen(&[(From, Inbound, 64), (To, Outbound, 51)]), neither);
        assert_eq!(seen(&[(From, Inbound, 64), (To, Inbound, 64)]), neither);
    }
}
