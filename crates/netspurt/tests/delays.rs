//! Whole recordings, read with exact counts: our own in `data`, and those of other people, which
//! lie beside the repository, in `../shared/delays`, with a table of what each holds.

use std::fs;
use std::path::{Path, PathBuf};

use netspurt::delays::{Reading, read};

fn shared() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/delays");
    folder.join("README.md").is_file().then_some(folder)
}

/// A row of the table: file, runs, probes, received, lost, duplicates.
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
fn recordings_of_other_people_have_the_counts_of_their_table() {
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
            // Only a summary: there is nothing to read, and the error says so.
            (Err(error), _) if file == "pingparsing__ping.txt" => {
                assert!(error.to_string().contains("summary"), "{error}");
            }
            (Ok(reading), Some(expected)) if counts(&reading) == expected => {}
            // Traceroutes, which are no series of delays.
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
fn our_own_recordings_have_their_counts() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../data");
    let expected = [
        ("ping.txt", [1, 240, 236, 4, 4]),
        ("fping-c.txt", [2, 480, 465, 15, 0]),
        ("fping-C.txt", [1, 60, 59, 1, 0]),
        ("irtt.json", [1, 238, 235, 3, 4]),
        ("atlas-ping.jsonl", [1, 240, 236, 4, 4]),
    ];
    for (file, expected) in expected {
        let reading = read(file, &fs::read(data.join(file)).unwrap()).unwrap();
        assert_eq!((counts(&reading), reading.malformed), (expected, vec![]), "{file}");
    }
}
