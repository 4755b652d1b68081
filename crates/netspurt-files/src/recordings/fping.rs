//! Reads the output of fping: the lines that its options `-l`, `-c` and `-C` print for each probe,
//! with or without the timestamps of `-D`, and the summary rows of `-C`.

use indexmap::IndexMap;
use netspurt::delays::Delays;
use netspurt::units::Duration;

use super::line_stamp::{LogClock, StampedLine, UNKNOWN_STAMP, UnreadStamps};
use super::ping;
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::stamp::of_line;
use super::tally::Tally;
use super::text::{MILLISECOND, decimal, integer, lines};

/// The meaning of a line of fping's output.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FpingLine {
    /// A reply to a probe: the probe's number, the delay, and the octets that fping counts.
    Reply(u64, Duration, u32),
    /// A further reply to a probe: the probe's number, and the delay and octets if the line is
    /// complete.
    Duplicate(u64, Option<(Duration, u32)>),
    /// The probe with this number could not be sent.
    Failed(u64),
    /// fping waited for the reply to the probe with this number, and gave up.
    TimedOut(u64),
    /// The delays of all probes in order, from the summary of `-C`. `None` stands for a lost probe.
    Row(Vec<Option<Duration>>),
    /// The number of probes that were sent, and the number that were answered.
    Counts(u64, u64),
    /// Another line that fping or a shell writes.
    Ordinary,
    /// An incomplete line, and the reason why it counts as incomplete.
    Broken(&'static str),
    /// A line that fping does not write.
    Foreign,
}

/// Returns the target that a line is about, and the line's meaning.
fn read(line: &str) -> (&str, FpingLine) {
    let Some((target, rest)) = line.split_once(" : ") else {
        return ("", if is_ordinary(line) { FpingLine::Ordinary } else { FpingLine::Foreign });
    };
    (target.trim(), meaning(rest.trim_start()))
}

fn is_ordinary(line: &str) -> bool {
    // Ordinary lines are the times above the summaries of `-Q`, ICMP errors, results without a
    // delay, messages of fping itself, and a shell's message about an interruption.
    line.is_empty()
        || line.starts_with("ICMP ")
        || line.starts_with('^')
        || line.starts_with('[') && line.ends_with(']')
        || line.ends_with(" is alive")
        || line.ends_with(" is unreachable")
        || line.contains("fping: ")
}

