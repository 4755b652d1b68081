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

/// Reads a text. If the text cannot be read, the test fails.
fn reading(text: &str) -> Reading {
    read("x", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Reads a text and returns its only recording.
fn one(text: &str) -> Delays {
    let mut reading = reading(text);
    assert_eq!(reading.recordings.len(), 1);
    reading.recordings.remove(0)
}

/// Returns the IPv4 packet `bytes` inside GRE over IPv4 (RFC 2784).
fn in_gre(bytes: &[u8]) -> Vec<u8> {
    let total = u16::try_from(bytes.len() + 24).unwrap().to_be_bytes();
    let mut out = vec![0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 47];
    out.resize(24, 0);
    out[22] = 8;
    out.extend_from_slice(bytes);
    out
}

/// Returns the counts of probes that were sent, received, lost and late, and of duplicates.
fn counts(delays: &Delays) -> [u64; 5] {
    [delays.sent(), delays.received(), delays.lost(), delays.late(), delays.duplicates]
}
