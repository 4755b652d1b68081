//! Gates: the points at which packets of real hosts enter the emulated path and leave it.

use std::collections::VecDeque;

use crate::app::Program;
use crate::event::{Events, Wanted};
use crate::ip::Reassembling;
use crate::segment::Segment;
use crate::shim::{Retransmission, Shim, ShimConfig};
use crate::stage::{Host, Port, Stage};
use crate::units::{Duration, Time};

/// How long Linux waits for the missing fragments of a datagram (`net.ipv4.ipfrag_time`).
const LINUX_REASSEMBLY: Duration = Duration::from_secs(30);

/// A packet that leaves the path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Departure {
    /// When the packet leaves, in logical time (the time of the emulated path).
    pub due: Time,
    /// The packet. Its `dest` is the end at which the packet leaves the path.
    pub segment: Segment,
    /// Whether the host has a complete datagram when it gets this packet. False only for a fragment
    /// whose datagram misses other fragments.
    pub completes: bool,
}

/// The point at which the packets of one real host enter the emulated path and leave it.
#[derive(Debug)]
pub struct Gate {
    /// The host's packets that have not entered the path yet.
    entering: VecDeque<(Time, Segment)>,
    /// The packets that have left the path towards the host since the last [`Gate::take`].
    delivered: Vec<Departure>,
    /// Only finds the fragment that completes a datagram, because the real host itself reassembles
    /// datagrams.
    datagrams: Reassembling<Segment, ()>,
    /// The shim, a retransmission timer at the host's edge.
    shim: Option<Box<Shim>>,
}

impl Gate {
    /// Creates a gate. If `shim` is given, a shim with these settings works at the host's edge.
    pub fn new(shim: Option<&ShimConfig>) -> Self {
        Self {
            entering: VecDeque::new(),
            delivered: Vec::new(),
            datagrams: Reassembling::new((), LINUX_REASSEMBLY),
            shim: shim.map(|config| Box::new(Shim::new(config))),
        }
    }

    /// The retransmissions of the shim.
    pub fn retransmissions(&self) -> &[Retransmission] {
        self.shim.as_ref().map_or(&[], |shim| shim.retransmissions())
    }

    /// Removes and returns the next segment that the shim retransmits at or before the instant
    /// `until`. `None` if there is no such segment.
    fn pop_retransmission(&mut self, until: Time) -> Option<(Time, Port, Segment)> {
        let shim = self.shim.as_mut()?;
        while let Some(due) = shim.next_wakeup().filter(|due| *due <= until) {
            if let Some(segment) = shim.pop(due) {
                return Some((due, 0, segment));
            }
        }
        None
    }

    /// Lets a packet of the host enter the path at the instant `at`.
    pub fn enter(&mut self, at: Time, segment: Segment) {
        self.entering.push_back((at, segment));
    }

    /// Removes and returns the packets that have left the path towards the host since the last
    /// call.
    pub fn take(&mut self) -> impl Iterator<Item = Departure> + '_ {
        self.delivered.drain(..)
    }

    /// True if no packet has left the path towards the host since the last [`take`](Self::take).
    pub fn is_empty(&self) -> bool {
        self.delivered.is_empty()
    }

    /// Takes a packet that has left the path. Returns `None` if the packet is a fragment that does
    /// not complete its datagram. The host gets even such a fragment, but the fragment is not
    /// counted as an arrival.
    fn gather(&mut self, now: Time, segment: Segment) -> Option<Segment> {
        // The real host drops incomplete datagrams itself, so these drops are not reported.
        let mut unreported = Events::new(Wanted::default());
        if self.datagrams.take_in(now, segment, &mut unreported).is_some() {
            return Some(segment);
        }
        self.delivered.push(Departure { due: now, segment, completes: false });
        None
    }
}

impl Default for Gate {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Stage<Segment> for Gate {
    fn push(&mut self, now: Time, _port: Port, segment: Segment, _events: &mut Events<Segment>) {
        if let Some(shim) = &mut self.shim {
            shim.arrived(now, &segment);
        }
        self.delivered.push(Departure { due: now, segment, completes: true });
    }

    fn next_wakeup(&self) -> Option<Time> {
        let enters_at = self.entering.front().map(|(at, _)| *at);
        let due = self.shim.as_ref().and_then(|shim| shim.next_wakeup());
        enters_at.into_iter().chain(due).min()
    }

    fn pop(&mut self, now: Time, _events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        // If the host sends at the instant at which the shim's timer fires, the host's packet goes
        // first.
        let enters_at = self.entering.front().map(|(at, _)| *at).filter(|at| *at <= now);
        let until = enters_at.map_or(now, |at| Time::from_nanos(at.as_nanos().saturating_sub(1)));
        if let Some(retransmission) = self.pop_retransmission(until) {
            return Some(retransmission);
        }
        enters_at?;
        let (at, segment) = self.entering.pop_front()?;
        if let Some(shim) = &mut self.shim {
            shim.sent(at, &segment);
        }
        Some((at, 0, segment))
    }
}

/// One end of a flow.
#[derive(Debug)]
pub enum LiveHost {
    /// A real host behind a gate.
    Gate(Gate),
    /// A simulated host.
    Model(Box<Reassembling<Segment, Program>>),
}

impl Host<Segment> for LiveHost {
    fn gather(
        &mut self,
        now: Time,
        frame: Segment,
        events: &mut Events<Segment>,
    ) -> Option<Segment> {
        match self {
            Self::Gate(gate) => gate.gather(now, frame),
            Self::Model(host) => host.gather(now, frame, events),
        }
    }
}

impl Stage<Segment> for LiveHost {
    fn push(&mut self, now: Time, port: Port, segment: Segment, events: &mut Events<Segment>) {
        match self {
            Self::Gate(gate) => gate.push(now, port, segment, events),
            Self::Model(host) => host.push(now, port, segment, events),
        }
    }

    fn next_wakeup(&self) -> Option<Time> {
        match self {
            Self::Gate(gate) => gate.next_wakeup(),
            Self::Model(host) => host.next_wakeup(),
        }
    }

    fn pop(&mut self, now: Time, events: &mut Events<Segment>) -> Option<(Time, Port, Segment)> {
        match self {
            Self::Gate(gate) => gate.pop(now, events),
            Self::Model(host) => host.pop(now, events),
        }
    }
}
