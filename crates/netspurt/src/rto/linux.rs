//! The retransmission timer of Linux 6. The timer is srtt + rttvar. In this sum, srtt is the
//! smoothed mean of the round trips, and rttvar is a measure of their deviation. The value of
//! rttvar rises immediately, and falls only at the end of a round trip.

use crate::event::RtoState;
use crate::packed::{Packed, packed, packed_value};
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::backoff::Backoff;
use super::keys::{Constant, Contradiction, Keys, above_zero, by_name, checked, ordered};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Linux`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinuxConfig {
    /// The minimum of rttvar, which is the minimum distance of the timer from srtt. Linux takes it
    /// from `TCP_RTO_MIN`, the sysctl `tcp_rto_min_us`, or the route's `rto_min`.
    pub rto_min: Duration,
    /// The maximum RTO. Linux takes it from `TCP_RTO_MAX` or the sysctl `tcp_rto_max_ms`.
    pub rto_max: Duration,
    /// The timer before any sample: `TCP_TIMEOUT_INIT`.
    pub initial: Duration,
    /// The timer for data if the handshake gave no sample: `TCP_TIMEOUT_FALLBACK` (RFC 6298 §5.7).
    pub fallback: Duration,
    /// The number of timeouts of a SYN that do not double the timer: the sysctl
    /// `tcp_syn_linear_timeouts`.
    pub syn_linear_timeouts: u32,
    /// Whether the timer doubles only from the seventh timeout on while fewer than four segments
    /// are outstanding: `tcp_thin_linear_timeouts`.
    pub thin_linear: bool,
    /// The unit to which the timer is rounded up before it is doubled: 1 µs, or a jiffy as in the
    /// kernel. With 250 jiffies a second, a timer just above 200 ms becomes 204 ms.
    pub jiffy: Duration,
}

impl LinuxConfig {
    /// The two limits for a SYN: a number of retransmissions, and a span since the first SYN
    /// (`tcp_write_timeout`, `tcp_model_timeout`). `retries` is the value of the sysctl
    /// `tcp_syn_retries` or of the option `TCP_SYNCNT`. The kernel gives up at the first timeout at
    /// which this number of retransmissions was sent or this span has passed. The number is the sum
    /// of `retries` and `syn_linear_timeouts`. The span is computed as if the timer doubled from
    /// the first timeout on.
    pub fn syn_limit(&self, retries: u32) -> (u32, Duration) {
        let doublings = (self.rto_max.as_nanos() / self.initial.as_nanos().max(1)).max(1).ilog2();
        let doubled = self.initial * ((2 << retries.min(doublings).min(62)) - 1);
        let longest = self.rto_max * u64::from(retries.saturating_sub(doublings));
        (retries.saturating_add(self.syn_linear_timeouts), doubled + longest)
    }
}

impl Default for LinuxConfig {
    fn default() -> Self {
        Self {
            rto_min: Duration::from_millis(200),
            rto_max: Duration::from_secs(120),
            initial: Duration::from_secs(1),
            fallback: Duration::from_secs(3),
            syn_linear_timeouts: 4,
            thin_linear: false,
            jiffy: MICROSECOND,
        }
    }
}

impl Keys for LinuxConfig {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self =>
            rto_min, rto_max, initial, fallback, syn_linear_timeouts, thin_linear, jiffy)
    }

    fn bounds(&self) -> [Option<&'static str>; 3] {
        [Some("initial"), Some("rto_min"), Some("rto_max")]
    }

    fn check(&self) -> Result<(), Contradiction> {
        above_zero("jiffy", self.jiffy)?;
        ordered(("rto_min", self.rto_min), ("rto_max", self.rto_max))
    }
}

/// The timer of Linux 6 (`tcp_rtt_estimator`, `tcp_set_rto`, `tcp_retransmit_timer`), in integers
/// of microseconds.
///
/// rttvar stands for four deviations, and the timer is srtt + rttvar. Three rules differ from RFC
/// 6298. First, a sample below the mean raises the deviation by only an eighth of what a sample
/// above the mean adds. The reason is that the timer need not be longer when the path becomes
/// faster. Second, rttvar rises immediately to the largest deviation of a round trip. At the end of
/// each round trip it falls by a quarter of its distance to the largest deviation of that round
/// trip. Third, the minimum `rto_min` applies to rttvar.
///
/// An unambiguous sample ends the backoff (`tcp_ack_update_rtt`, which cites RFC 6298). The end of
/// the handshake ends the backoff of a SYN or SYN-ACK. Two events do not end a backoff. The first
/// is an undo, in which the sender restores its cwnd after a spurious recovery. The second is an
/// ACK of new data without a sample. By default, the timer of a SYN doubles only from the fifth
/// timeout on.
///
/// departs: RFC 6298 §2.3 and §2.4 - the gains are Linux's, and a minimum of 200 ms applies to the
/// variation instead of 1 s to the timer.
///
/// ```
/// use netspurt::rto::{Linux, LinuxConfig, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Linux::new(LinuxConfig::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(30), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(230));
/// ```
#[derive(Clone, Debug)]
pub struct Linux {
    config: LinuxConfig,
    smoothed: Option<LinuxMean>,
    /// The timer before the first sample: `initial` during the handshake, then `fallback`.
    unsampled: Duration,
    backoff: Backoff,
    /// The backoff that applies while `thin_linear` is on and fewer than four segments are
    /// outstanding.
    thin_backoff: Backoff,
    /// `icsk_retransmits`: the number of timeouts since snd_una advanced.
    retransmits: u32,
    syn_timeouts: u32,
}

