//! Tests that compare the encoder and the decoder with an independent reader, the library
//! etherparse.

use std::net::Ipv4Addr;

use etherparse::{
    IcmpEchoHeader, Icmpv4Header, Icmpv4Type, NetSlice, SlicedPacket, TcpOptionElement,
    TransportSlice,
};
use proptest::collection::vec;
use proptest::prelude::*;

use super::super::*;
use super::{bytes_of, ends, segments};
use crate::segment::{Ecn, Flags, SackBlock, SackBlocks, Segment, SynOptions, Timestamps};

/// Stores `options`, which etherparse has read, in `segment`.
fn options_by_etherparse(options: &[TcpOptionElement], segment: &mut Segment) {
    let (mut syn, mut sack) = (SynOptions::default(), SackBlocks::default());
    for option in options {
        match *option {
            TcpOptionElement::MaximumSegmentSize(mss) => syn.mss = Some(mss),
            TcpOptionElement::WindowScale(shift) => syn.window_scale = Some(shift),
            TcpOptionElement::SelectiveAcknowledgementPermitted => syn.sack = true,
            TcpOptionElement::Timestamp(val, ecr) => {
                segment.set_timestamps(Timestamps { val, ecr })
            }
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                let edges = [Some(first), rest[0], rest[1], rest[2]].into_iter().flatten();
                edges.for_each(|(left, right)| sack.add(SackBlock { left, right }));
            }
            TcpOptionElement::Noop => {}
        }
    }
    if segment.flags.has(Flags::SYN) {
        segment.set_syn_options(syn);
    } else {
        segment.set_sack(&sack);
    }
}

/// The segment in `bytes` as etherparse reads it, and its payload.
fn by_etherparse(bytes: &[u8]) -> (Segment, Vec<u8>) {
    let read = SlicedPacket::from_ip(bytes).unwrap();
    let Some(TransportSlice::Tcp(tcp)) = &read.transport else { panic!("no TCP") };
    let header = tcp.to_header();
    let (ecn, sum) = match read.net.as_ref().unwrap() {
        NetSlice::Ipv4(ip) => {
            let ip = ip.header().to_header();
            assert_eq!(ip.header_checksum, ip.calc_header_checksum());
            assert_eq!((ip.time_to_live, ip.dont_fragment, ip.more_fragments), (64, true, false));
            assert_eq!((ip.dscp.value(), ip.fragment_offset.value()), (0, 0));
            (ip.ecn as u8, header.calc_checksum_ipv4(&ip, tcp.payload()))
        }
        NetSlice::Ipv6(ip) => {
            let ip = ip.header().to_header();
            assert_eq!((ip.hop_limit, ip.flow_label.value()), (64, 0));
            (ip.traffic_class, header.calc_checksum_ipv6(&ip, tcp.payload()))
        }
        _ => panic!("no IP"),
    };
    assert_eq!(header.checksum, sum.unwrap());
    let mut segment = Segment {
        seq: header.sequence_number,
        ack: header.acknowledgment_number,
        len: tcp.payload().len().try_into().unwrap(),
        size_bytes: bytes.len().try_into().unwrap(),
        window: header.window_size,
        flags: Flags(tcp.slice()[13]),
        ecn: Ecn::from_bits(ecn),
        ..Segment::default()
    };
    let options: Vec<_> = tcp.options_iterator().map(Result::unwrap).collect();
    options_by_etherparse(&options, &mut segment);
    (segment, tcp.payload().to_vec())
}

proptest! {
    #[test]
    fn etherparse_and_our_decoder_read_the_same_segment(
        segment in segments(), (source, destination) in ends()
    ) {
        let bytes =
            bytes_of(&Packet { source, destination, ip_id: 1, segment, payload: None });
        let (theirs, payload) = by_etherparse(&bytes);
        let ours = decode(&bytes, Checks::Whole).unwrap();
        prop_assert_eq!(theirs, ours.segment);
        prop_assert_eq!(payload, ours.payload);
    }

    #[test]
    fn etherparse_reads_the_encoded_echo_message(
        reply: bool, ip_id: u16, identifier: u16, sequence: u16, len in 0_u16..100
    ) {
        let [source, destination] = [Ipv4Addr::new(10, 0, 0, 1), Ipv4Addr::new(10, 0, 0, 2)];
        let echo = EchoPacket { source, destination, ip_id, reply, identifier, sequence, len };
        let mut bytes = Vec::new();
        encode_echo(&echo, &mut bytes);
        let read = SlicedPacket::from_ip(&bytes).unwrap();
        let (Some(NetSlice::Ipv4(ip)), Some(TransportSlice::Icmpv4(icmp))) =
            (read.net, read.transport)
        else {
            panic!("no ICMP")
        };
        let ip = ip.header().to_header();
        prop_assert_eq!((ip.identification, ip.header_checksum), (ip_id, ip.calc_header_checksum()));
        let header = IcmpEchoHeader { id: identifier, seq: sequence };
        let kind = if reply { Icmpv4Type::EchoReply(header) } else { Icmpv4Type::EchoRequest(header) };
        prop_assert_eq!(icmp.header(), Icmpv4Header::with_checksum(kind, icmp.payload()));
        prop_assert_eq!(icmp.payload(), vec![0; len.into()]);
    }

    #[test]
    fn well_formed_options_are_read_as_etherparse_reads_them(
        area in vec(any::<u8>(), 0..=10), syn: bool
    ) {
        let mut options: Vec<u8> = area.iter().map(|octet| octet % 12).collect();
        options.resize(options.len().next_multiple_of(4), 0);
        let flags = if syn { Flags::SYN } else { Flags::ACK };
        let mut segment = Segment { flags, ..Segment::default() };
        let malformed = options::read_options(&options, &mut segment);
        let mut theirs = Segment { flags, ..Segment::default() };
        let all: Vec<_> = etherparse::TcpOptionsIterator::from_slice(&options).collect();
        if all.iter().all(Result::is_ok) {
            let all: Vec<_> = all.into_iter().flatten().collect();
            options_by_etherparse(&all, &mut theirs);
            prop_assert_eq!(segment, theirs);
            prop_assert_eq!(malformed, None);
        }
        prop_assert!(malformed.is_none_or(|at| at < options.len()));
    }
}
