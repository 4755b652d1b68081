//! The stamps before the lines of a log, and those that cannot be read.

use super::instant::Midnights;
use super::stamp::of_line;

/// The clock of a log's lines, which goes on after midnight.
#[derive(Debug, Default)]
pub(super) struct LogClock {
    midnights: Midnights,
}

/// A line with its stamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct StampedLine<'a> {
    /// The stamp in nanoseconds since 1970, or since the log's first midnight.
    pub ns: Option<i64>,
    /// Whether the stamp is a local time without a zone.
    pub local: bool,
    /// Why the stamp is not used.
    pub refused: Option<&'static str>,
    /// The line behind the stamp.
    pub rest: &'a str,
}

impl LogClock {
    /// Takes the stamp, if there is one, off the next line.
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

/// Digits from which on the text before a line is taken for a stamp.
const FEWEST_DIGITS: usize = 4;

/// Replies whose stamps cannot be read.
#[derive(Clone, Debug, Default)]
pub(super) struct UnreadStamps {
    count: u64,
    /// The first, and why.
    first: String,
    why: &'static str,
}

impl UnreadStamps {
    /// A reply with the text `before` it, which is no stamp that is read here because of `why`.
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

    /// The note about them.
    pub fn note(&self) -> Option<String> {
        let Self { count, first, why } = self;
        (*count > 0).then(|| format!("{count} stamps like `{first}` are not used: {why}"))
    }
}

/// Why a text before a line is no stamp.
pub(super) const UNKNOWN_STAMP: &str =
    "their form is not known here; write them as 2024-10-22T10:11:12Z";
