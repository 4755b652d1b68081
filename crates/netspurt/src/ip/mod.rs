//! IP fragmentation and reassembly.

mod cut;
mod reassembly;
#[cfg(test)]
mod tests;

pub use cut::{fragment_payload, fragments, full_fragments};
pub use reassembly::Reassembling;
