//! Tests of timestamps in logs and tables, and of the words and column names of many programs.

use netspurt::delays::SendTimeSource;

use crate::recordings::{Columns, Hints, read, read_as};

use super::{counts, one, reading};

/// The time that `date -u -d '2024-10-22 10:11:12' +%s` prints, in nanoseconds.
const NS: i64 = 1_729_591_872_000_000_000;

/// Returns four copies of `line`. The seconds 12 to 15 replace `SS`, and the numbers 0 to 3 replace
/// `NN`.
fn log(line: &str) -> String {
    let lines = (0..4)
        .map(|n| line.replace("SS", &(12 + n).to_string()).replace("NN", &n.to_string()) + "\n");
    lines.collect()
}

#[test]
fn stamps_of_fping_are_not_part_of_the_target() {
    for (stamp, dated) in [
        ("[Tue Oct 22 10:11:SS 2024]", true),
        ("[2024-10-22T10:11:SS+0000]", true),
        ("[10:11:SS]", false),
        ("Tue Oct 22 10:11:SS UTC 2024", true),
    ] {
        let text = log(&format!("{stamp} 1.1.1.1 : [NN], 64 bytes, 20.NN ms (20 avg, 0% loss)"));
        let delays = one(&text);
        assert_eq!(counts(&delays), [4, 4, 0, 0, 0], "{stamp}");
        assert_eq!(delays.name, "x: 1.1.1.1");
        assert_eq!((delays.send_times, delays.began.is_some()), (SendTimeSource::Recorded, dated));
        assert!(delays.probes[3].sent.as_nanos().abs_diff(3_000_000_000) < 1_000_000);
    }
    let delays = one(&log("[at 10.11.SS 2024] 1.1.1.1 : [NN], 64 bytes, 20 ms (20 avg, 0% loss)"));
    assert_eq!((counts(&delays)[0], delays.name.as_str()), (4, "x: 1.1.1.1"));
    assert!(
        delays.notes.iter().any(|note| note.starts_with("4 timestamps like `at 10.11.12 2024`"))
    );
}

#[test]
fn stamps_of_other_programs_before_lines_of_ping_are_read() {
    for (stamp, dated) in [
        ("Tue Oct 22 10:11:SS UTC 2024:", true),
        ("2024-10-22 10:11:SS", true),
        ("2024-10-22T12:11:SS+02:00", true),
        ("Oct 22 10:11:SS", false),
        ("10:11:SS.000000", false),
    ] {
        let delays =
            one(&log(&format!("{stamp} 64 bytes from 1.1.1.1: icmp_seq=NN ttl=56 time=1 ms")));
        assert_eq!(counts(&delays), [4, 4, 0, 0, 0], "{stamp}");
        assert_eq!(delays.send_times, SendTimeSource::Recorded, "{stamp}");
        assert_eq!(delays.probes[3].sent.as_nanos(), 3_000_000_000, "{stamp}");
        let began = delays.began.map(|began| began.unix_ns);
        assert_eq!(began, dated.then_some(NS - 1_000_000), "{stamp}");
    }
    let text = "23:59:59 64 bytes from 1.1.1.1: icmp_seq=1 ttl=56 time=1 ms\n\
                00:00:00 64 bytes from 1.1.1.1: icmp_seq=2 ttl=56 time=1 ms\n";
    assert_eq!(one(text).probes[1].sent.as_nanos(), 1_000_000_000);
}

#[test]
fn a_note_reports_stamps_that_cannot_be_read() {
    for (stamp, why) in [
        ("ti 22. loka 10:11:SS EEST 2024:", "their form is unknown"),
        ("Tue Oct 22 10:11:SS IST 2024:", "IST is India's"),
    ] {
        let delays =
            one(&log(&format!("{stamp} 64 bytes from 1.1.1.1: icmp_seq=NN ttl=56 time=1 ms")));
        assert_eq!((counts(&delays)[1], delays.send_times), (4, SendTimeSource::Computed));
        assert!(delays.notes.iter().any(|note| note.contains(why)), "{:?}", delays.notes);
    }
}

