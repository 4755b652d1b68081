//! Rewords the error messages of the TOML parser for users.

use netspurt::place::did_you_mean;

/// The character between the mistake and the fix in our own messages that pass through the parser.
const FIX: char = '\u{1f}';

/// Joins a mistake and a fix to one message that can pass through the parser.
pub(super) fn with_fix(message: &str, fix: &str) -> String {
    format!("{message}{FIX}{fix}")
}

/// Rewords a message of the parser; returns the mistake and the fix. `written` is the text at the
/// place of the mistake.
pub(super) fn reword(message: &str, written: &str) -> (String, String) {
    if let Some((what, fix)) = message.split_once(FIX) {
        return (what.to_owned(), fix.to_owned());
    }
    let mut quoted = message.split('`').skip(1).step_by(2);
    if message.starts_with("unknown field") {
        let key = quoted.next().unwrap_or(written);
        let known: Vec<&str> = quoted.collect();
        return (format!("unknown key `{key}`"), suggestion(key, &known));
    }
    if message.starts_with("unknown variant") {
        let word = quoted.next().unwrap_or(written);
        let known: Vec<&str> = quoted.collect();
        let fix = match known[..] {
            ["none"] => format!("write {NONE_OR_TABLE}"),
            ["bulk", "programs"] => {
                "write `bulk`, `programs`, or a table, as in `{ reply = \"20 kB\" }`".to_owned()
            }
            _ => suggestion(word, &known),
        };
        return (format!("`{word}` is not known here"), fix);
    }
    if message.starts_with("missing field") {
        let key = quoted.next().unwrap_or_default();
        return (format!("the key `{key}` is missing"), format!("add `{key} = ...`"));
    }
    if let Some((what, expected)) = message.split_once(", expected ") {
        let single_word = !what.ends_with("map") && !what.ends_with("sequence");
        let plain = match expected {
            "a string" if single_word => format!("it in quotes: \"{written}\""),
            _ => plain_type(expected),
        };
        let what = what.replace("invalid type", "wrong type");
        return (what.replace("invalid length", "a list of length"), format!("write {plain}"));
    }
    // The messages of quantities have the form `MISTAKE: FIX`.
    match message.split_once(": write ") {
        Some((what, fix)) => (what.to_owned(), format!("write {fix}")),
        None => (message.to_owned(), String::new()),
    }
}

/// The fix for a wrong value of a link's key `loss`, `duplicate`, `reorder` or `long`.
const NONE_OR_TABLE: &str =
    "`\"none\"` or a table, for example `{ probability = 0.01 }` for `loss`";

/// The name that users see for a type that the parser names.
fn plain_type(expected: &str) -> String {
    match expected {
        "u64" => "a whole number from 0 to 2^63 - 1".into(),
        "u32" => "a whole number from 0 to 2^32 - 1".into(),
        "f64" => "a number".into(),
        "a string" => "a text in quotes".into(),
        "a boolean" => "`true` or `false`".into(),
        "a sequence" => "a list".into(),
        "a map" => "a table".into(),
        "enum NoneWord" => NONE_OR_TABLE.into(),
        "an array of length 2" | "a tuple of size 2" => "two values".into(),
        _ if expected.starts_with("enum ") => "a word in quotes".into(),
        _ if expected.starts_with("struct ") => "a table".into(),
        _ if expected.starts_with("a tuple") => "a list".into(),
        _ => expected.into(),
    }
}

fn suggestion(word: &str, known: &[&str]) -> String {
    did_you_mean(word, known.iter().copied())
        .unwrap_or_else(|| format!("known here: {}", known.join(", ")))
}
