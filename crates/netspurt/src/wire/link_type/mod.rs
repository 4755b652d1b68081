//! Finds the IP packet behind a link's header, by the link type of the capture.
//!
//! The octets may be hostile, so every offset is checked, and the number of headers is bounded.

mod direction;
mod ethernet;
mod headers;
mod point_to_point;
mod pseudo;
#[cfg(test)]
mod tests;
mod wireless;

pub use direction::PacketDirection;
use direction::{cooked_2_direction, cooked_direction};
use ethernet::{behind_frame, behind_labels, behind_llc, behind_type};
use headers::Behind;
pub(super) use headers::{LinkHeader, half};
use point_to_point::{behind_ppp, behind_serial, behind_session};
use pseudo::{behind_cooked, behind_cooked_2, behind_loopback, behind_nflog};
use wireless::{behind_radiotap, behind_wireless};

/// The maximum number of headers before an IP packet. Even packets with many nested headers have
/// only about half of this number.
const MOST_HEADERS: usize = 16;

/// Reads the first header of the packets of a link type.
type FirstHeader = fn(&[u8]) -> Behind<'_>;

/// The link types by their numbers, the most frequent ones first.
const LINKS: [(u16, FirstHeader); 20] = [
    (ETHERNET, |data| Some((LinkHeader::Frame, data))),
    // Linux's cooked captures, versions 1 and 2.
    (COOKED, behind_cooked),
    (COOKED_2, behind_cooked_2),
    // LINKTYPE_RAW, first with its own number and then with two numbers of old files. LINKTYPE_IPV4
    // and LINKTYPE_IPV6 follow.
    (101, ip),
    (12, ip),
    (14, ip),
    (228, ip),
    (229, ip),
    // LINKTYPE_NULL, in the machine's byte order, and LINKTYPE_LOOP, in network order.
    (0, behind_loopback),
    (108, behind_loopback),
    (NFLOG, behind_nflog),
    // PPP: alone, in HDLC, in Ethernet, and after an octet for the direction.
    (9, |data| Some((LinkHeader::Ppp, data))),
    (50, behind_serial),
    (51, |data| Some((LinkHeader::Session, data))),
    (204, |data| behind_serial(data.get(1..)?)),
    // Cisco's HDLC.
    (104, behind_serial),
    // FDDI: a frame control and two addresses.
    (10, |data| Some((LinkHeader::Llc, data.get(13..)?))),
    // ATM (RFC 1483).
    (100, |data| Some((LinkHeader::Llc, data))),
    // IEEE 802.11, alone and after radiotap.
    (105, |data| Some((LinkHeader::Wireless, data))),
    (127, behind_radiotap),
];

const ETHERNET: u16 = 1;
const COOKED: u16 = 113;
const COOKED_2: u16 = 276;
const NFLOG: u16 = 239;

fn ip(data: &[u8]) -> Behind<'_> {
    Some((LinkHeader::Ip, data))
}

/// The link type of a captured packet: a LINKTYPE number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkType(pub u16);

impl LinkType {
    /// The direction of the packet with the octets `data`. `None` if the packet's header does not
    /// show it. Only the direction in Linux's cooked captures (`tcpdump -i any`) is read.
    #[inline]
    pub(super) fn direction(self, data: &[u8]) -> Option<PacketDirection> {
        match self.0 {
            COOKED => cooked_direction(data),
            COOKED_2 => cooked_2_direction(data),
            _ => None,
        }
    }

    /// The IP packet after the link's header in `data`. `None` for other protocols, for incomplete
    /// headers, and for link types that are not supported.
    #[inline]
    pub(super) fn behind(self, data: &[u8]) -> Option<&[u8]> {
        // IPv4 in Ethernet is by far the most common.
        if self.0 == ETHERNET
            && let Some([.., 8, 0]) = data.first_chunk::<14>()
        {
            return Some(&data[14..]);
        }
        self.behind_other(data)
    }

    #[inline(never)]
    fn behind_other(self, data: &[u8]) -> Option<&[u8]> {
        let (_, begin) = LINKS.iter().find(|(number, _)| *number == self.0)?;
        let (header, rest) = begin(data)?;
        behind_headers(header, rest)
    }

    /// Whether packets of this link type can be read.
    ///
    /// ```
    /// use netspurt::wire::LinkType;
    /// assert!(LinkType(1).is_supported() && !LinkType(147).is_supported());
    /// ```
    pub fn is_supported(self) -> bool {
        LINKS.iter().any(|(number, _)| *number == self.0)
    }
}

/// The IP packet in the octets `rest`. Before the packet, these octets have the header `header`,
/// and perhaps further headers.
pub(super) fn behind_headers(mut header: LinkHeader, mut rest: &[u8]) -> Option<&[u8]> {
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
