//! Tests of four rules for code that observes packets: one place decodes headers of TCP, one place
//! unwraps sequence numbers, one place compares numbers that wrap, and one place counts rounds
//! (round trips). These rules do not apply to tests. They also do not apply to senders and their
//! congestion control, because senders keep their own state.

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

/// The files of observers that make signed numbers from differences, but not to compare numbers
/// that wrap. The comments say what the differences are.
const NOT_WRAPPING: &[&str] = &[
    // This file prints 64-bit numbers of octets, counted from the initial sequence number.
    "netspurt/src/explain/retransmissions_table.rs",
    // This file writes the differences of the values of a column.
    "netspurt/src/record/digest.rs",
];

/// The text of a source without whitespace (`dense`), and the words and marks of the source.
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
    let named = |file: PathBuf| (file.strip_prefix(&crates).unwrap().display().to_string(), file);
    let is_test = |name: &str| name.split('/').any(|part| part == "tests" || part == "tests.rs");
    files.map(named).filter(|(name, _)| !is_test(name)).collect()
}

/// The words and marks of a source, without its comments and literals. The end of a group, such as
/// a block or the arguments of a call, is a `)`.
fn tokens(text: &str) -> Vec<String> {
    fn read(tokens: TokenStream, out: &mut Vec<String>) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => {
                    read(group.stream(), out);
                    out.push(")".to_owned());
                }
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

/// Whether a source adds to a variable whose name contains `round`, or to the only field of such a
/// variable.
fn counts_rounds(source: &Source) -> bool {
    source.tokens.windows(3).any(|three| {
        let adds = match three[1].as_str() {
            "." => three[2] == "+" || three[2].ends_with("_add"),
            ")" => three[2] == "+",
            mark => mark == "+",
        };
        three[0].to_lowercase().contains("round") && adds
    })
}

/// Whether a source asks which of two numbers that wrap comes first. Such a source makes a signed
/// number from their difference, or compares their difference with half of the range. The absolute
/// value of the difference does not show which number comes first, so it does not count.
fn compares_wrapping(source: &Source) -> bool {
    let signs = [").cast_signed()", ")asi32", ")asi16"];
    let halves = [")<0x8000", ")>0x8000", ")<1<<31", ")>1<<31", ")<u32::MAX/2", ")>u32::MAX/2"];
    source.dense.split(".wrapping_sub(").skip(1).any(|after| {
        let statement = after.split(';').next().unwrap_or_default().replace("=", "");
        let signed = |sign: &str| {
            let rest = statement.split_once(sign).map(|(_, rest)| rest);
            rest.is_some_and(|rest| !rest.starts_with(".unsigned_abs()"))
        };
        let half = halves.iter().any(|half| statement.contains(half));
        half || statement.contains(")>>31") || signs.iter().any(|sign| signed(sign))
    })
}

fn in_room(file: &str, room: &str) -> bool {
    let path = format!("netspurt/src/{room}");
    file == format!("{path}.rs") || file.starts_with(&format!("{path}/"))
}

/// The files for which the function `is` returns true, except the files of senders.
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
    let mut found = observers(compares_wrapping);
    found.retain(|file| !NOT_WRAPPING.contains(&file.as_str()));
    assert_eq!(found, ["netspurt/src/seq.rs"]);
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
fn one_file_of_the_module_wire_knows_where_header_fields_are() {
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
fn only_the_type_named_rounds_counts_round_trips() {
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
        "fn f() { self.rounds.0 += 1; }",
        "fn f() { self.round = self.round.saturating_add(1); }",
    ] {
        assert!(counts_rounds(bad), "{bad}");
    }
    let compares = |text: &str| compares_wrapping(&Source::of(text));
    for bad in [
        "fn f() { a.wrapping_sub(b).cast_signed() >= 0 }",
        "fn f() { a.wrapping_sub(b) .cast_signed().cmp(&0) }",
        "fn f() { a.wrapping_sub(b).cast_signed().is_negative() }",
        "fn f() { let c = a.wrapping_sub(b).cast_signed(); }",
        "fn f() { (a.wrapping_sub(b) as i32) < 0 }",
        "fn f() { a.wrapping_sub(b) < 0x8000_0000 }",
        "fn f() { a.wrapping_sub(b) >> 31 == 1 }",
    ] {
        assert!(compares(bad), "{bad}");
    }
    assert!(!compares("fn f() { a.wrapping_sub(b); (c - d).cast_signed() < 0 }"));
    assert!(!compares("fn f() { let c = a.wrapping_sub(b).cast_signed().unsigned_abs(); }"));
    assert!(!counts_rounds("fn f() { let rto = round_trip; self.rounds.sample(a + 1, b); }"));
    assert!(in_room("netspurt/src/tcp/rfc/ack.rs", "tcp") && in_room("netspurt/src/seq.rs", "seq"));
    assert!(!in_room("netspurt/src/tcpdump.rs", "tcp"));
}
