//! Tests that one place decodes headers of TCP, one place unwraps sequence numbers, one place
//! compares numbers that wrap, and one place counts rounds. These rules do not apply to tests. They
//! do not apply to senders and their congestion control either, because these keep their own state.

use std::path::{Path, PathBuf};

use proc_macro2::{TokenStream, TokenTree};

use crate::source::{CRATES, OnceForEach, root, sources};

/// The top modules of the core that send. They know more than an observer of packets.
const SENDERS: &[&str] = &["tcp", "congestion"];

/// The files outside of the module `wire` that read numbers in network byte order. The comments say
/// what these files read.
const NOT_TCP: &[&str] = &[
    // This file reads UTF-16 with a byte-order mark.
    "netspurt-files/src/recordings/text.rs",
    // This file reads the ports of socket addresses.
    "netspurt-drill/src/border/memory.rs",
    // This file reads ICMP, and the content of our own probes.
    "netspurt-live/src/probe/packet.rs",
];

/// The text of a source without whitespace, and the words and marks of the source.
struct Source {
    dense: String,
    tokens: Vec<String>,
}

impl Source {
    fn of(text: &str) -> Self {
        Self { dense: text.split_whitespace().collect(), tokens: tokens(text) }
    }
}

static SOURCES: OnceForEach<Source> = OnceForEach::new();

/// Every source of the crates in [`CRATES`] except their tests, by its path below `crates`.
fn all_sources() -> Vec<(String, PathBuf)> {
    let crates = root().join("crates");
    let folders = CRATES.map(|name| crates.join(name).join("src"));
    let files = folders.iter().flat_map(|folder| sources(folder));
    let kept = files.filter(|file| !file.iter().any(|part| part == "tests" || part == "tests.rs"));
    let named = |file: PathBuf| (file.strip_prefix(&crates).unwrap().display().to_string(), file);
    kept.map(named).collect()
}

/// The words and marks of a source, without its comments and literals.
fn tokens(text: &str) -> Vec<String> {
    fn read(tokens: TokenStream, out: &mut Vec<String>) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => read(group.stream(), out),
                TokenTree::Literal(_) => {}
                token => out.push(token.to_string()),
            }
        }
    }
    let mut out = Vec::new();
    read(text.parse().expect("a source"), &mut out);
    out
}

fn says(source: &Source, word: &str) -> bool {
    source.tokens.iter().any(|token| token == word)
}

/// Whether a source adds to a variable whose name contains `round`.
fn counts_rounds(source: &Source) -> bool {
    source.tokens.windows(2).any(|two| two[0].to_lowercase().contains("round") && two[1] == "+")
}

/// Whether a source compares two numbers that wrap.
fn compares_wrapping(source: &Source) -> bool {
    let ends = ["<0", ">0", "<=0", ">=0", ".cmp(&0)"];
    source.dense.split(".wrapping_sub(").skip(1).any(|after| {
        let compared = after.split_once(").cast_signed()").filter(|(sub, _)| !sub.contains(';'));
        compared.is_some_and(|(_, rest)| ends.iter().any(|end| rest.starts_with(end)))
    })
}

fn in_room(file: &str, room: &str) -> bool {
    let path = format!("netspurt/src/{room}");
    file == format!("{path}.rs") || file.starts_with(&format!("{path}/"))
}

/// The files for which `is` is true, except the files of senders.
fn observers(is: impl Fn(&Source) -> bool) -> Vec<String> {
    let all = all_sources();
    assert!(all.len() > 200, "fewer sources than expected were found");
    let sender = |file: &str| SENDERS.iter().any(|room| in_room(file, room));
    let says_so = |path: &Path| SOURCES.with(path, Source::of, &is);
    let found = all.into_iter().filter(|(file, path)| !sender(file) && says_so(path));
    found.map(|(file, _)| file).collect()
}

#[test]
fn one_place_unwraps_sequence_numbers() {
    let found = observers(|source| says(source, "from_wire"));
    // The first file unwraps the numbers. The second file defines the function.
    assert_eq!(found, ["netspurt/src/observe/sequence.rs", "netspurt/src/seq.rs"]);
}

#[test]
fn one_place_compares_numbers_that_wrap() {
    assert_eq!(observers(compares_wrapping), ["netspurt/src/seq.rs"]);
}

#[test]
fn only_the_module_wire_decodes_headers_of_tcp() {
    let mut found = observers(|source| says(source, "from_be_bytes") || says(source, "from_be"));
    found.retain(|file| !in_room(file, "wire"));
    found.sort();
    let mut known = NOT_TCP.to_vec();
    known.sort_unstable();
    assert_eq!(found, known);
}

#[test]
fn only_one_file_of_the_module_wire_knows_where_the_fields_of_a_header_are() {
    let found =
        observers(|source| source.tokens.windows(2).any(|two| two == ["struct", "TcpHead"]));
    assert_eq!(found, ["netspurt/src/wire/head.rs"]);
    // No other file reads the octet with the length of the header or the octet with the flags.
    let length = |source: &Source| {
        ["[12]>>4", "+12]>>4", "[13])"].iter().any(|part| source.dense.contains(part))
    };
    assert_eq!(observers(length), ["netspurt/src/wire/head.rs"]);
}

#[test]
fn only_the_type_rounds_counts_rounds() {
    assert_eq!(observers(counts_rounds), ["netspurt/src/observe/rounds.rs"]);
}

#[test]
fn each_violation_is_found() {
    let says = |text: &str, word: &str| says(&Source::of(text), word);
    let counts_rounds = |text: &str| counts_rounds(&Source::of(text));
    assert!(says("fn f() { let a = seq::from_wire(1, 2, 3); }", "from_wire"));
    assert!(says("use crate::seq::{from_wire as f};", "from_wire"));
    assert!(says("fn f() { g!(u16::from_be_bytes(x)) }", "from_be_bytes"));
    assert!(!says("/// See from_wire.\nfn f() { \"from_wire\"; }", "from_wire"));
    for bad in [
        "fn f() { self.round += 1; }",
        "fn f() { (round, from) = (round + 1, at); }",
        "fn f() { g!(self.rounds += 1) }",
        "fn f() { let round_count = last_round + 1; }",
    ] {
        assert!(counts_rounds(bad), "{bad}");
    }
    let compares = |text: &str| compares_wrapping(&Source::of(text));
    for bad in [
        "fn f() { a.wrapping_sub(b).cast_signed() >= 0 }",
        "fn f() { a.wrapping_sub(b) .cast_signed().cmp(&0) }",
    ] {
        assert!(compares(bad), "{bad}");
    }
    assert!(!compares("fn f() { a.wrapping_sub(b); (c - d).cast_signed() < 0 }"));
    assert!(!compares("fn f() { let c = a.wrapping_sub(b).cast_signed(); }"));
    assert!(!counts_rounds("fn f() { let rto = round_trip; self.rounds.sample(a + 1, b); }"));
    assert!(in_room("netspurt/src/tcp/rfc/ack.rs", "tcp") && in_room("netspurt/src/seq.rs", "seq"));
    assert!(!in_room("netspurt/src/tcpdump.rs", "tcp"));
}
