//! Tests that imports between files form no circle: two files do not import each other, directly or
//! through other files.
//!
//! A name that a module only re-exports (`pub use`) belongs to the file that defines it. Code that
//! is compiled only for tests does not count.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::source::{CRATES, Facts, module, module_of, root, sources};

type Module = Vec<String>;

/// The maximum number of imports that the search follows for one path.
const IMPORTS_MAX: usize = 8;

/// The files of a crate, each with its module.
struct Crate {
    files: BTreeMap<Module, Facts>,
}

/// The thing that a path names.
#[derive(Clone, Debug, PartialEq)]
enum Named {
    Module(Module),
    /// Something that this module defines.
    In(Module),
}

/// The state of the search for the thing that a path names.
struct Search<'a> {
    /// The module to which the path has led so far.
    here: Module,
    /// The names of the path that are not followed yet.
    rest: &'a [&'a str],
    /// Whether the path surely names something in this crate. If so, a name that is not found
    /// counts as defined in the module `here`.
    inside: bool,
    /// How many more imports the search may follow.
    imports_left: usize,
}

impl Crate {
    /// Reads the sources of a crate.
    fn read(src: &Path) -> Crate {
        let facts = |file: &Path| {
            let module = module_of(file, src);
            let text = fs::read_to_string(file).unwrap();
            (module.clone(), Facts::outside_tests(&text, &module))
        };
        Crate::of(sources(src).iter().map(|file| facts(file)).collect())
    }

    /// A crate of these files. Files that no other file declares, or that only tests declare, are
    /// left out.
    fn of(mut all: BTreeMap<Module, Facts>) -> Crate {
        let (mut files, mut next) = (BTreeMap::new(), vec![Module::new()]);
        while let Some(module) = next.pop() {
            let facts = all.remove(&module).unwrap_or_default();
            next.extend(facts.declared.iter().cloned());
            files.insert(module, facts);
        }
        Crate { files }
    }

    /// Returns the module of the file that contains `module`.
    fn file(&self, module: &[String]) -> Module {
        let mut module = module.to_vec();
        while !self.files.contains_key(&module) {
            module.pop();
        }
        module
    }

    fn is_module(&self, module: &[String]) -> bool {
        let inline = |facts: &Facts| facts.inline.iter().any(|inline| inline == module);
        self.files.contains_key(module) || inline(&self.files[&self.file(module)])
    }

    /// The thing that `path` names in the module `from`; `None` if it is outside of the crate.
    fn find(&self, from: &[String], path: &str, imports_left: usize) -> Option<Named> {
        let mut parts = path.split("::").peekable();
        let (mut here, mut inside) = (from.to_vec(), false);
        if parts.next_if_eq(&"crate").is_some() {
            here.clear();
            inside = true;
        }
        inside |= parts.next_if_eq(&"self").is_some();
        while parts.next_if_eq(&"super").is_some() {
            here.pop();
            inside = true;
        }
        let rest: Vec<&str> = parts.collect();
        self.follow(Search { here, rest: &rest, inside, imports_left })
    }

    fn follow(&self, search: Search<'_>) -> Option<Named> {
        let Search { here, rest, inside, imports_left } = search;
        let Some((&name, rest)) = rest.split_first() else { return Some(Named::Module(here)) };
        let child = [&here[..], &[name.to_owned()]].concat();
        if self.is_module(&child) {
            return self.follow(Search { here: child, rest, inside: true, imports_left });
        }
        if let Some(named) = self.imported(&here, name, imports_left) {
            return match named {
                Named::Module(here) => {
                    self.follow(Search { here, rest, inside: true, imports_left })
                }
                named => Some(named),
            };
        }
        let facts = &self.files[&self.file(&here)];
        let defined = facts.defined.iter().any(|(other, module)| other == name && *module == here);
        let known = || self.imported_with_all(&here, name, imports_left);
        if defined { Some(Named::In(here)) } else { known().or(inside.then_some(Named::In(here))) }
    }

    /// A `use` in the module `here` may import `name`. Returns the thing that `name` then means
    /// there.
    fn imported(&self, here: &[String], name: &str, imports_left: usize) -> Option<Named> {
        self.imports(here, name, imports_left)
            .find_map(|path| self.find(here, path, imports_left - 1))
    }

    /// A `use` in the module `here` may import all names of another module (`*`). Returns the thing
    /// that `name` then means there.
    fn imported_with_all(&self, here: &[String], name: &str, imports_left: usize) -> Option<Named> {
        let mut modules = self.imports(here, "*", imports_left);
        modules.find_map(|path| {
            let path = path.trim_end_matches("::*");
            let Some(Named::Module(here)) = self.find(here, path, imports_left - 1) else {
                return None;
            };
            self.follow(Search {
                here,
                rest: &[name],
                inside: false,
                imports_left: imports_left - 1,
            })
        })
    }

