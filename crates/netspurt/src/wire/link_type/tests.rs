//! Tests that the IP packet is found behind the headers of each link type.

use proptest::prelude::*;

use super::*;

/// The beginning of an IPv4 packet.
const V4: [u8; 3] = [0x45, 0, 7];
/// The beginning of an IPv6 packet.
const V6: [u8; 3] = [0x60, 0, 7];
/// The two addresses at the beginning of an Ethernet frame.
const ADDRESSES: [u8; 12] = [2; 12];

/// The IP packet that is found in a packet of the link type `link`, whose octets are `parts`
/// together.
fn behind(link: u16, parts: &[&[u8]]) -> Option<Vec<u8>> {
    LinkType(link).behind(&parts.concat()).map(<[u8]>::to_vec)
}

/// Whether the IP packet `packet` is found behind the headers `before`.
fn found(link: u16, before: &[&[u8]], packet: &[u8]) -> bool {
    behind(link, &[before, &[packet]].concat()).as_deref() == Some(packet)
}

#[test]
fn ip_is_found_behind_ethernet_and_its_tags() {
    let tag = [0x81, 0, 0, 5];
    let outer = [0x88, 0xa8, 0, 6];
    let old = [0x91, 0, 0, 7];
    for (kind, packet) in [([8, 0], V4), ([0x86, 0xdd], V6)] {
        let tags: [&[&[u8]]; 4] = [&[], &[&tag], &[&outer, &tag], &[&old, &tag, &tag]];
        for tags in tags {
            let before = [&[&ADDRESSES[..]], tags, &[&kind[..]]].concat();
            assert!(found(1, &before, &packet));
            // Here the same tags follow the header of a Linux cooked capture.
            let cooked = [&[&[0; 14][..]], tags, &[&kind[..]]].concat();
            assert!(found(113, &cooked, &packet));
        }
    }
    // One frame holds ARP, one ends within its addresses, and one ends within a tag.
    assert_eq!(behind(1, &[&ADDRESSES, &[8, 6], &V4]), None);
    assert_eq!(behind(1, &[&ADDRESSES[..11]]), None);
    assert_eq!(behind(1, &[&ADDRESSES, &tag[..3]]), None);
}

/// RFC 3032 §2.1: the last label of a stack has the lowest bit of its third octet set.
#[test]
fn ip_is_found_behind_mpls_labels_and_in_ethernet_frames_behind_them() {
    let (label, last) = ([0, 1, 0x40, 64], [0, 1, 0x81, 64]);
    let mpls = [0x88, 0x47];
    for packet in [V4, V6] {
        assert!(found(1, &[&ADDRESSES, &mpls, &label, &last], &packet));
        assert!(found(1, &[&ADDRESSES, &[0x81, 0, 0, 5], &mpls, &last], &packet));
    }
    let frame = [&ADDRESSES[..], &[0x81, 0, 0, 9, 8, 0]].concat();
    // The frame may have a control word before it (RFC 4385 §3).
    assert!(found(1, &[&ADDRESSES, &mpls, &label, &last, &[0; 4], &frame], &V4));
    assert!(found(1, &[&ADDRESSES, &mpls, &last, &frame], &V4));
    let high = [&[0xa2][..], &frame[1..]].concat();
    assert!(found(1, &[&ADDRESSES, &mpls, &last, &high], &V4));
    // No label has the bit that marks the last label, so the stack has no end.
    assert_eq!(behind(1, &[&ADDRESSES, &mpls, &label, &label, &V4]), None);
}

