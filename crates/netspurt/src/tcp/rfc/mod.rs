//! The byte-sequenced TCP of the RFCs. Its switches select any version from 1988 to the present.
//!
//! One [`Tcb`] is one end of a connection: a [state](state) of RFC 9293, a sending and a receiving
//! half. [`arrive`] processes arriving segments by state, and [`predict`] the expected ones;
//! [`depart`] assembles outgoing segments; [`wake`] does the work at deadlines.
//!
//! The sending half, [`sender`], consists of parts that own their state: the sequence space and the
//! peer's window ([`send_window`]), the congestion window ([`cwnd`]), round trips ([`meter`]), loss
//! detection ([`detect`], with its [`scoreboard`] and [`rack`]), the phases of recovery
//! ([`repair`], with [`prr`]), proofs of spurious retransmissions ([`undo`]), probes
//! ([`tail_probe`], [`persist`]), the [`pacer`], delivery [`rate`] samples, [`deadlines`], and the
//! [account](account) of its time. [`ack`], [`react`], [`output`] and [`due`] combine them. Octets
//! are counted in 64 bits from the SYN, which is 0.

mod account;
mod ack;
mod arrive;
mod config;
mod cwnd;
mod deadlines;
mod delayed_ack;
mod depart;
mod detect;
mod due;
mod header;
mod info;
mod meter;
mod news;
mod output;
mod pacer;
mod persist;
mod predict;
mod prr;
mod rack;
mod rate;
mod react;
mod receive;
mod repair;
mod scoreboard;
mod send_window;
mod sender;
mod stamps;
mod state;
mod tail_probe;
mod tcb;
#[cfg(test)]
mod tests;
mod undo;
mod usage;
mod wake;

pub use account::SendTimes;
pub use config::{
    CwndRules, DelayedAck, Restart, RfcConfig, Sampling, SfrResponse, TimerRules, Undo,
};
pub use info::{ConnectionInfo, OptionsInfo, OutstandingInfo, ReceivingInfo};
pub use repair::Phase;
pub use state::{Failure, State};
pub(super) use tcb::Tcb;
