//! Tests of the observers of one direction, of connections and of rounds.

use proptest::prelude::*;

use super::*;
use crate::ids::Side;
use crate::ranges::Ranges;
use crate::segment::{Flags, SackBlock, SackBlocks, Segment};
use crate::units::{Duration, Time};

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn at(count: u64) -> Time {
    Time::ZERO + ms(count)
}

/// A segment of 100 octets that begins with the sequence number `seq`.
fn data(seq: u32) -> Segment {
    Segment { seq, len: 100, size_bytes: 140, flags: Flags::ACK, ..Segment::default() }
}

/// An ACK with the acknowledgment number `ack` and these SACK blocks.
fn ack(ack: u32, blocks: &[(u32, u32)]) -> Segment {
    let mut segment = Segment { ack, flags: Flags::ACK, ..Segment::default() };
    let mut sack = SackBlocks::default();
    blocks.iter().for_each(|&(left, right)| sack.add(SackBlock { left, right }));
    if !blocks.is_empty() {
        segment.set_sack(&sack);
    }
    segment
}

/// Returns a direction in which segments of 100 octets, from octet 1 on, were sent at these
/// milliseconds.
fn sent(times: &[u64]) -> OneWay {
    let mut way = OneWay::new(Sequence::default().sent_to(1));
    for (n, time) in (0..).zip(times) {
        way.sent(at(*time), &data(1 + 100 * n), ());
    }
    way
}

/// Returns the instant at which the segment that gave the sample of `answer` was sent. `None` if
/// there is no sample, or if the sample is ambiguous.
fn timed(answer: &Answer) -> Option<Time> {
    answer.sample.filter(|sample| !sample.ambiguous).map(|sample| sample.sent)
}

/// RFC 7323 §4.3: the receiver echoes the timestamp of the earliest segment that was not
/// acknowledged yet, so that the round trip includes the delay of the acknowledgment.
#[test]
fn an_ack_gives_the_sample_of_the_oldest_segment_that_it_newly_covers() {
    let mut way = sent(&[0, 5, 9]);
    let answer = way.answered(at(25), &ack(201, &[]));
    assert_eq!((timed(&answer), answer.acked_bytes), (Some(at(0)), 200));
    let sample = answer.sample.unwrap();
    assert_eq!((sample.rtt, sample.wire_bytes, sample.flight_bytes), (ms(25), 140, 100));
    assert_eq!(way.answered(at(26), &ack(201, &[])), Answer::default());
    assert_eq!(timed(&way.answered(at(30), &ack(301, &[]))), Some(at(9)));
}

/// RFC 6298 §3: "RTT samples MUST NOT be made using segments that were retransmitted (and thus for
/// which it is ambiguous whether the reply was for the first instance of the packet or a later
/// instance)". Linux takes no sample of such an ACK (`FLAG_RETRANS_DATA_ACKED`).
#[test]
fn a_sample_is_ambiguous_if_its_ack_covers_retransmitted_octets() {
    let mut way = sent(&[0, 5, 9]);
    assert!(way.sent(at(50), &data(1), ()).unwrap().again);
    let sample = way.answered(at(80), &ack(201, &[])).sample.unwrap();
    assert_eq!((sample.ambiguous, sample.sent, sample.retransmissions), (true, at(0), 1));
    assert_eq!(
        timed(&way.answered(at(82), &ack(301, &[]))),
        Some(at(9)),
        "the segment was sent once"
    );
    assert_eq!(way.retransmissions(), 1);
}

/// The segment from octet 101 on was lost before it reached the observer, and its retransmission
/// looks like a late original. The segments above it waited for it at the receiver.
#[test]
fn a_sample_is_ambiguous_if_its_ack_waited_for_a_segment_that_came_late() {
    let mut way = sent(&[0]);
    way.sent(at(5), &data(201), ());
    way.sent(at(9), &data(301), ());
    assert_eq!(timed(&way.answered(at(20), &ack(101, &[]))), Some(at(0)));
    way.sent(at(400), &data(101), ());
    let answer = way.answered(at(401), &ack(301, &[]));
    assert!(answer.sample.unwrap().ambiguous, "the ACK waited for the segment of 400 ms");
    assert_eq!(timed(&way.answered(at(402), &ack(401, &[]))), Some(at(9)));
}

