//! Makes recordings of a kernel's smoothed round-trip time.

use netspurt::delays::Began;
use netspurt::delays::{Delays, Measure, Probe, SendTimeSource};
use netspurt::units::{Duration, Time};

/// A kernel's report at one instant.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Report {
    /// When the kernel reported, in nanoseconds on the file's clock.
    pub at_ns: Option<i64>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The shortest round trip of the connection so far.
    pub min_rtt: Option<Duration>,
}

/// Makes a recording with a probe for each report. The probes have the times of the reports if
/// every report has a time. Otherwise their times are computed from `interval`; without an
/// interval, the times are unknown.
pub(super) fn series(
    name: String,
    format: &str,
    reports: &[Report],
    interval: Option<Duration>,
) -> Delays {
    let mut delays = Delays::new(name, format);
    delays.measure = Measure::Smoothed;
    let stamped = reports.iter().all(|report| report.at_ns.is_some());
    delays.send_times = match (stamped, interval) {
        (true, _) => SendTimeSource::Recorded,
        (false, Some(_)) => SendTimeSource::Computed,
        (false, None) => SendTimeSource::Unknown,
    };
    let start = reports.iter().filter_map(|report| report.at_ns).min().unwrap_or(0);
    if stamped {
        delays.began = Began::of(start, false);
    }
    let step = interval.map_or(1, Duration::as_nanos);
    let mut latest = 0;
    for (number, report) in (0_u64..).zip(reports) {
        let at = match report.at_ns.filter(|_| stamped) {
            Some(ns) => ns.abs_diff(start),
            None => number.saturating_mul(step),
        };
        latest = at.max(latest);
        let Some(srtt) = report.srtt else {
            delays.probes.push(Probe::lost(number, Time::from_nanos(latest)));
            continue;
        };
        delays.probes.push(Probe::answered(number, Time::from_nanos(latest), srtt));
    }
    delays.notes.push(
        "the delays are round-trip times that the kernel smoothed, not samples; they stay the same \
         between updates"
            .into(),
    );
    if let Some(min_rtt) = reports.iter().filter_map(|report| report.min_rtt).min() {
        delays.notes.push(format!("the least round trip that the kernel measured: {min_rtt}"));
    }
    delays
}
