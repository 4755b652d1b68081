//! HyStart is an algorithm that ends slow start before a loss. It ends slow start when round trips
//! grow, or when a train of ACKs lasts longer than half of the path's round trip. If the sender
//! paces, the train must last longer than a whole round trip. A train begins with a round, and goes
//! on while ACKs come at short intervals.
//!
//! The algorithm comes from Ha and Rhee (2011, "Taming the elephants"), with the constants and the
//! changes of Linux 6 (`net/ipv4/tcp_cubic.c`). One rule is left out: above 2 Gbit/s, Linux reduces
//! its allowance for segmentation offload (`train_allowance`).

use crate::congestion::{AckInfo, Window};
use crate::packed::{packed, packed_value};
use crate::units::{Duration, Time};

/// The constants of HyStart. The defaults come from Linux, but without its `train_allowance`.
///
/// ```
/// use netspurt::congestion::HyStartConfig;
/// use netspurt::units::Duration;
/// let config = HyStartConfig::default();
/// assert_eq!(config.threshold(Duration::from_millis(100)), Duration::from_micros(12_500));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyStartConfig {
    /// The minimum cwnd at which HyStart may end slow start, in segments.
    pub low_window_segs: u32,
    /// Whether a growing round trip ends slow start.
    pub delay_increase: bool,
    /// The number of samples that a round must have before its round trip may end slow start.
    pub min_samples: u32,
    /// The divisor of the minimum round trip. The quotient, within its bounds, is the growth that
    /// ends slow start.
    pub delay_divisor: u32,
    /// The lower bound of the growth that ends slow start.
    pub delay_min: Duration,
    /// The upper bound of the growth that ends slow start.
    pub delay_max: Duration,
    /// Whether a long train of ACKs ends slow start.
    pub ack_train: bool,
    /// The maximum time between two ACKs of a train.
    pub ack_spacing: Duration,
    /// Linux's allowance for segmentation offload. HyStart compares the length of a train with the
    /// path's round trip plus this time, or with half of this sum if the sender does not pace.
    pub train_allowance: Duration,
    /// Whether the sender paces. A train then ends slow start only if it lasts longer than a whole
    /// round trip. Without pacing, half a round trip is enough.
    pub paced: bool,
}

impl Default for HyStartConfig {
    fn default() -> Self {
        Self {
            low_window_segs: 16,
            delay_increase: true,
            min_samples: 8,
            delay_divisor: 8,
            delay_min: Duration::from_millis(4),
            delay_max: Duration::from_millis(16),
            ack_train: true,
            ack_spacing: Duration::from_millis(2),
            train_allowance: Duration::ZERO,
            paced: false,
        }
    }
}

impl HyStartConfig {
    /// Slow start ends if the minimum round trip of a round exceeds `min_rtt`, the minimum of all
    /// rounds, by more than this time.
    ///
    /// # Panics
    /// When `delay_divisor` is zero, or `delay_min` is above `delay_max`.
    pub fn threshold(&self, min_rtt: Duration) -> Duration {
        (min_rtt / u64::from(self.delay_divisor)).clamp(self.delay_min, self.delay_max)
    }
}

/// A round: it ends with the first ACK of data that was sent after its start.
#[derive(Clone, Copy, Debug)]
struct HyStartRound {
    /// The next octet to be sent when the round began.
    end: u64,
    start: Time,
    /// When the last ACK of the train arrived. The train begins with the round.
    last_ack: Time,
    min_rtt: Option<Duration>,
    samples: u32,
}

impl HyStartRound {
    /// A round that begins at the instant `start`. The octet `end` is the next octet to be sent.
    fn new(end: u64, start: Time) -> Self {
        Self { end, start, last_ack: start, min_rtt: None, samples: 0 }
    }
}

packed_value!(HyStartRound { end, start, last_ack, min_rtt, samples });

/// HyStart's state.
#[derive(Debug)]
pub(super) struct HyStart {
    config: HyStartConfig,
    /// The minimum round trip in slow start, since the start or since the last timeout.
    min_rtt: Option<Duration>,
    round: Option<HyStartRound>,
    /// Whether HyStart has ended slow start since the connection began, or since the last timeout.
    found: bool,
}

packed!(HyStart { min_rtt, round, found } keeps { config });

