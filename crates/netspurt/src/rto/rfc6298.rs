//! The standard retransmission timer of TCP: RFC 6298, and its predecessor RFC 2988.

use crate::event::RtoState;
use crate::packed::{Packed, packed};
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::arith::{Ratio, Smooth};
use super::backoff::Backoff;
use super::keys::{Constant, Contradiction, Keys, by_name, checked, ordered, part};
use super::mean::{MeanDeviation, samples_in_flight};
use super::{RtoEstimator, TimeoutKind};

/// The constants of [`Rfc6298`]. The defaults come from the RFC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rfc6298Config {
    /// The gain of the mean: 1/8 (§2.3).
    pub alpha: Ratio,
    /// The gain of the variation: 1/4 (§2.3).
    pub beta: Ratio,
    /// K: how many variations are added to the mean, 4 (§2.3).
    pub k: u32,
    /// G: the clock's granularity, which is the minimum distance between the mean and the timer.
    /// The RFC leaves G to the host, and says that 100 ms or less performs better (§4). By default
    /// G is 1 ms.
    pub granularity: Duration,
    /// The minimum RTO: 1 s (§2.4).
    pub min: Duration,
    /// The maximum RTO: 60 s, the lowest value that §2.5 allows.
    pub max: Duration,
    /// The timer before any sample: 1 s (§2.1).
    pub initial: Duration,
    /// The first timer for data if a SYN or SYN-ACK timed out and `initial` is shorter than this
    /// timer: 3 s (§5.7).
    pub syn_fallback: Duration,
    /// Whether the gains are divided by the expected number of samples in one round trip (RFC 7323
    /// appendix G).
    pub spread_gains: bool,
}

impl Default for Rfc6298Config {
    fn default() -> Self {
        Self {
            alpha: Ratio::new(1, 8),
            beta: Ratio::new(1, 4),
            k: 4,
            granularity: Duration::from_millis(1),
            min: Duration::from_secs(1),
            max: Duration::from_secs(60),
            initial: Duration::from_secs(1),
            syn_fallback: Duration::from_secs(3),
            spread_gains: true,
        }
    }
}

impl Keys for Rfc6298Config {
    fn keys(&mut self) -> Vec<(&'static str, Constant<'_>)> {
        by_name!(self => alpha, beta, k, granularity, min, max, initial, syn_fallback, spread_gains)
    }

    fn check(&self) -> Result<(), Contradiction> {
        part("alpha", self.alpha)?;
        part("beta", self.beta)?;
        ordered(("min", self.min), ("max", self.max))
    }
}

impl Rfc6298Config {
    /// The constants of RFC 2988: the first timer is 3 s (§2.1), and gains are not divided.
    pub fn rfc2988() -> Self {
        Self { initial: Duration::from_secs(3), spread_gains: false, ..Self::default() }
    }
}

/// The timer of RFC 6298.
///
/// The first sample R makes SRTT = R and RTTVAR = R/2 (§2.2). A later sample makes RTTVAR = (1 -
/// beta) RTTVAR + beta |SRTT - R|, and then SRTT = (1 - alpha) SRTT + alpha R (§2.3). The timer is
/// SRTT + max(G, K RTTVAR), from min to max (§2.4, §2.5). Timeouts double it (§5.5). The backoff
/// ends with an unambiguous sample (§3 and the note to §5: Karn and Partridge 1987). If a SYN or
/// SYN-ACK timed out and `initial` is below `syn_fallback`, the timer for data begins without
/// backoff at `syn_fallback` (§5.7).
///
/// With `spread_gains`, the gains are divided by ceiling(FlightSize / (2 SMSS)), where FlightSize
/// is the flight size just before the ACK (RFC 7323 appendix G). This rule applies to two kinds of
/// samples: samples from an echoed timestamp, and samples from a scoreboard that times every
/// segment.
///
/// The response to a spurious timeout follows RFC 4015. If the ACK that proves the timeout spurious
/// brings a sample, that sample counts as usual and ends the backoff. Otherwise the timer stays
/// backed off until a sample (§3.5). The first sample R of data that was sent after the timeout
/// makes SRTT = max(SRTT_prev, R) and RTTVAR = max(RTTVAR_prev, R/2). SRTT_prev is the sum of 2 G
/// and the SRTT before the timeout (§3.2 step 11).
///
/// ```
/// use netspurt::rto::{Rfc6298, Rfc6298Config, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::Duration;
/// let mut timer = Rfc6298::new(Rfc6298Config::default());
/// timer.on_sample(&RttSample { rtt: Duration::from_millis(600), ..RttSample::default() });
/// assert_eq!(timer.rto(), Duration::from_millis(1800));
/// ```
#[derive(Clone, Debug)]
pub struct Rfc6298 {
    config: Rfc6298Config,
    estimate: Option<MeanDeviation>,
    /// The timer after the handshake if a SYN or SYN-ACK timed out and `initial` is below
    /// `syn_fallback`. This timer applies until the next sample.
    reinitialised: Option<Duration>,
    backoff: Backoff,
    syn_timed_out: bool,
    /// The estimate when the last backoff began, just before its first timeout.
    before_timeout: Option<MeanDeviation>,
    /// When the last timeout happened.
    timed_out: Time,
    /// True if a timeout proved spurious, and no data that was sent after the timeout has given a
    /// sample.
    response_due: bool,
}

