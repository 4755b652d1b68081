//! Tests of the applications that write and read on the kernel's TCP, step by step. The time is a
//! parameter, and each application's socket is one end of a socket pair.

use std::io::{Read as _, Write as _};
use std::net::Shutdown as HowFar;
use std::os::unix::net::UnixStream;

use netspurt::app::{Bulk, PlannedRequest, RequestPlan};

use super::*;

fn ms(count: u64) -> Time {
    Time::ZERO + Duration::from_millis(count)
}

/// A transfer that starts at 5 ms. `None` stands for an unlimited number of octets.
fn bulk(octets: Option<u64>, pause_ms: u64) -> Task {
    Task::Bulk(Bulk { start: ms(5), pause: Duration::from_millis(pause_ms), octets })
}

/// Two requests of 30 octets, each with a reply of 100 octets. The client thinks for 7 ms, and the
/// server works for 9 ms.
fn requests(pause_ms: u64) -> Task {
    Task::Requests(RequestPlan {
        start: ms(5),
        pause: Duration::from_millis(pause_ms),
        each: PlannedRequest {
            request_bytes: 30,
            reply_bytes: 100,
            think: Duration::from_millis(7),
            serve: Duration::from_millis(9),
        },
        count: 2,
        later: None,
    })
}

/// The two ends of an open connection. Calls on them do not block.
fn pair() -> (OwnedFd, UnixStream) {
    let (own, peer) = UnixStream::pair().unwrap();
    own.set_nonblocking(true).unwrap();
    peer.set_nonblocking(true).unwrap();
    (own.into(), peer)
}

/// Returns the application of end 0, whose connection is about to open, and the other end of its
/// socket.
fn source(task: Task) -> (ContentSource, UnixStream) {
    let (own, peer) = pair();
    let socket = FlowSocket::default();
    socket.set(own).unwrap();
    let mut apps = Apps::default();
    apps.add_source(EndId::at(0), socket, "192.0.2.1:9".parse().unwrap(), task);
    let mut source = apps.sources.pop().unwrap();
    source.stage = AppStage::Connects;
    (source, peer)
}

/// Returns the application of end 1, which has accepted its connection, and the other end of its
/// socket.
fn sink(task: Task) -> (Sink, UnixStream) {
    let ((own, peer), (listener, _)) = (pair(), pair());
    let accepted = FlowSocket::default();
    accepted.set(own).unwrap();
    let mut apps = Apps::default();
    apps.add_sink(EndId::at(1), listener, accepted, task);
    (apps.sinks.pop().unwrap(), peer)
}

/// The octets that arrived at the other end.
fn arrived(peer: &mut UnixStream) -> Vec<u8> {
    let mut all = Vec::new();
    // The read ends when no octet waits or the connection has ended.
    let _ = peer.read_to_end(&mut all);
    all
}

/// The maximum number of octets that an application reads at once.
const ROOM: usize = 64;

#[test]
fn a_transfer_writes_its_octets_when_the_connection_opens_and_then_closes() {
    let (mut source, mut peer) = source(bulk(Some(600), 0));
    assert_eq!(source.due(), None, "the transfer waits for its socket");
    source.step(ms(20), &mut [0; ROOM]);
    assert_eq!(arrived(&mut peer), content::octets(0, 600));
    assert_eq!(peer.read(&mut [0]).unwrap(), 0, "the end of the stream");
    assert_eq!(source.stage, AppStage::Done);
    let notes = source.into_notes();
    assert_eq!((notes.opened, notes.wrote), (Some(ms(20)), Some(ms(20))));
    assert_eq!((notes.failure, notes.finished), (None, None));
}

#[test]
fn a_transfer_pauses_after_the_connection_has_opened() {
    let (mut source, mut peer) = source(bulk(Some(10), 50));
    source.step(ms(20), &mut [0; ROOM]);
    assert_eq!((source.stage, source.due()), (AppStage::Pauses(ms(70)), Some(ms(70))));
    source.step(ms(69), &mut [0; ROOM]);
    assert!(arrived(&mut peer).is_empty(), "the transfer pauses");
    source.step(ms(70), &mut [0; ROOM]);
    assert_eq!(arrived(&mut peer).len(), 10);
    assert_eq!((source.notes.opened, source.notes.wrote), (Some(ms(20)), Some(ms(70))));
}