/// Some versions of iputils write 20.95 ms as 20.10, without a carry. Apart from this mistake, no
/// version writes two decimals above 10 ms. So if a log has a delay such as 21.53, another tool
/// wrote the log, and a delay of 20.10 in this log is right.
#[test]
fn a_missing_carry_is_added_only_in_logs_of_iputils() {
    let line = |n: u8, ms: &str| {
        format!("56 bytes from 1.1.1.1 (1.1.1.1): icmp_seq={n} ttl=56 time={ms} ms\n")
    };
    for (other, read) in [("21.53", 20_100_000), ("21.5", 21_000_000)] {
        let delays = one(&(line(1, "20.10") + &line(2, other)));
        assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), read, "{other}");
        assert_eq!(delays.notes.iter().any(|note| note.contains("carry")), read == 21_000_000);
    }
}

#[test]
fn a_description_of_columns_is_refused_if_the_file_is_a_log() {
    let text = b"64 bytes from 1.1.1.1: icmp_seq=1 ttl=56 time=1 ms\n";
    let columns = Columns { unit: Some("s".into()), ..Columns::default() };
    let error = read_as("x", text, &Hints { columns, ..Hints::default() }).unwrap_err().to_string();
    assert!(
        error.contains("`--column` describes tables, and the file was read as ping"),
        "{error}"
    );
}

#[test]
fn errors_about_mtr_reports_and_unknown_tables_give_the_fix() {
    let text = b"Start: 2024-10-22T10:11:12+0000\nHOST: a       Loss%   Snt   Last   Avg  Best  Wrst StDev\n  1.|-- 10.0.0.1  0.0%    10    0.4   0.5   0.3   0.9   0.1\n";
    let error = read("x", text).unwrap_err().to_string();
    assert!(error.contains("report of mtr") && error.contains("ping -D"), "{error}");
    let error = read("x", b"wann,wie lange\n10,20.1\n11,20.2\n").unwrap_err().to_string();
    assert!(error.contains("its columns are wann, wie lange"), "{error}");
    assert!(error.contains("`--column rtt=NAME` names the column"), "{error}");
    assert!(error.contains("NAME may also be the column's number, from 1 to 2"), "{error}");
    let columns = Columns { rtt: Some("wie lange".into()), ..Columns::default() };
    let text = b"wann,wie lange\n10,20.1\n11,20.2\n";
    let named = read_as("x", text, &Hints { columns, ..Hints::default() });
    assert!(named.is_ok(), "the table is read if the user names the column of delays");
}

#[test]
fn words_for_losses_count_as_losses_and_unclear_rows_are_left_out() {
    let text = "time,rtt\n1700000000,20.1\n1700000001,error\n1700000002,U\n1700000003,no\n\
                1700000004,100% loss\n1700000005,>1000\n";
    let reading = reading(text);
    let delays = &reading.recordings[0];
    assert_eq!((counts(delays)[..3].to_vec(), reading.malformed.len()), (vec![5, 1, 4], 1));
    let note = "1 row of the file is left out; the first is line 7: only a bound";
    assert!(delays.notes.iter().any(|text| text.starts_with(note)), "{:?}", delays.notes);
    for name in ["alive", "up"] {
        let delays = one(&format!("time,rtt,{name}\n1700000000,20.1,1\n1700000001,0,0\n"));
        assert_eq!(counts(&delays)[..3], [2, 1, 1], "{name}");
        let delays = one(&format!("time,rtt,{name}\n1700000000,20.1,true\n1700000001,0,false\n"));
        assert_eq!(counts(&delays)[..3], [2, 1, 1], "{name}");
    }
    let rates = one("time,ping,down,up\n1700000000,20.1,50.2,10.1\n1700000001,20.2,50.2,0\n");
    assert_eq!(counts(&rates)[..3], [2, 2, 0]);
}

