//! Finds out what one acknowledgment reports for the first time.

use crate::segment::{SackBlock, SackBlocks, Segment};
use crate::units::Time;

use super::super::transmit::SendCount;
use super::config::RfcConfig;
use super::send_window::SendWindow;
use super::sent_segment::SentSegment;

/// The fields of a segment that concern the sending half.
pub(super) struct AckSegment<'a> {
    pub(super) segment: &'a Segment,
    /// The number of the peer's octet at which the segment begins.
    pub(super) seq: u64,
    /// The number of our octet that the peer expects next.
    pub(super) ack: u64,
    /// The peer's window in octets.
    pub(super) window: u64,
    /// The timestamp that the ACK echoes.
    pub(super) echo: Option<u32>,
    /// Whether the ACK echoes a congestion mark.
    pub(super) marked: bool,
    /// Whether the SACK blocks count, because both ends agreed on SACK.
    pub(super) has_sack: bool,
}

/// What one ACK reports for the first time.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Octets newly acknowledged in order.
    pub(super) acked: u64,
    /// Octets newly reported by SACK.
    pub(super) sacked: u64,
    /// Octets that this ACK covers, in order or by SACK, and that no ACK had covered before. They
    /// include octets whose arrival was only indicated by earlier duplicate ACKs.
    pub(super) delivered: u64,
    /// Segments newly known to have arrived.
    pub(super) delivered_segs: u64,
    /// Octets whose arrival duplicate ACKs had indicated before this ACK.
    pub(super) dup_bytes: u64,
    /// The sending time of the oldest segment that the ACK newly reports by SACK. Segments that
    /// were sent more than once do not count.
    pub(super) sacked_oldest: Option<Time>,
    /// The time of the last transmission of the oldest retransmitted segment that the ACK newly
    /// covers in order. `None` with Karn's rule, because the ACK may answer an earlier transmission
    /// of the segment.
    pub(super) retransmitted_oldest: Option<Time>,
    /// Whether the ACK covers, in order, octets that were retransmitted.
    pub(super) covers_copy: bool,
    /// Whether the ACK covers, in order or by SACK, octets that were sent only once, before the
    /// repair began.
    pub(super) covers_original: bool,
    /// Whether reordering was seen before this ACK.
    pub(super) reordered: bool,
    /// The sending time of the newest segment that the ACK newly covers.
    pub(super) newest_sent: Option<Time>,
    /// The octets of a duplicate that the receiver reports.
    pub(super) dsack: Option<(u64, u64)>,
    /// The end of a duplicate that the receiver reports, even if the report is ignored.
    pub(super) duplicate_end: Option<u64>,
    /// The number of segments that the duplicate covers. A segment above the cumulative ACK counts
    /// only if it was retransmitted.
    pub(super) duplicated_copies: u32,
    /// Whether the ACK counts as a duplicate ACK ([`is_duplicate`](Self::is_duplicate)).
    pub(super) duplicate: bool,
    /// The timestamp that the ACK echoes.
    pub(super) echo: Option<u32>,
}

impl News {
    /// Notes that the ACK newly covers the segment `sent`. The octet `point` is the end of the
    /// octets that were outstanding when the repair began.
    pub(super) fn cover(&mut self, sent: &SentSegment, point: u64) {
        self.covers_original |= sent.times == 1 && sent.end() <= point;
        self.delivered_segs += 1;
        self.newest_sent = self.newest_sent.max(Some(sent.at));
    }

    /// Whether the ACK acknowledges new octets, reports nothing new by SACK, and reports no
    /// duplicate.
    pub(super) fn is_plain(&self) -> bool {
        self.acked > 0 && self.sacked == 0 && self.dsack.is_none()
    }

    /// Notes that the ACK reports the octets of `range` as a duplicate. With the switch
    /// `reports_need_copies`, the report is ignored if more duplicates were reported than segments
    /// were retransmitted.
    pub(super) fn take_duplicate(
        &mut self,
        range: (u64, u64),
        count: &mut SendCount,
        window: &SendWindow,
        config: &RfcConfig,
    ) {
        self.duplicate_end = Some(range.1);
        count.reported_duplicates += window.segs(range.1 - range.0);
        let needs_copies = config.spurious_rules.reports_need_copies;
        if !needs_copies || count.reported_duplicates <= count.retransmissions {
            self.dsack = Some(range);
        }
    }

