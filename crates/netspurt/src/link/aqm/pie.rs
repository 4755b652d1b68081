//! PIE, proportional integral controller enhanced (RFC 8033), an algorithm that manages a queue.
//! PIE drops or marks arriving frames with a probability, which it updates at fixed intervals from
//! the delay of the queue.

use crate::link::backlog::QueueLimit;
use crate::units::{Duration, Time};

use super::config::PieConfig;
use super::decision_sink::AqmVerdict;

/// The state of PIE.
///
/// The delay of the queue is measured, and not computed from a departure rate (RFC 8033 §4.2 allows
/// either method). The delay is the time that the last departed frame spent in the queue, or zero
/// if this frame left the queue empty. The options of RFC 8033 §5.2 to §5.5 are left out: this PIE
/// never switches off, does not derandomize, and does not cap a step.
#[derive(Debug)]
pub(in crate::link) struct Pie {
    config: PieConfig,
    drop_prob: f64,
    delay: Duration,
    delay_old: Duration,
    burst_allowance: Duration,
    next_update: Time,
}

/// Each row has a bound and a divisor. The step of the probability is divided by the divisor of the
/// first row whose bound is above the probability (RFC 8033 §4.2).
const AUTO_TUNING: [(f64, f64); 6] = [
    (0.000_001, 2048.0),
    (0.000_01, 512.0),
    (0.000_1, 128.0),
    (0.001, 32.0),
    (0.01, 8.0),
    (0.1, 2.0),
];

/// An update multiplies the probability by this factor if the delay is zero and was zero at the
/// last update (RFC 8033 §4.2).
const DECAY: f64 = 0.98;

/// Below this probability, no frame is marked or dropped if the delay at the last update was less
/// than half the target (RFC 8033 §4.1).
const SAFE_PROB: f64 = 0.2;

impl Pie {
    pub(super) fn new(config: PieConfig) -> Self {
        Self {
            drop_prob: 0.0,
            delay: Duration::ZERO,
            delay_old: Duration::ZERO,
            burst_allowance: config.max_burst,
            next_update: Time::ZERO + config.t_update,
            config,
        }
    }

    pub(super) fn limit(&self) -> QueueLimit {
        self.config.limit
    }

    pub(super) fn ecn(&self) -> bool {
        self.config.ecn
    }

    /// Called when a frame has left the queue after the time `sojourn`. The flag `empty` says
    /// whether the queue is now empty. If a departure and an update are due at the same instant,
    /// the departure comes first.
    pub(super) fn departed(&mut self, now: Time, sojourn: Duration, empty: bool) {
        while self.next_update < now {
            self.tick(now);
        }
        self.delay = if empty { Duration::ZERO } else { sojourn };
    }

    /// Judges an arrival while `waiting_bytes` octets wait (RFC 8033 §4.1, §5.1). If an update and
    /// an arrival are due at the same instant, the update comes first.
    pub(super) fn judge(&mut self, now: Time, waiting_bytes: u64) -> AqmVerdict {
        while self.next_update <= now {
            self.tick(now);
        }
        let short_queue = waiting_bytes <= 2 * u64::from(self.config.packet_bytes);
        let calm = self.delay_old < self.config.target / 2 && self.drop_prob < SAFE_PROB;
        if !self.burst_allowance.is_zero() || short_queue || calm {
            return AqmVerdict::Pass;
        }
        if !self.config.stream.chance(self.drop_prob) {
            AqmVerdict::Pass
        } else if self.drop_prob < self.config.mark_ecnth {
            AqmVerdict::Signal
        } else {
            AqmVerdict::Drop
        }
    }

    /// Makes the update that is due. If this update changes neither the probability nor the delay,
    /// the later updates up to the instant `now` do not change them either. So all of them except
    /// the last are made in one step. Each of them only subtracts one interval from the burst
    /// allowance, unless the allowance is at its maximum.
    fn tick(&mut self, now: Time) {
        let every = self.config.t_update;
        let before = (self.drop_prob, self.delay_old);
        self.update();
        self.next_update += every;
        if before == (self.drop_prob, self.delay_old) {
            let missed = now.saturating_since(self.next_update).whole_units(every);
            if self.burst_allowance < self.config.max_burst {
                self.burst_allowance = self.burst_allowance - every * missed;
            }
            self.next_update += every * missed;
        }
    }

