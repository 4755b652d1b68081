//! Measures the round trips of captured packets: from TCP data to the ACK that covers it, and from
//! an ICMP echo to its reply.

use core::cmp::Reverse;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};

use indexmap::IndexMap;
use netspurt::delays::Began;
use netspurt::delays::{Delays, Probe, SendTimeSource};
use netspurt::explain::CopyWatch;
use netspurt::ids::Side;
use netspurt::observe::{Flows, Lifetimes, Passing, Retired, TwoWay};
use netspurt::units::{Duration, Time};
use netspurt::wire::{
    CaptureFault, CaptureReader, CapturedEcho, CapturedIp, Datagrams, TcpView, TunnelDepths,
    decode_echo,
};

use super::reading::{Hints, Malformed, Reading, RecordingError};
use super::tally::Tally;

/// A TCP connection, and the round trips of its two directions.
#[derive(Default)]
struct Conversation {
    seen: TwoWay,
    /// The round trips of each direction, by the side that sends.
    trips: [Trips; 2],
    copies: CopyWatch,
    tunnels: TunnelDepths,
}

/// The round trips of one direction.
#[derive(Default)]
struct Trips {
    /// The number of octets of payload that were sent, including retransmissions.
    octets: u64,
    /// For each sample: when the segment left, its round trip, and its octets on the wire.
    samples: Vec<(Time, Duration, u32)>,
    /// The number of packets of this direction that are copies of earlier packets and do not count.
    copies: u64,
    /// The number of ACKs without a sample, because they covered retransmitted segments.
    ambiguous: u64,
}

impl Conversation {
    /// Processes a packet from the given side, captured at the time `at`.
    fn take(&mut self, side: Side, at: Time, packet: &TcpView) {
        if self.copies.holds(side, at, packet) {
            self.trips[side.index()].copies += 1;
            return;
        }
        self.trips[side.index()].octets += u64::from(packet.payload_bytes);
        let answered = &mut self.trips[side.peer().index()];
        match self.seen.take(side, at, packet).sample {
            Some(sample) if sample.ambiguous => answered.ambiguous += 1,
            Some(sample) => answered.samples.push((sample.sent, sample.rtt, sample.wire_bytes)),
            None => {}
        }
    }
}

impl Trips {
    /// Makes the recording called `name`. `retransmissions` is the number of retransmitted segments
    /// in this direction.
    fn finish(self, name: String, retransmissions: u64) -> Delays {
        let mut delays = Delays::new(name, "capture (TCP)");
        delays.send_times = SendTimeSource::Recorded;
        let start = self.samples.iter().map(|(sent, ..)| *sent).min().unwrap_or(Time::ZERO);
        let unix_ns = i64::try_from(start.as_nanos()).ok();
        delays.began = unix_ns.and_then(|unix_ns| Began::of(unix_ns, false));
        let (mut latest, mut set_back) = (Duration::ZERO, 0_u64);
        for (number, (sent, rtt, wire_bytes)) in (0..).zip(self.samples) {
            // On a clock that never goes back, each ACK comes after the segments of all earlier
            // samples have left.
            set_back += u64::from(sent + rtt < start + latest);
            latest = sent.saturating_since(start).max(latest);
            let mut probe = Probe::answered(number, Time::ZERO + latest, rtt);
            probe.wire_bytes = wire_bytes;
            delays.probes.push(probe);
        }
        delays.notes.push(
            "an ACK of new octets gives a sample: the round trip of the oldest segment that the \
             ACK newly acknowledges (`netspurt explain` times the newest segment); the delay of a \
             delayed ACK is part of this round trip; losses are not recorded"
                .into(),
        );
        if set_back > 0 {
            delays.notes.push(format!(
                "the times of the capture go back; samples whose time of sending was therefore \
                 moved to the latest time so far: {set_back}; if the clock was not set back, sort \
                 the packets of the capture: reordercap FILE NEW"
            ));
        }
        if self.copies > 0 {
            delays.notes.push(format!(
                "the capture has packets of this direction more than once, as from several points \
                 of the path: {} copies are not used",
                self.copies
            ));
        }
        if retransmissions > 0 {
            delays.notes.push(format!(
                "retransmitted segments: {retransmissions}; acknowledgments that give no sample \
                 because they cover such a segment (Karn): {}",
                self.ambiguous
            ));
        }
        delays
    }
}

/// The values that all echoes of one prober share: source, destination and identifier.
type Prober = (IpAddr, IpAddr, u16);

/// The echo requests of one prober and their replies.
#[derive(Default)]
struct Echoes {
    tally: Tally,
    /// The highest number of a request so far, unwrapped.
    last: u64,
    tunnels: TunnelDepths,
}

impl Echoes {
    fn saw(&mut self, at: i64, echo: &CapturedEcho) {
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
        // If the request is not in the capture, its reply gives no sample.
        let rtt = sent.sent_ns().and_then(|sent| u64::try_from(at.saturating_sub(sent)).ok());
        let wire_bytes = echo.wire_bytes;
        self.tally.reply(number, rtt.map(Duration::from_nanos), wire_bytes);
    }
}

/// The connections, echoes and counts that were read from a capture.
struct Contents {
    flows: Flows<Conversation>,
    probers: IndexMap<Prober, Echoes>,
    packets: u64,
    datagrams: Datagrams,
    /// The number of packets without IP or of an unknown link type.
    unknown_links: u64,
    /// The number of IP packets that are neither TCP nor an echo.
    other: u64,
    /// The number of packets without a time.
    untimed: u64,
    /// The error that ended the reading before the end of the file.
    cut: Option<CaptureFault>,
}

