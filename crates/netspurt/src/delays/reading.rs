//! The result of reading a file: recordings and malformed lines, or an error.

use core::fmt;

use crate::units::Duration;

use super::Delays;
use super::format::Format;

/// Facts about a file that the user knows and the file does not contain.
///
/// ```
/// use netspurt::delays::{Format, Hints};
/// let hints = Hints { format: Some(Format::Ping), ..Hints::default() };
/// assert!(hints.interval.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hints {
    /// The format to read it as.
    pub format: Option<Format>,
    /// The interval of the probes, if the file has no times of sending.
    pub interval: Option<Duration>,
    /// The columns of a table.
    pub columns: Columns,
}

/// The meaning of a table's columns: names, or numbers counted from 1.
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
    /// What distinguishes several recordings in one table.
    pub group: Option<String>,
    /// Unit of the delays: `s`, `ms`, `us` or `ns`.
    pub unit: Option<String>,
    /// Unit of the times of sending and receiving.
    pub time_unit: Option<String>,
    /// Whether the day or the month comes first in dates such as 10/11/2024: `dmy` or `mdy`.
    pub dates: Option<String>,
    /// Whether the delays are one-way.
    pub one_way: bool,
}

/// A line, or an entry, that looks like part of the format but is malformed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Its number, from 1.
    pub line: usize,
    /// Its text, or the beginning of it.
    pub text: String,
    /// Why it is malformed.
    pub why: String,
}

/// The most characters of a line that are kept.
const KEPT: usize = 120;

impl Malformed {
    /// The line `text`, shortened for reports.
    pub(super) fn new(line: usize, text: &str, why: impl Into<String>) -> Self {
        Self { line, text: text.chars().take(KEPT).collect(), why: why.into() }
    }
}

/// The contents of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Its recordings, in the order of their beginnings.
    pub recordings: Vec<Delays>,
    /// The malformed lines.
    pub malformed: Vec<Malformed>,
}

/// A file that holds no recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordingError {
    /// Which file.
    pub file: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The error.
    pub message: String,
    /// What may help.
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
    /// An error of a file that has no name yet.
    pub(super) fn new(message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { file: String::new(), line: None, message: message.into(), fix: fix.into() }
    }

    /// The same, at a line.
    pub(super) fn at(self, line: usize) -> Self {
        Self { line: Some(line), ..self }
    }
}
