//! Tests of datagrams that are reassembled from captured fragments.

use proptest::prelude::*;

use super::*;
use crate::segment::{Ecn, Flags, Segment, Timestamps};
use crate::wire::{Checks, Packet, TcpView, cut, decode, encode, set_ecn};

const SECOND: i64 = 1_000_000_000;

/// An IPv4 packet, or an IPv6 packet if `six` is true. It carries a TCP segment with timestamps and
/// `len` octets of payload. The value of each octet depends on its offset.
fn packet(six: bool, ip_id: u16, len: u16) -> Vec<u8> {
    let ends = match six {
        false => ["10.0.0.1:5001", "10.0.0.2:80"],
        true => ["[2001:db8::1]:5001", "[2001:db8::2]:80"],
    };
    let [source, destination] = ends.map(|end| end.parse().unwrap());
    let mut segment = Segment { seq: 7, len, flags: Flags::ACK, ..Segment::default() };
    segment.set_timestamps(Timestamps { val: 1, ecr: 2 });
    let payload: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
    let mut bytes = Vec::new();
    let payload = Some(&payload[..]);
    encode(&Packet { source, destination, ip_id, segment, payload }, &mut bytes);
    if !six {
        // This clears the flag "don't fragment".
        bytes[6] = 0;
        set_ecn(&mut bytes, Ecn::NOT_ECT);
    }
    bytes
}

/// Returns the fragments of a packet. Each fragment before the last fragment has `step` octets of
/// payload.
fn parts(whole: &[u8], step: usize) -> Vec<Vec<u8>> {
    let length = whole.len() - if whole[0] >> 4 == 6 { 40 } else { 20 };
    let ranges = (0..length).step_by(step).map(|from| from..(from + step).min(length));
    ranges
        .map(|range| match whole[0] >> 4 {
            6 => part_of_ipv6(whole, range),
            _ => {
                let mut part = Vec::new();
                cut(whole, range, &mut part);
                part
            }
        })
        .collect()
}

/// Returns the fragment that carries the octets `range` after the fixed header of an IPv6 packet.
/// By RFC 8200 §4.5, the fixed header names the fragment header, and the fragment header names the
/// header after it.
fn part_of_ipv6(whole: &[u8], range: core::ops::Range<usize>) -> Vec<u8> {
    let more = u8::from(range.end < whole.len() - 40);
    let [high, low] = u16::try_from(range.start).unwrap().to_be_bytes();
    let mut part = whole[..40].to_vec();
    part.extend([whole[6], 0, high, low | more, 0, 0, 0, 9]);
    part.extend(&whole[40..][range]);
    part[6] = 44;
    let length = u16::try_from(part.len() - 40).unwrap();
    part[4..6].copy_from_slice(&length.to_be_bytes());
    part
}

/// Gives `datagrams` the first `snap` octets of the packet `bytes`, captured `at` nanoseconds after
/// the start of 1970. Returns what `datagrams` returns.
fn take_cut(datagrams: &mut Datagrams, at: i64, bytes: &[u8], snap: usize) -> Option<Vec<u8>> {
    let original_bytes = u32::try_from(bytes.len()).unwrap();
    let bytes = &bytes[..bytes.len().min(snap)];
    datagrams.take(at, CapturedIp { bytes, original_bytes }).map(|whole| whole.bytes.to_vec())
}

/// Does the same as [`take_cut`] with the whole packet.
fn take(datagrams: &mut Datagrams, at: i64, bytes: &[u8]) -> Option<Vec<u8>> {
    take_cut(datagrams, at, bytes, usize::MAX)
}

#[test]
fn a_packet_that_is_not_a_fragment_of_tcp_is_returned_unchanged() {
    let mut datagrams = Datagrams::default();
    let mut other = parts(&packet(false, 1, 400), 64)[1].clone();
    other[9] = 17;
    let mut atomic = parts(&packet(true, 1, 400), 1000)[0].clone();
    assert_eq!(atomic[6], 44);
    for bytes in [packet(false, 1, 10), packet(true, 1, 10), other, vec![], vec![0x45], vec![0x60]]
    {
        assert_eq!(take(&mut datagrams, 0, &bytes), Some(bytes));
    }
    assert_eq!(take(&mut datagrams, 0, &atomic), Some(atomic.clone()));
    atomic.truncate(44);
    assert_eq!(take(&mut datagrams, 0, &atomic), Some(atomic));
    assert_eq!(datagrams.counts(), FragmentCounts::default());
}

