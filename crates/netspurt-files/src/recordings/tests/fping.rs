//! Tests of the reader for fping's output.

use netspurt::delays::SendTimeSource;
use netspurt::units::Duration;

use crate::recordings::{Hints, read_as};

use super::{counts, one, reading};

#[test]
fn missing_numbers_are_lost_probes_and_replies_after_a_timeout_are_late() {
    let text = "10.0.0.1 : [0], 64 bytes, 0.036 ms (0.036 avg, 0% loss)\n\
                10.0.0.2 : [0], timed out (NaN avg, 100% loss)\n\
                10.0.0.1 : [2], 64 bytes, 12.5 ms (6.3 avg, 33% loss)\n\
                10.0.0.1 : duplicate for [2], 64 bytes, 0.05 ms\n\
                10.0.0.2 : [0], 64 bytes, 1500 ms (1500 avg, 0% loss)\n\
                ICMP Host Unreachable from 10.0.0.9 for ICMP Echo sent to 10.0.0.2\n\
                10.0.0.1 : [3], 64 byt\n\n\
                10.0.0.1 : xmt/rcv/%loss = 4/2/50%, min/avg/max = 0.03/6.3/12.5\n\
                10.0.0.2 : xmt/rcv/%loss = 1/1/0%, min/avg/max = 1500/1500/1500\n";
    let reading = reading(text);
    let all: Vec<_> = reading.recordings.iter().map(counts).collect();
    assert_eq!(all, [[4, 2, 2, 0, 1], [1, 1, 0, 1, 0]]);
    assert_eq!(reading.recordings[0].name, "x: 10.0.0.1");
    assert_eq!(reading.malformed.len(), 1);
    assert_eq!(reading.recordings[0].probes[2].wire_bytes, 84);
}

#[test]
fn a_summary_row_of_fping_is_read_even_if_it_is_the_only_line() {
    let delays = one("a.example : 91.7 37.0 29.2 - 36.8\n");
    assert_eq!(counts(&delays)[..3], [5, 4, 1]);
    assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 91_700_000);
}

#[test]
fn stamps_give_the_times_of_sending() {
    let text = "[1700000000.00125] 10.0.0.1 : [0], 64 bytes, 1.25 ms (1.25 avg, 0% loss)\n\
                [1700000000.10135] 10.0.0.1 : [1], 64 bytes, 1.35 ms (1.30 avg, 0% loss)\n";
    let delays = one(text);
    assert_eq!(delays.send_times, SendTimeSource::Recorded);
    assert_eq!(delays.probes[1].sent.as_nanos(), 100_000_000);
}

#[test]
fn an_interval_is_refused_if_the_file_has_its_own_times_of_sending() {
    let hints = Hints { interval: Some(Duration::from_millis(500)), ..Hints::default() };
    let lines = |stamp: &str| {
        let line =
            |n| format!("{stamp}a : [N], 64 bytes, 25.1 ms (25.1 avg, 0% loss)\n").replace('N', n);
        ["0", "1", "2"].map(line).concat()
    };
    let error = read_as("x", lines("[160000000N.5] ").as_bytes(), &hints).unwrap_err();
    assert!(error.message.contains("`--interval` changes nothing"), "{error}");
    assert_eq!(error.fix, "omit `--interval`");
    let reading = read_as("x", lines("").as_bytes(), &hints).unwrap();
    assert_eq!(reading.recordings[0].probes[2].sent.as_nanos(), 1_000_000_000);
}

#[test]
fn every_number_in_a_line_of_fping_counts_as_a_probe() {
    let text = "a : [0], 64 bytes, 1.25 ms (1.25 avg, 0% loss)\na : [1], 64 byt\n\
                a : [2], send to failed: No buffer space\na : duplicate for [3], 64 bytes, 2 ms\n\
                a : duplicate for [3], 64 bytes, 3 ms\na : [4], send to failed\n";
    let reading = reading(text);
    assert_eq!(counts(&reading.recordings[0]), [5, 2, 3, 0, 1]);
    assert_eq!(reading.malformed.len(), 1);
}

#[test]
fn a_run_ends_where_the_numbers_of_the_probes_go_back() {
    // The first probe of the second run may have failed or be missing, and an interrupted fping may
    // leave no counts.
    let first =
        "a : [0], 64 bytes, 1 ms (1 avg, 0% loss)\na : [1], 64 bytes, 1 ms (1 avg, 0% loss)\n";
    let end = "a : xmt/rcv/%loss = 2/2/0%, min/avg/max = 1/1/1\n";
    let failed = "a : [0], send to failed\na : [1], 64 bytes, 2 ms (2 avg, 0% loss)\n";
    let missing = "a : [1], 64 bytes, 2 ms (2 avg, 0% loss)\n";
    let of = |text: &str| reading(text).recordings.iter().map(counts).collect::<Vec<_>>();
    let two = [[2, 2, 0, 0, 0], [2, 1, 1, 0, 0]];
    assert_eq!(of(&format!("{first}{end}{failed}")), two);
    assert_eq!(of(&format!("{first}{end}{missing}")), two);
    assert_eq!(of(&format!("{first}{first}")), [[2, 2, 0, 0, 0]; 2]);
    let late = "a : [0], timed out (NaN avg, 100% loss)\na : [0], 64 bytes, 1500 ms (1 avg)\n";
    assert_eq!(of(late), [[1, 1, 0, 1, 0]]);
}
