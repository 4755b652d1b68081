//! Round trips of captured packets: of TCP, from data to the acknowledgement that covers it, and
//! of ICMP echoes.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use indexmap::IndexMap;

use crate::segment::{Flags, Segment};
use crate::units::{Duration, Time};
use crate::wire::{Checks, decode};

use super::capture::packets;
use super::reading::{Hints, Malformed, ReadError, Reading};
use super::tally::Tally;
use super::{Delays, Probe, SendTimes};

/// Segments on their way: where they end, when they left, octets on the wire.
struct Outstanding {
    end: u32,
    sent: i64,
    wire_bytes: u32,
    /// Neither sent again nor behind what was: its acknowledgement tells its round trip.
    clean: bool,
}

/// One direction of a TCP connection.
#[derive(Default)]
struct Flow {
    /// The end of the highest data seen.
    highest: Option<u32>,
    waiting: VecDeque<Outstanding>,
    samples: Vec<(i64, Duration, u32)>,
    resent: u64,
    ambiguous: u64,
}

/// Whether `a` comes behind `b` among sequence numbers (RFC 9293 §3.4).
const fn after(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

impl Flow {
    /// A segment that takes sequence numbers left.
    fn sent(&mut self, at: i64, segment: &Segment) {
        let flags = segment.flags;
        let control = u32::from(flags.has(Flags::SYN)) + u32::from(flags.has(Flags::FIN));
        let taken = u32::from(segment.len) + control;
        if taken == 0 || flags.has(Flags::RST) {
            return;
        }
        let end = segment.seq.wrapping_add(taken);
        if self.highest.is_some_and(|highest| !after(end, highest)) {
            self.resent += 1;
            // What waits behind it is acknowledged together with it: no sample, either (Karn).
            for one in self.waiting.iter_mut().filter(|one| after(one.end, segment.seq)) {
                one.clean = false;
            }
            return;
        }
        let whole = self.highest.is_none_or(|highest| !after(highest, segment.seq));
        self.highest = Some(end);
        let wire_bytes = u32::from(segment.size_bytes);
        self.waiting.push_back(Outstanding { end, sent: at, wire_bytes, clean: whole });
    }

    /// An acknowledgement of this direction came: a sample of the newest segment it covers.
    fn acked(&mut self, at: i64, ack: u32) {
        let mut newest = None;
        let mut clean = true;
        while self.waiting.front().is_some_and(|one| !after(one.end, ack)) {
            let one = self.waiting.pop_front().expect("looked at");
            clean &= one.clean;
            newest = Some(one);
        }
        let Some(newest) = newest else { return };
        match (clean, u64::try_from(at.saturating_sub(newest.sent))) {
            (true, Ok(rtt)) => {
                self.samples.push((newest.sent, Duration::from_nanos(rtt), newest.wire_bytes));
            }
            _ => self.ambiguous += 1,
        }
    }

    fn finish(self, name: String) -> Delays {
        let mut delays = Delays::new(name, "capture (TCP)");
        delays.send_times = SendTimes::Recorded;
        let start = self.samples.iter().map(|(sent, ..)| *sent).min().unwrap_or(0);
        let mut latest = 0;
        for (number, (sent, rtt, wire_bytes)) in (0..).zip(self.samples) {
            latest = sent.abs_diff(start).max(latest);
            let mut probe = Probe::answered(number, Time::from_nanos(latest), rtt);
            probe.wire_bytes = wire_bytes;
            delays.probes.push(probe);
        }
        delays.notes.push(
            "a sample for each acknowledgement, of the newest segment it covers; what was lost is \
             not told"
                .into(),
        );
        if self.resent > 0 {
            delays.notes.push(format!(
                "{} segments were sent again: {} acknowledgements gave no sample (Karn)",
                self.resent, self.ambiguous
            ));
        }
        delays
    }
}

/// Echoes of one prober: who, to whom, identifier.
type Prober = (IpAddr, IpAddr, u16);

/// Echo requests and their replies.
#[derive(Default)]
struct Echoes {
    tally: Tally,
    last: u64,
}

/// An echo, as a packet has it.
struct Echo {
    prober: Prober,
    sequence: u16,
    reply: bool,
    wire_bytes: u32,
}

/// The echo of ICMP (RFC 792) or ICMPv6 (RFC 4443) in an IP packet.
fn echo(ip: &[u8]) -> Option<Echo> {
    let half = |at: usize| Some(u16::from_be_bytes(*ip.get(at..)?.first_chunk()?));
    let (at, source, destination, size) = match ip.first()? >> 4 {
        4 if *ip.get(9)? == 1 && half(6)? & 0x1fff == 0 => {
            let address = |at: usize| Some(Ipv4Addr::from(*ip.get(at..)?.first_chunk::<4>()?));
            let at = usize::from(ip[0] & 0xf) * 4;
            (at, address(12)?.into(), address(16)?.into(), u32::from(half(2)?))
        }
        6 if *ip.get(6)? == 58 => {
            let address = |at: usize| Some(Ipv6Addr::from(*ip.get(at..)?.first_chunk::<16>()?));
            (40, address(8)?.into(), address(24)?.into(), u32::from(half(4)?) + 40)
        }
        _ => return None,
    };
    let (source, destination): (IpAddr, IpAddr) = (source, destination);
    let reply = match (ip.get(at)?, source.is_ipv4()) {
        (8, true) | (128, false) => false,
        (0, true) | (129, false) => true,
        _ => return None,
    };
    let (from, to) = if reply { (destination, source) } else { (source, destination) };
    let prober = (from, to, half(at + 4)?);
    Some(Echo { prober, sequence: half(at + 6)?, reply, wire_bytes: size })
}

impl Echoes {
    fn saw(&mut self, at: i64, echo: &Echo) {
        const ALL: u64 = 1 << 16;
        let ahead = u64::from(echo.sequence).wrapping_sub(self.last) % ALL;
        let number = match ahead < ALL / 2 || ALL - ahead > self.last {
            true => self.last + ahead,
            false => self.last - (ALL - ahead),
        };
        let sent = self.tally.sent(number);
        if !echo.reply {
            self.last = self.last.max(number);
            sent.set_sent(sent.sent_ns().or(Some(at)));
            sent.wire_bytes = echo.wire_bytes;
            return;
        }
        // A reply to what was sent before the capture began tells nothing.
        let rtt = sent.sent_ns().and_then(|sent| u64::try_from(at.saturating_sub(sent)).ok());
        let wire_bytes = echo.wire_bytes;
        self.tally.reply(number, rtt.map(Duration::from_nanos), wire_bytes);
    }
}

/// Reads the flows and the echoes of a capture, a recording for each direction of a flow.
///
/// # Errors
/// When there is no round trip in it.
pub(super) fn parse(name: &str, bytes: &[u8], _hints: &Hints) -> Result<Reading, ReadError> {
    let mut flows: IndexMap<(SocketAddr, SocketAddr), Flow> = IndexMap::new();
    let mut probers: IndexMap<Prober, Echoes> = IndexMap::new();
    let mut other = 0_u64;
    let end = packets(bytes, |at, ip| {
        if let Some(echo) = echo(ip) {
            // The first sequence number is anyone's; only steps count.
            let fresh = || Echoes { last: u64::from(echo.sequence), ..Echoes::default() };
            probers.entry(echo.prober).or_insert_with(fresh).saw(at, &echo);
            return;
        }
        let Ok(packet) = decode(ip, Checks::Captured) else {
            other += 1;
            return;
        };
        let (from, to) = (packet.source, packet.destination);
        flows.entry((from, to)).or_default().sent(at, &packet.segment);
        if packet.segment.flags.has(Flags::ACK) {
            flows.entry((to, from)).or_default().acked(at, packet.segment.ack);
        }
    })?;
    let mut reading = Reading::default();
    for ((from, to, _), echoes) in probers {
        let mut delays = Delays::new(format!("{name}: echoes {from} to {to}"), "capture (ICMP)");
        let range = echoes.tally.ends();
        echoes.tally.finish(&mut delays, range, None)?;
        reading.recordings.push(delays);
    }
    for ((from, to), flow) in flows.into_iter().filter(|(_, flow)| !flow.samples.is_empty()) {
        reading.recordings.push(flow.finish(format!("{name}: {from} to {to}")));
    }
    if let Some(cut) = end.cut {
        let place = usize::try_from(end.packets).unwrap_or(usize::MAX).saturating_add(1);
        reading.malformed.push(Malformed::new(place, "", format!("the capture: {cut}")));
    }
    if reading.recordings.is_empty() {
        return Err(ReadError::new(
            format!(
                "a capture of {} packets ({} on links and {other} of protocols not known here) \
                 without a round trip of TCP or of ICMP echoes",
                end.packets, end.alien
            ),
            "capture both directions",
        ));
    }
    Ok(reading)
}
