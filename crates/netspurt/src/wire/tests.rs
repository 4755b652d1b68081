//! Tests that encode segments as IP packets and decode them.

mod other_reader;

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::decode::checksum;
use super::*;
use crate::segment::{Ecn, Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};

const IPV4: [&str; 2] = ["10.0.0.1:5001", "10.0.0.2:80"];
const IPV6: [&str; 2] = ["[2001:db8::1]:5001", "[2001:db8::2]:80"];

/// A packet from the first end to the second end, with a payload of zeros.
fn packet(ends: [&str; 2], segment: Segment) -> Packet<'static> {
    let [source, destination] = ends.map(|end| end.parse().unwrap());
    Packet { source, destination, ip_id: 7, segment, payload: None }
}

/// The encoded packet. Its octets must replace the octets that the buffer had before.
fn bytes_of(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = vec![1, 2, 3];
    encode(packet, &mut bytes);
    bytes
}

/// The octets of an IPv4 packet with `segment`, from the TCP header on.
fn tcp_of(segment: Segment) -> Vec<u8> {
    bytes_of(&packet(IPV4, segment)).split_off(20)
}

/// A segment with these flags and timestamps.
fn stamped(flags: Flags) -> Segment {
    let mut segment = Segment { flags, ..Segment::default() };
    segment.set_timestamps(Timestamps { val: 0x0102_0304, ecr: 0x0506_0708 });
    segment
}

/// SACK blocks of 9 octets each.
fn blocks(count: u32) -> SackBlocks {
    let mut blocks = SackBlocks::default();
    (1..=count).for_each(|n| blocks.add(SackBlock { left: n << 8, right: (n << 8) + 9 }));
    blocks
}

/// Random segments. Only SYNs have the options of SYNs, and only other segments have SACK blocks.
fn segments() -> impl Strategy<Value = Segment> {
    let head = (any::<u32>(), any::<u32>(), any::<u16>(), any::<u8>(), 0..4_u8, 0..3000_u16);
    let stamps = option::of((any::<u32>(), any::<u32>()));
    let syn = (option::of(any::<u16>()), option::of(any::<u8>()), any::<bool>());
    let edges = vec((any::<u32>(), any::<u32>()), 0..=SackBlocks::MAX);
    (head, stamps, syn, edges).prop_map(
        |((seq, ack, window, flags, ecn, len), stamps, syn, edges)| {
            let (flags, ecn) = (Flags(flags), Ecn::from_bits(ecn));
            let mut segment = Segment { seq, ack, len, window, flags, ecn, ..Segment::default() };
            if let Some((val, ecr)) = stamps {
                segment.set_timestamps(Timestamps { val, ecr });
            }
            if flags.has(Flags::SYN) {
                let (mss, window_scale, sack) = syn;
                segment.set_syn_options(SynOptions { mss, window_scale, sack });
            } else {
                let mut blocks = SackBlocks::default();
                let room = if stamps.is_some() { SackBlocks::MAX_STAMPED } else { SackBlocks::MAX };
                let edges = edges.into_iter().take(room);
                edges.for_each(|(left, right)| blocks.add(SackBlock { left, right }));
                segment.set_sack(&blocks);
            }
            segment
        },
    )
}

/// Random sources and destinations, both of IPv4 or both of IPv6.
fn ends() -> impl Strategy<Value = (SocketAddr, SocketAddr)> {
    let v4 = any::<[(u32, u16); 2]>().prop_map(|ends| {
        ends.map(|(address, port)| SocketAddr::new(Ipv4Addr::from(address).into(), port)).into()
    });
    let v6 = any::<[(u128, u16); 2]>().prop_map(|ends| {
        ends.map(|(address, port)| SocketAddr::new(Ipv6Addr::from(address).into(), port)).into()
    });
    prop_oneof![v4, v6]
}

