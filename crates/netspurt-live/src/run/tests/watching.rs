//! Tests of the observer of a run: its records of packets, and of the kernel's reports.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use netspurt::event::{CwndState, Event, RtoState, Way, What};
use netspurt::ids::{EndId, FlowId, Side};
use netspurt::plan::Network;
use netspurt::segment::Flags;
use netspurt::wire::{Checks, Packet, decode, encode};
use netspurt_scenario::scenario::Scenario;

use super::*;
use crate::content::octets;
use crate::drive::Watch;
use crate::exec::ProgramsWatch;
use crate::kernel::{Poll, TcpInfo};
use crate::labels::Labels;
use crate::offload::Shape;
use crate::run::sockets::Sockets;
use crate::run::watcher::{Watcher, watcher};
use crate::run::{Progress, RunScene, WatchedQueue, WatchedSender};

/// Flow 0 is a transfer of the kernel's TCP, flow 1 has requests of the kernel's TCP, and flow 2 is
/// a transfer in the simulator.
fn network(record: &str) -> Network {
    let text = format!(
        r#"
stop = "10 s"
[links]
wire = {{ between = ["a", "b"], rate = "1 Mbit/s", delay = "10 ms" }}
[flows.bulk]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "reno-2005"
send     = "3 kB"
[flows.web]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "reno-2005"
send     = "200 B"
app      = {{ reply = "5 kB", requests = 2 }}
[flows.model]
from     = "a"
to       = "b"
[record]
{record}
"#
    );
    Scenario::parse("here", &text).unwrap().network()
}

const CAPTURES: &str = "spy = [\"b\"]";
const NONE: &str = "capture = false";

