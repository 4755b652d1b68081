//! The octets whose arrival one acknowledgment reports for the first time.

use crate::observe::CoveredBy;
use crate::units::{Duration, Time};

use super::super::kept::Acknowledged;

/// The octets whose arrival an acknowledgment reports for the first time, and their round trip.
///
/// Octets count when a SACK block reports them. They do not count again when a retransmission
/// closes the gap below them.
///
/// The newest segment that was sent once gives the round trip, because the receiver may have
/// delayed the acknowledgment of older segments. If the acknowledgment also covers a retransmission
/// that was sent later than this segment, there is no round trip.
#[derive(Clone, Copy, Debug, Default)]
pub struct Delivered {
    /// Octets that the acknowledgment's SACK blocks newly report.
    by_block: u64,
    /// Octets that are acknowledged in order, but that earlier SACK blocks had reported.
    before: u64,
    /// The latest sending time of the segments that were sent once.
    newest: Option<Time>,
    /// The latest sending time of the retransmitted segments. The receiver may have waited for
    /// these segments.
    again: Option<Time>,
}

impl Delivered {
    /// Takes a segment that the acknowledgment newly covers.
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

    /// The octets that arrived. The acknowledgment covers `acked_bytes` new octets in order.
    #[inline]
    pub fn bytes(&self, acked_bytes: u64) -> u64 {
        (acked_bytes + self.by_block).saturating_sub(self.before)
    }

    /// The round trip that ends with the acknowledgment at the instant `at`, if it is known.
    #[inline]
    pub fn rtt(&self, at: Time) -> Option<Duration> {
        let sent = self.newest.filter(|sent| self.again < Some(*sent))?;
        Some(at.saturating_since(sent))
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::CapturedSegment;
    use super::*;

    /// A segment of 1,000 octets that was last sent at `ms` milliseconds.
    fn sent(ms: u64, retransmissions: u16, sacked: bool) -> Acknowledged {
        let at = Time::ZERO + Duration::from_millis(ms);
        Acknowledged {
            left: 1000,
            right: 2000,
            first_sent: at,
            last_sent: at,
            wire_bytes: 1040,
            retransmissions,
            sacked,
            continues: false,
            kept: CapturedSegment::default(),
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn octets_that_a_block_reports_count_only_once() {
        let mut delivered = Delivered::default();
        delivered.covered(&sent(10, 0, true), CoveredBy::ByBlock);
        assert_eq!(delivered.bytes(0), 1000);
        assert_eq!(delivered.rtt(at(50)), Some(Duration::from_millis(40)));
        let mut delivered = Delivered::default();
        delivered.covered(&sent(60, 1, false), CoveredBy::InOrder);
        delivered.covered(&sent(10, 0, true), CoveredBy::InOrder);
        assert_eq!(delivered.bytes(2000), 1000, "only the repair arrived");
        assert_eq!(delivered.rtt(at(100)), None);
    }

    #[test]
    fn if_an_acknowledgment_also_covers_a_later_retransmission_there_is_no_round_trip() {
        let mut delivered = Delivered::default();
        for ms in [10, 30, 50] {
            delivered.covered(&sent(ms, 0, false), CoveredBy::InOrder);
        }
        assert_eq!(delivered.rtt(at(90)), Some(Duration::from_millis(40)));
        delivered.covered(&sent(60, 1, false), CoveredBy::InOrder);
        assert_eq!(delivered.rtt(at(90)), None);
    }
}
