//! Tests of what the IPv6 flow labels of retransmissions show about their causes.

use crate::ids::Side;
use crate::segment::Cause;

use super::super::hosts::settle;
use super::super::{CauseRule, EndedConnections};
use super::causes::Talk;

/// Lone segments, each of which was sent again after 300 ms. The retransmissions have the flow
/// labels `labels`. Each other packet has the label of the packet before. The first label is 7.
fn lone_segments(labels: &[u32]) -> Talk {
    let mut talk = Talk::opened(true, false);
    let mut all = vec![7; 3];
    for (number, label) in labels.iter().enumerate() {
        let (at, first) = (101.0 + 500.0 * number as f64, 1000 * number as u32);
        talk.data(at, first).data(at + 300.0, first).ack(at + 400.0, first + 1000);
        all.extend([*all.last().unwrap(), *label, *label]);
    }
    talk.labels = Some(all);
    talk
}

/// Linux draws a new flow label when a retransmission timer fires, but not for a probe.
#[test]
fn a_timeout_changes_the_flow_label_but_a_probe_does_not() {
    let (tlp, rto) = (Some(Cause::Tlp), Some(Cause::Rto));
    for (labels, causes) in [([7, 9], [tlp, rto]), ([9, 9], [rto, tlp])] {
        let talk = lone_segments(&labels);
        assert_eq!(talk.causes(), causes);
        let rules: Vec<_> = talk.found().iter().map(|one| one.rule).collect();
        assert_eq!(rules, [CauseRule::FlowLabel; 2]);
    }
    // If a sender changes the label with each packet, labels show nothing.
    let mut talk = Talk::opened(true, false);
    talk.labels = Some((1..=5).collect());
    talk.data(101.0, 0).data(401.0, 0);
    assert_eq!(talk.found()[0].rule, CauseRule::LoneByTime);
}

/// With the sysctl `net.core.txrehash` = 0, Linux never changes the label.
#[test]
fn a_label_that_never_changes_shows_nothing_unless_the_host_changes_labels_elsewhere() {
    let constant = lone_segments(&[7]);
    assert_eq!(constant.found()[0].rule, CauseRule::LoneByTime);
    for (other, rule) in [(7, CauseRule::LoneByTime), (9, CauseRule::FlowLabel)] {
        let mut connections = EndedConnections::default();
        connections.add(&constant.explained().connections);
        connections.add(&lone_segments(&[other]).explained().connections);
        settle(connections.packed());
        let first = connections.at(0);
        let found = first.direction(Side::From).unwrap().retransmissions[0];
        assert_eq!((found.cause.get(), found.rule), (Some(Cause::Tlp), rule));
    }
}

#[test]
fn a_changed_flow_label_shows_a_timeout_at_the_receiver() {
    let mut talk = Talk::midway();
    talk.handshake(true, 0.1, 100.0);
    // The first of five segments was lost before the capture.
    talk.flight(200.0, 1000, 4).sack(200.1, 0, &[(1000, 5000)]);
    talk.data(500.0, 0).ack(500.1, 5000);
    talk.labels = Some(vec![7, 5, 7, 7, 7, 7, 7, 5, 9, 5]);
    let found = talk.found()[0];
    assert_eq!((found.cause.get(), found.original_missing), (Some(Cause::Rto), true));
    assert!(found.cause_confidence > 0.9);
}

/// All acknowledgments are late, so the timer fires. After the capture at the receiver has seen all
/// of them, the sender goes back. The label of the first segment shows a timeout, and the labels of
/// the next segments show none. These segments come 250 ms later, as after a timeout.
#[test]
fn go_back_n_at_the_receiver_keeps_the_label_of_the_timeout() {
    let mut talk = Talk::midway();
    talk.handshake(true, 0.1, 100.0);
    for n in 0..5 {
        let at = 200.0 + f64::from(n);
        talk.data(at, n * 1000).ack(at + 0.1, (n + 1) * 1000);
    }
    talk.data(600.0, 0).sack(600.1, 5000, &[(0, 1000)]);
    for n in 1..5 {
        let (at, left) = (850.0 + f64::from(n), n * 1000);
        talk.data(at, left).sack(at + 0.1, 5000, &[(left, left + 1000)]);
    }
    let mut labels = vec![7, 5, 7];
    labels.extend([7, 5].repeat(5));
    labels.extend([9, 5].repeat(5));
    talk.labels = Some(labels);
    let back = Some(Cause::GoBackN);
    assert_eq!(talk.causes(), [Some(Cause::Rto), back, back, back, back]);
}
