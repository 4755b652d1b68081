//! The results of a run that has ended, simulated or live: its tables, and the files of its folder.

mod contents;
mod files;
mod folder;
mod run;
#[cfg(test)]
mod tests;

pub use contents::{FlowSockets, RunContents};
pub use files::{FORMAT, LIVE, MANIFEST, SCENARIO, capture_files, table_file};
pub use folder::{Folder, FolderWriter, Hashed, RunIdentity};
pub use run::{EndedRun, Results, echo_probe_sums};
