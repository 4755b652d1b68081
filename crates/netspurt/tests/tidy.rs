//! The house rules that a compiler does not know, proved on the sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const MAX_FUNCTION: usize = 70;
const MAX_FILE: usize = 600;

/// What the core may not touch, as beginnings of paths.
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

/// What of `std::net` is but an address.
const ADDRESSES: &[&str] = &["Ip", "SocketAddr", "AddrParseError"];

type Floors = BTreeMap<String, u32>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The floor of each room, from the table called `name` in ARCHITECTURE.md.
fn floors(text: &str, name: &str) -> Floors {
    let (_, table) = text.split_once(&format!("```floors {name}\n")).expect("the table");
    let (table, _) = table.split_once("```").expect("its end");
    let mut floors = Floors::new();
    for line in table.lines() {
        let mut words = line.split_whitespace();
        let floor = words.next().expect("a floor").parse().expect("a number");
        floors.extend(words.map(|room| (room.to_owned(), floor)));
    }
    floors
}

/// Every source under `folder`, by its path.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// The module a file is, as its path from the crate's root: `["link", "delay"]`.
fn module_of(file: &Path, src: &Path) -> Vec<String> {
    let relative = file.strip_prefix(src).unwrap().with_extension("");
    let parts = relative.iter().map(|part| part.to_str().unwrap().to_owned());
    parts.filter(|part| part != "mod" && part != "lib").collect()
}

/// A path as a file has it, in code, in a macro or in a `use`.
struct Written {
    /// Segments joined by `::`.
    path: String,
    /// The module it stands in, from the crate's root.
    module: Vec<String>,
    /// Whether it brings a name, or all names, into scope.
    used: bool,
}

/// What a file says that matters here.
#[derive(Default)]
struct Facts {
    paths: Vec<Written>,
    /// Functions and closures: name and lines.
    functions: Vec<(String, usize)>,
}

impl Facts {
    /// What the text of the file that is `module` says. Tokens are read and not syntax, so that
    /// what stands in macros counts, too.
    fn of(text: &str, module: &[String]) -> Facts {
        let mut facts = Facts::default();
        let file = syn::parse_file(text).expect("a source");
        Closures(&mut facts.functions).visit_file(&file);
        let tokens: TokenStream = text.parse().expect("tokens");
        facts.read(tokens, module);
        facts
    }

    fn note(&mut self, path: String, module: &[String], used: bool) {
        self.paths.push(Written { path, module: module.to_vec(), used });
    }

    fn read(&mut self, tokens: TokenStream, module: &[String]) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            at = match &tokens[at] {
                TokenTree::Ident(word) if word == "use" => self.read_use(&tokens, at + 1, module),
                TokenTree::Ident(word) if word == "extern" => self.read_extern(&tokens, at, module),
                TokenTree::Ident(word) if word == "fn" => self.read_fn(&tokens, at),
                TokenTree::Ident(word) if word == "mod" => self.read_mod(&tokens, at, module),
                TokenTree::Ident(_) => self.read_path(&tokens, at, module),
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    if names(group(tokens.get(at + 1), Delimiter::Bracket), "path") {
                        self.note("#[path]".into(), module, false);
                    }
                    at + 1
                }
                TokenTree::Group(inner) => {
                    self.read(inner.stream(), module);
                    at + 1
                }
                _ => at + 1,
            };
        }
    }

    /// A path of at least two segments, or a macro's name.
    fn read_path(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let (path, next) = path_at(tokens, at);
        if punct(tokens.get(next), '!') {
            self.note(format!("{path}!"), module, false);
        } else if path.contains("::") {
            self.note(path, module, false);
        }
        next
    }

    /// A `mod`: what it holds stands a module deeper.
    fn read_mod(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let (Some(TokenTree::Ident(name)), Some(body)) =
            (tokens.get(at + 1), group(tokens.get(at + 2), Delimiter::Brace))
        else {
            return at + 1;
        };
        self.read(body, &[module, &[name.to_string()]].concat());
        at + 3
    }

    /// An `extern crate`.
    fn read_extern(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let krate = matches!(tokens.get(at + 1), Some(TokenTree::Ident(word)) if word == "crate");
        if let (true, Some(TokenTree::Ident(name))) = (krate, tokens.get(at + 2)) {
            let path = if name == "self" { "crate".into() } else { name.to_string() };
            self.note(path, module, true);
            return at + 3;
        }
        at + 1
    }

    /// A function's lines, from `fn` to the end of its body.
    fn read_fn(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        if let Some(TokenTree::Ident(name)) = tokens.get(at + 1) {
            let signature = tokens[at..].iter().take_while(|token| !punct(Some(token), ';'));
            let body =
                signature.skip(2).find(|token| group(Some(token), Delimiter::Brace).is_some());
            if let Some(body) = body {
                let lines = body.span().end().line - tokens[at].span().start().line + 1;
                self.functions.push((format!("fn {name}"), lines));
            }
        }
        at + 1
    }

    /// What a `use` brings in; the place behind its `;`.
    fn read_use(&mut self, tokens: &[TokenTree], at: usize, module: &[String]) -> usize {
        let ends = tokens[at..].iter().position(|token| punct(Some(token), ';'));
        let end = ends.map_or(tokens.len(), |length| at + length);
        // `impl Trait + use<'a>` is something else.
        if !punct(tokens.get(at), '<') {
            self.use_tree("", &tokens[at..end], module);
            return end;
        }
        at
    }

    fn use_tree(&mut self, before: &str, tokens: &[TokenTree], module: &[String]) {
        let parts = tokens.split(|token| punct(Some(token), ','));
        for part in parts.filter(|part| !part.is_empty()) {
            let start = part.iter().position(|token| !punct(Some(token), ':')).unwrap_or(0);
            let (path, next) = path_at(part, start);
            let path = match (before, path.as_str()) {
                ("", _) => path,
                (_, "" | "self") => before.to_owned(),
                _ => format!("{before}::{path}"),
            };
            let groups = part[next..].iter().find_map(|t| group(Some(t), Delimiter::Brace));
            match groups {
                Some(inner) => {
                    let inner: Vec<TokenTree> = inner.into_iter().collect();
                    self.use_tree(&path, &inner, module);
                }
                None if punct(part.last(), '*') => self.note(format!("{path}::*"), module, true),
                None => self.note(path, module, true),
            }
        }
    }
}

