//! Learns from samples how the delay of a packet depends on its length. The algorithm `mills` uses
//! the result to adjust its timer to the length of each packet.

use crate::units::Duration;

/// The factor by which the weight of a sample shrinks with each later sample.
const FADE: f64 = 255.0 / 256.0;
/// The line that is fitted to the samples ([`LengthFit`]) is used only if the samples together have
/// at least this weight. The newest sample has the weight 1.
const SAMPLES_MIN: f64 = 16.0;
/// The fitted line is used only if the variance of the lengths, in square octets, is at least this
/// value.
const VARIANCE_MIN: f64 = 64.0;
/// A span that is converted to another packet length becomes at most this many times shorter.
const SHRINK_MAX: u64 = 8;

/// A straight line that gives the delay as a function of the length. It is fitted by weighted least
/// squares (West 1979). The weights of older samples fade. The fields are the sum of the weights,
/// the mean length, the mean delay, the variance of the lengths, and the covariance of length and
/// delay. Lengths are in octets, and delays are in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LengthFit {
    weight: f64,
    octets: f64,
    delay: f64,
    variance: f64,
    covariance: f64,
}

impl LengthFit {
    /// Learns from a sample. If `octets` is zero, the length is unknown, and the sample is ignored.
    #[expect(clippy::cast_precision_loss, reason = "a delay of some days is converted exactly")]
    pub(super) fn learn(&mut self, octets: u32, delay: Duration) {
        if octets == 0 {
            return;
        }
        self.weight = self.weight * FADE + 1.0;
        let gain = 1.0 / self.weight;
        let length_error = f64::from(octets) - self.octets;
        self.octets += gain * length_error;
        self.delay += gain * (delay.as_nanos() as f64 - self.delay);
        let delay_error = delay.as_nanos() as f64 - self.delay;
        self.variance += gain * (length_error * (f64::from(octets) - self.octets) - self.variance);
        self.covariance += gain * (length_error * delay_error - self.covariance);
    }

    /// Converts a span for a packet of mean length to the span for a packet of `octets` octets.
    pub(super) fn to(&self, octets: u32, span: Duration) -> Duration {
        shifted(span, self.extra(octets))
    }

    /// Converts a span for a packet of `octets` octets to the span for a packet of mean length.
    pub(super) fn from(&self, octets: u32, span: Duration) -> Duration {
        shifted(span, -self.extra(octets))
    }

    /// The additional delay of a packet of `octets` octets, compared with a packet of mean length,
    /// in nanoseconds. For a packet shorter than the mean, the result is negative. The result is
    /// zero until the line can be used, and if the length is unknown (`octets` is zero). A line
    /// that gives longer packets less delay counts as flat.
    fn extra(&self, octets: u32) -> f64 {
        if octets == 0 || self.weight < SAMPLES_MIN || self.variance < VARIANCE_MIN {
            return 0.0;
        }
        (self.covariance / self.variance).max(0.0) * (f64::from(octets) - self.octets)
    }
}

/// The span plus `by` nanoseconds. The limit `SHRINK_MAX` applies if `by` is negative.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a cast saturates")]
fn shifted(span: Duration, by: f64) -> Duration {
    let shift = Duration::from_nanos(by.abs() as u64);
    if by >= 0.0 {
        return span + shift;
    }
    let least = span / SHRINK_MAX;
    if shift < span { (span - shift).max(least) } else { least }
}

#[cfg(test)]
mod tests {
    use super::super::{Mills, MillsConfig, RtoEstimator};
    use crate::sample::RttSample;
    use crate::units::{Duration, Time};

    /// A timer that learns how the delay depends on the length.
    fn by_length() -> Mills {
        Mills::new(MillsConfig { by_length: true, ..MillsConfig::default() })
    }

    /// Sends a probe that is answered after `rtt_us` microseconds. Returns the timer of the probe.
    fn probe(algorithm: &mut Mills, octets: u32, rtt_us: u64) -> Duration {
        algorithm.on_send(Time::ZERO, octets);
        let timer = algorithm.rto();
        let rtt = Duration::from_micros(rtt_us);
        algorithm.on_sample(&RttSample { rtt, wire_bytes: octets, ..RttSample::default() });
        timer
    }

    #[test]
    fn the_option_by_length_changes_no_timer_while_all_lengths_are_equal_or_unknown() {
        for octets in [0, 40] {
            let mut plain = Mills::new(MillsConfig::default());
            let mut by_length = by_length();
            for rtt in [100, 250, 90, 4000, 100].repeat(20) {
                assert_eq!(probe(&mut by_length, octets, rtt), probe(&mut plain, octets, rtt));
            }
        }
    }

    /// Half of the samples have 40 octets and take 1.4 ms. The other half have 256 octets and take
    /// 3.56 ms. A packet of mean length takes 2.48 ms and has a timer of 4.96 ms. The timers of the
    /// two lengths differ from this timer by 1.08 ms.
    #[test]
    fn the_timer_depends_on_the_length_as_the_delay_does() {
        let mut algorithm = by_length();
        let mut last = [Duration::ZERO; 2];
        for n in 0..4000 {
            let octets = [40, 256][n % 2];
            last[n % 2] = probe(&mut algorithm, octets, u64::from(1000 + 10 * octets));
        }
        for (timer, us) in last.into_iter().zip([4960 - 1080, 4960 + 1080]) {
            assert!(timer.as_nanos().abs_diff(1000 * us) < 20_000, "{timer} for {us} us");
        }
    }

    #[test]
    fn rare_outliers_hardly_change_the_line() {
        let mut algorithm = by_length();
        for n in 0..500_u32 {
            let octets = if n % 2 == 0 { 40 } else { 256 };
            let glitch = n % 100 == 50;
            probe(&mut algorithm, octets, if glitch { 100_000 } else { u64::from(10 * octets) });
        }
        let (short, long) = (probe(&mut algorithm, 40, 400), probe(&mut algorithm, 256, 2560));
        let cost = (long - short).as_nanos();
        assert!((1_900_000..2_300_000).contains(&cost), "216 octets add 2.16 ms: {cost}");
    }

    #[test]
    fn a_path_has_one_timer_for_all_lengths_if_length_adds_no_delay() {
        let mut algorithm = by_length();
        (0..200).for_each(|n| {
            probe(&mut algorithm, 40 + n % 200, 1000);
        });
        let timers = [40, 256].map(|octets| probe(&mut algorithm, octets, 1000).as_nanos());
        assert!(timers[0].abs_diff(timers[1]) < 1000, "{timers:?}");
    }
}
