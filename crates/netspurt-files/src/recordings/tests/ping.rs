//! Tests of the reader for ping's output on all systems except Windows.

use std::fmt::Write;

use netspurt::delays::{ProbeOrder, SendTimeSource};
use netspurt::units::Duration;

use crate::recordings::{Hints, read, read_as};

use super::{counts, one, reading};

/// The line with which a run of ping begins.
const HEADER: &str = "PING a (10.0.0.1) 56(84) bytes of data.\n";

/// Makes a line of iputils for a reply to each probe in the list `numbers`.
fn replies(numbers: impl IntoIterator<Item = u64>) -> String {
    numbers.into_iter().fold(String::new(), |mut text, n| {
        let _ =
            writeln!(text, "64 bytes from 10.0.0.1: icmp_seq={} ttl=64 time=20.5 ms", n % 65536);
        text
    })
}

#[test]
fn ping_numbers_of_16_bits_continue_after_65535() {
    let lost = [65_535, 65_536, 100_000];
    let sent = (1..140_000).filter(|n| !lost.contains(n));
    let delays = one(&format!("{HEADER}{}", replies(sent)));
    assert_eq!(counts(&delays), [139_999, 139_996, 3, 0, 0]);
    assert_eq!(delays.probes[65_536].number, 65_537);
    assert!(delays.probes[65_535].rtt.is_none());
}

#[test]
fn replies_after_an_outage_of_40000_probes_are_new() {
    let delays = one(&format!("{HEADER}{}", replies((1..70_000).chain(110_000..110_010))));
    assert_eq!(counts(&delays)[..3], [110_009, 70_009, 40_000]);
}

#[test]
fn statistics_show_lost_probes_before_the_first_and_after_the_last_reply() {
    let lines = replies([3, 4, 6]);
    let end = "\n--- a ping statistics ---\n8 packets transmitted, 3 received, 62% packet loss\n";
    let delays = one(&format!("{HEADER}{lines}{end}"));
    assert_eq!(counts(&delays)[..3], [8, 3, 5]);
    assert_eq!((delays.probes[0].number, delays.probes[7].number), (1, 8));
    // If a log lacks its beginning, the first line counts as the first probe. If there are
    // statistics and they count more probes, the missing probes count as lost.
    assert_eq!(counts(&one(&lines))[..3], [4, 3, 1]);
    assert_eq!(counts(&one(&format!("{lines}{end}")))[..3], [8, 3, 5]);
    let none = format!("{HEADER}{}", end.replace("3 received", "0 received"));
    assert_eq!(counts(&one(&none))[..3], [8, 0, 8]);
}

#[test]
fn bsd_and_busybox_count_from_zero() {
    for line in ["icmp_seq=1 ttl=64 time=1.331 ms", "seq=1 ttl=42 time=1.331 ms"] {
        let text = format!("PING a (10.0.0.1): 56 data bytes\n64 bytes from 10.0.0.1: {line}\n");
        let delays = one(&text);
        assert_eq!(counts(&delays)[..3], [2, 1, 1]);
        assert_eq!(delays.probes[1].wire_bytes, 84);
        assert_eq!(delays.probes[1].rtt.unwrap().as_nanos(), 1_331_000);
    }
}

/// BusyBox marks duplicates with `(DUP!)`, so a repeated first number begins a new run.
#[test]
fn a_run_of_busybox_without_a_header_begins_with_the_first_number() {
    let reply = |n: u64| format!("64 bytes from 10.0.0.1: seq={n} ttl=64 time=1.331 ms\n");
    let run: String = (0..3).map(reply).collect();
    let two = reading(&format!("{run}{run}"));
    assert_eq!(two.recordings.iter().map(counts).collect::<Vec<_>>(), [[3, 3, 0, 0, 0]; 2]);
    let marked = reply(0).replace(" ms", " ms (DUP!)");
    assert_eq!(counts(&one(&format!("{run}{marked}"))), [3, 3, 0, 0, 1]);
}

