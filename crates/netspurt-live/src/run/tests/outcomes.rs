//! Tests of the results of runs: which runs are valid, and why. The tests make the packets of these
//! runs; no kernel takes part.

use netspurt::path::Path;
use netspurt::record::Capturing;
use netspurt::segment::Flags;
use netspurt_scenario::scenario::Scenario;

use super::*;
use crate::drive::{Watch, simultaneous};
use crate::kernel::FlowNotes;
use crate::run::LiveRun;
use crate::run::outcome::Outcome;
use crate::run::watcher::{Watcher, watcher};
use crate::sandbox::Wiring;

/// A scenario with one transfer of the kernel's TCP over a link with a short queue.
fn scenario() -> Scenario {
    let text = r#"
stop = "2 s"
seed = 4
[links]
wire = { between = ["a", "b"], rate = "1 Mbit/s", delay = "10 ms", queue = "4 packets" }
[flows.transfer]
from     = "a"
to       = "b"
endpoint = "kernel"
profile  = "reno-2005"
send     = "8 kB"
[record]
tables  = ["drops"]
capture = false
"#;
    Scenario::parse("here", text).unwrap()
}

/// Eight packets of 1000 octets at the same time, later retransmissions of the four packets that
/// the queue drops, and an ACK of all packets.
fn arrivals() -> Vec<PacketArrival> {
    let arrival = |at: u64, number: u64, seq: u32, cause: Option<Cause>| {
        let id = TransmissionId::of_packet(EndId::at(0), number);
        let (dest, flags) = (EndId::at(1), Flags::ACK);
        let segment = Segment {
            id,
            dest,
            seq,
            flags,
            len: 1000,
            size_bytes: 1040,
            cause: cause.into(),
            ..Segment::default()
        };
        PacketArrival { at: ms(at), stamped: ms(at), segment }
    };
    let first = (0..8).map(|number| arrival(1, number, 1 + 1000 * number as u32, None));
    let again = (8..12).map(|number| {
        arrival(500 + 20 * number, number, 1 + 1000 * (number as u32 - 4), Some(Cause::Rto))
    });
    let (id, dest) = (TransmissionId::of_packet(EndId::at(1), 0), EndId::at(0));
    let answer =
        Segment { id, dest, ack: 8001, flags: Flags::ACK, size_bytes: 40, ..Segment::default() };
    let last = PacketArrival { at: ms(900), stamped: ms(900), segment: answer };
    first.chain(again).chain([last]).collect()
}

/// The outcome of a run with the packets of [`arrivals`]. The argument `late` is the lateness of
/// each delivery.
fn outcome(late: Duration) -> (Outcome, Watcher) {
    let network = scenario().network();
    let (names, wanted, ends) = (network.names.clone(), network.wanted, network.ends.len());
    let stop = network.stop;
    let nowhere = std::path::Path::new("/");
    let mut watcher = watcher(&network, nowhere, vec![None; ends], Box::new(|_, _| true)).unwrap();
    let mut path = Path::new(network);
    let mut log = Log { arrivals: arrivals(), ..Log::default() };
    for together in simultaneous(&log.arrivals) {
        let PacketArrival { at, segment, .. } = together[0];
        let mut segments = together.iter().map(|arrival| arrival.segment);
        let observe = &mut |event: &_| watcher.event(event, None);
        path.enter_together(at, segment.source(), &mut segments, observe);
    }
    for PacketArrival { segment, .. } in log.arrivals.iter().filter(|one| one.segment.len > 0) {
        watcher.ledgers[0].as_mut().unwrap().sent(segment);
    }
    path.advance(stop, &mut |event| watcher.event(event, None));
    for departure in path.departures() {
        let (due, segment) = (departure.due, departure.segment);
        watcher.delivered(due, &segment);
        let (id, end) = (segment.id, segment.dest);
        log.deliveries.push(PacketDelivery { id, end, due, actual: due + late });
    }
    path.settle(&mut |event| watcher.event(event, None));
    let reader = FlowNotes { end: EndId::at(1), read_bytes: 8000, ..FlowNotes::default() };
    let writer = FlowNotes { end: EndId::at(0), wrote: Some(ms(1)), ..FlowNotes::default() };
    let outcome = Outcome {
        path,
        log,
        notes: vec![writer, reader],
        ends: Vec::new(),
        names,
        wanted,
        shadows: Vec::new(),
        captured: Capturing::default(),
        real_time: false,
        programs: None,
        kernel_tasks: None,
        wiring: Wiring::default(),
    };
    (outcome, watcher)
}

const BUDGET: Duration = Duration::from_millis(5);

/// Applies `change` to the result of [`outcome`], and returns the ended run.
fn ended(late: Duration, change: impl FnOnce(&mut Outcome)) -> LiveRun {
    let (mut outcome, watcher) = outcome(late);
    change(&mut outcome);
    outcome.finish(&scenario(), watcher, BUDGET).unwrap()
}

