//! Reads the output of programs that time the opening of TCP connections: tcping by several
//! authors, httping, paping and psping.

use netspurt::delays::Delays;
use netspurt::units::Duration;

use super::ping::Paced;
use super::reading::{Hints, Malformed, Reading, RecordingError, left_out};
use super::tally::Tally;
use super::text::{MILLISECOND, decimal, integer, lines};

/// The meaning of a line of a program that times the opening of connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ConnectLine {
    /// A connection was opened. The values are the probe's number, if the line has a number, and
    /// the delay.
    Opened(Option<u64>, Duration),
    /// No answer came. The value is the probe's number, if the line has a number.
    Failed(Option<u64>),
    /// The port is closed: an answer came, but no connection was opened. The value is the probe's
    /// number, if the line has a number.
    Refused(Option<u64>),
    /// The number of probes that the statistics count.
    Statistics(u64),
    Ordinary,
    Broken,
    Foreign,
}

/// The beginnings of lines about connections.
const CONNECTED: [&str; 4] = ["Connected to ", "connected to ", "Ping tcp://", "Probing "];

/// The beginnings of httping's lines about connections that were not opened.
const FAILURES: [&str; 4] = [
    "connect time out",
    "problem connecting to host",
    "timeout while receiving reply",
    "could not connect",
];

/// Parts of lines about connections that were not opened.
const FAILED: [&str; 6] =
    ["No response", "no response", "No reply from", "timed out", "timeout", "could not connect"];

fn read(line: &str) -> ConnectLine {
    let text = line.trim();
    let replied = text.starts_with("Reply from ") && text.contains(" on port ");
    let numbered = text.starts_with("seq ") && text.contains("tcp response");
    let probed = text.starts_with("Connecting to ") && text.contains(": from ");
    let begins = CONNECTED.iter().any(|start| text.starts_with(start));
    let failed = FAILED.iter().any(|part| text.contains(part));
    let named = text.starts_with("seq ") || text.starts_with("No reply from ");
    let about = begins || text.starts_with("Connecting to ") || named;
    let refused = ["refused", "Port is closed", "[closed]"].iter().any(|part| text.contains(part));
    if FAILURES.iter().any(|start| text.starts_with(start)) && !refused {
        return ConnectLine::Failed(number(text));
    }
    // Titles such as `Connecting to 8.8.8.8 on TCP 443:` begin like lines about probes. So a line
    // about a failed probe must also have words about the failure.
    if failed && (about || text == "Connection timed out") {
        return ConnectLine::Failed(number(text));
    }
    if refused {
        return ConnectLine::Refused(number(text));
    }
    if let Some((count, rest)) = integer(text)
        && rest.starts_with(" connects, ")
    {
        return ConnectLine::Statistics(count);
    }
    if replied
        || numbered
        || probed
        || begins && ["time", "connected"].iter().any(|w| text.contains(w))
    {
        return delay(text)
            .map_or(ConnectLine::Broken, |rtt| ConnectLine::Opened(number(text), rtt));
    }
    if is_ordinary(text) { ConnectLine::Ordinary } else { ConnectLine::Foreign }
}

/// The number of a probe: `seq=1`, `seq 1:` or `TCP_conn=1`.
fn number(text: &str) -> Option<u64> {
    let after = ["seq=", "TCP_conn=", "seq "].iter().find_map(|key| text.split_once(key));
    Some(integer(after?.1)?.0)
}

/// Reads the delay, in milliseconds: the number after `time=`, or else the last number of the line.
fn delay(text: &str) -> Option<Duration> {
    let value = match text.split_once("time=") {
        Some((_, value)) => value.trim_start(),
        None => {
            let before = text.strip_suffix("ms")?.trim_end();
            &before[before.rfind(' ')? + 1..]
        }
    };
    let (ns, rest) = decimal(value, MILLISECOND)?;
    let complete = rest.is_empty() || rest.trim_start().starts_with("ms");
    complete.then(|| u64::try_from(ns).ok().map(Duration::from_nanos)).flatten()
}

fn is_ordinary(text: &str) -> bool {
    const PARTS: [&str; 12] = [
        "--- ",
        "statistics",
        " sent,",
        "probes",
        "inimum",
        "aximum",
        "min/avg/max",
        "approximate",
        "pproximate",
        "successful",
        "TCPing",
        "attempts",
    ];
    const STARTS: [&str; 6] = ["PING ", "TCPinging", "Pinging", "Was ", "Ping ", "Connecting to "];
    text.is_empty()
        || PARTS.iter().any(|part| text.contains(part))
        || STARTS.iter().any(|start| text.starts_with(start))
}

/// Whether the line is httping's title, or a line about an opened connection.
pub(super) fn knows(line: &str) -> bool {
    // httping's title resembles ping's: `PING a.example:80 (/):`
    let title = line.starts_with("PING ") && line.contains(" (/");
    title || matches!(read(line), ConnectLine::Opened(..))
}

/// Reads the connections of `text`.
///
/// # Errors
/// When more than 4,194,304 (`MISSING_MAX`) probes are missing.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<Reading, RecordingError> {
    let mut reading = Reading::default();
    let mut tally = Tally::default();
    let (mut next, mut refused, mut counted) = (0, 0_u64, 0);
    for (line_number, line) in lines(text) {
        match read(line) {
            ConnectLine::Opened(number, rtt) => {
                let place = number.unwrap_or(next);
                tally.reply(place, Some(rtt), 0);
                next = place.saturating_add(1);
            }
            ConnectLine::Failed(number) => {
                let place = number.unwrap_or(next);
                tally.sent(place).given_up = true;
                next = place.saturating_add(1);
            }
            ConnectLine::Refused(number) => {
                let place = number.unwrap_or(next);
                tally.leave_out(place);
                refused += 1;
                next = place.saturating_add(1);
            }
            ConnectLine::Statistics(count) => counted = count,
            ConnectLine::Ordinary => {}
            ConnectLine::Broken => {
                reading.malformed.push(Malformed::new(line_number, line, "no delay in the line"));
            }
            ConnectLine::Foreign => {
                let why = "not a line that programs like tcping write";
                reading.malformed.push(Malformed::new(line_number, line, why));
            }
        }
    }
    let mut delays = Delays::new(name, "connects (tcping)");
    let interval = hints.interval.unwrap_or(Duration::from_secs(1));
    delays.notes.push(Paced::of(hints.interval.is_some(), "tcping").note(interval));
    delays.notes.push(
        "delays of opening a connection: the kernel retransmits a lost SYN, so a loss may show as \
         a delay of a second or more"
            .into(),
    );
    if refused > 0 {
        let words = ["refused connection", "refused connections"];
        delays.notes.push(left_out(refused, words));
    }
    let range = range(&tally, next, counted, &mut delays.notes);
    tally.finish(&mut delays, range, Some(interval))?;
    reading.recordings.push(delays);
    Ok(reading)
}

/// Returns the first and the last number of the probes. The number of the last probe with a line is
/// one less than `next`. `counted` is the number of probes in the statistics. It is 0 if the text
/// has no statistics.
fn range(tally: &Tally, next: u64, counted: u64, notes: &mut Vec<String>) -> Option<(u64, u64)> {
    let first = tally.ends().map_or(0, |(first, _)| first);
    let shown = next.saturating_sub(first);
    if counted <= shown {
        return tally.ends();
    }
    notes.push(format!(
        "the statistics count {counted} probes, and the other lines show {shown}: probes without a \
         line were added at the end, as lost"
    ));
    Some((first, first.saturating_add(counted - 1)))
}
