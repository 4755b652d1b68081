//! Compares the verdicts of packetdrill and of our own player (`netspurt script`) on each of
//! packetdrill's scripts about TCP. Also plays our own scripts with packetdrill. packetdrill loads
//! our simulated host as a library.
//!
//! The environment variable `NETSPURT_PACKETDRILL` names a checkout of packetdrill in which
//! packetdrill's program is built. The verdicts may differ for three reasons, which the function
//! `difference` names and VALIDATION.md explains.

mod judge;
#[path = "../../../netspurt-scenario/tests/packetdrill/player.rs"]
mod player;
mod strict;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use judge::Judge;
use player::{name, play, scripts};

/// Returns why packetdrill's verdict (`other`) may differ from our player's verdict (`own`).
/// Returns `None` if no reason is known.
fn difference(path: &Path, own: &str, other: &str) -> Option<&'static str> {
    match (own, other) {
        // Our player refuses a script that names a mechanism which our host lacks. packetdrill
        // plays the script until the mechanism is needed.
        ("refused", "fails") => Some("mechanism"),
        // The script names the mechanism, but passes without it: for example, a host need not
        // answer a Fast Open option.
        ("refused", "passes") => Some("name"),
        ("passes", "fails") => {
            let text = fs::read_to_string(path).unwrap();
            // The library does not learn of `--mss` (the payload of each segment that was merged
            // into an arriving packet), or of the file of packetdrill that `sendfile` reads.
            let merges = text.lines().any(|line| line.starts_with("--mss="));
            (merges || text.contains(" sendfile(")).then_some("interface")
        }
        _ => None,
    }
}

/// Returns a text that says how often each verdict was given.
fn counts(words: impl Iterator<Item = &'static str>) -> String {
    let mut counts = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_insert(0) += 1);
    let shown = counts.iter().map(|(word, count)| format!("{count} {word}"));
    shown.collect::<Vec<_>>().join(", ")
}

#[test]
fn packetdrill_and_our_player_agree_except_for_explained_differences() {
    let Some((judge, folder)) = Judge::find() else { return };
    let folder = folder.join("tcp");
    let (mut verdicts, mut unexplained) = (Vec::new(), String::new());
    for path in scripts(&folder) {
        let name = name(&path, &folder);
        let (own, why) = play(&path);
        let (other, other_why) = judge.judge(&path, path.parent().unwrap(), "");
        verdicts.push((own, other));
        if own == other {
            continue;
        }
        let kind = difference(&path, own, other);
        eprintln!("{name}: our player {own}, packetdrill {other}: {}", kind.unwrap_or("?"));
        if kind.is_none() {
            unexplained += &format!("\n{name} {own} {other}\n{why}\n{other_why}");
        }
    }
    eprintln!("our player:  {}", counts(verdicts.iter().map(|(own, _)| *own)));
    eprintln!("packetdrill: {}", counts(verdicts.iter().map(|(_, other)| *other)));
    assert!(unexplained.is_empty(), "nothing explains these differences:\n{unexplained}");
}

/// Our scripts that fail with packetdrill, each with the reason.
const BEYOND: [(&str, &str); 6] = [
    (
        "close/first-closer-waits-in-time-wait",
        "in TIME-WAIT the library's socket reports the state CLOSED, as Linux's socket does",
    ),
    (
        "close/half-close-still-receives",
        "in TIME-WAIT the library's socket reports the state CLOSED, as Linux's socket does",
    ),
    (
        "close/linux-ack-of-a-fin-waits",
        "the library's host begins 1 ms after the start of a jiffy, our player's host at the start",
    ),
    ("congestion/bbr-drain", "packetdrill cuts the script's nanoseconds to microseconds"),
    ("congestion/bbr-gain-cycle", "packetdrill cuts the script's nanoseconds to microseconds"),
    (
        "reset/rst-during-handshake-returns-to-listen",
        "packetdrill asks for `TCP_INFO` of a connection that was not accepted and has no socket",
    ),
];

#[test]
fn our_own_scripts_pass_with_packetdrill_except_for_the_listed_ones() {
    let Some((judge, _)) = Judge::find() else { return };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../netspurt/scripts");
    let (mut verdicts, mut wrong, mut flipped) = (Vec::new(), String::new(), 0);
    for path in scripts(&folder) {
        let name = name(&path, &folder);
        let (text, flags) = strict::translated(&name, &fs::read_to_string(&path).unwrap());
        let ((word, said), flips) = judge.judge_but_psh(&text, &folder, &flags);
        verdicts.push(word);
        flipped += flips;
        let wanted =
            if BEYOND.iter().any(|(beyond, _)| *beyond == name) { "fails" } else { "passes" };
        if word != wanted {
            wrong += &format!("\n{name} {word}\n{said}");
        }
    }
    eprintln!("our own scripts: {}; PSH differs in {flipped} lines", counts(verdicts.into_iter()));
    assert!(wrong.is_empty(), "these scripts have another verdict than expected:\n{wrong}");
}
