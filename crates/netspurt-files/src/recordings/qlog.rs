//! Reads qlog files of QUIC connections, as JSON and as JSON text sequences. Each `latest_rtt` of
//! `recovery:metrics_updated` is a sample.

use netspurt::delays::Began;
use netspurt::delays::{Delays, Measure, Probe, SendTimeSource};
use netspurt::units::{Duration, Time};
use serde_json::Value;

use super::instant::instant;
use super::json::{Item, float, label};
use super::reading::{Hints, Reading, RecordingError};
use super::text::{MICROSECOND, MILLISECOND, float_span};

/// The rounding of a delay changes the delay by less than this number of nanoseconds.
const ROUNDED_NS: i64 = 1000;

/// A trace of a qlog file: its properties, and the delays of its events so far.
#[derive(Debug, Default)]
struct Trace {
    name: String,
    /// The trace's unit of time in nanoseconds.
    unit: u64,
    /// Whether each event's time counts from the time of the event before it.
    delta: bool,
    /// The instant from which the times count, in nanoseconds since 1970. It is 0 if it is not
    /// known, or if the times count from 1970.
    start_ns: i64,
    /// The names of the fields, if each event is a list.
    fields: Vec<String>,
    /// The time of the last event, in the trace's unit.
    clock: f64,
    /// The samples. Each sample consists of an instant in the trace's unit and a delay.
    latest: Vec<(f64, Duration)>,
    /// The smoothed values, in the same form as the samples.
    smoothed: Vec<(f64, Duration)>,
}

/// Reads the traces from the JSON values `items` of a qlog file. Adds a recording to `reading` for
/// each trace that has delays.
///
/// # Errors
/// When no event has a delay.
pub(super) fn parse(
    name: &str,
    items: &[Item],
    _hints: &Hints,
    reading: &mut Reading,
) -> Result<(), RecordingError> {
    let mut traces = Vec::new();
    for (_, item) in items {
        if let Some(list) = item["traces"].as_array() {
            for one in list {
                let mut trace = Trace::begin(name, one, item);
                one["events"].as_array().into_iter().flatten().for_each(|event| trace.event(event));
                traces.push(trace);
            }
        } else if item.get("qlog_version").is_some() || item.get("trace").is_some() {
            // This is the first record of a JSON text sequence. Events follow it.
            traces.push(Trace::begin(name, &item["trace"], item));
        } else if let Some(trace) = traces.last_mut() {
            trace.event(item);
        }
    }
    reading.recordings.extend(traces.into_iter().filter_map(Trace::finish));
    if reading.recordings.is_empty() {
        return Err(RecordingError::new(
            "the qlog file has neither `latest_rtt` nor `smoothed_rtt` in \
             `recovery:metrics_updated`",
            "log the recovery events of the sender",
        ));
    }
    Ok(())
}

/// Returns the instant from which the times of a trace count, in nanoseconds since 1970. Early
/// drafts of qlog give this instant as a number in the trace's unit. Later drafts give an object,
/// and the instant is its `epoch`. The result is 0 if the file does not have the instant, or if the
/// times count from 1970.
fn start_ns(common: &Value, unit: u64) -> i64 {
    let reference = &common["reference_time"];
    if common["time_format"] == "absolute" {
        return 0;
    }
    if let Some(epoch) = reference["epoch"].as_str() {
        return instant(epoch).map_or(0, |(ns, _)| ns);
    }
    let span = float(reference).and_then(|value| float_span(value, unit));
    span.and_then(|span| i64::try_from(span.as_nanos()).ok()).unwrap_or(0)
}