impl HyStart {
    pub(super) fn new(config: HyStartConfig) -> Self {
        Self { config, min_rtt: None, round: None, found: false }
    }

    /// Clears all measurements of the path after a timeout at the instant `now`. The octets
    /// outstanding at that instant, up to `nxt`, make a round (`bictcp_hystart_reset`).
    pub(super) fn start_again(&mut self, now: Time, nxt: u64) {
        let round = HyStartRound::new(nxt, now);
        *self = Self { round: Some(round), ..Self::new(self.config) };
    }

    /// Processes an ACK in slow start. Sets ssthresh to cwnd if slow start should end and cwnd is
    /// large enough.
    pub(super) fn on_ack(&mut self, ack: &AckInfo, window: &mut Window) {
        let Some(rtt) = ack.rtt else { return };
        let min_rtt = self.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt));
        self.min_rtt = Some(min_rtt);
        if self.found {
            return;
        }
        let mut round = match self.round {
            Some(round) if ack.una <= round.end => round,
            _ => HyStartRound::new(ack.nxt, ack.now),
        };
        if window.cwnd >= u64::from(self.config.low_window_segs) * ack.smss {
            let train = self.is_long_train(&mut round, ack.now, min_rtt);
            let delay = self.is_delayed(&mut round, rtt, min_rtt);
            self.found = train || delay;
        }
        self.round = Some(round);
        if self.found {
            window.ssthresh = window.cwnd;
        }
    }

    /// Whether two conditions hold: this ACK belongs to the round's train of ACKs, and the train
    /// has lasted long enough to end slow start.
    fn is_long_train(&self, round: &mut HyStartRound, now: Time, min_rtt: Duration) -> bool {
        if !self.config.ack_train || now.saturating_since(round.last_ack) > self.config.ack_spacing
        {
            return false;
        }
        round.last_ack = now;
        let train_max = min_rtt + self.config.train_allowance;
        let length = if self.config.paced { train_max } else { train_max / 2 };
        now.saturating_since(round.start) > length
    }

    /// Whether the minimum round trip of this round exceeds the minimum of all rounds by more than
    /// [`threshold`](HyStartConfig::threshold). False while the round has too few samples.
    fn is_delayed(&self, round: &mut HyStartRound, rtt: Duration, min_rtt: Duration) -> bool {
        let of_round = round.min_rtt.map_or(rtt, |min_rtt| min_rtt.min(rtt));
        round.min_rtt = Some(of_round);
        if round.samples < self.config.min_samples {
            round.samples += 1;
            return false;
        }
        self.config.delay_increase && of_round > min_rtt + self.config.threshold(min_rtt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1000;

    /// Makes a HyStart that uses round trips only, and not trains of ACKs.
    fn delays() -> HyStart {
        HyStart::new(HyStartConfig { ack_train: false, ..HyStartConfig::default() })
    }

    /// An ACK at `now_us` with the round trip `rtt_us`, both in microseconds. `una` is the oldest
    /// octet that is not acknowledged, and `nxt` the next octet to send.
    fn ack(now_us: u64, rtt_us: u64, una: u64, nxt: u64) -> AckInfo {
        AckInfo {
            now: Time::from_nanos(now_us * 1000),
            smss: SMSS,
            rtt: Some(Duration::from_micros(rtt_us)),
            una,
            nxt,
            ..AckInfo::default()
        }
    }

    /// A cwnd of `segs` segments, in slow start.
    fn window(segs: u64) -> Window {
        Window { cwnd: segs * SMSS, ssthresh: Window::NO_THRESHOLD }
    }

    /// The number of ACKs of the second round until slow start ends. The result is `None` if slow
    /// start does not end. The round trips of the first round are `rtt_us`, and the round trips of
    /// the second round are `grown_us`.
    fn acks_until_exit(algorithm: &mut HyStart, rtt_us: u64, grown_us: u64) -> Option<u64> {
        let mut window = window(16);
        for una in 1..=20 {
            algorithm.on_ack(&ack(una * 5000, rtt_us, una, 20), &mut window);
            assert!(window.in_slow_start());
        }
        (1..=20).find(|una| {
            algorithm.on_ack(&ack(500_000 + una * 5000, grown_us, 20 + una, 100), &mut window);
            !window.in_slow_start()
        })
    }

    /// The threshold is an eighth of the minimum round trip, but at least 4 ms and at most 16 ms.
    /// A round must have eight samples before it can end slow start.
    #[test]
    fn slow_start_ends_when_the_delay_grows_by_more_than_the_threshold() {
        for (rtt_us, limit_us) in [(8000, 4000), (80_000, 10_000), (400_000, 16_000)] {
            let at = acks_until_exit(&mut delays(), rtt_us, rtt_us + limit_us);
            assert_eq!(at, None, "a growth of only {limit_us} us does not end slow start");
            let at = acks_until_exit(&mut delays(), rtt_us, rtt_us + limit_us + 1);
            assert_eq!(at, Some(9), "round trip {rtt_us} us");
        }
    }

    #[test]
    fn slow_start_goes_on_if_one_round_trip_in_the_round_is_short() {
        for (first_us, ends) in [(40_000, false), (80_000, true)] {
            let (mut algorithm, mut window) = (delays(), window(16));
            algorithm.on_ack(&ack(0, 40_000, 1, 1), &mut window);
            algorithm.on_ack(&ack(50_000, first_us, 2, 100), &mut window);
            for una in 3..=20 {
                algorithm.on_ack(&ack(50_000 + una * 5000, 80_000, una, 100), &mut window);
            }
            assert_eq!(!window.in_slow_start(), ends, "first {first_us} us");
        }
    }

    #[test]
    fn after_a_timeout_hystart_starts_again() {
        let mut algorithm = delays();
        assert_eq!(acks_until_exit(&mut algorithm, 40_000, 80_000), Some(9));
        algorithm.start_again(Time::ZERO, 0);
        assert_eq!(acks_until_exit(&mut algorithm, 80_000, 80_000), None);
        algorithm.start_again(Time::ZERO, 0);
        assert_eq!(acks_until_exit(&mut algorithm, 80_000, 91_000), Some(9));
    }

    /// `bictcp_hystart_reset`: the next round begins after the octets that were outstanding at the
    /// timeout. A short round trip of the repair therefore does not count for a later round.
    #[test]
    fn after_a_timeout_the_outstanding_octets_make_a_round() {
        let mut algorithm = delays();
        let mut window = window(16);
        algorithm.start_again(Time::ZERO, 10);
        for una in 2..=19 {
            let rtt_us = if una <= 10 { 40_000 } else { 80_000 };
            algorithm.on_ack(&ack(50_000 + una * 5000, rtt_us, una, 100), &mut window);
            assert_eq!(window.in_slow_start(), una < 19, "una {una}");
        }
    }

    /// A train begins with the round, and goes on while ACKs come at most 2 ms apart. Slow start
    /// ends when the train is longer than half of the minimum round trip. If the sender paces, it
    /// ends when the train is longer than the whole minimum round trip.
    #[test]
    fn slow_start_ends_if_a_train_of_acks_lasts_longer_than_half_the_round_trip() {
        for (spacing_us, paced, end_us) in
            [(2000, false, Some(22_000)), (2000, true, Some(42_000)), (2001, false, None)]
        {
            let config = HyStartConfig { delay_increase: false, paced, ..Default::default() };
            let (mut algorithm, mut window) = (HyStart::new(config), window(16));
            let mut times = (0..50).map(|n| n * spacing_us);
            let end = times.find(|at| {
                algorithm.on_ack(&ack(*at, 40_000, 1 + at / spacing_us, 100), &mut window);
                !window.in_slow_start()
            });
            assert_eq!(end, end_us, "ACKs {spacing_us} us apart, paced: {paced}");
        }
    }

    #[test]
    fn hystart_does_not_end_slow_start_below_sixteen_segments() {
        for (segs, ends) in [(15, false), (16, true)] {
            let (mut algorithm, mut window) =
                (HyStart::new(HyStartConfig::default()), window(segs));
            for n in 0..40 {
                algorithm.on_ack(&ack(n * 1000, 40_000, 1 + n, 100), &mut window);
            }
            assert_eq!(!window.in_slow_start(), ends, "cwnd of {segs} segments");
            assert_eq!(window.ssthresh == window.cwnd, ends);
        }
    }
}
