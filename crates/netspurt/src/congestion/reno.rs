//! Reno, the congestion control algorithm of RFC 5681, computed in octets (RFC 3465).

use crate::packed::packed;
use crate::units::Time;

use super::slow_start::{NO_ABC_LIMIT, SlowStart, SlowStartExit};
use super::window::share;
use super::{AckInfo, Congestion, CongestionControl, Window};

/// The constants of Reno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RenoConfig {
    /// *L*: the maximum number of segments by which one ACK increases cwnd in slow start (RFC 3465
    /// §2.2). With `None`, cwnd grows by at most one segment for each ACK in slow start (RFC 5681
    /// §3.1, equation 2), and congestion avoidance counts ACKs and not octets.
    pub abc_limit_segs: Option<u32>,
    /// Congestion sets ssthresh to this share of FlightSize, as a fraction (RFC 5681, equation 4).
    pub beta: (u32, u32),
    /// The algorithm that may end slow start before a loss. RFC 5681 has none.
    pub slow_start_exit: SlowStartExit,
}

impl Default for RenoConfig {
    fn default() -> Self {
        Self { abc_limit_segs: Some(2), beta: (1, 2), slow_start_exit: SlowStartExit::None }
    }
}

/// Reno: in slow start cwnd grows by the acknowledged octets, up to a limit for each ACK. Later
/// cwnd grows by one segment whenever as many octets as cwnd are acknowledged.
///
/// ```
/// use netspurt::congestion::{AckInfo, CongestionControl, Reno, RenoConfig, Window};
/// let mut reno = Reno::new(RenoConfig::default());
/// let mut window = Window { cwnd: 10_000, ssthresh: Window::NO_THRESHOLD };
/// let ack = AckInfo { smss: 1000, acked_bytes: 2000, window_limited: true, ..AckInfo::default() };
/// reno.on_ack(&ack, &mut window);
/// assert_eq!(window.cwnd, 12_000);
/// ```
#[derive(Debug)]
pub struct Reno {
    config: RenoConfig,
    slow_start: SlowStart,
    /// The octets counted towards the next growth of cwnd in congestion avoidance (RFC 3465 §2.1).
    counted: u64,
}

packed!(Reno { slow_start, counted } keeps { config });

impl Reno {
    /// Makes the algorithm for the start of a connection.
    pub fn new(config: RenoConfig) -> Self {
        let limit_segs = config.abc_limit_segs.unwrap_or(1);
        let slow_start = SlowStart::new(limit_segs, config.slow_start_exit);
        Self { config, slow_start, counted: 0 }
    }

    /// Opens cwnd by all octets that an ACK acknowledges, as Linux does. An ACK may open cwnd by
    /// several segments. The octets that slow start does not use count in congestion avoidance
    /// (`tcp_reno_cong_avoid`, `tcp_cong_avoid_ai`).
    fn grow_without_limit(&mut self, ack: &AckInfo, window: &mut Window) {
        let before = window.cwnd;
        if window.in_slow_start() {
            self.slow_start.on_ack(ack, window);
        }
        let rest = ack.acked_bytes.saturating_sub(window.cwnd - before);
        if !ack.window_limited || rest == 0 || window.in_slow_start() {
            return;
        }
        let step = window.cwnd.max(1);
        if self.counted >= step {
            // Octets that were counted while cwnd was larger open cwnd by only one segment.
            self.counted = 0;
            window.cwnd += ack.smss;
        }
        self.counted += rest;
        window.cwnd += self.counted / step * ack.smss;
        self.counted %= step;
    }

    fn avoid_congestion(&mut self, ack: &AckInfo, window: &mut Window) {
        self.counted += match self.config.abc_limit_segs {
            Some(_) => ack.acked_bytes,
            None => ack.smss,
        };
        if self.counted >= window.cwnd {
            self.counted -= window.cwnd;
            window.cwnd += ack.smss;
        }
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &AckInfo, window: &mut Window) {
        if self.config.abc_limit_segs.is_some_and(|limit| limit >= NO_ABC_LIMIT) {
            self.grow_without_limit(ack, window);
        } else if window.in_slow_start() {
            self.slow_start.on_ack(ack, window);
        } else if ack.window_limited {
            self.avoid_congestion(ack, window);
        }
    }

    fn on_congestion(
        &mut self,
        _now: Time,
        _kind: Congestion,
        flight: u64,
        smss: u64,
        _window: &Window,
    ) -> u64 {
        self.counted = 0;
        share(flight, self.config.beta).max(2 * smss)
    }