packed!(Rfc6298 { estimate, reinitialised, backoff, syn_timed_out, before_timeout, timed_out, response_due } keeps { config });

/// Returns the estimate after the response of RFC 4015 §3.2. The argument `before` is the estimate
/// before the spurious timeout. `rtt` is the first sample of data that was sent after this timeout.
fn after_spurious_timeout(
    before: MeanDeviation,
    rtt: Smooth,
    granularity: Duration,
) -> MeanDeviation {
    let srtt_prev = Smooth::of(before.srtt.span() + granularity * 2);
    MeanDeviation { srtt: srtt_prev.max(rtt), rttvar: before.rttvar.max(rtt.half()) }
}

impl Rfc6298 {
    /// A timer that has seen no sample.
    ///
    /// # Panics
    /// When a gain is above 1 or the bounds contradict each other.
    pub fn new(config: Rfc6298Config) -> Self {
        Self {
            config: checked(config),
            estimate: None,
            reinitialised: None,
            backoff: Backoff::default(),
            syn_timed_out: false,
            before_timeout: None,
            timed_out: Time::ZERO,
            response_due: false,
        }
    }

    /// Returns the estimate from before a spurious timeout, if `sample` is the first sample of data
    /// that was sent after this timeout. Later calls return `None`.
    fn take_response(&mut self, sample: &RttSample) -> Option<MeanDeviation> {
        let due = self.response_due && sample.sent >= self.timed_out;
        self.response_due &= !due;
        self.before_timeout.take_if(|_| due)
    }

    /// The number of samples that one round trip is expected to give (RFC 7323 appendix G).
    fn samples_expected(&self, sample: &RttSample) -> u64 {
        if self.config.spread_gains { samples_in_flight(sample) } else { 1 }
    }

    /// The timer before its backoff.
    fn base(&self) -> Duration {
        let Rfc6298Config { k, granularity, min, max, initial, .. } = self.config;
        let floored =
            |e: MeanDeviation| (e.srtt.span() + e.rttvar.times(k).max(granularity)).max(min);
        let timer = self.reinitialised.or(self.estimate.map(floored)).unwrap_or(initial);
        timer.min(max)
    }
}

impl RtoEstimator for Rfc6298 {
    fn on_sample(&mut self, sample: &RttSample) {
        if sample.ambiguous {
            return;
        }
        let rtt = Smooth::of(sample.rtt);
        let respond = self.take_response(sample);
        self.estimate = Some(match (respond, self.estimate) {
            (Some(before), _) => after_spurious_timeout(before, rtt, self.config.granularity),
            (None, Some(estimate)) => {
                let parts = self.samples_expected(sample);
                let Rfc6298Config { alpha, beta, .. } = self.config;
                estimate.with(rtt, alpha.split(parts), beta.split(parts))
            }
            (None, None) => MeanDeviation::first(rtt),
        });
        self.reinitialised = None;
        self.backoff.end();
    }

