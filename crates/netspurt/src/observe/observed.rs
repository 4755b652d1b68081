//! The fields of a TCP segment that observers use.

use crate::segment::{Flags, SackBlock, Segment};

/// The fields of a TCP segment that observers use, whether it was simulated or captured.
pub trait Observed {
    /// Sequence number of the first octet of payload, or of the SYN.
    fn seq(&self) -> u32;
    /// The next sequence number expected from the peer.
    fn ack(&self) -> u32;
    /// The number of octets of payload.
    fn len(&self) -> u32;
    /// Control bits.
    fn flags(&self) -> Flags;
    /// The advertised window as on the wire, before scaling.
    fn window(&self) -> u16;
    /// The size of the whole IP datagram, in octets.
    fn size_bytes(&self) -> u32;
    /// SACK blocks, in wire order.
    fn sack(&self) -> &[SackBlock];

    /// The count of sequence numbers that payload, SYN and FIN occupy (RFC 9293 §3.4).
    #[inline]
    fn seq_len(&self) -> u32 {
        let flags = self.flags();
        self.len() + u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN))
    }

    /// Whether the segment has no payload.
    #[inline]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Observed for Segment {
    #[inline]
    fn seq(&self) -> u32 {
        self.seq
    }

    #[inline]
    fn ack(&self) -> u32 {
        self.ack
    }

    #[inline]
    fn len(&self) -> u32 {
        self.len.into()
    }

    #[inline]
    fn flags(&self) -> Flags {
        self.flags
    }

    #[inline]
    fn window(&self) -> u16 {
        self.window
    }

    #[inline]
    fn size_bytes(&self) -> u32 {
        self.size_bytes.into()
    }

    #[inline]
    fn sack(&self) -> &[SackBlock] {
        Segment::sack(self)
    }
}
