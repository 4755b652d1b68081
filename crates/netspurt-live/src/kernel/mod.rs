//! The running kernel's TCP as an end of a flow.

mod app;
mod counters;
mod info;
mod profile;
mod socket;

pub use app::{Apps, FlowNotes, FlowSocket, Poll, timespec};
pub use counters::tcp_counters;
pub use info::TcpInfo;
pub use profile::sysctls;
pub use socket::{open, open_for};
