//! Delivery rate samples (draft-ietf-ccwg-bbr, "Delivery Rate Samples"): the rate of delivery that
//! one ACK shows.

use crate::congestion::RateSample;
use crate::packed::packed;
use crate::units::{Duration, Time};

use super::info::DeliveredInfo;
use super::sent_segment::{SentSegment, Snapshot};

/// The count of the octets that a connection has delivered, and the state for samples of the rate.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    pub(super) octets: u64,
    /// Whether samples are taken. If not, only octets are counted.
    pub(super) is_sampled: bool,
    /// When octets were last delivered, or when a later segment was sent while nothing was
    /// outstanding.
    at: Time,
    /// When the newest acknowledged segment was sent, or when a later segment was sent while
    /// nothing was outstanding.
    first_sent_at: Time,
    newest: Newest,
    /// The rate that [`DeliveredInfo`] reports: a number of octets, and the time in which they were
    /// delivered.
    rate: Option<(u64, Duration)>,
    rate_is_app_limited: bool,
    /// Segments that are sent after the application ran out of data count as limited by the
    /// application, until the count of delivered octets exceeds this field. The field is zero if
    /// the application did not run out of data.
    app_limited_until: u64,
}

packed!(Delivery { octets, at, first_sent_at, newest, rate, rate_is_app_limited, app_limited_until } keeps { is_sampled });

/// The newest segment that an ACK newly covers.
#[derive(Clone, Copy, Debug, Default)]
struct Newest {
    snapshot: Snapshot,
    sent_at: Time,
    end: u64,
    /// Whether the ACK newly covers any segment.
    any: bool,
}

packed!(Newest { snapshot, sent_at, end, any });

impl Delivery {
    /// Makes the count of a connection that has delivered nothing.
    pub(super) fn new(is_sampled: bool) -> Self {
        Self { is_sampled, ..Self::default() }
    }

    /// Begins to process an ACK. The segments that the ACK covers are not known yet.
    pub(super) fn begin_ack(&mut self) {
        self.newest.any = false;
    }

    /// Notes that the ACK newly covers the segment `sent`.
    pub(super) fn see(&mut self, sent: &SentSegment, snapshot: &Snapshot) {
        let newest = &mut self.newest;
        if !newest.any || (sent.at, sent.end()) > (newest.sent_at, newest.end) {
            let (snapshot, sent_at, end) = (*snapshot, sent.at, sent.end());
            *newest = Newest { snapshot, sent_at, end, any: true };
        }
    }

    /// Returns the state to keep with a segment that leaves at the instant `now`. The flag
    /// `outstanding` says whether octets are outstanding.
    pub(super) fn snapshot(&mut self, now: Time, outstanding: bool) -> Option<Snapshot> {
        if !self.is_sampled {
            return None;
        }
        if !outstanding {
            (self.at, self.first_sent_at) = (now, now);
        }
        Some(Snapshot {
            delivered: self.octets,
            delivered_at: self.at,
            first_sent_at: self.first_sent_at,
            app_limited: self.app_limited_until > 0,
        })
    }

    /// The delivered data, for reports.
    pub(super) fn info(&self) -> DeliveredInfo {
        DeliveredInfo {
            bytes: self.octets,
            rate: self.rate,
            is_app_limited: self.rate_is_app_limited,
        }
    }

    /// Keeps the rate of a sample, unless the application limited the sample and the rate is lower
    /// than the last rate.
    fn keep_rate(&mut self, bytes: u64, interval: Duration, app_limited: bool) {
        let product = |bytes: u64, span: Duration| u128::from(bytes) * u128::from(span.as_nanos());
        let (last, span) = self.rate.unwrap_or_default();
        let is_higher = product(bytes, span) >= product(last, interval);
        if !interval.is_zero() && (!app_limited || is_higher) {
            (self.rate, self.rate_is_app_limited) = (Some((bytes, interval)), app_limited);
        }
    }

    /// Notes that the application has nothing to send while `in_flight` octets are in the network.
    pub(super) fn limited_by_application(&mut self, in_flight: u64) {
        self.app_limited_until = (self.octets + in_flight).max(1);
    }

    /// Takes the sample of an ACK that arrived at the instant `now` and delivered `octets` more
    /// octets.
    pub(super) fn sample(&mut self, now: Time, octets: u64) -> Option<RateSample> {
        if octets == 0 {
            return None;
        }
        self.octets += octets;
        if !self.is_sampled {
            return None;
        }
        self.at = now;
        if self.app_limited_until > 0 && self.octets > self.app_limited_until {
            self.app_limited_until = 0;
        }
        let newest = self.newest;
        if !newest.any {
            return None;
        }
        let Snapshot { delivered, delivered_at, first_sent_at, app_limited } = newest.snapshot;
        self.first_sent_at = newest.sent_at;
        let sending = newest.sent_at.saturating_since(first_sent_at);
        let acking = now.saturating_since(delivered_at);
        let interval = sending.max(acking);
        let delivered_bytes = self.octets - delivered;
        self.keep_rate(delivered_bytes, interval, app_limited);
        (interval > Duration::ZERO).then_some(RateSample {
            delivered_bytes,
            interval,
            prior_delivered_bytes: delivered,
            total_delivered_bytes: self.octets,
            app_limited,
        })
    }
}
