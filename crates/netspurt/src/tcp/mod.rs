//! TCP as a connection that does no input or output of its own: it is told the time, takes
//! segments in, and hands segments out.
//!
//! One [`Connection`] serves every flavour. What they share, the sequence space, segments, the
//! timer and its clock, the receiving side, stands in [`transmit`], [`timer`] and [`receiver`];
//! what they do not, when to send and what a loss means, is a sender algorithm of its own. The
//! algorithms of ns-2's one-way senders are in [`ns`].

mod config;
mod connection;
mod ns;
mod receiver;
mod rfc;
mod timer;
mod transmit;

pub use config::{AckPolicy, NsConfig, NsVariant, Recovery, TcpConfig};
pub use connection::Connection;
pub use receiver::ReceiveCount;
pub use rfc::{
    ConnectionInfo, CwndRules, DelayedAck, Failure, OptionsInfo, OutstandingInfo, Phase,
    ReceivingInfo, Restart, RfcConfig, Sampling, SendTimes, SfrResponse, State, TimerRules, Undo,
};
pub use transmit::SendCount;
