//! Reads the text that `irtt client` prints: a line for each answer, and statistics at the end.

use std::collections::HashMap;

use netspurt::delays::{Delays, HalfDelays};
use netspurt::units::Duration;

use super::ping::Paced;
use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::tally::Tally;
use super::text::{MICROSECOND, MILLISECOND, SECOND, decimal, integer, lines};

/// An answer such as `seq=1 rtt=64.95ms rd=33.44ms sd=31.51ms ipdv=4.6ms`. The line ends with
/// `(LATE)` if the answer to a later probe came first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct IrttAnswer {
    number: u64,
    rtt: Duration,
    /// The delay of the request in nanoseconds, if the server stamps the requests that it receives.
    forward: Option<i64>,
}

/// The facts about the whole run. They are in the first lines of the text and in the statistics.
#[derive(Clone, Copy, Debug, Default)]
struct IrttRun {
    /// The number of probes that were sent, and the number that were answered.
    counts: Option<(u64, u64)>,
    /// The duration of the run, and the part of this time in which irtt waited for the last
    /// answers, in nanoseconds.
    duration_and_wait: Option<(i64, i64)>,
    /// The number of octets of a probe after the UDP header.
    length: Option<u32>,
    v6: bool,
}

impl IrttRun {
    /// Reads a line if it is about the whole run.
    fn take(&mut self, line: &str) {
        let text = line.trim_start();
        if let Some(rest) = text.strip_prefix("packets sent/received: ") {
            self.counts = integer(rest)
                .and_then(|(sent, rest)| Some((sent, integer(rest.strip_prefix('/')?)?.0)));
        } else if let Some(rest) = text.strip_prefix("duration: ") {
            self.duration_and_wait = rest.split_once(" (wait ").and_then(|(duration, wait)| {
                Some((span(duration)?, span(wait.strip_suffix(')')?)?))
            });
        } else if let Some(rest) = text.strip_prefix("packet length: ") {
            self.length = integer(rest).and_then(|(octets, _)| u32::try_from(octets).ok());
        } else if text.starts_with("[[") {
            // Events begin with the address of the server: `[10.0.0.1:2112]` or `[[::1]:2112]`.
            self.v6 = true;
        }
    }

    /// Returns the size of a probe with its UDP and IP headers, in octets; zero if it is unknown.
    fn wire_bytes(&self) -> u32 {
        self.length.map_or(0, |octets| octets.saturating_add(if self.v6 { 48 } else { 28 }))
    }

    /// Returns the interval between probes. The last probe left when the wait began. The interval
    /// is rounded to three significant digits, because irtt prints only a few digits of the
    /// duration.
    fn interval(&self) -> Option<Duration> {
        let ((sent, _), (duration, wait)) = (self.counts?, self.duration_and_wait?);
        let gaps = sent.checked_sub(1).filter(|gaps| *gaps > 0)?;
        let each = u64::try_from(duration - wait).ok()? / gaps;
        let unit = 10_u64.pow(each.checked_ilog10()?.saturating_sub(2));
        Some(Duration::from_nanos((each + unit / 2) / unit * unit))
    }
}

/// Reads a span of time that Go printed, such as `1m2.5s` or `588µs`. Returns nanoseconds.
fn span(text: &str) -> Option<i64> {
    const UNITS: [(&str, u64); 7] = [
        ("ms", MILLISECOND),
        ("µs", MICROSECOND),
        ("us", MICROSECOND),
        ("ns", 1),
        ("h", 3600 * SECOND),
        ("m", 60 * SECOND),
        ("s", SECOND),
    ];
    let (negative, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    if rest.starts_with('-') || rest.is_empty() {
        return None;
    }
    let mut sum = 0_i64;
    while !rest.is_empty() && rest != "0" {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (unit, ns) = UNITS.iter().find(|(unit, _)| rest[end..].starts_with(unit))?;
        let (value, remainder) = decimal(&rest[..end], *ns)?;
        if !remainder.is_empty() {
            return None;
        }
        sum = sum.checked_add(value)?;
        rest = &rest[end + unit.len()..];
    }
    Some(if negative { -sum } else { sum })
}

/// Reads the line of an answer. Returns an error if the line begins like an answer but is
/// malformed.
fn answer(line: &str) -> Option<Result<IrttAnswer, &'static str>> {
    let (number, rest) = integer(line.strip_prefix("seq=")?)?;
    let mut words = rest.strip_prefix(' ')?.split(' ');
    let rtt = words.next()?.strip_prefix("rtt=")?;
    let Some(rtt) = span(rtt).and_then(|ns| u64::try_from(ns).ok()) else {
        return Some(Err("`rtt` is not a span of time"));
    };
    let mut forward = None;
    let mut complete = false;
    for word in words {
        complete |= word.starts_with("ipdv=");
        if let Some(text) = word.strip_prefix("sd=") {
            let Some(ns) = span(text) else { return Some(Err("`sd` is not a span of time")) };
            forward = Some(ns);
        }
    }
    let answer = IrttAnswer { number, rtt: Duration::from_nanos(rtt), forward };
    Some(if complete { Ok(answer) } else { Err("the line ends within the answer") })
}

