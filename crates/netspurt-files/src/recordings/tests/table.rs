//! Tests of the reader for tables.

use netspurt::delays::{Measure, SendTimeSource};

use crate::recordings::{Columns, Hints, read, read_as};

use super::{counts, one, reading};

#[test]
fn separators_units_and_marks_of_loss_are_found() {
    let tables = [
        "seq,rtt_ms\n1,20.5\n2,*\n4,21\n4,22\n",
        "seq;rtt [ms]\n1;20,5\n2;\n4;21\n4;22\n",
        "icmp_seq\tlatency (us)\n1\t20500\n2\t-1\n4\t21000\n4\t22000\n",
        "# seq delay_ns\n1 20500000\n2 nan\n4 21000000\n4 22000000\n",
        "\"seq\",\"RTT_s\",\"lost\"\n\"1\",\"0.0205\",\"false\"\n2,9,true\n4,0.021,0\n4,0.022,0\n",
    ];
    for text in tables {
        let delays = one(text);
        assert_eq!(counts(&delays), [4, 2, 2, 0, 1], "{text}");
        assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 20_500_000);
        assert_eq!(delays.send_times, SendTimeSource::Unknown);
    }
}

#[test]
fn the_magnitude_of_a_time_of_sending_shows_its_unit() {
    for (first, second) in [
        ("1700000000.5", "1700000001"),
        ("1700000000500", "1700000001000"),
        ("2023-11-14T22:13:20.5Z", "2023-11-14T22:13:21Z"),
    ] {
        let delays = one(&format!("timestamp,rtt_ms\n{first},20\n{second},21\n"));
        assert_eq!(delays.send_times, SendTimeSource::Recorded);
        assert_eq!(delays.probes[1].sent.as_nanos(), 500_000_000, "{first}");
    }
}

#[test]
fn a_column_of_delays_beside_times_of_publication_has_one_way_delays() {
    let text = "pub_time(ms) sub_time(ms) delay(ms)\n1722584771162 1722584771194 32\n\
                1722584771216 1722584771233 17\n";
    let delays = one(text);
    assert_eq!((delays.measure, delays.probes[1].sent.as_nanos()), (Measure::OneWay, 54_000_000));
}

#[test]
fn a_single_column_of_whole_numbers_has_one_way_delays() {
    let paced = one("12\n12\n16\n");
    assert_eq!((paced.measure, paced.probes[2].sent.as_nanos()), (Measure::OneWay, 20_000_000));
}

#[test]
fn users_give_columns_by_name_or_by_number() {
    let text = b"a|b\n";
    assert!(read("x", text).is_err());
    let text = b"node,left,x\nA,0,1500\nB,0,1600\nA,1,oops\nA,2,-1\n";
    let named = |key: &str| Some(key.to_owned());
    let columns = Columns {
        rtt: named("x"),
        sent: named("2"),
        group: named("node"),
        unit: named("us"),
        ..Columns::default()
    };
    let hints = Hints { columns: columns.clone(), ..Hints::default() };
    let reading = read_as("x", text, &hints).unwrap();
    let all: Vec<_> = reading.recordings.iter().map(counts).collect();
    assert_eq!(all, [[2, 1, 1, 0, 0], [1, 1, 0, 0, 0]]);
    assert_eq!(reading.recordings[0].probes[0].rtt.unwrap().as_nanos(), 1_500_000);
    assert_eq!((reading.malformed.len(), reading.malformed[0].line), (1, 4));
    let wrong = Hints { columns: Columns { rtt: named("y"), ..columns }, ..Hints::default() };
    let error = read_as("x", text, &wrong).unwrap_err().to_string();
    assert_eq!(
        error,
        "x: there is no column `y`: the columns are node, left, x; write `--column WHAT=NAME`"
    );
}

