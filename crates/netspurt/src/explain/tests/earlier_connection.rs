//! Tests of connections whose first packets have sequence numbers of other connections. A talk
//! (`Talk`) is a made-up capture of one connection. Its times are in milliseconds.

use crate::ids::Side;
use crate::record::Data;
use crate::segment::{Cause, Flags, Segment};

use super::super::{EndedDirection, Ending, Explainer};
use super::causes::Talk;

/// The client's initial sequence number in the new connection.
const FIRST: u32 = 3_000_000_000;

const SYN_ACK: Flags = Flags::SYN.with(Flags::ACK);

/// A connection in which the client sends its first segment of data twice. `opening` has the
/// packets before the last packet of the handshake. The server's initial sequence number is
/// `server`.
fn talk_after(opening: &[(Side, f64, Segment)], server: u32) -> Talk {
    let mut talk = Talk::midway();
    for (side, at, segment) in opening {
        talk.packet(*side, *at, *segment);
    }
    let of_client = |seq, len| Segment {
        seq: FIRST + seq,
        len,
        ack: server.wrapping_add(1),
        flags: Flags::ACK,
        ..Segment::default()
    };
    let answer = |ack| Segment {
        seq: server.wrapping_add(1),
        ack: FIRST + ack,
        flags: Flags::ACK,
        ..Segment::default()
    };
    talk.packet(Side::From, 1100.1, of_client(1, 0));
    talk.packet(Side::From, 1101.0, of_client(1, 1000));
    talk.packet(Side::From, 1401.0, of_client(1, 1000));
    talk.packet(Side::To, 1501.0, answer(1001));
    talk
}

/// Both directions of `talk`.
fn both(talk: &Talk) -> [EndedDirection; 2] {
    let found = talk.explained();
    let connection = found.connections.at(0);
    Side::BOTH.map(|side| connection.direction(side).unwrap().clone())
}

/// RFC 9293 §3.5.1, RFC 5961 §4.2: the server still has an earlier connection with these ports. It
/// answers the SYN with the sequence and acknowledgment numbers of this earlier connection.
#[test]
fn an_answer_of_an_earlier_connection_counts_but_its_numbers_do_not() {
    let syn = Segment { seq: FIRST, flags: Flags::SYN, ..Segment::default() };
    let old = Segment { seq: 700, ack: 900, flags: Flags::ACK, ..Segment::default() };
    let reset = Segment { seq: 900, flags: Flags::RST, ..Segment::default() };
    let answer = Segment { seq: 1 << 31, ack: FIRST + 1, flags: SYN_ACK, ..Segment::default() };
    let opening: Vec<_> = [0.0, 500.0]
        .iter()
        .flat_map(|at| {
            [(Side::From, *at, syn), (Side::To, at + 100.0, old), (Side::From, at + 100.1, reset)]
        })
        .chain([(Side::From, 1000.0, syn), (Side::To, 1100.0, answer)])
        .collect();
    let talk = talk_after(&opening, 1 << 31);
    let [forward, reverse] = both(&talk);
    let causes: Vec<_> = forward.retransmissions.iter().map(|one| one.cause.get()).collect();
    assert_eq!(causes, [Some(Cause::Syn), Some(Cause::Syn), Some(Cause::Rto)]);
    assert_eq!(forward.statistics.packets.all, 8, "the resets count");
    assert!(reverse.retransmissions.is_empty());
    assert_eq!(reverse.statistics.packets.all, 4, "answers of the earlier connection count");
    assert_eq!(reverse.statistics.round_trips.all.count(), 1, "the round trip of the SYN-ACK");
    let found = talk.explained_by(Explainer::default().with_transcript(None));
    assert_eq!(found.connections.at(0).ending(), Ending::Open, "no reset ended it");
    let tables = found.transcript.as_ref().unwrap().tables(&found.connections, found.start);
    let segments = tables.iter().find(|table| table.name == "segments").unwrap();
    let acked = segments.column("ack").unwrap();
    let Data::I64(acked) = acked else { panic!("the column has another type") };
    assert_eq!(acked.iter().max(), Some(&1001));
}

/// A host that keeps no state for connections that are not open may choose another number for each
/// SYN-ACK (compare RFC 4987 §3.6).
#[test]
fn a_second_syn_ack_with_another_number_is_no_retransmission() {
    let syn = Segment { seq: FIRST, flags: Flags::SYN, ..Segment::default() };
    let answer = |seq| Segment { seq, ack: FIRST + 1, flags: SYN_ACK, ..Segment::default() };
    let talk = talk_after(
        &[
            (Side::From, 0.0, syn),
            (Side::To, 100.0, answer(77)),
            (Side::From, 1000.0, syn),
            (Side::To, 1100.0, answer(1 << 31)),
        ],
        1 << 31,
    );
    let [forward, reverse] = both(&talk);
    let causes: Vec<_> = forward.retransmissions.iter().map(|one| one.cause.get()).collect();
    assert_eq!(causes, [Some(Cause::Syn), Some(Cause::Rto)]);
    assert!(reverse.retransmissions.is_empty());
}