/// If the acknowledgment number gives no time (`first_ackt`), Linux uses the time of the first
/// segment that SACK newly reports (`first_sackt`).
#[test]
fn a_sack_block_gives_the_sample_of_the_oldest_segment_that_it_newly_reports() {
    let mut way = sent(&[0, 5, 9, 12, 15]);
    assert_eq!(timed(&way.answered(at(30), &ack(1, &[(201, 301)]))), Some(at(9)));
    assert_eq!(
        timed(&way.answered(at(31), &ack(1, &[(201, 301)]))),
        None,
        "the block reports nothing new"
    );
    assert_eq!(timed(&way.answered(at(32), &ack(1, &[(201, 401)]))), Some(at(12)));
    way.sent(at(40), &data(1), ());
    way.sent(at(41), &data(101), ());
    // The ACK covers the retransmission, and a block reports new octets.
    let answer = way.answered(at(60), &ack(101, &[(201, 501)]));
    assert_eq!((timed(&answer), answer.acked_bytes), (Some(at(15)), 100));
    assert_eq!(timed(&way.answered(at(61), &ack(501, &[]))), None);
}

/// If SACK has already reported octets, their cumulative ACK comes only when the hole below them is
/// filled, so it does not show the round trip.
/// Linux marks these octets with `TCPCB_SACKED_ACKED`.
#[test]
fn an_ack_gives_no_sample_if_sack_reported_its_octets_before() {
    let mut way = sent(&[0, 5]);
    way.answered(at(30), &ack(1, &[(1, 101)]));
    assert_eq!(way.answered(at(90), &ack(101, &[])).sample, None);
}

#[test]
fn invalid_sack_blocks_have_no_effect() {
    let mut way = sent(&[0, 5, 9]);
    way.answered(at(30), &ack(101, &[]));
    for block in [(1, 101), (1, 1), (301, 401), (250, 240)] {
        assert_eq!(way.answered(at(40), &ack(101, &[block])), Answer::default(), "{block:?}");
    }
    assert!(way.outstanding().iter().all(|one| !one.sacked));
    // A block that reports half a segment gives no sample.
    assert_eq!(way.answered(at(41), &ack(101, &[(101, 150)])).sample, None);
    assert_eq!(timed(&way.answered(at(42), &ack(101, &[(101, 201)]))), Some(at(5)));
}

#[test]
fn a_segment_of_old_and_new_octets_is_a_retransmission_with_new_octets() {
    let mut way = sent(&[0]);
    let both = way.sent(at(20), &Segment { len: 150, ..data(51) }, ()).unwrap();
    assert_eq!((both.left, both.right, both.again), (51, 201, true));
    let places: Vec<_> = way.outstanding().iter().map(|one| (one.left, one.right)).collect();
    assert_eq!(places, [(1, 101), (101, 201)]);
    assert_eq!(timed(&way.answered(at(40), &ack(201, &[]))), None);
}

#[test]
fn only_a_retransmission_of_a_whole_segment_replaces_the_stored_value() {
    let mut way = OneWay::new(Sequence::default());
    way.sent(at(0), &data(1), 'a');
    way.sent(at(1), &Segment { len: 50, ..data(1) }, 'b');
    assert_eq!(way.outstanding()[0].kept, 'a');
    way.sent(at(2), &data(1), 'c');
    assert_eq!((way.outstanding()[0].kept, way.outstanding()[0].last_sent), ('c', at(2)));
    way.repeat_first(at(3)).unwrap().kept = 'd';
    let first = way.outstanding()[0];
    assert_eq!((first.kept, first.retransmissions, first.last_sent), ('d', 3, at(3)));
}

