//! The simulator: stages wired to a graph, and the one loop that moves frames between them.

mod nodes;
mod queue;
mod routes;
mod wheels;
mod world;

pub use queue::EventQueue;
pub use routes::{Graph, RouteError, Routes};
pub use world::{Advance, Witness, World, WorldConfig};
