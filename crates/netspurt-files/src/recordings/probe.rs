//! Reads data files of `netspurt probe`: a header, and a line for each echo probe.

use std::collections::BTreeMap;

use netspurt::delays::Began;
use netspurt::delays::{Delays, ProbeOrder};
use netspurt::units::Duration;
use serde_json::Value;

use super::json::{Item, label, whole};
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::tally::Tally;
use super::text::names_loopback;

/// Whether a value is the header of a file of `netspurt probe`.
pub(super) fn knows(value: &Value) -> bool {
    value.get("netspurt").is_some_and(|what| what == "probe")
}

/// The run that is being read. `netspurt probe` may divide a run into several files, its parts. If
/// the text has consecutive parts of one run, they are read as one run.
#[derive(Default)]
struct ProbeRun {
    part: u64,
    echo_probes: Tally,
    /// The echo probes of `netspurt probe --hops`, by hop, with the address that answered from that
    /// hop.
    hops: BTreeMap<u64, (Tally, Option<String>)>,
    /// Why the run ended: the word in the last line, or a sentence if the file is cut off.
    end: Option<String>,
    /// The number of late answers whose echo probes are in an earlier part that was not read.
    earlier: u64,
    /// The number of delays that were measured by the program's timestamps, and not by the
    /// kernel's.
    by_user: u64,
    clock_steps: u64,
    /// When the run began, in nanoseconds: first by the clock of the timestamps, then since 1970.
    clocks: Option<(i64, i64)>,
    /// Whether the probed address is a loopback address.
    loopback: bool,
    /// The errors that came instead of answers, with their counts.
    failed: BTreeMap<String, u64>,
}

/// Reads the runs of `netspurt probe` from `items`, the lines of a data file. Adds their recordings
/// to `reading`.
///
/// # Errors
/// When more than 4,194,304 (`MISSING_MAX`) echo probes are missing.
pub(super) fn parse(
    name: &str,
    items: &[Item],
    hints: &Hints,
    reading: &mut Reading,
) -> Result<(), RecordingError> {
    let last = items.last().map_or(0, |(line, _)| *line);
    let cut = reading.malformed.last().map(|one| one.line).filter(|line| *line > last);
    if cut.is_some() {
        reading.malformed.pop();
    }
    let mut run: Option<ProbeRun> = None;
    for (line, item) in items {
        if knows(item) {
            let part = whole(&item["part"]).unwrap_or(1);
            match &mut run {
                Some(run) if part == run.part + 1 => run.part = part,
                other => {
                    if let Some(run) = other.take() {
                        run.finish(name, hints, reading)?;
                    }
                    let loopback = names_loopback(&label(&item["address"]));
                    let clocks = clocks(item);
                    *other = Some(ProbeRun { part, clocks, loopback, ..ProbeRun::default() });
                }
            }
            continue;
        }
        let row = run.as_mut().map(|run| run.row(item));
        if let Some(Err(why)) = row.map_or(Some(Err("a line before the header")), Some) {
            reading.malformed.push(Malformed::new(*line, &label(item), why));
        }
    }
    let Some(mut run) = run else { return Ok(()) };
    if let Some(line) = cut {
        run.end =
            Some(format!("cut off in the middle of line {line}; the lines before it were read"));
    }
    run.finish(name, hints, reading)
}

/// Returns when the run began, from its header: first by the clock of the timestamps, then since
/// 1970.
fn clocks(header: &Value) -> Option<(i64, i64)> {
    let began = &header["began"];
    Some((began["raw_ns"].as_i64()?, began["unix_ns"].as_i64()?))
}

