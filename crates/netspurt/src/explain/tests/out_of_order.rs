//! Tests of captures whose packets are out of order, for example because a network card has several
//! queues. A talk (`Talk`) is a made-up capture of one connection. Its times are in milliseconds,
//! and its octets count from 0.

use crate::ids::Side;
use crate::segment::{Cause, Flags, Segment};

use super::super::{Disorder, Explainer, Explanation, LatePackets, WaitingFor};
use super::causes::{Talk, at_receiver};

/// Three flights on a path with a round trip of 100 ms, captured beside the sender. A segment of
/// the second flight is lost, and SACK recovery retransmits it.
fn repaired() -> Talk {
    let mut talk = Talk::opened(true, true);
    talk.flight(100.0, 0, 4).ack(200.1, 4000);
    for n in 0..8 {
        talk.data(200.2 + 0.01 * f64::from(n), 4000 + 1000 * n);
    }
    for n in 1..8 {
        talk.sack(300.3 + 0.01 * f64::from(n), 4000, &[(5000, 5000 + 1000 * n)]);
    }
    talk.data(300.335, 4000).ack(400.4, 12_000).flight(400.41, 12_000, 2).ack(500.5, 14_000);
    talk.sort();
    talk
}

/// Returns the talk `once` with changed times: each packet is captured up to 30 µs later. The
/// delays are random, and `seed` selects them.
fn shuffled(once: &Talk, seed: u64) -> Talk {
    let mut talk = Talk::midway();
    let mut state = seed;
    for number in 0..once.len() {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        talk.repeat(once, number, 0.03 * ((state >> 40) as f64 / (1 << 24) as f64));
    }
    talk.sort();
    talk
}

#[test]
fn if_a_capture_is_slightly_out_of_order_the_true_retransmission_is_still_found() {
    assert_eq!(repaired().causes(), [Some(Cause::SackRecovery)]);
    let mut noticed = 0;
    for (seed, v6) in (1..40).flat_map(|seed| [(seed, false), (seed, true)]) {
        let mut talk = shuffled(&repaired(), seed);
        if v6 {
            talk.over_ipv6();
        }
        let disorder = talk.explained().notes.disorder;
        if disorder.packets == 0 {
            continue;
        }
        noticed += 1;
        let [Some(Cause::Fast | Cause::SackRecovery | Cause::Rack)] = talk.causes()[..] else {
            panic!("{seed} {v6}: {:?}", talk.causes())
        };
        let direction = talk.direction();
        assert_eq!(direction.statistics.data.retransmissions, 1, "{seed} {v6}");
        assert!(disorder.late_max.as_nanos() <= 100_000, "{seed} {v6}");
        let noted = talk.explained().notes.lines();
        let told = noted.iter().any(|line| line.starts_with("the capture is out of order"));
        assert_eq!(told, disorder.packets > 1, "{noted:?}");
    }
    assert!(noticed > 50, "{noticed}");
    assert_eq!(repaired().explained().notes.lines(), [""; 0]);
}

/// Beside the receiver, an acknowledgment is sent immediately after a segment arrives. But this
/// capture has each acknowledgment before its segment.
#[test]
fn a_segment_captured_after_its_acknowledgment_is_no_retransmission() {
    let mut talk = Talk::midway();
    talk.handshake(true, 0.01, 100.0);
    for n in 0..10 {
        let at = 200.0 + f64::from(n);
        talk.ack(at, 1000 + 1000 * n).data(at + 0.02, 1000 * n);
    }
    assert_eq!(talk.causes(), []);
    assert_eq!(talk.explained().notes.disorder.packets, 10);
}

/// The server's capture holds the SYN-ACK before the SYN, although the SYN-ACK answers the SYN.
#[test]
fn a_syn_captured_after_its_syn_ack_is_no_retransmission() {
    let mut talk = Talk::opened(true, true);
    talk.data(100.1, 0).ack(200.2, 1000);
    let mut late = Talk::midway();
    for (number, after) in [(1, -99.99), (0, 0.02), (2, 0.0), (3, 0.0), (4, 0.0)] {
        late.repeat(&talk, number, after);
    }
    let directions = late.explained().connections.at(0).directions;
    let again = directions.iter().flatten().map(|direction| direction.retransmissions.len());
    assert_eq!(again.sum::<usize>(), 0);
}

