//! Active queue management (AQM): algorithms that drop or mark frames before the queue is full.
//!
//! Queue limits and RED's average queue include the frame in transmission, as in this crate's
//! drop-tail queue. The algorithms that measure delay (CoDel, FQ-CoDel, PIE) consider only the
//! frames that wait.

mod codel;
mod config;
mod decision_sink;
mod discipline;
mod fifo;
mod fq_codel;
mod pie;
mod red;

pub use config::{CoDelConfig, FqCoDelConfig, PieConfig, Queue, RedConfig, RedUnit};
pub(in crate::link) use decision_sink::DecisionSink;
pub(in crate::link) use discipline::Discipline;

#[cfg(test)]
mod tests;
