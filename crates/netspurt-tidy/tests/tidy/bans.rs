//! Tests of three rules. The core (`netspurt`) and the crates `netspurt-files` and
//! `netspurt-scenario` use no clocks, files, sockets, processes or standard streams. In these
//! crates, only the module `sweep` uses threads. In all crates, only the modules that
//! ARCHITECTURE.md names have `unsafe` code.

use std::fs;

use crate::source::{Facts, all, module_of, root, sources, text_of};

/// Beginnings of paths that the core and the crates `netspurt-files` and `netspurt-scenario` may
/// not use.
const BANNED: &[&str] = &[
    "std::time",
    "std::fs",
    "std::process",
    "std::thread",
    "std::os",
    "std::env",
    "std::io::stdin",
    "std::io::stdout",
    "std::io::stderr",
    "io::stdin",
    "io::stdout",
    "io::stderr",
    "Instant",
    "SystemTime",
    "include!",
    "println!",
    "eprintln!",
    "dbg!",
    "#[path]",
];

/// The parts of `std::net` that are only addresses.
const ADDRESSES: &[&str] = &["Ip", "SocketAddr", "AddrParseError"];

/// The folders of the three crates whose sources may use neither clocks nor files.
const QUIET: [&str; 3] =
    ["crates/netspurt/src", "crates/netspurt-files/src", "crates/netspurt-scenario/src"];

/// The beginning of the paths that only the module `sweep` may use.
const THREADS: &str = "std::thread";

/// The only module in the folders of [`QUIET`] that has threads.
const THREADED: &str = "sweep";

fn banned_paths(facts: &Facts) -> Vec<String> {
    let within = |path: &str, ban: &str| path == ban || path.starts_with(&format!("{ban}::"));
    let banned = |path: &&str| {
        let address = |end: &str| ADDRESSES.iter().any(|a| end.starts_with(a));
        let socket =
            within(path, "std::net") && !path.strip_prefix("std::net::").is_some_and(address);
        socket || BANNED.iter().any(|ban| within(path, ban))
    };
    // If `std` is imported under another name, or with `*`, its later uses cannot be recognised.
    let whole = |path: &&str| *path == "std" || within(path, "std") && path.ends_with('*');
    let imports = facts.paths.iter().filter(|written| written.import.is_some());
    let whole = imports.map(|written| written.path.as_str()).filter(whole);
    let paths = facts.paths.iter().map(|written| written.path.as_str()).filter(banned);
    paths.chain(whole).map(|path| format!("this crate may not use {path}")).collect()
}

#[test]
fn the_three_crates_without_clocks_and_files_use_no_banned_path() {
    for src in QUIET.map(|src| root().join(src)) {
        all(&src, |file, _| {
            let threaded = module_of(file, &src).first().is_some_and(|room| room == THREADED);
            let mut found = Facts::with(file, banned_paths);
            found.retain(|ban| !(threaded && ban.contains(THREADS)));
            found
        });
    }
}

#[test]
fn only_the_module_sweep_has_threads() {
    let mut with_threads = Vec::new();
    let files = QUIET.map(|src| root().join(src)).map(|src| (sources(&src), src));
    for (file, src) in files.iter().flat_map(|(files, src)| files.iter().map(move |one| (one, src)))
    {
        let module = module_of(file, src);
        let starts =
            |facts: &Facts| facts.paths.iter().any(|written| written.path.starts_with(THREADS));
        if Facts::with(file, starts) {
            with_threads.push(module.first().cloned().unwrap_or_default());
        }
    }
    with_threads.dedup();
    assert_eq!(with_threads, [THREADED]);
}

/// The crates in the table under "Borders" in ARCHITECTURE.md, each with the module that may have
/// `unsafe` code. `None` means that no module may.
fn unsafe_rooms(text: &str) -> Vec<(String, Option<String>)> {
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `crates/"));
    let room = |row: &str| {
        let (_, rest) = row.split_once("use `unsafe` outside of `")?;
        Some(rest.split('`').next().unwrap_or_default().to_owned())
    };
    rows.map(|row| (row.split('`').next().unwrap_or_default().to_owned(), room(row))).collect()
}

/// Whether a text has `unsafe` code.
fn is_unsafe(facts: &Facts) -> bool {
    facts.words.iter().any(|(word, _)| word == "unsafe")
}

#[test]
fn unsafe_code_is_where_the_table_of_borders_allows_it() {
    let crates = unsafe_rooms(&text_of("ARCHITECTURE.md"));
    let folders = fs::read_dir(root().join("crates")).unwrap().count();
    assert_eq!(crates.len(), folders, "each crate has a row: {crates:?}");
    for (name, room) in crates {
        let src = root().join("crates").join(&name).join("src");
        let mut found = Vec::new();
        for file in sources(&src) {
            let module = module_of(&file, &src);
            if Facts::with(&file, is_unsafe) {
                found.push(module.first().cloned().unwrap_or_default());
            }
        }
        found.dedup();
        assert_eq!(found, Vec::from_iter(room), "the modules of {name} with `unsafe` code");
    }
}

#[test]
fn each_form_of_unsafe_code_is_found() {
    for bad in ["fn f() { unsafe { g() } }", "unsafe fn f() {}", "#[unsafe(no_mangle)] fn f() {}"] {
        assert!(is_unsafe(&Facts::of(bad, &[])), "{bad}");
    }
    assert!(!is_unsafe(&Facts::of("#![expect(unsafe_code)] fn f() {}", &[])));
    let table =
        "| `crates/a` | x | use `unsafe` |\n| `crates/b` | y | use `unsafe` outside of `c` |";
    let rooms = [("a".to_owned(), None), ("b".to_owned(), Some("c".to_owned()))];
    assert_eq!(unsafe_rooms(table), rooms);
}

#[test]
fn each_form_of_a_banned_path_is_found() {
    for bad in [
        "use std::time::Instant;",
        "fn f() { Instant::now(); }",
        "fn f() { g!(Instant::now()); }",
        "use std::{fs, io};",
        "use ::std::fs;",
        "use std as s;",
        "use std::*;",
        "use std::{self as s};",
        "extern crate std as s;",
        "use std::thread;",
        "fn f() { std::thread::sleep(d) }",
        "use std::net::TcpStream;",
        "use std::net::{UdpSocket as U};",
        "use std::net;",
        "use std::os::unix::net::UnixStream;",
        "fn f() { std::io::stdin(); }",
        "use std::io::*;",
        "use std::io; fn f() { io::stdout(); }",
        "include!(\"elsewhere.rs\");",
        "#[path = \"elsewhere.rs\"] mod m;",
        "#[cfg_attr(all(), path = \"elsewhere.rs\")] mod m;",
        "fn f() { println!(\"\") }",
    ] {
        assert_eq!(banned_paths(&Facts::of(bad, &[])).len(), 1, "{bad}");
    }
    let good = "use std::io::{self, Read}; use std::net::{IpAddr, SocketAddrV4}; use std::fmt;";
    assert_eq!(banned_paths(&Facts::of(good, &[])), [""; 0]);
}
