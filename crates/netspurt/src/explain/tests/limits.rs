//! Tests of what connections wait for: the receive window, the congestion window, the path, an
//! application, or a repair. A repair is a series of retransmissions. All times are in
//! milliseconds.

use std::cmp::Reverse;

use crate::ids::Side;
use crate::segment::{Flags, Segment, SynOptions};
use crate::units::{Duration, Time};

use proptest::prelude::*;

use super::super::{PacketTimes, WaitingFor, Windows};
use super::{data, explained};

/// A segment of a made-up capture: the index of the side that sent it, its time in milliseconds,
/// and the segment itself.
pub(super) type Packet = (usize, u64, Segment);

/// An acknowledgment of all octets before octet `ack`, with a window of `window` octets.
pub(super) fn ack(ack: u32, window: u16) -> Segment {
    Segment { flags: Flags::ACK, seq: 1, ack, window, ..Segment::default() }
}

/// The handshake of a connection that side 0 opens, captured beside side 0. The round trip is 30
/// ms. Side 1 advertises a window of `window` octets.
fn opened(window: u16) -> Vec<Packet> {
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    let flags = Flags::SYN.with(Flags::ACK);
    let syn_ack = Segment { flags, ack: 1, window, ..Segment::default() };
    vec![(0, 0, syn), (1, 30, syn_ack), (0, 30, ack(1, 65_000)), (1, 30, ack(1, window))]
}

/// The milliseconds that a connection waited for each thing in `what`.
fn waited<const N: usize>(packets: &[Packet], what: [WaitingFor; N]) -> [u64; N] {
    let spent = explained(packets).connections.at(0).spent;
    what.map(|what| spent.of(what).as_nanos() / 1_000_000)
}

const WINDOW_OR_APPLICATION: [WaitingFor; 2] = [WaitingFor::ReceiveWindow, WaitingFor::Application];

/// The capture is beside the sender. The sender sends two full segments and a segment of `last`
/// octets. The acknowledgment of all this data has the window `small`. After 200 ms, the window
/// becomes `first_window` again, and the sender sends the next segment. Returns the milliseconds
/// that the connection waited for the receive window, and for an application.
fn stalled(first_window: u16, last: u16, small: u16) -> [u64; 2] {
    let mut packets = opened(first_window);
    packets.extend([(0, 30, data(1, 1000)), (0, 30, data(1001, 1000))]);
    let flags = Flags::ACK.with(Flags::PSH);
    packets.push((0, 30, Segment { flags, ..data(2001, last) }));
    let end = 2001 + u32::from(last);
    packets.push((1, 60, ack(end, small)));
    packets.push((1, 260, ack(end, first_window)));
    packets.push((0, 260, data(end, 1000)));
    waited(&packets, WINDOW_OR_APPLICATION)
}

/// A proxy answers a SYN with a window of zero, and opens the window when it has reached the
/// server. If the server speaks first, the connection waits for the server.
#[test]
fn the_handshake_lasts_until_the_window_of_a_syn_ack_opens() {
    const HANDSHAKE_OR_APPLICATION: [WaitingFor; 2] =
        [WaitingFor::Handshake, WaitingFor::Application];
    let mut packets = opened(0);
    packets.pop();
    packets.push((1, 1030, ack(1, 30_000)));
    packets.extend([(0, 1030, data(1, 1000)), (1, 1060, ack(1001, 30_000))]);
    assert_eq!(waited(&packets, HANDSHAKE_OR_APPLICATION), [30 + 1000, 0]);
    packets[3].2.len = 50;
    let path = 30;
    assert_eq!(waited(&packets, HANDSHAKE_OR_APPLICATION), [30, 1000 - path]);
}

#[test]
fn a_window_without_room_holds_back_a_sender_with_nothing_outstanding() {
    assert_eq!(stalled(3000, 1000, 0), [200 + 30, 0], "the window is closed");
    assert_eq!(stalled(3000, 1000, 500), [200 + 30, 0], "the window has room for half a segment");
    assert_eq!(stalled(3000, 1000, 1000), [30, 200], "the window has room for a segment");
}

