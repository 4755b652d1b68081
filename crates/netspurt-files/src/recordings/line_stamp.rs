//! Reads the timestamps before the lines of a log, and counts the timestamps that cannot be read.

use super::instant::Midnights;
use super::stamp::of_line;

/// Reads the timestamps of a log's lines in order. A time of day after midnight counts as later
/// than the times before midnight.
#[derive(Debug, Default)]
pub(super) struct LogClock {
    midnights: Midnights,
}

/// A line of a log, split into its timestamp and the text that follows.
#[derive(Clone, Copy, Debug)]
pub(super) struct StampedLine<'a> {
    /// The timestamp in nanoseconds since 1970, or since the midnight before the log's first line.
    pub ns: Option<i64>,
    /// Whether the timestamp is a local time without a zone.
    pub local: bool,
    /// Why the timestamp is not used; `None` if it is used or if there is none.
    pub refused: Option<&'static str>,
    /// The line after the timestamp.
    pub rest: &'a str,
}

impl LogClock {
    /// Splits the timestamp off the next line. A line may have no timestamp.
    pub fn read<'a>(&mut self, line: &'a str) -> StampedLine<'a> {
        let (stamp, rest) = of_line(line);
        let timestamp_ns = stamp.map(|stamp| stamp.ns().map(|ns| self.midnights.since(ns)));
        StampedLine {
            ns: timestamp_ns.and_then(Result::ok),
            local: stamp.is_some_and(|stamp| stamp.is_local()),
            refused: timestamp_ns.and_then(Result::err),
            rest,
        }
    }
}

/// The minimum number of digits of a text that counts as a timestamp.
const DIGITS_MIN: usize = 4;

/// Counts the lines whose result follows a timestamp that cannot be read.
#[derive(Clone, Debug, Default)]
pub(super) struct UnreadStamps {
    count: u64,
    /// The first timestamp that cannot be read.
    first: String,
    /// Why the first timestamp cannot be read.
    why: &'static str,
}

impl UnreadStamps {
    /// Counts a line if the text in front of its result looks like a timestamp. The argument
    /// `before` is this text; the caller may also pass the whole line. `why` is the reason why the
    /// timestamp is not used.
    pub fn saw(&mut self, before: &str, why: &'static str) {
        let digits = before.bytes().filter(u8::is_ascii_digit).count();
        if digits < DIGITS_MIN {
            return;
        }
        if self.count == 0 {
            (self.first, self.why) = (before.trim().chars().take(40).collect(), why);
        }
        self.count += 1;
    }

    /// Returns the note about the timestamps that cannot be read. `None` if there are none.
    pub fn note(&self) -> Option<String> {
        let Self { count, first, why } = self;
        (*count > 0).then(|| format!("{count} timestamps like `{first}` are not used: {why}"))
    }
}

/// Why texts before results are not used as timestamps.
pub(super) const UNKNOWN_STAMP: &str = "their form is unknown; write them as 2024-10-22T10:11:12Z";