/// The clocks of the two hosts of a one-way measurement may differ.
#[test]
fn a_row_with_a_negative_delay_is_left_out_or_counts_as_lost() {
    let clocks = "two clocks differ";
    for (text, sent, lost, why) in [
        ("sent_ms,received_ms\n1000,1010\n1050,1046\n1100,1113\n", 2, 0, clocks),
        ("rtt_ms\n10.5\n-4\n-1\n12.5\n", 3, 1, "only -1 means lost"),
        ("rtt_us\n900\n-1.5\n-1.0\n800\n", 3, 1, "only -1 means lost"),
    ] {
        let reading = read("x", text.as_bytes()).unwrap();
        let found = counts(&reading.recordings[0]);
        assert_eq!((found[0], found[2], reading.malformed.len()), (sent, lost, 1), "{text}");
        assert!(reading.malformed[0].why.contains(why), "{text}");
    }
    let told = read("x", b"rtt_ms,lost\n10,0\n-9999,1\n12,0\n").unwrap();
    assert_eq!((counts(&told.recordings[0])[2], told.malformed.len()), (1, 0));
}

#[test]
fn if_a_row_is_left_out_but_has_a_number_its_probe_is_not_lost() {
    for (names, row) in [
        ("seq,rtt_ms", "2,-4"),
        ("seq,rtt_ms", "2,>1000"),
        ("seq,rtt_ms", "2,20,5"),
        ("seq,rtt_ms,success", "2,20,purple"),
    ] {
        let good =
            |number: u64| format!("{number},20{}\n", [",1", ""][usize::from(names.len() < 12)]);
        let reading = reading(&format!("{names}\n{}{row}\n{}{}", good(1), good(3), good(5)));
        assert_eq!(counts(&reading.recordings[0])[..3], [4, 3, 1], "{row}");
        assert_eq!(reading.malformed[0].line, 3, "{row}");
    }
    let text = "seq,sent_ms,received_ms\n1,1000,1010\n2,1050,1046\n3,1100,1113\n";
    assert_eq!(counts(&reading(text).recordings[0])[..3], [2, 2, 0]);
}

#[test]
fn columns_without_names_are_recognised_by_their_values() {
    let delays = one("1694477135.68\t1\t44.5\n1694477135.83\t2\t-1\n1694477135.98\t4\t40.5\n");
    assert_eq!(counts(&delays)[..3], [4, 2, 2]);
    assert_eq!(delays.send_times, SendTimeSource::Recorded);
}

#[test]
fn pingplotter_has_the_target_in_its_last_column() {
    let text = "\u{feff}\u{feff}Host Information\n1,,-\n2,a,10.0.0.1\nSample Information\n\
                2025-11-26 17:36:26Z,1.21,24.35\n2025-11-26 17:36:29Z,*,*\n\
                2025-11-26 17:36:32Z,1.2,N/A\n";
    let delays = one(text);
    assert_eq!(counts(&delays)[..3], [2, 1, 1]);
    assert_eq!(delays.probes[1].sent.as_nanos(), 3_000_000_000);
}

#[test]
fn a_table_without_delays_is_an_error() {
    assert!(read("x", b"a,b\n1,2\n").is_err());
    assert!(reading("rtt\n20\n").malformed.is_empty());
}

#[test]
fn a_row_with_more_cells_than_columns_is_malformed() {
    let reading = reading("seq,rtt_ms\n1,20,5\n2,21,\n3,22\n");
    assert_eq!((reading.recordings[0].sent(), reading.malformed[0].line), (2, 2));
}

#[test]
fn columns_of_success_and_status_give_losses() {
    for (name, yes, no) in
        [("success", "1", "0"), ("ok", "true", "false"), ("status", "OK", "timeout")]
    {
        let delays = one(&format!("seq,rtt_ms,{name},colour\n1,20,{yes},red\n2,0,{no},red\n"));
        assert_eq!(counts(&delays)[..3], [2, 1, 1], "{name}");
        assert!(delays.notes.iter().any(|note| note == "ignored columns: colour"));
    }
}