/// By RFC 9293 §3.8.6, a receiver should not shrink its window. But Linux closes its window if it
/// has no memory for received data. Here the window had room for 57 more segments before it was
/// closed. A smaller window that is not zero may come from an old acknowledgment, so it does not
/// close the window.
#[test]
fn a_window_of_zero_holds_back_the_sender_even_after_a_window_with_much_room() {
    assert_eq!(stalled(60_000, 1000, 0), [200, 0]);
    assert_eq!(stalled(60_000, 1000, 500), [0, 200]);
}

/// The sender probes the closed window with single octets, which the receiver does not accept. A
/// capture beside the sender and a capture beside the receiver show the same wait.
#[test]
fn the_time_of_window_probes_counts_as_a_wait_for_the_window() {
    for beside_receiver in [false, true] {
        let (back, there) = if beside_receiver { (30, 0) } else { (0, 30) };
        let flags = Flags::SYN.with(Flags::ACK);
        let mut packets: Vec<Packet> = vec![
            (0, 0, Segment { flags: Flags::SYN, ..Segment::default() }),
            (1, there, Segment { flags, ack: 1, window: 60_000, ..Segment::default() }),
            (0, 30, ack(1, 65_000)),
        ];
        packets.extend([(0, 30, data(1, 1000)), (0, 30, data(1001, 1000))]);
        packets.push((1, 30 + there, ack(2001, 0)));
        for wait in [300, 900, 2100] {
            packets.push((0, wait, data(2001, 1)));
            packets.push((1, wait + there, ack(2001, 0)));
        }
        packets.push((1, 4000, ack(2001, 60_000)));
        packets.push((0, 4000 + back, data(2001, 1000)));
        packets.push((1, 4000 + back + there, ack(3001, 60_000)));
        let [window, rest] = waited(&packets, WINDOW_OR_APPLICATION);
        assert!((3900..=4030).contains(&window) && rest == 0, "{beside_receiver} {window} {rest}");
    }
}

/// RFC 9293 §3.8.6.2.1: a sender may send if the window has room for half of the largest window.
#[test]
fn a_window_holds_back_no_sender_if_it_is_half_of_the_largest_window() {
    assert_eq!(stalled(1900, 10, 950)[1], 200);
}

#[test]
fn a_short_last_segment_ends_the_data_unless_the_window_cut_it() {
    assert_eq!(stalled(30_000, 400, 500), [0, 200], "the application had no more");
    assert_eq!(stalled(2400, 400, 500), [200 + 30, 0], "the window had no more room");
}

/// The capture is beside the sender. Three segments are outstanding at 50 ms. Each acknowledgment
/// makes room for one segment, which is sent `after` ms later. Returns the milliseconds that the
/// connection waited for the receive window, and for the congestion window.
fn paced(window: u16, after: u64) -> [u64; 2] {
    let mut packets = opened(window);
    packets.extend([0, 1, 2].map(|n| (0, 30 + 10 * u64::from(n), data(1 + 1000 * n, 1000))));
    for n in 0..20_u32 {
        let at = 60 + 10 * u64::from(n);
        packets.push((1, at, ack(1001 + 1000 * n, window)));
        packets.push((0, at + after, data(3001 + 1000 * n, 1000)));
    }
    waited(&packets, [WaitingFor::ReceiveWindow, WaitingFor::CongestionWindow])
}

#[test]
fn a_full_window_also_holds_back_a_sender_that_paces_itself() {
    assert_eq!(paced(3000, 0), [220, 0], "the window is always full");
    assert_eq!(paced(3000, 6), [226, 0], "the window is full for a part of each round trip");
    assert_eq!(paced(5000, 6), [0, 226], "the window is never full");
}

/// The capture is beside the sender, which sends a flight of four segments. The acknowledgments of
/// the first three segments come at 60, 70 and 80 ms. The last acknowledgment comes at 160 ms.
/// `meanwhile` has the packets that are captured between the third and the last acknowledgment.
/// Returns the milliseconds that the connection waited for the congestion window, and for the path.
fn ends_in_full_segments(meanwhile: &[Packet]) -> [u64; 2] {
    let mut packets = opened(65_000);
    packets.extend([0, 1, 2, 3].map(|n| (0, 30, data(1 + 1000 * n, 1000))));
    packets.extend([1, 2, 3].map(|n| (1, 50 + 10 * u64::from(n), ack(1 + 1000 * n, 65_000))));
    packets.extend_from_slice(meanwhile);
    packets.push((1, 160, ack(4001, 65_000)));
    waited(&packets, [WaitingFor::CongestionWindow, WaitingFor::Delivery])
}

