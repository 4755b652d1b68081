//! The core of netspurt: when should a transport retransmit, and what does a wrong decision cost?
//!
//! All code here gets the time, and the bytes that it reads, as parameters. It reads no clock,
//! opens no file or socket, and does not know Python. `ARCHITECTURE.md` describes the modules, and
//! says which modules each module may import.

pub mod app;
pub mod clock;
pub mod congestion;
pub mod delays;
pub mod distribution;
pub mod event;
pub mod explain;
pub mod foreign;
pub mod guard;
pub mod ids;
pub mod ip;
pub mod link;
pub mod observe;
pub mod packed;
pub mod path;
pub mod place;
pub mod plan;
pub mod ranges;
pub mod record;
pub mod replay;
pub mod results;
pub mod ring;
pub mod rng;
pub mod rto;
pub mod sample;
pub mod segment;
pub mod seq;
pub mod shim;
pub mod sim;
pub mod stage;
pub mod surrogate;
pub mod tcp;
pub mod timeline;
pub mod units;
pub mod unpack;
pub mod wire;
