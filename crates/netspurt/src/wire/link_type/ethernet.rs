//! Skips the Ethernet header, and the tags, the MPLS labels or the LLC header that its type field
//! announces.

use super::headers::{Behind, LinkHeader, half};

/// The greatest value of the type field that means a length (IEEE 802.3 §3.2.6).
const LONGEST: u16 = 1500;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
/// Tags of IEEE 802.1Q and 802.1ad, and the values in use before 802.1ad.
const TAGS: [u16; 5] = [0x8100, 0x88a8, 0x9100, 0x9200, 0x9300];
/// MPLS, unicast and multicast (RFC 3032 §5).
const MPLS: [u16; 2] = [0x8847, 0x8848];
/// The session stage of PPP over Ethernet (RFC 2516 §4).
const PPPOE_SESSION: u16 = 0x8864;

/// The header or packet that follows the two addresses and the type of an Ethernet frame.
pub(super) fn behind_frame(data: &[u8]) -> Behind<'_> {
    Some((LinkHeader::Type(half(data, 12)?), &data[14..]))
}

/// The header or packet in `data` that the type field `kind` announces.
pub(super) fn behind_type(kind: u16, data: &[u8]) -> Behind<'_> {
    match kind {
        IPV4 | IPV6 => Some((LinkHeader::Ip, data)),
        PPPOE_SESSION => Some((LinkHeader::Session, data)),
        0..=LONGEST => Some((LinkHeader::Llc, data)),
        // The type field of a tag precedes its two other octets. The next type field follows them.
        _ if TAGS.contains(&kind) => Some((LinkHeader::Type(half(data, 2)?), &data[4..])),
        _ if MPLS.contains(&kind) => Some((LinkHeader::Labels, data)),
        _ => None,
    }
}

/// The header or packet after a header of LLC (IEEE 802.2), with SNAP or without.
pub(super) fn behind_llc(data: &[u8]) -> Behind<'_> {
    match data {
        // SNAP, with the type field of Ethernet (RFC 1042). Bridges translate some frames to the
        // form with 0xf8 (IEEE 802.1H).
        [0xaa, 0xaa, 3, 0, 0, 0 | 0xf8, high, low, rest @ ..] => {
            Some((LinkHeader::Type(u16::from_be_bytes([*high, *low])), rest))
        }
        // LLC without SNAP: IP has the number 6 (RFC 1042).
        [6, 6, 3, rest @ ..] => Some((LinkHeader::Ip, rest)),
        _ => None,
    }
}

/// The header or packet after labels of MPLS (RFC 3032 §2.1). The last label has the lowest bit of
/// its third octet set.
///
/// No field names the content after the labels. The first octet shows whether the content is IP.
/// Routers look at the first four bits (RFC 4928 §3). Other content is an Ethernet frame (RFC
/// 4448). A control word that begins with four zero bits usually precedes the frame (RFC 4385 §3).
/// So content that begins with four zero bits may be a control word or a frame. The reader looks
/// for a known type at two places: the place of the type after a control word, and the place of the
/// type without a control word. It assumes a control word, unless only the second place has a known
/// type.
pub(super) fn behind_labels(mut data: &[u8]) -> Behind<'_> {
    loop {
        let (label, behind) = data.split_first_chunk::<4>()?;
        data = behind;
        if label[2] & 1 != 0 {
            break;
        }
    }
    match data.first()? {
        0x45..=0x4f | 0x60..=0x6f => Some((LinkHeader::Ip, data)),
        0..=0xf if !announces(data) || announces(data.get(4..)?) => {
            Some((LinkHeader::Frame, data.get(4..)?))
        }
        _ => Some((LinkHeader::Frame, data)),
    }
}

/// Whether `data` has a known type at the place of an Ethernet frame's type field.
fn announces(data: &[u8]) -> bool {
    let known = |kind| {
        [IPV4, IPV6, PPPOE_SESSION].contains(&kind) || TAGS.contains(&kind) || MPLS.contains(&kind)
    };
    half(data, 12).is_some_and(known)
}
