//! The trait of all retransmission timer algorithms.

use crate::clock::Clock;
use crate::event::RtoState;
use crate::packed::Packed;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

/// Which timer fired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutKind {
    /// The retransmission timer, with data outstanding.
    Rto,
    /// The retransmission timer, with the SYN of the end that opened outstanding.
    Syn,
    /// The same of the end that was opened to: its SYN answers another.
    SynAck,
    /// A probe timer: TLP's (RFC 8985 §7), which no algorithm of TCP backs off for, or QUIC's
    /// (RFC 9002 §6.2), which is all the timer QUIC has.
    Probe,
}

/// An algorithm that turns round-trip samples and timeouts into a retransmission timer.
///
/// A new algorithm implements the first four verbs; the others have a meaning that suits most.
///
/// ```
/// use netspurt::event::RtoState;
/// use netspurt::rto::{RtoEstimator, TimeoutKind};
/// use netspurt::sample::RttSample;
/// use netspurt::units::{Duration, Time};
///
/// /// Three times the last round trip.
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
    /// Takes a sample in, or leaves it: what to make of an ambiguous one is the algorithm's to say.
    fn on_sample(&mut self, sample: &RttSample);

    /// A timer fired at `now`.
    fn on_timeout(&mut self, now: Time, kind: TimeoutKind);

    /// The timer as it would be armed now.
    fn rto(&self) -> Duration;

    /// The state, for records.
    fn state(&self) -> RtoState;

    /// A segment of `wire_bytes` octets, headers included, left at `now`.
    fn on_send(&mut self, now: Time, wire_bytes: u32) {
        let _ = (now, wire_bytes);
    }

    /// The handshake is complete, and data may follow; called once, with its round trip
    /// (ambiguous where a SYN was sent again) in place of [`on_sample`](Self::on_sample).
    fn on_handshake(&mut self, sample: &RttSample) {
        self.on_sample(sample);
    }

    /// A timeout proved spurious. `sample` is the one that the proving ACK brought, which is
    /// then not given to [`on_sample`](Self::on_sample) as well.
    ///
    /// Unless an algorithm says otherwise, the [backoff ends](Self::end_backoff) and that sample is
    /// taken in.
    fn on_spurious(&mut self, sample: Option<&RttSample>) {
        self.end_backoff();
        if let Some(sample) = sample {
            self.on_sample(sample);
        }
    }

    /// The timer is what it was before it was backed off; nothing, for an algorithm that lets only
    /// a sample end a backoff, or has none.
    fn end_backoff(&mut self) {}

    /// An acknowledgment made progress without giving a sample. `covers_timed` says that it
    /// covered the segment being timed.
    fn on_progress(&mut self, covers_timed: bool) {
        let _ = covers_timed;
    }

    /// The span from `sent` to `now` on a host with this `clock`: one tick at the least where it
    /// ticks. An algorithm that counts a tick more than began, as those of BSD do, takes none for
    /// none.
    fn reading(&self, clock: Clock, sent: Time, now: Time) -> Duration {
        clock.at_least_a_tick(clock.elapsed(sent, now))
    }

    /// When a timer armed at `now` is to fire, as far as the algorithm goes: a host's
    /// [`Clock`](crate::clock::Clock) may be later or earlier. `oldest_sent` is when the oldest
    /// outstanding segment left, `flight_segs` how many are outstanding.
    fn deadline(&self, now: Time, oldest_sent: Time, flight_segs: u64) -> Time {
        let _ = (oldest_sent, flight_segs);
        now + self.rto()
    }

    /// Its state beside its constants, to be packed while its connection rests. A connection with an
    /// algorithm that cannot be packed takes as much memory at rest as at work.
    fn packed(&self) -> Option<&dyn Packed> {
        None
    }

    /// The same, to be unpacked over the state of a new estimator with the same constants.
    fn packed_mut(&mut self) -> Option<&mut dyn Packed> {
        None
    }
}