impl Contents {
    fn of(source: impl Read) -> Result<Self, RecordingError> {
        let mut reader = CaptureReader::new(source).map_err(broken)?;
        let mut this = Self {
            flows: Flows::new(Lifetimes::default()),
            probers: IndexMap::new(),
            packets: 0,
            datagrams: Datagrams::default(),
            unknown_links: 0,
            other: 0,
            untimed: 0,
            cut: None,
        };
        loop {
            match reader.next_packet() {
                Ok(Some(packet)) => {
                    this.packets += 1;
                    match packet.captured_ip() {
                        Some(_) if !packet.timed => this.untimed += 1,
                        Some(ip) => this.take(packet.unix_ns, ip),
                        None => this.unknown_links += 1,
                    }
                }
                Ok(None) => return Ok(this),
                Err(fault) => {
                    this.cut = Some(fault);
                    return Ok(this);
                }
            }
        }
    }

    /// Processes the packet `ip`, captured at `unix_ns`.
    fn take(&mut self, unix_ns: i64, ip: CapturedIp<'_>) {
        let (ip, tunnels) = ip.in_tunnels();
        if let Some(echo) = decode_echo(ip.bytes) {
            let ends = (echo.source, echo.destination);
            let (from, to) = if echo.reply { (ends.1, ends.0) } else { ends };
            // The first sequence number is arbitrary; only differences count.
            let fresh = || Echoes { last: u64::from(echo.sequence), ..Echoes::default() };
            let prober = (from, to, echo.identifier);
            let echoes = self.probers.entry(prober).or_insert_with(fresh);
            if echoes.tunnels.counts(usize::from(echo.reply), tunnels) {
                echoes.saw(unix_ns, &echo);
            }
            return;
        }
        // A fragment of a segment gives nothing until all fragments have been read.
        let Some(whole) = self.datagrams.take(unix_ns, ip) else { return };
        let Ok(packet) = TcpView::of(whole.bytes, whole.original_bytes as usize) else {
            self.other += 1;
            return;
        };
        let at = Time::from_nanos(u64::try_from(unix_ns).unwrap_or(0));
        let (sighting, flow) = self.flows.sight(&Passing::of(at, packet.ends.into(), &packet));
        if flow.tunnels.counts(sighting.side.index(), tunnels) {
            flow.take(sighting.side, at, &packet);
        }
    }
}

/// Returns the error for a file that is not a capture.
pub(super) fn broken(fault: CaptureFault) -> RecordingError {
    RecordingError::new(fault.to_string(), "is the file complete?")
}

/// Reads the connections and the echoes of a capture. The result has a recording for each prober,
/// and for each direction of a connection in which a round trip was measured.
///
/// # Errors
/// When the file is not a capture, when it has neither an ICMP echo nor a round trip of TCP, or
/// when more than 4,194,304 (`MISSING_MAX`) echoes of a prober are missing.
pub(super) fn parse(
    name: &str,
    source: impl Read,
    _hints: &Hints,
) -> Result<Reading, RecordingError> {
    let contents = Contents::of(source)?;
    let mut reading = Reading::default();
    for ((from, to, _), echoes) in contents.probers {
        let mut delays = Delays::new(format!("{name}: echoes {from} to {to}"), "capture (ICMP)");
        let range = echoes.tally.ends();
        echoes.tally.finish(&mut delays, range, None)?;
        reading.recordings.push(delays);
    }
    let mut connections: Vec<_> = contents.flows.into_all().collect();
    connections.sort_by_key(|flow| flow.number);
    for ([from, to], retransmissions, trips) in connections.into_iter().flat_map(directions_of) {
        reading.recordings.push(trips.finish(format!("{name}: {from} to {to}"), retransmissions));
    }
    if let Some(cut) = contents.cut {
        let place = usize::try_from(contents.packets).unwrap_or(usize::MAX).saturating_add(1);
        reading.malformed.push(Malformed::new(place, "", cut.to_string()));
    }
    if contents.untimed > 0 {
        let why = format!("packets without a time, which are not used: {}", contents.untimed);
        reading.malformed.push(Malformed::new(1, "", why));
    }
    if reading.recordings.is_empty() {
        return Err(RecordingError::new(
            format!(
                "no round trip of TCP or of ICMP echoes in this capture (packets: {}; without IP \
                 or of an unknown link type: {}; of other IP protocols: {}; without a time: {})",
                contents.packets, contents.unknown_links, contents.other, contents.untimed
            ),
            if contents.other + contents.unknown_links == contents.packets {
                "capture packets of TCP or ICMP echoes, outside of tunnels that encrypt them"
            } else {
                "capture both directions"
            },
        ));
    }
    Ok(reading)
}

/// Returns the directions of a connection that have samples, the direction with more data first.
/// The entry of a direction has its source and destination, its number of retransmissions, and its
/// samples.
fn directions_of(flow: Retired<Conversation>) -> Vec<([SocketAddr; 2], u64, Trips)> {
    let Retired { ends: [from, to], state: Conversation { seen, trips, .. }, .. } = flow;
    let ends = [[from, to], [to, from]];
    let all = Side::BOTH.into_iter().zip(ends).zip(trips);
    let sampled = all.filter(|(_, trips)| !trips.samples.is_empty());
    let retransmissions = |side| seen.way(side).map_or(0, |way| way.retransmissions());
    let mut directions: Vec<_> =
        sampled.map(|((side, ends), trips)| (ends, retransmissions(side), trips)).collect();
    directions.sort_by_key(|(.., trips)| Reverse(trips.octets));
    directions
}
