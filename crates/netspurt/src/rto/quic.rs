//! The probe timeout of QUIC (RFC 9002), which is QUIC's only retransmission timer.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::arith::{Ratio, Smooth};
use super::backoff::Backoff;
use super::keys::{Constant, Contradiction, Keys, by_name};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Quic`]. The defaults come from RFC 9002 §6.1.2 and §6.2.2, and from RFC 9000
/// §18.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicConfig {
    /// The round trip that is assumed before any sample (kInitialRtt in the RFC).
    pub initial_rtt: Duration,
    /// The span that is added to smoothed_rtt if 4 rttvar is shorter than this span (kGranularity
    /// in the RFC).
    pub granularity: Duration,
    /// The longest time for which the peer delays an acknowledgment on purpose (its transport
    /// parameter `max_ack_delay`).
    pub max_ack_delay: Duration,
    /// The maximum RTO. The value is `None` for no maximum, as in the RFC.
    pub max: Option<Duration>,
}

impl Default for QuicConfig {
    fn default() -> Self {
        Self {
            initial_rtt: Duration::from_millis(333),
            granularity: Duration::from_millis(1),
            max_ack_delay: Duration::from_millis(25),
            max: None,
        }
    }
}

impl Keys for QuicConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => initial_rtt, granularity, max_ack_delay, max)
    }

    fn bounds(&self) -> [Option<&'static str>; 3] {
        [Some("initial_rtt"), None, Some("max")]
    }

    fn check(&self) -> Result<(), Contradiction> {
        Ok(())
    }
}

/// The probe timeout of RFC 9002 §6.2.1: smoothed_rtt + max(4 rttvar, kGranularity) +
/// max_ack_delay. Each expiry doubles the timeout.
///
/// The delay that the peer reports is subtracted from a sample, unless the result would be below
/// min_rtt (§5.3). Once the handshake is complete, a reported delay above max_ack_delay counts as
/// max_ack_delay. The RFC applies this rule later, once the handshake is confirmed. Until the
/// handshake is complete, max_ack_delay is not added to the timer, because handshake packets are
/// acknowledged immediately. So the timer of a new connection is three times the initial round
/// trip: 999 ms.
///
/// rttvar is updated before the smoothed value, as in the RFC's appendix A.7 and in TCP. The RFC's
/// §5.3 updates the smoothed value first. Any acknowledgment that makes progress ends the backoff
/// (§6.2.1). QUIC uses no packet number twice, so it has no ambiguous samples. A sample that a
/// caller marks as ambiguous is ignored. A timeout of any [`TimeoutKind`] doubles the timer,
/// because the probe timer is QUIC's only retransmission timer.
///
/// ```
/// use netspurt::rto::{Quic, QuicConfig, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let ms = Duration::from_millis;
/// let mut timer = Quic::new(QuicConfig::default());
/// assert_eq!(timer.rto(), ms(999));
/// timer.on_sample(&RttSample { rtt: ms(100), ..RttSample::default() });
/// assert_eq!(timer.rto(), ms(100 + 4 * 50 + 25));
/// ```
#[derive(Clone, Debug)]
pub struct Quic {
    config: QuicConfig,
    smoothed: Option<QuicMean>,
    handshake_done: bool,
    backoff: Backoff,
}

/// The smoothed values, and the shortest round trip so far.
#[derive(Clone, Copy, Debug)]
struct QuicMean {
    min_rtt: Duration,
    srtt: Smooth,
    rttvar: Smooth,
}

impl QuicMean {
    /// The values after the first sample `rtt` (RFC 9002 §5.3). Before the first sample, the caller
    /// passes the initial round trip.
    fn first(rtt: Duration) -> Self {
        let srtt = Smooth::of(rtt);
        Self { min_rtt: rtt, srtt, rttvar: srtt.half() }
    }

    /// Processes a later sample (RFC 9002 §5.2 and §5.3).
    fn take(&mut self, rtt: Duration, ack_delay: Duration) {
        self.min_rtt = self.min_rtt.min(rtt);
        let adjusted = if rtt >= self.min_rtt + ack_delay { rtt - ack_delay } else { rtt };
        let adjusted = Smooth::of(adjusted);
        let distance = self.srtt.distance(adjusted);
        self.rttvar = self.rttvar.toward(distance, Ratio::new(1, 4));
        self.srtt = self.srtt.toward(adjusted, Ratio::new(1, 8));
    }
}

impl Quic {
    /// A timer that has seen no sample.
    pub fn new(config: QuicConfig) -> Self {
        Self { config, smoothed: None, handshake_done: false, backoff: Backoff::default() }
    }
}

