//! Tests of the emulated path in virtual time. The tests check when packets enter and leave the
//! path, and replay the arrivals. The packets of a real host enter the path at a gate. A shim is a
//! retransmission timer between the host's TCP and the path.

use netspurt::event::{Event, Wanted};
use netspurt::ids::{EndId, FlowId, Side, TransmissionId};
use netspurt::path::{Departure, Path};
use netspurt::plan::Network;
use netspurt::record::{Recorder, Table};
use netspurt::rng::Stream;
use netspurt::segment::{Cause, Ecn, Flags, Segment};
use netspurt::units::{Duration, Time};
use netspurt_live::drive::{PacketArrival, simultaneous};
use netspurt_live::run::replay;
use netspurt_scenario::scenario::Scenario;
use proptest::prelude::*;

use super::common::{ack, data, ms, numbers, texts};

/// Makes a network with one flow of the kernel's TCP over a link of 1 Mbit/s and 10 ms. The text
/// `link` has further keys of the link, and the text `flow` has further lines of the flow's table.
fn network(link: &str, flow: &str) -> Network {
    let text = format!(
        r#"
stop = "100 s"
seed = 9
[links]
wire = {{ between = ["a", "b"], rate = "1 Mbit/s", delay = "10 ms", {link} }}
[flows.transfer]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "reno-2005"
{flow}
"#
    );
    Scenario::parse("here", &text).unwrap().network()
}

fn silent(_event: &Event<Segment>) {}

/// Lets the packets in the list `arrivals` enter a path. Returns the packets that leave the path
/// within 100 s.
fn through(path: &mut Path, arrivals: &[(Time, Segment)]) -> Vec<Departure> {
    let mut departures = Vec::new();
    for (at, segment) in arrivals {
        path.enter(*at, *segment, &mut silent);
        departures.extend(path.departures());
    }
    path.advance(ms(100_000), &mut silent);
    departures.extend(path.departures());
    path.settle(&mut silent);
    departures
}

#[test]
fn a_packet_takes_its_transmission_time_and_the_delay() {
    let mut path = Path::new(network("", ""));
    let departures = through(&mut path, &[(ms(1), data(0)), (ms(1), ack(0, 1))]);
    // At 1 Mbit/s, 1040 octets take 8.32 ms, and 40 octets take 0.32 ms.
    let due = |departure: &Departure| departure.due.as_nanos() / 10_000;
    assert_eq!(departures.len(), 2);
    assert_eq!((due(&departures[0]), departures[0].segment.dest), (1132, EndId::at(0)));
    assert_eq!((due(&departures[1]), departures[1].segment.dest), (1932, EndId::at(1)));
    assert_eq!(departures[1].segment, data(0), "this link does not change the segment");
}

#[test]
fn a_path_has_the_time_at_which_a_packet_last_entered_or_the_path_last_advanced() {
    let mut path = Path::new(network("", ""));
    assert_eq!((path.now(), path.next_wakeup()), (Time::ZERO, None));
    path.enter(ms(5), data(0), &mut silent);
    assert_eq!(path.now(), ms(5));
    let next = path.next_wakeup().unwrap();
    assert!(next > ms(5));
    path.advance(ms(50), &mut silent);
    assert_eq!((path.now(), path.next_wakeup()), (ms(50), None));
}

#[test]
fn departures_are_reported_once_and_in_the_order_of_time() {
    let mut path = Path::new(network("", ""));
    for number in 0..5 {
        path.enter(ms(number), data(number), &mut silent);
        path.enter(ms(number), ack(number, 1), &mut silent);
    }
    path.advance(ms(1000), &mut silent);
    let departures = path.departures();
    assert_eq!(departures.len(), 10);
    assert!(departures.is_sorted_by_key(|departure| departure.due));
    assert!(path.departures().is_empty());
    let mut reused = departures;
    path.depart(&mut reused);
    assert!(reused.is_empty(), "earlier departures are removed");
}

