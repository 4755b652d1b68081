//! Bytes: segments as IPv4 and IPv6 packets and back, and packets in pcapng files.

mod cut;
mod decode;
mod encode;
mod icmp;
mod options;
mod pcapng;
#[cfg(test)]
mod tests;

pub use cut::{cut, set_ecn};
pub use decode::{Checks, DecodeError, Decoded, Fault, decode, sum};
pub use encode::{Packet, encode};
pub use icmp::{EchoPacket, encode_echo};
pub use options::{
    IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, TCP_HEADER_BYTES, TIMESTAMPS_BYTES, header_bytes,
    option_bytes,
};
pub use pcapng::PcapngWriter;

/// The number of TCP in IP headers.
const TCP: u8 = 6;

/// Hops a packet may make.
const HOP_LIMIT: u8 = 64;

/// The longest packet, in octets: what 16 bits of length can say.
const LONGEST: usize = u16::MAX as usize;
