//! Tests of retransmissions after a router reported by ICMP that a packet was too big for the path.
//! Times are in milliseconds, and octets count from 0.

use std::net::SocketAddr;

use crate::explain::{Explainer, Explanation};
use crate::ids::Side;
use crate::segment::{Cause, Flags, Segment};
use crate::wire::{CapturedPacket, LinkType, Packet, encode};

/// A connection between two hosts, and the reports of a router on its path.
struct RoutedTalk {
    explainer: Explainer,
    ends: [SocketAddr; 2],
}

impl RoutedTalk {
    /// The payload size of a full segment, in octets.
    const FULL: u16 = 1000;

    /// Begins with a handshake whose round trip takes 100 ms.
    fn opened(v6: bool) -> Self {
        let ends = match v6 {
            false => ["10.0.0.1:4000", "10.0.0.2:80"],
            true => ["[2001:db8::1]:4000", "[2001:db8::2]:80"],
        };
        let ends = ends.map(|end| end.parse().unwrap());
        let mut talk = Self { explainer: Explainer::default(), ends };
        let syn = Segment { flags: Flags::SYN, ..Segment::default() };
        talk.packet(0.0, 0, syn);
        let flags = Flags::SYN.with(Flags::ACK);
        talk.packet(100.0, 1, Segment { flags, ack: 1, ..Segment::default() });
        talk
    }

    /// Lets the explainer take an IP packet that was captured at `ms` milliseconds.
    fn take(&mut self, ms: f64, bytes: &[u8]) {
        let (link, original_bytes) = (LinkType(101), bytes.len() as u32);
        let unix_ns = (1e6 * ms) as i64;
        let packet =
            CapturedPacket { unix_ns, timed: true, link, interface: 0, original_bytes, bytes };
        self.explainer.take(&packet);
    }

    /// The IP packet with `segment`, which side number `side` sends.
    fn bytes(&self, side: usize, segment: Segment) -> Vec<u8> {
        let [from, to] = self.ends;
        let [source, destination] = if side == 0 { [from, to] } else { [to, from] };
        let mut bytes = Vec::new();
        encode(&Packet { source, destination, ip_id: 1, segment, payload: None }, &mut bytes);
        bytes
    }

    fn packet(&mut self, ms: f64, side: usize, segment: Segment) {
        self.take(ms, &self.bytes(side, segment));
    }

    fn segment(first: u32, len: u16) -> Segment {
        Segment { seq: 1 + first, len, ack: 1, flags: Flags::ACK, ..Segment::default() }
    }

    /// The first side sends `len` octets from octet `first` on.
    fn data(mut self, ms: f64, first: u32, len: u16) -> Self {
        self.packet(ms, 0, Self::segment(first, len));
        self
    }

    /// The second side acknowledges the octets below octet `next`.
    fn ack(mut self, ms: f64, next: u32) -> Self {
        let ack = Segment { seq: 1, ack: 1 + next, flags: Flags::ACK, ..Segment::default() };
        self.packet(ms, 1, Segment { window: 5000, ..ack });
        self
    }

    /// The report of a router that a packet exceeds the limit `mtu`. The packet begins with octet
    /// `first`. The report quotes the IP header and eight octets of the TCP header.
    fn report(&self, first: u32, mtu: u16) -> Vec<u8> {
        let dropped = self.bytes(0, Self::segment(first, Self::FULL));
        let [high, low] = mtu.to_be_bytes();
        if self.ends[0].is_ipv6() {
            let head = [0x60, 0, 0, 0, 0, 56, 58, 64];
            let told = [2, 0, 0, 0, 0, 0, high, low];
            [&head, &dropped[8..40], &told[..], &dropped[..48]].concat()
        } else {
            let head = [0x45, 0, 0, 56, 0, 0, 0, 0, 64, 1, 0, 0, 10, 0, 0, 9, 10, 0, 0, 1];
            let told = [3, 4, 0, 0, 0, 0, high, low];
            [&head[..], &told, &dropped[..28]].concat()
        }
    }

    /// The router's report on the packet with the octets from octet `first` on passes the capture.
    fn too_big(mut self, ms: f64, first: u32, mtu: u16) -> Self {
        self.take(ms, &self.report(first, mtu));
        self
    }

