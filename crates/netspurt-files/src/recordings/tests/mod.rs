//! Tests of the readers of recordings, by format.

mod attempts;
mod began;
mod capture;
mod clock;
mod dates;
mod fping;
mod hostile;
mod irtt_text;
mod json;
mod mtr;
mod nping;
mod pairs;
mod ping;
mod probe;
mod stamps;
mod table;
mod windows;

use netspurt::delays::Delays;

use super::{Reading, read};

fn reading(text: &str) -> Reading {
    read("x", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Reads a text and returns its only recording.
fn one(text: &str) -> Delays {
    let mut reading = reading(text);
    assert_eq!(reading.recordings.len(), 1);
    reading.recordings.remove(0)
}

/// Returns the counts of probes that were sent, received, lost and late, and of duplicates.
fn counts(delays: &Delays) -> [u64; 5] {
    [delays.sent(), delays.received(), delays.lost(), delays.late(), delays.duplicates]
}
