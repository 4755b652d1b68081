//! TCP as a connection that does no input or output of its own: it is told the time, takes
//! segments in, and hands segments out.
//!
//! One [`Connection`] serves every flavour. What they share, the sequence space, segments, the
//! timer and its clock, the receiving side, stands in [`transmit`], [`timer`] and [`receiver`];
//! what they do not, when to send and what a loss means, is a sender law of its own. The laws
//! of ns-2's one-way senders are in [`ns`].

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
    DelayedAck, Failure, Phase, Restart, RfcConfig, Sampling, SendTimes, SfrConfig, SfrResponse,
    State, TcpInfo, Undo,
};
pub use transmit::SendCount;
