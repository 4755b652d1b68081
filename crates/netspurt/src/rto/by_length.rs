//! A timer that knows what a packet's length costs.

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::{RtoEstimator, TimeoutKind};

/// Any law, asked for packets of the usual length: samples are brought to it before the law sees
/// them, and its timer to the length of the packet that leaves.
///
/// RFC 889 §2.2 proposes to put the length into the timeout, and says no more. Here a straight
/// line of delay on length is learned from the samples by least squares, older ones forgotten. A
/// delay above the law's own timer counts as that, so that a glitch does not tilt the line. While
/// lengths are all the same, or unknown, the law is left as it is.
///
/// ```
/// use netspurt::rto::{ByLength, Mills, MillsConfig, RtoEstimator};
/// use netspurt::sample::RttSample;
/// use netspurt::units::{Duration, Time};
/// let mut timer = ByLength::new(Mills::new(MillsConfig::default()));
/// for wire_bytes in [40, 256].repeat(500) {
///     timer.on_send(Time::ZERO, wire_bytes);
///     let rtt = Duration::from_millis(u64::from(wire_bytes));
///     timer.on_sample(&RttSample { rtt, wire_bytes, ..RttSample::default() });
/// }
/// timer.on_send(Time::ZERO, 256);
/// assert_eq!(timer.rto().as_nanos() / 1_000_000, 512);
/// timer.on_send(Time::ZERO, 40);
/// assert_eq!(timer.rto().as_nanos() / 1_000_000, 80);
/// ```
#[derive(Clone, Debug)]
pub struct ByLength<L> {
    law: L,
    line: Line,
    /// The length of what left last.
    leaving: u32,
}

impl<L: RtoEstimator> ByLength<L> {
    /// A law that has seen nothing, made to heed lengths.
    pub fn new(law: L) -> Self {
        Self { law, line: Line::default(), leaving: 0 }
    }

    fn scaled(&self, span: Duration) -> Duration {
        times(span, self.line.ratio(self.leaving))
    }
}

impl<L: RtoEstimator> RtoEstimator for ByLength<L> {
    fn on_sample(&mut self, sample: &RttSample) {
        let ratio = self.line.ratio(sample.wire_bytes);
        if sample.wire_bytes > 0 {
            let longest =
                if self.line.weight > 0.0 { times(self.law.rto(), ratio) } else { sample.rtt };
            self.line.learn(sample.wire_bytes, sample.rtt.min(longest));
        }
        let ratio = self.line.ratio(sample.wire_bytes);
        self.law.on_sample(&RttSample { rtt: times(sample.rtt, 1.0 / ratio), ..*sample });
    }

    fn on_timeout(&mut self, now: Time, kind: TimeoutKind) {
        self.law.on_timeout(now, kind);
    }

    fn rto(&self) -> Duration {
        self.scaled(self.law.rto())
    }

    fn state(&self) -> RtoState {
        RtoState { rto: self.rto(), ..self.law.state() }
    }

    fn on_send(&mut self, now: Time, wire_bytes: u32) {
        self.leaving = wire_bytes;
        self.law.on_send(now, wire_bytes);
    }

    fn end_backoff(&mut self) {
        self.law.end_backoff();
    }

    fn on_progress(&mut self, covers_timed: bool) {
        self.law.on_progress(covers_timed);
    }

    fn deadline(&self, now: Time, oldest_sent: Time, flight_segs: u64) -> Time {
        let after = self.law.deadline(now, oldest_sent, flight_segs).saturating_since(now);
        now + self.scaled(after)
    }
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "above zero, and a fraction of a microsecond does not matter where it counts days"
)]
fn times(span: Duration, ratio: f64) -> Duration {
    if ratio == 1.0 { span } else { Duration::from_nanos((span.as_nanos() as f64 * ratio) as u64) }
}

