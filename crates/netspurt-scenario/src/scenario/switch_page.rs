//! Makes the tables of the switches and of the profiles for the documentation, from their
//! definitions. A switch is a named setting of TCP, and a profile is a named set of switches.

use core::fmt::Write as _;

use toml::Value;

use super::profile::Profile;
use super::switch::{Switch, SwitchKind, SwitchPart, SwitchUnit, THEMES, Words, Written};

/// The profiles as a table in Markdown.
pub fn profiles_table() -> String {
    let mut page = "| profile | what it is |\n|---|---|\n".to_owned();
    for (_, word, doc) in Profile::WORDS {
        let _ = writeln!(page, "| `{word}` | {doc} |");
    }
    page
}

/// The switches as tables in Markdown, one for each theme. A table has the meaning of each switch,
/// the values that it takes, and its value in each profile.
pub fn switches_table() -> String {
    let mut page = String::new();
    for (title, switches) in THEMES {
        let _ = write!(page, "### {title}\n\n| key | meaning | value | in profiles |\n");
        page += "|---|---|---|---|\n";
        for switch in switches {
            let (doc, kind) = (switch.doc, written(&switch.kind));
            let _ = writeln!(page, "| `{}` | {doc} | {kind} | {} |", switch.key, defaults(switch));
        }
        page += "\n";
    }
    page.trim_end().to_owned() + "\n"
}

/// Returns a short text with the values that a switch takes.
fn written(kind: &SwitchKind) -> String {
    let words: Vec<String> =
        kind.words().iter().map(|word| format!("`\"{}\"`: {}", word.word, word.doc)).collect();
    match kind {
        SwitchKind::Flag => "`true` or `false`".to_owned(),
        SwitchKind::Number {
            unit: SwitchUnit::Segments | SwitchUnit::Bytes | SwitchUnit::Whole,
            min,
            max,
        } if *max < u64::from(u32::MAX) => {
            let SwitchKind::Number { unit, .. } = kind else { unreachable!() };
            unit.show_range(*min, *max)
        }
        SwitchKind::Number { unit: SwitchUnit::Whole, min, .. } => {
            format!("a whole number from {min}")
        }
        SwitchKind::Number { unit, min, max } => unit.show_range(*min, *max),
        SwitchKind::Timer => "a timer ([estimators.md](estimators.md))".to_owned(),
        SwitchKind::Word(_) => words.join("; "),
        SwitchKind::Algorithm(_) => {
            format!("{}; or [one of your own](own-algorithms.md)", words.join("; "))
        }
        SwitchKind::WordOr(_, parts) => {
            let part = |part: &SwitchPart| format!("`{}`: {}", part.key, lower(part.doc));
            let parts: Vec<String> = parts.iter().map(part).collect();
            format!("{}; or a table: {}", words.join("; "), parts.join("; "))
        }
    }
}

fn lower(doc: &str) -> String {
    let mut letters = doc.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The values of a switch, each with the profiles that have it.
fn defaults(switch: &'static Switch) -> String {
    let mut values: Vec<(String, Vec<&str>)> = Vec::new();
    for (profile, word, _) in Profile::WORDS {
        let Some(value) = profile.spelled_out().get(switch.key).cloned() else { continue };
        let text = Value::try_from(Written(&switch.kind, &value))
            .expect("a value can be written")
            .to_string();
        match values.iter_mut().find(|(known, _)| *known == text) {
            Some((_, profiles)) => profiles.push(word),
            None => values.push((text, vec![word])),
        }
    }
    let shown =
        |(value, profiles): &(String, Vec<&str>)| format!("`{value}` in {}", profiles.join(", "));
    values.iter().map(shown).collect::<Vec<_>>().join("; ")
}
