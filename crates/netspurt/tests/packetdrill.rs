//! packetdrill's own scripts, played as they are, where a checkout of packetdrill is at hand.
//!
//! The environment variable `NETSPURT_PACKETDRILL` names the checkout. The list
//! `packetdrill/scripts.txt` says of each script whether it passes, fails or is refused.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use netspurt::script::{Script, ScriptDialect, run};

/// The checkout's folder of scripts about TCP; `None`, said aloud, where there is none.
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

/// The `*.pkt` files in `folder` and below it.
fn scripts(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(scripts(&path));
        } else if path.extension().is_some_and(|ending| ending == "pkt") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The result in one word, and what was said of it.
fn play(path: &Path) -> (&'static str, String) {
    let (name, text) = (path.display().to_string(), fs::read_to_string(path).unwrap());
    let folder = path.parent().unwrap();
    let mut files = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let script = Script::parse_with(ScriptDialect::of(&text), &name, &text, &mut files);
    let host = script.and_then(|script| Ok((script.host(Some("linux-6"), &[])?, script)));
    match host {
        Err(error) => ("refused", error.to_string()),
        Ok((mut host, script)) => match run(&script, &mut host) {
            Ok(_) => ("passes", String::new()),
            Err(failure) => ("fails", failure.to_string()),
        },
    }
}

/// What the list says: names and words.
fn listed() -> BTreeMap<String, String> {
    let list = include_str!("packetdrill/scripts.txt");
    let row =
        |row: &str| row.split_once(' ').map(|(word, name)| (name.to_owned(), word.to_owned()));
    list.lines().filter(|line| !line.starts_with('#')).filter_map(row).collect()
}

#[test]
fn each_script_of_packetdrill_ends_as_the_list_says() {
    let Some(folder) = folder() else { return };
    let (mut found, mut reports) = (BTreeMap::new(), Vec::new());
    let listed = listed();
    for path in scripts(&folder) {
        let name = path.strip_prefix(&folder).unwrap().with_extension("").display().to_string();
        let (word, report) = play(&path);
        if listed.get(&name).is_none_or(|listed| listed != word) {
            reports.push(format!("{word} {name}\n{report}"));
        }
        found.insert(name, word.to_owned());
    }
    assert!(found == listed, "these differ from the list:\n\n{}", reports.join("\n\n"));
}