#[test]
fn a_dividing_direction_divides_segments_where_blocks_and_retransmissions_begin_or_end() {
    let mut way: OneWay = OneWay::new(Sequence::default()).dividing();
    way.sent(at(0), &Segment { len: 1000, ..data(1) }, ());
    let answer = way.answered(at(30), &ack(1, &[(401, 601)]));
    assert_eq!(answer.sample.map(|sample| sample.rtt), Some(ms(30)));
    way.sent(at(40), &Segment { len: 200, ..data(201) }, ());
    let parts: Vec<_> = way
        .outstanding()
        .iter()
        .map(|one| (one.right, one.last_sent == at(40), one.retransmissions, one.sacked))
        .collect();
    assert_eq!(
        parts,
        [
            (201, false, 0, false),
            (401, true, 1, false),
            (601, false, 0, true),
            (1001, false, 0, false),
        ]
    );
    way.answered(at(70), &ack(401, &[(401, 1001)]));
    let rest: Vec<_> = way.outstanding().iter().map(|one| (one.left, one.sacked)).collect();
    assert_eq!(rest, [(401, true), (601, true)]);
}

#[test]
fn only_the_sample_of_a_syn_is_labelled_as_a_handshake() {
    let mut way = OneWay::new(Sequence::from_syn(9));
    let syn = Segment { seq: 9, flags: Flags::SYN, ..Segment::default() };
    way.sent(at(0), &syn, ());
    assert!(way.answered(at(20), &ack(10, &[])).sample.unwrap().handshake);
    way.sent(at(30), &data(10), ());
    assert!(!way.answered(at(50), &ack(110, &[])).sample.unwrap().handshake);
}

/// As in Linux, the next octet to be sent is noted when a round begins. A sample of this octet, or
/// of a later octet, begins the next round.
#[test]
fn a_sample_of_an_octet_sent_within_a_round_ends_the_round() {
    let mut rounds = Rounds::default();
    let counts = [(1, 3841), (961, 4801), (3840, 6721), (3841, 7681), (4801, 8641), (7681, 9000)]
        .map(|(place, next)| rounds.sample(place, next));
    assert_eq!(counts, [1, 1, 1, 2, 2, 3]);
}

#[test]
fn the_number_of_followed_segments_is_bounded() {
    let mut way = OneWay::new(Sequence::default());
    for n in 0..100_000 {
        way.sent(at(n), &data(1 + 100 * n as u32), ());
    }
    assert_eq!(way.outstanding().len(), 256);
    way.answered(at(100_000), &ack(1, &[]));
    for n in 100_000..200_000 {
        way.sent(at(n), &data(1 + 100 * n as u32), ());
    }
    assert_eq!(way.outstanding().len(), 1 << 16);
    assert_eq!(timed(&way.answered(at(200_010), &ack(20_000_001, &[]))), Some(at(134_464)));
    assert!(way.outstanding().is_empty());
}

#[test]
fn a_connection_is_followed_from_either_side_if_its_beginning_was_not_seen() {
    let mut seen = TwoWay::default();
    let answer = |seq, number| Segment { seq, ..ack(number, &[]) };
    seen.take(Side::To, at(0), &answer(500, 7000));
    let older = Segment { ack: 500, ..data(6900) };
    seen.take(Side::From, at(5), &older);
    let way = seen.way(Side::From).unwrap();
    assert_eq!(
        (way.retransmissions(), way.outstanding().len()),
        (1, 0),
        "the retransmitted octets were acknowledged before"
    );
    seen.take(Side::From, at(6), &Segment { ack: 500, ..data(7000) });
    assert_eq!(timed(&seen.take(Side::To, at(20), &answer(500, 7100))), Some(at(6)));
    assert!(seen.way(Side::To).unwrap().outstanding().is_empty());
}

#[test]
fn samples_are_right_although_sequence_numbers_wrap() {
    for start in [0, 1, u32::MAX - 150, u32::MAX, 1 << 31] {
        let mut seen = TwoWay::default();
        for n in 0..30_u32 {
            let seq = start.wrapping_add(n.wrapping_mul(1 << 29));
            let segment = Segment { seq, len: 100, ..Segment::default() };
            assert_eq!(seen.take(Side::From, at(n.into()), &segment), Answer::default());
            let reply = ack(seq.wrapping_add(100), &[]);
            let answer = seen.take(Side::To, at(u64::from(n) + 1), &reply);
            assert_eq!(timed(&answer), Some(at(n.into())), "{start} {n}");
        }
        assert_eq!(seen.way(Side::From).unwrap().retransmissions(), 0);
    }
}

