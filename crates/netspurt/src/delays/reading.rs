//! What becomes of a file: recordings, the lines that made no sense, or an error.

use core::fmt;

use crate::units::Duration;

use super::Delays;
use super::format::Format;

/// What the user knows about a file that the file does not say.
///
/// ```
/// use netspurt::delays::{Format, Hints};
/// let hints = Hints { format: Some(Format::Ping), ..Hints::default() };
/// assert!(hints.interval.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// What to read it as, whatever it looks like.
    pub format: Option<Format>,
    /// From one probe to the next, where the file has no times of sending.
    pub interval: Option<Duration>,
    /// The columns of a table.
    pub columns: Columns,
}

/// Which columns of a table are which: names, or places counted from 1.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// The delay.
    pub rtt: Option<String>,
    /// When the probe left.
    pub sent: Option<String>,
    /// When the reply, or the packet itself, came.
    pub received: Option<String>,
    /// The number of the probe.
    pub seq: Option<String>,
    /// Whether it was lost.
    pub lost: Option<String>,
    /// What tells several recordings in one table apart.
    pub group: Option<String>,
    /// Unit of the delays: `s`, `ms`, `us` or `ns`.
    pub unit: Option<String>,
    /// Unit of the times of sending and receiving.
    pub time_unit: Option<String>,
    /// Whether the delays are in one direction.
    pub one_way: bool,
}

/// A line, or an entry, that looks like part of the format and is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Which, from 1.
    pub line: usize,
    /// What stands there, or how it begins.
    pub text: String,
    /// What is wrong with it.
    pub why: String,
}

/// The longest piece of a line that is kept.
const KEPT: usize = 120;

impl Malformed {
    /// The line `text`, cut to what a report shows.
    pub(super) fn new(line: usize, text: &str, why: impl Into<String>) -> Self {
        Self { line, text: text.chars().take(KEPT).collect(), why: why.into() }
    }
}

/// What a file held.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Its recordings, in the order in which they begin.
    pub recordings: Vec<Delays>,
    /// What made no sense.
    pub malformed: Vec<Malformed>,
}

/// A file that holds no recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Which file.
    pub file: String,
    /// Where in it, from 1.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// What would help.
    pub fix: String,
}

impl fmt::Display for ReadError {
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

impl core::error::Error for ReadError {}

impl ReadError {
    /// An error of a file that has no name yet.
    pub(super) fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { file: String::new(), line: None, message: message.into(), fix: fix.into() }
    }

    /// The same, at a line.
    pub(super) fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}
