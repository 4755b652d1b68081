//! Recognises traces of Mahimahi, so that they are not read as delays. Each line of a trace is the
//! millisecond of a delivery opportunity, not a delay.

use super::reading::RecordingError;
use super::text::lines;

/// The minimum number of different milliseconds in a trace. A shorter list may hold delays that
/// happen to rise.
const MILLISECONDS_MIN: usize = 20;

/// True if a text is a list of whole numbers that never fall, as in Mahimahi's traces, with at
/// least [`MILLISECONDS_MIN`] different numbers. A list of delays hardly ever has this form.
pub(super) fn knows(text: &str) -> bool {
    let mut last: Option<u64> = None;
    let mut distinct = 0;
    for (_, line) in lines(text).filter(|(_, line)| !line.is_empty()) {
        let Ok(millisecond) = line.parse::<u64>() else { return false };
        if last.is_some_and(|last| millisecond < last) {
            return false;
        }
        distinct += usize::from(last != Some(millisecond));
        last = Some(millisecond);
    }
    distinct >= MILLISECONDS_MIN
}

/// Returns the error for a trace of Mahimahi.
pub(super) fn refusal() -> RecordingError {
    RecordingError::new(
        "these whole numbers never fall, as in a trace of Mahimahi: each is the millisecond in which \
         the link can deliver a packet, not a delay",
        "read recordings of probes instead; if each number is a delay, write `--column rtt=1`",
    )
}
