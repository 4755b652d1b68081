//! Tests of the data files of probes: their lines, the parts of a long run, late answers, and the
//! answers of the hops of a path. A watcher is a process that gets the same lines as the file.

use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use netspurt::units::Duration;
use serde_json::{Value, json};

use super::book::{Book, EchoProbeRow, EchoReply, Keep, ProbeOutcome, Rotation};
use super::clock::ClockReading;
use super::echo_probes::returned;
use super::gather::PastProbes;
use super::lengths::ProbeLengths;
use super::lines::{
    Asked, Clocks, EndCounts, EndLine, HopAnswer, HopLine, NoiseReport, PathReport, ProbeHeader,
    SpanCounts, StampedBy, VERSION, Warmed,
};
use super::packet::ProbeKind;
use crate::lateness::Lateness;

/// The times that both clocks show `ms` milliseconds after the start of a test.
fn clocks(ms: u64) -> ClockReading {
    ClockReading { raw_ns: ms * 1_000_000, unix_ns: 1_000_000_000_000 + ms * 1_000_000 }
}

/// An answer with a round trip of 20 ms by the program's timestamps, and of `kernel_us`
/// microseconds by the kernel's timestamps. `None` means that the kernel gave no timestamps.
fn reply(kernel_us: Option<u64>) -> EchoReply {
    let sent_at = clocks(100).unix_ns;
    EchoReply {
        sent_at: clocks(100),
        received_at: clocks(120),
        kernel_sent_ns: kernel_us.map(|_| sent_at + 50_000),
        kernel_received_ns: kernel_us.map(|us| sent_at + 50_000 + us * 1000),
        hops_left: None,
        step_ns: 0,
    }
}

#[test]
fn the_kernels_timestamps_are_used_if_they_are_plausible() {
    let good = reply(Some(19_000));
    assert_eq!((good.by_user(), good.by_kernel()), (20_000_000, Some(19_000_000)));
    for (what, answer) in [
        ("no timestamp of the sending", EchoReply { kernel_sent_ns: None, ..good }),
        ("no timestamp of the arrival", EchoReply { kernel_received_ns: None, ..good }),
        ("the arrival precedes the sending", EchoReply { kernel_received_ns: Some(5), ..good }),
        ("the clock was set in between", EchoReply { step_ns: -1_000_000, ..good }),
        ("the round trip is longer than by the program's timestamps", reply(Some(21_000))),
    ] {
        assert_eq!(answer.by_kernel(), None, "{what}");
    }
    // The two clocks are read one after the other, and one of them is steered. So the kernel's
    // round trip may be slightly longer than the program's.
    assert_eq!(reply(Some(20_150)).by_kernel(), Some(20_150_000));
}

/// A watcher that keeps the lines that it gets.
#[derive(Clone, Default)]
struct Shown(Arc<Mutex<Vec<u8>>>);

