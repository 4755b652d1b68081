//! One direction of a link. Its parts are, in this order: loss, queue, transmission and
//! propagation. A link carries *frames*. A frame is a simulated segment, or stands for a real
//! packet in a live run.
//!
//! A frame may be lost at the entry. Otherwise it is queued, and sent at the link's rate. On the
//! way, it may be lost, duplicated or delayed. It arrives after the propagation delay. If the queue
//! is a drop-tail queue, all of this is decided when the frame enters. The link therefore wakes up
//! only when a frame arrives at its far end, and a frame in transmission is only an entry in a
//! ring. Other queues are managed by an algorithm (AQM). RED and PIE also decide about a frame when
//! it enters. CoDel and FQ-CoDel decide when the frame would leave the queue, and drop frames at
//! once only if the queue is full.

mod aqm;
mod backlog;
mod config;
mod count;
mod delay;
mod drop_tail;
mod effects;
mod extras;
mod flight;
mod framing;
mod handover;
mod line;
mod managed;
mod mtu;
mod rate;
mod serializer;
mod transit;
mod whole;

pub use aqm::{CoDelConfig, FqCoDelConfig, PieConfig, Queue, RedConfig, RedUnit};
pub use backlog::QueueLimit;
pub use config::LinkConfig;
pub use count::LinkCount;
pub use delay::Delay;
pub use effects::{Chance, Effects, Messages, Pick};
pub use flight::{Arrival, Order};
pub use framing::Framing;
pub use handover::{ArrivalFate, FlightFate, Handover, QueueFate};
pub use mtu::{Mtu, TooBig};
pub use rate::Rate;
pub use transit::{Parcel, Transit};
pub use whole::Link;

#[cfg(test)]
mod alone;
#[cfg(test)]
mod moving_tests;
#[cfg(test)]
mod tests;