#[test]
fn an_ack_is_a_duplicate_if_it_repeats_the_number_and_the_window() {
    let mut acks = Acks::new(Sequence::default().sent_to(1));
    let mut kind = |number, window, flags| {
        acks.take(&Segment { ack: number, window, flags, ..Segment::default() })
    };
    let both = Flags::SYN.with(Flags::ACK);
    assert_eq!(kind(0, 9, Flags::SYN), AckKind::Old);
    assert_eq!(kind(1, 7, Flags::ACK), AckKind::New, "an ACK of the other side's SYN");
    assert_eq!(kind(1, 7, Flags::ACK), AckKind::Duplicate);
    assert_eq!(kind(1, 8, Flags::ACK), AckKind::WindowUpdate);
    assert_eq!(kind(961, 8, Flags::ACK), AckKind::New);
    assert_eq!(kind(1, 8, Flags::ACK), AckKind::Old);
    assert_eq!(kind(961, 70, both), AckKind::WindowUpdate, "a late SYN-ACK");
    assert_eq!(
        kind(961, 8, Flags::ACK),
        AckKind::Duplicate,
        "the window of the SYN-ACK is not stored, because it is not scaled"
    );
}

/// A packet from the port `from` to the port `to`, seen after this number of seconds.
fn passing(seconds: u64, from: u16, to: u16, flags: Flags, seq: u32) -> Passing {
    let ends = [from, to].map(|port| ([10, 0, 0, 1], port).into());
    Passing {
        at: Time::ZERO + Duration::from_secs(seconds),
        ends: EndPair::from(ends),
        flags,
        seq,
        ack: 0,
    }
}

#[test]
fn packets_between_two_ends_are_one_connection_until_another_syn_comes() {
    let mut flows: Flows<()> = Flows::new(Lifetimes::default());
    let both = Flags::SYN.with(Flags::ACK);
    let mut of = |packet: &Passing| {
        let Sighting { number, side, born } = flows.sight(packet).0;
        (number, side, born)
    };
    assert_eq!(of(&passing(0, 4000, 80, Flags::SYN, 7)), (0, Side::From, true));
    assert_eq!(of(&passing(1, 4000, 80, Flags::SYN, 7)), (0, Side::From, false), "a repeated SYN");
    assert_eq!(of(&Passing { ack: 8, ..passing(2, 80, 4000, both, 9) }), (0, Side::To, false));
    assert_eq!(of(&passing(3, 4001, 80, Flags::SYN, 7)), (1, Side::From, true));
    assert_eq!(of(&passing(4, 4000, 80, Flags::SYN, 8)), (2, Side::From, true));
    assert_eq!(of(&passing(5, 80, 4000, Flags::ACK, 9)), (2, Side::To, false));
    // The SYN of this connection arrives after its SYN-ACK.
    let late = Passing { ack: 6, ..passing(6, 80, 4002, both, 1) };
    assert_eq!(of(&late), (3, Side::To, true));
    assert_eq!(of(&passing(6, 4002, 80, Flags::SYN, 5)), (3, Side::From, false));
    assert_eq!((flows.live(), flows.born()), (3, 4));
    let retired: Vec<u64> = flows.take_retired().map(|one| one.number).collect();
    assert_eq!(retired, [0]);
    let mut rest: Vec<_> = flows.into_all().map(|one| (one.number, one.ends[0].port())).collect();
    rest.sort_unstable();
    assert_eq!(rest, [(1, 4001), (2, 4000), (3, 4002)]);
}

/// A host may answer the first SYN with a reset, and accept the second SYN.
#[test]
fn if_a_syn_is_sent_again_after_a_reset_its_connection_is_open() {
    let both = Flags::SYN.with(Flags::ACK);
    let mut flows: Flows<()> = Flows::new(Lifetimes::default());
    let mut of = |packet: Passing| flows.sight(&packet).0.number;
    assert_eq!(of(passing(0, 4000, 80, Flags::SYN, 7)), 0);
    assert_eq!(of(passing(0, 80, 4000, Flags::RST.with(Flags::ACK), 0)), 0);
    assert_eq!(of(passing(1, 4000, 80, Flags::SYN, 7)), 0);
    assert_eq!(of(Passing { ack: 8, ..passing(1, 80, 4000, both, 1 << 30) }), 0);
    assert_eq!(of(passing(1, 4000, 80, Flags::ACK, 8)), 0);
    assert_eq!(
        of(passing(601, 4000, 80, Flags::ACK, 8)),
        0,
        "the connection is idle for ten minutes"
    );
}

