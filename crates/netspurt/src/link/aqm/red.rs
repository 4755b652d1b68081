//! Random early detection, RED (Floyd and Jacobson 1993), an algorithm that manages a queue. RED
//! averages the length of the queue. The higher the average, the more arriving frames it marks or
//! drops. The option `gentle` comes from Floyd (2000).

use crate::link::backlog::QueueLimit;
use crate::units::{Duration, Time};

use super::config::{RedConfig, RedUnit};
use super::decision_sink::AqmVerdict;

/// The state of RED. The length of the queue includes the frame in transmission, so the queue is
/// empty only while the line is idle.
#[derive(Debug)]
pub(in crate::link) struct Red {
    config: RedConfig,
    /// The transmission time of a typical frame.
    typical: Duration,
    /// The average queue, in frames or octets as `RedConfig::unit` says.
    avg: f64,
    /// Frames since the last frame that was chosen to be marked or dropped. The value is `None`
    /// while the average is below `min_th`.
    count: Option<u64>,
    idle_since: Time,
}

impl Red {
    pub(super) fn new(config: RedConfig, typical: Duration) -> Self {
        Self { config, typical, avg: 0.0, count: None, idle_since: Time::ZERO }
    }

    pub(super) fn limit(&self) -> QueueLimit {
        self.config.limit
    }

    pub(super) fn ecn(&self) -> bool {
        self.config.ecn
    }

    /// Called when the line becomes idle, and when an idle line stays idle because an arrival is
    /// dropped.
    pub(super) fn line_became_idle(&mut self, now: Time) {
        self.idle_since = now;
    }

    /// Judges an arrival of `size` octets at a queue of this many frames and octets.
    ///
    /// If the probability is 1 or more, the frame is dropped and not marked, as RFC 3168 §7 asks
    /// above an upper threshold. The probability is 1 from `max_th` on. With `gentle`, it is 1 from
    /// twice `max_th` on. If the unit is octets, a large frame may reach this probability earlier.
    pub(super) fn judge(
        &mut self,
        now: Time,
        size: u32,
        (packets, bytes): (u32, u64),
    ) -> AqmVerdict {
        let queue = match self.config.unit {
            RedUnit::Packets => u64::from(packets),
            RedUnit::Bytes => bytes,
        };
        self.average(now, queue);
        let Some(pb) = self.probability(size) else {
            self.count = None;
            return AqmVerdict::Pass;
        };
        if pb >= 1.0 {
            self.count = Some(0);
            return AqmVerdict::Drop;
        }
        let count = self.count.map_or(0, |count| count + 1);
        let chosen = self.config.stream.chance(uniform_gap_probability(pb, count));
        self.count = Some(if chosen { 0 } else { count });
        if chosen { AqmVerdict::Signal } else { AqmVerdict::Pass }
    }

    /// Updates the average. If the queue has frames, its length enters the average once. If the
    /// queue is empty, a length of zero enters the average several times: once for each typical
    /// frame that the line could have sent completely in the idle time.
    #[expect(clippy::cast_precision_loss, reason = "queues are far below 2^53")]
    fn average(&mut self, now: Time, queue: u64) {
        if queue > 0 {
            self.avg += self.config.wq * (queue as f64 - self.avg);
        } else if self.typical.is_zero() {
            self.avg = 0.0;
        } else {
            let frames = now.saturating_since(self.idle_since).whole_units(self.typical);
            self.avg *= power(1.0 - self.config.wq, frames);
        }
    }

    /// The probability before `uniform_gap_probability` adjusts it. The result is `None` below the
    /// lower threshold.
    #[expect(clippy::cast_precision_loss, reason = "thresholds are far below 2^53")]
    fn probability(&self, size: u32) -> Option<f64> {
        let RedConfig { unit, max_p, gentle, packet_bytes, .. } = self.config;
        let (min, max) = (self.config.min_th as f64, self.config.max_th as f64);
        if self.avg < min {
            return None;
        }
        let p = if self.avg < max {
            max_p * (self.avg - min) / (max - min)
        } else if gentle && self.avg < 2.0 * max {
            max_p + (1.0 - max_p) * (self.avg - max) / max
        } else {
            return Some(1.0);
        };
        Some(match unit {
            RedUnit::Packets => p,
            RedUnit::Bytes => p * f64::from(size) / f64::from(packet_bytes),
        })
    }
}

/// Adjusts `pb` so that the gaps between chosen frames are uniformly distributed (Floyd and
/// Jacobson 1993, §7). Returns pb / (1 - count·pb), at most 1.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^53")]
fn uniform_gap_probability(pb: f64, count: u64) -> f64 {
    let rest = 1.0 - count as f64 * pb;
    if rest <= pb { 1.0 } else { pb / rest }
}

