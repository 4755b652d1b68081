//! Links that packets are captured on.

/// The kind of link that a packet was captured on: a LINKTYPE number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

impl LinkType {
    const NULL: Self = Self(0);
    const ETHERNET: Self = Self(1);
    const LOOP: Self = Self(108);
    const LINUX_SLL: Self = Self(113);
    const LINUX_SLL2: Self = Self(276);

    /// What follows the link's header in `data`, where that says IP; `None` of other protocols, and
    /// of links that are not known here.
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
            // The family, in the order of the machine or of the net.
            Self::NULL | Self::LOOP => data.get(4..),
            // LINKTYPE_RAW, and the numbers it has in old files; IPv4; IPv6.
            Self(101 | 12 | 14 | 228 | 229) => Some(data),
            Self::LINUX_SLL => ip(half(14)?, 16),
            Self::LINUX_SLL2 => ip(half(0)?, 20),
            _ => None,
        }
    }
}
