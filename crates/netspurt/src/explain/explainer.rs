//! Turns the packets of a capture into explained connections.
//!
//! A *plain* segment ([`PlainSegment`]) is a segment in the middle of a connection without unusual
//! options. A *transcript* ([`Transcript`]) is a copy of the captured packets. Tables and plots are
//! made from this copy.

use std::collections::VecDeque;

use crate::observe::{EndPair, Flows, Lifetimes, OrderedFlows, Passing, Sighting};
use crate::units::{Duration, Time};
use crate::wire::{
    CaptureDrops, CapturedIp, CapturedPacket, Datagrams, Fault, IpHead, PacketDirection,
    PacketTooBig, PlainSegment, TcpView, decode_too_big,
};

use super::ended_connections::PackedConnection;
use super::hosts::{find_timer_grids, settle};
use super::{
    CaptureNotes, CapturedConnection, EndedConnection, EndedConnections, SharedState, Transcript,
};

/// The numbers of captured packets by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// All packets.
    pub packets: u64,
    /// TCP segments.
    pub tcp: u64,
    /// Packets without IP, or from links with a type that cannot be read.
    pub no_ip: u64,
    /// IP fragments of TCP segments. The fragment that completes a datagram does not count here.
    pub fragments: u64,
    /// IP packets without TCP, or with headers that are cut or damaged.
    pub other: u64,
}

/// Follows the connections among the packets of a capture.
///
/// ```
/// use netspurt::explain::Explainer;
/// let explanation = Explainer::default().finish();
/// assert_eq!((explanation.passed.packets, explanation.connections.len()), (0, 0));
/// ```
#[derive(Debug)]
pub struct Explainer {
    flows: Flows<CapturedConnection>,
    /// The state that the connections share.
    shared: SharedState,
    passed: Passed,
    notes: CaptureNotes,
    /// Ended connections that the caller has not taken yet.
    ended: VecDeque<PackedConnection>,
    /// Connections that had not ended when the capture ended.
    rest: Option<OrderedFlows<CapturedConnection>>,
    /// The number of connections of the whole capture. Zero before the capture has ended.
    born: u64,
    /// When the first packet of TCP was captured.
    start: Option<Time>,
    /// The latest time at which a packet of TCP was captured. The capture's clock may step back.
    last: Time,
    datagrams: Datagrams,
    transcript: Option<Transcript>,
    /// The only connection in the transcript. `None` if all connections are in it.
    only: Option<u64>,
}

/// The connections of a capture, in the order of their first packets.
#[derive(Debug)]
pub struct Explanation {
    /// The numbers of captured packets by kind.
    pub passed: Passed,
    /// Properties of the capture that limit what the packets show about the connections.
    pub notes: CaptureNotes,
    /// The connections.
    pub connections: EndedConnections,
    /// When the first packet of TCP was captured, counted from 1970. Zero if there was none.
    pub start: Time,
    /// The captured packets. `None` if the explainer kept no transcript.
    pub transcript: Option<Transcript>,
}

impl Explanation {
    /// The connections of several captures, numbered one after the other. The result has no
    /// transcript.
    pub fn pooled<'a>(captures: impl IntoIterator<Item = &'a Explanation>) -> Self {
        let mut all = Self {
            passed: Passed::default(),
            notes: CaptureNotes::default(),
            connections: EndedConnections::default(),
            start: Time::ZERO,
            transcript: None,
        };
        for one in captures {
            let start = match (all.passed.tcp, one.passed.tcp) {
                (0, _) => one.start,
                (_, 0) => all.start,
                _ => all.start.min(one.start),
            };
            all.connections.add(&one.connections);
            (all.start, all.passed) = (start, all.passed + one.passed);
            all.notes = all.notes + one.notes;
        }
        all
    }
}

impl core::ops::Add for Passed {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            tcp: self.tcp + other.tcp,
            no_ip: self.no_ip + other.no_ip,
            fragments: self.fragments + other.fragments,
            other: self.other + other.other,
        }
    }
}

impl Default for Explainer {
    fn default() -> Self {
        Self {
            flows: Flows::new(Lifetimes::default()),
            shared: SharedState::default(),
            passed: Passed::default(),
            notes: CaptureNotes::default(),
            ended: VecDeque::new(),
            rest: None,
            born: 0,
            start: None,
            last: Time::ZERO,
            datagrams: Datagrams::default(),
            transcript: None,
            only: None,
        }
    }
}

impl Explainer {
    /// A closed connection that had no packets for the time `QUIET` may be packed, so that it takes
    /// little memory (see [`rest`](CapturedConnection::rest)).
    const QUIET: Duration = Duration::from_secs(1);

    /// Keeps a transcript of the packets of connection `only`. `None` means all connections.
    #[must_use]
    pub fn with_transcript(self, only: Option<u64>) -> Self {
        Self { transcript: Some(Transcript::default()), only, ..self }
    }

