//! Recorded delays: the probes of a path and their outcomes.

mod began;
mod series;

pub use began::Began;
pub use series::{Delays, HalfDelays, Measure, Probe, ProbeOrder, SendTimeSource};