/// What a sample's weight is multiplied by with each that follows.
const MEMORY: f64 = 255.0 / 256.0;
/// How many samples the line is learned from before it is used.
const ENOUGH: f64 = 16.0;
/// The least variance of lengths, in square octets, that a line can be told from.
const VARIED: f64 = 64.0;
/// No length costs more, or less, than so many times what the usual one does.
const MOST: f64 = 8.0;

/// Delay on length, by weighted least squares: means, variance and covariance.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    weight: f64,
    octets: f64,
    delay: f64,
    variance: f64,
    covariance: f64,
}

impl Line {
    /// Takes a sample in (West 1979, with weights that fade).
    #[expect(clippy::cast_precision_loss, reason = "delays of days, at most")]
    fn learn(&mut self, octets: u32, delay: Duration) {
        self.weight = self.weight * MEMORY + 1.0;
        let gain = 1.0 / self.weight;
        let off = f64::from(octets) - self.octets;
        self.octets += gain * off;
        self.delay += gain * (delay.as_nanos() as f64 - self.delay);
        let left = delay.as_nanos() as f64 - self.delay;
        self.variance += gain * (off * (f64::from(octets) - self.octets) - self.variance);
        self.covariance += gain * (off * left - self.covariance);
    }

    /// What a packet of this length takes, against one of the usual length.
    fn ratio(&self, octets: u32) -> f64 {
        if octets == 0 || self.weight < ENOUGH || self.variance < VARIED || self.delay <= 0.0 {
            return 1.0;
        }
        let slope = (self.covariance / self.variance).max(0.0);
        let takes = self.delay + slope * (f64::from(octets) - self.octets);
        (takes / self.delay).clamp(1.0 / MOST, MOST)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Mills, MillsConfig};
    use super::*;

    fn probe(law: &mut dyn RtoEstimator, octets: u32, rtt_us: u64) -> Duration {
        law.on_send(Time::ZERO, octets);
        let timer = law.rto();
        let rtt = Duration::from_micros(rtt_us);
        law.on_sample(&RttSample { rtt, wire_bytes: octets, ..RttSample::default() });
        timer
    }

    #[test]
    fn the_law_is_left_as_it_is_while_lengths_are_the_same_or_unknown() {
        for octets in [0, 40] {
            let mut plain = Mills::new(MillsConfig::default());
            let mut heeding = ByLength::new(plain.clone());
            for rtt in [100, 250, 90, 4000, 100].repeat(20) {
                assert_eq!(probe(&mut heeding, octets, rtt), probe(&mut plain, octets, rtt));
            }
        }
    }

    #[test]
    fn each_length_gets_twice_its_own_delay() {
        let mut law = ByLength::new(Mills::new(MillsConfig::default()));
        for n in 0..2000_u32 {
            let octets = 40 + (n * 67) % 217;
            let rtt = u64::from(1000 + 10 * octets);
            let timer = probe(&mut law, octets, rtt).as_nanos();
            assert!(n < 100 || timer.abs_diff(2000 * rtt) < 20 * rtt, "{n}: {timer}");
        }
    }

    #[test]
    fn a_glitch_does_not_tilt_the_line() {
        let mut law = ByLength::new(Mills::new(MillsConfig::default()));
        for n in 0..500_u32 {
            let octets = if n % 2 == 0 { 40 } else { 256 };
            let glitch = n % 100 == 50;
            probe(&mut law, octets, if glitch { 100_000 } else { u64::from(10 * octets) });
        }
        let ratio = law.line.ratio(256) / law.line.ratio(40);
        assert!((5.0..7.0).contains(&ratio), "256 octets take 6.4 times as long as 40: {ratio}");
    }

    #[test]
    fn a_path_on_which_length_costs_nothing_gets_one_timer_for_all() {
        let mut law = ByLength::new(Mills::new(MillsConfig::default()));
        (0..200).for_each(|n| {
            probe(&mut law, 40 + n % 200, 1000);
        });
        assert_eq!(probe(&mut law, 40, 1000), probe(&mut law, 256, 1000));
    }
}
