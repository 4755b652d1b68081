//! Recognises reports of mtr, to refuse them. A report has statistics of each hop, but not the
//! delay of each probe.

use super::reading::RecordingError;
use super::text::lines;

/// The heading of a report is looked for in this number of lines at the beginning of a text.
const FIRST: usize = 10;

/// Whether a text is a report of mtr, as text or CSV.
pub(super) fn knows(content: &str) -> bool {
    const HEADING: [&str; 4] = ["Loss%", "Snt", "Avg", "Wrst"];
    lines(content).take(FIRST).any(|(_, line)| HEADING.iter().all(|name| line.contains(name)))
}

/// Returns the error for a report of mtr.
pub(super) fn refusal() -> RecordingError {
    RecordingError::new(
        "a report of mtr: it has statistics of each hop, but not the delay of each probe",
        "record the probes themselves, as with `ping -D HOST > log.txt` or `netspurt probe HOST`",
    )
}