packed!(Linux { smoothed, unsampled, backoff, thin_backoff, retransmits, syn_timeouts } keeps { config });

/// The smoothed values, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LinuxMean {
    /// Eight times the mean.
    srtt: u64,
    /// Four times the mean deviation.
    mdev: u64,
    /// The largest mdev of this round, but at least `rto_min`.
    mdev_max: u64,
    rttvar: u64,
    /// The round of the last sample.
    round: u64,
}

packed_value!(LinuxMean { srtt, mdev, mdev_max, rttvar, round });

pub(super) const MICROSECOND: Duration = Duration::from_micros(1);
/// `TCP_THIN_LINEAR_RETRIES`: the number of timeouts that do not double the timer of a thin flow,
/// which is a flow with few outstanding segments.
const THIN_LINEAR_TIMEOUTS: u32 = 6;
/// A flow with fewer outstanding segments than this number is thin.
const THIN_SEGS: u64 = 4;

impl LinuxMean {
    fn first(rtt: u64, rto_min: u64, round: u64) -> Self {
        let mdev = rtt << 1;
        let rttvar = mdev.max(rto_min);
        Self { srtt: (rtt << 3).max(1), mdev, mdev_max: rttvar, rttvar, round }
    }

    fn take(&mut self, rtt: u64, rto_min: u64, round: u64) {
        (self.srtt, self.mdev) = smoothed(self.srtt, self.mdev, rtt);
        self.mdev_max = self.mdev_max.max(self.mdev);
        self.rttvar = self.rttvar.max(self.mdev_max);
        if round != self.round {
            self.rttvar -= (self.rttvar - self.mdev_max) >> 2;
            self.mdev_max = rto_min;
            self.round = round;
        }
    }
}

/// Returns srtt and mdev after a sample of `rtt`. srtt is eight times the mean, and mdev is four
/// times the mean deviation. All values are in microseconds.
pub(super) fn smoothed(srtt: u64, mdev: u64, rtt: u64) -> (u64, u64) {
    let mean = srtt >> 3;
    let (error, decay) = (rtt.abs_diff(mean), mdev >> 2);
    let growth = error.saturating_sub(decay);
    let growth = if rtt < mean { growth >> 3 } else { growth };
    ((srtt + rtt - mean).max(1), mdev + growth - decay.saturating_sub(error))
}

impl Linux {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When the jiffy is zero or the bounds contradict each other.
    pub fn new(config: LinuxConfig) -> Self {
        Self {
            config: checked(config),
            smoothed: None,
            unsampled: config.initial,
            backoff: Backoff::default(),
            thin_backoff: Backoff::default(),
            retransmits: 0,
            syn_timeouts: 0,
        }
    }

    /// The timer before its backoff.
    fn base(&self) -> Duration {
        let micros = |s: LinuxMean| MICROSECOND * ((s.srtt >> 3) + s.rttvar);
        let timer = self.smoothed.map_or(self.unsampled, micros);
        let jiffies = timer.as_nanos().div_ceil(self.config.jiffy.as_nanos());
        self.config.jiffy * jiffies
    }

    fn on_data_timeout(&mut self) {
        self.retransmits = self.retransmits.saturating_add(1);
        self.backoff.double();
        if self.retransmits > THIN_LINEAR_TIMEOUTS {
            self.thin_backoff.double();
        } else {
            self.thin_backoff.end();
        }
    }

