//! The state of a live run at one instant during the run (a *scene*), for display.

use std::collections::BTreeMap;
use std::os::fd::AsFd;

use netspurt::event::{CwndState, Event, RtoState, What};
use netspurt::ids::{Direction, EndId, Side};
use netspurt::record::Names;
use netspurt::segment::Segment;
use netspurt::units::Time;
use serde::Serialize;

use super::sockets::Sockets;
use crate::kernel::TcpInfo;

/// The maximum number of senders in a scene. A screen has no room for more senders, and the text of
/// a scene must fit into a pipe at once.
const SENDERS: usize = 4;
/// The maximum number of queues in a scene.
const QUEUES: usize = 6;

/// A live run calls a function of this type from time to time. The function gets the run's time,
/// and a second function that makes a scene. The first function returns whether the run continues.
pub type Progress = Box<dyn FnMut(Time, &dyn Fn() -> RunScene) -> bool>;

/// The state of a run at an instant.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunScene {
    /// The time since the start of the run \[ms\].
    pub passed_ms: u64,
    /// Ends that send data: at most four, in the order of the flows.
    pub senders: Vec<WatchedSender>,
    /// Queues that have reported a state: at most six, in the order of the links.
    pub queues: Vec<WatchedQueue>,
}

/// An end that sends data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WatchedSender {
    /// The name of the sender's flow.
    pub flow: String,
    /// `forward` or `reverse`.
    pub direction: &'static str,
    /// The congestion window in octets.
    pub cwnd_bytes: u64,
    /// The octets that were sent and not acknowledged.
    pub flight_bytes: u64,
    /// The smoothed round trip in nanoseconds; `None` before the first sample.
    pub srtt_ns: Option<u64>,
    /// The retransmission timeout in nanoseconds.
    pub rto_ns: u64,
    /// The factor by which timeouts have lengthened `rto_ns`.
    pub backoff: u32,
    /// Whether the sender repairs losses at this instant.
    pub in_recovery: bool,
}

/// The state that a queue reported last. A drop-tail queue reports departures only when the next
/// packet arrives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WatchedQueue {
    /// The name of the queue's link.
    pub link: String,
    /// `forward` or `reverse`.
    pub direction: &'static str,
    /// The number of packets that are queued or in transmission.
    pub packets: u32,
    /// The number of octets of these packets.
    pub bytes: u64,
}

/// The latest states that the simulator's ends and the queues reported.
pub(super) struct LatestStates {
    names: Names,
    cwnd: BTreeMap<EndId, CwndState>,
    rto: BTreeMap<EndId, RtoState>,
    queues: BTreeMap<u32, (u32, u64)>,
}

impl LatestStates {
    pub(super) const fn new(names: Names) -> Self {
        Self { names, cwnd: BTreeMap::new(), rto: BTreeMap::new(), queues: BTreeMap::new() }
    }

    pub(super) fn event(&mut self, event: &Event<Segment>) {
        match &event.what {
            What::Cwnd { end, state } if self.is_shown(*end) => {
                self.cwnd.insert(*end, *state);
            }
            What::Rto { end, state } if self.is_shown(*end) => {
                self.rto.insert(*end, *state);
            }
            What::Queue { link, packets, bytes } => {
                self.queues.insert(*link, (*packets, *bytes));
            }
            _ => {}
        }
    }

    /// Whether `end` belongs to one of the scenario's own flows and sends data. Connections of
    /// populations and of programs are left out, because there may be too many of them. Echo probes
    /// are left out.
    fn is_shown(&self, end: EndId) -> bool {
        let flow = self.names.flows.get(end.flow().index());
        flow.is_some_and(|flow| {
            !flow.population && !flow.echo_probes && (end.side() == Side::From || flow.answers)
        })
    }

    /// Returns the state of the run now. The kernel reports the state of its own connections.
    pub(super) fn scene(&self, now: Time, sockets: &Sockets) -> RunScene {
        let ends = (0..).map(EndId::at).take(EndId::places(self.names.flows.len()));
        let shown = ends.filter(|end| self.is_shown(*end));
        let senders = shown.filter_map(|end| self.sender(end, sockets)).take(SENDERS).collect();
        let queues = self.queues.iter().take(QUEUES).map(|(link, (packets, bytes))| {
            let of = &self.names.links[*link as usize];
            let (link, direction) = (of.name.clone(), of.direction.name());
            WatchedQueue { link, direction, packets: *packets, bytes: *bytes }
        });
        RunScene { passed_ms: now.as_nanos() / 1_000_000, senders, queues: queues.collect() }
    }

    fn sender(&self, end: EndId, sockets: &Sockets) -> Option<WatchedSender> {
        let (cwnd, rto) = match sockets.get(end.index())? {
            Some((socket, _)) => {
                let info = TcpInfo::of(socket.get()?.as_fd()).ok()?;
                (info.cwnd_state(), info.rto_state(false))
            }
            None => (*self.cwnd.get(&end)?, *self.rto.get(&end)?),
        };
        Some(WatchedSender {
            flow: self.names.name(end.flow()),
            direction: Direction::BOTH[end.side().index()].name(),
            cwnd_bytes: cwnd.cwnd_bytes,
            flight_bytes: cwnd.flight_bytes,
            srtt_ns: rto.srtt.map(|srtt| srtt.as_nanos()),
            rto_ns: rto.rto.as_nanos(),
            backoff: rto.backoff,
            in_recovery: cwnd.in_recovery,
        })
    }
}
