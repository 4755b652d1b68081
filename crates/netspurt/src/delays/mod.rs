//! Recorded delays: probes of a path, and what became of them.

mod series;

pub use series::{Delays, Measure, Order, Probe, SendTimes};