proptest! {
    #[test]
    fn decoding_undoes_encoding(
        segment in segments(), (source, destination) in ends(), ip_id: u16, fill: Option<u8>
    ) {
        let content = vec![fill.unwrap_or(0); segment.len.into()];
        let payload = fill.map(|_| &content[..]);
        let bytes = bytes_of(&Packet { source, destination, ip_id, segment, payload });
        let read = decode(&bytes, Checks::Whole).unwrap();
        let size_bytes = bytes.len().try_into().unwrap();
        prop_assert_eq!(read.segment, Segment { size_bytes, ..segment });
        prop_assert_eq!((read.source, read.destination), (source, destination));
        prop_assert_eq!(read.ip_id, if source.is_ipv4() { ip_id } else { 0 });
        prop_assert_eq!(read.payload, content);
        prop_assert_eq!((read.urgent, read.reserved, read.malformed_option), (0, 0, None));
        prop_assert_eq!(decode(&bytes, Checks::Captured).unwrap(), read);
        let ip = if source.is_ipv4() { 0 } else { IPV6_HEADER_BYTES - IPV4_HEADER_BYTES };
        prop_assert_eq!(size_bytes, ip + header_bytes(&segment) + segment.len);
    }

    #[test]
    fn any_octets_are_decoded_or_refused_without_a_panic(
        mut bytes in vec(any::<u8>(), 0..200), six: bool
    ) {
        for checks in [Checks::Whole, Checks::Captured] {
            let _ = decode(&bytes, checks);
        }
        // Most random input is refused at its beginning. With a valid beginning, the decoder
        // reaches the later parts.
        if let [first, .., ] = &mut bytes[..] {
            *first = if six { 0x60 } else { 0x45 };
        }
        if let Some(next) = bytes.get_mut(if six { 6 } else { 9 }) {
            *next = if six { [0, 6, 43, 44, 60][usize::from(*next) % 5] } else { 6 };
        }
        let (high, low) = if six { (4, 5) } else { (2, 3) };
        if bytes.len() > low {
            (bytes[high], bytes[low]) = (0, bytes[low] % 100);
        }
        for checks in [Checks::Whole, Checks::Captured] {
            if let Err(error) = decode(&bytes, checks) {
                prop_assert!(error.offset <= bytes.len());
            }
        }
    }

    #[test]
    fn a_packet_with_one_wrong_bit_is_refused_if_its_checksums_are_checked(
        segment in segments(), bit: prop::sample::Index
    ) {
        let mut bytes = bytes_of(&packet(IPV4, segment));
        let bit = bit.index(bytes.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(decode(&bytes, Checks::Whole).is_err());
        let _ = decode(&bytes, Checks::Captured);
    }

    #[test]
    fn a_cut_packet_is_decoded_only_if_it_was_captured_and_its_headers_are_whole(
        segment in segments(), six: bool
    ) {
        let bytes = bytes_of(&packet(if six { IPV6 } else { IPV4 }, segment));
        let whole = decode(&bytes, Checks::Whole).unwrap();
        let headers = bytes.len() - usize::from(segment.len);
        for cut in 0..bytes.len() {
            let truncated = DecodeError { offset: cut, what: Fault::Truncated };
            prop_assert_eq!(decode(&bytes[..cut], Checks::Whole), Err(truncated));
            match decode(&bytes[..cut], Checks::Captured) {
                Ok(read) => {
                    prop_assert!(cut >= headers);
                    prop_assert_eq!(read.payload, &bytes[headers..cut]);
                    prop_assert_eq!(Decoded { payload: whole.payload, ..read }, whole);
                }
                Err(error) => {
                    prop_assert!(cut < headers);
                    prop_assert_eq!(error, truncated);
                }
            }
        }
    }
}

#[test]
fn octets_after_the_packet_are_not_part_of_it() {
    let mut bytes = bytes_of(&packet(IPV4, Segment { len: 3, ..stamped(Flags::ACK) }));
    let alone = decode(&bytes, Checks::Whole).unwrap().segment;
    // Octets of the link may follow the packet, such as the padding of a short Ethernet frame.
    bytes.extend([0xee; 6]);
    let padded = decode(&bytes, Checks::Whole).unwrap();
    assert_eq!((padded.segment, padded.payload), (alone, &[0; 3][..]));
}

#[test]
fn options_have_the_layout_of_linux() {
    const STAMPS: [u8; 10] = [8, 10, 1, 2, 3, 4, 5, 6, 7, 8];
    // RFC 7323 appendix A: two no-operations, then the timestamps.
    assert_eq!(tcp_of(stamped(Flags::ACK))[20..], [&[1, 1], &STAMPS[..]].concat());
    let mut sacked = Segment { flags: Flags::ACK, ..Segment::default() };
    sacked.set_sack(&blocks(1));
    let sack = [1, 1, 5, 10, 0, 0, 1, 0, 0, 0, 1, 9];
    assert_eq!(tcp_of(sacked)[20..], sack);
    let mut both = stamped(Flags::ACK);
    both.set_sack(&blocks(1));
    assert_eq!(tcp_of(both)[20..], [&[1, 1], &STAMPS[..], &sack].concat());
    let mut syn = stamped(Flags::SYN);
    let says = SynOptions { mss: Some(1460), window_scale: Some(7), sack: true };
    syn.set_syn_options(says);
    let (mss, scale) = ([2, 4, 5, 180], [1, 3, 3, 7]);
    assert_eq!(tcp_of(syn)[20..], [&mss[..], &[4, 2], &STAMPS, &scale].concat());
    let mut plain = Segment { flags: Flags::SYN, ..Segment::default() };
    plain.set_syn_options(says);
    assert_eq!(tcp_of(plain)[20..], [mss, [1, 1, 4, 2], scale].concat());
}

#[test]
fn header_sizes_include_the_options_and_their_padding() {
    let mut full = stamped(Flags::ACK);
    let sizes: Vec<u16> = (0..=3)
        .map(|count| {
            full.set_sack(&blocks(count));
            option_bytes(&full)
        })
        .collect();
    assert_eq!(sizes, [12, 24, 32, 40]);
    let mut bare = Segment { flags: Flags::ACK, ..Segment::default() };
    assert_eq!(header_bytes(&bare), 40);
    bare.set_sack(&blocks(3));
    assert_eq!(header_bytes(&bare), 40 + 28);
    let syn = |mss, window_scale, sack, stamps| {
        let mut syn = if stamps { stamped(Flags::SYN) } else { Segment::default() };
        syn.flags = Flags::SYN;
        syn.set_syn_options(SynOptions { mss, window_scale, sack });
        option_bytes(&syn)
    };
    assert_eq!(syn(Some(1460), None, false, false), 4);
    assert_eq!(syn(Some(1460), None, true, false), 8);
    assert_eq!(syn(Some(1460), Some(0), true, false), 12);
    assert_eq!(syn(Some(1460), Some(0), true, true), 20);
    assert_eq!(syn(None, None, false, true), 12);
}

/// A packet whose option area is `options`.
fn with_options(flags: Flags, options: &[u8]) -> Vec<u8> {
    let mut bytes = bytes_of(&packet(IPV4, Segment { flags, ..Segment::default() }));
    bytes.extend_from_slice(options);
    bytes[3] += u8::try_from(options.len()).unwrap();
    bytes[32] = u8::try_from(5 + options.len() / 4).unwrap() << 4;
    bytes
}

/// Decodes a packet whose option area is `options`. Returns the segment, and the offset of the
/// malformed option in `options`.
fn read_options(flags: Flags, options: &[u8]) -> (Segment, Option<usize>) {
    let bytes = with_options(flags, options);
    let read = decode(&bytes, Checks::Captured).unwrap();
    (read.segment, read.malformed_option.map(|at| at - 40))
}

#[test]
fn a_malformed_option_ends_the_reading_and_earlier_options_are_kept() {
    // RFC 9293 §3.1, MUST-7: an implementation must handle an illegal option length, such as zero.
    for length in [0, 1, 11] {
        let (read, malformed) = read_options(Flags::SYN, &[2, 4, 5, 180, 8, length, 0, 0]);
        assert_eq!(read.syn_options().mss, Some(1460));
        assert_eq!((read.timestamps(), malformed), (None, Some(4)));
    }
    // The kind is the last octet, so the length is missing.
    assert_eq!(read_options(Flags::SYN, &[2, 4, 5, 180, 1, 1, 1, 3]).1, Some(7));
    // Options after the end of the list do not count.
    let (read, malformed) = read_options(Flags::SYN, &[0, 2, 4, 5, 3, 3, 7, 9]);
    assert_eq!((read.syn_options(), malformed), (SynOptions::default(), None));
}

#[test]
fn unusable_options_are_skipped() {
    // RFC 9293 §3.1, MUST-6: an option that is not implemented is skipped by its length.
    let (read, malformed) = read_options(Flags::SYN, &[254, 4, 0, 0, 2, 3, 9, 2, 4, 5, 180, 0]);
    assert_eq!((read.syn_options().mss, malformed), (Some(1460), None));
    let (read, _) = read_options(Flags::ACK, &[2, 4, 5, 180, 4, 2, 3, 3, 7, 0, 0, 0]);
    assert_eq!(read.syn_options(), SynOptions::default());
    let sack = [5, 10, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0];
    assert_eq!(read_options(Flags::ACK, &sack).0.sack(), [SackBlock { left: 1, right: 2 }]);
    assert!(read_options(Flags::SYN, &sack).0.sack().is_empty());
    let odd = [5, 11, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0];
    assert!(read_options(Flags::ACK, &odd).0.sack().is_empty());
    // The MSS occurs twice, and the later MSS counts.
    let (read, _) = read_options(Flags::SYN, &[2, 4, 0, 1, 2, 4, 0, 2]);
    assert_eq!(read.syn_options().mss, Some(2));
}

#[test]
fn four_sack_blocks_are_read() {
    let mut options = vec![1, 1, 5, 34];
    (1..=8).for_each(|edge: u32| options.extend(edge.to_be_bytes()));
    let (read, malformed) = read_options(Flags::ACK, &options);
    let kept = [(1, 2), (3, 4), (5, 6), (7, 8)].map(|(left, right)| SackBlock { left, right });
    assert_eq!((read.sack(), malformed), (&kept[..], None));
}

#[test]
fn wrong_checksums_are_errors_except_in_captures() {
    let good = bytes_of(&packet(IPV4, stamped(Flags::ACK)));
    for (at, what) in [(10, Fault::IpChecksum), (36, Fault::TcpChecksum)] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        assert_eq!(decode(&bad, Checks::Whole), Err(DecodeError { offset: at, what }));
        assert!(decode(&bad, Checks::Captured).is_ok());
    }
    let mut six = bytes_of(&packet(IPV6, stamped(Flags::ACK)));
    six[56] ^= 1;
    let error = decode(&six, Checks::Whole).unwrap_err();
    assert_eq!((error.offset, error.what), (56, Fault::TcpChecksum));
    assert_eq!(error.to_string(), "the checksum of TCP is wrong, at octet 56");
}