    /// The paths of the imports in the module `here` that import `name`. The list is empty if no
    /// more imports may be followed.
    fn imports<'a>(
        &'a self,
        here: &[String],
        name: &str,
        imports_left: usize,
    ) -> impl Iterator<Item = &'a str> {
        let facts = &self.files[&self.file(here)];
        let brings = move |written: &&crate::source::Written| {
            written.module == here && written.import.as_ref().is_some_and(|i| i.name == name)
        };
        let found: Vec<&str> =
            facts.paths.iter().filter(brings).map(|written| written.path.as_str()).collect();
        found.into_iter().filter(move |_| imports_left > 0)
    }

    /// The imports between files: the importing file, the imported file, and the path in the code.
    fn arrows(&self) -> BTreeMap<(Module, Module), String> {
        let mut arrows = BTreeMap::new();
        for (file, facts) in &self.files {
            let taken = facts.paths.iter().filter(|w| w.import.as_ref().is_none_or(|i| !i.public));
            let paths = taken.map(|written| (&written.path, &written.module));
            // A single word counts only if it is a name that is defined or imported here. The name
            // of a module does not count.
            let words = facts.words.iter().map(|(word, module)| (word, module));
            let words = words.filter(|(word, module)| {
                !self.is_module(&[&module[..], &[(*word).clone()]].concat())
            });
            // A set, because most names are written more than once.
            let written: BTreeSet<_> = paths.chain(words).collect();
            for (path, module) in written {
                let bare = path.trim_end_matches("::*").trim_end_matches('!');
                let named = self.find(module, bare, IMPORTS_MAX);
                let Some(Named::Module(target) | Named::In(target)) = named else { continue };
                let target = self.file(&target);
                if target != *file {
                    arrows.entry((file.clone(), target)).or_insert_with(|| path.clone());
                }
            }
        }
        arrows
    }

    /// The imports that are part of a circle: the importing file and the imported file import each
    /// other, directly or through other files.
    fn circles(&self) -> Vec<String> {
        let arrows = self.arrows();
        let reach: BTreeMap<&Module, BTreeSet<&Module>> =
            self.files.keys().map(|file| (file, reached(file, &arrows))).collect();
        let both = |(a, b): &(Module, Module)| reach[a].contains(b) && reach[b].contains(a);
        let ties = arrows.iter().filter(|(ends, _)| both(ends));
        ties.map(|((a, b), path)| format!("{} imports {} ({path})", a.join("::"), b.join("::")))
            .collect()
    }
}

/// The files that the file `from` imports, directly or through other files.
fn reached<'a>(
    from: &'a Module,
    arrows: &'a BTreeMap<(Module, Module), String>,
) -> BTreeSet<&'a Module> {
    let (mut found, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        for (_, target) in arrows.keys().filter(|(source, _)| source == file) {
            if found.insert(target) {
                next.push(target);
            }
        }
    }
    found
}

#[test]
fn no_file_imports_a_file_that_imports_it() {
    let of = |name: &&str| Crate::read(&root().join("crates").join(name).join("src")).circles();
    let circles: Vec<String> = CRATES.iter().flat_map(of).collect();
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

/// Makes a crate from files, each given as its module and its text.
fn made(files: &[(&str, &str)]) -> Crate {
    let parts =
        |name: &str| module(&name.split("::").filter(|p| !p.is_empty()).collect::<Vec<_>>());
    let facts =
        |&(name, text): &(&str, &str)| (parts(name), Facts::outside_tests(text, &parts(name)));
    Crate::of(files.iter().map(facts).collect())
}

/// Returns the circles of a crate that consists of the module `a`, with the text `face`, and of
/// `files`.
fn of_room(face: &str, files: &[(&str, &str)]) -> Vec<String> {
    made(&[&[("", "mod a;"), ("a", face)], files].concat()).circles()
}

#[test]
fn each_kind_of_circle_is_found() {
    let b = ("a::b", "use super::c::C; pub struct B;");
    for (face, files) in [
        ("mod b; mod c;", &[b, ("a::c", "use super::b::B; pub struct C;")][..]),
        ("mod b; mod c; pub use b::B;", &[b, ("a::c", "use super::B; pub struct C;")]),
        ("mod b; mod c; pub use b::*;", &[b, ("a::c", "use crate::a::B; pub struct C;")]),
        ("mod b; mod c; use b::B;", &[b, ("a::c", "fn f() -> super::B {} pub struct C;")]),
        ("mod b; mod c;", &[b, ("a::c", "use super::b; fn f() { b::g() } pub struct C;")]),
        ("mod b; use b::B; pub struct A;", &[("a::b", "use super::A; pub struct B;")]),
        ("mod b; pub use b::B; pub struct A(B);", &[("a::b", "use super::A; pub struct B;")]),
        ("mod b; fn f() { b::g() } pub struct A;", &[("a::b", "m! { super::A } fn g() {}")]),
        (
            "mod b; mod c; mod d;",
            &[
                b,
                ("a::c", "use super::d::D; pub struct C;"),
                ("a::d", "use super::b::B; pub struct D;"),
            ],
        ),
    ] {
        assert!(of_room(face, files).len() >= 2, "{face} {files:?}");
    }
}

#[test]
fn files_without_a_circle_are_accepted() {
    let c = ("a::c", "pub struct C;");
    for (face, files) in [
        (
            "mod b; mod c; pub use b::B; pub use c::C;",
            &[("a::b", "use super::C; pub struct B;"), c][..],
        ),
        ("mod b; pub struct A;", &[("a::b", "use super::A; pub struct B;")]),
        (
            "mod b; pub use b::B; #[cfg(test)] mod tests { use super::B; fn f(b: B) {} } struct A;",
            &[("a::b", "use super::A; pub struct B;")],
        ),
        (
            "mod b; mod c; #[cfg(test)] mod tests;",
            &[("a::b", "use super::c::C;"), c, ("a::tests", "use super::b;")],
        ),
        ("mod b; fn f(b: u8) { b } struct A;", &[("a::b", "use super::A;")]),
    ] {
        assert_eq!(of_room(face, files), [""; 0], "{face} {files:?}");
    }
}
