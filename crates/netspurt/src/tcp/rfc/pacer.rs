//! The pacer, which spreads the segments of a sender over time.

use crate::congestion::Window;
use crate::packed::packed;
use crate::units::{BitRate, Duration, Time};

/// The pacing rate in slow start, in percent of cwnd per round trip, as in Linux.
const SLOW_START_PERCENT: u64 = 200;
/// The pacing rate in congestion avoidance, in percent of cwnd per round trip, as in Linux.
const AVOIDANCE_PERCENT: u64 = 120;

/// Spreads segments over time, if a switch requires this, or if the congestion control algorithm
/// owns cwnd (sets cwnd even in recovery).
#[derive(Debug)]
pub(super) struct Pacer {
    is_on: bool,
    /// When the next segment may leave.
    until: Time,
}

packed!(Pacer { is_on, until });

impl Pacer {
    /// Makes a pacer. It holds segments back only if `is_on` is true.
    pub(super) fn new(is_on: bool) -> Self {
        Self { is_on, until: Time::ZERO }
    }

    /// Holds segments back from now on.
    pub(super) fn switch_on(&mut self) {
        self.is_on = true;
    }

    /// Whether segments are spread at all.
    pub(super) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns the instant until which the pacer holds the next segment back. The result is `None`
    /// if the segment may leave now.
    #[inline]
    pub(super) fn holds(&self, now: Time) -> Option<Time> {
        (now < self.until).then_some(self.until)
    }

    /// Lets the next segment leave immediately.
    pub(super) fn release(&mut self, now: Time) {
        self.until = now;
    }

    /// Notes that a segment of `octets` was sent. The next segment may be sent after the time that
    /// these octets take at `rate`.
    pub(super) fn on_departed(&mut self, octets: u64, rate: Option<BitRate>, now: Time) {
        if let Some(rate) = rate {
            self.until = self.until.max(now) + rate.time_for(octets);
        }
    }
}

/// Returns a rate of 1.2 cwnd per round trip, so that cwnd, and not pacing, limits the sender.
/// While cwnd is below half of ssthresh, the rate is two cwnd per round trip
/// (`tcp_update_pacing_rate`). `None` if there is no srtt.
pub(super) fn spread_rate(window: &Window, srtt: Option<Duration>) -> Option<BitRate> {
    let srtt = srtt?.as_nanos().max(1);
    let is_early = window.cwnd < window.ssthresh / 2;
    let percent = if is_early { SLOW_START_PERCENT } else { AVOIDANCE_PERCENT };
    let bits = u128::from(window.cwnd) * 8 * u128::from(percent) / 100;
    let rate = bits * 1_000_000_000 / u128::from(srtt);
    BitRate::new(u64::try_from(rate).unwrap_or(u64::MAX).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux's ratios: a round trip has room for two cwnd while cwnd is below half of ssthresh, and
    /// otherwise for 1.2 cwnd.
    #[test]
    fn a_cwnd_is_spread_over_less_than_a_round_trip() {
        let srtt = Some(Duration::from_millis(100));
        let bits = |cwnd, ssthresh| {
            spread_rate(&Window { cwnd, ssthresh }, srtt).and_then(BitRate::bits_per_second)
        };
        assert_eq!(bits(10_000, Window::NO_THRESHOLD), Some(1_600_000));
        assert_eq!(bits(10_000, 20_002), Some(1_600_000));
        assert_eq!(bits(10_000, 20_000), Some(960_000));
        assert_eq!(spread_rate(&Window { cwnd: 10_000, ssthresh: 1 }, None), None);
    }

    #[test]
    fn a_paced_segment_waits_for_the_transmission_time_of_the_segments_before_it() {
        let ms = |n| Time::ZERO + Duration::from_millis(n);
        let rate = BitRate::new(8_000_000);
        let mut pacer = Pacer::new(true);
        assert_eq!(pacer.holds(ms(10)), None);
        pacer.on_departed(1000, rate, ms(10));
        pacer.on_departed(1000, rate, ms(10));
        assert_eq!((pacer.holds(ms(11)), pacer.holds(ms(12))), (Some(ms(12)), None));
        pacer.release(ms(11));
        assert_eq!(pacer.holds(ms(11)), None);
    }
}