#[test]
fn timestamps_of_many_programs_are_read_in_tables() {
    for text in [
        "Tue Oct 22 10:11:SS 2024 20.NN",
        "Tue Oct 22 10:11:SS 2024: 20.NN",
        "[Tue Oct 22 10:11:SS 2024] 20.NN",
        "[Tue Oct 22 10:11:SS 2024],20.NN",
        "Tue Oct 22 12:11:SS CEST 2024,20.NN",
        "Tue Oct 22 10:11:SS AM UTC 2024,20.NN",
        "2024-10-22 12:11:SS +0200,20.NN",
        "2024-10-22 06:11:SS EDT,20.NN",
        "22-Oct-2024 10:11:SS,20.NN",
        "22 Oct 2024 10:11:SS,20.NN",
        "22 Oct 2024 10:11:SS 20.NN",
        "22/Oct/2024:12:11:SS +0200,20.NN",
        "[22/Oct/2024:12:11:SS +0200] 20.NN",
        "Tue, 22 Oct 2024 12:11:SS +0200,20.NN",
        "Tue, 22 Oct 2024 12:11:SS +0200 20.NN",
        "20241022T1011SSZ,20.NN",
        "2024-10-22 10:11:SS,8.8.8.8,20.NN",
        "NN 17295918SS 20.NN",
    ] {
        let reading = reading(&log(text));
        let [delays] = &reading.recordings[..] else { panic!("{text}") };
        assert_eq!(counts(delays), [4, 4, 0, 0, 0], "{text}");
        assert_eq!(delays.probes[3].sent.as_nanos(), 3_000_000_000, "{text}");
        let began = delays.began.unwrap().unix_ns;
        let expected = if text.starts_with("NN") { 1_729_591_812_000_000_000 } else { NS };
        assert_eq!(began, expected, "{text}");
    }
    let text = b"time,rtt\nTue Oct 22 10:11:12 IST 2024,20.1\n";
    let error = read("x", text).unwrap_err().to_string();
    assert!(error.contains("IST is India's, Ireland's and Israel's time"), "{error}");
}

#[test]
fn column_names_in_german_or_with_a_unit_are_recognised() {
    for names in ["time,\"rtt, ms\"", "Zeit;Latenz [ms]", "Zeit;Laufzeit (ms)"] {
        let mark = if names.contains(';') { ';' } else { ',' };
        let delays = one(&format!("{names}\n1700000000{mark}20.1\n1700000001{mark}20.2\n"));
        assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 20_100_000, "{names}");
        assert_eq!(delays.probes[1].sent.as_nanos(), 1_000_000_000, "{names}");
    }
}

#[test]
fn a_table_that_begins_with_the_last_probe_is_sorted() {
    let delays = one("time,rtt\n1700000002,22\n1700000001,21\n1700000001,20\n1700000000,19\n");
    let seconds: Vec<_> =
        delays.probes.iter().map(|one| one.sent.as_nanos() / 1_000_000_000).collect();
    assert_eq!(seconds, [0, 1, 1, 2]);
    assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 19_000_000);
    assert!(delays.notes.iter().any(|note| note.contains("sorted by time")));
}

/// Returns the instants of the probes in whole seconds since the first probe, and the number of
/// lost probes.
fn seconds(text: &str) -> (Vec<u64>, u64) {
    let delays = one(text);
    assert_eq!(delays.send_times, SendTimeSource::Recorded, "{:?}", delays.notes);
    let sent =
        delays.probes.iter().map(|probe| (probe.sent.as_nanos() + 500_000_000) / 1_000_000_000);
    (sent.collect(), delays.lost())
}

