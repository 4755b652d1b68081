//! Tests of how packets of programs, such as curl, are assigned to connections. The two ports of a
//! packet show its connection. A later connection may use the same ports.

use netspurt::ids::{FlowId, Side};
use netspurt::segment::{Flags, Segment};
use netspurt::units::{Duration, Time};
use netspurt_live::exec::{Connections, connections_table};

use super::common::{ms, numbers, packet_between, texts};

const SYN_ACK: Flags = Flags(Flags::SYN.0 | Flags::ACK.0);
const FIN_ACK: Flags = Flags(Flags::FIN.0 | Flags::ACK.0);

/// A packet of the host on `side` between a client's port and port 80 of the second host.
fn octets(side: Side, port: u16, segment: Segment) -> Vec<u8> {
    let ends = [format!("10.0.0.1:{port}"), "10.0.0.2:80".to_owned()];
    packet_between(&ends[side.index()], &ends[side.peer().index()], segment)
}

fn with(seq: u32, flags: Flags) -> Segment {
    Segment { seq, flags, ..Segment::default() }
}

/// A SYN-ACK for the SYN with the sequence number `syn`.
fn syn_ack(seq: u32, syn: u32) -> Segment {
    Segment { ack: syn + 1, ..with(seq, SYN_ACK) }
}

/// The number of the connection to which a packet belongs.
fn of(all: &mut Connections, side: Side, port: u16, at: Time, segment: Segment) -> Option<usize> {
    all.of(side, &octets(side, port, segment), at)
}

#[test]
fn packets_of_both_sides_belong_to_the_connection_with_their_ports() {
    let mut all = Connections::new(10);
    for (number, port) in [4000, 4001, 4002].into_iter().enumerate() {
        assert_eq!(of(&mut all, Side::From, port, ms(1), with(7, Flags::SYN)), Some(number));
        assert_eq!(of(&mut all, Side::To, port, ms(2), syn_ack(9, 7)), Some(number));
        assert_eq!(all.ports(number), [port, 80]);
    }
    assert_eq!(of(&mut all, Side::From, 4001, ms(3), with(8, Flags::ACK)), Some(1));
    assert_eq!((all.count(), all.others), (3, 0));
}

#[test]
fn a_connection_begins_with_its_first_packet_of_any_kind() {
    let mut all = Connections::new(10);
    assert_eq!(of(&mut all, Side::From, 4000, ms(1), with(50, Flags::ACK)), Some(0));
    // In packets of the second host, the listening port is the source port.
    assert_eq!(of(&mut all, Side::To, 4001, ms(1), with(50, Flags::ACK)), Some(1));
    assert_eq!((all.ports(0), all.ports(1)), ([4000, 80], [4001, 80]));
}

#[test]
fn a_syn_with_a_new_sequence_number_begins_a_new_connection() {
    let mut all = Connections::new(10);
    assert_eq!(of(&mut all, Side::From, 4000, ms(1), with(7, Flags::SYN)), Some(0));
    assert_eq!(
        of(&mut all, Side::From, 4000, ms(2), with(7, Flags::SYN)),
        Some(0),
        "a retransmitted SYN belongs to the same connection"
    );
    assert_eq!(of(&mut all, Side::From, 4000, ms(9), with(1000, Flags::SYN)), Some(1));
    assert_eq!(of(&mut all, Side::To, 4000, ms(10), syn_ack(5, 1000)), Some(1));
    assert_eq!(all.count(), 2);
}

/// A closed connection is retired after TIME-WAIT, which lasts four minutes (RFC 9293 §3.4.2). A
/// connection that is not closed is retired after 2 h 4 min of silence (RFC 5382 §5). Later
/// packets with its ports begin another connection.
#[test]
fn a_connection_is_retired_after_its_close_and_after_long_silence() {
    for (closes, silence_s, number) in
        [(true, 239, 0), (true, 241, 1), (false, 241, 0), (false, 7439, 0), (false, 7441, 1)]
    {
        let mut all = Connections::new(10);
        of(&mut all, Side::From, 4000, ms(0), with(7, Flags::SYN));
        if closes {
            of(&mut all, Side::From, 4000, ms(0), with(8, FIN_ACK));
            of(&mut all, Side::To, 4000, ms(0), with(9, FIN_ACK));
        }
        let later = Time::ZERO + Duration::from_secs(silence_s);
        let found = of(&mut all, Side::From, 4000, later, with(9, Flags::ACK));
        assert_eq!(found, Some(number), "closed: {closes}, after {silence_s} s");
    }
}

#[test]
fn packets_beyond_the_limit_of_connections_belong_to_no_connection() {
    let mut all = Connections::new(2);
    for (port, expected) in [(1, Some(0)), (2, Some(1)), (3, None), (1, Some(0)), (3, None)] {
        assert_eq!(of(&mut all, Side::From, 4000 + port, ms(1), with(7, Flags::SYN)), expected);
    }
    assert_eq!((all.count(), all.others), (2, 2));
    assert_eq!(of(&mut Connections::new(0), Side::From, 4000, ms(1), with(7, Flags::SYN)), None);
}