#[test]
fn the_checksum_agrees_with_rfc_1071() {
    // RFC 1071 §3: these four words add up to ddf2.
    let example = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(checksum(0, &example), !0xddf2);
    // If the number of octets is odd, the last octet is the upper half of a word.
    assert_eq!(checksum(0, &[0x12]), !0x1200);
}

#[test]
fn each_fault_is_reported_with_its_octet() {
    let good = bytes_of(&packet(IPV4, Segment::default()));
    let six = bytes_of(&packet(IPV6, Segment::default()));
    let with = |good: &[u8], at: usize, octet: u8| {
        let mut bad = good.to_vec();
        bad[at] = octet;
        let error = decode(&bad, Checks::Captured).unwrap_err();
        (error.offset, error.what)
    };
    assert_eq!(with(&good, 0, 0x50), (0, Fault::Version(5)));
    assert_eq!(with(&good, 0, 0x44), (0, Fault::HeaderLength));
    assert_eq!(with(&good, 3, 39), (2, Fault::Length));
    assert_eq!(with(&good, 9, 17), (9, Fault::NotTcp(17)));
    // A packet with the flag "more fragments" or with an offset is a fragment. The flag "don't
    // fragment" does not make a packet a fragment.
    assert_eq!(with(&good, 6, 0x20), (6, Fault::Fragment));
    assert_eq!(with(&good, 7, 1), (6, Fault::Fragment));
    assert_eq!(good[6], 0x40);
    assert_eq!(with(&good, 32, 0x40), (32, Fault::HeaderLength));
    assert_eq!(with(&good, 32, 0x60), (32, Fault::HeaderLength));
    assert_eq!(with(&six, 6, 17), (6, Fault::NotTcp(17)));
    // The length field is zero, as in a jumbogram.
    assert_eq!(with(&six, 5, 0), (4, Fault::Length));
    assert_eq!(with(&six, 5, 19), (4, Fault::Length));
    // The length field is 65535. With the IPv6 header, the packet would be longer than 65535
    // octets.
    let long = [&six[..5], &[0xff], &six[6..]].concat();
    assert_eq!(with(&long, 4, 0xff), (4, Fault::Length));
    let error = decode(&[], Checks::Whole).unwrap_err();
    assert_eq!((error.offset, error.what), (0, Fault::Truncated));
}

