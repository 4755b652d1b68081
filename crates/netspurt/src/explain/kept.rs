//! What is kept of an outstanding segment.

use crate::observe::{OneWay, Outstanding};
use crate::segment::Flags;
use crate::units::{Duration, Time};
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

/// A segment that the current acknowledgment is the first to cover.
pub type Acknowledged = Outstanding<CapturedSegment>;

/// The octets of one direction, with what is kept of each segment.
pub type CapturedOctets = OneWay<CapturedSegment>;

/// The time between the sending of the last two outstanding segments. Octets were acknowledged last
/// at `una_at`.
pub fn before_tail(octets: &CapturedOctets, una_at: Time) -> Duration {
    let mut latest = octets.outstanding().iter().rev().map(|one| one.first_sent);
    match (latest.next(), latest.next()) {
        (Some(last), Some(before)) => last.saturating_since(before.max(una_at)),
        _ => Duration::ZERO,
    }
}

/// Whether a packet is a duplicate acknowledgment (RFC 5681 §2). Its window does not matter.
pub fn is_duplicate(packet: &impl CapturedTcp, octets: &CapturedOctets) -> bool {
    let bare = packet.seq_len() == 0 && !packet.flags().has(Flags::RST);
    let same = octets.sequence().octet(packet.ack()) == octets.una();
    bare && same && octets.una() < octets.sequence().highest()
}
