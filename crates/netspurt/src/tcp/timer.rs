//! The retransmission timer: an estimator, the clock around it, and a deadline.

use crate::clock::Clock;
use crate::event::{RtoState, What};
use crate::rto::RtoEstimator;
use crate::sample::{RttSample, SampleSource};
use crate::units::Time;

use super::transmit::Context;

/// A retransmission timer, idle until armed.
#[derive(Debug)]
pub(super) struct RetransmitTimer {
    estimator: Box<dyn RtoEstimator>,
    clock: Clock,
    deadline: Time,
}

/// A round trip to be turned into a sample.
pub(super) struct RoundTrip {
    pub(super) sent: Time,
    pub(super) source: SampleSource,
    pub(super) acked_bytes: u64,
    pub(super) flight_bytes: u64,
}

impl RetransmitTimer {
    pub(super) fn new(estimator: Box<dyn RtoEstimator>, clock: Clock) -> Self {
        Self { estimator, clock, deadline: Time::NEVER }
    }

    /// When it fires; [`Time::NEVER`] while idle.
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    pub(super) fn is_idle(&self) -> bool {
        self.deadline == Time::NEVER
    }

    /// Arms it afresh. The deadline is fixed now: a later sample does not move it.
    pub(super) fn arm(&mut self, now: Time) {
        self.deadline = now + self.estimator.rto();
    }

    pub(super) fn stop(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// Reads the clock on a round trip that ends now, and lets the estimator judge it.
    pub(super) fn sample(&mut self, trip: &RoundTrip, cx: &mut Context<'_>) {
        let sample = RttSample {
            at: cx.now,
            sent: trip.sent,
            rtt: self.clock.elapsed(trip.sent, cx.now),
            ambiguous: false,
            source: trip.source,
            acked_bytes: trip.acked_bytes,
            flight_bytes: trip.flight_bytes,
        };
        self.estimator.on_sample(&sample);
        if cx.events.wanted().rtt {
            let what = What::Rtt { endpoint: cx.endpoint, sent: sample.sent, rtt: sample.rtt };
            cx.events.report(cx.now, what);
        }
        self.report(false, cx);
    }

    /// An ACK made progress without a sample.
    pub(super) fn progress(&mut self, covers_timed: bool) {
        self.estimator.on_progress(covers_timed);
    }

    /// It fired with octets outstanding.
    pub(super) fn back_off(&mut self, cx: &mut Context<'_>) {
        self.estimator.on_timeout(cx.now);
        self.report(true, cx);
    }

    /// Reports the state, as after a timeout where it `fired`.
    pub(super) fn report(&self, fired: bool, cx: &mut Context<'_>) {
        if cx.events.wanted().rto {
            let state = RtoState { fired, ..self.estimator.state() };
            cx.events.report(cx.now, What::Rto { endpoint: cx.endpoint, state });
        }
    }
}
