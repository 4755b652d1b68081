//! Tests of the senders of the network simulator ns-2: the handshake, and F-RTO after a timeout.

use crate::event::{Events, Wanted};
use crate::ids::{FlowId, Side};
use crate::segment::{Cause, Flags, Segment};
use crate::stage::Stage;
use crate::tcp::{Connection, NsConfig, NsVariant};
use crate::units::{Duration, Time};

fn at(ms: u64) -> Time {
    Time::ZERO + Duration::from_millis(ms)
}

/// One end of a flow and its events.
struct End {
    connection: Connection,
    events: Events<Segment>,
}

impl End {
    /// An end that has sent nothing.
    fn new(side: Side, config: NsConfig) -> Self {
        let connection = Connection::new(FlowId(0).end(side), &config.into());
        Self { connection, events: Events::new(Wanted::default()) }
    }

    /// The end that opens the flow, after its application wrote `octets` at time zero.
    fn writes(config: NsConfig, octets: u64) -> Self {
        let mut end = Self::new(Side::From, config);
        end.connection.write(Time::ZERO, octets, &mut end.events);
        end
    }

    /// The segments that the end sends up to the instant `now`.
    fn sends(&mut self, now: Time) -> Vec<Segment> {
        core::iter::from_fn(|| self.connection.pop(now, &mut self.events))
            .map(|(_, _, segment)| segment)
            .collect()
    }

    /// Delivers an ACK to the end. Returns the segments that the end then sends immediately.
    fn acked(&mut self, now: Time, ack: u32) -> Vec<Segment> {
        let segment = Segment { ack, size_bytes: 40, flags: Flags::ACK, ..Segment::default() };
        self.connection.push(now, 0, segment, &mut self.events);
        self.sends(now)
    }

    /// Delivers a segment to the end. Returns the segments that the end then sends immediately.
    fn takes(&mut self, now: Time, segment: Segment) -> Vec<Segment> {
        self.connection.push(now, 0, segment, &mut self.events);
        self.sends(now)
    }
}

/// For each segment: the sequence number, the octets of payload, and the octets of the packet.
fn numbers(segments: &[Segment]) -> Vec<(u32, u16, u16)> {
    segments.iter().map(|segment| (segment.seq, segment.len, segment.size_bytes)).collect()
}

/// A newreno sender, otherwise with the defaults of ns-2.
fn plain() -> NsConfig {
    NsConfig { variant: NsVariant::NewReno, ..NsConfig::default() }
}

/// A newreno sender that sends a SYN first, and sets the initial window by the size of a segment.
fn with_handshake() -> NsConfig {
    NsConfig {
        handshake: true,
        delay_growth: true,
        headers_on_top: true,
        initial_window_by_size: true,
        ..plain()
    }
}

#[test]
fn a_syn_is_sent_alone_and_its_answer_releases_the_initial_window() {
    let mut source = End::writes(with_handshake(), 6000);
    let syn = source.sends(Time::ZERO);
    assert_eq!((numbers(&syn), syn[0].flags), (vec![(0, 0, 40)], Flags::SYN));
    let mut sink = End::new(Side::To, with_handshake());
    let answer = sink.takes(at(100), syn[0]);
    assert_eq!((answer[0].ack, answer[0].flags), (1, Flags::SYN.with(Flags::ACK)));
    let data = source.takes(at(200), answer[0]);
    let expected = [1, 1001, 2001, 3001].map(|seq| (seq, 1000, 1040));
    assert_eq!(numbers(&data), expected);
    assert_eq!(sink.takes(at(300), data[0])[0].ack, 1001);
    let sums = source.connection.totals();
    assert_eq!((sums.acked_bytes, sums.sent.data_segments), (0, 4), "the SYN is not data");
}

#[test]
fn a_lost_syn_is_retransmitted_and_the_initial_window_is_then_two_segments() {
    let mut source = End::writes(with_handshake(), 6000);
    source.sends(Time::ZERO);
    let again = source.sends(at(3000));
    assert_eq!((numbers(&again), again[0].cause.get()), (vec![(0, 0, 40)], Some(Cause::Syn)));
    assert_eq!(source.acked(at(3100), 1).len(), 2, "`initial_window_segs` is two by default");
    assert_eq!(source.connection.totals().sent.retransmissions, 0);
}

#[test]
fn two_new_acks_after_a_timeout_undo_the_timeout() {
    let config = NsConfig { frto: true, initial_window_segs: 4, ..plain() };
    let mut source = End::writes(config, 40 * 960);
    assert_eq!(source.sends(Time::ZERO).len(), 4);
    assert_eq!(numbers(&source.sends(at(3000))), [(1, 960, 1000)]);
    let probes = source.acked(at(3100), 961);
    assert_eq!(numbers(&probes), [(3841, 960, 1000), (4801, 960, 1000)]);
    let rest = source.acked(at(3110), 1921);
    assert_eq!(source.connection.totals().sent.undone, 1);
    // Five packets, the octets 961 to 5760, were outstanding before this ACK. ns-2 sets cwnd to one
    // packet more, so the window ends at octet 7680.
    assert_eq!(numbers(&rest), [(5761, 960, 1000), (6721, 960, 1000)]);
}

#[test]
fn a_duplicate_ack_after_a_timeout_starts_go_back_n() {
    let config = NsConfig { frto: true, initial_window_segs: 4, ..plain() };
    let mut source = End::writes(config, 40 * 960);
    source.sends(Time::ZERO);
    source.sends(at(3000));
    source.acked(at(3100), 961);
    let back = source.acked(at(3110), 961);
    assert_eq!(numbers(&back), [(961, 960, 1000), (1921, 960, 1000)]);
    assert_eq!(source.connection.totals().sent.undone, 0);
}
