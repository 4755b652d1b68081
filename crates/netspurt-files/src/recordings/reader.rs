//! Recognises the format of a file from its contents, and reads the file.

use std::collections::HashMap;

use netspurt::delays::Delays;
use netspurt::units::Duration;
use netspurt::unpack::Packing;
use netspurt::wire::is_capture;

use super::format::Format;
use super::reading::{Columns, Hints, Malformed, Reading, RecordingError, counted};
use super::text::names_loopback;
use super::unpack::{CONTENT_BYTES_MAX, too_long, unpack};
use super::{
    fping, irtt_text, json, json_reader, mtr, nping, opportunities, parquet, pcap, ping,
    pingplotter, ss, table, tcping, text, windows,
};

/// Reads the recordings of a file with the name `name` and the contents `bytes`. The format is
/// recognised from the contents.
///
/// ```
/// let log = b"PING ::1(::1) 56 data bytes\n64 bytes from ::1: icmp_seq=1 ttl=64 time=0.05 ms\n";
/// let reading = netspurt_files::recordings::read("a.txt", log).unwrap();
/// let probe = reading.recordings[0].probes[0];
/// assert_eq!((probe.number, probe.wire_bytes), (1, 104));
/// ```
///
/// # Errors
/// When the file is empty, too large or damaged, has no known format, has no probe that can be
/// read, or has only a summary. Also when more probes are missing than the limit allows, or when
/// the order of day and month in a date is unclear.
pub fn read(name: &str, bytes: &[u8]) -> Result<Reading, RecordingError> {
    read_as(name, bytes, &Hints::default())
}

/// Reads the recordings of a file with the name `name` and the contents `bytes`. The `hints` say
/// how to read the file.
///
/// # Errors
/// For the same reasons as [`read`], and when the hints do not fit the file.
pub fn read_as(name: &str, bytes: &[u8], hints: &Hints) -> Result<Reading, RecordingError> {
    attempt(name, bytes, hints).map_err(|error| RecordingError { file: name.into(), ..error })
}

fn attempt(name: &str, bytes: &[u8], hints: &Hints) -> Result<Reading, RecordingError> {
    let unpacked = unpack(bytes, CONTENT_BYTES_MAX)?;
    let bytes = unpacked.as_ref().map_or(bytes, |contents| &contents.octets);
    if let Some(packing) = Packing::unknown(bytes).filter(|_| hints.format.is_none()) {
        let what = format!("compressed with {packing}");
        return Err(RecordingError::new(what, "decompress the file first"));
    }
    let (format, mut reading) = dispatch(name, bytes, hints)?;
    if hints.interval.is_some() {
        let without = dispatch(name, bytes, &Hints { interval: None, ..hints.clone() });
        if without.is_ok_and(|(_, other)| other == reading) {
            let message = "`--interval` changes nothing: the file has its own times of sending";
            return Err(RecordingError::new(message, "omit `--interval`"));
        }
    }
    if let Some(fault) = unpacked.as_ref().and_then(|contents| contents.fault.as_ref()) {
        reading.malformed.push(Malformed::new(1, "", format!("compressed file: {fault}")));
    }
    if hints.columns != Columns::default() && !matches!(format, Format::Table | Format::Parquet) {
        return Err(RecordingError::new(
            format!("`--column` describes tables, and the file was read as {}", format.name()),
            "omit `--column`; if the file is a table, add `--format csv`",
        ));
    }
    reading.recordings.retain(|recording| recording.sent() > 0);
    let has_delays =
        |recording: &Delays| recording.untimed == 0 || recording.received() > recording.untimed;
    if !reading.recordings.iter().any(has_delays) {
        return Err(without_delays(&reading, format));
    }
    number(&mut reading);
    reading.recordings.iter_mut().for_each(note_zeros);
    for recording in &mut reading.recordings {
        // In a file with several recordings, their names have the addresses.
        let own = recording.name.strip_prefix(name).unwrap_or_default();
        recording.loopback |= names_loopback(own);
    }
    Ok(reading)
}

