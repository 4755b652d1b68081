//! Finds the IP packet in a packet of a tunnel: IP in IP, GRE, VXLAN or Geneve.
//!
//! If IP fragmented a packet of a tunnel, its fragments are not opened. Tunnels that encrypt their
//! packets cannot be opened.

use super::CapturedIp;
use super::extensions::{Extensions, FRAGMENT, is_extension};
use super::head::IpHead;
use super::link_type::{LinkHeader, behind_headers, half};

/// The maximum number of nested tunnels that are opened.
const MOST_TUNNELS: u8 = 4;

/// The protocol number of an IPv4 packet in IP (RFC 2003 §3.1).
const IPV4: u8 = 4;
/// The protocol number of an IPv6 packet in IP (RFC 2473 §3).
const IPV6: u8 = 41;
/// The protocol number of UDP.
const UDP: u8 = 17;
/// The protocol number of GRE.
const GRE: u8 = 47;

/// The ports of VXLAN: the port of RFC 7348 §5, and the default of Linux.
const VXLAN: [u16; 2] = [4789, 8472];
/// The port of Geneve (RFC 8926 §3.3).
const GENEVE: u16 = 6081;
/// The protocol type of an Ethernet frame in GRE and Geneve.
const FRAME: u16 = 0x6558;

impl<'a> CapturedIp<'a> {
    /// The packet inside all tunnels, with the number of tunnels. For a packet that is in no
    /// tunnel, these are the packet itself and 0.
    ///
    /// ```
    /// use netspurt::wire::CapturedIp;
    /// let mut bytes = [[0; 20], [0; 20]];
    /// (bytes[0][0], bytes[0][3], bytes[0][9]) = (0x45, 40, 4);
    /// bytes[1][0] = 0x45;
    /// let ip = CapturedIp { bytes: bytes.as_flattened(), original_bytes: 40 };
    /// assert_eq!(ip.in_tunnels(), (CapturedIp { bytes: &bytes[1], original_bytes: 20 }, 1));
    /// ```
    pub fn in_tunnels(self) -> (Self, u8) {
        let (mut ip, mut tunnels) = (self, 0);
        while tunnels < MOST_TUNNELS
            && let Some(bytes) = inside(ip.bytes)
        {
            let outer = ip.bytes.len() - bytes.len();
            let original_bytes = ip.original_bytes.saturating_sub(outer as u32);
            (ip, tunnels) = (Self { bytes, original_bytes }, tunnels + 1);
        }
        (ip, tunnels)
    }
}

/// For each of the two directions of a connection, the number of tunnels in which its first packet
/// was.
///
/// A host at the end of a tunnel may capture each packet twice, in the tunnel and outside of it. So
/// a packet counts only if it was in as many tunnels as the first packet of its direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TunnelDepths([Option<u8>; 2]);

impl TunnelDepths {
    /// Whether a packet counts. The packet has the direction `direction` (0 or 1), and was in
    /// `tunnels` tunnels.
    #[inline]
    pub fn counts(&mut self, direction: usize, tunnels: u8) -> bool {
        *self.0[direction].get_or_insert(tunnels) == tunnels
    }
}

/// The IP packet in `packet`, a packet of a tunnel.
fn inside(packet: &[u8]) -> Option<&[u8]> {
    let head = IpHead::of(packet).filter(|head| head.part().is_whole())?;
    let (protocol, at) = behind_extensions(packet, head)?;
    // Octets of the link may follow the packet. They stay, so that the captured octets end where
    // the packet on the link ends.
    let payload = packet.get(at..)?;
    let (header, rest) = match protocol {
        IPV4 | IPV6 => (LinkHeader::Ip, payload),
        GRE => in_gre(payload)?,
        UDP => in_udp(payload)?,
        _ => return None,
    };
    behind_headers(header, rest).filter(|inner| IpHead::of(inner).is_some())
}

