//! Reads one line of ping's output, in any language, from all systems except Windows.

use netspurt::units::Duration;

use super::text::{MICROSECOND, MILLISECOND, SECOND, decimal, integer};

/// The meaning of a line of ping's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PingLine<'a> {
    /// The beginning of a run.
    Header(Header),
    /// A reply.
    Reply(Reply<'a>),
    /// A probe that was sent. `given_up` says that the tool reported the reply as missing.
    Sent { number: u64, given_up: bool },
    /// The tool's own counts of probes sent and received, and the time of the run in milliseconds,
    /// if the line has it.
    Statistics { sent: u64, received: u64, millis: Option<u64> },
    /// Other output of the tool.
    Ordinary,
    /// A reply that cannot be read, and the reason.
    Broken(&'static str),
    /// A line that ping does not write.
    Foreign,
}

/// The tool that wrote the log. Tools differ in the number of the first probe, and in whether they
/// mark duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The tool is not known yet.
    #[default]
    Unknown,
    /// Linux iputils: numbers begin with 1, and duplicates are marked.
    Iputils,
    /// BusyBox: numbers begin with 0, and duplicates are marked.
    Busybox,
    /// BSD, macOS, GNU inetutils: numbers begin with 0. Replies to a broadcast are not marked as
    /// duplicates.
    Bsd,
    /// hping3: numbers begin with 0.
    Hping,
}

impl Dialect {
    /// Whether the tool marks all duplicates. True for an unknown tool.
    pub const fn marks_duplicates(self) -> bool {
        matches!(self, Self::Unknown | Self::Iputils | Self::Busybox)
    }

    /// The name of the tool, as recordings give it.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Unknown => "ping",
            Dialect::Iputils => "ping (Linux iputils)",
            Dialect::Busybox => "ping (BusyBox)",
            Dialect::Bsd => "ping (BSD, macOS)",
            Dialect::Hping => "hping3",
        }
    }

    /// Returns this dialect. If it is unknown, returns the dialect that a statistics line shows.
    pub fn or_of_statistics(self, line: &str) -> Self {
        match self {
            Self::Unknown if line.contains("packets received") => Self::Bsd,
            Self::Unknown if line.contains("transmitted") => Self::Iputils,
            known => known,
        }
    }
}

/// The first line of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub dialect: Dialect,
    pub v6: bool,
}

/// A line of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reply<'a> {
    pub number: u64,
    /// The delay, and its digits as written. Replies to short probes have no delay.
    pub time: Option<(Duration, &'a str)>,
    /// Whether the line gives only an upper bound of the delay, as in `time<1`.
    pub below: bool,
    /// Whether the delay is below zero, because a clock was set back. `time` is then `None`.
    pub negative: bool,
    /// The number of octets of the ICMP message. For hping, the number of octets of the whole
    /// packet.
    pub bytes: u32,
    pub v6: bool,
    pub duplicate: bool,
    /// Whether the reply's checksum was wrong. The tool does not count such a reply.
    pub corrupt: bool,
    /// The tool, if the line shows it: hping's lines begin with `len=`, and BusyBox writes `seq=`
    /// without `icmp_`.
    pub dialect: Dialect,
}

impl Reply<'_> {
    /// Returns the delay in nanoseconds. Zero if the reply has no delay.
    pub fn nanos(&self) -> u64 {
        self.time.map_or(0, |(rtt, _)| rtt.as_nanos())
    }
}

/// Finds the meaning of `line`. A timestamp before the line must already be removed.
pub(super) fn read(line: &str) -> PingLine<'_> {
    // Toybox writes `Ping a (10.0.0.1): 56(84) bytes.`
    let toybox = line.starts_with("Ping ") && line.contains('(') && line.ends_with(" bytes.");
    let starts = ["PING ", "PING6(", "HPING "];
    if toybox || starts.iter().any(|start| line.starts_with(start)) {
        return PingLine::Header(header(line));
    }
    if let Some((number, rest)) = number(line) {
        return numbered(line, number, rest);
    }
    if let Some(statistics) = statistics(line) {
        return statistics;
    }
    if is_ordinary(line) {
        return PingLine::Ordinary;
    }
    if line.contains(" bytes from ") {
        return match is_icmp_error(line) {
            true => PingLine::Ordinary,
            false => PingLine::Broken("a reply without a number"),
        };
    }
    if line.contains("seq=") || line.contains("icmp_req=") {
        return PingLine::Broken("no number after `seq=`");
    }
    PingLine::Foreign
}