/// Notes how many delays are 0. No packet arrives without a delay. So the tool has rounded these
/// delays, or a capture was taken beside the host that answers.
fn note_zeros(recording: &mut Delays) {
    let zeros = recording.probes.iter().filter(|one| one.rtt == Some(Duration::ZERO)).count();
    if zeros > 0 {
        let delays_are = counted(zeros as u64, ["delay is", "delays are"]);
        recording.notes.push(format!(
            "{delays_are} 0, because the recording has a coarse resolution or was made beside \
             the host that answers; a delay of 0 counts as an answer without delay"
        ));
    }
}

/// Reads the contents in the format that the hints name. If no hint names the format, the contents
/// show the format.
fn dispatch(name: &str, bytes: &[u8], hints: &Hints) -> Result<(Format, Reading), RecordingError> {
    let binary = match hints.format {
        Some(format) => Some(format),
        None if bytes.starts_with(b"PAR1") => Some(Format::Parquet),
        None if is_capture(bytes) => Some(Format::Pcap),
        None => None,
    };
    match binary {
        Some(Format::Parquet) => return Ok((Format::Parquet, parquet::parse(name, bytes, hints)?)),
        Some(Format::Pcap) => return Ok((Format::Pcap, pcap::parse(name, bytes, hints)?)),
        _ => {}
    }
    if bytes.len() as u64 > CONTENT_BYTES_MAX {
        return Err(too_long("the text has", CONTENT_BYTES_MAX, "split it into several files"));
    }
    bounded(bytes)?;
    let content = text::decode(bytes);
    if content.trim().is_empty() {
        return Err(RecordingError::new("the file is empty", "record something first"));
    }
    if json::looks(&content) && content.len() as u64 > JSON_BYTES_MAX {
        return Err(too_long("the JSON has", JSON_BYTES_MAX, "split it into several files"));
    }
    if hints.format.is_none() && json::looks(&content) {
        return json_reader::parse(name, &content, hints);
    }
    let unexplained = hints.format.is_none() && hints.columns == Columns::default();
    if unexplained && opportunities::knows(&content) {
        return Err(opportunities::refusal());
    }
    if unexplained && mtr::is_report(&content) {
        return Err(mtr::refusal());
    }
    let format = match hints.format {
        Some(format) => format,
        None => detect(&content, hints).ok_or_else(|| unknown_format(&content))?,
    };
    let reading = match format {
        Format::Ping => ping::parse(name, &content, hints)?,
        Format::WindowsPing => windows::parse(name, &content, hints)?,
        Format::Fping => fping::parse(name, &content, hints)?,
        Format::IrttText => irtt_text::parse(name, &content, hints)?,
        Format::Nping => nping::parse(name, &content, hints)?,
        Format::Mtr => mtr::parse(name, &content, hints)?,
        Format::Tcping => tcping::parse(name, &content, hints)?,
        Format::Ss => ss::parse(name, &content, hints)?,
        Format::PingPlotter => pingplotter::parse(name, &content, hints)?,
        Format::Table => table::parse(name, &content, hints)?,
        _ => return json_reader::parse(name, &content, hints),
    };
    Ok((format, reading))
}

/// The maximum number of lines of a text. A log with one probe a second has about this number of
/// lines after half a year. A line takes about 100 octets of memory at most.
const LINES_MAX: usize = 1 << 24;

/// The maximum number of octets of JSON. Its values take several times as much memory.
const JSON_BYTES_MAX: u64 = 1 << 28;

/// Checks that a text has at most [`LINES_MAX`] lines.
///
/// # Errors
/// When the text has more than [`LINES_MAX`] lines.
fn bounded(bytes: &[u8]) -> Result<(), RecordingError> {
    let ends = bytes.iter().filter(|octet| matches!(octet, b'\n' | b'\r'));
    // The iterator `ends` has the octets that end lines. A line that ends with CR LF counts twice
    // there. So if there are more of these octets than the limit allows, the lines themselves are
    // counted.
    if ends.count() <= LINES_MAX || text::lines(&text::decode(bytes)).count() <= LINES_MAX {
        return Ok(());
    }
    Err(RecordingError::new(
        format!("the text has more than {LINES_MAX} lines, and netspurt reads no more than that"),
        "split it into several files",
    ))
}

