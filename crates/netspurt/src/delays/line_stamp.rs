//! The stamps before the lines of a log, and counts of stamps that cannot be read.

use super::instant::Midnights;
use super::stamp::of_line;

/// Reads the stamps of a log's lines in order. Times of day go on after midnight.
#[derive(Debug, Default)]
pub(super) struct LogClock {
    midnights: Midnights,
}

/// A line of a log, split into its stamp and the rest.
#[derive(Clone, Copy, Debug)]
pub(super) struct StampedLine<'a> {
    /// The stamp in nanoseconds since 1970, or since the log's first midnight.
    pub ns: Option<i64>,
    /// Whether the stamp is a local time without a zone.
    pub local: bool,
    /// Why the stamp is not used; `None` if it is used or if there is none.
    pub refused: Option<&'static str>,
    /// The line behind the stamp.
    pub rest: &'a str,
}

impl LogClock {
    /// Splits the stamp off the next line, if it has one.
    pub fn read<'a>(&mut self, line: &'a str) -> StampedLine<'a> {
        let (stamp, rest) = of_line(line);
        let told = stamp.map(|stamp| stamp.ns().map(|ns| self.midnights.since(ns)));
        StampedLine {
            ns: told.and_then(Result::ok),
            local: stamp.is_some_and(|stamp| stamp.is_local()),
            refused: told.and_then(Result::err),
            rest,
        }
    }
}

/// The fewest digits of a text that counts as a stamp.
const FEWEST_DIGITS: usize = 4;

/// Counts replies whose stamps cannot be read.
#[derive(Clone, Debug, Default)]
pub(super) struct UnreadStamps {
    count: u64,
    /// The first such stamp, and why it cannot be read.
    first: String,
    why: &'static str,
}

impl UnreadStamps {
    /// Counts a reply with the text `before` it, if that looks like a stamp. `why` is the reason
    /// why the stamp is not used.
    pub fn saw(&mut self, before: &str, why: &'static str) {
        let digits = before.bytes().filter(u8::is_ascii_digit).count();
        if digits < FEWEST_DIGITS {
            return;
        }
        if self.count == 0 {
            (self.first, self.why) = (before.trim().chars().take(40).collect(), why);
        }
        self.count += 1;
    }

    /// Returns the note about these stamps; `None` if there are none.
    pub fn note(&self) -> Option<String> {
        let Self { count, first, why } = self;
        (*count > 0).then(|| format!("{count} stamps like `{first}` are not used: {why}"))
    }
}

/// Why a text before a line is not used as its stamp.
pub(super) const UNKNOWN_STAMP: &str =
    "their form is not known here; write them as 2024-10-22T10:11:12Z";
