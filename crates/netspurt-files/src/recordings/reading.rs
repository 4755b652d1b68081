//! The result of reading a file: recordings and malformed lines, or an error. This file also has
//! the hints that users may give about a file.

use core::fmt;

use netspurt::delays::Delays;
use netspurt::units::Duration;

use super::format::Format;

/// Facts about a file that the file itself does not contain. The user gives these facts.
///
/// ```
/// use netspurt_files::recordings::{Format, Hints};
/// let hints = Hints { format: Some(Format::Ping), ..Hints::default() };
/// assert!(hints.interval.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The format of the file. If it is `None`, the reader recognises the format.
    pub format: Option<Format>,
    /// The interval of the probes, if the file has no times of sending.
    pub interval: Option<Duration>,
    /// The columns of a table.
    pub columns: Columns,
}

/// The user's description of the columns of a table. A column is given by its name, or by its
/// number counted from 1. If a column or a unit is `None`, the reader finds it by itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The delay.
    pub rtt: Option<String>,
    /// When the probe left.
    pub sent: Option<String>,
    /// When the reply came. For one-way delays, when the packet itself came.
    pub received: Option<String>,
    /// The number of the probe.
    pub seq: Option<String>,
    /// Whether the probe was lost.
    pub lost: Option<String>,
    /// The recording that the row belongs to. This column is needed if a table holds several
    /// recordings.
    pub group: Option<String>,
    /// The unit of the delays: `s`, `ms`, `us` or `ns`.
    pub unit: Option<String>,
    /// The unit of the times of sending and receiving.
    pub time_unit: Option<String>,
    /// Whether the day or the month comes first in dates such as 10/11/2024: `dmy` or `mdy`.
    pub dates: Option<String>,
    /// Whether the delays are one-way.
    pub one_way: bool,
}

/// A line or an entry that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The number of the line or entry, from 1.
    pub line: usize,
    /// The beginning of the text of the line or entry.
    pub text: String,
    /// Why the line or entry cannot be read.
    pub why: String,
}

/// The maximum number of characters of a malformed line that are kept.
const CHARS_MAX: usize = 120;

impl Malformed {
    /// Makes the entry for the malformed line with the number `line`, and shortens its `text`.
    pub(super) fn new(line: usize, text: &str, why: impl Into<String>) -> Self {
        Self { line, text: text.chars().take(CHARS_MAX).collect(), why: why.into() }
    }
}

/// The recordings and the malformed lines of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// The recordings, in the order in which they begin in the file. In a capture, echoes come
    /// before connections. Of the two directions of a connection, the direction with more data is
    /// first.
    pub recordings: Vec<Delays>,
    /// The malformed lines.
    pub malformed: Vec<Malformed>,
}

/// The error if a file gives no recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError {
    /// The name of the file.
    pub file: String,
    /// The number of the line with the mistake, from 1, if it is known.
    pub line: Option<usize>,
    /// The mistake.
    pub message: String,
    /// The fix: an action of the user.
    pub fix: String,
}

impl fmt::Display for RecordingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)?;
        if !self.fix.is_empty() {
            write!(f, ": {}", self.fix)?;
        }
        Ok(())
    }
}

impl core::error::Error for RecordingError {}

impl RecordingError {
    /// Makes an error; the name of the file is added later.
    pub(super) fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { file: String::new(), line: None, message: message.into(), fix: fix.into() }
    }

    /// Returns this error with the number of its line.
    pub(super) fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}

/// Returns the note that `count` things are left out. `one` and `many` are the singular and the
/// plural of the word for these things.
pub(super) fn left_out(count: u64, [one, many]: [&str; 2]) -> String {
    counted(count, [&format!("{one} is left out"), &format!("{many} are left out")])
}

/// Returns a number with words in the singular or in the plural.
pub(super) fn counted(count: u64, [one, many]: [&str; 2]) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
