//! TCP observed from its packets alone.
//!
//! [`OneWay`] follows one direction of a connection, [`TwoWay`] follows both, and [`Flows`] assigns
//! packets to connections. An observer is at a host's edge, on a path or in a capture. All
//! observers use this module to count octets, retransmissions, round trips and rounds. Senders know
//! more than an observer and keep their own counts.

mod acks;
mod arrivals;
mod ends;
mod flows;
mod observed;
mod one_way;
mod rounds;
mod sequence;
#[cfg(test)]
mod tests;
mod two_way;

pub use acks::{AckKind, Acks};
pub use arrivals::{Arrivals, Brought};
pub use ends::EndPair;
pub use flows::{Flows, Lifetimes, OrderedFlows, Passing, Retired, Sighting};
pub use observed::Observed;
pub use one_way::{Answer, CoveredBy, OneWay, Outstanding};
pub use rounds::Rounds;
pub use sequence::{Sequence, Transmission};
pub use two_way::TwoWay;