fn meaning(rest: &str) -> FpingLine {
    if let Some(counts) = rest.strip_prefix("xmt/rcv/%") {
        return counted(counts)
            .map_or(FpingLine::Broken("no counts in the summary"), |(sent, got)| {
                FpingLine::Counts(sent, got)
            });
    }
    let (duplicate, numbered) = match rest.strip_prefix("duplicate for ") {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let Some(bracket) = numbered.strip_prefix('[') else {
        return row(rest).map_or(FpingLine::Foreign, FpingLine::Row);
    };
    let Some((number, rest)) = integer(bracket) else { return FpingLine::Broken("no number") };
    let Some(rest) = rest.strip_prefix(']') else { return FpingLine::Broken("no number") };
    let rest = rest.trim_start_matches([',', ' ']);
    if duplicate {
        let complete = match reply(number, rest) {
            Some(FpingLine::Reply(_, rtt, bytes)) => Some((rtt, bytes)),
            _ => None,
        };
        return FpingLine::Duplicate(number, complete);
    }
    if ["failed", "error"].iter().any(|word| rest.contains(word)) {
        return FpingLine::Failed(number);
    }
    if rest.starts_with("timed out") {
        return FpingLine::TimedOut(number);
    }
    reply(number, rest).unwrap_or(FpingLine::Broken("the line ends within the reply"))
}

/// Reads a text such as `64 bytes, 0.036 ms (0.036 avg, 0% loss)`.
fn reply(number: u64, rest: &str) -> Option<FpingLine> {
    let (bytes, rest) = integer(rest)?;
    let (ns, rest) = decimal(rest.strip_prefix(" bytes, ")?, MILLISECOND)?;
    if !rest.trim_start().starts_with("ms") {
        return None;
    }
    let rtt = Duration::from_nanos(u64::try_from(ns).ok()?);
    Some(FpingLine::Reply(number, rtt, u32::try_from(bytes).ok()?))
}

/// Reads a text such as `loss = 5/4/20%, min/avg/max = ...`, which follows `xmt/rcv/%`.
fn counted(text: &str) -> Option<(u64, u64)> {
    let (sent, rest) = integer(text.split_once("= ")?.1)?;
    Some((sent, integer(rest.strip_prefix('/')?)?.0))
}

/// Reads the delays of a row, such as `91.7 37.0 29.2 - 36.8`.
fn row(text: &str) -> Option<Vec<Option<Duration>>> {
    let cell = |word: &str| {
        if word == "-" {
            return Some(None);
        }
        let (ns, rest) = decimal(word, MILLISECOND)?;
        rest.is_empty().then(|| u64::try_from(ns).ok().map(Duration::from_nanos))
    };
    let cells: Vec<_> = text.split_whitespace().map(cell).collect::<Option<_>>()?;
    (!cells.is_empty()).then_some(cells)
}

/// The results of the lines about one target.
#[derive(Debug, Default)]
struct Target {
    tally: Tally,
    row: Option<Vec<Option<Duration>>>,
    counts: Option<(u64, u64)>,
    stamped: bool,
    unread: UnreadStamps,
}

impl Target {
    /// Whether a line about a probe belongs to a new run of fping. A run ends with a line of
    /// counts. After this line, the next line belongs to a new run if its number is not above all
    /// earlier numbers. If the line of counts is missing, a second reply to the first probe begins a
    /// new run. It is no duplicate, because fping would mark a duplicate. But if no later probe has
    /// had a line yet, the reply belongs to this run.
    fn is_followed_by(&self, details: &FpingLine) -> bool {
        let (FpingLine::Reply(number, ..)
        | FpingLine::Failed(number)
        | FpingLine::TimedOut(number)) = *details
        else {
            return false;
        };
        let highest = self.tally.ends().map(|(_, highest)| highest);
        if self.counts.is_some() {
            return highest.is_none_or(|highest| number <= highest);
        }
        let again = matches!(details, FpingLine::Reply(0, ..)) && self.tally.answered(0);
        again && highest > Some(0)
    }

    fn finish(self, name: &str, hints: &Hints) -> Result<Delays, RecordingError> {
        let mut delays = Delays::new(name, "fping");
        let interval = hints.interval.unwrap_or(Duration::from_secs(1));
        if !self.stamped {
            let paced = ping::Paced::of(hints.interval.is_some(), "fping");
            delays.notes.push(paced.note(interval));
        }
        delays.notes.extend(self.unread.note());
        let mut tally = self.tally;
        if let (true, Some(row)) = (tally.is_empty(), &self.row) {
            for (number, rtt) in (0..).zip(row) {
                match rtt {
                    Some(rtt) => _ = tally.reply(number, Some(*rtt), 0),
                    None => _ = tally.sent(number),
                }
            }
        }
        let counts = self.counts.or_else(|| {
            let row = self.row.as_ref()?;
            Some((row.len() as u64, row.iter().flatten().count() as u64))
        });
        let seen = tally.ends();
        if let (None, Some((sent, received))) = (seen, counts)
            && received > 0
        {
            return ping::summary(delays, sent, received);
        }
        let last = seen.map(|(_, last)| last.saturating_add(1)).max(counts.map(|(sent, _)| sent));
        let received = tally.received();
        if let (Some((sent, got)), Some(read)) = (counts, last)
            && (sent, got) != (read, received)
        {
            delays.notes.push(format!(
                "the summary counts {sent} probes sent and {got} received, but the lines show \
                 {read} probes and {received} replies"
            ));
        }
        let range = last.and_then(|count| count.checked_sub(1)).map(|last| (0, last));
        tally.finish(&mut delays, range, Some(interval))?;
        Ok(delays)
    }
}

/// Whether the line is a complete result in a form that fping writes.
pub(super) fn knows(line: &str) -> bool {
    let (_, line) = unread_stamp(of_line(line.trim_start()).1);
    !matches!(read(line).1, FpingLine::Ordinary | FpingLine::Foreign | FpingLine::Broken(_))
}

/// Returns the size of a probe on the wire, in octets. Versions of fping before 5.0 count the IPv4
/// header, and their probes have 84 octets by default. Later versions do not count the header
/// (fping's changelog). The log does not show the version. So 84 octets are read as the count of an
/// old version, and any other number is read as the count of a later version.
fn wire(bytes: u32, target: &str) -> u32 {
    if bytes == 84 { 84 } else { bytes.saturating_add(header_bytes(target)) }
}

/// The number of octets of the IP header of the replies of `target`. A target that is not an IPv6
/// address counts as a target with IPv4.
pub(super) fn header_bytes(target: &str) -> u32 {
    if target.contains(':') { 40 } else { 20 }
}

/// Reads the lines of `text`. The result has a recording for each run of each target.
///
/// # Errors
/// When more than 4,194,304 (`MISSING_MAX`) probes of a target are missing.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<Reading, RecordingError> {
    let mut reading = Reading::default();
    let mut targets: IndexMap<(&str, usize), Target> = IndexMap::new();
    // For each target, the number of runs after the first run.
    let mut runs: IndexMap<&str, usize> = IndexMap::new();
    let mut clock = LogClock::default();
    for (number, full_line) in lines(text) {
        let StampedLine { ns: stamp, local, refused, rest } = clock.read(full_line);
        let (before, line) = unread_stamp(rest);
        let (target, details) = read(line);
        let why = match details {
            FpingLine::Ordinary => continue,
            FpingLine::Broken(why) => why,
            FpingLine::Foreign => "not a line that fping writes",
            details => {
                let run = runs.entry(target).or_default();
                if targets.get(&(target, *run)).is_some_and(|one| one.is_followed_by(&details)) {
                    *run += 1;
                }
                let state = targets.entry((target, *run)).or_default();
                state.tally.local |= stamp.is_some() && local;
                match refused {
                    Some(why) => state.unread.saw(full_line, why),
                    None => state.unread.saw(before, UNKNOWN_STAMP),
                }
                count(state, target, details, stamp);
                continue;
            }
        };
        reading.malformed.push(Malformed::new(number, full_line, why));
    }
    for ((target, _), results) in targets {
        reading.recordings.push(results.finish(&format!("{name}: {target}"), hints)?);
    }
    Ok(reading)
}

