//! The kinds of headers that may precede the IP packet in a captured packet. Most headers say which
//! header or packet follows. After labels of MPLS, the first octets of the content decide.

/// What comes next in a captured packet: a header that precedes the IP packet, or the IP packet
/// itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum LinkHeader {
    /// An Ethernet frame, from its addresses on.
    Frame,
    /// The header or packet that this type field of Ethernet announces.
    Type(u16),
    /// A header of LLC.
    Llc,
    /// Labels of MPLS.
    Labels,
    /// A header of PPPoE.
    Session,
    /// A frame of PPP.
    Ppp,
    /// A frame of IEEE 802.11.
    Wireless,
    /// The IP packet.
    Ip,
}

/// The kind and the octets of what follows a header. `None` if this header is incomplete, or
/// announces a protocol that is not supported.
pub(super) type Behind<'a> = Option<(LinkHeader, &'a [u8])>;

/// The 16-bit number at the offset `at`, in network order. `None` if octets are missing.
#[inline]
pub(in super::super) fn half(data: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*data.get(at..)?.first_chunk()?))
}