    /// Four segments are sent. The router drops the first two, and reports that each of them
    /// exceeds the limit `mtu`.
    fn reported(v6: bool, mtu: u16) -> Self {
        let talk = (0..4).fold(Self::opened(v6), |talk, n| talk.data(101.0, 1000 * n, Self::FULL));
        talk.too_big(111.0, 0, mtu).too_big(111.1, 1000, mtu)
    }

    /// The causes of the retransmissions of the first side, and the whole explanation.
    fn causes(self) -> (Vec<Option<Cause>>, Explanation) {
        let found = self.explainer.finish();
        let connection = found.connections.at(0);
        let direction = connection.direction(Side::From).unwrap();
        (direction.retransmissions.iter().map(|one| one.cause.get()).collect(), found)
    }
}

/// RFC 1191 §6.4: TCP sends the octets of the first dropped packet again at once, in packets of the
/// new size. It sends the octets of the second dropped packet when an acknowledgment comes.
#[test]
fn retransmissions_immediately_after_a_report_have_the_cause_packet_too_big() {
    for v6 in [false, true] {
        let talk = RoutedTalk::reported(v6, 576).data(111.2, 0, 500).data(111.2, 500, 500);
        let talk = talk.ack(211.3, 1000).data(211.4, 1000, 500).data(211.4, 1500, 500);
        let (causes, found) = talk.ack(311.5, 4000).causes();
        assert_eq!(causes, [Some(Cause::TooBig); 4], "IPv6: {v6}");
        assert_eq!((found.notes.too_big, found.passed.other), ((2, 576), 2));
        let lines = found.notes.lines();
        assert!(lines[0].contains("the limit of the path, 576 octets, and reported"), "{lines:?}");
        assert!(lines[0].contains("by ICMP (2 packets)"), "{lines:?}");
    }
}

#[test]
fn a_sender_that_ignores_a_report_sends_again_after_a_timeout() {
    let talk = RoutedTalk::reported(false, 0).data(511.2, 0, 500);
    let (causes, found) = talk.ack(611.3, 1000).data(611.4, 1000, 500).causes();
    assert_eq!(causes, [Some(Cause::Rto), Some(Cause::GoBackN)]);
    let lines = found.notes.lines();
    assert!(lines[0].contains("exceeded the limit of the path, and reported"), "{lines:?}");
}

/// If the smaller packet is lost, the timer sends its octets again. After that, the sender sends
/// all octets after them by go-back-N.
#[test]
fn a_timeout_ends_the_reaction_to_a_report() {
    let talk = RoutedTalk::reported(false, 576).data(111.2, 0, 500).data(511.2, 0, 500);
    let (causes, _) = talk.ack(611.3, 500).data(611.4, 500, 500).causes();
    assert_eq!(causes, [Some(Cause::TooBig), Some(Cause::Rto), Some(Cause::GoBackN)]);
}

/// RFC 5927 §7.2: a report that quotes octets that are not outstanding may be forged.
#[test]
fn a_report_on_octets_that_are_not_outstanding_has_no_effect() {
    let talk = RoutedTalk::opened(false).data(101.0, 0, 1000).ack(201.0, 1000);
    let talk = talk.data(202.0, 1000, 1000).too_big(203.0, 0, 576).too_big(203.0, 2000, 576);
    let (causes, found) = talk.data(512.0, 1000, 1000).causes();
    assert_ne!(causes, [Some(Cause::TooBig)]);
    assert_eq!(causes.len(), 1);
    assert_eq!((found.notes.too_big, found.notes.lines().len()), ((0, 0), 0));
}

#[test]
fn reports_on_unknown_connections_and_cut_reports_have_no_effect() {
    for v6 in [false, true] {
        let mut talk = RoutedTalk::opened(v6).data(101.0, 0, 1000);
        let other = RoutedTalk::opened(!v6);
        talk.take(300.0, &other.report(0, 576));
        let whole = talk.report(0, 576);
        (0..whole.len()).for_each(|len| talk.take(300.0, &whole[..len]));
        assert_eq!(talk.explainer.notes().too_big, (0, 0));
        talk.take(300.0, &whole);
        assert_eq!(talk.explainer.notes().too_big, (1, 576));
    }
}
