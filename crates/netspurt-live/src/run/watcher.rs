//! Observes a live run and records its tables and captures. A run may have *programs* at
//! its ends, such as curl, or a *population*: many connections of one kind.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use netspurt::event::{Event, What};
use netspurt::ids::EndId;
use netspurt::plan::{Network, NetworkEnd};
use netspurt::record::{FlowProperties, Recorder, flow_addresses};
use netspurt::results::capture_files;
use netspurt::segment::Segment;
use netspurt::units::Time;
use netspurt::wire::{EchoPacket, Packet, PcapngWriter, encode, encode_echo};

use crate::content::octets;
use crate::drive::{PacketArrival, Watch};
use crate::exec::{ProgramsEnding, ProgramsWatch};
use crate::kernel::{Poll, TcpInfo};
use crate::labels::Labels;
use crate::offload::Shape;

use super::ledger::Ledger;
use super::scene::{LatestStates, Progress};
use super::sockets::Sockets;
use super::trips::{Trip, round_trips};

/// The capture of a node.
pub(super) struct Capture {
    pub(super) node: u32,
    pub(super) file: PcapngWriter<BufWriter<File>>,
}

/// Observes a live run and records it.
pub struct Watcher {
    pub(super) recorder: Recorder,
    /// For each end, the ledger of the data that the end sends. A ledger computes sums from
    /// packets, such as the number of retransmissions. `None` if both ends of the flow are in the
    /// simulator, if the end only receives, or if the flow is a population.
    pub(super) ledgers: Vec<Option<Ledger>>,
    pub(super) captures: Vec<Capture>,
    /// When the run began, in nanoseconds since 1970.
    pub(super) began_unix_ns: u64,
    /// The sockets that are asked about retransmissions.
    pub(super) sockets: Sockets,
    /// For each flow, the addresses and ports of its two ends.
    pub(super) addresses: Vec<[SocketAddr; 2]>,
    /// The segments that arrived at ends whose round trips are recorded. Each segment has the time
    /// at which it was due at its end. These ends are the ends with a socket in `sockets`, and the
    /// ends of the connections that `programs` observes.
    pub(super) answers: Vec<(Time, Segment)>,
    /// The first error in writing a capture.
    pub(super) failure: Option<io::Error>,
    /// The observer of the connections of programs or of a population. `None` if the run has
    /// neither.
    pub(super) programs: Option<ProgramsWatch>,
    /// Decides when a run of programs is over. `None` if the run has no programs.
    pub(super) ends: Option<ProgramsEnding>,
    pub(super) progress: Progress,
    /// The latest reported states. The scenes that are displayed during a run are made from them.
    seen: LatestStates,
    /// Whether the table `rtt` is recorded. The table `shadows` is computed from it.
    wants_rtt: bool,
    /// The maximum number of rows that may be recorded.
    most_rows: Option<u64>,
}

/// One call writes this number of octets of a capture. With more octets, a call would take too
/// long. With fewer octets, there would be too many calls.
const CAPTURED_AT_ONCE: usize = 1 << 16;

/// Creates the observer of a run of `network`. The observer writes captures into `folder`.
///
/// # Errors
/// When a capture cannot be made.
pub fn watcher(
    network: &Network,
    folder: &Path,
    sockets: Sockets,
    progress: Progress,
) -> io::Result<Watcher> {
    let names = &network.names;
    let ledgers = |(flow, pair): (&FlowProperties, &[(NetworkEnd, u32); 2])| {
        if flow.population {
            return [None, None];
        }
        let real = pair.iter().any(|(end, _)| !matches!(end, NetworkEnd::Model(_)));
        [0, 1].map(|side: usize| {
            let octets = match &pair[side].0 {
                NetworkEnd::Kernel(end) => end.task.octets()[side],
                _ => None,
            };
            (real && (side == 0 || flow.answers)).then(|| Ledger::new(octets))
        })
    };
    let ledgers = names.flows.iter().zip(network.ends.as_chunks::<2>().0).flat_map(ledgers);
    let mut captures = Vec::new();
    let captured = &network.captured;
    let files =
        capture_files(captured.nodes.iter().map(|node| names.nodes[*node as usize].as_str()));
    for (file, &node) in files.values().zip(&captured.nodes) {
        let out = BufWriter::with_capacity(CAPTURED_AT_ONCE, File::create_new(folder.join(file))?);
        let application = concat!("netspurt ", env!("CARGO_PKG_VERSION"));
        let name = &names.nodes[node as usize];
        let file = PcapngWriter::cutting(out, name, application, captured.snap_bytes)?;
        captures.push(Capture { node, file });
    }
    let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Ok(Watcher {
        recorder: Recorder::new(names.clone()),
        ledgers: ledgers.collect(),
        captures,
        began_unix_ns: u64::try_from(unix.as_nanos()).unwrap_or(0),
        sockets,
        addresses: flow_addresses(names).collect(),
        answers: Vec::new(),
        failure: None,
        programs: None,
        ends: None,
        progress,
        seen: LatestStates::new(names.clone()),
        wants_rtt: network.wanted.rtt,
        most_rows: network.most_rows,
    })
}

impl Watcher {
    /// Returns the maximum number of rows, if more rows were recorded.
    pub(super) fn overfull(&self) -> Option<u64> {
        self.most_rows.filter(|most| self.recorder.rows() > *most)
    }

    /// Whether the round trips of `end` are recorded.
    fn measures(&self, end: EndId) -> bool {
        let connection = || self.programs.as_ref()?.place_of(end.flow());
        let polled = self.sockets.get(end.index()).is_some_and(Option::is_some);
        self.wants_rtt && (polled || connection().is_some())
    }

