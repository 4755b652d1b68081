//! Reads ping's output on Windows, in any language. Replies, headers and statistics are recognised
//! by their numbers and not by their words. Most failures are recognised by parts of Windows's
//! messages.

use netspurt::delays::{Delays, ProbeOrder};
use netspurt::units::Duration;

use super::line_stamp::{LogClock, StampedLine};
use super::reading::{Hints, Malformed, Reading, RecordingError, counted};
use super::stamp::of_line;
use super::tally::Tally;
use super::text::{MILLISECOND, decimal, integer, lines, names_loopback};

/// The meaning of a line of ping's output on Windows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum WindowsLine {
    /// The beginning of a run, with the number of octets of payload in each probe.
    Header {
        payload: u32,
        v6: bool,
        loopback: bool,
    },
    Reply {
        rtt: Duration,
        below: bool,
        payload: Option<u32>,
        v6: bool,
    },
    /// A probe without a reply, or with an error instead of a reply.
    Failure,
    /// The number of probes that were sent, and the number that were answered.
    Statistics(u64, u64),
    /// A line of ping that has no effect on the recording, for example an empty line.
    Ordinary,
    /// A line that ends with a colon, such as the title above the shortest and longest time.
    Title,
    /// An incomplete reply.
    Broken,
    /// A failure in an unsupported language, or text of another program.
    Unknown,
}

/// Parts of Windows's messages for a missing reply. Most parts have no accented letters, because
/// code pages encode accented letters differently.
const FAILURES: &[&str] = &[
    "Request timed out",
    "General failure",
    "transmit failed",
    "Hardware error",
    "berschreitung der Anforderung",
    "Allgemeiner Fehler",
    "bertragungsfehler",
    "attente de la demande",
    "chec g",
    "Tiempo de espera agotado",
    "Error general",
    "Richiesta scaduta",
    "Errore generale",
    "Esgotado o tempo limite",
    "Falha geral",
    "limit czasu",
    "Niepowodzenie og",
    "Time-out bij opdracht",
    "Algemene fout",
    "rekende tidsgr",
    "gjorde timeout",
    "fik timeout",
    "Tidsavbrudd",
    "Pyynt",
    "asov\u{fd} limit",
    "limit \u{17e}\u{e1}dosti",
    "n aman a",
    "zaman a\u{15f}\u{131}m",
    "Превышен интервал",
    "Общий сбой",
    "请求超时",
    "タイムアウト",
    "시간이 만료",
    "等候逾時",
    // The messages in Chinese, Japanese and Korean again, as code pages 936, 950, 932 and 949
    // encode them.
    "\u{c7}\u{eb}\u{c7}\u{f3}\u{b3}\u{ac}\u{ca}\u{b1}",
    "\u{b5}\u{a5}\u{ad}\u{d4}\u{b9}O\u{ae}\u{c9}",
    "\u{83}^\u{83}C\u{83}\u{80}\u{83}A\u{83}E\u{83}g",
    "\u{bd}\u{c3}\u{b0}\u{a3}\u{c0}\u{cc} \u{b8}\u{b8}\u{b7}\u{e1}",
];

/// The characters that may follow a count, including the commas of code pages 936, 932 and 950.
const COMMAS: [char; 8] = [',', '(', '，', '、', '（', '\u{a3}', '\u{81}', '\u{a1}'];

/// Finds the meaning of a line.
fn read(line: &str) -> WindowsLine {
    let text = line.trim();
    let share = text.starts_with(['(', '（']) && text.contains('%');
    if text.is_empty() || share || text == "^C" {
        return WindowsLine::Ordinary;
    }
    if FAILURES.iter().any(|piece| text.contains(piece)) {
        return WindowsLine::Failure;
    }
    if let Some(reply) = reply(text) {
        return reply;
    }
    if let Some((sent, received)) = statistics(text) {
        return WindowsLine::Statistics(sent, received);
    }
    if text.ends_with([':', '\u{ff1a}']) {
        return match address(text) {
            true => header(text).unwrap_or(WindowsLine::Ordinary),
            false => WindowsLine::Title,
        };
    }
    // `Minimum = 56ms, Maximum = 194ms, Average = 107ms`; `Control-C`.
    let times = equals(text).filter(|(_, value)| integer(value).is_some()).count() == 3;
    if times || ["Control-C", "STRG-C", "Ctrl-C", "Ctrl+C"].contains(&text) {
        return WindowsLine::Ordinary;
    }
    // `Reply from 192.168.1.5: Destination host unreachable.` is a sentence. A line without the
    // full stop is incomplete.
    let sentence = text.ends_with(|c: char| c == '.' || !c.is_ascii());
    match address(text) && text.contains(": ") || text.contains("TTL=") {
        true if sentence && equals(text).count() == 0 => WindowsLine::Failure,
        true => WindowsLine::Broken,
        false => WindowsLine::Unknown,
    }
}

