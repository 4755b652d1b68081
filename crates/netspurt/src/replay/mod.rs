//! Retransmission timers replayed on recorded delays: open loop, one verdict a probe.
//!
//! Each probe is judged by the timer that the algorithm would have armed as it left: a reply that
//! comes later than that was retransmitted for nothing, a probe that was lost waited that long. The
//! delays are what they were, whatever a timer would have done to them; what a retransmission does
//! to later delays, only a simulation or a live run can say.

mod account;
mod adapt;
mod engine;
mod grid;
#[cfg(test)]
mod tests;

pub use account::Account;
pub use adapt::{Adaptation, adapt};
pub use engine::{Judged, Notice, Replay, ReplayError, Verdict};
pub use grid::{Front, GridPoint, TwoGainGrid};
