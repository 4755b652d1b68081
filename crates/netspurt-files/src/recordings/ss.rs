//! Reads logs of `ss -tin`. Each call of `ss` writes a snapshot of the connections. A snapshot of a
//! connection has the kernel's smoothed round-trip time if the kernel already had a sample.

use indexmap::IndexMap;
use netspurt::units::Duration;

use super::instant::instant;
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::smoothed::{Report, series};
use super::text::{MILLISECOND, SECOND, decimal, lines};

/// Whether the line has a form that `ss -i` writes.
pub(super) fn knows(line: &str) -> bool {
    line.contains(" rto:") && (line.contains(" rtt:") || line.contains("cwnd:"))
}

/// Reads the value of a field in milliseconds, such as 3.5 ms in `rtt:3.5/7`.
fn field(line: &str, key: &str) -> Option<Duration> {
    let text = line.split_whitespace().find_map(|word| word.strip_prefix(key))?;
    let (ns, _) = decimal(text, MILLISECOND)?;
    u64::try_from(ns).ok().map(Duration::from_nanos)
}

/// Reads the time of the next snapshot from a line that `date +%s.%N` or `date -Is` wrote.
fn stamp(line: &str) -> Option<i64> {
    let line = line.trim();
    if let Some((ns, _)) = instant(line) {
        return Some(ns);
    }
    let (ns, rest) = decimal(line, SECOND)?;
    (rest.is_empty() && ns > 100_000_000 * SECOND.cast_signed()).then_some(ns)
}

/// Reads the connections of a log. The two addresses in a line of details, or in the line before
/// it, name the connection.
///
/// # Errors
/// When there is no round-trip time.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<Reading, RecordingError> {
    let mut connections: IndexMap<String, Vec<Report>> = IndexMap::new();
    let (mut connection, mut at_ns) = (String::new(), None);
    let mut reading = Reading::default();
    for (number, line) in lines(text) {
        if let Some(ns) = stamp(line) {
            at_ns = Some(ns);
            continue;
        }
        // The two addresses are words with a port. They are in the line of details or in the line
        // before it.
        let ports = line.split_whitespace().filter(|word| {
            let port = word.rsplit_once(':').map_or("", |(_, port)| port);
            word.contains(['.', ']', '[']) && port.parse::<u16>().is_ok()
        });
        let ports: Vec<&str> = ports.take(2).collect();
        if ports.len() == 2 {
            connection = ports.join(" to ");
        }
        if line.contains(" rto:") || line.contains(" cwnd:") {
            let (srtt, min_rtt) = (field(line, "rtt:"), field(line, "minrtt:"));
            if srtt.is_none() {
                let why = "a snapshot without `rtt:`, taken before the first sample or cut off";
                reading.malformed.push(Malformed::new(number, line, why));
                continue;
            }
            connections.entry(connection.clone()).or_default().push(Report {
                at_ns,
                srtt,
                min_rtt,
            });
        }
    }
    for (connection, reports) in connections {
        let name =
            if connection.is_empty() { name.into() } else { format!("{name}: {connection}") };
        reading.recordings.push(series(name, "ss (tcp_info)", &reports, hints.interval));
    }
    if reading.recordings.is_empty() {
        return Err(RecordingError::new("the log of ss has no `rtt:`", "record with `ss -tin`"));
    }
    Ok(reading)
}
