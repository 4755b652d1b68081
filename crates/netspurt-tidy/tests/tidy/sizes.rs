//! Tests that files and functions are short.

use std::path::Path;

use crate::source::{Facts, all, root};

const MAX_FUNCTION: usize = 70;
const MAX_FILE: usize = 600;

fn long_functions(facts: &Facts) -> Vec<String> {
    let long = facts.functions.iter().filter(|(_, lines)| *lines > MAX_FUNCTION);
    long.map(|(name, lines)| format!("{name} has {lines} lines")).collect()
}

/// Whether a file has only tests: it is in the folder `tests` of a crate, or is called `tests.rs`.
fn is_test(file: &Path, crates: &Path) -> bool {
    let parts: Vec<&str> =
        file.strip_prefix(crates).unwrap().iter().map(|part| part.to_str().unwrap()).collect();
    parts.get(1) == Some(&"tests") || parts.last() == Some(&"tests.rs")
}

#[test]
fn functions_are_short() {
    all(&root().join("crates"), |file, _| Facts::with(file, long_functions));
}

#[test]
fn files_are_short() {
    let crates = root().join("crates");
    all(&crates, |file, text| {
        let lines = text.lines().count();
        let short = is_test(file, &crates) || lines <= MAX_FILE;
        if short { Vec::new() } else { vec![format!("{lines} lines are more than {MAX_FILE}")] }
    });
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