    fn on_syn_timeout(&mut self) {
        self.syn_timeouts = self.syn_timeouts.saturating_add(1);
        if self.syn_timeouts > self.config.syn_linear_timeouts {
            self.backoff.double();
            self.thin_backoff.double();
        }
    }

    fn end_backoff(&mut self) {
        self.backoff.end();
        self.thin_backoff.end();
        self.retransmits = 0;
    }
}

impl RtoEstimator for Linux {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let (rtt, rto_min) =
            (sample.rtt.whole_units(MICROSECOND), self.config.rto_min.whole_units(MICROSECOND));
        match &mut self.smoothed {
            Some(smoothed) => smoothed.take(rtt, rto_min, sample.round),
            none => *none = Some(LinuxMean::first(rtt, rto_min, sample.round)),
        }
        self.end_backoff();
    }

    fn on_timeout(&mut self, _now: Time, kind: TimeoutKind) {
        match kind {
            TimeoutKind::Rto => self.on_data_timeout(),
            // A SYN-ACK's timer doubles from the first timeout on, even with `thin_linear`
            // (`reqsk_timer_handler`).
            TimeoutKind::SynAck => {
                self.on_data_timeout();
                self.thin_backoff = self.backoff;
            }
            TimeoutKind::Syn => self.on_syn_timeout(),
            TimeoutKind::Probe => {}
        }
    }

    fn rto(&self) -> Duration {
        self.backoff.on(self.base(), self.config.rto_max)
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.smoothed.map(|s| MICROSECOND * s.srtt / 8),
            rttvar: self.smoothed.map(|s| MICROSECOND * s.rttvar),
            backoff: self.backoff.factor(),
            rto: self.rto(),
            fired: false,
        }
    }

    fn deviation(&self) -> Option<Duration> {
        self.smoothed.map(|s| MICROSECOND * s.mdev / 4)
    }

    fn on_handshake(&mut self, sample: &RttSample) {
        self.on_sample(sample);
        if self.smoothed.is_none() {
            self.unsampled = self.config.fallback;
            self.end_backoff();
        }
    }

    fn on_progress(&mut self, _covers_timed: bool) {
        self.retransmits = 0;
    }

    fn deadline(&self, now: Time, _oldest_sent: Time, flight_segs: u64) -> Time {
        let thin = self.config.thin_linear && flight_segs < THIN_SEGS;
        let backoff = if thin { self.thin_backoff } else { self.backoff };
        now + backoff.on(self.base(), self.config.rto_max)
    }

    fn packed(&self) -> Option<&dyn Packed> {
        Some(self)
    }

    fn packed_mut(&mut self) -> Option<&mut dyn Packed> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use crate::clock::Clock;

    use super::*;

    const RTO_MIN: u64 = 200_000;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    /// A sample in microseconds, in the round `round`.
    fn sample(rtt_us: u64, round: u64) -> RttSample {
        RttSample { rtt: Duration::from_micros(rtt_us), round, ..RttSample::default() }
    }

    /// A timer after `samples`. Each sample is a round trip in microseconds and the number of its
    /// round.
    fn after(samples: &[(u64, u64)]) -> Linux {
        let mut timer = Linux::new(LinuxConfig::default());
        samples.iter().for_each(|(rtt, round)| timer.on_sample(&sample(*rtt, *round)));
        timer
    }

    /// srtt (which is eight times the mean), mdev, mdev_max and rttvar, in microseconds.
    fn fields(timer: &Linux) -> (u64, u64, u64, u64) {
        let s = timer.smoothed.unwrap();
        (s.srtt, s.mdev, s.mdev_max, s.rttvar)
    }

    /// The timer in microseconds.
    fn micros(timer: &Linux) -> u64 {
        timer.rto().whole_units(MICROSECOND)
    }

    /// The first sample becomes the mean. mdev, which is four times the mean deviation, becomes
    /// twice the sample, but rttvar is at least 200 ms. So a sample of 30 ms gives a timer of 30 +
    /// 200 ms. A sample of 150 ms gives a timer of 150 + 300 ms, which is three round trips.
    #[test]
    fn rttvar_is_at_least_the_floor_after_the_first_sample() {
        let timer = after(&[(30_000, 0)]);
        assert_eq!(fields(&timer), (240_000, 60_000, RTO_MIN, RTO_MIN));
        assert_eq!(micros(&timer), 230_000);
        assert_eq!(timer.state().srtt, Some(ms(30)));
        assert_eq!(timer.state().rttvar, Some(ms(200)));
        assert_eq!(micros(&after(&[(150_000, 0)])), 450_000);
    }

    /// The rise is computed by hand, in microseconds, for samples of 150 000 and 550 000 in the
    /// same round. The second sample differs from the mean by 400 000, and srtt (eight times the
    /// mean) is 1 200 000 + 400 000. mdev is 300 000 + 400 000 - 75 000 = 625 000, and rttvar takes
    /// this value immediately. The timer is 200 000 + 625 000.
    #[test]
    fn a_rise_of_the_rtt_raises_rttvar_immediately() {
        let timer = after(&[(150_000, 0), (550_000, 0)]);
        assert_eq!(fields(&timer), (1_600_000, 625_000, 625_000, 625_000));
        assert_eq!(micros(&timer), 825_000);
    }

    /// The fall is computed by hand, in microseconds, for samples of 400 000 and 100 000. The
    /// second sample differs from the mean by -300 000, and srtt (eight times the mean) is 3 200
    /// 000 - 300 000. The deviation would grow by 300 000 - 200 000, but only an eighth of this is
    /// added, so mdev is 812 500. The timer is 362 500 + 812 500.
    #[test]
    fn a_fall_raises_the_deviation_by_an_eighth_of_the_effect_of_a_rise() {
        let timer = after(&[(400_000, 0), (100_000, 0)]);
        assert_eq!(fields(&timer), (2_900_000, 812_500, 812_500, 812_500));
        assert_eq!(micros(&timer), 1_175_000);
    }

    /// The small fall is computed by hand, in microseconds, for samples of 400 000 and 300 000. The
    /// change of mdev, 100 000 - 200 000, is negative, so all of it counts. mdev becomes 700 000;
    /// mdev_max and rttvar do not change. The timer is 387 500 + 800 000.
    #[test]
    fn a_small_fall_lowers_the_deviation_as_much_as_a_small_rise_does() {
        let timer = after(&[(400_000, 0), (300_000, 0)]);
        assert_eq!(fields(&timer), (3_100_000, 700_000, 800_000, 800_000));
        assert_eq!(micros(&timer), 1_187_500);
        let timer = after(&[(400_000, 0), (500_000, 0)]);
        assert_eq!(fields(&timer), (3_300_000, 700_000, 800_000, 800_000));
    }

    /// The fall of rttvar is computed by hand, in milliseconds. All samples are 400. mdev is 800,
    /// 600, 450, 337.5 and 253.125. At the first new round mdev_max is still 800, so rttvar does
    /// not change and mdev_max is set to 200. At the second new round mdev_max is 450, so rttvar is
    /// 800 - 350/4 = 712.5. At the third new round mdev_max is 337.5, so rttvar is 712.5 - 375/4 =
    /// 618.75.
    #[test]
    fn rttvar_falls_once_per_round_trip() {
        let steps = [(0, 800_000), (1, 800_000), (2, 712_500), (3, 618_750)];
        let mut timer = after(&[]);
        for (round, rttvar) in steps {
            timer.on_sample(&sample(400_000, round));
            assert_eq!(fields(&timer).3, rttvar, "round {round}");
            assert_eq!(micros(&timer), 400_000 + rttvar);
        }
        assert_eq!(fields(&timer).2, RTO_MIN);
        // Later samples of the same round lower mdev and do not change rttvar.
        timer.on_sample(&sample(400_000, 3));
        assert_eq!(fields(&timer), (3_200_000, 253_125, 253_125, 618_750));
    }

    #[test]
    fn only_an_unambiguous_sample_ends_the_backoff() {
        let mut timer = after(&[(30_000, 0)]);
        for rto in [460, 920, 1840] {
            timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
            assert_eq!(timer.rto(), ms(rto));
        }
        timer.on_timeout(Time::ZERO, TimeoutKind::Probe);
        timer.on_progress(true);
        timer.on_spurious(None);
        timer.on_sample(&RttSample { ambiguous: true, ..sample(1_000, 1) });
        assert_eq!(timer.rto(), ms(1840));
        timer.on_sample(&sample(30_000, 1));
        assert_eq!(timer.rto(), ms(230));
        (0..20).for_each(|_| timer.on_timeout(Time::ZERO, TimeoutKind::Rto));
        assert_eq!(timer.rto(), ms(120_000));
    }

    /// These limits were measured on Linux 6.18. With `TCP_SYNCNT` of 1, the kernel sends two more
    /// SYNs and gives up after 3 s. With `TCP_SYNCNT` of 2, it sends five more SYNs and gives up
    /// after 7 s.
    #[test]
    fn the_time_limit_of_a_syn_assumes_that_every_timeout_doubles_the_timer() {
        let limit = |retries| LinuxConfig::default().syn_limit(retries);
        let s = Duration::from_secs;
        assert_eq!((limit(1), limit(2), limit(6)), ((5, s(3)), (6, s(7)), (10, s(127))));
        assert_eq!(limit(8), (12, s(127 + 240)));
    }

    /// The documentation of `tcp_syn_linear_timeouts` gives this example: with a first timer of 1 s
    /// and four linear timeouts, the timers of a SYN are 1, 1, 1, 1, 1, 2 and 4 s.
    #[test]
    fn the_timer_of_a_syn_stays_at_one_second_before_it_doubles() {
        let mut timer = after(&[]);
        let mut gaps = vec![timer.rto()];
        for _ in 0..6 {
            timer.on_timeout(Time::ZERO, TimeoutKind::Syn);
            gaps.push(timer.rto());
        }
        assert_eq!(gaps, [1000, 1000, 1000, 1000, 1000, 2000, 4000].map(ms));
    }

    /// RFC 6298 §5.7: the first timer for data is 3 s if a SYN was retransmitted. Linux uses 3 s
    /// only if the handshake gave no sample. On the path of RFC 2416 the handshake takes 425.3 ms,
    /// and the first timer is three times as long as the handshake (it was measured as 1.276 s).
    #[test]
    fn the_first_timer_for_data_comes_from_the_handshakes_sample_or_is_three_seconds() {
        let mut timer = after(&[]);
        (0..6).for_each(|_| timer.on_timeout(Time::ZERO, TimeoutKind::Syn));
        timer.on_handshake(&RttSample { ambiguous: true, ..sample(425_300, 0) });
        assert_eq!(timer.rto(), ms(3000));
        timer.on_sample(&sample(425_300, 0));
        assert_eq!(micros(&timer), 1_275_900);
        let mut timer = after(&[]);
        timer.on_handshake(&sample(425_300, 0));
        assert_eq!(micros(&timer), 1_275_900);
    }

    /// While fewer than four segments are outstanding, the first six timeouts do not double the
    /// timer, and later ones do. An ACK of new data sets the count of timeouts to zero.
    #[test]
    fn the_timer_of_a_thin_flow_doubles_only_from_the_seventh_timeout_on() {
        let config = LinuxConfig { thin_linear: true, ..LinuxConfig::default() };
        let mut timer = Linux::new(config);
        timer.on_sample(&sample(30_000, 0));
        let wait = |timer: &Linux, segs| timer.deadline(Time::ZERO, Time::ZERO, segs) - Time::ZERO;
        for _ in 0..6 {
            timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
            assert_eq!(wait(&timer, 3), ms(230));
        }
        assert_eq!(wait(&timer, 4), ms(230 * 64));
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        assert_eq!(wait(&timer, 3), ms(460));
        timer.on_progress(false);
        timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        assert_eq!(wait(&timer, 3), ms(230));
        assert_eq!(wait(&after(&[(30_000, 0)]), 3), ms(230));
        let mut timer = Linux::new(config);
        timer.on_timeout(Time::ZERO, TimeoutKind::SynAck);
        assert_eq!(wait(&timer, 0), ms(2000), "the timer of a SYN-ACK doubles at once");
    }

    /// The values were measured on Linux 6.18 over a veth pair: `tcpi_rto` is 204 ms, and the gaps
    /// before the retransmissions are 208, 420, 832 and 1664 ms. In general, the second gap is from
    /// 412 to 440 ms. The gap depends on when the first timer fired within a bucket of the timer
    /// wheel. The gap is 420 ms if the first timer fired at a count of jiffies that is 7 modulo 8.
    /// The first timer fires 208 ms, which are 52 jiffies, after it is armed. The test therefore
    /// arms it at a count that is 3 modulo 8.
    #[test]
    fn on_a_short_path_the_gaps_are_those_measured_on_linux_with_jiffies_of_4_ms() {
        let mut timer = Linux::new(LinuxConfig { jiffy: ms(4), ..LinuxConfig::default() });
        timer.on_sample(&sample(60, 0));
        assert_eq!(timer.rto(), ms(204));
        let mut now = Time::ZERO + ms(4 * (8 * 1000 + 3));
        let mut gap = |timer: &Linux| {
            let fires = Clock::LINUX_HZ250.expiry(now, timer.rto());
            let gap = fires - now;
            now = fires;
            gap
        };
        for measured in [208, 420, 832, 1664] {
            assert_eq!(gap(&timer), ms(measured));
            timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
        }
    }
}
