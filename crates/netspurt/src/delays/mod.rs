//! Recorded delays: the probes of a path and their outcomes. This module also has the readers of
//! the formats of several tools.
//!
//! The readers take bytes and return recordings. Malformed lines are counted and reported with
//! their line numbers.

mod atlas;
mod began;
mod cells;
mod columns;
mod date;
mod descending;
mod flent;
mod format;
mod fping;
mod fping_json;
mod instant;
mod iperf;
mod irtt;
mod irtt_text;
mod json;
mod json_reader;
mod line_stamp;
mod mtr;
mod nping;
mod opportunities;
mod outcome;
mod pairs;
mod parquet;
mod pcap;
mod ping;
mod ping_line;
mod ping_rounds;
mod pingplotter;
mod probe;
mod qlog;
mod reader;
mod reading;
mod scamper;
mod series;
mod slips;
mod slots;
mod smoothed;
mod ss;
mod stamp;
mod table;
mod tally;
mod tcp_info;
mod tcping;
mod text;
mod unpack;
mod windows;
mod year_last;
mod zone;

pub use began::Began;
pub use format::Format;
pub use pairs::{Pair, pair};
pub use reader::{read, read_as};
pub use reading::{Columns, Hints, Malformed, Reading, RecordingError};
pub use series::{Delays, HalfDelays, Measure, Probe, ProbeOrder, SendTimeSource};

#[cfg(test)]
mod tests;
