//! The retransmission timer: an estimator (which computes the retransmission timeout, RTO, from
//! measured round trips), the host's clock, and a deadline.

use crate::clock::Clock;
use crate::event::{RtoState, What};
use crate::packed::Packed;
use crate::rto::{RtoEstimator, TimeoutKind};
use crate::sample::RttSample;
use crate::units::{Duration, Time};

use super::context::Context;

/// A retransmission timer. It is idle until it is armed.
#[derive(Debug)]
pub(super) struct RetransmitTimer {
    estimator: Box<dyn RtoEstimator>,
    clock: Clock,
    deadline: Time,
    /// The estimator's RTO, read after each change of the estimator's state.
    rto: Duration,
}

/// Packs the state of the timer into octets. The clock is not packed, because the configuration
/// gives the clock.
impl Packed for RetransmitTimer {
    /// # Panics
    /// When the timer's algorithm [cannot be packed](RetransmitTimer::can_be_packed).
    fn pack(&self, into: &mut Vec<u8>) {
        let Self { estimator, clock: _, deadline, rto } = self;
        estimator.packed().expect(NOT_PACKED).pack(into);
        (*deadline, *rto).pack(into);
    }

    fn unpack(&mut self, from: &mut &[u8]) {
        let Self { estimator, clock: _, deadline, rto } = self;
        estimator.packed_mut().expect(NOT_PACKED).unpack(from);
        deadline.unpack(from);
        rto.unpack(from);
    }
}

/// The panic message if the algorithm of a timer cannot be packed.
const NOT_PACKED: &str = "the algorithm of this timer cannot be packed";

/// Facts about the outstanding segments, from which an estimator computes a deadline.
pub(super) struct Oldest {
    /// When the oldest outstanding segment was last sent.
    pub(super) sent: Time,
    /// The number of outstanding segments.
    pub(super) flight_segs: u64,
}

impl RetransmitTimer {
    pub(super) fn new(estimator: Box<dyn RtoEstimator>, clock: Clock) -> Self {
        let rto = estimator.rto();
        Self { estimator, clock, deadline: Time::NEVER, rto }
    }

    /// Whether the state of the estimator can be packed.
    pub(super) fn can_be_packed(&self) -> bool {
        self.estimator.packed().is_some()
    }

    /// When the timer fires. The result is [`Time::NEVER`] while the timer is idle.
    pub(super) fn deadline(&self) -> Time {
        self.deadline
    }

    pub(super) fn is_idle(&self) -> bool {
        self.deadline == Time::NEVER
    }

    /// Arms the timer: it fires one RTO after the instant `now`. A later sample does not move the
    /// deadline.
    pub(super) fn arm(&mut self, now: Time) {
        self.deadline = now + self.rto;
    }

    /// Arms the timer at the instant `now`. The RTO counts from the instant `from`, unless the
    /// estimator counts it from the sending of the `oldest` segment. The timer fires at an instant
    /// at which timers of `clock` fire; round trips are measured with the timer's own clock.
    pub(super) fn restart(&mut self, now: Time, from: Time, oldest: Oldest, clock: Clock) {
        let due = self.estimator.deadline(from, oldest.sent, oldest.flight_segs);
        let wait = due.saturating_since(now);
        self.deadline = clock.expiry(now, wait);
    }

    /// Sets the deadline to `deadline`, which need not depend on the RTO.
    pub(super) fn fire_at(&mut self, deadline: Time) {
        self.deadline = deadline;
    }

    /// The RTO with which the timer would be armed now.
    pub(super) fn rto(&self) -> Duration {
        self.rto
    }

    /// The state of the estimator, for reports.
    pub(super) fn state(&self) -> RtoState {
        self.estimator.state()
    }

    /// The state of the estimator, but with the mean deviation as rttvar. In Linux, the mean
    /// deviation and rttvar differ: rttvar is the largest mean deviation of a round trip
    /// (`tcp_rtt_estimator`).
    pub(super) fn state_by_deviation(&self) -> RtoState {
        RtoState { rttvar: self.estimator.deviation(), ..self.state() }
    }

    pub(super) fn stop(&mut self) {
        self.deadline = Time::NEVER;
    }

    /// Reads the clock for a round trip that ends now, writes the measured time into the sample,
    /// and passes the sample to the estimator. The estimator has a separate method for the sample
    /// of the handshake.
    pub(super) fn sample(&mut self, mut sample: RttSample, cx: &mut Context<'_>) {
        self.read(&mut sample, cx.now);
        if sample.handshake {
            self.estimator.on_handshake(&sample);
        } else {
            self.estimator.on_sample(&sample);
        }
        self.rto = self.estimator.rto();
        self.report_sample(&sample, cx);
    }

    fn read(&self, sample: &mut RttSample, now: Time) {
        sample.at = now;
        sample.rtt = self.estimator.reading(self.clock, sample.sent, now);
    }

    fn report_sample(&self, sample: &RttSample, cx: &mut Context<'_>) {
        if cx.events.wanted().rtt {
            let what = What::Rtt { end: cx.end, sent: sample.sent, rtt: sample.rtt };
            cx.events.report(cx.now, what);
        }
        self.report(false, cx);
    }

    /// Notes that the last timeout proved spurious. The argument `sample` is the sample of the ACK
    /// that proved this. It is `None` if the ACK gave no sample, or if the method
    /// [`sample`](Self::sample) has already processed the sample.
    pub(super) fn spurious(&mut self, mut sample: Option<RttSample>, cx: &mut Context<'_>) {
        if let Some(sample) = &mut sample {
            self.read(sample, cx.now);
        }
        self.estimator.on_spurious(sample.as_ref());
        self.rto = self.estimator.rto();
        match sample {
            Some(sample) => self.report_sample(&sample, cx),
            None => self.report(false, cx),
        }
    }

    /// Notes an ACK of new octets that gave no sample. The flag `covers_timed` says whether the ACK
    /// covers the timed segment (the segment whose round trip is measured).
    pub(super) fn progress(&mut self, covers_timed: bool) {
        self.estimator.on_progress(covers_timed);
        self.rto = self.estimator.rto();
    }

    /// Backs off, because the timer fired while octets were outstanding.
    pub(super) fn back_off(&mut self, kind: TimeoutKind, cx: &mut Context<'_>) {
        self.estimator.on_timeout(cx.now, kind);
        self.rto = self.estimator.rto();
        self.report(true, cx);
    }

    /// Reports the state. The flag `fired` says whether the timer has just fired.
    pub(super) fn report(&self, fired: bool, cx: &mut Context<'_>) {
        if cx.events.wanted().rto {
            let state = RtoState { fired, ..self.estimator.state() };
            cx.events.report(cx.now, What::Rto { end: cx.end, state });
        }
    }
}