#[test]
fn a_sender_that_sends_nothing_for_most_acks_had_no_more_data() {
    assert_eq!(ends_in_full_segments(&[]), [50, 80]);
    assert_eq!(ends_in_full_segments(&[(0, 80, data(4001, 1000))]), [130, 0], "more data came");
}

#[test]
fn a_pause_counts_for_the_end_that_sends_the_next_data() {
    let mut packets = opened(65_000);
    packets.extend([(0, 30, data(1, 1000)), (1, 60, ack(1001, 65_000))]);
    let reply = Segment { ack: 1001, ..data(1, 500) };
    packets.extend([(1, 560, reply), (0, 560, Segment { seq: 1001, ..ack(501, 65_000) })]);
    packets.extend([(0, 860, Segment { ack: 501, ..data(1001, 1000) })]);
    let spent = explained(&packets).connections.at(0).spent;
    let ms = |side| spent.pause_ended_by(side).as_nanos() / 1_000_000;
    assert_eq!([ms(Side::From), ms(Side::To)], [300, 500]);
}

/// The capture is beside the passive end. This end sends five replies. Each reply is a segment of
/// 700 octets with PSH. The round trip is 30 ms. The SYN offers an MSS of `mss` octets, and the
/// SYN-ACK offers an MSS of `own` octets. Returns the milliseconds that the connection waited for
/// the path, and for the congestion window.
fn replies_of_equal_size(mss: u16, own: u16) -> [u64; 2] {
    let offers = |mss| SynOptions { mss: Some(mss), ..SynOptions::default() };
    let mut syn = Segment { flags: Flags::SYN, ..Segment::default() };
    syn.set_syn_options(offers(mss));
    let mut syn_ack = Segment { flags: Flags::SYN.with(Flags::ACK), ack: 1, ..syn };
    syn_ack.set_syn_options(offers(own));
    let mut packets = vec![(0, 0, syn), (1, 0, syn_ack), (0, 30, ack(1, 65_000))];
    let flags = Flags::ACK.with(Flags::PSH);
    for n in 0..5_u32 {
        let (at, first) = (40 + 40 * u64::from(n), 1 + 700 * n);
        packets.push((1, at, Segment { flags, ..data(first, 700) }));
        packets.push((0, at + 30, ack(first + 700, 65_000)));
    }
    waited(&packets, [WaitingFor::Delivery, WaitingFor::CongestionWindow])
}

#[test]
fn equal_replies_count_as_short_if_both_syns_allow_larger_segments() {
    assert_eq!(replies_of_equal_size(1460, 1460), [150, 0]);
    assert_eq!(
        replies_of_equal_size(700, 1460),
        [0, 150],
        "the other end takes no larger segments"
    );
    assert_eq!(replies_of_equal_size(1460, 700), [0, 150], "its own link takes no larger segments");
}

/// The capture is beside the client. The round trip is 50 ms. There are three requests of 100
/// octets. The server needs `serve` ms for each reply. It sends its ACK with the reply, or after
/// `ack_after` ms if this is earlier. Returns the milliseconds that the connection waited for the
/// path, for both applications, and for the server's application.
fn requests(serve: u64, ack_after: u64) -> [u64; 3] {
    let mut packets = opened_for_segments();
    let (flags, window) = (Flags::ACK.with(Flags::PSH), 65_000);
    let mut at = 50;
    for n in 0..3_u32 {
        let (asked, had) = (1 + 100 * n, 1 + 500 * n);
        packets.push((0, at, Segment { flags, ack: had, window, ..data(asked, 100) }));
        if ack_after < serve {
            let alone = Segment { seq: had, ..ack(asked + 100, 65_000) };
            packets.push((1, at + 50 + ack_after, alone));
        }
        at += 50 + serve;
        packets.push((1, at, Segment { flags, ack: asked + 100, window, ..data(had, 500) }));
    }
    let last = Segment { seq: 301, ..ack(1501, 65_000) };
    packets.push((0, at, last));
    let spent = explained(&packets).connections.at(0).spent;
    let times = [WaitingFor::Delivery, WaitingFor::Application].map(|what| spent.of(what));
    [times[0], times[1], spent.pause_ended_by(Side::To)].map(|time| time.as_nanos() / 1_000_000)
}