/// Returns each `=` or `<` of a text, with the text after it.
fn equals(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.match_indices(['=', '<']).map(|(at, mark)| (mark, text[at + 1..].trim_start()))
}

/// Whether the text contains an address.
fn address(text: &str) -> bool {
    text.split([' ', '[', ']', '%']).any(|word| is_v4(word) || is_v6(word))
}

fn is_v4(word: &str) -> bool {
    let word = word.trim_end_matches([':', ',']);
    word.split('.').count() == 4 && word.split('.').all(|part| part.parse::<u8>().is_ok())
}

fn is_v6(word: &str) -> bool {
    let word = word.strip_suffix(':').unwrap_or(word);
    word.matches(':').count() >= 2 && word.bytes().all(|c| c == b':' || c.is_ascii_hexdigit())
}

fn v6(text: &str) -> bool {
    text.split([' ', '[', ']', '%']).any(is_v6)
}

/// Reads the header of a run, such as `Pinging google.com [216.58.196.238] with 32 bytes of data:`.
/// The header has an address, and a separate number after the address.
fn header(text: &str) -> Option<WindowsLine> {
    let words = || text.split([' ', '\u{a0}']);
    let payload = words().filter_map(|word| word.parse::<u32>().ok()).next_back()?;
    Some(WindowsLine::Header { payload, v6: v6(text), loopback: names_loopback(text) })
}

/// Reads a reply, such as `bytes=32 time<1ms TTL=64`. Over IPv6, a reply has only the time.
fn reply(text: &str) -> Option<WindowsLine> {
    let ttl = text.rfind("TTL=");
    if !address(text) && ttl.is_none() {
        return None;
    }
    let fields = &text[..ttl.unwrap_or(text.len())];
    let (mark, value) = equals(fields).last()?;
    let (ns, unit) = decimal(value, MILLISECOND)?;
    // A delay has a unit. If the number has no unit, it is a count, or the line is incomplete. Over
    // IPv4, all languages write TTL after the delay.
    let unit = unit.trim_start();
    if !unit.starts_with("ms") && unit.starts_with(|c: char| c.is_ascii()) || unit.is_empty() {
        return None;
    }
    if ttl.is_none() && !v6(text) || unit.starts_with(['，', '、', '（']) {
        return None;
    }
    let ns = u64::try_from(ns).ok()?;
    let payload = match equals(fields).count() {
        2.. => equals(fields).next().and_then(|(_, value)| integer(value)),
        _ => None,
    };
    let below = mark == "<";
    let rtt = Duration::from_nanos(if below { ns / 2 } else { ns });
    let payload = payload.and_then(|(payload, _)| u32::try_from(payload).ok());
    Some(WindowsLine::Reply { rtt, below, payload, v6: v6(text) })
}

/// Reads the statistics, such as `Packets: Sent = 10, Received = 10, Lost = 0 (0% loss),`. The
/// statistics are three counts without a unit: the probes that were sent, received and lost.
fn statistics(text: &str) -> Option<(u64, u64)> {
    let counts: Vec<u64> = equals(text)
        .filter_map(|(_, value)| integer(value))
        .filter(|(_, rest)| {
            let rest = rest.trim_start();
            rest.is_empty() || rest.starts_with(COMMAS)
        })
        .map(|(count, _)| count)
        .collect();
    match counts[..] {
        [sent, received, _] => Some((sent, received)),
        // The third count is in the next line.
        [sent, received] if text.ends_with(',') && text.contains(':') => Some((sent, received)),
        _ => None,
    }
}

/// Whether the line is one that ping on Windows writes: a reply, a header or a line of statistics.
pub(super) fn knows(line: &str) -> bool {
    let (_, line) = of_line(line);
    let reply = match read(line) {
        WindowsLine::Reply { payload, v6, .. } => payload.is_some() && line.contains("TTL=") || v6,
        WindowsLine::Header { .. } => line.contains("ing") && address(line),
        WindowsLine::Statistics(..) => true,
        _ => false,
    };
    reply && !line.contains("seq=")
}