/// Splits off text in brackets before the target, if it could not be read as a timestamp. Returns
/// that text and the rest of the line.
fn unread_stamp(line: &str) -> (&str, &str) {
    let split = || {
        let (before, rest) = line.strip_prefix('[')?.split_once("] ")?;
        rest.contains(" : ").then_some((before, rest))
    };
    split().unwrap_or(("", line))
}

fn count(target: &mut Target, address: &str, details: FpingLine, stamp: Option<i64>) {
    match details {
        FpingLine::Duplicate(number, Some((rtt, bytes))) if !target.tally.answered(number) => {
            // The first reply is not in the log, so the duplicate takes its place.
            count(target, address, FpingLine::Reply(number, rtt, bytes), stamp);
        }
        FpingLine::Reply(number, rtt, bytes) => {
            let first = target.tally.reply(number, Some(rtt), wire(bytes, address));
            if let (true, Some(stamp)) = (first, stamp) {
                target.stamped = true;
                let rtt = i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX);
                target.tally.sent(number).set_sent(Some(stamp.saturating_sub(rtt)));
            }
        }
        FpingLine::Failed(number) => _ = target.tally.sent(number),
        FpingLine::Duplicate(..) => target.tally.duplicate(),
        FpingLine::TimedOut(number) => target.tally.sent(number).given_up = true,
        FpingLine::Row(row) => target.row = Some(row),
        FpingLine::Counts(sent, received) => target.counts = Some((sent, received)),
        FpingLine::Ordinary | FpingLine::Broken(_) | FpingLine::Foreign => {}
    }
}