/// A folder for one test, which is removed when this value is dropped.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("netspurt-watching-{}-{number}", std::process::id());
        let place = std::env::temp_dir().join(name);
        fs::create_dir(&place).unwrap();
        Self(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Makes an observer that polls the kernel's socket of each end in the list `asked`. These sockets
/// do not exist yet.
fn observer(asked: &[usize]) -> Watcher {
    let mut sockets: Sockets = vec![None; 6];
    asked.iter().for_each(|end| sockets[*end] = Some((OnceLock::new().into(), false)));
    let place = Place::new();
    watcher(&network(NONE), &place.0, sockets, Box::new(|_, _| true)).unwrap()
}

/// Makes the octets of a packet that the host on `side` of a flow sends.
fn packet(watcher: &Watcher, flow: usize, side: Side, segment: Segment) -> Vec<u8> {
    let ends = watcher.addresses[flow];
    let (source, destination) = (ends[side.index()], ends[side.peer().index()]);
    let payload = Some(octets(u64::from(segment.seq.wrapping_sub(1)), segment.len.into()));
    let mut bytes = Vec::new();
    encode(&Packet { source, destination, ip_id: 1, segment, payload }, &mut bytes);
    bytes
}

/// A segment with `len` octets.
fn with(seq: u32, len: u16, flags: Flags) -> Segment {
    Segment { seq, len, flags, ..Segment::default() }
}

/// Returns the table with this name.
fn table(watcher: Watcher, name: &str) -> Table {
    watcher.recorder.finish(&[]).into_iter().find(|table| table.name == name).unwrap()
}

#[test]
fn an_end_has_a_ledger_if_it_sends_data_and_its_flow_uses_the_kernels_tcp() {
    let watcher = observer(&[]);
    let kept: Vec<bool> = watcher.ledgers.iter().map(Option::is_some).collect();
    assert_eq!(kept, [true, false, true, true, false, false]);
    assert!(!watcher.captures());
}

#[test]
fn packets_of_hosts_are_in_the_ledgers_of_their_ends() {
    let mut watcher = observer(&[]);
    let mut labels = Labels::new();
    let mut send = |watcher: &mut Watcher, end: u32, segment| {
        let end = EndId::at(end);
        let bytes = packet(watcher, end.flow().index(), end.side(), segment);
        let mut out = Vec::new();
        watcher.label(&mut labels, end, (&bytes, Shape::WHOLE), &mut out);
        out[0]
    };
    send(&mut watcher, 0, with(0, 0, Flags::SYN));
    for seq in [1, 501, 1] {
        send(&mut watcher, 0, with(seq, 500, Flags::ACK));
    }
    let again = send(&mut watcher, 0, with(501, 500, Flags::ACK));
    assert_eq!(again.cause.get(), Some(Cause::Rto), "there is no socket to ask");
    send(&mut watcher, 1, with(900, 0, Flags::SYN.with(Flags::ACK)));
    send(&mut watcher, 3, with(0, 0, Flags::SYN));
    send(&mut watcher, 3, with(1, 700, Flags::ACK));
    let sums = |end: usize| watcher.ledgers[end].as_ref().map(|ledger| ledger.sum());
    assert_eq!(sums(0).map(|sum| (sum.sent, sum.retransmissions, sum.timeouts)), Some((4, 2, 2)));
    assert_eq!(sums(2).map(|sum| sum.sent), Some(0));
    assert_eq!(sums(3).map(|sum| sum.sent), Some(1), "a server sends segments too");
}

#[test]
fn delivered_data_counts_as_received_and_a_delivered_ack_counts_as_an_answer() {
    let mut watcher = observer(&[0]);
    let data = Segment { dest: EndId::at(1), ..with(1, 3000, Flags::ACK) };
    watcher.delivered(ms(10), &data);
    watcher.delivered(ms(11), &data);
    let answer = Segment { dest: EndId::at(0), ack: 3001, ..with(1, 0, Flags::ACK) };
    watcher.delivered(ms(30), &answer);
    watcher.delivered(ms(40), &Segment { dest: EndId::at(5), ..answer });
    let sum = watcher.ledgers[0].as_ref().unwrap().sum();
    assert_eq!((sum.received, sum.duplicates, sum.delivered_bytes), (2, 1, 3000));
    assert_eq!(
        (sum.acked_bytes, sum.finished),
        (3000, Some(ms(30))),
        "the flow is finished, because its length is known and all octets are acknowledged"
    );
    assert_eq!(watcher.answers, [(ms(30), answer)], "only ACKs that a polled socket gets are kept");
}

#[test]
fn answers_to_programs_are_kept_if_round_trips_are_recorded() {
    let place = Place::new();
    for (record, kept) in [(NONE, 1), ("tables = [\"cwnd\"]\ncapture = false", 0)] {
        let goes_on: Progress = Box::new(|_, _| true);
        let mut watcher = watcher(&network(record), &place.0, vec![None; 6], goes_on).unwrap();
        let addresses = ["10.0.0.1", "10.0.0.2"].map(|address| address.parse().unwrap());
        let first = FlowId(2);
        watcher.programs = Some(ProgramsWatch::new(first, 9, addresses, [None, None], true));
        let answer = Segment { dest: FlowId(3).end(Side::From), ..with(1, 0, Flags::ACK) };
        watcher.delivered(ms(30), &answer);
        watcher.delivered(ms(31), &Segment { dest: first.end(Side::From), ..answer });
        assert_eq!(watcher.answers.len(), kept, "{record}");
    }
}

#[test]
fn round_trips_are_recorded_in_the_order_in_which_the_answers_arrived() {
    let mut watcher = observer(&[0, 2]);
    let arrival = |at: u64, end: u32, seq: u32| {
        let segment = Segment { dest: EndId::at(end).peer(), ..with(seq, 100, Flags::ACK) };
        PacketArrival { at: ms(at), stamped: ms(at), segment }
    };
    // A retransmission after the answer does not make the earlier round trip ambiguous.
    let arrivals = [arrival(1, 0, 1), arrival(2, 2, 1), arrival(3, 0, 101), arrival(28, 2, 1)];
    // The answers are delivered host by host.
    for (at, end, ack) in [(25, 0, 101), (30, 0, 201), (26, 2, 101)] {
        let answer = Segment { dest: EndId::at(end), ack, ..with(1, 0, Flags::ACK) };
        watcher.delivered(ms(at), &answer);
    }
    watcher.timed(&arrivals);
    let rtt = table(watcher, "rtt");
    let in_ms = |name: &str| column(&rtt, name).iter().map(|ns| ns / 1_000_000).collect::<Vec<_>>();
    assert_eq!((in_ms("t_ns"), in_ms("sent_ns")), (vec![25, 26, 30], vec![1, 2, 3]));
    assert_eq!(in_ms("rtt_ns"), [24, 24, 27]);
}

/// The kernel's report on the connection of an end.
fn poll(at: u64, end: u32, info: TcpInfo) -> Poll {
    Poll { at: ms(at), end: EndId::at(end), info }
}

#[test]
fn values_that_the_kernel_reports_in_segments_are_recorded_in_octets() {
    let mut watcher = observer(&[0]);
    let info = TcpInfo { smss: 1000, cwnd: 10, ssthresh: 7, unacked: 3, ..TcpInfo::default() };
    let states = [0, 1, 2, TcpInfo::RECOVERY, TcpInfo::LOSS];
    let mut polls: Vec<Poll> =
        (1..).zip(states).map(|(at, state)| poll(at, 0, TcpInfo { state, ..info })).collect();
    let unchanged = Poll { at: ms(9), ..polls[4] };
    polls.push(unchanged);
    watcher.polled(&polls);
    let cwnd = table(watcher, "cwnd");
    assert_eq!(column(&cwnd, "cwnd_bytes"), [10_000; 5]);
    assert_eq!(column(&cwnd, "ssthresh_bytes"), [7000; 5]);
    assert_eq!(column(&cwnd, "flight_bytes"), [3000; 5]);
    assert_eq!(column(&cwnd, "in_recovery"), [0, 0, 0, 1, 1]);
}

#[test]
fn the_timer_has_fired_if_the_kernel_has_counted_another_timeout() {
    let mut watcher = observer(&[0, 2]);
    let info = |timeouts: u32, backoff: u8, srtt_ms: u64| TcpInfo {
        timeouts,
        backoff,
        srtt: Duration::from_millis(srtt_ms),
        rttvar: Duration::from_millis(5),
        rto: Duration::from_millis(200),
        ..TcpInfo::default()
    };
    watcher.polled(&[
        poll(1, 0, info(0, 0, 0)),
        poll(2, 0, info(1, 1, 20)),
        poll(3, 2, info(1, 40, 20)),
        poll(4, 0, info(1, 1, 21)),
        // Before Linux 6.7, the kernel counts only the timeouts since the last ACK of new data. So
        // the count may fall to 0.
        poll(5, 0, info(0, 0, 20)),
        poll(6, 0, info(3, 3, 20)),
    ]);
    let rto = table(watcher, "rto");
    assert_eq!(column(&rto, "fired"), [0, 1, 1, 0, 0, 1]);
    assert_eq!(column(&rto, "backoff"), [1, 2, 1 << 31, 2, 1, 8].map(|factor: i64| factor));
    let nothing = -1;
    let ns = 20_000_000;
    assert_eq!(
        column(&rto, "srtt_ns"),
        [nothing, ns, ns, 21_000_000, ns, ns],
        "without a sample there is no estimate"
    );
    assert_eq!(column(&rto, "rttvar_ns")[..2], [nothing, 5_000_000]);
}

#[test]
fn simulated_packets_have_the_addresses_and_octets_of_their_flow() {
    let mut watcher = observer(&[]);
    for (end, seq, len) in [(4, 1, 900), (5, 501, 100), (4, 0, 0)] {
        let end = EndId::at(end);
        let id = TransmissionId::of_packet(end, 7);
        let flags = if seq == 0 { Flags::SYN } else { Flags::ACK };
        let segment = Segment { id, dest: end.peer(), ..with(seq, len, flags) };
        let mut out = Vec::new();
        watcher.encode(&segment, &mut out);
        let read = decode(&out, Checks::Whole).unwrap();
        let ends = watcher.addresses[2];
        assert_eq!((read.source, read.destination), {
            (ends[end.side().index()], ends[end.peer().side().index()])
        });
        assert_eq!(read.payload, octets(u64::from(seq.saturating_sub(1)), len.into()));
        assert_eq!(read.segment.seq, seq);
    }
}

#[test]
fn a_capture_has_the_packets_of_its_node_and_is_not_overwritten() {
    let place = Place::new();
    let network = network(CAPTURES);
    let make = || watcher(&network, &place.0, vec![None; 6], Box::new(|_, _| true));
    let mut observer = make().unwrap();
    assert!(observer.captures());
    let segment = Segment { dest: EndId::at(1), ..with(1, 50, Flags::ACK) };
    let bytes = packet(&observer, 0, Side::From, segment);
    let here = observer.captures[0].node;
    let elsewhere = u32::from(here == 0);
    for (node, given) in [(here, Some(&bytes[..])), (elsewhere, Some(&bytes[..])), (here, None)] {
        let what = What::Seen { node, way: Way::In, frame: segment };
        observer.event(&Event { at: ms(5), what }, given);
    }
    assert!(observer.failure.is_none());
    for capture in observer.captures {
        capture.file.finish().unwrap().into_inner().unwrap();
    }
    let files: Vec<_> = place.0.read_dir().unwrap().map(|entry| entry.unwrap().path()).collect();
    let [file] = &files[..] else { panic!("one file, not {files:?}") };
    let kept = fs::read(file).unwrap();
    assert_eq!(kept.windows(bytes.len()).filter(|part| *part == bytes).count(), 1);
    assert_eq!(make().err().unwrap().kind(), std::io::ErrorKind::AlreadyExists);
}

#[test]
fn the_run_ends_when_the_function_that_shows_progress_returns_false() {
    let place = Place::new();
    let progress = Box::new(|now, _: &dyn Fn() -> RunScene| now < ms(50));
    let mut watcher = watcher(&network(NONE), &place.0, vec![None; 6], progress).unwrap();
    let goes_on = [0, 49, 50, 60].map(|at| watcher.goes_on(ms(at)));
    assert_eq!(goes_on, [true, true, false, false]);
}

#[test]
fn a_scene_has_the_ends_that_send_data_and_the_queues_that_held_packets() {
    let place = Place::new();
    let scenes = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
    let kept = std::rc::Rc::clone(&scenes);
    let progress = Box::new(move |_, scene: &dyn Fn() -> RunScene| {
        kept.borrow_mut().push(scene());
        true
    });
    let mut watcher = watcher(&network(NONE), &place.0, vec![None; 6], progress).unwrap();
    assert!(watcher.goes_on(ms(1)));
    let cwnd = CwndState {
        cwnd_bytes: 3000,
        ssthresh_bytes: 9000,
        flight_bytes: 1500,
        dupacks: 0,
        in_recovery: true,
    };
    let rto =
        RtoState { srtt: None, rttvar: None, backoff: 2, rto: Duration::from_secs(3), fired: true };
    // The simulator's flow is the third flow. The second end of this flow only receives.
    for end in [4, 5].map(EndId::at) {
        watcher.event(&Event { at: ms(2), what: What::Cwnd { end, state: cwnd } }, None);
        watcher.event(&Event { at: ms(2), what: What::Rto { end, state: rto } }, None);
    }
    let queue = What::Queue { link: 1, packets: 3, bytes: 4500 };
    watcher.event(&Event { at: ms(3), what: queue }, None);
    assert!(watcher.goes_on(ms(4)));
    let sender = WatchedSender {
        flow: "model".to_owned(),
        direction: "forward",
        cwnd_bytes: 3000,
        flight_bytes: 1500,
        srtt_ns: None,
        rto_ns: 3_000_000_000,
        backoff: 2,
        in_recovery: true,
    };
    let queue =
        WatchedQueue { link: "wire".to_owned(), direction: "reverse", packets: 3, bytes: 4500 };
    let empty = RunScene { passed_ms: 1, senders: vec![], queues: vec![] };
    let full = RunScene { passed_ms: 4, senders: vec![sender], queues: vec![queue] };
    assert_eq!(*scenes.borrow(), [empty, full]);
}
