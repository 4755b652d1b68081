//! The TCP of the RFCs, which numbers octets and not packets. Its switches select any version from
//! 1988 to the present.
//!
//! One [`Tcb`] is one end of a connection: its [`lifecycle`] through the [states](state) of RFC
//! 9293, a sending and a receiving half, and the [header fields](header) of both halves. [`arrive`]
//! processes arriving segments by state, and [`predict`] processes the segments that were expected
//! next. [`depart`] assembles segments. [`wake`] does the work of timers.
//!
//! The sending half is [`sender`]. Each of its parts owns its state: the sequence space and the
//! peer's window ([`send_window`]), round trips ([`meter`]), [`recovery`], the timers
//! ([`send_timers`]), probes ([`tail_probe`], [`persist`], [`super_fast`]), the [`pacer`], delivery
//! [`rate`] samples, and the [account](account) of the sender's time. Recovery has four parts: loss
//! detection ([`detect`], with its [`scoreboard`] and [`rack`]); the phases of a [`repair`], with
//! [`prr`]; proofs of spurious retransmissions ([`undo`]); and the congestion window ([`cwnd`]).
//! [`ack`], [`output`] and [`due`] combine the parts of the sending half. Octets have numbers of 64
//! bits, which begin at 0, the number of the SYN.

mod account;
mod ack;
mod arrive;
mod beyond;
mod buffer_tuning;
mod compress;
mod config;
pub(super) mod control;
mod cwnd;
mod delayed_ack;
mod depart;
mod detect;
mod due;
mod gso;
mod header;
mod info;
mod initial_window;
mod lifecycle;
mod marks;
mod merge;
pub(super) mod merged;
mod meter;
mod news;
mod next_copy;
mod offload;
mod output;
mod pacer;
mod persist;
mod predict;
mod prr;
mod rack;
mod rate;
mod readings;
mod receive;
mod receive_memory;
mod receive_window;
mod recovery;
mod repair;
mod reshape;
mod resting;
mod rules;
mod scoreboard;
mod send_timers;
mod send_window;
mod sender;
mod sent_segment;
mod stamps;
mod state;
mod super_fast;
mod tail_probe;
mod tcb;
#[cfg(test)]
mod tests;
mod undo;
mod usage;
mod wake;
mod written;

pub use account::SendTimes;
pub use config::{DelayedAck, Recovery, Restart, RfcConfig, Sampling, SfrResponse, Undo};
pub use info::{
    ConnectionInfo, DeliveredInfo, MemoryInfo, OptionsInfo, OutstandingInfo, ProbesInfo,
    ReceivingInfo, ReorderingInfo,
};
pub use initial_window::InitialWindow;
pub use repair::Phase;
pub(super) use resting::RfcEnd;
pub use rules::{
    CwndRules, RackRules, ReceiveRules, SendRules, SpuriousRules, SynRules, TimerRules,
};
pub use state::{Failure, TcpState};
pub(super) use tcb::Tcb;
pub use written::{Leaving, WrittenPart};