#[test]
fn a_delay_is_read_in_the_unit_that_its_cell_gives() {
    let delays = one("seq,rtt\n1,1.2 s\n2,900 us\n3,10 ms\n");
    let delays_ns: Vec<_> =
        delays.probes.iter().map(|probe| probe.rtt.unwrap().as_nanos()).collect();
    assert_eq!(delays_ns, [1_200_000_000, 900_000, 10_000_000]);
    assert!(!delays.notes.iter().any(|note| note.contains("have no unit")));
}

#[test]
fn the_two_directions_of_a_flow_are_two_recordings() {
    let rows = "20,web,forward,10\n30,web,reverse,11\n50,web,forward,12\n60,dns,forward,13\n";
    let reading = reading(&format!("t_ns,flow,direction,rtt_ns\n{rows}"));
    let names_and_counts: Vec<_> =
        reading.recordings.iter().map(|recording| (&*recording.name, recording.sent())).collect();
    assert_eq!(names_and_counts, [("x: web", 2), ("x: web reverse", 1), ("x: dns", 1)]);
}

#[test]
fn column_names_may_be_below_a_title_and_the_title_is_reported() {
    let reading = reading("Run 5 of 2024\nseq,rtt_ms\n1,20\n3,21\n");
    assert_eq!(counts(&reading.recordings[0])[..3], [3, 2, 1]);
    assert_eq!(reading.malformed[0].line, 1);
}

#[test]
fn times_of_day_are_instants_and_continue_after_midnight() {
    let delays = one("time,latency (ms)\n23:59:59,20\n00:00:00.5,21\n");
    assert_eq!(
        (counts(&delays)[..3].to_vec(), delays.send_times),
        (vec![2, 2, 0], SendTimeSource::Recorded)
    );
    assert_eq!(delays.probes[1].sent.as_nanos(), 1_500_000_000);
}

#[test]
fn a_list_of_delays_with_units_and_words_is_a_table() {
    assert_eq!(counts(&one("20.1 ms\n20.2 ms\nlost\n20.4 ms\n"))[..3], [4, 3, 1]);
}

#[test]
fn columns_called_sent_and_received_give_delays() {
    let delays = one("sent,received\n1700000000.0,1700000000.02\n1700000001.0,\n");
    assert_eq!(counts(&delays)[..3], [2, 1, 1]);
    assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 20_000_000);
}

/// In the table of flows, `sent` and `received` are counts.
#[test]
fn the_table_of_flows_of_a_run_is_no_recording() {
    let text = "flow,direction,start_ns,finished_ns,sent,retransmissions,received\n\
                web,forward,0,9,63,3,60\nweb,reverse,1,9,1271,11,1260\n";
    let error = read("x", text.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("flow"), "{error}");
}

#[test]
fn if_status_codes_are_unknown_only_a_missing_delay_is_a_loss() {
    let delays = one("seq,rttMs,status\n1,20,0\n2,,1\n");
    assert_eq!(counts(&delays)[..3], [2, 1, 1]);
    assert_eq!(delays.probes[0].rtt.unwrap().as_nanos(), 20_000_000);
}

#[test]
fn rows_that_repeat_a_number_are_duplicates_and_a_note_says_so() {
    let delays = one("seq,rtt_ms\n1,20\n2,21\n1,22\n");
    assert_eq!(counts(&delays), [2, 2, 0, 0, 1]);
    assert!(delays.notes.iter().any(|note| note.contains("`--column group=NAME`")));
}

#[test]
fn timestamps_of_ctime_are_read_in_tables_with_and_without_a_header() {
    let (first, second) = ("Tue Oct 22 10:11:12 2024", "Tue Oct 22 10:11:12.5 2024");
    for text in [
        format!("time,rtt_ms\n{first},20\n{second},21\n"),
        format!("{first},20\n{second},21\n"),
        format!("{first} 20\n{second} 21\n"),
        format!("time rtt_ms\n{first} 20\n{second} 21\n"),
    ] {
        let delays = one(&text);
        assert_eq!(
            (counts(&delays)[0], delays.send_times),
            (2, SendTimeSource::Recorded),
            "{text}"
        );
        assert_eq!(delays.probes[1].sent.as_nanos(), 500_000_000, "{text}");
    }
}