/// Whether the line is one that irtt prints and that is not an answer.
fn is_ordinary(line: &str) -> bool {
    const PARTS: [&str; 9] = [
        "duration: ",
        "sent/received: ",
        "received: ",
        "send/receive rate: ",
        "packet length: ",
        "timer stats: ",
        "DUPLICATES: ",
        "(out-of-order) pkts: ",
        "Terminated due to ",
    ];
    // Events, rows of the table of statistics, and the report of a signal that ended the run.
    const STARTS: [&str; 12] = [
        "[",
        "Min ",
        "--- ",
        "RTT ",
        "send ",
        "receive ",
        "IPDV ",
        "timer error ",
        "server proc",
        "interrupt",
        "terminated",
        "second interrupt",
    ];
    let text = line.trim();
    text.is_empty()
        || PARTS.iter().any(|part| text.contains(part))
        || STARTS.iter().any(|start| text.starts_with(start))
}

/// Whether the line begins like an answer of irtt. No other program writes such lines.
pub(super) fn knows(line: &str) -> bool {
    answer(line).is_some()
}

/// Reads the answers of `text`.
///
/// # Errors
/// When more than 4,194,304 (`MISSING_MAX`) probes are missing.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<Reading, RecordingError> {
    let mut reading = Reading::default();
    let mut run = IrttRun::default();
    let mut tally = Tally::default();
    let mut one_way = HashMap::new();
    for (_, line) in lines(text) {
        run.take(line);
    }
    for (place, line) in lines(text) {
        match answer(line) {
            Some(Ok(IrttAnswer { number, rtt, forward })) => {
                if tally.reply(number, Some(rtt), run.wire_bytes()) {
                    one_way.extend(forward.map(|ns| (number, HalfDelays::Forward(ns))));
                }
            }
            Some(Err(why)) => reading.malformed.push(Malformed::new(place, line, why)),
            None if line.starts_with("DUP! seq=") => tally.duplicate(),
            None if is_ordinary(line) => {}
            None => {
                let why = "not a line that irtt prints";
                reading.malformed.push(Malformed::new(place, line, why));
            }
        }
    }
    let mut delays = Delays::new(name, "irtt");
    let (interval, paced) = match (hints.interval, run.interval()) {
        (Some(given), _) => (given, Paced::AsGiven),
        (None, Some(interval)) => (interval, Paced::ByStatistics),
        (None, None) => (Duration::from_secs(1), Paced::Usual("irtt")),
    };
    delays.notes.push(paced.note(interval));
    let read = tally.received();
    match run.counts {
        Some((_, received)) => {
            let answered = received.saturating_sub(tally.duplicates());
            if answered != read {
                let less = if read < answered { "is incomplete" } else { "has other answers, too" };
                delays.notes.push(format!(
                    "irtt's statistics count {answered} answered probes, but the text has the \
                     answers of {read}: the text {less}"
                ));
            }
        }
        None => delays.notes.push(
            "irtt's count of probes is missing: probes after the last answer are unknown".into(),
        ),
    }
    let sent = run.counts.map_or(0, |(sent, _)| sent.saturating_sub(1));
    let range = tally.ends().map(|(_, last)| (0, last.max(sent)));
    tally.finish(&mut delays, range, Some(interval))?;
    if !one_way.is_empty() {
        let of = |number| one_way.get(&number).copied().unwrap_or(HalfDelays::Unknown);
        delays.one_way = delays.probes.iter().map(|probe| of(probe.number)).collect();
    }
    reading.recordings.push(delays);
    Ok(reading)
}
