//! Reads logs of Linux's `tcp_info`, as M-Lab's NDT7 and tcp-info write them.

use netspurt::units::Duration;
use serde_json::Value;

use super::instant::instant;
use super::json::{Item, float, label, whole};
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::smoothed::{Report, series};
use super::text::MICROSECOND;

/// The offset of `tcpi_rtt` in Linux's `struct tcp_info` (`linux/tcp.h`).
const RTT_AT: usize = 68;
/// The offset of `tcpi_min_rtt` in the same structure.
const MIN_RTT_AT: usize = 148;

/// The number of the inet_diag attribute that holds `struct tcp_info` (`INET_DIAG_INFO`).
const INFO: usize = 2;

/// Whether a value is a result of NDT7 or an entry of a tcp-info log.
pub(super) fn knows(value: &Value) -> bool {
    let has = |key: &str| value.get(key).is_some();
    let ndt = |way: &str| value[way].get("ServerMeasurements").is_some();
    ndt("Download") || ndt("Upload") || has("RawIDM") || has("Attributes") || has("TCPInfo")
}

/// Reads the results of NDT7 and the entries of tcp-info logs from the JSON values `items` of a
/// file. Adds their recordings to `reading`.
///
/// # Errors
/// Never. It returns a `Result` because the readers of all formats have the same signature.
pub(super) fn parse(
    name: &str,
    items: &[Item],
    hints: &Hints,
    reading: &mut Reading,
) -> Result<(), RecordingError> {
    let mut log = Vec::new();
    for (line, item) in items {
        let mut ndt = false;
        for way in ["Download", "Upload"] {
            let Some(rows) = item[way]["ServerMeasurements"].as_array() else { continue };
            ndt = true;
            let reports: Vec<Report> = rows.iter().filter_map(object).collect();
            if !reports.is_empty() {
                let name = format!("{name}: {}", way.to_lowercase());
                reading.recordings.push(series(name, "NDT7 (tcp_info)", &reports, hints.interval));
            }
        }
        if ndt {
            continue;
        }
        match raw(item).or_else(|| object(item)) {
            Some(report) => log.push(report),
            None if item.get("Metadata").is_some() => {}
            None => reading.malformed.push(Malformed::new(
                *line,
                &label(item),
                "not an entry with tcp_info",
            )),
        }
    }
    if !log.is_empty() {
        let log = series(name.to_owned(), "tcp_info log", &log, hints.interval);
        reading.recordings.push(log);
    }
    Ok(())
}

/// Reads a `tcp_info` with named fields. Its times are in microseconds. Its elapsed time counts
/// from the beginning of the connection.
fn object(item: &Value) -> Option<Report> {
    let info = item.get("TCPInfo").or_else(|| item.get("tcp_info")).unwrap_or(item);
    let field = |names: [&str; 3]| names.iter().find_map(|name| whole(&info[*name]));
    let span = |us: u64| Duration::from_nanos(us.saturating_mul(MICROSECOND));
    let rtt = field(["RTT", "rtt", "tcpi_rtt"])?;
    let elapsed = float(&info["ElapsedTime"]).or_else(|| float(&item["ElapsedTime"]));
    #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
    let elapsed = elapsed.map(|us| (us * 1e3) as i64);
    let stamp = item["Timestamp"].as_str().and_then(instant).map(|(ns, _)| ns);
    Some(Report {
        at_ns: stamp.or(elapsed),
        srtt: (rtt > 0).then(|| span(rtt)),
        // If all bits are set, nothing was measured yet.
        min_rtt: field(["MinRTT", "min_rtt", "tcpi_min_rtt"])
            .filter(|us| *us != u64::from(u32::MAX) && *us > 0)
            .map(span),
    })
}

/// Reads a `tcp_info` in the kernel's layout, written in base 64.
fn raw(item: &Value) -> Option<Report> {
    let info = base64(item["Attributes"].get(INFO)?.as_str()?)?;
    let field = |at: usize| {
        let bytes = info.get(at..)?.first_chunk::<4>()?;
        Some(u64::from(u32::from_le_bytes(*bytes)))
    };
    let span = |us: u64| Duration::from_nanos(us * MICROSECOND);
    let rtt = field(RTT_AT)?;
    let min_rtt_us = field(MIN_RTT_AT).filter(|us| *us != u64::from(u32::MAX) && *us > 0);
    let stamp = item["Timestamp"].as_str().and_then(instant).map(|(ns, _)| ns);
    Some(Report { at_ns: stamp, srtt: (rtt > 0).then(|| span(rtt)), min_rtt: min_rtt_us.map(span) })
}

/// Decodes a text in base 64 (RFC 4648 §4); `None` if a character is not of its alphabet.
fn base64(text: &str) -> Option<Vec<u8>> {
    let (mut bits, mut held) = (0_u32, 0);
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for letter in text.trim_end_matches('=').bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held & 0xff) as u8);
        }
    }
    Some(bytes)
}
