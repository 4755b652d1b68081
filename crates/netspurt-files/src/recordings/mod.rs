//! Readers of recorded delays, in the formats of several tools.
//!
//! The readers take bytes and return recordings. Malformed lines are counted and reported with
//! their line numbers.

mod atlas;
mod cells;
mod clock_steps;
mod columns;
mod date;
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
mod offloaded;
mod opportunities;
mod outcome;
mod pair;
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
mod row_order;
mod scamper;
mod slips;
mod slots;
mod smoothed;
mod ss;
mod stamp;
mod table;
mod table_cells;
mod tally;
mod tcp_info;
mod tcping;
mod text;
mod translated;
mod unpack;
mod windows;
mod year_last;
mod zone;

pub use format::Format;
pub use pair::{Pair, PairedSegments};
pub use pairs::pair;
pub use reader::{read, read_as};
pub use reading::{Columns, Hints, Malformed, Reading, RecordingError};

#[cfg(test)]
mod tests;