/// The handshake of a connection with a round trip of 50 ms and segments of up to 1460 octets,
/// captured beside the end that opens it.
pub(super) fn opened_for_segments() -> Vec<Packet> {
    let mut packets = opened(65_000);
    packets.truncate(3);
    for packet in &mut packets {
        packet.1 = if packet.2.flags.has(Flags::ACK) { 50 } else { 0 };
        if packet.2.flags.has(Flags::SYN) {
            packet.2.set_syn_options(SynOptions { mss: Some(1460), ..SynOptions::default() });
        }
    }
    packets
}

/// RFC 9293 §3.8.6.3: a receiver may delay an ACK and send it with data.
#[test]
fn a_reply_waited_for_the_application_if_it_took_more_than_five_quarters_of_a_round_trip() {
    assert_eq!(requests(0, 500), [150, 0, 0]);
    assert_eq!(requests(30, 500), [150, 90, 90], "the ACK came with the reply");
    assert_eq!(requests(60, 40), [150, 180, 180], "the ACK came before the reply");
    assert_eq!(requests(200, 1), [153, 597, 597], "the ACK came at once");
    assert_eq!(
        requests(10, 500),
        [180, 0, 0],
        "the reply took less than five quarters of a round trip"
    );
}

/// The capture is beside the sender. The sender sends each short segment when the delayed ACK of
/// the previous segment comes (Nagle's algorithm, RFC 9293 §3.7.4).
#[test]
fn a_wait_for_a_delayed_ack_is_no_pause_of_an_application() {
    let mut packets = opened_for_segments();
    let flags = Flags::ACK.with(Flags::PSH);
    for n in 0..3_u32 {
        let (at, first) = (50 + 90 * u64::from(n), 1 + 100 * n);
        packets.push((0, at, Segment { flags, ..data(first, 100) }));
        packets.push((1, at + 90, ack(first + 100, 65_000)));
    }
    let waits = [WaitingFor::Delivery, WaitingFor::Application, WaitingFor::CongestionWindow];
    assert_eq!(waited(&packets, waits), [90, 0, 180], "no data came after the last ACK");
}

/// The capture is beside the sender. The round trip is 50 ms. Four segments of 500 octets with PSH
/// are outstanding. Ten times, the receiver acknowledges two segments. For each number in the list
/// `acks`, it sends one ACK. The number says how many octets of the two segments are acknowledged
/// by then. The sender sends the next two segments `after` ms later. Returns the milliseconds that
/// the connection waited for the congestion window, and for the path.
fn short_writes(after: u64, acks: &[u32]) -> [u64; 2] {
    let mut packets = opened_for_segments();
    let flags = Flags::ACK.with(Flags::PSH);
    let mut pair = |at, first| {
        packets.extend([0, 500].map(|n| (0, at, Segment { flags, ..data(first + n, 500) })));
    };
    pair(50, 1);
    pair(50, 1001);
    for n in 0..10_u32 {
        pair(100 + 25 * u64::from(n) + after, 2001 + 1000 * n);
    }
    for n in 0..10_u32 {
        let told = |octets| (1, 100 + 25 * u64::from(n), ack(1 + 1000 * n + octets, 65_000));
        packets.extend(acks.iter().copied().map(told));
    }
    packets.sort_by_key(|(side, at, _)| (*at, Reverse(*side)));
    waited(&packets, [WaitingFor::CongestionWindow, WaitingFor::Delivery])
}

#[test]
fn if_short_segments_leave_just_after_an_ack_they_waited_for_this_ack() {
    for acks in [&[1000][..], &[500, 1000]] {
        assert_eq!(short_writes(0, acks), [50 + 9 * 25, 0]);
    }
    assert_eq!(short_writes(5, &[1000]), [0, 50 + 9 * 25 + 5], "the application wrote later");
}

