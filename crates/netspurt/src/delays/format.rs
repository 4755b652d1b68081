//! The formats, and how a file's content tells which it has.

use std::collections::HashMap;

use super::reading::{Hints, ReadError, Reading};
use super::{Delays, fping, ping, text, windows};

/// A format of recorded delays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Text of ping: iputils, BusyBox, BSD, macOS, hping3.
    Ping,
    /// Text of ping on Windows, in any language.
    WindowsPing,
    /// Text of fping.
    Fping,
}

impl Format {
    /// All of them.
    pub const ALL: &[Format] = &[Format::Ping, Format::WindowsPing, Format::Fping];

    /// What users call it.
    pub const fn name(self) -> &'static str {
        match self {
            Format::Ping => "ping",
            Format::WindowsPing => "windows-ping",
            Format::Fping => "fping",
        }
    }

    /// The format that users call `name`.
    ///
    /// ```
    /// use netspurt::delays::Format;
    /// assert_eq!(Format::by_name("ping"), Some(Format::Ping));
    /// ```
    pub fn by_name(name: &str) -> Option<Format> {
        Self::ALL.iter().copied().find(|format| format.name() == name)
    }
}

/// Reads the file called `name` that holds `bytes`, in the format that they show.
///
/// ```
/// let log = b"PING ::1(::1) 56 data bytes\n64 bytes from ::1: icmp_seq=1 ttl=64 time=0.05 ms\n";
/// let reading = netspurt::delays::read("a.txt", log).unwrap();
/// let probe = reading.recordings[0].probes[0];
/// assert_eq!((probe.number, probe.wire_bytes), (1, 104));
/// ```
///
/// # Errors
/// When the file is empty, of no format that is known, or without a single delay.
pub fn read(name: &str, bytes: &[u8]) -> Result<Reading, ReadError> {
    read_as(name, bytes, &Hints::default())
}

/// Reads the file called `name` that holds `bytes`, as `hints` say.
///
/// # Errors
/// As [`read`], and when the hints name columns that are not there.
pub fn read_as(name: &str, bytes: &[u8], hints: &Hints) -> Result<Reading, ReadError> {
    attempt(name, bytes, hints).map_err(|error| ReadError { file: name.into(), ..error })
}

fn attempt(name: &str, bytes: &[u8], hints: &Hints) -> Result<Reading, ReadError> {
    let content = text::decode(bytes);
    if content.trim().is_empty() {
        return Err(ReadError::new("the file is empty", "record something first"));
    }
    let format = match hints.format {
        Some(format) => format,
        None => detect(&content).ok_or_else(|| alien(&content))?,
    };
    let mut reading = match format {
        Format::Ping => ping::parse(name, &content, hints)?,
        Format::WindowsPing => windows::parse(name, &content, hints)?,
        Format::Fping => fping::parse(name, &content, hints)?,
    };
    reading.recordings.retain(|one| one.sent() > 0);
    let told = |one: &Delays| one.untimed == 0 || one.received() > one.untimed;
    if !reading.recordings.iter().any(told) {
        return Err(hollow(&reading, format));
    }
    number(&mut reading);
    Ok(reading)
}

/// The format of a text, by its first line that only one tool writes.
fn detect(content: &str) -> Option<Format> {
    text::lines(content).find_map(|(_, line)| {
        if ping::knows(line) {
            return Some(Format::Ping);
        }
        if fping::knows(line) {
            return Some(Format::Fping);
        }
        windows::knows(line).then_some(Format::WindowsPing)
    })
}

/// The error of a file that looks like nothing known.
fn alien(content: &str) -> ReadError {
    let (line, first) = text::lines(content).find(|(_, line)| !line.is_empty()).unwrap_or((1, ""));
    let shown: String = first.chars().take(60).collect();
    let names: Vec<&str> = Format::ALL.iter().map(|format| format.name()).collect();
    ReadError::new(
        format!("no recording of delays that is known here; it begins with `{shown}`"),
        format!("looked for {}; name the format if it is one of these", names.join(", ")),
    )
    .at(line)
}

/// The error of a file without delays.
fn hollow(reading: &Reading, format: Format) -> ReadError {
    if let Some(first) = reading.recordings.first() {
        return ReadError::new(
            format!("{}: only a summary, no delay of a single probe", first.format),
            "record with a line for each probe",
        );
    }
    let message = format!("read as {}, and no probe found", format.name());
    match reading.malformed.first() {
        Some(first) => ReadError::new(message, format!("first: {} (`{}`)", first.why, first.text))
            .at(first.line),
        None => ReadError::new(message, "is it whole?"),
    }
}

/// Tells recordings of one name apart.
fn number(reading: &mut Reading) {
    let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
    for one in &reading.recordings {
        counts.entry(one.name.clone()).or_default().0 += 1;
    }
    for one in &mut reading.recordings {
        let (all, so_far) = counts.get_mut(&one.name).expect("counted");
        *so_far += 1;
        if *all > 1 {
            one.name = format!("{} ({so_far})", one.name);
        }
    }
}
