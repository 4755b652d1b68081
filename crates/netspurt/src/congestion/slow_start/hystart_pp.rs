//! HyStart++ (RFC 9406), an algorithm that ends slow start before a loss. When round trips grow, it
//! enters *conservative slow start*, in which cwnd grows at a quarter of the usual speed.
//! Conservative slow start lasts until it is clear whether a queue or jitter made the round trips
//! grow.

use crate::congestion::{AckInfo, Window};
use crate::packed::{packed, packed_value};
use crate::units::Duration;

use super::growth::growth;

/// The constants of HyStart++. The defaults come from RFC 9406 §4.3 for a sender without pacing.
///
/// ```
/// use netspurt::congestion::HyStartPpConfig;
/// use netspurt::units::Duration;
/// let config = HyStartPpConfig::default();
/// assert_eq!(config.rtt_thresh(Duration::from_millis(80)), Duration::from_millis(10));
/// assert_eq!(config.limit_segs, Some(8));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyStartPpConfig {
    /// The lower bound of the round-trip growth that begins conservative slow start
    /// (MIN_RTT_THRESH).
    pub min_rtt_thresh: Duration,
    /// The upper bound of the round-trip growth that begins conservative slow start
    /// (MAX_RTT_THRESH).
    pub max_rtt_thresh: Duration,
    /// The divisor of the last round's round trip. The quotient, within its bounds, is the
    /// round-trip growth that begins conservative slow start (MIN_RTT_DIVISOR).
    pub min_rtt_divisor: u32,
    /// The number of samples that a round must have before its round trip counts (N_RTT_SAMPLE).
    pub n_rtt_sample: u32,
    /// The divisor of the growth in conservative slow start (CSS_GROWTH_DIVISOR).
    pub css_growth_divisor: u32,
    /// The number of rounds of conservative slow start, including the round in which it begins
    /// (CSS_ROUNDS).
    pub css_rounds: u32,
    /// The maximum number of segments by which one ACK opens cwnd (L). The value is `None` for no
    /// limit.
    pub limit_segs: Option<u32>,
}

impl Default for HyStartPpConfig {
    fn default() -> Self {
        Self {
            min_rtt_thresh: Duration::from_millis(4),
            max_rtt_thresh: Duration::from_millis(16),
            min_rtt_divisor: 8,
            n_rtt_sample: 8,
            css_growth_divisor: 4,
            css_rounds: 5,
            limit_segs: Some(8),
        }
    }
}

impl HyStartPpConfig {
    /// The round-trip growth that begins conservative slow start (RFC 9406 §4.2). The argument
    /// `last` is the round trip of the previous round.
    ///
    /// # Panics
    /// When `min_rtt_divisor` is zero.
    pub fn rtt_thresh(&self, last: Duration) -> Duration {
        let share = last / u64::from(self.min_rtt_divisor);
        self.min_rtt_thresh.max(share.min(self.max_rtt_thresh))
    }
}

/// The state of conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// The round trip that began conservative slow start (cssBaselineMinRtt).
    baseline: Duration,
    /// The number of rounds that have ended since conservative slow start began.
    rounds: u32,
}

packed_value!(Conservative { baseline, rounds });

/// HyStart++'s state.
#[derive(Debug)]
pub(super) struct HyStartPp {
    config: HyStartPpConfig,
    /// The round ends when the acknowledgments reach this octet (windowEnd).
    window_end: Option<u64>,
    /// The minimum round trip of the last round.
    last_round: Option<Duration>,
    /// The minimum round trip of this round so far.
    this_round: Option<Duration>,
    /// The number of round trips measured in this round.
    samples: u32,
    css: Option<Conservative>,
}

packed!(HyStartPp { window_end, last_round, this_round, samples, css } keeps { config });

impl HyStartPp {
    pub(super) fn new(config: HyStartPpConfig) -> Self {
        let (last_round, this_round) = (None, None);
        Self { config, window_end: None, last_round, this_round, samples: 0, css: None }
    }

    /// Processes an ACK in the first slow start (RFC 9406 §4.2).
    pub(super) fn on_ack(&mut self, ack: &AckInfo, window: &mut Window) {
        let window_end = *self.window_end.get_or_insert(ack.nxt);
        if ack.window_limited {
            let full = growth(ack, self.config.limit_segs);
            let divisor = if self.css.is_some() { self.config.css_growth_divisor } else { 1 };
            window.cwnd = window.cwnd.saturating_add(full / u64::from(divisor));
        }
        if let Some(rtt) = ack.rtt {
            self.this_round = Some(self.this_round.map_or(rtt, |least| least.min(rtt)));
            self.samples = self.samples.saturating_add(1);
        }
        self.judge();
        if ack.una >= window_end && self.end_round(ack.nxt) {
            window.ssthresh = window.cwnd;
        }
    }

    /// Enters conservative slow start if round trips grew, and leaves it if they shrank.
    fn judge(&mut self) {
        let Some(this) = self.this_round else { return };
        if self.samples < self.config.n_rtt_sample {
            return;
        }
        match (self.css, self.last_round) {
            (Some(css), _) if this < css.baseline => self.css = None,
            (None, Some(last)) if this >= last + self.config.rtt_thresh(last) => {
                self.css = Some(Conservative { baseline: this, rounds: 0 });
            }
            _ => {}
        }
    }