    /// Updates the probability and the burst allowance (RFC 8033 §4.2 and §4.4).
    fn update(&mut self) {
        let target = self.config.target;
        let seconds = |span: Duration| span.as_secs_f64();
        let step = self.config.alpha * (seconds(self.delay) - seconds(target))
            + self.config.beta * (seconds(self.delay) - seconds(self.delay_old));
        let tuned = AUTO_TUNING.iter().find(|row| self.drop_prob < row.0);
        self.drop_prob += step / tuned.map_or(1.0, |row| row.1);
        if self.delay.is_zero() && self.delay_old.is_zero() {
            self.drop_prob *= DECAY;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        let half = target / 2;
        self.burst_allowance = self.burst_allowance - self.config.t_update;
        if self.drop_prob == 0.0 && self.delay < half && self.delay_old < half {
            self.burst_allowance = self.config.max_burst;
        }
        self.delay_old = self.delay;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    /// PIE with a target of 15 ms and an update every 15 ms.
    fn pie() -> Pie {
        Pie::new(PieConfig {
            target: Duration::from_millis(15),
            t_update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Duration::from_millis(150),
            packet_bytes: 1024,
            limit: QueueLimit::Unlimited,
            ecn: true,
            mark_ecnth: 0.1,
            stream: Stream::named(1, "pie"),
        })
    }

    /// Whether the two numbers are equal, except for rounding.
    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-12
    }

    fn ms(n: u64) -> Duration {
        Duration::from_millis(n)
    }

    fn at(n: u64) -> Time {
        Time::ZERO + ms(n)
    }

    #[test]
    fn the_probability_moves_with_the_delay_and_its_trend() {
        let mut pie = pie();
        // Before it is divided, the step is 0.125·(0.095 - 0.015) + 1.25·(0.095 - 0) = 0.01 +
        // 0.11875 = 0.12875. The probability is below one in a million, so the step is divided by
        // 2048.
        pie.delay = ms(95);
        pie.update();
        assert!(close(pie.drop_prob, 0.128_75 / 2048.0), "{}", pie.drop_prob);
        // The probability is now 6.29e-5, below 1e-4, so the step is a 128th of 0.125·0.08 = 0.01.
        // The delay is unchanged.
        pie.update();
        assert!(close(pie.drop_prob, 0.128_75 / 2048.0 + 0.01 / 128.0), "{}", pie.drop_prob);
        // A delay that falls below the target reduces the probability, but not below zero. The step
        // is a 32nd of 0.125·(0.005 - 0.015) + 1.25·(0.005 - 0.095) = -0.11375.
        pie.delay = ms(5);
        pie.update();
        assert!(close(pie.drop_prob, 0.0), "{}", pie.drop_prob);
    }

    #[test]
    fn each_row_of_the_tuning_table_divides_the_step_by_its_divisor() {
        let rows = [
            (0.000_000_9, 2048.0),
            (0.000_009, 512.0),
            (0.000_09, 128.0),
            (0.000_9, 32.0),
            (0.009, 8.0),
            (0.09, 2.0),
            (0.5, 1.0),
        ];
        for (p, divisor) in rows {
            let mut pie = Pie { drop_prob: p, delay: ms(23), delay_old: ms(23), ..pie() };
            pie.update();
            // Before it is divided, the step is 0.125·(0.023 - 0.015) = 0.001.
            assert!(close(pie.drop_prob, p + 0.001 / divisor), "{p}: {}", pie.drop_prob);
        }
    }

    #[test]
    fn the_delay_is_the_wait_of_the_last_frame_or_zero_if_it_left_the_queue_empty() {
        let mut pie = pie();
        pie.departed(at(1), ms(40), false);
        assert_eq!(pie.delay, ms(40));
        pie.departed(at(2), ms(30), true);
        assert_eq!(pie.delay, Duration::ZERO);
    }

    #[test]
    fn without_delay_an_update_reduces_the_probability_by_a_further_fiftieth() {
        let mut pie = Pie { drop_prob: 0.5, ..pie() };
        pie.update();
        // The expected probability is (0.5 - 0.125·0.015)·0.98.
        assert!(close(pie.drop_prob, 0.488_162_5), "{}", pie.drop_prob);
    }

    #[test]
    fn a_burst_of_a_hundred_and_fifty_milliseconds_passes_without_drops() {
        let busy = || Pie { drop_prob: 1.0, delay: ms(60), delay_old: ms(60), ..pie() };
        // Ten updates use up the allowance. The update at 150 ms comes before the arrival at 150
        // ms.
        assert_eq!(busy().judge(at(149), 9000), AqmVerdict::Pass);
        assert_eq!(busy().judge(at(150), 9000), AqmVerdict::Drop);
        // If the delay is short and the probability is zero, an update restores the allowance.
        let mut calm = Pie { burst_allowance: ms(20), ..pie() };
        calm.update();
        assert_eq!(calm.burst_allowance, ms(150));
    }

    #[test]
    fn pie_drops_nothing_while_delays_are_short_or_few_octets_wait() {
        let spent = |p, old| {
            let never = Time::NEVER;
            let burst_allowance = Duration::ZERO;
            Pie { drop_prob: p, delay_old: old, burst_allowance, next_update: never, ..pie() }
        };
        assert_eq!(spent(1.0, ms(60)).judge(at(1), 2048), AqmVerdict::Pass);
        assert_eq!(spent(1.0, ms(60)).judge(at(1), 2049), AqmVerdict::Drop);
        let chosen = |p, old| {
            let mut pie = spent(p, old);
            (0..10_000).filter(|_| pie.judge(at(1), 9000) != AqmVerdict::Pass).count()
        };
        assert_eq!(chosen(0.199, ms(7)), 0);
        // The expected number of frames that do not pass is 2000, and the standard deviation is 40.
        assert!((1850..2150).contains(&chosen(0.2, ms(7))), "{}", chosen(0.2, ms(7)));
        assert!(
            chosen(0.199, Duration::from_micros(7500)) > 0,
            "a delay of half the target is not short"
        );
    }

    #[test]
    fn pie_drops_instead_of_marking_if_the_probability_is_a_tenth_or_more() {
        let kinds = |p| {
            let mut pie = Pie {
                drop_prob: p,
                delay_old: ms(60),
                burst_allowance: Duration::ZERO,
                next_update: Time::NEVER,
                ..pie()
            };
            let all: Vec<AqmVerdict> = (0..1000).map(|_| pie.judge(at(1), 9000)).collect();
            [AqmVerdict::Signal, AqmVerdict::Drop].map(|kind| all.contains(&kind))
        };
        assert_eq!(kinds(0.099), [true, false]);
        assert_eq!(kinds(0.1), [false, true]);
    }

    #[test]
    fn after_a_long_idle_time_pie_updates_at_multiples_of_the_interval() {
        let mut pie = pie();
        pie.judge(at(1_000_003), 0);
        // 66 667 intervals of 15 ms are 1 000 005 ms.
        assert_eq!(pie.next_update, at(1_000_005));
    }
}
