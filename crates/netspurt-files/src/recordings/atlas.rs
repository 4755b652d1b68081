//! Reads results of RIPE Atlas: ping and traceroute.

use indexmap::IndexMap;
use netspurt::delays::Began;
use netspurt::delays::{Delays, Probe, SendTimeSource};
use netspurt::units::{Duration, Time};
use serde_json::Value;

use super::json::{Item, float, label, whole};
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::tally::MISSING_MAX;
use super::text::{MILLISECOND, SECOND, float_span};

/// The results of one measurement by one Atlas probe (a device) to one address. For traceroute, the
/// results of one hop.
#[derive(Debug)]
struct AtlasPath {
    delays: Delays,
    /// When the first result began, in seconds since 1970.
    start: u64,
    /// The number of bursts. A burst is all probes of one result. For traceroute, it is all probes
    /// of one hop in one result.
    bursts: u64,
    /// The number of bursts whose entries contradict the counts of the result.
    contradictions: u64,
}

/// Reads the results of RIPE Atlas from the JSON values `items` of a file. Adds a recording to
/// `reading` for each device and address, or for each hop of a traceroute.
///
/// # Errors
/// When a result of ping says that more than [`MISSING_MAX`] probes were sent.
pub(super) fn parse(
    name: &str,
    items: &[Item],
    hints: &Hints,
    reading: &mut Reading,
) -> Result<(), RecordingError> {
    let mut paths: IndexMap<String, AtlasPath> = IndexMap::new();
    let interval = hints.interval.unwrap_or(Duration::from_secs(1));
    for (line, item) in items {
        let target = ["dst_addr", "addr", "dst_name", "name"];
        let target = target.iter().map(|key| label(&item[*key])).find(|text| !text.is_empty());
        let key = format!(
            "{name}: measurement {}, probe {}, {}",
            label(&item["msm_id"]),
            label(&item["prb_id"]),
            target.unwrap_or_default()
        );
        let path = |key: String| {
            let start = whole(&item["timestamp"]).unwrap_or(0);
            let mut delays = Delays::new(key, "RIPE Atlas");
            delays.send_times = SendTimeSource::Recorded;
            let unix_ns = start.saturating_mul(SECOND);
            delays.began =
                i64::try_from(unix_ns).ok().and_then(|unix_ns| Began::of(unix_ns, false));
            AtlasPath { delays, start, bursts: 0, contradictions: 0 }
        };
        if item["type"] == "ping" {
            let path = paths.entry(key.clone()).or_insert_with(|| path(key));
            ping(path, (*line, item), interval, &mut reading.malformed)?;
        } else if item["type"] == "traceroute" {
            for hop in item["result"].as_array().into_iter().flatten() {
                let key = format!("{key}, hop {}", label(&hop["hop"]));
                let path = paths.entry(key.clone()).or_insert_with(|| path(key));
                burst(path, (*line, item), hop, interval, &mut reading.malformed);
            }
        } else {
            reading.malformed.push(Malformed::new(
                *line,
                &label(item),
                "neither ping nor traceroute",
            ));
        }
    }
    for (_, path) in paths {
        reading.recordings.push(path.finish(interval));
    }
    Ok(())
}

/// Computes when the probe with the index `place` in a burst left. The time counts from the path's
/// first result. A result has one timestamp, in whole seconds, so the times within a burst follow
/// from `interval`.
fn sent(path: &AtlasPath, item: &Value, place: usize, interval: Duration) -> Time {
    let start = whole(&item["timestamp"]).unwrap_or(path.start).saturating_sub(path.start);
    let within = interval.as_nanos().saturating_mul(place as u64);
    let sent = Time::from_nanos(start.saturating_mul(SECOND).saturating_add(within));
    path.delays.probes.last().map_or(sent, |last| sent.max(last.sent))
}

