//! Reads irtt's JSON (`irtt client -o`).

use std::collections::HashMap;

use netspurt::delays::Began;
use netspurt::delays::{Delays, HalfDelays};
use netspurt::units::Duration;

use super::json::{Item, label, whole};
use super::reading::{Hints, Malformed, Reading, RecordingError, counted};
use super::tally::Tally;
use super::text::names_loopback;

/// Reads the sessions of irtt from the JSON values `items` of a file. Adds a recording to `reading`
/// for each session.
///
/// # Errors
/// When more than 4,194,304 (`MISSING_MAX`) probes of a session are missing.
pub(super) fn parse(
    name: &str,
    items: &[Item],
    hints: &Hints,
    reading: &mut Reading,
) -> Result<(), RecordingError> {
    for (line, item) in items {
        let Some(trips) = item["round_trips"].as_array() else {
            reading.malformed.push(Malformed::new(*line, &label(item), "no `round_trips`"));
            continue;
        };
        let config = &item["config"];
        let header = if config["ip_version"] == "IPv6" { 48 } else { 28 };
        let length = whole(&config["params"]["length"]).and_then(|bytes| u32::try_from(bytes).ok());
        let wire_bytes = length.map_or(0, |bytes| bytes.saturating_add(header));
        let mut tally = Tally::default();
        let mut one_way: HashMap<u64, HalfDelays> = HashMap::new();
        for (place, trip) in (1..).zip(trips) {
            let Some(number) = whole(&trip["seqno"]) else {
                let text = label(trip);
                reading.malformed.push(Malformed::new(
                    place,
                    &text,
                    "a round trip without `seqno`",
                ));
                continue;
            };
            // The values `true`, `true_up` and `true_down` mean that the probe was lost. The values
            // `true_up` and `true_down` also give the direction of the loss; irtt writes them if
            // the server reports the direction.
            let answered = match &*label(&trip["lost"]) {
                "false" => true,
                "true" | "true_up" | "true_down" => false,
                _ => {
                    let why = "`lost` is none of `false`, `true`, `true_up` and `true_down`";
                    reading.malformed.push(Malformed::new(place, &label(trip), why));
                    continue;
                }
            };
            let send = &trip["timestamps"]["client"]["send"];
            let sent = send["monotonic"].as_i64().or_else(|| send["wall"].as_i64());
            if answered {
                let rtt = whole(&trip["delay"]["rtt"]).map(Duration::from_nanos);
                tally.reply(number, rtt, wire_bytes);
            }
            tally.sent(number).set_sent(sent);
            one_way.entry(number).or_insert_with(|| half_delays(trip));
        }
        let mut delays = Delays::new(name, "irtt");
        let remote = label(&config["remote_address"]);
        delays.loopback = remote.rsplit_once(':').is_some_and(|(host, _)| names_loopback(host));
        let stats = &item["stats"];
        let count = whole(&stats["packets_sent"]).unwrap_or(0);
        let range = tally.ends().map(|(_, last)| (0, last.max(count.saturating_sub(1))));
        let interval = whole(&config["params"]["interval"]).map(Duration::from_nanos);
        tally.finish(&mut delays, range, hints.interval.or(interval))?;
        if one_way.values().any(|half_delay| *half_delay != HalfDelays::Unknown) {
            let half_delay = |number| one_way.get(&number).copied().unwrap_or(HalfDelays::Unknown);
            delays.one_way = delays.probes.iter().map(|probe| half_delay(probe.number)).collect();
        }
        let first = delays.probes.first().map(|probe| probe.number);
        let wall = trips.iter().find(|trip| whole(&trip["seqno"]) == first && first.is_some());
        let wall = wall.and_then(|trip| trip["timestamps"]["client"]["send"]["wall"].as_i64());
        delays.began = wall.and_then(|wall| Began::of(wall, false));
        delays.duplicates = whole(&stats["duplicates"]).unwrap_or(0);
        remark(&mut delays, stats);
        reading.recordings.push(delays);
    }
    Ok(())
}

/// Returns the delay of the request of a round trip, or the direction in which the probe was lost.
/// `Unknown` if the file has neither of them. The file has the delay of a request only if the
/// server stamps the requests that it receives.
fn half_delays(trip: &serde_json::Value) -> HalfDelays {
    match &*label(&trip["lost"]) {
        "true_up" => HalfDelays::RequestLost,
        "true_down" => HalfDelays::ReplyLost,
        "false" => trip["delay"]["send"].as_i64().map_or(HalfDelays::Unknown, HalfDelays::Forward),
        _ => HalfDelays::Unknown,
    }
}

fn remark(delays: &mut Delays, stats: &serde_json::Value) {
    let counts = (whole(&stats["packets_sent"]), whole(&stats["packets_received"]));
    let read = (delays.sent(), delays.received());
    if let (Some(sent), Some(received)) = counts {
        // irtt counts duplicates as received.
        let first = received.saturating_sub(delays.duplicates);
        if (sent, first) != read {
            delays.notes.push(format!(
                "irtt's statistics count {sent} probes sent and {first} received, but its list of \
                 round trips has {} probes and {} answers",
                read.0, read.1
            ));
        }
    }
    let late = whole(&stats["late_packets"]).unwrap_or(0);
    if late > 0 {
        let replies = counted(late, ["reply", "replies"]);
        delays.notes.push(format!("received, but out of order: {replies}, which irtt calls late"));
    }
}
