//! Skips the header of PPP (over Ethernet or a serial line), and Cisco's header for serial lines.

use super::headers::{Behind, LinkHeader, half};

/// The frame of PPP after a header of PPPoE in the session stage (RFC 2516 §4).
pub(super) fn behind_session(data: &[u8]) -> Behind<'_> {
    // The fields are version 1 and type 1, code 0, the session's id, and the length.
    match data {
        [0x11, 0, _, _, _, _, rest @ ..] => Some((LinkHeader::Ppp, rest)),
        _ => None,
    }
}

/// What follows the header of PPP: another header, or a packet. The header of PPP has an address
/// octet, a control octet, and the protocol. The address and the control octet may be left out (RFC
/// 1661 §6.6). The first octet of the protocol may be left out if it is zero (§6.5).
pub(super) fn behind_ppp(data: &[u8]) -> Behind<'_> {
    const IPV4: u16 = 0x0021;
    const IPV6: u16 = 0x0057;
    const MPLS: u16 = 0x0281;
    let data = data.strip_prefix(&[0xff, 3]).unwrap_or(data);
    let (protocol, rest) = match data {
        // The last octet of a protocol number is odd, and the octet before it is even (RFC 1661
        // §2).
        [low, rest @ ..] if low & 1 != 0 => (u16::from(*low), rest),
        [high, low, rest @ ..] => (u16::from_be_bytes([*high, *low]), rest),
        _ => return None,
    };
    match protocol {
        IPV4 | IPV6 => Some((LinkHeader::Ip, rest)),
        MPLS => Some((LinkHeader::Labels, rest)),
        _ => None,
    }
}

/// The header or packet after a header of a serial line. On a serial line, frames have the header
/// of PPP or Cisco's header. In Cisco's header, the address has a
/// different value, and the type field of Ethernet takes the place of the protocol.
pub(super) fn behind_serial(data: &[u8]) -> Behind<'_> {
    match data {
        [0x0f | 0x8f, 0, ..] => Some((LinkHeader::Type(half(data, 2)?), &data[4..])),
        _ => behind_ppp(data),
    }
}