#[test]
fn timestamps_before_lines_of_ping_on_windows_are_times_of_arrival() {
    for stamp in [
        "2024-10-22 10:11:SS ",
        "[2024-10-22 10:11:SS] ",
        "22.10.2024 10:11:SS - ",
        "10/22/2024 10:11:SS AM - ",
        "10:11:SS: ",
    ] {
        let text = log(&format!("{stamp}Reply from 10.0.0.1: bytes=32 time=2NNms TTL=64"));
        assert_eq!(seconds(&text), (vec![0, 1, 2, 3], 0), "{stamp}");
        let lost =
            text.replace("Reply from 10.0.0.1: bytes=32 time=22ms TTL=64", "Request timed out.");
        assert_eq!(seconds(&lost), (vec![0, 1, 2, 3], 1), "{stamp}");
    }
    let text = "2024-10-22 10:11:12 Reply from 10.0.0.1: bytes=32 time=20ms TTL=64\r\n\
                2024-10-22 10:11:17 Request timed out.\r\n\
                2024-10-22 10:11:18 Reply from 10.0.0.1: bytes=32 time=20ms TTL=64\r\n";
    assert_eq!(seconds(text), (vec![0, 3, 6], 1));
    assert_eq!(one(text).began.map(|began| began.unix_ns), Some(NS - 20_000_000));
}

#[test]
fn the_log_of_a_loop_that_calls_date_and_ping_is_one_recording() {
    let round = |second: u32, answered: bool| {
        let reply = "64 bytes from 8.8.8.8: icmp_seq=1 ttl=117 time=14.3 ms\n";
        format!(
            "Tue Oct 22 10:11:{second} UTC 2024\nPING 8.8.8.8 (8.8.8.8) 56(84) bytes of data.\n{}\n\
             --- 8.8.8.8 ping statistics ---\n1 packets transmitted, {} received, {}% packet loss, time 0ms\n\n",
            if answered { reply } else { "" },
            u8::from(answered),
            100 * u8::from(!answered),
        )
    };
    let answers = [true, true, false, true];
    let log = |answers: &[bool]| -> String {
        (0..).zip(answers).map(|(n, answered)| round(12 + 5 * n, *answered)).collect()
    };
    assert_eq!(seconds(&log(&answers)), (vec![0, 5, 10, 15], 1));
    assert_eq!(seconds(&log(&[false, true, true, false])), (vec![0, 5, 10, 15], 2));
    assert_eq!(one(&log(&answers)).began.map(|began| began.unix_ns), Some(NS));
    let bare: String = log(&[true; 4])
        .lines()
        .filter(|line| line.starts_with("Tue") || line.starts_with("64"))
        .map(|line| format!("{line}\n"))
        .collect();
    assert_eq!(seconds(&bare), (vec![0, 5, 10, 15], 0));
}

#[test]
fn a_date_between_lines_of_ping_says_when_the_next_probe_left() {
    let line = |n: u32| {
        let date = if n % 3 == 1 {
            format!("Tue Oct 22 10:11:{} UTC 2024\n", 10 + 2 * n)
        } else {
            "".into()
        };
        format!("{date}64 bytes from 8.8.8.8: icmp_seq={n} ttl=117 time=14.3 ms\n")
    };
    let log = |head: &str| head.to_owned() + &(1..=7).map(line).collect::<String>();
    let head = "PING 8.8.8.8 (8.8.8.8) 56(84) bytes of data.\n";
    for before in ["", head, &format!("Tue Oct 22 10:11:11 UTC 2024\n{head}")] {
        assert_eq!(seconds(&log(before)), (vec![0, 2, 4, 6, 8, 10, 12], 0), "{before}");
    }
    // Here each reply of one continuing ping follows a line with only a timestamp. One probe was
    // lost.
    let lines = (1..=6).filter(|n| *n != 4).map(|n| {
        format!("10:11:{}\n64 bytes from 8.8.8.8: icmp_seq={n} ttl=117 time=14.3 ms\n", 10 + n)
    });
    assert_eq!(seconds(&lines.collect::<String>()), (vec![0, 1, 2, 3, 4, 5], 1));
}

#[test]
fn falling_times_of_day_continue_with_the_previous_day() {
    let rows = ["00:00:02", "00:00:01", "23:59:59", "23:59:58"];
    let text: String = rows.iter().map(|time| format!("{time},20\n")).collect();
    assert_eq!(seconds(&format!("time,rtt_ms\n{text}")), (vec![0, 1, 3, 4], 0));
}