impl RtoEstimator for Quic {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        self.handshake_done |= !sample.handshake;
        let limit = self.handshake_done.then_some(self.config.max_ack_delay);
        let ack_delay = limit.map_or(sample.ack_delay, |most| sample.ack_delay.min(most));
        match &mut self.smoothed {
            Some(smoothed) => smoothed.take(sample.rtt, ack_delay),
            none => *none = Some(QuicMean::first(sample.rtt)),
        }
        self.backoff.end();
    }

    fn on_timeout(&mut self, _now: Time, _kind: TimeoutKind) {
        self.backoff.double();
    }

    fn rto(&self) -> Duration {
        let smoothed = self.smoothed.unwrap_or(QuicMean::first(self.config.initial_rtt));
        let peer_delay =
            if self.handshake_done { self.config.max_ack_delay } else { Duration::ZERO };
        let timer = smoothed.srtt.span() + smoothed.rttvar.times(4).max(self.config.granularity);
        self.backoff
            .on(timer + peer_delay, self.config.max.unwrap_or(Duration::from_nanos(u64::MAX)))
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.smoothed.map(|s| s.srtt.span()),
            rttvar: self.smoothed.map(|s| s.rttvar.span()),
            backoff: self.backoff.factor(),
            rto: self.rto(),
            fired: false,
        }
    }

    fn on_handshake(&mut self, sample: &RttSample) {
        self.on_sample(sample);
        self.handshake_done = true;
    }

    fn end_backoff(&mut self) {
        self.backoff.end();
    }

    fn on_progress(&mut self, _covers_timed: bool) {
        self.backoff.end();
    }

    /// QUIC uses no packet number twice, so an acknowledgment tells which transmission arrived.
    fn tells_copies_apart(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A sample with a round trip and the delay that the peer reports.
    fn sample(rtt_ms: u64, ack_delay_ms: u64) -> RttSample {
        RttSample { rtt: ms(rtt_ms), ack_delay: ms(ack_delay_ms), ..RttSample::default() }
    }

    /// A timer after these samples: round trips and reported delays, in milliseconds.
    fn after(samples: &[(u64, u64)]) -> Quic {
        let mut timer = Quic::new(QuicConfig::default());
        samples.iter().for_each(|(rtt, delay)| timer.on_sample(&sample(*rtt, *delay)));
        timer
    }

    /// min_rtt, smoothed_rtt and rttvar.
    fn fields(timer: &Quic) -> (Duration, Duration, Duration) {
        let s = timer.smoothed.unwrap();
        (s.min_rtt, s.srtt.span(), s.rttvar.span())
    }

    /// The values are computed by hand from RFC 9002 §5.3, in milliseconds. The first sample of 100
    /// gives an srtt of 100 and an rttvar of 50. A sample of 140 with a delay of 20 at the peer
    /// counts as 120, because 140 >= 100 + 20. So rttvar is (150 + 20) / 4 = 42.5, and srtt is
    /// 87.5 + 15 = 102.5. Without its delay of 20, a sample of 110 would be below min_rtt, so it
    /// counts in full. Then rttvar is (127.5 + 7.5) / 4 = 33.75, and srtt is
    /// 89.6875 + 13.75 = 103.4375.
    #[test]
    fn the_peers_delay_is_subtracted_unless_the_result_is_below_min_rtt() {
        let us = Duration::from_micros;
        assert_eq!(fields(&after(&[(100, 20)])), (ms(100), ms(100), ms(50)));
        let two = after(&[(100, 0), (140, 20)]);
        assert_eq!(fields(&two), (ms(100), us(102_500), us(42_500)));
        assert_eq!(two.rto(), us(102_500 + 170_000 + 25_000));
        let three = after(&[(100, 0), (140, 20), (110, 20)]);
        assert_eq!(fields(&three), (ms(100), Duration::from_nanos(103_437_500), us(33_750)));
    }

    /// RFC 9002 §5.3: once the handshake is confirmed, a reported delay above max_ack_delay counts
    /// as max_ack_delay. Before that, it counts in full.
    #[test]
    fn after_the_handshake_a_reported_delay_above_the_maximum_counts_as_the_maximum() {
        let mut data = after(&[(100, 0)]);
        data.on_sample(&sample(200, 80));
        let mut same = after(&[(100, 0)]);
        same.on_sample(&sample(200, 25));
        assert_eq!(fields(&data), fields(&same));
        let handshake = RttSample { handshake: true, ..sample(100, 0) };
        let mut early = Quic::new(QuicConfig::default());
        early.on_sample(&handshake);
        assert_eq!(early.rto(), ms(300), "handshake packets are acknowledged at once");
        early.on_sample(&RttSample { handshake: true, ..sample(200, 80) });
        assert_eq!(early.smoothed.unwrap().srtt.span(), Duration::from_micros(102_500));
        early.on_handshake(&RttSample { handshake: true, ..sample(100, 0) });
        assert!(early.handshake_done);
    }

    /// RFC 9002 §6.2.2: with an initial round trip of 333 ms, the first timer is about a second.
    /// RFC 9002 §6.2.1: each expiry doubles the timer, and an acknowledgment that makes progress
    /// ends the backoff.
    #[test]
    fn timeouts_double_the_timer_until_an_acknowledgment_makes_progress() {
        let mut timer = Quic::new(QuicConfig::default());
        for rto in [999, 1998, 3996, 7992] {
            assert_eq!(timer.rto(), ms(rto));
            timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        }
        timer.on_progress(false);
        assert_eq!(timer.rto(), ms(999));
        let mut capped = Quic::new(QuicConfig { max: Some(ms(2500)), ..QuicConfig::default() });
        (0..40).for_each(|_| capped.on_timeout(Time::ZERO, TimeoutKind::Rto));
        assert_eq!(capped.rto(), ms(2500));
        capped.on_spurious(Some(&sample(100, 0)));
        assert_eq!(capped.rto(), ms(325));
    }

    #[test]
    fn after_steady_samples_the_timer_is_the_mean_plus_the_granularity_plus_the_maximum_delay() {
        let timer = after(&[(40, 0); 200]);
        assert_eq!(timer.rto(), ms(40 + 1 + 25));
    }
}
