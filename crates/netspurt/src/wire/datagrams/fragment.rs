//! Reads one fragment of a datagram that carries TCP.

use std::net::IpAddr;

use crate::segment::{Ecn, Part};
use crate::wire::extensions::{Extension, Extensions, FRAGMENT, is_extension};
use crate::wire::head::IpHead;
use crate::wire::{CapturedIp, TCP};

/// The maximum number of octets of a reassembled datagram, including its headers.
pub(super) const LONGEST: u32 = 65_535;

/// The values that all fragments of a datagram share: addresses, protocol and identification (RFC
/// 791 §3.2). In IPv6, the protocol does not count (RFC 8200 §4.5), and is zero here.
pub(super) type DatagramKey = ([IpAddr; 2], u8, u32);

/// The class of a captured packet: whether it is a fragment of a datagram that carries TCP. An IPv6
/// fragment also counts if it names an extension header, because TCP may follow this header.
#[derive(Clone, Copy, Debug)]
pub(super) enum CapturedPart<'a> {
    /// The packet is not a fragment, or it has another protocol than TCP.
    Other,
    /// A fragment with an impossible length, header length or offset, or an IPv4 fragment whose
    /// options were not captured in full.
    Malformed,
    Fragment(Fragment<'a>),
}

/// A fragment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fragment<'a> {
    pub(super) key: DatagramKey,
    pub(super) ecn: Ecn,
    /// The headers before the payload, without IPv6's fragment header.
    pub(super) head: &'a [u8],
    /// For IPv6: the offset in `head` of the octet that names the fragment header, and the protocol
    /// that this octet has to name in the whole datagram.
    pub(super) name: Option<(usize, u8)>,
    /// The first octet of the datagram's payload that the fragment has.
    pub(super) from: u32,
    /// The octet of the datagram's payload after the fragment's last octet.
    pub(super) to: u32,
    pub(super) more_follow: bool,
    /// The captured octets of the fragment's payload, from the first octet on.
    pub(super) captured: &'a [u8],
}

impl<'a> CapturedPart<'a> {
    /// Classifies the packet `ip`.
    pub(super) fn of(ip: CapturedIp<'a>) -> Self {
        let packet = ip.bytes;
        match IpHead::of(packet) {
            None => Self::Other,
            Some(head @ IpHead::V4(_)) => Self::of_ipv4(packet, head),
            Some(head @ IpHead::V6(_)) => {
                let mut extensions = Extensions::of(packet, head.payload().0);
                match extensions.find(|extension| extension.kind == FRAGMENT) {
                    Some(fragment) => Self::of_ipv6(packet, head, fragment),
                    None => Self::Other,
                }
            }
        }
    }

    fn of_ipv4(packet: &'a [u8], head: IpHead<'a>) -> Self {
        let ((protocol, at), part) = (head.payload(), head.part());
        if part.is_whole() || protocol != TCP {
            return Self::Other;
        }
        let Some(header) = packet.get(..at).filter(|header| header.len() >= 20) else {
            return Self::Malformed;
        };
        let key = (head.addresses(), protocol, head.id().into());
        Self::new(packet, head, (key, header, None), (at, part))
    }

    fn of_ipv6(packet: &'a [u8], head: IpHead<'a>, extension: Extension<'a>) -> Self {
        let Extension { at, named_at, octets, .. } = extension;
        let next = octets[0];
        // Offsets are in the upper 13 bits, and the lowest bit shows whether more fragments follow.
        let bits = u16::from_be_bytes([octets[2], octets[3]]);
        let part = Part::new(u32::from(bits & !7), bits & 1 != 0);
        if part.is_whole() || next != TCP && !is_extension(next) {
            return Self::Other;
        }
        let id = u32::from_be_bytes([octets[4], octets[5], octets[6], octets[7]]);
        let key = (head.addresses(), 0, id);
        Self::new(packet, head, (key, &packet[..at], Some((named_at, next))), (at + 8, part))
    }

    /// The fragment whose payload begins at the offset `at` of `packet`.
    fn new(
        packet: &'a [u8],
        ip: IpHead<'a>,
        (key, head, name): (DatagramKey, &'a [u8], Option<(usize, u8)>),
        (at, part): (usize, Part),
    ) -> Self {
        let length = ip.total_bytes().saturating_sub(at);
        let whole_units = length.is_multiple_of(Part::UNIT_BYTES as usize);
        let from = part.offset_bytes();
        let to = u32::try_from(length).map_or(u32::MAX, |length| from + length);
        let more_follow = part.more_follow();
        if length == 0
            || more_follow && !whole_units
            || head.len() as u64 + u64::from(to) > LONGEST.into()
        {
            return Self::Malformed;
        }
        let captured = packet.get(at..).unwrap_or_default();
        let captured = &captured[..captured.len().min(length)];
        let ecn = ip.ecn();
        Self::Fragment(Fragment { key, ecn, head, name, from, to, more_follow, captured })
    }
}
