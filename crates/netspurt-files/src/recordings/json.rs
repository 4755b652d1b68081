//! Reads the values of a JSON file. The file may have one or more documents, a list of values, a
//! value on each line, or the records of a JSON text sequence.

use serde_json::Value;

use super::reading::Malformed;

/// A value and its number. The number is the line's number if each line is a value, and otherwise
/// the value's index in the list of values. Lines and indices count from 1.
pub(super) type Item = (usize, Value);

/// Whether a text looks like JSON.
pub(super) fn looks(text: &str) -> bool {
    let text = text.trim_start_matches(MARKS);
    // A timestamp in brackets is not JSON.
    let list = text.strip_prefix('[').map(|rest| rest.trim_start_matches(MARKS));
    text.starts_with('{') || list.is_some_and(|rest| rest.starts_with(['{', '[', ']']))
}

/// The characters allowed around a value: white space, and the separator of RFC 7464 §2.
const MARKS: [char; 5] = ['\u{1e}', ' ', '\n', '\r', '\t'];

/// Reads the values of a text. If the text is a list, the values are its entries.
pub(super) fn values(text: &str, malformed: &mut Vec<Malformed>) -> Vec<Item> {
    match serde_json::from_str::<Value>(text.trim_matches(MARKS)) {
        Ok(Value::Array(entries)) => return (1..).zip(entries).collect(),
        Ok(value) => return vec![(1, value)],
        Err(_) => {}
    }
    let mut items: Vec<Item> = Vec::new();
    let mut unreadable = Vec::new();
    for (number, line) in super::text::lines(text) {
        let line = line.trim_matches(MARKS).trim_end_matches(',');
        if ["", "[", "]"].contains(&line) {
            continue;
        }
        match serde_json::from_str(line) {
            Ok(value) => items.push((number, value)),
            Err(error) => {
                unreadable.push(Malformed::new(number, line, format!("not JSON: {error}")))
            }
        }
    }
    if items.iter().any(|(_, value)| value.is_object()) {
        malformed.append(&mut unreadable);
        return items;
    }
    // No line is an object of its own, so the text may have several documents, each on several
    // lines. The last document may be incomplete.
    let documents = serde_json::Deserializer::from_str(text.trim_matches(MARKS)).into_iter();
    let mut items = Vec::new();
    for document in documents {
        match document {
            Ok(value) => items.push((items.len() + 1, value)),
            Err(error) => {
                // The parser counts lines from the first line that is not blank.
                let blank = text.len() - text.trim_start_matches(MARKS).len();
                let number = text[..blank].matches('\n').count() + error.line();
                let line = text.lines().nth(number - 1).unwrap_or_default();
                malformed.push(Malformed::new(number, line, format!("not JSON: {error}")));
                break;
            }
        }
    }
    items
}

/// Returns a value as a number. The value may be a number, or a text with a number, as old tools
/// write it.
pub(super) fn float(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns a value as a whole number from 0. The value may be a number, or a text with a number.
pub(super) fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// Returns a value as text; empty if the value does not exist.
pub(super) fn label(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
