//! Encodes segments as IPv4 and IPv6 packets, decodes such packets, and reads and writes captures.

mod capture;
mod captured_tcp;
mod cut;
mod datagrams;
mod decode;
mod encode;
mod extensions;
mod head;
mod icmp;
mod link_type;
mod options;
mod pcapng;
mod plain;
mod tcp_view;
#[cfg(test)]
mod tests;
mod tunnel;

pub use capture::{
    CaptureDrops, CaptureFault, CaptureReader, CaptureSource, CaptureTrouble, CapturedIp,
    CapturedPacket, is_capture,
};
pub use captured_tcp::{CapturedTcp, SynStyle};
pub use cut::{cut, set_ecn};
pub use datagrams::{Datagrams, FragmentCounts};
pub use decode::{Checks, DecodeError, Decoded, Fault, decode, sum};
pub use encode::{Packet, encode};
pub use head::{IpHead, TcpHead};
pub use icmp::{CapturedEcho, EchoPacket, PacketTooBig, decode_echo, decode_too_big, encode_echo};
pub use link_type::{LinkType, PacketDirection};
pub use options::{
    BARE_HEADER_BYTES, IPV4_HEADER_BYTES, IPV6_HEADER_BYTES, TCP_HEADER_BYTES, TIMESTAMPS_BYTES,
    full_payload, header_bytes, option_bytes,
};
pub use pcapng::PcapngWriter;
pub use plain::PlainSegment;
pub use tcp_view::{CapturedOptions, TcpView};
pub use tunnel::TunnelDepths;

/// The protocol number of TCP in IP headers.
pub const TCP: u8 = 6;

/// The initial hop limit of a packet.
const HOP_LIMIT: u8 = 64;

/// The longest packet, in octets: the limit of a length of 16 bits.
const LONGEST: usize = u16::MAX as usize;