#[test]
fn the_datagram_is_delivered_with_the_fragment_that_completes_it() {
    for six in [false, true] {
        let whole = packet(six, 9, 300);
        let parts = parts(&whole, 8);
        let mut datagrams = Datagrams::default();
        for part in parts[1..].iter().rev() {
            assert_eq!(take(&mut datagrams, 0, part), None);
        }
        let joined = take(&mut datagrams, SECOND, &parts[0]).unwrap();
        assert_eq!(joined, whole);
        assert_eq!(decode(&joined, Checks::Whole), decode(&whole, Checks::Whole));
        let counts = FragmentCounts { fragments: 42, datagrams: 1, ..FragmentCounts::default() };
        assert_eq!((datagrams.counts(), datagrams.waiting()), (counts, 0));
        assert_eq!(datagrams.held_bytes, 0);
    }
}

/// If one fragment has a congestion mark, the datagram has the mark (RFC 3168 §5.3).
#[test]
fn a_mark_on_one_fragment_marks_the_datagram() {
    for six in [false, true] {
        let mut parts = parts(&packet(six, 9, 300), 128);
        set_ecn(&mut parts[1], Ecn::CE);
        let mut datagrams = Datagrams::default();
        let joined = parts.iter().find_map(|part| take(&mut datagrams, 0, part)).unwrap();
        assert_eq!(decode(&joined, Checks::Whole).unwrap().segment.ecn, Ecn::CE);
    }
}

#[test]
fn if_fragments_were_cut_short_their_datagram_ends_at_the_first_gap() {
    for (six, header) in [(false, 20), (true, 40)] {
        let whole = packet(six, 9, 1400);
        let parts = parts(&whole, 720);
        let mut datagrams = Datagrams::default();
        let snap = header + 8 + 60;
        let mut joined = None;
        for part in &parts {
            let original_bytes = u32::try_from(part.len()).unwrap();
            let ip = CapturedIp { bytes: &part[..snap], original_bytes };
            if let Some(ip) = datagrams.take(0, ip) {
                let view = TcpView::of(ip.bytes, ip.original_bytes as usize).unwrap();
                assert_eq!((view.payload_bytes, view.seq), (1400, 7));
                assert_eq!(ip.original_bytes as usize, whole.len());
                joined = Some(ip.bytes.to_vec());
            }
        }
        let length = if six { 40 + 60 } else { snap };
        assert_eq!(joined.unwrap(), whole[..length]);
    }
}

#[test]
fn a_datagram_waits_less_than_a_minute_for_its_fragments() {
    let parts = parts(&packet(false, 9, 300), 200);
    for (wait, complete) in [(60 * SECOND - 1, true), (60 * SECOND, false)] {
        let mut datagrams = Datagrams::default();
        take(&mut datagrams, 5, &parts[0]);
        assert_eq!(take(&mut datagrams, 5 + wait, &parts[1]).is_some(), complete);
        assert_eq!(datagrams.counts().given_up, u64::from(!complete));
    }
}

#[test]
fn the_oldest_datagrams_are_given_up_if_memory_is_short() {
    let mut datagrams = Datagrams::default();
    let whole = packet(false, 0, 60_000);
    for id in 0..1000_u16 {
        let mut first = parts(&whole, 59_000)[0].clone();
        first[4..6].copy_from_slice(&id.to_be_bytes());
        assert_eq!(take(&mut datagrams, 0, &first), None);
        assert!(datagrams.held_bytes <= Datagrams::MOST_BYTES);
        let costs = datagrams.partial.values().map(|(_, partial)| partial.cost_bytes());
        assert_eq!(costs.sum::<usize>(), datagrams.held_bytes);
    }
    let waiting = datagrams.waiting();
    assert!((60..=71).contains(&waiting), "{waiting}");
    assert_eq!(datagrams.counts().given_up, 1000 - waiting as u64);
    let last = &mut parts(&whole, 59_000)[1];
    last[4..6].copy_from_slice(&999_u16.to_be_bytes());
    assert!(take(&mut datagrams, 0, last).is_some(), "the newest datagram is not given up");
}

