//! Records: the tables of runs and captures, and of replays, in which timers are applied to
//! recorded delays. Each table has fixed columns. If a column has a unit, its name has the unit as
//! a suffix (`rtt_ns`), and a qualifier may follow the unit (`request_ns_mean`).

mod capture;
mod connections;
mod digest;
mod echo_probes;
mod judge;
mod names;
mod narrow;
mod optional;
mod parquet;
mod recorder;
mod replay;
mod requests;
mod segments;
mod shadow;
mod summary;
mod table;
#[cfg(test)]
mod tests;

pub use capture::{
    CaptureError, Capturing, SeenTables, flow_addresses, node_address, write_capture,
};
pub use connections::{ConnectionSum, PopulationSums, sums_of_ends};
pub use digest::digest;
pub use echo_probes::{EchoProbeSum, echo_probes_table};
pub use judge::{Judge, Retransmissions, SenderVerdict};
pub use names::{FlowProperties, LinkName, Names};
pub use narrow::{Existence, NarrowNumbers, StoredNumbers};
pub use optional::OptionalValues;
pub use parquet::write_table;
pub use recorder::Recorder;
pub use replay::{ReplayedAlgorithm, replay_table};
pub use requests::requests_table;
pub use segments::cause_names;
pub use shadow::shadows_table;
pub use summary::{FlowSum, flows_table, links_table, retransmissions_table};
pub use table::{Column, Data, NarrowColumn, Table};