/// An IPv6 packet with one extension header of the kind `kind`.
fn extended(kind: u8, header: [u8; 8]) -> Vec<u8> {
    let mut bytes = bytes_of(&packet(IPV6, Segment { len: 4, ..stamped(Flags::ACK) }));
    bytes[6] = kind;
    bytes[5] += 8;
    bytes.splice(40..40, header);
    bytes
}

#[test]
fn extension_headers_of_ipv6_are_skipped() {
    for kind in [0, 43, 44, 60] {
        let bytes = extended(kind, [6, 0, 0, 0, 0, 0, 0, 0]);
        let read = decode(&bytes, Checks::Whole).unwrap();
        assert_eq!(read.segment.timestamps(), stamped(Flags::ACK).timestamps());
        assert_eq!(
            (read.payload, usize::from(read.segment.size_bytes)),
            (&[0; 4][..], bytes.len())
        );
    }
    let refused = |kind, header| {
        let error = decode(&extended(kind, header), Checks::Whole).unwrap_err();
        (error.offset, error.what)
    };
    assert_eq!(refused(44, [6, 0, 0, 8, 0, 0, 0, 0]), (42, Fault::Fragment));
    assert_eq!(refused(44, [6, 0, 0, 1, 0, 0, 0, 0]), (42, Fault::Fragment));
    assert_eq!(refused(43, [6, 0, 4, 1, 0, 0, 0, 0]), (43, Fault::Routed));
    assert_eq!(refused(60, [58, 0, 0, 0, 0, 0, 0, 0]), (40, Fault::NotTcp(58)));
}