fn header(line: &str) -> Header {
    let v6 = line.starts_with("PING6") || colons(line.split(' ').nth(1).unwrap_or("")) > 1;
    let payload = line.rsplit_once(" data bytes").map(|(before, _)| before);
    let dialect = if line.starts_with("HPING") {
        Dialect::Hping
    } else if line.starts_with("PING6(") {
        Dialect::Bsd
    } else if let Some(before) = payload {
        // BSD and BusyBox write `): 56`. Linux writes `) 56`, or `from ADDRESS INTERFACE: 56`.
        let before = before.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end();
        let from = before.split_once(" from ").map(|(_, from)| from.split_whitespace().count());
        match (before.ends_with(':'), from) {
            (false, _) | (true, Some(2..)) => Dialect::Iputils,
            (true, _) => Dialect::Bsd,
        }
    } else {
        Dialect::Iputils
    };
    let v6 = v6 || line.split(['(', ')']).nth(1).is_some_and(|address| colons(address) > 1);
    Header { dialect, v6 }
}

fn colons(text: &str) -> usize {
    text.bytes().filter(|c| *c == b':').count()
}

/// Finds the number of the probe in a line. Returns the number, and the text after the number.
fn number(line: &str) -> Option<(u64, &str)> {
    let at = line.find("seq=").map(|at| at + 4);
    let at = at.or_else(|| line.find("icmp_req=").map(|at| at + 9));
    let at = at.or_else(|| line.find("icmp_seq ").map(|at| at + 9))?;
    integer(&line[at..])
}

fn numbered<'a>(line: &'a str, number: u64, rest: &'a str) -> PingLine<'a> {
    let mut reply = Reply {
        number,
        time: None,
        below: false,
        negative: false,
        bytes: 0,
        v6: is_v6(line),
        duplicate: line.contains("DUP!"),
        corrupt: line.contains("(BAD CHECKSUM!)"),
        dialect: dialect(line),
    };
    let size = size(line);
    let mut hops = line.contains("ttl=") || line.contains("hlim=");
    for (at, mark) in rest.match_indices(['=', '<']) {
        let key = rest[..at].rsplit(' ').next().unwrap_or("");
        let value = rest[at + 1..].trim_start_matches('=');
        if ["ttl", "hlim", "tos", "iplen", "id", "win", "flags", "sport"].contains(&key) {
            hops = true;
        } else if let Some((ns, after)) = decimal(value, MILLISECOND) {
            let Some(unit) = unit(after) else {
                return PingLine::Broken("the line ends within the delay");
            };
            let Ok(ns) = u64::try_from(ns) else {
                reply.negative = true;
                continue;
            };
            let digits = &value[..value.len() - after.len()];
            let rtt = Duration::from_nanos(
                (ns / MILLISECOND)
                    .saturating_mul(unit)
                    .saturating_add(ns % MILLISECOND * unit / MILLISECOND),
            );
            (reply.time, reply.below) = (Some((rtt, digits)), mark == "<");
        } else if size.is_some() {
            return PingLine::Broken("the delay is not a number");
        }
    }
    reply.bytes = size.and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0);
    // If a reply is truncated, iputils writes `(truncated)` instead of the delay.
    let untimed = hops && (reply.bytes < TIMED || line.contains("(truncated)"));
    if reply.time.is_some() || (untimed || reply.negative) && size.is_some() {
        return PingLine::Reply(reply);
    }
    match size {
        Some(_) => PingLine::Broken("a reply without a delay"),
        None => PingLine::Sent { number, given_up: !is_icmp_error(line) },
    }
}