/// Recognises the format of a text, usually by the first line that only one tool writes.
fn detect(content: &str, hints: &Hints) -> Option<Format> {
    if pingplotter::knows(content) {
        return Some(Format::PingPlotter);
    }
    let known = text::lines(content).find_map(|(_, line)| {
        if has_only_numbers(line) {
            None
        } else if nping::knows(line) {
            Some(Format::Nping)
        } else if mtr::knows(line) {
            Some(Format::Mtr)
        } else if tcping::knows(line) {
            Some(Format::Tcping)
        } else if irtt_text::knows(line) {
            Some(Format::IrttText)
        } else if ping::knows(line) {
            Some(Format::Ping)
        } else if fping::knows(line) {
            Some(Format::Fping)
        } else if ss::knows(line) {
            Some(Format::Ss)
        } else {
            windows::knows(line).then_some(Format::WindowsPing)
        }
    });
    let columns_given = hints.columns != Columns::default();
    known.or_else(|| (columns_given || table::knows(content, hints)).then_some(Format::Table))
}

/// Whether a line has only numbers and marks that divide the cells of a table. Such a line does not
/// show which tool wrote it. Many tables have only such lines.
fn has_only_numbers(line: &str) -> bool {
    line.bytes()
        .all(|octet| matches!(octet, b'0'..=b'9' | b'.' | b',' | b';' | b'\t' | b' ' | b'-'))
}

/// The message about a file of unknown format.
const UNKNOWN_FORMAT: &str = "not a known format of recorded delays";

/// The number of characters at the beginning of a file that show whether it is a text.
const DETECTION_CHARS: usize = 1 << 10;

/// Returns the error for a file of unknown format.
fn unknown_format(content: &str) -> RecordingError {
    let (line, first) = text::lines(content).find(|(_, line)| !line.is_empty()).unwrap_or((1, ""));
    let is_text =
        |one: char| one == '\t' || !one.is_control() && one != char::REPLACEMENT_CHARACTER;
    if !content.chars().take(DETECTION_CHARS).all(|one| is_text(one) || matches!(one, '\n' | '\r'))
    {
        return RecordingError::new(
            format!("{UNKNOWN_FORMAT}; it is not a text file"),
            Format::hint(),
        );
    }
    let shown: String = first.chars().take(30).collect();
    if let Some(names) = table::names(content) {
        let (names, count) = (names.join(", "), names.len());
        return RecordingError::new(
            format!("{UNKNOWN_FORMAT}; if it is a table, its columns are {names}"),
            format!(
                "`--column rtt=NAME` names the column that has the delays; NAME may also be the \
                 column's number, from 1 to {count}; if the delays are in seconds and not \
                 milliseconds, add `--column unit=s`"
            ),
        )
        .at(line);
    }
    let more = if shown.len() < first.len() { "..." } else { "" };
    RecordingError::new(format!("{UNKNOWN_FORMAT}; it begins with `{shown}{more}`"), Format::hint())
        .at(line)
}

/// Returns the error for a file without probes or with only a summary.
fn without_delays(reading: &Reading, format: Format) -> RecordingError {
    if let Some(first) = reading.recordings.first() {
        return RecordingError::new(
            format!("{}: only a summary, without the delays of the probes", first.format),
            "record with a line for each probe",
        );
    }
    let message = format!("read as {}: no probe found", format.name());
    match reading.malformed.first() {
        Some(first) => RecordingError::new(
            message,
            format!("the first malformed line: {} (`{}`)", first.why, first.text),
        )
        .at(first.line),
        None => RecordingError::new(message, "is the file complete?"),
    }
}

/// Numbers recordings that have the same name.
fn number(reading: &mut Reading) {
    let mut counts: HashMap<String, (usize, usize)> = HashMap::new();
    for one in &reading.recordings {
        counts.entry(one.name.clone()).or_default().0 += 1;
    }
    for one in &mut reading.recordings {
        let (all, so_far) = counts.get_mut(&one.name).expect("all names were counted");
        *so_far += 1;
        if *all > 1 {
            one.name = format!("{} ({so_far})", one.name);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_reader_recognises_a_line_that_has_only_numbers(line in "[0-9.,;\\t -]{0,40}") {
            prop_assert!(has_only_numbers(&line));
            prop_assert!(!nping::knows(&line) && !mtr::knows(&line) && !tcping::knows(&line));
            prop_assert!(!irtt_text::knows(&line) && !ping::knows(&line));
            prop_assert!(!fping::knows(&line) && !ss::knows(&line) && !windows::knows(&line));
        }
    }
}
