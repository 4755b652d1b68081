//! The statistics of one direction.

use crate::observe::{Answer, CoveredBy, Observed, Sequence, Transmission};
use crate::units::Time;
use crate::wire::TcpView;

use super::kept::Acknowledged;

/// Counts, sizes, round trips and times of one direction.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// TCP segments.
    pub packets: u64,
    /// Octets of payload, repeated ones included.
    pub data_bytes: u64,
    /// Segments with octets that were seen before in this direction.
    pub retransmissions: u64,
    /// When the first and the last packet was captured.
    pub first: Option<Time>,
    /// See [`first`](Self::first).
    pub last: Time,
}

impl Statistics {
    /// A packet of this direction was captured; `sent` are its octets, if it occupies any, and
    /// `before` is the sequence space as it was before.
    pub fn sent(
        &mut self,
        at: Time,
        packet: &TcpView,
        sent: Option<Transmission>,
        _before: &Sequence,
    ) {
        self.packets += 1;
        self.data_bytes += u64::from(packet.len());
        self.retransmissions += u64::from(sent.is_some_and(|sent| sent.again));
        self.first.get_or_insert(at);
        self.last = at;
    }

    /// An acknowledgement of the other direction is the first to cover `segment`.
    pub fn covered(&mut self, _at: Time, _segment: &Acknowledged, _covered: CoveredBy) {}

    /// An acknowledgement of this direction was captured.
    pub fn answered(&mut self, _at: Time, _packet: &TcpView, _answer: &Answer) {}
}