/// The minimum number of octets of an ICMP message with a delay: 8 of the header and 16 of the time
/// of sending.
const TIMED: u32 = 24;

/// The maximum number of octets that a reply can have. A larger number at the beginning of
/// a line is not a size.
const REPLY_BYTES_MAX: u64 = 100_000;

/// Reads the size of a reply; `None` if the line is not a reply.
fn size(line: &str) -> Option<u64> {
    if let Some((bytes, _)) = before_bytes(line) {
        return Some(bytes);
    }
    let first = line.strip_prefix("DUP! ").unwrap_or(line);
    if let Some(length) = first.strip_prefix("len=") {
        return Some(integer(length)?.0);
    }
    // `64 Bytes von` begins with a size; `2024-01-01` and `1700000000 Request timeout` do not.
    let (bytes, rest) = integer(first)?;
    let sent = ["no answer yet", "Request timeout"].iter().any(|words| line.contains(words));
    let reply = rest.starts_with(' ') && bytes <= REPLY_BYTES_MAX && !sent && !is_icmp_error(line);
    reply.then_some(bytes)
}

/// Whether the address before the number is an IPv6 address.
fn is_v6(line: &str) -> bool {
    let before = line.split_once("seq=").map_or("", |(before, _)| before);
    let from = before.split_once(" from ").map_or(before, |(_, from)| from);
    colons(from) > 2
}

/// Returns the unit that follows a delay, in nanoseconds; `None` if the line ends after the delay.
fn unit(after: &str) -> Option<u64> {
    let word = after.trim_start();
    if word.is_empty() {
        return None;
    }
    let micro = ["us", "µs", "μs", "usec"].iter().any(|unit| word.starts_with(unit));
    let second = ["s ", "sec"].iter().any(|unit| word.starts_with(unit)) || word == "s";
    Some(if micro {
        MICROSECOND
    } else if second {
        SECOND
    } else {
        MILLISECOND
    })
}

/// Returns the text that another program wrote before a reply.
pub(super) fn foreign(line: &str) -> &str {
    let before = line.split_once(" bytes from ").map_or("", |(before, _)| before);
    before.trim_end_matches(|c: char| c.is_ascii_digit())
}

/// Reads the size of a reply. Text of another program may precede the reply in the line.
fn before_bytes(line: &str) -> Option<(u64, &str)> {
    let (before, _) = line.split_once(" bytes from ")?;
    integer(before.rsplit([' ', ']', ':']).next()?)
}

/// Recognises the tool by the beginning of a line, or by the word before the number of the probe.
fn dialect(line: &str) -> Dialect {
    if line.starts_with("len=") || line.starts_with("DUP! len=") {
        return Dialect::Hping;
    }
    if line.contains("icmp_seq") || line.contains("icmp_req") {
        return Dialect::Unknown;
    }
    Dialect::Busybox
}

/// Reads a statistics line in any language, such as `20 packets transmitted, 20 received, +2
/// duplicates, 0% packet loss, time 19146ms`. The line has a number in each of the first two parts,
/// and a percentage in a later part.
fn statistics(line: &str) -> Option<PingLine<'_>> {
    // Text of another program may come first.
    let begin = line.find(" packets transmitted").map_or(0, |at| {
        line[..at].bytes().rposition(|c| !c.is_ascii_digit()).map_or(0, |before| before + 1)
    });
    let counts_text = line.get(begin..)?;
    // In languages that are written in ASCII, the statistics begin with a number.
    if counts_text.is_ascii() && !counts_text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let mut parts = counts_text.splitn(3, [',', '、', '，']);
    let (sent, received) = (count(parts.next()?)?, count(parts.next()?)?);
    // If nothing was sent, there is no percentage.
    let rest = match parts.next() {
        Some(rest) if rest.contains('%') => rest,
        None if sent == 0 && counts_text.contains(" transmitted") => "",
        _ => return None,
    };
    // The time follows the percentage. It is the time from the first request to the last event.
    let millis = rest.rsplit_once('%').and_then(|(_, tail)| {
        let at = tail.find(|c: char| c.is_ascii_digit())?;
        let (millis, unit) = integer(&tail[at..])?;
        unit.trim_start().starts_with("ms").then_some(millis)
    });
    Some(PingLine::Statistics { sent, received, millis })
}

