//! Tests of the initial window in the table `connections`. The times of the made-up captures are in
//! milliseconds, and the round trip is 100 ms.

use super::{data, explained, table};
use crate::record::Data;
use crate::segment::{Flags, Segment};

/// A packet: the index of the side that sends it, its time, and its segment.
type Sent = (usize, u64, Segment);

/// The initial windows of both directions in segments, if a capture has the handshake and `rest`.
/// The capture was taken beside the initiator (`beside` is 0) or beside the other end.
fn initial_windows(beside: usize, rest: &[Sent]) -> [Option<i64>; 2] {
    let syn = Segment { flags: Flags::SYN, window: 65_000, ..Segment::default() };
    let syn_ack = Segment { flags: Flags::SYN.with(Flags::ACK), ack: 1, ..syn };
    let answered = if beside == 0 { 100 } else { 0 };
    let mut packets = vec![(0, 0, syn), (1, answered, syn_ack), (0, 100, data(1, 0))];
    packets.extend(rest);
    let found = table(&explained(&packets), "connections");
    let Data::Narrow(narrow) = found.column("initial_window_packets").unwrap() else {
        panic!("the column has another type")
    };
    let Data::OptionalI64(cells) = narrow.wide() else { panic!("other numbers") };
    let cells: Vec<_> = cells.iter().collect();
    [cells[0], cells[1]]
}

/// The segments with the numbers in `numbers`, each with 1000 octets, sent at the instant `at`.
fn segments(numbers: std::ops::Range<u32>, at: u64) -> impl Iterator<Item = Sent> {
    numbers.map(move |number| (0, at, data(1 + 1000 * number, 1000)))
}

/// An acknowledgment of the first `count` segments, captured at the instant `at`.
fn ack(count: u32, at: u64) -> Sent {
    let ack = 1 + 1000 * count;
    (1, at, Segment { seq: 1, ack, flags: Flags::ACK, window: 65_000, ..Segment::default() })
}

/// The initial window of a sender beside the capture. `flights` has the numbers of the segments of
/// each flight, and its time. At the end, all segments are acknowledged.
fn window_of(flights: &[(std::ops::Range<u32>, u64)]) -> Option<i64> {
    let mut packets: Vec<_> =
        flights.iter().flat_map(|(numbers, at)| segments(numbers.clone(), *at)).collect();
    let (last, at) = flights.last().unwrap();
    packets.push(ack(last.end, at + 100));
    initial_windows(0, &packets)[0]
}

#[test]
fn the_initial_window_is_what_was_sent_before_the_first_acknowledgment_of_data() {
    let mut packets: Vec<_> = segments(0..10, 101).collect();
    packets.push(ack(2, 201));
    packets.extend(segments(10..14, 202));
    assert_eq!(initial_windows(0, &packets)[0], Some(10));
}

/// RFC 8985 §7.3: a tail loss probe may carry new data.
#[test]
fn a_probe_with_new_data_is_not_in_the_initial_window() {
    assert_eq!(window_of(&[(0..10, 101), (10..11, 320), (11..12, 321)]), Some(10));
}

#[test]
fn new_data_after_a_timeout_is_not_in_the_initial_window() {
    assert_eq!(window_of(&[(0..3, 101), (0..1, 401), (3..5, 402)]), Some(3));
}

/// RFC 3042: the first two duplicate ACKs let a sender send new data.
#[test]
fn data_that_a_duplicate_ack_triggers_is_not_in_the_initial_window() {
    let mut packets: Vec<_> = segments(0..4, 101).collect();
    packets.extend([ack(0, 202), ack(0, 203)]);
    packets.extend(segments(4..6, 203));
    packets.push(ack(6, 303));
    // The first ACK of the peer gives the window. The second one repeats it.
    assert_eq!(initial_windows(0, &packets)[0], Some(4));
}

/// Beside the receiver, each segment is acknowledged before the next segment comes.
#[test]
fn the_initial_window_is_known_only_beside_the_sender() {
    let packets: Vec<_> = (0..10)
        .flat_map(|n| {
            segments(n..n + 1, 101 + u64::from(n)).chain([ack(n + 1, 101 + u64::from(n))])
        })
        .collect();
    assert_eq!(initial_windows(1, &packets), [None, Some(0)]);
}
