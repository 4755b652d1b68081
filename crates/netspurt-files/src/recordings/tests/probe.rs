//! Tests of the reader for the data files of `netspurt probe`.

use netspurt::delays::{ProbeOrder, SendTimeSource};

use crate::recordings::read;

use super::{counts, one, reading};

/// The first line of a file.
const HEADER: &str = "{\"netspurt\":\"probe\",\"version\":1,\"part\":1}\n";
/// The lines about three echo probes.
const ROWS: &str = "\
{\"echo_probe\":1,\"octets\":40,\"raw_ns\":5000,\"rtt_ns\":40000000,\"by\":\"kernel\",\"user_rtt_ns\":41000000}\n\
{\"echo_probe\":2,\"octets\":256,\"raw_ns\":6000,\"lost\":true}\n\
{\"duplicate\":1,\"rtt_ns\":90000000,\"by\":\"user\"}\n\
{\"echo_probe\":3,\"octets\":100,\"raw_ns\":7000,\"lost\":true,\"why\":\"host unreachable\"}\n\
{\"late\":2,\"rtt_ns\":31000000000,\"by\":\"kernel\"}\n";
/// The last line of a file.
const END: &str = "{\"end\":\"complete\"}\n";

#[test]
fn late_answers_count_neither_as_lost_nor_as_duplicates() {
    let delays = one(&format!("{HEADER}{ROWS}{END}"));
    assert_eq!(counts(&delays), [3, 2, 1, 1, 1]);
    assert_eq!((delays.order, delays.send_times), (ProbeOrder::Sequence, SendTimeSource::Recorded));
    assert!(delays.probes[1].late && delays.probes[1].wire_bytes == 256);
    assert_eq!(delays.probes[0].rtt.map(|rtt| rtt.as_nanos()), Some(40_000_000));
    assert_eq!(delays.probes[2].sent.as_nanos(), 2000);
    assert_eq!(delays.notes, ["echo probes that failed, host unreachable: 1"]);
}

#[test]
fn a_file_with_a_cut_is_read_up_to_the_cut() {
    let complete = format!("{HEADER}{ROWS}{END}");
    let ends: Vec<usize> = complete.match_indices('\n').map(|(at, _)| at).collect();
    for cut in ends[1] + 1..complete.len() {
        let reading = reading(&complete[..cut]);
        let delays = &reading.recordings[0];
        let lines = ends.iter().filter(|end| **end <= cut).count();
        assert!(reading.malformed.is_empty(), "{:?}", &complete[..cut]);
        assert_eq!(delays.sent(), [0, 0, 1, 2, 2, 3, 3, 3][lines], "{:?}", &complete[..cut]);
        let note = &delays.notes[0];
        let is_expected =
            note.starts_with("cut off in the middle") || note.starts_with("the last line is");
        assert!(is_expected || ends[6] <= cut, "{note}");
    }
}

#[test]
fn consecutive_parts_are_one_recording_and_two_runs_are_two_recordings() {
    let next = "{\"netspurt\":\"probe\",\"part\":2}\n\
        {\"echo_probe\":4,\"octets\":40,\"raw_ns\":9000,\"rtt_ns\":5,\"by\":\"kernel\"}\n";
    let both = one(&format!("{HEADER}{ROWS}{{\"end\":\"continued\"}}\n{next}{END}"));
    assert_eq!(both.sent(), 4);
    assert_eq!(reading(&format!("{HEADER}{ROWS}{END}{HEADER}{ROWS}")).recordings.len(), 2);
    let second_part_only =
        one(&format!("{next}{{\"late\":2,\"rtt_ns\":7,\"by\":\"kernel\"}}\n{END}"));
    assert_eq!((second_part_only.sent(), second_part_only.late()), (1, 0));
    let note = "late answers to echo probes of an earlier part, left out: 1";
    assert_eq!(second_part_only.notes[0], note);
}

#[test]
fn each_hop_in_the_file_is_a_recording() {
    let rows = "{\"hop\":1,\"echo_probe\":1,\"octets\":60,\"raw_ns\":1,\"rtt_ns\":7,\"from\":\"10.0.0.1\"}\n\
        {\"hop\":2,\"echo_probe\":2,\"octets\":60,\"raw_ns\":2,\"lost\":true}\n\
        {\"hop\":3,\"echo_probe\":3,\"octets\":60,\"raw_ns\":3,\"rtt_ns\":9,\"from\":\"10.0.0.9\"}\n\
        {\"hop\":3,\"echo_probe\":4,\"octets\":60,\"raw_ns\":4,\"lost\":true}\n";
    let all = reading(&format!("{HEADER}{rows}{END}")).recordings;
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["x: hop 1, 10.0.0.1", "x: hop 2", "x: hop 3, 10.0.0.9"]);
}

#[test]
fn malformed_lines_are_reported_with_their_line_numbers() {
    let reading = reading(&format!("{HEADER}{{\"echo_probe\":1}}\n{{\"x\":1}}\n{ROWS}{END}"));
    let malformed: Vec<_> =
        reading.malformed.iter().map(|one| (one.line, one.why.as_str())).collect();
    assert_eq!(
        malformed,
        [(2, "neither `rtt_ns` nor `lost`"), (3, "not a line of `netspurt probe`")]
    );
    assert!(read("x", HEADER.as_bytes()).is_err(), "a header without rows is an error");
}

#[test]
fn an_address_of_loopback_is_recognised_in_each_format_with_addresses() {
    let probe = |address: &str| {
        let header = HEADER.replace("\"part\"", &format!("\"address\":\"{address}\",\"part\""));
        format!("{header}{ROWS}{END}")
    };
    let ping = |host: &str| {
        format!("PING a ({host}) 56(84) bytes of data.\n64 bytes: icmp_seq=1 ttl=64 time=0.05 ms\n")
    };
    let windows = |host: &str| {
        let reply = "Reply: bytes=32 time=4ms TTL=64\n";
        format!("\nPinging a [{host}] with 32 bytes of data:\n{reply}{reply}")
    };
    let irtt = |host: &str| {
        let trip = "{\"seqno\":0,\"lost\":\"false\",\"delay\":{\"rtt\":5000000},\
            \"timestamps\":{\"client\":{\"send\":{\"wall\":1,\"monotonic\":1}}}}";
        format!(
            "{{\"config\":{{\"remote_address\":\"{host}:2112\"}},\"stats\":{{}},\
             \"round_trips\":[{trip}]}}"
        )
    };
    let fping = |host: &str| format!("{host} : [0], 64 bytes, 21.5 ms (21.5 avg, 0% loss)\n");
    for text in [probe, ping, windows, irtt, fping] as [fn(&str) -> String; 5] {
        for (host, loopback) in [("127.0.0.1", true), ("192.0.2.1", false)] {
            let contents = text(host);
            assert_eq!(one(&contents).loopback, loopback, "{contents}");
        }
    }
    assert!(one(&probe("::1")).loopback);
}