/// Returns the protocol that follows the header `head` of `packet`, its options and its extension
/// headers. Also returns the offset at which this protocol begins. `None` if one of these headers
/// is incomplete or is a fragment header.
///
/// By default, Linux's IPv6 tunnels have an extension header: destination options with the tunnel
/// encapsulation limit (RFC 2473 §4.1.1).
fn behind_extensions(packet: &[u8], head: IpHead<'_>) -> Option<(u8, usize)> {
    let (protocol, at) = head.payload();
    if matches!(head, IpHead::V4(_)) || !is_extension(protocol) {
        return Some((protocol, at));
    }
    let mut extensions = Extensions::of(packet, protocol);
    let whole = extensions.all(|extension| extension.kind != FRAGMENT) && !extensions.is_cut();
    whole.then_some((extensions.next, extensions.at))
}

/// What follows a header of GRE (RFC 2784 §2, RFC 2890 §2). `None` for PPTP, and for the routing of
/// RFC 1701.
fn in_gre(data: &[u8]) -> Option<(LinkHeader, &[u8])> {
    const ROUTING_AND_VERSION: u16 = 0x4007;
    const OPTIONAL: [u16; 3] = [0x8000, 0x2000, 0x1000];
    let flags = half(data, 0).filter(|flags| flags & ROUTING_AND_VERSION == 0)?;
    let optional = OPTIONAL.iter().filter(|flag| flags & **flag != 0).count();
    Some((of_type(half(data, 2)?), data.get(4 + 4 * optional..)?))
}

/// What follows the headers of UDP and of VXLAN (RFC 7348 §5) or Geneve (RFC 8926 §3.4).
fn in_udp(data: &[u8]) -> Option<(LinkHeader, &[u8])> {
    let (port, data) = (half(data, 2)?, data.get(8..)?);
    let first = *data.first()?;
    if VXLAN.contains(&port) {
        // Other flags are reserved. One of them says that no Ethernet frame follows (VXLAN-GPE).
        return (first == 8).then_some((LinkHeader::Frame, data.get(8..)?));
    }
    let is_geneve = port == GENEVE && first >> 6 == 0;
    is_geneve.then_some((of_type(half(data, 2)?), data.get(8 + 4 * usize::from(first & 0x3f)..)?))
}