#[test]
fn malformed_fragments_are_counted_and_not_used() {
    let parts = parts(&packet(false, 9, 300), 160);
    let mut odd = parts[0].clone();
    odd[3] -= 1;
    let mut beyond = parts[1].clone();
    (beyond[6], beyond[7]) = (0x1f, 0xff);
    let mut empty = parts[0].clone();
    empty[3] = 20;
    let mut long_header = parts[0].clone();
    long_header[0] = 0x4f;
    let mut datagrams = Datagrams::default();
    for bad in [&odd, &beyond, &empty, &long_header[..50].to_vec()] {
        assert_eq!(take(&mut datagrams, 0, bad), None);
    }
    assert_eq!(datagrams.counts(), FragmentCounts { malformed: 4, ..FragmentCounts::default() });
}

/// Fragments of an IPv6 datagram must not overlap (RFC 5722 §3).
#[test]
fn copies_of_fragments_are_allowed_and_overlaps_in_ipv6_are_refused() {
    let whole = packet(true, 9, 300);
    let (wide, narrow) = (parts(&whole, 160), parts(&whole, 104));
    let mut datagrams = Datagrams::default();
    take(&mut datagrams, 0, &wide[0]);
    take(&mut datagrams, 0, &wide[0]);
    assert_eq!(take(&mut datagrams, 0, &narrow[1]), None);
    assert_eq!((datagrams.counts().given_up, datagrams.waiting()), (1, 0));
    take(&mut datagrams, 0, &wide[0]);
    take(&mut datagrams, 0, &wide[0]);
    take(&mut datagrams, 0, &wide[2]);
    assert_eq!(take(&mut datagrams, 0, &wide[1]).as_deref(), Some(&whole[..]));
    // Two last fragments with different beginnings overlap.
    take(&mut datagrams, 0, &wide[2]);
    assert_eq!(take(&mut datagrams, 0, &narrow[3]), None);
    assert_eq!((datagrams.counts().given_up, datagrams.waiting()), (2, 0));
    assert_eq!(datagrams.held_bytes, 0);
}

#[test]
fn a_reassembled_datagram_keeps_the_order_of_its_extension_headers() {
    let mut whole = packet(true, 9, 300);
    whole.splice(40..40, [6, 0, 1, 4, 0, 0, 0, 0]);
    (whole[4], whole[5], whole[6]) = (1, 84, 60);
    // Hop-by-hop options come before the fragment header, and destination options come after it.
    let hop = [44, 0, 1, 4, 0, 0, 0, 0];
    let mut datagrams = Datagrams::default();
    let mut joined = None;
    for mut part in parts(&whole, 104) {
        part.splice(40..40, hop);
        (part[5], part[6]) = (part[5] + 8, 0);
        joined = joined.or(take(&mut datagrams, 0, &part));
    }
    let joined = joined.unwrap();
    assert_eq!((joined[6], joined[40], joined.len()), (0, 60, whole.len() + 8));
    let read = decode(&joined, Checks::Whole).unwrap();
    assert_eq!((read.segment.len, read.payload.len()), (300, 300));
}

proptest! {
    #[test]
    fn fragments_in_any_order_with_copies_make_the_packet(
        six: bool, len in 1_u16..3000, units in 1_usize..200,
        order in proptest::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let whole = packet(six, 9, len);
        let parts = parts(&whole, units * 8);
        prop_assume!(parts.len() > 1);
        let mut datagrams = Datagrams::default();
        let shuffled = order.iter().map(|index| index.get(&parts)).chain(&parts);
        let first = shuffled.into_iter().find_map(|part| take(&mut datagrams, 0, part));
        prop_assert_eq!(first, Some(whole));
    }

    #[test]
    fn hostile_fragments_cause_no_panic_and_their_memory_is_counted(
        six: bool, marks in proptest::collection::vec((0_usize..4, 0_usize..60, any::<u8>()), 0..30),
        snap in 0_usize..300, gap in 0_i64..70,
    ) {
        let parts = parts(&packet(six, 9, 300), 88);
        let mut datagrams = Datagrams::default();
        for (n, (part, at, octet)) in (0..).zip(marks) {
            let mut part = parts[part % parts.len()].clone();
            part[at] = octet;
            let time = n * gap * SECOND;
            if let Some(joined) = take_cut(&mut datagrams, time, &part, snap) {
                let _ = TcpView::of(&joined, 400);
            }
        }
        let costs = datagrams.partial.values().map(|(_, partial)| partial.cost_bytes());
        prop_assert_eq!(costs.sum::<usize>(), datagrams.held_bytes);
        prop_assert_eq!(datagrams.partial.len(), datagrams.order.len());
    }
}