    /// Notes the numbers of packets that a capture reports as missing. `drops` is `None` if the
    /// capture has no such report.
    pub fn dropped(&mut self, drops: Option<CaptureDrops>) {
        let count = drops.map_or(0, |drops| drops.interface.saturating_add(drops.system));
        self.notes.dropped = self.notes.dropped.saturating_add(count);
    }

    /// Takes the next packet.
    #[inline]
    pub fn take(&mut self, packet: &CapturedPacket<'_>) {
        self.passed.packets += 1;
        self.notes.take(packet);
        let plain = packet.captured_ip().and_then(|ip| Some((ip, PlainSegment::of(ip)?)));
        match plain {
            Some((ip, (ends, segment))) => self.plain(packet, ip, ends, &segment),
            None => self.take_other(packet),
        }
    }

    /// Takes a packet that is not a plain segment.
    #[inline(never)]
    fn take_other(&mut self, packet: &CapturedPacket<'_>) {
        let Some(ip) = packet.captured_ip() else {
            self.passed.no_ip += 1;
            self.notes.unread(packet);
            return;
        };
        let (ip, tunnels) = ip.in_tunnels();
        let Some(ip) = self.datagrams.take(packet.unix_ns, ip) else {
            self.passed.fragments += 1;
            return;
        };
        let snapped = ip.bytes.len() < ip.original_bytes as usize;
        let view = match TcpView::of(ip.bytes, ip.original_bytes as usize) {
            Ok(view) => view,
            Err(error) => {
                self.passed.other += 1;
                if let Some(report) = decode_too_big(ip.bytes) {
                    self.take_too_big(packet.unix_ns, &report);
                }
                if snapped && error.what == Fault::Truncated {
                    self.notes.headers_cut();
                }
                return;
            }
        };
        if snapped && view.header_is_cut() {
            self.notes.headers_cut();
        }
        let direction = packet.direction().map(|direction| (direction, hop_limit(ip)));
        let at = self.captured_at(packet.unix_ns);
        let passing = Passing::of(at, view.ends.into(), &view);
        let Some((sighting, connection)) = sight(&mut self.flows, &passing, direction, tunnels)
        else {
            return self.notes.repeated();
        };
        self.notes.tunnelled(tunnels);
        let wanted = self.only.is_none_or(|only| only == sighting.number);
        let transcript = self.transcript.as_mut().filter(|_| wanted);
        let place = transcript.map(|transcript| transcript.add(at, sighting, &view));
        connection.take_other_later(sighting.side, at, &view, place, &mut self.shared);
        if self.flows.has_retired() {
            self.end_retired();
        }
    }

    /// Takes a report that a packet of TCP was too big for the path.
    #[cold]
    fn take_too_big(&mut self, unix_ns: i64, report: &PacketTooBig) {
        let Some((side, connection)) = self.flows.known(report.ends.into()) else { return };
        let at = since_1970(unix_ns);
        if connection.take_too_big(side, at, report.seq, &mut self.shared) {
            self.notes.too_big(report.mtu);
        }
    }

    /// Takes the plain segment that `packet` carries in `ip`. The connection is between `ends`.
    ///
    /// If there is a transcript, it gets a copy of the segment. A connection processes several
    /// segments together. The choice of these segments must not depend on the transcript, because
    /// otherwise the explanation could depend on the transcript.
    #[inline]
    fn plain(
        &mut self,
        packet: &CapturedPacket<'_>,
        ip: CapturedIp<'_>,
        ends: EndPair,
        segment: &PlainSegment,
    ) {
        let at = self.captured_at(packet.unix_ns);
        let direction = packet.direction().map(|direction| (direction, hop_limit(ip)));
        let passing = Passing::of(at, ends, segment);
        let Some((sighting, connection)) = sight(&mut self.flows, &passing, direction, 0) else {
            return self.notes.repeated();
        };
        let wanted = self.only.is_none_or(|only| only == sighting.number);
        let transcript = self.transcript.as_mut().filter(|_| wanted);
        let place = transcript.map(|transcript| transcript.add_plain(at, sighting, ip));
        connection.take_later(sighting.side, at, segment, place, &mut self.shared);
        if self.flows.has_retired() {
            self.end_retired();
        }
    }

    /// Lets all connections process the segments that they have kept until now.
    #[cfg(test)]
    pub(super) fn take_pending(&mut self) {
        self.flows.states().for_each(|connection| connection.take_pending(&mut self.shared));
    }

    /// Counts a segment that was captured at the time `unix_ns`, and returns this time. A time
    /// before 1970 becomes zero. Also packs a closed connection that is complete and had no packets
    /// for a while.
    #[inline]
    fn captured_at(&mut self, unix_ns: i64) -> Time {
        let at = since_1970(unix_ns);
        self.passed.tcp += 1;
        self.start.get_or_insert(at);
        self.last = self.last.max(at);
        if let Some(closed) = self.flows.look_at_closed(at, Self::QUIET) {
            closed.rest(&mut self.shared);
        }
        at
    }