#[test]
fn a_first_row_of_data_is_not_a_header() {
    let hints = |rtt: &str| {
        let columns = Columns { rtt: Some(rtt.to_owned()), ..Columns::default() };
        Hints { columns, ..Hints::default() }
    };
    for text in
        ["Tue Oct 22 10:11:12 2024,a,20\nTue Oct 22 10:11:13 2024,a,21\n", "1,True,20\n2,True,21\n"]
    {
        let reading = read_as("x", text.as_bytes(), &hints("3")).unwrap();
        assert_eq!((reading.recordings[0].sent(), reading.malformed.len()), (2, 0), "{text}");
    }
    let named = read_as("x", b"a,b\n1,20\n2,21\n", &hints("2")).unwrap();
    assert_eq!((named.recordings[0].sent(), named.malformed.len()), (2, 0));
}

#[test]
fn words_for_no_answer_count_as_losses() {
    for word in ["False", "false", "None", "nan", "-", "timeout"] {
        let delays = one(&format!("seq,rtt_ms\n1,20\n2,{word}\n"));
        assert_eq!(counts(&delays)[..3], [2, 1, 1], "{word}");
        assert_eq!(counts(&one(&format!("20.5\n{word}\n21.5\n")))[..3], [3, 2, 1], "{word}");
    }
}

#[test]
fn ambiguous_columns_are_refused_and_units_apply_to_unnamed_columns() {
    let with = |columns: Columns| Hints { columns, ..Hints::default() };
    let unit = with(Columns { unit: Some("s".into()), ..Columns::default() });
    let reading = read_as("x", b"0.5\n0.25\n", &unit).unwrap();
    assert_eq!(reading.recordings[0].probes[1].rtt.unwrap().as_nanos(), 250_000_000);
    let sent = with(Columns { sent: Some("1".into()), ..Columns::default() });
    let error = read_as("x", b"1700000000,20\n1700000001,21\n", &sent).unwrap_err().to_string();
    assert!(error.contains("which one holds the delays"), "{error}");
    let irtt = br#"{"round_trips":[{"seqno":1,"lost":"false","delay":{"rtt":7}}]}"#;
    let error = read_as("x", irtt, &unit).unwrap_err().to_string();
    assert!(error.contains("describes tables"), "{error}");
}

#[test]
fn a_trace_of_mahimahi_is_not_a_list_of_delays() {
    let trace: String = (0..40).map(|n| format!("{}\n", n / 2 * 3)).collect();
    let error = read("x", trace.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("Mahimahi") && error.contains("--column rtt=1"), "{error}");
    let columns = Columns { rtt: Some("1".into()), ..Columns::default() };
    let delays = read_as("x", trace.as_bytes(), &Hints { columns, ..Hints::default() }).unwrap();
    assert_eq!(delays.recordings[0].sent(), 40);
    assert_eq!(counts(&one(&format!("{trace}5\n")))[0], 41);
    assert_eq!(counts(&one(&"20\n".repeat(40)))[0], 40);
}

#[test]
fn the_words_of_many_tools_for_an_outcome_are_read() {
    let text =
        "\"Source\",\"Address\",\"Latency\",\"Status\"\n\"A\",\"8.8.8.8\",\"12\",\"Success\"\n";
    for word in [
        "TimedOut",
        "DestinationHostUnreachable",
        "TtlExpired",
        "TimeExceeded",
        "DestinationProhibited",
        "Request timed out.",
        "ICMP Host Unreachable",
        "General failure.",
        "no-reply",
        "No response",
        "HardwareError",
        "offline",
    ] {
        let reading = reading(&format!("{text}\"A\",\"8.8.8.8\",\"0\",\"{word}\"\n"));
        assert!(reading.malformed.is_empty(), "{:?}", reading.malformed);
        assert_eq!(counts(&reading.recordings[0])[..3], [2, 1, 1], "{word}");
    }
    let table = reading(&format!("{text}\"A\",\"8.8.8.8\",\"0\",\"purple\"\n"));
    assert_eq!(table.malformed.len(), 1, "a row with an unknown word is reported");
    let cells =
        one("TimeStamp,ResponseTime\n2024-10-22T10:11:12Z,12\n2024-10-22T10:11:13Z,TimedOut\n");
    assert_eq!(counts(&cells)[..3], [2, 1, 1]);
}