/// A probe of a run of ping.
#[derive(Debug, Default)]
struct WindowsProbe {
    rtt: Option<Duration>,
    wire_bytes: u32,
    /// When the probe left, if the line of its reply has a timestamp.
    sent_ns: Option<i64>,
    /// The line and its number, if the line was not understood.
    text: Option<(usize, String)>,
}

/// One run of ping.
#[derive(Debug, Default)]
struct WindowsRun {
    /// The number of octets of payload in each probe, and whether the probes are IPv6.
    header: Option<(u32, bool)>,
    /// Whether the header names an address of loopback.
    loopback: bool,
    probes: Vec<WindowsProbe>,
    below: u64,
    statistics: Option<(u64, u64)>,
    /// Whether the title above the shortest and longest time was read after the statistics.
    titled: bool,
    /// The number and the text of a line that counts as a title only if the statistics follow it.
    title: Option<(usize, String)>,
    /// Whether timestamps are local times without a zone.
    local: bool,
}

impl WindowsRun {
    fn is_empty(&self) -> bool {
        self.header.is_none() && self.probes.is_empty() && self.statistics.is_none()
    }

    /// Processes a reply that came at the instant `stamp`.
    fn reply(&mut self, rtt: Duration, payload: Option<u32>, v6: bool, stamp: Option<i64>) {
        let header_facts = self.header.unwrap_or((0, false));
        let payload = payload.unwrap_or(header_facts.0);
        let header = if v6 || header_facts.1 { 48 } else { 28 };
        let wire_bytes = if payload == 0 { 0 } else { payload.saturating_add(header) };
        let age = i64::try_from(rtt.as_nanos()).unwrap_or(i64::MAX);
        let sent_ns = stamp.map(|came| came.saturating_sub(age));
        self.probes.push(WindowsProbe { rtt: Some(rtt), wire_bytes, sent_ns, text: None });
    }

    /// Decides the meaning of the lines that were not understood. These lines are lost probes if
    /// the statistics count them as probes. They are also lost probes if there are no statistics
    /// and the lines repeat one text. Otherwise they are malformed.
    fn judge(&mut self, malformed: &mut Vec<Malformed>, notes: &mut Vec<String>) {
        let unknown = self.probes.iter().filter(|one| one.text.is_some()).count() as u64;
        if unknown == 0 {
            return;
        }
        let all = self.probes.len() as u64;
        let texts = || self.probes.iter().filter_map(|one| one.text.as_ref());
        let counts = match self.statistics {
            Some((sent, _)) if sent == all => unknown,
            Some(_) => 0,
            None => {
                let first = texts().next().map(|(_, text)| text.clone());
                let same = texts().filter(|(_, text)| Some(text) == first.as_ref()).count();
                if same as u64 == unknown && unknown > 1 { unknown } else { 0 }
            }
        };
        if counts > 0 {
            let lines = counted(unknown, ["line", "lines"]);
            notes.push(format!("taken for probes without a reply: {lines} in an unknown language"));
            return;
        }
        for (line, text) in texts() {
            malformed.push(Malformed::new(*line, text, "not a line that ping writes"));
        }
        self.probes.retain(|one| one.text.is_none());
    }

    fn finish(
        mut self,
        name: &str,
        hints: &Hints,
        malformed: &mut Vec<Malformed>,
    ) -> Result<Delays, RecordingError> {
        let mut delays = Delays::new(name, "ping (Windows)");
        (delays.order, delays.loopback) = (ProbeOrder::Sequence, self.loopback);
        self.judge(malformed, &mut delays.notes);
        let received = self.probes.iter().filter(|one| one.rtt.is_some()).count() as u64;
        if let Some((sent, counted)) = self.statistics {
            if self.probes.is_empty() && counted > 0 {
                return super::ping::summary(delays, sent, counted);
            }
            let read = self.probes.len() as u64;
            if (sent, counted) != (read, received) {
                delays.notes.push(format!(
                    "the statistics count {sent} probes sent and {counted} received, errors \
                     included; the lines show {read} probes and {received} replies"
                ));
            }
            if sent > read && sent - read <= super::tally::MISSING_MAX {
                self.probes.extend((0..sent - read).map(|_| WindowsProbe::default()));
                delays.notes.push("probes without a line were added at the end, as lost".into());
            }
        }
        if self.below > 0 {
            delays.notes.push(format!(
                "{} delays have only a bound, as in `time<1ms`: half of the bound was used",
                self.below
            ));
        }
        let range = (!self.probes.is_empty()).then_some((1, self.probes.len() as u64));
        let interval = hints.interval.unwrap_or(Duration::from_secs(1));
        if self.probes.iter().all(|one| one.sent_ns.is_none()) {
            let paced = super::ping::Paced::of(hints.interval.is_some(), "Windows' ping");
            delays.notes.push(paced.note(interval));
        }
        delays.notes.push("delays are whole milliseconds".into());
        let mut tally = self.tally();
        if tally.is_reversed() {
            tally.reverse();
            delays.notes.push("the log begins with the last probe, so it was reversed".into());
        }
        tally.finish(&mut delays, range, Some(interval))?;
        Ok(delays)
    }