/// Finds closures, wherever they are.
struct Closures<'a>(&'a mut Vec<(String, usize)>);

impl<'ast> Visit<'ast> for Closures<'_> {
    fn visit_expr_closure(&mut self, closure: &'ast syn::ExprClosure) {
        let span = closure.span();
        self.0.push(("a closure".into(), span.end().line - span.start().line + 1));
        visit::visit_expr_closure(self, closure);
    }
}

fn punct(token: Option<&TokenTree>, mark: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == mark)
}

fn group(token: Option<&TokenTree>, kind: Delimiter) -> Option<TokenStream> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == kind => Some(group.stream()),
        _ => None,
    }
}

/// Whether the attribute `inside` begins with `word`, or has it in a `cfg_attr`.
fn names(inside: Option<TokenStream>, word: &str) -> bool {
    inside.into_iter().flatten().any(|token| match token {
        TokenTree::Ident(name) => name == word,
        TokenTree::Group(group) => names(Some(group.stream()), word),
        _ => false,
    })
}

/// The path that begins with token `at`, and the place behind it.
fn path_at(tokens: &[TokenTree], at: usize) -> (String, usize) {
    let (mut path, mut at) = (String::new(), at);
    while let Some(TokenTree::Ident(segment)) = tokens.get(at) {
        path += segment.to_string().trim_start_matches("r#");
        at += 1;
        let goes_on = punct(tokens.get(at), ':') && punct(tokens.get(at + 1), ':');
        if !goes_on || !matches!(tokens.get(at + 2), Some(TokenTree::Ident(_))) {
            break;
        }
        path += "::";
        at += 2;
    }
    (path, at)
}

/// The room a path leads to, seen from `module`; `None` where it stays inside or leaves the
/// crate, empty where it is the crate's root.
fn room_of(path: &str, module: &[String]) -> Option<String> {
    let mut parts = path.split("::").peekable();
    let mut here: Vec<String> = module.to_vec();
    if parts.next_if_eq(&"crate").is_some() {
        here.clear();
    } else {
        let own = parts.next_if_eq(&"self").is_some();
        if parts.peek() != Some(&"super") {
            return own.then(|| module.first().cloned()).flatten();
        }
    }
    while parts.next_if_eq(&"super").is_some() {
        here.pop();
    }
    here.extend(parts.map(str::to_owned));
    Some(here.first().cloned().unwrap_or_default())
}

/// What is wrong with the imports of a file of the core.
fn bad_imports(module: &[String], facts: &Facts, floors: &Floors) -> Vec<String> {
    let Some(own) = module.first() else { return Vec::new() };
    let Some(floor) = floors.get(own) else {
        return vec![format!("the room `{own}` has no floor in ARCHITECTURE.md")];
    };
    let mut wrong = Vec::new();
    for Written { path, module, .. } in &facts.paths {
        let Some(room) = room_of(path, module).filter(|room| room != own) else { continue };
        match floors.get(&room) {
            Some(other) if other < floor => {}
            Some(other) if other == floor => wrong.push(format!("sideways: {own} uses {path}")),
            Some(_) => wrong.push(format!("upward: {own} uses {path}")),
            None if room.is_empty() => wrong.push(format!("{own} uses the whole crate: {path}")),
            None => wrong.push(format!("{own} uses {path}, a room without a floor")),
        }
    }
    wrong
}

