//! BBR's model of a path: its delivery rate, and its minimum round trip.

use crate::packed::packed;
use crate::units::{Duration, Time};

use super::super::window::share;
use super::super::{AckInfo, Window};
use super::config::BbrConfig;
use super::max_filter::MaxFilter;

/// Nanoseconds in which a rate of one bit per second carries an octet.
const OCTET_AT_ONE_BIT: u128 = 8_000_000_000;

/// What BBR believes of a path.
#[derive(Debug)]
pub(super) struct Model {
    /// Delivery rates, in bits per second.
    bandwidth: MaxFilter,
    /// Octets delivered over the connection's life.
    pub(super) delivered: u64,
    /// Rounds begun: one ends when what was sent after its start is delivered.
    rounds: u64,
    /// The round ends with a segment sent when this much had been delivered.
    next_round: u64,
    /// Whether this ACK began a round.
    pub(super) round_start: bool,
    /// Whether the pace of the sample this ACK brought was not the path's.
    pub(super) app_limited: bool,
    /// What was delivered when BBR began to hold the window down, and will be when that shows no
    /// longer: samples of segments sent in between say nothing of the path.
    held: (u64, u64),
    /// The least round trip of the last ten seconds, and when it was measured.
    pub(super) min_rtt: Option<Duration>,
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

    /// The greatest recent delivery rate, in bits per second.
    pub(super) fn bandwidth(&self) -> u64 {
        self.bandwidth.max()
    }

    /// Begins a round now.
    pub(super) fn start_round(&mut self) {
        self.next_round = self.delivered;
    }

    /// From now on the window is held below what the path takes.
    pub(super) fn hold(&mut self) {
        self.held = (self.delivered, self.delivered);
    }

    /// It still is, with `pipe` octets in the network.
    pub(super) fn keep_holding(&mut self, pipe: u64) {
        self.held.1 = self.delivered.saturating_add(pipe);
    }

    /// Counts rounds and takes in the delivery rate (draft-cardwell §4.1.1).
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
        // §4.1.1.4: a rate the application set says only that the path takes as much.
        if !self.app_limited || rate >= self.bandwidth() {
            self.bandwidth.update(self.rounds, rate);
        }
    }

    /// Takes in the round trip; whether the old minimum had grown older than `window`.
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

    /// `gain` times the bandwidth-delay product, in octets; `None` before the first round trip.
    pub(super) fn bdp(&self, gain: (u32, u32)) -> Option<u64> {
        let bits = u128::from(self.bandwidth()) * u128::from(self.min_rtt?.as_nanos());
        let octets = u64::try_from(bits / OCTET_AT_ONE_BIT).unwrap_or(u64::MAX);
        Some(share(octets.min(Window::NO_THRESHOLD), gain))
    }
}