    fn ledger(&mut self, end: EndId) -> Option<&mut Ledger> {
        let connection = || self.programs.as_ref()?.place_of(end.flow());
        if end.index() >= self.ledgers.len() && connection().is_some() {
            let places = EndId::places(end.flow().index() + 1);
            self.ledgers.resize_with(places, || Some(Ledger::new(None)));
        }
        self.ledgers.get_mut(end.index())?.as_mut()
    }

    fn read(
        &mut self,
        labels: &mut Labels,
        from: EndId,
        packet: (&[u8], Shape),
        out: &mut Vec<Segment>,
    ) {
        if let Some(programs) =
            self.programs.as_mut().filter(|programs| programs.first <= from.flow())
        {
            return programs.label(labels, from, packet, out);
        }
        let ask = || {
            let (socket, rack) = self.sockets[from.index()].as_ref()?;
            let info = TcpInfo::of(socket.get()?.as_fd()).ok()?;
            Some(TcpInfo { rack: *rack, ..info })
        };
        labels.read_all(from, packet, ask, out);
    }

    fn capture(&mut self, at: Time, node: u32, octets: &[u8]) {
        let unix_ns = self.began_unix_ns + at.as_nanos();
        let own = self.captures.iter_mut().find(|capture| capture.node == node);
        if let Some(Err(error)) = own.map(|own| own.file.packet(unix_ns, octets, None)) {
            self.failure.get_or_insert(error);
        }
    }

    /// Records the round trips that sources on the kernel's TCP could measure.
    pub(super) fn timed(&mut self, arrivals: &[PacketArrival]) {
        // In one pass of its loop, the driver delivers packets host by host, so the answers are not
        // in the order of time.
        self.answers.sort_by_key(|(at, _)| *at);
        for Trip { at, end, sent } in round_trips(arrivals, &self.answers) {
            let what = What::Rtt { end, sent, rtt: at.saturating_since(sent) };
            self.recorder.take(&Event { at, what });
        }
    }

    /// Records the kernel's reports on its connections. If a report equals the previous report of
    /// the same end, it is left out.
    pub(super) fn polled(&mut self, polls: &[Poll]) {
        let mut last: HashMap<EndId, TcpInfo> = HashMap::new();
        for Poll { at, end, info } in polls {
            let before = last.insert(*end, *info);
            if before == Some(*info) {
                continue;
            }
            // Before Linux 6.7, the kernel counts only the timeouts since the last ACK of new data,
            // so the count may fall.
            let fired = info.timeouts > before.map_or(0, |before| before.timeouts);
            let (cwnd, rto) = (info.cwnd_state(), info.rto_state(fired));
            let end = *end;
            self.recorder.take(&Event { at: *at, what: What::Cwnd { end, state: cwnd } });
            self.recorder.take(&Event { at: *at, what: What::Rto { end, state: rto } });
        }
    }
}

impl Watch for Watcher {
    fn event(&mut self, event: &Event<Segment>, octets: Option<&[u8]>) {
        self.recorder.take(event);
        self.seen.event(event);
        if let (What::Seen { node, .. }, Some(octets)) = (&event.what, octets) {
            self.capture(event.at, *node, octets);
        }
    }

    fn captures(&self) -> bool {
        !self.captures.is_empty()
    }

    fn label(
        &mut self,
        labels: &mut Labels,
        from: EndId,
        packet: (&[u8], Shape),
        out: &mut Vec<Segment>,
    ) {
        let known = out.len();
        self.read(labels, from, packet, out);
        for segment in &out[known..] {
            if let Some(ledger) = self.ledger(segment.source()) {
                ledger.sent(segment);
            }
        }
    }

    fn encode(&mut self, segment: &Segment, out: &mut Vec<u8>) {
        let ends = self.addresses[segment.flow().index()];
        let [source, destination] =
            [segment.source(), segment.dest].map(|end| ends[end.side().index()]);
        #[expect(clippy::cast_possible_truncation, reason = "only the lower 16 bits are used")]
        let ip_id = segment.id.bits() as u16;
        if let (true, [IpAddr::V4(asks), IpAddr::V4(answers)]) =
            (segment.is_echo(), ends.map(|end| end.ip()))
        {
            return encode_echo(&EchoPacket::of(segment, [asks, answers]), out);
        }
        // In the simulator, the first octet of payload has the sequence number 1. A SYN has no
        // payload.
        let first = u64::from(segment.seq.wrapping_sub(1));
        let payload = Some(octets(first, usize::from(segment.len)));
        encode(&Packet { source, destination, ip_id, segment: *segment, payload }, out);
    }

    fn delivered(&mut self, due: Time, segment: &Segment) {
        if self.measures(segment.dest) {
            self.answers.push((due, *segment));
        }
        if let Some(programs) = &mut self.programs {
            programs.delivered(due, segment);
        }
        if let Some(ledger) = self.ledger(segment.source()) {
            ledger.received(segment);
        }
        if let Some(ledger) = self.ledger(segment.dest) {
            ledger.answered(due, segment);
        }
    }

    fn goes_on(&mut self, now: Time) -> bool {
        if let Some(programs) = &mut self.programs {
            programs.advance_clock(now);
        }
        let over = self.ends.as_mut().is_some_and(|ends| ends.over(now));
        !over
            && self.overfull().is_none()
            && (self.progress)(now, &|| self.seen.scene(now, &self.sockets))
    }
}
