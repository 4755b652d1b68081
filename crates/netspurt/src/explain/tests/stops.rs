//! Tests of what a sender waits for when it has stopped sending: its application, room in its send
//! buffer, or an ACK. All times are in milliseconds.

use std::cmp::Reverse;

use crate::ids::Side;
use crate::segment::{Flags, Segment};
use crate::units::Duration;

use super::super::WaitingFor;
use super::limits::{Packet, ack, opened_for_segments};
use super::{data, explained};

/// The number of full segments in a burst, and the payload size of a full segment in octets.
const SEGMENTS: u32 = 20;
const FULL: u16 = 1460;

/// The capture is beside the sender. The round trip is 50 ms. Eight times, the sender sends a burst
/// of 20 full segments and a rest of `more` octets. The acknowledgments of the segments come 5 ms
/// apart. If `more` is not zero, this rest leaves `after` ms after ACK number `goes_on` of the
/// burst. Then the next burst leaves when the rest is acknowledged. If `more` is zero, the next
/// burst leaves `after` ms after ACK number `goes_on`. If `reply` is true, the other end sends data
/// at the time of this ACK. Returns the milliseconds that the sender waited for its application,
/// for room in its send buffer, and for the ACK that releases a short segment.
fn bursts(more: u16, goes_on: u32, after: u64, reply: bool) -> [u64; 3] {
    let mut packets: Vec<Packet> = opened_for_segments();
    let (mut at, mut octet) = (60, 1);
    for burst in 0..8_u32 {
        for n in 0..SEGMENTS {
            packets.push((0, at, data(octet + u32::from(FULL) * n, FULL)));
        }
        let acked = |n: u32| (at + 50 + 5 * u64::from(n), octet + u32::from(FULL) * n);
        for n in 1..=SEGMENTS {
            let (at, octet) = acked(n);
            packets.push((1, at, ack(octet, 65_000)));
        }
        let next = octet + u32::from(FULL) * SEGMENTS;
        if more > 0 {
            let flags = Flags::ACK.with(Flags::PSH);
            packets.push((0, acked(goes_on).0 + after, Segment { flags, ..data(next, more) }));
            packets.push((1, acked(SEGMENTS).0 + 60, ack(next + u32::from(more), 65_000)));
            (at, octet) = (acked(SEGMENTS).0 + 60, next + u32::from(more));
        } else {
            if reply {
                let seq = 1 + 100 * burst;
                let told = ack(acked(goes_on).1, 65_000);
                packets.push((1, acked(goes_on).0, Segment { seq, len: 100, ..told }));
            }
            (at, octet) = (acked(goes_on).0 + after, next);
        }
    }
    packets.sort_by_key(|(side, at, _)| (*at, Reverse(*side)));
    let stops = explained(&packets).connections.at(0).spent.stops(Side::From);
    [stops.write, stops.buffer, stops.short].map(|time: Duration| time.as_nanos() / 1_000_000)
}

#[test]
fn full_segments_just_after_an_ack_show_a_full_send_buffer() {
    // More than half of the first burst is acknowledged from the 11th ACK on. Later bursts begin
    // with two segments outstanding, so more than half is acknowledged from the 10th ACK on.
    assert_eq!(bursts(0, 18, 0, false), [0, 35 + 6 * 40, 0]);
}

#[test]
fn if_a_sender_goes_on_some_time_after_an_ack_it_waited_for_its_application() {
    assert_eq!(bursts(0, 18, 3, false), [38 + 6 * 43, 0, 0]);
    assert_eq!(bursts(0, 20, 40, false), [7 * (45 + 40), 0, 0], "also after the last ACK");
}

#[test]
fn a_sender_that_answers_data_of_the_other_end_did_not_stop() {
    assert_eq!(bursts(0, 20, 40, true), [0, 0, 0]);
}

/// Nagle's algorithm (RFC 9293 §3.7.4) holds back a short segment until an ACK comes. The 20th ACK
/// of a burst acknowledges all its full segments. The short segment leaves just after an earlier
/// ACK, or just after the 20th.
#[test]
fn if_a_short_segment_leaves_just_after_an_ack_it_waited_for_this_ack() {
    assert_eq!(bursts(100, 18, 0, false)[2], 8 * 35, "the wait begins with the 11th ACK");
    assert_eq!(bursts(100, 20, 0, false)[2], 8 * 150, "nothing else was outstanding");
}

/// The path takes segments of 1,147 octets, but the SYNs offer an MSS of 1,460. An ACK of two
/// segments comes every 5 ms. The sender answers each ACK with two segments, and the second of them
/// has PSH, as Linux sets it. The last captured packet with data holds two segments, as with
/// segmentation offload.
#[test]
fn pushed_segments_that_fill_the_path_mtu_do_not_end_the_data() {
    const FULL: u16 = 1147;
    let pushed = Flags::ACK.with(Flags::PSH);
    let mut packets = opened_for_segments();
    let mut octet = 1;
    let mut pair = |at: u64, packets: &mut Vec<Packet>| {
        packets.push((0, at, data(octet, FULL)));
        let second = data(octet + u32::from(FULL), FULL);
        packets.push((0, at, Segment { flags: pushed, ..second }));
        octet += 2 * u32::from(FULL);
        octet
    };
    let ends: Vec<u32> = (0..10).map(|_| pair(60, &mut packets)).collect();
    for (n, end) in (0..).zip(&ends) {
        packets.push((1, 110 + 5 * n, ack(*end, 65_000)));
        pair(110 + 5 * n, &mut packets);
    }
    let end = ends[9] + 20 * u32::from(FULL);
    packets.push((1, 180, ack(ends[9] + 10 * u32::from(FULL), 65_000)));
    packets.push((0, 180, Segment { flags: pushed, ..data(end, 2 * FULL) }));
    packets.push((1, 230, ack(end + 2 * u32::from(FULL), 65_000)));
    let explanation = explained(&packets);
    let spent = explanation.connections.at(0).spent;
    assert_eq!(spent.stops(Side::From).buffer, Duration::ZERO);
    let delivery = spent.of(WaitingFor::Delivery).as_nanos() / 1_000_000;
    assert!(delivery <= 50, "{delivery}");
}
