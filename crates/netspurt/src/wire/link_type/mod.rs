//! Link types of captures: the IP packet behind a link's header.
//!
//! The octets may be hostile: every offset is checked, and the number of headers is bounded.

mod ethernet;
mod headers;
mod point_to_point;
mod pseudo;
#[cfg(test)]
mod tests;
mod wireless;

use ethernet::{behind_frame, behind_labels, behind_llc, behind_type};
use headers::{Behind, LinkHeader};
use point_to_point::{behind_ppp, behind_serial, behind_session};
use pseudo::{behind_cooked, behind_cooked_2, behind_loopback, behind_nflog};
use wireless::{behind_radiotap, behind_wireless};

/// The most headers before an IP packet. Eight would do for a frame with two tags in a session of
/// PPP behind labels, whose frame has two tags.
const MOST_HEADERS: usize = 16;

/// The link type of a captured packet: a LINKTYPE number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

impl LinkType {
    const NULL: u16 = 0;
    const ETHERNET: u16 = 1;
    const PPP: u16 = 9;
    const FDDI: u16 = 10;
    const PPP_HDLC: u16 = 50;
    const PPP_ETHER: u16 = 51;
    const ATM_RFC1483: u16 = 100;
    const RAW: u16 = 101;
    /// LINKTYPE_RAW, with the numbers that it has in old files.
    const OLD_RAW: [u16; 2] = [12, 14];
    const CISCO_HDLC: u16 = 104;
    const WIRELESS: u16 = 105;
    const LOOP: u16 = 108;
    const LINUX_COOKED: u16 = 113;
    const RADIOTAP: u16 = 127;
    const PPP_WITH_DIRECTION: u16 = 204;
    const IPV4: u16 = 228;
    const IPV6: u16 = 229;
    const NFLOG: u16 = 239;
    const LINUX_COOKED_2: u16 = 276;

    /// The IP packet behind the link's header in `data`; `None` for other protocols, and for link
    /// types that are not supported.
    #[inline]
    pub(super) fn behind(self, data: &[u8]) -> Option<&[u8]> {
        // By far the most common: IPv4 in Ethernet.
        if self.0 == Self::ETHERNET
            && let Some([.., 8, 0]) = data.first_chunk::<14>()
        {
            return Some(&data[14..]);
        }
        self.behind_other(data)
    }

    #[inline(never)]
    fn behind_other(self, data: &[u8]) -> Option<&[u8]> {
        let (mut header, mut rest) = self.first_header(data)?;
        for _ in 0..MOST_HEADERS {
            (header, rest) = match header {
                LinkHeader::Frame => behind_frame(rest),
                LinkHeader::Type(kind) => behind_type(kind, rest),
                LinkHeader::Llc => behind_llc(rest),
                LinkHeader::Labels => behind_labels(rest),
                LinkHeader::Session => behind_session(rest),
                LinkHeader::Ppp => behind_ppp(rest),
                LinkHeader::Wireless => behind_wireless(rest),
                LinkHeader::Ip => return Some(rest),
            }?;
        }
        None
    }

    /// What `data` begins with.
    fn first_header(self, data: &[u8]) -> Behind<'_> {
        match self.0 {
            Self::RAW | Self::IPV4 | Self::IPV6 => Some((LinkHeader::Ip, data)),
            old if Self::OLD_RAW.contains(&old) => Some((LinkHeader::Ip, data)),
            Self::ETHERNET => Some((LinkHeader::Frame, data)),
            Self::NULL | Self::LOOP => behind_loopback(data),
            // A frame control, and two addresses.
            Self::FDDI => Some((LinkHeader::Llc, data.get(13..)?)),
            Self::ATM_RFC1483 => Some((LinkHeader::Llc, data)),
            Self::LINUX_COOKED => behind_cooked(data),
            Self::LINUX_COOKED_2 => behind_cooked_2(data),
            Self::NFLOG => behind_nflog(data),
            Self::PPP => Some((LinkHeader::Ppp, data)),
            Self::PPP_HDLC | Self::CISCO_HDLC => behind_serial(data),
            // An octet for the direction.
            Self::PPP_WITH_DIRECTION => behind_serial(data.get(1..)?),
            Self::PPP_ETHER => Some((LinkHeader::Session, data)),
            Self::WIRELESS => Some((LinkHeader::Wireless, data)),
            Self::RADIOTAP => behind_radiotap(data),
            _ => None,
        }
    }

    /// Whether packets of this link type can be read.
    ///
    /// ```
    /// use netspurt::wire::LinkType;
    /// assert!(LinkType(1).is_supported() && !LinkType(147).is_supported());
    /// ```
    pub fn is_supported(self) -> bool {
        const ALL: [u16; 20] = [
            LinkType::NULL,
            LinkType::ETHERNET,
            LinkType::PPP,
            LinkType::FDDI,
            LinkType::OLD_RAW[0],
            LinkType::OLD_RAW[1],
            LinkType::PPP_HDLC,
            LinkType::PPP_ETHER,
            LinkType::ATM_RFC1483,
            LinkType::RAW,
            LinkType::CISCO_HDLC,
            LinkType::WIRELESS,
            LinkType::LOOP,
            LinkType::LINUX_COOKED,
            LinkType::RADIOTAP,
            LinkType::PPP_WITH_DIRECTION,
            LinkType::IPV4,
            LinkType::IPV6,
            LinkType::NFLOG,
            LinkType::LINUX_COOKED_2,
        ];
        ALL.contains(&self.0)
    }
}