#[test]
fn a_transfer_waits_for_room_in_a_full_socket() {
    const ALL: usize = 3 << 20;
    let (mut source, mut peer) = source(bulk(Some(ALL as u64), 0));
    let mut got = Vec::new();
    for step in 0..10_000 {
        source.step(ms(20 + step), &mut [0; ROOM]);
        if source.stage == AppStage::Done {
            break;
        }
        assert!(matches!(source.stage, AppStage::Writes(Some(1..))), "{:?}", source.stage);
        assert!(source.waits_for().is_some(), "the transfer waits for room");
        got.extend(arrived(&mut peer));
    }
    got.extend(arrived(&mut peer));
    assert_eq!(got.len(), ALL);
    let pieces = got.chunks(content::PIECE_BYTES_MAX).enumerate();
    for (place, piece) in pieces {
        let from = (place * content::PIECE_BYTES_MAX) as u64;
        assert!(piece == content::octets(from, piece.len()), "from octet {from}");
    }
}

#[test]
fn an_unlimited_transfer_continues_to_write() {
    let (mut source, mut peer) = source(bulk(None, 0));
    for at in [20, 30] {
        source.step(ms(at), &mut [0; ROOM]);
        assert_eq!(source.stage, AppStage::Writes(None));
        assert!(arrived(&mut peer).len() > content::PIECE_BYTES_MAX);
    }
}

#[test]
fn an_application_waits_for_its_start_and_reports_why_it_failed() {
    let (mut source, _peer) = source(bulk(Some(10), 0));
    source.stage = AppStage::Waits;
    assert_eq!(source.due(), Some(ms(5)));
    assert!(source.waits_for().is_none());
    source.step(ms(4), &mut [0; ROOM]);
    assert_eq!(source.stage, AppStage::Waits);
    // A socket of another family cannot connect to an IPv4 address.
    source.step(ms(5), &mut [0; ROOM]);
    assert_eq!(source.stage, AppStage::Done);
    let notes = source.into_notes();
    assert_eq!(
        (notes.wrote, notes.opened),
        (Some(ms(5)), None),
        "the data is ready from the start at 5 ms"
    );
    assert!(notes.failure.is_some());
}

#[test]
fn a_client_asks_again_after_its_think_time() {
    let (mut source, mut peer) = source(requests(0));
    source.requests.as_mut().unwrap().begin(ms(5));
    source.step(ms(20), &mut [0; ROOM]);
    assert_eq!(arrived(&mut peer), content::octets(0, 30));
    assert_eq!(source.stage, AppStage::Reads);
    for (at, octets) in [(40, 0..60), (50, 60..100)] {
        peer.write_all(content::octets(octets.start, (octets.end - octets.start) as usize))
            .unwrap();
        source.step(ms(at), &mut [0; ROOM]);
    }
    assert_eq!(source.stage, AppStage::Pauses(ms(57)), "the client pauses before the next request");
    source.step(ms(57), &mut [0; ROOM]);
    assert_eq!(arrived(&mut peer), content::octets(30, 30));
    peer.write_all(content::octets(100, 100)).unwrap();
    source.step(ms(80), &mut [0; ROOM]);
    assert_eq!(peer.read(&mut [0]).unwrap(), 0, "the client has closed");
    let notes = source.into_notes();
    assert_eq!((notes.finished, notes.read_bytes, notes.damaged), (Some(ms(80)), 200, 0));
    let exchanges: Vec<_> = notes
        .exchanges
        .iter()
        .map(|exchange| (exchange.asked, exchange.began, exchange.complete))
        .collect();
    assert_eq!(
        exchanges,
        [(ms(5), Some(ms(40)), Some(ms(50))), (ms(57), Some(ms(80)), Some(ms(80)))],
        "the first request counts from the call of connect"
    );
}

