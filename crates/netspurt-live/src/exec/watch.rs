//! Observes the packets of programs, or of a population (many connections of one kind). Assigns the
//! packets to connections, and asks the hosts' kernels about the connections.

use std::net::{IpAddr, SocketAddr};

use netspurt::ids::{EndId, FlowId, Side};
use netspurt::segment::Segment;
use netspurt::units::{Duration, Time};

use super::{Connections, Diag};
use crate::kernel::{Poll, TcpInfo};
use crate::labels::Labels;
use crate::offload::Shape;

/// The time between two questions to the kernel about connections with recent packets.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// For this span after a connection's last packet, the observer asks the kernel about the
/// connection.
const ACTIVE_SPAN: Duration = Duration::from_millis(500);

/// Assigns each packet to its connection, and asks the hosts' kernels about the connections.
#[derive(Debug)]
pub struct ProgramsWatch {
    /// The first flow of programs or of the population. Packets that belong to no connection have
    /// this flow.
    pub first: FlowId,
    /// The connections so far.
    pub connections: Connections,
    /// The number of packets that the path carried although they were not read as segments of a
    /// connection.
    pub others: u64,
    /// The answers of the kernels.
    pub polls: Vec<Poll>,
    diags: [Option<Diag>; 2],
    addresses: [IpAddr; 2],
    /// Whether the hosts' TCP finds losses by time (RACK).
    rack: bool,
    now: Time,
    /// When the kernels are asked next.
    next: Time,
}

impl ProgramsWatch {
    /// Creates an observer of programs or of a population at hosts with these addresses. `first` is
    /// the first flow of the programs or of the population. At most `connections_max` connections
    /// get flows of their own. If `diags` has no socket for a host, the kernel of this host is not
    /// asked.
    pub fn new(
        first: FlowId,
        connections_max: usize,
        addresses: [IpAddr; 2],
        diags: [Option<Diag>; 2],
        rack: bool,
    ) -> Self {
        Self {
            first,
            connections: Connections::new(connections_max),
            others: 0,
            polls: Vec::new(),
            diags,
            addresses,
            rack,
            now: Time::ZERO,
            next: Time::ZERO,
        }
    }

    /// Whether the kernel can be asked about the connections of both hosts.
    pub fn can_ask(&self) -> bool {
        self.diags.iter().all(Option::is_some)
    }

    /// Converts a packet into segments, and appends the segments to the list `out`. The argument
    /// `from` is the end whose host sent the packet. The argument `labels` gives each segment its
    /// id and, if the segment is a retransmission, its cause.
    pub fn label(
        &mut self,
        labels: &mut Labels,
        from: EndId,
        (octets, shape): (&[u8], Shape),
        out: &mut Vec<Segment>,
    ) {
        let side = from.side();
        let place = self.connections.of(side, octets, self.now);
        if let Some(place) = place {
            let end = self.end(place, side);
            let Self { connections, diags, addresses, rack, .. } = self;
            let ask = || {
                let [own, peer] = sockets(addresses, connections.ports(place), side);
                let info = diags[side.index()].as_ref()?.ask(own, peer)?;
                Some(TcpInfo { rack: *rack, ..info })
            };
            let (strange, known) = (labels.strange, out.len());
            labels.read_all(end, (octets, shape), ask, out);
            if out.len() > known {
                return;
            }
            // If a packet cannot be read as a segment of its connection, it does not count as
            // strange yet. `Labels::other` decides whether the path can carry it.
            labels.strange = strange;
        }
        let other = labels.other(from, octets);
        self.others += u64::from(other.is_some());
        out.extend(other);
    }

    /// The end on `side` of the connection numbered `place`.
    fn end(&self, place: usize, side: Side) -> EndId {
        let offset = u32::try_from(place).expect("flows are numbered in 31 bits") + 1;
        FlowId(self.first.0 + offset).end(side)
    }

    /// The number of the connection that has this flow. `None` if the flow comes before the flows
    /// of connections.
    pub fn place_of(&self, flow: FlowId) -> Option<usize> {
        Some(flow.0.checked_sub(self.first.0 + 1)? as usize)
    }

    /// Records that a segment left the path at the instant `at`.
    pub fn delivered(&mut self, at: Time, segment: &Segment) {
        let Some(place) = self.place_of(segment.flow()) else { return };
        self.connections.reached(place, segment.dest.side(), at, segment);
    }

    /// Sets the time of the observer to `now`. Asks the kernels about connections with recent
    /// packets, if it is time to ask again.
    pub fn advance_clock(&mut self, now: Time) {
        self.now = now;
        if now < self.next {
            return;
        }
        self.next = now + POLL_INTERVAL;
        let since = Time::from_nanos(now.as_nanos().saturating_sub(ACTIVE_SPAN.as_nanos()));
        for place in self.connections.recently_active(since) {
            for (side, diag) in Side::BOTH.into_iter().zip(&self.diags) {
                let [own, peer] = sockets(&self.addresses, self.connections.ports(place), side);
                let info = diag.as_ref().and_then(|diag| diag.ask(own, peer));
                let end = self.end(place, side);
                self.polls.extend(info.map(|info| Poll { at: now, end, info }));
            }
        }
    }
}

/// Returns the addresses and ports of a connection. The host on `side` comes first.
fn sockets(addresses: &[IpAddr; 2], ports: [u16; 2], side: Side) -> [SocketAddr; 2] {
    let socket = |place: usize| SocketAddr::new(addresses[place], ports[place]);
    [side, side.peer()].map(|side| socket(side.index()))
}