impl ProbeRun {
    /// Processes a line.
    fn row(&mut self, row: &Value) -> Result<(), &'static str> {
        const NONE: &str = "not a line of `netspurt probe`";
        if row.get("end").is_some() {
            self.end = Some(label(&row["end"]));
        } else if row.get("echo_probe").is_some() {
            let number = whole(&row["echo_probe"]).ok_or("`echo_probe` is not a number")?;
            self.echo_probe(number, row)?;
        } else if row.get("late").is_some() {
            self.late(whole(&row["late"]).ok_or("`late` is not a number")?, row)?;
        } else if row.get("duplicate").is_some() {
            self.echo_probes.duplicate();
        } else if row.get("clock_step_ns").is_some() {
            self.clock_steps += 1;
        } else {
            return Err(NONE);
        }
        Ok(())
    }

    fn echo_probe(&mut self, number: u64, row: &Value) -> Result<(), &'static str> {
        let octets = whole(&row["octets"]).and_then(|octets| u32::try_from(octets).ok());
        let octets = octets.unwrap_or(0);
        let lost = row["lost"] == true;
        let rtt = whole(&row["rtt_ns"]).map(Duration::from_nanos);
        if !lost && rtt.is_none() {
            return Err("neither `rtt_ns` nor `lost`");
        }
        let tally = match whole(&row["hop"]) {
            Some(hop) => {
                let (tally, by) = self.hops.entry(hop).or_default();
                // Lines of lost probes have no address.
                *by = Some(label(&row["from"])).filter(|from| !from.is_empty()).or(by.take());
                tally
            }
            None => &mut self.echo_probes,
        };
        if lost {
            let slot = tally.sent(number);
            (slot.given_up, slot.wire_bytes) = (true, octets);
            if row.get("why").is_some() {
                *self.failed.entry(label(&row["why"])).or_default() += 1;
            }
        } else if !tally.reply(number, rtt, octets) {
            return Err("a second line about the same echo probe");
        }
        self.by_user += u64::from(row["by"] == "user");
        tally.sent(number).set_sent(row["raw_ns"].as_i64());
        Ok(())
    }

    fn late(&mut self, number: u64, row: &Value) -> Result<(), &'static str> {
        let rtt = whole(&row["rtt_ns"]).ok_or("a late answer without `rtt_ns`")?;
        let known = self.echo_probes.ends().is_some_and(|(first, _)| number >= first);
        if !known {
            self.earlier += 1;
            return Ok(());
        }
        let octets = self.echo_probes.sent(number).wire_bytes;
        self.echo_probes.reply(number, Some(Duration::from_nanos(rtt)), octets);
        Ok(())
    }

    /// Adds the recordings of this run to `reading`.
    fn finish(
        self,
        name: &str,
        hints: &Hints,
        reading: &mut Reading,
    ) -> Result<(), RecordingError> {
        let notes = self.notes();
        let all_probes = [(name.to_owned(), self.echo_probes)];
        let hops = self.hops.into_iter().map(|(hop, (tally, by))| {
            let by = by.map_or(String::new(), |by| format!(", {by}"));
            (format!("{name}: hop {hop}{by}"), tally)
        });
        for (name, tally) in all_probes.into_iter().chain(hops) {
            let Some(range) = tally.ends() else { continue };
            let mut delays = Delays::new(name, "netspurt probe");
            (delays.order, delays.loopback) = (ProbeOrder::Sequence, self.loopback);
            // All hops share one series of numbers, so a hop's numbers may begin above 1.
            let first = tally.first_sent_ns();
            tally.finish(&mut delays, Some(range), hints.interval)?;
            delays.began = self.clocks.zip(first).and_then(|((raw, unix), first)| {
                Began::of(unix.saturating_add(first.saturating_sub(raw)), false)
            });
            delays.notes.extend(notes.iter().cloned());
            reading.recordings.push(delays);
        }
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        match self.end.as_deref() {
            Some("complete" | "continued") => {}
            Some("interrupted") => notes.push("the run was interrupted before its end".to_owned()),
            Some(cut) => notes.push(cut.to_owned()),
            None => notes.push(
                "the last line is missing: the run was killed, or it is not over yet".to_owned(),
            ),
        }
        let mut count = |many: u64, what: &str| {
            if many > 0 {
                notes.push(format!("{what}: {many}"));
            }
        };
        count(self.by_user, "delays measured by the program's timestamps, and not by the kernel's");
        count(self.earlier, "late answers to echo probes of an earlier part, left out");
        count(self.clock_steps, "steps of the machine's clock");
        for (why, many) in &self.failed {
            count(*many, &format!("echo probes that failed, {why}"));
        }
        notes
    }
}