#[test]
fn a_column_of_instants_is_not_taken_for_delays() {
    let rows = |names: &str, cells: &str| -> String {
        let rows = (0..8).map(|n| format!("{n}{cells}\n"));
        format!("{names}\n") + &rows.collect::<String>()
    };
    for text in [
        "Time,average_response_ms\n1729591872000,12.3\n1729591873000,13\n",
        "time,min_ms,avg_ms,max_ms\n10,1.2,1.3,1.4\n20,1.2,1.4,1.5\n",
        &rows("time,min_ms,avg_ms,max_ms", ",1.2,1.3,1.4"),
        &rows("time,throughput_mbps", ",93.5"),
    ] {
        let error = read("x", text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("`--column rtt=NAME` names the column"), "{error}");
    }
    let delays = one(&(rows("time,ttl", ",64") + "7,64\n"));
    assert_eq!(counts(&delays)[..3], [9, 9, 0], "the values do not always rise");
    assert_eq!(counts(&one("timestamp_ms,time_ms\n1000,20\n2000,21\n"))[..3], [2, 2, 0]);
}

#[test]
fn a_row_with_an_unclear_decimal_point_is_left_out() {
    let reading = reading("seq;rtt_ms\n1;1.234\n2;12,5\n3;13.5\n4;0.125\n5;1.234,5\n6;9\n");
    let delays: Vec<_> =
        reading.recordings[0].probes.iter().map(|probe| probe.rtt.unwrap().as_nanos()).collect();
    assert_eq!(delays, [12_500_000, 13_500_000, 125_000, 9_000_000]);
    let lines: Vec<_> = reading.malformed.iter().map(|row| row.line).collect();
    assert_eq!(lines, [2, 6]);
    assert!(reading.malformed[0].why.contains("may divide thousands"));
    assert_eq!(counts(&one("seq;rtt_ms\n1;1.234\n2;12.5\n"))[..3], [2, 2, 0]);
}

#[test]
fn empty_lines_of_a_list_of_delays_are_left_out_with_a_note() {
    let noted = |text: &str| {
        let delays = one(text);
        let note = delays.notes.iter().find(|note| note.starts_with("empty lines left out: 2"));
        (delays.sent(), delays.lost(), note.is_some())
    };
    assert_eq!(noted("86.2\n\n79.0\n80.0\n\n64.5\n\n\n"), (4, 0, true));
    assert_eq!(noted("86.2\n-\n79.0\n80.0\n-\n64.5\n\n\n"), (6, 2, false));
}

#[test]
fn a_table_of_delays_may_begin_with_many_losses() {
    let losses = "nan\n".repeat(300);
    let late = one(&format!("rtt_ms\n{losses}{}", "20\n".repeat(50)));
    assert_eq!((late.sent(), late.received(), late.lost()), (350, 50, 300));
    let never = one(&format!("rtt_ms\n{losses}"));
    assert_eq!((never.sent(), never.lost()), (300, 300));
}

#[test]
fn delays_without_a_unit_have_a_note_that_names_a_likely_unit() {
    for (value, unit) in
        [("0.04", "unit=s"), ("40", "unit=s"), ("40000", "unit=us"), ("4e7", "unit=ns")]
    {
        let delays = one(&format!("rtt\n{}", format!("{value}\n").repeat(20)));
        let note = &delays.notes[0];
        assert!(
            note.starts_with("the delays have no unit and were read as milliseconds"),
            "{note}"
        );
        assert!(note.contains(unit), "{value}: {note}");
    }
}
