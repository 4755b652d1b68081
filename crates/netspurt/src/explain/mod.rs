//! Captures explained: what each connection did, and why each segment was retransmitted.
//!
//! An [`Explainer`] takes packets in the order of a capture and follows their connections. Of each
//! direction it keeps [`Statistics`] and, where segments were sent again, a [`ExplainedRetransmission`] for
//! each, with its cause, a verdict and the evidence. It knows the packets alone: neither a
//! simulation's judge nor a kernel's counters.

mod connection;
mod explainer;
mod floors;
mod kept;
mod retransmission;
mod sender;
mod spent;
mod statistics;
mod tables;
#[cfg(test)]
mod tests;
mod transcript;
mod way;

pub use connection::CapturedConnection;
pub use explainer::{Explainer, Explanation, Passed};
pub use floors::{FLOORS, OtherFloors, TimerWait};
pub use kept::CapturedSegment;
pub use retransmission::{ExplainedRetransmission, Verdict, VerdictEvidence};
pub use sender::Sender;
pub use spent::{TimeSpent, WaitingFor, waiting};
pub use statistics::Statistics;
pub use tables::{connections_table, retransmissions_table};
pub use transcript::Transcript;
pub use way::CapturedWay;
