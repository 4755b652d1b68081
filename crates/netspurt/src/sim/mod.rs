//! The simulator: a network of links and hosts, and the loop that moves frames between them. A
//! frame is a simulated segment, or stands for a real packet in a live run.

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
