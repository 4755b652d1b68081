//! Datagrams cut into fragments, and put together again.

mod cut;
mod reassembly;
#[cfg(test)]
mod tests;

pub use cut::fragments;
pub use reassembly::Reassembling;
