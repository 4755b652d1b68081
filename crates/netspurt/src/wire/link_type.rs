//! Link types of captures.

/// The link type of a captured packet: a LINKTYPE number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

impl LinkType {
    const NULL: Self = Self(0);
    const ETHERNET: Self = Self(1);
    const LOOP: Self = Self(108);
    const LINUX_SLL: Self = Self(113);
    const LINUX_SLL2: Self = Self(276);

    /// The IP packet behind the link's header in `data`; `None` for other protocols, and for link
    /// types that are not supported.
    pub(super) fn behind(self, data: &[u8]) -> Option<&[u8]> {
        let half = |at: usize| Some(u16::from_be_bytes(*data.get(at..)?.first_chunk()?));
        let ip = |kind: u16, at: usize| match kind {
            0x0800 | 0x86dd => data.get(at..),
            _ => None,
        };
        match self {
            Self::ETHERNET => {
                let mut at = 12;
                // IEEE 802.1Q and 802.1ad: tags of four octets.
                while [0x8100, 0x88a8].contains(&half(at)?) {
                    at += 4;
                }
                ip(half(at)?, at + 2)
            }
            // The address family, in the machine's byte order or in network order.
            Self::NULL | Self::LOOP => data.get(4..),
            // LINKTYPE_RAW, with the numbers that it has in old files; IPv4; IPv6.
            Self(101 | 12 | 14 | 228 | 229) => Some(data),
            Self::LINUX_SLL => ip(half(14)?, 16),
            Self::LINUX_SLL2 => ip(half(0)?, 20),
            _ => None,
        }
    }
}