    /// Ends the round, and begins a new round that ends when `nxt` is acknowledged. Returns whether
    /// slow start is over.
    fn end_round(&mut self, nxt: u64) -> bool {
        self.window_end = Some(nxt);
        self.last_round = self.this_round.take();
        self.samples = 0;
        let Some(css) = &mut self.css else { return false };
        css.rounds += 1;
        css.rounds >= self.config.css_rounds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: u64 = 1000;

    /// HyStart++ with a window, and the oldest octet that is not acknowledged.
    struct Bench {
        algorithm: HyStartPp,
        window: Window,
        una: u64,
    }

    impl Bench {
        fn new(config: HyStartPpConfig) -> Self {
            let window = Window { cwnd: 10 * SMSS, ssthresh: Window::NO_THRESHOLD };
            Self { algorithm: HyStartPp::new(config), window, una: 0 }
        }

        /// Gives the algorithm an ACK of `acked` octets. Returns the growth of cwnd.
        fn ack(&mut self, rtt_us: u64, acked: u64, nxt: u64) -> u64 {
            self.una += acked;
            let before = self.window.cwnd;
            let ack = AckInfo {
                smss: SMSS,
                acked_bytes: acked,
                rtt: Some(Duration::from_micros(rtt_us)),
                una: self.una,
                nxt,
                window_limited: true,
                ..AckInfo::default()
            };
            self.algorithm.on_ack(&ack, &mut self.window);
            self.window.cwnd - before
        }

        /// Gives the algorithm a round of ten ACKs with equal round trips. Returns the growth of
        /// cwnd for each ACK.
        fn round(&mut self, rtt_us: u64) -> Vec<u64> {
            let end = self.una + 10 * SMSS;
            let nxt = |n| if n < 10 { end } else { end + 10 * SMSS };
            (1..=10).map(|n| self.ack(rtt_us, SMSS, nxt(n))).collect()
        }

        /// The state after two rounds. Only the second round was delayed.
        fn delayed() -> Self {
            let mut bench = Self::new(HyStartPpConfig::default());
            bench.round(100_000);
            bench.round(130_000);
            bench
        }
    }

    /// RFC 9406 §4.2: RttThresh is an eighth of the last round's round trip, but at least 4 and at
    /// most 16 ms. The algorithm enters conservative slow start (CSS) at the eighth sample of a
    /// round whose round trip grew by RttThresh.
    #[test]
    fn conservative_slow_start_begins_when_the_delay_grows_by_the_threshold() {
        for (rtt_us, thresh_us) in [(8000, 4000), (80_000, 10_000), (400_000, 16_000)] {
            for (grown, pace) in [(thresh_us - 1, SMSS), (thresh_us, SMSS / 4)] {
                let mut bench = Bench::new(HyStartPpConfig::default());
                assert_eq!(bench.round(rtt_us), [SMSS; 10]);
                let mut expected = [SMSS; 10];
                expected[8..].fill(pace);
                assert_eq!(bench.round(rtt_us + grown), expected, "RTT {rtt_us} us + {grown} us");
            }
        }
    }

    /// RFC 9406 §4.2: an ACK of N octets opens cwnd by min(N, L * SMSS). In conservative slow start
    /// (CSS), it opens cwnd by a quarter of this number. L is 8, or unlimited.
    #[test]
    fn an_ack_opens_cwnd_by_at_most_eight_segments_or_two_in_conservative_slow_start() {
        let far = 1 << 40;
        let mut bench = Bench::new(HyStartPpConfig::default());
        assert_eq!((bench.ack(9, 8 * SMSS, far), bench.ack(9, 9 * SMSS, far)), (8000, 8000));
        assert_eq!(
            Bench::new(HyStartPpConfig { limit_segs: None, ..Default::default() }).ack(
                9,
                99 * SMSS,
                far
            ),
            99_000
        );
        let mut bench = Bench::delayed();
        assert_eq!(bench.ack(130_000, 9 * SMSS, far), 2000);
    }

    /// RFC 9406 §4.2: Conservative slow start (CSS) lasts five rounds, including the round in which
    /// it begins. At its end ssthresh becomes cwnd.
    #[test]
    fn slow_start_is_over_after_five_rounds_of_conservative_slow_start() {
        let mut bench = Bench::delayed();
        for _ in 2..=5 {
            assert!(bench.window.in_slow_start());
            bench.round(130_000);
        }
        assert_eq!(bench.window.ssthresh, bench.window.cwnd);
    }

    /// RFC 9406 §4.2: a round trip below the baseline shows that the exit was spurious. Slow start
    /// continues, and the algorithm may end slow start again.
    #[test]
    fn a_round_trip_below_the_baseline_resumes_slow_start() {
        let mut bench = Bench::delayed();
        let mut expected = [SMSS / 4; 10];
        expected[8..].fill(SMSS);
        assert_eq!(bench.round(129_999), expected);
        assert_eq!(bench.round(129_999), [SMSS; 10]);
        bench.round(160_000);
        assert_eq!(bench.round(160_000), [SMSS / 4; 10]);
    }

    #[test]
    fn a_round_is_judged_from_its_eighth_sample_on() {
        let mut bench = Bench::new(HyStartPpConfig::default());
        bench.round(100_000);
        let end = bench.una + 100 * SMSS;
        bench.ack(200_000, SMSS, end);
        let grown: Vec<u64> = (1..8).map(|_| bench.ack(200_000, SMSS, end)).collect();
        assert_eq!(grown, [SMSS; 7]);
        assert_eq!(bench.ack(200_000, SMSS, end), SMSS / 4);
    }
}