/// A capture of two interfaces may hold the SYN-ACK after the ACK that answers it. Another capture
/// misses the SYN-ACK, and the server retransmits it a second later. This later SYN-ACK counts as a
/// retransmission, and the time since the original is not known.
#[test]
fn a_syn_ack_counts_as_a_retransmission_only_if_it_comes_long_after_its_answer() {
    for (late, again) in [(0.3, 0), (1000.0, 1)] {
        let mut talk = Talk::midway();
        let syn = Segment { seq: 0, flags: Flags::SYN, ..Segment::default() };
        let flags = Flags::SYN.with(Flags::ACK);
        talk.packet(Side::From, 0.0, syn);
        talk.packet(Side::From, 20.0, Segment { seq: 1, ack: 1, flags: Flags::ACK, ..syn });
        talk.packet(Side::To, 20.0 + late, Segment { ack: 1, flags, ..syn });
        let directions = talk.explained().connections.at(0).directions;
        let found = &directions[1].as_ref().unwrap().retransmissions;
        assert_eq!(found.len(), again, "{late}");
        assert!(found.iter().all(|one| one.gap.as_nanos() == 0));
    }
}

/// Fifty flights on a path with a round trip of 100 ms, captured beside the receiver or the sender.
/// The last of the ten segments of each flight arrives first, because the path delays the other
/// nine. These nine arrive `apart` milliseconds after each other.
fn reordered_by_the_path(apart: f64, beside_receiver: bool) -> Talk {
    let mut talk = if beside_receiver { at_receiver() } else { Talk::opened(true, true) };
    for flight in 0..50_u32 {
        let (at, first) = (1000.0 + 200.0 * f64::from(flight), 10_000 * flight);
        let came = |n: u32| at + if n == 9 { 0.0 } else { apart * f64::from(n + 1) };
        // The sender sends the packets in order, so their IP identifications are in this order.
        for n in 0..10 {
            talk.data(if beside_receiver { came(n) } else { at }, first + 1000 * n);
        }
        let back = if beside_receiver { 0.005 } else { 100.0 };
        talk.sack(came(9) + back, first, &[(first + 9000, first + 10_000)]);
        for n in 0..8 {
            let next = first + 1000 * (n + 1);
            talk.sack(came(n) + back, next, &[(first + 9000, first + 10_000)]);
        }
        talk.ack(came(8) + back, first + 10_000);
    }
    talk.sort();
    talk
}

/// The counts of late packets that the function `of` takes from the habits (the observed behaviour)
/// of a talk. Without habits, no packet is late.
fn late_of(talk: &Talk, of: fn(&super::super::Habits) -> LatePackets) -> LatePackets {
    talk.direction().habits.map_or(LatePackets::default(), |habits| of(&habits))
}

/// The capture has the acknowledgment of each packet just after the packet, so the capture is in
/// order.
#[test]
fn packets_that_the_path_reordered_count_only_as_late() {
    for (apart, v6) in [(0.02, false), (0.3, false), (5.0, false), (0.02, true), (5.0, true)] {
        let mut talk = reordered_by_the_path(apart, true);
        if v6 {
            // Without identifications, only the time shows a late original.
            talk.over_ipv6();
        }
        let found = talk.explained();
        assert_eq!(found.notes.lines(), [""; 0], "{apart}");
        assert_eq!(talk.causes(), [], "{apart}");
        assert_eq!(found.connections.at(0).spent.of(WaitingFor::Repair).as_nanos(), 0, "{apart}");
        let late = late_of(&talk, |habits| habits.late);
        assert_eq!((late.packets, late.by_max, late.distance_max), (450, 1, 9), "{apart}");
        let behind = late.behind_max.as_nanos().abs_diff((9e6 * apart) as u64);
        assert!(behind < 1000, "{apart} {behind}");
    }
}

#[test]
fn sack_blocks_show_beside_the_sender_how_many_packets_were_late() {
    let talk = reordered_by_the_path(0.3, false);
    assert_eq!(talk.causes(), []);
    let late = late_of(&talk, |habits| habits.late_in_acks);
    assert_eq!((late.packets, late.distance_max), (450, 9));
    assert_eq!(late_of(&repaired(), |habits| habits.late_in_acks).packets, 0, "retransmitted");
}

/// One segment is lost, and a retransmission fills the hole. The sender also retransmits a segment
/// that had arrived.
#[test]
fn a_repair_ends_with_the_ack_of_all_octets() {
    let mut talk = at_receiver();
    talk.flight(1000.0, 0, 2).ack(1000.01, 2000);
    for n in 1..10_u32 {
        let at = 1100.0 + 0.1 * f64::from(n);
        talk.data(at, 2000 + 1000 * n).sack(at + 0.01, 2000, &[(3000, 3000 + 1000 * n)]);
    }
    talk.data(1201.5, 2000).octets(1201.6, 5000, 1000).ack(1211.6, 12_000);
    let found = talk.explained();
    assert_eq!(found.connections.at(0).spent.of(WaitingFor::Repair).as_nanos(), 10_100_000);
}

