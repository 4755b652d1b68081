//! Records: events become fixed tables, with units in the names of their columns.

mod capture;
mod digest;
mod judge;
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
mod volleys;

pub use capture::{CaptureError, SeenTables, flow_addresses, node_address, write_capture};
pub use digest::digest;
pub use judge::{Judge, Resends};
pub use parquet::{TableError, read_table, read_table_bytes, write_table};
pub use recorder::{BACK, FlowName, LinkName, Names, Recorder};
pub use replay::{ReplayedLaw, replay_table};
pub use requests::requests_table;
pub use shadow::shadows_table;
pub use summary::{FlowSum, flows_table, links_table, resends_table};
pub use table::{Column, Data, Table};
pub use volleys::{VolleySum, volleys_table};
