//! Tests of the reader for the output of `mtr --raw`.

use super::{counts, one, reading};
use crate::recordings::read;

/// The output of mtr 0.95 on Debian 12, over a path with two routers. The second probe to the first
/// router has no reply, and the last reply comes twice.
const RUN: &str = "\
x 0 33000
h 0 10.91.1.2
h 0 10.91.1.2
p 0 366 33000
x 1 33001
h 1 10.91.2.2
d 1 second.example
p 1 88 33001
x 2 33002
h 2 10.91.3.2
p 2 78 33002
x 3 33003
h 3 10.91.3.2
p 3 64 33003
x 0 33004
x 1 33005
p 1 64 33005
x 2 33006
p 2 64 33006
p 2 64 33006
";

#[test]
fn each_hop_up_to_the_end_of_the_path_is_a_recording() {
    let reading = reading(RUN);
    assert!(reading.malformed.is_empty(), "{:?}", reading.malformed);
    let names: Vec<_> = reading.recordings.iter().map(|one| one.name.as_str()).collect();
    let expected = ["x: hop 1, 10.91.1.2", "x: hop 2, 10.91.2.2", "x: hop 3, 10.91.3.2"];
    assert_eq!(names, expected, "the probe beyond the end of the path must be left out");
    let all: Vec<_> = reading.recordings.iter().map(counts).collect();
    assert_eq!(all, [[2, 1, 1, 0, 0], [2, 2, 0, 0, 0], [2, 2, 0, 0, 1]]);
    let delays = &reading.recordings[0];
    assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 366_000, "delays are in microseconds");
    assert_eq!((delays.probes[1].number, delays.began), (2, None));
}

#[test]
fn if_mtr_uses_a_number_again_the_number_belongs_to_a_new_probe() {
    let text = "x 0 65535\nh 0 ::1\np 0 10 65535\nx 0 33000\nx 0 65535\np 0 20 65535\n";
    let delays = one(text);
    assert_eq!(counts(&delays), [3, 2, 1, 0, 0]);
    assert_eq!(delays.probes[2].rtt.unwrap().as_nanos(), 20_000);
}

#[test]
fn a_note_says_that_old_versions_of_mtr_show_no_losses() {
    // The example of mtr's manual page.
    let text = "h 0 10.1.1.1\np 0 339\nh 1 46.149.16.4\np 1 530\np 0 340\n";
    let reading = reading(text);
    let all: Vec<_> = reading.recordings.iter().map(counts).collect();
    assert_eq!(all, [[2, 2, 0, 0, 0], [1, 1, 0, 0, 0]]);
    assert!(
        reading.recordings[0].notes.iter().any(|note| note.contains("losses are not recorded"))
    );
}

#[test]
fn a_path_ends_with_the_last_host_that_replied() {
    let text = "x 0 1\nh 0 10.0.0.1\np 0 10 1\nx 1 2\nx 2 3\nx 0 4\np 0 11 4\n";
    assert_eq!(counts(&one(text)), [2, 2, 0, 0, 0]);
    let silent: Vec<_> = reading("x 0 1\nx 1 2\n").recordings.iter().map(counts).collect();
    assert_eq!(silent, [[1, 0, 1, 0, 0]; 2], "without a reply, all hops are kept");
}

#[test]
fn a_line_that_mtr_does_not_write_is_malformed() {
    let reading = reading("x 0 1\nh 0 10.0.0.1\np 0 10 1 9\np 300 10 1\np 0 -5 1\np 0 12 1\n");
    let lines: Vec<_> = reading.malformed.iter().map(|one| one.line).collect();
    assert_eq!(lines, [3, 4, 5]);
    assert!(read("x", b"p 0 339\np 0 340\n").is_err(), "such lines may be of any program");
}