    /// Counts the deliveries that the ACK shows; the flag `marked` says whether it echoes a
    /// congestion mark. A reported duplicate also counts as a delivery. This delivery has an effect
    /// on cwnd only with the switch `duplicates_deliver`.
    pub(super) fn count_in(
        &mut self,
        count: &mut SendCount,
        window: &SendWindow,
        config: &RfcConfig,
        marked: bool,
    ) {
        let duplicates = self.dsack.map_or(0, |(left, right)| window.segs(right - left));
        let delivered = self.delivered_segs + duplicates;
        if config.cwnd_rules.duplicates_deliver {
            self.delivered += duplicates * window.smss;
            self.delivered_segs = delivered;
        }
        count.delivered_segments += delivered;
        count.marked_segments += if marked { delivered } else { 0 };
    }

    /// Whether the ACK is a duplicate ACK (RFC 5681 §2). With SACK, an ACK is a duplicate ACK if it
    /// reports something new by SACK and acknowledges nothing new. The caller checks that data is
    /// outstanding.
    ///
    /// departs: RFC 6675 §2 - an ACK that acknowledges new octets is no duplicate ACK, even if it
    /// reports something new by SACK.
    pub(super) fn is_duplicate(
        &self,
        segment: &Segment,
        by_sack: bool,
        window_moved: bool,
    ) -> bool {
        if self.acked > 0 {
            return false;
        }
        if by_sack {
            return self.sacked > 0;
        }
        segment.seq_len() == 0 && !window_moved && self.dsack.is_none()
    }
}

/// The reports in the SACK blocks of a segment.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Reports {
    /// Arrivals, in ascending order.
    pub(super) arrived: [Option<(u64, u64)>; SackBlocks::MAX],
    /// A duplicate. The first block is the report of a duplicate if this block lies below the ACK
    /// or within the second block (RFC 2883 §4).
    pub(super) duplicate: Option<(u64, u64)>,
}

impl Reports {
    /// Reads the blocks of `segment`, which acknowledges up to `ack`. Empty blocks and blocks with
    /// octets that were never sent are ignored. Blocks that begin below the oldest unacknowledged
    /// octet are also ignored, except a first block that reports a duplicate.
    pub(super) fn read(segment: &Segment, ack: u64, window: &SendWindow) -> Self {
        let mut reports = Self::default();
        let octet = |wire| window.octet(wire);
        let range = |block: &SackBlock| (octet(block.left), octet(block.right));
        let all = segment.sack();
        for (place, block) in all.iter().enumerate() {
            let (left, right) = range(block);
            if left >= right || right > window.nxt {
                continue;
            }
            let within = |outer: &SackBlock| {
                let outer = range(outer);
                left >= outer.0 && right <= outer.1
            };
            if place == 0 && (right <= ack || all.get(1).is_some_and(within)) {
                reports.duplicate = Some((left, right));
            } else if left >= window.una {
                reports.arrived[place] = Some((left, right));
            }
        }
        reports.arrived.sort_unstable();
        reports
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::RfcConfig;

    /// A sender with the octets 2000 to 9000 outstanding reads the blocks of an ACK of 2000.
    fn read(blocks: &[(u32, u32)]) -> Reports {
        let mut window = SendWindow::new(&RfcConfig::rfc_2026());
        (window.una, window.nxt) = (2000, 9000);
        let mut options = SackBlocks::default();
        blocks.iter().for_each(|&(left, right)| options.add(SackBlock { left, right }));
        let mut segment = Segment::default();
        segment.set_sack(&options);
        Reports::read(&segment, 2000, &window)
    }

    #[test]
    fn reported_arrivals_are_sorted_in_ascending_order() {
        let reports = read(&[(7000, 8000), (3000, 4000)]);
        assert_eq!(reports.arrived, [None, None, Some((3000, 4000)), Some((7000, 8000))]);
        assert_eq!(reports.duplicate, None);
    }

    /// RFC 2883 §4.1 and §4.2: the first block lies below the ACK, or within the second block.
    #[test]
    fn the_first_block_reports_a_duplicate_if_it_lies_below_the_ack_or_in_the_second_block() {
        assert_eq!(read(&[(1000, 2000)]).duplicate, Some((1000, 2000)));
        let reports = read(&[(3000, 3500), (3000, 4000)]);
        assert_eq!(reports.duplicate, Some((3000, 3500)));
        assert_eq!(reports.arrived, [None, None, None, Some((3000, 4000))]);
        assert_eq!(read(&[(3000, 4000), (1000, 2000)]).duplicate, None);
    }

    #[test]
    fn a_sack_block_is_ignored_if_it_is_empty_or_has_unsent_octets() {
        assert_eq!(read(&[(8000, 9001), (5000, 5000), (6000, 5000)]), Reports::default());
    }
}
