//! Tests that the folder `papers` contains data and no code, and that no code in `crates`, `bench`
//! and `authorities` names a claim of a paper.

use std::fs;
use std::path::Path;

use crate::source::{files, root};

/// The places at which `text` names a claim, each with the rest of its line. The name of a claim is
/// `key.word`, where the key is the name of the paper's folder.
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

/// Whether a file is code. A paper has only data and their description.
fn is_code(file: &Path) -> bool {
    let end = file.extension().and_then(|end| end.to_str()).unwrap_or_default();
    !["toml", "csv", "md"].contains(&end)
}

#[test]
fn papers_have_no_code_and_no_code_names_a_claim() {
    let mut keys = Vec::new();
    for paper in fs::read_dir(root().join("papers")).unwrap().map(Result::unwrap) {
        keys.push(paper.file_name().into_string().unwrap());
    }
    assert!(!keys.is_empty());
    let code: Vec<_> = files(&root().join("papers")).into_iter().filter(|f| is_code(f)).collect();
    assert!(code.is_empty(), "code in `papers`: {code:?}");
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

#[test]
fn the_check_finds_ids_of_claims_and_code_among_data() {
    let (key, keys) = ("rfc2416", ["rfc2416".to_owned()]);
    assert_eq!(claim_ids(&format!("say \"{key}.spy\" and {key}.toml"), &keys).len(), 1);
    assert!(is_code(Path::new("papers/a/run.toml/measure.py")) && is_code(Path::new("a/toml")));
    assert!(!is_code(Path::new("papers/a/run.toml")));
}
