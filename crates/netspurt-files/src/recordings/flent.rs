//! Reads files of Flent (`.flent`, `.flent.gz`): the delays of the pings that a test ran.

use netspurt::delays::Delays;
use serde_json::Value;

use super::json::{Item, float, label, whole};
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::tally::Tally;
use super::text::{MILLISECOND, SECOND, float_span};

/// Whether a value is the contents of a Flent file.
pub(super) fn knows(value: &Value) -> bool {
    value["results"].is_object() && value["x_values"].is_array()
}

/// Reads the series of pings in `items`, the contents of Flent files. Each series becomes a
/// recording in `reading`.
///
/// # Errors
/// When there is no series of pings, or when more than 4,194,304 (`MISSING_MAX`) probes of a series
/// are missing.
pub(super) fn parse(
    name: &str,
    items: &[Item],
    hints: &Hints,
    reading: &mut Reading,
) -> Result<(), RecordingError> {
    let mut others = Vec::new();
    for (line, item) in items {
        let Some(results) = item["results"].as_object().filter(|_| knows(item)) else {
            let why =
                "not the contents of a Flent file: no object `results` or no array `x_values`";
            reading.malformed.push(Malformed::new(*line, &label(item), why));
            continue;
        };
        for (series, values) in results {
            if !is_ping(series) {
                others.push(series.as_str());
                continue;
            }
            let name = format!("{name}: {series}");
            let raw = item["raw_values"][series].as_array().filter(|raw| !raw.is_empty());
            let delays = match raw {
                Some(raw) => samples(name, raw, *line, hints, &mut reading.malformed)?,
                None => interpolated(name, &item["x_values"], values, hints)?,
            };
            reading.recordings.push(delays);
        }
    }
    if reading.recordings.is_empty() {
        let message = match &others[..] {
            [] => "no series of pings, and no other series, in this Flent file".to_owned(),
            _ => {
                let names = others.join(", ");
                format!("no series of pings in this Flent file: its series are {names}")
            }
        };
        return Err(RecordingError::new(
            message,
            "run a test that pings, such as `rrul` or `ping`",
        ));
    }
    Ok(())
}

/// Whether a series holds the delays that one ping program measured. `Ping (ms) avg` is the mean of
/// several pings. A word after `::` names another quantity. A number after `::` distinguishes one
/// ping from another.
fn is_ping(series: &str) -> bool {
    let copy = |tail: &str| tail.bytes().all(|c| c.is_ascii_digit());
    series.starts_with("Ping")
        && !series.ends_with(" avg")
        && series.rsplit_once("::").is_none_or(|(_, tail)| copy(tail))
}

/// Reads Flent's raw values. Each value has the reply's time `t` in seconds and the delay `val` in
/// milliseconds. Without `val`, the probe was lost, and `t` counts as the time at which the probe
/// was sent. Some ping tools also give the probe's number `seq`.
fn samples(
    name: String,
    raw: &[Value],
    line: usize,
    hints: &Hints,
    malformed: &mut Vec<Malformed>,
) -> Result<Delays, RecordingError> {
    let mut delays = Delays::new(name, "Flent");
    let mut tally = Tally::default();
    let numbered = raw.iter().all(|sample| whole(&sample["seq"]).is_some());
    for (place, sample) in (0_u64..).zip(raw) {
        let number = whole(&sample["seq"]).filter(|_| numbered).unwrap_or(place);
        let received = float(&sample["t"]).and_then(nanoseconds);
        let Some(value) = sample.get("val").filter(|value| !value.is_null()) else {
            tally.sent(number).set_sent(received);
            continue;
        };
        let Some(rtt) = float(value).and_then(|ms| float_span(ms, MILLISECOND)) else {
            malformed.push(Malformed::new(line, &label(sample), "`val` is not a delay"));
            tally.sent(number);
            continue;
        };
        if tally.reply(number, Some(rtt), 0) {
            let sent = received.map(|ns| ns.saturating_sub_unsigned(rtt.as_nanos()));
            tally.sent(number).set_sent(sent);
        }
    }
    if !numbered {
        delays
            .notes
            .push("not all replies have numbers, so losses between them cannot be seen".into());
    }
    let range = tally.ends();
    tally.finish(&mut delays, range, hints.interval)?;
    Ok(delays)
}

/// Reads the values at Flent's own instants `x_values`, for files without raw values. A value that
/// is missing between the first value and the last one counts as a lost probe.
fn interpolated(
    name: String,
    instants: &Value,
    values: &Value,
    hints: &Hints,
) -> Result<Delays, RecordingError> {
    let mut delays = Delays::new(name, "Flent");
    let mut tally = Tally::default();
    let values: &[Value] = values.as_array().map_or(&[], Vec::as_slice);
    let delay = |value: &Value| float(value).and_then(|ms| float_span(ms, MILLISECOND));
    let mut range: Option<(u64, u64)> = None;
    for (number, value) in (0_u64..).zip(values) {
        let instant = usize::try_from(number).ok().and_then(|place| instants.get(place));
        if let Some(rtt) = delay(value) {
            tally.reply(number, Some(rtt), 0);
            range = Some((range.map_or(number, |(first, _)| first), number));
        }
        tally.sent(number).set_sent(instant.and_then(float).and_then(nanoseconds));
    }
    tally.finish(&mut delays, range, hints.interval)?;
    delays.notes.push(
        "the file has no raw values: Flent interpolated these delays between the replies".into(),
    );
    Ok(delays)
}

/// Converts seconds to nanoseconds; `None` if they are negative or too large.
fn nanoseconds(seconds: f64) -> Option<i64> {
    i64::try_from(float_span(seconds, SECOND)?.as_nanos()).ok()
}
