//! Reads fping's JSON (`--json`, since version 5.3), which has one object per line.

use indexmap::IndexMap;
use netspurt::delays::Delays;
use netspurt::units::Duration;

use super::fping::header_bytes;
use super::json::{Item, float, label, whole};
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::tally::Tally;
use super::text::{MILLISECOND, float_span};

/// Reads the entries of fping in the list `items`. Adds a recording to `reading` for each target.
///
/// # Errors
/// When more than 4,194,304 (`MISSING_MAX`) probes of a target are missing.
pub(super) fn parse(
    name: &str,
    items: &[Item],
    hints: &Hints,
    reading: &mut Reading,
) -> Result<(), RecordingError> {
    let mut targets: IndexMap<String, (Tally, u64)> = IndexMap::new();
    for (line, item) in items {
        let entry = item.as_object().and_then(|object| object.iter().next());
        let Some((kind, fields)) = entry else {
            reading.malformed.push(Malformed::new(*line, &label(item), "not a JSON object"));
            continue;
        };
        let target = label(&fields["host"]);
        let header = header_bytes(&target);
        let (tally, sent) = targets.entry(target).or_default();
        let number = whole(&fields["seq"]);
        match (&**kind, number) {
            ("resp", Some(number)) => {
                let rtt = float(&fields["rtt"]).and_then(|ms| float_span(ms, MILLISECOND));
                let bytes = whole(&fields["size"]).and_then(|size| u32::try_from(size).ok());
                tally.reply(number, rtt, bytes.map_or(0, |bytes| bytes.saturating_add(header)));
            }
            ("timeout", Some(number)) => tally.sent(number).given_up = true,
            ("dup" | "duplicate", _) => tally.duplicate(),
            ("summary", _) => *sent = whole(&fields["xmt"]).unwrap_or(0),
            ("vSum" | "intSum" | "stats", _) => {}
            _ => {
                let why = "not an entry that fping writes";
                reading.malformed.push(Malformed::new(*line, &label(item), why));
            }
        }
    }
    for (target, (tally, sent)) in targets {
        let mut delays = Delays::new(format!("{name}: {target}"), "fping (JSON)");
        let last = tally.ends().map_or(0, |(_, last)| last.saturating_add(1)).max(sent);
        let interval = hints.interval.unwrap_or(Duration::from_secs(1));
        delays.notes.push(format!("times of sending computed: one probe every {interval}"));
        let range = last.checked_sub(1).map(|last| (0, last));
        tally.finish(&mut delays, range, Some(interval))?;
        reading.recordings.push(delays);
    }
    Ok(())
}
