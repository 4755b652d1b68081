//! Reads a JSON file in the format that its first recognised value has.

use serde_json::Value;

use super::format::Format;
use super::json::values;
use super::reading::{Hints, Reading, RecordingError};
use super::{atlas, flent, fping_json, iperf, irtt, probe, qlog, scamper, tcp_info};

/// Finds the format that a value has; `None` if it is unknown.
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
    } else if flent::knows(value) {
        Some(Format::Flent)
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

/// Reads a JSON text in the format that `hints` give, or else in the format that its first
/// recognised value has.
///
/// # Errors
/// When `hints` give a format that is not JSON, when no value has a known format, or when the
/// reader of the format returns an error.
pub(super) fn parse(
    name: &str,
    text: &str,
    hints: &Hints,
) -> Result<(Format, Reading), RecordingError> {
    let mut reading = Reading::default();
    let items = values(text, &mut reading.malformed);
    let recognised = || items.iter().find_map(|(_, value)| format_of(value));
    let Some(format) = hints.format.or_else(recognised) else {
        let objects = items.iter().filter_map(|(_, value)| value.as_object());
        let keys = objects
            .filter(|object| !object.is_empty())
            .map(|object| object.keys().take(6).map(String::as_str).collect::<Vec<_>>().join(", "));
        return Err(match (keys.into_iter().next(), reading.malformed.first()) {
            (Some(keys), _) => RecordingError::new(
                format!("not the JSON of a known tool; its keys are {keys}"),
                "netspurt reads the JSON of irtt, RIPE Atlas, `netspurt probe`, qlog, Flent, \
                 iperf3, NDT7, tcp-info, scamper and fping",
            ),
            (None, Some(first)) => {
                RecordingError::new("the JSON is cut off or malformed", "get the complete file")
                    .at(first.line)
            }
            (None, None) => {
                RecordingError::new("the JSON has no results", "record something first")
            }
        });
    };
    let reader = match format {
        Format::Irtt => irtt::parse,
        Format::Atlas => atlas::parse,
        Format::Probe => probe::parse,
        Format::Qlog => qlog::parse,
        Format::Flent => flent::parse,
        Format::Iperf3 => iperf::parse,
        Format::TcpInfo => tcp_info::parse,
        Format::Scamper => scamper::parse,
        Format::FpingJson => fping_json::parse,
        other => {
            let message = format!("the file is JSON, but {} is not a JSON format", other.name());
            return Err(RecordingError::new(message, "omit `--format`"));
        }
    };
    reader(name, &items, hints, &mut reading)?;
    reading.malformed.sort_by_key(|entry| entry.line);
    Ok((format, reading))
}
