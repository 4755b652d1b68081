//! The simulator: a graph of stages, which handle frames, and the loop that moves frames between
//! them.

mod ends;
mod nodes;
mod population;
mod queue;
mod routes;
mod slots;
#[cfg(test)]
mod tests;
mod wheels;
mod world;

pub use population::{FlowEnds, Population};
pub use queue::EventQueue;
pub use routes::{Graph, RouteError, Routes};
pub use slots::FlowSlots;
pub use world::{Advance, World, WorldConfig};