#[test]
fn the_authentication_header_counts_its_length_in_words() {
    // RFC 4302 §2.2: the length of the header is in words, minus two.
    let mut bytes = extended(51, [6, 2, 0, 0, 0, 0, 0, 9]);
    bytes[5] += 8;
    bytes.splice(48..48, [0; 8]);
    assert_eq!(decode(&bytes, Checks::Whole).unwrap().payload, [0; 4]);
}

/// RFC 8200 §8.1: the checksum covers the last destination, even if the fixed header has another
/// destination.
#[test]
fn the_destination_is_the_last_address_of_the_routing_header() {
    let whole = bytes_of(&packet(IPV6, Segment { len: 4, ..stamped(Flags::ACK) }));
    let (last, stop) = (whole[24..40].to_vec(), [7; 16]);
    let routed = |kind: u8, addresses: &[&[u8]]| {
        let count = u8::try_from(addresses.len()).unwrap();
        let mut bytes = whole.clone();
        bytes[24..40].copy_from_slice(&stop);
        let header = [&[6, 2 * count, kind, 1, 0, 0, 0, 0], &addresses.concat()[..]].concat();
        (bytes[5], bytes[6]) = (bytes[5] + header.len() as u8, 43);
        bytes.splice(40..40, header);
        bytes
    };
    for bytes in [
        routed(0, &[&stop, &last]),
        routed(2, &[&last]),
        // Segment routing lists the last destination first (RFC 8754 §2).
        routed(4, &[&last, &stop]),
    ] {
        let read = decode(&bytes, Checks::Whole).unwrap();
        assert_eq!(read.destination, IPV6[1].parse().unwrap());
    }
    let error = decode(&routed(3, &[&last]), Checks::Whole).unwrap_err();
    assert_eq!((error.offset, error.what), (43, Fault::Routed));
}

