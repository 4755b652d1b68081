//! Retransmission timers: samples in, a timer value out.
//!
//! An estimator holds the whole law, gains, floor and ceiling, backoff, what to make of
//! ambiguous samples, so one object serves a sender, a replay and a shadow beside a real
//! connection. How time is read is not its business: see [`Clock`](crate::clock::Clock).

mod ns2;

use crate::event::RtoState;
use crate::sample::RttSample;
use crate::units::{Duration, Time};

pub use ns2::{Ns2, Ns2Config};

/// A law that turns round-trip samples and timeouts into a retransmission timer.
pub trait RtoEstimator: core::fmt::Debug + Send + Sync {
    /// Takes a sample in.
    fn on_sample(&mut self, sample: &RttSample);

    /// The timer fired at `now` with octets outstanding.
    fn on_timeout(&mut self, now: Time);

    /// The timer as it would be armed now.
    fn rto(&self) -> Duration;

    /// An acknowledgment made progress without giving a sample. `covers_timed` says that it
    /// covered the segment being timed.
    fn on_progress(&mut self, covers_timed: bool) {
        let _ = covers_timed;
    }

    /// The state, for records.
    fn state(&self) -> RtoState;
}