#[test]
fn a_packet_that_is_no_segment_over_ipv4_belongs_to_no_connection() {
    let whole = octets(Side::From, 4000, with(7, Flags::SYN));
    let changed = |at: usize, octet: u8| {
        let mut bytes = whole.clone();
        bytes[at] = octet;
        bytes
    };
    for (what, bytes) in [
        ("UDP", changed(9, 17)),
        ("the first fragment", changed(6, 0x20)),
        ("another fragment", changed(7, 1)),
        ("IPv6", packet_between("[::1]:4000", "[::2]:80", with(7, Flags::SYN))),
        ("an IP header alone", whole[..20].to_vec()),
        ("nothing", Vec::new()),
    ] {
        let mut all = Connections::new(10);
        assert_eq!(all.of(Side::From, &bytes, ms(1)), None, "{what}");
        assert_eq!((all.count(), all.others), (0, 1), "{what}");
    }
}

/// A segment of the first flow from the host on `side`.
fn crossing(side: Side, seq: u32, len: u16, flags: Flags) -> Segment {
    let dest = FlowId(0).end(side.peer());
    Segment { seq, len, flags, dest, ..Segment::default() }
}

/// Makes a connection that the host on the side `opener` opened. The opener sent 300 octets and got
/// 2000 octets back.
fn conversation(opener: Side) -> Connections {
    let mut all = Connections::new(1);
    let other = opener.peer();
    of(&mut all, opener, 4000, ms(0), with(7, Flags::SYN));
    all.entered(0, opener, ms(1), &crossing(opener, 0, 0, Flags::SYN));
    all.entered(0, opener, ms(3001), &crossing(opener, 0, 0, Flags::SYN));
    all.entered(0, other, ms(3011), &crossing(other, 0, 0, SYN_ACK));
    all.entered(0, opener, ms(3021), &crossing(opener, 1, 300, Flags::ACK));
    all.reached(0, other, ms(3030), &crossing(opener, 1, 300, Flags::ACK));
    all.entered(0, other, ms(3040), &crossing(other, 1, 1000, Flags::ACK));
    // The second thousand octets arrive before the first thousand.
    all.reached(0, opener, ms(3055), &crossing(other, 1001, 1000, Flags::ACK));
    all.reached(0, opener, ms(3250), &crossing(other, 1, 1000, Flags::ACK));
    all.reached(0, opener, ms(3260), &crossing(other, 1, 1000, Flags::ACK));
    all
}

#[test]
fn the_times_of_a_connection_do_not_depend_on_its_opener() {
    for opener in Side::BOTH {
        let all = conversation(opener);
        let table = connections_table("web", &all, &[[[2000, 300], [0, 1]]]);
        assert_eq!(texts(&table, "flow"), ["web.0"]);
        for (column, expected) in [
            ("opened_ns", 1),
            ("syn_ns", 3001),
            ("asked_ns", 3021),
            ("began_ns", 3040),
            ("answered_ns", 3055),
            ("complete_ns", 3250),
        ] {
            let found = numbers(&table, column)[0].map(|nanos| nanos / 1_000_000);
            assert_eq!(found, Some(expected), "{column}, opened by {opener:?}");
        }
        assert_eq!(numbers(&table, "closed_ns"), [None]);
        let counts = ["from_bytes", "to_bytes", "from_shim", "to_shim"];
        let counts = counts.map(|column| numbers(&table, column)[0].unwrap());
        assert_eq!(counts, [2000, 300, 0, 1]);
    }
}

#[test]
fn a_connection_is_closed_when_both_fins_have_arrived() {
    let mut all = conversation(Side::From);
    let closed =
        |all: &Connections| numbers(&connections_table("web", all, &[[[0; 2]; 2]]), "closed_ns")[0];
    all.reached(0, Side::To, ms(4000), &crossing(Side::From, 301, 0, FIN_ACK));
    assert_eq!(closed(&all), None);
    all.reached(0, Side::From, ms(5000), &crossing(Side::To, 2001, 0, FIN_ACK));
    all.reached(0, Side::To, ms(6000), &crossing(Side::From, 301, 0, FIN_ACK));
    assert_eq!(closed(&all), Some(5_000_000_000), "a FIN that arrives again changes nothing");
}

#[test]
fn a_start_or_an_arrival_makes_a_connection_recently_active() {
    let mut all = Connections::new(3);
    for port in 0..3 {
        of(&mut all, Side::From, 4000 + port, ms(0), with(7, Flags::SYN));
    }
    all.reached(1, Side::To, ms(700), &crossing(Side::From, 1, 100, Flags::ACK));
    all.reached(2, Side::To, ms(300), &crossing(Side::From, 1, 100, Flags::ACK));
    let recently_active = |since: u64| all.recently_active(ms(since)).collect::<Vec<_>>();
    assert_eq!(
        (recently_active(0), recently_active(300), recently_active(500), recently_active(701)),
        (vec![0, 1, 2], vec![1, 2], vec![1], vec![])
    );
}

#[test]
fn events_of_an_unknown_connection_change_nothing() {
    let mut all = conversation(Side::From);
    let before = connections_table("web", &all, &[[[0; 2]; 2]]);
    all.entered(5, Side::From, ms(1), &crossing(Side::From, 0, 0, Flags::SYN));
    all.reached(5, Side::From, ms(1), &crossing(Side::To, 0, 10, FIN_ACK));
    assert_eq!(connections_table("web", &all, &[[[0; 2]; 2]]), before);
}