/// The parts of an explanation that must not depend on the transcript (a copy of the captured
/// packets), as text.
fn told(found: &Explanation) -> String {
    format!("{:?} {:?} {:?}", found.passed, found.notes, found.connections)
}

#[test]
fn an_explanation_is_the_same_with_and_without_a_transcript() {
    let mut talks = vec![reordered_by_the_path(0.02, true), reordered_by_the_path(0.3, false)];
    talks.extend((1..40).map(|seed| shuffled(&repaired(), seed)));
    for seed in 1..20 {
        // Twelve flights of three segments, with some packets out of order. The explainer keeps all
        // these packets until their connection takes them together.
        let mut talk = Talk::opened(true, true);
        for flight in 0..12 {
            talk.flight(100.0 + f64::from(flight) * 10.0, 3000 * flight, 3);
            talk.ack(105.0 + f64::from(flight) * 10.0, 3000 * (flight + 1));
        }
        talks.push(shuffled(&talk, seed));
    }
    let mut disordered = 0;
    for (number, talk) in talks.iter().enumerate() {
        let without = talk.explained();
        let with = talk.explained_by(Explainer::default().with_transcript(None));
        assert_eq!(told(&without), told(&with), "{number}");
        disordered += u32::from(without.notes.disorder.packets > 0);
        let connection = without.connections.at(0);
        let direction = connection.direction(Side::From).unwrap();
        assert!(direction.statistics.data.packets > 0);
    }
    assert!(disordered > 20, "{disordered}");
}

/// Beside the receiver, a retransmission fills a hole, and the next acknowledgment covers all
/// octets. The sender uses go-back-N, and repeats octets that had arrived before. Ten segments
/// arrive in a millisecond.
#[test]
fn octets_that_come_again_just_after_their_acknowledgment_are_in_order() {
    for count in 40..110 {
        let mut talk = at_receiver();
        let mut at = 1000.0;
        for n in 0..count {
            talk.data(at, if n == 0 { 0 } else { (n + 1) * 1000 });
            talk.ack(at + 0.001, 1000);
            at += 0.1;
        }
        for n in 1..20 {
            talk.data(at, n * 1000).ack(at + 0.001, (count + 1) * 1000);
            at += 0.1;
        }
        let found = talk.explained();
        assert_eq!(found.notes.disorder, Disorder::default(), "{count}");
        assert_eq!(
            found.connections.at(0).direction(Side::From).unwrap().retransmissions.len(),
            19
        );
    }
}

/// A captured packet holds four segments. The first two arrive, and the other two are lost.
#[test]
fn the_arrived_part_of_an_offloaded_packet_is_not_late() {
    let mut talk = Talk::opened(true, false);
    talk.octets(101.0, 0, 4000).flight(101.1, 4000, 4).ack(201.0, 2000);
    for n in 1..=3 {
        talk.sack(201.0 + f64::from(n), 2000, &[(4000, 4000 + 1000 * n)]);
    }
    talk.data(204.1, 2000).sack(304.2, 3000, &[(4000, 8000)]).data(304.3, 3000).ack(404.4, 8000);
    assert_eq!(talk.causes(), [Some(Cause::SackRecovery); 2]);
    assert_eq!(late_of(&talk, |habits| habits.late_in_acks).packets, 0);
}

/// The first SYN-ACK takes 1.3 s, because the delay of the path falls during the handshake. The SYN
/// is sent again, and the answer to it overtakes the first SYN-ACK. Without identifications and
/// timestamps, only the packets in between show which of the two was sent first. A SYN-ACK that
/// comes again before other packets is a retransmission.
#[test]
fn a_syn_ack_that_later_packets_overtook_is_no_retransmission() {
    let syn_acks_sent_again = |last: f64| {
        let mut talk = Talk::midway();
        let flags = Flags::SYN.with(Flags::ACK);
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        let answer = Segment { ack: 1, flags, ..Segment::default() };
        [0.0, 1000.0].into_iter().for_each(|at| talk.packet(Side::From, at, syn));
        talk.packet(Side::To, 1050.0, answer);
        talk.octets(1050.1, 0, 0).flight(1250.2, 0, 2).ack(1300.2, 2000);
        talk.packet(Side::To, last, answer);
        talk.sort();
        talk.over_ipv6();
        talk.explained().connections.at(0).direction(Side::To).unwrap().retransmissions.len()
    };
    assert_eq!(syn_acks_sent_again(1325.0), 0);
    assert_eq!(syn_acks_sent_again(1210.0), 1);
}
