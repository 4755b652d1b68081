//! Skips headers that the capturing system added, and that were never on the link: BSD's loopback,
//! Linux's cooked captures, and Netfilter's log.

use super::headers::{Behind, LinkHeader, half};

/// The IP packet after the header of BSD's loopback. This header is an address family, in the
/// machine's byte order or in network order. IPv4 has the same number on every system. The number
/// of IPv6 depends on the system.
pub(super) fn behind_loopback(data: &[u8]) -> Behind<'_> {
    const IPV4: u8 = 2;
    const LINUX: u8 = 10;
    const NETBSD: u8 = 24;
    const FREEBSD: u8 = 28;
    const MACOS: u8 = 30;
    match data {
        [0, 0, 0, family, rest @ ..] | [family, 0, 0, 0, rest @ ..]
            if [IPV4, LINUX, NETBSD, FREEBSD, MACOS].contains(family) =>
        {
            Some((LinkHeader::Ip, rest))
        }
        _ => None,
    }
}

/// The header or packet after a header of 16 octets of Linux's cooked captures.
pub(super) fn behind_cooked(data: &[u8]) -> Behind<'_> {
    cooked(half(data, 14)?, &data[16..])
}

/// The header or packet after a header of 20 octets of Linux's cooked captures, version 2.
pub(super) fn behind_cooked_2(data: &[u8]) -> Behind<'_> {
    cooked(half(data, 0)?, data.get(20..)?)
}

/// The header or packet that Linux's `kind` announces. `kind` is a type field of Ethernet, or a
/// number below all Ethernet types.
fn cooked(kind: u16, rest: &[u8]) -> Behind<'_> {
    /// Frames with LLC. Frames with any other small number cannot hold IP.
    const LLC: u16 = 4;
    match kind {
        LLC => Some((LinkHeader::Llc, rest)),
        0..=0x05ff => None,
        kind => Some((LinkHeader::Type(kind), rest)),
    }
}

/// The packet in a message of Netfilter's log. The message has a family, a version, the number of a
/// resource, and attributes. The numbers in attributes have the byte order of the machine that
/// wrote them.
pub(super) fn behind_nflog(data: &[u8]) -> Behind<'_> {
    const IPV4: u8 = 2;
    const IPV6: u8 = 10;
    const PAYLOAD: u16 = 9;
    let ([IPV4 | IPV6, 0, _, _], mut rest) = data.split_first_chunk()? else { return None };
    // Kinds of attributes are below 256, so the first kind shows the byte order.
    let little = *rest.get(3)? == 0;
    let number =
        |two: [u8; 2]| if little { u16::from_le_bytes(two) } else { u16::from_be_bytes(two) };
    loop {
        let (&[a, b, c, d], body) = rest.split_first_chunk()?;
        let length = usize::from(number([a, b])).checked_sub(4)?;
        // The highest two bits are flags of Netlink.
        if number([c, d]) & 0x3fff == PAYLOAD {
            return Some((LinkHeader::Ip, &body[..length.min(body.len())]));
        }
        rest = body.get(length.next_multiple_of(4)..)?;
    }
}