#[test]
fn a_connection_that_closes_before_the_reply_is_complete_is_a_failure() {
    let (mut source, mut peer) = source(requests(0));
    source.step(ms(20), &mut [0; ROOM]);
    peer.write_all(content::octets(0, 99)).unwrap();
    peer.shutdown(HowFar::Write).unwrap();
    source.step(ms(30), &mut [0; ROOM]);
    let notes = source.into_notes();
    assert_eq!(notes.failure.as_deref(), Some("closed before the reply was complete"));
    assert_eq!((notes.read_bytes, notes.finished), (99, None));
}

#[test]
fn a_request_is_recorded_even_if_its_connection_never_opened() {
    let (mut source, _peer) = source(requests(0));
    source.stage = AppStage::Waits;
    source.step(ms(6), &mut [0; ROOM]);
    let notes = source.into_notes();
    assert_eq!(notes.exchanges.len(), 1);
    assert_eq!((notes.exchanges[0].asked, notes.exchanges[0].complete), (ms(6), None));
}

#[test]
fn the_reader_counts_reads_with_damaged_octets() {
    let (mut sink, mut peer) = sink(bulk(Some(0), 0));
    let mut octets = content::octets(0, 3 * ROOM).to_vec();
    octets[ROOM + 1] ^= 4;
    peer.write_all(&octets).unwrap();
    sink.step(ms(9), &mut [0; ROOM]);
    assert_eq!((sink.notes.read_bytes, sink.notes.damaged), (3 * ROOM as u64, 1));
    assert!(!sink.over);
    peer.shutdown(HowFar::Write).unwrap();
    sink.step(ms(10), &mut [0; ROOM]);
    assert!(sink.over && sink.waits_for().is_none());
    assert_eq!(sink.notes.failure, None);
    assert_eq!(peer.read(&mut [0]).unwrap(), 0, "the sink closes too");
}

#[test]
fn a_server_answers_each_whole_request_after_the_service_time() {
    let (mut sink, mut peer) = sink(requests(0));
    peer.write_all(content::octets(0, 29)).unwrap();
    sink.step(ms(10), &mut [0; ROOM]);
    assert_eq!(sink.due(), None, "an octet is missing");
    peer.write_all(content::octets(29, 31)).unwrap();
    sink.step(ms(20), &mut [0; ROOM]);
    assert_eq!(sink.due(), Some(ms(29)), "the first reply is due");
    sink.step(ms(28), &mut [0; ROOM]);
    assert!(arrived(&mut peer).is_empty());
    sink.step(ms(29), &mut [0; ROOM]);
    assert_eq!(arrived(&mut peer), content::octets(0, 100));
    assert_eq!(sink.due(), Some(ms(38)), "the second reply is due");
    sink.step(ms(40), &mut [0; ROOM]);
    assert_eq!(arrived(&mut peer), content::octets(100, 100));
    assert_eq!((sink.notes.wrote, sink.due()), (Some(ms(29)), None));
}

#[test]
fn a_server_ends_if_its_client_is_gone() {
    let (mut sink, peer) = sink(requests(0));
    (&peer).write_all(content::octets(0, 30)).unwrap();
    sink.step(ms(10), &mut [0; ROOM]);
    drop(peer);
    sink.step(ms(19), &mut [0; ROOM]);
    assert!(sink.over, "the sink ends with or without an error");
    assert_eq!(sink.due(), None, "nothing is due");
}

#[test]
fn a_listener_without_a_connection_waits() {
    let mut apps = Apps::default();
    let (listener, _other) = pair();
    apps.add_sink(EndId::at(1), listener, FlowSocket::default(), requests(0));
    let sink = &mut apps.sinks[0];
    sink.step(ms(3), &mut [0; ROOM]);
    assert!(sink.accepted.get().is_none() && !sink.over);
    assert!(sink.waits_for().is_some() && sink.due().is_none());
    let mut polls = Vec::new();
    apps.ask(ms(4), &mut polls);
    assert!(polls.is_empty(), "there is no connection to ask about");
}

#[test]
fn a_timespec_has_the_seconds_and_the_remaining_nanoseconds() {
    for (nanos, expected) in [
        (0, (0, 0)),
        (999_999_999, (0, 999_999_999)),
        (1_000_000_000, (1, 0)),
        (61_000_000_007, (61, 7)),
    ] {
        let time = timespec(Duration::from_nanos(nanos));
        assert_eq!((time.tv_sec, time.tv_nsec), expected);
    }
}