#[test]
fn a_probe_reported_as_missing_may_still_get_a_late_reply() {
    let text = format!(
        "{HEADER}no answer yet for icmp_seq=1\n\
         64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=1500 ms\n\
         no answer yet for icmp_seq=2\n\
         From 10.0.0.9 icmp_seq=3 Destination Host Unreachable\n\
         From 10.0.0.9: icmp_seq=4 Redirect Host(New nexthop: 10.0.0.2)\n\
         64 bytes from 10.0.0.1: icmp_seq=4 ttl=64 time=9.74 ms\n"
    );
    let delays = one(&text);
    assert_eq!(counts(&delays), [4, 2, 2, 1, 0]);
    assert!(delays.probes[0].late && !delays.probes[3].late);
    let mac = "PING a (10.0.0.1): 56 data bytes\nRequest timeout for icmp_seq 0\n\
               64 bytes from 10.0.0.1: icmp_seq=0 ttl=64 time=1500.2 ms\n";
    assert_eq!(counts(&one(mac)), [1, 1, 0, 1, 0]);
}

#[test]
fn duplicates_and_disorder_do_not_change_the_count_of_probes() {
    let mut text = format!("{HEADER}{}", replies([1, 3, 2, 5, 4]));
    text += "64 bytes from 10.0.0.1: icmp_seq=4 ttl=64 time=30.5 ms (DUP!)\n";
    text += "64 bytes from 10.0.0.1: icmp_seq=5 ttl=64 time=30.5 ms\n";
    let delays = one(&text);
    assert_eq!(counts(&delays), [5, 5, 0, 0, 2]);
    assert_eq!(delays.probes[3].rtt.unwrap().as_nanos(), 20_500_000);
}

#[test]
fn runs_are_separated_with_and_without_their_headers() {
    let end = "\n--- a ping statistics ---\n4 packets transmitted, 3 received, 25% packet loss\n";
    let run = format!("{HEADER}{}{end}", replies([1, 2, 4]));
    let two = reading(&format!("{run}\n{run}"));
    let names: Vec<&str> = two.recordings.iter().map(|one| &*one.name).collect();
    assert_eq!(names, ["x (1)", "x (2)"]);
    assert!(two.recordings.iter().all(|one| counts(one)[..3] == [4, 3, 1]));
    let lost = "\n--- a ping statistics ---\n4 packets transmitted, 0 received, 100% packet loss\n";
    let after_lost = reading(&format!("{HEADER}{lost}{}", replies(1..=3)));
    let counted: Vec<u64> = after_lost.recordings.iter().map(|one| one.sent()).collect();
    assert_eq!(counted, [4, 3]);
    for length in [10, 10_851, 40_000] {
        let bare = reading(&replies((1..=length).chain(1..=5)));
        let counted: Vec<u64> = bare.recordings.iter().map(|one| one.sent()).collect();
        assert_eq!(counted, [length, 5]);
    }
}

#[test]
fn stamps_give_the_times_of_sending() {
    let text = format!(
        "{HEADER}[1700000000.020500] 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=20.5 ms\n\
         [1700000002.000000] no answer yet for icmp_seq=2\n\
         [1700000002.040000] 64 bytes from 10.0.0.1: icmp_seq=3 ttl=64 time=40.0 ms\n"
    );
    let delays = one(&text);
    let sent: Vec<u64> = delays.probes.iter().map(|probe| probe.sent.as_nanos()).collect();
    assert_eq!(sent, [0, 1_000_000_000, 2_000_000_000]);
    assert_eq!((delays.send_times, delays.order), (SendTimeSource::Recorded, ProbeOrder::Causal));
    let computed = one(&replies([1, 2]));
    assert_eq!(computed.send_times, SendTimeSource::Computed);
    assert!(computed.notes[0].contains("every 1 s"), "{:?}", computed.notes);
}

#[test]
fn a_note_gives_the_source_of_the_interval() {
    let bare = replies([1, 2, 3]);
    let guessed = &one(&bare).notes[0];
    assert!(guessed.starts_with("times of sending guessed: one probe every 1 s"), "{guessed}");
    assert!(guessed.contains("`--interval TIME`") && guessed.contains("`ping -D`"), "{guessed}");
    for (millis, interval) in [(2020, "1 s"), (420, "200 ms")] {
        let line = format!("3 packets transmitted, 3 received, 0% packet loss, time {millis}ms");
        let note = &one(&format!("{bare}\n--- 10.0.0.1 ping statistics ---\n{line}\n")).notes[0];
        let computed = format!("computed: one probe every {interval}, by the statistics line");
        assert!(note.contains(&computed), "{note}");
    }
}

