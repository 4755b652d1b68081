//! Tests of connections with ECN. A talk (`Talk`) is a made-up capture of one connection. Its times
//! are in milliseconds.

use super::super::{CauseRule, ExplainedRetransmission};
use super::causes::Talk;
use crate::ids::Side;
use crate::segment::{Cause, Flags, Segment};

/// A lone segment (the only one outstanding) is sent twice. Then two requests are sent, one after
/// the other. `reduced` is the number of the request that carries CWR, which says that cwnd was
/// reduced. `marked` says whether the ACK of the lone segment echoes an ECN mark. Returns the
/// retransmission of the lone segment.
fn requests_with_ecn(reduced: u32, marked: bool) -> ExplainedRetransmission {
    let mut talk = Talk::opened(true, false);
    talk.octets(101.0, 0, 600).octets(381.0, 0, 600);
    let echo = if marked { Flags::ECE } else { Flags::ACK };
    let (ack, flags) = (talk.wire(600), Flags::ACK.with(echo));
    talk.packet(
        Side::To,
        481.0,
        Segment { seq: 1, ack, window: 5000, flags, ..Segment::default() },
    );
    for request in 1..3 {
        let cwr = if request == reduced { Flags::CWR } else { Flags::ACK };
        let (seq, flags) = (talk.wire(600 * request), Flags::ACK.with(cwr));
        let at = 500.0 + 200.0 * f64::from(request);
        let segment = Segment { seq, len: 600, ack: 1, flags, ..Segment::default() };
        talk.packet(Side::From, at, segment);
        talk.ack(at + 100.0, 600 * request + 600);
    }
    talk.found()[0]
}

/// RFC 3168 §6.1.2: CWR is on the first new data after cwnd was reduced. A timeout reduces cwnd at
/// once (RFC 5681 §3.1). A probe reduces cwnd when later octets are acknowledged (RFC 8985 §7.4.2).
#[test]
fn the_first_request_with_cwr_shows_whether_a_probe_or_a_timeout_came() {
    let told = |found: ExplainedRetransmission| (found.cause.get(), found.rule);
    let (tlp, rto) = (Some(Cause::Tlp), Some(Cause::Rto));
    assert_eq!(told(requests_with_ecn(1, false)), (rto, CauseRule::LoneByWindow));
    assert_eq!(told(requests_with_ecn(2, false)), (tlp, CauseRule::LoneByWindow));
    for reduced in 1..3 {
        // Because of the mark, the sender may have reduced cwnd. So CWR shows nothing.
        assert_eq!(told(requests_with_ecn(reduced, true)), (tlp, CauseRule::LoneByTime));
    }
}

/// RFC 3168 §6.1.1: the SYN of a connection with ECN has ECE and CWR, and the SYN-ACK has ECE. In
/// SYNs, these flags report no mark.
#[test]
fn the_flags_ece_and_cwr_count_except_on_syns() {
    let mut talk = Talk::midway();
    let both = Flags::ECE.with(Flags::CWR);
    let mut packet = |side, at, seq, len, flags| {
        talk.packet(side, at, Segment { seq, len, ack: 1, flags, ..Segment::default() });
    };
    packet(Side::From, 0.0, 0, 0, Flags::SYN.with(both));
    packet(Side::To, 100.0, 0, 0, Flags::SYN.with(Flags::ACK).with(Flags::ECE));
    packet(Side::From, 101.0, 1, 100, Flags::ACK);
    packet(Side::From, 102.0, 101, 100, Flags::ACK.with(Flags::CWR));
    packet(Side::From, 103.0, 201, 100, Flags::ACK.with(both));
    packet(Side::To, 203.0, 1, 0, Flags::ACK.with(Flags::ECE));
    let found = talk.explained();
    let flags = |side| {
        let packets = found.connections.at(0).direction(side).unwrap().statistics().packets;
        (packets.ece, packets.cwr)
    };
    assert_eq!((flags(Side::From), flags(Side::To)), ((1, 2), (1, 0)));
}
