//! Traces of Mahimahi, which are no delays: each line is the millisecond of a delivery opportunity.

use super::reading::RecordingError;
use super::text::lines;

/// The fewest different milliseconds of a trace. Shorter lists may be delays that happen to rise.
const FEWEST: usize = 20;

/// Whether a text is a list of whole numbers that only rise, as Mahimahi's traces are and delays are
/// not.
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

/// The error of such a file.
pub(super) fn refusal() -> RecordingError {
    RecordingError::new(
        "whole numbers that only rise, as in a trace of Mahimahi: each is the millisecond in which \
         the link can deliver a packet, not a delay",
        "read recordings of probes instead; if each number is a delay, say `--column rtt=1`",
    )
}
