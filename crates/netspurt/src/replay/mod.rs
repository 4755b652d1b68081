//! Retransmission timers replayed on recorded delays. The replay is open loop, and gives one
//! verdict for each probe.
//!
//! Each probe is judged by the timer that the algorithm would have armed when the probe left. If
//! the reply came after this timer fired, the retransmission was spurious. If the probe was lost,
//! the sender waited for the timer. A retransmission does not change the recorded delays. Only a
//! simulation or a live run shows what a retransmission does to later delays.

mod account;
mod adapt;
mod engine;
mod grid;
mod part;
mod results;
#[cfg(test)]
mod tests;

pub use account::Account;
pub use adapt::{Adaptation, adapt};
pub use engine::{Judged, Notice, Replay, ReplayError, TimerVerdict};
pub use grid::{Front, GridPoint, TwoGainGrid};
pub use part::PartSums;
