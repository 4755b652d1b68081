//! What a sender was seen to do: its probes, timeouts and go-back-N.

use crate::segment::Cause;
use crate::units::Duration;

use super::path::least;

/// The observed behaviour of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// The number of retransmissions that can only be tail loss probes.
    pub probes: u32,
    /// The number of timeouts without a probe, although a sender with tail loss probes would have
    /// sent a probe first.
    pub timeouts_without_probe: u32,
    /// The number of fast retransmits after which the sender sent everything again in order. It is
    /// set to zero if the sender sends new octets after a fast retransmit.
    pub in_order: u32,
    /// The number of new segments that a first or second duplicate ACK triggered (RFC 3042), and
    /// the number of third duplicate ACKs.
    pub limited: (u32, u32),
    /// The number of retransmissions that can only be timeouts. Repeated timeouts of one loss count
    /// once.
    pub timeouts: u32,
    /// The shortest time from a restart of the timer to a retransmission that can only be a
    /// timeout.
    pub shortest_timeout: Option<Duration>,
    /// Whether the sender changed its flow label when a retransmission timer fired.
    pub relabels: bool,
    /// Whether the sender retransmitted the head for each further duplicate ACK.
    pub each_duplicate: bool,
}

impl Traits {
    /// What retransmits this sender's only outstanding segment: a probe or a timeout. `None` if the
    /// sender's retransmissions do not show whether it sends probes.
    pub fn lone(&self) -> Option<Cause> {
        match (self.probes, self.timeouts_without_probe) {
            (0, 0) => None,
            (probes, timeouts) if probes >= timeouts => Some(Cause::Tlp),
            _ => Some(Cause::Rto),
        }
    }

    /// These traits together with `other`, which the same sender showed at other times.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self {
            probes: self.probes.saturating_add(other.probes),
            timeouts_without_probe: self
                .timeouts_without_probe
                .saturating_add(other.timeouts_without_probe),
            in_order: self.in_order.saturating_add(other.in_order),
            limited: (
                self.limited.0.saturating_add(other.limited.0),
                self.limited.1.saturating_add(other.limited.1),
            ),
            timeouts: self.timeouts.saturating_add(other.timeouts),
            shortest_timeout: least(self.shortest_timeout, other.shortest_timeout),
            relabels: self.relabels || other.relabels,
            each_duplicate: self.each_duplicate || other.each_duplicate,
        }
    }
}
