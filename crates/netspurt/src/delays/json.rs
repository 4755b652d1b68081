//! JSON files: one document, a list of results, one a line, or records behind separators.

use serde_json::Value;

use super::format::Format;
use super::reading::{Hints, Malformed, ReadError, Reading};
use super::{atlas, fping_json, iperf, irtt, probe, qlog, scamper, tcp_info};

/// A value and the line, or the place in the list, it stands at.
pub(super) type Item = (usize, Value);

/// Whether a text looks like JSON.
pub(super) fn looks(text: &str) -> bool {
    let text = text.trim_start_matches(MARKS);
    // A stamp in brackets is none.
    let list = text.strip_prefix('[').map(|rest| rest.trim_start_matches(MARKS));
    text.starts_with('{') || list.is_some_and(|rest| rest.starts_with(['{', '[', ']']))
}

/// What may stand around a value: white space, and the separator of RFC 7464 §2.
const MARKS: [char; 5] = ['\u{1e}', ' ', '\n', '\r', '\t'];

/// The values of a text; a list gives its entries.
fn values(text: &str, malformed: &mut Vec<Malformed>) -> Vec<Item> {
    match serde_json::from_str::<Value>(text.trim_matches(MARKS)) {
        Ok(Value::Array(entries)) => return (1..).zip(entries).collect(),
        Ok(value) => return vec![(1, value)],
        Err(_) => {}
    }
    let mut items: Vec<Item> = Vec::new();
    let mut wrong = Vec::new();
    for (number, line) in super::text::lines(text) {
        let line = line.trim_matches(MARKS).trim_end_matches(',');
        if ["", "[", "]"].contains(&line) {
            continue;
        }
        match serde_json::from_str(line) {
            Ok(value) => items.push((number, value)),
            Err(error) => wrong.push(Malformed::new(number, line, format!("no JSON: {error}"))),
        }
    }
    if items.iter().any(|(_, value)| value.is_object()) {
        malformed.append(&mut wrong);
        return items;
    }
    // Documents over several lines, one behind the other, the last perhaps cut off.
    let documents = serde_json::Deserializer::from_str(text.trim_matches(MARKS)).into_iter();
    let mut items = Vec::new();
    for document in documents {
        match document {
            Ok(value) => items.push((items.len() + 1, value)),
            Err(error) => {
                malformed.push(Malformed::new(error.line(), "", format!("no JSON: {error}")));
                break;
            }
        }
    }
    items
}

/// The format that a value shows.
fn format_of(value: &Value) -> Option<Format> {
    let has = |key: &str| value.get(key).is_some();
    let is = |key: &str, text: &str| value.get(key).is_some_and(|value| value == text);
    if has("round_trips") {
        Some(Format::Irtt)
    } else if probe::knows(value) {
        Some(Format::Probe)
    } else if has("prb_id") && (is("type", "ping") || is("type", "traceroute")) {
        Some(Format::Atlas)
    } else if has("qlog_version") || has("qlog_format") || has("file_schema") {
        Some(Format::Qlog)
    } else if has("intervals") {
        Some(Format::Iperf3)
    } else if tcp_info::knows(value) {
        Some(Format::TcpInfo)
    } else if scamper::knows(value) {
        Some(Format::Scamper)
    } else if ["resp", "timeout", "vSum", "intSum", "summary"].iter().any(|key| has(key)) {
        Some(Format::FpingJson)
    } else {
        None
    }
}

/// Reads a text of JSON, in the format that its first known value shows.
///
/// # Errors
/// When no value is of a known format, or those that are hold no probe.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<(Format, Reading), ReadError> {
    let mut reading = Reading::default();
    let items = values(text, &mut reading.malformed);
    let shown = || items.iter().find_map(|(_, value)| format_of(value));
    let Some(format) = hints.format.or_else(shown) else {
        let first = reading.malformed.first().map_or(1, |one| one.line);
        let keys = items.iter().filter_map(|(_, value)| value.as_object()).next();
        let keys = keys.map(|object| object.keys().take(6).cloned().collect::<Vec<_>>().join(", "));
        return Err(match keys {
            Some(keys) => ReadError::new(
                format!("JSON of no tool that is known here; its keys are {keys}"),
                "looked for irtt, RIPE Atlas, our own probe, qlog, iperf3, NDT7, tcp-info, scamper and fping",
            ),
            None => {
                ReadError::new("JSON that is cut off or broken", "is the file whole?").at(first)
            }
        });
    };
    let reader = match format {
        Format::Irtt => irtt::parse,
        Format::Atlas => atlas::parse,
        Format::Probe => probe::parse,
        Format::Qlog => qlog::parse,
        Format::Iperf3 => iperf::parse,
        Format::TcpInfo => tcp_info::parse,
        Format::Scamper => scamper::parse,
        Format::FpingJson => fping_json::parse,
        other => {
            let message = format!("this is JSON, which {} is not", other.name());
            return Err(ReadError::new(message, "leave the format out"));
        }
    };
    reader(name, &items, hints, &mut reading)?;
    reading.malformed.sort_by_key(|one| one.line);
    Ok((format, reading))
}

/// A value that is a number, or a text of one as old tools write it.
pub(super) fn float(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// A whole number, likewise.
pub(super) fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// What a value says, as text, empty where it is not there.
pub(super) fn label(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
