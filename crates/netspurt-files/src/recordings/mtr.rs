//! Reads the output of `mtr --raw`. A line says that a probe left, that its reply came, or which
//! host replied. Reports of mtr are refused: they have statistics of each hop, but not the delay of
//! each probe.

use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;

use netspurt::delays::Delays;
use netspurt::units::Duration;

use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::tally::Tally;
use super::text::{MICROSECOND, lines};

/// The heading of a report is looked for in this number of lines at the beginning of a text.
const FIRST: usize = 10;

/// Whether a text is a report of mtr, as text or CSV.
pub(super) fn is_report(content: &str) -> bool {
    const HEADING: [&str; 4] = ["Loss%", "Snt", "Avg", "Wrst"];
    lines(content).take(FIRST).any(|(_, line)| HEADING.iter().all(|name| line.contains(name)))
}

/// Returns the error for a report of mtr.
pub(super) fn refusal() -> RecordingError {
    RecordingError::new(
        "a report of mtr: it has statistics of each hop, but not the delay of each probe",
        "record the probes themselves, as with `mtr --raw HOST > log.txt`, `ping -D HOST > \
         log.txt` or `netspurt probe HOST`",
    )
}

/// The meaning of a line of `mtr --raw`. The index of a hop is the number of routers before the
/// host that replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MtrLine {
    /// A probe left. The values are the index of the hop, and mtr's number for the probe.
    Sent(u8, u64),
    /// A reply came. The values are the index of the hop, the delay, and the number of the probe.
    /// Old versions of mtr write no numbers.
    Reply(u8, Duration, Option<u64>),
    /// The host at the hop with this index replied for the first time.
    Host(u8, IpAddr),
    /// A name of a host, a label of MPLS, or nothing.
    Ordinary,
    Foreign,
}

/// Whether the line has a form that only `mtr --raw` writes.
pub(super) fn knows(line: &str) -> bool {
    matches!(read(line), MtrLine::Sent(..) | MtrLine::Host(..))
}

fn read(line: &str) -> MtrLine {
    let cells: Vec<&str> = line.split(' ').collect();
    let index = cells.get(1).and_then(|cell| cell.parse().ok());
    let number = |cell: &str| cell.parse::<u64>().ok();
    let known = match (cells[0], index, &cells[2.min(cells.len())..]) {
        ("", None, []) | ("d" | "m", Some(_), [_, ..]) => Some(MtrLine::Ordinary),
        ("x", Some(index), [one]) => number(one).map(|one| MtrLine::Sent(index, one)),
        ("h", Some(index), [host]) => host.parse().ok().map(|host| MtrLine::Host(index, host)),
        ("p", Some(index), [delay, probe @ ..]) if probe.len() < 2 => {
            let delay = number(delay).and_then(|delay| delay.checked_mul(MICROSECOND));
            let probe = probe.first().map_or(Some(None), |one| number(one).map(Some));
            delay.zip(probe).map(|(ns, of)| MtrLine::Reply(index, Duration::from_nanos(ns), of))
        }
        _ => None,
    };
    known.unwrap_or(MtrLine::Foreign)
}

/// The probes of one hop.
#[derive(Debug, Default)]
struct Hop {
    tally: Tally,
    /// The hosts that replied, in the order of their first replies.
    hosts: Vec<IpAddr>,
    /// The number of each probe in its recording, by mtr's number. mtr uses its numbers again.
    numbers: HashMap<u64, u64>,
    /// The number of probes so far.
    count: u64,
    /// Whether there is a line for each probe that left.
    shows_sent: bool,
}

impl Hop {
    fn next(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    fn sent(&mut self, own: u64) {
        let number = self.next();
        self.numbers.insert(own, number);
        self.tally.sent(number);
        self.shows_sent = true;
    }

    fn reply(&mut self, delay: Duration, own: Option<u64>) {
        // If no line says that the reply's probe left, the reply counts as one more probe.
        let known = own.and_then(|own| self.numbers.get(&own).copied());
        let number = known.unwrap_or_else(|| self.next());
        if let Some(own) = own {
            self.numbers.insert(own, number);
        }
        self.tally.reply(number, Some(delay), 0);
    }

    fn finish(self, name: &str, index: u8, hints: &Hints) -> Result<Delays, RecordingError> {
        let hop = u16::from(index) + 1;
        let host = self.hosts.first().map_or(String::new(), |host| format!(", {host}"));
        let mut delays = Delays::new(format!("{name}: hop {hop}{host}"), "mtr --raw");
        if self.hosts.len() > 1 {
            delays.notes.push(format!("{} hosts replied at this hop", self.hosts.len()));
        }
        if !self.shows_sent {
            delays.notes.push(
                "this version of mtr does not show which probes left: losses are not recorded"
                    .into(),
            );
        }
        let range = self.tally.ends();
        self.tally.finish(&mut delays, range, hints.interval)?;
        Ok(delays)
    }
}

/// Reads the probes of `text`. The result has a recording for each hop.
///
/// Until mtr knows where the host at the end of the path is, mtr sends probes beyond this host.
/// These probes are left out.
///
/// # Errors
/// Never: the probes of a hop are counted, so no number is missing.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<Reading, RecordingError> {
    let mut reading = Reading::default();
    let mut hops: BTreeMap<u8, Hop> = BTreeMap::new();
    for (number, line) in lines(text) {
        match read(line) {
            MtrLine::Sent(index, own) => hops.entry(index).or_default().sent(own),
            MtrLine::Reply(index, delay, own) => hops.entry(index).or_default().reply(delay, own),
            MtrLine::Host(index, host) => {
                let hosts = &mut hops.entry(index).or_default().hosts;
                if !hosts.contains(&host) {
                    hosts.push(host);
                }
            }
            MtrLine::Ordinary => {}
            MtrLine::Foreign => {
                reading.malformed.push(Malformed::new(number, line, "not a line of `mtr --raw`"));
            }
        }
    }
    let end = last(&hops);
    for (index, hop) in hops {
        if index <= end {
            reading.recordings.push(hop.finish(name, index, hints)?);
        }
    }
    Ok(reading)
}

/// The index of the last hop of the path. The path ends at the farthest host that replied, and its
/// last hop is the first hop at which this host replied. If no host replied, every hop counts.
fn last(hops: &BTreeMap<u8, Hop>) -> u8 {
    let farthest = hops.values().rev().find_map(|hop| hop.hosts.last());
    let at = |host| hops.iter().find(|(_, hop)| hop.hosts.contains(host));
    farthest.and_then(at).map_or(u8::MAX, |(index, _)| *index)
}