impl Trace {
    fn begin(name: &str, trace: &Value, file: &Value) -> Self {
        let common = &trace["common_fields"];
        let point = label(&trace["vantage_point"]["type"]);
        let title = [&trace["title"], &file["title"]].map(label);
        let title = title.iter().find(|title| !title.is_empty()).cloned().unwrap_or_default();
        let more: Vec<&str> =
            [&*title, &*point].into_iter().filter(|one| !one.is_empty()).collect();
        let micro = trace["configuration"]["time_units"] == "us";
        let fields = trace["event_fields"].as_array().into_iter().flatten().map(label);
        let fields: Vec<String> = fields.map(|field| field.to_lowercase()).collect();
        Trace {
            start_ns: start_ns(common, if micro { MICROSECOND } else { MILLISECOND }),
            name: if more.is_empty() {
                name.into()
            } else {
                format!("{name}: {}", more.join(", "))
            },
            unit: if micro { MICROSECOND } else { MILLISECOND },
            delta: common["time_format"] == "delta"
                || common["time_format"] == "relative_to_previous_event"
                || fields.iter().any(|field| field == "delta_time"),
            fields,
            ..Trace::default()
        }
    }

    fn event(&mut self, event: &Value) {
        let (time, name, data) = match event {
            // In drafts before 2021, an event is a list, and `event_fields` has the names of its
            // columns.
            Value::Array(cells) => {
                let cell = |names: &[&str]| {
                    let place = self.fields.iter().position(|field| names.contains(&&**field));
                    place.and_then(|place| cells.get(place)).unwrap_or(&Value::Null)
                };
                let name = label(cell(&["event", "event_type", "event_name"]));
                (cell(&["relative_time", "time", "delta_time"]), name, cell(&["data"]))
            }
            event => (&event["time"], label(&event["name"]), &event["data"]),
        };
        let time = float(time).unwrap_or(0.0);
        self.clock = if self.delta { self.clock + time } else { time };
        // Later drafts name the event `quic:recovery_metrics_updated`.
        if !name.ends_with("metrics_updated") && name != "metric_update" {
            return;
        }
        let span = |key: &str| float(&data[key]).and_then(|value| float_span(value, self.unit));
        let (latest, smoothed) = (span("latest_rtt"), span("smoothed_rtt"));
        self.latest.extend(latest.map(|rtt| (self.clock, rtt)));
        self.smoothed.extend(smoothed.map(|rtt| (self.clock, rtt)));
    }

    fn finish(self) -> Option<Delays> {
        let mut delays = Delays::new(self.name, "qlog");
        delays.send_times = SendTimeSource::Recorded;
        let samples = if self.latest.is_empty() {
            delays.measure = Measure::Smoothed;
            delays.notes.push(
                "the file has only `smoothed_rtt`, a filter's output and not a sample".into(),
            );
            self.smoothed
        } else {
            delays.notes.push(
                "a time of sending is the event's time minus the delay; a sample that is equal \
                 to the previous sample may be missing from the log; losses are not recorded"
                    .into(),
            );
            self.latest
        };
        let sent = |(at, rtt): &(f64, Duration)| {
            let at = at * self.unit as f64;
            #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
            let at = at as i64;
            let back = if delays.measure == Measure::Smoothed { 0 } else { rtt.as_nanos() };
            at.saturating_sub(i64::try_from(back).unwrap_or(i64::MAX))
        };
        let mut order: Vec<(i64, Duration)> =
            samples.iter().map(|one| (sent(one), one.1)).collect();
        // QUIC stacks write delays in rounded microseconds. So packets that were sent together may
        // seem to have been sent in the wrong order.
        for n in 1..order.len() {
            let before = order[n - 1].0;
            if (before - ROUNDED_NS..before).contains(&order[n].0) {
                order[n].0 = before;
            }
        }
        order.sort_by_key(|(sent, _)| *sent);
        let (start, _) = *order.first()?;
        delays.began = Began::of(start.saturating_add(self.start_ns), false);
        let probe = |(number, (sent, rtt)): (u64, (i64, Duration))| {
            Probe::answered(number, Time::from_nanos(sent.abs_diff(start)), rtt)
        };
        delays.probes = (0..).zip(order).map(probe).collect();
        Some(delays)
    }
}