/// A reset that the receiver ignores (RFC 5961 §3.2) may have a number far outside of its window.
#[test]
fn a_connection_goes_on_after_a_reset_without_effect() {
    let mut flows: Flows<()> = Flows::new(Lifetimes::default());
    let mut of = |packet: Passing| flows.sight(&packet).0.number;
    assert_eq!(of(passing(0, 4000, 80, Flags::ACK, 1000)), 0);
    assert_eq!(of(passing(1, 80, 4000, Flags::ACK, 9)), 0);
    assert_eq!(of(passing(2, 4000, 80, Flags::RST, 1 << 30)), 0, "a forged reset");
    assert_eq!(of(passing(3, 4000, 80, Flags::ACK, 2000)), 0);
    assert_eq!(of(passing(4, 80, 4000, Flags::ACK, 1 << 29)), 0, "the connection is still open");
    assert_eq!(
        of(passing(604, 80, 4000, Flags::ACK, 1 << 29)),
        0,
        "the connection is idle for ten minutes"
    );
    // After the reset of one side, the other side's segments may still be on their way.
    assert_eq!(of(passing(605, 4000, 80, Flags::RST, 2000)), 0);
    assert_eq!(of(passing(606, 80, 4000, Flags::ACK, (1 << 29) + 1000)), 0);
    assert_eq!(
        of(passing(607, 80, 4000, Flags::ACK, 1 << 20)),
        1,
        "the number is far from the last number"
    );
}

/// The captured packets may lack the SYN of the second connection between two ends.
#[test]
fn another_connection_between_two_ends_is_found_without_its_syn() {
    let both = Flags::SYN.with(Flags::ACK);
    let fin = Flags::FIN.with(Flags::ACK);
    let mut flows: Flows<()> = Flows::new(Lifetimes::default());
    let mut of = |packet: Passing| flows.sight(&packet).0.number;
    let answer = |second, seq, ack| Passing { ack, ..passing(second, 80, 4000, both, seq) };
    assert_eq!(of(answer(0, 1 << 30, 8)), 0);
    assert_eq!(of(answer(1, 1 << 30, 8)), 0, "a repeated SYN-ACK");
    assert_eq!(of(answer(2, 1 << 30, 1008)), 0, "the SYN carried 1,000 octets (RFC 7413)");
    assert_eq!(of(answer(3, 1 << 29, 8 + (1 << 20))), 1, "the answer to another SYN");
    assert_eq!(of(passing(4, 80, 4000, fin, 1 << 29)), 1);
    assert_eq!(of(passing(5, 80, 4000, Flags::ACK, 0)), 1, "the connection is still open");
    assert_eq!(of(passing(6, 4000, 80, fin, 9)), 1);
    assert_eq!(of(passing(7, 80, 4000, Flags::ACK, 1000)), 1, "the number is near the last number");
    assert_eq!(of(passing(8, 80, 4000, Flags::RST, 1 << 31)), 1, "a reset may have any number");
    assert_eq!(
        of(passing(9, 80, 4000, Flags::ACK, 1 << 28)),
        2,
        "the number is far from the last number"
    );
}

/// RFC 9293 §3.5 describes a connection that both ends open at the same time.
#[test]
fn two_ends_that_open_at_the_same_time_have_one_connection() {
    let both = Flags::SYN.with(Flags::ACK);
    let mut flows: Flows<()> = Flows::new(Lifetimes::default());
    let mut of = |packet: Passing| flows.sight(&packet).0.number;
    assert_eq!(of(passing(0, 4000, 80, Flags::SYN, 7)), 0);
    assert_eq!(of(passing(0, 80, 4000, Flags::SYN, 1 << 30)), 0);
    assert_eq!(of(passing(0, 80, 4000, Flags::SYN, 1 << 30)), 0, "a repeated SYN");
    assert_eq!(of(Passing { ack: 8, ..passing(1, 80, 4000, both, 1 << 30) }), 0);
    assert_eq!(of(Passing { ack: (1 << 30) + 1, ..passing(1, 4000, 80, both, 7) }), 0);
    assert_eq!(of(passing(2, 4000, 80, Flags::ACK, 8)), 0);
    assert_eq!(of(passing(3, 80, 4000, Flags::SYN, 5)), 1, "another connection");
}

