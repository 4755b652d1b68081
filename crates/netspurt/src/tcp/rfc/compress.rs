//! Delays SACK reports, so that one ACK carries several of them, as in Linux. SACK reports segments
//! beyond a hole (a range of octets that has not arrived).

use crate::packed::packed;
use crate::units::Duration;

use super::config::RfcConfig;

/// The number of ACKs for each hole that are sent immediately (`TCP_FASTRETRANS_THRESH`).
const IMMEDIATE_MAX: u32 = 3;
/// The maximum number of segments that wait for one ACK (`tcp_comp_sack_nr`).
const WAITING_MAX: u32 = 44;
/// The maximum time for which an ACK waits (`tcp_comp_sack_delay_ns`).
const WAIT_MAX: Duration = Duration::from_millis(1);
/// The wait is the round trip divided by this number.
const WAIT_PART: u64 = 20;
/// The time that is added to the wait. The kernel may fire the timer that ends the wait up to 100
/// µs late, if no other event wakes the host (`tcp_comp_sack_slack_ns`). Here the timer is always
/// set to the latest instant. One nanosecond is added, so that the ACK also reports a segment that
/// arrives exactly at the latest instant.
const SLACK: Duration = Duration::from_nanos(100_001);
/// The first two SACK blocks may change while an ACK waits. Before a segment changes or adds the
/// third or a later block, the waiting ACK is sent (`TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_EXPECTED: usize = 2;

/// How the receiver joins ACKs that report segments after a hole (`__tcp_ack_snd_check`).
///
/// The first three ACKs for a hole are sent immediately. Each later ACK waits for a twentieth of a
/// round trip, but at most for 1 ms, plus [`SLACK`]. This ACK then reports all segments that
/// arrived during the wait. If 44 reports already wait, the next segment ends the wait.
#[derive(Debug)]
pub(super) struct SackCompression {
    /// The switch `compresses_sacks`.
    is_wanted: bool,
    /// True if `is_wanted` is true and both ends agreed on SACK.
    is_on: bool,
    /// The first octet of the hole.
    hole: u64,
    /// The number of ACKs for this hole that were sent immediately.
    immediate: u32,
    /// The number of segments whose report waits.
    waiting: u32,
}

packed!(SackCompression { is_on, hole, immediate, waiting } keeps { is_wanted });

impl SackCompression {
    pub(super) fn new(config: &RfcConfig) -> Self {
        Self {
            is_wanted: config.receive_rules.compresses_sacks,
            is_on: false,
            hole: 0,
            immediate: 0,
            waiting: 0,
        }
    }

    /// Switches compression on or off when the peer's SYN has arrived. The flag `sack` says whether
    /// both ends agreed on SACK.
    pub(super) fn begin(&mut self, sack: bool) {
        self.is_on = self.is_wanted && sack;
    }

    /// Whether a report waits.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// Notes that an ACK is sent, which carries all waiting reports.
    #[inline]
    pub(super) fn on_acknowledged(&mut self) {
        self.waiting = 0;
    }

    /// Returns how long the report of an arrived segment waits. The result is `None` if the report
    /// is sent immediately. The segment lies beyond the hole that begins with the octet `hole`.
    /// `rtt` is the smaller of this host's two measurements: the round trip of its receiver and the
    /// srtt of its sender. `rtt` is zero if the receiver has measured no round trip.
    pub(super) fn wait(&mut self, hole: u64, rtt: Duration) -> Option<Duration> {
        if !self.is_on || self.waiting >= WAITING_MAX {
            return None;
        }
        if self.hole != hole {
            (self.hole, self.immediate) = (hole, 0);
        }
        if self.immediate < IMMEDIATE_MAX {
            self.immediate += 1;
            return None;
        }
        self.waiting += 1;
        Some((rtt / WAIT_PART).min(WAIT_MAX) + SLACK)
    }

    /// True if the waiting ACK must be sent before the reported block at the index `place` changes
    /// (`tcp_sack_new_ofo_skb`). For a block that is added, `place` is the number of blocks.
    pub(super) fn must_precede_change(&self, place: usize) -> bool {
        self.is_waiting() && place >= BLOCKS_EXPECTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state of a receiver of Linux 6 that agreed on SACK.
    fn compression() -> SackCompression {
        let mut compression = SackCompression::new(&RfcConfig::linux_6());
        compression.begin(true);
        compression
    }

    #[test]
    fn the_first_three_reports_of_each_hole_are_sent_immediately() {
        let mut compression = compression();
        for hole in [1, 1001] {
            let waits: Vec<bool> =
                (0..5).map(|_| compression.wait(hole, Duration::ZERO).is_some()).collect();
            assert_eq!(waits, [false, false, false, true, true]);
        }
        compression.begin(false);
        assert_eq!(compression.wait(1001, Duration::ZERO), None);
    }

    #[test]
    fn at_most_44_segments_wait() {
        let mut compression = compression();
        let at_once = (0..60).filter(|_| compression.wait(1, Duration::ZERO).is_none()).count();
        assert_eq!(at_once, 3 + 60 - 3 - 44);
        compression.on_acknowledged();
        assert!(compression.wait(1, Duration::ZERO).is_some());
    }

    #[test]
    fn acks_wait_a_twentieth_of_the_round_trip_but_at_most_1_ms() {
        let mut compression = compression();
        (0..3).for_each(|_| assert_eq!(compression.wait(1, Duration::ZERO), None));
        let micros = |micros| Some(Duration::from_micros(micros) + SLACK);
        for (rtt_ms, wait) in [(0, 0), (100, 1000), (10, 500), (5, 250)] {
            assert_eq!(compression.wait(1, Duration::from_millis(rtt_ms)), micros(wait));
        }
    }

    #[test]
    fn a_waiting_report_leaves_before_the_third_or_a_later_block_changes() {
        let mut compression = compression();
        assert!(!compression.must_precede_change(3), "nothing waits");
        let waits = (0..4).filter(|_| compression.wait(1, Duration::ZERO).is_some()).count();
        assert_eq!(waits, 1);
        let blocks = [1, 2, 3].map(|place| compression.must_precede_change(place));
        assert_eq!(blocks, [false, true, true]);
    }
}