/// Returns the first whole number in the text `part` that is not joined to other text by a mark
/// such as `-`, `.`, `+` or `%`.
fn count(part: &str) -> Option<u64> {
    const JOINED: [char; 6] = ['-', ':', '.', '/', '+', '%'];
    let digits = |c: char| !c.is_ascii_digit();
    let runs = part.split(digits).filter(|run| !run.is_empty());
    let mut from = 0;
    for run in runs {
        let at = from + part[from..].find(run)?;
        from = at + run.len();
        if !part[..at].ends_with(JOINED) && !part[from..].starts_with(JOINED) {
            return run.parse().ok();
        }
    }
    None
}

/// Whether the line holds only a timestamp, as `ts` and `date` write it.
fn is_stamp(line: &str) -> bool {
    const NAMES: &str = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec Mon Tue Wed Thu Fri Sat Sun \
                         UTC GMT CET CEST AM PM";
    let digits = line.bytes().filter(|c| c.is_ascii_digit()).count();
    let part = |word: &str| {
        let figure = |c: u8| c.is_ascii_digit() || b"-:.+/,TZ[]".contains(&c);
        NAMES.split(' ').any(|name| name == word)
            || word.bytes().all(figure) && word.bytes().any(|c| c.is_ascii_digit())
    };
    digits >= 5 && line.split_whitespace().all(part)
}

/// Whether a line reports an ICMP error (RFC 792, RFC 4443).
fn is_icmp_error(line: &str) -> bool {
    const WORDS: [&str; 14] = [
        "nreachable",
        "xceeded",
        "Redirect",
        "Quench",
        "iltered",
        "Frag needed",
        "frag needed",
        "arameter problem",
        "rohibited",
        "too big",
        "Bad Code",
        "Bad Dest",
        "ICMP",
        "No route",
    ];
    WORDS.iter().any(|word| line.contains(word))
}

/// Whether ping writes the line, and the line reports neither a probe nor the final counts of a
/// run.
fn is_ordinary(line: &str) -> bool {
    const STARTS: [&str; 24] = [
        "---",
        "rtt ",
        "round-trip ",
        "PATTERN:",
        "WARNING:",
        "Warning:",
        "ping:",
        "ping6:",
        "pipe ",
        "Vr HL TOS",
        "^C",
        "wrong data byte",
        "RR:",
        "TS:",
        "NOP",
        "SR:",
        "LSRR",
        "connect:",
        "hping",
        "[main]",
        "-- ",
        "using ",
        "len ",
        "unknown ",
    ];
    let dump = || {
        // The header of the packet that an ICMP error quotes: ` 4  5  00 5400 567b   0 0000 ...`.
        let mut words = line.split_whitespace();
        line.starts_with(' ')
            && matches!((words.next(), words.next()), (Some("4" | "6"), Some(length))
                if length.len() <= 2 && length.bytes().all(|c| c.is_ascii_hexdigit()))
    };
    // Statistics that were requested during the run: `12/12 packets, 0% loss, min/avg/ewma/max =
    // ...`.
    let interim_statistics = || line.contains(" packets, ") && line.contains("% loss");
    let minimum = || line.contains("min/") && line.contains('=');
    let title = || line.contains("--- ") && line.ends_with("---");
    line.trim().is_empty()
        || is_stamp(line)
        || STARTS.iter().any(|start| line.starts_with(start))
        || line.starts_with('#') && line[1..].starts_with(|c: char| c.is_ascii_digit())
        || interim_statistics()
        || minimum()
        || title()
        || dump()
        || (line.starts_with("From ") || line.contains(" From ")) && is_icmp_error(line)
}