/// Adds the probes of a burst of ping, from its list of entries. If fewer probes are in the list
/// than were sent, the missing probes are added as lost. Each malformed entry and each late reply
/// without a delay stands for a missing probe, and that probe is not added. Old firmware may write
/// no entries. In that case, the replies are counted as answered probes whose delays were not
/// recorded.
fn ping(
    path: &mut AtlasPath,
    (line, item): (usize, &Value),
    interval: Duration,
    malformed: &mut Vec<Malformed>,
) -> Result<(), RecordingError> {
    let (before, duplicates) = (path.delays.probes.len(), path.delays.duplicates);
    let earlier = path.delays.untimed;
    let unknown = burst(path, (line, item), item, interval, malformed);
    let delays = &mut path.delays;
    let removed = delays.untimed - earlier;
    let answered =
        delays.probes[before..].iter().filter(|probe| probe.rtt.is_some()).count() as u64;
    let counts = (whole(&item["sent"]), whole(&item["rcvd"]));
    let (Some(sent), Some(received)) = counts else { return Ok(()) };
    if sent > MISSING_MAX {
        return Err(RecordingError::new(
            format!("a result says that {sent} probes were sent, more than {MISSING_MAX}"),
            "remove that result from the file",
        )
        .at(line));
    }
    if sent == 0 && answered == 0 {
        // All entries are errors that prevented the sending of a probe, so no probe counts.
        delays.probes.truncate(before);
    }
    let mut read = (delays.probes.len() - before) as u64;
    if read + removed == 0 && received > 0 {
        delays.untimed += received;
        read = received;
    } else if answered != received && answered + removed != received {
        path.contradictions += 1;
    }
    for place in read..sent.saturating_sub(unknown + removed) {
        let at = self::sent(path, item, usize::try_from(place).unwrap_or(0), interval);
        let number = path.delays.probes.len() as u64;
        path.delays.probes.push(Probe::lost(number, at));
    }
    // Old firmware counts duplicates, but does not list them.
    let counted = whole(&item["dup"]).unwrap_or(0);
    let listed = path.delays.duplicates - duplicates;
    path.delays.duplicates += counted.saturating_sub(listed);
    Ok(())
}

/// Adds the entries of the list that `holder` has under the key `result`. Each entry is a probe,
/// except late replies, duplicates and malformed entries. Returns the number of malformed entries.
fn burst(
    path: &mut AtlasPath,
    (line, item): (usize, &Value),
    holder: &Value,
    interval: Duration,
    malformed: &mut Vec<Malformed>,
) -> u64 {
    let mut unknown = 0;
    path.bursts += 1;
    let v6 = item["af"] == 6;
    // `size` counts the payload for both ping and traceroute.
    let payload = whole(&item["size"]).and_then(|bytes| u32::try_from(bytes).ok());
    let header = if v6 { 48 } else { 28 };
    let wire_bytes = payload.map_or(0, |bytes| bytes.saturating_add(header));
    let first = path.delays.probes.len();
    for (place, entry) in (1..).zip(holder["result"].as_array().into_iter().flatten()) {
        let failed = ["x", "error", "err"].iter().any(|key| entry.get(key).is_some());
        let rtt = float(&entry["rtt"]).and_then(|ms| float_span(ms, MILLISECOND));
        if let Some(late) = whole(&entry["late"]) {
            add_late_reply(&mut path.delays, first, late, rtt);
        } else if entry.get("dup").is_some_and(|dup| dup != 0 && dup != false) {
            path.delays.duplicates += 1;
        } else if rtt.is_some() || failed {
            let sent = sent(path, item, path.delays.probes.len() - first, interval);
            let number = path.delays.probes.len() as u64;
            let probe = Probe { number, sent, rtt, late: false, wire_bytes };
            path.delays.probes.push(probe);
        } else {
            unknown += 1;
            let why = format!("entry {place} is not a reply, a loss or an error");
            malformed.push(Malformed::new(line, &label(entry), why));
        }
    }
    unknown
}

/// Adds a late reply to the burst whose first probe has the index `first`. The reply belongs to the
/// probe that is `behind` positions before the end of the burst so far. If that probe does not
/// exist or has a reply, the late reply counts for the last probe without a reply. If all probes
/// have a reply, the late reply is a duplicate. A late reply without a delay removes its probe from
/// the burst.
fn add_late_reply(delays: &mut Delays, first: usize, behind: u64, rtt: Option<Duration>) {
    let probes = &mut delays.probes[first..];
    let expected = usize::try_from(behind).ok().and_then(|behind| probes.len().checked_sub(behind));
    let place = expected.filter(|place| probes.get(*place).is_some_and(|one| one.rtt.is_none()));
    let place = place.or_else(|| probes.iter().rposition(|probe| probe.rtt.is_none()));
    match (place, rtt) {
        (Some(place), Some(rtt)) => {
            probes[place].rtt = Some(rtt);
            probes[place].late = true;
        }
        (Some(place), None) => {
            delays.probes.remove(first + place);
            delays.untimed += 1;
        }
        (None, _) => delays.duplicates += 1,
    }
}

impl AtlasPath {
    fn finish(mut self, interval: Duration) -> Delays {
        let notes = &mut self.delays.notes;
        notes.push(format!(
            "results with timestamps in whole seconds: {}; times within a result are computed: one \
             probe every {interval}",
            self.bursts
        ));
        if self.delays.untimed > 0 {
            notes.push(format!("replies without a delay: {}", self.delays.untimed));
        }
        if self.contradictions > 0 {
            let count = self.contradictions;
            notes.push(format!(
                "{count} results have counts that differ from their lists of replies: the lists \
                 were used"
            ));
        }
        self.delays
    }
}
