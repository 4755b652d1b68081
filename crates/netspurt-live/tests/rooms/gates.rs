//! Tests of gates and shims. At a gate, packets of real hosts enter a path and leave it. A shim is
//! a retransmission timer at a gate.

use netspurt::event::{Events, Wanted};
use netspurt::ip::fragments;
use netspurt::path::{Departure, Gate, LiveHost};
use netspurt::segment::{Cause, Flags, Segment};
use netspurt::shim::ShimConfig;
use netspurt::stage::{Host, Stage};
use netspurt::units::Time;

use super::common::{ack, data, ms};

fn events() -> Events<Segment> {
    Events::new(Wanted::default())
}

/// Returns the packets that leave a gate up to the instant `until`, with their instants.
fn out(gate: &mut Gate, until: Time) -> Vec<(Time, Segment)> {
    let mut out = Vec::new();
    while let Some(due) = gate.next_wakeup().filter(|due| *due <= until) {
        match gate.pop(due, &mut events()) {
            Some((at, _, segment)) => out.push((at, segment)),
            None => assert_ne!(gate.next_wakeup(), Some(due), "the next wake-up must be later"),
        }
    }
    out
}

/// Makes a gate with a shim. The host's connection has opened with a round trip of 20 ms.
fn opened(shim: &str) -> Gate {
    let config = ShimConfig::parse(shim).unwrap();
    let mut gate = Gate::new(Some(&config));
    gate.enter(ms(0), Segment { flags: Flags::SYN, len: 0, seq: 0, ..data(0) });
    assert_eq!(out(&mut gate, ms(10)).len(), 1);
    gate.push(ms(20), 0, ack(0, 1), &mut events());
    assert_eq!(gate.take().count(), 1);
    gate
}

#[test]
fn a_gate_keeps_the_order_and_the_instants_of_packets() {
    let mut gate = Gate::default();
    assert_eq!(gate.next_wakeup(), None);
    gate.enter(ms(3), data(0));
    gate.enter(ms(3), data(1));
    gate.enter(ms(7), data(2));
    assert_eq!(gate.next_wakeup(), Some(ms(3)));
    assert_eq!(gate.pop(ms(2), &mut events()), None, "the segment has not arrived");
    let left = out(&mut gate, ms(10));
    assert_eq!(left, [(ms(3), data(0)), (ms(3), data(1)), (ms(7), data(2))]);
    assert_eq!(gate.next_wakeup(), None);
}

#[test]
fn packets_that_reach_a_gate_are_taken_once() {
    let mut gate = Gate::default();
    assert!(gate.is_empty());
    gate.push(ms(5), 0, ack(0, 1), &mut events());
    gate.push(ms(6), 0, ack(1, 1001), &mut events());
    assert!(!gate.is_empty());
    let taken: Vec<_> = gate.take().map(|left| (left.due, left.segment)).collect();
    assert_eq!(taken, [(ms(5), ack(0, 1)), (ms(6), ack(1, 1001))]);
    assert!(gate.is_empty() && gate.take().next().is_none());
    assert_eq!(gate.next_wakeup(), None, "packets that reach a gate need no wake-up");
}

#[test]
fn a_gate_without_a_timer_never_retransmits() {
    let mut gate = Gate::new(None);
    gate.enter(ms(0), data(0));
    assert_eq!(out(&mut gate, ms(1_000_000)).len(), 1);
    assert!(gate.retransmissions().is_empty());
}

/// RFC 6298 §2.2: after the first sample, the RTO is three round trips. Here the round trip is 20
/// ms, so the RTO is 60 ms.
#[test]
fn a_timer_at_the_edge_retransmits_unacknowledged_data_when_it_expires() {
    let mut gate = opened("rfc6298:min=1ms");
    gate.enter(ms(30), data(0));
    let left = out(&mut gate, ms(100));
    assert_eq!(left.len(), 2, "{left:?}");
    assert_eq!(left[0], (ms(30), data(0)));
    let (at, copy) = left[1];
    assert_eq!((at, copy.seq, copy.cause.get()), (ms(90), 1, Some(Cause::Shim)));
    assert_ne!(copy.id, data(0).id, "a retransmission has an id of its own");
    let retransmissions = gate.retransmissions();
    assert_eq!(
        (
            retransmissions.len(),
            retransmissions[0].at,
            retransmissions[0].armed,
            retransmissions[0].id
        ),
        (1, ms(90), ms(30), copy.id)
    );
}

#[test]
fn an_acknowledgment_stops_the_timer_at_the_edge() {
    let mut gate = opened("rfc6298:min=1ms");
    gate.enter(ms(30), data(0));
    assert_eq!(out(&mut gate, ms(50)).len(), 1);
    gate.push(ms(50), 0, ack(1, 1001), &mut events());
    assert_eq!(gate.take().count(), 1, "the host still gets the ACK");
    assert!(out(&mut gate, ms(10_000)).is_empty());
    assert!(gate.retransmissions().is_empty());
}

