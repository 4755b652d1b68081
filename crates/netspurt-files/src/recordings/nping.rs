//! Reads the output of nping with ICMP echoes. nping writes a line when a request leaves, and a
//! line when a reply comes.

use indexmap::IndexMap;
use netspurt::delays::Delays;
use netspurt::units::Duration;

use super::reading::{Hints, Malformed, Reading, RecordingError, counted};
use super::tally::Tally;
use super::text::{SECOND, decimal, integer, lines};

/// The meaning of a line of nping's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NpingLine<'a> {
    /// A request left, or its reply came.
    Echo(NpingEcho<'a>),
    /// Another message, such as an ICMP error. The line does not say which request the message
    /// answers.
    Other,
    /// A packet of another protocol. The value is the name of the protocol: TCP, UDP or ARP.
    Unpaired(&'a str),
    Ordinary,
    Broken(&'static str),
    Foreign,
}

/// An ICMP echo request, or a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NpingEcho<'a> {
    reply: bool,
    /// When the packet left or came, in nanoseconds since nping began.
    at: i64,
    /// The address to which nping sends its requests.
    target: &'a str,
    number: u64,
    wire_bytes: u32,
}

/// Whether the line has a form that nping writes.
pub(super) fn knows(line: &str) -> bool {
    line.starts_with("Starting Nping") || packet(line).is_some()
}

/// Reads the beginning of a line about a packet. Returns whether the packet was sent, its time in
/// nanoseconds, and the rest of the line.
fn packet(line: &str) -> Option<(bool, i64, &str)> {
    let (sent, rest) = match line.strip_prefix("SENT (") {
        Some(rest) => (true, rest),
        None => (false, line.strip_prefix("RCVD (")?),
    };
    let (at, rest) = decimal(rest, SECOND)?;
    Some((sent, at, rest.strip_prefix("s)")?.trim_start()))
}

fn read(line: &str) -> NpingLine<'_> {
    const STARTS: [&str; 8] = [
        "Starting Nping",
        "Max rtt:",
        "Raw packets sent:",
        "Tx time:",
        "Rx time:",
        "Nping done:",
        "Statistics for host",
        "TCP connection attempts:",
    ];
    let text = line.trim_start();
    if text.is_empty() || text.starts_with('|') || STARTS.iter().any(|one| text.starts_with(one)) {
        return NpingLine::Ordinary;
    }
    let Some((sent, at, rest)) = packet(line) else { return NpingLine::Foreign };
    let Some(icmp) = rest.strip_prefix("ICMP") else {
        return NpingLine::Unpaired(rest.split(' ').next().unwrap_or(""));
    };
    let kind = if sent { "Echo request" } else { "Echo reply" };
    let Some((ends, about)) = icmp.trim_start().trim_start_matches('[').split_once(kind) else {
        return NpingLine::Other;
    };
    let Some((from, to)) = ends.split_once('>') else {
        return NpingLine::Broken("no addresses in the line");
    };
    let target = if sent { to.trim() } else { from.trim() };
    let value = |key: &str| Some(integer(about.split_once(key)?.1)?.0);
    let Some(number) = value("seq=") else {
        return NpingLine::Broken(
            "no number after `seq=`: netspurt reads the output of nping 0.6 or later",
        );
    };
    let bytes = value("iplen=").and_then(|bytes| u32::try_from(bytes).ok());
    NpingLine::Echo(NpingEcho { reply: !sent, at, target, number, wire_bytes: bytes.unwrap_or(0) })
}

/// The requests to one address and their replies, by their numbers.
#[derive(Debug, Default)]
struct NpingTarget {
    tally: Tally,
    highest: u64,
}

impl NpingTarget {
    fn take(&mut self, echo: NpingEcho<'_>) {
        const NUMBERS: u64 = 1 << 16;
        // The number has 16 bits (RFC 792), so it stands for the full number that is nearest to the
        // highest number of a request so far.
        let ahead = echo.number.wrapping_sub(self.highest) % NUMBERS;
        let behind = NUMBERS - ahead;
        let number = match ahead < NUMBERS / 2 || behind > self.highest {
            true => self.highest + ahead,
            false => self.highest - behind,
        };
        if !echo.reply {
            self.highest = self.highest.max(number);
            let slot = self.tally.sent(number);
            slot.wire_bytes = echo.wire_bytes;
            slot.set_sent(Some(echo.at));
            return;
        }
        let sent = self.tally.sent(number);
        let (sent_ns, wire_bytes) = (sent.sent_ns(), sent.wire_bytes);
        let rtt = sent_ns.and_then(|sent_ns| u64::try_from(echo.at - sent_ns).ok());
        self.tally.reply(number, rtt.map(Duration::from_nanos), wire_bytes);
    }
}

/// Reads the echoes of `text`. The result has a recording for each address.
///
/// # Errors
/// When the text has packets of other protocols and no ICMP echo, or when more than 4,194,304
/// (`MISSING_MAX`) probes are missing.
pub(super) fn parse(name: &str, text: &str, hints: &Hints) -> Result<Reading, RecordingError> {
    let mut reading = Reading::default();
    let mut targets: IndexMap<&str, NpingTarget> = IndexMap::new();
    let (mut errors, mut unpaired) = (0_u64, None);
    for (number, line) in lines(text) {
        let why = match read(line) {
            NpingLine::Echo(echo) => {
                targets.entry(echo.target).or_default().take(echo);
                continue;
            }
            NpingLine::Other => {
                errors += 1;
                continue;
            }
            NpingLine::Unpaired(what) => {
                unpaired.get_or_insert((number, what));
                "not an ICMP echo"
            }
            NpingLine::Ordinary => continue,
            NpingLine::Broken(why) => why,
            NpingLine::Foreign => "not a line that nping writes",
        };
        reading.malformed.push(Malformed::new(number, line, why));
    }
    if let (true, Some((line, what))) = (targets.is_empty(), unpaired) {
        return Err(RecordingError::new(
            format!("nping in mode {what}: its lines do not say which packet a reply answers"),
            "record with `nping --icmp`, or capture the packets with tcpdump and read the pcap",
        )
        .at(line));
    }
    let several = targets.len() > 1;
    for (target, results) in targets {
        let name = if several { format!("{name}: {target}") } else { name.to_owned() };
        let mut delays = Delays::new(name, "nping (ICMP)");
        delays.notes.push("nping's timestamps have a resolution of 0.1 ms".into());
        if errors > 0 {
            let [one, many] =
                ["packet is another message and does", "packets are other messages and do"];
            let packets_are = counted(errors, [one, many]);
            let why = "not count as a reply; such a message may be an ICMP error";
            delays.notes.push(format!("{packets_are} {why}"));
        }
        let range = results.tally.ends();
        results.tally.finish(&mut delays, range, hints.interval)?;
        reading.recordings.push(delays);
    }
    Ok(reading)
}
