//! Reads the extension headers of IPv6 (RFC 8200 §4) and the authentication header (RFC 4302 §2).

use std::net::Ipv6Addr;

/// The number of the hop-by-hop options header.
pub(super) const HOP_BY_HOP: u8 = 0;
/// The number of a routing header.
pub(super) const ROUTING: u8 = 43;
/// The number of a fragment header.
pub(super) const FRAGMENT: u8 = 44;
/// The number of the authentication header.
pub(super) const AUTHENTICATION: u8 = 51;
/// The number of the destination options header.
pub(super) const DESTINATION: u8 = 60;

/// The number of octets of the fixed IPv6 header.
const FIXED: usize = 40;

/// Whether the header kind `kind` is an extension header, which the reader skips on its way to TCP.
pub(super) fn is_extension(kind: u8) -> bool {
    matches!(kind, HOP_BY_HOP | ROUTING | FRAGMENT | AUTHENTICATION | DESTINATION)
}

/// One extension header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extension<'a> {
    pub(super) kind: u8,
    /// The offset of the header in the packet.
    pub(super) at: usize,
    /// The offset of the octet that names this header's kind.
    pub(super) named_at: usize,
    /// The octets of the header, at least eight.
    pub(super) octets: &'a [u8],
}

/// The extension headers of a packet, one after the other. The series ends before the first header
/// that is incomplete or is not an extension header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extensions<'a> {
    packet: &'a [u8],
    /// The kind of the header at the offset `at`.
    pub(super) next: u8,
    /// The offset of the octet that names the kind `next`.
    pub(super) named_at: usize,
    /// The offset of the header in the packet.
    pub(super) at: usize,
}

impl<'a> Extensions<'a> {
    /// The extension headers of `packet`, whose first header has the kind `next`.
    #[inline]
    pub(super) fn of(packet: &'a [u8], next: u8) -> Self {
        Self { packet, next, named_at: 6, at: FIXED }
    }

    /// Whether the packet ends within its extension headers. The answer is valid after the
    /// iteration has ended.
    pub(super) fn is_cut(&self) -> bool {
        is_extension(self.next)
    }
}

impl<'a> Iterator for Extensions<'a> {
    type Item = Extension<'a>;

    #[inline]
    fn next(&mut self) -> Option<Extension<'a>> {
        let Self { next: kind, named_at, at, .. } = *self;
        if !is_extension(kind) {
            return None;
        }
        let rest = self.packet.get(at..)?;
        let head: &[u8; 8] = rest.first_chunk()?;
        let length = match kind {
            // A fragment header has no length field, and its second octet is reserved.
            FRAGMENT => 8,
            // The length field is the number of words of four octets, minus two.
            AUTHENTICATION => (usize::from(head[1]) + 2) * 4,
            _ => (usize::from(head[1]) + 1) * 8,
        };
        let octets = rest.get(..length.max(8))?;
        (self.next, self.named_at, self.at) = (head[0], at, at + octets.len());
        Some(Extension { kind, at, named_at, octets })
    }
}

/// The last destination in the routing header `octets`. `None` if the header is incomplete or of an
/// unknown kind.
pub(super) fn last_stop(octets: &[u8]) -> Option<Ipv6Addr> {
    let (addresses, _) = octets.get(8..)?.as_chunks::<16>();
    let address = match octets[2] {
        // Type 0 has the addresses in the order of the path (RFC 2460 §4.4).
        0 => addresses.last()?,
        // Mobile IPv6 has one address (RFC 6275 §6.4.1). Segment routing begins with the last
        // address (RFC 8754 §2).
        2 | 4 => addresses.first()?,
        _ => return None,
    };
    Some(Ipv6Addr::from(*address))
}

/// The length of a jumbogram without its fixed header, from the hop-by-hop options `octets` (RFC
/// 2675 §2). `None` if the options have no such length, or if 16 bits could hold it.
pub(super) fn jumbo_payload(octets: &[u8]) -> Option<u32> {
    const PAD: u8 = 0;
    const JUMBO: u8 = 0xc2;
    let mut rest = octets.get(2..)?;
    loop {
        rest = match rest {
            [PAD, rest @ ..] => rest,
            [JUMBO, 4, a, b, c, d, ..] => {
                let length = u32::from_be_bytes([*a, *b, *c, *d]);
                return (length > u16::MAX.into()).then_some(length);
            }
            [_, length, rest @ ..] => rest.get(usize::from(*length)..)?,
            _ => return None,
        };
    }
}
