//! What is kept of an outstanding segment.

use crate::observe::{OneWay, Outstanding};
use crate::segment::Flags;
use crate::wire::CapturedTcp;

/// What is kept of an outstanding segment beside its place and its times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CapturedSegment {
    /// The sender's time stamp on its last transmission, if it has one.
    pub ts_val: Option<u32>,
    /// The IP identification of its last transmission.
    pub ip_id: u16,
}

impl CapturedSegment {
    /// Returns what is kept of `packet`.
    pub fn of(packet: &impl CapturedTcp) -> Self {
        Self { ts_val: packet.timestamps().map(|stamps| stamps.val), ip_id: packet.ip_id() }
    }
}

/// A segment that the current acknowledgement is the first to cover.
pub type Acknowledged = Outstanding<CapturedSegment>;

/// The octets of one direction, with what is kept of each segment.
pub type CapturedOctets = OneWay<CapturedSegment>;

/// Whether a segment is a FIN without data. Some receivers acknowledge it before they take its
/// time stamp (gVisor), so that the echo may be that of the octets before it.
pub fn is_bare_fin(packet: &impl CapturedTcp) -> bool {
    packet.flags().has(Flags::FIN) && packet.len() == 0
}

/// Whether a packet is a duplicate acknowledgement (RFC 5681 §2). Its window does not matter.
pub fn is_duplicate(packet: &impl CapturedTcp, octets: &CapturedOctets) -> bool {
    let bare = packet.seq_len() == 0 && !packet.flags().has(Flags::RST);
    let same = octets.sequence().octet(packet.ack()) == octets.una();
    bare && same && octets.una() < octets.sequence().highest()
}