#[test]
fn broken_and_foreign_lines_are_reported_with_their_line_numbers() {
    let text = format!(
        "{HEADER}64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=20.5 ms\r\n\
         something else\n\
         \x1b[32m64 bytes from 10.0.0.1: icmp_seq=2 ttl=64 time=20.5 ms\x1b[0m\n\
         ping: sendmsg: Network is unreachable\n\n\
         64 bytes from 10.0.0.1: icmp_seq=4 ttl=64 time=2"
    );
    let reading = reading(&text);
    let lines: Vec<usize> = reading.malformed.iter().map(|one| one.line).collect();
    assert_eq!(lines, [3, 7]);
    assert_eq!(counts(&reading.recordings[0])[..3], [2, 2, 0]);
}

#[test]
fn a_reply_to_a_short_probe_counts_without_a_delay() {
    let text = "PING a (10.0.0.1) 8(36) bytes of data.\n\
                16 bytes from 10.0.0.1: icmp_seq=1 ttl=64\n\
                16 bytes from 10.0.0.1: icmp_seq=3 ttl=64\n\
                64 bytes from 10.0.0.1: icmp_seq=4 ttl=64 time=0.1 ms\n";
    let delays = one(text);
    assert_eq!((counts(&delays)[..3].to_vec(), delays.untimed), (vec![4, 3, 1], 2));
}

/// Some versions of iputils write 53.95 ms as 53.10.
#[test]
fn a_delay_that_iputils_rounded_without_a_carry_is_corrected() {
    let text = format!("{HEADER}64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=53.10 ms\n");
    let delays = one(&text);
    assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 54_000_000);
    let note = delays.notes.iter().find(|note| note.starts_with("delays like 53.10 ms"));
    assert!(note.unwrap().ends_with("without a carry: 1"), "{note:?}");
}

#[test]
fn lines_of_iputils_in_other_languages_are_read_by_their_numbers() {
    let text = "PING a (10.0.0.1) 56(84) Bytes an Daten.\n\
                64 Bytes von 10.0.0.1: icmp_seq=1 ttl=64 Zeit=14.3 ms\n\
                64 バイト応答 送信元 10.0.0.1: icmp_seq=2 ttl=64 時間=0.030ミリ秒\n\
                64 octets de 10.0.0.1 : icmp_seq=3 ttl=64 temps=9,74 ms\n\
                \n--- a ping-Statistik ---\n\
                5 Pakete übertragen, 3 empfangen, 40% packet loss, Zeit 4004ms\n";
    let reading = reading(text);
    assert_eq!(reading.malformed, []);
    assert_eq!(counts(&reading.recordings[0])[..3], [5, 3, 2]);
    assert_eq!(reading.recordings[0].probes[2].rtt.unwrap().as_nanos(), 9_740_000);
}

#[test]
fn replies_duplicates_and_statistics_of_hping_are_read() {
    let text = "HPING a (eth0 10.0.0.1): S set, 40 headers + 0 data bytes\n\
                len=46 ip=10.0.0.1 ttl=56 DF id=0 sport=80 flags=SA seq=0 win=29200 rtt=12.3 ms\n\
                DUP! len=46 ip=10.0.0.1 ttl=56 id=0 sport=80 flags=SA seq=0 win=29 rtt=13.3 ms\n\
                \n--- a hping statistic ---\n\
                2 packets transmitted, 1 packets received, 50% packet loss\n\
                round-trip min/avg/max = 12.3/12.3/12.3 ms\n";
    let delays = one(text);
    assert_eq!(counts(&delays), [2, 1, 1, 0, 1]);
    assert_eq!((&*delays.format, delays.probes[0].wire_bytes), ("hping3", 46));
}