fn of_type(kind: u16) -> LinkHeader {
    if kind == FRAME { LinkHeader::Frame } else { LinkHeader::Type(kind) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{Packet, encode};
    use super::*;
    use crate::segment::{Flags, Segment};

    /// A packet with TCP over IPv4 or IPv6.
    fn inner(six: bool) -> Vec<u8> {
        let ends = if six { ["[fd00::1]:1", "[fd00::2]:2"] } else { ["10.0.0.1:1", "10.0.0.2:2"] };
        let [source, destination] = ends.map(|end| end.parse().unwrap());
        let segment = Segment { len: 9, flags: Flags::ACK, ..Segment::default() };
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut bytes);
        bytes
    }

    /// A packet of IPv4 or IPv6 with `protocol` and the octets of `parts`.
    fn outer(six: bool, protocol: u8, parts: &[&[u8]]) -> Vec<u8> {
        let payload = parts.concat();
        let mut head = vec![0; if six { 40 } else { 20 }];
        if six {
            (head[0], head[5], head[6]) = (0x60, payload.len() as u8, protocol);
        } else {
            (head[0], head[3], head[9]) = (0x45, (20 + payload.len()) as u8, protocol);
        }
        [head, payload].concat()
    }

    /// The packet inside all tunnels of the packet `bytes`, and the number of tunnels.
    fn opened(bytes: &[u8]) -> (Vec<u8>, u8) {
        let original_bytes = bytes.len() as u32 + 7;
        let (ip, tunnels) = CapturedIp { bytes, original_bytes }.in_tunnels();
        assert_eq!(ip.original_bytes as usize, ip.bytes.len() + 7);
        (ip.bytes.to_vec(), tunnels)
    }

    /// The two addresses at the beginning of an Ethernet frame.
    const ADDRESSES: [u8; 12] = [2; 12];

    #[test]
    fn the_packet_in_each_kind_of_tunnel_is_found() {
        let (four, six) = (inner(false), inner(true));
        let udp = |port: u16| [0x99, 0x99, (port >> 8) as u8, port as u8, 0, 0, 0, 0];
        let vxlan = [8, 0, 0, 0, 0, 0, 5, 0];
        let mut found = vec![
            (outer(false, 4, &[&four]), &four),
            (outer(false, 41, &[&six]), &six),
            (outer(true, 4, &[&four]), &four),
            (outer(true, 41, &[&six]), &six),
            (outer(false, 47, &[&[0, 0, 8, 0], &four]), &four),
            (outer(false, 47, &[&[0xb0, 0, 0x86, 0xdd], &[1; 12], &six]), &six),
            (
                outer(false, 47, &[&[0x20, 0, 0x65, 0x58], &[1; 4], &ADDRESSES, &[8, 0], &four]),
                &four,
            ),
            (outer(true, 17, &[&udp(4789), &vxlan, &ADDRESSES, &[8, 0], &four]), &four),
            (outer(false, 17, &[&udp(6081), &[0, 0, 0x86, 0xdd, 0, 0, 5, 0], &six]), &six),
        ];
        let tagged = [0x81, 0, 0, 9, 8, 0];
        let parts: [&[u8]; 5] = [&udp(8472), &vxlan, &ADDRESSES, &tagged, &four];
        found.push((outer(false, 17, &parts), &four));
        let options = [&[2, 0, 0x65, 0x58, 0, 0, 5, 0][..], &[7; 8]].concat();
        let parts: [&[u8]; 5] = [&udp(6081), &options, &ADDRESSES, &[8, 0], &four];
        found.push((outer(false, 17, &parts), &four));
        let limit = |next: u8| [next, 0, 4, 1, 4, 1, 1, 0];
        found.push((outer(true, 60, &[&limit(4), &four]), &four));
        found.push((outer(true, 60, &[&limit(47), &[0, 0, 0x86, 0xdd], &six]), &six));
        found.push((outer(true, 0, &[&[60, 0, 1, 4, 0, 0, 0, 0], &limit(41), &six]), &six));
        for (packet, expected) in found {
            assert_eq!(opened(&packet), (expected.clone(), 1), "{packet:?}");
        }
        let twice = outer(true, 41, &[&outer(false, 47, &[&[0, 0, 8, 0], &four])]);
        assert_eq!(opened(&twice), (four, 2));
    }

    #[test]
    fn other_packets_are_not_opened() {
        let four = inner(false);
        let mut others = vec![
            four.clone(),
            outer(false, 17, &[&[0, 1, 0, 53, 0, 0, 0, 0], &four]),
            outer(false, 47, &[&[0x30, 1, 0x88, 0x0b, 0, 0, 0, 0], &four]),
            outer(false, 47, &[&[0, 0, 8, 6], &[0; 28]]),
            outer(true, 44, &[&[4, 0, 0, 1, 0, 0, 0, 9], &four]),
            outer(true, 60, &[&[4, 9, 4, 1, 4, 1, 1, 0], &four]),
            outer(true, 60, &[&[6, 0, 4, 1, 4, 1, 1, 0], &four]),
        ];
        let mut fragment = outer(false, 4, &[&four]);
        fragment[6] = 0x20;
        others.push(fragment);
        for packet in others {
            assert_eq!(opened(&packet), (packet.clone(), 0));
        }
    }

    proptest! {
        #[test]
        fn any_octets_are_opened_at_most_four_times(
            protocol in prop::sample::select(vec![4, 17, 41, 47, 60]),
            port in prop::sample::select(vec![4789_u16, 6081]),
            mut data in prop::collection::vec(any::<u8>(), 0..80),
        ) {
            if data.len() > 4 && protocol == UDP {
                data[2..4].copy_from_slice(&port.to_be_bytes());
            }
            prop_assert!(opened(&outer(false, protocol, &[&data])).1 <= MOST_TUNNELS);
        }
    }
}
