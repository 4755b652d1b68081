//! Reads scamper's JSON (`sc_warts2json`): the results of ping.

use netspurt::delays::Delays;
use netspurt::units::Duration;
use serde_json::Value;

use super::json::{Item, float, label, whole};
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::tally::Tally;
use super::text::{MICROSECOND, MILLISECOND, SECOND, float_span};

/// Whether a value is a ping, a traceroute or the start of a cycle, as scamper writes them.
pub(super) fn knows(value: &Value) -> bool {
    value["type"] == "ping" && value.get("ping_sent").is_some()
        || ["cycle-start", "tracelb", "trace"].iter().any(|kind| value["type"] == **kind)
}

/// Reads the pings of scamper from the JSON values `items` of a file. Adds a recording to `reading`
/// for each ping.
///
/// # Errors
/// When there is no ping, or when more than 4,194,304 (`MISSING_MAX`) probes of a ping are missing.
pub(super) fn parse(
    name: &str,
    items: &[Item],
    hints: &Hints,
    reading: &mut Reading,
) -> Result<(), RecordingError> {
    let mut routes = 0;
    for (line, item) in items {
        match item["type"].as_str() {
            Some("ping") => reading.recordings.push(ping(name, item, hints)?),
            Some("trace" | "tracelb") => {
                routes += 1;
                reading.malformed.push(Malformed::new(*line, &label(item), "a traceroute"));
            }
            Some("cycle-start" | "cycle-stop" | "cycle-def") => {}
            // M-Lab adds a line of its own at the beginning.
            None if item.get("UUID").is_some() => {}
            _ => {
                reading.malformed.push(Malformed::new(*line, &label(item), "not a ping of scamper"))
            }
        }
    }
    if reading.recordings.is_empty() {
        return Err(RecordingError::new(
            format!(
                "the file has no ping of scamper; traceroutes ({routes} here) are not supported"
            ),
            "record with `scamper -c ping`",
        ));
    }
    Ok(())
}

/// Reads a time of seconds and microseconds; returns nanoseconds.
fn stamp(value: &Value) -> Option<i64> {
    let sec = value["sec"].as_i64()?.checked_mul(SECOND.cast_signed())?;
    sec.checked_add(value["usec"].as_i64()?.checked_mul(MICROSECOND.cast_signed())?)
}

fn ping(name: &str, item: &Value, hints: &Hints) -> Result<Delays, RecordingError> {
    let mut delays = Delays::new(format!("{name}: {}", label(&item["dst"])), "scamper ping");
    let mut tally = Tally::default();
    let size = whole(&item["probe_size"]).and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0);
    for reply in item["responses"].as_array().into_iter().flatten() {
        let Some(number) = whole(&reply["seq"]) else { continue };
        let rtt = float(&reply["rtt"]).and_then(|ms| float_span(ms, MILLISECOND));
        if tally.reply(number, rtt, size) {
            tally.sent(number).set_sent(stamp(&reply["tx"]));
        }
    }
    let sent = whole(&item["ping_sent"]).unwrap_or(0);
    let last = tally.ends().map_or(0, |(_, last)| last.saturating_add(1)).max(sent);
    let wait = float(&item["wait"]).and_then(|s| float_span(s, SECOND));
    let interval = hints.interval.or(wait).or(Some(Duration::from_secs(1)));
    tally.finish(&mut delays, last.checked_sub(1).map(|last| (0, last)), interval)?;
    Ok(delays)
}