fn long_functions(facts: &Facts) -> Vec<String> {
    let long = facts.functions.iter().filter(|(_, lines)| *lines > MAX_FUNCTION);
    long.map(|(name, lines)| format!("{name} has {lines} lines")).collect()
}

fn banned_paths(facts: &Facts) -> Vec<String> {
    let within = |path: &str, ban: &str| path == ban || path.starts_with(&format!("{ban}::"));
    let banned = |written: &&Written| {
        let path = written.path.as_str();
        let address = |end: &str| ADDRESSES.iter().any(|a| end.starts_with(a));
        let socket =
            within(path, "std::net") && !path.strip_prefix("std::net::").is_some_and(address);
        // Under another name, or all of it, it could not be followed.
        let whole = written.used && (path == "std" || within(path, "std") && path.ends_with('*'));
        socket || whole || BANNED.iter().any(|ban| within(path, ban))
    };
    let found = facts.paths.iter().filter(banned);
    found.map(|written| format!("the core may not use {}", written.path)).collect()
}

/// Claims are `key.word`, with the key of a paper.
fn claim_ids(text: &str, keys: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for key in keys {
        for (at, _) in text.match_indices(&format!("{key}.")) {
            let rest = &text[at + key.len() + 1..];
            if rest.starts_with(|c: char| c.is_ascii_lowercase()) && !rest.starts_with("toml") {
                found.push(text[at..].lines().next().unwrap_or_default().to_owned());
            }
        }
    }
    found
}