#[test]
fn a_connection_is_retired_when_its_lifetime_has_ended() {
    let lifetimes = Lifetimes { closed: Duration::from_secs(60), idle: Duration::from_secs(600) };
    let mut flows: Flows<()> = Flows::new(lifetimes);
    let fin = Flags::FIN.with(Flags::ACK);
    let mut of = |packet: Passing| flows.sight(&packet).0.number;
    assert_eq!(of(passing(0, 1, 2, Flags::ACK, 0)), 0);
    assert_eq!(of(passing(600, 2, 1, fin, 0)), 0, "the connection is idle, but not retired");
    assert_eq!(
        of(passing(1200, 2, 1, fin, 0)),
        0,
        "one end has closed, and the connection is idle"
    );
    assert_eq!(of(passing(1201, 1, 2, fin, 0)), 0);
    assert_eq!(of(passing(1261, 2, 1, Flags::ACK, 0)), 0, "both ends have closed");
    assert_eq!(of(passing(1322, 2, 1, Flags::ACK, 0)), 1, "the closed connection was retired");
    assert_eq!(of(passing(1323, 2, 1, Flags::RST, 0)), 1);
    assert_eq!(of(passing(1384, 2, 1, Flags::ACK, 0)), 2);
    assert_eq!(of(passing(1985, 2, 1, Flags::ACK, 0)), 3);
}

#[test]
fn retired_connections_take_no_memory_and_each_connection_is_returned_once() {
    let lifetimes = Lifetimes { closed: Duration::from_secs(5), idle: Duration::from_secs(50) };
    let mut flows: Flows<u8> = Flows::new(lifetimes);
    let mut returned = 0_u64;
    let most = (0..40_000_u64).map(|n| {
        // A hundred connections a second. Each connection consists of a SYN, an answer and a reset.
        let (port, second) = (u16::try_from(n).unwrap(), n / 100);
        flows.sight(&passing(second, port, 50_000, Flags::SYN, 1));
        flows.sight(&passing(second, 50_000, port, Flags::ACK, 1));
        *flows.sight(&passing(second, port, 50_000, Flags::RST, 1)).1 = 1;
        returned += flows.take_retired().map(|one| u64::from(one.state)).sum::<u64>();
        flows.live()
    });
    let most = most.max().unwrap();
    assert!(most < 1500, "{most} connections are kept, but only about 600 are active");
    assert_eq!(flows.born(), 40_000);
    returned += flows.into_all().map(|one| u64::from(one.state)).sum::<u64>();
    assert_eq!(returned, 40_000, "every connection is returned once");
}

/// An oracle: a simple model of one direction that looks at every segment.
#[derive(Default)]
struct Oracle {
    /// For each segment of 10 octets: when it was sent first, how often it was sent, and whether a
    /// block reported it.
    octets: Vec<(u64, u32, bool)>,
    una: usize,
}