/// If the network card divides a packet after the capture, the length field of the captured packet
/// may be zero. In this test, 60 octets of payload of each packet were captured.
#[test]
fn if_the_length_field_is_zero_the_length_on_the_link_counts() {
    for (ends, at, ip_bytes) in [(IPV4, 2, 20), (IPV6, 4, 40)] {
        let mut bytes = bytes_of(&packet(ends, Segment { len: 60, ..stamped(Flags::ACK) }));
        bytes[at..at + 2].fill(0);
        let view = TcpView::of(&bytes, 65_000 + bytes.len()).unwrap();
        assert_eq!((view.payload_bytes, view.captured_bytes), (65_060, 60));
        assert_eq!(view.size_bytes as usize, ip_bytes + 32 + 65_060);
        let error = decode(&bytes, Checks::Captured).unwrap_err();
        assert_eq!((error.offset, error.what), (at, Fault::Length));
        // The length on the link must be at least the length of the headers.
        let error = TcpView::of(&bytes, ip_bytes + 19).unwrap_err();
        assert_eq!((error.offset, error.what), (at, Fault::Length));
    }
}

/// RFC 2675 §2: the length includes the extension header, and is too large for 16 bits.
#[test]
fn the_length_of_a_jumbogram_is_read_from_its_option() {
    let jumbo = |length: u32| {
        let [a, b, c, d] = length.to_be_bytes();
        let mut bytes = extended(0, [6, 0, 0xc2, 4, a, b, c, d]);
        bytes[4..6].fill(0);
        bytes
    };
    let bytes = jumbo(8 + 32 + 100_000);
    let view = TcpView::of(&bytes, 100_100).unwrap();
    assert_eq!((view.payload_bytes, view.captured_bytes, view.seq), (100_000, 4, 0));
    // The length in the option exceeds the length on the link.
    let error = TcpView::of(&bytes, 100_079).unwrap_err();
    assert_eq!((error.offset, error.what), (4, Fault::Length));
    // A jumbogram's length that fits into 16 bits is ignored, so the length on the link counts.
    let view = TcpView::of(&jumbo(500), 1080).unwrap();
    assert_eq!(view.payload_bytes, 1000);
}