#[test]
fn ip_is_found_in_ppp_and_in_ciscos_hdlc() {
    let session = [0x88, 0x64, 0x11, 0, 0, 9, 0, 5];
    assert!(found(1, &[&ADDRESSES, &session, &[0, 0x21]], &V4));
    assert!(found(1, &[&ADDRESSES, &[0x81, 0, 0, 5], &session, &[0, 0x57]], &V6));
    assert!(found(51, &[&session[2..], &[0, 0x21]], &V4));
    // Frames of LCP, and frames in the discovery stage of PPPoE, do not hold IP.
    assert_eq!(behind(1, &[&ADDRESSES, &session, &[0xc0, 0x21], &V4]), None);
    assert_eq!(behind(1, &[&ADDRESSES, &[0x88, 0x63], &session[2..], &[0, 0x21], &V4]), None);
    for header in [&[0xff, 3, 0, 0x21][..], &[0, 0x21], &[0x21], &[0xff, 3, 0x21]] {
        assert!(found(9, &[header], &V4), "{header:?}");
        assert!(found(50, &[header], &V4), "{header:?}");
        assert!(found(204, &[&[1], header], &V4), "{header:?}");
    }
    for link in [50, 104] {
        assert!(found(link, &[&[0x0f, 0, 8, 0]], &V4));
        assert!(found(link, &[&[0x8f, 0, 0x86, 0xdd]], &V6));
    }
}

#[test]
fn ip_is_found_behind_llc() {
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    assert!(found(1, &[&ADDRESSES, &[0, 11], &snap], &V4));
    assert!(found(1, &[&ADDRESSES, &[0, 6], &[6, 6, 3]], &V4));
    // FDDI has a frame control octet and no type field.
    assert!(found(10, &[&[0x50], &ADDRESSES, &snap], &V4));
    assert!(found(100, &[&snap], &V4));
    assert!(found(113, &[&[0; 14], &[0, 4], &snap], &V4));
    // Frames of the spanning tree protocol do not hold IP. Frames whose SNAP header has the code of
    // an organisation do not hold IP either.
    assert_eq!(behind(1, &[&ADDRESSES, &[0, 6], &[0x42, 0x42, 3], &V4]), None);
    assert_eq!(behind(10, &[&[0x50], &ADDRESSES, &[0xaa, 0xaa, 3, 0, 0, 12, 8, 0], &V4]), None);
}

#[test]
fn ip_is_found_behind_headers_that_capturing_systems_add() {
    for family in [2, 10, 24, 28, 30] {
        assert!(found(0, &[&[family, 0, 0, 0]], &V6));
        assert!(found(0, &[&[0, 0, 0, family]], &V6));
        assert!(found(108, &[&[0, 0, 0, family]], &V6));
    }
    assert_eq!(behind(0, &[&[7, 0, 0, 0], &V4]), None);
    assert!(found(276, &[&[8, 0], &[0; 18]], &V4));
    assert_eq!(behind(276, &[&[8, 6], &[0; 18], &V4]), None);
    for link in [12, 14, 101, 228, 229] {
        assert!(found(link, &[], &V4));
    }
    assert_eq!(behind(147, &[&V4]), None);
}

/// A message of Netfilter has a packet header with the type of the protocol, a prefix of odd
/// length, and the payload. The test reads it in both byte orders.
#[test]
fn ip_is_found_in_messages_of_netfilter() {
    let attribute = |big: bool, kind: u16, body: &[u8]| {
        let length = u16::try_from(body.len() + 4).unwrap();
        let head = [length, kind].map(|n| if big { n.to_be_bytes() } else { n.to_le_bytes() });
        let padding = vec![0; body.len().next_multiple_of(4) - body.len()];
        [head.concat(), body.to_vec(), padding].concat()
    };
    for big in [false, true] {
        let before = [attribute(big, 1, &[8, 0, 0, 0]), attribute(big, 10, b"drop\0")].concat();
        for (family, packet) in [(2, V4), (10, V6)] {
            let message = [&[family, 0, 0, 1], &before[..], &attribute(big, 9, &packet)].concat();
            assert_eq!(behind(239, &[&message]).as_deref(), Some(&packet[..]));
            // The message is cut short within the payload.
            let cut = &message[..message.len() - 2];
            assert_eq!(behind(239, &[cut]).as_deref(), Some(&packet[..2]));
        }
        assert_eq!(behind(239, &[&[2, 0, 0, 1], &before]), None);
        assert_eq!(behind(239, &[&[7, 0, 0, 1], &attribute(big, 9, &V4)]), None);
    }
}

