//! Reports of SACK that wait to be sent as one, as Linux has it.

use crate::packed::packed;
use crate::units::Duration;

use super::config::RfcConfig;

/// The number of ACKs behind one gap that leave at once (`TCP_FASTRETRANS_THRESH`).
const AT_ONCE: u32 = 3;
/// So many segments wait for one ACK (`tcp_comp_sack_nr`).
const WAITING_MAX: u32 = 44;
/// The longest wait (`tcp_comp_sack_delay_ns`); the wait is this part of a round trip.
const WAIT_MAX: Duration = Duration::from_millis(1);
const WAIT_PART: u64 = 20;
/// How much later a timer may fire that nothing else wakes (`tcp_comp_sack_slack_ns`), and a little more:
/// what arrives at that instant is reported, too.
const SLACK: Duration = Duration::from_nanos(100_001);
/// If a segment changes a block behind this number of newer ones, the waiting ACK leaves first
/// (`TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_EXPECTED: usize = 2;

/// How the receiver joins ACKs that report what arrives behind a gap (`__tcp_ack_snd_check`).
///
/// The first three for a gap leave at once. Then an ACK waits for a twentieth of a round trip, for 1 ms
/// at most, and reports all that has come meanwhile.
#[derive(Debug)]
pub(super) struct SackCompression {
    is_wanted: bool,
    /// Whether SACK was agreed on.
    is_on: bool,
    /// The octet that the gap begins with, and the ACKs for that gap that left at once.
    gap: u64,
    at_once: u32,
    /// Segments whose report waits.
    waiting: u32,
}

packed!(SackCompression { is_on, gap, at_once, waiting } keeps { is_wanted });

impl SackCompression {
    pub(super) fn new(config: &RfcConfig) -> Self {
        Self {
            is_wanted: config.receive_rules.compresses_sacks,
            is_on: false,
            gap: 0,
            at_once: 0,
            waiting: 0,
        }
    }

    /// The peer's SYN came. `sack` says whether SACK is agreed on.
    pub(super) fn begin(&mut self, sack: bool) {
        self.is_on = self.is_wanted && sack;
    }

    /// Whether a report waits.
    #[inline]
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting > 0
    }

    /// An ACK leaves, with all waiting reports.
    #[inline]
    pub(super) fn on_acknowledged(&mut self) {
        self.waiting = 0;
    }

    /// A segment arrived behind the gap that begins with the octet `gap`: how long its report waits,
    /// unless it leaves at once. `rtt` is the lesser of the round trips that the sender and the receiver
    /// measured, or zero if the receiver knows none.
    pub(super) fn wait(&mut self, gap: u64, rtt: Duration) -> Option<Duration> {
        if !self.is_on || self.waiting >= WAITING_MAX {
            return None;
        }
        if self.gap != gap {
            (self.gap, self.at_once) = (gap, 0);
        }
        if self.at_once < AT_ONCE {
            self.at_once += 1;
            return None;
        }
        self.waiting += 1;
        Some((rtt / WAIT_PART).min(WAIT_MAX) + SLACK)
    }

    /// Whether the ACK that waits leaves before a block at `place` among those reported changes
    /// (`tcp_sack_new_ofo_skb`).
    pub(super) fn goes_before(&self, place: usize) -> bool {
        self.is_waiting() && place >= BLOCKS_EXPECTED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compression() -> SackCompression {
        let mut compression = SackCompression::new(&RfcConfig::linux_6());
        compression.begin(true);
        compression
    }

    #[test]
    fn behind_each_gap_three_reports_leave_at_once() {
        let mut compression = compression();
        for gap in [1, 1001] {
            let waits: Vec<bool> =
                (0..5).map(|_| compression.wait(gap, Duration::ZERO).is_some()).collect();
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
    fn the_wait_is_a_twentieth_of_the_round_trip_and_1_ms_at_most() {
        let mut compression = compression();
        (0..3).for_each(|_| assert_eq!(compression.wait(1, Duration::ZERO), None));
        let micros = |micros| Some(Duration::from_micros(micros) + SLACK);
        for (rtt_ms, wait) in [(0, 0), (100, 1000), (10, 500), (5, 250)] {
            assert_eq!(compression.wait(1, Duration::from_millis(rtt_ms)), micros(wait));
        }
    }

    #[test]
    fn a_report_that_waits_goes_before_the_third_block_changes() {
        let mut compression = compression();
        assert!(!compression.goes_before(3), "nothing waits");
        let waits = (0..4).filter(|_| compression.wait(1, Duration::ZERO).is_some()).count();
        assert_eq!(waits, 1);
        assert!(compression.goes_before(2) && !compression.goes_before(1));
    }
}