    fn on_timeout(&mut self, now: Time, nxt: u64) {
        self.slow_start.on_timeout(now, nxt);
    }

    fn on_undo(&mut self, _now: Time, _window: &mut Window) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An ACK of `acked_bytes` octets. The sender had filled cwnd before this ACK.
    fn ack(acked_bytes: u64) -> AckInfo {
        AckInfo { smss: 1000, acked_bytes, window_limited: true, ..AckInfo::default() }
    }

    fn window(cwnd: u64, ssthresh: u64) -> Window {
        Window { cwnd, ssthresh }
    }

    /// RFC 3465 §2.2: an ACK increases cwnd by at most L segments in slow start. §2.3: after a
    /// timeout an ACK increases cwnd by at most one segment.
    #[test]
    fn slow_start_counts_octets_up_to_the_limit() {
        let mut reno = Reno::new(RenoConfig::default());
        for (acked, after_timeout, grown) in
            [(500, false, 500), (2000, false, 2000), (5000, false, 2000), (5000, true, 1000)]
        {
            let mut window = window(10_000, Window::NO_THRESHOLD);
            reno.on_ack(&AckInfo { after_timeout, ..ack(acked) }, &mut window);
            assert_eq!(window.cwnd, 10_000 + grown);
        }
    }

    /// RFC 3465 §2.1: cwnd grows by a segment once as many octets as cwnd are acknowledged.
    #[test]
    fn congestion_avoidance_adds_a_segment_for_each_acknowledged_cwnd() {
        let mut reno = Reno::new(RenoConfig::default());
        let mut window = window(4000, 4000);
        let seen: Vec<u64> = (0..9)
            .map(|_| {
                reno.on_ack(&ack(1000), &mut window);
                window.cwnd
            })
            .collect();
        assert_eq!(seen, [4000, 4000, 4000, 5000, 5000, 5000, 5000, 5000, 6000]);
    }

    /// RFC 5681 §3.1, equation 4: ssthresh becomes half of FlightSize, but at least two segments.
    #[test]
    fn a_loss_sets_ssthresh_to_half_the_flight_but_at_least_two_segments() {
        let mut reno = Reno::new(RenoConfig::default());
        let all = window(20_000, Window::NO_THRESHOLD);
        let mut cut = |flight| reno.on_congestion(Time::ZERO, Congestion::Loss, flight, 1000, &all);
        assert_eq!((cut(15_000), cut(3000)), (7500, 2000));
    }

    /// In the first slow start, HyStart++ has a limit of its own: eight segments for each ACK.
    /// Later slow starts have the usual limit (RFC 9406 §4.3).
    #[test]
    fn hystart_plus_plus_has_a_limit_of_its_own_in_the_first_slow_start() {
        let slow_start_exit = SlowStartExit::default();
        let mut reno = Reno::new(RenoConfig { slow_start_exit, ..RenoConfig::default() });
        for (ssthresh, grown) in [(Window::NO_THRESHOLD, 8000), (50_000, 2000)] {
            let mut window = window(10_000, ssthresh);
            reno.on_ack(&ack(9000), &mut window);
            assert_eq!(window.cwnd, 10_000 + grown);
        }
    }

    /// Linux 6.18: cwnd is two segments, and one acknowledged segment was already counted. Then an
    /// ACK of three segments opens cwnd by two segments (`tcp_cong_avoid_ai`).
    #[test]
    fn without_a_limit_an_ack_may_open_cwnd_by_several_segments() {
        let config = RenoConfig { abc_limit_segs: Some(NO_ABC_LIMIT), ..RenoConfig::default() };
        let mut reno = Reno::new(config);
        let mut small = window(2000, 2000);
        reno.on_ack(&ack(1000), &mut small);
        assert_eq!(small.cwnd, 2000);
        reno.on_ack(&ack(3000), &mut small);
        assert_eq!(small.cwnd, 4000);
        let (mut reno, mut below) = (Reno::new(config), window(9000, 10_000));
        reno.on_ack(&ack(11_000), &mut below);
        assert_eq!(below.cwnd, 11_000, "slow start and congestion avoidance each add a segment");
    }

    #[test]
    fn a_cwnd_that_was_not_filled_does_not_grow() {
        let mut reno = Reno::new(RenoConfig::default());
        let mut window = window(4000, Window::NO_THRESHOLD);
        reno.on_ack(&AckInfo { window_limited: false, ..ack(1000) }, &mut window);
        assert_eq!(window.cwnd, 4000);
    }
}
