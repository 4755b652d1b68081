//! Westwood+ (Grieco and Mascolo 2004), a congestion control algorithm for paths with losses that
//! are not caused by congestion.
//!
//! As soon as the delivery rate is estimated, congestion sets ssthresh to this rate times the
//! minimum round trip, and not to half of the flight size. So on a path that is not full, a loss
//! does not shrink cwnd. If the queue of the path is full, a loss shrinks cwnd by the octets in
//! this queue.

use crate::packed::packed;
use crate::units::{Duration, Time};

use super::{AckInfo, Congestion, CongestionControl, Reno, RenoConfig, Window};

/// The constants of Westwood+.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WestwoodConfig {
    /// Reno's constants. They set how cwnd grows, and how far a loss reduces cwnd before the first
    /// estimate of the rate.
    pub reno: RenoConfig,
}

/// The weight of the old estimate against a new sample, in eighths.
const OLD_EIGHTHS: u64 = 7;
/// A sample is taken over a round trip, but at least over this time (as in Linux).
const SPAN_MIN: Duration = Duration::from_millis(50);
const NANOS: u128 = 1_000_000_000;

/// Reno with a different cut: ssthresh becomes the estimated delivery rate times the minimum round
/// trip, but at most the flight size and at least two segments. Before the first estimate of the
/// rate, the cut is the same as in Reno.
///
/// ```
/// use netspurt::congestion::{AckInfo, Congestion, CongestionControl, Westwood, WestwoodConfig, Window};
/// use netspurt::units::{Duration, Time};
/// let rtt = Duration::from_millis(100);
/// let mut algorithm = Westwood::new(WestwoodConfig::default());
/// let mut window = Window { cwnd: 50_000, ssthresh: Window::NO_THRESHOLD };
/// for n in 1..30 {
///     let now = Time::ZERO + rtt * n;
///     let ack = AckInfo { now, smss: 1000, delivered_bytes: 40_000, srtt: Some(rtt),
///                         min_rtt: Some(rtt), ..AckInfo::default() };
///     algorithm.on_ack(&ack, &mut window);
/// }
/// // 40 kB arrive in each round trip of 100 ms, so ssthresh becomes 40 kB. With Reno it is 25 kB.
/// let left = algorithm.on_congestion(Time::ZERO + rtt * 30, Congestion::Loss, 50_000, 1000, &window);
/// assert_eq!(left, 40_000);
/// ```
#[derive(Debug)]
pub struct Westwood {
    reno: Reno,
    /// The estimated delivery rate, in octets per second.
    rate: Option<u64>,
    min_rtt: Option<Duration>,
    /// When the present sample began.
    since: Option<Time>,
    /// The octets delivered since the present sample began.
    delivered: u64,
}

packed!(Westwood { reno, rate, min_rtt, since, delivered });

impl Westwood {
    /// Makes the algorithm for the start of a connection.
    pub fn new(config: WestwoodConfig) -> Self {
        let reno = Reno::new(config.reno);
        Self { reno, rate: None, min_rtt: None, since: None, delivered: 0 }
    }

    /// Adds the octets that an ACK delivered to the present sample. If the sample is long enough,
    /// updates the estimated rate.
    fn sample(&mut self, ack: &AckInfo) {
        let Some(since) = self.since else {
            self.since = Some(ack.now);
            return;
        };
        self.delivered += ack.delivered_bytes;
        let span = ack.now.saturating_since(since);
        if span < ack.srtt.unwrap_or_default().max(SPAN_MIN) {
            return;
        }
        let rate = u128::from(self.delivered) * NANOS / u128::from(span.as_nanos());
        let rate = u64::try_from(rate).unwrap_or(u64::MAX / 8);
        self.rate = Some(match self.rate {
            None => rate,
            Some(old) => (old / 8) * OLD_EIGHTHS + rate / 8,
        });
        (self.since, self.delivered) = (Some(ack.now), 0);
    }
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, ack: &AckInfo, window: &mut Window) {
        self.min_rtt = ack.min_rtt;
        self.sample(ack);
        self.reno.on_ack(ack, window);
    }

    fn on_congestion(
        &mut self,
        now: Time,
        kind: Congestion,
        flight: u64,
        smss: u64,
        window: &Window,
    ) -> u64 {
        let half = self.reno.on_congestion(now, kind, flight, smss, window);
        // The sender does not call `on_ack` in recovery, or while it reduces cwnd after a
        // congestion mark. Octets acknowledged in this time are not counted, so no sample may
        // include this time.
        (self.since, self.delivered) = (None, 0);
        let (Some(rate), Some(min_rtt)) = (self.rate, self.min_rtt) else { return half };
        let product = u128::from(rate) * u128::from(min_rtt.as_nanos()) / NANOS;
        u64::try_from(product).unwrap_or(flight).min(flight).max(2 * smss)
    }

    fn on_timeout(&mut self, now: Time, nxt: u64) {
        self.reno.on_timeout(now, nxt);
    }

    fn on_undo(&mut self, now: Time, window: &mut Window) {
        self.reno.on_undo(now, window);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the algorithm after 60 ACKs, one in each round trip `rtt`. Each ACK delivers
    /// `delivered_bytes`. The minimum round trip is 50 ms.
    fn after_acks(delivered_bytes: u64, rtt: Duration) -> Westwood {
        let mut algorithm = Westwood::new(WestwoodConfig::default());
        let mut window = Window { cwnd: 100_000, ssthresh: 50_000 };
        for n in 0..60 {
            let now = Time::ZERO + rtt * n;
            let (srtt, min_rtt) = (Some(rtt), Some(Duration::from_millis(50)));
            let ack =
                AckInfo { now, smss: 1000, delivered_bytes, srtt, min_rtt, ..AckInfo::default() };
            algorithm.on_ack(&ack, &mut window);
        }
        algorithm
    }

    /// Reports a loss with `flight` octets outstanding. Returns the new ssthresh.
    fn cut(algorithm: &mut Westwood, flight: u64) -> u64 {
        let window = Window { cwnd: flight, ssthresh: Window::NO_THRESHOLD };
        algorithm.on_congestion(Time::ZERO, Congestion::Loss, flight, 1000, &window)
    }

    /// The queue is full. The round trip is twice the minimum, so half of the flight is in the
    /// queue.
    #[test]
    fn a_loss_at_a_full_queue_cuts_cwnd_by_the_queued_octets() {
        let mut algorithm = after_acks(80_000, Duration::from_millis(100));
        assert_eq!(cut(&mut algorithm, 80_000), 40_000);
    }

    #[test]
    fn on_a_path_that_is_not_full_a_loss_does_not_shrink_the_window() {
        let mut algorithm = after_acks(20_000, Duration::from_millis(50));
        assert_eq!(cut(&mut algorithm, 20_000), 20_000);
    }

    #[test]
    fn without_an_estimate_a_loss_halves_cwnd_and_every_loss_leaves_at_least_two_segments() {
        let mut algorithm = Westwood::new(WestwoodConfig::default());
        assert_eq!(cut(&mut algorithm, 20_000), 10_000);
        let mut slow = after_acks(10, Duration::from_millis(50));
        assert_eq!(cut(&mut slow, 20_000), 2000);
    }
}