#[test]
fn errors_say_what_a_file_has_in_place_of_delays() {
    let summary = "PING a (10.0.0.1) 56(84) bytes of data.\n\n--- a ping statistics ---\n\
                   60 packets transmitted, 60 received, 0% packet loss, time 59153ms\n";
    let error = read("a.txt", summary.as_bytes()).unwrap_err();
    assert!(
        error.to_string().starts_with("a.txt: ping (Linux iputils): only a summary"),
        "{error}"
    );
    for (bytes, says) in [(&b" \n"[..], "empty"), (b"Dear Sir,\n", "`Dear Sir,`")] {
        let error = read("a.txt", bytes).unwrap_err();
        assert!(error.to_string().contains(says), "{error}");
    }
}

#[test]
fn millions_of_missing_numbers_in_a_short_file_are_an_error() {
    let numbers = (0..400_u64).map(|n| n * 30_000 + 1);
    let error = read("x", format!("{HEADER}{}", replies(numbers)).as_bytes()).unwrap_err();
    assert!(error.message.contains("missing"), "{error}");
}

#[test]
fn statistics_in_chinese_and_japanese_are_read_by_their_numbers() {
    for line in [
        "已发送 3 个包， 已接收 0 个包, 100% 包丢失",
        "送信パケット数 3, 受信パケット数 0, 100% パケット損失, 時間 2038ミリ秒",
    ] {
        let text =
            format!("PING a (10.0.0.1) 56(84) 字节的数据。\n\n--- a ping 统计 ---\n{line}\n");
        let reading = reading(&text);
        assert_eq!(
            (counts(&reading.recordings[0])[..3].to_vec(), reading.malformed),
            (vec![3, 0, 3], vec![])
        );
    }
}

#[test]
fn a_reply_with_an_unreadable_delay_is_malformed_and_not_received() {
    for broken in ["icmp_seq=2 ttl=1", "icmp_seq=2 ttl=64 time=abc ms"] {
        let text = format!("{HEADER}{}64 bytes from 10.0.0.1: {broken}\n", replies([1, 3]));
        let reading = reading(&text);
        assert_eq!(counts(&reading.recordings[0])[..3], [3, 2, 1]);
        assert_eq!(reading.malformed.len(), 1, "{broken}");
    }
}

#[test]
fn lines_are_recognised_after_timestamps_of_other_tools() {
    for stamp in ["2024-01-01 10:00:00", "1700000000", "Nov 21 12:04:07"] {
        let text = format!(
            "{stamp} PING a (10.0.0.1) 56(84) bytes of data.\n\
             {stamp} 64 bytes from 10.0.0.1: icmp_seq=1 ttl=64 time=20.5 ms\n\
             {stamp} no answer yet for icmp_seq=2\n{stamp} \n\
             {stamp} Request timeout for icmp_seq 3\n\
             {stamp} From 10.0.0.9 icmp_seq=4 Destination Host Unreachable\n"
        );
        let reading = reading(&text);
        assert_eq!(reading.malformed, [], "{stamp}");
        assert_eq!(counts(&reading.recordings[0])[..3], [4, 1, 3]);
        assert_eq!(reading.recordings[0].probes[0].wire_bytes, 84);
    }
}

#[test]
fn an_unmarked_repeat_of_the_first_number_begins_a_run() {
    let two = reading(&replies([1, 2, 3, 1, 2, 3]));
    let counted: Vec<_> = two.recordings.iter().map(counts).collect();
    assert_eq!(counted, [[3, 3, 0, 0, 0]; 2]);
    let unsure = one(&replies([1, 2, 3, 2]));
    assert!(unsure.notes.iter().any(|note| note.contains("another run")), "{:?}", unsure.notes);
}

