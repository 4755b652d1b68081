//! Bytes: segments as IPv4 packets, and packets in pcapng files.

mod ipv4;
mod pcapng;

pub use ipv4::{Packet, encode};
pub use pcapng::PcapngWriter;