#[test]
fn ip_is_found_in_wireless_frames() {
    let llc = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let header = |kind: u8, flags: u8, length: usize| {
        let mut header = vec![0; length];
        (header[0], header[1]) = (kind, flags);
        header
    };
    for frame in
        [header(0x08, 1, 24), header(0x08, 3, 30), header(0x88, 2, 26), header(0x88, 0x82, 30)]
    {
        assert!(found(105, &[&frame, &llc], &V4));
        // One radiotap header has a time and flags, and another has neither. The flags may say that
        // the frame's header is padded. In this case, the frame is not read.
        let timed = [&[0, 0, 17, 0, 3, 0, 0, 0][..], &[9; 8], &[0]].concat();
        assert!(found(127, &[&timed, &frame, &llc], &V4));
        assert!(found(127, &[&[0, 0, 8, 0, 0, 0, 0, 0], &frame, &llc], &V4));
        let padded = [&timed[..16], &[0x20]].concat();
        assert_eq!(behind(127, &[&padded, &frame, &llc, &V4]), None);
    }
    // These frames are a beacon, a frame without a body, an encrypted frame, and a frame with
    // several packets.
    let mut several = header(0x88, 2, 26);
    several[24] = 0x80;
    for frame in [header(0x80, 0, 24), header(0x48, 1, 24), header(0x08, 0x41, 24), several] {
        assert_eq!(behind(105, &[&frame, &llc, &V4]), None);
    }
}

#[test]
fn ip_is_not_found_behind_more_headers_than_the_limit() {
    let tags = [0x81, 0, 0, 5].repeat(MOST_HEADERS - 3);
    assert!(found(1, &[&ADDRESSES, &tags, &[8, 0]], &V4));
    let tags = [0x81, 0, 0, 5].repeat(1 << 18);
    assert_eq!(behind(1, &[&ADDRESSES, &tags, &[8, 0], &V4]), None);
}

proptest! {
    /// Octets with a meaning in headers are more frequent here than in random octets.
    #[test]
    fn a_found_packet_is_the_last_part_of_the_given_octets_except_in_nflog(
        link in prop_oneof![0_u16..300, Just(1), Just(113), Just(127), Just(239), Just(9)],
        picks in proptest::collection::vec(0_usize..24, 0..80),
        noise: u8,
    ) {
        const COMMON: [u8; 23] = [
            0, 1, 2, 3, 4, 6, 8, 9, 0x11, 0x21, 0x47, 0x57, 0x64, 0x81, 0x86, 0x88, 0xa8, 0xaa, 0xdd,
            0xff, 0x0f, 0x45, 0x60,
        ];
        let data: Vec<u8> =
            picks.iter().map(|pick| COMMON.get(*pick).copied().unwrap_or(noise)).collect();
        let link = LinkType(link);
        let behind = link.behind(&data);
        prop_assert!(behind.is_none() || link.is_supported());
        if let Some(behind) = behind.filter(|_| link.0 != NFLOG) {
            prop_assert!(data.ends_with(behind));
        }
    }
}

#[test]
fn cooked_captures_show_which_packets_the_host_sent() {
    use PacketDirection::{Inbound, Outbound};
    let second = |packet_type| [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, packet_type];
    // The packets go to the host, to all hosts (broadcast), to a group (multicast), to another
    // host, and from the host.
    let directions = [Some(Inbound), Some(Inbound), Some(Inbound), None, Some(Outbound)];
    for (packet_type, direction) in (0..).zip(directions) {
        assert_eq!(LinkType(113).direction(&[0, packet_type]), direction);
        assert_eq!(LinkType(276).direction(&second(packet_type)), direction);
        assert_eq!(LinkType(1).direction(&second(packet_type)), None);
    }
    assert_eq!(LinkType(113).direction(&[0]), None);
    assert_eq!(LinkType(276).direction(&second(4)[..10]), None);
}
