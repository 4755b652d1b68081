//! Tests that no file of the project uses a word that docs/glossary.md rejects.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use crate::source::{files, root, text_of};

/// Texts that may use rejected words: a folder or a file, the word, and the reason. `*` stands for
/// all words.
const EXEMPT: &[(&str, &str, &str)] = &[
    ("authorities", "*", "what other programs print"),
    ("data", "*", "recordings as they were made"),
    ("python/netspurt/shelf/papers", "*", "what papers say"),
    ("docs/glossary.md", "*", "the list itself"),
    ("STYLE.md", "*", "shows what not to write"),
    ("crates/netspurt-tidy/tests/tidy/words.rs", "*", "the rule and its tests"),
    ("LICENSE-APACHE", "law", "the words of the license"),
    ("python/tests/test_papers.py", "law", "the name of a claim"),
    ("bench/ns2.tcl", "resent", "a variable of the program as it was measured"),
    (
        "crates/netspurt-scenario/src/scenario/echo_probes_plan.rs",
        "volleys",
        "the name of a random stream",
    ),
];

/// Folders that hold no text of the project.
const SKIPPED: &[&str] =
    &["target", "runs", "dist", "build", "_build", "__pycache__", "proptest-regressions"];

/// A rejected synonym: its words, in lower case.
type Phrase = Vec<String>;

/// The synonyms in backticks in the last column of the glossary's tables.
fn rejected(glossary: &str) -> Vec<Phrase> {
    let rows = glossary.lines().filter(|line| line.starts_with("| "));
    let last = rows.filter_map(|line| line.trim_end_matches([' ', '|']).rsplit_once(" | "));
    let columns = |line: &str| line.matches(" | ").count() == 2;
    let last = last.filter(|(before, _)| columns(&format!("{before} | ")));
    let quoted = last.flat_map(|(_, cell)| cell.split('`').skip(1).step_by(2));
    quoted.map(words).map(|words| words.into_iter().map(|(word, _)| word).collect()).collect()
}

/// The words of a line in lower case, each with the place where it begins. Names are split at `_`
/// and where a capital letter follows a small letter.
fn words(line: &str) -> Vec<(String, usize)> {
    let mut found: Vec<(String, usize)> = Vec::new();
    let mut before = ' ';
    for (at, c) in line.char_indices() {
        let goes_on = before.is_alphabetic() && !(before.is_lowercase() && c.is_uppercase());
        match found.last_mut() {
            Some((word, _)) if c.is_alphabetic() && goes_on => word.extend(c.to_lowercase()),
            _ if c.is_alphabetic() => found.push((c.to_lowercase().collect(), at)),
            _ => {}
        }
        before = c;
    }
    found
}

/// The rejected phrases in a text, with their lines.
fn found_in(text: &str, rejected: &[Phrase]) -> Vec<(usize, String)> {
    let mut beginning: HashMap<&str, Vec<&Phrase>> = HashMap::new();
    for phrase in rejected {
        beginning.entry(&phrase[0]).or_default().push(phrase);
    }
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        let words: Vec<String> = words(line).into_iter().map(|(word, _)| word).collect();
        let mut here = BTreeSet::new();
        for at in 0..words.len() {
            let phrases = beginning.get(words[at].as_str()).into_iter().flatten();
            here.extend(phrases.filter(|phrase| words[at..].starts_with(phrase)));
        }
        found.extend(here.into_iter().map(|phrase: &Phrase| (number, phrase.join(" "))));
    }
    found
}

/// Every file of the project, by its path in the repository.
fn everything() -> Vec<PathBuf> {
    let root = root();
    let own = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        !name.starts_with('.') && !SKIPPED.contains(&name.as_str()) && !path.is_symlink()
    };
    let mut top: Vec<PathBuf> =
        fs::read_dir(&root).unwrap().map(|entry| entry.unwrap().path()).filter(own).collect();
    top.sort();
    let below = |path: PathBuf| if path.is_dir() { files(&path) } else { vec![path] };
    let all = top.into_iter().flat_map(below);
    let within = |path: &PathBuf| {
        let skipped = |part: &std::ffi::OsStr| SKIPPED.iter().any(|name| part == *name);
        !path.strip_prefix(&root).unwrap().iter().any(skipped)
    };
    all.filter(within).map(|path| path.strip_prefix(&root).unwrap().to_owned()).collect()
}

fn is_exempt(file: &Path, phrase: &str) -> bool {
    let covers = |(place, word, _): &&(&str, &str, &str)| {
        file.starts_with(place) && (*word == "*" || *word == phrase)
    };
    EXEMPT.iter().any(|exempt| covers(&exempt))
}

#[test]
fn no_file_has_a_rejected_word() {
    let rejected = rejected(&text_of("docs/glossary.md"));
    assert!(rejected.len() > 20, "{rejected:?}");
    let mut found = Vec::new();
    for file in everything() {
        let Ok(text) = fs::read_to_string(root().join(&file)) else { continue };
        for (line, phrase) in found_in(&text, &rejected) {
            if !is_exempt(&file, &phrase) {
                found.push(format!("{}:{line}: `{phrase}`, see docs/glossary.md", file.display()));
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_exemption_for_a_single_word_is_needed() {
    let rejected = rejected(&text_of("docs/glossary.md"));
    for (place, word, _) in EXEMPT.iter().filter(|(_, word, _)| *word != "*") {
        let text = text_of(place);
        let uses = found_in(&text, &rejected).iter().any(|(_, phrase)| phrase == word);
        assert!(uses, "{place} does not use `{word}`");
    }
}

#[test]
fn a_rejected_word_is_found_in_prose_and_names() {
    let page = "| a | b | c |\n|---|---|---|\n| retransmission | Sent `twice`. | `resend`, `way back` |\n| x | y | |\n";
    let rejected = rejected(page);
    assert_eq!(rejected, [vec!["resend"], vec!["way", "back"]]);
    for bad in ["a Resend.", "fn resend_all()", "ResendPlan", "max_resend", "on its way back"] {
        assert_eq!(found_in(bad, &rejected).len(), 1, "{bad}");
    }
    for good in ["presend", "resender", "ways back", "way, not back way", "twice"] {
        assert_eq!(found_in(good, &rejected), [], "{good}");
    }
}
