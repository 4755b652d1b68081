//! Tests that the readers of recordings count the probes of whole recordings exactly. The project's
//! own recordings are in the folder `data`. Recordings of other people are in `../shared/delays`,
//! beside the repository, together with a table of their counts.

use std::fs;
use std::path::{Path, PathBuf};

use netspurt::delays::ProbeOrder;
use netspurt::record::{Column, Data, Table, write_table};
use netspurt_files::recordings::{Reading, read};

/// The folder with the recordings of other people; `None` if it does not exist.
fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/delays");
    folder.join("README.md").is_file().then_some(folder)
}

/// Returns the rows of the table: for each file its name, and the numbers of its recordings (`runs`
/// in the table), probes, received probes, lost probes and duplicates. `None` stands for the
/// numbers of a row in which a number is missing.
fn rows(table: &str) -> Vec<(String, Option<[u64; 5]>)> {
    let (_, table) = table.split_once("## Files").expect("the table");
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(1);
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let counts: Vec<u64> = cells[9..14].iter().flat_map(|cell| cell.parse()).collect();
        (cells[1].to_owned(), counts.try_into().ok())
    })
    .collect()
}

/// Counts recordings, probes, received probes, lost probes and duplicates.
fn counts(reading: &Reading) -> [u64; 5] {
    let sum = |of: fn(&netspurt::delays::Delays) -> u64| reading.recordings.iter().map(of).sum();
    [
        reading.recordings.len() as u64,
        sum(|one| one.sent()),
        sum(|one| one.received()),
        sum(|one| one.lost()),
        sum(|one| one.duplicates),
    ]
}

#[test]
fn recordings_of_other_people_have_the_counts_in_the_readme_of_their_folder() {
    let Some(folder) = shared() else {
        eprintln!("SKIPPED: no ../shared/delays beside the repository");
        return;
    };
    let table = fs::read_to_string(folder.join("README.md")).unwrap();
    let mut wrong = Vec::new();
    for (file, expected) in rows(&table) {
        let bytes = fs::read(folder.join(&file)).unwrap();
        let found = read(&file, &bytes);
        match (found, expected) {
            // This file has only a summary and no probes, and the error says so.
            (Err(error), _) if file == "pingparsing__ping.txt" => {
                assert!(error.to_string().contains("summary"), "{error}");
            }
            (Ok(reading), Some(expected)) if counts(&reading) == expected => {}
            // The table has no counts for traceroutes, which are not series of delays.
            (Err(error), None) => assert!(error.to_string().contains("traceroute"), "{error}"),
            (Ok(reading), expected) => {
                wrong.push(format!("{file}: {:?}, not {expected:?}", counts(&reading)));
            }
            (Err(error), _) => wrong.push(error.to_string()),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_probes_of_our_own_recordings_are_counted_exactly() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let expected = [
        ("ping.txt", [1, 240, 236, 4, 4]),
        ("fping-c.txt", [2, 480, 465, 15, 0]),
        ("fping-C.txt", [1, 60, 59, 1, 0]),
        ("mtr.txt", [3, 180, 82, 98, 0]),
        ("irtt.json", [1, 238, 235, 3, 4]),
        ("atlas-ping.jsonl", [1, 240, 236, 4, 4]),
    ];
    for (file, expected) in expected {
        let reading = read(file, &fs::read(data.join(file)).unwrap()).unwrap();
        assert_eq!((counts(&reading), reading.malformed), (expected, vec![]), "{file}");
    }
}

#[test]
fn our_own_echo_probes_are_read_from_parquet_and_from_csv() {
    let columns = vec![
        Column::new("t_ns", Data::I64(vec![0, 30_000_000_000, 60_000_000_000, 60_100_000_000])),
        Column::new("flow", Data::Text { codes: vec![0; 4], texts: ["a".to_owned()].into() }),
        Column::new("number", Data::U32(vec![1, 2, 3, 4])),
        Column::new("size_bytes", Data::U16(vec![60; 4])),
        Column::new("rtt_ns", Data::OptionalI64(vec![Some(40_000_000), None, None, None].into())),
        Column::new("lost", Data::Bool(vec![false, true, true, false])),
        Column::new(
            "late_ns",
            Data::OptionalI64(vec![None, Some(31_000_000_000), None, None].into()),
        ),
        Column::new("duplicates", Data::U32(vec![1, 0, 0, 0])),
    ];
    let mut file = Vec::new();
    write_table(&Table::new("echo_probes", columns), &mut file).unwrap();
    let csv = "t_ns,flow,number,size_bytes,rtt_ns,lost,late_ns,duplicates\n\
               0,a,1,60,40000000,false,,1\n30000000000,a,2,60,,true,31000000000,0\n\
               60000000000,a,3,60,,true,,0\n60100000000,a,4,60,,false,,0\n";
    for bytes in [&file[..], csv.as_bytes()] {
        let reading = read("x", bytes).unwrap();
        let delays = &reading.recordings[0];
        // The fourth probe does not count, because the run ended before its reply arrived or its
        // give-up time passed.
        let (sent, late) = (delays.sent(), delays.late());
        assert_eq!((sent, delays.received(), delays.lost()), (3, 2, 1));
        assert_eq!((late, delays.duplicates), (1, 1));
        assert_eq!((delays.order, delays.probes[1].wire_bytes), (ProbeOrder::Sequence, 60));
        assert_eq!(delays.probes[2].sent.as_nanos(), 60_000_000_000);
    }
    assert!(read("x", &file[..file.len() - 9]).is_err());
}

#[test]
fn each_recording_has_only_its_own_notes() {
    let csv = "t_ns,flow,number,size_bytes,rtt_ns,lost,late_ns,duplicates\n\
               0,a,1,60,40000000,false,,0\n1000000,b,1,60,40000000,false,,0\n\
               2000000,a,2,60,,false,,0\n3000000,a,3,60,,false,,0\n";
    let notes = |text: &str| {
        let reading = read("x", text.as_bytes()).unwrap();
        let of = |one: &netspurt::delays::Delays| (one.name.clone(), one.notes.join("; "));
        reading.recordings.iter().map(of).collect::<Vec<_>>()
    };
    let [a, b] = <[_; 2]>::try_from(notes(csv)).unwrap();
    assert!(a.1.contains("2 requests without a reply"), "{a:?}");
    assert!(!b.1.contains("without a reply"), "{b:?}");
    let [a, b] = <[_; 2]>::try_from(notes("flow,rtt\na,20\nb,21 ms\n")).unwrap();
    assert!(a.1.contains("read as milliseconds"), "{a:?}");
    assert!(!b.1.contains("read as milliseconds"), "{b:?}");
}

#[test]
fn a_text_with_too_many_lines_is_refused() {
    let mut text = b"rtt_ms\n".to_vec();
    text.resize(2 * ((1 << 24) + 8), b'\n');
    let error = read("a.csv", &text).unwrap_err().to_string();
    assert!(error.contains("more than 16777216 lines"), "{error}");
    assert!(error.contains("split it"), "{error}");
}