#[test]
fn the_view_reads_the_captured_fields_of_a_cut_tcp_header() {
    for ends in [IPV4, IPV6] {
        let segment = Segment { seq: 9, ack: 8, len: 50, window: 77, ..stamped(Flags::ACK) };
        let bytes = bytes_of(&packet(ends, segment));
        let tcp_at = bytes.len() - 50 - 32;
        let whole = TcpView::of(&bytes, bytes.len()).unwrap();
        assert_eq!((whole.header_bytes, whole.options.whole), (32, true));
        for there in 0..32 {
            let cut = TcpView::of(&bytes[..tcp_at + there], bytes.len());
            let Ok(view) = cut else {
                let truncated = DecodeError { offset: tcp_at + there, what: Fault::Truncated };
                assert_eq!((there < 14, cut.unwrap_err()), (true, truncated));
                continue;
            };
            assert_eq!((usize::from(view.header_bytes), view.options.whole), (there, false));
            assert_eq!((view.seq, view.ack, view.flags), (9, 8, Flags::ACK));
            assert_eq!(view.window, if there < 16 { 0 } else { 77 });
            assert_eq!((view.payload_bytes, view.captured_bytes), (50, 0));
            assert_eq!(view.options.timestamps, None);
        }
    }
}

proptest! {
    /// [`PlainSegment`] and [`TcpView`] must find the same fields in a packet.
    #[test]
    fn a_plain_segment_has_the_fields_that_the_view_of_the_packet_has(
        six: bool, flags: u8, plain in 0_u8..8, stamps: bool, numbers: [u32; 2], len in 0_u16..300,
        changes in vec((0_usize..80, any::<u8>()), 0..3), cut in 0_usize..400
    ) {
        let flags = if plain > 0 { Flags::ACK.with(Flags(flags & 8)) } else { Flags(flags) };
        let [seq, ack] = numbers;
        let mut segment = Segment { seq, ack, len, window: 77, flags, ..Segment::default() };
        if stamps {
            segment.set_timestamps(Timestamps { val: ack, ecr: seq });
        }
        let ends = if six { IPV6 } else { IPV4 };
        let mut bytes = bytes_of(&packet(ends, segment));
        let changed = !changes.is_empty();
        for (at, octet) in changes {
            let last = bytes.len() - 1;
            bytes[at.min(last)] = octet;
        }
        let original_bytes = bytes.len() as u32;
        let ip = CapturedIp { bytes: &bytes[..cut.min(bytes.len())], original_bytes };
        let view = TcpView::of(ip.bytes, original_bytes as usize);
        if let Some((ends, found)) = PlainSegment::of(ip) {
            let view = view.unwrap();
            prop_assert!(!view.header_is_cut());
            let mut datagrams = Datagrams::default();
            prop_assert_eq!(datagrams.take(0, ip), Some(ip));
            prop_assert_eq!(ends.sockets(), view.ends);
            prop_assert_eq!(fields(&found), fields(&view));
        } else {
            prop_assert!(plain == 0 || changed || cut < bytes.len());
        }
    }
}

/// The fields of a captured segment, as text. The urgent pointer is left out, because a plain
/// segment does not store it.
fn fields(segment: &impl CapturedTcp) -> String {
    let numbers = (segment.seq(), segment.ack(), segment.len(), segment.captured_bytes());
    let other = (segment.flags(), segment.window(), segment.advertised(), segment.size_bytes());
    let options = (segment.timestamps(), segment.syn_options(), segment.options_whole());
    format!(
        "{:?}",
        (numbers, other, options, segment.sack(), segment.ip_id(), segment.flow_label())
    )
}

#[test]
#[should_panic(expected = "one family")]
fn encoding_panics_if_the_addresses_are_of_two_families() {
    bytes_of(&packet([IPV4[0], IPV6[1]], Segment::default()));
}

#[test]
#[should_panic(expected = "length")]
fn encoding_panics_if_the_payload_is_shorter_than_the_segment_says() {
    let payload = Some(&[1, 2][..]);
    bytes_of(&Packet { payload, ..packet(IPV4, Segment { len: 3, ..Segment::default() }) });
}