#[test]
fn the_interval_comes_from_plausible_statistics_if_nothing_else_gives_it() {
    let run = |time: u64, end: &str| {
        let end = format!(
            "\n--- a ping statistics ---\n11 packets transmitted, 11 received, 0% packet loss, \
             time {time}ms\nrtt min/avg/max/mdev = 20.5/20.5/20.5/0.0 ms{end}\n"
        );
        let delays = one(&format!("{HEADER}{}{end}", replies(1..=11)));
        (delays.probes[1].sent.as_nanos(), delays.notes.join("; "))
    };
    let (step, note) = run(2024, "");
    assert_eq!(step, 200_000_000);
    assert!(note.contains("every 200 ms, by the statistics line; `--interval TIME`"), "{note}");
    assert_eq!(run(10_030, "").0, 1_000_000_000);
    // A time of 101 ms is too short for these delays if one probe was in flight at a time. This
    // time is long enough if three probes were in flight.
    assert_eq!(run(101, "").0, 1_000_000_000);
    assert_eq!(run(101, ", pipe 3").0, 8_100_000);
    let text = format!(
        "{HEADER}{}\n--- a ping statistics ---\n3 packets transmitted, 3 received, 0% packet loss, time 420ms\n",
        replies(1..=3)
    );
    let hints = Hints { interval: Some(Duration::from_secs(2)), ..Hints::default() };
    let given = read_as("x", text.as_bytes(), &hints).unwrap();
    let note = given.recordings[0].notes.join("; ");
    assert!(note.contains("or write `--interval 200ms`"), "{note}");
}

#[test]
fn headers_of_rarer_tools_and_the_word_ping_begin_no_second_run() {
    let toybox = format!("Ping a (10.0.0.1): 56(84) bytes.\n{}", replies([1, 3]));
    let solaris = "PING a: 56 data bytes\n64 bytes from a (10.0.0.1): icmp_seq=0. time=20.5 ms\n\
                   64 bytes from a (10.0.0.1): icmp_seq=2. time=20.5 ms\n\n\
                   ----a PING Statistics----\n\
                   3 packets transmitted, 2 packets received, 33% packet loss\n";
    for text in [&*toybox, solaris] {
        let reading = reading(text);
        assert_eq!((reading.recordings.len(), reading.malformed), (1, vec![]));
        assert_eq!(counts(&reading.recordings[0])[..3], [3, 2, 1]);
    }
    let prose = reading(&format!("{HEADER}{}the PING of today\n{}", replies([1]), replies([2])));
    assert_eq!((prose.recordings.len(), prose.malformed[0].line), (1, 3));
}

#[test]
fn the_largest_possible_numbers_cause_no_panic() {
    const MOST: u64 = u64::MAX;
    let reply = |number| format!("64 bytes from a: icmp_seq={number} ttl=64 time=1.5 ms\n");
    let counted = |sent: u64| {
        format!("{sent} packets transmitted, 3 received, 0% packet loss, time {MOST}ms\n")
    };
    let header = "PING a (10.0.0.1) 56(84) bytes of data.\n";
    for text in [
        [reply(MOST), reply(5)].concat(),
        [header, &reply(5), &counted(MOST)].concat(),
        [header, &reply(1), &reply(2), &counted(2)].concat(),
        [header, &counted(MOST)].concat(),
        [reply(MOST), reply(0), counted(MOST)].concat(),
    ] {
        let _ = read("x", text.as_bytes());
    }
}

#[test]
fn losses_at_the_start_and_a_probe_in_flight_are_reported() {
    let text = "PING a (10.0.0.1) 56(84) bytes of data.\n\
                64 bytes from a: icmp_seq=4 ttl=64 time=1.5 ms\n\
                --- a ping statistics ---\n5 packets transmitted, 1 received, 80% packet loss, time 4000ms\n";
    let delays = one(text);
    assert_eq!(counts(&delays)[..3], [5, 1, 4]);
    for part in ["3 probes before the first answer", "in flight when ping stopped"] {
        assert!(delays.notes.iter().any(|note| note.contains(part)), "{:?}", delays.notes);
    }
    let recording = one(&text.replace("--- a", "no answer yet for icmp_seq=5\n--- a"));
    assert!(
        !recording.notes.iter().any(|note| note.contains("in flight")),
        "{:?}",
        recording.notes
    );
}

#[test]
fn a_probe_with_a_negative_delay_counts_as_answered_without_a_delay() {
    let line =
        |n: u8, ms: &str| format!("64 bytes from 1.1.1.1: icmp_seq={n} ttl=56 time={ms} ms\n");
    let delays = one(&(line(1, "2.00") + &line(2, "-3.00") + &line(3, "2.10")));
    assert_eq!((counts(&delays)[..3].to_vec(), delays.untimed), (vec![3, 3, 0], 1));
    assert!(delays.notes.iter().any(|note| note.starts_with("delays below zero")));
}
