//! Reads PingPlotter's CSV: a table of hosts, and then a row for each sample. A row has a column
//! for each hop; the last hop is the target.

use netspurt::delays::Delays;

use super::date::has_zone;
use super::instant::instant;
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::tally::Tally;
use super::text::{MILLISECOND, decimal, lines};

const SAMPLES: &str = "Sample Information";

/// Whether a text is a CSV file of PingPlotter.
pub(super) fn knows(text: &str) -> bool {
    text.starts_with("Host Information") && text.contains(SAMPLES)
}

/// Reads the delays of the target.
///
/// # Errors
/// When the text has no heading `Sample Information`.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<Reading, RecordingError> {
    let mut reading = Reading::default();
    let mut tally = Tally::default();
    let mut rows = lines(text).skip_while(|(_, line)| *line != SAMPLES);
    if rows.next().is_none() {
        return Err(RecordingError::new(
            format!("the file has no heading `{SAMPLES}`"),
            "export the samples from PingPlotter, too",
        ));
    }
    let (mut number, mut skipped) = (0, 0);
    for (line, row) in rows.filter(|(_, row)| !row.is_empty()) {
        let stamp = row.split(',').next().and_then(instant);
        let cell = row.rsplit(',').next().unwrap_or("");
        let delay = decimal(cell, MILLISECOND).filter(|(ns, rest)| *ns >= 0 && rest.is_empty());
        let Some((stamp, _)) = stamp else {
            reading.malformed.push(Malformed::new(line, row, "the row does not begin with a time"));
            continue;
        };
        match (cell, delay) {
            ("N/A", _) => skipped += 1,
            ("*", _) => {}
            (_, Some((ns, _))) => {
                let rtt = netspurt::units::Duration::from_nanos(ns.unsigned_abs());
                tally.reply(number, Some(rtt), 0);
            }
            (_, None) => {
                reading.malformed.push(Malformed::new(line, row, "no delay of the target"));
                continue;
            }
        }
        tally.local |= !row.split(',').next().is_some_and(has_zone);
        if cell != "N/A" {
            tally.sent(number).set_sent(Some(stamp));
            number += 1;
        }
    }
    let mut delays = Delays::new(name, "PingPlotter");
    delays.notes.push("only the target's delays are read; timestamps are whole seconds".into());
    if skipped > 0 {
        delays.notes.push(format!("{skipped} rows say that the target was not probed"));
    }
    let range = tally.ends();
    tally.finish(&mut delays, range, hints.interval)?;
    reading.recordings.push(delays);
    Ok(reading)
}
