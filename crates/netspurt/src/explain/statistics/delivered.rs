//! What one acknowledgment tells of the octets that arrived.

use crate::observe::CoveredBy;
use crate::units::{Duration, Time};

use super::super::kept::Acknowledged;

/// The octets that an acknowledgment is the first to report, and their round trip.
///
/// Octets arrive when a SACK block reports them, and not when a repair closes the gap before them.
/// The round trip is that of the newest segment that was sent once: the receiver may have delayed the
/// acknowledgment of older ones.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// Octets of segments that a SACK block reports.
    by_block: u64,
    /// Octets acknowledged in order that a SACK block had reported.
    before: u64,
    /// When the newest segment was sent that was sent once.
    newest: Option<Time>,
    /// When the newest segment was sent that was retransmitted: the receiver may have waited for it.
    again: Option<Time>,
}

impl Delivered {
    /// Takes a segment that the acknowledgment is the first to cover.
    #[inline]
    pub fn covered(&mut self, segment: &Acknowledged, covered: CoveredBy) {
        let bytes = segment.right - segment.left;
        match covered {
            CoveredBy::ByBlock => self.by_block += bytes,
            CoveredBy::InOrder if segment.sacked => {
                self.before += bytes;
                return;
            }
            CoveredBy::InOrder => {}
        }
        let sent = Some(segment.last_sent);
        if segment.retransmissions == 0 {
            self.newest = self.newest.max(sent);
        } else {
            self.again = self.again.max(sent);
        }
    }

    /// The octets that arrived, if the acknowledgment covers `acked_bytes` new octets in order.
    #[inline]
    pub fn bytes(&self, acked_bytes: u64) -> u64 {
        (acked_bytes + self.by_block).saturating_sub(self.before)
    }

    /// The round trip that ends with the acknowledgment at `at`, if it is known.
    #[inline]
    pub fn rtt(&self, at: Time) -> Option<Duration> {
        let sent = self.newest.filter(|sent| self.again < Some(*sent))?;
        Some(at.saturating_since(sent))
    }
}
