//! Recorded delays: probes of a path, and what became of them; readers of what tools write.
//!
//! Bytes come in and recordings go out; what makes no sense is counted and told with its line.

mod format;
mod fping;
mod ping;
mod ping_line;
mod reading;
mod series;
mod tally;
mod text;
mod windows;

pub use format::{Format, read, read_as};
pub use reading::{Columns, Hints, Malformed, ReadError, Reading};
pub use series::{Delays, Measure, Order, Probe, SendTimes};

#[cfg(test)]
mod tests;