    fn on_timeout(&mut self, now: Time, kind: TimeoutKind) {
        if kind == TimeoutKind::Probe {
            return;
        }
        if self.backoff.has_ended() {
            self.before_timeout = self.estimate;
        }
        (self.timed_out, self.response_due) = (now, false);
        self.syn_timed_out |= matches!(kind, TimeoutKind::Syn | TimeoutKind::SynAck);
        self.backoff.double();
    }

    fn rto(&self) -> Duration {
        self.backoff.on(self.base(), self.config.max)
    }

    fn state(&self) -> RtoState {
        RtoState {
            srtt: self.estimate.map(|e| e.srtt.span()),
            rttvar: self.estimate.map(|e| e.rttvar.span()),
            backoff: self.backoff.factor(),
            rto: self.rto(),
            fired: false,
        }
    }

    fn on_handshake(&mut self, sample: &RttSample) {
        self.on_sample(sample);
        let lost = core::mem::take(&mut self.syn_timed_out);
        if lost && self.config.initial < self.config.syn_fallback {
            self.reinitialised = Some(self.config.syn_fallback);
            self.backoff.end();
        }
    }

    fn on_spurious(&mut self, sample: Option<&RttSample>) {
        self.response_due = self.before_timeout.is_some();
        if let Some(sample) = sample {
            self.on_sample(sample);
        }
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
    use crate::sample::SampleSource;

    use super::*;

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn us(n: u64) -> Duration {
        Duration::from_micros(n)
    }

    /// A sample of this round trip.
    fn sample(rtt_ms: u64) -> RttSample {
        RttSample { rtt: ms(rtt_ms), ..RttSample::default() }
    }

    /// The constants of RFC 6298 without a minimum RTO.
    fn without_floor() -> Rfc6298Config {
        Rfc6298Config { min: Duration::ZERO, ..Rfc6298Config::default() }
    }

    /// A timer after these samples, in milliseconds.
    fn after(config: Rfc6298Config, samples: &[u64]) -> Rfc6298 {
        let mut timer = Rfc6298::new(config);
        samples.iter().for_each(|rtt| timer.on_sample(&sample(*rtt)));
        timer
    }

    /// Lets timers of these kinds fire.
    fn time_out(timer: &mut Rfc6298, kinds: &[TimeoutKind]) {
        kinds.iter().for_each(|kind| timer.on_timeout(Time::ZERO, *kind));
    }

    /// SRTT, RTTVAR and the timer.
    fn fields(timer: &Rfc6298) -> (Duration, Duration, Duration) {
        let state = timer.state();
        (state.srtt.unwrap(), state.rttvar.unwrap(), state.rto)
    }

    /// RFC 6298 §2.2: the first sample becomes the mean, and half of the sample becomes the
    /// variation. §2.3: a later sample first changes the variation: 3/4 of it, plus 1/4 of the
    /// distance from the old mean to the sample. Then it changes the mean: 7/8 of the old mean,
    /// plus 1/8 of the sample. The values are computed by hand, in milliseconds. A sample of 100
    /// gives a mean of 100, a variation of 50 and a timer of 300. A sample of 180 gives a variation
    /// of 0.75 · 50 + 0.25 · 80 = 57.5, a mean of 87.5 + 22.5 = 110 and a timer of 110 + 230 = 340.
    /// A sample of 60 gives a variation of 0.75 · 57.5 + 0.25 · 50 = 55.625, a mean of 96.25 + 7.5
    /// = 103.75 and a timer of 103.75 + 222.5 = 326.25.
    #[test]
    fn the_mean_and_the_variation_follow_the_rfc() {
        let at = |samples: &[u64]| fields(&after(without_floor(), samples));
        assert_eq!(at(&[100]), (ms(100), ms(50), ms(300)));
        assert_eq!(at(&[100, 180]), (ms(110), us(57_500), ms(340)));
        assert_eq!(at(&[100, 180, 60]), (us(103_750), us(55_625), us(326_250)));
    }

    /// §2.4: a timer below one second becomes one second. §2.5: a maximum of at least 60 s may be
    /// set. §2.3: G replaces K RTTVAR if K RTTVAR is smaller.
    #[test]
    fn the_timer_is_within_its_bounds_and_at_least_the_granularity_above_the_mean() {
        assert_eq!(after(Rfc6298Config::default(), &[100]).rto(), ms(1000));
        assert_eq!(after(Rfc6298Config::default(), &[40_000]).rto(), ms(60_000));
        assert_eq!(after(without_floor(), &[100; 300]).rto(), ms(101));
        let coarse = Rfc6298Config { granularity: ms(500), ..without_floor() };
        assert_eq!(after(coarse, &[100]).rto(), ms(600));
    }

    /// §5.5: a timeout doubles the timer. §3 (Karn): an ambiguous sample is ignored. The note to
    /// §5: the timer computed from an unambiguous sample replaces the doubled timer.
    #[test]
    fn the_backoff_stays_until_an_unambiguous_sample_arrives() {
        let mut timer = after(Rfc6298Config::default(), &[600]);
        assert_eq!(timer.rto(), ms(1800));
        time_out(&mut timer, &[TimeoutKind::Rto, TimeoutKind::Probe, TimeoutKind::Rto]);
        assert_eq!((timer.rto(), timer.state().backoff), (ms(7200), 4));
        timer.on_progress(true);
        timer.on_sample(&RttSample { ambiguous: true, ..sample(10) });
        assert_eq!(timer.rto(), ms(7200));
        time_out(&mut timer, &[TimeoutKind::Rto; 40]);
        assert_eq!(timer.rto(), ms(60_000));
        timer.on_sample(&sample(600));
        assert_eq!(timer.rto(), ms(600 + 4 * 225));
    }

    /// §2.1: the timer is 1 s before any sample. §5.7: if a SYN timed out with a timer below 3 s,
    /// the timer is 3 s when data begins. RFC 2988 §2.1: the timer is 3 s from the start.
    #[test]
    fn the_timer_for_data_starts_at_three_seconds_after_a_syn_timed_out() {
        let mut timer = after(Rfc6298Config::default(), &[]);
        assert_eq!(timer.rto(), ms(1000));
        time_out(&mut timer, &[TimeoutKind::Syn; 3]);
        assert_eq!(timer.rto(), ms(8000));
        timer.on_handshake(&RttSample { ambiguous: true, handshake: true, ..sample(50) });
        assert_eq!(fields_without_sample(&timer), (ms(3000), 1));
        time_out(&mut timer, &[TimeoutKind::Rto]);
        assert_eq!(timer.rto(), ms(6000));
        timer.on_sample(&sample(800));
        assert_eq!(timer.rto(), ms(2400));

        let mut old = after(Rfc6298Config::rfc2988(), &[]);
        assert_eq!(old.rto(), ms(3000));
        time_out(&mut old, &[TimeoutKind::Syn]);
        old.on_handshake(&RttSample { ambiguous: true, ..sample(50) });
        assert_eq!(old.rto(), ms(6000), "Karn: the timer stays doubled until a sample arrives");

        let mut clean = after(Rfc6298Config::default(), &[]);
        clean.on_handshake(&RttSample { handshake: true, ..sample(800) });
        assert_eq!(clean.rto(), ms(2400));
    }

    /// The timer and its backoff, if there was no sample yet.
    fn fields_without_sample(timer: &Rfc6298) -> (Duration, u32) {
        let state = timer.state();
        assert_eq!((state.srtt, state.rttvar), (None, None));
        (state.rto, state.backoff)
    }

    /// RFC 7323 appendix G: if E = ceiling(FlightSize / (2 SMSS)) samples are expected, the gains
    /// are alpha / E and beta / E. In this test, 9 segments are outstanding, so E = 5. Samples of
    /// 100 and 180 ms give an srtt of 100 + 80 / 40 = 102 ms and an rttvar of 50 + (80 - 50) / 20 =
    /// 51.5 ms.
    #[test]
    fn the_gains_are_divided_if_a_round_trip_gives_many_samples() {
        let stamped = |source| RttSample {
            source,
            smss_bytes: 1000,
            acked_bytes: 2000,
            flight_bytes: 7000,
            ..sample(180)
        };
        let spread = |config: Rfc6298Config, source| {
            let mut timer = after(config, &[100]);
            timer.on_sample(&stamped(source));
            (timer.state().srtt.unwrap(), timer.state().rttvar.unwrap())
        };
        let small = (ms(102), us(51_500));
        let full = (ms(110), us(57_500));
        assert_eq!(spread(without_floor(), SampleSource::Echo), small);
        assert_eq!(spread(without_floor(), SampleSource::EachSegment), small);
        assert_eq!(spread(without_floor(), SampleSource::TimedSegment), full);
        assert_eq!(spread(Rfc6298Config::rfc2988(), SampleSource::Echo), full);
    }

    /// The instant `n` milliseconds after time zero.
    fn at(n: u64) -> Time {
        Time::ZERO + ms(n)
    }

    /// RFC 4015 §3.2: the mean becomes the greater of two values: the new sample, and the sum of 2
    /// G and the mean before the timeout. The variation becomes the greater of the variation before
    /// the timeout and half of the new sample. The values are computed by hand, in milliseconds.
    /// Before the timeout, the mean is 100 and the variation is 50. A sample of 400 gives a mean of
    /// 400, a variation of 200 and a timer of 1200. A sample of 60 gives a mean of 102, a variation
    /// of 50 and a timer of
    /// 302. §3.5: if the ACK that proves the timeout spurious gives no sample, the timer stays
    /// backed off.
    #[test]
    fn after_a_spurious_timeout_the_first_sample_of_new_data_sets_the_estimate() {
        for (rtt, answer) in [(400, (ms(400), ms(200), ms(1200))), (60, (ms(102), ms(50), ms(302)))]
        {
            let mut timer = after(without_floor(), &[100]);
            timer.on_timeout(at(500), TimeoutKind::Rto);
            timer.on_timeout(at(900), TimeoutKind::Rto);
            timer.on_spurious(None);
            assert_eq!(
                timer.rto(),
                ms(1200),
                "Karn: the timer stays backed off until a sample arrives"
            );
            timer.on_sample(&RttSample { sent: at(900), ..sample(rtt) });
            assert_eq!(fields(&timer), answer);
        }
    }

    /// RFC 4015 §3.5: the ACK that proves the timeout spurious answers data sent before the
    /// timeout, so its sample counts as usual. The values are computed by hand, in milliseconds.
    /// Before the timeout, the mean is 100 and the variation is 50. The sample of 400 gives a mean
    /// of 100 + 300 / 8 = 137.5 and a variation of 50 + (300 - 50) / 4 = 112.5. The next sample of
    /// 400 is of new data, so the mean becomes max(102, 400) and the variation max(50, 200).
    #[test]
    fn the_sample_of_the_ack_that_proves_a_timeout_spurious_counts_as_usual() {
        let mut timer = after(without_floor(), &[100]);
        timer.on_timeout(at(500), TimeoutKind::Rto);
        timer.on_spurious(Some(&RttSample { sent: at(200), ..sample(400) }));
        assert_eq!(fields(&timer), (us(137_500), us(112_500), us(587_500)));
        timer.on_sample(&RttSample { sent: at(600), ..sample(400) });
        assert_eq!(fields(&timer), (ms(400), ms(200), ms(1200)));
        timer.on_sample(&RttSample { sent: at(1000), ..sample(400) });
        assert_eq!(fields(&timer), (ms(400), ms(150), ms(1000)), "the response happens only once");
    }

    /// A new timeout that comes before the response to a spurious timeout cancels this response,
    /// because the new timeout may not be spurious.
    #[test]
    fn a_second_timeout_cancels_the_response_to_the_first_timeout() {
        let mut timer = after(without_floor(), &[100]);
        timer.on_timeout(at(500), TimeoutKind::Rto);
        timer.on_spurious(None);
        timer.on_timeout(at(1100), TimeoutKind::Rto);
        timer.on_sample(&RttSample { sent: at(1200), ..sample(180) });
        assert_eq!(fields(&timer), (ms(110), us(57_500), ms(340)));
    }

    #[test]
    fn after_a_needed_timeout_or_without_an_estimate_samples_count_as_usual() {
        let mut timer = after(without_floor(), &[100]);
        time_out(&mut timer, &[TimeoutKind::Rto]);
        timer.on_sample(&sample(180));
        assert_eq!(fields(&timer), (ms(110), us(57_500), ms(340)));
        let mut unsampled = after(without_floor(), &[]);
        time_out(&mut unsampled, &[TimeoutKind::Rto]);
        unsampled.on_spurious(Some(&sample(100)));
        assert_eq!(fields(&unsampled), (ms(100), ms(50), ms(300)));
    }
}
