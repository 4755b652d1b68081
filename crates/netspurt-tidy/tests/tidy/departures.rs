//! A comment with `departs:` declares a departure: a place where the code intentionally does not do
//! what a clause (of an RFC, for example) says. These tests check that VALIDATION.md lists all
//! departures that comments declare, and no others.

use std::fs;

use crate::source::{CRATES, root, sources, text_of};

/// Returns the departures that the comments of `text` declare. Each has two parts: the clause, and
/// the reason up to the end of its sentence.
fn departures(text: &str) -> Vec<(String, String)> {
    let mut comments = vec![String::new()];
    for line in text.lines().map(str::trim_start) {
        let words = line.strip_prefix("//").map(|rest| rest.trim_start_matches(['/', '!']).trim());
        match words {
            Some(words) if !words.is_empty() => {
                let comment = comments.last_mut().expect("the list is not empty");
                *comment += " ";
                *comment += words;
            }
            _ => comments.push(String::new()),
        }
    }
    let parts = comments.iter().flat_map(|comment| comment.split("departs: ").skip(1));
    let sentence = |part: &str| {
        let (sentence, _) = part.split_once(". ").unwrap_or((part, ""));
        let (clause, reason) = sentence.split_once(" - ").unwrap_or((sentence, ""));
        (clause.to_owned(), reason.trim_end_matches('.').to_owned())
    };
    parts.map(sentence).collect()
}

/// How often `text` declares a departure, in comments of any form. [`departures`] reads only line
/// comments that have a line of their own.
fn declared(text: &str) -> usize {
    let text = text.to_lowercase();
    text.split("departs").skip(1).filter(|rest| rest.trim_start().starts_with(':')).count()
}

/// Returns the rows that the table in VALIDATION.md must have, made from the sources.
fn rows() -> Vec<String> {
    let crates = root().join("crates");
    let folders = CRATES.map(|name| crates.join(name));
    let mut rows = Vec::new();
    for file in folders.iter().flat_map(|folder| sources(&folder.join("src"))) {
        let place = file.strip_prefix(&crates).unwrap().display().to_string().replace("/src/", "/");
        let text = fs::read_to_string(&file).unwrap();
        let found = departures(&text);
        assert_eq!(
            found.len(),
            declared(&text),
            "{place}: write each departure on a line of its own: `// departs: CLAUSE - REASON.`"
        );
        for (clause, reason) in found {
            assert!(!reason.is_empty(), "{place}: write a reason: `departs: {clause} - REASON`");
            rows.push(format!("| `{place}` | {clause} | {reason} |"));
        }
    }
    rows
}

/// Returns the rows of the table in the section called `title`.
fn listed<'a>(text: &'a str, title: &str) -> Vec<&'a str> {
    let section = text
        .split("\n## ")
        .find(|section| section.starts_with(title))
        .expect("the text has this section");
    section.lines().filter(|line| line.starts_with('|')).skip(2).collect()
}

#[test]
fn the_table_in_validation_equals_the_departures_in_the_comments() {
    let rows = rows();
    let text = text_of("VALIDATION.md");
    assert!(
        listed(&text, "Departures") == rows,
        "the table under `Departures` in VALIDATION.md must be\n\n{}\n",
        rows.join("\n")
    );
}

#[test]
fn a_departure_is_read_to_the_end_of_its_sentence() {
    let text = "/// One.\n/// departs: RFC 1 §2.3 - it is\n/// longer. More.\n///\n/// Else.\n\
                fn f() {\n    // departs: Linux - shorter.\n}\n// Nobody departs here.\n";
    let found = departures(text);
    let expected =
        [("RFC 1 §2.3", "it is longer"), ("Linux", "shorter")].map(|(a, b)| (a.into(), b.into()));
    assert_eq!(found, expected);
    for other in ["f(); // departs: A - b.", "/* departs: A - b. */", "// Departs: A - b."] {
        assert_eq!((declared(other), departures(other).len()), (1, 0), "{other}");
    }
    assert_eq!(declared(text), found.len());
    let page =
        "# A\n\n## Other\n| x |\n\n## Departures\n\n| a |\n|---|\n| 1 |\n| 2 |\n\n## More\n| 3 |\n";
    assert_eq!(listed(page, "Departures"), ["| 1 |", "| 2 |"]);
}
