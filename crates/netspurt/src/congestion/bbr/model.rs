//! The model of a path in BBR, a congestion control algorithm: the delivery rate and the minimum
//! round trip.

use crate::packed::packed;
use crate::units::{Duration, Time};

use super::super::window::share;
use super::super::{AckInfo, Window};
use super::config::BbrConfig;
use super::max_filter::MaxFilter;

/// The nanoseconds that an octet takes at a rate of one bit per second.
const OCTET_AT_ONE_BIT: u128 = 8_000_000_000;

/// BBR's estimates of a path.
#[derive(Debug)]
pub(super) struct Model {
    /// The maximum filter of delivery rates, in bits per second.
    bandwidth: MaxFilter,
    /// The octets that the connection has delivered since its start.
    pub(super) delivered: u64,
    /// The number of rounds that have ended.
    rounds: u64,
    /// The octets delivered when the round began. The round ends with the ACK of a segment that was
    /// sent when the round began or later.
    next_round: u64,
    /// Whether the last ACK began a round.
    pub(super) round_start: bool,
    /// Whether the rate of the last sample was limited by the sender, and not by the path.
    pub(super) app_limited: bool,
    /// The number of octets delivered when BBR began to hold cwnd down, and the number delivered
    /// when the segments sent under this limit have arrived. A segment that was sent between these
    /// two counts gives a sample that does not show the rate of the path.
    held: (u64, u64),
    /// The minimum round trip. It expires when `min_rtt_window` has passed since `min_rtt_stamp`.
    pub(super) min_rtt: Option<Duration>,
    /// When the minimum was measured, or when the last PROBE_RTT ended if that was later.
    pub(super) min_rtt_stamp: Time,
}

packed!(Model {
    bandwidth,
    delivered,
    rounds,
    next_round,
    round_start,
    app_limited,
    held,
    min_rtt,
    min_rtt_stamp
});

impl Model {
    pub(super) fn new(config: &BbrConfig) -> Self {
        Self {
            bandwidth: MaxFilter::new(config.bw_window_rounds),
            delivered: 0,
            rounds: 0,
            next_round: 0,
            round_start: false,
            app_limited: false,
            held: (1, 0),
            min_rtt: None,
            min_rtt_stamp: Time::ZERO,
        }
    }

    /// The maximum of the recent delivery rates, in bits per second.
    pub(super) fn bandwidth(&self) -> u64 {
        self.bandwidth.max()
    }

    /// Begins a new round.
    pub(super) fn start_round(&mut self) {
        self.next_round = self.delivered;
    }

    /// Notes that BBR now begins to hold cwnd below the capacity of the path.
    pub(super) fn hold(&mut self) {
        self.held = (self.delivered, self.delivered);
    }

    /// Notes that BBR still holds cwnd down, with `pipe` octets in the network.
    pub(super) fn keep_holding(&mut self, pipe: u64) {
        self.held.1 = self.delivered.saturating_add(pipe);
    }

    /// Counts rounds, and takes the delivery rate of an ACK (draft-cardwell §4.1.1).
    pub(super) fn update_bandwidth(&mut self, ack: &AckInfo) {
        self.round_start = false;
        let Some(sample) = ack.rate else {
            self.delivered = self.delivered.saturating_add(ack.delivered_bytes);
            return;
        };
        self.delivered = sample.total_delivered_bytes;
        let sent_at = sample.prior_delivered_bytes;
        self.app_limited = sample.app_limited || (self.held.0..=self.held.1).contains(&sent_at);
        if sample.interval.is_zero() {
            return;
        }
        if sent_at >= self.next_round {
            self.next_round = self.delivered;
            self.rounds += 1;
            self.round_start = true;
        }
        let bits = u128::from(sample.delivered_bytes) * OCTET_AT_ONE_BIT;
        let rate = bits / u128::from(sample.interval.as_nanos());
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        // §4.1.1.4: a rate that the application limited is only a lower bound of the path's rate.
        if !self.app_limited || rate >= self.bandwidth() {
            self.bandwidth.update(self.rounds, rate);
        }
    }

    /// Processes the round trip of an ACK. Returns whether the old minimum was older than `window`.
    pub(super) fn update_min_rtt(&mut self, ack: &AckInfo, window: Duration) -> bool {
        if self.min_rtt.is_none() {
            self.min_rtt_stamp = ack.now;
        }
        let expired = ack.now.saturating_since(self.min_rtt_stamp) > window;
        if let Some(rtt) = ack.rtt
            && (expired || self.min_rtt.is_none_or(|min_rtt| rtt < min_rtt))
        {
            self.min_rtt = Some(rtt);
            self.min_rtt_stamp = ack.now;
        }
        expired
    }

    /// Returns `gain` times the bandwidth-delay product, in octets. The result is `None` before the
    /// first round trip.
    pub(super) fn bdp(&self, gain: (u32, u32)) -> Option<u64> {
        let bits = u128::from(self.bandwidth()) * u128::from(self.min_rtt?.as_nanos());
        let octets = u64::try_from(bits / OCTET_AT_ONE_BIT).unwrap_or(u64::MAX);
        Some(share(octets.min(Window::NO_THRESHOLD), gain))
    }
}
