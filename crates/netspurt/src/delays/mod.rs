//! Recorded delays: probes of a path, and what became of them; readers of what tools write.
//!
//! Bytes come in and recordings go out; what makes no sense is counted and told with its line.

mod atlas;
mod columns;
mod format;
mod fping;
mod fping_json;
mod instant;
mod iperf;
mod irtt;
mod json;
mod json_reader;
mod pairs;
mod parquet;
mod pcap;
mod ping;
mod ping_line;
mod pingplotter;
mod probe;
mod qlog;
mod reader;
mod reading;
mod scamper;
mod series;
mod slots;
mod smoothed;
mod ss;
mod table;
mod tally;
mod tcp_info;
mod text;
mod windows;

pub use format::Format;
pub use pairs::{Pair, pair};
pub use reader::{read, read_as};
pub use reading::{Columns, Hints, Malformed, ReadError, Reading};
pub use series::{Delays, Measure, Probe, ProbeOrder, SendTimeSource};

#[cfg(test)]
mod tests;
