//! Recognises traces of Mahimahi, to refuse them. Each line is the millisecond of a delivery
//! opportunity, not a delay.

use super::reading::RecordingError;
use super::text::lines;

/// The fewest different milliseconds of a trace. A shorter list may hold delays that happen to
/// rise.
const FEWEST: usize = 20;

/// Whether a text is a list of whole numbers that never fall, as in Mahimahi's traces. Delays are
/// not such a list.
pub(super) fn knows(text: &str) -> bool {
    let mut last: Option<u64> = None;
    let mut distinct = 0;
    for (_, line) in lines(text).filter(|(_, line)| !line.is_empty()) {
        let Ok(stamp) = line.parse::<u64>() else { return false };
        if last.is_some_and(|last| stamp < last) {
            return false;
        }
        distinct += usize::from(last != Some(stamp));
        last = Some(stamp);
    }
    distinct >= FEWEST
}

/// Returns the error for a trace of Mahimahi.
pub(super) fn refusal() -> RecordingError {
    RecordingError::new(
        "whole numbers that only rise, as in a trace of Mahimahi: each is the millisecond in which \
         the link can deliver a packet, not a delay",
        "read recordings of probes instead; if each number is a delay, say `--column rtt=1`",
    )
}
