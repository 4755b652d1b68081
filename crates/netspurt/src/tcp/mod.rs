//! TCP as a connection without input or output of its own. It takes the time and segments as
//! parameters, and returns segments.
//!
//! One [`Connection`] serves every profile (a named set of TCP mechanisms). The TCP of the RFCs is
//! in [`rfc`]. The one-way senders of the network simulator ns-2 are in [`ns`]. [`transmit`] has
//! the parts that all senders of ns-2 share: the sequence space and outgoing segments. [`receiver`]
//! has the receiving half of a connection of ns-2. All senders use the retransmission timer of
//! [`timer`].

mod config;
mod connection;
mod context;
mod ns;
mod receiver;
mod rfc;
mod timer;
mod transmit;

pub use config::{AckPolicy, NsConfig, NsNewReno, NsSink, NsVariant, TcpConfig};
pub use connection::{Connection, ConnectionTotals};
pub use receiver::ReceiveCount;
pub use rfc::{
    ConnectionInfo, CwndRules, DelayedAck, DeliveredInfo, Failure, InitialWindow, Leaving,
    MemoryInfo, OptionsInfo, OutstandingInfo, Phase, ProbesInfo, RackRules, ReceiveRules,
    ReceivingInfo, Recovery, ReorderingInfo, Restart, RfcConfig, Sampling, SendRules, SendTimes,
    SfrResponse, SpuriousRules, SynRules, TcpState, TimerRules, Undo, WrittenPart,
};
pub use transmit::SendCount;
