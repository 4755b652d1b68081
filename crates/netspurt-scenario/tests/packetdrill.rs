//! Plays packetdrill's own scripts without changes, if a checkout of packetdrill is available. Also
//! plays the scripts below `authorities/linux`, which record the behaviour of Linux and need no
//! checkout.
//!
//! The environment variable `NETSPURT_PACKETDRILL` names the checkout. The list
//! `packetdrill/scripts.txt` says for each script whether it passes, fails or is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[path = "packetdrill/player.rs"]
mod player;

use player::{name, play, scripts};

/// Returns the checkout's folder of scripts about TCP. If `NETSPURT_PACKETDRILL` is not set, prints
/// a message and returns `None`.
fn folder() -> Option<PathBuf> {
    let Some(checkout) = std::env::var_os("NETSPURT_PACKETDRILL") else {
        eprintln!(
            "SKIPPED: set NETSPURT_PACKETDRILL to a checkout of github.com/google/packetdrill"
        );
        return None;
    };
    let folder = Path::new(&checkout).join("gtests/net/tcp");
    assert!(folder.is_dir(), "{} is not a folder", folder.display());
    Some(folder)
}

/// Returns the entries of the list: the names of scripts and their expected results.
fn listed() -> BTreeMap<String, String> {
    let list = include_str!("packetdrill/scripts.txt");
    let row =
        |row: &str| row.split_once(' ').map(|(word, name)| (name.to_owned(), word.to_owned()));
    list.lines().filter(|line| !line.starts_with('#')).filter_map(row).collect()
}

/// Each script records one transfer with Linux 6.18: each receive window that Linux advertised, and
/// the sizes of its receive buffer.
#[test]
fn the_receive_window_and_its_buffer_grow_as_in_the_kernel() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../authorities/linux/windows");
    let played: Vec<_> = scripts(&folder).iter().map(|path| play(path)).collect();
    assert_eq!(played.len(), 5);
    for (word, report) in played {
        assert_eq!(word, "passes", "{report}");
    }
}

/// These scripts were written to record the behaviour of Linux 6.18.
#[test]
fn joined_packets_and_sack_reports_and_ecn_marks_agree_with_linux() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../authorities/linux/habits");
    let played: Vec<_> = scripts(&folder).iter().map(|path| play(path)).collect();
    assert_eq!(played.len(), 3);
    for (word, report) in played {
        assert_eq!(word, "passes", "{report}");
    }
}

#[test]
fn each_script_of_packetdrill_ends_as_the_list_says() {
    let Some(folder) = folder() else { return };
    let (mut found, mut reports) = (BTreeMap::new(), Vec::new());
    let listed = listed();
    for path in scripts(&folder) {
        let name = name(&path, &folder);
        let (word, report) = play(&path);
        if listed.get(&name).is_none_or(|listed| listed != word) {
            reports.push(format!("{word} {name}\n{report}"));
        }
        found.insert(name, word.to_owned());
    }
    assert!(found == listed, "these scripts differ from the list:\n\n{}", reports.join("\n\n"));
}
