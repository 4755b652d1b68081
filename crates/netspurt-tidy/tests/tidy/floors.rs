//! Tests that each room imports only rooms on lower floors. ARCHITECTURE.md calls the top modules
//! of a crate its rooms. It gives each room a floor, and describes each room in a line.

use std::collections::{BTreeMap, BTreeSet};

use crate::source::{Facts, Written, all, module, module_of, root, text_of};

type Floors = BTreeMap<String, u32>;

/// The crates with floors, each with the name of its table and the folder of its sources.
const CRATES: &[(&str, &str)] = &[
    ("core", "crates/netspurt/src"),
    ("drill", "crates/netspurt-drill/src"),
    ("files", "crates/netspurt-files/src"),
    ("live", "crates/netspurt-live/src"),
    ("scenario", "crates/netspurt-scenario/src"),
];

/// The text after the first line of the table of floors that is called `name`.
fn table_of_floors<'a>(text: &'a str, name: &str) -> &'a str {
    text.split_once(&format!("```floors {name}\n")).expect("the text has this table").1
}

/// The floor of each room, from the table called `name` in ARCHITECTURE.md.
fn floors(text: &str, name: &str) -> Floors {
    let (table, _) = table_of_floors(text, name).split_once("```").expect("the table ends");
    let mut floors = Floors::new();
    for line in table.lines() {
        let mut words = line.split_whitespace();
        let floor = words.next().expect("a floor").parse().expect("a number");
        floors.extend(words.map(|room| (room.to_owned(), floor)));
    }
    floors
}

/// The rooms that have a description. The descriptions are in the table after the table of floors
/// that is called `name`.
fn described(text: &str, name: &str) -> BTreeSet<String> {
    let (_, rest) = table_of_floors(text, name).split_once("```").expect("the table ends");
    let mut rows = rest.lines().skip_while(|line| !line.starts_with('|'));
    assert_eq!(
        rows.next(),
        Some("| room | what it is |"),
        "no descriptions after the floors of `{name}`"
    );
    let rows = rows.skip(1).take_while(|line| line.starts_with('|'));
    let rooms = |line: &str| {
        let (first, what) = line[1..].split_once('|').expect("two columns");
        assert!(what.trim_matches(['|', ' ']).len() > 1, "no description: {line}");
        let names = first.split(',').map(|room| room.trim().trim_matches('`').to_owned());
        names.collect::<Vec<_>>()
    };
    rows.flat_map(rooms).collect()
}

/// The rooms that have a floor and no description, or a description and no floor.
fn differences(text: &str, name: &str) -> Vec<String> {
    let with_floor = floors(text, name).into_keys().collect::<BTreeSet<_>>();
    with_floor.symmetric_difference(&described(text, name)).cloned().collect()
}

/// The room to which a path in `module` leads. The result is an empty text if the path leads to the
/// root of the crate, and `None` if the path does not begin with `crate`, `self` or `super`.
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

/// The violations among the imports of a file.
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

#[test]
fn rooms_import_only_rooms_of_lower_floors() {
    let text = text_of("ARCHITECTURE.md");
    for (name, folder) in CRATES {
        let (floors, src) = (floors(&text, name), root().join(folder));
        all(&src, |file, _| {
            let module = module_of(file, &src);
            // A program may use all rooms.
            let program = module.first().is_some_and(|first| first == "bin");
            if program {
                Vec::new()
            } else {
                Facts::with(file, |facts| bad_imports(&module, facts, &floors))
            }
        });
        for room in floors.keys() {
            let exists = src.join(room).is_dir() || src.join(format!("{room}.rs")).is_file();
            assert!(exists, "ARCHITECTURE.md has a room `{room}` that does not exist in {folder}");
        }
    }
}

#[test]
fn a_room_has_a_floor_if_and_only_if_it_has_a_description() {
    let text = text_of("ARCHITECTURE.md");
    for name in ["core", "drill", "files", "live", "python", "scenario"] {
        assert_eq!(differences(&text, name), [""; 0], "floors and descriptions of `{name}`");
    }
}

/// The violations in a file with this text. Its crate has three floors with four rooms: `top` above
/// `left` and `right`, and `ground` below them.
fn imports_of(parts: &[&str], text: &str) -> Vec<String> {
    let floors = floors("```floors core\n2  top\n1  left right\n0  ground\n```", "core");
    bad_imports(&module(parts), &Facts::of(text, &module(parts)), &floors)
}

#[test]
fn a_good_import_is_accepted() {
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
fn each_form_of_a_forbidden_import_is_found() {
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
fn a_room_without_a_floor_or_a_description_is_found() {
    let table = |rows: &str| {
        format!(
            "```floors core\n1  a b\n0  c\n```\n\n| room | what it is |\n|---|---|\n{rows}\nrest"
        )
    };
    assert_eq!(differences(&table("| `a`, `b` | one |\n| `c` | two |"), "core"), [""; 0]);
    assert_eq!(differences(&table("| `a` | one |\n| `c` | two |"), "core"), ["b"]);
    assert_eq!(differences(&table("| `a`, `b` | one |\n| `c`, `d` | two |"), "core"), ["d"]);
}
