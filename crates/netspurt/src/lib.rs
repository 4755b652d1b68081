//! The laboratory's core: when should a transport send again, and what does it cost to be wrong?
//!
//! Everything here is told the time and handed its bytes; nothing asks a clock, opens a file or
//! a socket, or knows Python. The rooms and which may call which: `ARCHITECTURE.md`.

pub mod app;
pub mod clock;
pub mod congestion;
pub mod delays;
pub mod event;
pub mod ids;
pub mod ip;
pub mod link;
pub mod observe;
pub mod place;
pub mod ranges;
pub mod record;
pub mod replay;
pub mod ring;
pub mod rng;
pub mod rto;
pub mod sample;
pub mod scenario;
pub mod script;
pub mod segment;
pub mod seq;
pub mod shim;
pub mod sim;
pub mod stage;
pub mod surrogate;
pub mod sweep;
pub mod tcp;
pub mod units;
pub mod wire;