/// The capture is beside the server. There are ten replies of 2,960 octets, and the last segment of
/// each is short. The client delays the ACK of this segment by 40 ms. The client needs 60 ms after
/// each reply until it sends the next request (think time). The round trip is 50 ms.
#[test]
fn if_the_last_ack_of_a_reply_is_delayed_the_delay_counts_as_think_time() {
    let mut packets = opened_for_segments();
    for packet in &mut packets {
        // This capture is beside the server, so the packets of the handshake have other times than
        // beside the client.
        packet.1 = if packet.1 == 50 && packet.0 == 0 { 50 } else { 0 };
    }
    let (flags, window) = (Flags::ACK.with(Flags::PSH), 65_000);
    for n in 0..10_u32 {
        let (at, asked, had) = (50 + 110 * u64::from(n), 1 + 100 * n, 1 + 2960 * n);
        packets.push((0, at, Segment { flags, ack: had, window, ..data(asked, 100) }));
        for (first, len) in [(0, 1460), (1460, 1460), (2920, 40)] {
            let reply = Segment { ack: asked + 100, window, ..data(had + first, len) };
            let flags = if len == 40 { flags } else { Flags::ACK };
            packets.push((1, at, Segment { flags, ..reply }));
        }
        let told = |octet| Segment { seq: asked + 100, ..ack(had + octet, 65_000) };
        packets.extend([(0, at + 50, told(2920)), (0, at + 90, told(2960))]);
    }
    let waits = [WaitingFor::Delivery, WaitingFor::Application];
    assert_eq!(waited(&packets, waits), [10 * 50 + 40, 9 * 60], "no request follows the last ACK");
}

/// The capture is beside the sender. The round trip is 30 ms. The sender sends a full segment every
/// `every` ms, and the receiver acknowledges each segment. Returns the milliseconds that the
/// connection waited for the congestion window, and for the path.
fn writes(every: u64) -> [u64; 2] {
    let mut packets = opened(65_000);
    for n in 0..20_u32 {
        let at = 30 + every * u64::from(n);
        packets.push((0, at, data(1 + 1000 * n, 1000)));
        packets.push((1, at + 30, ack(1001 + 1000 * n, 65_000)));
    }
    packets.sort_by_key(|packet| packet.1);
    waited(&packets, [WaitingFor::CongestionWindow, WaitingFor::Delivery])
}

#[test]
fn a_sender_that_sends_without_a_new_ack_had_no_more_data() {
    assert_eq!(writes(24), [19 * 6 + 24, 24 + 18 * 18], "an ACK comes between two writes");
}

/// Returns the statistics of the windows and times of an end that sends ACKs with `windows`. Each
/// window comes with its time in milliseconds after the handshake.
fn advertised(windows: &[(u64, u16)]) -> (Windows, PacketTimes) {
    let mut packets = opened(1000);
    packets.extend(windows.iter().map(|(ms, window)| (1, 30 + ms, ack(1, *window))));
    let found = explained(&packets);
    let connection = found.connections.at(0);
    let statistics = connection.direction(Side::To).unwrap().statistics();
    (statistics.windows, statistics.times)
}

#[test]
fn a_window_closes_only_once_if_the_zero_window_is_repeated() {
    let (windows, _) = advertised(&[(100, 0), (150, 0), (200, 1000), (300, 500), (400, 0)]);
    assert_eq!((windows.closings, windows.zeros), (2, 3));
    let ms = |ms| Time::ZERO + Duration::from_millis(ms);
    assert_eq!(windows.closed(ms(30 + 450)), Duration::from_millis(100 + 50));
}

#[test]
fn the_open_share_compares_each_window_with_the_largest_window_so_far() {
    let (windows, times) = advertised(&[(100, 2000), (200, 500), (400, 500)]);
    let (mean, open) = windows.over_time(times.first.unwrap(), times.last).unwrap();
    assert_eq!(
        (mean, open),
        (1000.0, 400.0 / 700.0),
        "the largest window so far is 1000 octets, and then 2000 octets for 300 ms"
    );
    assert_eq!(windows.over_time(times.last, times.last), None);
}

/// Both SYNs offer window scaling, so their windows do not count. The first window after the SYNs
/// is zero for 900 ms.
#[test]
fn a_window_of_zero_at_the_beginning_lowers_the_open_share() {
    let offers = SynOptions { window_scale: Some(0), ..SynOptions::default() };
    let mut packets = opened(5000);
    packets[0].2.set_syn_options(offers);
    packets[1].2.set_syn_options(offers);
    packets[3].2.window = 0;
    packets.extend([(1, 930, ack(1, 5000)), (1, 1030, ack(1, 5000))]);
    let found = explained(&packets);
    let statistics = found.connections.at(0).direction(Side::To).unwrap().statistics().clone();
    assert_eq!((statistics.windows.closings, statistics.windows.zeros), (1, 1));
    let times = statistics.times;
    let (mean, open) = statistics.windows.over_time(times.first.unwrap(), times.last).unwrap();
    assert_eq!((mean, open), (500.0, 0.1));
}