    /// The probes, numbered from 1.
    fn tally(self) -> Tally {
        let mut tally = Tally::default();
        tally.local = self.local;
        for (number, one) in (1_u64..).zip(self.probes) {
            if one.rtt.is_some() {
                tally.reply(number, one.rtt, one.wire_bytes);
            }
            tally.sent(number).set_sent(one.sent_ns);
        }
        tally
    }
}

/// Whether a line may continue the statistics.
fn continues_statistics(line: &str) -> bool {
    let text = line.trim();
    let count = equals(text).count() == 1 && text.contains('%');
    count || text.ends_with("),") && !text.contains('(') && text.split(' ').count() == 1
}

/// Reads the runs of `text`.
///
/// # Errors
/// When a run has only a summary, and the summary counts more than 4,194,304 (`MISSING_MAX`) lost
/// probes.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<Reading, RecordingError> {
    let mut reading = Reading::default();
    let mut runs: Vec<WindowsRun> = vec![WindowsRun::default()];
    let mut clock = LogClock::default();
    for (number, whole) in lines(text) {
        let StampedLine { ns: stamp, local, rest: line, .. } = clock.read(whole);
        let meaning = read(line);
        let probe = matches!(meaning, WindowsLine::Reply { .. } | WindowsLine::Failure);
        if probe && runs.last().is_some_and(|run| run.statistics.is_some()) {
            runs.push(WindowsRun::default());
        }
        let run = runs.last_mut().expect("`runs` is never empty");
        if let Some((at, text)) = run.title.take_if(|_| !line.trim().is_empty())
            && !matches!(meaning, WindowsLine::Statistics(..))
        {
            reading.malformed.push(Malformed::new(at, &text, "not a line that ping writes"));
        }
        match meaning {
            WindowsLine::Header { payload, v6, loopback } => {
                if !run.is_empty() {
                    runs.push(WindowsRun::default());
                }
                let run = runs.last_mut().expect("`runs` is never empty");
                (run.header, run.loopback) = (Some((payload, v6)), loopback);
            }
            WindowsLine::Reply { rtt, below, payload, v6 } => {
                run.below += u64::from(below);
                run.local |= stamp.is_some() && local;
                run.reply(rtt, payload, v6, stamp);
            }
            WindowsLine::Failure => run.probes.push(WindowsProbe::default()),
            WindowsLine::Statistics(sent, received) => run.statistics = Some((sent, received)),
            WindowsLine::Ordinary => {}
            WindowsLine::Title if run.statistics.is_some() && !run.titled => run.titled = true,
            WindowsLine::Title if run.statistics.is_none() && !run.probes.is_empty() => {
                run.title = Some((number, line.to_owned()));
            }
            // The line continues the statistics, as `Persi = 1 (50% persi),` does in Italian. In
            // Portuguese, the line after one that ends with `(50% de` begins with `perda),`.
            WindowsLine::Unknown
                if run.statistics.is_some() && !run.titled && continues_statistics(line) => {}
            WindowsLine::Broken => {
                let why = "the line ends within the reply";
                reading.malformed.push(Malformed::new(number, line, why));
            }
            WindowsLine::Unknown if run.statistics.is_none() && !run.is_empty() => {
                let text = Some((number, line.to_owned()));
                run.probes.push(WindowsProbe { text, ..WindowsProbe::default() });
            }
            WindowsLine::Unknown | WindowsLine::Title => {
                let why = "not a line that ping writes";
                reading.malformed.push(Malformed::new(number, line, why));
            }
        }
    }
    if let Some((at, text)) = runs.last_mut().and_then(|run| run.title.take()) {
        reading.malformed.push(Malformed::new(at, &text, "not a line that ping writes"));
    }
    for run in runs.into_iter().filter(|run| !run.is_empty()) {
        let read = run.finish(name, hints, &mut reading.malformed)?;
        reading.recordings.push(read);
    }
    reading.malformed.sort_by_key(|one| one.line);
    Ok(reading)
}
