//! The trait that all retransmission timer algorithms (estimators) implement.

use crate::clock::Clock;
use crate::event::RtoState;
use crate::packed::Packed;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

/// The kind of timer that fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutKind {
    /// The retransmission timer, with data outstanding.
    Rto,
    /// The retransmission timer of the opening end, with its SYN outstanding.
    Syn,
    /// The retransmission timer of the accepting end, with its SYN-ACK outstanding.
    SynAck,
    /// A probe timer. In TCP, this is the timer of a tail loss probe (RFC 8985 §7). No algorithm
    /// for TCP backs off after this timer. In QUIC this is the probe timer (RFC 9002 §6.2), which
    /// is QUIC's only retransmission timer.
    Probe,
}

/// An algorithm that turns round-trip samples and timeouts into a retransmission timer.
///
/// A new algorithm implements the first four methods. The defaults of the other methods suit most
/// algorithms.
///
/// ```
/// use netspurt::event::RtoState;
/// use netspurt::rto::{RtoEstimator, TimeoutKind};
/// use netspurt::sample::RttSample;
/// use netspurt::units::{Duration, Time};
///
/// /// A timer of three times the last round trip.
/// #[derive(Debug)]
/// struct Thrice(Duration);
///
/// impl RtoEstimator for Thrice {
///     fn on_sample(&mut self, sample: &RttSample) {
///         self.0 = sample.rtt * 3;
///     }
///     fn on_timeout(&mut self, _now: Time, _kind: TimeoutKind) {
///         self.0 = self.0 * 2;
///     }
///     fn rto(&self) -> Duration {
///         self.0
///     }
///     fn state(&self) -> RtoState {
///         RtoState { srtt: None, rttvar: None, backoff: 1, rto: self.0, fired: false }
///     }
/// }
///
/// let mut timer = Thrice(Duration::from_secs(1));
/// let rtt = Duration::from_millis(20);
/// timer.on_sample(&RttSample { rtt, ..RttSample::default() });
/// timer.on_timeout(Time::ZERO, TimeoutKind::Rto);
/// assert_eq!(timer.rto(), Duration::from_millis(120));
/// ```
pub trait RtoEstimator: core::fmt::Debug + Send + Sync {
    /// Takes a sample. The algorithm decides whether an ambiguous sample counts.
    fn on_sample(&mut self, sample: &RttSample);

    /// Called when a timer fired at the instant `now`.
    fn on_timeout(&mut self, now: Time, kind: TimeoutKind);

    /// The value with which the timer would be armed now.
    fn rto(&self) -> Duration;

    /// The state of the timer, for records.
    fn state(&self) -> RtoState;

    /// The mean deviation of the samples, for reports. By default, this is the `rttvar` of
    /// [`state`](Self::state).
    fn deviation(&self) -> Option<Duration> {
        self.state().rttvar
    }

    /// Called when a segment of `wire_bytes` octets, including headers, left at the instant `now`.
    fn on_send(&mut self, now: Time, wire_bytes: u32) {
        let _ = (now, wire_bytes);
    }

    /// Called at most once, when the handshake is complete, with the handshake's round trip. The
    /// caller does not pass this sample to [`on_sample`](Self::on_sample). The sample may be
    /// ambiguous if a SYN or SYN-ACK was retransmitted.
    fn on_handshake(&mut self, sample: &RttSample) {
        self.on_sample(sample);
    }

    /// Called when a timeout proved spurious. `sample` is the sample of the ACK that proved this.
    /// It is `None` if this ACK gave no sample, or if the caller has already passed the sample to
    /// [`on_sample`](Self::on_sample). The caller passes a sample to only one of the two methods.
    ///
    /// By default, this method [ends the backoff](Self::end_backoff) and then processes the sample.
    fn on_spurious(&mut self, sample: Option<&RttSample>) {
        self.end_backoff();
        if let Some(sample) = sample {
            self.on_sample(sample);
        }
    }

    /// Sets the timer back to its value before the backoff. By default, this method does nothing.
    /// The default suits an algorithm without a backoff, and an algorithm whose backoff ends only
    /// with a sample.
    fn end_backoff(&mut self) {}

    /// Called when an ACK acknowledged new data and the caller passes no sample of this ACK. The
    /// flag `covers_timed` says whether the ACK covered the timed segment, which is the segment
    /// whose round trip is measured. There is one exception. A sender of ns-2 that samples echoed
    /// timestamps passes a sample, and also calls this method if the ACK covered the timed segment.
    fn on_progress(&mut self, covers_timed: bool) {
        let _ = covers_timed;
    }

    /// Whether acknowledgments of the algorithm's protocol say which transmission arrived, so that
    /// no sample is ambiguous. By default, the answer is no.
    fn tells_copies_apart(&self) -> bool {
        false
    }

    /// The span from the instant `sent` to the instant `now` as a host with this `clock` measures
    /// it. By default, it is at least one tick of a ticking clock. The algorithms `bsd44` and
    /// `freebsd` allow a span of zero, because they add a tick where their kernels do.
    fn reading(&self, clock: Clock, sent: Time, now: Time) -> Duration {
        clock.at_least_a_tick(clock.elapsed(sent, now))
    }

    /// The instant at which a timer armed at the instant `now` fires according to the algorithm.
    /// With the host's [`Clock`](crate::clock::Clock), the timer may fire earlier or later.
    /// `oldest_sent` is when the oldest outstanding segment was last sent. `flight_segs` is the
    /// number of outstanding segments.
    fn deadline(&self, now: Time, oldest_sent: Time, flight_segs: u64) -> Time {
        let _ = (oldest_sent, flight_segs);
        now + self.rto()
    }

    /// The state without the constants. While the connection is idle, this state is packed into a
    /// few octets ([`Packed`]). `None` if the algorithm cannot be packed. Then an idle connection
    /// takes as much memory as an active connection.
    fn packed(&self) -> Option<&dyn Packed> {
        None
    }

    /// Returns the state that [`packed`](Self::packed) returns, but mutable. The caller makes a new
    /// estimator with the same constants, and unpacks the packed state into the state that this
    /// method returns.
    fn packed_mut(&mut self) -> Option<&mut dyn Packed> {
        None
    }
}
