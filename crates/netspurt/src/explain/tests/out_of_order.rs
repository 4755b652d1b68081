//! Captures out of order, as of several queues.

use crate::segment::Cause;

use super::causes::Talk;

/// Three flights over a path of 100 ms, captured at the sender. Of the second one a segment is lost,
/// and a repair by SACK sends it again.
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

/// The same with each packet up to 30 µs late.
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
fn packets_that_are_a_little_out_of_order_have_the_causes_of_those_in_order() {
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
        let way = talk.way();
        assert_eq!(way.statistics.data.retransmissions, 1, "{seed} {v6}");
        assert!(disorder.late_max.as_nanos() <= 100_000, "{seed} {v6}");
        let noted = talk.explained().notes.lines();
        let told = noted.iter().any(|line| line.starts_with("the capture is out of order"));
        assert_eq!(told, disorder.packets > 1, "{noted:?}");
    }
    assert!(noticed > 50, "{noticed}");
    assert_eq!(repaired().explained().notes.lines(), [""; 0]);
}

/// Beside the receiver an acknowledgment leaves as soon as a segment comes.
#[test]
fn an_acknowledgment_before_what_it_acknowledges_makes_no_retransmission() {
    let mut talk = Talk::midway();
    talk.handshake(true, 0.01, 100.0);
    for n in 0..10 {
        let at = 200.0 + f64::from(n);
        talk.ack(at, 1000 + 1000 * n).data(at + 0.02, 1000 * n);
    }
    assert_eq!(talk.causes(), []);
    assert_eq!(talk.explained().notes.disorder.packets, 10);
}

/// The server's capture holds the SYN-ACK before the SYN that it answers.
#[test]
fn a_syn_behind_its_answer_is_no_retransmission() {
    let mut talk = Talk::opened(true, true);
    talk.data(100.1, 0).ack(200.2, 1000);
    let mut late = Talk::midway();
    for (number, after) in [(1, -99.99), (0, 0.02), (2, 0.0), (3, 0.0), (4, 0.0)] {
        late.repeat(&talk, number, after);
    }
    let ways = late.explained().connections.remove(0).ways;
    let again = ways.iter().flatten().map(|way| way.retransmissions.len());
    assert_eq!(again.sum::<usize>(), 0);
}