/// Returns `base` to the power `n`. Uses only multiplications, so every machine gets the same bits.
fn power(mut base: f64, mut n: u64) -> f64 {
    let mut product = 1.0;
    while n > 0 {
        if n & 1 == 1 {
            product *= base;
        }
        base *= base;
        n >>= 1;
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// RED with the constants of these tests, after the function `change` has changed some of them.
    fn red(change: impl FnOnce(&mut RedConfig)) -> Red {
        let mut config = RedConfig {
            limit: QueueLimit::Unlimited,
            unit: RedUnit::Packets,
            min_th: 5,
            max_th: 15,
            wq: 0.25,
            max_p: 0.1,
            gentle: true,
            packet_bytes: 1000,
            ecn: false,
            stream: Stream::named(1, "red"),
        };
        change(&mut config);
        Red::new(config, Duration::from_millis(10))
    }

    /// Whether the two numbers are equal, except for rounding.
    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    #[test]
    fn the_average_moves_by_its_weight_towards_the_queue() {
        // A queue of 8 frames gives an average of (3/4)·0 + (1/4)·8 = 2. A queue of 4 frames then
        // gives (3/4)·2 + (1/4)·4 = 2.5.
        let mut red = red(|_| {});
        red.judge(Time::ZERO, 1000, (8, 8000));
        assert!(close(red.avg, 2.0), "{}", red.avg);
        red.judge(Time::ZERO, 1000, (4, 4000));
        assert!(close(red.avg, 2.5), "{}", red.avg);
    }

    #[test]
    fn the_average_follows_the_octets_in_the_queue_if_the_unit_is_bytes() {
        let mut red = red(|config| config.unit = RedUnit::Bytes);
        red.judge(Time::ZERO, 1000, (8, 8000));
        assert!(close(red.avg, 2000.0), "{}", red.avg);
    }

    #[test]
    fn idle_time_lowers_the_average_once_for_each_typical_frame_that_fits() {
        // 35 ms of idle time have room for 3 whole frames of 10 ms: 8·(3/4)³ = 3.375.
        let mut red = red(|_| {});
        red.avg = 8.0;
        red.line_became_idle(Time::from_nanos(5_000_000));
        red.judge(Time::from_nanos(40_000_000), 1000, (0, 0));
        assert!(close(red.avg, 3.375), "{}", red.avg);
    }

    #[test]
    fn the_probability_rises_to_max_p_and_then_to_one_if_the_option_gentle_is_on() {
        let mut red = red(|_| {});
        let mut at = |avg| {
            red.avg = avg;
            red.probability(500)
        };
        assert_eq!(at(4.999), None);
        // An average of 7.5 gives the probability 0.1·(7.5 - 5)/(15 - 5) = 0.025, and an average of
        // 22.5 gives 0.1 + 0.9·(22.5 - 15)/15 = 0.55.
        let table = [(5.0, 0.0), (7.5, 0.025), (15.0, 0.1), (22.5, 0.55), (30.0, 1.0)];
        for (avg, p) in table {
            assert!(at(avg).is_some_and(|got| close(got, p)), "{avg}: {:?}", at(avg));
        }
        let mut steep = super::tests::red(|config| config.gentle = false);
        steep.avg = 15.0;
        assert_eq!(steep.probability(500), Some(1.0));
        let mut octets = super::tests::red(|config| config.unit = RedUnit::Bytes);
        octets.avg = 7.5;
        assert!(
            close(octets.probability(500).unwrap(), 0.0125),
            "half the size gives half the probability"
        );
    }

    #[test]
    fn the_gaps_between_chosen_frames_are_uniformly_distributed() {
        // At pb = 0.1 the probabilities are 1/10, 1/9, 1/8 and so on. The tenth frame is chosen for
        // certain.
        let spread: Vec<f64> = (0..10).map(|count| uniform_gap_probability(0.1, count)).collect();
        for (n, p) in (1..=10).rev().zip(&spread) {
            assert!(close(*p, 1.0 / f64::from(n)), "{spread:?}");
        }
        // The count is 1 at the first frame after a choice, so the gaps are uniformly distributed
        // from 1 to 9 frames. A gap of 10 is possible, because pb is slightly below 0.1.
        let mut red = red(|config| config.wq = 0.0);
        red.avg = 14.999_999_999;
        let verdicts = (0..100_000).map(|_| red.judge(Time::ZERO, 1000, (9, 9000)));
        let places: Vec<usize> =
            (0..).zip(verdicts).filter(|v| v.1 == AqmVerdict::Signal).map(|v| v.0).collect();
        let gaps: Vec<usize> = places.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps.iter().all(|gap| (1..=10).contains(gap)), "{:?}", gaps.iter().max());
        let mean = places[places.len() - 1] as f64 / places.len() as f64;
        assert!((4.9..5.1).contains(&mean), "{mean}");
    }

    #[test]
    fn the_count_starts_at_zero_when_the_average_rises_above_the_minimum() {
        let mut red = red(|config| (config.wq, config.max_p) = (0.0, 0.0));
        red.avg = 10.0;
        let counts = [0, 1, 2].map(|_| {
            red.judge(Time::ZERO, 1000, (9, 9000));
            red.count
        });
        assert_eq!(counts, [Some(0), Some(1), Some(2)]);
    }

    #[test]
    fn gentle_red_passes_frames_below_min_th_and_drops_them_at_twice_max_th() {
        let mut red = red(|config| config.wq = 1.0);
        assert_eq!(red.judge(Time::ZERO, 1000, (4, 4000)), AqmVerdict::Pass);
        assert_eq!(red.count, None);
        assert_eq!(red.judge(Time::ZERO, 1000, (30, 30_000)), AqmVerdict::Drop);
        assert_eq!(red.count, Some(0));
    }
}
