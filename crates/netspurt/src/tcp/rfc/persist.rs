//! Decides when the peer's closed window is probed, and how long a short segment is delayed (RFC
//! 9293 §3.8.6).

use crate::packed::packed;
use crate::units::Duration;

use super::info::ProbesInfo;

/// The longest time between probes of a closed window. RFC 9293 §3.8.6.1 sets no limit. BSD has
/// this limit.
const WAIT_MAX: Duration = Duration::from_secs(60);
/// The longest time that a short segment waits for more octets (§3.8.6.2.1), if it does not wait
/// for an RTO.
const OVERRIDE: Duration = Duration::from_millis(200);

/// The host's own queue may refuse octets. After the second refusal, the sender waits this long
/// before it offers the octets again (`TCP_RESOURCE_PROBE_INTERVAL`).
const QUEUE_WAIT: Duration = Duration::from_millis(500);

/// The state of the probes of a closed window, or of a full queue in this host.
#[derive(Debug, Default)]
pub(super) struct Persist {
    /// The number of probes since the peer's window closed, or since the peer accepted a probe.
    pub(super) backoff: u32,
    /// The number of probes since the last segment from the peer.
    unanswered: u32,
    /// Whether the host's own queue accepts nothing, so that the sender keeps its segments.
    pub(super) is_refused: bool,
    /// How often the queue was tried again since the last segment from the peer.
    pub(super) refused: u32,
}

packed!(Persist { backoff, unanswered, is_refused, refused });

impl Persist {
    /// Returns whether the next probe may be sent, and counts the probe if it may. After
    /// `probes_max` probes without an answer, no probe may be sent. If `probes_max` is zero, one
    /// probe may be sent.
    pub(super) fn probe(&mut self, probes_max: u32) -> bool {
        if self.unanswered >= probes_max.max(1) {
            return false;
        }
        self.unanswered += 1;
        self.backoff += 1;
        true
    }

    /// Sets `unanswered` and `refused` to zero, because a segment from the peer arrived.
    #[inline]
    pub(super) fn on_segment_from_peer(&mut self) {
        self.unanswered = 0;
        self.refused = 0;
    }

    /// The state of the probes, for reports.
    pub(super) fn info(&self) -> ProbesInfo {
        ProbesInfo { unanswered: self.unanswered + self.refused, backoff: self.backoff }
    }

    /// Sets the number of probes to zero, because the peer's window is open or the peer accepted a
    /// probe. Returns whether this number was above zero.
    #[inline]
    pub(super) fn reset(&mut self) -> bool {
        core::mem::take(&mut self.backoff) > 0
    }

    /// Returns how long the sender waits before it probes the peer's closed window, or before it
    /// sends a short segment that is held back. The peer's window has `peer` octets. If `for_rto`
    /// is true, a short segment waits for an RTO, as a probe does. If the queue of this host
    /// refused the segments more than once, the wait is [`QUEUE_WAIT`].
    pub(super) fn wait(&self, peer: u64, rto: Duration, for_rto: bool) -> Duration {
        if self.is_refused && self.refused > 0 {
            return QUEUE_WAIT;
        }
        if peer > 0 && !for_rto {
            return OVERRIDE;
        }
        (rto * (1 << self.backoff.min(16))).min(WAIT_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9293 §3.8.6.1: the interval between successive probes grows exponentially.
    #[test]
    fn each_probe_doubles_the_wait_up_to_a_minute() {
        let mut persist = Persist::default();
        let rto = Duration::from_secs(1);
        let mut waits = Vec::new();
        for _ in 0..8 {
            waits.push(persist.wait(0, rto, false).as_nanos() / 1_000_000_000);
            assert!(persist.probe(15));
        }
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
        assert!(persist.reset() && !persist.reset());
        assert_eq!(persist.wait(0, rto, false), rto);
        assert_eq!(persist.wait(1, rto, false), OVERRIDE);
        assert_eq!(persist.wait(1, rto, true), rto);
    }

    #[test]
    fn the_sender_tries_a_full_queue_after_an_rto_then_every_half_second() {
        let (mut persist, rto) = (Persist::default(), Duration::from_millis(300));
        persist.is_refused = true;
        assert_eq!(persist.wait(1000, rto, true), rto);
        persist.refused = 1;
        assert_eq!(persist.wait(1000, rto, true), Duration::from_millis(500));
        persist.on_segment_from_peer();
        assert_eq!(persist.wait(1000, rto, true), rto);
    }

    #[test]
    fn no_probe_follows_the_maximum_number_of_unanswered_probes() {
        let mut persist = Persist::default();
        assert!((0..3).all(|_| persist.probe(3)) && !persist.probe(3));
        persist.on_segment_from_peer();
        assert!(persist.probe(3));
    }
}