#[test]
fn the_sums_of_a_transfer_come_from_its_packets_and_its_applications() {
    let run = ended(Duration::ZERO, |_| {});
    let flows = run.results.table("flows").unwrap();
    for (name, value) in [
        ("sent", 12),
        ("retransmissions", 4),
        ("timeouts", 4),
        ("acked_bytes", 8000),
        ("delivered_bytes", 8000),
        ("received", 8),
        ("duplicates", 0),
        ("start_ns", 1_000_000),
    ] {
        assert_eq!(column(flows, name), [value], "{name}");
    }
    // The ACK enters at 900 ms. Its 40 octets take 0.32 ms at 1 Mbit/s, and the delay is 10 ms.
    assert_eq!(column(flows, "finished_ns"), [910_320_000]);
    assert_eq!(run.results.table("drops").unwrap().rows(), 4);
    assert_eq!(run.results.table("arrivals").unwrap().rows(), 13);
    assert_eq!(run.results.table("deliveries").unwrap().rows(), 9);
    assert!(run.results.table("shims").is_none() && run.results.table("connections").is_none());
}

#[test]
fn a_run_is_valid_if_it_is_punctual_and_its_replay_has_the_same_drops() {
    let run = ended(BUDGET, |_| {});
    let Replayed { drops, drops_again, same } = run.report.replayed;
    assert_eq!((drops, drops_again, same), (4, 4, true));
    assert!(run.report.valid, "a delivery may be late by the whole budget");
    assert_eq!((run.report.lateness.deliveries, run.report.budget_ns), (9, 5_000_000));
    assert_eq!(run.report.lateness.spans.max_ns, 5_000_000);
    assert!(!run.report.real_time && run.report.programs.is_none());
}

#[test]
fn a_run_is_invalid_if_packets_are_late_or_missing_or_its_replay_has_other_drops() {
    type Change = fn(&mut Outcome);
    let late = BUDGET + Duration::from_nanos(1);
    let all: [(&str, Duration, Change); 5] = [
        ("one nanosecond too late", late, |_| {}),
        ("a packet that a device refused", Duration::ZERO, |outcome| outcome.log.refused = 1),
        ("a packet lost in a full buffer", Duration::ZERO, |outcome| outcome.log.missed = 1),
        ("an arrival that is missing in the log", Duration::ZERO, |outcome| {
            outcome.log.arrivals.remove(0);
        }),
        ("an arrival at another instant", Duration::ZERO, |outcome| {
            outcome.log.arrivals[7].at = ms(60);
        }),
    ];
    for (what, late, change) in all {
        assert!(!ended(late, change).report.valid, "{what}");
    }
}

#[test]
fn damaged_packets_are_added_up_and_make_a_run_invalid() {
    let run = ended(Duration::ZERO, |outcome| {
        outcome.log.damaged = 2;
        outcome.notes[1].damaged = 5;
    });
    assert_eq!((run.report.packets.damaged, run.report.valid), (7, false));
}

#[test]
fn strange_packets_and_failures_are_reported_and_the_run_stays_valid() {
    let run = ended(Duration::ZERO, |outcome| {
        outcome.log.strange = 3;
        outcome.notes[0].failure = Some("reset".to_owned());
    });
    assert!(run.report.valid);
    assert_eq!(run.report.packets.strange, 3);
    let failure = FlowFailure { flow: "transfer".to_owned(), failure: "reset".to_owned() };
    assert_eq!(run.report.failures, [failure]);
}

#[test]
fn drops_are_compared_even_if_they_are_not_recorded() {
    let run = ended(Duration::ZERO, |outcome| outcome.wanted.drops = false);
    assert!(run.results.table("drops").is_none());
    assert_eq!((run.report.replayed.drops, run.report.valid), (4, true));
}

#[test]
fn the_applications_say_how_many_octets_were_delivered_and_when_they_finished() {
    let run = ended(Duration::ZERO, |outcome| outcome.notes[1].read_bytes = 7000);
    let flows = run.results.table("flows").unwrap();
    assert_eq!(
        (column(flows, "delivered_bytes"), column(flows, "received")),
        (vec![7000], vec![8])
    );
    let run = ended(Duration::ZERO, |outcome| outcome.notes[0].finished = Some(ms(950)));
    let finished = column(run.results.table("flows").unwrap(), "finished_ns");
    assert_eq!(finished, [950_000_000], "the client finishes when it has read the reply");
}

#[test]
fn a_failed_capture_fails_the_run() {
    let (outcome, mut watcher) = outcome(Duration::ZERO);
    watcher.failure = Some(std::io::Error::other("the disk is full"));
    let error = outcome.finish(&scenario(), watcher, BUDGET).unwrap_err();
    assert_eq!(error.to_string(), "the disk is full");
}
