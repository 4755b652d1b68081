//! Reads iperf3's JSON (`--json`), which gives the kernel's smoothed round-trip time in each
//! interval.

use indexmap::IndexMap;
use netspurt::units::Duration;

use super::json::{Item, float, label, whole};
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::smoothed::{Report, series};
use super::text::{MICROSECOND, SECOND};

/// Reads the tests of iperf3 from the JSON values `items` of a file. Adds a recording to `reading`
/// for each stream that has round-trip times.
///
/// # Errors
/// When a test has no interval with a round-trip time.
pub(super) fn parse(
    name: &str,
    items: &[Item],
    hints: &Hints,
    reading: &mut Reading,
) -> Result<(), RecordingError> {
    for (line, item) in items {
        let Some(intervals) = item["intervals"].as_array() else {
            reading.malformed.push(Malformed::new(*line, &label(item), "no `intervals`"));
            continue;
        };
        let mut sockets: IndexMap<String, Vec<Report>> = IndexMap::new();
        let streams = intervals.iter().flat_map(|interval| interval["streams"].as_array());
        for stream in streams.flatten() {
            // Only the sender of a stream reports a round-trip time.
            let Some(rtt) = stream.get("rtt") else { continue };
            let Some(us) = whole(rtt) else {
                let why = "`rtt` of an interval is not a number";
                reading.malformed.push(Malformed::new(*line, &label(rtt), why));
                continue;
            };
            #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
            let at_ns = float(&stream["end"]).map(|s| (s * SECOND as f64) as i64);
            let srtt = Some(Duration::from_nanos(us.saturating_mul(MICROSECOND)));
            let report = Report { at_ns, srtt: srtt.filter(|_| us > 0), min_rtt: None };
            sockets.entry(label(&stream["socket"])).or_default().push(report);
        }
        if sockets.is_empty() {
            return Err(RecordingError::new(
                "iperf3's JSON has no round-trip time: only a TCP sender reports one, and not on \
                 every system",
                "use the JSON of the sender",
            ));
        }
        for (socket, mut reports) in sockets {
            let ends = item["end"]["streams"].as_array().into_iter().flatten();
            let mut sender = ends.map(|end| &end["sender"]);
            let sender = sender.find(|sender| label(&sender["socket"]) == socket);
            let min_rtt_us =
                sender.and_then(|sender| whole(&sender["min_rtt"])).filter(|us| *us > 0);
            if let (Some(us), Some(last)) = (min_rtt_us, reports.last_mut()) {
                last.min_rtt = Some(Duration::from_nanos(us.saturating_mul(MICROSECOND)));
            }
            let name = format!("{name}: socket {socket}");
            reading.recordings.push(series(name, "iperf3", &reports, hints.interval));
        }
    }
    Ok(())
}
