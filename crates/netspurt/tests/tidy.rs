//! The house rules that a compiler does not know, proved on the sources.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

const MAX_FUNCTION: usize = 70;
const MAX_FILE: usize = 600;

/// What the core may not touch, as beginnings of paths.
const BANNED: &[&str] = &[
    "std::time",
    "std::fs",
    "std::process",
    "std::thread::sleep",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
    "Instant",
    "SystemTime",
];

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

/// What a file says that matters here.
#[derive(Default)]
struct Facts {
    /// Paths as written, segments joined by `::`.
    paths: Vec<String>,
    /// Functions: name and lines.
    functions: Vec<(String, usize)>,
}

impl Facts {
    fn of(text: &str) -> Facts {
        let mut facts = Facts::default();
        facts.visit_file(&syn::parse_file(text).expect("a source"));
        facts
    }

    fn function(&mut self, name: &syn::Ident, span: proc_macro2::Span) {
        let lines = span.end().line - span.start().line + 1;
        self.functions.push((name.to_string(), lines));
    }

    fn tree(&mut self, before: &str, tree: &syn::UseTree) {
        let join = |name: &syn::Ident| {
            if before.is_empty() { name.to_string() } else { format!("{before}::{name}") }
        };
        match tree {
            syn::UseTree::Path(path) => self.tree(&join(&path.ident), &path.tree),
            syn::UseTree::Name(name) => self.paths.push(join(&name.ident)),
            syn::UseTree::Rename(rename) => self.paths.push(join(&rename.ident)),
            syn::UseTree::Glob(_) => self.paths.push(before.to_owned()),
            syn::UseTree::Group(group) => group.items.iter().for_each(|t| self.tree(before, t)),
        }
    }
}

impl<'ast> Visit<'ast> for Facts {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.tree("", &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        self.paths.push(names.join("::"));
        visit::visit_path(self, path);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig.ident, item.span());
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig.ident, item.span());
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.function(&item.sig.ident, item.span());
        visit::visit_trait_item_fn(self, item);
    }
}

/// The room a path leads to, seen from `module`; `None` where it stays inside or leaves the
/// crate.
fn room_of(path: &str, module: &[String]) -> Option<String> {
    let mut parts = path.split("::").peekable();
    let mut here: Vec<String> = module.to_vec();
    match parts.peek() {
        Some(&"crate") => {
            parts.next();
            here.clear();
        }
        Some(&"super") => {}
        _ => return None,
    }
    while parts.next_if_eq(&"super").is_some() {
        here.pop();
    }
    here.extend(parts.map(str::to_owned));
    here.first().cloned()
}

/// What is wrong with the imports of a file of the core.
fn bad_imports(module: &[String], facts: &Facts, floors: &Floors) -> Vec<String> {
    let Some(own) = module.first() else { return Vec::new() };
    let Some(floor) = floors.get(own) else {
        return vec![format!("the room `{own}` has no floor in ARCHITECTURE.md")];
    };
    let mut wrong = Vec::new();
    for path in &facts.paths {
        let Some(room) = room_of(path, module).filter(|room| room != own) else { continue };
        match floors.get(&room) {
            Some(other) if other < floor => {}
            Some(other) if other == floor => wrong.push(format!("sideways: {own} uses {path}")),
            Some(_) => wrong.push(format!("upward: {own} uses {path}")),
            None => wrong.push(format!("{own} uses {path}, a room without a floor")),
        }
    }
    wrong
}

fn long_functions(facts: &Facts) -> Vec<String> {
    let long = facts.functions.iter().filter(|(_, lines)| *lines > MAX_FUNCTION);
    long.map(|(name, lines)| format!("fn {name} has {lines} lines")).collect()
}

fn banned_paths(facts: &Facts) -> Vec<String> {
    let banned = |path: &&String| {
        BANNED.iter().any(|ban| *path == ban || path.starts_with(&format!("{ban}::")))
    };
    facts.paths.iter().filter(banned).map(|path| format!("the core may not use {path}")).collect()
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
    all(&src, |file, text| bad_imports(&module_of(file, &src), &Facts::of(text), &floors));
    for room in floors.keys() {
        let there = src.join(room).is_dir() || src.join(format!("{room}.rs")).is_file();
        assert!(there, "ARCHITECTURE.md has a room `{room}` that is not there");
    }
}

#[test]
fn the_core_reads_no_clock_and_opens_nothing() {
    all(&root().join("crates/netspurt/src"), |_, text| banned_paths(&Facts::of(text)));
}

#[test]
fn functions_are_short() {
    all(&root().join("crates"), |_, text| long_functions(&Facts::of(text)));
}

#[test]
fn files_are_short() {
    all(&root().join("crates"), |file, text| {
        let test = file.iter().any(|part| part == "tests" || part == "tests.rs");
        let lines = text.lines().count();
        if test || lines <= MAX_FILE { Vec::new() } else { vec![format!("{lines} lines")] }
    });
}

#[test]
fn papers_hold_data_and_no_source_knows_a_claim() {
    let mut keys = Vec::new();
    for paper in fs::read_dir(root().join("papers")).unwrap().map(Result::unwrap) {
        keys.push(paper.file_name().into_string().unwrap());
        for file in fs::read_dir(paper.path()).unwrap().map(Result::unwrap) {
            let path = file.path();
            let end = path.extension().and_then(|end| end.to_str()).unwrap_or_default();
            assert!(["toml", "csv", "md"].contains(&end), "{} is no data", path.display());
        }
    }
    assert!(!keys.is_empty());
    all(&root().join("crates"), |file, text| {
        if file.ends_with("tidy.rs") { Vec::new() } else { claim_ids(text, &keys) }
    });
}

#[test]
fn each_rule_finds_its_offender() {
    let floors = floors("```floors core\n2  top\n1  left right\n0  ground\n```", "core");
    let wrong = |module: &[&str], text: &str| {
        let module: Vec<String> = module.iter().map(|part| (*part).to_owned()).collect();
        bad_imports(&module, &Facts::of(text), &floors)
    };
    assert!(wrong(&["top"], "use crate::{left::A, ground::B};").is_empty());
    assert!(wrong(&["left", "part"], "use super::Own; use super::super::ground::B;").is_empty());
    assert_eq!(wrong(&["ground"], "use crate::left::A;"), ["upward: ground uses crate::left::A"]);
    assert_eq!(wrong(&["left"], "use crate::right;"), ["sideways: left uses crate::right"]);
    assert_eq!(
        wrong(&["left", "part"], "fn f() { super::super::top::g() }"),
        ["upward: left uses super::super::top::g"]
    );
    assert_eq!(wrong(&["attic"], "").len(), 1);
    let long = format!("impl A {{ fn f() {{ {} }} }}", "\n".repeat(MAX_FUNCTION));
    assert_eq!(long_functions(&Facts::of(&long)), ["fn f has 71 lines"]);
    for clock in ["use std::time::Instant;", "fn f() { Instant::now(); }", "use std::{fs, io};"] {
        assert_eq!(banned_paths(&Facts::of(clock)).len(), 1, "{clock}");
    }
    let keys = ["rfc2416".to_owned()];
    assert_eq!(claim_ids("say \"rfc2416.spy\" and rfc2416.toml", &keys).len(), 1);
}