proptest! {
    /// The sender sends whole segments of 10 octets. The acknowledgments are arbitrary.
    #[test]
    fn samples_agree_with_an_oracle_that_looks_at_every_segment(
        steps in prop::collection::vec((0_u8..3, 0_usize..12, 0_usize..12), 0..80), isn: u32
    ) {
        let mut way = OneWay::new(Sequence::from_syn(isn).sent_to(1));
        let mut oracle = Oracle::default();
        let wire = |place: usize| isn.wrapping_add(1 + 10 * place as u32);
        for (now, (kind, a, b)) in (0_u64..).zip(steps) {
            let all = oracle.octets.len();
            match kind {
                0 => {
                    let place = if a < all && b < 4 { a } else { all };
                    let segment = Segment { seq: wire(place), len: 10, ..Segment::default() };
                    let transmission = way.sent(at(now), &segment, ()).unwrap();
                    prop_assert_eq!(transmission.again, place < all);
                    if place == all {
                        oracle.octets.push((now, 1, false));
                    } else {
                        oracle.octets[place].1 += 1;
                    }
                }
                _ => {
                    let to = oracle.una.max(if kind == 1 { a.min(all) } else { 0 });
                    let block = (a.min(b).min(all), a.max(b).min(all));
                    let news = &oracle.octets[oracle.una..to];
                    let again = news.iter().any(|one| one.1 > 1);
                    let once = news.iter().find(|one| one.1 == 1 && !one.2).filter(|_| !again);
                    let reported = (block.0.max(to)..block.1).map(|place| &oracle.octets[place]);
                    let sacked = reported.filter(|one| one.1 == 1 && !one.2).map(|one| one.0).next();
                    let expected = once.map(|one| one.0).or(sacked);
                    let blocks = [(wire(block.0), wire(block.1))];
                    let answer = way.answered(at(now), &ack(wire(to), &blocks));
                    prop_assert_eq!(timed(&answer), expected.map(at));
                    prop_assert_eq!(answer.acked_bytes, 10 * (to - oracle.una) as u64);
                    oracle.una = to;
                    for place in block.0.max(to)..block.1 {
                        oracle.octets[place].2 = true;
                    }
                }
            }
            let left: Vec<_> =
                way.outstanding().iter().map(|one| (one.retransmissions, one.sacked)).collect();
            let expected: Vec<_> = oracle.octets[oracle.una..]
                .iter()
                .map(|one| (u16::try_from(one.1 - 1).unwrap(), one.2))
                .collect();
            prop_assert_eq!(left, expected);
        }
    }

    /// For any packets, the outstanding segments are in order and end above the acknowledged
    /// octets.
    #[test]
    fn the_state_stays_consistent_after_any_segments(
        segments in prop::collection::vec(
            (any::<bool>(), 0_u32..400, 0_u16..60, 0_u32..400, any::<u8>(), 0_u32..400), 0..120
        ),
        start: u32
    ) {
        let mut seen = TwoWay::default();
        let mut flows: Flows<()> = Flows::new(Lifetimes::default());
        for (n, (from, seq, len, number, flags, edge)) in (0..).zip(segments) {
            let side = if from { Side::From } else { Side::To };
            let mut segment = ack(start.wrapping_add(number), &[(number, edge)]);
            (segment.seq, segment.len) = (start.wrapping_add(seq), len);
            segment.flags = Flags(flags);
            if let Some(sample) = seen.take(side, at(n), &segment).sample {
                prop_assert!(sample.sent <= sample.at && sample.round <= n);
            }
            for way in Side::BOTH.into_iter().filter_map(|side| seen.way(side)) {
                let mut end = way.una();
                for one in way.outstanding() {
                    prop_assert!(one.left < one.right && end < one.right);
                    prop_assert!(one.right <= way.sequence().highest());
                    prop_assert!(end == way.una() || one.left >= end);
                    end = one.right;
                }
            }
            let ends = [u16::from(from), 7].map(|port| ([10, 0, 0, 1], port).into());
            let ends = EndPair::from(ends);
            let packet = Passing { at: at(n), ends, flags: Flags(flags), seq, ack: number };
            flows.sight(&packet);
            prop_assert!(flows.live() as u64 <= flows.born());
        }
    }

    #[test]
    fn arrivals_agree_with_a_set_of_octets(
        steps in prop::collection::vec((0_u32..60, 1_u16..20), 0..60)
    ) {
        let (mut arrivals, mut all) = (Arrivals::default(), Ranges::default());
        for (seq, len) in steps {
            let (left, right) = (u64::from(seq), u64::from(seq) + u64::from(len));
            let end = |all: &Ranges| all.holding(1).map_or(1, |range| range.1);
            let before = (all.holds(left, right), end(&all));
            all.insert(left, right);
            let brought = arrivals.take(&Segment { seq, len, ..Segment::default() });
            prop_assert_eq!(brought == Brought::Duplicate, before.0);
            prop_assert_eq!(brought == Brought::InOrder, end(&all) > before.1);
            prop_assert_eq!(arrivals.in_order(), end(&all));
        }
    }
}
