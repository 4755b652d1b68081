//! Recognises FINs without data, and probes of the receiver: keep-alives and window probes.

use crate::segment::Flags;
use crate::wire::CapturedTcp;

/// The state of a direction before a segment.
#[derive(Clone, Copy, Debug)]
pub struct BeforeProbe {
    /// The octet after the highest octet that is known to have been sent.
    pub known: u64,
    /// The first octet not acknowledged.
    pub una: u64,
    /// Whether the receiver's window is closed.
    pub closed: bool,
}

impl BeforeProbe {
    /// Whether the segment with the octets `left..right` probes the receiver. A keep-alive repeats
    /// the last octet (RFC 9293 §3.8.4). A window probe has at most one octet, and the receiver's
    /// window is closed (RFC 9293 §3.8.6.1).
    pub fn is_probe(&self, packet: &impl CapturedTcp, (left, right): (u64, u64)) -> bool {
        let Self { known, una, closed } = *self;
        let bare = !packet.flags().has(Flags::SYN) && !packet.flags().has(Flags::FIN);
        let small = packet.len() <= 1 && bare;
        let idle = una >= known && right == known && !packet.flags().has(Flags::PSH);
        small && (idle || closed && left >= una)
    }
}

/// Whether a segment is a FIN without data. Some receivers (gVisor) acknowledge a FIN before they
/// store its timestamp. So they may echo the timestamp of the octets before the FIN.
#[inline]
pub fn is_bare_fin(packet: &impl CapturedTcp) -> bool {
    packet.flags().has(Flags::FIN) && packet.len() == 0
}