#[test]
fn a_full_queue_drops_packets_and_the_link_counts_them() {
    let mut path = Path::new(network(r#"queue = "3 packets""#, ""));
    let burst: Vec<_> = (0..10).map(|number| (ms(1), data(number))).collect();
    let departures = through(&mut path, &burst);
    let counts = path.counts();
    assert_eq!(
        (departures.len() as u64, counts[0].dropped),
        (counts[0].carried, 10 - counts[0].carried)
    );
    assert!(counts[0].dropped > 0 && counts[1].carried == 0);
    assert!(
        departures.windows(2).all(|two| two[0].segment.seq < two[1].segment.seq),
        "packets keep their order"
    );
}

#[test]
fn a_link_that_loses_the_second_packet_delivers_the_others() {
    let mut path = Path::new(network("loss = [{ nth = [2] }, \"none\"]", ""));
    let departures = through(&mut path, &[(ms(1), data(0)), (ms(2), data(1)), (ms(3), data(2))]);
    let seqs: Vec<u32> = departures.iter().map(|departure| departure.segment.seq).collect();
    assert_eq!((seqs, path.counts()[0].lost), (vec![1, 2001], 1));
}

#[test]
fn ecn_capable_packets_are_marked_by_a_managed_queue_and_not_dropped() {
    let queue = r#"queue = { codel = { ecn = true, limit = "1000 packets" } }"#;
    let mut path = Path::new(network(queue, ""));
    let burst: Vec<_> =
        (0..200).map(|n| (ms(1 + n), Segment { ecn: Ecn::ECT0, ..data(n) })).collect();
    let departures = through(&mut path, &burst);
    let marked = departures.iter().filter(|departure| departure.segment.ecn == Ecn::CE).count();
    assert_eq!(departures.len(), 200, "packets are marked and not dropped");
    assert!(marked > 0 && path.counts()[0].marked == marked as u64, "{marked}");
}

#[test]
fn a_shim_at_the_edge_retransmits_packets_that_the_link_lost() {
    let shim = r#"shim = ["rfc6298:min=1ms", "off"]"#;
    let mut path = Path::new(network("loss = [{ nth = [2] }, \"none\"]", shim));
    let syn = Segment { flags: Flags::SYN, len: 0, seq: 0, size_bytes: 40, ..data(0) };
    let answer = Segment { flags: Flags::SYN.with(Flags::ACK), ..ack(0, 1) };
    let second = Segment { id: data(1).id, ..data(0) };
    let departures = through(&mut path, &[(ms(0), syn), (ms(11), answer), (ms(30), second)]);
    let to_b: Vec<_> =
        departures.iter().filter(|departure| departure.segment.dest == EndId::at(1)).collect();
    let again = path.retransmissions();
    assert!(!again.is_empty(), "the shim retransmits");
    assert!(again.iter().all(|(end, copy)| *end == EndId::at(0) && copy.left == 1));
    assert_eq!(to_b.len(), 1 + again.len(), "the SYN, and the copies");
    assert_eq!(to_b[1].segment.id, again[0].1.id);
    let verdict = path.judge().verdict(EndId::at(0)).retransmissions;
    assert_eq!(verdict.sent.iter().sum::<u32>() as usize, again.len());
    assert_eq!(
        verdict.spurious.iter().sum::<u32>() as usize,
        again.len() - 1,
        "the first retransmission was needed"
    );
}

/// Makes random packets of both ends, which enter at random instants. Some packets enter at the
/// same instant.
fn arrivals(seed: u64, count: u64) -> Vec<PacketArrival> {
    let mut random = Stream::named(seed, "arrivals");
    let (mut at, mut sent) = (Time::ZERO, [0_u64; 2]);
    let mut all: Vec<PacketArrival> = Vec::new();
    for _ in 0..count {
        let end = usize::from(random.bits().is_multiple_of(3));
        let together = all.last().is_some_and(|last| last.segment.source().index() == end);
        if !together || !random.bits().is_multiple_of(4) {
            at += Duration::from_nanos(1 + random.bits() % 9_000_000);
        }
        let segment = match end {
            0 => data(sent[0]),
            _ => ack(sent[1], 1 + 1000 * (sent[0] / 2) as u32),
        };
        sent[end] += 1;
        all.push(PacketArrival { at, stamped: at, segment });
    }
    all
}

/// The table `drops` of a path. The packets of `arrivals` enter the path in the same way as in the
/// driver. Between arrivals, the path advances in steps of the length `turn`.
fn drops_live(network: Network, arrivals: &[PacketArrival], turn: Duration, stop: Time) -> Table {
    let mut recorder = Recorder::new(network.names.clone());
    let mut path = Path::new(network);
    let mut now = Time::ZERO;
    for together in simultaneous(arrivals) {
        let PacketArrival { at, segment, .. } = together[0];
        while now + turn < at {
            now += turn;
            path.advance(now.max(path.now()), &mut |event| recorder.take(event));
            path.departures();
        }
        let mut segments = together.iter().map(|arrival| arrival.segment);
        path.enter_together(at, segment.source(), &mut segments, &mut |event| recorder.take(event));
    }
    path.advance(stop, &mut |event| recorder.take(event));
    path.settle(&mut |event| recorder.take(event));
    let wanted = Wanted { drops: true, ..Wanted::default() };
    recorder.finish_wanted(&[], wanted).find(|table| table.name == "drops").unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_steps_in_which_a_path_advances_do_not_change_its_drops(
        seed in 0_u64..1000, turn_us in 50_u64..20_000
    ) {
        const LINK: &str = r#"queue = "6 packets", loss = { probability = 0.05 }"#;
        const SHIM: &str = r#"shim = ["linux:rto_min=20ms", "off"]"#;
        let (arrivals, stop) = (arrivals(seed, 300), ms(60_000));
        let live = drops_live(network(LINK, SHIM), &arrivals, Duration::from_micros(turn_us), stop);
        let again = replay(network(LINK, SHIM), &arrivals, stop);
        prop_assert!(live.rows() > 0, "no packet was dropped, so nothing is compared");
        prop_assert_eq!(Some(&live), again.first());
    }
}

#[test]
fn different_arrivals_cause_different_drops() {
    const LINK: &str = r#"queue = "6 packets", loss = { probability = 0.05 }"#;
    let tables = [7, 8].map(|seed| replay(network(LINK, ""), &arrivals(seed, 300), ms(60_000)));
    assert_ne!(tables[0], tables[1]);
    assert_eq!(tables[0].len(), 1, "the only table is `drops`");
    let drops = &tables[0][0];
    assert!(texts(drops, "flow").iter().all(|flow| flow == "transfer"));
    assert!(texts(drops, "reason").contains(&"loss".to_owned()));
    let at = numbers(drops, "t_ns");
    assert!(at.is_sorted() && at.len() == drops.rows());
}

#[test]
fn packets_that_come_from_one_end_at_one_instant_are_one_group() {
    let arrival =
        |at: u64, segment: Segment| PacketArrival { at: ms(at), stamped: ms(at), segment };
    let all = [
        arrival(1, data(0)),
        arrival(1, data(1)),
        arrival(1, ack(0, 1)),
        arrival(2, data(2)),
        arrival(3, data(3)),
        arrival(3, data(4)),
    ];
    let runs: Vec<usize> = simultaneous(&all).map(<[_]>::len).collect();
    assert_eq!(runs, [2, 1, 1, 2]);
    assert_eq!(simultaneous(&[]).count(), 0);
}

#[test]
fn a_small_mtu_cuts_a_packet_into_fragments_that_have_its_id() {
    let mut path = Path::new(network(r#"mtu = "576 B""#, ""));
    let departures = through(&mut path, &[(ms(1), data(0))]);
    assert_eq!(departures.len(), 2, "1020 octets are cut into parts of at most 552 octets");
    assert!(departures.iter().all(|departure| departure.segment.id == data(0).id));
    let octets: u32 = departures.iter().map(|part| u32::from(part.segment.size_bytes) - 20).sum();
    assert_eq!(octets, 1020);
    assert_eq!(departures[0].segment.part.offset_bytes(), 0);
    assert!(departures[0].segment.part.more_follow() && !departures[1].segment.part.more_follow());
}

#[test]
fn a_retransmission_is_needed_if_a_fragment_of_the_original_was_lost() {
    let again = Segment {
        id: TransmissionId::of_packet(EndId::at(0), 1),
        cause: Some(Cause::Rto).into(),
        ..data(0)
    };
    for (lost, left, completed, spurious) in [(2, 3, 1, vec![]), (9, 4, 2, vec![again.id])] {
        let link = format!(r#"mtu = "576 B", loss = [{{ nth = [{lost}] }}, "none"]"#);
        let mut path = Path::new(network(&link, ""));
        let departures = through(&mut path, &[(ms(1), data(0)), (ms(900), again)]);
        let complete = departures.iter().filter(|departure| departure.completes).count();
        assert_eq!((departures.len(), complete), (left, completed), "fragment {lost} lost");
        assert_eq!(path.judge().spurious(), spurious, "fragment {lost} lost");
    }
}

#[test]
fn a_duplicating_link_delivers_a_packet_twice() {
    let mut path = Path::new(network(r#"duplicate = { probability = 1.0 }"#, ""));
    let departures = through(&mut path, &[(ms(1), data(0))]);
    assert_eq!(departures.len(), 2);
    let ids: Vec<TransmissionId> =
        departures.iter().map(|departure| departure.segment.id).collect();
    assert_eq!(ids[0], ids[1], "both have the id of one transmission");
}

/// Makes a network of one flow between nodes `a` and `b`. The text `flow` has further lines of the
/// flow's table.
fn network_of(flow: &str) -> Network {
    let text = format!(
        r#"
stop = "100 s"
[links]
wire = {{ between = ["a", "b"], rate = "1 Mbit/s", delay = "10 ms" }}
[flows.transfer]
from    = "a"
to      = "b"
{flow}
"#
    );
    Scenario::parse("here", &text).unwrap().network()
}

#[test]
fn a_simulated_end_answers_a_real_host() {
    let flow = "endpoint = [\"kernel\", \"model\"]\nprofile = \"linux-6\"";
    let mut path = Path::new(network_of(flow));
    assert!(path.program(EndId::at(0)).is_none(), "a real host runs no simulated program");
    assert!(path.program(EndId::at(1)).is_some());
    let syn = Segment { flags: Flags::SYN, len: 0, seq: 0, size_bytes: 40, ..data(0) };
    path.enter(ms(1), syn, &mut silent);
    path.advance(ms(50), &mut silent);
    let departures = path.departures();
    let [Departure { due, segment, .. }] = departures[..] else {
        panic!("one answer, not {departures:?}")
    };
    assert!(segment.flags.has(Flags::SYN) && segment.flags.has(Flags::ACK));
    assert_eq!((segment.dest, segment.ack), (EndId::at(0), 1));
    assert!(due > ms(21) && due < ms(30), "the delay in both directions: {due:?}");
}

#[test]
#[should_panic(expected = "packets enter only at gates")]
fn a_packet_that_enters_at_a_simulated_end_causes_a_panic() {
    let flow = "endpoint = [\"kernel\", \"model\"]\nprofile = \"linux-6\"";
    Path::new(network_of(flow)).enter(ms(1), ack(0, 1), &mut silent);
}

#[test]
fn a_packet_of_programs_leaves_the_path_with_the_flow_of_its_connection() {
    let flow = "app = \"programs\"\nendpoint = \"kernel\"\nprofile = \"linux-default\"";
    let mut path = Path::new(network_of(flow));
    let flows = [0, 5, 1].map(FlowId);
    for (number, flow) in (0..).zip(flows) {
        let [asks, answers] = Side::BOTH.map(|side| flow.end(side));
        path.enter(ms(number), Segment { dest: answers, ..data(number) }, &mut silent);
        path.enter(ms(number), Segment { dest: asks, ..ack(number, 1) }, &mut silent);
    }
    path.advance(ms(1000), &mut silent);
    let departures = path.departures();
    for side in Side::BOTH {
        let reached: Vec<FlowId> = departures
            .iter()
            .filter(|departure| departure.segment.dest.side() == side)
            .map(|departure| departure.segment.flow())
            .collect();
        assert_eq!(reached, flows, "in the order of entry, {side:?}");
    }
}

#[test]
fn a_replay_ends_at_its_stop_or_at_its_last_arrival_whichever_is_later() {
    const LINK: &str = r#"queue = "3 packets""#;
    let burst: Vec<PacketArrival> = (0..10)
        .map(|number| PacketArrival { at: ms(50), stamped: ms(1), segment: data(number) })
        .collect();
    let drops = |stop| replay(network(LINK, ""), &burst, stop)[0].clone();
    let late = drops(ms(0));
    assert!(late.rows() > 0);
    assert_eq!(late, drops(ms(100)), "the replay ends after the last arrival");
    assert!(
        numbers(&late, "t_ns").iter().all(|at| *at == Some(50_000_000)),
        "all were dropped on arrival"
    );
    assert!(texts(&late, "reason").iter().all(|reason| reason == "queue-full"));
    assert_eq!(replay(network(LINK, ""), &[], ms(100))[0].rows(), 0);
}