/// RFC 9293 §3.5 figure 7: both SYNs and both SYN-ACKs cross. The first data comes after 10 s.
#[test]
fn a_simultaneous_open_ends_with_the_second_syn_ack() {
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    let syn_ack = Segment { flags: Flags::SYN.with(Flags::ACK), ack: 1, ..Segment::default() };
    let packets = [(0, 0, syn), (1, 10, syn), (0, 12, syn_ack), (1, 20, syn_ack)];
    let data = (0, 10_020, data(1, 1000));
    let what = [WaitingFor::Handshake, WaitingFor::Application];
    let [handshake, application] = waited(&[&packets[..], &[data]].concat(), what);
    assert_eq!(handshake, 20);
    assert!(application > 9900, "{application}");
}

/// The capture is beside the receiver. The round trip is 20 ms. Ten flights of three segments come,
/// `every` ms apart. The acknowledgment of each flight has the window `window`. Returns the
/// milliseconds that the connection waited for the receive window, and for the congestion window.
fn flights_at_receiver(every: u64, window: u16) -> [u64; 2] {
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    let flags = Flags::SYN.with(Flags::ACK);
    let syn_ack = Segment { flags, ack: 1, ..Segment::default() };
    let mut packets = vec![(1, 0, syn), (0, 20, syn_ack), (1, 20, ack(1, window))];
    for flight in 0..10_u32 {
        let (at, first) = (20 + every * u64::from(flight + 1), 1 + 3000 * flight);
        packets.extend([0, 1000, 2000].map(|octet| (0, at, data(first + octet, 1000))));
        packets.push((1, at, ack(first + 3000, window)));
    }
    waited(&packets, [WaitingFor::ReceiveWindow, WaitingFor::CongestionWindow])
}

#[test]
fn beside_the_receiver_a_window_that_stays_full_holds_back_the_sender() {
    assert_eq!(
        flights_at_receiver(20, 3000),
        [180, 20],
        "the window is not full before the first flight"
    );
    assert_eq!(
        flights_at_receiver(20, 3900),
        [180, 20],
        "the window has no room for a fourth segment"
    );
}

#[test]
fn beside_the_receiver_a_window_with_room_does_not_hold_back_the_sender() {
    assert_eq!(flights_at_receiver(20, 4000), [0, 200]);
}

/// RFC 9293 §3.8.6: the sender may use a window as soon as it knows this window. Data that uses the
/// window comes 20 ms after the window passed the capture. It may come later by the time of one
/// segment, which is a third of 20 ms. So if data comes 4 ms later, the window held the sender
/// back. If data comes 8 ms later, the application paused.
#[test]
fn beside_the_receiver_a_window_counts_until_the_sender_knows_the_next_window() {
    assert_eq!(flights_at_receiver(24, 3000), [9 * 24, 24]);
    assert_eq!(flights_at_receiver(28, 3000), [9 * 20, 20]);
}

/// The capture is beside the receiver. The round trip is 20 ms. The sender sends three segments in
/// each round trip. The first three flights fill the window of 3000 octets. The acknowledgment of
/// the third flight opens the window to 9000 octets.
#[test]
fn beside_the_receiver_a_larger_window_counts_when_the_sender_knows_it() {
    let mut packets = vec![
        (1, 0, Segment { flags: Flags::SYN, ..Segment::default() }),
        (0, 20, Segment { flags: Flags::SYN.with(Flags::ACK), ack: 1, ..Segment::default() }),
        (1, 20, ack(1, 3000)),
    ];
    for flight in 0..5_u32 {
        let (at, first) = (40 + 20 * u64::from(flight), 1 + 3000 * flight);
        packets.extend([0, 1000, 2000].map(|octet| (0, at, data(first + octet, 1000))));
        packets.push((1, at, ack(first + 3000, if flight < 2 { 3000 } else { 9000 })));
    }
    let waits = [WaitingFor::ReceiveWindow, WaitingFor::CongestionWindow];
    assert_eq!(waited(&packets, waits), [3 * 20, 20 + 20]);
}

