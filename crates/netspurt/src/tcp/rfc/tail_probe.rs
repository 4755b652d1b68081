//! Tail loss probes (RFC 8985 §7): how long a sender waits before it sends a probe, and what an ACK
//! says about the probe.

use crate::packed::packed;
use crate::units::Duration;

use super::config::RfcConfig;
use super::news::{AckSegment, News};

/// How long the sender waits before it sends a probe, if no round trip is known (§7.2).
const PTO_INITIAL: Duration = Duration::from_secs(1);

/// The tail loss probe that was sent and not yet judged: no ACK has shown its result.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TailProbe {
    /// The next octet to send after the probe was sent. The value is `None` if there is no probe.
    end_seq: Option<u64>,
    is_retransmission: bool,
}

packed!(TailProbe { end_seq, is_retransmission });

impl TailProbe {
    /// Makes the state after a probe was sent. The next octet to send is then `nxt`.
    pub(super) fn sent(nxt: u64, is_retransmission: bool) -> Self {
        Self { end_seq: Some(nxt), is_retransmission }
    }

    /// Whether a probe was sent and not yet judged.
    #[inline]
    pub(super) fn is_out(&self) -> bool {
        self.end_seq.is_some()
    }

    /// Whether a probe that is a retransmission was sent and not yet judged.
    pub(super) fn is_copy(&self) -> bool {
        self.is_out() && self.is_retransmission
    }

    /// Whether a probe that ended at the octet `end` was sent and not yet judged.
    pub(super) fn ended_at(&self, end: u64) -> bool {
        self.end_seq == Some(end)
    }

    /// How long the sender waits after the last transmission or ACK before it sends a probe (§7.2).
    /// The flag `is_lone` says whether only one segment is outstanding.
    pub(super) fn wait(srtt: Option<Duration>, is_lone: bool, config: &RfcConfig) -> Duration {
        let Some(srtt) = srtt else { return PTO_INITIAL };
        let slack = if is_lone { config.max_ack_delay } else { config.timer_slack };
        srtt * u64::from(config.tlp_wait_percent) / 100 + slack
    }

    /// Judges a probe by an ACK (§7.4.2). Returns true if the probe was a retransmission that
    /// repaired a loss. cwnd must then be cut. A D-SACK (the report of a duplicate) of the probe,
    /// or a duplicate ACK at the end of the probe, shows that a retransmission was spurious. Any
    /// other ACK up to exactly the end of a retransmitted probe decides nothing yet, because this
    /// ACK may answer the original, and a D-SACK may follow.
    pub(super) fn repaired_a_loss(&mut self, ack: &AckSegment<'_>, news: &News) -> bool {
        let Some(end) = self.end_seq.filter(|end| ack.ack >= *end) else { return false };
        let reported = news.duplicate_end == Some(end);
        let is_bare = ack.segment.seq_len() == 0 && ack.segment.sack().is_empty();
        let spurious = reported || news.acked == 0 && is_bare;
        let repaired = self.is_retransmission && !spurious;
        if repaired && ack.ack == end {
            return false;
        }
        *self = Self::default();
        repaired
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::segment::Segment;

    /// Judges a probe that ended at 5000 by an ACK up to the octet `ack`. Returns whether the probe
    /// repaired a loss, and whether it is still not judged.
    fn judge(is_retransmission: bool, ack: u64, news: &News) -> (bool, bool) {
        let mut probe = TailProbe::sent(5000, is_retransmission);
        let segment = Segment::default();
        let (seq, window, echo) = (1, 0, None);
        let ack =
            AckSegment { segment: &segment, seq, ack, window, echo, marked: false, has_sack: true };
        (probe.repaired_a_loss(&ack, news), probe.is_out())
    }

    /// RFC 8985 §7.4.2: an ACK beyond the end of the probe shows that the probe repaired a loss.
    #[test]
    fn an_ack_beyond_a_retransmitted_probe_shows_that_the_probe_repaired_a_loss() {
        let moved = News { acked: 1000, ..News::default() };
        assert_eq!(judge(true, 4999, &moved), (false, true));
        assert_eq!(judge(true, 5000, &moved), (false, true), "the ACK may answer the original");
        assert_eq!(judge(true, 6000, &moved), (true, false));
        assert_eq!(
            judge(false, 5000, &moved),
            (false, false),
            "a probe of new data repairs no loss"
        );
    }

    #[test]
    fn a_probe_was_spurious_if_it_is_reported_as_a_duplicate() {
        let reported = News { acked: 1000, duplicate_end: Some(5000), ..News::default() };
        assert_eq!(judge(true, 5000, &reported), (false, false));
        assert_eq!(judge(true, 5000, &News::default()), (false, false), "a duplicate ACK");
    }

    /// RFC 8985 §7.2: a probe waits two round trips. If only one segment is outstanding, the probe
    /// also waits for the delay of an ACK.
    #[test]
    fn a_probe_waits_two_round_trips_and_longer_if_one_segment_is_outstanding() {
        let config = RfcConfig::rfc_2026();
        let srtt = Some(Duration::from_millis(50));
        assert_eq!(TailProbe::wait(srtt, false, &config), Duration::from_millis(100));
        assert_eq!(TailProbe::wait(srtt, true, &config), Duration::from_millis(300));
        assert_eq!(TailProbe::wait(None, true, &config), Duration::from_secs(1));
    }
}