/// RFC 6298 §5.5: each timeout doubles the timer.
#[test]
fn the_timer_at_the_edge_backs_off() {
    let mut gate = opened("rfc6298:min=1ms");
    gate.enter(ms(30), data(0));
    let instants: Vec<Time> = out(&mut gate, ms(1000)).iter().map(|(at, _)| *at).collect();
    assert_eq!(instants, [30, 90, 210, 450, 930].map(ms));
    let factors: Vec<u32> = gate.retransmissions().iter().map(|again| again.backoff).collect();
    assert_eq!(factors, [2, 4, 8, 16]);
}

#[test]
fn at_the_same_instant_a_packet_of_the_host_leaves_before_a_retransmission() {
    let mut gate = opened("rfc6298:min=1ms");
    gate.enter(ms(30), data(0));
    gate.enter(ms(90), data(1));
    let left = out(&mut gate, ms(90));
    let order: Vec<(Time, u32, bool)> =
        left.iter().map(|(at, s)| (*at, s.seq, s.cause.get().is_some())).collect();
    assert_eq!(order, [(ms(30), 1, false), (ms(90), 1001, false), (ms(90), 1, true)]);
}

#[test]
fn a_retransmission_leaves_before_a_later_packet_of_the_host() {
    let mut gate = opened("rfc6298:min=1ms");
    gate.enter(ms(30), data(0));
    gate.enter(ms(91), data(1));
    // A gate that is asked late returns all packets in the order of time.
    let mut order = Vec::new();
    while let Some((at, _, segment)) = gate.pop(ms(100), &mut events()) {
        order.push((at, segment.seq));
    }
    assert_eq!(order, [(ms(30), 1), (ms(90), 1), (ms(91), 1001)]);
}

#[test]
fn a_timer_at_the_edge_retransmits_as_often_as_its_limit_allows() {
    for limit in [0_u8, 1, 3] {
        let mut gate = opened(&format!("rfc6298:min=1ms,retransmissions={limit}"));
        gate.enter(ms(30), data(0));
        let copies = out(&mut gate, ms(100_000)).len() - 1;
        assert_eq!(copies, usize::from(limit));
    }
}

#[test]
fn a_partial_acknowledgment_restarts_the_timer_for_the_remaining_data() {
    let mut gate = opened("rfc6298:min=1ms");
    gate.enter(ms(30), data(0));
    gate.enter(ms(31), data(1));
    assert_eq!(out(&mut gate, ms(50)).len(), 2);
    // RFC 6298 §5.3: an ACK of new data restarts the timer.
    gate.push(ms(50), 0, ack(1, 1001), &mut events());
    let left = out(&mut gate, ms(150));
    let [(at, copy)] = left[..] else { panic!("one copy, not {left:?}") };
    assert_eq!(copy.seq, 1001, "acknowledged octets are not retransmitted");
    assert!(at > ms(91), "later than the timer of the first segment: {at:?}");
}

#[test]
fn a_gate_that_is_asked_too_early_returns_nothing_and_keeps_its_packets() {
    let mut gate = opened("rfc6298:min=1ms");
    gate.enter(ms(30), data(0));
    assert_eq!(gate.next_wakeup(), Some(ms(30)));
    for early in [0, 29] {
        assert_eq!(gate.pop(ms(early), &mut events()), None);
    }
    assert_eq!(gate.pop(ms(30), &mut events()), Some((ms(30), 0, data(0))));
    assert_eq!(gate.pop(ms(89), &mut events()), None, "the timer has not fired yet");
    assert_eq!(gate.next_wakeup(), Some(ms(90)));
    assert!(gate.retransmissions().is_empty());
}

#[test]
fn a_real_host_gets_the_fragments_of_a_packet_without_reassembly() {
    let mut host = LiveHost::Gate(Gate::default());
    let [first, last] = fragments(data(0), 700).collect::<Vec<_>>()[..] else { panic!("two") };
    assert_eq!(host.gather(ms(1), first, &mut events()), None, "the other fragment is missing");
    assert_eq!(host.gather(ms(2), last, &mut events()), Some(last));
    host.push(ms(2), 0, last, &mut events());
    assert_eq!((host.next_wakeup(), host.pop(ms(9), &mut events())), (None, None));
    let LiveHost::Gate(mut gate) = host else { panic!("a gate") };
    let left = [(ms(1), first, false), (ms(2), last, true)]
        .map(|(due, segment, completes)| Departure { due, segment, completes });
    assert_eq!(gate.take().collect::<Vec<_>>(), left);
}