    #[cold]
    fn end_retired(&mut self) {
        let Self { flows, ended, shared, .. } = self;
        ended.extend(flows.take_retired().map(|one| PackedConnection::of(one, shared)));
    }

    /// The numbers of packets by kind so far.
    pub fn passed(&self) -> Passed {
        self.passed
    }

    /// Properties of the capture so far that limit what the packets show about the connections.
    pub fn notes(&self) -> CaptureNotes {
        let mut notes = self.notes;
        notes.disorder = self.shared.disorder;
        (notes.tcp, notes.copies) = (self.passed.tcp, self.shared.copies.0);
        notes.copies_ns_max = self.shared.copies.1.as_nanos();
        notes
    }

    /// The number of connections so far.
    pub fn connections(&self) -> u64 {
        self.born + self.flows.born()
    }

    /// The time from the first packet of TCP to the latest.
    pub fn span(&self) -> Duration {
        self.start.map_or(Duration::ZERO, |start| self.last.saturating_since(start))
    }

    /// Returns a connection that has ended, and forgets it. `over` says whether the capture has
    /// ended. If so, all connections have ended. The connections that ended only for this reason
    /// come last, in the order of their first packets.
    pub fn next_ended(&mut self, over: bool) -> Option<EndedConnection> {
        let Self { ended, rest, shared, .. } = self.ending(over);
        match ended.pop_front() {
            Some(packed) => Some(packed.unpack()),
            None => Some(EndedConnection::of(rest.as_mut()?.next()?, shared)),
        }
    }

    /// Like [`next_ended`](Self::next_ended), but does not unpack the connection.
    fn next_packed(&mut self) -> Option<PackedConnection> {
        let Self { ended, rest, shared, .. } = self.ending(true);
        ended.pop_front().or_else(|| Some(PackedConnection::of(rest.as_mut()?.next()?, shared)))
    }

    /// Ends all connections if the capture has ended (`over`).
    fn ending(&mut self, over: bool) -> &mut Self {
        if over && self.flows.live() > 0 {
            let flows = std::mem::replace(&mut self.flows, Flows::new(Lifetimes::default()));
            self.born += flows.born();
            self.rest = Some(flows.into_ordered());
        }
        self
    }

    /// Ends the capture, and returns the connections that the caller has not taken yet.
    pub fn finish(mut self) -> Explanation {
        let mut connections = Vec::with_capacity(self.ended.len() + self.flows.live());
        while let Some(connection) = self.next_packed() {
            connections.push(connection);
        }
        let mut connections = EndedConnections::of(connections);
        settle(connections.packed());
        find_timer_grids(connections.packed());
        if let Some(transcript) = &mut self.transcript {
            let SharedState { samples, without_numbers, .. } = &self.shared;
            samples.iter().for_each(|(place, sample)| transcript.sampled(*place, *sample));
            without_numbers.iter().for_each(|place| transcript.without_numbers(*place));
        }
        Explanation {
            passed: self.passed,
            notes: self.notes(),
            connections,
            start: self.start.unwrap_or(Time::ZERO),
            transcript: self.transcript,
        }
    }
}

/// Finds the connection of a packet, and notes what the packet shows about the host that captured
/// it. `direction` has the packet's direction as this host saw it, and its TTL or hop limit.
///
/// `tunnels` is the number of tunnels that the packet was in. Returns `None` if the packet does not
/// count (see [`TunnelDepths`]).
#[inline(always)]
fn sight<'a>(
    flows: &'a mut Flows<CapturedConnection>,
    packet: &Passing,
    direction: Option<(PacketDirection, Option<u8>)>,
    tunnels: u8,
) -> Option<(Sighting, &'a mut CapturedConnection)> {
    let (sighting, connection) = flows.sight(packet);
    if !connection.tunnels.counts(sighting.side.index(), tunnels) {
        return None;
    }
    if sighting.born && packet.ends.is_within_one_host() {
        connection.host.has_both_ends();
    }
    if let Some((direction, hop_limit)) = direction {
        connection.host.take(sighting.side, direction, hop_limit);
    }
    Some((sighting, connection))
}

/// The time of a packet, in nanoseconds since 1970. A packet from before 1970 gets the time zero.
#[inline]
fn since_1970(unix_ns: i64) -> Time {
    Time::from_nanos(u64::try_from(unix_ns).unwrap_or(0))
}

/// The TTL or hop limit of a packet. `None` if it was not captured.
fn hop_limit(ip: CapturedIp<'_>) -> Option<u8> {
    IpHead::of(ip.bytes).map(IpHead::hop_limit)
}