impl Write for Shown {
    fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend(octets);
        Ok(octets.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shown {
    fn lines(&self) -> Vec<Value> {
        let all = self.0.lock().unwrap().clone();
        lines(&String::from_utf8(all).unwrap())
    }
}

/// Reads the lines of a data file.
fn lines(text: &str) -> Vec<Value> {
    assert!(text.is_empty() || text.ends_with('\n'), "lines are whole");
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The header of a data file.
fn header() -> ProbeHeader {
    ProbeHeader {
        netspurt: "probe",
        version: VERSION,
        made_by: "a test",
        asked: Asked {
            task: "echo_probes",
            host: "far".to_owned(),
            address: "10.0.0.2".parse().unwrap(),
            port: 7,
            kind: ProbeKind::Udp,
            lengths: ProbeLengths::Uniform { low: 40, high: 256 },
            seed: 889,
            count: None,
            pace: "every",
            gap_s: Some(0.2),
            timeout_s: 30.0,
        },
        kernel: "Linux 6".to_owned(),
        clocks: Clocks::OURS,
        socket: "UDP echo",
        least_octets: 40,
        noise: None,
        path: PathReport {
            source: "10.0.0.1".parse().unwrap(),
            device: Some("eth0".to_owned()),
            gateway: None,
            mtu: Some(1500),
            warmed: Warmed::Silent { answer: () },
        },
        began: clocks(0),
        part: 1,
        file: None,
    }
}

/// A folder for one test, which is removed after the test.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let place =
            std::env::temp_dir().join(format!("netspurt-book-{}-{number}", std::process::id()));
        fs::create_dir(&place).unwrap();
        Self(place)
    }

    fn lines(&self, name: &str) -> Vec<Value> {
        lines(&fs::read_to_string(self.0.join(name)).unwrap())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Begins a data file. Also returns a watcher that gets the same lines.
fn book(path: Option<&Path>, rotation: Rotation) -> (Book, Shown) {
    let shown = Shown::default();
    let book = Book::begin(path, header(), rotation, Box::new(shown.clone())).unwrap();
    (book, shown)
}

/// The echo probe `number`, with its outcome.
fn row(number: u64, outcome: &ProbeOutcome) -> EchoProbeRow<'_> {
    EchoProbeRow { number, octets: 64, sent_at: clocks(100), kernel_sent_ns: Some(7), outcome }
}

#[test]
fn the_header_has_the_options_and_the_clocks_and_the_path() {
    let (_, shown) = book(None, Rotation::default());
    let [report] = &shown.lines()[..] else { panic!("one line") };
    for (key, value) in [
        ("netspurt", json!("probe")),
        ("version", json!(1)),
        ("task", json!("echo_probes")),
        ("host", json!("far")),
        ("address", json!("10.0.0.2")),
        ("kind", json!("udp")),
        ("lengths", json!({ "rule": "uniform", "low": 40, "high": 256 })),
        ("count", Value::Null),
        ("gap_s", json!(0.2)),
        ("noise", Value::Null),
        ("part", json!(1)),
        ("began", json!({ "raw_ns": 0, "unix_ns": 1_000_000_000_000_u64 })),
    ] {
        assert_eq!(report[key], value, "{key}");
    }
    assert_eq!(report["path"]["warmed"], json!({ "answer": null }));
    assert_eq!(report["path"]["gateway"], Value::Null);
    assert!(report.get("file").is_none(), "no file is written");
    assert!(report["clocks"]["kernel_tx_ns, kernel_rx_ns"].is_string());
}

#[test]
fn a_report_on_the_noise_or_on_the_first_probe_has_a_result_or_an_error() {
    let lateness = Lateness::of(vec![Duration::from_micros(5); 3]);
    let spans = SpanCounts::from(&lateness);
    let report = NoiseReport::Measured { place: "loopback", user: spans, kernel: spans };
    let report = serde_json::to_value(report).unwrap();
    assert_eq!((&report["where"], &report["user"]["count"]), (&json!("loopback"), &json!(3)));
    assert_eq!(report["kernel"]["p999_ns"], 5000);
    let failed = NoiseReport::Failed { failed: "no loopback".to_owned() };
    assert_eq!(serde_json::to_value(failed).unwrap(), json!({ "failed": "no loopback" }));
    let answered = Warmed::Answered { answer: "ICMP 11 0".to_owned(), after_ns: 9 };
    let report = serde_json::to_value(answered).unwrap();
    assert_eq!(report, json!({ "answer": "ICMP 11 0", "after_ns": 9 }));
    let failed = Warmed::Failed { failed: "no route".to_owned() };
    assert_eq!(serde_json::to_value(failed).unwrap(), json!({ "failed": "no route" }));
}

#[test]
fn each_outcome_of_an_echo_probe_is_a_line() {
    let (mut book, shown) = book(None, Rotation::default());
    let by_kernel = EchoReply { hops_left: Some(62), ..reply(Some(19_000)) };
    let set = EchoReply { step_ns: -5, ..reply(None) };
    for (number, outcome) in [
        (1, ProbeOutcome::Answered(by_kernel)),
        (2, ProbeOutcome::Answered(set)),
        (3, ProbeOutcome::Lost),
        (4, ProbeOutcome::Failed("port \"7\" unreachable".to_owned())),
    ] {
        assert!(book.row(&row(number, &outcome)).unwrap());
    }
    let lines = &shown.lines()[1..];
    let common = |number: u64| {
        json!({ "echo_probe": number, "octets": 64, "raw_ns": 100_000_000,
                "user_tx_ns": 1_000_100_000_000_u64, "kernel_tx_ns": 7 })
    };
    let with = |number: u64, more: Value| {
        let mut line = common(number);
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let received_at = clocks(120).unix_ns;
    let kernel_rx_ns = clocks(100).unix_ns + 19_050_000;
    assert_eq!(
        lines,
        [
            with(
                1,
                json!({ "rtt_ns": 19_000_000, "by": "kernel", "user_rtt_ns": 20_000_000,
                            "user_rx_ns": received_at, "kernel_rx_ns": kernel_rx_ns, "ttl": 62 })
            ),
            with(
                2,
                json!({ "rtt_ns": 20_000_000, "by": "user", "user_rtt_ns": 20_000_000,
                            "user_rx_ns": received_at, "clock_step_ns": -5 })
            ),
            with(3, json!({ "lost": true })),
            with(4, json!({ "lost": true, "why": "port \"7\" unreachable" })),
        ]
    );
}

#[test]
fn late_answers_and_duplicates_and_clock_steps_have_lines_of_their_own() {
    let (mut book, shown) = book(None, Rotation::default());
    book.stray(7, true, &reply(None)).unwrap();
    book.stray(8, false, &reply(Some(19_000))).unwrap();
    book.step(9, 1_500_000).unwrap();
    book.say(&EndLine { end: "complete", counts: None }).unwrap();
    let lines = &shown.lines()[1..];
    assert_eq!((&lines[0]["late"], &lines[0]["by"]), (&json!(7), &json!("user")));
    assert!(lines[0].get("duplicate").is_none());
    assert_eq!((&lines[1]["duplicate"], &lines[1]["rtt_ns"]), (&json!(8), &json!(19_000_000)));
    assert_eq!(lines[2], json!({ "clock_step_ns": 1_500_000, "before": 9 }));
    assert_eq!(lines[3], json!({ "end": "complete" }));
    let counts = EndCounts {
        echo_probes: 5,
        answered: 3,
        late: 1,
        duplicates: 2,
        clock_steps: 0,
        raw_ns: 9,
    };
    let line = EndLine { end: "interrupted", counts: Some(counts) };
    assert_eq!(
        serde_json::to_value(line).unwrap(),
        json!({ "end": "interrupted", "echo_probes": 5, "answered": 3, "late": 1, "duplicates": 2,
                "clock_steps": 0, "raw_ns": 9 })
    );
}

#[test]
fn the_file_and_the_watcher_have_the_same_lines() {
    let place = Place::new();
    let (mut book, shown) = book(Some(&place.0.join("p.jsonl")), Rotation::default());
    for number in 1..=3 {
        book.row(&row(number, &ProbeOutcome::Lost)).unwrap();
    }
    let kept = place.lines("p.jsonl");
    assert_eq!(kept, shown.lines());
    assert_eq!(kept.len(), 4);
    assert!(kept[0]["file"].as_str().unwrap().ends_with("p.jsonl"));
}

#[test]
fn a_new_part_begins_after_a_number_of_echo_probes() {
    let place = Place::new();
    let rotation = Rotation { echo_probes: Some(2), span: None };
    let (mut book, shown) = book(Some(&place.0.join("long.jsonl")), rotation);
    for number in 1..=5 {
        book.row(&row(number, &ProbeOutcome::Lost)).unwrap();
        // A late answer is written to the part that is open.
        book.stray(number, true, &reply(None)).unwrap();
    }
    let numbers = |name: &str| {
        let rows = place.lines(name);
        rows.iter().filter_map(|row| row["echo_probe"].as_u64()).collect::<Vec<_>>()
    };
    assert_eq!(numbers("long-001.jsonl"), [1, 2]);
    assert_eq!(numbers("long-002.jsonl"), [3, 4]);
    assert_eq!(numbers("long-003.jsonl"), [5]);
    for (name, part, next) in
        [("long-001.jsonl", 1, "long-002.jsonl"), ("long-002.jsonl", 2, "long-003.jsonl")]
    {
        let rows = place.lines(name);
        assert_eq!(rows[0]["part"], part);
        let last = rows.last().unwrap();
        assert_eq!(last["end"], "continued");
        assert!(last["next"].as_str().unwrap().ends_with(next), "{last}");
    }
    assert_eq!(place.lines("long-003.jsonl").len(), 3, "the file is still open");
    let parts: Vec<_> = shown.lines().iter().filter_map(|line| line["part"].as_u64()).collect();
    assert_eq!(parts, [1, 2, 3]);
}

#[test]
fn a_new_part_begins_after_a_time_but_no_part_is_empty() {
    let place = Place::new();
    let rotation = Rotation { echo_probes: None, span: Some(Duration::ZERO) };
    let (mut book, _) = book(Some(&place.0.join("q.jsonl")), rotation);
    for number in 1..=3 {
        book.row(&row(number, &ProbeOutcome::Lost)).unwrap();
    }
    for (part, number) in [("q-001.jsonl", 1), ("q-002.jsonl", 2), ("q-003.jsonl", 3)] {
        assert_eq!(place.lines(part)[1]["echo_probe"], number);
    }
    assert!(!place.0.join("q-004.jsonl").exists());
}

#[test]
fn a_data_file_is_never_overwritten_and_the_parts_of_a_run_have_their_own_names() {
    let place = Place::new();
    fs::write(place.0.join("p.jsonl"), "mine").unwrap();
    let begin = |rotation| {
        let shown = Box::new(Shown::default());
        Book::begin(Some(&place.0.join("p.jsonl")), header(), rotation, shown)
    };
    let error = begin(Rotation::default()).err().unwrap();
    assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    assert!(error.to_string().contains("p.jsonl: "), "{error}");
    assert_eq!(fs::read_to_string(place.0.join("p.jsonl")).unwrap(), "mine");
    assert!(
        begin(Rotation { echo_probes: Some(9), span: None }).is_ok(),
        "the parts have names of their own"
    );
}

/// A watcher that has ended.
struct Gone;

impl Write for Gone {
    fn write(&mut self, _octets: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn the_probing_ends_if_the_watcher_has_ended() {
    let place = Place::new();
    let path = place.0.join("p.jsonl");
    let mut book = Book::begin(Some(&path), header(), Rotation::default(), Box::new(Gone)).unwrap();
    assert!(!book.row(&row(1, &ProbeOutcome::Lost)).unwrap());
    assert_eq!(place.lines("p.jsonl").len(), 2);
}

#[test]
fn after_a_probe_is_given_up_its_first_answer_is_late_and_further_answers_are_duplicates() {
    let mut past = PastProbes::default();
    let answered = ProbeOutcome::Answered(reply(None));
    let failed = ProbeOutcome::Failed("no route".to_owned());
    for (number, outcome) in [(1, &answered), (2, &ProbeOutcome::Lost), (3, &failed)] {
        past.over(number, 100 + number, clocks(number), None, outcome);
    }
    for (key, late) in [(101, false), (102, true), (102, false), (103, true), (101, false)] {
        assert_eq!(past.count_stray(key), late, "{key}");
    }
    assert!(!past.count_stray(104), "no probe has this key");
    let tally = past.tally;
    assert_eq!((tally.echo_probes, tally.answered), (3, 1));
    assert_eq!((tally.late, tally.duplicates), (2, 3));
    assert_eq!(past.find(102).unwrap().sent_at, clocks(2));
}

#[test]
fn an_icmp_error_is_described_in_words_or_by_its_type_and_code() {
    let router: Option<IpAddr> = "10.0.0.9".parse().ok();
    for (six, icmp_error, words) in [
        (false, (3, 0), "network unreachable"),
        (true, (1, 0), "network unreachable"),
        (false, (3, 1), "host unreachable"),
        (true, (1, 3), "host unreachable"),
        (false, (3, 2), "protocol unreachable"),
        (false, (3, 3), "port unreachable"),
        (true, (1, 4), "port unreachable"),
        (false, (3, 4), "too long, and fragmentation is not allowed"),
        (true, (2, 0), "too long, and fragmentation is not allowed"),
        (false, (3, 13), "forbidden"),
        (true, (1, 1), "forbidden"),
        (false, (11, 0), "hop limit exceeded"),
        (true, (3, 0), "hop limit exceeded"),
        (false, (12, 1), "ICMP type 12 code 1"),
        (true, (4, 2), "ICMP type 4 code 2"),
    ] {
        assert_eq!(returned(None, icmp_error, six), words, "{icmp_error:?}, IPv6: {six}");
        assert_eq!(returned(router, icmp_error, six), format!("{words}, says 10.0.0.9"));
    }
}

#[test]
fn the_line_of_a_hop_has_the_answering_address_or_a_loss() {
    let answer = HopAnswer {
        rtt_ns: 5,
        by: StampedBy::User,
        user_rtt_ns: 5,
        from: "10.1.0.2".parse().ok(),
        last: false,
        why: None,
    };
    let line =
        HopLine { hop: 2, echo_probe: 7, octets: 60, raw_ns: 1, lost: false, answer: Some(answer) };
    assert_eq!(
        serde_json::to_value(&line).unwrap(),
        json!({ "hop": 2, "echo_probe": 7, "octets": 60, "raw_ns": 1, "rtt_ns": 5, "by": "user",
                "user_rtt_ns": 5, "from": "10.1.0.2", "last": false })
    );
    let lost = HopLine { lost: true, answer: None, ..line };
    assert_eq!(
        serde_json::to_value(&lost).unwrap(),
        json!({ "hop": 2, "echo_probe": 7, "octets": 60, "raw_ns": 1, "lost": true })
    );
}