/// The capture is beside the receiver. The round trip is 20 ms. The sender sends four segments in
/// each round trip. The first segment of the fourth flight is lost. Its retransmission comes a
/// round trip later, with `during` new segments. Another round trip later, the sender knows that
/// the retransmission arrived. Returns the milliseconds that the connection waited for the repair.
fn repaired_at_receiver(during: u32) -> u64 {
    let syn = Segment { flags: Flags::SYN, ..Segment::default() };
    let syn_ack = Segment { flags: Flags::SYN.with(Flags::ACK), ack: 1, ..Segment::default() };
    let mut packets = vec![(1, 0, syn), (0, 20, syn_ack), (1, 20, ack(1, 65_000))];
    let (mut next, mut at) = (1, 40);
    let mut flight = |packets: &mut Vec<Packet>, first: u32, many: u32| {
        packets.extend((first..many).map(|n| (0, at, data(next + 1000 * n, 1000))));
        at += 20;
        next += 1000 * many;
        (at - 20, next)
    };
    for _ in 0..3 {
        let (at, end) = flight(&mut packets, 0, 4);
        packets.push((1, at, ack(end, 65_000)));
    }
    let (at, _) = flight(&mut packets, 1, 4);
    packets.extend([0; 3].map(|_| (1, at, ack(12_001, 65_000))));
    packets.push((0, at + 20, data(12_001, 1000)));
    for round in 0..4 {
        let (at, end) = flight(&mut packets, 0, if round == 0 { during } else { 4 });
        packets.push((1, at, ack(end, 65_000)));
    }
    waited(&packets, [WaitingFor::Repair])[0]
}

#[test]
fn beside_the_receiver_a_repair_lasts_until_the_sender_knows_that_it_succeeded() {
    assert_eq!(repaired_at_receiver(0), 20);
    assert_eq!(repaired_at_receiver(2), 10);
    assert_eq!(repaired_at_receiver(4), 0);
}

proptest! {
    /// Any packets of both sides, with any windows and acknowledgments.
    #[test]
    fn the_waits_of_a_connection_add_up_to_its_whole_time(
        steps in prop::collection::vec(
            (0..2_usize, 0..40_u64, 0..4_u32, 0..6_u32, 0..9_u16, any::<bool>()),
            0..80,
        )
    ) {
        let mut packets = opened(4000);
        let (mut at, mut next) = (30, [1_u32; 2]);
        for (side, gap, back, behind, window, full) in steps {
            at += gap;
            let seq = next[side].saturating_sub(back * 500).max(1);
            let len = if full { 1000 } else { 0 };
            let ack = next[1 - side].saturating_sub(behind * 500).max(1);
            packets.push((side, at, Segment { ack, window: window * 500, ..data(seq, len) }));
            next[side] = next[side].max(seq + u32::from(len));
        }
        let spent = explained(&packets).connections.at(0).spent;
        let whole: u64 = WaitingFor::ALL.iter().map(|what| spent.of(*what).as_nanos()).sum();
        prop_assert_eq!(whole, at * 1_000_000);
    }
}

/// The capture is beside the sender, which sends four segments every 30 ms. The first segment of
/// the fourth flight is lost, and retransmitted a round trip later. Then `during` new segments are
/// sent, until the retransmission is acknowledged. Returns the milliseconds that the connection
/// waited for the repair.
fn repaired(during: u32) -> u64 {
    let mut packets = opened(65_000);
    let mut next = 1;
    let mut flight = |packets: &mut Vec<Packet>, at: u64, many: u32| {
        packets.extend((0..many).map(|n| (0, at, data(next + 1000 * n, 1000))));
        next += 1000 * many;
        next
    };
    for round in 0..3 {
        let end = flight(&mut packets, 30 + 30 * round, 4);
        packets.push((1, 60 + 30 * round, ack(end, 65_000)));
    }
    flight(&mut packets, 120, 4);
    packets.extend([0; 3].map(|_| (1, 150, ack(12_001, 65_000))));
    packets.push((0, 150, data(12_001, 1000)));
    let end = flight(&mut packets, 150, during);
    packets.push((1, 180, ack(end, 65_000)));
    for round in 0..3 {
        let end = flight(&mut packets, 180 + 30 * round, 4);
        packets.push((1, 210 + 30 * round, ack(end, 65_000)));
    }
    waited(&packets, [WaitingFor::Repair])[0]
}

#[test]
fn new_data_during_a_repair_shortens_the_wait_for_the_repair() {
    assert_eq!(repaired(0), 30);
    assert_eq!(repaired(2), 15);
    assert_eq!(repaired(4), 0);
}