/// Runs `check` over every source in `folder` and panics with all it finds.
fn all(folder: &Path, check: impl Fn(&Path, &str) -> Vec<String>) {
    let found: Vec<String> = sources(folder)
        .iter()
        .flat_map(|file| {
            let text = fs::read_to_string(file).unwrap();
            let place = file.display().to_string();
            check(file, &text).into_iter().map(move |wrong| format!("{place}: {wrong}"))
        })
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn imports_of_the_core_point_down() {
    let table = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let floors = floors(&table, "core");
    let src = root().join("crates/netspurt/src");
    all(&src, |file, text| {
        let module = module_of(file, &src);
        bad_imports(&module, &Facts::of(text, &module), &floors)
    });
    for room in floors.keys() {
        let there = src.join(room).is_dir() || src.join(format!("{room}.rs")).is_file();
        assert!(there, "ARCHITECTURE.md has a room `{room}` that is not there");
    }
}

#[test]
fn the_core_reads_no_clock_and_opens_nothing() {
    all(&root().join("crates/netspurt/src"), |_, text| banned_paths(&Facts::of(text, &[])));
}

/// What only the room `sweep` may use.
const THREADS: &str = "rayon";

#[test]
fn one_room_of_the_core_has_threads() {
    let src = root().join("crates/netspurt/src");
    let mut with_threads = Vec::new();
    for file in sources(&src) {
        let module = module_of(&file, &src);
        let facts = Facts::of(&fs::read_to_string(&file).unwrap(), &module);
        if facts.paths.iter().any(|written| written.path.split("::").next() == Some(THREADS)) {
            with_threads.push(module.first().cloned().unwrap_or_default());
        }
    }
    assert_eq!(with_threads, ["sweep"]);
}

#[test]
fn functions_are_short() {
    all(&root().join("crates"), |_, text| long_functions(&Facts::of(text, &[])));
}

/// Whether a file is a test's: in a crate's own folder of tests, or called so.
fn is_test(file: &Path, crates: &Path) -> bool {
    let parts: Vec<&str> =
        file.strip_prefix(crates).unwrap().iter().map(|part| part.to_str().unwrap()).collect();
    parts.get(1) == Some(&"tests") || parts.last() == Some(&"tests.rs")
}

#[test]
fn files_are_short() {
    let crates = root().join("crates");
    all(&crates, |file, text| {
        let lines = text.lines().count();
        let short = is_test(file, &crates) || lines <= MAX_FILE;
        if short { Vec::new() } else { vec![format!("{lines} lines")] }
    });
}

/// Every file below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Whether a file is none of a paper's: data and its description.
fn is_code(file: &Path) -> bool {
    let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
    !["toml", "csv", "md"].contains(&end)
}

#[test]
fn papers_hold_data_and_no_source_knows_a_claim() {
    let mut keys = Vec::new();
    for paper in fs::read_dir(root().join("papers")).unwrap().map(Result::unwrap) {
        keys.push(paper.file_name().into_string().unwrap());
    }
    assert!(!keys.is_empty());
    let code: Vec<_> = files(&root().join("papers")).into_iter().filter(|f| is_code(f)).collect();
    assert!(code.is_empty(), "no data: {code:?}");
    let mut found = Vec::new();
    for folder in ["crates", "bench", "authorities"] {
        for file in files(&root().join(folder)).into_iter().filter(|file| is_code(file)) {
            let text = fs::read(&file).unwrap();
            let ids = claim_ids(&String::from_utf8_lossy(&text), &keys);
            found.extend(ids.into_iter().map(|id| format!("{}: {id}", file.display())));
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

fn module(parts: &[&str]) -> Vec<String> {
    parts.iter().map(|part| (*part).to_owned()).collect()
}

fn imports_of(parts: &[&str], text: &str) -> Vec<String> {
    let floors = floors("```floors core\n2  top\n1  left right\n0  ground\n```", "core");
    bad_imports(&module(parts), &Facts::of(text, &module(parts)), &floors)
}

#[test]
fn a_good_import_is_found_good() {
    for (parts, good) in [
        (&["top"][..], "use crate::{left::A, ground::B};"),
        (&["left", "part"], "use super::Own; use super::super::ground::B;"),
        (&["left"], "use self::part::A; mod tests { use super::*; fn f() { super::g() } }"),
        (&["left"], "pub(crate) fn f() { println!(\"{}\", crate::ground::N) }"),
        (&["left", "part"], "fn f() -> impl Iterator + use<'_> { g::<u8>() }"),
    ] {
        assert_eq!(imports_of(parts, good), [""; 0], "{good}");
    }
}

#[test]
fn each_way_to_a_room_above_is_found() {
    let up = ["upward: ground uses crate::left::A"];
    assert_eq!(imports_of(&["ground"], "use crate::left::A;"), up);
    assert_eq!(imports_of(&["left"], "use crate::right;"), ["sideways: left uses crate::right"]);
    assert_eq!(imports_of(&["attic"], "").len(), 1);
    for (parts, bad) in [
        (&["left", "part"][..], "fn f() { super::super::top::g() }"),
        (&["left", "part"], "use self::super::super::top;"),
        (&["left", "part"], "use super::super as k;"),
        (&["left"], "fn f() { println!(\"{}\", crate::top::N) }"),
        (&["left"], "macro_rules! m { () => { $crate::top::g() } }"),
        (&["left"], "make! { use crate::{ground::A, top::B}; }"),
        (&["left"], "use crate as k;"),
        (&["left"], "use crate::{self as k};"),
        (&["left"], "use crate::*;"),
        (&["left"], "extern crate self as me;"),
        (&["left"], "fn f() { <crate::top::A as B>::c() }"),
        (&["left"], "mod tests { use super::super::top; }"),
        (&["left"], "use crate::r#top::A;"),
    ] {
        assert_eq!(imports_of(parts, bad).len(), 1, "{bad}: {:?}", imports_of(parts, bad));
    }
}

#[test]
fn each_way_to_a_clock_or_a_file_is_found() {
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

#[test]
fn each_long_function_and_file_is_found() {
    let lines = "\n".repeat(MAX_FUNCTION);
    for long in [
        format!("impl A {{ fn f() {{ {lines} }} }}"),
        format!("make! {{ fn f() {{ {lines} }} }}"),
        format!("const F: fn() = || {{ {lines} }};"),
        format!("trait T {{ fn f() -> [u8; 4] {{ {lines} }} }}"),
    ] {
        let found = long_functions(&Facts::of(&long, &[]));
        assert!(found.len() == 1 && found[0].ends_with("has 71 lines"), "{found:?}");
    }
    let crates = Path::new("crates");
    assert!(is_test(Path::new("crates/a/tests/b.rs"), crates));
    assert!(is_test(Path::new("crates/a/src/link/tests.rs"), crates));
    assert!(!is_test(Path::new("crates/a/src/tests/b.rs"), crates));
}

#[test]
fn a_claims_id_and_code_among_data_are_found() {
    let (key, keys) = ("rfc2416", ["rfc2416".to_owned()]);
    assert_eq!(claim_ids(&format!("say \"{key}.spy\" and {key}.toml"), &keys).len(), 1);
    assert!(is_code(Path::new("papers/a/run.toml/measure.py")) && is_code(Path::new("a/toml")));
    assert!(!is_code(Path::new("papers/a/run.toml")));
}
